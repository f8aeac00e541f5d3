//! Writes the query that was checked out again, sign by sign, for a database that reads it by rules of its own.
//!
//! Two readers never agree on all of a text: where a comment ends, whether `\'` ends a raw text, what `''` is. So the text
//! that was checked is not the one that is sent: what is sent has no comments, each text in it is written in one way that
//! is read in one way only, and what has no such way is refused.

use sqlparser::tokenizer::{Token, Word};
use superstep::ToolError;

use crate::tools::failure::refused;

/// What may stand behind a backslash in GoogleSQL.
const ESCAPES: &str = "abfnrtv\\?\"'`01234567xXuU";

/// The query in GoogleSQL.
pub(super) fn for_bigquery(tokens: &[Token]) -> Result<String, ToolError> {
    let (mut text, mut before) = (String::new(), Kind::Blank);
    for token in tokens {
        let (kind, piece) = piece(token)?;
        if kind == Kind::Blank && before == Kind::Blank {
            continue;
        }
        // Neither two signs nor a text and its neighbour may become something else together: `--`, `/*`, `r'`, `'''`.
        let is_apart = kind == Kind::Text || before == Kind::Text || (kind == Kind::Sign && before == Kind::Sign);
        if is_apart && before != Kind::Blank && kind != Kind::Blank {
            text.push(' ');
        }
        text.push_str(&piece);
        before = kind;
    }
    Ok(text.trim_end().to_owned())
}

/// What a piece of a query is to its neighbours.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Blank,
    Name,
    Text,
    Sign,
}

fn piece(token: &Token) -> Result<(Kind, String), ToolError> {
    Ok(match token {
        // There is one statement, so a semicolon can only stand behind it.
        Token::Whitespace(_) | Token::SemiColon | Token::EOF => (Kind::Blank, " ".to_owned()),
        Token::Word(word) => (Kind::Name, name(word)?),
        Token::Number(digits, false) => (Kind::Name, digits.clone()),
        Token::HexStringLiteral(digits) if digits.bytes().all(|digit| digit.is_ascii_hexdigit()) => {
            (Kind::Text, format!("0x{digits}"))
        }
        Token::SingleQuotedString(inner) => (Kind::Text, format!("'{}'", escaped(inner, Some('\''))?)),
        Token::DoubleQuotedString(inner) => (Kind::Text, format!("'{}'", escaped(inner, Some('"'))?)),
        Token::TripleSingleQuotedString(inner) | Token::TripleDoubleQuotedString(inner) => {
            (Kind::Text, format!("'{}'", escaped(inner, None)?))
        }
        Token::SingleQuotedByteStringLiteral(inner) => (Kind::Text, format!("b'{}'", escaped(inner, Some('\''))?)),
        Token::DoubleQuotedByteStringLiteral(inner) => (Kind::Text, format!("b'{}'", escaped(inner, Some('"'))?)),
        Token::SingleQuotedRawStringLiteral(inner) => (Kind::Text, format!("'{}'", raw(inner, Some('\''))?)),
        Token::DoubleQuotedRawStringLiteral(inner) => (Kind::Text, format!("'{}'", raw(inner, Some('"'))?)),
        Token::TripleSingleQuotedRawStringLiteral(inner) | Token::TripleDoubleQuotedRawStringLiteral(inner) => {
            (Kind::Text, format!("'{}'", raw(inner, None)?))
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
        | Token::ShiftRight => (Kind::Sign, token.to_string()),
        other => return Err(refused(format_args!("`{}` cannot stand in a query", other.to_string().escape_debug()))),
    })
}

/// A name, in quotes where it was: nothing in it may be read as an escape or as its end.
fn name(word: &Word) -> Result<String, ToolError> {
    let is_plain = |letter: char| letter.is_ascii_alphanumeric() || letter == '_';
    let is_quotable = |letter: char| !letter.is_control() && !matches!(letter, '\\' | '`');
    match word.quote_style {
        None if word.value.chars().all(is_plain) => Ok(word.value.clone()),
        Some('`') if word.value.chars().all(is_quotable) => Ok(format!("`{}`", word.value)),
        _ => Err(refused(format_args!("`{}` cannot be a name", word.value.escape_debug()))),
    }
}

/// What stands inside of a text with escapes, for single quotes. `quote` cannot stand in it by itself.
fn escaped(inner: &str, quote: Option<char>) -> Result<String, ToolError> {
    let (mut text, mut letters) = (String::new(), inner.chars());
    while let Some(letter) = letters.next() {
        if letter != '\\' {
            push(&mut text, letter, quote)?;
            continue;
        }
        match letters.next().filter(|next| ESCAPES.contains(*next)) {
            Some(next) => text.extend(['\\', next]),
            None => return Err(refused("in a text `\\` stands only before what it escapes; write `\\\\` for itself")),
        }
    }
    Ok(text)
}

/// What stands inside of a raw text, for single quotes with escapes. At its end a `\` would keep the quote from ending it.
fn raw(inner: &str, quote: Option<char>) -> Result<String, ToolError> {
    if inner.ends_with('\\') {
        return Err(refused("a raw text cannot end with `\\`"));
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
        letter if quote == Some(letter) => return Err(refused("write `\\'` for a quote inside of a text")),
        '\'' => text.push_str("\\'"),
        '\n' => text.push_str("\\n"),
        '\r' => text.push_str("\\r"),
        '\t' => text.push_str("\\t"),
        letter if letter.is_control() => text.push_str(&format!("\\u{:04x}", u32::from(letter))),
        letter => text.push(letter),
    }
    Ok(())
}
