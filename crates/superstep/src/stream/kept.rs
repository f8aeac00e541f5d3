//! Events that are kept: written in the commit of what they speak of, and numbered, so that a reader can come back.
//!
//! Previews (pieces of answers, progress of tools) are not kept; a later event holds them whole.

use std::collections::VecDeque;
use std::sync::Mutex;
use std::sync::atomic::AtomicBool;

use serde_json::Value;
use superstep_core::error::Error;

use super::events::Projection;
use super::{EventKind, ModelEvent, RunEvent, StreamEvent, ToolEvent, form};
use crate::context::{Shared, lock};

/// What waits for the next commit.
pub(crate) struct Keeper {
    waiting: Mutex<Waiting>,
    /// The number of the last event that was saved.
    pub(crate) last: tokio::sync::Mutex<u64>,
    /// A commit has failed.
    pub(crate) has_failed: AtomicBool,
}

struct Waiting {
    projection: Projection,
    events: VecDeque<StreamEvent>,
    /// What was handed to a commit of which nobody knows whether it came about.
    unsure: Vec<(u64, Value)>,
}

impl Keeper {
    /// Keeps events from behind the one with this number.
    pub(crate) fn new(last: u64) -> Self {
        let projection = Projection::stored();
        let waiting = Waiting { projection, events: VecDeque::new(), unsure: Vec::new() };
        let (last, has_failed) = (tokio::sync::Mutex::new(last), AtomicBool::new(false));
        Self { waiting: Mutex::new(waiting), last, has_failed }
    }

    pub(super) fn keep(&self, shared: &Shared, kind: &EventKind) {
        let is_preview = matches!(
            kind,
            EventKind::Model { what: ModelEvent::Piece { .. }, .. }
                | EventKind::Tool { what: ToolEvent::Progress { .. }, .. }
        );
        let Some(graph) = shared.graph.clone().filter(|_| !is_preview) else { return };
        let event = RunEvent { seq: 0, time: shared.clock.now(), graph, kind: kind.clone() };
        let waiting = &mut *lock(&self.waiting);
        waiting.projection.project(&event, &mut waiting.events);
    }

    /// Whether a commit with events was let go of while it was under way.
    pub(crate) fn is_unsure(&self) -> bool {
        !lock(&self.waiting).unsure.is_empty()
    }

    /// Forgets of what was under way what the store has, up to this number.
    pub(crate) fn sort_out(&self, last: u64) {
        lock(&self.waiting).unsure.retain(|(number, _)| *number > last);
    }

    /// How many events wait.
    pub(crate) fn waiting(&self) -> usize {
        let waiting = lock(&self.waiting);
        waiting.unsure.len() + waiting.events.len()
    }

    /// What waits, numbered from behind the last. Unless it is said to be saved the first `others` come back; the rest
    /// speak of what the commit was to save, and go with it.
    pub(crate) fn take(&self, last: u64, others: usize) -> Batch<'_> {
        let waiting = &mut *lock(&self.waiting);
        let earlier = std::mem::take(&mut waiting.unsure).into_iter().map(|(_, body)| body);
        let written = waiting.events.drain(..).map(|event| form::told(serde_json::to_value(&event).map_err(not_json)));
        let events = (last + 1..).zip(earlier.chain(written)).collect();
        Batch { kept: self, events, others, is_saved: false }
    }
}

/// Events of a commit that is under way.
pub(crate) struct Batch<'a> {
    kept: &'a Keeper,
    events: Vec<(u64, Value)>,
    others: usize,
    is_saved: bool,
}

impl Batch<'_> {
    pub(crate) fn events(&self) -> &[(u64, Value)] {
        &self.events
    }

    pub(crate) fn saved(mut self) {
        self.is_saved = true;
    }
}

impl Drop for Batch<'_> {
    fn drop(&mut self) {
        if !self.is_saved {
            self.events.truncate(self.others);
            lock(&self.kept.waiting).unsure = std::mem::take(&mut self.events);
        }
    }
}

fn not_json(error: serde_json::Error) -> Error {
    Error::internal(error.to_string())
}
