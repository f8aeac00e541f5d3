//! Metadata of checkpoints: every property is returned as it was saved.

use std::sync::Arc;
use std::time::Duration;

use serde_json::json;

use super::writer::{Writer, id, run, stored_values};
use crate::checkpoint::{
    Checkpoint, CheckpointNamespace, CheckpointSource, StoredJoin, StoredSend, StoredTask, StoredTrigger, TaskEntry,
    TriggerKind,
};
use crate::id::TaskId;
use crate::port::{CheckpointSelector, SharedCheckpointer};
use crate::value::AnyValue;

async fn check_round_trip(checkpointer: SharedCheckpointer, change: impl FnOnce(&mut Checkpoint)) {
    let mut writer = Writer::open(&checkpointer, "thread").await;
    let mut commit = writer.build_commit(json!({ "count": 1 }));
    let mut checkpoint = writer.checkpoint();
    change(&mut checkpoint);
    commit.namespace = checkpoint.namespace.clone();
    commit.checkpoint = Some(Arc::new(checkpoint.clone()));
    writer.send(commit).await;
    for at in [CheckpointSelector::Latest, CheckpointSelector::Id(checkpoint.id)] {
        let loaded = checkpointer.load(writer.thread(), &checkpoint.namespace, at).await.expect("loading works");
        assert_eq!(*loaded.expect("it was saved").checkpoint, checkpoint);
    }
}

/// R-FWK-33: a thread without commits has no checkpoint.
pub async fn a_thread_without_commits_has_no_checkpoint(checkpointer: SharedCheckpointer) {
    for at in [CheckpointSelector::Latest, CheckpointSelector::Id(id(1))] {
        let loaded =
            checkpointer.load(&"nobody".into(), &CheckpointNamespace::root(), at).await.expect("loading works");
        assert!(loaded.is_none());
    }
}

/// R-FWK-34: id, thread, namespace, parent, step, source, time, run and versions are returned.
pub async fn a_plain_record_round_trips(checkpointer: SharedCheckpointer) {
    check_round_trip(checkpointer, |_| {}).await;
}

/// R-FWK-34: the next tasks are returned with their triggers and inputs.
pub async fn next_tasks_keep_triggers(checkpointer: SharedCheckpointer) {
    let kinds = [
        TriggerKind::Edge,
        TriggerKind::Route,
        TriggerKind::Join,
        TriggerKind::Goto,
        TriggerKind::Send,
        TriggerKind::Deferred,
        TriggerKind::Update,
    ];
    let send = |index| StoredSend {
        index,
        payload: AnyValue::json(json!({ "topic": "zürich", "n": i64::MAX })),
        timeout: (index == 1).then(|| Duration::from_millis(1_500)),
    };
    check_round_trip(checkpointer, |checkpoint| {
        let task = |(index, kind)| StoredTask {
            node: format!("node-{index}").into(),
            trigger: StoredTrigger { kind, from: (index > 0).then(|| "before".into()) },
            send: (kind == TriggerKind::Send || index == 1).then(|| send(index)),
            scheduled_at: (index == 2).then(|| (crate::id::CheckpointId::from_bits(9), -1)),
        };
        checkpoint.next_tasks = (0_u32..).zip(kinds).map(task).collect();
    })
    .await;
}

/// R-FWK-34: the progress of joins and deferred nodes are returned.
pub async fn joins_and_waiting_nodes_round_trip(checkpointer: SharedCheckpointer) {
    check_round_trip(checkpointer, |checkpoint| {
        let names = |names: &[&str]| names.iter().map(|name| (*name).into()).collect::<Vec<Arc<str>>>();
        let (sources, arrived) = (names(&["b", "a", "c"]), names(&["c", "a"]));
        checkpoint.joins = vec![StoredJoin { target: "join".into(), sources, arrived }];
        checkpoint.deferred = names(&["last", "first"]);
        checkpoint.written_fields = names(&["title", "count"]);
        checkpoint.parent_task = Some(TaskId::from_bits(77));
    })
    .await;
}

/// R-FWK-34: every source is returned.
pub async fn every_source_round_trips(checkpointer: SharedCheckpointer) {
    let mut writer = Writer::open(&checkpointer, "thread").await;
    let sources = [
        CheckpointSource::Input,
        CheckpointSource::Loop,
        CheckpointSource::Interrupt,
        CheckpointSource::Update,
        CheckpointSource::Fork,
    ];
    for source in sources {
        writer.source = source;
        let id = writer.step(json!({ "count": 1 })).await;
        assert_eq!(writer.loaded(CheckpointSelector::Id(id)).await.checkpoint.source, source);
    }
}

/// R-FWK-34: numbers at their limits are returned.
pub async fn numbers_at_their_limits_round_trip(checkpointer: SharedCheckpointer) {
    check_round_trip(checkpointer, |checkpoint| {
        checkpoint.id = id(u128::MAX);
        checkpoint.run = run(u128::MAX);
        (checkpoint.step, checkpoint.time) = (i64::MAX, i64::MAX);
        checkpoint.schema_version = u32::MAX;
        checkpoint.parent_task = Some(TaskId::from_bits(u128::MAX));
    })
    .await;
}

/// R-FWK-34: a negative step and a time before 1970 are returned.
pub async fn numbers_below_zero_round_trip(checkpointer: SharedCheckpointer) {
    check_round_trip(checkpointer, |checkpoint| {
        checkpoint.id = id(0);
        (checkpoint.step, checkpoint.time) = (-1, i64::MIN);
    })
    .await;
}

/// R-FWK-34: metadata is returned with every kind of value.
pub async fn metadata_round_trips(checkpointer: SharedCheckpointer) {
    check_round_trip(checkpointer, |checkpoint| {
        let metadata = json!({
            "user": "Jürgen 🦀", "": "no name", "n": u64::MAX, "ratio": 0.1, "yes": true, "none": null,
            "nested": { "list": [1, [2, {}]] },
        });
        checkpoint.metadata = Arc::new(serde_json::from_value(metadata).expect("it is a map"));
    })
    .await;
}

/// R-FWK-34: names outside ASCII and the namespace of a nested subgraph are returned.
pub async fn names_outside_ascii_round_trip(checkpointer: SharedCheckpointer) {
    check_round_trip(checkpointer, |checkpoint| {
        checkpoint.namespace = CheckpointNamespace::root().child("größe:1").child("猫%_'\"\\:2");
        checkpoint.graph = "граф \u{1F980}".into();
        checkpoint.deferred = vec!["naïve 'node'".into(), "\"\\\n\t".into()];
    })
    .await;
}

/// R-FWK-33: without an id the latest checkpoint is returned.
pub async fn the_newest_is_given_when_no_id_is_named(checkpointer: SharedCheckpointer) {
    let mut writer = Writer::open(&checkpointer, "thread").await;
    for _ in 0..5 {
        let saved = writer.step(json!({ "count": 1 })).await;
        assert_eq!(writer.loaded(CheckpointSelector::Latest).await.checkpoint.id, saved);
    }
}

/// R-FWK-33: a reader that has the values of a checkpoint learns that it is still the newest, with its pending
/// entries, and gets the values of a newer one.
pub async fn newer_than_returns_no_values_of_the_same_checkpoint(checkpointer: SharedCheckpointer) {
    let mut writer = Writer::open(&checkpointer, "thread").await;
    assert!(writer.find(CheckpointSelector::NewerThan(id(7))).await.expect("failed to load the checkpoint").is_none());
    let saved = writer.steps(3).await;
    writer.commit_entry(saved[2], 1, TaskEntry::Skipped).await;
    let newest = writer.loaded(CheckpointSelector::Latest).await;
    let same = writer.loaded(CheckpointSelector::NewerThan(saved[2])).await;
    assert_eq!((&same.checkpoint, &same.pending), (&newest.checkpoint, &newest.pending));
    for cached in [saved[0], id(77)] {
        let newer = writer.loaded(CheckpointSelector::NewerThan(cached)).await;
        assert_eq!((&newer.checkpoint, stored_values(&writer.schema, &newer)), (&newest.checkpoint, writer.values()));
    }
}

/// R-FWK-33: an older checkpoint is returned by its id.
pub async fn an_older_checkpoint_is_given_by_its_id(checkpointer: SharedCheckpointer) {
    let mut writer = Writer::open(&checkpointer, "thread").await;
    for (index, id) in writer.steps(5).await.into_iter().enumerate() {
        let loaded = writer.loaded(CheckpointSelector::Id(id)).await;
        assert_eq!((loaded.checkpoint.id, loaded.checkpoint.step), (id, index as i64));
    }
}

/// R-FWK-33: an unknown id returns no checkpoint, on an existing thread.
pub async fn an_unknown_checkpoint_is_none(checkpointer: SharedCheckpointer) {
    let mut writer = Writer::open(&checkpointer, "thread").await;
    writer.steps(2).await;
    for unknown in [0, 3, u128::MAX] {
        assert!(writer.find(CheckpointSelector::Id(id(unknown))).await.expect("loading works").is_none());
    }
}

#[doc(hidden)]
#[macro_export]
macro_rules! checkpointer_metadata {
    ($open:expr, $drive:expr) => {
        mod metadata {
            #[allow(unused_imports, reason = "the constructor may be in any module")]
            use super::*;
            use $crate::testing::checkpointer::{check, metadata as checks};

            /// R-FWK-33: a thread without commits has no checkpoint.
            #[test]
            fn a_thread_without_commits_has_no_checkpoint() {
                check($open, $drive, checks::a_thread_without_commits_has_no_checkpoint);
            }

            /// R-FWK-34: id, thread, namespace, parent, step, source, time, run and versions are returned.
            #[test]
            fn a_plain_record_round_trips() {
                check($open, $drive, checks::a_plain_record_round_trips);
            }

            /// R-FWK-34: the next tasks are returned with their triggers and inputs.
            #[test]
            fn next_tasks_keep_triggers() {
                check($open, $drive, checks::next_tasks_keep_triggers);
            }

            /// R-FWK-34: the progress of joins and deferred nodes are returned.
            #[test]
            fn joins_and_waiting_nodes_round_trip() {
                check($open, $drive, checks::joins_and_waiting_nodes_round_trip);
            }

            /// R-FWK-34: every source is returned.
            #[test]
            fn every_source_round_trips() {
                check($open, $drive, checks::every_source_round_trips);
            }

            /// R-FWK-34: numbers at their limits are returned.
            #[test]
            fn numbers_at_their_limits_round_trip() {
                check($open, $drive, checks::numbers_at_their_limits_round_trip);
            }

            /// R-FWK-34: a negative step and a time before 1970 are returned.
            #[test]
            fn numbers_below_zero_round_trip() {
                check($open, $drive, checks::numbers_below_zero_round_trip);
            }

            /// R-FWK-34: metadata is returned with every kind of value.
            #[test]
            fn metadata_round_trips() {
                check($open, $drive, checks::metadata_round_trips);
            }

            /// R-FWK-34: names outside ASCII and the namespace of a nested subgraph are returned.
            #[test]
            fn names_outside_ascii_round_trip() {
                check($open, $drive, checks::names_outside_ascii_round_trip);
            }

            /// R-FWK-33: without an id the latest checkpoint is returned.
            #[test]
            fn the_newest_is_given_when_no_id_is_named() {
                check($open, $drive, checks::the_newest_is_given_when_no_id_is_named);
            }

            /// R-FWK-33: a reader that has the latest checkpoint learns that, and gets the values of a newer one.
            #[test]
            fn newer_than_returns_no_values_of_the_same_checkpoint() {
                check($open, $drive, checks::newer_than_returns_no_values_of_the_same_checkpoint);
            }

            /// R-FWK-33: an older checkpoint is returned by its id.
            #[test]
            fn an_older_checkpoint_is_given_by_its_id() {
                check($open, $drive, checks::an_older_checkpoint_is_given_by_its_id);
            }

            /// R-FWK-33: an unknown id returns no checkpoint, on an existing thread.
            #[test]
            fn an_unknown_checkpoint_is_none() {
                check($open, $drive, checks::an_unknown_checkpoint_is_none);
            }
        }
    };
}
