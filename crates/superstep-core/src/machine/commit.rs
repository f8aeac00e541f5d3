//! Commits: one per superstep, and early ones for tasks that finish before their siblings.

use std::sync::Arc;

use smallvec::SmallVec;

use super::stored_form::{to_stored_joins, to_stored_task};
use super::{Machine, MachineEvent};
use crate::apply::{Applied, FieldSet};
use crate::change::Change;
use crate::checkpoint::{Checkpoint, CheckpointSource, FORMAT_VERSION, FieldChange, PendingEntry, TaskEntry};
use crate::id::{CheckpointId, FieldId};
use crate::port::{Commit, Lease, ThreadStatus};

/// A new checkpoint, and the data saved with it.
pub(super) struct NewCheckpoint {
    pub(super) id: CheckpointId,
    pub(super) parent: Option<CheckpointId>,
    pub(super) source: CheckpointSource,
    pub(super) changes: SmallVec<[FieldChange; 2]>,
    pub(super) pending: Vec<PendingEntry>,
    pub(super) status: Option<ThreadStatus>,
}

impl Machine {
    /// Queues a new checkpoint of the current state and position.
    pub(super) fn save_checkpoint(&mut self, source: CheckpointSource, applied: Applied) {
        self.is_migrated = false;
        if self.config.emits_events {
            let step = self.position.step;
            let is_visible = source == CheckpointSource::Input
                || applied.changes.iter().any(|(id, _)| self.graph.output.contains(id));
            self.emit_after_commit(MachineEvent::Values { step, state: self.state(), is_visible });
        }
        let Some(lease) = self.config.lease.clone() else { return };
        if self.is_deferred_to_exit(source) {
            return self.defer_superstep(source, applied);
        }
        let parent = self.parent();
        let id = CheckpointId::from_bits(self.config.environment.new_id());
        let changes = if parent.is_none() { self.all_fields() } else { self.changed_fields(applied.changes.iter()) };
        self.latest_checkpoint = Some(id);
        let status = self.status();
        self.queue_checkpoint(lease, NewCheckpoint { id, parent, source, changes, pending: Vec::new(), status });
    }

    /// Returns the parent of the next checkpoint.
    pub(super) fn parent(&mut self) -> Option<CheckpointId> {
        let is_first = std::mem::take(&mut self.starts_history);
        self.latest_checkpoint.filter(|_| !is_first)
    }

    /// Makes the next checkpoint the first of its graph's history, because the loaded one belongs to another
    /// history.
    pub fn start_history(&mut self) {
        self.starts_history = true;
    }

    /// Returns the status of the thread between two supersteps; `None` for a subgraph.
    pub(super) fn status(&self) -> Option<ThreadStatus> {
        let status = if self.position.next_tasks.is_empty() { ThreadStatus::Idle } else { ThreadStatus::Busy };
        self.config.namespace.is_root().then_some(status)
    }

    /// Queues a commit with a checkpoint of the current state and position.
    pub(super) fn queue_checkpoint(&mut self, lease: Lease, new_checkpoint: NewCheckpoint) {
        let checkpoint = Arc::new(self.checkpoint(&new_checkpoint));
        if self.config.emits_events {
            let (id, parent, source) = (new_checkpoint.id, new_checkpoint.parent, new_checkpoint.source);
            let (step, next) = (self.position.step, self.next_names());
            let next_tasks = self.position.next_tasks.iter();
            let tasks = next_tasks.map(|task| (self.task_id(task), self.graph.node(task.node).name.clone())).collect();
            let state = Some(self.state());
            self.unsaved_events.push(MachineEvent::Checkpoint { id, parent, step, source, next, tasks, state });
        }
        self.queue_commit(Commit {
            lease,
            namespace: self.config.namespace.clone(),
            checkpoint: Some(checkpoint),
            changes: new_checkpoint.changes,
            state: Some(self.state()),
            pending: new_checkpoint.pending,
            status: new_checkpoint.status,
            events: Vec::new(),
            subgraph_commits: Vec::new(),
        });
    }

    fn checkpoint(&self, new_checkpoint: &NewCheckpoint) -> Checkpoint {
        let schema = &self.graph.schema;
        let written = schema.tracked_writes.iter().filter(|id| self.written.contains(**id));
        let written = written.map(|id| schema.field(*id).name.clone()).collect();
        Checkpoint {
            format: FORMAT_VERSION,
            id: new_checkpoint.id,
            parent: new_checkpoint.parent,
            thread: self.config.thread.clone().unwrap_or_else(|| "".into()),
            namespace: self.config.namespace.clone(),
            step: self.position.step,
            source: new_checkpoint.source,
            run: self.config.run,
            time: self.config.environment.now(),
            graph: self.graph.name.clone(),
            schema_version: schema.version(),
            next_tasks: self.position.next_tasks.iter().map(|task| to_stored_task(&self.graph, task)).collect(),
            joins: to_stored_joins(&self.graph, &self.position),
            deferred: self.position.deferred.iter().map(|id| self.graph.node(*id).name.clone()).collect(),
            written_fields: written,
            parent_task: self.config.parent_task,
            changes_since_input: self.since_input.as_ref().map(|total| {
                total.iter().map(|(id, change)| (schema.field(*id).name.clone(), change.clone())).collect()
            }),
            metadata: self.config.metadata.clone(),
        }
    }

    /// Returns every saved field of a new thread, so that later loads do not depend on the current defaults.
    pub(super) fn all_fields(&self) -> SmallVec<[FieldChange; 2]> {
        let saved = self.graph.schema.fields().iter().filter(|field| !field.flags.untracked);
        let change = |field: &crate::field::Field| FieldChange {
            field: field.name.clone(),
            change: Change::Set,
            delta: field.ops.delta(&*self.state, &Change::Set),
        };
        saved.map(change).collect()
    }

    /// Returns the fields that changed since the last checkpoint, with their deltas.
    pub(super) fn changed_fields<'a>(
        &mut self,
        changes: impl Iterator<Item = &'a (FieldId, Change)>,
    ) -> SmallVec<[FieldChange; 2]> {
        let migrated = std::mem::take(&mut self.migrated);
        for id in migrated.iter() {
            self.fields_not_in_checkpoint.insert(id);
        }
        let (graph, state, not_in_checkpoint) = (&self.graph, &*self.state, &mut self.fields_not_in_checkpoint);
        let change = |(id, change): &(FieldId, Change)| {
            let field = graph.schema.field(*id);
            if field.flags.untracked {
                return None;
            }
            let change = if not_in_checkpoint.contains(*id) { &Change::Set } else { change };
            not_in_checkpoint.remove(*id);
            let delta = field.ops.delta(state, change);
            Some(FieldChange { field: field.name.clone(), change: change.clone(), delta })
        };
        let mut changed: SmallVec<[FieldChange; 2]> = changes.filter_map(change).collect();
        if migrated != FieldSet::default() {
            self.add_full_fields(&migrated, &mut changed);
        }
        changed
    }

    /// Adds fields that must be saved in full although no superstep changed them.
    fn add_full_fields(&mut self, fields: &FieldSet, changed: &mut SmallVec<[FieldChange; 2]>) {
        let schema = &self.graph.schema;
        for id in fields.iter() {
            self.fields_not_in_checkpoint.remove(id);
            let field = schema.field(id);
            if !field.flags.untracked && !changed.iter().any(|existing| existing.field == field.name) {
                let delta = field.ops.delta(&*self.state, &Change::Set);
                changed.push(FieldChange { field: field.name.clone(), change: Change::Set, delta });
            }
        }
        changed.sort_by_key(|change| schema.find(&change.field));
    }

    /// Queues pending entries for tasks of the current checkpoint.
    pub(super) fn save_pending(&mut self, pending: Vec<PendingEntry>, status: Option<ThreadStatus>) {
        let Some(lease) = self.config.lease.clone() else { return };
        let status = status.filter(|_| self.config.namespace.is_root());
        if self.config.saves_at_exit {
            return self.defer_entries(pending, status);
        }
        // Entries of a checkpoint that is not handed out yet go into the same transaction.
        if let Some((last, events)) = self.pending_commits.back_mut() {
            last.pending.extend(pending);
            last.status = status.or(last.status);
            events.append(&mut self.unsaved_events);
            return;
        }
        let namespace = self.config.namespace.clone();
        self.queue_commit(Commit { pending, status, ..Commit::empty(lease, namespace) });
    }

    /// Queues a commit, with the events to publish after it.
    pub(super) fn queue_commit(&mut self, commit: Commit) {
        let events = std::mem::take(&mut self.unsaved_events);
        self.pending_commits.push_back((Box::new(commit), events));
    }

    /// Builds an entry about one task of the current superstep; `None` if there is no checkpoint.
    pub(super) fn entry(&self, index: usize, entry: TaskEntry) -> Option<PendingEntry> {
        let task = &self.slots[index].task;
        let node = self.graph.node(task.node).name.clone();
        Some(PendingEntry { checkpoint: self.latest_checkpoint?, task: self.task_id(task), node, entry })
    }
}
