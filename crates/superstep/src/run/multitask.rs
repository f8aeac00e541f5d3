//! Multitask strategies: several runs on one thread of a graph are queued, rejected or cancelled.
//!
//! Only the order inside this process is kept here; the lease of the checkpointer excludes other processes.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, Weak};

use superstep_core::error::{Error, ErrorCode, Result};
use superstep_core::id::{CheckpointId, ThreadId};
use tokio::sync::OwnedMutexGuard;

use crate::engine::context::lock;
use crate::run::control::RunControl;

/// Strategy for a run on a thread that already has a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum MultitaskStrategy {
    /// Waits until the active run has ended.
    #[default]
    Enqueue,
    /// Rejects the new run.
    Reject,
    /// Cancels the active run and keeps its committed supersteps.
    Interrupt,
    /// Cancels the active run and starts from the checkpoint where that one started.
    Rollback,
}

/// Queues of a graph, one for each thread with runs.
#[derive(Default)]
pub(crate) struct ThreadQueues(Mutex<BTreeMap<ThreadId, Weak<ThreadQueue>>>);

#[derive(Default)]
pub(crate) struct ThreadQueue {
    lock: Arc<tokio::sync::Mutex<()>>,
    running: Mutex<Option<ActiveRun>>,
    /// Checkpoint at which the rolled-back run started; the next run starts there.
    rollback_base: Mutex<Option<Option<CheckpointId>>>,
}

#[derive(Clone)]
struct ActiveRun {
    control: RunControl,
    base: Option<CheckpointId>,
    rolled_back: bool,
}

/// Exclusive right of one run, released on drop.
pub(crate) struct QueueGuard {
    queue: Arc<ThreadQueue>,
    _guard: OwnedMutexGuard<()>,
    /// Checkpoint at which to start, if the previous run was rolled back.
    pub(crate) base: Option<Option<CheckpointId>>,
}

impl Drop for QueueGuard {
    fn drop(&mut self) {
        if let Some(ended) = lock(&self.queue.running).take().filter(|ended| ended.rolled_back) {
            *lock(&self.queue.rollback_base) = Some(ended.base);
        }
    }
}

impl ThreadQueues {
    /// Waits until the run may start on a thread, or rejects the run.
    pub(crate) async fn acquire(
        &self,
        thread: &ThreadId,
        control: &RunControl,
        strategy: MultitaskStrategy,
    ) -> Result<QueueGuard> {
        let queue = self.queue(thread);
        let guard = match (queue.lock.clone().try_lock_owned(), strategy) {
            (Ok(guard), _) => guard,
            (Err(_), MultitaskStrategy::Reject) => {
                return Err(Error::new(ErrorCode::ThreadBusy, format!("thread `{thread}` already has a run"))
                    .with_help("wait for it, or set `multitask_strategy`"));
            }
            (Err(_), MultitaskStrategy::Enqueue) => queue.lock.clone().lock_owned().await,
            (Err(_), MultitaskStrategy::Interrupt | MultitaskStrategy::Rollback) => {
                queue.stop(strategy == MultitaskStrategy::Rollback);
                queue.lock.clone().lock_owned().await
            }
        };
        let base = lock(&queue.rollback_base).take();
        *lock(&queue.running) = Some(ActiveRun { control: control.clone(), base: None, rolled_back: false });
        Ok(QueueGuard { queue, _guard: guard, base })
    }

    fn queue(&self, thread: &ThreadId) -> Arc<ThreadQueue> {
        let mut queues = lock(&self.0);
        if let Some(queue) = queues.get(thread).and_then(Weak::upgrade) {
            return queue;
        }
        // Only when the number of queues doubles, so that the cost of a new thread does not depend on their number.
        if queues.len().is_power_of_two() {
            queues.retain(|_, queue| queue.strong_count() > 0);
        }
        let queue = Arc::new(ThreadQueue::default());
        queues.insert(thread.clone(), Arc::downgrade(&queue));
        queue
    }
}

impl ThreadQueue {
    fn stop(&self, roll_back: bool) {
        if let Some(running) = &mut *lock(&self.running) {
            running.rolled_back |= roll_back;
            running.control.cancel();
        }
    }
}

impl QueueGuard {
    /// Records the checkpoint at which the run started, for a rollback.
    pub(crate) fn set_base(&self, base: Option<CheckpointId>) {
        if let Some(running) = &mut *lock(&self.queue.running) {
            running.base = base;
        }
    }
}
