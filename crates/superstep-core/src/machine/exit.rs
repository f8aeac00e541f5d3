//! Saving only when a run ends: what its supersteps do is gathered here, and one commit holds it.
//!
//! The checkpoint of that commit gets its id with the first change. Tasks and questions are named after it from then
//! on, so that they keep their ids when it is saved. A crash before loses the run and nothing else.

use std::collections::BTreeMap;

use super::save::Made;
use super::{Machine, Phase};
use crate::apply::Applied;
use crate::change::Change;
use crate::checkpoint::{Entry, Pending, Source};
use crate::id::{CheckpointId, FieldId};
use crate::port::{Commit, ThreadStatus};

/// A checkpoint that is not saved yet: where it began.
#[derive(Debug, Clone, Copy)]
pub struct Draft {
    /// The saved checkpoint it builds on.
    pub parent: Option<CheckpointId>,
    /// The step of its first change.
    pub step: i64,
    /// What made it, as far as it is made.
    pub source: Source,
}

/// What a run has done and not saved.
#[derive(Default)]
pub(super) struct Unsaved {
    draft: Option<Draft>,
    changes: BTreeMap<FieldId, Change>,
    pending: Vec<Pending>,
    status: Option<ThreadStatus>,
    is_sent_off: bool,
}

impl Machine {
    /// Whether a checkpoint waits for the end of the run. The input of a graph inside does not: when the graph goes on
    /// in another run, what it did since is measured from there.
    pub(super) fn holds_back(&self, source: Source) -> bool {
        self.config.at_exit && (source != Source::Input || self.config.outer_task.is_none())
    }

    /// Adds a superstep to what will be saved.
    pub(super) fn hold_back(&mut self, source: Source, applied: Applied) {
        let mut unsaved = self.unsaved.take().unwrap_or_default();
        let draft = unsaved.draft.get_or_insert_with(|| {
            let draft = Draft { parent: self.parent(), step: self.position.step, source };
            self.head = Some(CheckpointId::from_bits(self.config.world.fresh()));
            draft
        });
        // A new line of history stays one, whatever follows on it.
        if !matches!(draft.source, Source::Fork | Source::Update) {
            draft.source = source;
        }
        for (field, change) in applied.changes {
            let earlier = unsaved.changes.remove(&field).unwrap_or(Change::Unchanged);
            unsaved.changes.insert(field, earlier.then(change));
        }
        // The superstep is whole: of its tasks only answers to questions that are saved still say something.
        let parent = draft.parent;
        unsaved.pending.retain(|known| matches!(known.entry, Entry::Answer(_)) && Some(known.checkpoint) == parent);
        unsaved.status = self.status();
        self.unsaved = Some(unsaved);
    }

    /// Adds what is known of tasks to what will be saved.
    pub(super) fn hold_back_pending(&mut self, pending: Vec<Pending>, status: Option<ThreadStatus>) {
        let unsaved = self.unsaved.get_or_insert_default();
        unsaved.pending.extend(pending);
        unsaved.status = status.or(unsaved.status);
    }

    pub(super) fn has_unsaved(&self) -> bool {
        self.unsaved.as_ref().is_some_and(|unsaved| !unsaved.is_sent_off)
    }

    /// Asks for the one commit of the run.
    pub(super) fn save_unsaved(&mut self) {
        let (Some(mut unsaved), Some(lease)) = (self.unsaved.take(), self.config.lease.clone()) else { return };
        unsaved.is_sent_off = true;
        let (pending, status) = (unsaved.pending.clone(), unsaved.status);
        match (unsaved.draft, self.head) {
            (Some(Draft { parent, source, .. }), Some(id)) => {
                let changes: Vec<(FieldId, Change)> =
                    unsaved.changes.iter().map(|(field, change)| (*field, change.clone())).collect();
                let changes = if parent.is_none() { self.everything() } else { self.changed(changes.iter()) };
                self.send_off_checkpoint(lease, Made { id, parent, source, changes, pending, status });
            }
            _ => {
                let namespace = self.config.namespace.clone();
                self.send_off(Commit { pending, status, ..Commit::empty(lease, namespace) });
            }
        }
        // Given up only when it is saved: a run that is stopped before asks for it once more.
        self.unsaved = Some(unsaved);
    }

    pub(super) fn unsaved_is_saved(&mut self) {
        if self.unsaved.as_ref().is_some_and(|unsaved| unsaved.is_sent_off) {
            self.unsaved = None;
        }
    }

    pub(super) fn draft(&self) -> Option<Box<Draft>> {
        self.unsaved.as_ref().and_then(|unsaved| unsaved.draft).map(Box::new)
    }

    /// Keeps what a task of this superstep recorded, for the commit at the end of the run.
    pub fn keep(&mut self, records: Vec<Pending>) {
        if !records.is_empty() {
            self.save_pending(records, None);
        }
    }

    /// What is to be saved of a run that is stopped from outside: its whole supersteps and finished tasks. Nothing
    /// where it saves as it goes.
    pub fn stop_unsaved(&mut self, status: ThreadStatus) -> Option<Commit> {
        if !self.config.at_exit {
            return None;
        }
        // A superstep of one task is folded when the task ends: the position must follow.
        if matches!(self.phase, Phase::Running) && !self.has_open() {
            self.settle();
        }
        if matches!(self.phase, Phase::Running) {
            let known = self.everything_known();
            self.save_pending(known, Some(status));
        } else if matches!(self.phase, Phase::Plan) {
            self.save_pending(Vec::new(), Some(status));
        }
        self.outbox.clear();
        self.save_unsaved();
        self.outbox.pop_front().map(|(commit, _)| *commit)
    }
}
