//! Rewrites a checked query, token by token, for a database with its own lexical rules.
//!
//! Two parsers never agree on every text: the end of a comment, the effect of `\'` in a raw string, the meaning of
//! `''`. Therefore the checked text is not sent: the rewritten query has no comments, every string literal has one
//! unambiguous form, and a literal without such a form is rejected.

use sqlparser::tokenizer::{Token, Word};
use superstep::ToolError;

use crate::tools::error::not_allowed;

/// Characters that may follow a backslash in GoogleSQL.
const ESCAPES: &str = "abfnrtv\\?\"'`01234567xXuU";

/// Rewrites the query in GoogleSQL.
pub(super) fn for_bigquery(tokens: &[Token]) -> Result<String, ToolError> {
    let (mut text, mut previous) = (String::new(), PieceKind::Blank);
    for token in tokens {
        let (kind, piece) = piece(token)?;
        if kind == PieceKind::Blank && previous == PieceKind::Blank {
            continue;
        }
        // Two adjacent signs, or a literal and its neighbour, must not combine into another token: `--`, `/*`,
        // `r'`, `'''`.
        let needs_space = kind == PieceKind::Text
            || previous == PieceKind::Text
            || (kind == PieceKind::Sign && previous == PieceKind::Sign);
        if needs_space && previous != PieceKind::Blank && kind != PieceKind::Blank {
            text.push(' ');
        }
        text.push_str(&piece);
        previous = kind;
    }
    Ok(text.trim_end().to_owned())
}

/// Kind of a token, which determines the necessary spaces.
#[derive(Clone, Copy, PartialEq, Eq)]
enum PieceKind {
    Blank,
    Name,
    Text,
    Sign,
}

fn piece(token: &Token) -> Result<(PieceKind, String), ToolError> {
    Ok(match token {
        // There is only one statement, so a semicolon can only be at its end.
        Token::Whitespace(_) | Token::SemiColon | Token::EOF => (PieceKind::Blank, " ".to_owned()),
        Token::Word(word) => (PieceKind::Name, name(word)?),
        Token::Number(digits, false) => (PieceKind::Name, digits.clone()),
        Token::HexStringLiteral(digits) if digits.bytes().all(|digit| digit.is_ascii_hexdigit()) => {
            (PieceKind::Text, format!("0x{digits}"))
        }
        Token::SingleQuotedString(inner) => (PieceKind::Text, format!("'{}'", escaped(inner, Some('\''))?)),
        Token::DoubleQuotedString(inner) => (PieceKind::Text, format!("'{}'", escaped(inner, Some('"'))?)),
        Token::TripleSingleQuotedString(inner) | Token::TripleDoubleQuotedString(inner) => {
            (PieceKind::Text, format!("'{}'", escaped(inner, None)?))
        }
        Token::SingleQuotedByteStringLiteral(inner) => (PieceKind::Text, format!("b'{}'", escaped(inner, Some('\''))?)),
        Token::DoubleQuotedByteStringLiteral(inner) => (PieceKind::Text, format!("b'{}'", escaped(inner, Some('"'))?)),
        Token::SingleQuotedRawStringLiteral(inner) => (PieceKind::Text, format!("'{}'", raw(inner, Some('\''))?)),
        Token::DoubleQuotedRawStringLiteral(inner) => (PieceKind::Text, format!("'{}'", raw(inner, Some('"'))?)),
        Token::TripleSingleQuotedRawStringLiteral(inner) | Token::TripleDoubleQuotedRawStringLiteral(inner) => {
            (PieceKind::Text, format!("'{}'", raw(inner, None)?))
        }
        Token::Comma
        | Token::Period
        | Token::LParen
        | Token::RParen
        | Token::LBracket
        | Token::RBracket
        | Token::Eq
        | Token::Neq
        | Token::Lt
        | Token::Gt
        | Token::LtEq
        | Token::GtEq
        | Token::Plus
        | Token::Minus
        | Token::Mul
        | Token::Div
        | Token::StringConcat
        | Token::RArrow
        | Token::Arrow
        | Token::Ampersand
        | Token::Pipe
        | Token::Caret
        | Token::Tilde
        | Token::ShiftLeft
        | Token::ShiftRight => (PieceKind::Sign, token.to_string()),
        other => {
            return Err(not_allowed(format_args!("`{}` is not allowed in a query", other.to_string().escape_debug())));
        }
    })
}

/// Writes a name, quoted if it was quoted; rejects characters that could be an escape or end the name.
fn name(word: &Word) -> Result<String, ToolError> {
    let is_plain = |letter: char| letter.is_ascii_alphanumeric() || letter == '_';
    let is_quotable = |letter: char| !letter.is_control() && !matches!(letter, '\\' | '`');
    match word.quote_style {
        None if word.value.chars().all(is_plain) => Ok(word.value.clone()),
        Some('`') if word.value.chars().all(is_quotable) => Ok(format!("`{}`", word.value)),
        _ => Err(not_allowed(format_args!("`{}` is not a valid name", word.value.escape_debug()))),
    }
}

/// Writes the content of an escaped string for single quotes. `quote` cannot occur in it unescaped.
fn escaped(inner: &str, quote: Option<char>) -> Result<String, ToolError> {
    let (mut text, mut letters) = (String::new(), inner.chars());
    while let Some(letter) = letters.next() {
        if letter != '\\' {
            push(&mut text, letter, quote)?;
            continue;
        }
        match letters.next().filter(|next| ESCAPES.contains(*next)) {
            Some(next) => text.extend(['\\', next]),
            None => {
                return Err(not_allowed("invalid escape in a string; write `\\\\` for a backslash"));
            }
        }
    }
    Ok(text)
}

/// Writes the content of a raw string as an escaped string for single quotes. A trailing `\` is rejected, because
/// it would escape the closing quote.
fn raw(inner: &str, quote: Option<char>) -> Result<String, ToolError> {
    if inner.ends_with('\\') {
        return Err(not_allowed("a raw string cannot end with `\\`"));
    }
    let mut text = String::new();
    for letter in inner.chars() {
        match letter {
            '\\' => text.push_str("\\\\"),
            letter => push(&mut text, letter, quote)?,
        }
    }
    Ok(text)
}

fn push(text: &mut String, letter: char, quote: Option<char>) -> Result<(), ToolError> {
    match letter {
        letter if quote == Some(letter) => return Err(not_allowed("write `\\'` for a quote inside a string")),
        '\'' => text.push_str("\\'"),
        '\n' => text.push_str("\\n"),
        '\r' => text.push_str("\\r"),
        '\t' => text.push_str("\\t"),
        letter if letter.is_control() => text.push_str(&format!("\\u{:04x}", u32::from(letter))),
        letter => text.push(letter),
    }
    Ok(())
}
