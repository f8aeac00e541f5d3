//! Mail addresses, and passwords in addresses with a scheme. Both are found by their `@`.

use std::ops::Range;

/// The longest name before the `@`, in bytes.
const LONGEST_NAME: usize = 64;

/// The longest domain, in bytes.
const LONGEST_DOMAIN: usize = 253;

/// How far a user and a password reach, each way from the `@`.
const LONGEST_USER: usize = 512;

/// The mail address around the `@` at `at`, not reaching before `from`.
pub(super) fn mail(text: &str, from: usize, at: usize) -> Option<Range<usize>> {
    let from = text.ceil_char_boundary(from.max(at.saturating_sub(LONGEST_NAME)));
    let length: usize = text[from..at].chars().rev().take_while(|letter| in_name(*letter)).map(char::len_utf8).sum();
    let name = &text[at - length..at];
    let name = name.trim_start_matches(['.', '\'', '-', '%', '+']);
    let end = domain(&text.as_bytes()[at + 1..])?;
    (!name.is_empty()).then(|| at - name.len()..text.floor_char_boundary(at + 1 + end))
}

/// Letters of alphabets, not of scripts without spaces: there a name would reach into the sentence before it.
fn in_name(letter: char) -> bool {
    match letter.is_ascii() {
        true => letter.is_ascii_alphanumeric() || matches!(letter, '.' | '_' | '%' | '+' | '\'' | '-'),
        false => letter < '\u{590}' && letter.is_alphanumeric(),
    }
}

/// How long the domain at the beginning of `bytes` is: labels with dots between them, the last of letters.
fn domain(bytes: &[u8]) -> Option<usize> {
    let (mut at, mut end) = (0, None);
    let in_label = |byte: &u8| byte.is_ascii_alphanumeric() || *byte == b'-' || *byte >= 0x80;
    for label in 0.. {
        let rest = &bytes[at..bytes.len().min(LONGEST_DOMAIN)];
        let length = rest.iter().take_while(|byte| in_label(byte)).count();
        let is_last = rest[..length].iter().all(|byte| byte.is_ascii_alphabetic() || *byte >= 0x80);
        if length == 0 || rest[0] == b'-' {
            break;
        }
        if label > 0 && length >= 2 && (is_last || rest.starts_with(b"xn--")) {
            end = Some(at + length);
        }
        at += length;
        if bytes.get(at) != Some(&b'.') || at >= LONGEST_DOMAIN {
            break;
        }
        at += 1;
    }
    end
}

/// The password in `scheme://user:password@host`, where one of its `@` is at `at`.
pub(super) fn password(text: &str, from: usize, at: usize) -> Option<Range<usize>> {
    let bytes = text.as_bytes();
    let ends = |byte: &u8| byte.is_ascii_whitespace() || matches!(byte, b'/' | b'"' | b'<' | b'>' | b'\\');
    let from = from.max(at.saturating_sub(LONGEST_USER));
    // Not beyond another `@`, which was asked before: a word of many of them is gone through once.
    let start = at - bytes[from..at].iter().rev().take_while(|byte| !ends(byte) && **byte != b'@').count();
    if !bytes[..start].ends_with(b"://") {
        return None;
    }
    // A password that is not written as it should be may have an `@` of its own: the last one counts.
    let rest = &bytes[at..bytes.len().min(at + LONGEST_USER)];
    let authority = rest.iter().take_while(|byte| !ends(byte) && !matches!(byte, b'?' | b'#')).count();
    let last = at + rest[..authority].iter().rposition(|byte| *byte == b'@')?;
    let colon = start + bytes[start..last].iter().position(|byte| *byte == b':')?;
    (colon + 1 < last && last + 1 < at + authority).then_some(colon + 1..last)
}
