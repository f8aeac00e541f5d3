//! Connections through pgbouncer in transaction mode, where no session state may be used.

use superstep_adapters::postgres::PostgresCheckpointer;
use superstep_core::testing::block_on;

use super::cluster::Cluster;
use super::options;

/// Connects to an empty checkpointer behind the shared pooler.
fn open() -> PostgresCheckpointer {
    let cluster = Cluster::shared();
    block_on(options().connect(&cluster.url_at(cluster.pooler()))).unwrap()
}

mod conformance {
    use super::*;

    superstep_core::checkpointer_conformance!(open);
}
