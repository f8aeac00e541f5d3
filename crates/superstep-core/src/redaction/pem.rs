//! Private keys in PEM, complete or truncated.

use std::ops::Range;

/// Maximum length of a key, in bytes. The longest in use has 13 KB.
pub(super) const MAX_KEY_LENGTH: usize = 64 * 1024;

pub(super) const DASHES: &str = "-----";

/// Start of the last line of a key.
pub(super) const END: &str = "-----END ";

/// Start of the first line of a key.
pub(super) const BEGIN: &str = "-----BEGIN ";

/// Returns the private key that begins at `at`: up to its last line, or as far as there are lines of a key.
pub(super) fn private_key(text: &str, at: usize) -> Option<Range<usize>> {
    let label = text[at..].strip_prefix(BEGIN)?;
    let head = at + BEGIN.len() + key_label_length(label)? + DASHES.len();
    let body = &text[head..text.floor_char_boundary(head + MAX_KEY_LENGTH)];
    let length = match next_line(body) {
        NextDelimiter::End(end) => end,
        NextDelimiter::Begin(next) => truncated_length(&body[..next]),
        NextDelimiter::None => truncated_length(body),
    };
    Some(at..head + length)
}

/// The delimiter that follows the first line of a key.
enum NextDelimiter {
    /// The last line, which ends here: everything in between, such as line numbers, belongs to the key.
    End(usize),
    /// Another key, which begins here.
    Begin(usize),
    None,
}

fn next_line(body: &str) -> NextDelimiter {
    let mut from = 0;
    while let Some(offset) = body[from..].find(DASHES) {
        let (at, line) = (from + offset, &body[from + offset..]);
        if let Some(label) = line.strip_prefix(END).and_then(key_label_length) {
            return NextDelimiter::End(at + END.len() + label + DASHES.len());
        }
        if line.strip_prefix(BEGIN).is_some_and(|label| key_label_length(label).is_some()) {
            return NextDelimiter::Begin(at);
        }
        from = at + 1;
    }
    NextDelimiter::None
}

/// Returns the length of the label if it is that of a private key and the line ends after it.
fn key_label_length(text: &str) -> Option<usize> {
    let in_label = |byte: &u8| byte.is_ascii_uppercase() || byte.is_ascii_digit() || *byte == b' ';
    let length = text.bytes().take(64).take_while(in_label).count();
    (text[..length].contains("PRIVATE KEY") && text[length..].starts_with(DASHES)).then_some(length)
}

/// Minimum length of a word of a key on the line of its label; shorter words belong to a sentence.
const MIN_WORD_LENGTH: usize = 16;

/// Returns the length of the text that belongs to a truncated key: the key on the rest of the first line, then
/// lines without spaces, and headers.
fn truncated_length(body: &str) -> usize {
    let in_key = |byte: u8| byte.is_ascii_alphanumeric() || b"+/=\\-:,".contains(&byte);
    let is_name = |name: &str| name.bytes().all(|byte| byte.is_ascii_alphabetic() || byte == b'-');
    let mut end = 0;
    for (number, line) in body.split_inclusive('\n').enumerate() {
        let words = line.trim();
        let is_header = number > 0 && words.split_once(": ").is_some_and(|(name, _)| is_name(name));
        let is_first_word = number == 0 && line.starts_with([' ', '\t']) && words.len() < MIN_WORD_LENGTH;
        if !is_header && (!words.bytes().all(in_key) || (is_first_word && !words.is_empty())) {
            end += if number == 0 { first_line(line, in_key) } else { 0 };
            break;
        }
        end += line.len();
    }
    body[..end].trim_end().len()
}

/// Returns the length of the key on the line of the label: the first word, and long words.
fn first_line(line: &str, in_key: impl Fn(u8) -> bool) -> usize {
    let mut end = 0;
    for word in line.split_inclusive([' ', '\t']) {
        let length = word.trim_end().bytes().take_while(|byte| in_key(*byte)).count();
        let is_key = end == 0 || length >= MIN_WORD_LENGTH;
        if !is_key || length < word.trim_end().len() {
            return end + if is_key { length } else { 0 };
        }
        end += word.len();
    }
    end
}
