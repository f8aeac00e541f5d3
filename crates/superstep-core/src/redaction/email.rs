//! Email addresses, and passwords in URLs with a scheme. Both are found by their `@`.

use std::ops::Range;

use super::escape;

/// Maximum length of the name before the `@`, in bytes.
const MAX_NAME_LENGTH: usize = 64;

/// Maximum length of a domain, in bytes.
const MAX_DOMAIN_LENGTH: usize = 253;

/// Maximum length of a user and a password, in each direction from the `@`.
const MAX_USER_LENGTH: usize = 512;

/// Endings of file names and service units, which no domain has.
const NON_DOMAIN_SUFFIXES: [&[u8]; 18] = [
    b"png", b"jpg", b"jpeg", b"gif", b"webp", b"svg", b"ico", b"bmp", b"css", b"html", b"service", b"socket", b"timer",
    b"mount", b"slice", b"scope", b"final", b"release",
];

/// Returns the email address around the `@` at `at`, starting at `from` or later.
pub(super) fn email_address(text: &str, from: usize, at: usize) -> Option<Range<usize>> {
    let from = text.ceil_char_boundary(from.max(at.saturating_sub(MAX_NAME_LENGTH)));
    let length: usize =
        text[from..at].chars().rev().take_while(|character| in_name(*character)).map(char::len_utf8).sum();
    let name = &text[after_escapes(text.as_bytes(), at - length, at)..at];
    let name = name.trim_start_matches(['.', '\'', '-', '%', '+']);
    let end = at + 1 + domain(&text.as_bytes()[at + 1..])?;
    // A repository URL looks like the email address of a user `git`.
    let is_repository = name == "git" && text.as_bytes().get(end).is_some_and(|byte| matches!(byte, b':' | b'/'));
    (!name.is_empty() && !is_repository).then(|| at - name.len()..text.floor_char_boundary(end))
}

/// Returns the start of a name whose first letters may be the rest of escapes.
fn after_escapes(bytes: &[u8], start: usize, end: usize) -> usize {
    let reaches = |position: &usize| escape::before(bytes, *position).is_some_and(|escape| escape <= start);
    let next = (start + 1..=end.min(start + escape::MAX_ESCAPE_LENGTH)).rev().find(reaches);
    next.map_or(start, |next| after_escapes(bytes, next, end))
}

/// Accepts letters of alphabets, not of scripts without spaces: there a name would extend into the sentence before
/// it.
fn in_name(character: char) -> bool {
    match character.is_ascii() {
        true => character.is_ascii_alphanumeric() || matches!(character, '.' | '_' | '%' | '+' | '\'' | '-'),
        false => character < '\u{590}' && character.is_alphanumeric(),
    }
}

/// Returns the length of the domain at the beginning of `bytes`: labels with dots between them, the last one of
/// letters.
fn domain(bytes: &[u8]) -> Option<usize> {
    let (mut at, mut end) = (0, None);
    let in_label = |byte: &u8| byte.is_ascii_alphanumeric() || *byte == b'-' || *byte >= 0x80;
    let mut numbers = 0;
    for label in 0.. {
        let rest = &bytes[at..bytes.len().min(MAX_DOMAIN_LENGTH)];
        let length = rest.iter().take_while(|byte| in_label(byte)).count();
        let is_last = rest[..length].iter().all(|byte| byte.is_ascii_alphabetic() || *byte >= 0x80);
        if length == 0 || rest[0] == b'-' {
            break;
        }
        numbers += usize::from(label == numbers && rest[..length].iter().all(u8::is_ascii_digit));
        let is_last = is_last && !NON_DOMAIN_SUFFIXES.iter().any(|name| name.eq_ignore_ascii_case(&rest[..length]));
        if label > 0 && length >= 2 && (is_last || rest.starts_with(b"xn--")) {
            end = Some(at + length);
        }
        at += length;
        if bytes.get(at) != Some(&b'.') || at >= MAX_DOMAIN_LENGTH {
            break;
        }
        at += 1;
    }
    // Two numeric labels make a version.
    end.filter(|_| numbers < 2)
}

/// Returns the password in `scheme://user:password@host`, where one of its `@` is at `at`.
pub(super) fn password(text: &str, from: usize, at: usize) -> Option<Range<usize>> {
    let bytes = text.as_bytes();
    let ends = |byte: &u8| byte.is_ascii_whitespace() || matches!(byte, b'"' | b'<' | b'>');
    let from = from.max(at.saturating_sub(MAX_USER_LENGTH));
    // Not beyond another `@`, which was checked before: a word with many of them is scanned once.
    let before = at - bytes[from..at].iter().rev().take_while(|byte| !ends(byte) && **byte != b'@').count();
    let start = before + after_scheme(&bytes[before..at])?;
    // A password that is not percent-encoded may contain an `@`: the last one counts.
    let rest = &bytes[at..bytes.len().min(at + MAX_USER_LENGTH)];
    let authority = rest.iter().take_while(|byte| !ends(byte) && !b"/\\?#".contains(byte)).count();
    let last = at + rest[..authority].iter().rposition(|byte| *byte == b'@')?;
    let colon = start + bytes[start..last].iter().position(|byte| *byte == b':')?;
    // Before a slash are the host and its port, unless the text is not a port.
    let slash = bytes[start..at].iter().position(|byte| matches!(byte, b'/' | b'\\')).map_or(at, |slash| start + slash);
    let is_port = bytes.get(colon + 1..slash).is_none_or(|port| port.iter().all(u8::is_ascii_digit));
    let is_path = slash < at && (is_port || bytes[start] == b'[');
    (!is_path && colon + 1 < last && last + 1 < at + authority).then_some(colon + 1..last)
}

/// Returns the position after the last scheme; the slashes may be escaped.
fn after_scheme(bytes: &[u8]) -> Option<usize> {
    let after = |sign: &[u8]| bytes.windows(sign.len()).rposition(|window| window == sign).map(|at| at + sign.len());
    after(b"://").max(after(b":\\/\\/"))
}
