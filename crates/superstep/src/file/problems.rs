//! Everything that is wrong with a file, gathered before anything is said, each thing with its place.

use superstep_core::error::{Code, Error, Problem};
use superstep_core::fault::Fault;

use super::tree::Tree;

/// Problems that one error lists at most.
const LISTED: usize = 100;

/// Problems that are kept: finding the place of each costs time, and nobody reads as many.
const KEPT: usize = 1000;

/// The text of a file, and what it is called in messages.
#[derive(Debug, Clone)]
pub(super) struct Source {
    pub(super) name: String,
    pub(super) text: String,
}

impl Source {
    /// `file:line:column`, counted from one, columns in characters.
    fn place(&self, offset: usize) -> String {
        let before = self.text.get(..offset).unwrap_or(&self.text);
        let line = before.matches('\n').count() + 1;
        let column = before.rsplit('\n').next().unwrap_or_default().chars().count() + 1;
        format!("{}:{line}:{column}", self.name)
    }
}

/// What was found so far.
#[derive(Default)]
pub(super) struct Problems {
    found: Vec<Found>,
    /// How many more there were.
    dropped: usize,
    /// Problems of files that this one leads to, with places of their own.
    elsewhere: Vec<Problem>,
}

struct Found {
    place: Place,
    message: String,
    help: Option<String>,
}

enum Place {
    Offset(usize),
    Value(String),
    Key(String),
}

impl Problems {
    pub(super) fn at_offset(&mut self, offset: usize, message: impl Into<String>, help: Option<String>) {
        self.add(Place::Offset(offset), message.into(), help);
    }

    /// About the value at a JSON pointer.
    pub(super) fn at(&mut self, pointer: &str, message: impl Into<String>, help: Option<String>) {
        self.add(Place::Value(pointer.to_owned()), message.into(), help);
    }

    /// About the last key of a JSON pointer.
    pub(super) fn at_key(&mut self, pointer: &str, message: impl Into<String>, help: Option<String>) {
        self.add(Place::Key(pointer.to_owned()), message.into(), help);
    }

    pub(super) fn fault(&mut self, pointer: &str, fault: Fault) {
        self.at(&format!("{pointer}{}", fault.pointer), fault.message, fault.help);
    }

    /// The problems of another file, which say themselves where they are; without any, the error itself.
    pub(super) fn of_file(&mut self, pointer: &str, error: &Error) {
        match error.problems() {
            [] => self.at(pointer, error.message(), error.advice().map(str::to_owned)),
            problems => self.elsewhere.extend(problems.iter().cloned()),
        }
    }

    /// Whether so much is wrong already that looking for near names would only cost time.
    pub(super) fn is_full(&self) -> bool {
        self.found.len() > LISTED
    }

    fn add(&mut self, place: Place, message: String, help: Option<String>) {
        match self.found.len() < KEPT {
            true => self.found.push(Found { place, message, help }),
            false => self.dropped += 1,
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.found.is_empty() && self.elsewhere.is_empty()
    }

    /// One error for all of them, in the order of the text.
    pub(super) fn into_error(self, source: &Source, tree: Option<&Tree>) -> Error {
        let mut found: Vec<(usize, Found)> = self.found.into_iter().map(|found| (found.offset(tree), found)).collect();
        found.sort_by_key(|(offset, _)| *offset);
        found.dedup_by(|(at, one), (before, other)| at == before && one.says_the_same(other));
        let mut elsewhere = self.elsewhere;
        elsewhere.dedup();
        let more = (self.dropped + found.len() + elsewhere.len()).saturating_sub(LISTED);
        // Lines are counted from the start of the text, so only for what is listed.
        let problems = found
            .into_iter()
            .take(LISTED)
            .map(|(offset, Found { message, help, .. })| Problem { pointer: source.place(offset), message, help })
            .chain(elsewhere)
            .take(LISTED)
            .collect();
        let error =
            Error::listing(Code::InvalidGraph, format!("the graph file `{}` cannot be used", source.name), problems);
        if more == 0 { error } else { error.help(format!("{more} more problems are not listed")) }
    }
}

impl Found {
    fn says_the_same(&self, other: &Self) -> bool {
        self.message == other.message && self.help == other.help
    }

    fn offset(&self, tree: Option<&Tree>) -> usize {
        match (&self.place, tree) {
            (Place::Offset(offset), _) => *offset,
            (Place::Value(pointer), Some(tree)) => tree.offset(pointer),
            (Place::Key(pointer), Some(tree)) => tree.key_offset(pointer),
            (_, None) => 0,
        }
    }
}
