//! A folder of files that hold things (issues, mail), found by their words.
//!
//! The index lives in memory. Each search looks first whether files are new, changed or gone, so that it never answers
//! out of a file that is not there. A file that cannot be read is named and left out; the others are read.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::SystemTime;
use std::{fs, io};

use superstep::{Code, Error, Result};

use super::index::{Index, Words};

/// The largest file that is read.
const LARGEST: u64 = 64 * 1024 * 1024;
/// The most files that are read.
const MOST: usize = 20_000;
/// How deep folders are looked into.
const DEEPEST: usize = 8;

/// What a file holds.
pub(super) trait Thing: Send + Sized + 'static {
    /// The things of a file; none when it is no file of theirs; why not, when it is broken.
    fn read(name: &str, bytes: &[u8]) -> Option<Result<Vec<Self>, String>>;

    /// What it is found by.
    fn words(&self) -> Words<'_>;
}

/// The things of a folder.
pub(super) struct Shelf<T> {
    folder: PathBuf,
    books: Mutex<Books<T>>,
}

struct Books<T> {
    index: Index,
    files: BTreeMap<String, Seen>,
    things: BTreeMap<(String, usize), T>,
    skipped: BTreeMap<String, String>,
}

/// A file as it was seen; another one when it has changed.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Seen {
    length: u64,
    modified: Option<SystemTime>,
}

/// A thing that was found.
pub(super) struct Found<'a, T> {
    pub(super) thing: &'a T,
    pub(super) file: &'a str,
    /// Its place in the file, from 0.
    pub(super) number: usize,
    /// How well it fits: more is better.
    pub(super) score: f64,
}

impl<T: Thing> Shelf<T> {
    pub(super) fn open(folder: &Path) -> Result<Self> {
        let unreadable = |cause: io::Error| {
            Error::new(Code::ConfigInvalid, format!("cannot read the folder `{}`: {cause}", folder.display()))
        };
        let folder = folder.canonicalize().map_err(unreadable)?;
        let index = Index::new()?;
        let mut books = Books { index, files: BTreeMap::new(), things: BTreeMap::new(), skipped: BTreeMap::new() };
        books.look(&folder).map_err(unreadable)?;
        Ok(Self { folder, books: Mutex::new(books) })
    }

    /// Gives what fits best to a function, which makes of it what is shown.
    pub(super) fn search<R>(&self, query: &str, limit: usize, show: impl Fn(Vec<Found<'_, T>>) -> R) -> R {
        let mut books = self.lock();
        // A folder that cannot be read for a moment leaves what was read before.
        books.look(&self.folder).ok();
        let hits = books.index.search(query, limit);
        let found = hits.iter().filter_map(|hit| {
            let ((file, number), thing) = books.things.get_key_value(&hit.place)?;
            Some(Found { thing, file, number: *number, score: hit.score })
        });
        show(found.collect())
    }

    /// How many there are.
    pub(super) fn len(&self) -> usize {
        self.lock().things.len()
    }

    /// Which files were left out, and why.
    pub(super) fn skipped(&self) -> Vec<String> {
        self.lock().skipped.iter().map(|(file, reason)| format!("{file}: {reason}")).collect()
    }

    fn lock(&self) -> MutexGuard<'_, Books<T>> {
        // What is half done after a panic is done again at the next look: a file counts as seen when it is indexed.
        self.books.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<T: Thing> Books<T> {
    fn look(&mut self, folder: &Path) -> io::Result<()> {
        let mut now = BTreeMap::new();
        let mut odd = BTreeMap::new();
        walk(folder, folder, 0, &mut now, &mut odd)?;
        let changed = |name: &String, seen: &Seen| now.get(name) != Some(seen);
        let gone: BTreeSet<String> =
            self.files.iter().filter(|(name, seen)| changed(name, seen)).map(|(name, _)| name.clone()).collect();
        for name in gone {
            self.remove(&name).map_err(io::Error::other)?;
        }
        for (name, seen) in now {
            if !self.files.contains_key(&name) {
                self.add(folder, &name).map_err(io::Error::other)?;
                self.files.insert(name, seen);
            }
        }
        self.skipped.retain(|name, _| self.files.contains_key(name));
        self.skipped.extend(odd);
        Ok(())
    }

    fn remove(&mut self, name: &str) -> Result<()> {
        self.index.remove(name)?;
        self.things.retain(|(file, _), _| file != name);
        self.files.remove(name);
        self.skipped.remove(name);
        Ok(())
    }

    fn add(&mut self, folder: &Path, name: &str) -> Result<()> {
        let bytes = fs::read(folder.join(name)).map_err(|cause| format!("cannot be read ({cause})"));
        let things = match bytes.map(|bytes| T::read(name, &bytes)) {
            Ok(None) => return Ok(()),
            Ok(Some(Ok(things))) => things,
            Ok(Some(Err(reason))) | Err(reason) => {
                self.skipped.insert(name.to_owned(), reason);
                return Ok(());
            }
        };
        self.index.add(name, things.iter().map(Thing::words))?;
        self.things.extend(things.into_iter().enumerate().map(|(number, thing)| ((name.to_owned(), number), thing)));
        Ok(())
    }
}

fn walk(
    root: &Path,
    folder: &Path,
    depth: usize,
    files: &mut BTreeMap<String, Seen>,
    odd: &mut BTreeMap<String, String>,
) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        // Links are not followed: what lies outside of the folder is not ours to show.
        let (path, kind) = (entry.path(), entry.file_type()?);
        if entry.file_name().to_string_lossy().starts_with('.') || kind.is_symlink() {
            continue;
        }
        let name = name_in(root, &path);
        if kind.is_dir() && depth < DEEPEST {
            walk(root, &path, depth + 1, files, odd)?;
        } else if kind.is_file() {
            // A file that is gone since it was listed is not there.
            let Ok(metadata) = entry.metadata() else { continue };
            if metadata.len() > LARGEST || files.len() >= MOST {
                odd.insert(name, format!("it has more than {LARGEST} bytes, or there are more than {MOST} files"));
                continue;
            }
            files.insert(name, Seen { length: metadata.len(), modified: metadata.modified().ok() });
        }
    }
    Ok(())
}

fn name_in(root: &Path, path: &Path) -> String {
    let inside = path.strip_prefix(root).unwrap_or(path);
    inside.components().map(|part| part.as_os_str().to_string_lossy()).collect::<Vec<_>>().join("/")
}
