//! Language rules: standard words in names, doc summaries that start with a verb or a noun, unambiguous type names.
//!
//! `xtask/language-exceptions.toml` lists names that may violate a rule, with the reason. This file combines the
//! checks; each check is a module.

mod declarations;
mod exceptions;
mod lexicon;
mod summaries;
mod types;
mod words;

use std::fmt;

use declarations::Declarations;
use words::Lexicon;

use crate::rust_source::RustSource;
use crate::workspace::File;

/// A language rule.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Check {
    Words,
    Summaries,
    Types,
}

impl Check {
    const ALL: [Self; 3] = [Self::Words, Self::Summaries, Self::Types];

    /// Returns the name of the check's table in the exceptions file.
    fn key(self) -> &'static str {
        match self {
            Self::Words => "words",
            Self::Summaries => "summaries",
            Self::Types => "types",
        }
    }

    fn from_key(key: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|check| check.key() == key)
    }

    /// Returns the title that the command prints.
    fn rule(self) -> &'static str {
        match self {
            Self::Words => "names use standard words",
            Self::Summaries => "doc summaries start with a verb or a noun",
            Self::Types => "a type name is defined at most twice",
        }
    }
}

/// A violation of a rule at a line of a file.
#[derive(Clone, PartialEq, Eq, Debug)]
struct Violation {
    check: Check,
    path: String,
    line: usize,
    /// Name for exceptions: an identifier, or the first words of a summary.
    name: String,
    problem: String,
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}: {}", self.path, self.line, self.problem)
    }
}

/// Returns the title and the problems of every language rule.
pub(super) fn check(files: &[File]) -> Vec<(&'static str, Vec<String>)> {
    let (mut violations, mut problems) = violations(files);
    let exceptions = files.iter().find(|file| file.path == exceptions::PATH).map_or("", |file| &file.text);
    problems.extend(exceptions::apply(exceptions, &mut violations));
    violations.sort_by(|a, b| (&a.path, a.line).cmp(&(&b.path, b.line)));
    let violations_of = |check: Check| {
        let violations = violations.iter().filter(|violation| violation.check == check);
        (check.rule(), violations.map(Violation::to_string).collect())
    };
    [("the language rules can be applied", problems)].into_iter().chain(Check::ALL.map(violations_of)).collect()
}

/// Returns the violations in all files, and the errors of files that cannot be parsed.
fn violations(files: &[File]) -> (Vec<Violation>, Vec<String>) {
    let (mut violations, mut problems, mut parsed) = (Vec::new(), Vec::new(), Vec::new());
    let lexicon = Lexicon::new();
    for File { path, text } in files.iter().filter(|file| file.is_rust()) {
        violations.extend(summaries::violations(path, &RustSource::new(text)));
        match Declarations::parse(text) {
            Ok(declarations) => {
                violations.extend(lexicon.violations(path, &declarations.names));
                parsed.push((path.as_str(), declarations));
            }
            Err(problem) => problems.push(format!("{path}: {problem}")),
        }
    }
    violations.extend(types::violations(&parsed));
    (violations, problems)
}

#[cfg(test)]
mod tests {
    use super::*;

    const SOURCE: &str = "//! What it is.\n\nstruct Desk;\nstruct Turn;\n";

    fn problems(files: &[(&str, &str)]) -> Vec<String> {
        let files: Vec<File> = files.iter().map(|(path, text)| File::fake(path, text)).collect();
        check(&files)
            .into_iter()
            .flat_map(|(rule, problems)| problems.into_iter().map(move |text| format!("{rule}: {text}")))
            .collect()
    }

    #[test]
    fn every_check_reports_the_line_of_a_violation() {
        let files = [
            ("testing/sim/src/main.rs", SOURCE),
            ("crates/a/src/lib.rs", "struct A; mod b { struct A; mod c { struct A; } }"),
        ];
        let problems = problems(&files);
        assert_eq!(problems.len(), 6, "{problems:?}");
        assert!(problems[0].starts_with("names use standard words: testing/sim/src/main.rs:3: `Desk` uses `desk`"));
        assert!(problems[1].starts_with("names use standard words: testing/sim/src/main.rs:4: `Turn` uses `turn`"));
        assert!(problems[2].starts_with("doc summaries start with a verb or a noun: testing/sim/src/main.rs:1: "));
        assert!(problems[3].starts_with("a type name is defined at most twice: crates/a/src/lib.rs:1: "));
    }

    #[test]
    fn an_exception_excuses_a_violation() {
        let exceptions = "[words]\n\"testing/sim/Turn\" = \"a turn of a game\"\n\"testing/sim/Desk\" = \"furniture\"\n\
                          [summaries]\n\"testing/sim/src/main.rs/what\" = \"quoted\"";
        assert_eq!(
            problems(&[("testing/sim/src/main.rs", SOURCE), (exceptions::PATH, exceptions)]),
            Vec::<String>::new()
        );
    }

    #[test]
    fn a_file_that_is_not_rust_is_reported() {
        let problems = problems(&[("testing/sim/src/main.rs", "fn f( {}")]);
        assert!(
            problems[0].starts_with("the language rules can be applied: testing/sim/src/main.rs: line 1: "),
            "{problems:?}"
        );
    }
}
