//! Ids: dense numbers inside a process, stable ids in checkpointers and over HTTP.
//!
//! Nothing here reads a clock or randomness: new ids come from the engine through [`IdSource`].

use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use smallvec::SmallVec;

/// The id of a thread: the history of one conversation or job.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct ThreadId(Arc<str>);

impl ThreadId {
    /// Maximum length of an id in bytes.
    pub const MAX_BYTES: usize = 128;

    /// Returns the id as text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Returns true if the id has the form that every checkpointer accepts: 1 to 128 of `A-Z a-z 0-9 _ . : -`.
    #[must_use]
    pub fn is_valid(&self) -> bool {
        (1..=Self::MAX_BYTES).contains(&self.0.len())
            && self.0.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_.:-".contains(&byte))
    }
}

impl fmt::Display for ThreadId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl From<&str> for ThreadId {
    fn from(text: &str) -> Self {
        Self(text.into())
    }
}

impl From<String> for ThreadId {
    fn from(text: String) -> Self {
        Self(text.into())
    }
}

impl From<&ThreadId> for ThreadId {
    fn from(id: &ThreadId) -> Self {
        id.clone()
    }
}

macro_rules! whole_numbers_are_thread_ids {
    ($($number:ty),*) => {$(
        impl From<$number> for ThreadId {
            fn from(number: $number) -> Self { Self(number.to_string().into()) }
        }
    )*};
}
whole_numbers_are_thread_ids!(u32, u64, i32, i64, usize);

macro_rules! stable_id {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(u128);

        impl $name {
            /// Creates an id from its bits.
            #[must_use]
            pub const fn from_bits(bits: u128) -> Self { Self(bits) }
            /// Returns the bits of the id.
            #[must_use]
            pub const fn bits(self) -> u128 { self.0 }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                let text = format_uuid(self.0);
                f.write_str(str::from_utf8(&text).unwrap_or_default())
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result { write!(f, concat!(stringify!($name), "({})"), self) }
        }

        impl std::str::FromStr for $name {
            type Err = crate::validation_error::ValidationError;
            fn from_str(text: &str) -> Result<Self, Self::Err> {
                let digits: String = text.chars().filter(|c| *c != '-').collect();
                if digits.len() != 32 {
                    return Err(crate::validation_error::ValidationError::new(format!("`{text}` is not a valid \
                         id: expected 32 hexadecimal digits")));
                }
                u128::from_str_radix(&digits, 16).map(Self).map_err(|_| {
                    crate::validation_error::ValidationError::new(format!("`{text}` is not a valid id: \
                         expected hexadecimal digits"))
                })
            }
        }

        impl Serialize for $name {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> { serializer.collect_str(self) }
        }

        impl<'de> Deserialize<'de> for $name {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                String::deserialize(deserializer)?.parse().map_err(serde::de::Error::custom)
            }
        }
    };
}

stable_id! {
    /// The id of a checkpoint. Its text sorts by creation time within one process.
    CheckpointId
}
stable_id! {
    /// The id of a run: one call on a thread.
    RunId
}
stable_id! {
    /// The id of a task: one execution of one node in one superstep; the same on every attempt, also after a crash.
    ///
    /// Nodes use the id as the idempotency key of their side effects.
    TaskId
}
stable_id! {
    /// The id of an interrupt; stable until the interrupt is resumed.
    InterruptId
}

/// Formats the 32 hexadecimal digits of an id in groups of 8, 4, 4, 4 and 12. Written by hand, because every
/// message has an id and formatting five padded numbers takes ten times as long.
fn format_uuid(bits: u128) -> [u8; 36] {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    /// Positions of the two digits of each byte.
    const BYTE_OFFSETS: [usize; 16] = [0, 2, 4, 6, 9, 11, 14, 16, 19, 21, 24, 26, 28, 30, 32, 34];
    let mut text = [b'-'; 36];
    for (offset, byte) in BYTE_OFFSETS.into_iter().zip(bits.to_be_bytes()) {
        text[offset] = DIGITS[usize::from(byte >> 4)];
        text[offset + 1] = DIGITS[usize::from(byte & 0xf)];
    }
    text
}

/// A node of a compiled graph, as a dense number. Stored data and messages use the name instead.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct NodeId(pub u32);

impl NodeId {
    /// Returns the number as an index into tables of nodes.
    #[must_use]
    pub const fn index(self) -> usize {
        self.0 as usize
    }
}

/// A field of a schema, as a dense number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FieldId(pub u32);

impl FieldId {
    /// Returns the number as an index into tables of fields.
    #[must_use]
    pub const fn index(self) -> usize {
        self.0 as usize
    }
}

/// The source of new ids: the engine implements it with a clock and randomness, tests with a counter.
pub trait IdSource: Send + Sync {
    /// Returns a new id whose text sorts after the ids that this source returned before.
    fn next_id(&self, unix_micros: i64) -> u128;
}

/// Hashes parts into a stable id; the length of each part is hashed too, so that parts cannot run together.
#[must_use]
pub fn hash_id(parts: &[&[u8]]) -> u128 {
    // Hashed in one piece, which is nearly always short: a streaming hasher has to initialise a kilobyte of state.
    let mut buffer: SmallVec<[u8; 256]> = SmallVec::new();
    for part in parts {
        buffer.extend_from_slice(&(part.len() as u64).to_le_bytes());
        buffer.extend_from_slice(part);
    }
    xxhash_rust::xxh3::xxh3_128(&buffer)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_read_back_from_their_text() {
        let id = CheckpointId::from_bits(0x0123_4567_89ab_cdef_0011_2233_4455_6677);
        assert_eq!(id.to_string(), "01234567-89ab-cdef-0011-223344556677");
        assert_eq!(id.to_string().parse::<CheckpointId>().unwrap(), id);
        assert!("nonsense".parse::<CheckpointId>().is_err());
    }

    /// Ids are stored: the same parts must give the same id in every version, whatever their length.
    #[test]
    fn ids_are_stable() {
        for length in [0, 1, 16, 100, 240, 300, 5000] {
            let part = vec![7; length];
            let mut hasher = xxhash_rust::xxh3::Xxh3::new();
            for part in [&part[..], b"x"] {
                hasher.update(&(part.len() as u64).to_le_bytes());
                hasher.update(part);
            }
            assert_eq!(hash_id(&[&part, b"x"]), hasher.digest128(), "{length}");
        }
    }

    #[test]
    fn part_boundaries_change_the_id() {
        assert_ne!(hash_id(&[b"ab", b"c"]), hash_id(&[b"a", b"bc"]));
    }

    #[test]
    fn thread_ids_of_numbers_and_text_are_one() {
        assert_eq!(ThreadId::from(7), ThreadId::from("7"));
        assert!(ThreadId::from("a.b:c-d_1").is_valid());
        assert!(!ThreadId::from("../etc").is_valid());
        assert!(!ThreadId::from("").is_valid());
    }
}
