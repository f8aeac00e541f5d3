//! `cargo xtask spec`: lists the requirement ids with the number of tests that cover them.
//!
//! A test claims ids in its doc comment; it must assert something. This command does not run any test.

mod claims;
mod requirement;

use std::collections::BTreeMap;

use crate::workspace::{File, Workspace};
use requirement::Id;

/// Help text of the command.
pub(crate) const HELP: &str = "List the requirement ids of spec/ with their number of tests \
                               [--list-uncovered: only ids without tests \
                               | --check: fail if an id of required.txt has no test]";

/// Mode of the command: the output, and the condition for a failure.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Mode {
    Table,
    Uncovered,
    Check,
}

/// Prints the ids and their coverage.
///
/// # Errors
/// Returns an error if an argument is unknown, a doc comment names an id that does not exist, a test claims ids without
/// asserting anything, or, with `--check`, an id of `required.txt` has no test.
pub(crate) fn run(workspace: &Workspace, arguments: &[String]) -> Result<(), String> {
    let mode = match arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        [] => Mode::Table,
        ["--list-uncovered"] => Mode::Uncovered,
        ["--check"] => Mode::Check,
        _ => return Err(format!("unknown arguments `{}`; known: --list-uncovered, --check", arguments.join(" "))),
    };
    let report = Report::new(&workspace.files()?)?;
    for line in report.lines(mode) {
        println!("{line}");
    }
    let problems = report.problems(mode);
    if problems.is_empty() { Ok(()) } else { Err(problems.join("\nerror: ")) }
}

/// Number of tests that name each id, in the order of the specification.
struct Report {
    counts: Vec<(Id, usize)>,
    required: Vec<Id>,
    problems: Vec<String>,
}

impl Report {
    fn new(files: &[File]) -> Result<Self, String> {
        let ids = requirement::all_ids(files)?;
        let required = requirement::required(files, &ids)?;
        let mut tests: BTreeMap<Id, usize> = BTreeMap::new();
        let mut problems = Vec::new();
        for file in files.iter().filter(|file| is_scanned(file)) {
            let claims = claims::read(file, &ids);
            problems.extend(claims.problems);
            for id in claims.ids {
                *tests.entry(id).or_default() += 1;
            }
        }
        let counts = ids.into_iter().map(|id| (id.clone(), tests.get(&id).copied().unwrap_or(0))).collect();
        Ok(Self { counts, required, problems })
    }

    fn lines(&self, mode: Mode) -> Vec<String> {
        let is_listed = |count: usize| mode == Mode::Table || (mode == Mode::Uncovered && count == 0);
        let rows = self.counts.iter().filter(|(_, count)| is_listed(*count));
        let mut lines: Vec<String> = rows.map(|(id, count)| row(id, *count)).collect();
        let covered = self.counts.iter().filter(|(_, count)| *count > 0).count();
        lines.push(format!("{covered} of {} covered", self.counts.len()));
        lines
    }

    fn problems(&self, mode: Mode) -> Vec<String> {
        let mut problems = self.problems.clone();
        if mode == Mode::Check {
            let uncovered = self.counts.iter().filter(|(id, count)| *count == 0 && self.required.contains(id));
            problems.extend(uncovered.map(|(id, _)| format!("{id} is required and no test names it")));
        }
        problems
    }
}

fn row(id: &Id, count: usize) -> String {
    match count {
        0 => format!("{id}  UNCOVERED"),
        1 => format!("{id}  1 test"),
        _ => format!("{id}  {count} tests"),
    }
}

fn is_scanned(file: &File) -> bool {
    file.is_rust() && ["crates/", "apps/", "testing/torture/"].iter().any(|folder| file.path.starts_with(folder))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn files(required: &str) -> Vec<File> {
        vec![
            File::fake(
                "crates/a/src/lib.rs",
                "/// R-GRA-2, R-FWK-1: both hold\n#[test]\nfn both() { assert!(true); }\n",
            ),
            File::fake("crates/a/tests/it/main.rs", "/// R-GRA-2\n#[tokio::test]\nasync fn again() { check(1); }\n"),
            File::fake("spec/01-state.md", "- **R-GRA-2** two\n- **R-GRA-10** ten\n\n| R-GRA-3 | three |\n"),
            File::fake("spec/02-framework.md", "- **R-FWK-1** one, see R-GRA-2\n"),
            File::fake("spec/required.txt", required),
        ]
    }

    #[test]
    fn the_table_counts_tests_by_family_then_number() {
        let report = Report::new(&files("# none\n")).unwrap();
        let expected =
            ["R-GRA-2  2 tests", "R-GRA-3  UNCOVERED", "R-GRA-10  UNCOVERED", "R-FWK-1  1 test", "2 of 4 covered"];
        assert_eq!(report.lines(Mode::Table), expected);
        assert_eq!(report.lines(Mode::Uncovered), [expected[1], expected[2], expected[4]]);
        assert_eq!(report.lines(Mode::Check), [expected[4]]);
        assert!(report.problems(Mode::Check).is_empty());
    }

    #[test]
    fn a_required_id_without_a_test_fails_the_check() {
        let report = Report::new(&files("R-GRA-2..3\nR-FWK-1\n")).unwrap();
        assert_eq!(report.problems(Mode::Check), ["R-GRA-3 is required and no test names it"]);
        assert!(report.problems(Mode::Table).is_empty());
    }
}
