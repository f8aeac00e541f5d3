//! The table of error codes in `book/src/errors.md`, from the error pages.
//!
//! The name is the first heading of a page; status and exit code are in its first line of text. The specification must
//! agree if it lists the code, and the name must be that of `ErrorCode`. `tidy::book` checks that each code has a page.

use super::table::{Alignment, markdown};
use crate::workspace::File;

const FOLDER: &str = "book/src/errors/";
const CHAPTER: &str = "spec/02-framework.md";
/// The file that defines `ErrorCode`.
const DEFINITION: &str = "crates/superstep-core/src/error/code.rs";

/// Row of an error code: code, name, HTTP status, exit code.
type CodeRow<'a> = [&'a str; 4];

/// Returns the table of error codes.
pub(super) fn table(files: &[File]) -> Result<String, String> {
    let chapter = files.iter().find(|file| file.path == CHAPTER).map_or("", |file| &file.text);
    let specified: Vec<CodeRow<'_>> = chapter.lines().filter_map(specification_row).collect();
    let definition = files.iter().find(|file| file.path == DEFINITION).map_or("", |file| &file.text);
    let defined: Vec<(String, &str)> = definition.lines().filter_map(defined_code).collect();
    let mut rows = Vec::new();
    for page in files.iter().filter(|file| file.path.starts_with(FOLDER)) {
        let row = page_row(page)?;
        if let Some(other) = specified.iter().find(|specified| specified[0] == row[0] && **specified != row) {
            return Err(format!("{}: has {}; {CHAPTER} has {}", page.path, row.join(", "), other.join(", ")));
        }
        let [code, name, status, exit_code] = row;
        if !defined.iter().any(|(number, defined)| number == code && *defined == name) {
            return Err(format!("{}: {DEFINITION} has no code {code} {name}", page.path));
        }
        rows.push(vec![format!("[{code}](errors/{code}.md)"), name.into(), status.into(), exit_code.into()]);
    }
    Ok(markdown(&["code", "name", "HTTP", "exit"], Alignment::Left, &rows))
}

/// Returns the row of a page that starts with `# SS-001 InvalidGraph`, and then `HTTP 500 · exit 65 · …`.
fn page_row(page: &File) -> Result<CodeRow<'_>, String> {
    let code = page.path.trim_start_matches(FOLDER).trim_end_matches(".md");
    let mut lines = page.text.lines().filter(|line| !line.is_empty());
    let name = lines.next().and_then(|line| line.strip_prefix("# ")?.strip_prefix(code)?.strip_prefix(' '));
    let name = name.ok_or_else(|| format!("{}: the first line is not `# {code} NAME`", page.path))?;
    let mut parts = lines.next().unwrap_or_default().split(" · ");
    let status = parts.next().and_then(|part| part.strip_prefix("HTTP "));
    let exit_code = parts.next().and_then(|part| part.strip_prefix("exit "));
    match status.zip(exit_code) {
        Some((status, exit_code)) => Ok([code, name, status, exit_code]),
        None => Err(format!("{}: the second line is not `HTTP STATUS · exit CODE · …`", page.path)),
    }
}

/// Returns the cells of a row such as `| SS-001 | InvalidGraph | 500 | 65 |`.
fn specification_row(line: &str) -> Option<CodeRow<'_>> {
    let cells: Vec<&str> = line.strip_prefix("| ")?.strip_suffix(" |")?.split(" | ").collect();
    cells.try_into().ok().filter(|row: &CodeRow<'_>| row[0].starts_with("SS-"))
}

/// Returns the code and the name in a line such as `    InvalidGraph = 1, 500, 65;`.
fn defined_code(line: &str) -> Option<(String, &str)> {
    let (name, numbers) = line.trim().strip_suffix(';')?.split_once(" = ")?;
    let number: u16 = numbers.split(", ").next()?.parse().ok()?;
    Some((format!("SS-{number:03}"), name))
}

#[cfg(test)]
mod tests {
    use super::*;

    const PAGE: &str = "# SS-001 InvalidGraph\n\nHTTP 500 · exit 65 · retrying helps: no. For example:\n";
    const ROW: &str = "| code | name |\n| SS-001 | InvalidGraph | 500 | 65 |\n";

    const DEFINED: &str = "codes! {\n    /// A graph.\n    InvalidGraph = 1, 500, 65;\n}\n";

    fn rendered(page: &str, row: &str) -> Result<String, String> {
        table(&[
            File::fake("book/src/errors/SS-001.md", page),
            File::fake(CHAPTER, row),
            File::fake(DEFINITION, DEFINED),
        ])
    }

    #[test]
    fn a_page_with_another_name_than_the_code_is_reported() {
        let problem = rendered("# SS-001 BadGraph\n\nHTTP 500 · exit 65 · x\n", "").unwrap_err();
        assert_eq!(
            problem,
            "book/src/errors/SS-001.md: crates/superstep-core/src/error/code.rs has no code SS-001 BadGraph"
        );
    }

    #[test]
    fn the_table_has_one_row_per_page() {
        let expected = "| code | name | HTTP | exit |\n|---|---|---|---|\n\
                        | [SS-001](errors/SS-001.md) | InvalidGraph | 500 | 65 |\n";
        assert_eq!(rendered(PAGE, ROW).as_deref(), Ok(expected));
        // The program may have more codes than the specification.
        assert_eq!(rendered(PAGE, "").as_deref(), Ok(expected));
    }

    #[test]
    fn a_page_that_differs_from_the_specification_is_reported() {
        let expected = "book/src/errors/SS-001.md: has SS-001, InvalidGraph, 409, 65; \
                        spec/02-framework.md has SS-001, InvalidGraph, 500, 65";
        assert_eq!(rendered(&PAGE.replace("500", "409"), ROW).unwrap_err(), expected);
        assert!(rendered(PAGE, &ROW.replace("InvalidGraph", "BadGraph")).is_err());
    }

    #[test]
    fn a_page_without_a_valid_header_is_reported() {
        let check = |page: &str, problem: &str| {
            assert_eq!(rendered(page, ROW).unwrap_err(), format!("book/src/errors/SS-001.md: {problem}"));
        };
        check("# SS-002 InvalidGraph\n", "the first line is not `# SS-001 NAME`");
        check("# SS-001 InvalidGraph\n\nHTTP 500\n", "the second line is not `HTTP STATUS · exit CODE · …`");
    }
}
