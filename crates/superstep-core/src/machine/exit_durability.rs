//! Exit durability: collects the work of all supersteps for one commit when the run ends.
//!
//! The checkpoint of that commit gets its id with the first change. The ids of tasks and interrupts are derived
//! from that id from then on, so that they stay the same when the commit is saved. A crash before the commit loses
//! the work of the run and nothing else.

use std::collections::BTreeMap;

use super::commit::NewCheckpoint;
use super::{Machine, Phase};
use crate::apply::Applied;
use crate::change::Change;
use crate::checkpoint::{CheckpointSource, PendingEntry, TaskEntry};
use crate::id::{CheckpointId, FieldId};
use crate::port::{Commit, ThreadStatus};

/// The origin of a checkpoint that is not saved yet.
#[derive(Debug, Clone, Copy)]
pub struct UnsavedCheckpoint {
    /// The saved checkpoint it builds on.
    pub parent: Option<CheckpointId>,
    /// Step of its first change.
    pub step: i64,
    /// Cause of the checkpoint so far.
    pub source: CheckpointSource,
}

/// The unsaved work of a run.
#[derive(Default)]
pub(super) struct UnsavedWork {
    checkpoint: Option<UnsavedCheckpoint>,
    changes: BTreeMap<FieldId, Change>,
    pending: Vec<PendingEntry>,
    status: Option<ThreadStatus>,
    is_in_flight: bool,
}

impl Machine {
    /// Returns true if a checkpoint is deferred to the end of the run. The input of a subgraph is not: if the
    /// subgraph continues in another run, its changes since the input are computed from there.
    pub(super) fn is_deferred_to_exit(&self, source: CheckpointSource) -> bool {
        self.config.saves_at_exit && (source != CheckpointSource::Input || self.config.parent_task.is_none())
    }

    /// Adds a superstep to the unsaved work.
    pub(super) fn defer_superstep(&mut self, source: CheckpointSource, applied: Applied) {
        let mut unsaved = self.unsaved_work.take().unwrap_or_default();
        let checkpoint = unsaved.checkpoint.get_or_insert_with(|| {
            let checkpoint = UnsavedCheckpoint { parent: self.parent(), step: self.position.step, source };
            self.latest_checkpoint = Some(CheckpointId::from_bits(self.config.environment.new_id()));
            checkpoint
        });
        // A fork or an update keeps its source, whatever supersteps follow.
        if !matches!(checkpoint.source, CheckpointSource::Fork | CheckpointSource::Update) {
            checkpoint.source = source;
        }
        for (field, change) in applied.changes {
            let earlier = unsaved.changes.remove(&field).unwrap_or(Change::Unchanged);
            unsaved.changes.insert(field, earlier.then(change));
        }
        // The superstep is complete: of its pending entries, only resume values for saved interrupts are still
        // needed.
        let parent = checkpoint.parent;
        unsaved.pending.retain(|entry| matches!(entry.entry, TaskEntry::Resume(_)) && Some(entry.checkpoint) == parent);
        unsaved.status = self.status();
        self.unsaved_work = Some(unsaved);
    }

    /// Adds pending entries to the unsaved work.
    pub(super) fn defer_entries(&mut self, pending: Vec<PendingEntry>, status: Option<ThreadStatus>) {
        let unsaved = self.unsaved_work.get_or_insert_default();
        unsaved.pending.extend(pending);
        unsaved.status = status.or(unsaved.status);
    }

    pub(super) fn has_unsaved(&self) -> bool {
        self.unsaved_work.as_ref().is_some_and(|unsaved| !unsaved.is_in_flight)
    }

    /// Queues the one commit of the run.
    pub(super) fn commit_unsaved(&mut self) {
        let (Some(mut unsaved), Some(lease)) = (self.unsaved_work.take(), self.config.lease.clone()) else { return };
        unsaved.is_in_flight = true;
        let (pending, status) = (unsaved.pending.clone(), unsaved.status);
        match (unsaved.checkpoint, self.latest_checkpoint) {
            (Some(UnsavedCheckpoint { parent, source, .. }), Some(id)) => {
                let changes: Vec<(FieldId, Change)> =
                    unsaved.changes.iter().map(|(field, change)| (*field, change.clone())).collect();
                let changes = if parent.is_none() { self.all_fields() } else { self.changed_fields(changes.iter()) };
                self.queue_checkpoint(lease, NewCheckpoint { id, parent, source, changes, pending, status });
            }
            _ => {
                let namespace = self.config.namespace.clone();
                self.queue_commit(Commit { pending, status, ..Commit::empty(lease, namespace) });
            }
        }
        // Discarded only after the commit is saved: a run that is stopped before queues the commit again.
        self.unsaved_work = Some(unsaved);
    }

    pub(super) fn unsaved_committed(&mut self) {
        if self.unsaved_work.as_ref().is_some_and(|unsaved| unsaved.is_in_flight) {
            self.unsaved_work = None;
        }
    }

    pub(super) fn unsaved_checkpoint(&self) -> Option<Box<UnsavedCheckpoint>> {
        self.unsaved_work.as_ref().and_then(|unsaved| unsaved.checkpoint).map(Box::new)
    }

    /// Adds recorded results of a task of this superstep to the commit at the end of the run.
    pub fn add_recorded_results(&mut self, results: Vec<PendingEntry>) {
        if !results.is_empty() {
            self.save_pending(results, None);
        }
    }

    /// Returns the commit of a run that is stopped from outside: its complete supersteps and finished tasks.
    /// Returns `None` if the run commits every superstep.
    pub fn commit_on_stop(&mut self, status: ThreadStatus) -> Option<Commit> {
        if !self.config.saves_at_exit {
            return None;
        }
        // A superstep of one task is applied when the task ends: the position must follow.
        if matches!(self.phase, Phase::Running) && !self.has_unfinished_tasks() {
            self.complete_superstep();
        }
        if matches!(self.phase, Phase::Running) {
            let entries = self.unsaved_task_entries();
            self.save_pending(entries, Some(status));
        } else if matches!(self.phase, Phase::Plan) {
            self.save_pending(Vec::new(), Some(status));
        }
        self.pending_commits.clear();
        self.commit_unsaved();
        self.pending_commits.pop_front().map(|(commit, _)| *commit)
    }
}
