//! Cuts a document into passages: one per heading, long ones at paragraphs.

use std::collections::BTreeMap;

use super::folder::Document;

/// How long a passage may get before it is cut at the next paragraph.
const LONG: usize = 1_200;

/// A passage as it is indexed.
pub(super) struct Piece {
    pub(super) text: String,
    pub(super) source: String,
    /// The headings above it and the name of the file, whose words count too.
    pub(super) heading: String,
}

/// The passages of a document, in its order.
pub(super) fn split(document: &Document) -> Vec<Piece> {
    let mut pieces = Vec::new();
    let mut slugs: BTreeMap<String, usize> = BTreeMap::new();
    let (mut title, mut heading, mut anchor) = (String::new(), String::new(), "top".to_owned());
    let mut paragraphs: Vec<String> = vec![String::new()];
    let mut is_code = false;
    for line in document.text.lines() {
        is_code ^= document.is_markdown && (line.starts_with("```") || line.starts_with("~~~"));
        let found = heading_in(line).filter(|_| document.is_markdown && !is_code);
        if let Some((depth, words)) = found {
            finish(document, &[&title, &heading], &anchor, &mut paragraphs, &mut pieces);
            if depth == 1 {
                title = words.to_owned();
            }
            heading = words.to_owned();
            anchor = numbered(slug(words), &mut slugs);
        } else if line.trim().is_empty() {
            paragraphs.push(String::new());
        } else if let Some(paragraph) = paragraphs.last_mut() {
            add_line(paragraph, line, document.is_markdown);
        }
    }
    finish(document, &[&title, &heading], &anchor, &mut paragraphs, &mut pieces);
    pieces
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
            let file = document.name.rsplit_once('.').map_or(document.name.as_str(), |(stem, _)| stem);
            let heading = format!("{} {} {}", headings[0], headings[1], file.replace(['-', '_', '/'], " "));
            pieces.push(Piece { text, source, heading });
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

/// A line of a paragraph, without the marks of lists, quotations and emphasis.
fn add_line(paragraph: &mut String, line: &str, is_markdown: bool) {
    let line = line.trim();
    let plain =
        if is_markdown { line.trim_start_matches("> ").replace("**", "").replace('`', "") } else { line.into() };
    let item = plain.strip_prefix("- ").or_else(|| plain.strip_prefix("* ")).filter(|_| is_markdown);
    if !paragraph.is_empty() {
        // Items of a list are statements of their own.
        paragraph.push_str(if item.is_some() { "\n\n" } else { " " });
    }
    paragraph.push_str(item.unwrap_or(&plain));
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

    fn of(text: &str, is_markdown: bool) -> Vec<(String, String)> {
        let document = Document { name: "a/b.md".to_owned(), text: text.to_owned(), is_markdown };
        split(&document).into_iter().map(|piece| (piece.source, piece.text)).collect()
    }

    /// R-DEB-17, R-DEB-41: a passage is named by its file and its heading.
    #[test]
    fn documents_are_cut_at_headings() {
        let text = "intro\n# Big & Small?\nOne\ntwo.\n\n```\n# no heading\n```\n## Empty\n## Größe\n- **a** is.\n- b is.\n## Größe\nlast";
        let found = of(text, true);
        let sources: Vec<&str> = found.iter().map(|(source, _)| source.as_str()).collect();
        assert_eq!(sources, ["a/b.md#top", "a/b.md#big--small", "a/b.md#größe", "a/b.md#größe-1"]);
        assert!(found[1].1.starts_with("One two.") && found[1].1.contains("# no heading"));
        assert_eq!(found[2].1, "a is.\n\nb is.");
    }

    /// R-DEB-41: a text without headings is one place, and a long one is cut at paragraphs.
    #[test]
    fn long_texts_are_cut_at_paragraphs() {
        let paragraph = "Words and words. ".repeat(40);
        let found = of(&format!("# not a heading\n\n{paragraph}\n\n{paragraph}"), false);
        assert_eq!(found.len(), 2);
        assert!(found.iter().all(|(source, text)| source == "a/b.md#top" && text.len() <= LONG));
    }
}
