//! The long-term store in PostgreSQL.

use std::sync::Arc;

use serde_json::json;
use superstep::Code;
use superstep::store::{Get, LexicalEmbedder, MatchedBy, MemoryStore, Options, Put, Search, SharedStore, Store};
use superstep_adapters::postgres::{Postgres, PostgresStore};
use superstep_core::testing::block_on;
use superstep_core::testing::store::{Hand, mixed};

use super::cluster::Cluster;
use super::{open, schema};

mod with_pgvector;

fn store(options: Options) -> PostgresStore {
    block_on(open().store_with(options)).unwrap()
}

mod conformance {
    use super::*;

    superstep_core::store_conformance!(store);
}

/// Asks a store and the one in memory the same things; says how many.
fn compare(seeds: std::ops::Range<u64>, open: impl Fn(Options) -> PostgresStore) -> usize {
    let compare = |seed: u64| {
        let clock = Hand::default();
        let mut options = Options::default().clock(Arc::new(clock.clone()));
        if seed.is_multiple_of(2) {
            options = options.embedder(LexicalEmbedder::new(64));
        }
        let memory = SharedStore::new(MemoryStore::with(options.clone()));
        block_on(mixed::agree(&memory, &SharedStore::new(open(options)), &clock, (seed, 100)))
    };
    seeds.map(compare).sum()
}

/// R-FWK-87: whatever is asked, the answers are those of the store in memory.
#[test]
fn it_answers_as_the_store_in_memory() {
    assert!(compare(0..12, store) >= 1_200);
}

/// R-FWK-87: without pgvector it works, and says what that means.
#[test]
fn without_pgvector_it_says_so() {
    let plain = store(Options::default());
    assert!(plain.warnings().is_empty(), "{:?}", plain.warnings());
    let store = store(Options::default().embedder(LexicalEmbedder::default()));
    let [warning] = store.warnings() else { panic!("{:?}", store.warnings()) };
    assert!(warning.contains("`vector` is not there") && warning.contains("CREATE EXTENSION"), "{warning}");
}

/// R-FWK-87: many processes that begin at once make the tables once, and have one store.
#[test]
fn tables_are_made_once() {
    let (cluster, name) = (Cluster::shared(), schema());
    let workers: Vec<_> = (0..8)
        .map(|worker| {
            let (options, url) = (Postgres::options().schema(&name), cluster.url());
            std::thread::spawn(move || {
                let store = block_on(block_on(options.connect(&url)).unwrap().store()).unwrap();
                block_on(store.put("n", format!("{worker}"), "word")).unwrap();
            })
        })
        .collect();
    workers.into_iter().for_each(|worker| worker.join().unwrap());
    let store = block_on(block_on(Postgres::options().schema(&name).connect(&cluster.url())).unwrap().store()).unwrap();
    assert_eq!(block_on(store.search(Search::new("n").query("word"))).unwrap().len(), 8);
    assert_eq!(cluster.query(&format!("SELECT count(*) FROM {name}.memory_version")), "1");
}

/// R-FWK-87: tables of a newer program are left alone.
#[test]
fn newer_tables_are_refused() {
    let (cluster, name) = (Cluster::shared(), schema());
    let server = block_on(Postgres::options().schema(&name).connect(&cluster.url())).unwrap();
    drop(block_on(server.store()).unwrap());
    cluster.query(&format!("UPDATE {name}.memory_version SET number = 99"));
    let error = block_on(server.store()).unwrap_err();
    assert_eq!(error.code(), Code::CheckpointTooNew);
    assert!(error.to_string().contains("version 99; this program knows 1"), "{error}");
}

/// R-FWK-87: an item that was damaged is named; a batch that meets it halfway leaves nothing behind, and the connection
/// is fit for the next.
#[test]
fn damage_is_named_and_the_batch_taken_back() {
    let (cluster, name) = (Cluster::shared(), schema());
    let server = block_on(Postgres::options().schema(&name).connections(1).connect(&cluster.url())).unwrap();
    let store = block_on(server.store()).unwrap();
    block_on(store.put("n", "bad", "x")).unwrap();
    cluster.query(&format!("UPDATE {name}.memory SET value = '{{'"));
    let error = block_on(store.batch(vec![Put::new("n", "new", 1).into(), Get::new("n", "bad").into()])).unwrap_err();
    assert_eq!(error.code(), Code::CheckpointCorrupt);
    assert!(error.message().contains("item `n./bad`"), "{error}");
    assert!(block_on(store.get("n", "new")).unwrap().is_none());
    block_on(store.put("n", "bad", json!("mended"))).unwrap();
    assert_eq!(block_on(store.get("n", "bad")).unwrap().unwrap().value, json!("mended"));
}

/// R-FWK-87: it works through a pooler that gives every transaction another connection.
#[test]
fn it_works_through_a_pooler() {
    let cluster = Cluster::shared();
    let url = cluster.url_at(cluster.pooler());
    let server = block_on(Postgres::options().schema(schema()).connect(&url)).unwrap();
    let store = block_on(server.store_with(Options::default().embedder(LexicalEmbedder::default()))).unwrap();
    let puts = (0..450).map(|number| Put::new("n", format!("{number:03}"), "green curry").into());
    block_on(store.batch(puts.collect())).unwrap();
    let hits = block_on(store.search(Search::new("n").query("curry").limit(1_000))).unwrap();
    assert_eq!((hits.len(), hits[449].matched_by), (450, Some(MatchedBy::Vector)));
}
