//! Checkpoints in PostgreSQL, on servers that the tests start themselves.

use std::time::{Duration, Instant};

use superstep_adapters::postgres::{Options, Postgres};
use superstep_core::testing::block_on;

pub(crate) mod cluster;
mod faults;
mod leases;
mod opening;
mod pooler;
pub(crate) mod proxy;
mod store;
#[cfg(feature = "postgres-tls")]
mod tls;
mod walk;

use cluster::Cluster;

/// The name of a schema that no other test has.
pub(crate) fn schema() -> String {
    format!("test_{}", superstep_cluster::own_name())
}

/// Options with a schema of their own.
pub(crate) fn options() -> Options {
    Postgres::options().schema(schema())
}

/// A store without anything in it, on the server that all tests share.
pub(crate) fn open() -> Postgres {
    block_on(options().connect(&Cluster::shared().url())).unwrap()
}

/// The address of a database of its own, on the server that all tests share, after the statements of a file.
#[cfg(feature = "langgraph-import")]
pub(crate) fn database(file: &std::path::Path) -> String {
    let (cluster, name) = (Cluster::shared(), schema());
    cluster.query(&format!("CREATE DATABASE {name}"));
    let url = cluster.url().replace("/postgres?", &format!("/{name}?"));
    superstep_cluster::run(cluster::client(&url).args(["-v", "ON_ERROR_STOP=1", "-f"]).arg(file)).unwrap();
    url
}

/// Tries again for a while.
pub(crate) fn until<T>(mut attempt: impl FnMut() -> Option<T>) -> T {
    let begun = Instant::now();
    loop {
        match attempt() {
            Some(done) => return done,
            None => assert!(begun.elapsed() < Duration::from_secs(30), "it did not come"),
        }
    }
}

mod conformance {
    use super::*;

    superstep_core::checkpointer_conformance!(open);
}

/// The same where whoever asks has a runtime, and so moves the bytes itself.
mod on_a_runtime {
    use super::*;

    fn drive(future: superstep_core::port::BoxFuture<'static, ()>) {
        tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap().block_on(future);
    }

    superstep_core::checkpointer_conformance!(open, drive);
}
