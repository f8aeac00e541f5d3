//! Tokeniser: splits a sentence into words, numbers and punctuation.

use super::SpanKind;

/// A word, a number or a punctuation character.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Token {
    /// The text in lower case, without accents and without possessive `'s`.
    pub(super) lower: String,
    /// Form of the token.
    pub(super) kind: TokenKind,
    /// True if the token ended in `'s`.
    pub(super) is_owner: bool,
    /// True if the token begins with a capital letter.
    pub(super) is_capital: bool,
    /// Byte range in the sentence.
    pub(super) byte_range: (usize, usize),
    /// Part that the token was matched as. A token is matched at most once.
    pub(super) matched_as: Option<SpanKind>,
}

/// Form of a token.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum TokenKind {
    Word,
    Integer(u32),
    /// `1st`, `15th`.
    Ordinal(u32),
    /// `14:00`; the flag is true if the hour has two digits.
    Time(u32, u32, bool),
    /// `11.1.`, `1.5`, `14.30`.
    Dotted(u32, u32, Option<u32>),
    /// `1/11`.
    Slashed(u32, u32, Option<u32>),
    /// `2026-01-11`.
    Iso(u32, u32, u32),
    Sign(char),
}

impl Token {
    /// Returns true if the token is one of the words.
    pub(super) fn is_in(&self, words: &[&str]) -> bool {
        words.contains(&self.lower.as_str())
    }

    /// Returns true if the token is unmatched and not punctuation.
    pub(super) fn is_unmatched(&self) -> bool {
        self.matched_as.is_none() && !matches!(self.kind, TokenKind::Sign(_))
    }
}

/// Splits a sentence into tokens.
pub(super) fn tokens(text: &str) -> Vec<Token> {
    let mut collected = Vec::new();
    let mut at = 0;
    while let Some(first) = text[at..].chars().next() {
        let rest = &text[at..];
        if first.is_whitespace() {
            at += first.len_utf8();
            continue;
        }
        let (kind, length) = if first.is_ascii_digit() {
            number(rest)
        } else if first.is_alphabetic() {
            (TokenKind::Word, word_length(rest))
        } else {
            let sign = if matches!(first, '–' | '—') { '-' } else { first };
            (TokenKind::Sign(sign), first.len_utf8())
        };
        collected.push(token(&rest[..length], kind, at));
        at += length;
        // `2026-01-11T14:00` is a date and a time.
        if matches!(kind, TokenKind::Iso(..)) && text[at..].starts_with('T') {
            at += 1;
        }
    }
    collected
}

fn token(text: &str, kind: TokenKind, at: usize) -> Token {
    let folded = fold(text);
    let is_am_or_pm = matches!(folded.trim_end_matches('.'), "a.m" | "p.m");
    let owned = folded.strip_suffix("'s").filter(|owner| !owner.is_empty());
    let lower = match kind {
        TokenKind::Sign(sign) => sign.to_string(),
        _ if is_am_or_pm => folded.replace('.', ""),
        _ => owned.unwrap_or(&folded).trim_end_matches('\'').to_owned(),
    };
    Token {
        lower,
        kind,
        is_owner: owned.is_some(),
        is_capital: text.starts_with(char::is_uppercase),
        byte_range: (at, at + text.len()),
        matched_as: None,
    }
}

/// Converts to lower case without accents.
pub(super) fn fold(text: &str) -> String {
    let mut folded = String::with_capacity(text.len());
    for letter in text.chars().flat_map(char::to_lowercase) {
        match letter {
            'á' | 'à' | 'â' | 'ä' | 'ã' => folded.push('a'),
            'é' | 'è' | 'ê' | 'ë' => folded.push('e'),
            'í' | 'ì' | 'î' | 'ï' => folded.push('i'),
            'ó' | 'ò' | 'ô' | 'ö' => folded.push('o'),
            'ú' | 'ù' | 'û' | 'ü' => folded.push('u'),
            'ñ' => folded.push('n'),
            'ß' => folded.push_str("ss"),
            '’' => folded.push('\''),
            // Combining marks, used by systems that decompose accented letters.
            '\u{300}'..='\u{36f}' => {}
            letter => folded.push(letter),
        }
    }
    folded
}

fn word_length(rest: &str) -> usize {
    let mut halves = ["a.m.", "p.m.", "A.M.", "P.M.", "a.m", "p.m"].iter();
    if let Some(half) = halves.find(|half| rest.starts_with(**half)) {
        return half.len();
    }
    let mut letters = rest.char_indices().peekable();
    let mut end = 0;
    while let Some((at, letter)) = letters.next() {
        let continues = letters.peek().is_some_and(|(_, next)| next.is_alphabetic());
        let is_inside = matches!(letter, '\'' | '’') && continues;
        if !(letter.is_alphanumeric() || is_inside || matches!(letter, '\u{300}'..='\u{36f}')) {
            break;
        }
        end = at + letter.len_utf8();
    }
    // Plural possessive: `the girls' night`.
    let is_plural_owner = rest[..end].ends_with('s') && rest[end..].starts_with(['\'', '’']);
    let is_word_end = |length: usize| rest[end + length..].chars().next().is_none_or(char::is_whitespace);
    let apostrophe = rest[end..].chars().next().map_or(0, char::len_utf8);
    if is_plural_owner && is_word_end(apostrophe) { end + apostrophe } else { end }
}

fn number(rest: &str) -> (TokenKind, usize) {
    let (first, mut at) = digits(rest);
    let follows = |at: usize, sign: char| {
        let after = rest[at..].strip_prefix(sign)?;
        let (value, length) = digits(after);
        (length > 0).then_some((value, at + 1 + length, length))
    };
    if let (4, Some((month, after, 2))) = (at, follows(at, '-'))
        && let Some((day, end, 2)) = follows(after, '-')
    {
        return (TokenKind::Iso(first, month, day), end);
    }
    if let Some((minute, end, 2)) = follows(at, ':') {
        let end = follows(end, ':').map_or(end, |(_, end, _)| end);
        return (TokenKind::Time(first, minute, at == 2), end);
    }
    if let Some((second, end, _)) = follows(at, '/') {
        let year = follows(end, '/');
        return (TokenKind::Slashed(first, second, year.map(|(year, ..)| year)), year.map_or(end, |(_, end, _)| end));
    }
    if let Some((second, end, _)) = follows(at, '.') {
        let year = follows(end, '.');
        let mut end = year.map_or(end, |(_, end, _)| end);
        // The second dot of `11.1.` belongs to the date.
        if year.is_none() && rest[end..].starts_with('.') {
            end += 1;
        }
        return (TokenKind::Dotted(first, second, year.map(|(year, ..)| year)), end);
    }
    let letters: String = rest[at..].chars().take_while(|letter| letter.is_alphabetic()).collect();
    if matches!(letters.to_lowercase().as_str(), "st" | "nd" | "rd" | "th") {
        at += letters.len();
        return (TokenKind::Ordinal(first), at);
    }
    (TokenKind::Integer(first), at)
}

/// Parses the leading number and counts its digits. At most nine digits are used, to fit `u32`.
fn digits(text: &str) -> (u32, usize) {
    let length = text.bytes().take_while(u8::is_ascii_digit).count();
    (text[..length.min(9)].parse().unwrap_or(0), length)
}
