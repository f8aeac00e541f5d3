//! Leases of several processes on one server.

use std::sync::{Arc, Mutex};
use std::time::Duration;

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

fn acquire(store: &PostgresCheckpointer, run: u128) -> superstep::Result<Lease> {
    block_on(store.acquire(&"t".into(), RunId::from_bits(run)))
}

/// Waits until the lease holder of the thread has sent another heartbeat.
fn wait_for_heartbeat(cluster: &Cluster, schema: &str) {
    let heartbeat = || {
        let holder = format!("(SELECT holder FROM {schema}.thread WHERE name = 't')");
        cluster.query(&format!("SELECT seen FROM {schema}.holder WHERE id = {holder}"))
    };
    let before = heartbeat();
    until(|| (heartbeat() != before).then_some(()));
}

/// Moves the last heartbeat of every lease holder two hours back.
fn age_heartbeats(cluster: &Cluster, schema: &str) {
    cluster.query(&format!("UPDATE {schema}.holder SET seen = seen - interval '2 hours'"));
}

fn note(store: &PostgresCheckpointer, lease: &Lease) -> superstep::Result<()> {
    let mut commit = Commit::empty(lease.clone(), CheckpointNamespace::from(""));
    commit.status = Some(ThreadStatus::Busy);
    block_on(store.commit(&commit))
}

/// R-FWK-37: of two processes one holds a thread; after a takeover, writes of the first one are rejected.
#[test]
fn a_former_lease_holder_is_rejected_after_a_takeover() {
    let (cluster, name) = (Cluster::shared(), schema());
    let hour = Duration::from_secs(3_600);
    let (first, second) = (connect(&name, &cluster.url(), hour), connect(&name, &cluster.url(), hour));
    let lease = acquire(&first, 1).unwrap();
    note(&first, &lease).unwrap();
    let error = acquire(&second, 2).unwrap_err();
    assert_eq!(error.code(), ErrorCode::ThreadBusy);
    assert!(error.to_string().contains(&RunId::from_bits(1).to_string()), "{error}");
    assert_eq!(block_on(second.delete_thread(&"t".into())).unwrap_err().code(), ErrorCode::ThreadBusy);
    assert_eq!(block_on(second.status(&"t".into())).unwrap(), Some(ThreadStatus::Busy));
    // The first process stops its heartbeats; because it sends one every few seconds, this may take several attempts.
    let newer = until(|| {
        age_heartbeats(&cluster, &name);
        acquire(&second, 2).ok()
    });
    assert!(newer.fence > lease.fence);
    let late_error = note(&first, &lease).unwrap_err();
    assert_eq!((late_error.code(), late_error.is_retryable()), (ErrorCode::ThreadBusy, false));
    first.release(&lease);
    note(&second, &newer).unwrap();
}

/// R-FWK-37: another process can acquire a released thread immediately.
#[test]
fn a_released_thread_can_be_acquired_elsewhere() {
    let (cluster, name) = (Cluster::shared(), schema());
    let hour = Duration::from_secs(3_600);
    let (first, second) = (connect(&name, &cluster.url(), hour), connect(&name, &cluster.url(), hour));
    let lease = acquire(&first, 1).unwrap();
    note(&first, &lease).unwrap();
    first.release(&lease);
    let lease = until(|| acquire(&second, 2).ok());
    note(&second, &lease).unwrap();
    // A checkpointer that is dropped releases its leases.
    second.release(&lease);
    drop(second);
    acquire(&first, 3).unwrap();
    assert_eq!(cluster.query(&format!("SELECT count(*) FROM {name}.holder")), "1");
}

/// R-FWK-37: a live process keeps its threads however long it is idle; a disconnected one loses them.
#[test]
fn a_lease_expires_without_heartbeats() {
    let (cluster, name) = (Cluster::shared(), schema());
    let proxy = Proxy::to(cluster.port());
    let hour = Duration::from_secs(3_600);
    let (first, second) = (connect(&name, &cluster.url_at(proxy.port()), hour), connect(&name, &cluster.url(), hour));
    let lease = acquire(&first, 1).unwrap();
    note(&first, &lease).unwrap();
    age_heartbeats(&cluster, &name);
    wait_for_heartbeat(&cluster, &name);
    assert_eq!(acquire(&second, 2).unwrap_err().code(), ErrorCode::ThreadBusy);
    proxy.close();
    until(|| {
        age_heartbeats(&cluster, &name);
        acquire(&second, 2).ok()
    });
    assert_eq!(block_on(second.status(&"t".into())).unwrap(), Some(ThreadStatus::Busy));
}

/// R-FWK-37: a node that blocks its process keeps its thread.
#[test]
fn a_node_that_blocks_keeps_its_thread() {
    let (cluster, name) = (Cluster::shared(), schema());
    let hour = Duration::from_secs(3_600);
    let (first, second) = (connect(&name, &cluster.url(), hour), connect(&name, &cluster.url(), hour));
    let attempts = Arc::new(Mutex::new(Vec::new()));
    let recorded = attempts.clone();
    let graph = walk(first, 1, move |_| {
        let acquire = || {
            age_heartbeats(&cluster, &name);
            wait_for_heartbeat(&cluster, &name);
            recorded.lock().unwrap().push(acquire(&second, 2).map_err(|error| error.code()));
        };
        // On a separate thread, like another process; the thread of the node only waits for it.
        std::thread::scope(|scope| scope.spawn(acquire).join().unwrap());
    });
    graph.invoke(Walk::input().log("begin".to_owned())).thread("t").wait_blocking().unwrap();
    assert_eq!(*attempts.lock().unwrap(), [Err(ErrorCode::ThreadBusy)]);
}

/// R-FWK-37: a thread whose lease holder died is not busy.
#[test]
fn a_thread_of_a_dead_lease_holder_is_not_busy() {
    let (cluster, name) = (Cluster::shared(), schema());
    let first = connect(&name, &cluster.url(), Duration::from_secs(3_600));
    let lease = acquire(&first, 1).unwrap();
    note(&first, &lease).unwrap();
    let second = connect(&name, &cluster.url(), Duration::from_secs(3_600));
    let status = until(|| {
        cluster.query(&format!("DELETE FROM {name}.holder"));
        block_on(second.status(&"t".into())).unwrap().filter(|status| *status != ThreadStatus::Busy)
    });
    assert_eq!(status, ThreadStatus::Idle);
}

/// R-FWK-37: a run that is dropped while it acquires a thread does not keep it.
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
    until(|| acquire(&second, 2).ok());
}
