//! The complete data of one thread, independent of a checkpointer, for transfer between checkpointers.
//!
//! Pure data and its invariants. The file format is in `thread_file`; the import into a checkpointer is
//! [`crate::port::SharedCheckpointer::import_thread`].

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::{Checkpoint, CheckpointNamespace, FieldChange, PendingEntry};
use crate::change::Change;
use crate::id::{CheckpointId, ThreadId};
use crate::port::{Commit, Lease, StoredEvent, ThreadStatus};
use crate::validation_error::ValidationError;

/// The complete data of one thread.
#[derive(Debug, Clone, PartialEq)]
pub struct ThreadExport {
    /// Id of the thread.
    pub thread: ThreadId,
    /// Status of the thread.
    pub status: ThreadStatus,
    /// Checkpoints of all its graphs. Those of one graph are in commit order, so a parent comes before its
    /// children.
    pub checkpoints: Vec<ExportedCheckpoint>,
    /// Journaled events. A thread file has none.
    pub events: Vec<StoredEvent>,
}

/// One checkpoint with its changes and pending entries.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ExportedCheckpoint {
    /// Checkpoint, without its values.
    pub checkpoint: Checkpoint,
    /// Changes since its parent; all values if there is no parent.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub changes: Vec<FieldChange>,
    /// Pending entries of the tasks of its next superstep, in commit order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub pending: Vec<PendingEntry>,
}

impl ThreadExport {
    /// Returns the same data with another thread id.
    #[must_use]
    pub fn with_thread_id(mut self, thread: ThreadId) -> Self {
        for exported in &mut self.checkpoints {
            exported.checkpoint.thread = thread.clone();
        }
        Self { thread, ..self }
    }

    /// Builds one commit that writes the complete thread. A busy thread becomes idle, because no process runs the copy.
    #[must_use]
    pub fn into_commit(self, lease: &Lease) -> Commit {
        let status = match self.status {
            ThreadStatus::Busy => ThreadStatus::Idle,
            status => status,
        };
        let commits = self.checkpoints.into_iter().map(|ExportedCheckpoint { checkpoint, changes, pending }| Commit {
            checkpoint: Some(Arc::new(checkpoint.clone())),
            changes: changes.into(),
            pending,
            ..Commit::empty(lease.clone(), checkpoint.namespace)
        });
        let commits = commits.collect();
        Commit {
            status: Some(status),
            events: self.events,
            subgraph_commits: commits,
            ..Commit::empty(lease.clone(), CheckpointNamespace::root())
        }
    }
}

/// Checks the checkpoints of one thread, one after another, against the invariants.
#[derive(Debug)]
pub(super) struct ExportValidator {
    thread: ThreadId,
    /// The fields with a value at each checkpoint; most checkpoints share one set.
    fields_by_checkpoint: BTreeMap<(CheckpointNamespace, CheckpointId), Arc<BTreeSet<Arc<str>>>>,
}

impl ExportValidator {
    pub(super) fn new(thread: ThreadId) -> Self {
        Self { thread, fields_by_checkpoint: BTreeMap::new() }
    }

    /// Checks the next checkpoint and returns an error for the first violation.
    pub(super) fn check(&mut self, exported: &ExportedCheckpoint) -> Result<(), ValidationError> {
        let ExportedCheckpoint { checkpoint, changes, pending } = exported;
        let id = checkpoint.id;
        if checkpoint.thread != self.thread {
            return Err(ValidationError::new(format!("checkpoint {id} belongs to thread `{}`", checkpoint.thread)));
        }
        let mut fields = match checkpoint.parent {
            None => Arc::default(),
            Some(parent) => {
                let parent_fields = self.fields_by_checkpoint.get(&(checkpoint.namespace.clone(), parent)).cloned();
                parent_fields.ok_or_else(|| {
                    ValidationError::new(format!("checkpoint {id} follows {parent}, which does not precede it"))
                })?
            }
        };
        let mut changed = BTreeSet::new();
        for FieldChange { field, change, .. } in changes {
            if !changed.insert(field) {
                return Err(ValidationError::new(format!("checkpoint {id} changes field `{field}` twice")));
            }
            let is_first = !fields.contains(field);
            if is_first && *change != Change::Set {
                return Err(ValidationError::new(format!(
                    "checkpoint {id} changes field `{field}`, which has no previous value"
                )));
            }
            if is_first {
                Arc::make_mut(&mut fields).insert(field.clone());
            }
        }
        if let Some(stray) = pending.iter().find(|pending| pending.checkpoint != id) {
            return Err(ValidationError::new(format!(
                "a pending entry of checkpoint {} is listed under checkpoint {id}",
                stray.checkpoint
            )));
        }
        match self.fields_by_checkpoint.insert((checkpoint.namespace.clone(), id), fields) {
            Some(_) => Err(ValidationError::new(format!("duplicate checkpoint {id}"))),
            None => Ok(()),
        }
    }
}
