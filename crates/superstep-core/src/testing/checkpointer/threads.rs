//! Threads and their graphs: independent of each other, with a status, until they are deleted.

use serde_json::json;

use super::writer::{Writer, id, pending_entry, run};
use crate::checkpoint::{CheckpointNamespace, TaskEntry};
use crate::error::ErrorCode;
use crate::id::ThreadId;
use crate::port::{CheckpointSelector, HistoryQuery, Retention, SharedCheckpointer, ThreadStatus, ThreadsQuery};

async fn status(writer: &Writer) -> Option<ThreadStatus> {
    writer.store.status(writer.thread()).await.expect("failed to read the status")
}

async fn listed(store: &SharedCheckpointer, after: Option<&str>, limit: Option<usize>) -> Vec<ThreadId> {
    let query = ThreadsQuery { after: after.map(Into::into), limit };
    store.threads(&query).await.expect("listing works")
}

/// R-FWK-33: threads with equal checkpoint ids are independent.
pub async fn threads_are_isolated(store: SharedCheckpointer) {
    let mut writers = Vec::new();
    for name in ["a", "b", "ab", "a:b"] {
        writers.push(Writer::open(&store, name).await);
    }
    for step in 0..5 {
        for writer in &mut writers {
            let saved = writer.step(json!({ "log": [format!("{} {step}", writer.lease.thread)] })).await;
            writer
                .know(saved, 1, TaskEntry::Recorded { key: writer.lease.thread.to_string(), value: json!(step).into() })
                .await;
        }
    }
    for writer in &writers {
        assert_eq!(writer.stored(CheckpointSelector::Latest).await, writer.values());
        assert_eq!(writer.listed(&HistoryQuery::default()).await, [5, 4, 3, 2, 1]);
        let entry = TaskEntry::Recorded { key: writer.lease.thread.to_string(), value: json!(4).into() };
        assert_eq!(writer.loaded(CheckpointSelector::Latest).await.pending, [pending_entry(id(5), 1, entry)]);
    }
}

/// R-FWK-34: graphs on one thread, with equal checkpoint ids, are independent.
pub async fn namespaces_are_isolated(store: SharedCheckpointer) {
    let root = Writer::open(&store, "thread").await;
    let child = root.subgraph("child:1");
    let mut writers =
        [root.clone(), child.clone(), child.subgraph("inner:1"), root.subgraph("child:2"), root.subgraph("child")];
    for step in 0..5 {
        for writer in &mut writers {
            let saved = writer.step(json!({ "log": [format!("{} {step}", writer.namespace.as_str())] })).await;
            writer.know(saved, step as u128, TaskEntry::Skipped).await;
        }
    }
    for writer in &writers {
        assert_eq!(writer.stored(CheckpointSelector::Latest).await, writer.values());
        assert_eq!(writer.listed(&HistoryQuery::default()).await, [5, 4, 3, 2, 1]);
        assert_eq!(writer.loaded(CheckpointSelector::Latest).await.checkpoint.namespace, writer.namespace);
    }
}

/// R-FWK-33: the graphs that have checkpoints on a thread are listed, and only those.
pub async fn namespaces_are_listed(store: SharedCheckpointer) {
    let mut root = Writer::open(&store, "thread").await;
    assert!(store.namespaces(root.thread()).await.expect("failed to list namespaces").is_empty());
    root.steps(2).await;
    let mut expected = vec![CheckpointNamespace::root()];
    for segment in ["b:1", "a:1", "größe"] {
        let mut subgraph = root.subgraph(segment);
        subgraph.steps(1).await;
        expected.push(subgraph.namespace);
    }
    let mut listed = store.namespaces(root.thread()).await.expect("failed to list namespaces");
    listed.sort();
    expected.sort();
    assert_eq!(listed, expected);
    assert!(store.namespaces(&"nobody".into()).await.expect("failed to list namespaces").is_empty());
}

/// R-FWK-33: a thread exists after its first commit.
pub async fn a_thread_exists_after_its_first_commit(store: SharedCheckpointer) {
    let mut writer = Writer::open(&store, "thread").await;
    assert_eq!(status(&writer).await, None);
    store.release(&writer.lease);
    assert_eq!(status(&writer).await, None);
    writer.lease = store.acquire(writer.thread(), run(1)).await.expect("it is free");
    writer.steps(1).await;
    assert!(status(&writer).await.is_some());
}

/// R-FWK-33: a thread has the status of the last commit.
pub async fn a_thread_has_the_status_of_the_last_commit(store: SharedCheckpointer) {
    let mut writer = Writer::open(&store, "thread").await;
    let statuses = [ThreadStatus::Busy, ThreadStatus::Interrupted, ThreadStatus::Error, ThreadStatus::Idle];
    for expected in statuses {
        let mut commit = writer.draft(json!({ "count": 1 }));
        commit.status = Some(expected);
        writer.send(commit).await;
        assert_eq!(status(&writer).await, Some(expected));
    }
    writer.stand(ThreadStatus::Error).await;
    assert_eq!(status(&writer).await, Some(ThreadStatus::Error));
}

/// R-FWK-33: a commit without a status does not change it, and neither does a release.
pub async fn a_commit_without_a_status_leaves_it(store: SharedCheckpointer) {
    let mut writer = Writer::open(&store, "thread").await;
    let saved = writer.step(json!({ "count": 1 })).await;
    writer.stand(ThreadStatus::Interrupted).await;
    writer.steps(1).await;
    writer.know(saved, 1, TaskEntry::Skipped).await;
    writer.subgraph("child").steps(1).await;
    assert_eq!(status(&writer).await, Some(ThreadStatus::Interrupted));
    store.release(&writer.lease);
    assert_eq!(status(&writer).await, Some(ThreadStatus::Interrupted));
}

/// R-FWK-33, R-REF-67: deleting a thread removes its checkpoints, entries and status in all graphs.
pub async fn deleting_a_thread_removes_all_of_it(store: SharedCheckpointer) {
    let mut writer = Writer::open(&store, "thread").await;
    let saved = writer.steps(3).await;
    writer.know(saved[2], 1, TaskEntry::Skipped).await;
    let mut subgraph = writer.subgraph("child");
    subgraph.steps(3).await;
    store.release(&writer.lease);
    store.delete_thread(writer.thread()).await.expect("no run holds the lease");
    for writer in [&writer, &subgraph] {
        for at in [CheckpointSelector::Latest, CheckpointSelector::Id(saved[0])] {
            assert!(writer.find(at).await.expect("loading works").is_none());
        }
        assert!(writer.history(&HistoryQuery::default()).await.is_empty());
    }
    assert_eq!(status(&writer).await, None);
    assert!(store.namespaces(writer.thread()).await.expect("failed to list namespaces").is_empty());
}

/// R-FWK-33: deleting a thread leaves the others.
pub async fn deleting_a_thread_leaves_the_others(store: SharedCheckpointer) {
    let mut writers = Vec::new();
    for name in ["thread", "thread2", "threa", "Thread"] {
        let mut writer = Writer::open(&store, name).await;
        writer.steps(3).await;
        store.release(&writer.lease);
        writers.push(writer);
    }
    store.delete_thread(&"thread".into()).await.expect("no run holds the lease");
    for writer in &writers[1..] {
        assert_eq!(writer.stored(CheckpointSelector::Latest).await, writer.values());
    }
}

/// R-FWK-33: deleting a thread that does not exist is no error.
pub async fn deleting_an_unknown_thread_is_no_error(store: SharedCheckpointer) {
    store.delete_thread(&"nobody".into()).await.expect("there is nothing to do");
}

/// R-FWK-33: a thread is not deleted while a run holds its lease.
pub async fn a_thread_is_not_deleted_while_a_run_moves_it(store: SharedCheckpointer) {
    let mut writer = Writer::open(&store, "thread").await;
    writer.steps(2).await;
    let error = store.delete_thread(writer.thread()).await.expect_err("a run moves it");
    assert_eq!(error.code(), ErrorCode::ThreadBusy);
    writer.steps(1).await;
    assert_eq!(writer.stored(CheckpointSelector::Latest).await, writer.values());
    let thread = writer.thread().clone();
    writer.close();
    store.delete_thread(&thread).await.expect("no run holds the lease any more");
}

/// R-FWK-33: a deleted thread can be created again, with the same ids.
pub async fn a_deleted_thread_can_be_created_again(store: SharedCheckpointer) {
    let mut writer = Writer::open(&store, "thread").await;
    writer.step(json!({ "title": "old", "log": ["old"] })).await;
    writer.know(id(1), 1, TaskEntry::Skipped).await;
    store.release(&writer.lease);
    store.delete_thread(writer.thread()).await.expect("no run holds the lease");
    let mut anew = Writer::open(&store, "thread").await;
    anew.step(json!({ "log": ["new"] })).await;
    assert_eq!(anew.stored(CheckpointSelector::Latest).await, anew.values());
    assert!(anew.loaded(CheckpointSelector::Latest).await.pending.is_empty());
    assert_eq!(anew.listed(&HistoryQuery::default()).await, [1]);
}

/// R-FWK-33: threads are listed in the byte order of their ids.
pub async fn threads_are_listed_byte_by_byte(store: SharedCheckpointer) {
    let mut expected: Vec<ThreadId> =
        ["b", "a", "B", "a:1", "a_1", "a-1", "a.1", "10", "9", "aa"].map(Into::into).into();
    for thread in &expected {
        let mut writer = Writer::open(&store, thread.as_str()).await;
        writer.steps(2).await;
        writer.subgraph("child").steps(1).await;
        writer.close();
    }
    expected.sort();
    assert_eq!(listed(&store, None, None).await, expected);
}

/// R-FWK-33: a list of threads starts after an id, which need not exist, and ends at a limit.
pub async fn threads_are_listed_page_by_page(store: SharedCheckpointer) {
    for name in ["a", "c", "e", "g"] {
        Writer::open(&store, name).await.steps(1).await;
    }
    assert_eq!(listed(&store, None, Some(2)).await, ["a", "c"].map(Into::into));
    assert_eq!(listed(&store, Some("c"), Some(1)).await, ["e".into()]);
    assert_eq!(listed(&store, Some("d"), None).await, ["e", "g"].map(Into::into));
    assert_eq!(listed(&store, Some("g"), None).await, []);
    assert_eq!(listed(&store, None, Some(0)).await, []);
    assert_eq!(listed(&store, None, Some(usize::MAX)).await.len(), 4);
}

/// R-FWK-33: a thread is listed from its first commit until it is deleted.
pub async fn the_threads_that_are_listed_exist(store: SharedCheckpointer) {
    assert_eq!(listed(&store, None, None).await, []);
    let mut writer = Writer::open(&store, "saved").await;
    Writer::open(&store, "taken").await.close();
    assert_eq!(listed(&store, None, None).await, []);
    Writer::open(&store, "told").await.stand(ThreadStatus::Error).await;
    writer.steps(3).await;
    store.copy_thread(writer.thread(), &"copy".into()).await.expect("the target is free");
    let retention = Retention::keep_last(0);
    store.prune(writer.thread(), &retention).await.expect("pruning works");
    assert_eq!(listed(&store, None, None).await, ["copy", "saved", "told"].map(Into::into));
    store.delete_thread(&"copy".into()).await.expect("no run holds the lease");
    assert_eq!(listed(&store, None, None).await, ["saved", "told"].map(Into::into));
    assert_eq!(store.stats().await.expect("counting works").threads, 2);
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
