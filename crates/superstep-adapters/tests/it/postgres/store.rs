//! The long-term store in PostgreSQL.

use std::sync::Arc;

use serde_json::json;
use superstep::ErrorCode;
use superstep::store::{
    GetOp, LexicalEmbedder, MatchSource, MemoryStore, PutOp, SearchOp, SharedStore, Store, StoreOptions,
};
use superstep_adapters::postgres::{PostgresCheckpointer, PostgresStore};
use superstep_core::testing::block_on;
use superstep_core::testing::store::{ManualClock, differential};

use super::cluster::Cluster;
use super::{open, schema};

mod with_pgvector;

fn store(options: StoreOptions) -> PostgresStore {
    block_on(open().store_with(options)).unwrap()
}

mod conformance {
    use super::*;

    superstep_core::store_conformance!(store);
}

/// Runs the same operations on a store and on the in-memory store; returns their number.
fn compare(seeds: std::ops::Range<u64>, open: impl Fn(StoreOptions) -> PostgresStore) -> usize {
    let compare = |seed: u64| {
        let clock = ManualClock::default();
        let mut options = StoreOptions::default().clock(Arc::new(clock.clone()));
        if seed.is_multiple_of(2) {
            options = options.embedder(LexicalEmbedder::new(64));
        }
        let memory = SharedStore::new(MemoryStore::with_options(options.clone()));
        block_on(differential::agree(&memory, &SharedStore::new(open(options)), &clock, (seed, 100)))
    };
    seeds.map(compare).sum()
}

/// R-FWK-87: random operations return the same results as the in-memory store.
#[test]
fn matches_memory_store() {
    assert!(compare(0..12, store) >= 1_200);
}

/// R-FWK-87: the store works without pgvector and reports a warning.
#[test]
fn a_store_without_pgvector_reports_a_warning() {
    let plain = store(StoreOptions::default());
    assert!(plain.warnings().is_empty(), "{:?}", plain.warnings());
    let store = store(StoreOptions::default().embedder(LexicalEmbedder::default()));
    let [warning] = store.warnings() else { panic!("{:?}", store.warnings()) };
    assert!(warning.contains("`vector` is missing") && warning.contains("CREATE EXTENSION"), "{warning}");
}

/// R-FWK-87: concurrent processes create the tables once and share one store.
#[test]
fn tables_are_made_once() {
    let (cluster, name) = (Cluster::shared(), schema());
    let workers: Vec<_> = (0..8)
        .map(|worker| {
            let (options, url) = (PostgresCheckpointer::options().schema(&name), cluster.url());
            std::thread::spawn(move || {
                let store = block_on(block_on(options.connect(&url)).unwrap().store()).unwrap();
                block_on(store.put("n", format!("{worker}"), "word")).unwrap();
            })
        })
        .collect();
    workers.into_iter().for_each(|worker| worker.join().unwrap());
    let store =
        block_on(block_on(PostgresCheckpointer::options().schema(&name).connect(&cluster.url())).unwrap().store())
            .unwrap();
    assert_eq!(block_on(store.search(SearchOp::new("n").query("word"))).unwrap().len(), 8);
    assert_eq!(cluster.query(&format!("SELECT count(*) FROM {name}.memory_version")), "1");
}

/// R-FWK-87: tables of a newer program are rejected and not changed.
#[test]
fn newer_tables_are_rejected() {
    let (cluster, name) = (Cluster::shared(), schema());
    let server = block_on(PostgresCheckpointer::options().schema(&name).connect(&cluster.url())).unwrap();
    drop(block_on(server.store()).unwrap());
    cluster.query(&format!("UPDATE {name}.memory_version SET number = 99"));
    let error = block_on(server.store()).unwrap_err();
    assert_eq!(error.code(), ErrorCode::CheckpointTooNew);
    assert!(error.to_string().contains("version 99, which is newer than the supported version 1"), "{error}");
}

/// R-FWK-87: a corrupt item results in an error with its name; a batch that reads it is rolled back, and the
/// connection can be reused.
#[test]
fn corruption_is_named_and_the_batch_rolled_back() {
    let (cluster, name) = (Cluster::shared(), schema());
    let server =
        block_on(PostgresCheckpointer::options().schema(&name).max_connections(1).connect(&cluster.url())).unwrap();
    let store = block_on(server.store()).unwrap();
    block_on(store.put("n", "bad", "x")).unwrap();
    cluster.query(&format!("UPDATE {name}.memory SET value = '{{'"));
    let error =
        block_on(store.batch(vec![PutOp::new("n", "new", 1).into(), GetOp::new("n", "bad").into()])).unwrap_err();
    assert_eq!(error.code(), ErrorCode::CheckpointCorrupt);
    assert!(error.message().contains("item `n./bad`"), "{error}");
    assert!(block_on(store.get("n", "new")).unwrap().is_none());
    block_on(store.put("n", "bad", json!("mended"))).unwrap();
    assert_eq!(block_on(store.get("n", "bad")).unwrap().unwrap().value, json!("mended"));
}

/// R-FWK-87: the store works through a pooler that uses another connection for every transaction.
#[test]
fn it_works_through_a_pooler() {
    let cluster = Cluster::shared();
    let url = cluster.url_at(cluster.pooler());
    let server = block_on(PostgresCheckpointer::options().schema(schema()).connect(&url)).unwrap();
    let store = block_on(server.store_with(StoreOptions::default().embedder(LexicalEmbedder::default()))).unwrap();
    let puts = (0..450).map(|number| PutOp::new("n", format!("{number:03}"), "green curry").into());
    block_on(store.batch(puts.collect())).unwrap();
    let hits = block_on(store.search(SearchOp::new("n").query("curry").limit(1_000))).unwrap();
    assert_eq!((hits.len(), hits[449].matched_by), (450, Some(MatchSource::Vector)));
}
