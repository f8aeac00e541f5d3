//! Synonym file: one group per line, `#` starts a comment. The file is reloaded when it changes.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::SystemTime;
use std::{fs, io};

use superstep::{Error, ErrorCode, Result};

/// A synonym file and its loaded groups.
#[derive(Debug)]
pub(super) struct SynonymFile {
    file: Option<PathBuf>,
    loaded: Mutex<LoadedSynonyms>,
}

#[derive(Debug, Default)]
struct LoadedSynonyms {
    /// Size and modification time of the file.
    version: Option<(u64, Option<SystemTime>)>,
    groups: Vec<Vec<Term>>,
}

/// A word or phrase of a group.
#[derive(Debug)]
struct Term {
    text: String,
    words: Vec<String>,
}

/// A synonym group with a term that occurs in a text.
pub(super) struct SynonymMatch {
    /// Words of the text that matched.
    pub(super) words: BTreeSet<String>,
    /// Terms of the group that do not occur in the text.
    pub(super) others: Vec<String>,
}

impl SynonymFile {
    pub(super) fn open(file: Option<&Path>) -> Result<Self> {
        let list = Self { file: file.map(Path::to_owned), loaded: Mutex::default() };
        list.reload_if_changed().map_err(|cause| {
            let path = file.unwrap_or(Path::new("")).display();
            Error::new(ErrorCode::ConfigInvalid, format!("cannot read the synonyms in `{path}`: {cause}"))
        })?;
        Ok(list)
    }

    /// Returns the groups that match a text, in the order of the text.
    pub(super) fn matches(&self, text: &[String]) -> Vec<SynonymMatch> {
        // If the file is temporarily unreadable, the groups loaded before stay in use.
        self.reload_if_changed().ok();
        let loaded = self.loaded.lock().unwrap_or_else(PoisonError::into_inner);
        let mut matches: Vec<(usize, SynonymMatch)> = Vec::new();
        for group in &loaded.groups {
            let positions = group.iter().map(|term| (find_phrase(text, &term.words), term));
            let (matched, others): (Vec<_>, Vec<_>) = positions.partition(|(position, _)| position.is_some());
            if let Some(first) = matched.iter().filter_map(|(position, _)| *position).min() {
                let words = matched.iter().flat_map(|(_, term)| term.words.iter().cloned()).collect();
                let others = others.into_iter().map(|(_, term)| term.text.clone()).collect();
                matches.push((first, SynonymMatch { words, others }));
            }
        }
        matches.sort_by_key(|(first, _)| *first);
        matches.into_iter().map(|(_, matched)| matched).collect()
    }

    /// Reloads the file if its size or modification time has changed.
    fn reload_if_changed(&self) -> io::Result<()> {
        let Some(file) = &self.file else { return Ok(()) };
        let metadata = fs::metadata(file)?;
        let version = Some((metadata.len(), metadata.modified().ok()));
        let mut loaded = self.loaded.lock().unwrap_or_else(PoisonError::into_inner);
        if loaded.version != version {
            *loaded = LoadedSynonyms { version, groups: parse_groups(&fs::read_to_string(file)?) };
        }
        Ok(())
    }
}

fn parse_groups(text: &str) -> Vec<Vec<Term>> {
    let lines = text.lines().map(str::trim).filter(|line| !line.starts_with('#'));
    let groups = lines.map(|line| line.split(',').filter_map(parse_term).collect::<Vec<_>>());
    groups.filter(|group| group.len() > 1).collect()
}

fn parse_term(text: &str) -> Option<Term> {
    let words = super::words_of(text);
    (!words.is_empty()).then(|| Term { text: text.trim().to_owned(), words })
}

/// Returns the index of a phrase in a text.
fn find_phrase(text: &[String], phrase: &[String]) -> Option<usize> {
    text.windows(phrase.len()).position(|window| window == phrase)
}
