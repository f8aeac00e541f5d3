//! The long-term store in an SQLite file.

use serde_json::json;
use superstep::store::{LexicalEmbedder, MatchSource, MemoryStore, PutOp, SearchOp, SharedStore, Store, StoreOptions};
use superstep::{Error, ErrorCode};
use superstep_adapters::sqlite::{SqliteCheckpointer, SqliteStore};
use superstep_core::testing::block_on;
use superstep_core::testing::store::{ManualClock, differential};

use super::folder;

fn open(path: impl AsRef<std::path::Path>, options: StoreOptions) -> SqliteStore {
    block_on(SqliteCheckpointer::open(path).unwrap().store_with(options)).unwrap()
}

mod in_a_file {
    use super::*;

    superstep_core::store_conformance!(|options| open(folder().join("agent.db"), options));
}

mod in_memory {
    use super::*;

    superstep_core::store_conformance!(|options| open(":memory:", options));
}

/// R-FWK-87: random operations return the same results as the in-memory store.
#[test]
fn matches_memory_store() {
    for seed in 0..40 {
        let clock = ManualClock::default();
        let mut options = StoreOptions::default().clock(std::sync::Arc::new(clock.clone()));
        if seed % 2 == 0 {
            options = options.embedder(LexicalEmbedder::new(64));
        }
        let memory = SharedStore::new(MemoryStore::with_options(options.clone()));
        let store = SharedStore::new(open(":memory:", options));
        assert!(block_on(differential::agree(&memory, &store, &clock, (seed, 150))) >= 150);
    }
}

/// R-FWK-87: items are available after the file is opened again, with their vectors, words and expiry.
#[test]
fn items_outlive_the_store() {
    let path = folder().join("agent.db");
    let clock = ManualClock::default();
    let options =
        || StoreOptions::default().clock(std::sync::Arc::new(clock.clone())).embedder(LexicalEmbedder::default());
    let put = PutOp::new(["users", "mia"], "food", json!("likes green curry")).ttl_minutes(1.0);
    block_on(open(&path, options()).put_with(put)).unwrap();
    let store = open(&path, options());
    let hits = block_on(store.search(SearchOp::new("users").query("green curry").refresh(false))).unwrap();
    assert_eq!((hits.len(), hits[0].matched_by), (1, Some(MatchSource::Vector)));
    let plain = open(&path, StoreOptions::default().clock(std::sync::Arc::new(clock.clone())));
    let hits = block_on(plain.search(SearchOp::new("users").query("curry").refresh(false))).unwrap();
    assert_eq!(hits[0].matched_by, Some(MatchSource::Text));
    clock.advance(60);
    assert!(block_on(store.get(["users", "mia"], "food")).unwrap().is_none());
}

/// R-FWK-87: vectors of another embedder are ignored; an item is found after it is put again with the new embedder.
#[test]
fn vectors_of_different_embedders_are_separated() {
    let path = folder().join("agent.db");
    let with = |dimensions| open(&path, StoreOptions::default().embedder(LexicalEmbedder::new(dimensions)));
    let search = || SearchOp::new("n").query("moon");
    block_on(with(16).put("n", "k", "moon")).unwrap();
    let other = with(32);
    assert!(block_on(other.search(search())).unwrap().is_empty());
    block_on(other.put("n", "k", "moon")).unwrap();
    assert_eq!(block_on(other.search(search())).unwrap().len(), 1);
}

/// R-FWK-87: one file contains checkpoints and items, in any order of creation, independent of each other.
#[test]
fn checkpoints_and_items_share_a_file() {
    use superstep::prelude::*;

    #[derive(GraphState, Clone, Serialize, Deserialize)]
    struct Visits {
        #[reduce(add)]
        count: u64,
    }

    let path = folder().join("agent.db");
    drop(block_on(SqliteStore::open(&path)).unwrap());
    let file = SqliteCheckpointer::open(&path).unwrap();
    let mut graph = StateGraph::<Visits>::new("visits");
    let visit = graph.add_node("visit", async |cx: TaskContext| {
        let seen = cx.store()?.get("visits", "last").await?.map_or(0, |item| item.value.as_u64().unwrap_or(0));
        cx.store()?.put("visits", "last", seen + 1).await?;
        Ok::<_, NodeError>(Visits::update().count(1_u64))
    });
    graph.add_edge(START, visit).add_edge(visit, END);
    graph.checkpointer(file.clone()).store(block_on(file.store()).unwrap());
    let visits = graph.compile().unwrap();
    for thread in ["a", "b"] {
        visits.invoke(Visits::input().count(0_u64)).thread(thread).wait_blocking().unwrap();
    }
    let store = block_on(SqliteCheckpointer::open(&path).unwrap().store()).unwrap();
    assert_eq!(block_on(store.get("visits", "last")).unwrap().unwrap().value, json!(2));
}

/// R-FWK-87: a file with a newer long-term store is rejected, whatever the version of its checkpoint tables.
#[test]
fn newer_tables_are_rejected() {
    let path = folder().join("agent.db");
    drop(block_on(SqliteStore::open(&path)).unwrap());
    rusqlite::Connection::open(&path).unwrap().execute("UPDATE memory_version SET number = 99", []).unwrap();
    let error: Error = block_on(SqliteStore::open(&path)).unwrap_err();
    assert_eq!(error.code(), ErrorCode::CheckpointTooNew);
    assert!(error.to_string().contains("version 99, which is newer than the supported version 1"), "{error}");
}

/// R-FWK-87: a corrupt item results in an error with its name; a batch that reads it is rolled back.
#[test]
fn corruption_is_named_and_the_batch_rolled_back() {
    let path = folder().join("agent.db");
    let store = block_on(SqliteStore::open(&path)).unwrap();
    block_on(store.put("n", "bad", "x")).unwrap();
    let corruption = "UPDATE memory SET value = CAST('{' AS BLOB)";
    rusqlite::Connection::open(&path).unwrap().execute(corruption, []).unwrap();
    let operations = vec![PutOp::new("n", "new", 1).into(), superstep::store::GetOp::new("n", "bad").into()];
    let error = block_on(store.batch(operations)).unwrap_err();
    assert_eq!(error.code(), ErrorCode::CheckpointCorrupt);
    assert!(error.message().contains("item `n./bad`"), "{error}");
    assert!(block_on(store.get("n", "new")).unwrap().is_none());
}
