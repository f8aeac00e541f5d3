//! The long-term store on a server with pgvector, which `cargo xtask test` installs.

use superstep::store::{LexicalEmbedder, SearchOp, Store, StoreOptions};
use superstep_adapters::postgres::{PostgresCheckpointer, PostgresStore};
use superstep_core::testing::block_on;

use super::super::cluster::Cluster;
use super::super::schema;
use super::compare;

fn store(options: StoreOptions) -> PostgresStore {
    let cluster = Cluster::with_pgvector();
    block_on(
        block_on(PostgresCheckpointer::options().schema(schema()).connect(&cluster.url())).unwrap().store_with(options),
    )
    .unwrap()
}

mod conformance {
    use super::*;

    superstep_core::store_conformance!(store);
}

/// R-FWK-87: with pgvector, random operations return the same results as the in-memory store.
#[test]
fn matches_memory_store() {
    assert!(compare(0..12, store) >= 1_200);
}

/// R-FWK-87: pgvector is used if it is available, without a warning.
#[test]
fn pgvector_is_used() {
    let store = store(StoreOptions::default().embedder(LexicalEmbedder::default()));
    assert!(store.warnings().is_empty(), "{:?}", store.warnings());
    for number in 0..1_000 {
        block_on(store.put("n", format!("{number}"), format!("word{number} green"))).unwrap();
    }
    let hits = block_on(store.search(SearchOp::new("n").query("word7 green").limit(1))).unwrap();
    assert_eq!(hits[0].item.key, "7");
}
