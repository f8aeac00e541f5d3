//! The long-term store on a server that has pgvector, which `cargo xtask test` gets for the tests.

use superstep::store::{LexicalEmbedder, Options, Search, Store};
use superstep_adapters::postgres::{Postgres, PostgresStore};
use superstep_core::testing::block_on;

use super::super::cluster::Cluster;
use super::super::schema;
use super::compare;

fn store(options: Options) -> PostgresStore {
    let cluster = Cluster::with_pgvector();
    block_on(block_on(Postgres::options().schema(schema()).connect(&cluster.url())).unwrap().store_with(options))
        .unwrap()
}

mod conformance {
    use super::*;

    superstep_core::store_conformance!(store);
}

/// R-FWK-87: with pgvector the answers are those of the store in memory too.
#[test]
fn it_answers_as_the_store_in_memory() {
    assert!(compare(0..12, store) >= 1_200);
}

/// R-FWK-87: where there is pgvector it is used, and there is nothing to warn of.
#[test]
fn pgvector_is_used() {
    let store = store(Options::default().embedder(LexicalEmbedder::default()));
    assert!(store.warnings().is_empty(), "{:?}", store.warnings());
    for number in 0..1_000 {
        block_on(store.put("n", format!("{number}"), format!("word{number} green"))).unwrap();
    }
    let hits = block_on(store.search(Search::new("n").query("word7 green").limit(1))).unwrap();
    assert_eq!(hits[0].item.key, "7");
}
