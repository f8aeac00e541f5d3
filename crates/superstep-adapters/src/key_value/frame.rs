//! What stands around every value: which form it has, where it belongs, and whether it is whole.
//!
//! Whatever comes later keeps the first twelve bytes: three letters, the version, and a checksum over all the rest.

use superstep_core::error::{Code, Error, Result};
use xxhash_rust::xxh3::xxh3_64;

use super::codec::{In, Out};

/// Marks a value as ours.
const MARK: &[u8; 3] = b"ssk";
/// The newest version of the form. A number is never reused. 1: without events. 2: with them; what has none is of version 1,
/// so that a program that does not know them reads on until it meets one.
const VERSION: u8 = 2;
/// The mark, the version and the checksum.
const HEAD: usize = 12;

/// A value as it is put at a place; gives its checksum as well.
pub(super) fn close(place: &str, body: &[u8]) -> (Vec<u8>, u64) {
    close_as(1, place, body)
}

/// As `close`, in a version of the form.
pub(super) fn close_as(version: u8, place: &str, body: &[u8]) -> (Vec<u8>, u64) {
    let mut out = Out(Vec::with_capacity(HEAD + place.len() + body.len() + 4));
    out.0.extend_from_slice(&[0; HEAD]);
    out.piece(place.as_bytes());
    out.0.extend_from_slice(body);
    let mut bytes = out.0;
    let sum = sum(version, &bytes[HEAD..]);
    bytes[..3].copy_from_slice(MARK);
    bytes[3] = version;
    bytes[4..HEAD].copy_from_slice(&sum.to_le_bytes());
    (bytes, sum)
}

/// The body of a value that was got from a place, and its checksum.
pub(super) fn open<'a>(place: &str, bytes: &'a [u8]) -> Result<(&'a [u8], u64)> {
    let Some((head, rest)) = bytes.split_at_checked(HEAD) else {
        return Err(damaged(place, &format!("only {} bytes are left of it", bytes.len())));
    };
    let stated = u64::from_le_bytes(head[4..].try_into().unwrap_or_default());
    if head[..3] != *MARK || sum(head[3], rest) != stated {
        return Err(damaged(place, "its checksum does not fit"));
    }
    if head[3] > VERSION {
        let message = format!("`{place}` has version {}; this program knows {VERSION}", head[3]);
        return Err(
            Error::new(Code::CheckpointTooNew, message).help("open it with the program that wrote it, or a newer one")
        );
    }
    let mut rest = In::new(rest);
    match rest.text() {
        Some(own) if own == place => Ok((rest.rest(), stated)),
        Some(own) => Err(damaged(place, &format!("what is there belongs to `{own}`"))),
        None => Err(damaged(place, "it does not say where it belongs")),
    }
}

fn sum(version: u8, rest: &[u8]) -> u64 {
    xxh3_64(rest) ^ u64::from(version)
}

/// The error of a value that is not what was put.
pub(super) fn damaged(place: &str, how: &str) -> Error {
    Error::new(Code::CheckpointCorrupt, format!("`{place}` is damaged in the store: {how}"))
        .help("what does not need it is not touched by this; restore this key from a copy")
}

/// Whether something is not what was put, or a part of it is missing.
pub(super) fn is_damage(error: &Error) -> bool {
    error.code() == Code::CheckpointCorrupt
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_is_read_where_it_belongs_and_nowhere_else() {
        let (bytes, sum) = close("in/t/log/1", b"body");
        assert_eq!(open("in/t/log/1", &bytes).unwrap(), (&b"body"[..], sum));
        let error = open("in/t/log/2", &bytes).unwrap_err();
        assert!(error.message().contains("belongs to `in/t/log/1`"), "{error}");
    }

    #[test]
    fn every_flipped_bit_and_every_cut_is_noticed() {
        let (bytes, _) = close("in/t/log/1", b"a body of some length");
        for bit in 0..bytes.len() * 8 {
            let mut flipped = bytes.clone();
            flipped[bit / 8] ^= 1 << (bit % 8);
            assert_eq!(open("in/t/log/1", &flipped).unwrap_err().code(), Code::CheckpointCorrupt, "bit {bit}");
        }
        for length in 0..bytes.len() {
            assert_eq!(open("in/t/log/1", &bytes[..length]).unwrap_err().code(), Code::CheckpointCorrupt);
        }
    }

    #[test]
    fn a_later_version_is_refused_as_such() {
        let (mut bytes, _) = close("p", b"body");
        bytes[3] = 3;
        let later = sum(3, &bytes[HEAD..]);
        bytes[4..HEAD].copy_from_slice(&later.to_le_bytes());
        assert_eq!(open("p", &bytes).unwrap_err().code(), Code::CheckpointTooNew);
    }
}
