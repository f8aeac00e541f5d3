//! Corrupt event rows, and files of versions without events.

use std::task::{Context, Waker};

use rusqlite::Connection;
use serde_json::json;
use superstep::core::error::ErrorCode;
use superstep::core::port::{Checkpointer, EventsQuery};
use superstep::core::testing::block_on;
use superstep_adapters::sqlite::SqliteCheckpointer;

use super::{acquire, commit_events, event, read_events};
use crate::sqlite::folder;

/// R-FWK-46a: a corrupt event results in `CheckpointCorrupt` with its number; later events and other threads stay
/// readable.
#[test]
fn a_corrupt_event_is_named() {
    let corruptions = [
        "UPDATE event SET body = CAST('\"other\"' AS BLOB) WHERE key = (1 << 32) + 2",
        "UPDATE event SET body = x'01ff' WHERE key = (1 << 32) + 2",
        "UPDATE event SET run = zeroblob(16) WHERE key = (1 << 32) + 2",
        "UPDATE event SET sum = sum + 1 WHERE key = (1 << 32) + 2",
        "DELETE FROM event WHERE key = (1 << 32) + 2; UPDATE event SET key = (1 << 32) + 2 WHERE key = (2 << 32) + 2",
        "DELETE FROM event WHERE key = (1 << 32) + 2; UPDATE event SET key = (1 << 32) + 2 WHERE key = (1 << 32) + 1",
    ];
    for (number, corruption) in corruptions.iter().enumerate() {
        let path = folder().join(format!("events-{number}.db"));
        let store = SqliteCheckpointer::open(&path).unwrap();
        for thread in ["t", "other"] {
            let lease = block_on(acquire(&store, thread));
            let events = [1, 2, 3].map(|number| event(number, json!([thread, "said ".repeat(300)]))).to_vec();
            block_on(commit_events(&store, &lease, events)).unwrap();
            store.release(&lease);
        }
        drop(store);
        Connection::open(&path).unwrap().execute_batch(corruption).unwrap();
        let store = SqliteCheckpointer::open(&path).unwrap();
        let error = block_on(read_events(&store, "t")).expect_err(corruption);
        assert_eq!(error.code(), ErrorCode::CheckpointCorrupt, "{corruption}: {error}");
        assert!(error.message().starts_with("event 2 is corrupt"), "{corruption}: {error}");
        let after = EventsQuery { after: Some(2), ..EventsQuery::default() };
        assert_eq!(block_on(store.events(&"t".into(), &after)).unwrap().len(), 1, "{corruption}");
        block_on(store.delete_events(&"t".into(), 2)).unwrap();
        assert_eq!(block_on(read_events(&store, "t")).unwrap().len(), 1, "{corruption}");
    }
}

/// R-FWK-36: events are synced with their commit and available to the next process; an event number that is too large
/// for the file is rejected.
#[test]
fn events_outlive_the_store_that_saved_them() {
    let path = folder().join("events.db");
    let store = SqliteCheckpointer::open(&path).unwrap();
    let lease = block_on(acquire(&store, "t"));
    block_on(commit_events(&store, &lease, vec![event(1, json!("a")), event(2, json!("b"))])).unwrap();
    block_on(store.delete_events(&"t".into(), 1)).unwrap();
    let highest = u64::from(u32::MAX);
    let error = block_on(commit_events(&store, &lease, vec![event(highest + 1, json!("c"))])).unwrap_err();
    assert_eq!(error.code(), ErrorCode::TooLarge, "{error}");
    block_on(commit_events(&store, &lease, vec![event(highest, json!("c"))])).unwrap();
    store.release(&lease);
    drop(store);
    let store = SqliteCheckpointer::open(&path).unwrap();
    assert_eq!(block_on(read_events(&store, "t")).unwrap(), [event(2, json!("b")), event(highest, json!("c"))]);
    assert_eq!(block_on(store.last_event_number(&"t".into())).unwrap(), highest);
    block_on(store.delete_thread(&"t".into())).unwrap();
    drop(store);
    let remaining: i64 =
        Connection::open(&path).unwrap().query_row("SELECT count(*) FROM event", [], |row| row.get(0)).unwrap();
    assert_eq!(remaining, 0);
}

/// R-FWK-39: a commit whose future was dropped still counts: the last event number includes it.
#[test]
fn the_last_number_includes_a_commit_that_is_not_awaited() {
    let path = folder().join("let-go.db");
    let store = SqliteCheckpointer::open(&path).unwrap();
    let lease = block_on(acquire(&store, "t"));
    let (other, waker) = (Connection::open(&path).unwrap(), Waker::noop());
    // The writer waits as long as another connection holds the write lock.
    other.execute_batch("BEGIN IMMEDIATE").unwrap();
    let mut commit = Box::pin(commit_events(&store, &lease, vec![event(1, json!("a"))]));
    assert!(commit.as_mut().poll(&mut Context::from_waker(waker)).is_pending());
    drop(commit);
    let thread = "t".into();
    let mut query = Box::pin(store.last_event_number(&thread));
    let poll = query.as_mut().poll(&mut Context::from_waker(waker));
    assert!(poll.is_pending(), "answered before the commit ended: {poll:?}");
    other.execute_batch("ROLLBACK").unwrap();
    assert_eq!(block_on(query).unwrap(), 1);
}
