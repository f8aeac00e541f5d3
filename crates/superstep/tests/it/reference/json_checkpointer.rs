//! A checkpointer with serialized values: loaded data was written as text and parsed again. Tests can make operations
//! fail.

use std::sync::{Arc, Mutex};

use serde::de::DeserializeOwned;
use superstep::core::checkpoint::CheckpointNamespace;
use superstep::core::delegate_checkpointer;
use superstep::core::id::ThreadId;
use superstep::core::port::{CheckpointSelector, CheckpointTuple, Checkpointer, Commit, HistoryQuery};
use superstep::prelude::*;
use superstep::{Error, ErrorCode, Result};

/// Operation that a checkpointer rejects.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum RejectedOperation {
    Nothing,
    /// Saving a checkpoint.
    Checkpoints,
    /// Saving pending entries.
    Results,
    /// Loading.
    Loads,
}

/// A checkpointer with serialized values. Clones share the data.
#[derive(Clone)]
pub(super) struct JsonCheckpointer {
    disk: MemoryCheckpointer,
    rejected: Arc<Mutex<RejectedOperation>>,
}

impl JsonCheckpointer {
    pub(super) fn on(disk: &MemoryCheckpointer) -> Self {
        Self { disk: disk.clone(), rejected: Arc::new(Mutex::new(RejectedOperation::Nothing)) }
    }

    pub(super) fn reject(&self, operation: RejectedOperation) {
        *self.rejected.lock().unwrap() = operation;
    }

    fn check(&self, operation: RejectedOperation) -> Result<()> {
        match *self.rejected.lock().unwrap() == operation {
            true => {
                Err(Error::new(ErrorCode::StoreUnavailable, format!("{operation:?} are refused, as the test asked")))
            }
            false => Ok(()),
        }
    }
}

fn reread<T: Serialize + DeserializeOwned>(value: &T) -> T {
    serde_json::from_str(&serde_json::to_string(value).unwrap()).unwrap()
}

fn on_paper(loaded: &CheckpointTuple) -> CheckpointTuple {
    CheckpointTuple {
        checkpoint: Arc::new(reread(&*loaded.checkpoint)),
        fields: reread(&loaded.fields),
        pending: reread(&loaded.pending),
    }
}

impl Checkpointer for JsonCheckpointer {
    delegate_checkpointer!(this => this.disk; acquire, release, threads, status, namespaces);
    delegate_checkpointer!(this => this.disk; delete_thread, copy_thread, prune, stats);
    delegate_checkpointer!(this => this.disk; events, last_event_number, delete_events);

    async fn commit(&self, commit: &Commit) -> Result<()> {
        if commit.checkpoint.is_some() {
            self.check(RejectedOperation::Checkpoints)?;
        } else if !commit.pending.is_empty() {
            self.check(RejectedOperation::Results)?;
        }
        self.disk.commit(commit).await
    }

    async fn load(
        &self,
        thread: &ThreadId,
        namespace: &CheckpointNamespace,
        at: CheckpointSelector,
    ) -> Result<Option<CheckpointTuple>> {
        self.check(RejectedOperation::Loads)?;
        Ok(self.disk.load(thread, namespace, at).await?.as_ref().map(on_paper))
    }

    async fn history(
        &self,
        thread: &ThreadId,
        namespace: &CheckpointNamespace,
        query: &HistoryQuery,
    ) -> Result<Vec<CheckpointTuple>> {
        self.check(RejectedOperation::Loads)?;
        Ok(self.disk.history(thread, namespace, query).await?.iter().map(on_paper).collect())
    }
}
