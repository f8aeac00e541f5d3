//! Cuts a document into passages: one per heading, long ones at paragraphs.

use std::collections::BTreeMap;

use crate::Passage;
use crate::folder::{Document, Kind};
use crate::html;

/// How long a passage may get before it is cut at the next paragraph.
const LONG: usize = 1_200;

/// A passage as it is indexed.
pub(crate) struct Piece {
    pub(crate) passage: Passage,
    /// The headings above it and the name of the file, whose words count too.
    pub(crate) words: String,
}

/// A line of a document, whatever it is written in.
pub(crate) enum Line {
    /// A heading, with the anchor it has by itself.
    Heading {
        depth: usize,
        words: String,
        anchor: Option<String>,
    },
    /// A statement of a list.
    Item(String),
    Text(String),
    Blank,
}

/// The passages of a document, in its order.
pub(crate) fn split(document: &Document) -> Vec<Piece> {
    let mut pieces = Vec::new();
    let mut slugs: BTreeMap<String, usize> = BTreeMap::new();
    let (mut title, mut heading, mut place) = (String::new(), String::new(), "top".to_owned());
    let mut paragraphs: Vec<String> = vec![String::new()];
    for line in lines(document) {
        match line {
            Line::Heading { depth, words, anchor } => {
                finish(document, &[&title, &heading], &place, &mut paragraphs, &mut pieces);
                place = numbered(anchor.unwrap_or_else(|| slug(&words)), &mut slugs);
                if depth == 1 {
                    title.clone_from(&words);
                }
                heading = words;
            }
            Line::Blank => paragraphs.push(String::new()),
            Line::Item(text) => add(&mut paragraphs, "\n\n", &text),
            Line::Text(text) => add(&mut paragraphs, " ", &text),
        }
    }
    finish(document, &[&title, &heading], &place, &mut paragraphs, &mut pieces);
    pieces
}

fn lines(document: &Document) -> Vec<Line> {
    match document.kind {
        Kind::Html => html::lines(&document.text),
        Kind::Markdown => markdown(&document.text),
        Kind::Text => document.text.lines().map(plain).collect(),
    }
}

fn plain(line: &str) -> Line {
    let line = line.trim();
    if line.is_empty() { Line::Blank } else { Line::Text(line.to_owned()) }
}

/// The lines of Markdown, without the marks of lists, quotations and emphasis.
fn markdown(text: &str) -> Vec<Line> {
    let mut is_code = false;
    let line = |line: &str| {
        is_code ^= line.starts_with("```") || line.starts_with("~~~");
        if let Some((depth, words)) = heading_in(line).filter(|_| !is_code) {
            return Line::Heading { depth, words: words.to_owned(), anchor: None };
        }
        let bare = line.trim().trim_start_matches("> ").replace("**", "").replace('`', "");
        match bare.strip_prefix("- ").or_else(|| bare.strip_prefix("* ")) {
            // Items of a list are statements of their own.
            Some(item) => Line::Item(item.to_owned()),
            None if line.trim().is_empty() => Line::Blank,
            None => Line::Text(bare),
        }
    };
    text.lines().map(line).collect()
}

/// Adds a line to the last paragraph.
fn add(paragraphs: &mut [String], between: &str, text: &str) {
    let Some(paragraph) = paragraphs.last_mut() else { return };
    if !paragraph.is_empty() {
        paragraph.push_str(between);
    }
    paragraph.push_str(text);
}

/// Makes passages of what was gathered under a heading.
fn finish(
    document: &Document,
    headings: &[&str; 2],
    anchor: &str,
    gathered: &mut Vec<String>,
    pieces: &mut Vec<Piece>,
) {
    let paragraphs = std::mem::replace(gathered, vec![String::new()]);
    let mut text = String::new();
    let mut push = |text: &mut String| {
        let (text, source) = (std::mem::take(text), format!("{}#{anchor}", document.name));
        if !text.is_empty() {
            let stem = document.name.rsplit_once('.').map_or(document.name.as_str(), |(stem, _)| stem);
            let file = stem.replace(['-', '_', '/'], " ");
            let words = format!("{} {} {file}", headings[0], headings[1]);
            let title = if headings[0].is_empty() { document.name.clone() } else { headings[0].to_owned() };
            pieces.push(Piece { passage: Passage { text, source, title, heading: headings[1].to_owned() }, words });
        }
    };
    for paragraph in paragraphs.into_iter().filter(|paragraph| !paragraph.is_empty()) {
        if !text.is_empty() && text.len() + paragraph.len() > LONG {
            push(&mut text);
        }
        if !text.is_empty() {
            text.push_str("\n\n");
        }
        text.push_str(&paragraph);
    }
    push(&mut text);
}

fn heading_in(line: &str) -> Option<(usize, &str)> {
    let words = line.trim_start_matches('#');
    let depth = line.len() - words.len();
    let is_heading = (1..=6).contains(&depth) && words.starts_with([' ', '\t']) && !words.trim().is_empty();
    is_heading.then(|| (depth, words.trim().trim_end_matches('#').trim_end()))
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

#[cfg(test)]
mod tests {
    use super::*;

    fn of(text: &str, kind: Kind) -> Vec<(String, String)> {
        let document = Document { name: "a/b.md".to_owned(), text: text.to_owned(), kind };
        split(&document).into_iter().map(|piece| (piece.passage.source, piece.passage.text)).collect()
    }

    /// R-DEB-17, R-DEB-41: a passage is named by its file and its heading.
    #[test]
    fn documents_are_cut_at_headings() {
        let text = "intro\n# Big & Small?\nOne\ntwo.\n\n```\n# no heading\n```\n## Empty\n## Größe\n- **a** is.\n- b is.\n## Größe\nlast";
        let found = of(text, Kind::Markdown);
        let sources: Vec<&str> = found.iter().map(|(source, _)| source.as_str()).collect();
        assert_eq!(sources, ["a/b.md#top", "a/b.md#big--small", "a/b.md#größe", "a/b.md#größe-1"]);
        assert!(found[1].1.starts_with("One two.") && found[1].1.contains("# no heading"));
        assert_eq!(found[2].1, "a is.\n\nb is.");
    }

    /// R-DEB-41: a text without headings is one place, and a long one is cut at paragraphs.
    #[test]
    fn long_texts_are_cut_at_paragraphs() {
        let paragraph = "Words and words. ".repeat(40);
        let found = of(&format!("# not a heading\n\n{paragraph}\n\n{paragraph}"), Kind::Text);
        assert_eq!(found.len(), 2);
        assert!(found.iter().all(|(source, text)| source == "a/b.md#top" && text.len() <= LONG));
    }
}
