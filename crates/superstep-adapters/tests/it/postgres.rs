//! A checkpointer in PostgreSQL, on servers that the tests start.

use std::time::{Duration, Instant};

use superstep_adapters::postgres::{PostgresCheckpointer, PostgresOptions};
use superstep_core::testing::block_on;

pub(crate) mod cluster;
mod connect;
mod faults;
mod full_graph;
mod leases;
mod pooler;
pub(crate) mod proxy;
mod store;
#[cfg(feature = "postgres-tls")]
mod tls;

use cluster::Cluster;

/// Returns the name of a schema that no other test uses.
pub(crate) fn schema() -> String {
    format!("test_{}", superstep_cluster::unique_name())
}

/// Returns options with a separate schema.
pub(crate) fn options() -> PostgresOptions {
    PostgresCheckpointer::options().schema(schema())
}

/// Connects to an empty checkpointer on the server that all tests share.
pub(crate) fn open() -> PostgresCheckpointer {
    block_on(options().connect(&Cluster::shared().url())).unwrap()
}

/// Returns the URL of a new database on the shared server, after running the statements of a file.
#[cfg(feature = "langgraph-import")]
pub(crate) fn database(file: &std::path::Path) -> String {
    let (cluster, name) = (Cluster::shared(), schema());
    cluster.query(&format!("CREATE DATABASE {name}"));
    let url = cluster.url().replace("/postgres?", &format!("/{name}?"));
    superstep_cluster::run(cluster::client(&url).args(["-v", "ON_ERROR_STOP=1", "-f"]).arg(file)).unwrap();
    url
}

/// Retries for up to half a minute.
pub(crate) fn until<T>(mut attempt: impl FnMut() -> Option<T>) -> T {
    let started = Instant::now();
    loop {
        match attempt() {
            Some(done) => return done,
            None => assert!(started.elapsed() < Duration::from_secs(60), "the condition was not met within a minute"),
        }
    }
}

mod conformance {
    use super::*;

    superstep_core::checkpointer_conformance!(open);
}

/// The conformance suite on a tokio runtime, where the caller drives the connection.
mod on_a_runtime {
    use super::*;

    fn drive(future: superstep_core::port::BoxFuture<'static, ()>) {
        tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap().block_on(future);
    }

    superstep_core::checkpointer_conformance!(open, drive);
}
