//! Lineage: parents, forks, and the latest checkpoint.

use serde_json::json;

use super::writer::{Writer, id};
use crate::error::ErrorCode;
use crate::port::{CheckpointSelector, Commit, HistoryQuery, SharedCheckpointer};

/// R-FWK-34: each checkpoint names its parent, the first none.
pub async fn each_checkpoint_names_its_parent(checkpointer: SharedCheckpointer) {
    let mut writer = Writer::open(&checkpointer, "thread").await;
    let mut parent = None;
    for _ in 0..5 {
        let saved = writer.step(json!({ "count": 1 })).await;
        assert_eq!(writer.loaded(CheckpointSelector::Id(saved)).await.checkpoint.parent, parent);
        parent = Some(saved);
    }
}

/// R-FWK-33: the newest is the last one saved, even with descending ids.
pub async fn the_newest_is_the_last_saved_with_descending_ids(checkpointer: SharedCheckpointer) {
    let mut writer = Writer::open(&checkpointer, "thread").await;
    for number in [500, 400, 450, 1, 2, 499] {
        writer.next_id = number;
        writer.step(json!({ "count": 1 })).await;
        assert_eq!(writer.loaded(CheckpointSelector::Latest).await.checkpoint.id, id(number));
        assert_eq!(writer.stored(CheckpointSelector::Latest).await, writer.values());
    }
    assert_eq!(writer.history_ids(&HistoryQuery::default()).await, [499, 2, 1, 450, 400, 500]);
    let before = HistoryQuery { before: Some(id(450)), ..Default::default() };
    assert_eq!(writer.history_ids(&before).await, [400, 500]);
}

/// R-FWK-33: the newest is the last one saved, even if the clock goes back.
pub async fn the_newest_is_the_last_saved_with_descending_times(checkpointer: SharedCheckpointer) {
    let mut writer = Writer::open(&checkpointer, "thread").await;
    for time in [500, 400, -1, 450] {
        writer.time = time;
        let saved = writer.step(json!({ "count": 1 })).await;
        assert_eq!(writer.loaded(CheckpointSelector::Latest).await.checkpoint.id, saved);
    }
    assert_eq!(writer.history_ids(&HistoryQuery::default()).await, [4, 3, 2, 1]);
}

/// R-FWK-34: a fork builds on the values of its parent and is the newest.
pub async fn a_fork_builds_on_its_parent(checkpointer: SharedCheckpointer) {
    let mut writer = Writer::open(&checkpointer, "thread").await;
    let mut ids = Vec::new();
    for index in 0..10 {
        ids.push(writer.step(json!({ "log": [index], "count": 1 })).await);
    }
    let mut fork = writer.fork(ids[3]).await;
    let saved = fork.step(json!({ "log": ["fork"] })).await;
    assert_eq!(fork.values()["log"], json!([0, 1, 2, 3, "fork"]));
    let loaded = fork.loaded(CheckpointSelector::Latest).await;
    assert_eq!((loaded.checkpoint.id, loaded.checkpoint.parent), (saved, Some(ids[3])));
    assert_eq!(fork.stored(CheckpointSelector::Latest).await, fork.values());
}

/// R-FWK-34: a fork does not change the branch it leaves.
pub async fn a_fork_leaves_the_other_branch_as_it_was(checkpointer: SharedCheckpointer) {
    let mut writer = Writer::open(&checkpointer, "thread").await;
    let mut expected = Vec::new();
    for index in 0..40 {
        let saved = writer.step(json!({ "log": [index], "notes": { "last": index } })).await;
        expected.push((saved, writer.values()));
    }
    let mut fork = writer.fork(expected[17].0).await;
    for index in 0..40 {
        fork.step(json!({ "log": ["fork", index], "notes": { "fork": index } })).await;
        assert_eq!(fork.stored(CheckpointSelector::Latest).await, fork.values());
    }
    for (saved, values) in expected {
        assert_eq!(writer.stored(CheckpointSelector::Id(saved)).await, values);
    }
}

/// R-FWK-34: two forks of one checkpoint, written alternately, are independent.
pub async fn two_forks_of_one_checkpoint_stay_apart(checkpointer: SharedCheckpointer) {
    let mut writer = Writer::open(&checkpointer, "thread").await;
    let start = writer.step(json!({ "log": ["start"] })).await;
    let mut left = writer.fork(start).await;
    let mut right = Writer { next_id: 5_000, ..writer.fork(start).await };
    for index in 0..30 {
        left.step(json!({ "log": [format!("left {index}")] })).await;
        right.step(json!({ "log": [format!("right {index}")], "count": 1 })).await;
    }
    let heads = (left.latest.expect("it has steps"), right.latest.expect("it has steps"));
    assert_eq!(left.stored(CheckpointSelector::Id(heads.0)).await, left.values());
    assert_eq!(right.stored(CheckpointSelector::Id(heads.1)).await, right.values());
    assert_eq!(right.stored(CheckpointSelector::Latest).await, right.values());
}

/// R-FWK-34: an older branch can be continued, and is the newest again.
pub async fn an_older_branch_can_be_continued(checkpointer: SharedCheckpointer) {
    let mut writer = Writer::open(&checkpointer, "thread").await;
    let ids = writer.steps(4).await;
    writer.fork(ids[1]).await.step(json!({ "title": "fork" })).await;
    writer.step(json!({ "log": ["on"] })).await;
    assert_eq!(writer.stored(CheckpointSelector::Latest).await, writer.values());
    assert_eq!(writer.history_ids(&HistoryQuery::default()).await, [5, 1_005, 4, 3, 2, 1]);
}

/// R-FWK-34: a fork of a fork builds on it.
pub async fn a_fork_of_a_fork_builds_on_it(checkpointer: SharedCheckpointer) {
    let mut writer = Writer::open(&checkpointer, "thread").await;
    for depth in 0..5 {
        for index in 0..7 {
            writer.step(json!({ "log": [format!("{depth}.{index}")] })).await;
        }
        let newest = writer.loaded(CheckpointSelector::Latest).await.checkpoint;
        let parent = newest.parent.expect("it is not the first");
        writer = writer.fork(parent).await;
    }
    writer.step(json!({ "log": ["end"] })).await;
    assert_eq!(writer.values()["log"].as_array().map(Vec::len), Some(31));
    assert_eq!(writer.stored(CheckpointSelector::Latest).await, writer.values());
}

/// R-FWK-49: in one transaction, too, a checkpoint may build on any earlier one.
pub async fn forks_in_one_transaction_build_on_their_parents(checkpointer: SharedCheckpointer) {
    let draft = |writer: &mut Writer, update| {
        let commit = writer.build_commit(update);
        writer.latest = commit.checkpoint.as_ref().map(|checkpoint| checkpoint.id);
        (writer.next_id, writer.step) = (writer.next_id + 1, writer.step + 1);
        (commit, writer.latest.expect("the commit has a checkpoint"), writer.values())
    };
    let mut writer = Writer::open(&checkpointer, "thread").await;
    writer.step(json!({ "log": ["saved"] })).await;
    let (mut drafts, mut lines) = (Vec::new(), vec![writer.clone()]);
    for index in 0..30 {
        if index % 4 == 0 {
            lines.push(Writer { next_id: 100 * (index + 1), ..lines[lines.len() / 2].clone() });
        }
        let line = index as usize % lines.len();
        drafts.push(draft(&mut lines[line], json!({ "log": [index as u64], "notes": { "n": index as u64 } })));
    }
    let commits = drafts.iter().map(|(commit, ..)| commit.clone()).collect();
    let all = Commit { subgraph_commits: commits, ..writer.entries_commit(Vec::new(), None) };
    checkpointer.commit(&all).await.expect("a valid commit is accepted");
    for (_, id, values) in &drafts {
        assert_eq!(writer.stored(CheckpointSelector::Id(*id)).await, *values);
    }
    let listed = writer.history_ids(&HistoryQuery::default()).await;
    let saved = drafts.iter().rev().map(|(_, id, _)| id.bits()).chain([1]);
    assert_eq!(listed, saved.collect::<Vec<_>>());
}

/// R-FWK-33: an unknown parent is rejected.
pub async fn an_unknown_parent_is_rejected(checkpointer: SharedCheckpointer) {
    let mut writer = Writer::open(&checkpointer, "thread").await;
    writer.steps(2).await;
    writer.latest = Some(id(99));
    let commit = writer.build_commit(json!({ "count": 1 }));
    let error = checkpointer.commit(&commit).await.expect_err("the parent is unknown");
    assert_eq!(error.code(), ErrorCode::NotFound);
    assert_eq!(writer.history_ids(&HistoryQuery::default()).await, [2, 1]);
}

/// R-FWK-33: a parent of another thread or graph is rejected.
pub async fn a_parent_from_another_history_is_rejected(checkpointer: SharedCheckpointer) {
    let mut writer = Writer::open(&checkpointer, "thread").await;
    writer.steps(2).await;
    let mut subgraph = writer.subgraph("child");
    subgraph.latest = writer.latest;
    let commit = subgraph.build_commit(json!({ "count": 1 }));
    assert_eq!(checkpointer.commit(&commit).await.expect_err("it is the parent's graph").code(), ErrorCode::NotFound);
    let mut other = Writer::open(&checkpointer, "other").await;
    other.latest = writer.latest;
    let commit = other.build_commit(json!({ "count": 1 }));
    assert_eq!(checkpointer.commit(&commit).await.expect_err("it is another thread").code(), ErrorCode::NotFound);
}

/// R-FWK-34: a checkpoint without a parent starts a new history, also on a thread with checkpoints.
pub async fn a_checkpoint_without_a_parent_starts_a_new_history(checkpointer: SharedCheckpointer) {
    let mut writer = Writer::open(&checkpointer, "thread").await;
    writer.step(json!({ "log": ["old"], "title": "old" })).await;
    (writer.latest, writer.state) = (None, writer.schema.initial_state());
    writer.step(json!({ "log": ["new"] })).await;
    writer.step(json!({ "log": ["newer"] })).await;
    assert_eq!(writer.values()["title"], json!(""));
    assert_eq!(writer.stored(CheckpointSelector::Latest).await, writer.values());
}

/// R-FWK-34, R-REF-61: a stored checkpoint never changes when later steps are saved.
pub async fn a_stored_checkpoint_never_changes(checkpointer: SharedCheckpointer) {
    let mut writer = Writer::open(&checkpointer, "thread").await;
    let first = writer.step(json!({ "log": ["a"], "data": [1], "notes": { "a": 1 }, "recent": [1, 2, 3] })).await;
    let before = writer.loaded(CheckpointSelector::Id(first)).await;
    let values = writer.values();
    for index in 0..50 {
        writer.step(json!({ "log": [index], "data": [index], "notes": { "a": index }, "recent": [index] })).await;
    }
    assert_eq!(super::writer::stored_values(&writer.schema, &before), values, "what was handed out");
    assert_eq!(writer.stored(CheckpointSelector::Id(first)).await, values, "what is stored");
    assert_eq!(writer.loaded(CheckpointSelector::Id(first)).await.checkpoint, before.checkpoint);
}

/// R-FWK-42: the state in a commit is not retained: the next superstep changes it in place.
pub async fn the_state_of_a_commit_is_not_retained(checkpointer: SharedCheckpointer) {
    let mut writer = Writer::open(&checkpointer, "thread").await;
    for index in 0..40 {
        writer.step(json!({ "log": [index] })).await;
        assert!(std::sync::Arc::get_mut(&mut writer.state).is_some(), "step {index}");
    }
}

#[doc(hidden)]
#[macro_export]
macro_rules! checkpointer_forks {
    ($open:expr, $drive:expr) => {
        mod forks {
            #[allow(unused_imports, reason = "the constructor may be in any module")]
            use super::*;
            use $crate::testing::checkpointer::{check, forks as checks};

            /// R-FWK-34: each checkpoint names its parent, the first none.
            #[test]
            fn each_checkpoint_names_its_parent() {
                check($open, $drive, checks::each_checkpoint_names_its_parent);
            }

            /// R-FWK-33: the newest is the last one saved, even with descending ids.
            #[test]
            fn the_newest_is_the_last_saved_with_descending_ids() {
                check($open, $drive, checks::the_newest_is_the_last_saved_with_descending_ids);
            }

            /// R-FWK-33: the newest is the last one saved, even if the clock goes back.
            #[test]
            fn the_newest_is_the_last_saved_with_descending_times() {
                check($open, $drive, checks::the_newest_is_the_last_saved_with_descending_times);
            }

            /// R-FWK-34: a fork builds on the values of its parent and is the newest.
            #[test]
            fn a_fork_builds_on_its_parent() {
                check($open, $drive, checks::a_fork_builds_on_its_parent);
            }

            /// R-FWK-34: a fork does not change the branch it leaves.
            #[test]
            fn a_fork_leaves_the_other_branch_as_it_was() {
                check($open, $drive, checks::a_fork_leaves_the_other_branch_as_it_was);
            }

            /// R-FWK-34: two forks of one checkpoint, written alternately, are independent.
            #[test]
            fn two_forks_of_one_checkpoint_stay_apart() {
                check($open, $drive, checks::two_forks_of_one_checkpoint_stay_apart);
            }

            /// R-FWK-34: an older branch can be continued, and is the newest again.
            #[test]
            fn an_older_branch_can_be_continued() {
                check($open, $drive, checks::an_older_branch_can_be_continued);
            }

            /// R-FWK-34: a fork of a fork builds on it.
            #[test]
            fn a_fork_of_a_fork_builds_on_it() {
                check($open, $drive, checks::a_fork_of_a_fork_builds_on_it);
            }

            /// R-FWK-49: in one transaction, too, a checkpoint may build on any earlier one.
            #[test]
            fn forks_in_one_transaction_build_on_their_parents() {
                check($open, $drive, checks::forks_in_one_transaction_build_on_their_parents);
            }

            /// R-FWK-33: an unknown parent is rejected.
            #[test]
            fn an_unknown_parent_is_rejected() {
                check($open, $drive, checks::an_unknown_parent_is_rejected);
            }

            /// R-FWK-33: a parent of another thread or graph is rejected.
            #[test]
            fn a_parent_from_another_history_is_rejected() {
                check($open, $drive, checks::a_parent_from_another_history_is_rejected);
            }

            /// R-FWK-34: a checkpoint without a parent starts a new history, also on a thread with checkpoints.
            #[test]
            fn a_checkpoint_without_a_parent_starts_a_new_history() {
                check($open, $drive, checks::a_checkpoint_without_a_parent_starts_a_new_history);
            }

            /// R-FWK-34, R-REF-61: a stored checkpoint never changes when later steps are saved.
            #[test]
            fn a_stored_checkpoint_never_changes() {
                check($open, $drive, checks::a_stored_checkpoint_never_changes);
            }

            /// R-FWK-42: the state in a commit is not retained: the next superstep changes it in place.
            #[test]
            fn the_state_of_a_commit_is_not_retained() {
                check($open, $drive, checks::the_state_of_a_commit_is_not_retained);
            }
        }
    };
}
