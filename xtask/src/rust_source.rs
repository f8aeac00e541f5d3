//! Separates the code, comments and string literals of a Rust file, so that each rule reads only what it applies to.
//!
//! A small lexer instead of a parser: it also reads the content of macro calls, which have no syntax tree. Every view
//! keeps the length and the line breaks of the file, so an offset in a view is an offset in the file.

use std::ops::Range;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Kind {
    Code,
    Comment,
    Text,
    Character,
}

/// A Rust file split into code, comments and literals.
pub(crate) struct RustSource<'a> {
    source: &'a str,
    pieces: Vec<(Kind, Range<usize>)>,
}

impl<'a> RustSource<'a> {
    /// Splits a file. Text that is not Rust results in meaningless pieces, never in a panic.
    pub(crate) fn new(source: &'a str) -> Self {
        let mut pieces = Vec::new();
        let (mut offset, mut code_from) = (0, 0);
        while offset < source.len() {
            let remaining = &source[offset..];
            let previous = source[..offset].chars().next_back();
            match piece_at(remaining, previous) {
                Some((kind, length)) => {
                    pieces.push((Kind::Code, code_from..offset));
                    pieces.push((kind, offset..offset + length));
                    offset += length;
                    code_from = offset;
                }
                None => offset += remaining.chars().next().map_or(1, char::len_utf8),
            }
        }
        pieces.push((Kind::Code, code_from..source.len()));
        Self { source, pieces }
    }

    /// Returns the code; comments and literals become spaces.
    pub(crate) fn code(&self) -> String {
        self.view(Kind::Code)
    }

    /// Returns the code without the items marked `#[cfg(test)]`.
    pub(crate) fn code_without_tests(&self) -> String {
        let mut code = self.code();
        while let Some(start) = code.find("#[cfg(test)]") {
            let end = end_of_item(&code, start);
            let blank = blanked(&code[start..end]);
            code.replace_range(start..end, &blank);
        }
        code
    }

    /// Returns the comments, including doc comments.
    pub(crate) fn comments(&self) -> String {
        self.view(Kind::Comment)
    }

    /// Returns every string literal, including its quotes, with its line number.
    pub(crate) fn strings(&self) -> impl Iterator<Item = (usize, &'a str)> + '_ {
        let texts = self.pieces.iter().filter(|(kind, _)| *kind == Kind::Text);
        texts.map(|(_, range)| (line_of(self.source, range.start), &self.source[range.clone()]))
    }

    fn view(&self, selected: Kind) -> String {
        let mut view = String::with_capacity(self.source.len());
        for (kind, range) in &self.pieces {
            let piece = &self.source[range.clone()];
            if *kind == selected { view.push_str(piece) } else { view.push_str(&blanked(piece)) }
        }
        view
    }
}

/// Returns the line number, from 1, of a byte offset.
pub(crate) fn line_of(text: &str, offset: usize) -> usize {
    text[..offset].matches('\n').count() + 1
}

/// Returns the byte offsets at which `word` is not part of a longer name.
pub(crate) fn words<'a>(text: &'a str, word: &'a str) -> impl Iterator<Item = usize> + 'a {
    let is_name = |c: char| c.is_alphanumeric() || c == '_';
    text.match_indices(word).map(|(offset, _)| offset).filter(move |&offset| {
        !text[..offset].chars().next_back().is_some_and(is_name)
            && !text[offset + word.len()..].chars().next().is_some_and(is_name)
    })
}

/// Returns the end of the first `{ .. }` after `from`, or of the first `;` outside brackets if that comes earlier.
pub(crate) fn end_of_item(code: &str, from: usize) -> usize {
    let (mut braces, mut brackets) = (0_usize, 0_usize);
    for (offset, symbol) in code[from..].char_indices() {
        match symbol {
            '(' | '[' => brackets += 1,
            ')' | ']' => brackets = brackets.saturating_sub(1),
            '{' => braces += 1,
            '}' => {
                braces = braces.saturating_sub(1);
                if braces == 0 && brackets == 0 {
                    return from + offset + 1;
                }
            }
            ';' if braces == 0 && brackets == 0 => return from + offset + 1,
            _ => {}
        }
    }
    code.len()
}

/// Replaces every byte except line breaks by a space, which keeps all offsets.
fn blanked(text: &str) -> String {
    text.bytes().map(|byte| if byte == b'\n' { '\n' } else { ' ' }).collect()
}

/// Returns the kind and length of the comment or literal at the start of a text.
fn piece_at(remaining: &str, previous: Option<char>) -> Option<(Kind, usize)> {
    if remaining.starts_with("//") {
        return Some((Kind::Comment, remaining.find('\n').unwrap_or(remaining.len())));
    }
    if remaining.starts_with("/*") {
        return Some((Kind::Comment, block_comment_length(remaining)));
    }
    if remaining.starts_with('"') {
        return Some((Kind::Text, quoted_length(remaining)));
    }
    if remaining.starts_with('\'') {
        return character_length(remaining).map(|length| (Kind::Character, length));
    }
    // In `foor"..."`, which is not valid Rust, the `r` belongs to a name.
    let is_word_start = !previous.is_some_and(|c| c.is_alphanumeric() || c == '_');
    let raw = remaining.trim_start_matches(['b', 'c']);
    if is_word_start && remaining.len() - raw.len() <= 1 && raw.starts_with('r') {
        return raw_length(raw).map(|length| (Kind::Text, remaining.len() - raw.len() + length));
    }
    None
}

/// Returns the length of a character literal; `None` for a lifetime.
fn character_length(remaining: &str) -> Option<usize> {
    let mut symbols = remaining.char_indices().skip(1);
    match symbols.next()?.1 {
        // The escaped symbol may be a quote, so the search for the closing quote starts after it.
        '\\' => remaining.get(3..)?.find('\'').map(|offset| offset + 4),
        _ => symbols.next().filter(|(_, symbol)| *symbol == '\'').map(|(offset, _)| offset + 1),
    }
}

fn block_comment_length(remaining: &str) -> usize {
    let (mut depth, mut offset) = (0_usize, 0);
    while offset < remaining.len() {
        if remaining[offset..].starts_with("/*") {
            depth += 1;
            offset += 2;
        } else if remaining[offset..].starts_with("*/") {
            depth -= 1;
            offset += 2;
            if depth == 0 {
                return offset;
            }
        } else {
            offset += remaining[offset..].chars().next().map_or(1, char::len_utf8);
        }
    }
    remaining.len()
}

fn quoted_length(remaining: &str) -> usize {
    let mut escaped = false;
    for (offset, symbol) in remaining.char_indices().skip(1) {
        match symbol {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            '"' => return offset + 1,
            _ => {}
        }
    }
    remaining.len()
}

fn raw_length(remaining: &str) -> Option<usize> {
    let hashes = remaining[1..].chars().take_while(|&c| c == '#').count();
    let opened = 1 + hashes;
    if !remaining[opened..].starts_with('"') {
        return None;
    }
    let closing = format!("\"{}", "#".repeat(hashes));
    Some(remaining[opened + 1..].find(&closing).map_or(remaining.len(), |offset| opened + 1 + offset + closing.len()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn views_keep_code_comments_and_strings_apart() {
        let source =
            "let a = \"// text\"; // note \"x\"\nlet b = r#\"raw \" here\"#; /* one /* two */ */ let c = '\"';";
        let rust = RustSource::new(source);
        assert_eq!(rust.strings().collect::<Vec<_>>(), [(1, "\"// text\""), (2, "r#\"raw \" here\"#")]);
        assert_eq!(rust.comments().split_whitespace().collect::<String>(), "//note\"x\"/*one/*two*/*/");
        assert!(rust.code().ends_with("let c =    ;"));
        assert_eq!(rust.code().len(), source.len());
    }

    #[test]
    fn lifetimes_escapes_and_raw_names_are_code() {
        let source = "fn f<'a>(r#type: &'a str) -> char { let q = '\\''; let b = b\"x\\\"y\"; '\\\\' }";
        let rust = RustSource::new(source);
        assert_eq!(rust.strings().map(|(_, text)| text).collect::<Vec<_>>(), ["\"x\\\"y\""]);
        assert!(rust.code().starts_with("fn f<'a>(r#type: &'a str) -> char { let q =     ; let b = b"));
        assert!(rust.code().ends_with(";      }"));
    }

    #[test]
    fn items_marked_as_tests_are_blanked() {
        let source = "fn a() { one(); }\n#[cfg(test)]\nmod tests { fn b() { two(); } }\nfn c() { three(); }";
        let code = RustSource::new(source).code_without_tests();
        assert!(code.contains("one") && code.contains("three") && !code.contains("two"));
        assert_eq!(line_of(&code, code.find("three").unwrap()), 4);
    }

    #[test]
    fn only_complete_words_match() {
        assert_eq!(words("unsafe_code unsafe {} munsafe", "unsafe").collect::<Vec<_>>(), [12]);
    }
}
