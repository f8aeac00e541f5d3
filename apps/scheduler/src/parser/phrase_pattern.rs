//! Phrase patterns: `in {n} {unit}`, `[the] {nth} [of] {month}`, `this|coming {weekday}`.
//!
//! A piece is a word, alternatives separated by `|`, or a slot in braces; a piece in brackets is optional. Words are in
//! lower case without accents. Slots are matched by `phrase_reader`.

/// One piece of a pattern.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct PatternPiece {
    /// Content of the piece.
    pub(super) kind: PieceKind,
    /// True if the piece may be missing.
    pub(super) is_optional: bool,
}

/// Content of a piece.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum PieceKind {
    /// One of these words.
    Words(Vec<&'static str>),
    /// A slot, by name.
    Slot(&'static str),
}

/// A parsed pattern.
pub(super) type PhrasePattern = Vec<PatternPiece>;

/// Parses a pattern.
pub(super) fn pattern(text: &'static str) -> PhrasePattern {
    text.split_whitespace().map(piece).collect()
}

fn piece(text: &'static str) -> PatternPiece {
    let inner = text.strip_prefix('[').and_then(|inner| inner.strip_suffix(']'));
    let (text, is_optional) = inner.map_or((text, false), |inner| (inner, true));
    let slot = text.strip_prefix('{').and_then(|slot| slot.strip_suffix('}'));
    let kind = slot.map_or_else(|| PieceKind::Words(text.split('|').collect()), PieceKind::Slot);
    PatternPiece { kind, is_optional }
}

/// Parses patterns and keeps their meanings.
pub(super) fn patterns<T: Copy>(table: &'static [(&'static str, T)]) -> Vec<(PhrasePattern, T)> {
    table.iter().map(|(text, meaning)| (pattern(text), *meaning)).collect()
}

/// Returns true if two words differ by at most one letter: inserted, missing, replaced, or two adjacent ones swapped.
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
