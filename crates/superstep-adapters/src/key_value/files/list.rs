//! Listing of keys in order, which skips folders that cannot contain a matching key.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use superstep_core::error::Result;

use super::path::{self, PathKind};
use super::{io_error, value_file};

/// A listing in progress: its parameters and the keys found so far.
pub(super) struct KeyLister<'a> {
    root: &'a Path,
    prefix: &'a str,
    after: Option<&'a str>,
    limit: usize,
    keys: Vec<String>,
}

/// Lists the keys that begin with `prefix` and sort after `after`.
pub(super) fn list(root: &Path, prefix: &str, after: Option<&str>, limit: usize) -> Result<Vec<String>> {
    let mut lister = KeyLister { root, prefix, after, limit, keys: Vec::new() };
    match prefix.rsplit_once('/') {
        Some((folders, _)) => lister.enter(&path::of_folders(root, folders), &format!("{folders}/"))?,
        None => lister.enter(root, "")?,
    }
    Ok(lister.keys)
}

impl KeyLister<'_> {
    /// Lists a folder; `before` is the common beginning of all its keys.
    fn enter(&mut self, folder: &Path, before: &str) -> Result<()> {
        let mut entries = entries(folder)?;
        if entries.iter().any(|(_, kind, _)| *kind == PathKind::Continued) {
            // The keys of a segment that is split over several names do not sort by name, so all of them are read and
            // sorted.
            let mut keys = Vec::new();
            collect(folder, before, &mut keys)?;
            keys.sort_unstable();
            return keys.into_iter().try_for_each(|key| self.add_key(key));
        }
        // A folder sorts like the first of its keys, with `/` at its end.
        entries.sort_by_cached_key(
            |(text, kind, _)| if *kind == PathKind::Folder { format!("{text}/") } else { text.clone() },
        );
        for (text, kind, path) in entries {
            if self.keys.len() >= self.limit {
                break;
            }
            match kind {
                PathKind::File => self.add_key(format!("{before}{text}"))?,
                PathKind::Folder | PathKind::Continued => {
                    let nested_prefix = format!("{before}{text}/");
                    let may_match = nested_prefix.starts_with(self.prefix) || self.prefix.starts_with(&nested_prefix);
                    let is_before_start =
                        self.after.is_some_and(|after| after > &*nested_prefix && !after.starts_with(&nested_prefix));
                    if may_match && !is_before_start {
                        self.enter(&path, &nested_prefix)?;
                    }
                }
            }
        }
        Ok(())
    }

    fn add_key(&mut self, key: String) -> Result<()> {
        let is_match = key.starts_with(self.prefix) && self.after.is_none_or(|after| *key > *after);
        if is_match && self.keys.len() < self.limit && value_file::exists(&path::of_key(self.root, &key))? {
            self.keys.push(key);
        }
        Ok(())
    }
}

fn entries(folder: &Path) -> Result<Vec<(String, PathKind, PathBuf)>> {
    let read = match std::fs::read_dir(folder) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Vec::new()),
        read => read.map_err(|error| io_error(&error, folder))?,
    };
    let mut entries = Vec::new();
    for entry in read {
        let entry = entry.map_err(|error| io_error(&error, folder))?;
        let read = entry.file_name().to_str().and_then(path::read);
        entries.extend(read.map(|(text, kind)| (text, kind, entry.path())));
    }
    Ok(entries)
}

fn collect(folder: &Path, before: &str, keys: &mut Vec<String>) -> Result<()> {
    for (text, kind, path) in entries(folder)? {
        match kind {
            PathKind::File => keys.push(format!("{before}{text}")),
            PathKind::Folder => collect(&path, &format!("{before}{text}/"), keys)?,
            PathKind::Continued => collect(&path, &format!("{before}{text}"), keys)?,
        }
    }
    Ok(())
}
