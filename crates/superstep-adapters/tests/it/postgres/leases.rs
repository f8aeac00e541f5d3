//! Leases of several processes on one server.

use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use superstep::ErrorCode;
use superstep::core::id::RunId;
use superstep::core::port::{Checkpointer, Commit, Lease, ThreadStatus};
use superstep_adapters::postgres::PostgresCheckpointer;
use superstep_core::checkpoint::CheckpointNamespace;
use superstep_core::testing::block_on;

use super::cluster::Cluster;
use super::full_graph::{Walk, walk};
use super::proxy::Proxy;
use super::{schema, until};

fn connect(schema: &str, url: &str, lease_timeout: Duration) -> PostgresCheckpointer {
    block_on(PostgresCheckpointer::options().schema(schema).lease_timeout(lease_timeout).connect(url)).unwrap()
}

fn take(store: &PostgresCheckpointer, run: u128) -> superstep::Result<Lease> {
    block_on(store.acquire(&"t".into(), RunId::from_bits(run)))
}

fn note(store: &PostgresCheckpointer, lease: &Lease) -> superstep::Result<()> {
    let mut commit = Commit::empty(lease.clone(), CheckpointNamespace::from(""));
    commit.status = Some(ThreadStatus::Busy);
    block_on(store.commit(&commit))
}

/// R-FWK-37, D5: of two processes one holds a thread; after a takeover, writes of the first one are rejected.
#[test]
fn a_former_lease_holder_is_rejected_after_a_takeover() {
    let (cluster, name) = (Cluster::shared(), schema());
    let hour = Duration::from_secs(3_600);
    let (first, second) = (connect(&name, &cluster.url(), hour), connect(&name, &cluster.url(), hour));
    let lease = take(&first, 1).unwrap();
    note(&first, &lease).unwrap();
    let error = take(&second, 2).unwrap_err();
    assert_eq!(error.code(), ErrorCode::ThreadBusy);
    assert!(error.to_string().contains(&RunId::from_bits(1).to_string()), "{error}");
    assert_eq!(block_on(second.delete_thread(&"t".into())).unwrap_err().code(), ErrorCode::ThreadBusy);
    assert_eq!(block_on(second.status(&"t".into())).unwrap(), Some(ThreadStatus::Busy));
    // The first process stops its heartbeats; because it sends one every few seconds, this may take several attempts.
    let newer = until(|| {
        cluster.query(&format!("UPDATE {name}.holder SET seen = seen - interval '2 hours'"));
        take(&second, 2).ok()
    });
    assert!(newer.fence > lease.fence);
    let late_error = note(&first, &lease).unwrap_err();
    assert_eq!((late_error.code(), late_error.is_retryable()), (ErrorCode::ThreadBusy, false));
    first.release(&lease);
    note(&second, &newer).unwrap();
}

/// R-FWK-37, D5: another process can acquire a released thread immediately.
#[test]
fn a_released_thread_can_be_acquired_elsewhere() {
    let (cluster, name) = (Cluster::shared(), schema());
    let hour = Duration::from_secs(3_600);
    let (first, second) = (connect(&name, &cluster.url(), hour), connect(&name, &cluster.url(), hour));
    let lease = take(&first, 1).unwrap();
    note(&first, &lease).unwrap();
    first.release(&lease);
    let lease = until(|| take(&second, 2).ok());
    note(&second, &lease).unwrap();
    // A checkpointer that is dropped releases its leases.
    second.release(&lease);
    drop(second);
    take(&first, 3).unwrap();
    assert_eq!(cluster.query(&format!("SELECT count(*) FROM {name}.holder")), "1");
}

/// R-FWK-37, D5, S20: a live process keeps its threads however long it is idle; a disconnected one loses them.
#[test]
fn a_lease_expires_without_heartbeats() {
    let (cluster, name) = (Cluster::shared(), schema());
    let proxy = Proxy::to(cluster.port());
    let lease_timeout = Duration::from_secs(8);
    let first = connect(&name, &cluster.url_at(proxy.port()), lease_timeout);
    let second = connect(&name, &cluster.url(), lease_timeout);
    let lease = take(&first, 1).unwrap();
    note(&first, &lease).unwrap();
    let started = Instant::now();
    while started.elapsed() < lease_timeout + Duration::from_secs(2) {
        assert_eq!(take(&second, 2).unwrap_err().code(), ErrorCode::ThreadBusy);
    }
    proxy.close();
    until(|| take(&second, 2).ok());
    assert_eq!(block_on(second.status(&"t".into())).unwrap(), Some(ThreadStatus::Busy));
}

/// R-FWK-37, H17: a node that blocks its process keeps its thread.
#[test]
fn a_node_that_blocks_keeps_its_thread() {
    let (cluster, name) = (Cluster::shared(), schema());
    let lease_timeout = Duration::from_secs(8);
    let (first, second) =
        (connect(&name, &cluster.url(), lease_timeout), connect(&name, &cluster.url(), lease_timeout));
    let others = Arc::new(Mutex::new(Vec::new()));
    let seen = others.clone();
    let graph = walk(first, 1, move |_| {
        let started = Instant::now();
        let acquire_repeatedly = || {
            while started.elapsed() < lease_timeout + Duration::from_secs(2) {
                seen.lock().unwrap().push(take(&second, 2).map_err(|error| error.code()));
            }
        };
        // On a separate thread, like another process; the thread of the node only waits for it.
        std::thread::scope(|scope| scope.spawn(acquire_repeatedly).join().unwrap());
    });
    graph.invoke(Walk::input().log("begin".to_owned())).thread("t").wait_blocking().unwrap();
    let others = others.lock().unwrap();
    assert!(others.len() > 1 && others.iter().all(|other| *other == Err(ErrorCode::ThreadBusy)), "{others:?}");
}

/// R-FWK-37, D5: a thread whose lease holder died is not busy.
#[test]
fn a_thread_of_a_dead_lease_holder_is_not_busy() {
    let (cluster, name) = (Cluster::shared(), schema());
    let first = connect(&name, &cluster.url(), Duration::from_secs(3_600));
    let lease = take(&first, 1).unwrap();
    note(&first, &lease).unwrap();
    let second = connect(&name, &cluster.url(), Duration::from_secs(3_600));
    let status = until(|| {
        cluster.query(&format!("DELETE FROM {name}.holder"));
        block_on(second.status(&"t".into())).unwrap().filter(|status| *status != ThreadStatus::Busy)
    });
    assert_eq!(status, ThreadStatus::Idle);
}

/// R-FWK-37, D5: a run that is dropped while it acquires a thread does not keep it.
#[test]
fn a_dropped_acquisition_does_not_keep_the_thread() {
    let (cluster, name) = (Cluster::shared(), schema());
    let hour = Duration::from_secs(3_600);
    let (first, second) = (connect(&name, &cluster.url(), hour), connect(&name, &cluster.url(), hour));
    let thread = "t".into();
    let mut taking = Box::pin(first.acquire(&thread, RunId::from_bits(1)));
    let mut context = std::task::Context::from_waker(std::task::Waker::noop());
    assert!(taking.as_mut().poll(&mut context).is_pending());
    drop(taking);
    until(|| take(&second, 2).ok());
}
