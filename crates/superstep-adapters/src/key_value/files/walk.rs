//! Listing keys in their order, without looking into folders that cannot have any of them.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use superstep_core::error::Result;

use super::path::{self, Kind};
use super::{describe, value};

/// Which keys, and those that were found.
pub(super) struct Walk<'a> {
    root: &'a Path,
    prefix: &'a str,
    after: Option<&'a str>,
    limit: usize,
    found: Vec<String>,
}

/// The keys that begin with `prefix`, of those after `after`.
pub(super) fn list(root: &Path, prefix: &str, after: Option<&str>, limit: usize) -> Result<Vec<String>> {
    let mut walk = Walk { root, prefix, after, limit, found: Vec::new() };
    match prefix.rsplit_once('/') {
        Some((folders, _)) => walk.enter(&path::of_folders(root, folders), &format!("{folders}/"))?,
        None => walk.enter(root, "")?,
    }
    Ok(walk.found)
}

impl Walk<'_> {
    /// Looks through a folder; `before` is what all of its keys begin with.
    fn enter(&mut self, folder: &Path, before: &str) -> Result<()> {
        let mut entries = entries(folder)?;
        if entries.iter().any(|(_, kind, _)| *kind == Kind::Continued) {
            // A piece of a key that is too long for one name: its keys stand between those of others.
            let mut keys = Vec::new();
            collect(folder, before, &mut keys)?;
            keys.sort_unstable();
            return keys.into_iter().try_for_each(|key| self.offer(key));
        }
        // A folder stands where the first of its keys does.
        entries.sort_by_cached_key(
            |(text, kind, _)| if *kind == Kind::Folder { format!("{text}/") } else { text.clone() },
        );
        for (text, kind, path) in entries {
            if self.found.len() >= self.limit {
                break;
            }
            match kind {
                Kind::File => self.offer(format!("{before}{text}"))?,
                Kind::Folder | Kind::Continued => {
                    let inside = format!("{before}{text}/");
                    let may_fit = inside.starts_with(self.prefix) || self.prefix.starts_with(&inside);
                    let is_past = self.after.is_some_and(|after| after > &*inside && !after.starts_with(&inside));
                    if may_fit && !is_past {
                        self.enter(&path, &inside)?;
                    }
                }
            }
        }
        Ok(())
    }

    fn offer(&mut self, key: String) -> Result<()> {
        let is_asked = key.starts_with(self.prefix) && self.after.is_none_or(|after| *key > *after);
        if is_asked && self.found.len() < self.limit && value::is_there(&path::of_key(self.root, &key))? {
            self.found.push(key);
        }
        Ok(())
    }
}

fn entries(folder: &Path) -> Result<Vec<(String, Kind, PathBuf)>> {
    let read = match std::fs::read_dir(folder) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Vec::new()),
        read => read.map_err(|error| describe(&error, folder))?,
    };
    let mut entries = Vec::new();
    for entry in read {
        let entry = entry.map_err(|error| describe(&error, folder))?;
        let read = entry.file_name().to_str().and_then(path::read);
        entries.extend(read.map(|(text, kind)| (text, kind, entry.path())));
    }
    Ok(entries)
}

fn collect(folder: &Path, before: &str, keys: &mut Vec<String>) -> Result<()> {
    for (text, kind, path) in entries(folder)? {
        match kind {
            Kind::File => keys.push(format!("{before}{text}")),
            Kind::Folder => collect(&path, &format!("{before}{text}/"), keys)?,
            Kind::Continued => collect(&path, &format!("{before}{text}"), keys)?,
        }
    }
    Ok(())
}
