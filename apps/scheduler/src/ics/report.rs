//! Report about each part of an imported file, for the user who imports it.

use std::collections::BTreeMap;
use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Maximum number of listed problems, because a broken file may have a problem in each of a million lines.
const MAX_PROBLEMS: usize = 1_000;

/// Report of an import, with an entry for every part of the file.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ImportReport {
    /// New events.
    pub created: Vec<ReportEntry>,
    /// Updated events.
    pub updated: Vec<ReportEntry>,
    /// Events and instances that the file cancels.
    pub removed: Vec<ReportEntry>,
    /// Events that are unchanged.
    pub unchanged: Vec<ReportEntry>,
    /// Skipped parts, with the reasons.
    pub skipped: Vec<SkippedEntry>,
    /// Problems of the file, in file order.
    pub problems: Vec<ImportProblem>,
    /// Number of further problems that are not listed.
    #[serde(default)]
    pub more_problems: usize,
}

/// A part of an imported file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ReportEntry {
    /// Line on which the part begins; the first line is 1.
    pub line: usize,
    /// UID of the part; empty if it has none.
    pub uid: String,
    /// Title of the event.
    pub title: String,
}

/// A skipped part of an imported file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SkippedEntry {
    /// The skipped part.
    pub entry: ReportEntry,
    /// Reason why the part was skipped.
    pub reason: String,
}

/// A problem in an imported file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ImportProblem {
    /// Line of the problem; the first line is 1.
    pub line: usize,
    /// Name of the property, or of the component if the problem concerns all of it.
    pub property: String,
    /// Description of the problem.
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
        if self.problems.len() < MAX_PROBLEMS {
            self.problems.push(problem);
        } else {
            self.more_problems += 1;
        }
    }

    pub(super) fn skip(&mut self, entry: ReportEntry, reason: impl Into<String>) {
        self.skipped.push(SkippedEntry { entry, reason: reason.into() });
    }

    /// Moves the entries of rejected UIDs to `skipped`, each with its reason.
    pub(super) fn move_to_skipped(&mut self, rejected: &BTreeMap<String, String>) {
        let mut skipped = Vec::new();
        for entries in [&mut self.created, &mut self.updated, &mut self.removed] {
            entries.retain(|entry| match rejected.get(&entry.uid) {
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
