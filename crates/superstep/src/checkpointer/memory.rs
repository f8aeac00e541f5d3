//! In-memory checkpointer, for the lifetime of a process; the default in tests.
//!
//! Stores live values: a commit neither serializes to JSON nor makes deep copies, and its cost depends on the changes
//! only. Operations never wait: no lock is held across an await point. The module `history` stores the checkpoints of
//! one graph, `thread` the lease and the status of a thread.

use std::collections::BTreeMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::ops::Bound;
use std::sync::atomic::AtomicU64;
use std::sync::{Arc, Mutex, MutexGuard};

use superstep_core::checkpoint::CheckpointNamespace;
use superstep_core::error::Result;
use superstep_core::id::{RunId, ThreadId};
use superstep_core::port::{
    CheckpointSelector, CheckpointTuple, Checkpointer, CheckpointerStats, Commit, EventsQuery, HistoryQuery, Lease,
    PruneReport, Retention, StoredEvent, ThreadStatus, ThreadsQuery, errors,
};

mod field_version;
mod history;
mod journal;
mod pending_entries;
mod thread;

use crate::engine::context::lock;
use thread::Thread;

/// Number of shards, large enough that runs on different threads rarely contend.
const SHARDS: usize = 64;

/// A checkpointer that keeps checkpoints in memory. Clones share the same data.
#[derive(Clone, Default)]
pub struct MemoryCheckpointer(Arc<MemoryInner>);

struct MemoryInner {
    shards: [Mutex<Shard>; SHARDS],
    /// Counter over all threads, so that a lease of a deleted thread never matches its successor.
    fence: AtomicU64,
}

impl Default for MemoryInner {
    fn default() -> Self {
        Self { shards: std::array::from_fn(|_| Mutex::default()), fence: AtomicU64::new(0) }
    }
}

type Shard = BTreeMap<ThreadId, Arc<Mutex<Thread>>>;

impl MemoryCheckpointer {
    /// Creates an empty checkpointer.
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

    /// Calls a function with a thread, if the thread exists.
    fn with_thread<T>(&self, thread: &ThreadId, read: impl FnOnce(&Thread) -> T) -> Option<T> {
        self.find(thread).map(|existing| read(&lock(&existing)))
    }

    fn all(&self) -> Vec<Arc<Mutex<Thread>>> {
        self.0.shards.iter().flat_map(|shard| lock(shard).values().cloned().collect::<Vec<_>>()).collect()
    }
}

impl Checkpointer for MemoryCheckpointer {
    async fn acquire(&self, thread: &ThreadId, run: RunId) -> Result<Lease> {
        if !thread.is_valid() {
            return Err(errors::invalid_thread_id(thread));
        }
        let mut shard = self.shard(thread);
        // Not `entry`, which would keep an entry for a thread whose lease is not acquired.
        if let Some(existing) = shard.get(thread) {
            lock(existing).acquire_lease(thread, run, &self.0.fence)
        } else {
            let mut new_thread = Thread::default();
            let lease = new_thread.acquire_lease(thread, run, &self.0.fence)?;
            shard.insert(thread.clone(), Arc::new(Mutex::new(new_thread)));
            Ok(lease)
        }
    }

    fn release(&self, lease: &Lease) {
        let mut shard = self.shard(&lease.thread);
        let is_empty = shard.get(&lease.thread).is_some_and(|existing| lock(existing).release_lease(lease.fence));
        if is_empty {
            shard.remove(&lease.thread);
        }
    }

    async fn commit(&self, commit: &Commit) -> Result<()> {
        match self.find(&commit.lease.thread) {
            Some(existing) => lock(&existing).commit(commit),
            None => Err(errors::lease_lost(&commit.lease)),
        }
    }

    async fn load(
        &self,
        thread: &ThreadId,
        namespace: &CheckpointNamespace,
        at: CheckpointSelector,
    ) -> Result<Option<CheckpointTuple>> {
        Ok(self.with_thread(thread, |thread| thread.history(namespace)?.load(at)).flatten())
    }

    async fn history(
        &self,
        thread: &ThreadId,
        namespace: &CheckpointNamespace,
        query: &HistoryQuery,
    ) -> Result<Vec<CheckpointTuple>> {
        let checkpoints =
            self.with_thread(thread, |thread| thread.history(namespace).map(|history| history.query(query))).flatten();
        checkpoints.unwrap_or_else(|| Ok(Vec::new())).map_err(|error| error.with_thread(Some(thread)))
    }

    async fn threads(&self, query: &ThreadsQuery) -> Result<Vec<ThreadId>> {
        let after = query.after.as_ref().map_or(Bound::Unbounded, Bound::Excluded);
        let max = query.limit.unwrap_or(usize::MAX);
        let mut ids = Vec::new();
        for shard in &self.0.shards {
            let shard = lock(shard);
            let saved_threads =
                shard.range((after, Bound::Unbounded)).filter(|(_, thread)| lock(thread).status().is_some());
            ids.extend(saved_threads.map(|(id, _)| id.clone()).take(max));
        }
        ids.sort_unstable();
        ids.truncate(max);
        Ok(ids)
    }

    async fn status(&self, thread: &ThreadId) -> Result<Option<ThreadStatus>> {
        Ok(self.with_thread(thread, Thread::status).flatten())
    }

    async fn namespaces(&self, thread: &ThreadId) -> Result<Vec<CheckpointNamespace>> {
        Ok(self.with_thread(thread, Thread::namespaces).unwrap_or_default())
    }

    async fn delete_thread(&self, thread: &ThreadId) -> Result<()> {
        let mut shard = self.shard(thread);
        if let Some(existing) = shard.get(thread) {
            lock(existing).check_free(thread)?;
        }
        let removed = shard.remove(thread);
        drop(shard);
        // A large history is dropped after the lock of the shard is released.
        drop(removed);
        Ok(())
    }

    async fn copy_thread(&self, from: &ThreadId, to: &ThreadId) -> Result<()> {
        if !to.is_valid() {
            return Err(errors::invalid_thread_id(to));
        }
        let copy = self.with_thread(from, |thread| thread.copy_for(to)).flatten();
        let copy = copy.ok_or_else(|| errors::source_thread_not_found(from))?;
        let mut shard = self.shard(to);
        if shard.contains_key(to) {
            return Err(errors::thread_already_exists(to));
        }
        shard.insert(to.clone(), Arc::new(Mutex::new(copy)));
        Ok(())
    }

    async fn prune(&self, thread: &ThreadId, retention: &Retention) -> Result<PruneReport> {
        Ok(self.find(thread).map(|existing| lock(&existing).prune(retention)).unwrap_or_default())
    }

    async fn stats(&self) -> Result<CheckpointerStats> {
        let mut stats = CheckpointerStats::default();
        for thread in self.all() {
            lock(&thread).count(&mut stats);
        }
        Ok(stats)
    }

    async fn events(&self, thread: &ThreadId, query: &EventsQuery) -> Result<Vec<StoredEvent>> {
        Ok(self.with_thread(thread, |thread| thread.events.query(query)).unwrap_or_default())
    }

    async fn last_event_number(&self, thread: &ThreadId) -> Result<u64> {
        Ok(self.with_thread(thread, |thread| thread.events.last()).unwrap_or(0))
    }

    async fn delete_events(&self, thread: &ThreadId, up_to: u64) -> Result<()> {
        if let Some(existing) = self.find(thread) {
            lock(&existing).events.delete_up_to(up_to);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use superstep_core::testing::block_on;

    use super::*;

    mod conformance {
        superstep_core::checkpointer_conformance!(crate::checkpointer::memory::MemoryCheckpointer::new);
    }

    /// R-FWK-35: data in memory lives as long as the checkpointer; clones share the data, another instance is empty.
    #[test]
    fn clones_are_one_store_and_another_is_empty() {
        let store = MemoryCheckpointer::new();
        let lease = block_on(store.acquire(&"thread".into(), RunId::from_bits(1))).unwrap();
        let status = Some(ThreadStatus::Interrupted);
        let commit = Commit { status, ..Commit::empty(lease, CheckpointNamespace::root()) };
        block_on(store.commit(&commit)).unwrap();
        assert_eq!(block_on(store.clone().status(&"thread".into())).unwrap(), status);
        assert_eq!(block_on(MemoryCheckpointer::new().status(&"thread".into())).unwrap(), None);
    }

    /// A run that ends before its first commit leaves no thread behind.
    #[test]
    fn released_thread_without_commits_is_removed() {
        let store = MemoryCheckpointer::new();
        let lease = block_on(store.acquire(&"thread".into(), RunId::from_bits(1))).unwrap();
        assert_eq!(store.all().len(), 1);
        store.release(&lease);
        assert!(store.all().is_empty());
    }
}
