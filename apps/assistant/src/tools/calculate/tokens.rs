//! Tokenizer of calculations: numbers, signs and words.

use rust_decimal::Decimal;
use superstep::ToolError;

use crate::tools::error::invalid;

/// A token of a calculation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum CalculatorToken {
    Number(Decimal),
    /// One of `+ - * / ^ % ( )`.
    Sign(char),
    /// A word in its original spelling.
    Word(String),
}

impl CalculatorToken {
    /// Returns true if the token is this word, ignoring case.
    pub(super) fn is(&self, word: &str) -> bool {
        matches!(self, Self::Word(text) if text.eq_ignore_ascii_case(word))
    }
}

/// Splits a text into tokens.
pub(super) fn tokens(text: &str) -> Result<Vec<CalculatorToken>, ToolError> {
    let mut parsed = Vec::new();
    let mut rest = text.trim_start();
    while let Some(letter) = rest.chars().next() {
        let is_number =
            letter.is_ascii_digit() || (letter == '.' && rest[1..].starts_with(|next: char| next.is_ascii_digit()));
        let length = if is_number {
            let length = number_length(rest);
            parsed.push(CalculatorToken::Number(number(&rest[..length])?));
            length
        } else if let Some(sign) = sign(letter) {
            parsed.push(CalculatorToken::Sign(sign));
            letter.len_utf8()
        } else if is_word(letter) {
            let length = word_length(rest);
            parsed.push(word(&rest[..length]));
            length
        } else {
            return Err(invalid(format_args!("`{}` is not valid in a calculation", letter.escape_debug())));
        };
        rest = rest[length..].trim_start();
    }
    Ok(parsed)
}

fn sign(letter: char) -> Option<char> {
    match letter {
        '+' | '*' | '/' | '^' | '%' | '(' | ')' | '-' => Some(letter),
        '×' | '·' | '⋅' => Some('*'),
        '÷' => Some('/'),
        '−' | '–' => Some('-'),
        _ => None,
    }
}

fn word(text: &str) -> CalculatorToken {
    match text.to_lowercase().as_str() {
        "percent" | "per-cent" => CalculatorToken::Sign('%'),
        "mod" | "modulo" => CalculatorToken::Word("mod".to_owned()),
        "plus" => CalculatorToken::Sign('+'),
        "minus" => CalculatorToken::Sign('-'),
        "times" => CalculatorToken::Sign('*'),
        _ => CalculatorToken::Word(text.to_owned()),
    }
}

fn is_word(letter: char) -> bool {
    letter.is_alphabetic() || matches!(letter, '°' | '€' | '$' | '£' | '²' | '³')
}

/// Returns the length of a word; a unit such as `m2` or `km/h` is one word.
fn word_length(text: &str) -> usize {
    let first = text.chars().next().map_or(0, char::len_utf8);
    if text.starts_with(['€', '$', '£']) {
        return first;
    }
    let mut end = first;
    for (offset, letter) in text.char_indices().skip(1) {
        let next = text[offset..].chars().nth(1);
        let is_inside =
            is_word(letter) || letter.is_ascii_digit() || (letter == '/' && next.is_some_and(char::is_alphabetic));
        if !is_inside {
            break;
        }
        end = offset + letter.len_utf8();
    }
    end
}

/// Returns the length of a number: digits, separators and an exponent.
fn number_length(text: &str) -> usize {
    let bytes = text.as_bytes();
    let is_digit = |index: usize| bytes.get(index).is_some_and(u8::is_ascii_digit);
    let mut end = 0;
    while is_digit(end) || (matches!(bytes.get(end), Some(b'.' | b',' | b'_' | b'\'')) && is_digit(end + 1)) {
        end += 1;
    }
    if matches!(bytes.get(end), Some(b'e' | b'E')) {
        let sign = usize::from(matches!(bytes.get(end + 1), Some(b'+' | b'-')));
        if is_digit(end + 1 + sign) {
            end += 1 + sign;
            while is_digit(end) {
                end += 1;
            }
        }
    }
    end
}

/// Parses a number with `,` or `.` as thousands separator.
fn number(text: &str) -> Result<Decimal, ToolError> {
    let invalid_number = |reason: &str| invalid(format_args!("`{text}` is not a number: {reason}"));
    let (digits, exponent) = text.split_once(['e', 'E']).map_or((text, None), |(digits, rest)| (digits, Some(rest)));
    let normalized = normalize_separators(digits).ok_or_else(|| invalid_number("write it like 1,249.90"))?;
    let parsed = match exponent {
        Some(exponent) => Decimal::from_scientific(&format!("{normalized}e{exponent}")),
        None => Decimal::from_str_exact(&normalized),
    };
    parsed.map_err(|_| invalid_number("it has too many digits"))
}

/// Normalises separators: of comma and dot, the last one that occurs once is the decimal separator, unless it is a
/// comma before exactly three digits.
fn normalize_separators(digits: &str) -> Option<String> {
    let digits = digits.replace(['_', '\''], "");
    let counts = |sign: char| digits.matches(sign).count();
    let (integer, fraction, separator) = match (counts(','), counts('.')) {
        (0, 0) => return Some(digits),
        (0, 1) => return Some(format!("0{digits}")),
        (1, 0) if !is_grouped(&digits, ',') => digits.split_once(',').map(|(integer, rest)| (integer, rest, ','))?,
        (_, 0) => (digits.as_str(), "", ','),
        (0, _) => (digits.as_str(), "", '.'),
        _ if digits.rfind(',') > digits.rfind('.') => {
            digits.rsplit_once(',').map(|(integer, rest)| (integer, rest, '.'))?
        }
        _ => digits.rsplit_once('.').map(|(integer, rest)| (integer, rest, ','))?,
    };
    let is_valid_integer = integer.bytes().all(|byte| byte.is_ascii_digit()) || is_grouped(integer, separator);
    is_valid_integer.then(|| format!("{}.{fraction}0", integer.replace(separator, "")))
}

/// Returns true if the digits are grouped: one to three digits, then groups of three.
fn is_grouped(digits: &str, separator: char) -> bool {
    let mut groups = digits.split(separator);
    let first = groups.next().unwrap_or_default();
    let is_digits = |group: &str| group.bytes().all(|byte| byte.is_ascii_digit());
    let mut rest = groups.peekable();
    rest.peek().is_some()
        && (1..=3).contains(&first.len())
        && is_digits(first)
        && rest.all(|group| group.len() == 3 && is_digits(group))
}
