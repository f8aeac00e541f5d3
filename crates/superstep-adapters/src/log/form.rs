//! The form in which values stand in rows: as they are, or squeezed.
//!
//! A piece of a value is squeezed on the end of the pieces it builds on. Whoever reads a value reads them first, so it has
//! what the writer had; a writer that has just opened a line does not, and squeezes what it knows. How that works is in
//! `squeeze`.

use std::borrow::Cow;

use superstep_core::error::Result;

use super::head::End;
use crate::squeeze::{squeeze, unsqueeze};

/// The longest tail: to look through more takes longer than it saves.
const LONGEST_TAIL: usize = 4_096;

/// How values are written. Either is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Form {
    Plain,
    Squeezed,
}

impl Form {
    /// The bytes of a value that stands alone.
    pub(super) fn pack(self, value: Vec<u8>) -> Vec<u8> {
        self.pack_on(&value, &Tail::default()).unwrap_or(value)
    }

    /// The bytes of a piece that follows others; `None` when it is best stored as it is.
    pub(super) fn pack_on(self, piece: &[u8], tail: &Tail) -> Option<Vec<u8>> {
        match self {
            Self::Plain => None,
            Self::Squeezed => squeeze(piece, &tail.0),
        }
    }
}

/// A value that stands alone as it was before it was packed.
pub(super) fn unpack(stored: &[u8]) -> Result<Cow<'_, [u8]>> {
    if is_squeezed(stored) { Ok(Cow::Owned(unsqueeze(stored, &[])?)) } else { Ok(Cow::Borrowed(stored)) }
}

/// A piece as it was, given the pieces that it follows, the last of them first.
pub(super) fn unpack_on<'a>(stored: &[u8], before: impl Iterator<Item = &'a [u8]>) -> Result<Vec<u8>> {
    let (mut pieces, mut length) = (Vec::new(), 0);
    for piece in before {
        pieces.push(piece);
        length += piece.len();
        if length >= LONGEST_TAIL {
            break;
        }
    }
    pieces.reverse();
    unsqueeze(stored, &pieces.concat())
}

/// Whether a value is stored in fewer bytes than it has.
pub(super) fn is_squeezed(stored: &[u8]) -> bool {
    stored.first().is_some_and(|first| (1..b'\t').contains(first))
}

/// The end of the pieces that make a value.
#[derive(Debug, Clone, Default)]
pub(super) struct Tail(Vec<u8>);

impl Tail {
    /// What it is after one more piece.
    pub(super) fn push(&mut self, piece: &[u8]) {
        let piece = &piece[piece.len().saturating_sub(LONGEST_TAIL)..];
        let surplus = (self.0.len() + piece.len()).saturating_sub(LONGEST_TAIL);
        self.0.drain(..surplus);
        self.0.extend_from_slice(piece);
    }
}

/// The ends of the values of a line, as far as they are known; each with the piece it ends with.
#[derive(Debug, Clone, Default)]
pub(crate) struct Tails(Vec<(u32, End, Tail)>);

impl Tails {
    /// Takes out what is known of the value of a field that ends so.
    pub(super) fn take(&mut self, field: u32, end: Option<End>) -> Tail {
        let Some(place) = self.0.iter().position(|(known, ..)| *known == field) else { return Tail::default() };
        let (_, known, tail) = self.0.swap_remove(place);
        if Some(known) == end { tail } else { Tail::default() }
    }

    pub(super) fn keep(&mut self, field: u32, end: End, tail: Tail) {
        self.0.push((field, end, tail));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn json_is_never_taken_for_squeezed() {
        for json in ["{}", "[1]", "\"x\"", "-1", "0", "true", "null", " 1", "\t1", "\n1", ""] {
            assert!(!is_squeezed(json.as_bytes()), "{json}");
        }
        let long = "\"said again and again \"".repeat(100).into_bytes();
        let packed = Form::Squeezed.pack(long.clone());
        assert!(is_squeezed(&packed) && packed.len() < 200);
        assert_eq!(*unpack(&packed).unwrap(), *long);
        assert_eq!(Form::Plain.pack(long.clone()), long);
    }

    /// A writer that came later knows less of what was before, and a reader knows all of it.
    #[test]
    fn a_piece_is_read_with_more_before_it_than_it_was_written_with() {
        let piece =
            |number: u64| format!("[\"{number} {}\"]", "who said what to whom, and why. ".repeat(12)).into_bytes();
        let (mut tails, mut stored) = (Tails::default(), Vec::new());
        for number in 1..=40 {
            if number == 20 {
                tails = Tails::default();
            }
            let before = (number > 1).then(|| End::Part(number - 1));
            let mut tail = tails.take(0, before);
            let plain = piece(number);
            stored.push(Form::Squeezed.pack_on(&plain, &tail).unwrap_or_else(|| plain.clone()));
            tail.push(&plain);
            tails.keep(0, End::Part(number), tail);
        }
        assert!(stored.iter().filter(|stored| is_squeezed(stored)).count() > 30);
        let mut read: Vec<Vec<u8>> = Vec::new();
        for stored in &stored {
            let plain = match is_squeezed(stored) {
                true => unpack_on(stored, read.iter().rev().map(Vec::as_slice)).unwrap(),
                false => stored.clone(),
            };
            read.push(plain);
        }
        assert!(read.iter().zip(1..).all(|(read, number)| *read == piece(number)));
    }
}
