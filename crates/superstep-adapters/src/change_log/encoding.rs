//! Encoding of values in rows: plain or compressed.
//!
//! A part of a value is compressed with the end of the preceding parts as a prefix. A reader has those parts anyway,
//! because it reads them first; a writer that has just opened a history does not, and compresses with the parts it
//! has. The compression itself is in `squeeze`.

use std::borrow::Cow;

use superstep_core::error::Result;

use super::value_index::ValueLocation;
use crate::compression::{compress, decompress};

/// Longest prefix in bytes: searching a longer one takes more time than it saves space.
const MAX_PREFIX_BYTES: usize = 4_096;

/// Encoding of new values. Both encodings are readable.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ValueEncoding {
    Plain,
    Compressed,
}

impl ValueEncoding {
    /// Encodes a value that stands alone.
    pub(super) fn encode(self, value: Vec<u8>) -> Vec<u8> {
        self.encode_after(&value, &CompressionPrefix::default()).unwrap_or(value)
    }

    /// Encodes a part that follows others; `None` if it should be stored unchanged.
    pub(super) fn encode_after(self, piece: &[u8], tail: &CompressionPrefix) -> Option<Vec<u8>> {
        match self {
            Self::Plain => None,
            Self::Compressed => compress(piece, &tail.0),
        }
    }
}

/// Decodes a value that stands alone.
pub(super) fn decode(stored: &[u8]) -> Result<Cow<'_, [u8]>> {
    if is_compressed(stored) { Ok(Cow::Owned(decompress(stored, &[])?)) } else { Ok(Cow::Borrowed(stored)) }
}

/// Decodes a part, given the parts it follows, the last of them first.
pub(super) fn decode_after<'a>(stored: &[u8], before: impl Iterator<Item = &'a [u8]>) -> Result<Vec<u8>> {
    let (mut pieces, mut length) = (Vec::new(), 0);
    for piece in before {
        pieces.push(piece);
        length += piece.len();
        if length >= MAX_PREFIX_BYTES {
            break;
        }
    }
    pieces.reverse();
    decompress(stored, &pieces.concat())
}

/// Returns true if a stored value is compressed.
pub(super) fn is_compressed(stored: &[u8]) -> bool {
    stored.first().is_some_and(|first| (1..b'\t').contains(first))
}

/// The end of the parts of a value.
#[derive(Debug, Clone, Default)]
pub(super) struct CompressionPrefix(Vec<u8>);

impl CompressionPrefix {
    /// Appends one more part.
    pub(super) fn push(&mut self, piece: &[u8]) {
        let piece = &piece[piece.len().saturating_sub(MAX_PREFIX_BYTES)..];
        let surplus = (self.0.len() + piece.len()).saturating_sub(MAX_PREFIX_BYTES);
        self.0.drain(..surplus);
        self.0.extend_from_slice(piece);
    }
}

/// The compression prefixes of the values of a history, as far as they are in memory, each with its last part.
#[derive(Debug, Clone, Default)]
pub(crate) struct CompressionPrefixes(Vec<(u32, ValueLocation, CompressionPrefix)>);

impl CompressionPrefixes {
    /// Removes and returns the prefix of a field; empty unless the value ends with `end`.
    pub(super) fn take(&mut self, field: u32, end: Option<ValueLocation>) -> CompressionPrefix {
        let Some(index) = self.0.iter().position(|(cached_field, ..)| *cached_field == field) else {
            return CompressionPrefix::default();
        };
        let (_, cached_end, tail) = self.0.swap_remove(index);
        if Some(cached_end) == end { tail } else { CompressionPrefix::default() }
    }

    pub(super) fn push(&mut self, field: u32, end: ValueLocation, tail: CompressionPrefix) {
        self.0.push((field, end, tail));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn json_is_never_detected_as_compressed() {
        for json in ["{}", "[1]", "\"x\"", "-1", "0", "true", "null", " 1", "\t1", "\n1", ""] {
            assert!(!is_compressed(json.as_bytes()), "{json}");
        }
        let long = "\"said again and again \"".repeat(100).into_bytes();
        let packed = ValueEncoding::Compressed.encode(long.clone());
        assert!(is_compressed(&packed) && packed.len() < 200);
        assert_eq!(*decode(&packed).unwrap(), *long);
        assert_eq!(ValueEncoding::Plain.encode(long.clone()), long);
    }

    /// A writer that was opened later has less of the preceding parts than a reader has.
    #[test]
    fn a_piece_is_read_with_more_before_it_than_it_was_written_with() {
        let piece =
            |number: u64| format!("[\"{number} {}\"]", "who said what to whom, and why. ".repeat(12)).into_bytes();
        let (mut tails, mut stored) = (CompressionPrefixes::default(), Vec::new());
        for number in 1..=40 {
            if number == 20 {
                tails = CompressionPrefixes::default();
            }
            let before = (number > 1).then(|| ValueLocation::Part(number - 1));
            let mut tail = tails.take(0, before);
            let plain = piece(number);
            stored.push(ValueEncoding::Compressed.encode_after(&plain, &tail).unwrap_or_else(|| plain.clone()));
            tail.push(&plain);
            tails.push(0, ValueLocation::Part(number), tail);
        }
        assert!(stored.iter().filter(|stored| is_compressed(stored)).count() > 30);
        let mut read: Vec<Vec<u8>> = Vec::new();
        for stored in &stored {
            let plain = match is_compressed(stored) {
                true => decode_after(stored, read.iter().rev().map(Vec::as_slice)).unwrap(),
                false => stored.clone(),
            };
            read.push(plain);
        }
        assert!(read.iter().zip(1..).all(|(read, number)| *read == piece(number)));
    }
}
