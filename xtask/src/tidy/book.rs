//! Checks that every error code has a page in the book, with the required sections and links to it.
//!
//! The content of the pages is not checked.

use std::collections::BTreeSet;

use crate::workspace::File;

const CHAPTER: &str = "spec/02-framework.md";
const SUMMARY: &str = "book/src/SUMMARY.md";
const INDEX: &str = "book/src/errors.md";

/// Required sections of an error page.
const SECTIONS: [&str; 3] = ["## What happened", "## Why", "## What to do"];

/// Reports error codes without a page, pages that lack a section, and pages without a link in the summary or the index.
pub(super) fn error_pages(files: &[File]) -> Vec<String> {
    let text = |path: &str| files.iter().find(|file| file.path == path).map(|file| file.text.as_str());
    let listed = text(CHAPTER).unwrap_or_default().lines().filter_map(code);
    let mut codes: BTreeSet<&str> = listed.collect();
    if codes.is_empty() {
        return vec![format!("{CHAPTER} lists no error code")];
    }
    // The program may have more codes than the specification; their pages have the same form.
    codes.extend(files.iter().filter_map(|file| file.path.strip_prefix("book/src/errors/")?.strip_suffix(".md")));
    let mut problems = Vec::new();
    for code in codes {
        let path = format!("book/src/errors/{code}.md");
        match text(&path) {
            None => problems.push(format!("{code} has no page {path}")),
            Some(page) => problems.extend(missing_sections(page).map(|section| format!("{path} lacks `{section}`"))),
        }
        let lists = [SUMMARY, INDEX].into_iter();
        let without_link =
            lists.filter(|list| !text(list).unwrap_or_default().contains(&format!("(errors/{code}.md)")));
        problems.extend(without_link.map(|list| format!("{list} has no link to errors/{code}.md")));
    }
    problems
}

/// Returns the code of a row such as `| SS-001 | InvalidGraph | 500 | 65 |`.
fn code(line: &str) -> Option<&str> {
    let code = line.strip_prefix("| ")?.split(' ').next()?;
    code.strip_prefix("SS-").is_some_and(|number| number.bytes().all(|byte| byte.is_ascii_digit())).then_some(code)
}

fn missing_sections(page: &str) -> impl Iterator<Item = &'static str> {
    SECTIONS.into_iter().filter(move |section| !page.lines().any(|line| line.trim_end() == *section))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn files(page: &str, summary: &str) -> Vec<File> {
        vec![
            File::fake(CHAPTER, "| code | name |\n|---|---|\n| SS-001 | InvalidGraph | 500 | 65 |\n"),
            File::fake(SUMMARY, summary),
            File::fake(INDEX, summary),
            File::fake("book/src/errors/SS-001.md", page),
        ]
    }

    #[test]
    fn pages_must_exist_be_linked_and_have_their_sections() {
        let page = "# SS-001\n## What happened\na\n## Why\nb\n## What to do\nc\n";
        let summary = "- [SS-001](errors/SS-001.md)\n";
        assert!(error_pages(&files(page, summary)).is_empty());
        let problems = error_pages(&files("## What happened\n## What to do\n", summary));
        assert_eq!(problems, ["book/src/errors/SS-001.md lacks `## Why`"]);
        assert_eq!(error_pages(&files(page, "")).len(), 2);
        let no_page = error_pages(&files(page, summary)[..3]);
        assert_eq!(no_page, ["SS-001 has no page book/src/errors/SS-001.md"]);
    }

    #[test]
    fn a_page_beyond_the_specification_has_the_same_form() {
        let mut files = files("## What happened\n## Why\n## What to do\n", "(errors/SS-001.md) (errors/SS-099.md)");
        files.push(File::fake("book/src/errors/SS-099.md", "## What happened\n## Why\n"));
        assert_eq!(error_pages(&files), ["book/src/errors/SS-099.md lacks `## What to do`"]);
        assert_eq!(error_pages(&[]), ["spec/02-framework.md lists no error code"]);
    }
}
