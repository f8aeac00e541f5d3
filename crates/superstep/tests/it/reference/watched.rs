//! A store that says what it is asked to save and when, and that breaks where a test tells it to.

use std::sync::{Arc, Mutex};

use superstep::core::checkpoint::{Entry, Namespace};
use superstep::core::id::{RunId, ThreadId};
use superstep::core::port::{
    At, Checkpointer, Commit, HistoryQuery, Lease, Loaded, PruneReport, Retention, Stats, ThreadStatus,
};
use superstep::{Code, Error, Memory, Result};

/// What a store can be asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Ask {
    Acquire,
    Commit,
    Load,
    History,
    Status,
    Namespaces,
    Delete,
    Copy,
    Prune,
    Stats,
}

/// A store over one in memory. Commits take their time, so that whoever does not wait for them shows.
#[derive(Clone, Default)]
pub(super) struct Watched(Arc<Inner>);

#[derive(Default)]
struct Inner {
    disk: Memory,
    said: Mutex<Vec<String>>,
    broken: Mutex<Option<(Ask, usize)>>,
}

impl Watched {
    /// The store underneath, which always works.
    pub(super) fn disk(&self) -> &Memory {
        &self.0.disk
    }

    /// Breaks at this kind of request, after it has worked this often. `None` mends it.
    pub(super) fn break_at(&self, ask: Option<(Ask, usize)>) {
        *self.0.broken.lock().unwrap() = ask;
    }

    /// Begin and end of every commit since the last look, with what was in it.
    pub(super) fn said(&self) -> Vec<String> {
        std::mem::take(&mut *self.0.said.lock().unwrap())
    }

    fn say(&self, what: String) {
        self.0.said.lock().unwrap().push(what);
    }

    fn asked(&self, ask: Ask) -> Result<&Memory> {
        if let Some((broken, works)) = &mut *self.0.broken.lock().unwrap()
            && *broken == ask
        {
            if *works == 0 {
                return Err(Error::new(Code::StoreUnavailable, format!("the disk is gone ({ask:?})")));
            }
            *works -= 1;
        }
        Ok(&self.0.disk)
    }
}

/// The tasks whose results a commit keeps, and the step of the checkpoint it makes.
fn contents(commit: &Commit) -> String {
    let kept = commit.pending.iter().filter(|pending| matches!(pending.entry, Entry::Done(_)));
    let mut words: Vec<String> = kept.map(|pending| pending.node.to_string()).collect();
    words.extend(commit.checkpoint.iter().map(|checkpoint| format!("step {}", checkpoint.step)));
    words.join(" ")
}

impl Checkpointer for Watched {
    async fn acquire(&self, thread: &ThreadId, run: RunId) -> Result<Lease> {
        self.asked(Ask::Acquire)?.acquire(thread, run).await
    }

    fn release(&self, lease: &Lease) {
        self.0.disk.release(lease);
    }

    async fn commit(&self, commit: &Commit) -> Result<()> {
        let disk = self.asked(Ask::Commit)?;
        let contents = contents(commit);
        self.say(format!("begin {contents}"));
        for _ in 0..10 {
            tokio::task::yield_now().await;
        }
        disk.commit(commit).await?;
        self.say(format!("end {contents}"));
        Ok(())
    }

    async fn load(&self, thread: &ThreadId, namespace: &Namespace, at: At) -> Result<Option<Loaded>> {
        self.asked(Ask::Load)?.load(thread, namespace, at).await
    }

    async fn history(&self, thread: &ThreadId, namespace: &Namespace, query: &HistoryQuery) -> Result<Vec<Loaded>> {
        self.asked(Ask::History)?.history(thread, namespace, query).await
    }

    async fn status(&self, thread: &ThreadId) -> Result<Option<ThreadStatus>> {
        self.asked(Ask::Status)?.status(thread).await
    }

    async fn namespaces(&self, thread: &ThreadId) -> Result<Vec<Namespace>> {
        self.asked(Ask::Namespaces)?.namespaces(thread).await
    }

    async fn delete_thread(&self, thread: &ThreadId) -> Result<()> {
        self.asked(Ask::Delete)?.delete_thread(thread).await
    }

    async fn copy_thread(&self, from: &ThreadId, to: &ThreadId) -> Result<()> {
        self.asked(Ask::Copy)?.copy_thread(from, to).await
    }

    async fn prune(&self, thread: &ThreadId, retention: &Retention) -> Result<PruneReport> {
        self.asked(Ask::Prune)?.prune(thread, retention).await
    }

    async fn stats(&self) -> Result<Stats> {
        self.asked(Ask::Stats)?.stats().await
    }
}
