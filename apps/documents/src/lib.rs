//! A folder of documents, cut at their headings and found by their words: what the applications look things up in.
//!
//! The index lives in memory and is made anew at each start: the files are what counts, and a file that changes is read
//! again. Nothing outside of the folder is read, and what is left out is said.
//!
//! ```
//! # fn main() -> superstep::Result<()> {
//! # let folder = std::path::Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../debate/evidence"));
//! let documents = superstep_documents::Documents::open(folder)?;
//! let found = documents.passages("remote work", 3);
//! assert!(found[0].source.starts_with("remote-work.md#"));
//! # Ok(()) }
//! ```

mod folder;
mod html;
mod index;
mod passages;

use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use superstep::Result;

use folder::File;
pub use html::{Page, read_page};
use index::Index;

/// How long what was seen of the folder counts.
const FRESH: Duration = Duration::from_secs(1);

/// A piece of a document.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Passage {
    /// What it says.
    pub text: String,
    /// Where: `file#heading`.
    pub source: String,
    /// What the document calls itself; the name of its file where it does not.
    pub title: String,
    /// The heading it stands under; empty above the first.
    pub heading: String,
}

/// The documents of a folder.
pub struct Documents {
    folder: PathBuf,
    shelf: Mutex<Shelf>,
}

/// What was read.
struct Shelf {
    index: Index,
    files: Vec<File>,
    skipped: Vec<String>,
    looked: Instant,
}

impl Documents {
    /// Reads a folder, with the folders inside it.
    ///
    /// # Errors
    /// When it is no folder, or cannot be read. A single file that cannot is left out; see [`skipped`](Self::skipped).
    pub fn open(folder: &Path) -> Result<Self> {
        let folder = folder::root(folder)?;
        let index = Index::new()?;
        let mut shelf = Shelf { index, files: Vec::new(), skipped: Vec::new(), looked: Instant::now() };
        shelf.look(&folder)?;
        Ok(Self { folder, shelf: Mutex::new(shelf) })
    }

    /// How many documents there are.
    #[must_use]
    pub fn documents(&self) -> usize {
        self.lock().files.len()
    }

    /// Which files were left out, and why.
    #[must_use]
    pub fn skipped(&self) -> Vec<String> {
        self.lock().skipped.clone()
    }

    /// The passages with words of the query, the best first; nothing for a query without words.
    #[must_use]
    pub fn passages(&self, query: &str, limit: usize) -> Vec<Passage> {
        let mut shelf = self.lock();
        if shelf.looked.elapsed() >= FRESH {
            // A folder that cannot be read for a moment leaves what was read before.
            shelf.look(&self.folder).ok();
        }
        shelf.index.search(query, limit)
    }

    /// How many passages have any of the query's words.
    #[must_use]
    pub fn count(&self, query: &str) -> usize {
        self.lock().index.count(query)
    }

    /// Looks for files that are new, changed or gone, now.
    ///
    /// # Errors
    /// When the folder cannot be read.
    pub fn refresh(&self) -> Result<()> {
        self.lock().look(&self.folder)
    }

    fn lock(&self) -> MutexGuard<'_, Shelf> {
        // What is half done after a panic is done again at the next look: a file counts as read when it is indexed.
        self.shelf.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Shelf {
    /// Reads what has changed.
    fn look(&mut self, folder: &Path) -> Result<()> {
        let found = folder::list(folder)?;
        self.looked = Instant::now();
        let mut skipped = found.skipped;
        let is_gone = |file: &File| !found.files.contains(file);
        for file in self.files.extract_if(.., |file| is_gone(file)) {
            self.index.remove(&file.name)?;
        }
        for file in found.files {
            if self.files.contains(&file) {
                continue;
            }
            match file.read(folder) {
                Ok(document) => {
                    self.index.add(&document)?;
                    self.files.push(file);
                }
                Err(reason) => skipped.push(format!("{}: {reason}", file.name)),
            }
        }
        self.skipped = skipped;
        Ok(())
    }
}

impl std::fmt::Debug for Documents {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let shelf = self.lock();
        write!(f, "Documents({} read, {} left out)", shelf.files.len(), shelf.skipped.len())
    }
}
