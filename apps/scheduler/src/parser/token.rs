//! Cuts a sentence into words, numbers and signs, and remembers what each was read as.

use super::Part;

/// A word, a number or a sign.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Token {
    /// In small letters without accents, and without the `'s` of an owner.
    pub(super) lower: String,
    /// What it looks like.
    pub(super) kind: Kind,
    /// Whether it ended in `'s`.
    pub(super) is_owner: bool,
    /// Whether it begins with a capital letter.
    pub(super) is_capital: bool,
    /// Where it is in the sentence, in bytes.
    pub(super) place: (usize, usize),
    /// What it was read as; nothing is read twice.
    pub(super) read_as: Option<Part>,
}

/// What a token looks like.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Word,
    Integer(u32),
    /// `1st`, `15th`.
    Ordinal(u32),
    /// `14:00`; the flag says whether the hour has two digits.
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
    /// Whether it is one of these words.
    pub(super) fn is_in(&self, words: &[&str]) -> bool {
        words.contains(&self.lower.as_str())
    }

    /// Whether nothing has read it yet and it means something.
    pub(super) fn is_left(&self) -> bool {
        self.read_as.is_none() && !matches!(self.kind, Kind::Sign(_))
    }
}

/// Cuts a sentence.
pub(super) fn tokens(text: &str) -> Vec<Token> {
    let mut found = Vec::new();
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
            (Kind::Word, word_length(rest))
        } else {
            let sign = if matches!(first, '–' | '—') { '-' } else { first };
            (Kind::Sign(sign), first.len_utf8())
        };
        found.push(token(&rest[..length], kind, at));
        at += length;
        // `2026-01-11T14:00` is a day and a time.
        if matches!(kind, Kind::Iso(..)) && text[at..].starts_with('T') {
            at += 1;
        }
    }
    found
}

fn token(text: &str, kind: Kind, at: usize) -> Token {
    let folded = fold(text);
    let is_half = matches!(folded.trim_end_matches('.'), "a.m" | "p.m");
    let owned = folded.strip_suffix("'s").filter(|owner| !owner.is_empty());
    let lower = match kind {
        Kind::Sign(sign) => sign.to_string(),
        _ if is_half => folded.replace('.', ""),
        _ => owned.unwrap_or(&folded).trim_end_matches('\'').to_owned(),
    };
    Token {
        lower,
        kind,
        is_owner: owned.is_some(),
        is_capital: text.starts_with(char::is_uppercase),
        place: (at, at + text.len()),
        read_as: None,
    }
}

/// Small letters without accents.
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
            // A combining mark, as in names from some systems.
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
        let goes_on = letters.peek().is_some_and(|(_, next)| next.is_alphabetic());
        let is_inside = matches!(letter, '\'' | '’') && goes_on;
        if !(letter.is_alphanumeric() || is_inside || matches!(letter, '\u{300}'..='\u{36f}')) {
            break;
        }
        end = at + letter.len_utf8();
    }
    // `the girls' night`
    let is_plural_owner = rest[..end].ends_with('s') && rest[end..].starts_with(['\'', '’']);
    let is_word_end = |length: usize| rest[end + length..].chars().next().is_none_or(char::is_whitespace);
    let mark = rest[end..].chars().next().map_or(0, char::len_utf8);
    if is_plural_owner && is_word_end(mark) { end + mark } else { end }
}

fn number(rest: &str) -> (Kind, usize) {
    let (first, mut at) = digits(rest);
    let follows = |at: usize, sign: char| {
        let after = rest[at..].strip_prefix(sign)?;
        let (value, length) = digits(after);
        (length > 0).then_some((value, at + 1 + length, length))
    };
    if let (4, Some((month, after, 2))) = (at, follows(at, '-'))
        && let Some((day, end, 2)) = follows(after, '-')
    {
        return (Kind::Iso(first, month, day), end);
    }
    if let Some((minute, end, 2)) = follows(at, ':') {
        let end = follows(end, ':').map_or(end, |(_, end, _)| end);
        return (Kind::Time(first, minute, at == 2), end);
    }
    if let Some((second, end, _)) = follows(at, '/') {
        let year = follows(end, '/');
        return (Kind::Slashed(first, second, year.map(|(year, ..)| year)), year.map_or(end, |(_, end, _)| end));
    }
    if let Some((second, end, _)) = follows(at, '.') {
        let year = follows(end, '.');
        let mut end = year.map_or(end, |(_, end, _)| end);
        // The second dot of `11.1.` belongs to the day.
        if year.is_none() && rest[end..].starts_with('.') {
            end += 1;
        }
        return (Kind::Dotted(first, second, year.map(|(year, ..)| year)), end);
    }
    let letters: String = rest[at..].chars().take_while(|letter| letter.is_alphabetic()).collect();
    if matches!(letters.to_lowercase().as_str(), "st" | "nd" | "rd" | "th") {
        at += letters.len();
        return (Kind::Ordinal(first), at);
    }
    (Kind::Integer(first), at)
}

/// The number at the beginning and how many digits it has; none that anybody says is longer than nine.
fn digits(text: &str) -> (u32, usize) {
    let length = text.bytes().take_while(u8::is_ascii_digit).count();
    (text[..length.min(9)].parse().unwrap_or(0), length)
}
