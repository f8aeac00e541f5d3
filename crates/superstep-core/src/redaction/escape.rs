//! Escapes in texts: the text after an escape begins a word, although letters of the escape are directly before it.

/// Maximum length of an escape after its first byte, except the escapes of a terminal.
pub(super) const MAX_ESCAPE_LENGTH: usize = 6;

/// Maximum number of bytes of a terminal escape between its bracket and its last letter.
const MAX_COLOUR_LENGTH: usize = 16;

/// Returns the start of the escape that ends directly before `at`: `\n`, `\u000a`, `\x0a`, `%20`, or a terminal
/// colour.
///
/// ```text
/// \n4111111111111111      ESC[31mghp_0123…      %20eyJhbGci…
///   ^ at                         ^ at              ^ at
/// ```
pub(super) fn before(bytes: &[u8], at: usize) -> Option<usize> {
    let all_hex = |digits: &[u8]| digits.iter().all(u8::is_ascii_hexdigit);
    match &bytes[..at] {
        [.., b'\\', b'n' | b'r' | b't' | b'b' | b'f'] => Some(at - 2),
        head => {
            let tail = |length: usize| head.len().checked_sub(length).map(|start| (start, &head[start..]));
            let is_hex = |length: usize, sign: &[u8]| {
                let (start, escape) = tail(length)?;
                (escape.starts_with(sign) && all_hex(&escape[sign.len()..])).then_some(start)
            };
            is_hex(3, b"%").or_else(|| is_hex(4, b"\\x")).or_else(|| is_hex(6, b"\\u")).or_else(|| colour(head))
        }
    }
}

/// Returns the start of the terminal escape at the end of a text; the escape character may be written out.
fn colour(head: &[u8]) -> Option<usize> {
    let (_, rest) = head.split_last().filter(|(last, _)| last.is_ascii_alphabetic())?;
    let is_inside = |byte: &&u8| byte.is_ascii_digit() || matches!(byte, b';' | b'?');
    let length = rest.iter().rev().take(MAX_COLOUR_LENGTH).take_while(is_inside).count();
    let rest = rest[..rest.len() - length].strip_suffix(b"[")?;
    let signs: [&[u8]; 5] = [b"\x1b", b"\\x1b", b"\\u001b", b"\\033", b"\\e"];
    signs.iter().find(|sign| rest.ends_with(sign)).map(|sign| rest.len() - sign.len())
}
