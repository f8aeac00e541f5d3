//! Threads and their graphs: independent of each other, with a status, until they are deleted.

use serde_json::json;

use super::writer::{Writer, id, pending_entry, run};
use crate::checkpoint::{CheckpointNamespace, TaskEntry};
use crate::error::ErrorCode;
use crate::id::ThreadId;
use crate::port::{CheckpointSelector, HistoryQuery, Retention, SharedCheckpointer, ThreadStatus, ThreadsQuery};

async fn status(writer: &Writer) -> Option<ThreadStatus> {
    writer.checkpointer.status(writer.thread()).await.expect("failed to read the status")
}

async fn listed(checkpointer: &SharedCheckpointer, after: Option<&str>, limit: Option<usize>) -> Vec<ThreadId> {
    let query = ThreadsQuery { after: after.map(Into::into), limit };
    checkpointer.threads(&query).await.expect("listing works")
}

/// R-FWK-33: threads with equal checkpoint ids are independent.
pub async fn threads_are_isolated(checkpointer: SharedCheckpointer) {
    let mut writers = Vec::new();
    for name in ["a", "b", "ab", "a:b"] {
        writers.push(Writer::open(&checkpointer, name).await);
    }
    for step in 0..5 {
        for writer in &mut writers {
            let saved = writer.step(json!({ "log": [format!("{} {step}", writer.lease.thread)] })).await;
            writer
                .commit_entry(
                    saved,
                    1,
                    TaskEntry::Recorded { key: writer.lease.thread.to_string(), value: json!(step).into() },
                )
                .await;
        }
    }
    for writer in &writers {
        assert_eq!(writer.stored(CheckpointSelector::Latest).await, writer.values());
        assert_eq!(writer.history_ids(&HistoryQuery::default()).await, [5, 4, 3, 2, 1]);
        let entry = TaskEntry::Recorded { key: writer.lease.thread.to_string(), value: json!(4).into() };
        assert_eq!(writer.loaded(CheckpointSelector::Latest).await.pending, [pending_entry(id(5), 1, entry)]);
    }
}

/// R-FWK-34: graphs on one thread, with equal checkpoint ids, are independent.
pub async fn namespaces_are_isolated(checkpointer: SharedCheckpointer) {
    let root = Writer::open(&checkpointer, "thread").await;
    let child = root.subgraph("child:1");
    let mut writers =
        [root.clone(), child.clone(), child.subgraph("inner:1"), root.subgraph("child:2"), root.subgraph("child")];
    for step in 0..5 {
        for writer in &mut writers {
            let saved = writer.step(json!({ "log": [format!("{} {step}", writer.namespace.as_str())] })).await;
            writer.commit_entry(saved, step as u128, TaskEntry::Skipped).await;
        }
    }
    for writer in &writers {
        assert_eq!(writer.stored(CheckpointSelector::Latest).await, writer.values());
        assert_eq!(writer.history_ids(&HistoryQuery::default()).await, [5, 4, 3, 2, 1]);
        assert_eq!(writer.loaded(CheckpointSelector::Latest).await.checkpoint.namespace, writer.namespace);
    }
}

/// R-FWK-33: the graphs that have checkpoints on a thread are listed, and only those.
pub async fn namespaces_are_listed(checkpointer: SharedCheckpointer) {
    let mut root = Writer::open(&checkpointer, "thread").await;
    assert!(checkpointer.namespaces(root.thread()).await.expect("failed to list namespaces").is_empty());
    root.steps(2).await;
    let mut expected = vec![CheckpointNamespace::root()];
    for segment in ["b:1", "a:1", "größe"] {
        let mut subgraph = root.subgraph(segment);
        subgraph.steps(1).await;
        expected.push(subgraph.namespace);
    }
    let mut listed = checkpointer.namespaces(root.thread()).await.expect("failed to list namespaces");
    listed.sort();
    expected.sort();
    assert_eq!(listed, expected);
    assert!(checkpointer.namespaces(&"nobody".into()).await.expect("failed to list namespaces").is_empty());
}

/// R-FWK-33: a thread exists after its first commit.
pub async fn a_thread_exists_after_its_first_commit(checkpointer: SharedCheckpointer) {
    let mut writer = Writer::open(&checkpointer, "thread").await;
    assert_eq!(status(&writer).await, None);
    checkpointer.release(&writer.lease);
    assert_eq!(status(&writer).await, None);
    writer.lease = checkpointer.acquire(writer.thread(), run(1)).await.expect("it is free");
    writer.steps(1).await;
    assert!(status(&writer).await.is_some());
}

/// R-FWK-33: a thread has the status of the last commit.
pub async fn a_thread_has_the_status_of_the_last_commit(checkpointer: SharedCheckpointer) {
    let mut writer = Writer::open(&checkpointer, "thread").await;
    let statuses = [ThreadStatus::Busy, ThreadStatus::Interrupted, ThreadStatus::Error, ThreadStatus::Idle];
    for expected in statuses {
        let mut commit = writer.build_commit(json!({ "count": 1 }));
        commit.status = Some(expected);
        writer.send(commit).await;
        assert_eq!(status(&writer).await, Some(expected));
    }
    writer.set_status(ThreadStatus::Error).await;
    assert_eq!(status(&writer).await, Some(ThreadStatus::Error));
}

/// R-FWK-33: a commit without a status does not change it, and neither does a release.
pub async fn a_commit_without_a_status_leaves_it(checkpointer: SharedCheckpointer) {
    let mut writer = Writer::open(&checkpointer, "thread").await;
    let saved = writer.step(json!({ "count": 1 })).await;
    writer.set_status(ThreadStatus::Interrupted).await;
    writer.steps(1).await;
    writer.commit_entry(saved, 1, TaskEntry::Skipped).await;
    writer.subgraph("child").steps(1).await;
    assert_eq!(status(&writer).await, Some(ThreadStatus::Interrupted));
    checkpointer.release(&writer.lease);
    assert_eq!(status(&writer).await, Some(ThreadStatus::Interrupted));
}

/// R-FWK-33, R-REF-67: deleting a thread removes its checkpoints, entries and status in all graphs.
pub async fn deleting_a_thread_removes_all_of_it(checkpointer: SharedCheckpointer) {
    let mut writer = Writer::open(&checkpointer, "thread").await;
    let saved = writer.steps(3).await;
    writer.commit_entry(saved[2], 1, TaskEntry::Skipped).await;
    let mut subgraph = writer.subgraph("child");
    subgraph.steps(3).await;
    checkpointer.release(&writer.lease);
    checkpointer.delete_thread(writer.thread()).await.expect("no run holds the lease");
    for writer in [&writer, &subgraph] {
        for at in [CheckpointSelector::Latest, CheckpointSelector::Id(saved[0])] {
            assert!(writer.find(at).await.expect("loading works").is_none());
        }
        assert!(writer.history(&HistoryQuery::default()).await.is_empty());
    }
    assert_eq!(status(&writer).await, None);
    assert!(checkpointer.namespaces(writer.thread()).await.expect("failed to list namespaces").is_empty());
}

/// R-FWK-33: deleting a thread leaves the others.
pub async fn deleting_a_thread_leaves_the_others(checkpointer: SharedCheckpointer) {
    let mut writers = Vec::new();
    for name in ["thread", "thread2", "threa", "Thread"] {
        let mut writer = Writer::open(&checkpointer, name).await;
        writer.steps(3).await;
        checkpointer.release(&writer.lease);
        writers.push(writer);
    }
    checkpointer.delete_thread(&"thread".into()).await.expect("no run holds the lease");
    for writer in &writers[1..] {
        assert_eq!(writer.stored(CheckpointSelector::Latest).await, writer.values());
    }
}

/// R-FWK-33: deleting a thread that does not exist is no error.
pub async fn deleting_an_unknown_thread_is_no_error(checkpointer: SharedCheckpointer) {
    checkpointer.delete_thread(&"nobody".into()).await.expect("there is nothing to do");
}

/// R-FWK-33: a thread is not deleted while a run holds its lease.
pub async fn a_thread_is_not_deleted_while_a_run_moves_it(checkpointer: SharedCheckpointer) {
    let mut writer = Writer::open(&checkpointer, "thread").await;
    writer.steps(2).await;
    let error = checkpointer.delete_thread(writer.thread()).await.expect_err("a run holds the lease");
    assert_eq!(error.code(), ErrorCode::ThreadBusy);
    writer.steps(1).await;
    assert_eq!(writer.stored(CheckpointSelector::Latest).await, writer.values());
    let thread = writer.thread().clone();
    writer.close();
    checkpointer.delete_thread(&thread).await.expect("no run holds the lease any more");
}

/// R-FWK-33: a deleted thread can be created again, with the same ids.
pub async fn a_deleted_thread_can_be_created_again(checkpointer: SharedCheckpointer) {
    let mut writer = Writer::open(&checkpointer, "thread").await;
    writer.step(json!({ "title": "old", "log": ["old"] })).await;
    writer.commit_entry(id(1), 1, TaskEntry::Skipped).await;
    checkpointer.release(&writer.lease);
    checkpointer.delete_thread(writer.thread()).await.expect("no run holds the lease");
    let mut anew = Writer::open(&checkpointer, "thread").await;
    anew.step(json!({ "log": ["new"] })).await;
    assert_eq!(anew.stored(CheckpointSelector::Latest).await, anew.values());
    assert!(anew.loaded(CheckpointSelector::Latest).await.pending.is_empty());
    assert_eq!(anew.history_ids(&HistoryQuery::default()).await, [1]);
}

/// R-FWK-33: threads are listed in the byte order of their ids.
pub async fn threads_are_listed_byte_by_byte(checkpointer: SharedCheckpointer) {
    let mut expected: Vec<ThreadId> =
        ["b", "a", "B", "a:1", "a_1", "a-1", "a.1", "10", "9", "aa"].map(Into::into).into();
    for thread in &expected {
        let mut writer = Writer::open(&checkpointer, thread.as_str()).await;
        writer.steps(2).await;
        writer.subgraph("child").steps(1).await;
        writer.close();
    }
    expected.sort();
    assert_eq!(listed(&checkpointer, None, None).await, expected);
}

/// R-FWK-33: a list of threads starts after an id, which need not exist, and ends at a limit.
pub async fn threads_are_listed_page_by_page(checkpointer: SharedCheckpointer) {
    for name in ["a", "c", "e", "g"] {
        Writer::open(&checkpointer, name).await.steps(1).await;
    }
    assert_eq!(listed(&checkpointer, None, Some(2)).await, ["a", "c"].map(Into::into));
    assert_eq!(listed(&checkpointer, Some("c"), Some(1)).await, ["e".into()]);
    assert_eq!(listed(&checkpointer, Some("d"), None).await, ["e", "g"].map(Into::into));
    assert_eq!(listed(&checkpointer, Some("g"), None).await, []);
    assert_eq!(listed(&checkpointer, None, Some(0)).await, []);
    assert_eq!(listed(&checkpointer, None, Some(usize::MAX)).await.len(), 4);
}

/// R-FWK-33: a thread is listed from its first commit until it is deleted.
pub async fn the_threads_that_are_listed_exist(checkpointer: SharedCheckpointer) {
    assert_eq!(listed(&checkpointer, None, None).await, []);
    let mut writer = Writer::open(&checkpointer, "saved").await;
    Writer::open(&checkpointer, "taken").await.close();
    assert_eq!(listed(&checkpointer, None, None).await, []);
    Writer::open(&checkpointer, "told").await.set_status(ThreadStatus::Error).await;
    writer.steps(3).await;
    checkpointer.copy_thread(writer.thread(), &"copy".into()).await.expect("the target is free");
    let retention = Retention::keep_last(0);
    checkpointer.prune(writer.thread(), &retention).await.expect("pruning works");
    assert_eq!(listed(&checkpointer, None, None).await, ["copy", "saved", "told"].map(Into::into));
    checkpointer.delete_thread(&"copy".into()).await.expect("no run holds the lease");
    assert_eq!(listed(&checkpointer, None, None).await, ["saved", "told"].map(Into::into));
    assert_eq!(checkpointer.stats().await.expect("counting works").threads, 2);
}

#[doc(hidden)]
#[macro_export]
macro_rules! checkpointer_threads {
    ($open:expr, $drive:expr) => {
        mod threads {
            #[allow(unused_imports, reason = "the constructor may be in any module")]
            use super::*;
            use $crate::testing::checkpointer::{check, threads as checks};

            /// R-FWK-33: threads with equal checkpoint ids are independent.
            #[test]
            fn threads_are_isolated() {
                check($open, $drive, checks::threads_are_isolated);
            }

            /// R-FWK-34: graphs on one thread, with equal checkpoint ids, are independent.
            #[test]
            fn namespaces_are_isolated() {
                check($open, $drive, checks::namespaces_are_isolated);
            }

            /// R-FWK-33: the graphs that have checkpoints on a thread are listed, and only those.
            #[test]
            fn namespaces_are_listed() {
                check($open, $drive, checks::namespaces_are_listed);
            }

            /// R-FWK-33: a thread exists after its first commit.
            #[test]
            fn a_thread_exists_after_its_first_commit() {
                check($open, $drive, checks::a_thread_exists_after_its_first_commit);
            }

            /// R-FWK-33: a thread has the status of the last commit.
            #[test]
            fn a_thread_has_the_status_of_the_last_commit() {
                check($open, $drive, checks::a_thread_has_the_status_of_the_last_commit);
            }

            /// R-FWK-33: a commit without a status does not change it, and neither does a release.
            #[test]
            fn a_commit_without_a_status_leaves_it() {
                check($open, $drive, checks::a_commit_without_a_status_leaves_it);
            }

            /// R-FWK-33, R-REF-67: deleting a thread removes its checkpoints, entries and status in all graphs.
            #[test]
            fn deleting_a_thread_removes_all_of_it() {
                check($open, $drive, checks::deleting_a_thread_removes_all_of_it);
            }

            /// R-FWK-33: deleting a thread leaves the others.
            #[test]
            fn deleting_a_thread_leaves_the_others() {
                check($open, $drive, checks::deleting_a_thread_leaves_the_others);
            }

            /// R-FWK-33: deleting a thread that does not exist is no error.
            #[test]
            fn deleting_an_unknown_thread_is_no_error() {
                check($open, $drive, checks::deleting_an_unknown_thread_is_no_error);
            }

            /// R-FWK-33: a thread is not deleted while a run holds its lease.
            #[test]
            fn a_thread_is_not_deleted_while_a_run_moves_it() {
                check($open, $drive, checks::a_thread_is_not_deleted_while_a_run_moves_it);
            }

            /// R-FWK-33: a deleted thread can be created again, with the same ids.
            #[test]
            fn a_deleted_thread_can_be_created_again() {
                check($open, $drive, checks::a_deleted_thread_can_be_created_again);
            }

            /// R-FWK-33: threads are listed in the byte order of their ids.
            #[test]
            fn threads_are_listed_byte_by_byte() {
                check($open, $drive, checks::threads_are_listed_byte_by_byte);
            }

            /// R-FWK-33: a list of threads starts after an id, which need not exist, and ends at a limit.
            #[test]
            fn threads_are_listed_page_by_page() {
                check($open, $drive, checks::threads_are_listed_page_by_page);
            }

            /// R-FWK-33: a thread is listed from its first commit until it is deleted.
            #[test]
            fn the_threads_that_are_listed_exist() {
                check($open, $drive, checks::the_threads_that_are_listed_exist);
            }
        }
    };
}
