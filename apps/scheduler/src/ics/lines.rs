//! Lines of a calendar file: unfolded and counted when read, escaped and folded when written.

use super::report::{Problem, Report};

/// The longest line that is written, in bytes.
const LONGEST: usize = 75;

/// A line as it was before it was folded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Line {
    /// Where it begins; the first line is 1.
    pub(super) number: usize,
    /// What it says.
    pub(super) text: String,
}

/// The lines of a file, without empty ones.
pub(super) fn unfold(file: &[u8], report: &mut Report) -> Vec<Line> {
    let file = file.strip_prefix(b"\xef\xbb\xbf").unwrap_or(file);
    let mut whole: Vec<(usize, Vec<u8>)> = Vec::new();
    for (index, piece) in file.split(|byte| *byte == b'\n').enumerate() {
        let piece = piece.strip_suffix(b"\r").unwrap_or(piece);
        match (piece, whole.last_mut()) {
            ([], _) => {}
            ([b' ' | b'\t', rest @ ..], Some((_, open))) => open.extend_from_slice(rest),
            _ => whole.push((index + 1, piece.to_vec())),
        }
    }
    // Only now are they text: a fold may stand in the middle of a character.
    whole.into_iter().map(|(number, bytes)| Line { number, text: decode(number, bytes, report) }).collect()
}

/// As text, without what no line may have in it.
fn decode(number: usize, bytes: Vec<u8>, report: &mut Report) -> String {
    let mut text = String::from_utf8(bytes).unwrap_or_else(|error| {
        let text: String = error.as_bytes().iter().map(|byte| char::from(*byte)).collect();
        report.note(Problem::new(number, property_name(&text), "is not UTF-8, and was read as Latin-1"));
        text
    });
    text.retain(is_allowed);
    text
}

fn is_allowed(character: char) -> bool {
    character == '\t' || !character.is_ascii_control()
}

fn property_name(text: &str) -> &str {
    text.split([':', ';']).next().filter(|name| is_name(name)).unwrap_or("line")
}

/// Whether a text can be the name of a property.
pub(super) fn is_name(text: &str) -> bool {
    !text.is_empty() && text.len() <= 100 && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-')
}

/// Appends a line, folded between characters. What no line may have in it is left out.
pub(super) fn append(out: &mut String, line: &str) {
    let mut width = 0;
    for character in line.chars().filter(|character| is_allowed(*character)) {
        if width + character.len_utf8() > LONGEST {
            out.push_str("\r\n ");
            width = 1;
        }
        out.push(character);
        width += character.len_utf8();
    }
    out.push_str("\r\n");
}

/// Text as the value of a property.
pub(super) fn escape(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for character in text.replace("\r\n", "\n").chars() {
        match character {
            '\\' | ';' | ',' => escaped.extend(['\\', character]),
            '\n' | '\r' => escaped.push_str("\\n"),
            other => escaped.push(other),
        }
    }
    escaped
}

/// Text as the value of a parameter, in quotes; RFC 6868 says how quotes and line ends are written in them.
pub(super) fn quote(text: &str) -> String {
    let text = text.replace('^', "^^").replace('"', "^'").replace("\r\n", "^n").replace(['\r', '\n'], "^n");
    format!("\"{text}\"")
}

/// What a parameter says that was written by [`quote`].
pub(super) fn unquote(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    let mut characters = text.chars().peekable();
    while let Some(character) = characters.next() {
        let meant = match (character, characters.peek()) {
            ('^', Some('^')) => '^',
            ('^', Some('\'')) => '"',
            ('^', Some('n')) => '\n',
            _ => {
                plain.push(character);
                continue;
            }
        };
        characters.next();
        plain.push(meant);
    }
    plain
}

/// The beginning of a text, to show what is meant.
pub(super) fn excerpt(text: &str) -> String {
    let mut characters = text.chars();
    let beginning: String = characters.by_ref().take(40).collect();
    if characters.next().is_some() { format!("{beginning}…") } else { beginning }
}
