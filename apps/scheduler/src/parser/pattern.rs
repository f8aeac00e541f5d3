//! Patterns of words: `in {n} {unit}`, `[the] {nth} [of] {month}`, `this|coming {weekday}`.
//!
//! A piece is a word, several words to choose from, or a slot in braces; a piece in brackets may be missing. Words are in
//! small letters without accents. What slots mean is the reader's matter.

/// One piece of a pattern.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Piece {
    /// What must be there.
    pub(super) what: What,
    /// Whether it may be missing.
    pub(super) is_optional: bool,
}

/// What must be there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum What {
    /// One of these words.
    Words(Vec<&'static str>),
    /// Something that the reader reads.
    Slot(&'static str),
}

/// A pattern, cut into pieces.
pub(super) type Pattern = Vec<Piece>;

/// Cuts a pattern into pieces.
pub(super) fn pattern(text: &'static str) -> Pattern {
    text.split_whitespace().map(piece).collect()
}

fn piece(text: &'static str) -> Piece {
    let inner = text.strip_prefix('[').and_then(|inner| inner.strip_suffix(']'));
    let (text, is_optional) = inner.map_or((text, false), |inner| (inner, true));
    let slot = text.strip_prefix('{').and_then(|slot| slot.strip_suffix('}'));
    let what = slot.map_or_else(|| What::Words(text.split('|').collect()), What::Slot);
    Piece { what, is_optional }
}

/// Patterns with what they mean.
pub(super) fn patterns<T: Copy>(table: &'static [(&'static str, T)]) -> Vec<(Pattern, T)> {
    table.iter().map(|(text, meaning)| (pattern(text), *meaning)).collect()
}

/// Whether two words differ by one letter: one too many, one missing, one other, or two swapped.
pub(super) fn is_near(one: &str, other: &str) -> bool {
    let (one, other): (Vec<char>, Vec<char>) = (one.chars().collect(), other.chars().collect());
    let (short, long) = if one.len() <= other.len() { (&one, &other) } else { (&other, &one) };
    let same = short.iter().zip(long).take_while(|(a, b)| a == b).count();
    match long.len() - short.len() {
        0 if same == short.len() => true,
        0 => {
            let is_other = short[same + 1..] == long[same + 1..];
            let is_swap = same + 1 < short.len()
                && (short[same], short[same + 1]) == (long[same + 1], long[same])
                && short[same + 2..] == long[same + 2..];
            is_other || is_swap
        }
        1 => short[same..] == long[same + 1..],
        _ => false,
    }
}
