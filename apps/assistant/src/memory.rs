//! Long-term memory: facts about a user, in the store.
//!
//! A fact is saved only with consent, together with the source message and the date. The user can list and delete
//! all facts.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use superstep::Result;
use superstep::core::id::hash_id;
use superstep::store::{SearchOp, SharedStore};

/// Maximum number of facts that are read per user.
const MAX_FACTS: usize = 200;

/// A fact about a user.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Fact {
    /// Text of the fact.
    pub text: String,
    /// Id of the message that contains the fact.
    pub source: String,
    /// Date of the message, `YYYY-MM-DD`.
    pub date: String,
}

/// A fact with its key in the store.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct StoredFact {
    /// Key of the fact, used to delete it.
    pub key: String,
    /// The fact.
    #[serde(flatten)]
    pub fact: Fact,
}

/// Response of a model to `task: summarize`.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
pub struct SummaryOutput {
    /// Summary of the conversation so far.
    pub summary: String,
    /// Facts that the user stated about themselves.
    #[serde(default)]
    pub facts: Vec<String>,
}

/// Returns the namespace of the facts about a user: `users`, the user, `facts`. Labels must not contain dots, so a
/// dot in a user id is written as `%2E`.
#[must_use]
pub fn facts_namespace(user: &str) -> [String; 3] {
    user_namespace(user, "facts")
}

pub(crate) fn user_namespace(user: &str, kind: &str) -> [String; 3] {
    ["users".to_owned(), user.replace('%', "%25").replace('.', "%2E"), kind.to_owned()]
}

/// Saves a fact. Saving the same fact again keeps the first source.
///
/// # Errors
/// Returns an error if the store fails.
pub async fn save_fact(store: &SharedStore, user: &str, fact: &Fact) -> Result<()> {
    let words: Vec<String> = fact.text.split_whitespace().map(str::to_lowercase).collect();
    let key = format!("{:032x}", hash_id(&[words.join(" ").as_bytes()]));
    if store.get(facts_namespace(user), key.as_str()).await?.is_some() {
        return Ok(());
    }
    let value = serde_json::to_value(fact).unwrap_or(Value::Null);
    store.put(facts_namespace(user), key, value).await
}

/// Returns the facts about a user, newest first.
///
/// # Errors
/// Returns an error if the store fails.
pub async fn list_facts(store: &SharedStore, user: &str) -> Result<Vec<StoredFact>> {
    let hits = store.search(SearchOp::new(facts_namespace(user)).limit(MAX_FACTS)).await?;
    let stored_fact = |hit: superstep::store::SearchItem| {
        let fact = serde_json::from_value(hit.item.value.clone()).ok()?;
        Some(StoredFact { key: hit.item.key.clone(), fact })
    };
    Ok(hits.into_iter().filter_map(stored_fact).collect())
}

/// Deletes a fact. Returns true if the fact existed.
///
/// # Errors
/// Returns an error if the store fails.
pub async fn delete_fact(store: &SharedStore, user: &str, key: &str) -> Result<bool> {
    let existed = store.get(facts_namespace(user), key).await?.is_some();
    store.delete(facts_namespace(user), key).await?;
    Ok(existed)
}
