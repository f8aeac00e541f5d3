//! The prefilter: the ranges of a text that can contain a match.
//!
//! Checks every byte, in blocks that the compiler turns into a few vector instructions; only the remaining ranges
//! are scanned byte by byte. Every kind of `scan` needs one of the bytes or pairs below in or near its beginning,
//! or a number of digits: a new kind without any of them must be added here.

use std::ops::Range;

const BLOCK_LENGTH: usize = 64;

/// Number of bytes after a block that are checked with it: a pair may cross the boundary.
const LOOKAHEAD: usize = 2;

/// Maximum distance of the start of a match before a matching block: the longest prefix of a number, an account or
/// a key.
const MAX_LOOKBEHIND: usize = 48;

/// Number of digits in a block from which it may contain part of a number. The shortest number has eight, in two
/// blocks at most.
const MIN_DIGITS: u8 = 4;

/// Passes every range in which a match may begin to `each`, in order and without overlaps.
pub(super) fn candidate_ranges(bytes: &[u8], mut each: impl FnMut(Range<usize>)) {
    let (mut at, mut done, mut after_digits) = (0, 0, false);
    while let Some(block) = bytes.get(at..at + BLOCK_LENGTH + LOOKAHEAD) {
        // No number and no key is that long, and none begins after a digit.
        let is_digits = all_digits(block);
        if !is_digits && may_match(block) {
            let from = if after_digits { at } else { at.saturating_sub(MAX_LOOKBEHIND) };
            each(from.max(done)..at + BLOCK_LENGTH);
            done = at + BLOCK_LENGTH;
        }
        after_digits = is_digits;
        at += BLOCK_LENGTH;
    }
    let from = if after_digits { at } else { at.saturating_sub(MAX_LOOKBEHIND) };
    each(from.max(done)..bytes.len());
}

fn all_digits(block: &[u8]) -> bool {
    block[..BLOCK_LENGTH].iter().fold(0, |others, byte| others | u8::from(byte.wrapping_sub(b'0') > 9)) == 0
}

/// Returns true if a block may match. No branch inside the loop, not even an overflow check: it would prevent
/// vectorisation.
fn may_match(block: &[u8]) -> bool {
    let (mut is_candidate, mut digits) = (false, 0_u8);
    for ((&first, &second), &third) in
        block[..BLOCK_LENGTH].iter().zip(&block[1..=BLOCK_LENGTH]).zip(&block[2..BLOCK_LENGTH + LOOKAHEAD])
    {
        // Email addresses and URLs; nearly all keys, and PEM.
        is_candidate |= (first == b'@') | (first == b'-') | (first == b'_');
        // `SG.` and `ya29.`, `AKIA`, `ASIA`, `AIza`, `eyJ`.
        is_candidate |= ((first == b'G') | (first == b'9')) & (second == b'.');
        is_candidate |= ((first == b'K') | (first == b'S')) & (second == b'I');
        is_candidate |= ((first == b'I') & (second == b'z')) | ((first == b'y') & (second == b'J'));
        // `hvs.`, `ATATT3`, the end of `Bearer`.
        is_candidate |= (first == b'v') & (second == b's') & (third == b'.');
        is_candidate |= (first == b'T') & (second == b'T') & (third == b'3');
        is_candidate |= (first | 32 == b'r') & (second | 32 == b'e') & (third | 32 == b'r');
        digits = digits.wrapping_add(u8::from(first.wrapping_sub(b'0') < 10));
    }
    is_candidate | (digits >= MIN_DIGITS)
}
