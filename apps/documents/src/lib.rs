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
mod lines;
mod passages;
mod shelf;
mod write;

use std::path::Path;

use superstep::Result;

pub use folder::Bounds;
pub use html::{Page, read_page};
pub use index::Words;
pub use lines::{Line, markdown};
pub use passages::Passage;
pub use shelf::{Found, Shelf, Thing};
pub use write::write_new;

/// Documents are read by people: what is larger is no document.
const BOUNDS: Bounds = Bounds { files: 2_000, largest: 1 << 20, total: 128 << 20, things: 100_000 };

/// The documents of a folder.
pub struct Documents(Shelf<Passage>);

impl Documents {
    /// Reads a folder, with the folders inside it.
    ///
    /// # Errors
    /// When it is no folder, or cannot be read. A single file that cannot is left out; see [`skipped`](Self::skipped).
    pub fn open(folder: &Path) -> Result<Self> {
        Shelf::open(folder, BOUNDS).map(Self)
    }

    /// How many documents there are.
    #[must_use]
    pub fn documents(&self) -> usize {
        self.0.files()
    }

    /// Which files were left out, and why.
    #[must_use]
    pub fn skipped(&self) -> Vec<String> {
        self.0.skipped()
    }

    /// The passages with words of the query, the best first; nothing for a query without words.
    #[must_use]
    pub fn passages(&self, query: &str, limit: usize) -> Vec<Passage> {
        self.0.search(query, limit, |found| found.into_iter().map(|found| found.thing.clone()).collect())
    }

    /// How many passages have any of the query's words.
    #[must_use]
    pub fn count(&self, query: &str) -> usize {
        self.0.count(query)
    }

    /// The lines of a document, by its path inside the folder; none when it is not one of those that are searched.
    #[must_use]
    pub fn read(&self, file: &str) -> Option<Vec<Line>> {
        passages::read_lines(file, &self.0.bytes(file)?)
    }

    /// Looks for files that are new, changed or gone, now.
    ///
    /// # Errors
    /// When the folder cannot be read.
    pub fn refresh(&self) -> Result<()> {
        self.0.refresh()
    }
}

impl std::fmt::Debug for Documents {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Documents({} read, {} left out)", self.documents(), self.skipped().len())
    }
}
