//! Atomicity: a commit is saved completely, once, or not at all.

use std::sync::Arc;

use serde_json::{Value, json};

use super::writer::{Writer, id, pending_entry};
use crate::checkpoint::TaskEntry;
use crate::port::{CheckpointSelector, Commit, HistoryQuery, Retention, SharedCheckpointer, ThreadStatus};
use crate::value::AnyValue;

async fn start_writer(checkpointer: &SharedCheckpointer) -> Writer {
    let mut writer = Writer::open(checkpointer, "thread").await;
    writer.step(json!({ "log": ["a"] })).await;
    writer.set_status(ThreadStatus::Interrupted).await;
    writer
}

/// Returns everything that the checkpointer reports about a thread.
async fn thread_contents(writer: &Writer) -> Value {
    let history = writer.history(&HistoryQuery::default()).await;
    let rows: Vec<Value> = history
        .iter()
        .map(|loaded| {
            let values = super::writer::stored_values(&writer.schema, loaded);
            json!([*loaded.checkpoint, values, loaded.pending])
        })
        .collect();
    let status = writer.checkpointer.status(writer.thread()).await.expect("failed to read the status");
    let namespaces = writer.checkpointer.namespaces(writer.thread()).await.expect("failed to list namespaces");
    json!([rows, status, namespaces])
}

async fn is_rejected_and_changes_nothing(writer: &Writer, commit: &Commit) {
    let before = thread_contents(writer).await;
    writer.checkpointer.commit(commit).await.expect_err("one part of it is bad");
    assert_eq!(thread_contents(writer).await, before);
}

/// R-FWK-33: a checkpoint with an entry for an unknown one is not saved.
pub async fn a_checkpoint_with_a_bad_entry_is_not_saved(checkpointer: SharedCheckpointer) {
    let mut writer = start_writer(&checkpointer).await;
    let mut commit = writer.clone().build_commit(json!({ "log": ["b"] }));
    commit.status = Some(ThreadStatus::Busy);
    commit.pending = vec![pending_entry(id(2), 1, TaskEntry::Skipped), pending_entry(id(9), 1, TaskEntry::Skipped)];
    is_rejected_and_changes_nothing(&writer, &commit).await;
    writer.step(json!({ "log": ["c"] })).await;
    assert_eq!(writer.stored(CheckpointSelector::Latest).await["log"], json!(["a", "c"]));
}

/// R-FWK-33: an entry in the same commit as a checkpoint with an unknown parent is not saved.
pub async fn an_entry_with_a_bad_checkpoint_is_not_saved(checkpointer: SharedCheckpointer) {
    let writer = start_writer(&checkpointer).await;
    let mut orphan = Writer { latest: Some(id(77)), ..writer.clone() };
    let mut commit = orphan.build_commit(json!({ "log": ["b"] }));
    commit.status = Some(ThreadStatus::Error);
    commit.pending = vec![pending_entry(id(1), 1, TaskEntry::Skipped)];
    is_rejected_and_changes_nothing(&writer, &commit).await;
}

/// R-FWK-33: of several entries with an invalid one among them none is saved.
pub async fn entries_with_a_bad_one_among_them_are_not_saved(checkpointer: SharedCheckpointer) {
    let writer = start_writer(&checkpointer).await;
    let entries = [1, 9, 1].map(|number| pending_entry(id(number), 1, TaskEntry::Skipped)).to_vec();
    let commit = writer.entries_commit(entries, Some(ThreadStatus::Error));
    is_rejected_and_changes_nothing(&writer, &commit).await;
}

/// R-FWK-33: a commit with an old lease leaves nothing behind.
pub async fn a_commit_of_an_old_lease_leaves_nothing(checkpointer: SharedCheckpointer) {
    let writer = start_writer(&checkpointer).await;
    let mut commit = writer.clone().build_commit(json!({ "log": ["b"] }));
    commit.lease.fence -= 1;
    commit.pending = vec![pending_entry(id(1), 1, TaskEntry::Skipped)];
    is_rejected_and_changes_nothing(&writer, &commit).await;
}

/// R-FWK-33: a rejected first commit leaves no thread and no namespace.
pub async fn a_rejected_first_commit_leaves_no_thread(checkpointer: SharedCheckpointer) {
    let mut writer = Writer::open(&checkpointer, "thread").await;
    let mut commit = writer.build_commit(json!({ "count": 1 }));
    commit.pending = vec![pending_entry(id(9), 1, TaskEntry::Skipped)];
    checkpointer.commit(&commit).await.expect_err("the entry is bad");
    assert!(writer.find(CheckpointSelector::Latest).await.expect("loading works").is_none());
    assert_eq!(checkpointer.status(writer.thread()).await.expect("failed to read the status"), None);
    assert!(checkpointer.namespaces(writer.thread()).await.expect("failed to list namespaces").is_empty());
}

/// R-FWK-33: a repeated commit changes nothing.
pub async fn a_commit_that_is_sent_again_changes_nothing(checkpointer: SharedCheckpointer) {
    let mut writer = start_writer(&checkpointer).await;
    let mut commit = writer.build_commit(json!({ "log": ["b"], "title": "t" }));
    commit.pending = vec![pending_entry(id(2), 1, TaskEntry::Skipped)];
    checkpointer.commit(&commit).await.expect("a valid commit is accepted");
    let before = thread_contents(&writer).await;
    for _ in 0..3 {
        checkpointer.commit(&commit).await.expect("a repeated commit is accepted");
        assert_eq!(thread_contents(&writer).await, before);
    }
}

/// R-FWK-33: a commit that is built again from equal parts changes nothing.
pub async fn an_equal_commit_changes_nothing(checkpointer: SharedCheckpointer) {
    let mut writer = Writer::open(&checkpointer, "thread").await;
    // Long enough that the checkpointer has stored full values in place of changes at some steps.
    for index in 0..70 {
        let mut repeat = writer.clone();
        writer.step(json!({ "log": [index], "recent": [index] })).await;
        let equal = repeat.build_commit(json!({ "log": [index], "recent": [index] }));
        checkpointer.commit(&equal).await.expect("an equal commit is accepted");
    }
    assert_eq!(writer.history_ids(&HistoryQuery::default()).await.len(), 70);
    assert_eq!(writer.stored(CheckpointSelector::Latest).await, writer.values());
}

/// R-FWK-33: a commit that is repeated after later ones does not become the newest.
pub async fn an_old_commit_sent_again_is_not_the_newest(checkpointer: SharedCheckpointer) {
    let mut writer = start_writer(&checkpointer).await;
    let mut commit = writer.build_commit(json!({ "log": ["b"] }));
    commit.status = Some(ThreadStatus::Busy);
    checkpointer.commit(&commit).await.expect("a valid commit is accepted");
    (writer.latest, writer.next_id) = (Some(id(2)), 3);
    writer.step(json!({ "log": ["c"] })).await;
    writer.set_status(ThreadStatus::Idle).await;
    let before = thread_contents(&writer).await;
    checkpointer.commit(&commit).await.expect("a repeated commit is accepted");
    assert_eq!(thread_contents(&writer).await, before);
}

/// R-FWK-33, R-FWK-43: a commit that is repeated after its parent was pruned changes nothing.
pub async fn a_commit_sent_again_outlives_its_parent(checkpointer: SharedCheckpointer) {
    let mut writer = start_writer(&checkpointer).await;
    let commit = writer.build_commit(json!({ "log": ["b"] }));
    checkpointer.commit(&commit).await.expect("a valid commit is accepted");
    let retention = Retention { keep_last: 1, ..Retention::default() };
    let pruned = checkpointer.prune(writer.thread(), &retention).await.expect("pruning works");
    assert!(pruned.checkpoints > 0, "its parent is still there, so nothing is shown");
    let before = thread_contents(&writer).await;
    checkpointer.commit(&commit).await.expect("a repeated commit is accepted");
    assert_eq!(thread_contents(&writer).await, before);
}

/// R-FWK-33: another checkpoint under an existing id is rejected.
pub async fn another_checkpoint_under_the_same_id_is_rejected(checkpointer: SharedCheckpointer) {
    let writer = start_writer(&checkpointer).await;
    let mut other =
        Writer { latest: None, next_id: 1, step: 0, state: writer.schema.initial_state(), ..writer.clone() };
    let mut commit = other.build_commit(json!({ "log": ["a"] }));
    commit.checkpoint = Some(Arc::new(crate::checkpoint::Checkpoint { graph: "other".into(), ..other.checkpoint() }));
    is_rejected_and_changes_nothing(&writer, &commit).await;
}

/// R-FWK-33: other values under an existing id are rejected.
pub async fn other_values_under_the_same_id_are_rejected(checkpointer: SharedCheckpointer) {
    let mut writer = start_writer(&checkpointer).await;
    let mut repeat = writer.clone();
    let mut fewer = writer.clone();
    writer.step(json!({ "log": ["b"] })).await;
    let changed = repeat.build_commit(json!({ "log": ["other"] }));
    is_rejected_and_changes_nothing(&writer, &changed).await;
    let mut same = fewer.build_commit(json!({ "log": ["b"] }));
    same.changes.clear();
    is_rejected_and_changes_nothing(&writer, &same).await;
    same.changes.push(crate::checkpoint::FieldChange {
        field: "title".into(),
        change: crate::change::Change::Set,
        delta: AnyValue::json(json!("b")),
    });
    is_rejected_and_changes_nothing(&writer, &same).await;
}

/// Returns a commit of a graph with two commits of a subgraph inside it.
fn nested(writer: &mut Writer) -> (Commit, Writer) {
    let mut subgraph = writer.subgraph("inner:1");
    let first = subgraph.build_commit(json!({ "log": ["x"] }));
    (subgraph.latest, subgraph.next_id) = (Some(id(1)), 2);
    let mut second = subgraph.build_commit(json!({ "log": ["y"] }));
    second.state = None;
    second.pending = vec![pending_entry(id(2), 1, TaskEntry::Skipped)];
    let mut commit = writer.build_commit(json!({ "log": ["b"] }));
    commit.status = Some(ThreadStatus::Idle);
    commit.subgraph_commits = vec![first, second];
    (commit, subgraph)
}

/// R-FWK-33: commits of subgraphs are saved in the same transaction, in order, and once.
pub async fn subgraph_commits_are_atomic(checkpointer: SharedCheckpointer) {
    let mut writer = start_writer(&checkpointer).await;
    let (commit, subgraph) = nested(&mut writer);
    for _ in 0..2 {
        checkpointer.commit(&commit).await.expect("a valid commit is accepted, also when it is repeated");
        assert_eq!(writer.stored(CheckpointSelector::Latest).await["log"], json!(["a", "b"]));
        assert_eq!(subgraph.stored(CheckpointSelector::Latest).await["log"], json!(["x", "y"]));
        assert_eq!(subgraph.stored(CheckpointSelector::Id(id(1))).await["log"], json!(["x"]));
        assert_eq!(subgraph.history_ids(&HistoryQuery::default()).await, [2, 1]);
        assert_eq!(subgraph.loaded(CheckpointSelector::Latest).await.pending.len(), 1);
    }
    assert_eq!(
        checkpointer.status(writer.thread()).await.expect("failed to read the status"),
        Some(ThreadStatus::Idle)
    );
}

/// R-FWK-33: if one part is invalid, in the commit or in a nested one, nothing is saved of either.
pub async fn an_invalid_nested_part_rejects_the_full_commit(checkpointer: SharedCheckpointer) {
    let writer = start_writer(&checkpointer).await;
    let (mut commit, subgraph) = nested(&mut writer.clone());
    commit.subgraph_commits[1].pending = vec![pending_entry(id(9), 1, TaskEntry::Skipped)];
    is_rejected_and_changes_nothing(&writer, &commit).await;
    let (mut commit, _) = nested(&mut writer.clone());
    commit.pending = vec![pending_entry(id(9), 1, TaskEntry::Skipped)];
    is_rejected_and_changes_nothing(&writer, &commit).await;
    assert!(subgraph.find(CheckpointSelector::Latest).await.expect("loading works").is_none());
}

/// R-FWK-33, R-FWK-42: commits from the write-behind queue have no state, and are read back like those that have
/// one.
pub async fn commits_without_a_state_are_accepted(checkpointer: SharedCheckpointer) {
    let mut writer = Writer::open(&checkpointer, "thread").await;
    let mut expected = Vec::new();
    for index in 0..100_u128 {
        let mut commit =
            writer.build_commit(json!({ "log": [index.to_string()], "notes": { "n": index.to_string() } }));
        commit.state = None;
        checkpointer.commit(&commit).await.expect("a commit without a state is accepted");
        expected.push(writer.values());
        (writer.latest, writer.next_id) = (Some(id(index + 1)), index + 2);
    }
    for (index, expected) in expected.iter().enumerate() {
        assert_eq!(writer.stored(CheckpointSelector::Id(id(index as u128 + 1))).await, *expected);
    }
}

#[doc(hidden)]
#[macro_export]
macro_rules! checkpointer_atomic {
    ($open:expr, $drive:expr) => {
        mod atomic {
            #[allow(unused_imports, reason = "the constructor may be in any module")]
            use super::*;
            use $crate::testing::checkpointer::{atomic as checks, check};

            /// R-FWK-33: a checkpoint with an entry for an unknown one is not saved.
            #[test]
            fn a_checkpoint_with_a_bad_entry_is_not_saved() {
                check($open, $drive, checks::a_checkpoint_with_a_bad_entry_is_not_saved);
            }

            /// R-FWK-33: an entry in the same commit as a checkpoint with an unknown parent is not saved.
            #[test]
            fn an_entry_with_a_bad_checkpoint_is_not_saved() {
                check($open, $drive, checks::an_entry_with_a_bad_checkpoint_is_not_saved);
            }

            /// R-FWK-33: of several entries with an invalid one among them none is saved.
            #[test]
            fn entries_with_a_bad_one_among_them_are_not_saved() {
                check($open, $drive, checks::entries_with_a_bad_one_among_them_are_not_saved);
            }

            /// R-FWK-33: a commit with an old lease leaves nothing behind.
            #[test]
            fn a_commit_of_an_old_lease_leaves_nothing() {
                check($open, $drive, checks::a_commit_of_an_old_lease_leaves_nothing);
            }

            /// R-FWK-33: a rejected first commit leaves no thread and no namespace.
            #[test]
            fn a_rejected_first_commit_leaves_no_thread() {
                check($open, $drive, checks::a_rejected_first_commit_leaves_no_thread);
            }

            /// R-FWK-33: a repeated commit changes nothing.
            #[test]
            fn a_commit_that_is_sent_again_changes_nothing() {
                check($open, $drive, checks::a_commit_that_is_sent_again_changes_nothing);
            }

            /// R-FWK-33: a commit that is built again from equal parts changes nothing.
            #[test]
            fn an_equal_commit_changes_nothing() {
                check($open, $drive, checks::an_equal_commit_changes_nothing);
            }

            /// R-FWK-33, R-FWK-43: a commit that is repeated after its parent was pruned changes nothing.
            #[test]
            fn a_commit_sent_again_outlives_its_parent() {
                check($open, $drive, checks::a_commit_sent_again_outlives_its_parent);
            }

            /// R-FWK-33: a commit that is repeated after later ones does not become the newest.
            #[test]
            fn an_old_commit_sent_again_is_not_the_newest() {
                check($open, $drive, checks::an_old_commit_sent_again_is_not_the_newest);
            }

            /// R-FWK-33: another checkpoint under an existing id is rejected.
            #[test]
            fn another_checkpoint_under_the_same_id_is_rejected() {
                check($open, $drive, checks::another_checkpoint_under_the_same_id_is_rejected);
            }

            /// R-FWK-33: other values under an existing id are rejected.
            #[test]
            fn other_values_under_the_same_id_are_rejected() {
                check($open, $drive, checks::other_values_under_the_same_id_are_rejected);
            }

            /// R-FWK-33: commits of subgraphs are saved in the same transaction, in order, and once.
            #[test]
            fn subgraph_commits_are_atomic() {
                check($open, $drive, checks::subgraph_commits_are_atomic);
            }

            /// R-FWK-33: if one part is invalid, in the commit or in a nested one, nothing is saved of either.
            #[test]
            fn an_invalid_nested_part_rejects_the_full_commit() {
                check($open, $drive, checks::an_invalid_nested_part_rejects_the_full_commit);
            }

            /// R-FWK-33, R-FWK-42: commits from the write-behind queue have no state, and are read back like those
            /// that have one.
            #[test]
            fn commits_without_a_state_are_accepted() {
                check($open, $drive, checks::commits_without_a_state_are_accepted);
            }
        }
    };
}
