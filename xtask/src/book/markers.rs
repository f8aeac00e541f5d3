//! Markers of generated blocks in Markdown pages.
//!
//! A block is the text between the line `<!-- generated: NAME -->` and the line `<!-- end generated -->`. Valid names
//! and the content of blocks are defined in `book`.

use std::ops::Range;

const END: &str = "<!-- end generated -->";

/// A generated block of a page.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Block<'a> {
    pub(super) name: &'a str,
    /// Line number of the first marker, from 1.
    pub(super) line: usize,
    /// Byte range between the lines of the markers.
    pub(super) content: Range<usize>,
}

/// Returns the blocks of a page, in order.
///
/// # Errors
/// Returns a line number and a problem if a block starts in another one, has no end, or ends without a start.
pub(super) fn blocks(text: &str) -> Result<Vec<Block<'_>>, String> {
    let (mut blocks, mut open, mut start) = (Vec::new(), None::<Block<'_>>, 0);
    for (index, line) in text.split_inclusive('\n').enumerate() {
        let (number, end) = (index + 1, start + line.len());
        let line = line.trim_end();
        if let Some(name) = block_name(line) {
            if let Some(outer) = &open {
                return Err(format!("{number}: block `{name}` starts in block `{}`", outer.name));
            }
            open = Some(Block { name, line: number, content: end..end });
        } else if line == END {
            let mut block = open.take().ok_or_else(|| format!("{number}: `{END}` ends no block"))?;
            block.content.end = start;
            blocks.push(block);
        }
        start = end;
    }
    match open {
        Some(block) => Err(format!("{}: block `{}` has no `{END}`", block.line, block.name)),
        None => Ok(blocks),
    }
}

fn block_name(line: &str) -> Option<&str> {
    line.strip_prefix("<!-- generated: ")?.strip_suffix(" -->")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_block_is_the_text_between_its_markers() {
        let text = "a\n<!-- generated: x -->\n| é |\n<!-- end generated -->\nthe marker `<!-- generated: y -->`\n";
        let blocks = blocks(text).unwrap();
        assert_eq!(blocks, [Block { name: "x", line: 2, content: 24..31 }]);
        assert_eq!(&text[blocks[0].content.clone()], "| é |\n");
        assert_eq!(super::blocks("no block"), Ok(Vec::new()));
    }

    #[test]
    fn markers_that_do_not_match_are_reported() {
        let cases = [
            ("a\n<!-- generated: x -->\n", "2: block `x` has no `<!-- end generated -->`"),
            ("<!-- generated: x -->\n<!-- generated: y -->\n", "2: block `y` starts in block `x`"),
            ("<!-- generated:x -->\n<!-- end generated -->\n", "2: `<!-- end generated -->` ends no block"),
        ];
        for (text, problem) in cases {
            assert_eq!(blocks(text), Err(problem.to_owned()), "{text}");
        }
    }
}
