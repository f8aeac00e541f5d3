//! The rules of language: standard words in names, doc summaries of the usual form, type names that say their role.
//!
//! The code base breaks these rules in many places, so they work as a ratchet: `xtask/language-baseline.json` has the
//! number of violations per folder, and the number may only shrink. `xtask/language-exceptions.toml` lists names that
//! are right where they are. This file joins the checks; each check is a module.

mod baseline;
mod declarations;
mod exceptions;
mod lexicon;
mod summaries;
mod types;
mod words;

use baseline::Baseline;
use declarations::Declarations;
use words::Lexicon;

use crate::rust_source::RustSource;
use crate::workspace::{File, Workspace};

/// A rule of language.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Check {
    Words,
    Summaries,
    Types,
}

impl Check {
    const ALL: [Self; 3] = [Self::Words, Self::Summaries, Self::Types];

    /// Returns the key in the baseline and in the exceptions.
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

    /// Returns the sentence that the command prints.
    fn rule(self) -> &'static str {
        match self {
            Self::Words => "names use standard words",
            Self::Summaries => "doc summaries start with a verb or a noun",
            Self::Types => "a type name is defined at most twice",
        }
    }
}

/// A place where a rule is broken.
#[derive(Clone, PartialEq, Eq, Debug)]
struct Violation {
    check: Check,
    path: String,
    line: usize,
    /// The name that an exception has to name: an identifier, or the first word of a summary.
    name: String,
    problem: String,
}

/// Runs the command with arguments: `--save`, or `--language <path>`.
///
/// # Errors
/// The arguments are unknown, the rules cannot be applied to a file, or the numbers cannot be saved.
pub(super) fn run(workspace: &Workspace, arguments: &[String]) -> Result<(), String> {
    match arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["--save"] => Report::new(&workspace.files()?).save(workspace),
        ["--language", path] if !workspace.root().join(path).exists() => Err(format!("there is no `{path}`")),
        ["--language", path] => Report::new(&workspace.files()?).list(path),
        _ => Err(format!(
            "unknown arguments `{}`; `tidy` takes `--save`, `--language <path>` or nothing",
            arguments.join(" ")
        )),
    }
}

/// Returns every rule of language with its problems.
pub(super) fn check(files: &[File]) -> Vec<(&'static str, Vec<String>)> {
    Report::new(files).rules()
}

/// The result of all checks of language.
struct Report {
    violations: Vec<Violation>,
    /// Files that are not Rust, and exceptions that are not right.
    problems: Vec<String>,
    baseline: Result<Baseline, String>,
}

impl Report {
    /// Parses every Rust file once and applies the checks.
    fn new(files: &[File]) -> Self {
        let (mut violations, mut problems) = violations(files);
        let text = |path: &str| files.iter().find(|file| file.path == path).map(|file| file.text.as_str());
        problems.extend(exceptions::apply(text(exceptions::PATH).unwrap_or_default(), &mut violations));
        violations.sort_by(|a, b| (&a.path, a.line).cmp(&(&b.path, b.line)));
        Self { violations, problems, baseline: Baseline::parse(text(baseline::PATH).unwrap_or("{}")) }
    }

    /// Returns every rule with its problems.
    fn rules(&self) -> Vec<(&'static str, Vec<String>)> {
        let mut rules = vec![("the language rules can be applied", self.problems.clone())];
        match &self.baseline {
            Ok(file) => {
                let counted = Baseline::count(&self.violations);
                rules.extend(Check::ALL.map(|check| (check.rule(), counted.differences(file, check))));
            }
            Err(problem) => rules[0].1.push(problem.clone()),
        }
        rules
    }

    /// Prints every violation below a path, and the number of each check.
    ///
    /// # Errors
    /// The rules cannot be applied to a file.
    fn list(&self, root: &str) -> Result<(), String> {
        let root = root.trim_end_matches('/');
        let is_below = |violation: &&Violation| {
            let rest = violation.path.strip_prefix(root);
            root == "." || rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
        };
        let listed: Vec<&Violation> = self.violations.iter().filter(is_below).collect();
        for Violation { path, line, problem, .. } in &listed {
            println!("{path}:{line}: {problem}");
        }
        for check in Check::ALL {
            println!("{}: {}", check.key(), listed.iter().filter(|violation| violation.check == check).count());
        }
        if self.problems.is_empty() { Ok(()) } else { Err(self.problems.join("\n")) }
    }

    /// Writes the numbers to the file.
    ///
    /// # Errors
    /// The rules cannot be applied to a file, a check has more violations than before, or the file cannot be written.
    fn save(&self, workspace: &Workspace) -> Result<(), String> {
        if !self.problems.is_empty() {
            return Err(self.problems.join("\n"));
        }
        let counted = Baseline::count(&self.violations);
        let path = workspace.root().join(baseline::PATH);
        if path.exists() {
            let growth = counted.growth(self.baseline.as_ref().map_err(Clone::clone)?);
            if !growth.is_empty() {
                return Err(format!(
                    "{} only shrinks: {}; where a rule became stricter, remove the file, save, and say so in the commit",
                    baseline::PATH,
                    growth.join(", ")
                ));
            }
        }
        std::fs::write(&path, counted.to_json()).map_err(|error| format!("{}: {error}", baseline::PATH))?;
        println!("saved {}", baseline::PATH);
        Ok(())
    }
}

/// Returns the violations of all files, and the files that cannot be parsed.
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
    fn the_numbers_must_be_those_of_the_file() {
        let source = ("testing/sim/src/main.rs", SOURCE);
        let allowed = (baseline::PATH, r#"{"testing/sim": {"words": 2, "summaries": 1}}"#);
        assert_eq!(problems(&[source, allowed]), Vec::<String>::new());
        assert_eq!(problems(&[source]).len(), 2);
        assert!(problems(&[allowed]).iter().all(|problem| problem.contains("better than the file")));
    }

    #[test]
    fn an_exception_lowers_the_number() {
        let files = [
            ("testing/sim/src/main.rs", SOURCE),
            (baseline::PATH, r#"{"testing/sim": {"words": 1}}"#),
            (
                exceptions::PATH,
                "[words]\n\"testing/sim/Turn\" = \"a turn of a game\"\n[summaries]\n\"testing/sim/src/main.rs/what\" = \"quoted\"",
            ),
        ];
        assert_eq!(problems(&files), Vec::<String>::new());
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
