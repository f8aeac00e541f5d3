//! Full-text search over a folder of documents, split at their headings: the search of the applications.
//!
//! The index is in memory and rebuilt at each start: the files are the source of truth, and a changed file is read
//! again. Nothing outside of the folder is read, and skipped files are reported.
//!
//! ```
//! # fn main() -> superstep::Result<()> {
//! # let folder = std::path::Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../../apps/debate/evidence"));
//! let documents = superstep_documents::Documents::open(folder)?;
//! let passages = documents.passages("remote work", 3);
//! assert!(passages[0].source.starts_with("remote-work.md#"));
//! # Ok(()) }
//! ```

mod document_lines;
mod file_index;
mod folder;
mod html;
mod index;
mod passages;
mod write_file;

use std::path::Path;

use superstep::Result;

pub use document_lines::{DocumentLine, markdown};
pub use file_index::{FileIndex, IndexedItem, SearchHit};
pub use folder::ReadLimits;
pub use html::{HtmlText, html_to_text};
pub use index::SearchFields;
pub use passages::Passage;
pub use write_file::write_if_missing;

/// Limits for documents, which are written for human readers: a larger file is not a document.
const LIMITS: ReadLimits =
    ReadLimits { max_files: 2_000, max_file_bytes: 1 << 20, max_total_bytes: 128 << 20, max_items: 100_000 };

/// Documents of a folder.
pub struct Documents(FileIndex<Passage>);

impl Documents {
    /// Reads a folder and its subfolders.
    ///
    /// # Errors
    /// Returns an error if the folder does not exist or cannot be read. A single unreadable file is skipped; see
    /// [`skipped`](Self::skipped).
    pub fn open(folder: &Path) -> Result<Self> {
        FileIndex::open(folder, LIMITS).map(Self)
    }

    /// Returns the number of documents.
    #[must_use]
    pub fn documents(&self) -> usize {
        self.0.files()
    }

    /// Returns the skipped files, with reasons.
    #[must_use]
    pub fn skipped(&self) -> Vec<String> {
        self.0.skipped()
    }

    /// Searches passages with words of the query, the best first; empty for a query without words.
    #[must_use]
    pub fn passages(&self, query: &str, limit: usize) -> Vec<Passage> {
        self.0.search(query, limit, |hits| hits.into_iter().map(|hit| hit.item.clone()).collect())
    }

    /// Counts the passages with any word of the query.
    #[must_use]
    pub fn count(&self, query: &str) -> usize {
        self.0.count(query)
    }

    /// Returns the lines of a document, by its path inside the folder; `None` if the file is not searched.
    #[must_use]
    pub fn read(&self, file: &str) -> Option<Vec<DocumentLine>> {
        passages::read_lines(file, &self.0.bytes(file)?)
    }

    /// Checks for new, changed and removed files now.
    ///
    /// # Errors
    /// Returns an error if the folder cannot be read.
    pub fn refresh(&self) -> Result<()> {
        self.0.refresh()
    }
}

impl std::fmt::Debug for Documents {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Documents({} read, {} skipped)", self.documents(), self.skipped().len())
    }
}
