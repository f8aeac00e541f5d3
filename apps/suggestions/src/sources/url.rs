//! URLs of search results: relative paths below a source, or web URLs.

use std::fmt::Write as _;

/// Percent-encodes a path: keeps letters, digits, `-`, `_`, `.`, `~` and `/`. A `#`, `?` or `%` in a file name thus
/// stays part of the name.
pub(crate) fn encoded(path: &str) -> String {
    let mut encoded = String::new();
    for byte in path.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'_' | b'.' | b'~' | b'/' => encoded.push(byte.into()),
            // Writing to a `String` cannot fail.
            _ => drop(write!(encoded, "%{byte:02X}")),
        }
    }
    encoded
}

/// Returns true if the URL has the scheme `http` or `https`, so that opening it does not run code.
pub(crate) fn is_web(url: &str) -> bool {
    ["https://", "http://"].iter().any(|scheme| {
        url.get(..scheme.len()).is_some_and(|start| start.eq_ignore_ascii_case(scheme)) && url.len() > scheme.len()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// R-SUG-19, R-SUG-39: a file name stays one part of the URL, whatever characters it contains.
    #[test]
    fn file_names_are_percent_encoded() {
        let rows = [("a/b.md", "a/b.md"), ("c# notes?.md", "c%23%20notes%3F.md"), ("100%.md", "100%25.md")];
        for (name, expected) in rows {
            assert_eq!(encoded(name), expected);
        }
        assert_eq!(encoded("größe.md"), "gr%C3%B6%C3%9Fe.md");
        for (url, expected) in [("HTTPS://a.example", true), ("http://a", true), ("https://", false), ("//a", false)] {
            assert_eq!(is_web(url), expected, "{url}");
        }
    }
}
