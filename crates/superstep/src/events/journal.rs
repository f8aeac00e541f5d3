//! Event journal: events are persisted in the commit of the change that they report, and numbered, so that a client
//! can reconnect.
//!
//! An event gets its number when it is published, and is stored with this number. Previews (chunks of responses,
//! progress of tools) have numbers too, but are not stored; a later event contains their content.

use std::collections::VecDeque;
use std::sync::Mutex;
use std::sync::atomic::AtomicBool;

use serde_json::Value;
use superstep_core::error::Error;

use crate::engine::context::{RunShared, lock};
use crate::events::event::{EventKind, ModelEvent, RunEvent, StreamEvent, ToolEvent};
use crate::events::event_stream::Projection;
use crate::events::json;

/// Number and time of a journaled event; 0 if it is not journaled.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct JournalStamp {
    pub(crate) number: u64,
    pub(crate) time: i64,
}

/// Journal of a run: events that wait for the next commit.
pub(crate) struct EventJournal {
    pending: Mutex<PendingEvents>,
    /// Number of the last saved event.
    pub(crate) last: tokio::sync::Mutex<u64>,
    /// True if a commit has failed.
    pub(crate) has_failed: AtomicBool,
}

struct PendingEvents {
    /// Assigns the event numbers.
    projection: Projection,
    events: VecDeque<StreamEvent>,
    /// Events of a commit whose result is unknown.
    unconfirmed: Vec<(u64, Value)>,
}

/// Maximum number of events between two commits. After a crash, the next run starts more than this number after the
/// last saved event, so that the number of an event that was published but not saved is never assigned again.
const NUMBER_GAP_AFTER_CRASH: u64 = 1_000_000;

/// Returns the number after which events continue on a thread whose last run did not save its end.
#[doc(hidden)]
#[must_use]
pub fn next_number_after_crash(last: u64) -> u64 {
    (last / NUMBER_GAP_AFTER_CRASH + 2) * NUMBER_GAP_AFTER_CRASH
}

impl EventJournal {
    /// Creates the journal of a run. `last` is the number of the last event of the thread; `is_run_end` is true if that
    /// is the end of a run.
    pub(crate) fn new(last: u64, is_run_end: bool) -> Self {
        let seq = if is_run_end { last } else { next_number_after_crash(last) };
        let projection = Projection::stored(seq);
        let pending = PendingEvents { projection, events: VecDeque::new(), unconfirmed: Vec::new() };
        let (last, has_failed) = (tokio::sync::Mutex::new(last), AtomicBool::new(false));
        Self { pending: Mutex::new(pending), last, has_failed }
    }

    /// Numbers an event, and adds it to the journal unless it is a preview. Returns the number of its first projected
    /// event.
    pub(crate) fn append(&self, shared: &RunShared, kind: &EventKind) -> JournalStamp {
        let is_preview = matches!(
            kind,
            EventKind::Model { event: ModelEvent::Chunk { .. }, .. }
                | EventKind::Tool { event: ToolEvent::Progress { .. }, .. }
        );
        let pending = &mut *lock(&self.pending);
        let (number, time) = (pending.projection.seq + 1, shared.clock.now());
        match &shared.graph {
            Some(_) if is_preview => pending.projection.seq = number,
            Some(graph) => {
                let (graph, kind) = (graph.clone(), kind.clone());
                let event = RunEvent { seq: 0, number, time, graph, kind };
                pending.projection.project(&event, &mut pending.events);
            }
            None => {}
        }
        JournalStamp { number, time }
    }

    /// Returns true if a commit with events was dropped while in flight.
    pub(crate) fn has_unconfirmed(&self) -> bool {
        !lock(&self.pending).unconfirmed.is_empty()
    }

    /// Removes events of unknown state that the checkpointer has, up to this number.
    pub(crate) fn reconcile(&self, last: u64) {
        lock(&self.pending).unconfirmed.retain(|(number, _)| *number > last);
    }

    /// Returns the number of pending events.
    pub(crate) fn pending_count(&self) -> usize {
        let pending = lock(&self.pending);
        pending.unconfirmed.len() + pending.events.len()
    }

    /// Returns the pending events. If the batch is not marked as saved, its first `events_before_commit` events are
    /// returned to the journal; the rest belong to the changes of the commit and are discarded with it.
    pub(crate) fn take_batch(&self, events_before_commit: usize) -> JournalBatch<'_> {
        let pending = &mut *lock(&self.pending);
        let mut events = std::mem::take(&mut pending.unconfirmed);
        events.extend(pending.events.drain(..).map(|event| {
            let body = json::to_json_or_error(serde_json::to_value(&event).map_err(not_json));
            (event.metadata.seq, body)
        }));
        JournalBatch { journal: self, events, events_before_commit, is_saved: false }
    }
}

/// Events of a commit in flight.
pub(crate) struct JournalBatch<'a> {
    journal: &'a EventJournal,
    events: Vec<(u64, Value)>,
    events_before_commit: usize,
    is_saved: bool,
}

impl JournalBatch<'_> {
    pub(crate) fn events(&self) -> &[(u64, Value)] {
        &self.events
    }

    pub(crate) fn confirm(mut self) {
        self.is_saved = true;
    }
}

impl Drop for JournalBatch<'_> {
    fn drop(&mut self) {
        if !self.is_saved {
            self.events.truncate(self.events_before_commit);
            lock(&self.journal.pending).unconfirmed = std::mem::take(&mut self.events);
        }
    }
}

fn not_json(error: serde_json::Error) -> Error {
    Error::internal(error.to_string())
}
