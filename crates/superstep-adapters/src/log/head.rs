//! Where the chains of a checkpoint's fields end.
//!
//! A row has the ends of the chains it added to, and leads on to the row it builds on for the others; as often as there
//! are fields a row has all of them, so that a superstep pays for what it changed and a reader looks at few rows.

use super::bytes::{Bytes, put};

/// With so few fields every row has all of them.
const FEW: usize = 8;
/// The most rows a reader looks at for the ends of all chains.
const LONGEST_WAY: u64 = 256;

const INLINE: u64 = 1;
const SHARED: u64 = 2;

/// The end of a chain of changes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Head {
    /// The number of the checkpoint where the chain began.
    pub(crate) chain: u64,
    /// The number of its last change; 0 is where it begins.
    pub(crate) last: u64,
    /// The whole value it begins with stands in the row of its checkpoint, unless that one was pruned.
    pub(crate) is_inline: bool,
    /// Another branch may have gone on with it: a change needs a chain of its own, with a link.
    pub(crate) is_shared: bool,
    /// What it costs to read.
    pub(crate) weight: u64,
    /// How long the value is about, as a whole.
    pub(crate) full: u64,
}

/// The ends of chains in one row.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub(crate) struct Heads {
    /// The row that has the others; `None` when this one has all.
    pub(crate) base: Option<u64>,
    /// How many rows a reader looks at, this one not counted.
    pub(crate) way: u64,
    pub(crate) entries: Vec<(u32, Head)>,
}

impl Heads {
    /// Whether a row with `fields` fields, `way` rows from one with all, has to have all of them itself.
    pub(super) fn is_whole(fields: usize, way: u64) -> bool {
        fields <= FEW || way >= LONGEST_WAY.min(fields as u64)
    }

    /// The form in the row with this number.
    pub(super) fn to_bytes(&self, number: u64) -> Vec<u8> {
        let mut out = Vec::with_capacity(4 + self.entries.len() * 8);
        put(&mut out, self.way);
        if let Some(base) = self.base {
            put(&mut out, number - base);
        }
        for (field, head) in &self.entries {
            put(&mut out, u64::from(*field));
            put(&mut out, number - head.chain);
            put(
                &mut out,
                head.last << 2 | if head.is_inline { INLINE } else { 0 } | if head.is_shared { SHARED } else { 0 },
            );
            put(&mut out, head.full);
            if head.last > 0 {
                put(&mut out, head.weight);
            }
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
        let mut entries = Vec::new();
        while !bytes.is_empty() {
            let field = u32::try_from(bytes.number()?).ok()?;
            let chain = number.checked_sub(bytes.number()?)?;
            let flags = bytes.number()?;
            let full = bytes.number()?;
            let last = flags >> 2;
            let weight = if last > 0 { bytes.number()? } else { full };
            let (is_inline, is_shared) = (flags & INLINE != 0, flags & SHARED != 0);
            entries.push((field, Head { chain, last, is_inline, is_shared, weight, full }));
        }
        Some(Self { base, way, entries })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_ends_of_chains_come_back() {
        let head = Head { chain: 7, last: 0, is_inline: true, is_shared: false, weight: 5, full: 5 };
        let shared = Head { chain: 300, last: 41, is_inline: false, is_shared: true, weight: 70_000, full: 9 };
        for (base, way) in [(None, 0), (Some(299), 3)] {
            let heads = Heads { base, way, entries: vec![(0, head), (200, shared)] };
            assert_eq!(Heads::from_bytes(&heads.to_bytes(300), 300), Some(heads.clone()));
            assert_eq!(Heads::from_bytes(&heads.to_bytes(300), 200), None, "read as another row it is no row");
            let bytes = heads.to_bytes(300);
            assert_eq!(Heads::from_bytes(&bytes[..bytes.len() - 1], 300), None);
        }
    }

    #[test]
    fn a_row_has_all_fields_as_often_as_there_are_fields() {
        assert!(Heads::is_whole(8, 0) && !Heads::is_whole(9, 8) && Heads::is_whole(9, 9));
        assert!(!Heads::is_whole(3_000, 255) && Heads::is_whole(3_000, 256));
    }
}
