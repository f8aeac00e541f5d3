//! Stored items and search results.

use serde_json::Value;

use super::StoreNamespace;

/// A value with its name and its times, which are microseconds since 1970.
#[derive(Debug, Clone, PartialEq)]
pub struct Item {
    /// Namespace of the item.
    pub namespace: StoreNamespace,
    /// Key within the namespace.
    pub key: String,
    /// Value of the item.
    pub value: Value,
    /// Time at which the key was first put.
    pub created_at: i64,
    /// Time at which the value was last put.
    pub updated_at: i64,
    /// Time at which the item expires; `None` if it does not.
    pub expires_at: Option<i64>,
}

/// An item in a search result.
#[derive(Debug, Clone, PartialEq)]
pub struct SearchItem {
    /// Item that was found.
    pub item: Item,
    /// Relevance to the query: higher is better. `None` without a query. For text search from 0 to 1, for vector
    /// search the cosine, from -1 to 1; the two are not comparable.
    pub score: Option<f64>,
    /// Method that computed the score; `None` without a query.
    pub matched_by: Option<MatchSource>,
}

/// The method that computed the score of a result.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MatchSource {
    /// Words of the query that the item contains; rare words count more.
    Text,
    /// Cosine of the vectors of query and item, from the store's embedder. A lexical embedder builds vectors from
    /// words, and knows no more of their meaning than text search does.
    Vector,
}

/// Returns true if an item with this expiry has expired.
#[must_use]
pub fn is_expired(expires_at: Option<i64>, now: i64) -> bool {
    expires_at.is_some_and(|expires| expires <= now)
}
