//! In-memory full-text index, based on SQLite FTS5.

use std::sync::Arc;

use rusqlite::{Connection, params};
use superstep::{Error, ErrorCode, Result};

/// Searchable text of an item.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SearchFields<'a> {
    /// Title, with the highest weight.
    pub title: &'a str,
    /// Headings, labels, names, states.
    pub keys: String,
    /// Body text.
    pub text: String,
}

/// A search result with its score.
pub(crate) struct IndexHit {
    pub(crate) file: String,
    /// Index of the item in its file, from 0.
    pub(crate) number: usize,
    /// Relevance; higher is better.
    pub(crate) score: f64,
}

/// Full-text index of items.
pub(crate) struct FullTextIndex(Connection);

impl FullTextIndex {
    pub(crate) fn new() -> Result<Self> {
        let connection = Connection::open_in_memory().map_err(index_error)?;
        let table = "CREATE VIRTUAL TABLE thing USING fts5(
            title, keys, text, file UNINDEXED, number UNINDEXED, tokenize = 'porter unicode61')";
        connection.execute_batch(table).map_err(index_error)?;
        Ok(Self(connection))
    }

    /// Adds the items of a file in one transaction.
    pub(crate) fn add<'a>(&mut self, file: &str, items: impl Iterator<Item = SearchFields<'a>>) -> Result<()> {
        self.insert(file, items).map_err(index_error)
    }

    fn insert<'a>(&mut self, file: &str, items: impl Iterator<Item = SearchFields<'a>>) -> rusqlite::Result<()> {
        let transaction = self.0.transaction()?;
        {
            let mut insert = transaction
                .prepare_cached("INSERT INTO thing (title, keys, text, file, number) VALUES (?1, ?2, ?3, ?4, ?5)")?;
            for (number, fields) in items.enumerate() {
                let number = i64::try_from(number).unwrap_or(i64::MAX);
                insert.execute(params![fields.title, fields.keys, fields.text, file, number])?;
            }
        }
        transaction.commit()
    }

    pub(crate) fn remove(&mut self, file: &str) -> Result<()> {
        self.0.execute("DELETE FROM thing WHERE file = ?1", [file]).map_err(index_error)?;
        Ok(())
    }

    /// Returns the items with any of the words, the best first.
    pub(crate) fn search(&self, query: &str, limit: usize) -> Vec<IndexHit> {
        let Some(query) = any_word(query) else { return Vec::new() };
        // The index is in memory and complete: an error here is a bug, and an empty result is the safe response.
        self.matching(&query, limit).unwrap_or_default()
    }

    /// Counts the items with any of the words.
    pub(crate) fn count(&self, query: &str) -> usize {
        let Some(query) = any_word(query) else { return 0 };
        let statement = self.0.prepare_cached("SELECT count(*) FROM thing WHERE thing MATCH ?1");
        let count = statement.and_then(|mut statement| statement.query_row([query], |row| row.get::<_, i64>(0)));
        count.ok().and_then(|count| usize::try_from(count).ok()).unwrap_or(0)
    }

    fn matching(&self, query: &str, limit: usize) -> rusqlite::Result<Vec<IndexHit>> {
        let mut statement = self.0.prepare_cached(
            "SELECT file, number, bm25(thing, 4.0, 2.0, 1.0) AS score FROM thing WHERE thing MATCH ?1
             ORDER BY score, file, number LIMIT ?2",
        )?;
        let rows = statement.query_map(params![query, i64::try_from(limit).unwrap_or(i64::MAX)], |row| {
            let (number, score): (i64, f64) = (row.get("number")?, row.get("score")?);
            Ok(IndexHit {
                file: row.get("file")?,
                number: usize::try_from(number).unwrap_or(usize::MAX),
                score: -score,
            })
        })?;
        rows.collect()
    }
}

/// Builds a query for items with any of the words. Each word is a quoted string, so that no character acts as an
/// operator.
fn any_word(query: &str) -> Option<String> {
    const MAX_WORDS: usize = 40;
    let words = query.split(|letter: char| !letter.is_alphanumeric()).filter(|word| !word.is_empty());
    let quoted: Vec<String> = words.take(MAX_WORDS).map(|word| format!("\"{word}\"")).collect();
    (!quoted.is_empty()).then(|| quoted.join(" OR "))
}

fn index_error(cause: rusqlite::Error) -> Error {
    let cause: Arc<dyn std::error::Error + Send + Sync> = Arc::new(cause);
    Error::new(ErrorCode::Internal, "the in-memory index failed").with_source(cause)
}
