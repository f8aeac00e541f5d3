//! Lost connections, killed servers and rolled-back transactions: a run waits and continues, and nothing is saved
//! twice or reported incorrectly.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use superstep::core::port::SharedCheckpointer;
use superstep::prelude::*;
use superstep::{Durability, ErrorCode};
use superstep_adapters::postgres::PostgresCheckpointer;
use superstep_core::testing::block_on;

use super::cluster::Cluster;
use super::full_graph::{StoredNamespaces, Walk, stored_namespaces, walk};
use super::proxy::{DisconnectPoint, Proxy};
use super::{options, schema, until};

/// Returns the result of an undisturbed run.
fn expected_result(steps: u64, durability: Durability) -> (Walk, StoredNamespaces) {
    let memory = MemoryCheckpointer::new();
    let run = walk(memory.clone(), steps, |_| ())
        .invoke(Walk::input().log("begin".to_owned()))
        .thread("t")
        .durability(durability);
    ((*run.wait_blocking().unwrap().state).clone(), stored_namespaces(&memory, "t"))
}

/// Runs the graph and compares the result with that of an undisturbed run.
fn check(
    store: &PostgresCheckpointer,
    steps: u64,
    durability: Durability,
    on_step: impl Fn(u64) + std::marker::Send + Sync + 'static,
) {
    let run = walk(store.clone(), steps, on_step)
        .invoke(Walk::input().log("begin".to_owned()))
        .thread("t")
        .durability(durability);
    let (state, checkpoints) = expected_result(steps, durability);
    assert_eq!(*run.wait_blocking().unwrap().state, state);
    assert_eq!(stored_namespaces(store, "t"), checkpoints);
}

/// R-FWK-37: connections that an administrator terminates during commits are replaced.
#[test]
fn a_run_survives_the_end_of_its_connections() {
    let (cluster, name) = (Cluster::shared(), schema());
    let url = format!("{}&application_name={name}", cluster.url());
    let store = block_on(options().connect(&url)).unwrap();
    let (is_done, has_started) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicBool::new(false)));
    let (watched, started) = (is_done.clone(), has_started.clone());
    let end =
        format!("SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity WHERE application_name = '{name}'");
    let terminator = std::thread::spawn(move || {
        let mut ended = 0;
        while !watched.load(Ordering::Relaxed) {
            ended += cluster.query(&end).parse::<usize>().unwrap();
            started.store(ended > 0, Ordering::Relaxed);
        }
        ended
    });
    // The second half runs while connections are terminated.
    check(&store, 12, Durability::Sync, move |steps| {
        while steps == 6 && !has_started.load(Ordering::Relaxed) {
            std::thread::yield_now();
        }
    });
    is_done.store(true, Ordering::Relaxed);
    assert!(terminator.join().unwrap() > 0, "no connection was terminated");
}

/// R-FWK-37: a run waits for a server that is killed and restarted, and everything reported as saved is stored.
#[test]
fn a_run_survives_the_death_of_the_server() {
    let cluster = Arc::new(Cluster::own("killed"));
    let store = block_on(options().connect(&cluster.url())).unwrap();
    check(&store, 8, Durability::Sync, move |steps| {
        if steps % 4 == 2 {
            cluster.kill();
            let cluster = cluster.clone();
            drop(std::thread::spawn(move || cluster.restart()));
        }
    });
}

/// R-FWK-37: a server that stays unavailable results in an error that states the outcome, and the thread can be
/// continued later.
#[test]
fn a_server_that_stays_unavailable_is_reported() {
    let cluster = Arc::new(Cluster::own("away"));
    let store = block_on(options().retry_timeout(Duration::from_millis(500)).connect(&cluster.url())).unwrap();
    let killed = cluster.clone();
    let graph = walk(store.clone(), 3, move |steps| {
        if steps == 1 && killed.server_dir().join("armed").exists() {
            std::fs::remove_file(killed.server_dir().join("armed")).unwrap();
            killed.kill();
        }
    });
    std::fs::write(cluster.server_dir().join("armed"), "").unwrap();
    let error = graph.invoke(Walk::input().log("begin".to_owned())).thread("t").wait_blocking().unwrap_err();
    assert_eq!((error.code(), error.is_retryable()), (ErrorCode::StoreUnavailable, true), "{error}");
    let text = error.to_string();
    assert!(text.contains("could not be reached for 500ms") && text.contains("may or may not be saved"), "{text}");
    cluster.restart();
    let (state, _) = expected_result(3, Durability::Sync);
    // The lease of the failed run is released once the server is available.
    let done = until(|| graph.continue_thread("t").wait_blocking().ok());
    assert_eq!(*done.state, state);
}

/// R-FWK-37: a server that lost committed data, for example after a failover, is detected: the run does not
/// continue on a different history.
#[test]
fn a_history_that_moved_back_is_reported() {
    let (cluster, name) = (Cluster::shared(), schema());
    let store = block_on(PostgresCheckpointer::options().schema(&name).connect(&cluster.url())).unwrap();
    let lose = format!(
        "DELETE FROM {name}.checkpoint c USING (SELECT line, max(number) AS number FROM {name}.checkpoint GROUP BY line) \
         AS last WHERE c.line = last.line AND c.number = last.number"
    );
    let graph = walk(store, 4, move |steps| {
        if steps == 2 {
            cluster.query(&lose);
        }
    });
    let error = graph.invoke(Walk::input().log("begin".to_owned())).thread("t").wait_blocking().unwrap_err();
    assert_eq!((error.code(), error.is_retryable()), (ErrorCode::NotFound, false), "{error}");
}

/// R-FWK-37: a commit during which the connection breaks is stored once, whether or not the server executed it.
#[test]
fn a_commit_with_a_lost_response_is_stored_once() {
    let cluster = Cluster::shared();
    let proxy = Proxy::to(cluster.port());
    for durability in [Durability::Sync, Durability::Exit] {
        let mut commit = 0;
        loop {
            commit += 1;
            let before = proxy.cuts();
            for cut in [DisconnectPoint::Before, DisconnectPoint::After] {
                let store = block_on(options().connect(&cluster.url_at(proxy.port()))).unwrap();
                proxy.cut_at(commit, cut);
                check(&store, 2, durability, |_| ());
            }
            // Parallel tasks that end at the same time may share a commit, so the number of commits varies.
            if proxy.cuts() == before {
                break;
            }
        }
        let min_commits = if durability == Durability::Sync { 8 } else { 1 };
        assert!(commit > min_commits, "{durability:?}: only {} commits were cut", commit - 1);
    }
}

/// Makes the next commits fail with an SQLSTATE.
fn inject_errors(cluster: &Cluster, schema: &str, code: &str, times: usize) {
    cluster.query(&format!(
        "CREATE SEQUENCE {schema}.tries; \
         CREATE FUNCTION {schema}.fail() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN \
         IF nextval('{schema}.tries') <= {times} THEN RAISE EXCEPTION 'planted' USING ERRCODE = '{code}'; END IF; \
         RETURN NEW; END $$; \
         CREATE TRIGGER fail BEFORE INSERT ON {schema}.checkpoint FOR EACH ROW EXECUTE FUNCTION {schema}.fail()"
    ));
}

/// R-FWK-37: transient errors are retried a limited number of times.
#[test]
fn transient_errors_are_retried() {
    let cluster = Cluster::shared();
    for (code, times) in
        [("40001", 5), ("40P01", 5), ("57P01", 3), ("57P03", 3), ("08006", 3), ("53300", 3), ("25006", 3)]
    {
        let name = schema();
        let store = block_on(PostgresCheckpointer::options().schema(&name).connect(&cluster.url())).unwrap();
        inject_errors(&cluster, &name, code, times);
        check(&store, 1, Durability::Sync, |_| ());
        let attempts: usize = cluster.query(&format!("SELECT last_value FROM {name}.tries")).parse().unwrap();
        assert!(attempts > times, "{code}: the commit was not retried");
    }
}

/// R-FWK-37: a permanent error is returned with help, nothing is saved, and the thread can be
/// continued afterwards.
#[test]
fn permanent_errors_are_reported() {
    let cluster = Cluster::shared();
    for (code, message, is_retryable) in [
        ("40001", "repeatedly rolled back a transaction", true),
        ("25006", "was read-only for", true),
        ("53100", "is full", true),
        ("53200", "is out of memory", true),
        ("57014", "cancelled a statement that exceeded its timeout", true),
        ("42501", "has no permission for this operation", false),
    ] {
        let name = schema();
        let timeout = Duration::from_millis(200);
        let store =
            block_on(PostgresCheckpointer::options().schema(&name).retry_timeout(timeout).connect(&cluster.url()))
                .unwrap();
        inject_errors(&cluster, &name, code, usize::MAX >> 1);
        let graph = walk(store.clone(), 1, |_| ());
        let error = graph.invoke(Walk::input().log("begin".to_owned())).thread("t").wait_blocking().unwrap_err();
        let text = error.to_string();
        assert!(text.contains(message) && text.contains("help: "), "{code}: {text}");
        assert_eq!(error.is_retryable(), is_retryable, "{code}");
        assert!(stored_namespaces(&store, "t").is_empty(), "{code}");
        cluster.query(&format!("DROP TRIGGER fail ON {name}.checkpoint"));
        let done = graph.invoke(Walk::input().log("begin".to_owned())).thread("t").wait_blocking().unwrap();
        assert_eq!(*done.state, expected_result(1, Durability::Sync).0, "{code}");
    }
}

/// R-FWK-37: while all connections are in use, a call waits for the retry timeout and then returns an error.
#[test]
fn calls_without_a_free_connection_fail_after_the_retry_timeout() {
    let (cluster, name) = (Cluster::shared(), schema());
    let single_connection =
        PostgresCheckpointer::options().schema(&name).max_connections(1).retry_timeout(Duration::from_millis(300));
    let store = block_on(single_connection.connect(&cluster.url())).unwrap();
    let locked = format!("SELECT count(*) FROM pg_locks WHERE relation = '{name}.thread'::regclass");
    let url = cluster.url();
    let blocker = block_on(Blocker::start(&url, &name));
    let waiting_store = store.clone();
    let waiting = std::thread::spawn(move || block_on(SharedCheckpointer::new(waiting_store).status(&"t".into())));
    until(|| (cluster.query(&locked) == "2").then_some(()));
    let error = block_on(SharedCheckpointer::new(store.clone()).status(&"t".into())).unwrap_err();
    assert_eq!((error.code(), error.is_retryable()), (ErrorCode::StoreUnavailable, true));
    let text = error.to_string();
    assert!(text.contains("all connections to PostgreSQL") && text.contains("in use for 300ms"), "{text}");
    drop(blocker);
    assert_eq!(waiting.join().unwrap().unwrap(), None);
}

/// Guard of a lock on the threads of a schema.
struct Blocker(std::process::Child);

impl Blocker {
    async fn start(url: &str, schema: &str) -> Self {
        let statements = format!("BEGIN; LOCK TABLE {schema}.thread; SELECT pg_sleep(60)");
        let mut psql = super::cluster::client(url);
        let child = psql.args(["-c", &statements]).spawn().unwrap();
        let cluster = Cluster::shared();
        let locked = format!("SELECT count(*) FROM pg_locks WHERE granted AND relation = '{schema}.thread'::regclass");
        until(|| (cluster.query(&locked) == "1").then_some(()));
        Self(child)
    }
}

impl Drop for Blocker {
    fn drop(&mut self) {
        let end = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE query LIKE 'BEGIN; LOCK TABLE%'";
        Cluster::shared().query(end);
        drop(self.0.wait());
    }
}
