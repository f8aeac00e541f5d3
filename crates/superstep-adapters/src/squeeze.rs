//! Values in fewer bytes: zstd, on top of what the reader has read before.
//!
//! A list that grows is stored as many short pieces, which alone hardly shrink; each is squeezed with the end of what came
//! before it at hand (its tail), where its words and keys were seen already. A squeezed piece begins with a byte that no
//! JSON begins with, so pieces that were stored as they are stay readable side by side.

use std::cell::RefCell;

use superstep_core::error::{Code, Error, Result};
use zstd::bulk::{Compressor, Decompressor};

/// How a squeezed piece begins: the version of the form. A number is never reused.
const SQUEEZED: u8 = 1;
/// The fastest of the levels that look for words seen before; higher ones gain little on pieces this short.
const LEVEL: i32 = 1;
/// Without a tail, pieces below this hardly shrink.
pub(crate) const WORTH: usize = 1_024;
/// With a tail even shorter ones do.
const WORTH_ON_TAIL: usize = 256;
/// The longest value that is squeezed, and read back.
const LONGEST: usize = 1 << 30;
/// The form's byte, the length of the piece and of its tail.
const HEAD: usize = 1 + 4 + 2;
/// How everything that zstd makes begins; not stored.
const MAGIC: [u8; 4] = [0x28, 0xb5, 0x2f, 0xfd];

thread_local! {
    static SMALLER: RefCell<Option<Compressor<'static>>> = const { RefCell::new(None) };
    static LARGER: RefCell<Option<Decompressor<'static>>> = const { RefCell::new(None) };
}

/// A piece in fewer bytes, or `None` when that would not be worth it.
pub(crate) fn squeeze(piece: &[u8], tail: &[u8]) -> Option<Vec<u8>> {
    let worth = if tail.len() < WORTH { WORTH } else { WORTH_ON_TAIL };
    if piece.len() < worth || piece.len() > LONGEST {
        return None;
    }
    let made = SMALLER.with_borrow_mut(|kept| {
        let mut compressor = kept.take().map_or_else(|| Compressor::new(LEVEL), Ok).ok()?;
        compressor.set_dictionary(LEVEL, tail).ok()?;
        let made = compressor.compress(piece).ok()?;
        *kept = Some(compressor);
        Some(made)
    })?;
    let made = made.strip_prefix(&MAGIC)?;
    // A tenth less is the least that pays for reading it back.
    if (HEAD + made.len()) * 10 > piece.len() * 9 {
        return None;
    }
    let mut out = Vec::with_capacity(HEAD + made.len());
    out.push(SQUEEZED);
    out.extend_from_slice(&u32::try_from(piece.len()).ok()?.to_le_bytes());
    out.extend_from_slice(&u16::try_from(tail.len()).ok()?.to_le_bytes());
    out.extend_from_slice(made);
    Some(out)
}

/// A piece as it was, with the tail it was squeezed on.
pub(crate) fn unsqueeze(stored: &[u8], tail: &[u8]) -> Result<Vec<u8>> {
    if stored.first().is_some_and(|form| *form != SQUEEZED) {
        let message = format!("a value is squeezed in form {}, which is newer than {SQUEEZED}", stored[0]);
        return Err(Error::new(Code::CheckpointTooNew, message));
    }
    unpack(stored, tail).ok_or_else(|| {
        Error::new(Code::CheckpointCorrupt, "a value cannot be unsqueezed: it, or what it builds on, was changed")
    })
}

fn unpack(stored: &[u8], tail: &[u8]) -> Option<Vec<u8>> {
    let (head, made) = stored.split_at_checked(HEAD)?;
    let length = u32::from_le_bytes(head[1..5].try_into().ok()?) as usize;
    let used = usize::from(u16::from_le_bytes(head[5..].try_into().ok()?));
    let tail = tail.get(tail.len().checked_sub(used)?..)?;
    if length > LONGEST {
        return None;
    }
    let frame = [&MAGIC, made].concat();
    let piece = LARGER.with_borrow_mut(|kept| {
        let mut decompressor = kept.take().map_or_else(Decompressor::new, Ok).ok()?;
        decompressor.set_dictionary(tail).ok()?;
        let piece = decompressor.decompress(&frame, length).ok()?;
        *kept = Some(decompressor);
        Some(piece)
    })?;
    (piece.len() == length).then_some(piece)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn message(number: usize) -> Vec<u8> {
        let text = "The verdict is out: the second speaker had the better sources and the calmer voice. ".repeat(3);
        format!("[{{\"id\":\"{number:032x}\",\"type\":\"human\",\"content\":\"{number} {text}\"}}]").into_bytes()
    }

    /// R-FWK-41: short messages that would not shrink alone do on top of what was said before.
    #[test]
    fn pieces_shrink_on_their_tail_and_come_back() {
        let (mut stored, mut plain) = (0, 0);
        for number in 4..200 {
            let (tail, piece) = ([message(number - 2), message(number - 1)].concat().repeat(2), message(number));
            let squeezed = squeeze(&piece, &tail).unwrap();
            assert_eq!(
                unsqueeze(&squeezed, &[message(0), tail].concat()).unwrap(),
                piece,
                "more before it is no matter"
            );
            stored += squeezed.len();
            plain += piece.len();
        }
        assert!(stored * 4 < plain, "{stored} of {plain}");
    }

    #[test]
    fn what_does_not_shrink_stays_as_it_is() {
        assert!(squeeze(&message(1), &[]).is_none(), "short, with nothing before it");
        let next = |state: &u64| Some(state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1));
        let noise: Vec<u8> =
            std::iter::successors(Some(7), next).take(4_000).map(|state| (state >> 56) as u8).collect();
        assert!(squeeze(&noise, &[]).is_none());
    }

    #[test]
    fn what_was_changed_does_not_come_back() {
        let tail = message(1).repeat(4);
        let squeezed = squeeze(&message(2), &tail).unwrap();
        assert!(unsqueeze(&squeezed[..squeezed.len() / 2], &tail).is_err());
        assert!(unsqueeze(&squeezed, &[]).is_err());
        assert!(unsqueeze(&squeezed[..3], &tail).is_err());
        let mut newer = squeezed;
        newer[0] = 2;
        assert_eq!(unsqueeze(&newer, &tail).unwrap_err().code(), Code::CheckpointTooNew);
    }

    proptest! {
        #[test]
        fn any_piece_on_any_tail_comes_back(piece in ".{0,900}", tail in ".{0,900}") {
            let (piece, tail) = (piece.repeat(3).into_bytes(), tail.repeat(2).into_bytes());
            if let Some(squeezed) = squeeze(&piece, &tail) {
                prop_assert_eq!(unsqueeze(&squeezed, &tail).unwrap(), piece);
            }
        }

        #[test]
        fn no_bytes_do_harm(bytes in proptest::collection::vec(any::<u8>(), 0..200), tail in ".{0,200}") {
            drop(unsqueeze(&[&[SQUEEZED, 200, 0, 0, 0, 0, 0][..], &bytes].concat(), tail.as_bytes()));
            drop(unsqueeze(&bytes, tail.as_bytes()));
        }
    }
}
