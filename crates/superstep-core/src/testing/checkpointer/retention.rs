//! Retention: the rules for checkpoints that stay, each separately and combined.

use serde_json::{Value, json};

use super::pending_entries::{interrupt_entry, resume_entry};
use super::writer::{Writer, id, run};
use crate::checkpoint::CheckpointSource;
use crate::port::{CheckpointSelector, HistoryQuery, KeepRule, PruneReport, Retention, SharedCheckpointer};

async fn prune(writer: &Writer, retention: &Retention) -> PruneReport {
    writer.checkpointer.prune(writer.thread(), retention).await.expect("pruning works")
}

async fn remaining_ids(writer: &Writer) -> Vec<u128> {
    writer.history_ids(&HistoryQuery::default()).await
}

/// Creates steps that append, so that remaining checkpoints build on removed ones; returns the values after each.
async fn writer_with_steps(checkpointer: &SharedCheckpointer, steps: usize) -> (Writer, Vec<Value>) {
    let mut writer = Writer::open(checkpointer, "thread").await;
    let mut values = Vec::new();
    for index in 0..steps {
        writer.step(json!({ "log": [index], "notes": { format!("k{index}"): index } })).await;
        values.push(writer.values());
    }
    (writer, values)
}

/// Asserts that all remaining checkpoints have their original values.
async fn check_complete(writer: &Writer, values: &[Value]) {
    for number in remaining_ids(writer).await {
        let index = usize::try_from(number - 1).expect("numbers are small");
        assert_eq!(writer.stored(CheckpointSelector::Id(id(number))).await, values[index], "checkpoint {number}");
    }
}

/// R-FWK-43: the newest 200 of each graph stay by default, and all of them on request.
pub async fn two_hundred_stay_by_default(checkpointer: SharedCheckpointer) {
    let (writer, _) = writer_with_steps(&checkpointer, 203).await;
    writer.subgraph("child").steps(2).await;
    assert_eq!(prune(&writer, &Retention::keep_all()).await, PruneReport::default());
    assert_eq!(prune(&writer, &Retention::default()).await.checkpoints, 3);
    assert_eq!((remaining_ids(&writer).await.len(), remaining_ids(&writer.subgraph("child")).await.len()), (200, 2));
}

/// R-FWK-43: checkpoints above the maximum age are removed, even within `keep_last`; those exactly at the limit
/// stay.
pub async fn checkpoints_above_the_maximum_age_are_removed(checkpointer: SharedCheckpointer) {
    let mut writer = Writer::open(&checkpointer, "thread").await;
    for time in [10, 20, 30, 40, 50] {
        writer.time = time;
        writer.steps(1).await;
    }
    let before = |before| Retention { before: Some(before), ..Retention::keep_last(4) };
    assert_eq!(prune(&writer, &before(0)).await.checkpoints, 1, "there are more than four");
    assert_eq!(prune(&writer, &before(40)).await.checkpoints, 2);
    assert_eq!(remaining_ids(&writer).await, [5, 4]);
}

/// R-FWK-43: the newest stays at any age: a thread that was unused for long keeps its state.
pub async fn the_newest_stays_however_old(checkpointer: SharedCheckpointer) {
    let (mut writer, values) = writer_with_steps(&checkpointer, 5).await;
    let ancient = Retention { before: Some(i64::MAX), ..Retention::default() };
    assert_eq!(prune(&writer, &ancient).await.checkpoints, 4);
    check_complete(&writer, &values).await;
    writer.step(json!({ "log": ["on"] })).await;
    assert_eq!(writer.stored(CheckpointSelector::Latest).await, writer.values());
}

/// R-FWK-43: with the rule `First` the first checkpoint stays, with all its values.
pub async fn the_first_stays(checkpointer: SharedCheckpointer) {
    let (writer, values) = writer_with_steps(&checkpointer, 30).await;
    let retention = Retention::keep_last(2).keep_rule(KeepRule::First);
    assert_eq!(prune(&writer, &retention).await.checkpoints, 27);
    assert_eq!(remaining_ids(&writer).await, [30, 29, 1]);
    check_complete(&writer, &values).await;
    assert_eq!(prune(&writer, &retention).await, PruneReport::default(), "it is still the first");
}

/// R-FWK-43: tagged checkpoints stay, by key or by value.
pub async fn tagged_checkpoints_stay(checkpointer: SharedCheckpointer) {
    let mut writer = Writer::open(&checkpointer, "thread").await;
    let mut values = Vec::new();
    let tags =
        [json!({ "user": "ann" }), json!({}), json!({ "user": "bob" }), json!({ "release": 1 }), json!({}), json!({})];
    for (index, tags) in tags.into_iter().enumerate() {
        writer.run = run(index as u128 + 1);
        writer.metadata = serde_json::from_value(tags).expect("tags are an object");
        writer.step(json!({ "log": [index] })).await;
        values.push(writer.values());
    }
    let retention =
        Retention::keep_last(1).keep_rule(KeepRule::tagged("user")).keep_rule(KeepRule::tagged_as("release", 1));
    assert_eq!(prune(&writer, &retention).await.checkpoints, 2);
    assert_eq!(remaining_ids(&writer).await, [6, 4, 3, 1]);
    check_complete(&writer, &values).await;
    let retention = Retention::keep_last(1)
        .keep_rule(KeepRule::tagged_as("user", "bob"))
        .keep_rule(KeepRule::tagged_as("release", 2));
    prune(&writer, &retention).await;
    assert_eq!(remaining_ids(&writer).await, [6, 3]);
    check_complete(&writer, &values).await;
}

/// R-FWK-43: with the rule `Interrupted` checkpoints with an interrupt stay, also when it is resumed.
pub async fn interrupted_checkpoints_stay_after_the_resume(checkpointer: SharedCheckpointer) {
    let (mut writer, mut values) = writer_with_steps(&checkpointer, 10).await;
    writer.commit_entry(id(3), 1, interrupt_entry(1)).await;
    writer.commit_entry(id(3), 1, resume_entry(1)).await;
    writer.source = CheckpointSource::Interrupt;
    writer.step(json!({ "log": ["asked"] })).await;
    values.push(writer.values());
    writer.source = CheckpointSource::Loop;
    for _ in 0..3 {
        writer.step(json!({ "log": ["on"] })).await;
        values.push(writer.values());
    }
    prune(&writer, &Retention::keep_last(1).keep_rule(KeepRule::Interrupted)).await;
    assert_eq!(remaining_ids(&writer).await, [14, 11, 3]);
    check_complete(&writer, &values).await;
    assert_eq!(writer.loaded(CheckpointSelector::Id(id(3))).await.pending.len(), 2);
    prune(&writer, &Retention::keep_last(1)).await;
    assert_eq!(remaining_ids(&writer).await, [14]);
}

/// R-FWK-43: with the rule `ForkPoints` checkpoints with several children stay.
pub async fn fork_points_stay(checkpointer: SharedCheckpointer) {
    let (writer, _) = writer_with_steps(&checkpointer, 6).await;
    let mut fork = writer.fork(id(3)).await;
    fork.next_id = 7;
    fork.step(json!({ "log": ["fork"] })).await;
    fork.step(json!({ "log": ["fork"] })).await;
    let values_at_fork = writer.stored(CheckpointSelector::Id(id(3))).await;
    assert_eq!(prune(&fork, &Retention::keep_last(2).keep_rule(KeepRule::ForkPoints)).await.checkpoints, 5);
    assert_eq!(remaining_ids(&fork).await, [8, 7, 3]);
    assert_eq!(
        (fork.stored(CheckpointSelector::Id(id(3))).await, fork.stored(CheckpointSelector::Latest).await),
        (values_at_fork, fork.values())
    );
    // With one branch left there is no fork point.
    prune(&fork, &Retention::keep_last(2).keep_rule(KeepRule::ForkPoints)).await;
    assert_eq!(remaining_ids(&fork).await, [8, 7]);
}

/// R-FWK-43: the checkpoints of an excluded run are removed, whatever rule would keep them.
pub async fn keep_rules_do_not_keep_excluded_runs(checkpointer: SharedCheckpointer) {
    let mut writer = Writer::open(&checkpointer, "thread").await;
    for number in [2, 1, 2, 1] {
        writer.run = run(number);
        writer.metadata = [("tag".to_owned(), json!(number.to_string()))].into();
        writer.steps(1).await;
    }
    let rules = Retention::keep_all().keep_rule(KeepRule::First).keep_rule(KeepRule::tagged("tag"));
    let retention = Retention { excluded_runs: vec![run(2)], ..rules };
    assert_eq!(prune(&writer, &retention).await.checkpoints, 2);
    assert_eq!(remaining_ids(&writer).await, [4, 2]);
}

/// R-FWK-43: a dry run reports the number of checkpoints and bytes it would remove.
pub async fn a_dry_run_reports_what_it_would_remove(checkpointer: SharedCheckpointer) {
    let mut writer = Writer::open(&checkpointer, "thread").await;
    for index in 0..30 {
        writer.step(json!({ "log": [format!("{index:300}")], "title": format!("{index:400}") })).await;
    }
    let retention = Retention::keep_last(3).keep_rule(KeepRule::First);
    let report = prune(&writer, &retention.clone().dry_run()).await;
    assert_eq!((report.checkpoints, remaining_ids(&writer).await.len()), (26, 30));
    // A checkpointer may store long values elsewhere, or compressed.
    assert!(report.bytes > 26 * 100, "{} bytes", report.bytes);
    assert_eq!(prune(&writer, &retention).await, report);
}

#[doc(hidden)]
#[macro_export]
macro_rules! checkpointer_retention {
    ($open:expr, $drive:expr) => {
        mod retention {
            #[allow(unused_imports, reason = "the constructor may be in any module")]
            use super::*;
            use $crate::testing::checkpointer::{check, retention as checks};

            /// R-FWK-43: the newest 200 of each graph stay by default, and all of them on request.
            #[test]
            fn two_hundred_stay_by_default() {
                check($open, $drive, checks::two_hundred_stay_by_default);
            }

            /// R-FWK-43: checkpoints above the maximum age are removed, even within `keep_last`; those exactly at
            /// the limit stay.
            #[test]
            fn checkpoints_above_the_maximum_age_are_removed() {
                check($open, $drive, checks::checkpoints_above_the_maximum_age_are_removed);
            }

            /// R-FWK-43: the newest stays at any age: a thread that was unused for long keeps its state.
            #[test]
            fn the_newest_stays_however_old() {
                check($open, $drive, checks::the_newest_stays_however_old);
            }

            /// R-FWK-43: with the rule `First` the first checkpoint stays, with all its values.
            #[test]
            fn the_first_stays() {
                check($open, $drive, checks::the_first_stays);
            }

            /// R-FWK-43: tagged checkpoints stay, by key or by value.
            #[test]
            fn tagged_checkpoints_stay() {
                check($open, $drive, checks::tagged_checkpoints_stay);
            }

            /// R-FWK-43: with the rule `Interrupted` checkpoints with an interrupt stay, also when it is resumed.
            #[test]
            fn interrupted_checkpoints_stay_after_the_resume() {
                check($open, $drive, checks::interrupted_checkpoints_stay_after_the_resume);
            }

            /// R-FWK-43: with the rule `ForkPoints` checkpoints with several children stay.
            #[test]
            fn fork_points_stay() {
                check($open, $drive, checks::fork_points_stay);
            }

            /// R-FWK-43: the checkpoints of an excluded run are removed, whatever rule would keep them.
            #[test]
            fn keep_rules_do_not_keep_excluded_runs() {
                check($open, $drive, checks::keep_rules_do_not_keep_excluded_runs);
            }

            /// R-FWK-43: a dry run reports the number of checkpoints and bytes it would remove.
            #[test]
            fn a_dry_run_reports_what_it_would_remove() {
                check($open, $drive, checks::a_dry_run_reports_what_it_would_remove);
            }
        }
    };
}
