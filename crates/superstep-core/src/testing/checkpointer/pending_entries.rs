//! Pending entries: facts about tasks before their superstep is complete.

use std::sync::Arc;
use std::time::Duration;

use serde_json::json;

use super::writer::{Writer, id, pending_entry};
use crate::checkpoint::{
    CheckpointNamespace, Interrupt, PendingEntry, ResumeValue, StoredError, StoredOutput, StoredParentCommand,
    StoredSend, StoredTask, StoredTrigger, StoredWrite, TaskEntry, TriggerKind,
};
use crate::error::{ErrorCode, ErrorLocation};
use crate::id::InterruptId;
use crate::port::{CheckpointSelector, SharedCheckpointer};
use crate::value::AnyValue;

fn done_entry(text: &str) -> TaskEntry {
    let write = StoredWrite { field: "title".into(), overwrite: false, value: AnyValue::json(json!(text)) };
    TaskEntry::Done(StoredOutput { writes: vec![write], follow_edges: true, ..Default::default() })
}

fn recorded_entry(key: &str, value: i64) -> TaskEntry {
    TaskEntry::Recorded { key: key.to_owned(), value: AnyValue::json(json!(value)) }
}

pub(super) fn interrupt_entry(number: u128) -> TaskEntry {
    TaskEntry::Interrupt(Interrupt {
        id: InterruptId::from_bits(number),
        node: "ask".into(),
        namespace: CheckpointNamespace::root().child("inner:1"),
        name: "approve".to_owned(),
        value: json!({ "text": "Größe?", "n": i64::MAX }),
        resume_schema: Some(json!({ "type": "boolean" })),
        prompt: (number == 2).then(|| "Yes or no?".to_owned()),
    })
}

pub(super) fn resume_entry(number: u128) -> TaskEntry {
    TaskEntry::Resume(ResumeValue { id: InterruptId::from_bits(number), value: json!([true, null]), time: -5 })
}

pub(super) fn failed_entry(message: &str) -> TaskEntry {
    TaskEntry::Failed(StoredError {
        code: ErrorCode::NodeFailed,
        message: message.to_owned(),
        help: Some("try again".to_owned()),
        retryable: true,
        location: ErrorLocation { thread: Some("thread".into()), step: Some(3), node: Some("node".to_owned()) },
        causes: vec!["first".to_owned(), "second".to_owned()],
    })
}

async fn start_writer(checkpointer: &SharedCheckpointer) -> Writer {
    let mut writer = Writer::open(checkpointer, "thread").await;
    writer.step(json!({ "count": 1 })).await;
    writer
}

async fn pending(writer: &Writer, number: u128) -> Vec<PendingEntry> {
    writer.loaded(CheckpointSelector::Id(id(number))).await.pending
}

/// R-FWK-34: every kind of entry is returned.
pub async fn every_kind_of_entry_round_trips(checkpointer: SharedCheckpointer) {
    let writer = start_writer(&checkpointer).await;
    let kinds = [
        done_entry("a"),
        TaskEntry::Skipped,
        failed_entry("no"),
        interrupt_entry(1),
        interrupt_entry(2),
        resume_entry(1),
        recorded_entry("k", i64::MIN),
    ];
    let entries: Vec<PendingEntry> = (1..).zip(kinds).map(|(task, entry)| pending_entry(id(1), task, entry)).collect();
    for entry in &entries {
        writer.commit_entry(entry.checkpoint, entry.task.bits(), entry.entry.clone()).await;
    }
    assert_eq!(pending(&writer, 1).await, entries);
}

/// R-FWK-34: a result is returned with its writes, its targets and its command for the parent graph.
pub async fn a_result_round_trips(checkpointer: SharedCheckpointer) {
    let writer = start_writer(&checkpointer).await;
    let send =
        StoredSend { index: 3, payload: json!({ "a": [u64::MAX] }).into(), timeout: Some(Duration::from_secs(1)) };
    let output = StoredOutput {
        writes: vec![
            StoredWrite { field: "log".into(), overwrite: true, value: json!(["é", null]).into() },
            StoredWrite { field: "log".into(), overwrite: false, value: json!({}).into() },
        ],
        follow_edges: false,
        targets: vec![StoredTask {
            node: "next".into(),
            trigger: StoredTrigger { kind: TriggerKind::Goto, from: Some("node".into()) },
            send: Some(send),
            scheduled_at: Some((id(7), 3)),
        }],
        parent_command: Some(StoredParentCommand {
            graph: Some("outer".into()),
            updates: vec![json!({ "n": i64::MAX }).as_object().cloned().unwrap_or_default()],
            goto: vec!["a".to_owned(), "b".to_owned()],
            sends: vec![("c".to_owned(), StoredSend { index: 0, payload: json!([1]).into(), timeout: None })],
        }),
        cached: true,
    };
    writer.commit_entry(id(1), 1, TaskEntry::Done(output.clone())).await;
    assert_eq!(pending(&writer, 1).await, [pending_entry(id(1), 1, TaskEntry::Done(output))]);
}

/// R-FWK-33: entries are returned in commit order, not by task.
pub async fn entries_are_in_the_order_they_became_known(checkpointer: SharedCheckpointer) {
    let writer = start_writer(&checkpointer).await;
    let order = [9, 3, 7, 1, 8];
    for task in order {
        writer.commit_entry(id(1), task, done_entry("x")).await;
    }
    let several = [6, 2].map(|task| pending_entry(id(1), task, TaskEntry::Skipped)).to_vec();
    checkpointer.commit(&writer.entries_commit(several, None)).await.expect("several entries at once are accepted");
    let tasks: Vec<u128> = pending(&writer, 1).await.iter().map(|entry| entry.task.bits()).collect();
    assert_eq!(tasks, [9, 3, 7, 1, 8, 6, 2]);
}

/// R-FWK-33: a second entry of the same task and slot replaces the first in its position.
pub async fn a_replaced_entry_keeps_its_place(checkpointer: SharedCheckpointer) {
    let writer = start_writer(&checkpointer).await;
    for (task, entry) in [(1, recorded_entry("a", 1)), (2, done_entry("b")), (1, recorded_entry("a", 2))] {
        writer.commit_entry(id(1), task, entry).await;
    }
    assert_eq!(
        pending(&writer, 1).await,
        [pending_entry(id(1), 1, recorded_entry("a", 2)), pending_entry(id(1), 2, done_entry("b"))]
    );
}

/// R-FWK-33: a task ends once: a result replaces a failure.
pub async fn a_result_replaces_a_failure(checkpointer: SharedCheckpointer) {
    let writer = start_writer(&checkpointer).await;
    for entry in [failed_entry("first"), failed_entry("second"), TaskEntry::Skipped, done_entry("at last")] {
        writer.commit_entry(id(1), 1, entry.clone()).await;
        assert_eq!(pending(&writer, 1).await, [pending_entry(id(1), 1, entry)]);
    }
}

/// R-FWK-33: entries of another slot or another task stay.
pub async fn entries_of_other_slots_and_tasks_stay(checkpointer: SharedCheckpointer) {
    let writer = start_writer(&checkpointer).await;
    let entries = [
        pending_entry(id(1), 1, recorded_entry("a", 1)),
        pending_entry(id(1), 1, recorded_entry("b", 1)),
        pending_entry(id(1), 1, recorded_entry("end", 1)),
        pending_entry(id(1), 1, recorded_entry("", 1)),
        pending_entry(id(1), 2, recorded_entry("a", 1)),
        pending_entry(id(1), 1, interrupt_entry(1)),
        pending_entry(id(1), 1, interrupt_entry(2)),
        pending_entry(id(1), 1, resume_entry(1)),
        pending_entry(id(1), 1, resume_entry(2)),
        pending_entry(id(1), 1, done_entry("x")),
        pending_entry(id(1), 2, done_entry("x")),
    ];
    for entry in &entries {
        writer.commit_entry(id(1), entry.task.bits(), entry.entry.clone()).await;
    }
    assert_eq!(pending(&writer, 1).await, entries);
}

/// R-FWK-33: entries belong to the checkpoint they name, whichever is the newest.
pub async fn entries_belong_to_their_checkpoint(checkpointer: SharedCheckpointer) {
    let mut writer = start_writer(&checkpointer).await;
    writer.steps(2).await;
    for number in [2, 1, 3] {
        writer.commit_entry(id(number), 1, done_entry(&number.to_string())).await;
    }
    for number in [1, 2, 3] {
        assert_eq!(pending(&writer, number).await, [pending_entry(id(number), 1, done_entry(&number.to_string()))]);
    }
}

/// R-FWK-34: a new checkpoint starts without entries, and the old one keeps its own.
pub async fn a_new_checkpoint_starts_without_entries(checkpointer: SharedCheckpointer) {
    let mut writer = start_writer(&checkpointer).await;
    writer.commit_entry(id(1), 1, done_entry("a")).await;
    writer.steps(1).await;
    assert!(writer.loaded(CheckpointSelector::Latest).await.pending.is_empty());
    assert_eq!(pending(&writer, 1).await, [pending_entry(id(1), 1, done_entry("a"))]);
}

/// R-FWK-33: entries may be committed with their checkpoint, and with the next one.
pub async fn entries_may_come_with_a_checkpoint(checkpointer: SharedCheckpointer) {
    let mut writer = start_writer(&checkpointer).await;
    let mut commit = writer.build_commit(json!({ "count": 1 }));
    commit.pending = vec![pending_entry(id(2), 1, interrupt_entry(1)), pending_entry(id(1), 1, done_entry("a"))];
    writer.send(commit).await;
    assert_eq!(pending(&writer, 2).await, [pending_entry(id(2), 1, interrupt_entry(1))]);
    assert_eq!(pending(&writer, 1).await, [pending_entry(id(1), 1, done_entry("a"))]);
}

/// R-FWK-33: an entry for an unknown checkpoint is rejected.
pub async fn an_entry_for_an_unknown_checkpoint_is_rejected(checkpointer: SharedCheckpointer) {
    let writer = start_writer(&checkpointer).await;
    let subgraph = writer.subgraph("child");
    for commit in [
        writer.entries_commit(vec![pending_entry(id(9), 1, done_entry("a"))], None),
        subgraph.entries_commit(vec![pending_entry(id(1), 1, done_entry("a"))], None),
    ] {
        let error = checkpointer.commit(&commit).await.expect_err("the checkpoint is unknown");
        assert_eq!(error.code(), ErrorCode::NotFound);
    }
}

/// R-FWK-33: repeated entries change nothing.
pub async fn entries_that_are_sent_again_change_nothing(checkpointer: SharedCheckpointer) {
    let writer = start_writer(&checkpointer).await;
    let entries = vec![
        pending_entry(id(1), 2, done_entry("a")),
        pending_entry(id(1), 1, recorded_entry("k", 1)),
        pending_entry(id(1), 1, interrupt_entry(1)),
    ];
    for _ in 0..3 {
        checkpointer.commit(&writer.entries_commit(entries.clone(), None)).await.expect("valid entries are accepted");
        assert_eq!(pending(&writer, 1).await, entries);
    }
}

/// R-FWK-33: entries of a thousand tasks are returned in order.
pub async fn entries_of_a_thousand_tasks_round_trip(checkpointer: SharedCheckpointer) {
    let writer = start_writer(&checkpointer).await;
    let entries: Vec<PendingEntry> =
        (0..1_000).map(|task| pending_entry(id(1), task * 7_919 % 1_000, done_entry("x"))).collect();
    for some in entries.chunks(100) {
        checkpointer.commit(&writer.entries_commit(some.to_vec(), None)).await.expect("valid entries are accepted");
    }
    assert_eq!(pending(&writer, 1).await, entries);
}

/// R-FWK-50: results recorded inside a task are returned exactly, native values too.
pub async fn recorded_results_round_trip_exactly(checkpointer: SharedCheckpointer) {
    let writer = start_writer(&checkpointer).await;
    let long: Arc<str> = "é".repeat(100_000).into();
    for (task, value) in [(1, json!(u64::MAX)), (2, json!(null)), (3, json!({ "": [] })), (4, json!(&*long))] {
        let entry = |value: AnyValue| TaskEntry::Recorded { key: "schlüssel \u{0}".to_owned(), value };
        writer.commit_entry(id(1), task, entry(AnyValue::native(value.clone()))).await;
        let stored = pending(&writer, 1).await.pop().expect("it was saved");
        assert_eq!(stored, pending_entry(id(1), task, entry(AnyValue::json(value))));
    }
}

#[doc(hidden)]
#[macro_export]
macro_rules! checkpointer_pending_entries {
    ($open:expr, $drive:expr) => {
        mod pending_entries {
            #[allow(unused_imports, reason = "the constructor may be in any module")]
            use super::*;
            use $crate::testing::checkpointer::{check, pending_entries as checks};

            /// R-FWK-34: every kind of entry is returned.
            #[test]
            fn every_kind_of_entry_round_trips() {
                check($open, $drive, checks::every_kind_of_entry_round_trips);
            }

            /// R-FWK-34: a result is returned with its writes, its targets and its command for the parent graph.
            #[test]
            fn a_result_round_trips() {
                check($open, $drive, checks::a_result_round_trips);
            }

            /// R-FWK-33: entries are returned in commit order, not by task.
            #[test]
            fn entries_are_in_the_order_they_became_known() {
                check($open, $drive, checks::entries_are_in_the_order_they_became_known);
            }

            /// R-FWK-33: a second entry of the same task and slot replaces the first in its position.
            #[test]
            fn a_replaced_entry_keeps_its_place() {
                check($open, $drive, checks::a_replaced_entry_keeps_its_place);
            }

            /// R-FWK-33: a task ends once: a result replaces a failure.
            #[test]
            fn a_result_replaces_a_failure() {
                check($open, $drive, checks::a_result_replaces_a_failure);
            }

            /// R-FWK-33: entries of another slot or another task stay.
            #[test]
            fn entries_of_other_slots_and_tasks_stay() {
                check($open, $drive, checks::entries_of_other_slots_and_tasks_stay);
            }

            /// R-FWK-33: entries belong to the checkpoint they name, whichever is the newest.
            #[test]
            fn entries_belong_to_their_checkpoint() {
                check($open, $drive, checks::entries_belong_to_their_checkpoint);
            }

            /// R-FWK-34: a new checkpoint starts without entries, and the old one keeps its own.
            #[test]
            fn a_new_checkpoint_starts_without_entries() {
                check($open, $drive, checks::a_new_checkpoint_starts_without_entries);
            }

            /// R-FWK-33: entries may be committed with their checkpoint, and with the next one.
            #[test]
            fn entries_may_come_with_a_checkpoint() {
                check($open, $drive, checks::entries_may_come_with_a_checkpoint);
            }

            /// R-FWK-33: an entry for an unknown checkpoint is rejected.
            #[test]
            fn an_entry_for_an_unknown_checkpoint_is_rejected() {
                check($open, $drive, checks::an_entry_for_an_unknown_checkpoint_is_rejected);
            }

            /// R-FWK-33: repeated entries change nothing.
            #[test]
            fn entries_that_are_sent_again_change_nothing() {
                check($open, $drive, checks::entries_that_are_sent_again_change_nothing);
            }

            /// R-FWK-33: entries of a thousand tasks are returned in order.
            #[test]
            fn entries_of_a_thousand_tasks_round_trip() {
                check($open, $drive, checks::entries_of_a_thousand_tasks_round_trip);
            }

            /// R-FWK-50: results recorded inside a task are returned exactly, native values too.
            #[test]
            fn recorded_results_round_trip_exactly() {
                check($open, $drive, checks::recorded_results_round_trip_exactly);
            }
        }
    };
}
