//! The fixed pseudo-random text of all workloads.

use std::sync::LazyLock;

const LETTERS: usize = 65_536;

static TEXT: LazyLock<String> = LazyLock::new(|| {
    let mut x: u32 = 1;
    let mut letter = || {
        x = x.wrapping_mul(1_103_515_245).wrapping_add(12_345) & 0x7fff_ffff;
        char::from(b'a' + ((x >> 16) % 26) as u8)
    };
    (0..LETTERS).map(|_| letter()).collect()
});

/// Returns `length` letters from an offset derived from `start`.
pub(crate) fn text(length: usize, start: usize) -> &'static str {
    let offset = start * 37 % 50_000;
    &TEXT[offset..offset + length]
}
