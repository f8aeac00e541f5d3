//! The list of words that mean the same: one group per line, `#` for comments. It is read again when it has changed.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::SystemTime;
use std::{fs, io};

use superstep::{Code, Error, Result};

/// A file of groups.
#[derive(Debug)]
pub(super) struct List {
    file: Option<PathBuf>,
    read: Mutex<Read>,
}

#[derive(Debug, Default)]
struct Read {
    seen: Option<(u64, Option<SystemTime>)>,
    groups: Vec<Vec<Term>>,
}

/// A word or a phrase of a group.
#[derive(Debug)]
struct Term {
    text: String,
    words: Vec<String>,
}

/// A group that a text has a term of.
pub(super) struct Match {
    /// The words of the text that matched.
    pub(super) words: BTreeSet<String>,
    /// The terms of the group that the text does not have.
    pub(super) others: Vec<String>,
}

impl List {
    pub(super) fn open(file: Option<&Path>) -> Result<Self> {
        let list = Self { file: file.map(Path::to_owned), read: Mutex::default() };
        list.look().map_err(|cause| {
            let shown = file.unwrap_or(Path::new("")).display();
            Error::new(Code::ConfigInvalid, format!("cannot read the words in `{shown}`: {cause}"))
        })?;
        Ok(list)
    }

    /// The groups that the words of a text match, in the text's order.
    pub(super) fn matches(&self, text: &[String]) -> Vec<Match> {
        // A list that cannot be read for a moment leaves what was read before.
        self.look().ok();
        let read = self.read.lock().unwrap_or_else(PoisonError::into_inner);
        let mut found: Vec<(usize, Match)> = Vec::new();
        for group in &read.groups {
            let places = group.iter().map(|term| (place(text, &term.words), term));
            let (held, others): (Vec<_>, Vec<_>) = places.partition(|(place, _)| place.is_some());
            if let Some(first) = held.iter().filter_map(|(place, _)| *place).min() {
                let words = held.iter().flat_map(|(_, term)| term.words.iter().cloned()).collect();
                let others = others.into_iter().map(|(_, term)| term.text.clone()).collect();
                found.push((first, Match { words, others }));
            }
        }
        found.sort_by_key(|(first, _)| *first);
        found.into_iter().map(|(_, matched)| matched).collect()
    }

    /// Reads the file when it is another than the one that was read.
    fn look(&self) -> io::Result<()> {
        let Some(file) = &self.file else { return Ok(()) };
        let metadata = fs::metadata(file)?;
        let seen = Some((metadata.len(), metadata.modified().ok()));
        let mut read = self.read.lock().unwrap_or_else(PoisonError::into_inner);
        if read.seen != seen {
            *read = Read { seen, groups: groups(&fs::read_to_string(file)?) };
        }
        Ok(())
    }
}

fn groups(text: &str) -> Vec<Vec<Term>> {
    let lines = text.lines().map(str::trim).filter(|line| !line.starts_with('#'));
    let groups = lines.map(|line| line.split(',').filter_map(term).collect::<Vec<_>>());
    groups.filter(|group| group.len() > 1).collect()
}

fn term(text: &str) -> Option<Term> {
    let words = super::all(text);
    (!words.is_empty()).then(|| Term { text: text.trim().to_owned(), words })
}

/// Where a phrase stands in a text.
fn place(text: &[String], phrase: &[String]) -> Option<usize> {
    text.windows(phrase.len()).position(|window| window == phrase)
}
