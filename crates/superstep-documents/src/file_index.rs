//! Searchable index of the items (passages, issues, mail) in the files of a folder.
//!
//! The index is in memory and follows changes of the files. An unreadable file is reported and skipped; the others
//! are read.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use superstep::Result;

use crate::folder::{self, FileFilter, FileStamp, ReadLimits, SkippedFiles};
use crate::index::{FullTextIndex, SearchFields};

/// Time for which a listing of the folder is used.
const LISTING_TTL: Duration = Duration::from_secs(1);

/// An item that is parsed from files and indexed for search.
pub trait IndexedItem: Send + Sized + 'static {
    /// Reason reported for files of other kinds; `None` if they need no report.
    const SKIP_REASON: Option<&'static str> = None;

    /// Returns true if a file of this name contains such items. Other files are never opened.
    fn accepts_file(name: &str) -> bool;

    /// Parses the items of a file.
    ///
    /// # Errors
    /// Returns a description of the error for users.
    fn read(name: &str, bytes: &[u8]) -> Result<Vec<Self>, String>;

    /// Returns the searchable text of the item.
    fn search_fields(&self) -> SearchFields<'_>;
}

/// A search result.
#[derive(Debug)]
pub struct SearchHit<'a, T> {
    /// Item that matches.
    pub item: &'a T,
    /// Path of the file, with `/` as separator.
    pub file: &'a str,
    /// Index of the item in its file, from 0.
    pub number: usize,
    /// Relevance; higher is better.
    pub score: f64,
}

/// Searchable items of a folder.
pub struct FileIndex<T> {
    folder: PathBuf,
    limits: ReadLimits,
    state: Mutex<IndexState<T>>,
}

struct IndexState<T> {
    index: FullTextIndex,
    files: BTreeMap<String, IndexedFile<T>>,
    skipped_files: SkippedFiles,
    refreshed_at: Instant,
}

/// An indexed file.
struct IndexedFile<T> {
    stamp: FileStamp,
    /// Items of the file, or the reason why it was skipped.
    items: Result<Vec<T>, String>,
}

impl<T: IndexedItem> FileIndex<T> {
    /// Reads a folder and its subfolders.
    ///
    /// # Errors
    /// Returns an error if the folder does not exist or cannot be read. A single unreadable file is skipped; see
    /// [`skipped`](Self::skipped).
    pub fn open(folder: &Path, limits: ReadLimits) -> Result<Self> {
        let folder = folder::root(folder)?;
        let (index, now) = (FullTextIndex::new()?, Instant::now());
        let mut state =
            IndexState { index, files: BTreeMap::new(), skipped_files: SkippedFiles::default(), refreshed_at: now };
        state.refresh_changed_files(&folder, limits)?;
        Ok(Self { folder, limits, state: Mutex::new(state) })
    }

    /// Searches items, and passes the best results to a function that converts them while the index is locked.
    pub fn search<R>(&self, query: &str, limit: usize, convert: impl FnOnce(Vec<SearchHit<'_, T>>) -> R) -> R {
        let state = self.lock_refreshed();
        let hits = state.index.search(query, limit);
        let matches = hits.iter().filter_map(|hit| {
            let (file, entry) = state.files.get_key_value(&hit.file)?;
            let item = entry.items().get(hit.number)?;
            Some(SearchHit { item, file, number: hit.number, score: hit.score })
        });
        convert(matches.collect())
    }

    /// Counts the items with any word of the query.
    #[must_use]
    pub fn count(&self, query: &str) -> usize {
        self.lock().index.count(query)
    }

    /// Returns an item by its file and index; `None` if the file is not searched.
    #[must_use]
    pub fn get(&self, file: &str, number: usize) -> Option<T>
    where
        T: Clone,
    {
        self.lock_refreshed().files.get(file)?.items().get(number).cloned()
    }

    /// Reads the content of a file again; `None` if the file is not searched, even if the folder contains it.
    #[must_use]
    pub fn bytes(&self, file: &str) -> Option<Vec<u8>> {
        let stamp = self.lock_refreshed().files.get(file).filter(|entry| entry.items.is_ok())?.stamp.clone();
        stamp.read(&self.folder).ok()
    }

    /// Returns the number of files that were read.
    #[must_use]
    pub fn files(&self) -> usize {
        self.lock().files.values().filter(|entry| entry.items.is_ok()).count()
    }

    /// Returns the number of items.
    #[must_use]
    pub fn item_count(&self) -> usize {
        self.lock().item_count()
    }

    /// Returns the skipped files, with reasons.
    #[must_use]
    pub fn skipped(&self) -> Vec<String> {
        let state = self.lock();
        let failed = state.files.iter().filter_map(|(name, entry)| Some((name, entry.items.as_ref().err()?)));
        failed.map(|(name, reason)| format!("{name}: {reason}")).chain(state.skipped_files.list()).collect()
    }

    /// Checks for new, changed and removed files now; searches do so themselves, at most once per second.
    ///
    /// # Errors
    /// Returns an error if the folder cannot be read.
    pub fn refresh(&self) -> Result<()> {
        self.lock().refresh_changed_files(&self.folder, self.limits)
    }

    fn lock_refreshed(&self) -> MutexGuard<'_, IndexState<T>> {
        let mut state = self.lock();
        if state.refreshed_at.elapsed() >= LISTING_TTL {
            // If the folder is temporarily unreadable, the earlier content stays.
            state.refresh_changed_files(&self.folder, self.limits).ok();
        }
        state
    }

    fn lock(&self) -> MutexGuard<'_, IndexState<T>> {
        // A refresh interrupted by a panic is repeated by the next one: a file counts as read only once it is
        // indexed.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<T> IndexedFile<T> {
    fn items(&self) -> &[T] {
        self.items.as_deref().unwrap_or_default()
    }
}

impl<T: IndexedItem> IndexState<T> {
    /// Reads new and changed files.
    fn refresh_changed_files(&mut self, folder: &Path, limits: ReadLimits) -> Result<()> {
        let listing =
            folder::list(folder, FileFilter { accepts_file: T::accepts_file, skip_reason: T::SKIP_REASON, limits })?;
        self.refreshed_at = Instant::now();
        let is_changed = |(name, entry): &(&String, &IndexedFile<T>)| listing.files.get(*name) != Some(&entry.stamp);
        let mut removed: Vec<String> = self.files.iter().filter(is_changed).map(|(name, _)| name.clone()).collect();
        if !removed.is_empty() {
            // Removed files may free capacity for files that exceeded the limits.
            removed.extend(self.files.iter().filter(|(_, entry)| entry.items.is_err()).map(|(name, _)| name.clone()));
        }
        for name in removed {
            self.index.remove(&name)?;
            self.files.remove(&name);
        }
        let mut skipped_files = listing.skipped_files;
        for (name, stamp) in listing.files {
            if self.files.contains_key(&name) {
                continue;
            }
            match stamp.read(folder) {
                Ok(bytes) => {
                    let items = self.index_file(&name, &bytes, limits)?;
                    self.files.insert(name, IndexedFile { stamp, items });
                }
                Err(reason) => skipped_files.add(&name, &reason),
            }
        }
        self.skipped_files = skipped_files;
        Ok(())
    }

    fn index_file(&mut self, name: &str, bytes: &[u8], limits: ReadLimits) -> Result<Result<Vec<T>, String>> {
        let items = match T::read(name, bytes) {
            Ok(items) => items,
            Err(reason) => return Ok(Err(reason)),
        };
        if self.item_count() + items.len() > limits.max_items {
            let (count, max) = (items.len(), limits.max_items);
            return Ok(Err(format!("its {count} entries exceed the limit of {max} entries in total")));
        }
        self.index.add(name, items.iter().map(IndexedItem::search_fields))?;
        Ok(Ok(items))
    }
}

impl<T> IndexState<T> {
    fn item_count(&self) -> usize {
        self.files.values().map(|entry| entry.items().len()).sum()
    }
}

impl<T: IndexedItem> std::fmt::Debug for FileIndex<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "FileIndex({} files read, {} skipped)", self.files(), self.skipped().len())
    }
}
