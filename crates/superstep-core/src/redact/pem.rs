//! Private keys in PEM, whole or cut off.

use std::ops::Range;

/// The longest key, in bytes. The longest in use has 13 KB.
pub(super) const LONGEST: usize = 64 * 1024;

pub(super) const LINE: &str = "-----";

/// What the last line of a key begins with.
pub(super) const END: &str = "-----END ";

/// What the first line of a key begins with.
pub(super) const BEGIN: &str = "-----BEGIN ";

/// The private key that begins at `at`: to its last line, or as far as there are lines of a key.
pub(super) fn private_key(text: &str, at: usize) -> Option<Range<usize>> {
    let label = text[at..].strip_prefix(BEGIN)?;
    let head = at + BEGIN.len() + label_of_key(label)? + LINE.len();
    let body = &text[head..text.floor_char_boundary(head + LONGEST)];
    let next = body.find(LINE).unwrap_or(body.len());
    let lines = cut_off(&body[..next]);
    let last = body[next..].strip_prefix(END).and_then(label_of_key).filter(|_| body[lines..next].trim().is_empty());
    Some(at..head + last.map_or(lines, |label| next + END.len() + label + LINE.len()))
}

/// How long the label is, where it is that of a private key and the line ends after it.
fn label_of_key(text: &str) -> Option<usize> {
    let in_label = |byte: &u8| byte.is_ascii_uppercase() || byte.is_ascii_digit() || *byte == b' ';
    let length = text.bytes().take(64).take_while(in_label).count();
    (text[..length].contains("PRIVATE KEY") && text[length..].starts_with(LINE)).then_some(length)
}

/// How much of a text belongs to a key: the rest of the first line, then lines without blanks, and headers.
fn cut_off(body: &str) -> usize {
    let in_key = |byte: u8| byte.is_ascii_alphanumeric() || b"+/=\\-:,".contains(&byte);
    let is_name = |name: &str| name.bytes().all(|byte| byte.is_ascii_alphabetic() || byte == b'-');
    let mut end = 0;
    for (number, line) in body.split_inclusive('\n').enumerate() {
        let words = line.trim();
        let is_header = words.split_once(": ").is_some_and(|(name, _)| is_name(name));
        if number > 0 && !is_header && !words.bytes().all(in_key) {
            break;
        }
        end += line.len();
    }
    body[..end].trim_end().len()
}
