//! The value index of a checkpoint: the locations of its field values.
//!
//! A row has entries for the fields it changed and refers to an earlier row for the others. After as many rows as
//! there are fields (at most 256), a row has all entries; so a superstep writes only its changes, and a reader reads
//! few rows.

use smallvec::SmallVec;

use super::varint::{VarintReader, put};

/// Number of fields up to which every row has a full index.
const FULL_INDEX_FIELD_LIMIT: usize = 8;
/// Maximum number of rows that a reader follows to find all values.
const MAX_ROWS_PER_INDEX: u64 = 256;

/// Location of a value, or of the value that a change builds on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum ValueLocation {
    /// A full value in the row of the checkpoint with this number.
    Row(u64),
    /// The part with this number, together with the parts it builds on.
    Part(u64),
}

impl ValueLocation {
    /// Encodes a location for a column: a part is positive, a row is negative, none is zero.
    pub(crate) fn to_number(end: Option<Self>) -> i64 {
        match end {
            None => 0,
            Some(Self::Part(number)) => number.cast_signed(),
            Some(Self::Row(number)) => -number.cast_signed(),
        }
    }

    pub(crate) fn from_number(number: i64) -> Option<Self> {
        match number {
            0 => None,
            1.. => Some(Self::Part(number.unsigned_abs())),
            _ => Some(Self::Row(number.unsigned_abs())),
        }
    }
}

/// A value: its location and its size.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ValueHead {
    pub(crate) end: ValueLocation,
    /// Number of bytes to read for the value, including the changes it builds on.
    pub(crate) weight: u64,
    /// Approximate length of the full value in bytes.
    pub(crate) full: u64,
}

/// The entries of one row.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub(crate) struct ValueIndex {
    /// Row with the remaining entries; `None` if this row has all of them.
    pub(crate) base: Option<u64>,
    /// Number of further rows that a reader follows.
    pub(crate) distance_to_full_index: u64,
    pub(crate) entries: SmallVec<[(u32, ValueHead); 2]>,
}

impl ValueIndex {
    /// Returns true if a row with this number of fields needs a full index, `distance` rows after the last row that
    /// has one.
    pub(super) fn is_whole(fields: usize, distance: u64) -> bool {
        fields <= FULL_INDEX_FIELD_LIMIT || distance >= MAX_ROWS_PER_INDEX.min(fields as u64)
    }

    /// Encodes the index for the row with this number.
    pub(super) fn to_bytes(&self, number: u64) -> Vec<u8> {
        let mut out = Vec::with_capacity(4 + self.entries.len() * 6);
        put(&mut out, self.distance_to_full_index);
        if let Some(base) = self.base {
            put(&mut out, number - base);
        }
        for (field, ValueHead { end, weight, full }) in &self.entries {
            put(&mut out, u64::from(*field));
            match end {
                ValueLocation::Row(row) => put(&mut out, (number - row) << 1),
                ValueLocation::Part(part) => {
                    put(&mut out, part << 1 | 1);
                    put(&mut out, *weight);
                }
            }
            put(&mut out, *full);
        }
        out
    }

    /// Decodes the index of the row with this number; `None` if it is invalid.
    pub(super) fn from_bytes(bytes: &[u8], number: u64) -> Option<Self> {
        let mut bytes = VarintReader(bytes);
        let distance = bytes.number()?;
        let base = match distance {
            0 => None,
            // A row that refers to itself would cause an endless loop.
            _ => Some(number.checked_sub(bytes.number().filter(|back| *back > 0)?)?),
        };
        let mut entries = SmallVec::new();
        while !bytes.is_empty() {
            let field = u32::try_from(bytes.number()?).ok()?;
            let location = bytes.number()?;
            let head = if location & 1 == 1 {
                let weight = bytes.number()?;
                ValueHead { end: ValueLocation::Part(location >> 1), weight, full: bytes.number()? }
            } else {
                let full = bytes.number()?;
                ValueHead { end: ValueLocation::Row(number.checked_sub(location >> 1)?), weight: full, full }
            };
            entries.push((field, head));
        }
        Some(Self { base, distance_to_full_index: distance, entries })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn value_locations_round_trip() {
        let inline = ValueHead { end: ValueLocation::Row(7), weight: 5, full: 5 };
        let part = ValueHead { end: ValueLocation::Part(41_000), weight: 70_000, full: 9 };
        for (base, distance) in [(None, 0), (Some(299), 3)] {
            let heads = ValueIndex {
                base,
                distance_to_full_index: distance,
                entries: SmallVec::from_slice(&[(0, inline), (200, part)]),
            };
            let bytes = heads.to_bytes(300);
            assert_eq!(ValueIndex::from_bytes(&bytes, 300), Some(heads));
            assert_eq!(ValueIndex::from_bytes(&bytes, 200), None, "an index is invalid in another row");
            assert_eq!(ValueIndex::from_bytes(&bytes[..bytes.len() - 1], 300), None);
        }
    }

    #[test]
    fn locations_are_encoded_as_column_numbers() {
        for (end, number) in [(None, 0), (Some(ValueLocation::Part(7)), 7), (Some(ValueLocation::Row(7)), -7)] {
            assert_eq!((ValueLocation::to_number(end), ValueLocation::from_number(number)), (number, end));
        }
    }

    #[test]
    fn full_indexes_are_written_at_regular_distances() {
        assert!(ValueIndex::is_whole(8, 0) && !ValueIndex::is_whole(9, 8) && ValueIndex::is_whole(9, 9));
        assert!(!ValueIndex::is_whole(3_000, 255) && ValueIndex::is_whole(3_000, 256));
    }
}
