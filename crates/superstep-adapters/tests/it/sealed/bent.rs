//! A store that somebody else has written to: what it gives back is bent on the way.

use std::sync::Arc;

use serde_json::{Value, json};
use superstep::Memory;
use superstep::core::checkpoint::{Entry, Namespace};
use superstep::core::datum::Datum;
use superstep::core::error::Result;
use superstep::core::forward_checkpointer;
use superstep::core::id::{CheckpointId, ThreadId};
use superstep::core::port::{At, Checkpointer, HistoryQuery, Loaded};

/// A store whose checkpoints come back bent.
#[derive(Clone)]
pub(super) struct Bent<F> {
    pub(super) store: Memory,
    pub(super) bend: Arc<F>,
}

type Bend = fn(&mut Loaded);

/// Ways to change what is stored, each with the part that an error about it must name.
pub(super) const WAYS: [(Bend, &str); 9] = [
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
    (question, "entry `question "),
    (once, "entry `once number`"),
    (sends, "send `0`"),
];

fn set(loaded: &mut Loaded, field: &str, value: Value) {
    for (_, log) in loaded.fields.iter_mut().filter(|(name, _)| **name == *field) {
        log[0].1 = Datum::json(value.clone());
    }
}

fn first(loaded: &mut Loaded, field: &str, bend: fn(&mut String)) {
    let part = loaded.fields.iter().find(|(name, _)| **name == *field).map(|(_, log)| log[0].1.to_json());
    let Some(Ok(mut part)) = part else { return };
    let Some(Value::String(text)) = part.get_mut("__sealed__") else { return };
    bend(text);
    set(loaded, field, part);
}

/// Changes a letter in the middle.
fn flip(text: &mut String) {
    let middle = text.len() / 2;
    let letter = if text[middle..].starts_with('A') { "B" } else { "A" };
    text.replace_range(middle..=middle, letter);
}

fn question(loaded: &mut Loaded) {
    for pending in &mut loaded.pending {
        if let Entry::Question(question) = &mut pending.entry {
            question.value = json!({ "shown": "send me the money" });
        }
    }
}

/// Moves a record to another task.
fn once(loaded: &mut Loaded) {
    for pending in &mut loaded.pending {
        if matches!(pending.entry, Entry::Once { .. }) {
            pending.task = superstep::core::id::TaskId::from_bits(7);
        }
    }
}

/// Gives what is due at one checkpoint to another.
fn sends(loaded: &mut Loaded) {
    if loaded.checkpoint.due.iter().any(|due| due.send.is_some()) {
        Arc::make_mut(&mut loaded.checkpoint).id = CheckpointId::from_bits(7);
    }
}

impl<F: Fn(&mut Loaded) + Send + Sync + 'static> Bent<F> {
    fn bent(&self, mut loaded: Loaded) -> Loaded {
        (self.bend)(&mut loaded);
        loaded
    }
}

impl<F: Fn(&mut Loaded) + Send + Sync + 'static> Checkpointer for Bent<F> {
    forward_checkpointer!(this => this.store; acquire, release, commit, threads, status, namespaces);
    forward_checkpointer!(this => this.store; delete_thread, copy_thread, prune, stats);
    forward_checkpointer!(this => this.store; events, last_event, forget_events);

    async fn load(&self, thread: &ThreadId, namespace: &Namespace, at: At) -> Result<Option<Loaded>> {
        Ok(self.store.load(thread, namespace, at).await?.map(|loaded| self.bent(loaded)))
    }

    async fn history(&self, thread: &ThreadId, namespace: &Namespace, query: &HistoryQuery) -> Result<Vec<Loaded>> {
        let listed = self.store.history(thread, namespace, query).await?;
        Ok(listed.into_iter().map(|loaded| self.bent(loaded)).collect())
    }
}
