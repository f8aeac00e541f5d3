//! Splits a document into passages: one per heading, long ones at paragraphs.

use crate::document_lines::{DocumentFormat, DocumentLine, lines};
use crate::file_index::IndexedItem;
use crate::index::SearchFields;

/// Length in bytes beyond which a passage is split before the next paragraph.
const SPLIT_AFTER_BYTES: usize = 1_200;

/// A passage of a document.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Passage {
    /// Text of the passage.
    pub text: String,
    /// Location of the passage: `file#heading`.
    pub source: String,
    /// Title of the document; its file name if it has none.
    pub title: String,
    /// Heading above the passage; empty before the first.
    pub heading: String,
    /// Path of the file, with `/` as separator.
    pub file: String,
}

impl Passage {
    /// Returns the part of [`source`](Self::source) behind the file. Both parts may contain a `#`.
    #[must_use]
    pub fn anchor(&self) -> &str {
        self.source.get(self.file.len() + 1..).unwrap_or_default()
    }
}

impl IndexedItem for Passage {
    const SKIP_REASON: Option<&'static str> = Some("it is not a Markdown, HTML or text file");

    fn accepts_file(name: &str) -> bool {
        DocumentFormat::from_file_name(name).is_some()
    }

    fn read(name: &str, bytes: &[u8]) -> Result<Vec<Self>, String> {
        let lines = read_lines(name, bytes).ok_or("it is not valid UTF-8 text")?;
        Ok(split(name, lines))
    }

    /// Returns the text of the passage, with the headings above it and the name of its file.
    fn search_fields(&self) -> SearchFields<'_> {
        let stem = self.file.rsplit_once('.').map_or(self.file.as_str(), |(stem, _)| stem);
        let file = stem.replace(['-', '_', '/'], " ");
        let title = if self.title == self.file { "" } else { &self.title };
        SearchFields { title: "", keys: format!("{title} {} {file}", self.heading), text: self.text.clone() }
    }
}

/// Parses the lines of a document; `None` if it is not text.
pub(crate) fn read_lines(name: &str, bytes: &[u8]) -> Option<Vec<DocumentLine>> {
    let text = std::str::from_utf8(bytes).ok().filter(|text| !text.contains('\0'))?;
    Some(lines(DocumentFormat::from_file_name(name)?, text.strip_prefix('\u{feff}').unwrap_or(text)))
}

/// State of the splitter within a document.
struct PassageSplitter<'a> {
    file: &'a str,
    title: String,
    heading: String,
    anchor: String,
    paragraphs: Vec<String>,
    passages: Vec<Passage>,
}

/// Splits a document into passages, in their order.
fn split(file: &str, lines: Vec<DocumentLine>) -> Vec<Passage> {
    let (title, heading, anchor) = (String::new(), String::new(), "top".to_owned());
    let (paragraphs, passages) = (vec![String::new()], Vec::new());
    let mut splitter = PassageSplitter { file, title, heading, anchor, paragraphs, passages };
    for line in lines {
        match line {
            DocumentLine::Heading { level, text, anchor } => {
                splitter.finish();
                splitter.anchor = anchor;
                if level == 1 {
                    splitter.title.clone_from(&text);
                }
                splitter.heading = text;
            }
            DocumentLine::Blank => splitter.paragraphs.push(String::new()),
            DocumentLine::Code(text) if text.trim().is_empty() => splitter.paragraphs.push(String::new()),
            DocumentLine::Item(text) => splitter.add("\n\n", &text),
            DocumentLine::Text(text) => splitter.add(" ", &text),
            DocumentLine::Code(text) => splitter.add(" ", text.trim()),
        }
    }
    splitter.finish();
    splitter.passages
}

impl PassageSplitter<'_> {
    /// Appends a line to the last paragraph.
    fn add(&mut self, separator: &str, text: &str) {
        let Some(paragraph) = self.paragraphs.last_mut() else { return };
        if !paragraph.is_empty() {
            paragraph.push_str(separator);
        }
        paragraph.push_str(text);
    }

    /// Creates passages from the paragraphs under a heading.
    fn finish(&mut self) {
        let paragraphs = std::mem::replace(&mut self.paragraphs, vec![String::new()]);
        let mut text = String::new();
        for paragraph in paragraphs.into_iter().filter(|paragraph| !paragraph.is_empty()) {
            if !text.is_empty() && text.len() + paragraph.len() > SPLIT_AFTER_BYTES {
                self.push(std::mem::take(&mut text));
            }
            if !text.is_empty() {
                text.push_str("\n\n");
            }
            text.push_str(&paragraph);
        }
        self.push(text);
    }

    fn push(&mut self, text: String) {
        if text.is_empty() {
            return;
        }
        self.passages.push(Passage {
            text,
            source: format!("{}#{}", self.file, self.anchor),
            title: if self.title.is_empty() { self.file.to_owned() } else { self.title.clone() },
            heading: self.heading.clone(),
            file: self.file.to_owned(),
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn passages_of(text: &str, format: DocumentFormat) -> Vec<(String, String)> {
        split("a/b.md", lines(format, text)).into_iter().map(|passage| (passage.source, passage.text)).collect()
    }

    /// R-DEB-17, R-DEB-41: a passage is named by its file and its heading.
    #[test]
    fn documents_are_cut_at_headings() {
        let text = "intro\n# Big & Small?\nOne\ntwo.\n\n```\n# no heading\n```\n## Empty\n## Größe\n- **a** is.\n- b is.\n## Größe\nlast";
        let passages = passages_of(text, DocumentFormat::Markdown);
        let sources: Vec<&str> = passages.iter().map(|(source, _)| source.as_str()).collect();
        assert_eq!(sources, ["a/b.md#top", "a/b.md#big--small", "a/b.md#größe", "a/b.md#größe-1"]);
        assert!(passages[1].1.starts_with("One two.") && passages[1].1.contains("# no heading"));
        assert_eq!(passages[2].1, "a is.\n\nb is.");
    }

    /// R-DEB-41: a text without headings has one location, and a long one is split at paragraphs.
    #[test]
    fn long_texts_are_cut_at_paragraphs() {
        let paragraph = "Words and words. ".repeat(40);
        let passages = passages_of(&format!("# not a heading\n\n{paragraph}\n\n{paragraph}"), DocumentFormat::Text);
        assert_eq!(passages.len(), 2);
        assert!(passages.iter().all(|(source, text)| source == "a/b.md#top" && text.len() <= SPLIT_AFTER_BYTES));
    }

    /// R-SUG-19: file and anchor are distinguished, whatever characters they contain.
    #[test]
    fn file_names_may_contain_the_anchor_character() {
        let passages = split("c#/notes.html", lines(DocumentFormat::Html, "<h1 id='a#b'>A</h1><p>text</p>"));
        assert_eq!((passages[0].file.as_str(), passages[0].anchor()), ("c#/notes.html", "a#b"));
    }
}
