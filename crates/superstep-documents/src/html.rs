//! HTML to text: headings and paragraphs, without scripts, styles and menus.
//!
//! Follows no links and runs no scripts. A malformed page yields the text that can be extracted.

use html5gum::{DefaultEmitter, EndTag, StartTag, Token, Tokenizer};

use crate::document_lines::DocumentLine;

/// Text of an HTML page.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HtmlText {
    /// Title of the page; empty if it has none.
    pub title: String,
    /// Headings and paragraphs, separated by empty lines.
    pub text: String,
}

/// Extracts the text of a page.
///
/// ```
/// let page = superstep_documents::html_to_text("<title>Tea</title><h1>Green</h1><p>Steep it at <b>70</b> degrees.</p>");
/// assert_eq!(page.title, "Tea");
/// assert_eq!(page.text, "Green\n\nSteep it at 70 degrees.");
/// ```
#[must_use]
pub fn html_to_text(html: &str) -> HtmlText {
    let reader = HtmlReader::read(html);
    let lines = reader.lines.into_iter().filter_map(|line| match line {
        DocumentLine::Heading { text, .. }
        | DocumentLine::Item(text)
        | DocumentLine::Text(text)
        | DocumentLine::Code(text) => Some(text),
        DocumentLine::Blank => None,
    });
    HtmlText { title: reader.title, text: lines.collect::<Vec<_>>().join("\n\n") }
}

/// Extracts the lines of a page; a heading without an anchor gets an empty one. The title becomes the first heading
/// if the page has no heading of the first level.
pub(crate) fn lines(html: &str) -> Vec<DocumentLine> {
    let HtmlReader { title, mut lines, .. } = HtmlReader::read(html);
    let has_title = lines.iter().any(|line| matches!(line, DocumentLine::Heading { level: 1, .. }));
    if !has_title && !title.is_empty() {
        lines.insert(0, DocumentLine::Heading { level: 1, text: title, anchor: String::new() });
    }
    lines
}

/// Converter from HTML tokens to lines.
#[derive(Default)]
struct HtmlReader {
    title: String,
    lines: Vec<DocumentLine>,
    /// Text of the current block.
    text: String,
    block: BlockKind,
    /// Number of open elements whose content is skipped.
    skipping: usize,
}

/// Kind of the current block.
#[derive(Default)]
enum BlockKind {
    #[default]
    Text,
    Item,
    Title,
    Heading(usize, String),
}

impl HtmlReader {
    fn read(html: &str) -> Self {
        let mut emitter = DefaultEmitter::default();
        // Without this the content of a script would be parsed as tags.
        emitter.naively_switch_states(true);
        let mut reader = Self::default();
        for Ok(token) in Tokenizer::new_with_emitter(html, emitter) {
            match token {
                Token::StartTag(tag) => reader.open(&tag),
                Token::EndTag(tag) => reader.close(&tag),
                Token::String(text) if reader.skipping == 0 => {
                    reader.text.push_str(&String::from_utf8_lossy(&text));
                }
                _ => {}
            }
        }
        reader.finish();
        reader
    }

    fn open(&mut self, tag: &StartTag<()>) {
        let name = String::from_utf8_lossy(&tag.name);
        if is_skipped(&name) {
            self.skipping += usize::from(!tag.self_closing);
            return;
        }
        if self.skipping > 0 || !is_block(&name) {
            self.space(&name);
            return;
        }
        self.finish();
        let anchor = tag.attributes.get(b"id".as_slice()).map(|id| String::from_utf8_lossy(&id.value).into_owned());
        let anchor = anchor.unwrap_or_default();
        self.block = match &*name {
            "title" => BlockKind::Title,
            "li" | "dt" | "dd" => BlockKind::Item,
            heading => level_of(heading).map_or(BlockKind::Text, |level| BlockKind::Heading(level, anchor)),
        };
    }

    fn close(&mut self, tag: &EndTag<()>) {
        let name = String::from_utf8_lossy(&tag.name);
        if is_skipped(&name) {
            self.skipping = self.skipping.saturating_sub(1);
        } else if self.skipping == 0 && is_block(&name) {
            self.finish();
        } else {
            self.space(&name);
        }
    }

    /// Adds a space for table cells and line breaks, which separate words.
    fn space(&mut self, name: &str) {
        if matches!(name, "br" | "td" | "th") {
            self.text.push(' ');
        }
    }

    /// Ends the current block.
    fn finish(&mut self) {
        let text = std::mem::take(&mut self.text);
        let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
        let block = std::mem::take(&mut self.block);
        if text.is_empty() {
            return;
        }
        match block {
            BlockKind::Title => self.title = text,
            BlockKind::Heading(level, anchor) => self.lines.push(DocumentLine::Heading { level, text, anchor }),
            BlockKind::Item => self.lines.extend([DocumentLine::Blank, DocumentLine::Item(text)]),
            BlockKind::Text => self.lines.extend([DocumentLine::Blank, DocumentLine::Text(text)]),
        }
    }
}

/// Returns true for elements without content for readers: scripts, styles, and navigation.
fn is_skipped(name: &str) -> bool {
    matches!(name, "script" | "style" | "template" | "noscript" | "nav" | "svg" | "iframe" | "form")
}

fn is_block(name: &str) -> bool {
    const BLOCKS: [&str; 27] = [
        "title",
        "p",
        "div",
        "li",
        "ul",
        "ol",
        "dl",
        "dt",
        "dd",
        "table",
        "tr",
        "caption",
        "thead",
        "tbody",
        "section",
        "article",
        "header",
        "footer",
        "main",
        "aside",
        "blockquote",
        "pre",
        "figure",
        "figcaption",
        "body",
        "head",
        "hr",
    ];
    level_of(name).is_some() || BLOCKS.contains(&name)
}

/// Returns the level of a heading element.
fn level_of(name: &str) -> Option<usize> {
    let level: usize = name.strip_prefix('h')?.parse().ok()?;
    (1..=6).contains(&level).then_some(level)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rendered(html: &str) -> Vec<String> {
        let render = |line: DocumentLine| match line {
            DocumentLine::Heading { level, text, anchor } => format!("{} {text} [{anchor}]", "#".repeat(level)),
            DocumentLine::Item(text) => format!("- {text}"),
            DocumentLine::Text(text) | DocumentLine::Code(text) => text,
            DocumentLine::Blank => String::new(),
        };
        lines(html).into_iter().map(render).filter(|line| !line.is_empty()).collect()
    }

    /// R-PLN-54: headings, list items and paragraphs are extracted; scripts, styles and menus are not.
    #[test]
    fn only_content_of_a_page_is_extracted() {
        let html = "<html><head><title>T</title><style>p{}</style></head><body><nav>Menu</nav>
            <h1>One &amp; only</h1><script>if (a<b) '<h2>no</h2>'</script><p>First<br>line of <em>it</em>.</p>
            <h2 id=more>More</h2><ul><li>a<li>b</ul><table><tr><td>1</td><td>2</td></tr></table># no heading";
        let expected = ["# One & only []", "First line of it.", "## More [more]", "- a", "- b", "1 2"];
        let output = rendered(html);
        assert_eq!(output[..6], expected);
        assert_eq!(output[6..], ["# no heading"]);
    }

    /// R-PLN-54: a page without a heading has its title, and a malformed page yields the text that can be
    /// extracted.
    #[test]
    fn the_readable_part_of_a_broken_page_is_extracted() {
        assert_eq!(rendered("<title>T</title>text"), ["# T []", "text"]);
        assert_eq!(rendered("</script></p><p>a<b>c</p <p>d &nope; &#0;"), ["ac", "d &nope; \u{fffd}"]);
        assert_eq!(rendered(""), Vec::<String>::new());
        assert_eq!(rendered("<script>never ends <p>a"), Vec::<String>::new());
    }
}
