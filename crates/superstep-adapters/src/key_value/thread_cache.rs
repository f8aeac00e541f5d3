//! LRU cache of threads in memory.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use superstep_core::id::ThreadId;

use super::thread_log::ThreadLog;

/// Cached threads with a size limit.
pub(super) struct ThreadCache {
    most: usize,
    threads: Mutex<CacheEntries>,
}

#[derive(Default)]
struct CacheEntries {
    by_name: BTreeMap<ThreadId, (u64, Arc<tokio::sync::Mutex<ThreadLog>>)>,
    /// Counter that increases with each access.
    uses: u64,
}

impl ThreadCache {
    pub(super) fn new(most: usize) -> Self {
        Self { most: most.max(1), threads: Mutex::default() }
    }

    /// Returns a thread, which may not have been read yet.
    pub(super) fn get(&self, thread: &ThreadId) -> Arc<tokio::sync::Mutex<ThreadLog>> {
        let mut threads = self.threads.lock().unwrap_or_else(PoisonError::into_inner);
        threads.uses += 1;
        let now = threads.uses;
        if let Some((used, log)) = threads.by_name.get_mut(thread) {
            *used = now;
            return log.clone();
        }
        if threads.by_name.len() >= self.most {
            threads.evict(self.most);
        }
        let log = Arc::new(tokio::sync::Mutex::new(ThreadLog::new(thread.clone())));
        threads.by_name.insert(thread.clone(), (now, log.clone()));
        log
    }
}

impl CacheEntries {
    /// Evicts a quarter of the threads, least recently used first; threads in use stay.
    fn evict(&mut self, most: usize) {
        let idle = self.by_name.values().filter(|(_, log)| Arc::strong_count(log) == 1);
        let mut uses: Vec<u64> = idle.map(|(used, _)| *used).collect();
        uses.sort_unstable();
        let Some(limit) = uses.get((most / 4).min(uses.len().saturating_sub(1))).copied() else { return };
        self.by_name.retain(|_, (used, log)| *used > limit || Arc::strong_count(log) > 1);
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
            assert!(cache.threads.lock().unwrap().by_name.len() <= 8);
        }
        assert!(Arc::ptr_eq(&retained, &cache.get(&"kept".into())));
    }
}
