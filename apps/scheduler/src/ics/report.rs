//! What became of every part of a file, for the person who brought it.

use std::collections::BTreeMap;
use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The most problems that are listed; a broken file may have one in each of a million lines.
const MOST_PROBLEMS: usize = 1_000;

/// What became of every part of a file.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Report {
    /// Events that are new.
    pub created: Vec<Entry>,
    /// Events that the file knows better.
    pub updated: Vec<Entry>,
    /// Events and instances that the file says are cancelled.
    pub removed: Vec<Entry>,
    /// Events that are on the calendar as the file has them.
    pub unchanged: Vec<Entry>,
    /// What was left out, and why.
    pub skipped: Vec<Skipped>,
    /// What is wrong in the file, in the order in which it was found.
    pub problems: Vec<Problem>,
    /// How many more problems there are.
    #[serde(default)]
    pub more_problems: usize,
}

/// One part of a file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Entry {
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
pub struct Skipped {
    /// Which.
    pub entry: Entry,
    /// Why.
    pub reason: String,
}

/// Something wrong in a file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Problem {
    /// The line; the first is 1.
    pub line: usize,
    /// The property, or the component when it is about all of it.
    pub property: String,
    /// What is wrong.
    pub message: String,
}

impl Problem {
    pub(super) fn new(line: usize, property: &str, message: impl Into<String>) -> Self {
        Self { line, property: property.to_owned(), message: message.into() }
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}, {}: {}", self.line, self.property, self.message)
    }
}

impl Report {
    pub(super) fn note(&mut self, problem: Problem) {
        if self.problems.len() < MOST_PROBLEMS {
            self.problems.push(problem);
        } else {
            self.more_problems += 1;
        }
    }

    pub(super) fn skip(&mut self, entry: Entry, reason: impl Into<String>) {
        self.skipped.push(Skipped { entry, reason: reason.into() });
    }

    /// Moves what would have been changed of some UIDs to what was left out, each with why.
    pub(super) fn refuse(&mut self, refused: &BTreeMap<String, String>) {
        let mut skipped = Vec::new();
        for entries in [&mut self.created, &mut self.updated, &mut self.removed] {
            entries.retain(|entry| match refused.get(&entry.uid) {
                Some(reason) => {
                    skipped.push(Skipped { entry: entry.clone(), reason: reason.clone() });
                    false
                }
                None => true,
            });
        }
        self.skipped.extend(skipped);
        self.sort();
    }

    /// Everything in the order of the file.
    pub(super) fn sort(&mut self) {
        for entries in [&mut self.created, &mut self.updated, &mut self.removed, &mut self.unchanged] {
            entries.sort_by_key(|entry| entry.line);
        }
        self.skipped.sort_by_key(|skipped| skipped.entry.line);
        self.problems.sort_by_key(|problem| problem.line);
    }
}
