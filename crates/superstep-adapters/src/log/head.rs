//! Where the values of a checkpoint's fields are.
//!
//! A row has those of the fields it changed, and leads on to the row it builds on for the others; as often as there are
//! fields a row has all of them, so that a superstep pays for what it changed and a reader looks at few rows.

use smallvec::SmallVec;

use super::bytes::{Bytes, put};

/// With so few fields every row has all of them.
const FEW: usize = 8;
/// The most rows a reader looks at for the values of all fields.
const LONGEST_WAY: u64 = 256;

/// What a change builds on, and where a value is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum End {
    /// A whole value that stands in the row of the checkpoint with this number.
    Row(u64),
    /// The part with this number, on top of what that one builds on.
    Part(u64),
}

impl End {
    /// The form in a column: parts are above zero, rows below, and nothing to build on is zero.
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

/// A value: where it ends, and what it costs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Head {
    pub(crate) end: End,
    /// What it costs to read.
    pub(crate) weight: u64,
    /// How long it is about, as a whole.
    pub(crate) full: u64,
}

/// The values that one row knows.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub(crate) struct Heads {
    /// The row that has the others; `None` when this one has all.
    pub(crate) base: Option<u64>,
    /// How many rows a reader looks at, this one not counted.
    pub(crate) way: u64,
    pub(crate) entries: SmallVec<[(u32, Head); 2]>,
}

impl Heads {
    /// Whether a row with `fields` fields, `way` rows from one with all, has to have all of them itself.
    pub(super) fn is_whole(fields: usize, way: u64) -> bool {
        fields <= FEW || way >= LONGEST_WAY.min(fields as u64)
    }

    /// The form in the row with this number.
    pub(super) fn to_bytes(&self, number: u64) -> Vec<u8> {
        let mut out = Vec::with_capacity(4 + self.entries.len() * 6);
        put(&mut out, self.way);
        if let Some(base) = self.base {
            put(&mut out, number - base);
        }
        for (field, Head { end, weight, full }) in &self.entries {
            put(&mut out, u64::from(*field));
            match end {
                End::Row(row) => put(&mut out, (number - row) << 1),
                End::Part(part) => {
                    put(&mut out, part << 1 | 1);
                    put(&mut out, *weight);
                }
            }
            put(&mut out, *full);
        }
        out
    }

    /// Reads the form of the row with this number; `None` when it is not one.
    pub(super) fn from_bytes(bytes: &[u8], number: u64) -> Option<Self> {
        let mut bytes = Bytes(bytes);
        let way = bytes.number()?;
        let base = match way {
            0 => None,
            // A row that leads to itself would be followed for ever.
            _ => Some(number.checked_sub(bytes.number().filter(|back| *back > 0)?)?),
        };
        let mut entries = SmallVec::new();
        while !bytes.is_empty() {
            let field = u32::try_from(bytes.number()?).ok()?;
            let place = bytes.number()?;
            let head = if place & 1 == 1 {
                let weight = bytes.number()?;
                Head { end: End::Part(place >> 1), weight, full: bytes.number()? }
            } else {
                let full = bytes.number()?;
                Head { end: End::Row(number.checked_sub(place >> 1)?), weight: full, full }
            };
            entries.push((field, head));
        }
        Some(Self { base, way, entries })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn where_values_are_comes_back() {
        let inline = Head { end: End::Row(7), weight: 5, full: 5 };
        let part = Head { end: End::Part(41_000), weight: 70_000, full: 9 };
        for (base, way) in [(None, 0), (Some(299), 3)] {
            let heads = Heads { base, way, entries: SmallVec::from_slice(&[(0, inline), (200, part)]) };
            let bytes = heads.to_bytes(300);
            assert_eq!(Heads::from_bytes(&bytes, 300), Some(heads));
            assert_eq!(Heads::from_bytes(&bytes, 200), None, "read as another row it is no row");
            assert_eq!(Heads::from_bytes(&bytes[..bytes.len() - 1], 300), None);
        }
    }

    #[test]
    fn ends_are_numbers_in_a_column() {
        for (end, number) in [(None, 0), (Some(End::Part(7)), 7), (Some(End::Row(7)), -7)] {
            assert_eq!((End::to_number(end), End::from_number(number)), (number, end));
        }
    }

    #[test]
    fn a_row_has_all_fields_as_often_as_there_are_fields() {
        assert!(Heads::is_whole(8, 0) && !Heads::is_whole(9, 8) && Heads::is_whole(9, 9));
        assert!(!Heads::is_whole(3_000, 255) && Heads::is_whole(3_000, 256));
    }
}
