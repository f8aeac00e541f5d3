//! Compression of values with zstd and the preceding data as a dictionary.
//!
//! A growing list is stored as many short parts, which compress badly alone; each part is compressed with the end of
//! the preceding parts (its prefix) as a dictionary. A compressed part begins with a byte that no JSON text begins
//! with, so compressed and uncompressed parts can be mixed.

use std::cell::RefCell;

use superstep_core::error::{Error, ErrorCode, Result};
use zstd::bulk::{Compressor, Decompressor};

/// First byte of a compressed part, which is the version of the format. A version is never reused.
const COMPRESSED_V1: u8 = 1;
/// The fastest level that searches for repetitions; higher levels gain little on short parts.
const LEVEL: i32 = 1;
/// Minimum length in bytes of a part that is compressed without a prefix.
pub(crate) const MIN_BYTES: usize = 1_024;
/// Minimum length in bytes of a part that is compressed with a prefix.
const MIN_BYTES_WITH_PREFIX: usize = 256;
/// Maximum size of a value in bytes that is compressed or decompressed.
const MAX_VALUE_BYTES: usize = 1 << 30;
/// Header: the version, the length of the part and the length of its prefix.
const HEADER_BYTES: usize = 1 + 4 + 2;
/// Magic number of zstd frames, which is not stored.
const MAGIC: [u8; 4] = [0x28, 0xb5, 0x2f, 0xfd];

thread_local! {
    static COMPRESSOR: RefCell<Option<Compressor<'static>>> = const { RefCell::new(None) };
    static DECOMPRESSOR: RefCell<Option<Decompressor<'static>>> = const { RefCell::new(None) };
}

/// Compresses a part; `None` if that saves too little.
pub(crate) fn compress(part: &[u8], prefix: &[u8]) -> Option<Vec<u8>> {
    let min_bytes = if prefix.len() < MIN_BYTES { MIN_BYTES } else { MIN_BYTES_WITH_PREFIX };
    if part.len() < min_bytes || part.len() > MAX_VALUE_BYTES {
        return None;
    }
    let compressed = COMPRESSOR.with_borrow_mut(|cached| {
        let mut compressor = cached.take().map_or_else(|| Compressor::new(LEVEL), Ok).ok()?;
        compressor.set_dictionary(LEVEL, prefix).ok()?;
        let compressed = compressor.compress(part).ok()?;
        *cached = Some(compressor);
        Some(compressed)
    })?;
    let compressed = compressed.strip_prefix(&MAGIC)?;
    // Compression has to save at least a tenth.
    if (HEADER_BYTES + compressed.len()) * 10 > part.len() * 9 {
        return None;
    }
    let mut out = Vec::with_capacity(HEADER_BYTES + compressed.len());
    out.push(COMPRESSED_V1);
    out.extend_from_slice(&u32::try_from(part.len()).ok()?.to_le_bytes());
    out.extend_from_slice(&u16::try_from(prefix.len()).ok()?.to_le_bytes());
    out.extend_from_slice(compressed);
    Some(out)
}

/// Decompresses a part with the prefix with which it was compressed.
pub(crate) fn decompress(stored: &[u8], prefix: &[u8]) -> Result<Vec<u8>> {
    if stored.first().is_some_and(|form| *form != COMPRESSED_V1) {
        let message =
            format!("compression format {} of a value is newer than the supported version {COMPRESSED_V1}", stored[0]);
        return Err(Error::new(ErrorCode::CheckpointTooNew, message));
    }
    unpack(stored, prefix).ok_or_else(|| {
        Error::new(
            ErrorCode::CheckpointCorrupt,
            "a value cannot be decompressed: it, or an earlier value that it references, is corrupt",
        )
    })
}

fn unpack(stored: &[u8], prefix: &[u8]) -> Option<Vec<u8>> {
    let (head, compressed) = stored.split_at_checked(HEADER_BYTES)?;
    let length = u32::from_le_bytes(head[1..5].try_into().ok()?) as usize;
    let used = usize::from(u16::from_le_bytes(head[5..].try_into().ok()?));
    let prefix = prefix.get(prefix.len().checked_sub(used)?..)?;
    if length > MAX_VALUE_BYTES {
        return None;
    }
    let frame = [&MAGIC, compressed].concat();
    let part = DECOMPRESSOR.with_borrow_mut(|cached| {
        let mut decompressor = cached.take().map_or_else(Decompressor::new, Ok).ok()?;
        decompressor.set_dictionary(prefix).ok()?;
        let part = decompressor.decompress(&frame, length).ok()?;
        *cached = Some(decompressor);
        Some(part)
    })?;
    (part.len() == length).then_some(part)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn message(number: usize) -> Vec<u8> {
        let text = "The verdict is out: the second speaker had the better sources and the calmer voice. ".repeat(3);
        format!("[{{\"id\":\"{number:032x}\",\"type\":\"human\",\"content\":\"{number} {text}\"}}]").into_bytes()
    }

    /// R-FWK-41: short messages that do not compress alone do so with the preceding messages as a prefix.
    #[test]
    fn parts_compressed_with_a_prefix_round_trip() {
        let (mut stored, mut plain) = (0, 0);
        for number in 4..200 {
            let (prefix, part) = ([message(number - 2), message(number - 1)].concat().repeat(2), message(number));
            let compressed = compress(&part, &prefix).unwrap();
            assert_eq!(
                decompress(&compressed, &[message(0), prefix].concat()).unwrap(),
                part,
                "a longer prefix changes nothing"
            );
            stored += compressed.len();
            plain += part.len();
        }
        assert!(stored * 4 < plain, "{stored} of {plain}");
    }

    #[test]
    fn incompressible_parts_are_not_compressed() {
        assert!(compress(&message(1), &[]).is_none(), "short and without a prefix");
        let next = |state: &u64| Some(state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1));
        let noise: Vec<u8> =
            std::iter::successors(Some(7), next).take(4_000).map(|state| (state >> 56) as u8).collect();
        assert!(compress(&noise, &[]).is_none());
    }

    #[test]
    fn changed_parts_are_rejected() {
        let prefix = message(1).repeat(4);
        let compressed = compress(&message(2), &prefix).unwrap();
        assert!(decompress(&compressed[..compressed.len() / 2], &prefix).is_err());
        assert!(decompress(&compressed, &[]).is_err());
        assert!(decompress(&compressed[..3], &prefix).is_err());
        let mut newer = compressed;
        newer[0] = 2;
        assert_eq!(decompress(&newer, &prefix).unwrap_err().code(), ErrorCode::CheckpointTooNew);
    }

    proptest! {
        #[test]
        fn any_part_with_any_prefix_round_trips(part in ".{0,900}", prefix in ".{0,900}") {
            let (part, prefix) = (part.repeat(3).into_bytes(), prefix.repeat(2).into_bytes());
            if let Some(compressed) = compress(&part, &prefix) {
                prop_assert_eq!(decompress(&compressed, &prefix).unwrap(), part);
            }
        }

        #[test]
        fn arbitrary_bytes_do_not_panic(bytes in proptest::collection::vec(any::<u8>(), 0..200), prefix in ".{0,200}") {
            drop(decompress(&[&[COMPRESSED_V1, 200, 0, 0, 0, 0, 0][..], &bytes].concat(), prefix.as_bytes()));
            drop(decompress(&bytes, prefix.as_bytes()));
        }
    }
}
