//! Everything of one thread, outside of any store: what goes from one store into another.
//!
//! Pure data and the rules it must keep. How it is written down is `thread_file`; how it gets into a store is
//! [`crate::port::SharedCheckpointer::put_thread`].

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::{Checkpoint, FieldChange, Namespace, Pending};
use crate::change::Change;
use crate::fault::Fault;
use crate::id::{CheckpointId, ThreadId};
use crate::port::{Commit, Lease, StoredEvent, ThreadStatus};

/// Everything of one thread.
#[derive(Debug, Clone, PartialEq)]
pub struct ThreadCopy {
    /// The thread.
    pub thread: ThreadId,
    /// How it stands.
    pub status: ThreadStatus,
    /// The checkpoints of all its graphs. Those of one graph are in the order they were saved, so that a parent comes
    /// before its children.
    pub checkpoints: Vec<CopiedCheckpoint>,
    /// Events that were kept. A file has none of them.
    pub events: Vec<StoredEvent>,
}

/// One checkpoint with what it changed and what is known of its tasks.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CopiedCheckpoint {
    /// The checkpoint.
    pub checkpoint: Checkpoint,
    /// What changed since its parent; without a parent, all values.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub changes: Vec<FieldChange>,
    /// What is known of the tasks of its next superstep, in the order it became known.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub pending: Vec<Pending>,
}

impl ThreadCopy {
    /// The same under another name.
    #[must_use]
    pub fn renamed(mut self, thread: ThreadId) -> Self {
        for copied in &mut self.checkpoints {
            copied.checkpoint.thread = thread.clone();
        }
        Self { thread, ..self }
    }

    /// One transaction that brings all of it. A thread that somebody moved is moved by nobody in its new place.
    #[must_use]
    pub fn into_commit(self, lease: &Lease) -> Commit {
        let status = match self.status {
            ThreadStatus::Busy => ThreadStatus::Idle,
            status => status,
        };
        let inside = self.checkpoints.into_iter().map(|CopiedCheckpoint { checkpoint, changes, pending }| Commit {
            checkpoint: Some(Arc::new(checkpoint.clone())),
            changes: changes.into(),
            pending,
            ..Commit::empty(lease.clone(), checkpoint.namespace)
        });
        let inside = inside.collect();
        Commit { status: Some(status), events: self.events, inside, ..Commit::empty(lease.clone(), Namespace::root()) }
    }
}

/// Holds checkpoints of one thread against the rules, one after another.
#[derive(Debug)]
pub(super) struct Rules {
    thread: ThreadId,
    /// The fields each checkpoint has a value of; most share one set.
    seen: BTreeMap<(Namespace, CheckpointId), Arc<BTreeSet<Arc<str>>>>,
}

impl Rules {
    pub(super) fn new(thread: ThreadId) -> Self {
        Self { thread, seen: BTreeMap::new() }
    }

    /// Takes the next checkpoint, or says what is wrong with it.
    pub(super) fn take(&mut self, copied: &CopiedCheckpoint) -> Result<(), Fault> {
        let CopiedCheckpoint { checkpoint, changes, pending } = copied;
        let id = checkpoint.id;
        if checkpoint.thread != self.thread {
            return Err(Fault::new(format!("checkpoint {id} is of thread `{}`", checkpoint.thread)));
        }
        let mut fields = match checkpoint.parent {
            None => Arc::default(),
            Some(parent) => {
                let known = self.seen.get(&(checkpoint.namespace.clone(), parent)).cloned();
                known.ok_or_else(|| Fault::new(format!("checkpoint {id} follows {parent}, which is not before it")))?
            }
        };
        let mut changed = BTreeSet::new();
        for FieldChange { field, change, .. } in changes {
            if !changed.insert(field) {
                return Err(Fault::new(format!("checkpoint {id} changes field `{field}` twice")));
            }
            let is_first = !fields.contains(field);
            if is_first && *change != Change::Set {
                return Err(Fault::new(format!("checkpoint {id} changes field `{field}`, which has no value yet")));
            }
            if is_first {
                Arc::make_mut(&mut fields).insert(field.clone());
            }
        }
        if let Some(stray) = pending.iter().find(|pending| pending.checkpoint != id) {
            return Err(Fault::new(format!("a task of checkpoint {} stands with {id}", stray.checkpoint)));
        }
        match self.seen.insert((checkpoint.namespace.clone(), id), fields) {
            Some(_) => Err(Fault::new(format!("checkpoint {id} comes twice"))),
            None => Ok(()),
        }
    }
}
