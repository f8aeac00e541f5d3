//! Content lines of a calendar file: unfolding and numbering for the import, escaping and folding for the export.

use super::report::{ImportProblem, ImportReport};

/// Maximum length of a written line in bytes.
const MAX_LINE_BYTES: usize = 75;

/// An unfolded content line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ContentLine {
    /// Line number in the file, starting at 1.
    pub(super) number: usize,
    /// Text of the line.
    pub(super) text: String,
}

/// Returns the unfolded lines of a file, without empty lines.
pub(super) fn unfold(file: &[u8], report: &mut ImportReport) -> Vec<ContentLine> {
    let file = file.strip_prefix(b"\xef\xbb\xbf").unwrap_or(file);
    let mut unfolded: Vec<(usize, Vec<u8>)> = Vec::new();
    for (index, piece) in file.split(|byte| *byte == b'\n').enumerate() {
        let piece = piece.strip_suffix(b"\r").unwrap_or(piece);
        match (piece, unfolded.last_mut()) {
            ([], _) => {}
            ([b' ' | b'\t', rest @ ..], Some((_, open))) => open.extend_from_slice(rest),
            _ => unfolded.push((index + 1, piece.to_vec())),
        }
    }
    // Decoding comes after unfolding, because a fold may split a UTF-8 character.
    unfolded.into_iter().map(|(number, bytes)| ContentLine { number, text: decode(number, bytes, report) }).collect()
}

/// Decodes a line as UTF-8, else as Latin-1, and removes control characters.
fn decode(number: usize, bytes: Vec<u8>, report: &mut ImportReport) -> String {
    let mut text = String::from_utf8(bytes).unwrap_or_else(|error| {
        let text: String = error.as_bytes().iter().map(|byte| char::from(*byte)).collect();
        report.add_problem(ImportProblem::new(number, property_name(&text), "is not UTF-8, and was read as Latin-1"));
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

/// Returns true if a text is a valid property name.
pub(super) fn is_name(text: &str) -> bool {
    !text.is_empty() && text.len() <= 100 && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-')
}

/// Appends a line, folded between characters. Control characters are left out.
pub(super) fn write_folded(out: &mut String, line: &str) {
    let mut width = 0;
    for character in line.chars().filter(|character| is_allowed(*character)) {
        if width + character.len_utf8() > MAX_LINE_BYTES {
            out.push_str("\r\n ");
            width = 1;
        }
        out.push(character);
        width += character.len_utf8();
    }
    out.push_str("\r\n");
}

/// Escapes text as a property value.
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

/// Quotes text as a parameter value. Quotes and line breaks are encoded as in RFC 6868.
pub(super) fn quote(text: &str) -> String {
    let text = text.replace('^', "^^").replace('"', "^'").replace("\r\n", "^n").replace(['\r', '\n'], "^n");
    format!("\"{text}\"")
}

/// Decodes a parameter value that was encoded by [`quote`].
pub(super) fn unquote(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    let mut characters = text.chars().peekable();
    while let Some(character) = characters.next() {
        let decoded = match (character, characters.peek()) {
            ('^', Some('^')) => '^',
            ('^', Some('\'')) => '"',
            ('^', Some('n')) => '\n',
            _ => {
                plain.push(character);
                continue;
            }
        };
        characters.next();
        plain.push(decoded);
    }
    plain
}

/// Returns the first 40 characters of a text, for messages.
pub(super) fn excerpt(text: &str) -> String {
    let mut characters = text.chars();
    let beginning: String = characters.by_ref().take(40).collect();
    if characters.next().is_some() { format!("{beginning}…") } else { beginning }
}
