//! A gated checkpointer: a test decides when a commit may pass, and sees its content.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use superstep::core::delegate_checkpointer;
use superstep::core::port::{Checkpointer, Commit, Lease};
use superstep::prelude::*;
use superstep::{Error, ErrorCode, Result};
use tokio::sync::Semaphore;

/// A gated checkpointer. Clones share the gate.
#[derive(Clone)]
pub(super) struct GatedCheckpointer(Arc<Inner>);

struct Inner {
    disk: MemoryCheckpointer,
    passes: Semaphore,
    fails_at: AtomicUsize,
    /// Requested commits, without states.
    requested: Mutex<Vec<Commit>>,
    released: AtomicUsize,
}

impl GatedCheckpointer {
    /// Creates a closed gate.
    pub(super) fn closed(disk: &MemoryCheckpointer) -> Self {
        let (requested, released) = (Mutex::default(), AtomicUsize::new(0));
        let (passes, fails_at) = (Semaphore::new(0), AtomicUsize::new(usize::MAX));
        Self(Arc::new(Inner { disk: disk.clone(), passes, fails_at, requested, released }))
    }

    /// Creates an open gate.
    pub(super) fn open(disk: &MemoryCheckpointer) -> Self {
        let gate = Self::closed(disk);
        gate.let_pass(Semaphore::MAX_PERMITS / 2);
        gate
    }

    pub(super) fn let_pass(&self, saves: usize) {
        self.0.passes.add_permits(saves);
    }

    /// Fails the commit with this index, starting at 0, and no other.
    pub(super) fn fail_at(&self, save: usize) {
        self.0.fails_at.store(save, Ordering::SeqCst);
    }

    /// Returns the number of started commits.
    pub(super) fn started(&self) -> usize {
        self.0.requested.lock().unwrap().len()
    }

    /// Returns the requested commits since the last call.
    pub(super) fn take_requested(&self) -> Vec<Commit> {
        std::mem::take(&mut *self.0.requested.lock().unwrap())
    }

    /// Returns how often a lease was released.
    pub(super) fn released(&self) -> usize {
        self.0.released.load(Ordering::SeqCst)
    }
}

impl Checkpointer for GatedCheckpointer {
    delegate_checkpointer!(this => this.0.disk; acquire, load, history, threads, status, namespaces);
    delegate_checkpointer!(this => this.0.disk; delete_thread, copy_thread, prune, stats);
    delegate_checkpointer!(this => this.0.disk; events, last_event_number, delete_events);

    fn release(&self, lease: &Lease) {
        self.0.released.fetch_add(1, Ordering::SeqCst);
        self.0.disk.release(lease);
    }

    async fn commit(&self, commit: &Commit) -> Result<()> {
        let number = {
            let mut requested = self.0.requested.lock().unwrap();
            requested.push(Commit { state: None, ..commit.clone() });
            requested.len() - 1
        };
        self.0.passes.acquire().await.expect("the door is never closed for good").forget();
        if number == self.0.fails_at.load(Ordering::SeqCst) {
            return Err(Error::new(ErrorCode::StoreUnavailable, "the save failed, as the test asked"));
        }
        self.0.disk.commit(commit).await
    }
}
