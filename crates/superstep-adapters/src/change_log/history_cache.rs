//! Cache of the histories of threads on which this process holds leases.
//!
//! An optimization only: every write compares the cached state with the tables in the same transaction, and reads the
//! history again if another process wrote.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use superstep_core::checkpoint::CheckpointNamespace;
use superstep_core::error::Result;
use superstep_core::id::ThreadId;
use superstep_core::port::Lease;

use super::encoding::ValueEncoding;
use super::history_writer::{HistoryWriter, ParentCheckpoint};

/// Number of threads that stay cached after their lease was released.
const CACHED_THREADS: usize = 1_024;

/// Maximum number of cached histories per thread.
const MAX_CACHED_HISTORIES: usize = 16;

/// A thread whose lease was just acquired.
#[derive(Debug, Clone, Copy)]
pub(crate) struct AcquiredThread {
    /// Row id of the thread.
    pub(crate) row: i64,
    pub(crate) fence: u64,
    /// Fence of the previous lease.
    pub(crate) before: u64,
    /// True if the thread never had a lease: the tables contain nothing of it.
    pub(crate) is_new: bool,
}

/// Cache of threads.
pub(crate) struct HistoryCache {
    threads: Mutex<BTreeMap<ThreadId, Arc<CachedThread>>>,
    encoding: ValueEncoding,
}

/// A thread on which this process holds, or held, the lease.
pub(crate) struct CachedThread {
    pub(super) row: i64,
    fence: u64,
    is_held: bool,
    /// True if the tables contain nothing of the thread, and no write is on its way.
    is_new: AtomicBool,
    /// Histories of the namespaces written last.
    histories: Mutex<Vec<(CheckpointNamespace, CachedHistory)>>,
}

/// A history with its row id.
#[derive(Debug, Default)]
pub(crate) struct CachedHistory {
    pub(super) row: Option<i64>,
    pub(super) writer: HistoryWriter,
    /// True if a checkpoint is being added.
    pub(super) has_pending_checkpoint: bool,
}

impl CachedHistory {
    pub(crate) fn new(row: Option<i64>, writer: HistoryWriter) -> Self {
        Self { row, writer, has_pending_checkpoint: false }
    }

    /// Returns the part that is needed to write pending entries.
    fn outline(&self) -> Self {
        let ParentCheckpoint { id, number, .. } = self.writer.base;
        let base = ParentCheckpoint { id, number, ..ParentCheckpoint::default() };
        Self::new(self.row, HistoryWriter::new((self.writer.newest, 0), Vec::new(), base))
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl CachedThread {
    /// Returns the cached state of a history. To add a checkpoint, the entry is removed from the cache: no other
    /// commit can build on a state that may not be written.
    pub(super) fn entry(&self, namespace: &CheckpointNamespace, is_outline: bool) -> Option<CachedHistory> {
        let mut histories = lock(&self.histories);
        let Some(index) = histories.iter().position(|(cached, _)| cached == namespace) else {
            // Only for the first access: after it, the tables have to be read, whether the write succeeded or not.
            return (!is_outline && self.is_new.swap(false, Ordering::Relaxed)).then(CachedHistory::default);
        };
        Some(if is_outline { histories[index].1.outline() } else { histories.swap_remove(index).1 })
    }

    /// Caches a history as it was written.
    pub(super) fn put_history(&self, namespace: CheckpointNamespace, entry: CachedHistory) {
        let mut histories = lock(&self.histories);
        histories.retain(|(other, _)| *other != namespace);
        // A subgraph has a history for each call; an evicted one is read again.
        if histories.len() >= MAX_CACHED_HISTORIES {
            histories.remove(0);
        }
        histories.push((namespace, entry));
    }
}

impl HistoryCache {
    /// Returns an empty cache; `form` is the encoding of new values.
    pub(crate) fn new(encoding: ValueEncoding) -> Self {
        Self { threads: Mutex::default(), encoding }
    }

    pub(super) fn encoding(&self) -> ValueEncoding {
        self.encoding
    }

    /// Stores an acquired lease. Cached histories stay valid if no other process held the lease in between.
    pub(crate) fn acquire(&self, thread: &ThreadId, acquired: AcquiredThread) -> Lease {
        let mut threads = lock(&self.threads);
        let cached =
            threads.remove(thread).filter(|cached| cached.row == acquired.row && cached.fence == acquired.before);
        let histories = cached.map(|cached| std::mem::take(&mut *lock(&cached.histories))).unwrap_or_default();
        if threads.len() >= CACHED_THREADS {
            threads.retain(|_, thread| thread.is_held);
        }
        let (AcquiredThread { row, fence, is_new, .. }, histories) = (acquired, Mutex::new(histories));
        let acquired_thread = CachedThread { row, fence, is_held: true, is_new: AtomicBool::new(is_new), histories };
        threads.insert(thread.clone(), Arc::new(acquired_thread));
        Lease { thread: thread.clone(), fence: acquired.fence }
    }

    /// Marks a lease as released and returns the row id of its thread.
    pub(crate) fn release(&self, lease: &Lease) -> Option<i64> {
        let mut threads = lock(&self.threads);
        let cached = threads.get(&lease.thread).filter(|cached| cached.fence == lease.fence && cached.is_held)?;
        let (row, fence, histories) = (cached.row, cached.fence, std::mem::take(&mut *lock(&cached.histories)));
        let released_thread = CachedThread {
            row,
            fence,
            is_held: false,
            is_new: AtomicBool::new(false),
            histories: Mutex::new(histories),
        };
        threads.insert(lease.thread.clone(), Arc::new(released_thread));
        Some(row)
    }

    /// Returns true if this process holds the lease and the tables contain nothing of the thread.
    #[cfg(feature = "sqlite")]
    pub(crate) fn is_new(&self, thread: &ThreadId) -> bool {
        lock(&self.threads).get(thread).is_some_and(|cached| cached.is_held && cached.is_new.load(Ordering::Relaxed))
    }

    /// Returns row id and fence of a thread whose lease was released.
    #[cfg(feature = "sqlite")]
    pub(crate) fn last_release(&self, thread: &ThreadId) -> Option<(i64, u64)> {
        lock(&self.threads).get(thread).filter(|cached| !cached.is_held).map(|cached| (cached.row, cached.fence))
    }

    /// Removes a deleted thread unless its lease was acquired again.
    pub(crate) fn remove(&self, thread: &ThreadId) {
        let mut threads = lock(&self.threads);
        if threads.get(thread).is_some_and(|cached| !cached.is_held) {
            threads.remove(thread);
        }
    }

    /// Returns the fence of a lease held by this process.
    #[cfg(any(feature = "key-value", feature = "postgres"))]
    pub(crate) fn fence_of(&self, thread: &ThreadId) -> Option<u64> {
        lock(&self.threads).get(thread).filter(|cached| cached.is_held).map(|cached| cached.fence)
    }

    #[cfg(any(feature = "key-value", feature = "postgres"))]
    pub(crate) fn has_any(&self) -> bool {
        lock(&self.threads).values().any(|cached| cached.is_held)
    }

    pub(super) fn find(&self, lease: &Lease) -> Result<Arc<CachedThread>> {
        let cached = lock(&self.threads).get(&lease.thread).cloned();
        cached.filter(|cached| cached.fence == lease.fence && cached.is_held).ok_or_else(|| super::lease_lost(lease))
    }
}
