//! LRU cache of threads in memory.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use superstep_core::id::ThreadId;

use super::thread_log::ThreadLog;

/// Cached threads with a size limit.
pub(super) struct ThreadCache {
    capacity: usize,
    threads: Mutex<CacheEntries>,
}

#[derive(Default)]
struct CacheEntries {
    by_id: BTreeMap<ThreadId, (u64, Arc<tokio::sync::Mutex<ThreadLog>>)>,
    /// Counter that increases with each access.
    accesses: u64,
}

impl ThreadCache {
    pub(super) fn new(capacity: usize) -> Self {
        Self { capacity: capacity.max(1), threads: Mutex::default() }
    }

    /// Returns a thread, which may not have been read yet.
    pub(super) fn get(&self, thread: &ThreadId) -> Arc<tokio::sync::Mutex<ThreadLog>> {
        let mut threads = self.threads.lock().unwrap_or_else(PoisonError::into_inner);
        threads.accesses += 1;
        let now = threads.accesses;
        if let Some((last_access, log)) = threads.by_id.get_mut(thread) {
            *last_access = now;
            return log.clone();
        }
        if threads.by_id.len() >= self.capacity {
            threads.evict(self.capacity);
        }
        let log = Arc::new(tokio::sync::Mutex::new(ThreadLog::new(thread.clone())));
        threads.by_id.insert(thread.clone(), (now, log.clone()));
        log
    }
}

impl CacheEntries {
    /// Evicts a quarter of the threads, least recently used first; threads in use stay.
    fn evict(&mut self, capacity: usize) {
        let idle = self.by_id.values().filter(|(_, log)| Arc::strong_count(log) == 1);
        let mut accesses: Vec<u64> = idle.map(|(last_access, _)| *last_access).collect();
        accesses.sort_unstable();
        let Some(limit) = accesses.get((capacity / 4).min(accesses.len().saturating_sub(1))).copied() else { return };
        self.by_id.retain(|_, (last_access, log)| *last_access > limit || Arc::strong_count(log) > 1);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_cache_evicts_threads_that_are_not_in_use() {
        let cache = ThreadCache::new(8);
        let retained = cache.get(&"kept".into());
        for number in 0..1_000 {
            cache.get(&number.into());
            assert!(cache.threads.lock().unwrap().by_id.len() <= 8);
        }
        assert!(Arc::ptr_eq(&retained, &cache.get(&"kept".into())));
    }
}
