//! A checkpointer with simulated tampering: it modifies what it returns.

use std::sync::Arc;

use serde_json::{Value, json};
use superstep::MemoryCheckpointer;
use superstep::core::checkpoint::{CheckpointNamespace, TaskEntry};
use superstep::core::delegate_checkpointer;
use superstep::core::error::Result;
use superstep::core::id::{CheckpointId, ThreadId};
use superstep::core::port::{CheckpointSelector, CheckpointTuple, Checkpointer, HistoryQuery};
use superstep::core::value::AnyValue;

/// A checkpointer that modifies its checkpoints.
#[derive(Clone)]
pub(super) struct TamperingCheckpointer<F> {
    pub(super) store: MemoryCheckpointer,
    pub(super) tamper: Arc<F>,
}

type TamperFn = fn(&mut CheckpointTuple);

/// Modifications of stored data, each with the location that its error must name.
pub(super) const MODIFICATIONS: [(TamperFn, &str); 9] = [
    (|loaded| first(loaded, "patient", flip), "field `patient`"),
    (|loaded| first(loaded, "patient", |text| text.truncate(20)), "field `patient`"),
    (|loaded| first(loaded, "patient", |text| text.push('!')), "field `patient`"),
    (|loaded| set(loaded, "patient", json!("another")), "field `patient`"),
    (
        |loaded| {
            let other = loaded.fields.iter().find(|(name, _)| **name == *"log").map(|(_, log)| log[0].1.clone());
            set(loaded, "patient", other.and_then(|part| part.to_json().ok()).unwrap_or_default());
        },
        "field `patient`",
    ),
    (
        |loaded| {
            for (_, log) in loaded.fields.iter_mut().filter(|(name, _)| **name == *"notes") {
                log.last_mut().unwrap().0 = superstep::core::change::Change::Set;
            }
        },
        "field `notes`",
    ),
    (change_interrupt, "entry `question "),
    (move_recorded_result, "entry `once number`"),
    (move_sends, "send `0`"),
];

fn set(loaded: &mut CheckpointTuple, field: &str, value: Value) {
    for (_, log) in loaded.fields.iter_mut().filter(|(name, _)| **name == *field) {
        log[0].1 = AnyValue::json(value.clone());
    }
}

fn first(loaded: &mut CheckpointTuple, field: &str, modify: fn(&mut String)) {
    let part = loaded.fields.iter().find(|(name, _)| **name == *field).map(|(_, log)| log[0].1.to_json());
    let Some(Ok(mut part)) = part else { return };
    let Some(Value::String(text)) = part.get_mut("__sealed__") else { return };
    modify(text);
    set(loaded, field, part);
}

/// Changes a character in the middle.
fn flip(text: &mut String) {
    let middle = text.len() / 2;
    let letter = if text[middle..].starts_with('A') { "B" } else { "A" };
    text.replace_range(middle..=middle, letter);
}

fn change_interrupt(loaded: &mut CheckpointTuple) {
    for pending in &mut loaded.pending {
        if let TaskEntry::Interrupt(interrupt) = &mut pending.entry {
            interrupt.value = json!({ "shown": "send me the money" });
        }
    }
}

/// Moves a recorded result to another task.
fn move_recorded_result(loaded: &mut CheckpointTuple) {
    for pending in &mut loaded.pending {
        if matches!(pending.entry, TaskEntry::Recorded { .. }) {
            pending.task = superstep::core::id::TaskId::from_bits(7);
        }
    }
}

/// Moves the scheduled sends of one checkpoint to another.
fn move_sends(loaded: &mut CheckpointTuple) {
    if loaded.checkpoint.next_tasks.iter().any(|task| task.send.is_some()) {
        Arc::make_mut(&mut loaded.checkpoint).id = CheckpointId::from_bits(7);
    }
}

impl<F: Fn(&mut CheckpointTuple) + Send + Sync + 'static> TamperingCheckpointer<F> {
    fn tampered(&self, mut loaded: CheckpointTuple) -> CheckpointTuple {
        (self.tamper)(&mut loaded);
        loaded
    }
}

impl<F: Fn(&mut CheckpointTuple) + Send + Sync + 'static> Checkpointer for TamperingCheckpointer<F> {
    delegate_checkpointer!(this => this.store; acquire, release, commit, threads, status, namespaces);
    delegate_checkpointer!(this => this.store; delete_thread, copy_thread, prune, stats);
    delegate_checkpointer!(this => this.store; events, last_event_number, delete_events);

    async fn load(
        &self,
        thread: &ThreadId,
        namespace: &CheckpointNamespace,
        at: CheckpointSelector,
    ) -> Result<Option<CheckpointTuple>> {
        Ok(self.store.load(thread, namespace, at).await?.map(|loaded| self.tampered(loaded)))
    }

    async fn history(
        &self,
        thread: &ThreadId,
        namespace: &CheckpointNamespace,
        query: &HistoryQuery,
    ) -> Result<Vec<CheckpointTuple>> {
        let listed = self.store.history(thread, namespace, query).await?;
        Ok(listed.into_iter().map(|loaded| self.tampered(loaded)).collect())
    }
}
