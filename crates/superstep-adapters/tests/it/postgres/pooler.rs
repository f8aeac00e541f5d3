//! Through pgbouncer in transaction mode: nothing may be left in a session.

use superstep_adapters::postgres::Postgres;
use superstep_core::testing::block_on;

use super::cluster::Cluster;
use super::options;

/// A store without anything in it, behind the pooler that all tests share.
fn open() -> Postgres {
    let cluster = Cluster::shared();
    block_on(options().connect(&cluster.url_at(cluster.pooler()))).unwrap()
}

mod conformance {
    use super::*;

    superstep_core::checkpointer_conformance!(open);
}
