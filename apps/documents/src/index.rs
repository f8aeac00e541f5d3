//! The index: passages by their words, in SQLite's full-text search.

use std::sync::Arc;

use rusqlite::{Connection, params};
use superstep::{Code, Error, Result};

use crate::Passage;
use crate::folder::Document;
use crate::passages;

/// Passages by their words.
pub(crate) struct Index(Connection);

impl Index {
    pub(crate) fn new() -> Result<Self> {
        let connection = Connection::open_in_memory().map_err(broken)?;
        let table = "CREATE VIRTUAL TABLE passage USING fts5(
            text, heading, title UNINDEXED, under UNINDEXED, source UNINDEXED, file UNINDEXED,
            tokenize = 'porter unicode61')";
        connection.execute_batch(table).map_err(broken)?;
        Ok(Self(connection))
    }

    /// Takes a document in, whole or not at all.
    pub(crate) fn add(&mut self, document: &Document) -> Result<()> {
        self.insert(document).map_err(broken)
    }

    fn insert(&mut self, document: &Document) -> rusqlite::Result<()> {
        let transaction = self.0.transaction()?;
        {
            let mut insert = transaction.prepare_cached(
                "INSERT INTO passage (text, heading, title, under, source, file) VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
            )?;
            for piece in passages::split(document) {
                let Passage { text, source, title, heading } = piece.passage;
                insert.execute(params![text, piece.words, title, heading, source, document.name])?;
            }
        }
        transaction.commit()
    }

    pub(crate) fn remove(&mut self, file: &str) -> Result<()> {
        self.0.execute("DELETE FROM passage WHERE file = ?1", [file]).map_err(broken)?;
        Ok(())
    }

    /// Passages with any of the words, the best first.
    pub(crate) fn search(&self, query: &str, limit: usize) -> Vec<Passage> {
        let Some(query) = any_word(query) else { return Vec::new() };
        // The index is ours, in memory and complete: what fails here is a bug, and silence is the safe answer to it.
        self.matching(&query, limit).unwrap_or_default()
    }

    /// How many passages have any of the words.
    pub(crate) fn count(&self, query: &str) -> usize {
        let Some(query) = any_word(query) else { return 0 };
        let statement = self.0.prepare_cached("SELECT count(*) FROM passage WHERE passage MATCH ?1");
        let count = statement.and_then(|mut statement| statement.query_row([query], |row| row.get::<_, i64>(0)));
        count.ok().and_then(|count| usize::try_from(count).ok()).unwrap_or(0)
    }

    fn matching(&self, query: &str, limit: usize) -> rusqlite::Result<Vec<Passage>> {
        let mut statement = self.0.prepare_cached(
            "SELECT text, source, title, under FROM passage WHERE passage MATCH ?1
             ORDER BY bm25(passage, 1.0, 2.0), source, rowid LIMIT ?2",
        )?;
        let limit = i64::try_from(limit).unwrap_or(i64::MAX);
        let rows = statement.query_map(params![query, limit], |row| {
            let (text, source) = (row.get("text")?, row.get("source")?);
            Ok(Passage { text, source, title: row.get("title")?, heading: row.get("under")? })
        })?;
        rows.collect()
    }
}

/// A query for passages with any of the words. Each is a string of the query language, so no sign in it means anything.
fn any_word(query: &str) -> Option<String> {
    const MOST: usize = 40;
    let words = query.split(|letter: char| !letter.is_alphanumeric()).filter(|word| !word.is_empty());
    let quoted: Vec<String> = words.take(MOST).map(|word| format!("\"{word}\"")).collect();
    (!quoted.is_empty()).then(|| quoted.join(" OR "))
}

fn broken(cause: rusqlite::Error) -> Error {
    let cause: Arc<dyn std::error::Error + Send + Sync> = Arc::new(cause);
    Error::new(Code::ConfigInvalid, "cannot index the documents").caused_by(cause)
}
