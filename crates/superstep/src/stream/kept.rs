//! Events that are kept: written in the commit of what they speak of, and numbered, so that a reader can come back.
//!
//! Previews (pieces of answers, progress of tools) are not kept; a later event holds them whole.

use std::collections::VecDeque;
use std::sync::Mutex;

use serde_json::Value;

use super::events::Projection;
use super::{EventForm, EventKind, ModelEvent, RunEvent, StreamEvent, ToolEvent};
use crate::context::{Shared, lock};

/// What waits for the next commit.
pub(crate) struct Keeper {
    waiting: Mutex<Waiting>,
    /// The number of the last event that was given one. Held while a commit with events is under way: what comes later is
    /// numbered later, and is saved later.
    pub(crate) last: tokio::sync::Mutex<u64>,
}

struct Waiting {
    projection: Projection,
    events: VecDeque<StreamEvent>,
}

impl Keeper {
    /// Keeps events from behind the one with this number.
    pub(crate) fn new(last: u64) -> Self {
        let waiting = Waiting { projection: Projection::new(EventForm::Superstep), events: VecDeque::new() };
        Self { waiting: Mutex::new(waiting), last: tokio::sync::Mutex::new(last) }
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

    /// What waits, as JSON.
    pub(crate) fn take(&self) -> Vec<Value> {
        let events = std::mem::take(&mut lock(&self.waiting).events);
        events.iter().map(|event| super::form::told(serde_json::to_value(event).map_err(not_json))).collect()
    }
}

fn not_json(error: serde_json::Error) -> superstep_core::error::Error {
    superstep_core::error::Error::internal(error.to_string())
}
