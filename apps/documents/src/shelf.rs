//! A folder of files that hold things (passages, issues, mail), found by their words.
//!
//! The index lives in memory and follows the files. One that cannot be read is named and left out; the others are read.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use superstep::Result;

use crate::folder::{self, Bounds, File, Notes, Wanted};
use crate::index::{Index, Words};

/// How long what was seen of the folder counts.
const FRESH: Duration = Duration::from_secs(1);

/// What files hold.
pub trait Thing: Send + Sized + 'static {
    /// Why files of other kinds are left out; none where nobody needs to know.
    const STRANGER: Option<&'static str> = None;

    /// Whether a file of this name holds such things. Others are never opened.
    fn is_in(name: &str) -> bool;

    /// The things of a file.
    ///
    /// # Errors
    /// What is wrong with the file, for a person.
    fn read(name: &str, bytes: &[u8]) -> Result<Vec<Self>, String>;

    /// What it is found by.
    fn words(&self) -> Words<'_>;
}

/// A thing that was found.
#[derive(Debug)]
pub struct Found<'a, T> {
    /// The thing.
    pub thing: &'a T,
    /// Its file, with `/` between the parts.
    pub file: &'a str,
    /// Its place in the file, from 0.
    pub number: usize,
    /// How well it fits: more is better.
    pub score: f64,
}

/// The things of a folder.
pub struct Shelf<T> {
    folder: PathBuf,
    bounds: Bounds,
    books: Mutex<Books<T>>,
}

struct Books<T> {
    index: Index,
    read: BTreeMap<String, Book<T>>,
    notes: Notes,
    looked: Instant,
}

/// A file that was read.
struct Book<T> {
    seen: File,
    /// Its things, or what is wrong with it.
    held: Result<Vec<T>, String>,
}

impl<T: Thing> Shelf<T> {
    /// Reads a folder, with the folders inside it.
    ///
    /// # Errors
    /// When it is no folder, or cannot be read. A single file that cannot is left out; see [`skipped`](Self::skipped).
    pub fn open(folder: &Path, bounds: Bounds) -> Result<Self> {
        let folder = folder::root(folder)?;
        let (index, looked) = (Index::new()?, Instant::now());
        let mut books = Books { index, read: BTreeMap::new(), notes: Notes::default(), looked };
        books.look(&folder, bounds)?;
        Ok(Self { folder, bounds, books: Mutex::new(books) })
    }

    /// Gives what fits best to a function, which makes of it what is shown.
    pub fn search<R>(&self, query: &str, limit: usize, show: impl FnOnce(Vec<Found<'_, T>>) -> R) -> R {
        let books = self.fresh();
        let hits = books.index.search(query, limit);
        let found = hits.iter().filter_map(|hit| {
            let (file, book) = books.read.get_key_value(&hit.file)?;
            let thing = book.things().get(hit.number)?;
            Some(Found { thing, file, number: hit.number, score: hit.score })
        });
        show(found.collect())
    }

    /// How many things have any of the query's words.
    #[must_use]
    pub fn count(&self, query: &str) -> usize {
        self.lock().index.count(query)
    }

    /// A thing by its file and its place in it; none when no such file is searched.
    #[must_use]
    pub fn get(&self, file: &str, number: usize) -> Option<T>
    where
        T: Clone,
    {
        self.fresh().read.get(file)?.things().get(number).cloned()
    }

    /// A file, read once more; none when it is not one that is searched, whatever else the folder holds.
    #[must_use]
    pub fn bytes(&self, file: &str) -> Option<Vec<u8>> {
        let seen = self.fresh().read.get(file).filter(|book| book.held.is_ok())?.seen.clone();
        seen.read(&self.folder).ok()
    }

    /// How many files were read.
    #[must_use]
    pub fn files(&self) -> usize {
        self.lock().read.values().filter(|book| book.held.is_ok()).count()
    }

    /// How many things there are.
    #[must_use]
    pub fn things(&self) -> usize {
        self.lock().things()
    }

    /// What was left out, and why.
    #[must_use]
    pub fn skipped(&self) -> Vec<String> {
        let books = self.lock();
        let wrong = books.read.iter().filter_map(|(name, book)| Some((name, book.held.as_ref().err()?)));
        wrong.map(|(name, reason)| format!("{name}: {reason}")).chain(books.notes.list()).collect()
    }

    /// Looks for files that are new, changed or gone, now; searches do so by themselves, at most once a second.
    ///
    /// # Errors
    /// When the folder cannot be read.
    pub fn refresh(&self) -> Result<()> {
        self.lock().look(&self.folder, self.bounds)
    }

    fn fresh(&self) -> MutexGuard<'_, Books<T>> {
        let mut books = self.lock();
        if books.looked.elapsed() >= FRESH {
            // A folder that cannot be read for a moment leaves what was read before.
            books.look(&self.folder, self.bounds).ok();
        }
        books
    }

    fn lock(&self) -> MutexGuard<'_, Books<T>> {
        // What is half done after a panic is done again at the next look: a file counts as read when it is indexed.
        self.books.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<T> Book<T> {
    fn things(&self) -> &[T] {
        self.held.as_deref().unwrap_or_default()
    }
}

impl<T: Thing> Books<T> {
    /// Reads what has changed.
    fn look(&mut self, folder: &Path, bounds: Bounds) -> Result<()> {
        let found = folder::list(folder, Wanted { is_wanted: T::is_in, stranger: T::STRANGER, bounds })?;
        self.looked = Instant::now();
        let is_other = |(name, book): &(&String, &Book<T>)| found.files.get(*name) != Some(&book.seen);
        let mut gone: Vec<String> = self.read.iter().filter(is_other).map(|(name, _)| name.clone()).collect();
        if !gone.is_empty() {
            // There may be room now for what there was none for.
            gone.extend(self.read.iter().filter(|(_, book)| book.held.is_err()).map(|(name, _)| name.clone()));
        }
        for name in gone {
            self.index.remove(&name)?;
            self.read.remove(&name);
        }
        let mut notes = found.notes;
        for (name, seen) in found.files {
            if self.read.contains_key(&name) {
                continue;
            }
            match seen.read(folder) {
                Ok(bytes) => {
                    let held = self.take_in(&name, &bytes, bounds)?;
                    self.read.insert(name, Book { seen, held });
                }
                Err(reason) => notes.add(&name, &reason),
            }
        }
        self.notes = notes;
        Ok(())
    }

    fn take_in(&mut self, name: &str, bytes: &[u8], bounds: Bounds) -> Result<Result<Vec<T>, String>> {
        let things = match T::read(name, bytes) {
            Ok(things) => things,
            Err(reason) => return Ok(Err(reason)),
        };
        if self.things() + things.len() > bounds.things {
            let (here, most) = (things.len(), bounds.things);
            return Ok(Err(format!("with its {here} entries there would be more than {most}, and that is the limit")));
        }
        self.index.add(name, things.iter().map(Thing::words))?;
        Ok(Ok(things))
    }
}

impl<T> Books<T> {
    fn things(&self) -> usize {
        self.read.values().map(|book| book.things().len()).sum()
    }
}

impl<T: Thing> std::fmt::Debug for Shelf<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Shelf({} files read, {} left out)", self.files(), self.skipped().len())
    }
}
