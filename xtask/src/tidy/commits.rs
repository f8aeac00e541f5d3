//! Commit subjects: `area: summary`, at most 72 characters.
//!
//! Checks the commits after a fixed one. If the history does not reach it, as in a shallow clone, violations are
//! printed as a note and do not fail the command.

use std::process::Command;

use crate::process;
use crate::workspace::Workspace;

/// The last commit before the rule: older history stays as it is, because rewriting it would change every hash.
const BASE: &str = "cfc64d459f67decb3c9c9484ae0b0346a807f3c6";

/// Maximum number of characters of a subject.
const MAX_SUBJECT: usize = 72;

/// The commits that can be checked.
pub(super) enum History {
    /// All commits after the base.
    Complete(Vec<Commit>),
    /// Commits of a history that does not reach the base.
    Partial(Vec<Commit>),
    /// No history, with the reason.
    Missing(String),
}

/// A commit other than a merge.
pub(super) struct Commit {
    hash: String,
    subject: String,
}

impl History {
    /// Reads the commits with Git.
    pub(super) fn read(workspace: &Workspace) -> Self {
        let log = |range: &str| git(workspace, &["log", "--no-merges", "--format=%h %s", range, "--"]);
        match log(&format!("{BASE}..HEAD")) {
            Ok(output) => Self::Complete(commits(&output)),
            Err(_) => log("HEAD").map_or_else(Self::Missing, |output| Self::Partial(commits(&output))),
        }
    }

    /// Returns the problems of subjects that violate the rule.
    pub(super) fn problems(&self) -> Vec<String> {
        match self {
            Self::Complete(commits) => commits.iter().filter_map(problem).collect(),
            Self::Partial(_) | Self::Missing(_) => Vec::new(),
        }
    }

    /// Returns a note if the history is incomplete or missing.
    pub(super) fn note(&self) -> Option<String> {
        match self {
            Self::Complete(_) => None,
            Self::Partial(commits) => {
                let problems: Vec<String> = commits.iter().filter_map(problem).collect();
                let first = problems.first().map(|problem| format!(", for example {problem}")).unwrap_or_default();
                let (count, problem_count) = (commits.len(), problems.len());
                Some(format!(
                    "the history does not reach commit {BASE:.8}, so old and new commits look the same: \
                     {problem_count} of {count} subjects break the rule{first}"
                ))
            }
            Self::Missing(reason) => Some(format!("there is no commit history: {reason}")),
        }
    }
}

fn git(workspace: &Workspace, arguments: &[&str]) -> Result<String, String> {
    let output = process::output(Command::new("git").current_dir(workspace.root()).args(arguments))?;
    if !output.status.success() {
        return Err(String::from_utf8_lossy(&output.stderr).lines().next().unwrap_or("git failed").to_owned());
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

fn commits(output: &str) -> Vec<Commit> {
    let pairs = output.lines().filter_map(|line| line.split_once(' '));
    pairs.map(|(hash, subject)| Commit { hash: hash.to_owned(), subject: subject.to_owned() }).collect()
}

fn problem(commit: &Commit) -> Option<String> {
    let Commit { hash, subject } = commit;
    let length = subject.chars().count();
    if length > MAX_SUBJECT {
        return Some(format!("{hash} has {length} characters; {MAX_SUBJECT} is the limit: `{subject}`"));
    }
    (!has_area(subject)).then(|| format!("{hash} is not of the form `area: summary`: `{subject}`"))
}

/// Returns true if a subject starts with one or more areas, such as `core/apply` or `sim, xtask`.
fn has_area(subject: &str) -> bool {
    let is_area = |area: &str| {
        area.starts_with(|symbol: char| symbol.is_ascii_lowercase() || symbol.is_ascii_digit() || symbol == '.')
            && area
                .chars()
                .all(|symbol| symbol.is_ascii_lowercase() || symbol.is_ascii_digit() || "/-_.".contains(symbol))
    };
    subject
        .split_once(": ")
        .is_some_and(|(areas, summary)| areas.split(", ").all(is_area) && !summary.trim().is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn subjects_have_an_area_and_an_end() {
        let good = ["core/apply: sort writes", "sim, xtask: count", "0_a.b-c: x", ".ci: run"];
        let long = format!("core: {}", "x".repeat(67));
        let bad = ["sort writes", "Core: sort", "core:sort", "core: ", ": sort", "a b: sort", "core, : sort", &long];
        let history = |subjects: &[&str]| {
            let lines: Vec<String> = subjects.iter().map(|subject| format!("abc1234 {subject}")).collect();
            commits(&lines.join("\n"))
        };
        assert_eq!(History::Complete(history(&good)).problems(), Vec::<String>::new());
        let problems = History::Complete(history(&bad)).problems();
        assert_eq!(problems.len(), bad.len());
        assert!(problems[7].starts_with("abc1234 has 73 characters; 72 is the limit: `core: xxx"));
        assert_eq!(problems[0], "abc1234 is not of the form `area: summary`: `sort writes`");
    }

    #[test]
    fn missing_history_is_named_and_no_problem() {
        let partial = History::Partial(commits("abc1234 no area\ndef5678 core: sort"));
        assert_eq!(partial.problems(), Vec::<String>::new());
        assert!(partial.note().unwrap().contains("1 of 2 subjects break the rule, for example abc1234 is not"));
        let missing = History::Missing("not a git repository".to_owned());
        assert_eq!(missing.problems(), Vec::<String>::new());
        assert_eq!(missing.note().unwrap(), "there is no commit history: not a git repository");
        assert_eq!(History::Complete(Vec::new()).note(), None);
    }
}
