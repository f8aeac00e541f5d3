//! Locked or unavailable databases: the store retries, then returns an error, and nothing is written partially.

use std::time::{Duration, Instant};

use rusqlite::Connection;
use superstep::{Error, ErrorCode};
use superstep_cluster::TempPostgresServer;
use superstep_scheduler::models::EventStatus;
use superstep_scheduler::store::CalendarStore;

use super::family::{event, family_objects, put, smiths};
use super::smiths as open_smiths;
use super::test_location::TestLocation;

/// Retry timeout of operations that must fail.
const RETRY_TIMEOUT: Duration = Duration::from_millis(700);
/// Retry timeout of operations that must succeed, even on a busy machine.
const LONG_RETRY_TIMEOUT: Duration = Duration::from_secs(5);

/// Checks for an error with HTTP status 503, returned after the retry timeout and not much later.
fn check_outage(error: &Error, started: Instant) {
    assert_eq!((error.code(), error.http_status()), (ErrorCode::StoreUnavailable, 503), "{error:?}");
    assert!(error.is_retryable(), "{error:?}");
    assert!((RETRY_TIMEOUT..Duration::from_secs(20)).contains(&started.elapsed()), "{:?}", started.elapsed());
}

async fn add(calendars: &CalendarStore, id: &str) -> superstep::Result<usize> {
    let event = event(id, 9, EventStatus::Confirmed);
    let changed = calendars.change("smith", "mom", "add", move |_| Ok(vec![put(event)])).await?;
    Ok(changed.snapshot.events.len())
}

/// R-FAM-132: a file locked by another process is retried, then the error is 503 and nothing is written.
#[tokio::test]
async fn a_locked_file_is_retried_and_then_reported() {
    let location = TestLocation::sqlite();
    let calendars = open_smiths(&location, CalendarStore::options().timeout(LONG_RETRY_TIMEOUT)).await;
    let failing = location.open(CalendarStore::options().timeout(RETRY_TIMEOUT)).await.unwrap();
    let TestLocation::Sqlite(path) = &location else { panic!("no file") };
    let holder = Connection::open(path).unwrap();
    holder.execute_batch("BEGIN IMMEDIATE").unwrap();
    let started = Instant::now();
    check_outage(&add(&failing, "soccer").await.unwrap_err(), started);
    assert_eq!(calendars.snapshot("smith").await.unwrap().revision, 1);
    // If the lock is released in time, the change succeeds.
    let (added, ()) = tokio::join!(add(&calendars, "soccer"), async {
        tokio::time::sleep(RETRY_TIMEOUT / 2).await;
        holder.execute_batch("COMMIT").unwrap();
    });
    assert_eq!(added.unwrap(), 1);
    assert_eq!(location.value("SELECT count(*) FROM audit WHERE action = 'add'"), "1");
}

/// R-FAM-132: a deleted file is an error, and no empty file is created instead; after it is restored, the store
/// continues.
#[tokio::test]
async fn a_missing_file_is_reported() {
    let location = TestLocation::sqlite();
    let calendars = open_smiths(&location, CalendarStore::options().timeout(LONG_RETRY_TIMEOUT)).await;
    let failing = location.open(CalendarStore::options().timeout(RETRY_TIMEOUT)).await.unwrap();
    let TestLocation::Sqlite(path) = &location else { panic!("no file") };
    let away = path.with_extension("away");
    std::fs::rename(path, &away).unwrap();
    let started = Instant::now();
    check_outage(&add(&failing, "soccer").await.unwrap_err(), started);
    let started = Instant::now();
    check_outage(&failing.snapshot("smith").await.unwrap_err(), started);
    assert!(!path.exists());
    std::fs::rename(&away, path).unwrap();
    assert_eq!(add(&calendars, "soccer").await.unwrap(), 1);
    let error = CalendarStore::open_sqlite(path.join("below")).await.unwrap_err();
    assert_eq!((error.code(), error.http_status()), (ErrorCode::StoreUnavailable, 503), "{error:?}");
}

/// R-FAM-132: a change that panics has no effect, and the next one succeeds.
#[tokio::test]
async fn a_change_succeeds_after_one_that_panicked() {
    let calendars = CalendarStore::open_sqlite_in_memory().await.unwrap();
    calendars.create_family("mom", smiths(), family_objects()).await.unwrap();
    let broken = calendars.change("smith", "mom", "add", |_| panic!("a bug of somebody else")).await;
    assert_eq!(broken.unwrap_err().code(), ErrorCode::Internal);
    assert_eq!(add(&calendars, "soccer").await.unwrap(), 1);
}

/// R-FAM-132: a row locked by another process is retried, then the error is 503 and nothing is written.
#[tokio::test]
async fn a_locked_family_is_retried_and_then_reported() {
    let location = TestLocation::postgres();
    let calendars = open_smiths(&location, CalendarStore::options().timeout(LONG_RETRY_TIMEOUT)).await;
    let failing = location.open(CalendarStore::options().timeout(RETRY_TIMEOUT)).await.unwrap();
    let TestLocation::Postgres { cluster, schema } = &location else { panic!("no server") };
    // The lock is held until the session is terminated: a fixed time might elapse before the store waits for it.
    let hold = format!("BEGIN; SELECT id FROM {schema}.families FOR UPDATE; SELECT pg_sleep(60); COMMIT");
    let url = cluster.url();
    let holder =
        std::thread::spawn(move || superstep_cluster::run(superstep_cluster::psql(&url).unwrap().args(["-c", &hold])));
    let holding = format!("FROM pg_stat_activity WHERE query LIKE '%{schema}%' AND wait_event = 'PgSleep'");
    let started = Instant::now();
    while location.value(&format!("SELECT count(*) {holding}")) != "1" {
        assert!(started.elapsed() < Duration::from_secs(30), "the family is held");
    }
    let started = Instant::now();
    check_outage(&add(&failing, "soccer").await.unwrap_err(), started);
    assert_eq!(calendars.snapshot("smith").await.unwrap().revision, 1);
    assert_eq!(location.value(&format!("SELECT pg_terminate_backend(pid) {holding}")), "t");
    assert!(holder.join().unwrap().is_err(), "the lock was held until its session was terminated");
    assert_eq!(add(&calendars, "soccer").await.unwrap(), 1);
}

/// R-FAM-132: a killed server is a 503, and nothing is written partially; after a restart the store continues.
#[tokio::test]
async fn a_killed_server_is_reported_and_reconnected() {
    let server = TempPostgresServer::start().unwrap();
    let calendars = CalendarStore::options().timeout(LONG_RETRY_TIMEOUT).open_postgres(&server.url()).await.unwrap();
    calendars.create_family("mom", smiths(), family_objects()).await.unwrap();
    add(&calendars, "before").await.unwrap();
    let failing = CalendarStore::options().timeout(RETRY_TIMEOUT).open_postgres(&server.url()).await.unwrap();
    server.kill().unwrap();
    let started = Instant::now();
    check_outage(&add(&failing, "soccer").await.unwrap_err(), started);
    let started = Instant::now();
    check_outage(&failing.snapshot("smith").await.unwrap_err(), started);
    server.restart().unwrap();
    let snapshot = calendars.snapshot("smith").await.unwrap();
    assert_eq!((snapshot.revision, snapshot.events.len(), snapshot.events.contains_key("before")), (2, 1, true));
    assert_eq!(add(&calendars, "after").await.unwrap(), 2);
    let counts = "SELECT (SELECT count(*) FROM superstep_scheduler.events) = 2, \
                  (SELECT max(revision) FROM superstep_scheduler.audit) = 3";
    assert!(server.query(counts).unwrap().contains("t|t"), "{}", server.query(counts).unwrap());
}

/// R-FAM-132: if the server dies while a change waits in it, nothing of that change is written.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_crash_during_a_change_writes_nothing() {
    let server = TempPostgresServer::start().unwrap();
    let calendars = CalendarStore::options().timeout(LONG_RETRY_TIMEOUT).open_postgres(&server.url()).await.unwrap();
    calendars.create_family("mom", smiths(), family_objects()).await.unwrap();
    let (started_sender, started_receiver) = tokio::sync::oneshot::channel();
    let (go, release_receiver) = std::sync::mpsc::channel::<()>();
    let changing = calendars.clone();
    let change = tokio::spawn(async move {
        let decide = move |_: &_| {
            started_sender.send(()).unwrap();
            release_receiver.recv().unwrap();
            Ok(vec![put(event("soccer", 9, EventStatus::Confirmed))])
        };
        changing.change("smith", "mom", "add", decide).await
    });
    started_receiver.await.unwrap();
    server.kill().unwrap();
    go.send(()).unwrap();
    assert_eq!(change.await.unwrap().unwrap_err().http_status(), 503);
    server.restart().unwrap();
    let snapshot = calendars.snapshot("smith").await.unwrap();
    assert_eq!((snapshot.revision, snapshot.events.len()), (1, 0));
}
