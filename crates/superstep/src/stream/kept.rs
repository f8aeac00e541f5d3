//! Events that are kept: written in the commit of what they speak of, and numbered, so that a reader can come back.
//!
//! An event has its number from the moment it is told, and is stored under it. Previews (pieces of answers, progress of
//! tools) have numbers too and are not kept; a later event holds them whole.

use std::collections::VecDeque;
use std::sync::Mutex;
use std::sync::atomic::AtomicBool;

use serde_json::Value;
use superstep_core::error::Error;

use super::events::Projection;
use super::{EventKind, ModelEvent, RunEvent, StreamEvent, ToolEvent, form};
use crate::context::{Shared, lock};

/// The number and the time under which something is kept; 0 where it is not.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Stamp {
    pub(super) number: u64,
    pub(super) time: i64,
}

/// What waits for the next commit.
pub(crate) struct Keeper {
    waiting: Mutex<Waiting>,
    /// The number of the last event that was saved.
    pub(crate) last: tokio::sync::Mutex<u64>,
    /// A commit has failed.
    pub(crate) has_failed: AtomicBool,
}

struct Waiting {
    /// Numbers the events.
    projection: Projection,
    events: VecDeque<StreamEvent>,
    /// What was handed to a commit of which nobody knows whether it came about.
    unsure: Vec<(u64, Value)>,
}

/// How many numbers a run may give to events between two commits. After a run that did not live to save its end, the next
/// begins further than that behind the last event that was saved: what it told has a number that is never given again.
const STRIDE: u64 = 1_000_000;

/// Behind which number the events go on of a thread whose last run did not live to save its end.
#[doc(hidden)]
#[must_use]
pub fn after_a_crash(last: u64) -> u64 {
    (last / STRIDE + 2) * STRIDE
}

impl Keeper {
    /// Keeps events of a run, on a thread whose last event has this number, and whether that is the end of a run.
    pub(crate) fn new(last: u64, is_whole: bool) -> Self {
        let begin = if is_whole { last } else { after_a_crash(last) };
        let projection = Projection::stored(begin);
        let waiting = Waiting { projection, events: VecDeque::new(), unsure: Vec::new() };
        let (last, has_failed) = (tokio::sync::Mutex::new(last), AtomicBool::new(false));
        Self { waiting: Mutex::new(waiting), last, has_failed }
    }

    /// Numbers what is said, and keeps it unless it is a preview. The number is that of the first event it is told as.
    pub(super) fn keep(&self, shared: &Shared, kind: &EventKind) -> Stamp {
        let is_preview = matches!(
            kind,
            EventKind::Model { what: ModelEvent::Piece { .. }, .. }
                | EventKind::Tool { what: ToolEvent::Progress { .. }, .. }
        );
        let waiting = &mut *lock(&self.waiting);
        let (number, time) = (waiting.projection.seq + 1, shared.clock.now());
        match &shared.graph {
            Some(_) if is_preview => waiting.projection.seq = number,
            Some(graph) => {
                let (graph, kind) = (graph.clone(), kind.clone());
                let event = RunEvent { seq: 0, number, time, graph, kind };
                waiting.projection.project(&event, &mut waiting.events);
            }
            None => {}
        }
        Stamp { number, time }
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

    /// What waits. Unless it is said to be saved the first `others` come back; the rest speak of what the commit was to
    /// save, and go with it.
    pub(crate) fn take(&self, others: usize) -> Batch<'_> {
        let waiting = &mut *lock(&self.waiting);
        let mut events = std::mem::take(&mut waiting.unsure);
        events.extend(waiting.events.drain(..).map(|event| {
            let body = form::told(serde_json::to_value(&event).map_err(not_json));
            (event.metadata.seq, body)
        }));
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
