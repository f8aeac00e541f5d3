//! What is remembered beyond a conversation: facts about a user, in the long-term store.
//!
//! A fact is kept only with consent, with the message it comes from and the day. The user can list and delete all.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use superstep::Result;
use superstep::core::id::derive;
use superstep::store::{Search, SharedStore};

/// How many facts are looked at.
const MOST_FACTS: usize = 200;

/// A fact about a user.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Fact {
    /// What is known.
    pub text: String,
    /// The message it comes from.
    pub source: String,
    /// The day, `YYYY-MM-DD`.
    pub date: String,
}

/// A fact with the name it is deleted by.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Remembered {
    /// Its name.
    pub key: String,
    /// The fact.
    #[serde(flatten)]
    pub fact: Fact,
}

/// What a model says when it sums up: the form of its answer to `task: summarize`.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
pub struct Summed {
    /// The conversation so far.
    pub summary: String,
    /// What the user told about themselves.
    #[serde(default)]
    pub facts: Vec<String>,
}

/// Where the facts about a user are: `users`, the user, `facts`. A label has no dot, so one in a name is written `%2E`.
#[must_use]
pub fn place(user: &str) -> [String; 3] {
    within(user, "facts")
}

pub(crate) fn within(user: &str, what: &str) -> [String; 3] {
    ["users".to_owned(), user.replace('%', "%25").replace('.', "%2E"), what.to_owned()]
}

/// Keeps a fact; the same fact is kept once, with its first source.
///
/// # Errors
/// When the store fails.
pub async fn remember(store: &SharedStore, user: &str, fact: &Fact) -> Result<()> {
    let words: Vec<String> = fact.text.split_whitespace().map(str::to_lowercase).collect();
    let key = format!("{:032x}", derive(&[words.join(" ").as_bytes()]));
    if store.get(place(user), key.as_str()).await?.is_some() {
        return Ok(());
    }
    let value = serde_json::to_value(fact).unwrap_or(Value::Null);
    store.put(place(user), key, value).await
}

/// All facts about a user, the newest first.
///
/// # Errors
/// When the store fails.
pub async fn facts(store: &SharedStore, user: &str) -> Result<Vec<Remembered>> {
    let hits = store.search(Search::new(place(user)).limit(MOST_FACTS)).await?;
    let read = |hit: superstep::store::Hit| {
        let fact = serde_json::from_value(hit.item.value.clone()).ok()?;
        Some(Remembered { key: hit.item.key.clone(), fact })
    };
    Ok(hits.into_iter().filter_map(read).collect())
}

/// Forgets a fact; true where there was one.
///
/// # Errors
/// When the store fails.
pub async fn forget(store: &SharedStore, user: &str, key: &str) -> Result<bool> {
    let was_there = store.get(place(user), key).await?.is_some();
    store.delete(place(user), key).await?;
    Ok(was_there)
}
