//! The envelope around every stored value: version of the format, checksum, and the key it belongs to.
//!
//! All future versions keep the first twelve bytes: three magic bytes, the version, and a checksum of the rest.

use superstep_core::error::{Error, ErrorCode, Result};
use xxhash_rust::xxh3::xxh3_64;

use super::codec::{ByteReader, ByteWriter};

/// Magic bytes of a value.
const MAGIC: &[u8; 3] = b"ssk";
/// Newest version of the format. A version is never reused. 1: without events. 2: with events. A value without events
/// is written as version 1, so that older programs can read it.
const VERSION: u8 = 2;
/// Length of magic bytes, version and checksum.
const HEADER_BYTES: usize = 12;

/// Encodes a value for a key (without prefix) as version 1; returns its checksum as well.
pub(super) fn encode(key: &str, body: &[u8]) -> (Vec<u8>, u64) {
    encode_version(1, key, body)
}

/// Encodes a value like `encode`, with a given version.
pub(super) fn encode_version(version: u8, key: &str, body: &[u8]) -> (Vec<u8>, u64) {
    let mut out = ByteWriter(Vec::with_capacity(HEADER_BYTES + key.len() + body.len() + 4));
    out.0.extend_from_slice(&[0; HEADER_BYTES]);
    out.write_bytes(key.as_bytes());
    out.0.extend_from_slice(body);
    let mut bytes = out.0;
    let sum = sum(version, &bytes[HEADER_BYTES..]);
    bytes[..3].copy_from_slice(MAGIC);
    bytes[3] = version;
    bytes[4..HEADER_BYTES].copy_from_slice(&sum.to_le_bytes());
    (bytes, sum)
}

/// Decodes a value that was read from a key; returns its body and its checksum.
pub(super) fn decode<'a>(key: &str, bytes: &'a [u8]) -> Result<(&'a [u8], u64)> {
    let Some((header, rest)) = bytes.split_at_checked(HEADER_BYTES) else {
        return Err(corrupt_value_error(key, &format!("only {} bytes remain", bytes.len())));
    };
    let expected_sum = u64::from_le_bytes(header[4..].try_into().unwrap_or_default());
    if header[..3] != *MAGIC || sum(header[3], rest) != expected_sum {
        return Err(corrupt_value_error(key, "the checksum does not match"));
    }
    if header[3] > VERSION {
        let message = format!("`{key}` has version {}, which is newer than the supported version {VERSION}", header[3]);
        return Err(Error::new(ErrorCode::CheckpointTooNew, message)
            .with_help("open it with the version that wrote it, or a newer one"));
    }
    let mut rest = ByteReader::new(rest);
    match rest.text() {
        Some(stored_key) if stored_key == key => Ok((rest.rest(), expected_sum)),
        Some(stored_key) => Err(corrupt_value_error(key, &format!("the value belongs to `{stored_key}`"))),
        None => Err(corrupt_value_error(key, "the key in its envelope is missing")),
    }
}

fn sum(version: u8, rest: &[u8]) -> u64 {
    xxh3_64(rest) ^ u64::from(version)
}

/// Returns the error of a corrupt value.
pub(super) fn corrupt_value_error(key: &str, reason: &str) -> Error {
    Error::new(ErrorCode::CheckpointCorrupt, format!("`{key}` is corrupt: {reason}"))
        .with_help("data that does not need this key is not affected; restore this key from a backup")
}

/// Returns true if an error reports a corrupt or missing value.
pub(super) fn is_corruption(error: &Error) -> bool {
    error.code() == ErrorCode::CheckpointCorrupt
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_is_only_readable_under_its_key() {
        let (bytes, sum) = encode("in/t/log/1", b"body");
        assert_eq!(decode("in/t/log/1", &bytes).unwrap(), (&b"body"[..], sum));
        let error = decode("in/t/log/2", &bytes).unwrap_err();
        assert!(error.message().contains("belongs to `in/t/log/1`"), "{error}");
    }

    #[test]
    fn flipped_bits_and_truncation_are_detected() {
        let (bytes, _) = encode("in/t/log/1", b"a body of some length");
        for bit in 0..bytes.len() * 8 {
            let mut flipped = bytes.clone();
            flipped[bit / 8] ^= 1 << (bit % 8);
            assert_eq!(decode("in/t/log/1", &flipped).unwrap_err().code(), ErrorCode::CheckpointCorrupt, "bit {bit}");
        }
        for length in 0..bytes.len() {
            assert_eq!(decode("in/t/log/1", &bytes[..length]).unwrap_err().code(), ErrorCode::CheckpointCorrupt);
        }
    }

    #[test]
    fn a_newer_version_is_rejected_as_too_new() {
        let (mut bytes, _) = encode("p", b"body");
        bytes[3] = 3;
        let later = sum(3, &bytes[HEADER_BYTES..]);
        bytes[4..HEADER_BYTES].copy_from_slice(&later.to_le_bytes());
        assert_eq!(decode("p", &bytes).unwrap_err().code(), ErrorCode::CheckpointTooNew);
    }
}
