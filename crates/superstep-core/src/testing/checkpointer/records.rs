//! What a checkpoint says of itself comes back as it was given.

use std::sync::Arc;
use std::time::Duration;

use serde_json::json;

use super::writer::{Writer, id, read, run};
use crate::checkpoint::{Checkpoint, Entry, Namespace, Source, StoredDue, StoredJoin, StoredSend, StoredWhy, WhyKind};
use crate::datum::Datum;
use crate::id::TaskId;
use crate::port::{At, SharedCheckpointer};

async fn comes_back(store: SharedCheckpointer, change: impl FnOnce(&mut Checkpoint)) {
    let mut writer = Writer::open(&store, "thread").await;
    let mut commit = writer.draft(json!({ "count": 1 }));
    let mut checkpoint = writer.checkpoint();
    change(&mut checkpoint);
    commit.namespace = checkpoint.namespace.clone();
    commit.checkpoint = Some(Arc::new(checkpoint.clone()));
    writer.send(commit).await;
    for at in [At::Latest, At::Id(checkpoint.id)] {
        let loaded = store.load(writer.thread(), &checkpoint.namespace, at).await.expect("loading works");
        assert_eq!(*loaded.expect("it was saved").checkpoint, checkpoint);
    }
}

/// R-FWK-33: a thread that nobody wrote has no checkpoint.
pub async fn a_thread_that_nobody_wrote_has_no_checkpoint(store: SharedCheckpointer) {
    for at in [At::Latest, At::Id(id(1))] {
        let found = store.load(&"nobody".into(), &Namespace::root(), at).await.expect("loading works");
        assert!(found.is_none());
    }
}

/// R-FWK-34: id, thread, namespace, parent, step, source, time, run and versions come back.
pub async fn a_plain_record_comes_back(store: SharedCheckpointer) {
    comes_back(store, |_| {}).await;
}

/// R-FWK-34: what is due next comes back with its reasons and inputs.
pub async fn what_is_due_comes_back_with_its_reasons(store: SharedCheckpointer) {
    let kinds = [
        WhyKind::Edge,
        WhyKind::Route,
        WhyKind::Join,
        WhyKind::Goto,
        WhyKind::Send,
        WhyKind::Deferred,
        WhyKind::Update,
    ];
    let send = |index| StoredSend {
        index,
        payload: Datum::json(json!({ "topic": "zürich", "n": i64::MAX })),
        timeout: (index == 1).then(|| Duration::from_millis(1_500)),
    };
    comes_back(store, |checkpoint| {
        let due = |(index, kind)| StoredDue {
            node: format!("node-{index}").into(),
            why: StoredWhy { kind, from: (index > 0).then(|| "before".into()) },
            send: (kind == WhyKind::Send || index == 1).then(|| send(index)),
            since: (index == 2).then(|| (crate::id::CheckpointId::from_bits(9), -1)),
        };
        checkpoint.due = (0_u32..).zip(kinds).map(due).collect();
    })
    .await;
}

/// R-FWK-34: joins that are half full and nodes that wait come back.
pub async fn joins_and_waiting_nodes_come_back(store: SharedCheckpointer) {
    comes_back(store, |checkpoint| {
        let names = |names: &[&str]| names.iter().map(|name| (*name).into()).collect::<Vec<Arc<str>>>();
        let (sources, arrived) = (names(&["b", "a", "c"]), names(&["c", "a"]));
        checkpoint.joins = vec![StoredJoin { target: "join".into(), sources, arrived }];
        checkpoint.deferred = names(&["last", "first"]);
        checkpoint.written = names(&["title", "count"]);
        checkpoint.outer_task = Some(TaskId::from_bits(77));
    })
    .await;
}

/// R-FWK-34: every source comes back.
pub async fn every_source_comes_back(store: SharedCheckpointer) {
    let mut writer = Writer::open(&store, "thread").await;
    let sources = [Source::Input, Source::Loop, Source::Interrupt, Source::Update, Source::Fork];
    for source in sources {
        writer.source = source;
        let id = writer.step(json!({ "count": 1 })).await;
        assert_eq!(writer.loaded(At::Id(id)).await.checkpoint.source, source);
    }
}

/// R-FWK-34: numbers at their limits come back.
pub async fn numbers_at_their_limits_come_back(store: SharedCheckpointer) {
    comes_back(store, |checkpoint| {
        checkpoint.id = id(u128::MAX);
        checkpoint.run = run(u128::MAX);
        (checkpoint.step, checkpoint.time) = (i64::MAX, i64::MAX);
        checkpoint.schema_version = u32::MAX;
        checkpoint.outer_task = Some(TaskId::from_bits(u128::MAX));
    })
    .await;
}

/// R-FWK-34: a step and a time before the beginning come back.
pub async fn numbers_below_zero_come_back(store: SharedCheckpointer) {
    comes_back(store, |checkpoint| {
        checkpoint.id = id(0);
        (checkpoint.step, checkpoint.time) = (-1, i64::MIN);
    })
    .await;
}

/// R-FWK-34: metadata comes back with every kind of value.
pub async fn metadata_comes_back(store: SharedCheckpointer) {
    comes_back(store, |checkpoint| {
        let metadata = json!({
            "user": "Jürgen 🦀", "": "no name", "n": u64::MAX, "ratio": 0.1, "yes": true, "none": null,
            "nested": { "list": [1, [2, {}]] },
        });
        checkpoint.metadata = Arc::new(serde_json::from_value(metadata).expect("it is a map"));
    })
    .await;
}

/// R-FWK-34: names outside ASCII and the path of a graph inside graphs come back.
pub async fn names_outside_ascii_come_back(store: SharedCheckpointer) {
    comes_back(store, |checkpoint| {
        checkpoint.namespace = Namespace::root().child("größe:1").child("猫%_'\"\\:2");
        checkpoint.graph = "граф \u{1F980}".into();
        checkpoint.deferred = vec!["naïve 'node'".into(), "\"\\\n\t".into()];
    })
    .await;
}

/// R-FWK-33: without an id the newest checkpoint is given.
pub async fn the_newest_is_given_when_no_id_is_named(store: SharedCheckpointer) {
    let mut writer = Writer::open(&store, "thread").await;
    for _ in 0..5 {
        let saved = writer.step(json!({ "count": 1 })).await;
        assert_eq!(writer.loaded(At::Latest).await.checkpoint.id, saved);
    }
}

/// R-FWK-33: who has the values of a checkpoint is told whether it is the newest, with what is known of its tasks, and
/// gets the values when it is not.
pub async fn whoever_has_the_newest_is_told_so(store: SharedCheckpointer) {
    let mut writer = Writer::open(&store, "thread").await;
    assert!(writer.find(At::Newer(id(7))).await.expect("asking works").is_none());
    let saved = writer.steps(3).await;
    writer.know(saved[2], 1, Entry::Skipped).await;
    let newest = writer.loaded(At::Latest).await;
    let same = writer.loaded(At::Newer(saved[2])).await;
    assert_eq!((&same.checkpoint, &same.pending), (&newest.checkpoint, &newest.pending));
    for known in [saved[0], id(77)] {
        let newer = writer.loaded(At::Newer(known)).await;
        assert_eq!((&newer.checkpoint, read(&writer.schema, &newer)), (&newest.checkpoint, writer.values()));
    }
}

/// R-FWK-33: an older checkpoint is given by its id.
pub async fn an_older_checkpoint_is_given_by_its_id(store: SharedCheckpointer) {
    let mut writer = Writer::open(&store, "thread").await;
    for (index, id) in writer.steps(5).await.into_iter().enumerate() {
        let loaded = writer.loaded(At::Id(id)).await;
        assert_eq!((loaded.checkpoint.id, loaded.checkpoint.step), (id, index as i64));
    }
}

/// R-FWK-33: an id that nobody saved is no checkpoint, on a thread that exists.
pub async fn an_unknown_checkpoint_is_none(store: SharedCheckpointer) {
    let mut writer = Writer::open(&store, "thread").await;
    writer.steps(2).await;
    for unknown in [0, 3, u128::MAX] {
        assert!(writer.find(At::Id(id(unknown))).await.expect("loading works").is_none());
    }
}

#[doc(hidden)]
#[macro_export]
macro_rules! checkpointer_records {
    ($open:expr, $drive:expr) => {
        mod records {
            #[allow(unused_imports, reason = "what opens the store may stand anywhere")]
            use super::*;
            use $crate::testing::checkpointer::{check, records as checks};

            /// R-FWK-33: a thread that nobody wrote has no checkpoint.
            #[test]
            fn a_thread_that_nobody_wrote_has_no_checkpoint() {
                check($open, $drive, checks::a_thread_that_nobody_wrote_has_no_checkpoint);
            }

            /// R-FWK-34: id, thread, namespace, parent, step, source, time, run and versions come back.
            #[test]
            fn a_plain_record_comes_back() {
                check($open, $drive, checks::a_plain_record_comes_back);
            }

            /// R-FWK-34: what is due next comes back with its reasons and inputs.
            #[test]
            fn what_is_due_comes_back_with_its_reasons() {
                check($open, $drive, checks::what_is_due_comes_back_with_its_reasons);
            }

            /// R-FWK-34: joins that are half full and nodes that wait come back.
            #[test]
            fn joins_and_waiting_nodes_come_back() {
                check($open, $drive, checks::joins_and_waiting_nodes_come_back);
            }

            /// R-FWK-34: every source comes back.
            #[test]
            fn every_source_comes_back() {
                check($open, $drive, checks::every_source_comes_back);
            }

            /// R-FWK-34: numbers at their limits come back.
            #[test]
            fn numbers_at_their_limits_come_back() {
                check($open, $drive, checks::numbers_at_their_limits_come_back);
            }

            /// R-FWK-34: a step and a time before the beginning come back.
            #[test]
            fn numbers_below_zero_come_back() {
                check($open, $drive, checks::numbers_below_zero_come_back);
            }

            /// R-FWK-34: metadata comes back with every kind of value.
            #[test]
            fn metadata_comes_back() {
                check($open, $drive, checks::metadata_comes_back);
            }

            /// R-FWK-34: names outside ASCII and the path of a graph inside graphs come back.
            #[test]
            fn names_outside_ascii_come_back() {
                check($open, $drive, checks::names_outside_ascii_come_back);
            }

            /// R-FWK-33: without an id the newest checkpoint is given.
            #[test]
            fn the_newest_is_given_when_no_id_is_named() {
                check($open, $drive, checks::the_newest_is_given_when_no_id_is_named);
            }

            /// R-FWK-33: who has the newest is told so, and gets the values of a newer one.
            #[test]
            fn whoever_has_the_newest_is_told_so() {
                check($open, $drive, checks::whoever_has_the_newest_is_told_so);
            }

            /// R-FWK-33: an older checkpoint is given by its id.
            #[test]
            fn an_older_checkpoint_is_given_by_its_id() {
                check($open, $drive, checks::an_older_checkpoint_is_given_by_its_id);
            }

            /// R-FWK-33: an id that nobody saved is no checkpoint, on a thread that exists.
            #[test]
            fn an_unknown_checkpoint_is_none() {
                check($open, $drive, checks::an_unknown_checkpoint_is_none);
            }
        }
    };
}
