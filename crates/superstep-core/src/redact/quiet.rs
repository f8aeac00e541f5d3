//! Which stretches of a text can hold anything at all.
//!
//! One look at every byte, in blocks that the compiler turns into a few wide instructions; only what is left is looked at
//! byte by byte. Every kind that `scan` knows needs one of the bytes or pairs below in or near its beginning, or as many
//! digits: a new kind that needs none of them must add what tells it.

use std::ops::Range;

const BLOCK: usize = 64;

/// How many bytes after a block are looked at with it: what tells a kind may lie across.
const AHEAD: usize = 2;

/// How far before a telling block a hit may begin: the longest beginning of a number, an account or a key.
const BEFORE: usize = 48;

/// Digits in a block from which it may hold part of a number. The shortest number has eight, and lies in two blocks at most.
const DIGITS: u8 = 4;

/// Gives every stretch in which a hit may begin, in order and without overlaps.
pub(super) fn stretches(bytes: &[u8], mut each: impl FnMut(Range<usize>)) {
    let (mut at, mut done, mut after_digits) = (0, 0, false);
    while let Some(block) = bytes.get(at..at + BLOCK + AHEAD) {
        // No number and no key is that long, and none begins after a digit.
        let is_digits = all_digits(block);
        if !is_digits && is_telling(block) {
            let from = if after_digits { at } else { at.saturating_sub(BEFORE) };
            each(from.max(done)..at + BLOCK);
            done = at + BLOCK;
        }
        after_digits = is_digits;
        at += BLOCK;
    }
    let from = if after_digits { at } else { at.saturating_sub(BEFORE) };
    each(from.max(done)..bytes.len());
}

fn all_digits(block: &[u8]) -> bool {
    block[..BLOCK].iter().fold(0, |others, byte| others | u8::from(byte.wrapping_sub(b'0') > 9)) == 0
}

/// No branch inside the loop, not even the check of an addition: it would not be made wide.
fn is_telling(block: &[u8]) -> bool {
    let (mut found, mut digits) = (false, 0_u8);
    for ((&first, &second), &third) in block[..BLOCK].iter().zip(&block[1..=BLOCK]).zip(&block[2..BLOCK + AHEAD]) {
        // Mail and addresses; nearly all keys, and PEM.
        found |= (first == b'@') | (first == b'-') | (first == b'_');
        // `SG.` and `ya29.`, `AKIA`, `ASIA`, `AIza`, `eyJ`.
        found |= ((first == b'G') | (first == b'9')) & (second == b'.');
        found |= ((first == b'K') | (first == b'S')) & (second == b'I');
        found |= ((first == b'I') & (second == b'z')) | ((first == b'y') & (second == b'J'));
        // `hvs.`, `ATATT3`, the end of `Bearer`.
        found |= (first == b'v') & (second == b's') & (third == b'.');
        found |= (first == b'T') & (second == b'T') & (third == b'3');
        found |= (first | 32 == b'r') & (second | 32 == b'e') & (third | 32 == b'r');
        digits = digits.wrapping_add(u8::from(first.wrapping_sub(b'0') < 10));
    }
    found | (digits >= DIGITS)
}
