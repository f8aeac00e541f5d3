//! Encoding of values in rows: plain or compressed.
//!
//! A part of a value is compressed with the end of the preceding parts as a prefix. A reader has those parts anyway,
//! because it reads them first; a writer that has just opened a history does not, and compresses with the parts it has.
//! The compression itself is in `crate::compression`.

use std::borrow::Cow;

use superstep_core::error::Result;

use super::value_index::ValueLocation;
use crate::compression::{compress, decompress};

/// Maximum length of a prefix in bytes: searching a longer one takes more time than it saves space.
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
    pub(super) fn encode_after(self, part: &[u8], prefix: &CompressionPrefix) -> Option<Vec<u8>> {
        match self {
            Self::Plain => None,
            Self::Compressed => compress(part, &prefix.0),
        }
    }
}

/// Decodes a value that stands alone.
pub(super) fn decode(stored: &[u8]) -> Result<Cow<'_, [u8]>> {
    if is_compressed(stored) { Ok(Cow::Owned(decompress(stored, &[])?)) } else { Ok(Cow::Borrowed(stored)) }
}

/// Decodes a part, given the parts it follows, the last of them first.
pub(super) fn decode_after<'a>(stored: &[u8], before: impl Iterator<Item = &'a [u8]>) -> Result<Vec<u8>> {
    let (mut parts, mut length) = (Vec::new(), 0);
    for part in before {
        parts.push(part);
        length += part.len();
        if length >= MAX_PREFIX_BYTES {
            break;
        }
    }
    parts.reverse();
    decompress(stored, &parts.concat())
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
    pub(super) fn push(&mut self, part: &[u8]) {
        let part = &part[part.len().saturating_sub(MAX_PREFIX_BYTES)..];
        let surplus = (self.0.len() + part.len()).saturating_sub(MAX_PREFIX_BYTES);
        self.0.drain(..surplus);
        self.0.extend_from_slice(part);
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
        let (_, cached_end, prefix) = self.0.swap_remove(index);
        if Some(cached_end) == end { prefix } else { CompressionPrefix::default() }
    }

    pub(super) fn push(&mut self, field: u32, end: ValueLocation, prefix: CompressionPrefix) {
        self.0.push((field, end, prefix));
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
    fn a_longer_prefix_decodes_the_same_part() {
        let part =
            |number: u64| format!("[\"{number} {}\"]", "who said what to whom, and why. ".repeat(12)).into_bytes();
        let (mut prefixes, mut stored) = (CompressionPrefixes::default(), Vec::new());
        for number in 1..=40 {
            if number == 20 {
                prefixes = CompressionPrefixes::default();
            }
            let before = (number > 1).then(|| ValueLocation::Part(number - 1));
            let mut prefix = prefixes.take(0, before);
            let plain = part(number);
            stored.push(ValueEncoding::Compressed.encode_after(&plain, &prefix).unwrap_or_else(|| plain.clone()));
            prefix.push(&plain);
            prefixes.push(0, ValueLocation::Part(number), prefix);
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
        assert!(read.iter().zip(1..).all(|(read, number)| *read == part(number)));
    }
}
