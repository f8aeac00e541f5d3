//! Durability: commits are written with each superstep, in the background, or at the end of the run.
//!
//! The run loop does not know the mode: it commits to a checkpointer, and this module provides the layer in between.
//! Buffering of the root graph until the end of the run happens in the machine; only commits of subgraphs are buffered
//! here (see `subgraph_buffer`).

use std::sync::{Arc, Mutex};

use serde::Serialize;
use superstep_core::checkpoint::PendingEntry;
use superstep_core::error::{Error, Result};
use superstep_core::machine::Machine;
use superstep_core::port::{Commit, SharedCheckpointer};

use crate::engine::context::{RunShared, lock};
use crate::engine::start::ThreadGuard;

mod full_values;
mod subgraph_buffer;
mod write_behind;

pub(crate) use subgraph_buffer::SubgraphCommitBuffer;
pub(crate) use write_behind::WriteBehindQueue;

/// Durability mode of a run: when its commits are written. Determines the work that a crash may lose.
///
/// A successful outcome, an interrupt and a breakpoint are returned only after everything is persisted, in every
/// mode.
///
/// ```
/// use superstep::Durability;
/// use superstep::prelude::*;
/// # #[derive(GraphState, Clone, Serialize, Deserialize)] struct Count { #[reduce(add)] n: u64 }
/// # let mut graph = StateGraph::<Count>::new("count");
/// # let one = graph.add_node("one", || Count::update().n(1u64));
/// # graph.add_edge(START, one).add_edge(one, END).checkpointer(MemoryCheckpointer::new());
/// let count = graph.durability(Durability::Async).compile()?;
/// let run = count.invoke(Count::input().n(41u64)).durability(Durability::Exit);
/// assert_eq!(run.wait_blocking()?.state.n, 42);
/// # Ok::<(), superstep::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Durability {
    /// Commits each superstep before the next one starts. A crash loses the running superstep, except its finished
    /// tasks.
    #[default]
    Sync,
    /// Commits in the background and in order, while the next supersteps run. A crash also loses pending commits: see
    /// [`crate::RunBuilder::max_pending_commits`]. Results of [`crate::TaskContext::once`] are persisted before they
    /// are returned.
    Async,
    /// Commits once when the run ends, with or without an error. A crash loses the run, including results that
    /// [`crate::TaskContext::once`] recorded in it: side effects may then be repeated with other idempotency keys.
    /// After a crash the thread is as it was before the run.
    Exit,
}

/// Default maximum number of pending commits.
pub(crate) const DEFAULT_MAX_PENDING_COMMITS: usize = 16;

/// The layer between a run and its checkpointer.
#[derive(Default)]
pub(crate) struct CommitPipeline {
    pub(crate) checkpointer: Option<SharedCheckpointer>,
    pub(crate) write_behind: Option<WriteBehindQueue>,
    pub(crate) subgraph_buffer: Option<SubgraphCommitBuffer>,
    pub(crate) recorded_results: Option<Mutex<Vec<PendingEntry>>>,
}

impl CommitPipeline {
    pub(crate) fn new(
        durability: Durability,
        store: SharedCheckpointer,
        thread_guard: &Arc<ThreadGuard>,
        max_pending_commits: usize,
    ) -> Self {
        match durability {
            Durability::Sync => Self { checkpointer: Some(store), ..Self::default() },
            Durability::Async => {
                let queue = WriteBehindQueue::new(store, Arc::downgrade(thread_guard), max_pending_commits);
                Self { checkpointer: Some(queue.clone().into()), write_behind: Some(queue), ..Self::default() }
            }
            Durability::Exit => {
                let buffer = SubgraphCommitBuffer::new(store);
                Self {
                    checkpointer: Some(buffer.clone().into()),
                    write_behind: None,
                    subgraph_buffer: Some(buffer),
                    recorded_results: Some(Mutex::default()),
                }
            }
        }
    }
}

impl RunShared {
    /// Waits until all enqueued commits are persisted.
    pub(crate) async fn flush(&self) -> Result<()> {
        match &self.write_behind {
            Some(queue) => queue.flush().await,
            None => Ok(()),
        }
    }

    /// Returns the error of a run whose checkpointer failed. In the background, an earlier commit than the last may
    /// have failed.
    pub(crate) fn commit_error(&self, machine: &mut Machine, error: Error) -> Error {
        if self.write_behind.is_some() {
            machine.invalidate_durable();
        }
        machine.failure(error)
    }

    /// Passes recorded results to the machine, if they are written at the end of the run.
    pub(crate) fn pass_recorded_results(&self, machine: &mut Machine) {
        if let Some(records) = &self.recorded_results {
            machine.add_recorded_results(std::mem::take(&mut lock(records)));
        }
    }
}

/// Returns a commit without its state. A queued commit that holds the state would force the next superstep to copy
/// it.
fn without_state(commit: &Commit) -> Commit {
    let Commit { lease, namespace, checkpoint, changes, pending, status, events, .. } = commit;
    let empty = Commit::empty(lease.clone(), namespace.clone());
    let (checkpoint, changes, pending) = (checkpoint.clone(), changes.clone(), pending.clone());
    Commit { checkpoint, changes, pending, status: *status, events: events.clone(), ..empty }
}
