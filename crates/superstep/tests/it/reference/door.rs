//! A store behind a door: a test decides when a save may pass, and sees what was asked of it.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use superstep::core::forward_checkpointer;
use superstep::core::port::{Checkpointer, Commit, Lease};
use superstep::prelude::*;
use superstep::{Code, Error, Result};
use tokio::sync::Semaphore;

/// A store behind a door. Clones are one and the same.
#[derive(Clone)]
pub(super) struct Door(Arc<Inner>);

struct Inner {
    disk: Memory,
    passes: Semaphore,
    fails_at: AtomicUsize,
    /// What was asked to be saved, without states.
    asked: Mutex<Vec<Commit>>,
    released: AtomicUsize,
}

impl Door {
    /// Lets nothing pass.
    pub(super) fn closed(disk: &Memory) -> Self {
        let (asked, released) = (Mutex::default(), AtomicUsize::new(0));
        let (passes, fails_at) = (Semaphore::new(0), AtomicUsize::new(usize::MAX));
        Self(Arc::new(Inner { disk: disk.clone(), passes, fails_at, asked, released }))
    }

    /// Lets everything pass.
    pub(super) fn open(disk: &Memory) -> Self {
        let door = Self::closed(disk);
        door.let_pass(Semaphore::MAX_PERMITS / 2);
        door
    }

    pub(super) fn let_pass(&self, saves: usize) {
        self.0.passes.add_permits(saves);
    }

    /// Fails the save with this number, counted from 0, and only that one.
    pub(super) fn fail_at(&self, save: usize) {
        self.0.fails_at.store(save, Ordering::SeqCst);
    }

    /// How many saves were begun.
    pub(super) fn begun(&self) -> usize {
        self.0.asked.lock().unwrap().len()
    }

    /// What was asked to be saved since the last look.
    pub(super) fn take_asked(&self) -> Vec<Commit> {
        std::mem::take(&mut *self.0.asked.lock().unwrap())
    }

    /// How often a thread was given back.
    pub(super) fn released(&self) -> usize {
        self.0.released.load(Ordering::SeqCst)
    }
}

impl Checkpointer for Door {
    forward_checkpointer!(this => this.0.disk; acquire, load, history, threads, status, namespaces);
    forward_checkpointer!(this => this.0.disk; delete_thread, copy_thread, prune, stats);
    forward_checkpointer!(this => this.0.disk; events, last_event, forget_events);

    fn release(&self, lease: &Lease) {
        self.0.released.fetch_add(1, Ordering::SeqCst);
        self.0.disk.release(lease);
    }

    async fn commit(&self, commit: &Commit) -> Result<()> {
        let number = {
            let mut asked = self.0.asked.lock().unwrap();
            asked.push(Commit { state: None, ..commit.clone() });
            asked.len() - 1
        };
        self.0.passes.acquire().await.expect("the door is never closed for good").forget();
        if number == self.0.fails_at.load(Ordering::SeqCst) {
            return Err(Error::new(Code::StoreUnavailable, "the save failed, as the test asked"));
        }
        self.0.disk.commit(commit).await
    }
}
