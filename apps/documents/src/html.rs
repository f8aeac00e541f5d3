//! Reads a page: its headings, its paragraphs and nothing of its programs, styles and menus.
//!
//! Follows no link and runs nothing. A page that is broken gives what can be read of it.

use html5gum::{DefaultEmitter, EndTag, StartTag, Token, Tokenizer};

use crate::lines::Line;

/// What a page says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Page {
    /// What it calls itself; empty where it does not.
    pub title: String,
    /// Its text: headings and paragraphs with an empty line between them.
    pub text: String,
}

/// Reads a page as text.
///
/// ```
/// let page = superstep_documents::read_page("<title>Tea</title><h1>Green</h1><p>Steep it at <b>70</b> degrees.</p>");
/// assert_eq!(page.title, "Tea");
/// assert_eq!(page.text, "Green\n\nSteep it at 70 degrees.");
/// ```
#[must_use]
pub fn read_page(html: &str) -> Page {
    let reader = Reader::read(html);
    let lines = reader.lines.into_iter().filter_map(|line| match line {
        Line::Heading { words, .. } => Some(words),
        Line::Item(text) | Line::Text(text) | Line::Code(text) => Some(text),
        Line::Blank => None,
    });
    Page { title: reader.title, text: lines.collect::<Vec<_>>().join("\n\n") }
}

/// The lines of a page; a heading without an anchor of its own has an empty one. A title above the first heading counts as one where the page has no other.
pub(crate) fn lines(html: &str) -> Vec<Line> {
    let Reader { title, mut lines, .. } = Reader::read(html);
    let has_title = lines.iter().any(|line| matches!(line, Line::Heading { depth: 1, .. }));
    if !has_title && !title.is_empty() {
        lines.insert(0, Line::Heading { depth: 1, words: title, anchor: String::new() });
    }
    lines
}

/// A page on its way to lines.
#[derive(Default)]
struct Reader {
    title: String,
    lines: Vec<Line>,
    /// The block that is being read.
    text: String,
    block: Block,
    /// How many elements are open whose content nobody reads.
    skipping: usize,
}

/// What a text becomes when its block ends.
#[derive(Default)]
enum Block {
    #[default]
    Text,
    Item,
    Title,
    Heading(usize, String),
}

impl Reader {
    fn read(html: &str) -> Self {
        let mut emitter = DefaultEmitter::default();
        // Without it the inside of a script would be read as tags.
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
            "title" => Block::Title,
            "li" | "dt" | "dd" => Block::Item,
            heading => depth_of(heading).map_or(Block::Text, |depth| Block::Heading(depth, anchor)),
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

    /// Cells and line breaks set words apart that have no space between them.
    fn space(&mut self, name: &str) {
        if matches!(name, "br" | "td" | "th") {
            self.text.push(' ');
        }
    }

    /// Ends the block.
    fn finish(&mut self) {
        let text = std::mem::take(&mut self.text);
        let words = text.split_whitespace().collect::<Vec<_>>().join(" ");
        let block = std::mem::take(&mut self.block);
        if words.is_empty() {
            return;
        }
        match block {
            Block::Title => self.title = words,
            Block::Heading(depth, anchor) => self.lines.push(Line::Heading { depth, words, anchor }),
            Block::Item => self.lines.extend([Line::Blank, Line::Item(words)]),
            Block::Text => self.lines.extend([Line::Blank, Line::Text(words)]),
        }
    }
}

/// What nobody reads: programs, looks, and the menus that are on every page.
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
    depth_of(name).is_some() || BLOCKS.contains(&name)
}

/// How deep a heading is.
fn depth_of(name: &str) -> Option<usize> {
    let depth: usize = name.strip_prefix('h')?.parse().ok()?;
    (1..=6).contains(&depth).then_some(depth)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(html: &str) -> Vec<String> {
        let show = |line: Line| match line {
            Line::Heading { depth, words, anchor } => format!("{} {words} [{anchor}]", "#".repeat(depth)),
            Line::Item(text) => format!("- {text}"),
            Line::Text(text) | Line::Code(text) => text,
            Line::Blank => String::new(),
        };
        lines(html).into_iter().map(show).filter(|line| !line.is_empty()).collect()
    }

    /// R-PLN-54: headings, items and paragraphs of a page are read; programs, styles and menus are not.
    #[test]
    fn a_page_is_read_for_what_it_says() {
        let html = "<html><head><title>T</title><style>p{}</style></head><body><nav>Menu</nav>
            <h1>One &amp; only</h1><script>if (a<b) '<h2>no</h2>'</script><p>First<br>line of <em>it</em>.</p>
            <h2 id=more>More</h2><ul><li>a<li>b</ul><table><tr><td>1</td><td>2</td></tr></table># no heading";
        let expected = ["# One & only []", "First line of it.", "## More [more]", "- a", "- b", "1 2"];
        let found = shown(html);
        assert_eq!(found[..6], expected);
        assert_eq!(found[6..], ["# no heading"]);
    }

    /// R-PLN-54: a page without a heading has its title, and a broken one what can be read.
    #[test]
    fn a_broken_page_gives_what_can_be_read() {
        assert_eq!(shown("<title>T</title>text"), ["# T []", "text"]);
        assert_eq!(shown("</script></p><p>a<b>c</p <p>d &nope; &#0;"), ["ac", "d &nope; \u{fffd}"]);
        assert_eq!(shown(""), Vec::<String>::new());
        assert_eq!(shown("<script>never ends <p>a"), Vec::<String>::new());
    }
}
