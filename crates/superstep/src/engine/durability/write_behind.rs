//! Write-behind queue: a bounded number of pending commits, written in order by one writer.
//!
//! After a failed commit no further commit is written, because it would build on missing data. Reads wait until
//! everything is persisted. The writer keeps the run's lease on its thread until nothing is left to write, also if
//! the run is dropped.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, Weak};

use superstep_core::delegate_checkpointer;
use superstep_core::error::{Error, ErrorCode, Result};
use superstep_core::port::{Checkpointer, Commit, SharedCheckpointer};
use tokio::sync::Notify;

use super::full_values::FullValueRequests;
use super::without_state;
use crate::engine::context::lock;
use crate::engine::executor::spawn_background;
use crate::engine::start::ThreadGuard;

/// A checkpointer that writes in the background. Clones share one queue.
#[derive(Clone)]
pub(crate) struct WriteBehindQueue(Arc<Inner>);

struct Inner {
    store: SharedCheckpointer,
    thread_guard: Weak<ThreadGuard>,
    capacity: usize,
    full_value_requests: FullValueRequests,
    queue: Mutex<QueueState>,
    /// Notified when a commit was persisted, or failed.
    progress: Notify,
}

#[derive(Default)]
struct QueueState {
    waiting: VecDeque<Commit>,
    /// Number of queued commits, including the one being written.
    unsaved: usize,
    is_writing: bool,
    failed: Option<Error>,
}

impl WriteBehindQueue {
    pub(super) fn new(store: SharedCheckpointer, thread_guard: Weak<ThreadGuard>, capacity: usize) -> Self {
        let capacity = capacity.max(1);
        let (full_value_requests, queue, progress) = (FullValueRequests::default(), Mutex::default(), Notify::new());
        Self(Arc::new(Inner { store, thread_guard, capacity, full_value_requests, queue, progress }))
    }

    /// Waits until all enqueued commits are persisted.
    pub(super) async fn flush(&self) -> Result<()> {
        loop {
            let progress = self.0.progress.notified();
            {
                let queue = lock(&self.0.queue);
                if queue.unsaved == 0 && !queue.is_writing {
                    return queue.failed.clone().map_or(Ok(()), Err);
                }
            }
            progress.await;
        }
    }

    /// Returns the checkpointer after all enqueued commits are persisted.
    async fn flushed(&self) -> Result<&SharedCheckpointer> {
        self.flush().await?;
        Ok(&self.0.store)
    }

    /// Enqueues a commit. Waits while the queue is full.
    async fn enqueue(&self, commit: &Commit) -> Result<()> {
        loop {
            let progress = self.0.progress.notified();
            if self.try_enqueue(commit)? {
                return Ok(());
            }
            progress.await;
        }
    }

    fn try_enqueue(&self, commit: &Commit) -> Result<bool> {
        let thread_guard = self.0.thread_guard.upgrade();
        let thread_guard = thread_guard.ok_or_else(|| {
            Error::new(
                ErrorCode::Cancelled,
                "the run has ended; no further commits \
                 are accepted",
            )
        })?;
        {
            let mut queue = lock(&self.0.queue);
            if let Some(error) = &queue.failed {
                return Err(error.clone());
            }
            if queue.unsaved >= self.0.capacity {
                return Ok(false);
            }
            queue.waiting.push_back(Commit {
                state: self.0.full_value_requests.state_for_commit(commit),
                ..without_state(commit)
            });
            queue.unsaved += 1;
            if std::mem::replace(&mut queue.is_writing, true) {
                return Ok(true);
            }
        }
        // Not while the lock is held: if no task can be spawned, the writer is dropped here, and its drop locks the
        // queue.
        spawn_background(QueueWriter { inner: self.0.clone(), thread_guard: Some(thread_guard) }.write())?;
        Ok(true)
    }
}

/// Writes until the queue is empty.
struct QueueWriter {
    inner: Arc<Inner>,
    thread_guard: Option<Arc<ThreadGuard>>,
}

impl QueueWriter {
    async fn write(mut self) {
        while let Some(commit) = self.next() {
            let saved = self.inner.store.commit(&commit).await;
            drop(commit);
            {
                let mut queue = lock(&self.inner.queue);
                match saved {
                    Ok(()) => queue.unsaved -= 1,
                    Err(error) => queue.fail_all(error),
                }
            }
            self.inner.progress.notify_waiters();
        }
    }

    /// Returns the next commit. If there is none, the writer ends, and releases its share of the lease before the
    /// flag tells others that it has ended.
    fn next(&mut self) -> Option<Commit> {
        let mut queue = lock(&self.inner.queue);
        let next = queue.waiting.pop_front();
        if next.is_none() {
            self.thread_guard = None;
            queue.is_writing = false;
        }
        next
    }
}

impl QueueState {
    fn fail_all(&mut self, error: Error) {
        self.failed = Some(error);
        self.waiting.clear();
        self.unsaved = 0;
    }
}

impl Drop for QueueWriter {
    fn drop(&mut self) {
        if self.thread_guard.take().is_some() {
            let mut queue = lock(&self.inner.queue);
            queue.fail_all(Error::new(
                ErrorCode::StoreUnavailable,
                "the write-behind queue was dropped before \
                 its commits were written",
            ));
            queue.is_writing = false;
        }
        self.inner.progress.notify_waiters();
    }
}

impl Checkpointer for WriteBehindQueue {
    delegate_checkpointer!(this => this.0.store; acquire, release, delete_thread, stats);
    delegate_checkpointer!(this => this.flushed().await?; load, history, threads, status, namespaces, copy_thread, prune);
    delegate_checkpointer!(this => this.flushed().await?; events, last_event_number, delete_events);

    async fn commit(&self, commit: &Commit) -> Result<()> {
        self.enqueue(commit).await
    }
}
