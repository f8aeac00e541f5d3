//! The evidence folder: Markdown and text files, cut at their headings and indexed by their words.
//!
//! The index lives in memory and is made anew at each start: the files are what counts. Nothing outside of the folder is
//! read, and what is left out is said.

mod folder;
mod passages;

use std::fmt::Display;
use std::path::Path;
use std::sync::{Mutex, MutexGuard, PoisonError};

use rusqlite::{Connection, params};
use superstep::{Code, Error, Result};

use folder::Document;

/// A piece of a document.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Passage {
    /// What it says.
    pub text: String,
    /// Where: `file#heading`.
    pub source: String,
}

/// The documents that voices quote and claims are held against.
pub struct Evidence {
    index: Mutex<Connection>,
    documents: usize,
    skipped: Vec<String>,
}

impl Evidence {
    /// Reads a folder, with the folders inside it.
    ///
    /// ```
    /// # fn main() -> superstep::Result<()> {
    /// # let folder = std::path::Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/evidence"));
    /// let evidence = superstep_debate::evidence::Evidence::open(folder)?;
    /// let found = evidence.passages("remote work", 3);
    /// assert!(found[0].source.starts_with("remote-work.md#"));
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// When it is no folder, or cannot be read. A single file that cannot is left out; see [`skipped`](Self::skipped).
    pub fn open(folder: &Path) -> Result<Self> {
        let found = folder::read(folder)?;
        let index = index(&found.documents).map_err(|cause| broken("cannot index the evidence", cause))?;
        Ok(Self { index: Mutex::new(index), documents: found.documents.len(), skipped: found.skipped })
    }

    /// How many documents there are.
    #[must_use]
    pub fn documents(&self) -> usize {
        self.documents
    }

    /// Which files were left out, and why.
    #[must_use]
    pub fn skipped(&self) -> &[String] {
        &self.skipped
    }

    /// The passages with words of the query, the best first; nothing for a query without words.
    #[must_use]
    pub fn passages(&self, query: &str, limit: usize) -> Vec<Passage> {
        let Some(query) = any_word(query) else { return Vec::new() };
        // The index is ours, in memory and complete: what fails here is a bug, and silence is the safe answer to it.
        self.search(&query, limit).unwrap_or_default()
    }

    fn search(&self, query: &str, limit: usize) -> rusqlite::Result<Vec<Passage>> {
        let index = self.lock();
        let mut statement = index.prepare_cached(
            "SELECT text, source FROM passage WHERE passage MATCH ?1 ORDER BY bm25(passage, 1.0, 0.0, 2.0), rowid LIMIT ?2",
        )?;
        let limit = i64::try_from(limit).unwrap_or(i64::MAX);
        let rows = statement.query_map(params![query, limit], |row| {
            Ok(Passage { text: row.get("text")?, source: row.get("source")? })
        })?;
        rows.collect()
    }

    fn lock(&self) -> MutexGuard<'_, Connection> {
        // A search does not change the index: after a panic it is what it was.
        self.index.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl std::fmt::Debug for Evidence {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Evidence({} documents, {} left out)", self.documents, self.skipped.len())
    }
}

/// A query for passages with any of the words. Each is a string of the query language, so no sign in it means anything.
fn any_word(query: &str) -> Option<String> {
    const MOST: usize = 40;
    let words = query.split(|letter: char| !letter.is_alphanumeric()).filter(|word| !word.is_empty());
    let quoted: Vec<String> = words.take(MOST).map(|word| format!("\"{word}\"")).collect();
    (!quoted.is_empty()).then(|| quoted.join(" OR "))
}

fn index(documents: &[Document]) -> rusqlite::Result<Connection> {
    let mut connection = Connection::open_in_memory()?;
    connection.execute_batch(
        "CREATE VIRTUAL TABLE passage USING fts5(text, source UNINDEXED, heading, tokenize = 'porter unicode61')",
    )?;
    let transaction = connection.transaction()?;
    {
        let mut insert = transaction.prepare("INSERT INTO passage (text, source, heading) VALUES (?1, ?2, ?3)")?;
        for document in documents {
            for passage in passages::split(document) {
                insert.execute(params![passage.text, passage.source, passage.heading])?;
            }
        }
    }
    transaction.commit()?;
    Ok(connection)
}

fn broken(fact: impl Display, cause: impl std::error::Error + Send + Sync + 'static) -> Error {
    let cause: std::sync::Arc<dyn std::error::Error + Send + Sync> = std::sync::Arc::new(cause);
    Error::new(Code::ConfigInvalid, fact.to_string()).caused_by(cause)
}
