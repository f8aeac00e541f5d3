//! Saving behind the run: commits wait in order, at most so many, and one writer saves them.
//!
//! After a commit that failed none is written: what follows would build on what is missing. Reading waits until
//! everything is saved. The writer keeps the run's place on its thread until it has nothing left to write, also when
//! the run is dropped.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, Weak};

use superstep_core::error::{Code, Error, Result};
use superstep_core::forward_checkpointer;
use superstep_core::port::{Checkpointer, Commit, SharedCheckpointer};
use tokio::sync::Notify;

use super::copies::Wanted;
use super::without_state;
use crate::context::lock;
use crate::executor::in_background;
use crate::launch::Place;

/// A store that saves behind the run. Clones are one and the same.
#[derive(Clone)]
pub(crate) struct Backlog(Arc<Inner>);

struct Inner {
    store: SharedCheckpointer,
    place: Weak<Place>,
    most: usize,
    wanted: Wanted,
    queue: Mutex<Queue>,
    /// Something was saved, or will never be.
    moved: Notify,
}

#[derive(Default)]
struct Queue {
    waiting: VecDeque<Commit>,
    /// Those that wait and the one that is being written.
    unsaved: usize,
    is_writing: bool,
    failed: Option<Error>,
}

impl Backlog {
    pub(super) fn new(store: SharedCheckpointer, place: Weak<Place>, most: usize) -> Self {
        let (wanted, queue, moved) = (Wanted::default(), Mutex::default(), Notify::new());
        Self(Arc::new(Inner { store, place, most: most.max(1), wanted, queue, moved }))
    }

    /// Returns when everything that was handed over is saved.
    pub(super) async fn flush(&self) -> Result<()> {
        loop {
            let moved = self.0.moved.notified();
            {
                let queue = lock(&self.0.queue);
                if queue.unsaved == 0 && !queue.is_writing {
                    return queue.failed.clone().map_or(Ok(()), Err);
                }
            }
            moved.await;
        }
    }

    /// The store, once everything that was handed over is in it.
    async fn flushed(&self) -> Result<&SharedCheckpointer> {
        self.flush().await?;
        Ok(&self.0.store)
    }

    /// Hands a commit over; waits while too many are unsaved.
    async fn hand_over(&self, commit: &Commit) -> Result<()> {
        loop {
            let moved = self.0.moved.notified();
            if self.accept(commit)? {
                return Ok(());
            }
            moved.await;
        }
    }

    fn accept(&self, commit: &Commit) -> Result<bool> {
        let place = self.0.place.upgrade();
        let place = place.ok_or_else(|| Error::new(Code::Cancelled, "the run is over: nothing more is saved"))?;
        {
            let mut queue = lock(&self.0.queue);
            if let Some(error) = &queue.failed {
                return Err(error.clone());
            }
            if queue.unsaved >= self.0.most {
                return Ok(false);
            }
            queue.waiting.push_back(Commit { state: self.0.wanted.copies(commit), ..without_state(commit) });
            queue.unsaved += 1;
            if std::mem::replace(&mut queue.is_writing, true) {
                return Ok(true);
            }
        }
        // Not under the lock: where nothing can be started, the writer is dropped right here and says so in the queue.
        in_background(Writer { inner: self.0.clone(), place: Some(place) }.write())?;
        Ok(true)
    }
}

/// Writes until nothing waits.
struct Writer {
    inner: Arc<Inner>,
    place: Option<Arc<Place>>,
}

impl Writer {
    async fn write(mut self) {
        while let Some(commit) = self.next() {
            let saved = self.inner.store.commit(&commit).await;
            drop(commit);
            {
                let mut queue = lock(&self.inner.queue);
                match saved {
                    Ok(()) => queue.unsaved -= 1,
                    Err(error) => queue.give_up(error),
                }
            }
            self.inner.moved.notify_waiters();
        }
    }

    /// The next commit; without one the writer has ended, and gives its part of the place back before anybody knows.
    fn next(&mut self) -> Option<Commit> {
        let mut queue = lock(&self.inner.queue);
        let next = queue.waiting.pop_front();
        if next.is_none() {
            self.place = None;
            queue.is_writing = false;
        }
        next
    }
}

impl Queue {
    fn give_up(&mut self, error: Error) {
        self.failed = Some(error);
        self.waiting.clear();
        self.unsaved = 0;
    }
}

impl Drop for Writer {
    fn drop(&mut self) {
        if self.place.take().is_some() {
            let mut queue = lock(&self.inner.queue);
            queue.give_up(Error::new(Code::StoreUnavailable, "saving in the background was cut off"));
            queue.is_writing = false;
        }
        self.inner.moved.notify_waiters();
    }
}

impl Checkpointer for Backlog {
    forward_checkpointer!(this => this.0.store; acquire, release, delete_thread, stats);
    forward_checkpointer!(this => this.flushed().await?; load, history, threads, status, namespaces, copy_thread, prune);
    forward_checkpointer!(this => this.flushed().await?; events, last_event, forget_events);

    async fn commit(&self, commit: &Commit) -> Result<()> {
        self.hand_over(commit).await
    }
}
