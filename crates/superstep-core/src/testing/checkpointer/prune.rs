//! Pruning of old checkpoints, and the statistics of a checkpointer.

use serde_json::json;

use super::pending_entries::{failed_entry, interrupt_entry, resume_entry};
use super::writer::{Writer, id, run};
use crate::checkpoint::TaskEntry;
use crate::error::ErrorCode;
use crate::port::{CheckpointSelector, CheckpointerStats, HistoryQuery, PruneReport, Retention, SharedCheckpointer};

async fn prune(writer: &Writer, keep_last: usize) -> PruneReport {
    writer.checkpointer.prune(writer.thread(), &Retention::keep_last(keep_last)).await.expect("pruning works")
}

async fn stats(checkpointer: &SharedCheckpointer) -> CheckpointerStats {
    checkpointer.stats().await.expect("counting works")
}

async fn remaining_ids(writer: &Writer) -> Vec<u128> {
    writer.history_ids(&HistoryQuery::default()).await
}

/// Creates steps that append, so that remaining checkpoints build on removed ones.
async fn writer_with_steps(checkpointer: &SharedCheckpointer, steps: usize) -> Writer {
    let mut writer = Writer::open(checkpointer, "thread").await;
    for index in 0..steps {
        writer.step(json!({ "log": [index], "notes": { format!("k{index}"): index } })).await;
    }
    writer
}

/// R-FWK-43: the newest stay, the others are removed.
pub async fn the_newest_stay(checkpointer: SharedCheckpointer) {
    let writer = writer_with_steps(&checkpointer, 30).await;
    assert_eq!(prune(&writer, 3).await.checkpoints, 27);
    assert_eq!(remaining_ids(&writer).await, [30, 29, 28]);
    assert!(writer.find(CheckpointSelector::Id(id(5))).await.expect("loading works").is_none());
}

/// R-FWK-43: pruning never damages a checkpoint that stays.
pub async fn pruning_keeps_remaining_checkpoints_complete(checkpointer: SharedCheckpointer) {
    let mut writer = Writer::open(&checkpointer, "thread").await;
    let mut expected = Vec::new();
    for index in 0..60 {
        let saved = writer.step(json!({ "log": [index], "recent": [index], "notes": { "n": index } })).await;
        expected.push((saved, writer.values()));
    }
    for count in [45, 20, 7, 1] {
        prune(&writer, count).await;
        for (saved, values) in &expected[60 - count..] {
            assert_eq!(writer.stored(CheckpointSelector::Id(*saved)).await, *values);
        }
        assert_eq!(writer.stored(CheckpointSelector::Latest).await, writer.values());
    }
}

/// R-FWK-43, R-REF-68: a thread continues after pruning like one that was not pruned.
pub async fn a_pruned_thread_continues_like_its_twin(checkpointer: SharedCheckpointer) {
    let mut writer = writer_with_steps(&checkpointer, 40).await;
    checkpointer.copy_thread(writer.thread(), &"twin".into()).await.expect("the target is free");
    let mut twin = writer.clone();
    twin.lease = checkpointer.acquire(&"twin".into(), run(2)).await.expect("no run holds the lease on the twin");
    for index in 0..40 {
        prune(&writer, 2).await;
        for writer in [&mut writer, &mut twin] {
            writer.step(json!({ "log": [format!("on {index}")], "notes": { "on": index } })).await;
        }
        assert_eq!(writer.stored(CheckpointSelector::Latest).await, twin.stored(CheckpointSelector::Latest).await);
    }
    assert_eq!(writer.stored(CheckpointSelector::Latest).await, writer.values());
}

/// R-FWK-43: each graph keeps its own newest.
pub async fn each_namespace_keeps_its_newest(checkpointer: SharedCheckpointer) {
    let writer = writer_with_steps(&checkpointer, 5).await;
    let (mut one, mut two) = (writer.subgraph("one"), writer.subgraph("two"));
    one.steps(4).await;
    two.steps(1).await;
    assert_eq!(prune(&writer, 2).await.checkpoints, 3 + 2);
    assert_eq!(
        (remaining_ids(&writer).await, remaining_ids(&one).await, remaining_ids(&two).await),
        (vec![5, 4], vec![4, 3], vec![1])
    );
}

/// R-FWK-43: the newest are those saved last, whatever their ids.
pub async fn the_newest_that_stay_are_those_saved_last(checkpointer: SharedCheckpointer) {
    let mut writer = Writer::open(&checkpointer, "thread").await;
    for number in [50, 40, 60, 10] {
        writer.next_id = number;
        writer.steps(1).await;
    }
    prune(&writer, 2).await;
    assert_eq!(remaining_ids(&writer).await, [10, 60]);
    assert_eq!(writer.stored(CheckpointSelector::Latest).await, writer.values());
}

/// R-FWK-43: a dry run reports the checkpoints it would remove and removes nothing.
pub async fn a_dry_run_removes_nothing(checkpointer: SharedCheckpointer) {
    let writer = writer_with_steps(&checkpointer, 30).await;
    let retention = Retention::keep_last(4).dry_run();
    let report = checkpointer.prune(writer.thread(), &retention).await.expect("counting works");
    assert_eq!((report.checkpoints, remaining_ids(&writer).await.len()), (26, 30));
    assert_eq!(prune(&writer, 4).await.checkpoints, report.checkpoints);
}

/// R-FWK-43: a checkpoint with an open interrupt stays until the interrupt is resumed.
pub async fn pruning_keeps_open_interrupts(checkpointer: SharedCheckpointer) {
    let writer = writer_with_steps(&checkpointer, 10).await;
    writer.commit_entry(id(3), 1, interrupt_entry(1)).await;
    writer.commit_entry(id(4), 1, interrupt_entry(2)).await;
    writer.commit_entry(id(4), 1, resume_entry(2)).await;
    prune(&writer, 2).await;
    assert_eq!(remaining_ids(&writer).await, [10, 9, 3]);
    assert_eq!(writer.loaded(CheckpointSelector::Id(id(3))).await.pending.len(), 1);
    writer.commit_entry(id(3), 1, resume_entry(1)).await;
    prune(&writer, 2).await;
    assert_eq!(remaining_ids(&writer).await, [10, 9]);
}

/// R-FWK-43, R-REF-68: an interrupted thread stays resumable, however few checkpoints stay.
pub async fn an_interrupted_thread_stays_resumable(checkpointer: SharedCheckpointer) {
    let mut writer = writer_with_steps(&checkpointer, 10).await;
    writer.commit_entry(id(10), 1, interrupt_entry(1)).await;
    writer.commit_entry(id(10), 2, failed_entry("no")).await;
    let before = writer.loaded(CheckpointSelector::Latest).await.pending;
    prune(&writer, 0).await;
    assert_eq!(remaining_ids(&writer).await, [10]);
    assert_eq!(writer.loaded(CheckpointSelector::Latest).await.pending, before);
    writer.step(json!({ "log": ["on"] })).await;
    assert_eq!(writer.stored(CheckpointSelector::Latest).await, writer.values());
}

/// R-FWK-43: results that the newest still needs stay, those of older ones do not.
pub async fn results_of_the_newest_stay(checkpointer: SharedCheckpointer) {
    let writer = writer_with_steps(&checkpointer, 10).await;
    writer.commit_entry(id(10), 1, TaskEntry::Skipped).await;
    writer.commit_entry(id(9), 1, TaskEntry::Skipped).await;
    prune(&writer, 0).await;
    assert_eq!(remaining_ids(&writer).await, [10]);
}

/// R-FWK-43: with `keep_last` 0 everything is removed, and the thread can start again.
pub async fn keep_last_zero_removes_everything(checkpointer: SharedCheckpointer) {
    let mut writer = writer_with_steps(&checkpointer, 10).await;
    assert_eq!(prune(&writer, 0).await.checkpoints, 10);
    assert!(writer.find(CheckpointSelector::Latest).await.expect("loading works").is_none());
    assert!(checkpointer.namespaces(writer.thread()).await.expect("failed to list namespaces").is_empty());
    (writer.latest, writer.state) = (None, writer.schema.initial_state());
    writer.step(json!({ "log": ["anew"] })).await;
    assert_eq!(writer.stored(CheckpointSelector::Latest).await, writer.values());
}

/// R-FWK-43: pruning a thread with no more checkpoints than `keep_last`, or none, removes nothing.
pub async fn pruning_what_is_short_removes_nothing(checkpointer: SharedCheckpointer) {
    let writer = writer_with_steps(&checkpointer, 3).await;
    assert_eq!(prune(&writer, 3).await, PruneReport::default());
    assert_eq!(prune(&writer, usize::MAX).await, PruneReport::default());
    let unknown = checkpointer.prune(&"nobody".into(), &Retention::keep_last(1)).await;
    assert_eq!(unknown.expect("there is nothing to do"), PruneReport::default());
    assert_eq!(remaining_ids(&writer).await, [3, 2, 1]);
}

/// R-FWK-43: pruning leaves other threads.
pub async fn pruning_leaves_other_threads(checkpointer: SharedCheckpointer) {
    let writer = writer_with_steps(&checkpointer, 5).await;
    let mut other = Writer::open(&checkpointer, "other").await;
    other.steps(5).await;
    prune(&writer, 1).await;
    assert_eq!(remaining_ids(&other).await, [5, 4, 3, 2, 1]);
    assert_eq!(other.stored(CheckpointSelector::Latest).await, other.values());
}

/// R-FWK-43: a removed checkpoint cannot be a parent.
pub async fn a_removed_checkpoint_cannot_be_a_parent(checkpointer: SharedCheckpointer) {
    let mut writer = writer_with_steps(&checkpointer, 5).await;
    prune(&writer, 2).await;
    assert_eq!(
        writer.loaded(CheckpointSelector::Id(id(4))).await.checkpoint.parent,
        Some(id(3)),
        "it may name a removed one"
    );
    writer.latest = Some(id(3));
    let commit = writer.build_commit(json!({ "count": 1 }));
    assert_eq!(checkpointer.commit(&commit).await.expect_err("the parent was removed").code(), ErrorCode::NotFound);
}

/// R-FWK-33: the statistics of an empty checkpointer are zero.
pub async fn stats_of_empty_checkpointer_are_zero(checkpointer: SharedCheckpointer) {
    assert_eq!(stats(&checkpointer).await, CheckpointerStats::default());
}

/// R-FWK-33: the statistics count threads and checkpoints.
pub async fn a_store_counts_threads_and_checkpoints(checkpointer: SharedCheckpointer) {
    for (index, name) in ["a", "b", "c"].into_iter().enumerate() {
        let mut writer = Writer::open(&checkpointer, name).await;
        writer.steps(index + 1).await;
        writer.subgraph("child").steps(2).await;
        writer.close();
    }
    let counted = stats(&checkpointer).await;
    assert_eq!((counted.threads, counted.checkpoints), (3, 6 + 6));
    checkpointer.delete_thread(&"b".into()).await.expect("no run holds the lease");
    let counted = stats(&checkpointer).await;
    assert_eq!((counted.threads, counted.checkpoints), (2, 4 + 4));
}

/// R-FWK-42: a thousand steps that each add one kilobyte take less than five megabytes.
pub async fn a_thousand_kilobytes_take_less_than_five_megabytes(checkpointer: SharedCheckpointer) {
    let mut writer = Writer::open(&checkpointer, "thread").await;
    for index in 0..1_000 {
        writer.step(json!({ "log": [format!("{index:1024}")] })).await;
    }
    let bytes = stats(&checkpointer).await.bytes;
    assert!(bytes < 5_000_000, "{bytes} bytes");
    assert_eq!(writer.stored(CheckpointSelector::Latest).await, writer.values());
}

#[doc(hidden)]
#[macro_export]
macro_rules! checkpointer_prune {
    ($open:expr, $drive:expr) => {
        mod prune {
            #[allow(unused_imports, reason = "the constructor may be in any module")]
            use super::*;
            use $crate::testing::checkpointer::{check, prune as checks};

            /// R-FWK-43: the newest stay, the others are removed.
            #[test]
            fn the_newest_stay() {
                check($open, $drive, checks::the_newest_stay);
            }

            /// R-FWK-43: pruning never damages a checkpoint that stays.
            #[test]
            fn pruning_keeps_remaining_checkpoints_complete() {
                check($open, $drive, checks::pruning_keeps_remaining_checkpoints_complete);
            }

            /// R-FWK-43, R-REF-68: a thread continues after pruning like one that was not pruned.
            #[test]
            fn a_pruned_thread_continues_like_its_twin() {
                check($open, $drive, checks::a_pruned_thread_continues_like_its_twin);
            }

            /// R-FWK-43: each graph keeps its own newest.
            #[test]
            fn each_namespace_keeps_its_newest() {
                check($open, $drive, checks::each_namespace_keeps_its_newest);
            }

            /// R-FWK-43: the newest are those saved last, whatever their ids.
            #[test]
            fn the_newest_that_stay_are_those_saved_last() {
                check($open, $drive, checks::the_newest_that_stay_are_those_saved_last);
            }

            /// R-FWK-43: a dry run reports the checkpoints it would remove and removes nothing.
            #[test]
            fn a_dry_run_removes_nothing() {
                check($open, $drive, checks::a_dry_run_removes_nothing);
            }

            /// R-FWK-43: a checkpoint with an open interrupt stays until the interrupt is resumed.
            #[test]
            fn pruning_keeps_open_interrupts() {
                check($open, $drive, checks::pruning_keeps_open_interrupts);
            }

            /// R-FWK-43, R-REF-68: an interrupted thread stays resumable, however few checkpoints stay.
            #[test]
            fn an_interrupted_thread_stays_resumable() {
                check($open, $drive, checks::an_interrupted_thread_stays_resumable);
            }

            /// R-FWK-43: results that the newest still needs stay, those of older ones do not.
            #[test]
            fn results_of_the_newest_stay() {
                check($open, $drive, checks::results_of_the_newest_stay);
            }

            /// R-FWK-43: with `keep_last` 0 everything is removed, and the thread can start again.
            #[test]
            fn keep_last_zero_removes_everything() {
                check($open, $drive, checks::keep_last_zero_removes_everything);
            }

            /// R-FWK-43: pruning a thread with no more checkpoints than `keep_last`, or none, removes nothing.
            #[test]
            fn pruning_what_is_short_removes_nothing() {
                check($open, $drive, checks::pruning_what_is_short_removes_nothing);
            }

            /// R-FWK-43: pruning leaves other threads.
            #[test]
            fn pruning_leaves_other_threads() {
                check($open, $drive, checks::pruning_leaves_other_threads);
            }

            /// R-FWK-43: a removed checkpoint cannot be a parent.
            #[test]
            fn a_removed_checkpoint_cannot_be_a_parent() {
                check($open, $drive, checks::a_removed_checkpoint_cannot_be_a_parent);
            }

            /// R-FWK-33: the statistics of an empty checkpointer are zero.
            #[test]
            fn stats_of_empty_checkpointer_are_zero() {
                check($open, $drive, checks::stats_of_empty_checkpointer_are_zero);
            }

            /// R-FWK-33: the statistics count threads and checkpoints.
            #[test]
            fn a_store_counts_threads_and_checkpoints() {
                check($open, $drive, checks::a_store_counts_threads_and_checkpoints);
            }

            /// R-FWK-42: a thousand steps that each add one kilobyte take less than five megabytes.
            #[test]
            fn a_thousand_kilobytes_take_less_than_five_megabytes() {
                check($open, $drive, checks::a_thousand_kilobytes_take_less_than_five_megabytes);
            }
        }
    };
}
