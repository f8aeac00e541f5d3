//! Parses a document of any supported format into lines: the input of passages and of document pages.

use std::collections::BTreeMap;

use crate::html;

/// A line of a document.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum DocumentLine {
    /// A heading.
    Heading {
        /// Level of the heading, from 1 to 6.
        level: usize,
        /// Text of the heading.
        text: String,
        /// Anchor of the heading in links.
        anchor: String,
    },
    /// An item of a list.
    Item(String),
    /// A line of a paragraph.
    Text(String),
    /// A line of code or of its output, verbatim.
    Code(String),
    /// A separator between paragraphs.
    Blank,
}

/// Format of a document.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum DocumentFormat {
    Markdown,
    Html,
    Text,
}

impl DocumentFormat {
    /// Determines the format from the file name; `None` if the file is not a document.
    pub(crate) fn from_file_name(name: &str) -> Option<Self> {
        let (_, extension) = name.rsplit_once('.')?;
        match extension.to_lowercase().as_str() {
            "md" | "markdown" => Some(Self::Markdown),
            "html" | "htm" => Some(Self::Html),
            "txt" => Some(Self::Text),
            _ => None,
        }
    }
}

/// Parses Markdown into lines, without the markers of lists, quotations and emphasis.
///
/// ```
/// use superstep_documents::{DocumentLine, markdown};
/// let (text, anchor) = ("Big & Small".to_owned(), "big--small".to_owned());
/// assert_eq!(markdown("# Big & Small")[0], DocumentLine::Heading { level: 1, text, anchor });
/// ```
#[must_use]
pub fn markdown(text: &str) -> Vec<DocumentLine> {
    lines(DocumentFormat::Markdown, text)
}

/// Parses a text into lines; each heading gets an anchor.
pub(crate) fn lines(format: DocumentFormat, text: &str) -> Vec<DocumentLine> {
    let lines = match format {
        DocumentFormat::Html => html::lines(text),
        DocumentFormat::Markdown => parse_markdown(text),
        DocumentFormat::Text => text.lines().map(text_line).collect(),
    };
    with_anchors(lines)
}

fn text_line(line: &str) -> DocumentLine {
    let line = line.trim();
    if line.is_empty() { DocumentLine::Blank } else { DocumentLine::Text(line.to_owned()) }
}

fn parse_markdown(text: &str) -> Vec<DocumentLine> {
    let mut is_code = false;
    let line = |line: &str| {
        if line.starts_with("```") || line.starts_with("~~~") {
            is_code = !is_code;
            return None;
        }
        if is_code {
            return Some(DocumentLine::Code(line.to_owned()));
        }
        if let Some((level, text)) = heading_in(line) {
            return Some(DocumentLine::Heading { level, text: text.to_owned(), anchor: String::new() });
        }
        let bare = line.trim().trim_start_matches("> ").replace("**", "").replace('`', "");
        Some(match bare.strip_prefix("- ").or_else(|| bare.strip_prefix("* ")) {
            // Each list item is a line of its own.
            Some(item) => DocumentLine::Item(item.to_owned()),
            None if line.trim().is_empty() => DocumentLine::Blank,
            None => DocumentLine::Text(bare),
        })
    };
    text.lines().filter_map(line).collect()
}

fn heading_in(line: &str) -> Option<(usize, &str)> {
    let text = line.trim_start_matches('#');
    let level = line.len() - text.len();
    let is_heading = (1..=6).contains(&level) && text.starts_with([' ', '\t']) && !text.trim().is_empty();
    is_heading.then(|| (level, text.trim().trim_end_matches('#').trim_end()))
}

/// Adds an anchor to headings without one, derived from their text.
fn with_anchors(mut lines: Vec<DocumentLine>) -> Vec<DocumentLine> {
    let mut counts: BTreeMap<String, usize> = BTreeMap::new();
    for line in &mut lines {
        if let DocumentLine::Heading { text, anchor, .. } = line {
            let base = if anchor.is_empty() { slug(text) } else { std::mem::take(anchor) };
            *anchor = unique_anchor(base, &mut counts);
        }
    }
    lines
}

/// Converts a heading to an anchor: lower-case letters, digits and hyphens.
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

/// Makes an anchor unique: the second heading of the same name gets `-1`, as in rendered pages.
fn unique_anchor(slug: String, counts: &mut BTreeMap<String, usize>) -> String {
    let count = counts.entry(slug.clone()).or_default();
    *count += 1;
    if *count == 1 { slug } else { format!("{slug}-{}", *count - 1) }
}
