//! Copies of threads: equal to the source, and independent of it afterwards.

use std::sync::Arc;

use serde_json::json;

use super::pending_entries::interrupt_entry;
use super::writer::{Writer, id, run, stored_values};
use crate::checkpoint::{Checkpoint, TaskEntry};
use crate::error::ErrorCode;
use crate::port::{CheckpointSelector, HistoryQuery, SharedCheckpointer, ThreadStatus};

/// Creates a thread with a fork, two graphs and entries, without a lease.
async fn source(checkpointer: &SharedCheckpointer) -> (Writer, Writer) {
    let mut writer = Writer::open(checkpointer, "from").await;
    writer.metadata = [("user".to_owned(), json!("é"))].into();
    for index in 0..25 {
        writer.step(json!({ "log": [index], "notes": { "n": index } })).await;
    }
    let mut fork = Writer { next_id: 5, ..writer.fork(id(10)).await };
    fork.next_id = 100;
    let saved = fork.step(json!({ "log": ["fork"] })).await;
    fork.commit_entry(saved, 1, interrupt_entry(1)).await;
    fork.commit_entry(id(10), 2, TaskEntry::Skipped).await;
    let mut subgraph = fork.subgraph("child:1");
    subgraph.steps(3).await;
    fork.set_status(ThreadStatus::Interrupted).await;
    checkpointer.release(&fork.lease);
    (fork, subgraph)
}

/// Returns the same writer on another thread, without a lease.
fn on_thread(writer: &Writer, thread: &str) -> Writer {
    let mut copy = writer.clone();
    copy.lease.thread = thread.into();
    copy
}

async fn assert_equal(one: &Writer, other: &Writer) {
    let (ours, theirs) = (one.history(&HistoryQuery::default()).await, other.history(&HistoryQuery::default()).await);
    assert_eq!(ours.len(), theirs.len());
    for (ours, theirs) in ours.iter().zip(&theirs) {
        let renamed = Checkpoint { thread: other.thread().clone(), ..(*ours.checkpoint).clone() };
        assert_eq!(Arc::new(renamed), theirs.checkpoint);
        assert_eq!(stored_values(&one.schema, ours), stored_values(&one.schema, theirs));
        assert_eq!(ours.pending, theirs.pending);
    }
}

/// R-FWK-33: a copy has the same history in all graphs, with the id of the new thread.
pub async fn a_copy_has_the_same_history(checkpointer: SharedCheckpointer) {
    let (root, subgraph) = source(&checkpointer).await;
    checkpointer.copy_thread(root.thread(), &"to".into()).await.expect("the target is free");
    for writer in [&root, &subgraph] {
        let copy = on_thread(writer, "to");
        assert!(!copy.history(&HistoryQuery::default()).await.is_empty());
        assert_equal(writer, &copy).await;
        assert_eq!(
            copy.loaded(CheckpointSelector::Latest).await.checkpoint.id,
            writer.loaded(CheckpointSelector::Latest).await.checkpoint.id
        );
    }
    let namespaces = checkpointer.namespaces(&"to".into()).await.expect("failed to list namespaces");
    assert_eq!(namespaces, checkpointer.namespaces(root.thread()).await.expect("failed to list namespaces"));
}

/// R-FWK-33: the checkpoints of a copy have the ids of its source.
pub async fn a_copy_has_the_same_ids(checkpointer: SharedCheckpointer) {
    let (root, _) = source(&checkpointer).await;
    checkpointer.copy_thread(root.thread(), &"to".into()).await.expect("the target is free");
    let copy = on_thread(&root, "to");
    for number in [1, 10, 25, 100] {
        assert_eq!(
            copy.stored(CheckpointSelector::Id(id(number))).await,
            root.stored(CheckpointSelector::Id(id(number))).await
        );
    }
}

/// R-FWK-33: a copy and its source continue independently.
pub async fn a_copy_continues_independently(checkpointer: SharedCheckpointer) {
    let (mut root, _) = source(&checkpointer).await;
    checkpointer.copy_thread(root.thread(), &"to".into()).await.expect("the target is free");
    let mut copy = root.clone();
    copy.lease = checkpointer.acquire(&"to".into(), run(5)).await.expect("no run holds the lease on the copy");
    root.lease = checkpointer.acquire(root.thread(), run(6)).await.expect("no run holds the lease on the source");
    for index in 0..20 {
        copy.step(json!({ "log": [format!("copy {index}")] })).await;
        root.step(json!({ "log": [format!("source {index}")], "count": 1 })).await;
    }
    assert_eq!(copy.stored(CheckpointSelector::Latest).await, copy.values());
    assert_eq!(root.stored(CheckpointSelector::Latest).await, root.values());
    assert_ne!(copy.values(), root.values());
}

/// R-FWK-33: deleting the source leaves the copy, and the other way round.
pub async fn a_copy_outlives_its_source(checkpointer: SharedCheckpointer) {
    let (root, _) = source(&checkpointer).await;
    checkpointer.copy_thread(root.thread(), &"to".into()).await.expect("the target is free");
    checkpointer.copy_thread(root.thread(), &"third".into()).await.expect("the target is free");
    let values = root.stored(CheckpointSelector::Latest).await;
    checkpointer.delete_thread(root.thread()).await.expect("no run holds the lease");
    checkpointer.delete_thread(&"third".into()).await.expect("no run holds the lease");
    assert_eq!(on_thread(&root, "to").stored(CheckpointSelector::Latest).await, values);
}

/// R-FWK-33: a copy has the status of its source, and no lease.
pub async fn copy_keeps_status_without_lease(checkpointer: SharedCheckpointer) {
    let (root, _) = source(&checkpointer).await;
    checkpointer.copy_thread(root.thread(), &"to".into()).await.expect("the target is free");
    assert_eq!(
        checkpointer.status(&"to".into()).await.expect("failed to read the status"),
        Some(ThreadStatus::Interrupted)
    );
    let mut busy = Writer::open(&checkpointer, "busy").await;
    busy.steps(2).await;
    busy.set_status(ThreadStatus::Busy).await;
    checkpointer
        .copy_thread(busy.thread(), &"calm".into())
        .await
        .expect("a thread can be copied while a run holds its lease");
    assert_eq!(checkpointer.status(&"calm".into()).await.expect("failed to read the status"), Some(ThreadStatus::Idle));
    checkpointer.acquire(&"calm".into(), run(9)).await.expect("no run holds the lease on the copy");
}

/// R-FWK-33: a thread that does not exist cannot be copied.
pub async fn an_unknown_thread_cannot_be_copied(checkpointer: SharedCheckpointer) {
    let error = checkpointer.copy_thread(&"nobody".into(), &"to".into()).await.expect_err("there is no source");
    assert_eq!(error.code(), ErrorCode::NotFound);
    assert_eq!(checkpointer.status(&"to".into()).await.expect("failed to read the status"), None);
}

/// R-FWK-33: an existing thread is not overwritten by a copy, nor copied onto itself.
pub async fn a_thread_that_exists_is_not_copied_over(checkpointer: SharedCheckpointer) {
    let (root, _) = source(&checkpointer).await;
    let mut other = Writer::open(&checkpointer, "to").await;
    other.steps(2).await;
    other.clone().close();
    checkpointer.copy_thread(root.thread(), other.thread()).await.expect_err("the target exists");
    checkpointer.copy_thread(root.thread(), root.thread()).await.expect_err("the target is the source");
    assert_eq!(other.stored(CheckpointSelector::Latest).await, other.values());
    assert_eq!(other.history_ids(&HistoryQuery::default()).await, [2, 1]);
}

/// R-FWK-33: a copy cannot have an invalid id.
pub async fn a_copy_cannot_have_an_invalid_id(checkpointer: SharedCheckpointer) {
    let (root, _) = source(&checkpointer).await;
    let error = checkpointer.copy_thread(root.thread(), &"a/b".into()).await.expect_err("the id is invalid");
    assert_eq!(error.code(), ErrorCode::InputInvalid);
}

#[doc(hidden)]
#[macro_export]
macro_rules! checkpointer_copy_thread {
    ($open:expr, $drive:expr) => {
        mod copy_thread {
            #[allow(unused_imports, reason = "the constructor may be in any module")]
            use super::*;
            use $crate::testing::checkpointer::{check, copy_thread as checks};

            /// R-FWK-33: a copy has the same history in all graphs, with the id of the new thread.
            #[test]
            fn a_copy_has_the_same_history() {
                check($open, $drive, checks::a_copy_has_the_same_history);
            }

            /// R-FWK-33: the checkpoints of a copy have the ids of its source.
            #[test]
            fn a_copy_has_the_same_ids() {
                check($open, $drive, checks::a_copy_has_the_same_ids);
            }

            /// R-FWK-33: a copy and its source continue independently.
            #[test]
            fn a_copy_continues_independently() {
                check($open, $drive, checks::a_copy_continues_independently);
            }

            /// R-FWK-33: deleting the source leaves the copy, and the other way round.
            #[test]
            fn a_copy_outlives_its_source() {
                check($open, $drive, checks::a_copy_outlives_its_source);
            }

            /// R-FWK-33: a copy has the status of its source, and no lease.
            #[test]
            fn copy_keeps_status_without_lease() {
                check($open, $drive, checks::copy_keeps_status_without_lease);
            }

            /// R-FWK-33: a thread that does not exist cannot be copied.
            #[test]
            fn an_unknown_thread_cannot_be_copied() {
                check($open, $drive, checks::an_unknown_thread_cannot_be_copied);
            }

            /// R-FWK-33: an existing thread is not overwritten by a copy, nor copied onto itself.
            #[test]
            fn a_thread_that_exists_is_not_copied_over() {
                check($open, $drive, checks::a_thread_that_exists_is_not_copied_over);
            }

            /// R-FWK-33: a copy cannot have an invalid id.
            #[test]
            fn a_copy_cannot_have_an_invalid_id() {
                check($open, $drive, checks::a_copy_cannot_have_an_invalid_id);
            }
        }
    };
}
