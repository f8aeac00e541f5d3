//! A checkpointer that records its commits, and fails where a test requires it.

use std::sync::{Arc, Mutex};

use superstep::core::checkpoint::TaskEntry;
use superstep::core::delegate_checkpointer;
use superstep::core::port::{Checkpointer, Commit};
use superstep::{Error, ErrorCode, MemoryCheckpointer, Result};

/// Operation of a checkpointer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum CheckpointerCall {
    Acquire,
    Commit,
    Load,
    History,
    Threads,
    Status,
    Namespaces,
    Delete,
    Copy,
    Prune,
    Stats,
    Events,
}

/// A wrapper of the in-memory checkpointer. Commits take time, so that callers that do not wait for them are
/// detected.
#[derive(Clone, Default)]
pub(super) struct RecordingCheckpointer(Arc<Inner>);

#[derive(Default)]
struct Inner {
    disk: MemoryCheckpointer,
    commits: Mutex<Vec<String>>,
    broken: Mutex<Option<(CheckpointerCall, usize)>>,
}

impl RecordingCheckpointer {
    /// Returns the wrapped checkpointer, which always works.
    pub(super) fn disk(&self) -> &MemoryCheckpointer {
        &self.0.disk
    }

    /// Fails at this operation, after it has succeeded this many times. `None` repairs it.
    pub(super) fn break_at(&self, call: Option<(CheckpointerCall, usize)>) {
        *self.0.broken.lock().unwrap() = call;
    }

    /// Returns start and end of every commit since the last call, with its content.
    pub(super) fn take_commits(&self) -> Vec<String> {
        std::mem::take(&mut *self.0.commits.lock().unwrap())
    }

    fn record(&self, line: String) {
        self.0.commits.lock().unwrap().push(line);
    }

    fn disk_for(&self, call: CheckpointerCall) -> Result<&MemoryCheckpointer> {
        if let Some((broken, works)) = &mut *self.0.broken.lock().unwrap()
            && *broken == call
        {
            if *works == 0 {
                return Err(Error::new(ErrorCode::StoreUnavailable, format!("the disk is gone ({call:?})")));
            }
            *works -= 1;
        }
        Ok(&self.0.disk)
    }
}

/// Returns the tasks whose results a commit contains, and the step of its checkpoint.
fn contents(commit: &Commit) -> String {
    let finished = commit.pending.iter().filter(|pending| matches!(pending.entry, TaskEntry::Done(_)));
    let mut words: Vec<String> = finished.map(|pending| pending.node.to_string()).collect();
    words.extend(commit.checkpoint.iter().map(|checkpoint| format!("step {}", checkpoint.step)));
    words.join(" ")
}

impl Checkpointer for RecordingCheckpointer {
    delegate_checkpointer!(this => this.0.disk; release);
    delegate_checkpointer!(this => this.disk_for(CheckpointerCall::Acquire)?; acquire);
    delegate_checkpointer!(this => this.disk_for(CheckpointerCall::Load)?; load);
    delegate_checkpointer!(this => this.disk_for(CheckpointerCall::History)?; history);
    delegate_checkpointer!(this => this.disk_for(CheckpointerCall::Threads)?; threads);
    delegate_checkpointer!(this => this.disk_for(CheckpointerCall::Status)?; status);
    delegate_checkpointer!(this => this.disk_for(CheckpointerCall::Namespaces)?; namespaces);
    delegate_checkpointer!(this => this.disk_for(CheckpointerCall::Delete)?; delete_thread);
    delegate_checkpointer!(this => this.disk_for(CheckpointerCall::Copy)?; copy_thread);
    delegate_checkpointer!(this => this.disk_for(CheckpointerCall::Prune)?; prune);
    delegate_checkpointer!(this => this.disk_for(CheckpointerCall::Stats)?; stats);
    delegate_checkpointer!(this => this.disk_for(CheckpointerCall::Events)?; events, last_event_number, delete_events);

    async fn commit(&self, commit: &Commit) -> Result<()> {
        let disk = self.disk_for(CheckpointerCall::Commit)?;
        let contents = contents(commit);
        self.record(format!("begin {contents}"));
        for _ in 0..10 {
            tokio::task::yield_now().await;
        }
        disk.commit(commit).await?;
        self.record(format!("end {contents}"));
        Ok(())
    }
}
