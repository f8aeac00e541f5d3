//! Cache of the latest states of recently used threads, so that the next run need not read them.
//!
//! An optimization only: a state is used only if the checkpointer confirms that its checkpoint is still the latest.

use std::collections::VecDeque;
use std::sync::Mutex;

use superstep_core::id::ThreadId;
use superstep_core::machine::CachedState;
use superstep_core::port::{SharedCheckpointer, WeakCheckpointer};

use crate::engine::context::lock;

/// Maximum number of cached states. A continued conversation is among the most recent, and every state takes memory.
const CAPACITY: usize = 16;

/// Cached states of a graph's threads, most recently used last.
#[derive(Default)]
pub(crate) struct StateCache(Mutex<VecDeque<StateCacheEntry>>);

struct StateCacheEntry {
    thread: ThreadId,
    /// A weak reference, which does not keep the checkpointer open.
    store: WeakCheckpointer,
    cached_state: CachedState,
}

impl StateCache {
    /// Removes and returns the state of a thread, so that the run may change it in place.
    pub(crate) fn take(&self, thread: &ThreadId, store: &SharedCheckpointer) -> Option<CachedState> {
        let mut entries = lock(&self.0);
        let index = entries.iter().rposition(|entry| entry.thread == *thread && entry.store.is_same(store))?;
        entries.remove(index).map(|entry| entry.cached_state)
    }

    /// Caches the state of a thread whose run has ended.
    pub(crate) fn insert(&self, thread: &ThreadId, store: &SharedCheckpointer, cached_state: CachedState) {
        let mut entries = lock(&self.0);
        // No run can continue a thread of a checkpointer that was dropped.
        entries.retain(|entry| !entry.store.is_dropped());
        if entries.len() >= CAPACITY {
            entries.pop_front();
        }
        entries.push_back(StateCacheEntry { thread: thread.clone(), store: store.into(), cached_state });
    }
}
