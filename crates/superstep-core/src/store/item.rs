//! What is kept, and what is found.

use serde_json::Value;

use super::Namespace;

/// A value with its name and its times, which are microseconds since 1970.
#[derive(Debug, Clone, PartialEq)]
pub struct Item {
    /// Where it is.
    pub namespace: Namespace,
    /// Its name there.
    pub key: String,
    /// The value.
    pub value: Value,
    /// When the key was first put.
    pub created_at: i64,
    /// When the value was last put.
    pub updated_at: i64,
    /// From when on it is gone; `None` when it stays.
    pub expires_at: Option<i64>,
}

/// An item that was found.
#[derive(Debug, Clone, PartialEq)]
pub struct Hit {
    /// The item.
    pub item: Item,
    /// How well it fits the query: more is better. `None` when there was no query. By text from 0 to 1, by vector the
    /// cosine, from -1 to 1; the two cannot be compared with each other.
    pub score: Option<f64>,
    /// What the score was made from; `None` when there was no query.
    pub matched_by: Option<MatchedBy>,
}

/// What the score of a hit was made from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MatchedBy {
    /// Words of the query that the item has, rare ones counting more.
    Text,
    /// The cosine between the vectors of query and item, from the store's embedder. A lexical embedder makes vectors of
    /// words, and knows no more of their meaning than text search does.
    Vector,
}

/// Whether what expires then is gone by now.
#[must_use]
pub fn is_gone(expires_at: Option<i64>, now: i64) -> bool {
    expires_at.is_some_and(|expires| expires <= now)
}
