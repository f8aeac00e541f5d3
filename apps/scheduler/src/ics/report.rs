//! Report about each part of an imported file, for the user who imports it.

use std::collections::BTreeMap;
use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Maximum number of listed problems, because a broken file may have a problem in each of a million lines.
const MOST_PROBLEMS: usize = 1_000;

/// What became of every part of a file.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ImportReport {
    /// Events that are new.
    pub created: Vec<ReportEntry>,
    /// Events that the file knows better.
    pub updated: Vec<ReportEntry>,
    /// Events and instances that the file says are cancelled.
    pub removed: Vec<ReportEntry>,
    /// Events that are on the calendar as the file has them.
    pub unchanged: Vec<ReportEntry>,
    /// What was left out, and why.
    pub skipped: Vec<SkippedEntry>,
    /// What is wrong in the file, in the order in which it was found.
    pub problems: Vec<ImportProblem>,
    /// How many more problems there are.
    #[serde(default)]
    pub more_problems: usize,
}

/// One part of a file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ReportEntry {
    /// The line on which it begins; the first line is 1.
    pub line: usize,
    /// Its UID, if it has one.
    pub uid: String,
    /// What it is called.
    pub title: String,
}

/// One part of a file that was left out.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SkippedEntry {
    /// Which.
    pub entry: ReportEntry,
    /// Why.
    pub reason: String,
}

/// Something wrong in a file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ImportProblem {
    /// The line; the first is 1.
    pub line: usize,
    /// The property, or the component when it is about all of it.
    pub property: String,
    /// What is wrong.
    pub message: String,
}

impl ImportProblem {
    pub(super) fn new(line: usize, property: &str, message: impl Into<String>) -> Self {
        Self { line, property: property.to_owned(), message: message.into() }
    }
}

impl fmt::Display for ImportProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}, {}: {}", self.line, self.property, self.message)
    }
}

impl ImportReport {
    pub(super) fn add_problem(&mut self, problem: ImportProblem) {
        if self.problems.len() < MOST_PROBLEMS {
            self.problems.push(problem);
        } else {
            self.more_problems += 1;
        }
    }

    pub(super) fn skip(&mut self, entry: ReportEntry, reason: impl Into<String>) {
        self.skipped.push(SkippedEntry { entry, reason: reason.into() });
    }

    /// Moves the entries of rejected UIDs to `skipped`, each with its reason.
    pub(super) fn move_to_skipped(&mut self, refused: &BTreeMap<String, String>) {
        let mut skipped = Vec::new();
        for entries in [&mut self.created, &mut self.updated, &mut self.removed] {
            entries.retain(|entry| match refused.get(&entry.uid) {
                Some(reason) => {
                    skipped.push(SkippedEntry { entry: entry.clone(), reason: reason.clone() });
                    false
                }
                None => true,
            });
        }
        self.skipped.extend(skipped);
        self.sort();
    }

    /// Sorts all lists by line number.
    pub(super) fn sort(&mut self) {
        for entries in [&mut self.created, &mut self.updated, &mut self.removed, &mut self.unchanged] {
            entries.sort_by_key(|entry| entry.line);
        }
        self.skipped.sort_by_key(|skipped| skipped.entry.line);
        self.problems.sort_by_key(|problem| problem.line);
    }
}
