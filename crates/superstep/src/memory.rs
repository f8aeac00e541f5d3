//! Checkpoints in memory, for the length of a process; the default in tests.
//!
//! Keeps live values as they are: nothing is written as JSON or copied deeply when a superstep is saved, and saving
//! costs what changed. Every operation is immediate: no lock is held across an await.
//! How one graph's history is kept is in `line`, how a thread is owned in `thread`.

use std::collections::BTreeMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::ops::Bound;
use std::sync::atomic::AtomicU64;
use std::sync::{Arc, Mutex, MutexGuard};

use superstep_core::checkpoint::Namespace;
use superstep_core::error::Result;
use superstep_core::id::{RunId, ThreadId};
use superstep_core::port::{
    At, Checkpointer, Commit, EventsQuery, HistoryQuery, Lease, Loaded, PruneReport, Retention, Stats, StoredEvent,
    ThreadStatus, ThreadsQuery, refusal,
};

mod events;
mod known;
mod line;
mod thread;
mod version;

use crate::context::lock;
use thread::Thread;

/// Runs on different threads rarely meet in one shard.
const SHARDS: usize = 64;

/// A store that keeps checkpoints in memory. Clones are one and the same store.
#[derive(Clone, Default)]
pub struct Memory(Arc<Inner>);

struct Inner {
    shards: [Mutex<Shard>; SHARDS],
    /// Rises over all threads, so that a lease of a deleted thread never fits the one that follows it.
    fence: AtomicU64,
}

impl Default for Inner {
    fn default() -> Self {
        Self { shards: std::array::from_fn(|_| Mutex::default()), fence: AtomicU64::new(0) }
    }
}

type Shard = BTreeMap<ThreadId, Arc<Mutex<Thread>>>;

impl Memory {
    /// An empty store.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    fn shard(&self, thread: &ThreadId) -> MutexGuard<'_, Shard> {
        let mut hasher = DefaultHasher::new();
        thread.as_str().hash(&mut hasher);
        lock(&self.0.shards[hasher.finish() as usize % SHARDS])
    }

    fn find(&self, thread: &ThreadId) -> Option<Arc<Mutex<Thread>>> {
        self.shard(thread).get(thread).cloned()
    }

    /// Asks a thread, where there is one.
    fn ask<T>(&self, thread: &ThreadId, question: impl FnOnce(&Thread) -> T) -> Option<T> {
        self.find(thread).map(|found| question(&lock(&found)))
    }

    fn all(&self) -> Vec<Arc<Mutex<Thread>>> {
        self.0.shards.iter().flat_map(|shard| lock(shard).values().cloned().collect::<Vec<_>>()).collect()
    }
}

impl Checkpointer for Memory {
    async fn acquire(&self, thread: &ThreadId, run: RunId) -> Result<Lease> {
        if !thread.is_valid() {
            return Err(refusal::invalid(thread));
        }
        let mut shard = self.shard(thread);
        // Not `entry`: that would keep an entry of a thread that nobody gets to move.
        if let Some(found) = shard.get(thread) {
            lock(found).take(thread, run, &self.0.fence)
        } else {
            let mut fresh = Thread::default();
            let lease = fresh.take(thread, run, &self.0.fence)?;
            shard.insert(thread.clone(), Arc::new(Mutex::new(fresh)));
            Ok(lease)
        }
    }

    fn release(&self, lease: &Lease) {
        let mut shard = self.shard(&lease.thread);
        let is_empty = shard.get(&lease.thread).is_some_and(|found| lock(found).give_back(lease.fence));
        if is_empty {
            shard.remove(&lease.thread);
        }
    }

    async fn commit(&self, commit: &Commit) -> Result<()> {
        match self.find(&commit.lease.thread) {
            Some(found) => lock(&found).commit(commit),
            None => Err(refusal::fenced(&commit.lease)),
        }
    }

    async fn load(&self, thread: &ThreadId, namespace: &Namespace, at: At) -> Result<Option<Loaded>> {
        Ok(self.ask(thread, |thread| thread.line(namespace)?.load(at)).flatten())
    }

    async fn history(&self, thread: &ThreadId, namespace: &Namespace, query: &HistoryQuery) -> Result<Vec<Loaded>> {
        let found = self.ask(thread, |thread| thread.line(namespace).map(|line| line.history(query))).flatten();
        found.unwrap_or_else(|| Ok(Vec::new())).map_err(|error| error.on_thread(Some(thread)))
    }

    async fn threads(&self, query: &ThreadsQuery) -> Result<Vec<ThreadId>> {
        let after = query.after.as_ref().map_or(Bound::Unbounded, Bound::Excluded);
        let most = query.limit.unwrap_or(usize::MAX);
        let mut found = Vec::new();
        for shard in &self.0.shards {
            let shard = lock(shard);
            let known = shard.range((after, Bound::Unbounded)).filter(|(_, thread)| lock(thread).status().is_some());
            found.extend(known.map(|(id, _)| id.clone()).take(most));
        }
        found.sort_unstable();
        found.truncate(most);
        Ok(found)
    }

    async fn status(&self, thread: &ThreadId) -> Result<Option<ThreadStatus>> {
        Ok(self.ask(thread, Thread::status).flatten())
    }

    async fn namespaces(&self, thread: &ThreadId) -> Result<Vec<Namespace>> {
        Ok(self.ask(thread, Thread::namespaces).unwrap_or_default())
    }

    async fn delete_thread(&self, thread: &ThreadId) -> Result<()> {
        let mut shard = self.shard(thread);
        if let Some(found) = shard.get(thread) {
            lock(found).check_free(thread)?;
        }
        let removed = shard.remove(thread);
        drop(shard);
        // A large history is dropped when nobody waits for the shard any more.
        drop(removed);
        Ok(())
    }

    async fn copy_thread(&self, from: &ThreadId, to: &ThreadId) -> Result<()> {
        if !to.is_valid() {
            return Err(refusal::invalid(to));
        }
        let copy = self.ask(from, |thread| thread.copy_for(to)).flatten();
        let copy = copy.ok_or_else(|| refusal::nothing_to_copy(from))?;
        let mut shard = self.shard(to);
        if shard.contains_key(to) {
            return Err(refusal::exists(to));
        }
        shard.insert(to.clone(), Arc::new(Mutex::new(copy)));
        Ok(())
    }

    async fn prune(&self, thread: &ThreadId, retention: &Retention) -> Result<PruneReport> {
        Ok(self.find(thread).map(|found| lock(&found).prune(retention)).unwrap_or_default())
    }

    async fn stats(&self) -> Result<Stats> {
        let mut stats = Stats::default();
        for thread in self.all() {
            lock(&thread).count(&mut stats);
        }
        Ok(stats)
    }

    async fn events(&self, thread: &ThreadId, query: &EventsQuery) -> Result<Vec<StoredEvent>> {
        Ok(self.ask(thread, |thread| thread.events.ask(query)).unwrap_or_default())
    }

    async fn last_event(&self, thread: &ThreadId) -> Result<u64> {
        Ok(self.ask(thread, |thread| thread.events.last()).unwrap_or(0))
    }

    async fn forget_events(&self, thread: &ThreadId, up_to: u64) -> Result<()> {
        if let Some(found) = self.find(thread) {
            lock(&found).events.forget(up_to);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use superstep_core::testing::block_on;

    use super::*;

    mod conformance {
        superstep_core::checkpointer_conformance!(crate::memory::Memory::new);
    }

    /// R-FWK-35: what is kept in memory lives as long as the store; its clones are one store, another is empty.
    #[test]
    fn clones_are_one_store_and_another_is_empty() {
        let store = Memory::new();
        let lease = block_on(store.acquire(&"thread".into(), RunId::from_bits(1))).unwrap();
        let status = Some(ThreadStatus::Interrupted);
        let commit = Commit { status, ..Commit::empty(lease, Namespace::root()) };
        block_on(store.commit(&commit)).unwrap();
        assert_eq!(block_on(store.clone().status(&"thread".into())).unwrap(), status);
        assert_eq!(block_on(Memory::new().status(&"thread".into())).unwrap(), None);
    }

    /// A run that ends before it saved anything leaves nothing behind.
    #[test]
    fn a_thread_that_was_only_taken_is_forgotten() {
        let store = Memory::new();
        let lease = block_on(store.acquire(&"thread".into(), RunId::from_bits(1))).unwrap();
        assert_eq!(store.all().len(), 1);
        store.release(&lease);
        assert!(store.all().is_empty());
    }
}
