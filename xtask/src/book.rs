//! `cargo xtask book`: blocks of documents that are generated from data files.
//!
//! Compares every block with its data, or rewrites it. Changes no text outside of blocks, and measures nothing: data
//! files are written by hand. This file matches blocks to pages; each data source is a module.

mod comparison;
mod data;
mod error_codes;
mod markers;
mod results;
mod table;

use crate::workspace::{File, Workspace};
use markers::Block;

/// Help text of the command.
pub(crate) const HELP: &str = "Compare generated blocks of documents with their data [--write: rewrite the blocks]";

/// A generated block: its page, the name in its markers, and the function that renders it.
struct Generated {
    page: &'static str,
    name: &'static str,
    render: fn(&[File]) -> Result<String, String>,
}

/// Every generated block.
const BLOCKS: [Generated; 6] = [
    Generated { page: "README.md", name: "start", render: results::start },
    Generated { page: "book/src/comparison.md", name: "engines", render: comparison::engines },
    Generated { page: "book/src/comparison.md", name: "features", render: comparison::features },
    Generated { page: "book/src/comparison.md", name: "speed", render: comparison::speed },
    Generated { page: "book/src/errors.md", name: "error-codes", render: error_codes::table },
    Generated { page: "book/src/performance.md", name: "workloads", render: results::workloads },
];

/// Compares every block with its data. With `--write`, rewrites the blocks that differ.
///
/// # Errors
/// Returns an error if an argument is unknown, data or markers are invalid, a block differs or is missing, or a page
/// cannot be written.
pub(crate) fn run(workspace: &Workspace, arguments: &[String]) -> Result<(), String> {
    match arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        [] => {}
        ["--write"] => write(workspace)?,
        _ => return Err(format!("unknown arguments `{}`; known: --write", arguments.join(" "))),
    }
    let problems = problems(&workspace.files()?);
    if problems.is_empty() { Ok(()) } else { Err(problems.join("\nerror: ")) }
}

/// Returns blocks that differ from their data, blocks that are missing, and invalid markers and data.
pub(crate) fn problems(files: &[File]) -> Vec<String> {
    check(files, &BLOCKS)
}

fn write(workspace: &Workspace) -> Result<(), String> {
    for File { path, text } in rewritten(&workspace.files()?, &BLOCKS)? {
        std::fs::write(workspace.root().join(&path), text).map_err(|error| format!("{path}: {error}"))?;
        println!("wrote {path}");
    }
    Ok(())
}

/// Returns the pages with a block that differs from its data, with all their blocks rewritten.
fn rewritten(files: &[File], generated: &[Generated]) -> Result<Vec<File>, String> {
    let mut pages = Vec::new();
    for page in pages_of(files) {
        let mut text = page.text.clone();
        // From the last block to the first, so that the positions of the others stay valid.
        for block in blocks_of(page, files, generated).into_iter().rev() {
            let (block, content) = block?;
            text.replace_range(block.content, &content);
        }
        if text != page.text {
            pages.push(File { path: page.path.clone(), text });
        }
    }
    Ok(pages)
}

fn check(files: &[File], generated: &[Generated]) -> Vec<String> {
    let mut problems = missing(files, generated);
    for page in pages_of(files) {
        let blocks = blocks_of(page, files, generated).into_iter();
        problems.extend(blocks.filter_map(|block| match block {
            Ok((block, content)) => difference(page, &block, &content),
            Err(problem) => Some(problem),
        }));
    }
    // Blocks with the same data file report the same problem.
    problems.dedup();
    problems
}

fn difference(page: &File, block: &Block<'_>, content: &str) -> Option<String> {
    let (path, Block { name, line, .. }) = (&page.path, block);
    let problem = || format!("{path}:{line}: block `{name}` differs from its data; run `cargo xtask book --write`");
    (page.text[block.content.clone()] != *content).then(problem)
}

/// Returns a problem for each block that its page does not have.
fn missing(files: &[File], generated: &[Generated]) -> Vec<String> {
    let is_missing = |expected: &&Generated| {
        let page = files.iter().find(|file| file.path == expected.page);
        let blocks = markers::blocks(page.map_or("", |page| &page.text));
        // Invalid markers are reported separately.
        blocks.is_ok_and(|blocks| blocks.iter().all(|block| block.name != expected.name))
    };
    let missing = generated.iter().filter(is_missing);
    missing.map(|Generated { page, name, .. }| format!("{page} has no block `<!-- generated: {name} -->`")).collect()
}

/// Returns each block of a page with its generated content.
fn blocks_of<'a>(page: &'a File, files: &[File], generated: &[Generated]) -> Vec<Result<(Block<'a>, String), String>> {
    match markers::blocks(&page.text) {
        Ok(blocks) => {
            let with_content =
                |block: Block<'a>| rendered(page, &block, files, generated).map(|content| (block, content));
            blocks.into_iter().map(with_content).collect()
        }
        Err(problem) => vec![Err(format!("{}:{problem}", page.path))],
    }
}

/// Returns the generated content of a block.
fn rendered(page: &File, block: &Block<'_>, files: &[File], generated: &[Generated]) -> Result<String, String> {
    match generated.iter().find(|expected| expected.page == page.path && expected.name == block.name) {
        Some(expected) => (expected.render)(files),
        None => Err(format!("{}:{}: no block `{}` is generated in this page", page.path, block.line, block.name)),
    }
}

fn pages_of(files: &[File]) -> impl Iterator<Item = &File> {
    files.iter().filter(|file| file.path.ends_with(".md"))
}

#[cfg(test)]
mod tests {
    use super::*;

    const GENERATED: [Generated; 2] = [
        Generated { page: "a.md", name: "first", render: |_| Ok("| 1 |\n".to_owned()) },
        Generated { page: "a.md", name: "second", render: |_| Ok("| 2 |\n| 3 |\n".to_owned()) },
    ];
    const CORRECT: &str = "# A\n<!-- generated: first -->\n| 1 |\n<!-- end generated -->\ntext\n\
                           <!-- generated: second -->\n| 2 |\n| 3 |\n<!-- end generated -->\nend\n";

    fn problems_in(text: &str) -> Vec<String> {
        check(&[File::fake("a.md", text)], &GENERATED)
    }

    #[test]
    fn a_block_that_differs_is_reported_and_rewritten() {
        assert_eq!(problems_in(CORRECT), Vec::<String>::new());
        for (line, before, after) in [(2, "| 1 |\n", "| one |\nmore\n"), (6, "| 2 |\n| 3 |\n", "")] {
            let stale = CORRECT.replace(before, after);
            let problem = "differs from its data; run `cargo xtask book --write`";
            let problems = problems_in(&stale);
            assert!(problems.len() == 1 && problems[0].ends_with(problem), "{problems:?}");
            assert!(problems[0].starts_with(&format!("a.md:{line}: ")), "{problems:?}");
            let pages = rewritten(&[File::fake("a.md", &stale)], &GENERATED).unwrap();
            assert_eq!(pages.iter().map(|page| page.text.as_str()).collect::<Vec<_>>(), [CORRECT]);
        }
        assert!(rewritten(&[File::fake("a.md", CORRECT)], &GENERATED).unwrap().is_empty());
    }

    #[test]
    fn an_unknown_marker_is_reported_and_nothing_is_rewritten() {
        let text = format!("{CORRECT}<!-- generated: third -->\n<!-- end generated -->\n");
        assert_eq!(problems_in(&text), ["a.md:11: no block `third` is generated in this page"]);
        assert!(rewritten(&[File::fake("a.md", &text)], &GENERATED).is_err());
        let other_page = [File::fake("a.md", CORRECT), File::fake("b.md", CORRECT)];
        assert_eq!(check(&other_page, &GENERATED).len(), 2);
    }

    #[test]
    fn a_missing_block_and_an_unclosed_one_are_reported() {
        assert_eq!(problems_in("# A\n").len(), 2);
        assert_eq!(check(&[], &GENERATED)[1], "a.md has no block `<!-- generated: second -->`");
        let unclosed = CORRECT.replacen("<!-- end generated -->\n", "", 1);
        assert_eq!(problems_in(&unclosed), ["a.md:5: block `second` starts in block `first`"]);
    }

    #[test]
    fn invalid_data_is_reported_once() {
        let generated = ["first", "second"].map(|name| Generated {
            page: "a.md",
            name,
            render: |_| Err("data.toml: invalid".to_owned()),
        });
        assert_eq!(check(&[File::fake("a.md", CORRECT)], &generated), ["data.toml: invalid"]);
    }
}
