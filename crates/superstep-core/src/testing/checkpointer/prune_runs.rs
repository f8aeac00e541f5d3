//! Pruning by run: removes the checkpoints of some runs, whatever rule would keep them.

use serde_json::json;

use super::pending_entries::interrupt_entry;
use super::writer::{Writer, id, run};
use crate::checkpoint::TaskEntry;
use crate::port::{CheckpointSelector, HistoryQuery, PruneReport, Retention, SharedCheckpointer};

/// Creates a thread with one step for each of these runs.
async fn writer_with_runs(checkpointer: &SharedCheckpointer, runs: &[u128]) -> Writer {
    let mut writer = Writer::open(checkpointer, "thread").await;
    for number in runs {
        writer.run = run(*number);
        writer.step(json!({ "log": [number], "notes": { format!("k{number}"): number } })).await;
    }
    writer
}

async fn prune_runs(writer: &Writer, runs: &[u128]) -> PruneReport {
    let retention = Retention { excluded_runs: runs.iter().copied().map(run).collect(), ..Retention::keep_all() };
    writer.checkpointer.prune(writer.thread(), &retention).await.expect("pruning works")
}

async fn remaining_ids(writer: &Writer) -> Vec<u128> {
    writer.history_ids(&HistoryQuery::default()).await
}

/// R-FWK-43: the checkpoints of the run are removed, and those of others stay.
pub async fn checkpoints_of_an_excluded_run_are_removed(checkpointer: SharedCheckpointer) {
    let writer = writer_with_runs(&checkpointer, &[1, 2, 1, 3, 2]).await;
    assert_eq!(prune_runs(&writer, &[2]).await.checkpoints, 2);
    assert_eq!(remaining_ids(&writer).await, [4, 3, 1]);
    assert_eq!(prune_runs(&writer, &[3, 1]).await.checkpoints, 3);
    assert!(remaining_ids(&writer).await.is_empty());
}

/// R-FWK-43: a checkpoint whose parents were removed has its original values, and still names its parent.
pub async fn remaining_checkpoints_are_complete_without_their_parent(checkpointer: SharedCheckpointer) {
    let mut writer = Writer::open(&checkpointer, "thread").await;
    let mut expected = Vec::new();
    for index in 0..60 {
        writer.run = run(index % 3);
        let saved = writer.step(json!({ "log": [index], "recent": [index], "notes": { "n": index } })).await;
        expected.push((saved, writer.values()));
    }
    prune_runs(&writer, &[0]).await;
    prune_runs(&writer, &[2]).await;
    for (saved, values) in expected.into_iter().skip(1).step_by(3) {
        assert_eq!(writer.stored(CheckpointSelector::Id(saved)).await, values);
        assert_eq!(writer.loaded(CheckpointSelector::Id(saved)).await.checkpoint.parent, Some(id(saved.bits() - 1)));
    }
    assert_eq!(remaining_ids(&writer).await.len(), 20);
}

/// R-FWK-43: the newest is removed with its run, and the thread continues from the one before.
pub async fn the_newest_is_removed_with_its_run(checkpointer: SharedCheckpointer) {
    let writer = writer_with_runs(&checkpointer, &[1, 1, 2]).await;
    prune_runs(&writer, &[2]).await;
    assert_eq!(writer.loaded(CheckpointSelector::Latest).await.checkpoint.id, id(2));
    let mut fork = writer.fork(id(2)).await;
    fork.step(json!({ "log": ["on"], "notes": { "on": 1 } })).await;
    assert_eq!(fork.stored(CheckpointSelector::Latest).await, fork.values());
}

/// R-FWK-43: neither an open interrupt nor a result that the newest needs keeps a checkpoint of the run.
pub async fn excluded_run_loses_open_interrupts(checkpointer: SharedCheckpointer) {
    let writer = writer_with_runs(&checkpointer, &[1, 2, 1, 2]).await;
    writer.commit_entry(id(2), 1, interrupt_entry(1)).await;
    writer.commit_entry(id(4), 1, TaskEntry::Skipped).await;
    prune_runs(&writer, &[2]).await;
    assert_eq!(remaining_ids(&writer).await, [3, 1]);
    assert!(writer.loaded(CheckpointSelector::Latest).await.pending.is_empty());
}

/// R-FWK-43: the checkpoints of a run are removed in all graphs of the thread, and in no other thread.
pub async fn excluded_run_is_removed_in_all_namespaces(checkpointer: SharedCheckpointer) {
    let writer = writer_with_runs(&checkpointer, &[1, 2]).await;
    let mut subgraph = writer.subgraph("child");
    for number in [2, 1, 2] {
        subgraph.run = run(number);
        subgraph.steps(1).await;
    }
    let mut other = Writer::open(&checkpointer, "other").await;
    other.run = run(2);
    other.steps(2).await;
    assert_eq!(prune_runs(&writer, &[2]).await.checkpoints, 1 + 2);
    assert_eq!(
        (remaining_ids(&writer).await, remaining_ids(&subgraph).await, remaining_ids(&other).await),
        (vec![1], vec![2], vec![2, 1])
    );
}

/// R-FWK-43: `keep_last` counts only checkpoints of other runs.
pub async fn the_newest_are_counted_without_the_runs(checkpointer: SharedCheckpointer) {
    let writer = writer_with_runs(&checkpointer, &[1, 1, 1, 2, 2]).await;
    let retention = Retention { excluded_runs: vec![run(2)], ..Retention::keep_last(2).dry_run() };
    let report = checkpointer.prune(writer.thread(), &retention).await.expect("counting works");
    assert_eq!((report.checkpoints, remaining_ids(&writer).await.len()), (3, 5), "a dry run removes nothing");
    let done =
        checkpointer.prune(writer.thread(), &Retention { dry_run: false, ..retention }).await.expect("pruning works");
    assert_eq!((done.checkpoints, remaining_ids(&writer).await), (3, vec![3, 2]));
}

/// R-FWK-43: a run without checkpoints here removes nothing, and neither does an empty list of runs.
pub async fn no_run_of_that_name_removes_nothing(checkpointer: SharedCheckpointer) {
    let writer = writer_with_runs(&checkpointer, &[1, 2]).await;
    assert_eq!(prune_runs(&writer, &[7]).await, PruneReport::default());
    assert_eq!(prune_runs(&writer, &[]).await, PruneReport::default());
    assert_eq!(remaining_ids(&writer).await, [2, 1]);
}

#[doc(hidden)]
#[macro_export]
macro_rules! checkpointer_prune_runs {
    ($open:expr, $drive:expr) => {
        mod prune_runs {
            #[allow(unused_imports, reason = "the constructor may be in any module")]
            use super::*;
            use $crate::testing::checkpointer::{check, prune_runs as checks};

            /// R-FWK-43: the checkpoints of the run are removed, and those of others stay.
            #[test]
            fn checkpoints_of_an_excluded_run_are_removed() {
                check($open, $drive, checks::checkpoints_of_an_excluded_run_are_removed);
            }

            /// R-FWK-43: a checkpoint whose parents were removed has its original values, and still names its
            /// parent.
            #[test]
            fn remaining_checkpoints_are_complete_without_their_parent() {
                check($open, $drive, checks::remaining_checkpoints_are_complete_without_their_parent);
            }

            /// R-FWK-43: the newest is removed with its run, and the thread continues from the one before.
            #[test]
            fn the_newest_is_removed_with_its_run() {
                check($open, $drive, checks::the_newest_is_removed_with_its_run);
            }

            /// R-FWK-43: neither an open interrupt nor a result that the newest needs keeps a checkpoint of the
            /// run.
            #[test]
            fn excluded_run_loses_open_interrupts() {
                check($open, $drive, checks::excluded_run_loses_open_interrupts);
            }

            /// R-FWK-43: the checkpoints of a run are removed in all graphs of the thread, and in no other thread.
            #[test]
            fn excluded_run_is_removed_in_all_namespaces() {
                check($open, $drive, checks::excluded_run_is_removed_in_all_namespaces);
            }

            /// R-FWK-43: `keep_last` counts only checkpoints of other runs.
            #[test]
            fn the_newest_are_counted_without_the_runs() {
                check($open, $drive, checks::the_newest_are_counted_without_the_runs);
            }

            /// R-FWK-43: a run without checkpoints here removes nothing, and neither does an empty list of runs.
            #[test]
            fn no_run_of_that_name_removes_nothing() {
                check($open, $drive, checks::no_run_of_that_name_removes_nothing);
            }
        }
    };
}
