//! What is to be saved: one commit for a superstep, early ones for tasks that finish before their siblings.

use std::sync::Arc;

use smallvec::SmallVec;

use super::store::{store_due, store_joins};
use super::{Event, Machine};
use crate::apply::{Applied, FieldSet};
use crate::change::Change;
use crate::checkpoint::{Checkpoint, Entry, FORMAT_VERSION, FieldChange, Pending, Source};
use crate::id::{CheckpointId, FieldId};
use crate::port::{Commit, Lease, ThreadStatus};

/// A checkpoint that is being made, and what is saved with it.
pub(super) struct Made {
    pub(super) id: CheckpointId,
    pub(super) parent: Option<CheckpointId>,
    pub(super) source: Source,
    pub(super) changes: SmallVec<[FieldChange; 2]>,
    pub(super) pending: Vec<Pending>,
    pub(super) status: Option<ThreadStatus>,
}

impl Machine {
    /// Asks for a new checkpoint of the state and position as they are now.
    pub(super) fn save_checkpoint(&mut self, source: Source, applied: Applied) {
        self.is_migrated = false;
        if self.config.observe {
            let step = self.position.step;
            let is_visible =
                source == Source::Input || applied.changes.iter().any(|(id, _)| self.graph.output.contains(id));
            self.tell(Event::Values { step, state: self.state(), is_visible });
        }
        let Some(lease) = self.config.lease.clone() else { return };
        if self.holds_back(source) {
            return self.hold_back(source, applied);
        }
        let parent = self.parent();
        let id = CheckpointId::from_bits(self.config.world.fresh());
        let changes = if parent.is_none() { self.everything() } else { self.changed(applied.changes.iter()) };
        self.head = Some(id);
        let status = self.status();
        self.send_off_checkpoint(lease, Made { id, parent, source, changes, pending: Vec::new(), status });
    }

    /// What the next checkpoint builds on.
    pub(super) fn parent(&mut self) -> Option<CheckpointId> {
        let is_first = std::mem::take(&mut self.begins_line);
        self.head.filter(|_| !is_first)
    }

    /// Makes the next checkpoint the first of its graph's history: what was loaded is of another one.
    pub fn begin_line(&mut self) {
        self.begins_line = true;
    }

    /// How the thread stands between two supersteps; only the outermost graph says so.
    pub(super) fn status(&self) -> Option<ThreadStatus> {
        let status = if self.position.due.is_empty() { ThreadStatus::Idle } else { ThreadStatus::Busy };
        self.config.namespace.is_root().then_some(status)
    }

    /// Puts a commit into the outbox, with a checkpoint of the state and position as they are now.
    pub(super) fn send_off_checkpoint(&mut self, lease: Lease, made: Made) {
        let checkpoint = Arc::new(self.checkpoint(&made));
        if self.config.observe {
            let (id, parent, source) = (made.id, made.parent, made.source);
            let (step, next) = (self.position.step, self.next_names());
            let due = self.position.due.iter();
            let tasks = due.map(|due| (self.task_id(due), self.graph.node(due.node).name.clone())).collect();
            let state = Some(self.state());
            self.unsaved_events.push(Event::Checkpoint { id, parent, step, source, next, tasks, state });
        }
        self.send_off(Commit {
            lease,
            namespace: self.config.namespace.clone(),
            checkpoint: Some(checkpoint),
            changes: made.changes,
            state: Some(self.state()),
            pending: made.pending,
            status: made.status,
            events: Vec::new(),
            inside: Vec::new(),
        });
    }

    fn checkpoint(&self, made: &Made) -> Checkpoint {
        let schema = &self.graph.schema;
        let written = schema.remembered.iter().filter(|id| self.written.contains(**id));
        let written = written.map(|id| schema.field(*id).name.clone()).collect();
        Checkpoint {
            format: FORMAT_VERSION,
            id: made.id,
            parent: made.parent,
            thread: self.config.thread.clone().unwrap_or_else(|| "".into()),
            namespace: self.config.namespace.clone(),
            step: self.position.step,
            source: made.source,
            run: self.config.run,
            time: self.config.world.now(),
            graph: self.graph.name.clone(),
            schema_version: schema.version(),
            due: self.position.due.iter().map(|due| store_due(&self.graph, due)).collect(),
            joins: store_joins(&self.graph, &self.position),
            deferred: self.position.deferred.iter().map(|id| self.graph.node(*id).name.clone()).collect(),
            written,
            outer_task: self.config.outer_task,
            since_input: self.since_input.as_ref().map(|total| {
                total.iter().map(|(id, change)| (schema.field(*id).name.clone(), change.clone())).collect()
            }),
            metadata: self.config.metadata.clone(),
        }
    }

    /// Every field of a new thread: later loads do not depend on today's defaults.
    pub(super) fn everything(&self) -> SmallVec<[FieldChange; 2]> {
        let saved = self.graph.schema.fields().iter().filter(|field| !field.flags.untracked);
        let change = |field: &crate::field::Field| FieldChange {
            field: field.name.clone(),
            change: Change::Set,
            part: field.ops.part(&*self.state, &Change::Set),
        };
        saved.map(change).collect()
    }

    /// What changed since the last checkpoint, with the values.
    pub(super) fn changed<'a>(
        &mut self,
        changes: impl Iterator<Item = &'a (FieldId, Change)>,
    ) -> SmallVec<[FieldChange; 2]> {
        let migrated = std::mem::take(&mut self.migrated);
        for id in migrated.iter() {
            self.unknown.insert(id);
        }
        let (graph, state, unknown) = (&self.graph, &*self.state, &mut self.unknown);
        let change = |(id, change): &(FieldId, Change)| {
            let field = graph.schema.field(*id);
            if field.flags.untracked {
                return None;
            }
            let change = if unknown.contains(*id) { &Change::Set } else { change };
            unknown.remove(*id);
            let (name, part) = (field.name.clone(), field.ops.part(state, change));
            Some(FieldChange { field: name, change: change.clone(), part })
        };
        let mut changed: SmallVec<[FieldChange; 2]> = changes.filter_map(change).collect();
        if migrated != FieldSet::default() {
            self.add_whole(&migrated, &mut changed);
        }
        changed
    }

    /// Adds fields that have to be saved although no superstep has changed them.
    fn add_whole(&mut self, fields: &FieldSet, changed: &mut SmallVec<[FieldChange; 2]>) {
        let schema = &self.graph.schema;
        for id in fields.iter() {
            self.unknown.remove(id);
            let field = schema.field(id);
            if !field.flags.untracked && !changed.iter().any(|known| known.field == field.name) {
                let part = field.ops.part(&*self.state, &Change::Set);
                changed.push(FieldChange { field: field.name.clone(), change: Change::Set, part });
            }
        }
        changed.sort_by_key(|change| schema.find(&change.field));
    }

    /// Asks to keep what is known of tasks of the current checkpoint.
    pub(super) fn save_pending(&mut self, pending: Vec<Pending>, status: Option<ThreadStatus>) {
        let Some(lease) = self.config.lease.clone() else { return };
        let status = status.filter(|_| self.config.namespace.is_root());
        if self.config.at_exit {
            return self.hold_back_pending(pending, status);
        }
        // What belongs to a checkpoint that is not handed out yet goes into the same transaction.
        if let Some((last, events)) = self.outbox.back_mut() {
            last.pending.extend(pending);
            last.status = status.or(last.status);
            events.append(&mut self.unsaved_events);
            return;
        }
        let namespace = self.config.namespace.clone();
        self.send_off(Commit { pending, status, ..Commit::empty(lease, namespace) });
    }

    /// Puts a commit into the outbox, with the events that may be told once it is saved.
    pub(super) fn send_off(&mut self, commit: Commit) {
        let events = std::mem::take(&mut self.unsaved_events);
        self.outbox.push_back((Box::new(commit), events));
    }

    /// An entry about one task of the current superstep; `None` without a checkpoint to hang it on.
    pub(super) fn entry(&self, index: usize, entry: Entry) -> Option<Pending> {
        let due = &self.slots[index].due;
        let node = self.graph.node(due.node).name.clone();
        Some(Pending { checkpoint: self.head?, task: self.task_id(due), node, entry })
    }
}
