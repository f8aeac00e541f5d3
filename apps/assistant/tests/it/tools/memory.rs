//! Facts about a user.

use std::sync::Arc;

use serde_json::json;
use superstep::store::{MemoryStore, SharedStore};
use superstep_assistant::memory::facts_namespace;
use superstep_assistant::tools::Caller;

use super::{call, kind, plain};

fn user(name: &str, store: &SharedStore) -> Arc<Caller> {
    Arc::new(Caller { store: Some(store.clone()), ..Caller::new(name) })
}

async fn remember(store: &SharedStore, user: &str, key: &str, text: &str) {
    let fact = json!({"text": text, "source": "m1", "date": "2026-11-02"});
    store.put(facts_namespace(user), key, fact).await.unwrap();
}

/// R-PLN-54: users find the facts about themselves, and of no other user.
#[tokio::test]
async fn users_find_only_their_own_facts() {
    let store: SharedStore = MemoryStore::new().into();
    let (ana, sam) = (user("ana.p@example.com", &store), user("sam", &store));
    remember(&store, "ana.p@example.com", "tea", "likes green tea").await;
    remember(&store, "ana.p@example.com", "team", "works in the finance team").await;
    remember(&store, "sam", "tea", "hates green tea").await;
    let result = call(&plain(), "search_memory", json!({"query": "tea"}), &ana).await.unwrap();
    let expected = json!({"facts": [{"key": "tea", "text": "likes green tea", "source": "m1", "date": "2026-11-02"}]});
    assert_eq!(result, expected);
    let all = call(&plain(), "search_memory", json!({}), &ana).await.unwrap();
    assert_eq!(all["facts"].as_array().unwrap().len(), 2);
    let none = call(&plain(), "search_memory", json!({"query": "finance"}), &sam).await.unwrap();
    assert_eq!(none, json!({"facts": []}));
    assert_ne!(facts_namespace("a.b"), facts_namespace("a%2Eb"));
    let without_store = Arc::new(Caller::new("ana"));
    assert_eq!(kind(&call(&plain(), "search_memory", json!({}), &without_store).await), "unavailable");
}

/// R-PLN-47, R-PLN-54: one fact is deleted, by key or by words that match no other fact.
#[tokio::test]
async fn one_fact_is_deleted() {
    let store: SharedStore = MemoryStore::new().into();
    let ana = user("ana", &store);
    remember(&store, "ana", "a", "likes green tea").await;
    remember(&store, "ana", "b", "likes green apples").await;
    remember(&store, "ana", "c", "lives in Freiburg").await;
    remember(&store, "sam", "a", "likes green tea").await;
    let many = call(&plain(), "forget_memory", json!({"query": "green"}), &ana).await;
    assert_eq!(kind(&many), "ambiguous");
    assert!(many.unwrap_err().contains("`b`: likes green apples"));
    assert_eq!(kind(&call(&plain(), "forget_memory", json!({}), &ana).await), "invalid");
    let one = call(&plain(), "forget_memory", json!({"query": "Freiburg"}), &ana).await.unwrap();
    assert_eq!(one["forgotten"][0]["key"], "c");
    let by_key = call(&plain(), "forget_memory", json!({"key": "a"}), &ana).await.unwrap();
    assert_eq!(by_key["forgotten"][0]["text"], "likes green tea");
    let second = call(&plain(), "forget_memory", json!({"key": "a"}), &ana).await.unwrap();
    assert_eq!(second, json!({"forgotten": []}));
    let remaining = call(&plain(), "search_memory", json!({}), &ana).await.unwrap();
    assert_eq!(remaining["facts"].as_array().unwrap().len(), 1);
    assert!(store.get(facts_namespace("sam"), "a").await.unwrap().is_some(), "others keep theirs");
}
