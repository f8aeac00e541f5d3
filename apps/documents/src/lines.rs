//! The lines of a document, whatever it is written in: what passages are cut from, and what pages are made of.

use std::collections::BTreeMap;

use crate::html;

/// A line of a document.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Line {
    /// A heading.
    Heading {
        /// 1 for the largest, to 6.
        depth: usize,
        /// What it says.
        words: String,
        /// What links to it end in.
        anchor: String,
    },
    /// A statement of a list.
    Item(String),
    /// A line of a paragraph.
    Text(String),
    /// A line of a program or of what it says, as it stands there.
    Code(String),
    /// Between two paragraphs.
    Blank,
}

/// What a file is written in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Markdown,
    Html,
    Text,
}

impl Kind {
    /// By the name of the file; none when it is no document.
    pub(crate) fn of(name: &str) -> Option<Self> {
        let (_, ending) = name.rsplit_once('.')?;
        match ending.to_lowercase().as_str() {
            "md" | "markdown" => Some(Self::Markdown),
            "html" | "htm" => Some(Self::Html),
            "txt" => Some(Self::Text),
            _ => None,
        }
    }
}

/// The lines of Markdown, without the marks of lists, quotations and emphasis.
///
/// ```
/// use superstep_documents::{Line, markdown};
/// let anchor = "big--small".to_owned();
/// assert_eq!(markdown("# Big & Small")[0], Line::Heading { depth: 1, words: "Big & Small".to_owned(), anchor });
/// ```
#[must_use]
pub fn markdown(text: &str) -> Vec<Line> {
    lines(Kind::Markdown, text)
}

/// The lines of a text, each heading with an anchor of its own.
pub(crate) fn lines(kind: Kind, text: &str) -> Vec<Line> {
    let lines = match kind {
        Kind::Html => html::lines(text),
        Kind::Markdown => marked(text),
        Kind::Text => text.lines().map(plain).collect(),
    };
    anchored(lines)
}

fn plain(line: &str) -> Line {
    let line = line.trim();
    if line.is_empty() { Line::Blank } else { Line::Text(line.to_owned()) }
}

fn marked(text: &str) -> Vec<Line> {
    let mut is_code = false;
    let line = |line: &str| {
        if line.starts_with("```") || line.starts_with("~~~") {
            is_code = !is_code;
            return None;
        }
        if is_code {
            return Some(Line::Code(line.to_owned()));
        }
        if let Some((depth, words)) = heading_in(line) {
            return Some(Line::Heading { depth, words: words.to_owned(), anchor: String::new() });
        }
        let bare = line.trim().trim_start_matches("> ").replace("**", "").replace('`', "");
        Some(match bare.strip_prefix("- ").or_else(|| bare.strip_prefix("* ")) {
            // Items of a list are statements of their own.
            Some(item) => Line::Item(item.to_owned()),
            None if line.trim().is_empty() => Line::Blank,
            None => Line::Text(bare),
        })
    };
    text.lines().filter_map(line).collect()
}

fn heading_in(line: &str) -> Option<(usize, &str)> {
    let words = line.trim_start_matches('#');
    let depth = line.len() - words.len();
    let is_heading = (1..=6).contains(&depth) && words.starts_with([' ', '\t']) && !words.trim().is_empty();
    is_heading.then(|| (depth, words.trim().trim_end_matches('#').trim_end()))
}

/// Gives headings that have no anchor of their own one made of their words.
fn anchored(mut lines: Vec<Line>) -> Vec<Line> {
    let mut seen: BTreeMap<String, usize> = BTreeMap::new();
    for line in &mut lines {
        if let Line::Heading { words, anchor, .. } = line {
            let wanted = if anchor.is_empty() { slug(words) } else { std::mem::take(anchor) };
            *anchor = numbered(wanted, &mut seen);
        }
    }
    lines
}

/// A heading as an anchor: small letters, digits and hyphens.
fn slug(heading: &str) -> String {
    let mut slug = String::new();
    for letter in heading.chars().flat_map(char::to_lowercase) {
        if letter.is_alphanumeric() || letter == '_' {
            slug.push(letter);
        } else if letter.is_whitespace() || letter == '-' {
            slug.push('-');
        }
    }
    if slug.is_empty() { "section".to_owned() } else { slug }
}

/// The second heading of the same name gets `-1`, as on the pages where anchors are used.
fn numbered(slug: String, seen: &mut BTreeMap<String, usize>) -> String {
    let count = seen.entry(slug.clone()).or_default();
    *count += 1;
    if *count == 1 { slug } else { format!("{slug}-{}", *count - 1) }
}
