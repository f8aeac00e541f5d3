//! The backend that all other modules use: the store, its keys, and the state of this process.
//!
//! Retryable errors are retried here and nowhere else: every call has the same effect when it is made twice.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use superstep_core::error::{Error, Result};
use superstep_core::id::ThreadId;
use superstep_core::port::{KeyValue, PutOptions};
use tokio::sync::OwnedMutexGuard;
use tokio::sync::mpsc::UnboundedSender;

use super::KeyValueOptions;
use super::background::BackgroundTask;
use super::envelope::is_corruption;
use super::keys::{KeyBuilder, KeyKind, number_in};
use super::thread_cache::ThreadCache;
use super::thread_log::ThreadLog;
use crate::change_log::HistoryCache;

/// Number of attempts before an error is returned.
const MAX_ATTEMPTS: usize = 3;
/// Number of keys that are read, listed or deleted per call.
pub(super) const PAGE: usize = 512;

/// A key-value store with the state that this process has for it.
pub(super) struct Backend<K> {
    pub(super) store: K,
    pub(super) keys: KeyBuilder,
    pub(super) lease_timeout: Duration,
    pub(super) time_to_live: Option<Duration>,
    /// Random token of this checkpointer in this process.
    pub(super) token: u64,
    counter: AtomicU64,
    pub(super) history_cache: HistoryCache,
    pub(super) thread_cache: ThreadCache,
    /// Highest fence that this process has issued.
    fence: AtomicU64,
    /// Time of the last heartbeat of this process.
    last_heartbeat: Mutex<Option<Instant>>,
    background_tx: UnboundedSender<BackgroundTask>,
}

impl<K: KeyValue> Backend<K> {
    pub(super) fn new(
        store: K,
        options: &KeyValueOptions,
        background_tx: UnboundedSender<BackgroundTask>,
    ) -> Result<Self> {
        let mut bits = [0_u8; 8];
        getrandom::fill(&mut bits)
            .map_err(|error| Error::internal(format!("the system returned no random bytes: {error}")))?;
        Ok(Self {
            store,
            keys: KeyBuilder::new(&options.prefix)?,
            lease_timeout: options.lease_timeout,
            time_to_live: options.time_to_live,
            token: u64::from_le_bytes(bits),
            counter: AtomicU64::new(0),
            history_cache: HistoryCache::new(options.encoding),
            thread_cache: ThreadCache::new(options.threads),
            fence: AtomicU64::new(0),
            last_heartbeat: Mutex::default(),
            background_tx,
        })
    }

    /// Returns a pair of numbers that is globally unique.
    pub(super) fn next_unique(&self) -> (u64, u64) {
        (self.token, self.counter.fetch_add(1, Ordering::Relaxed))
    }

    /// Returns a fence greater than `last` and than all fences issued by this process.
    pub(super) fn fence_above(&self, last: u64) -> u64 {
        self.fence.fetch_max(last, Ordering::Relaxed);
        self.fence.fetch_add(1, Ordering::Relaxed) + 1
    }

    /// Returns the time to live of a thread that is written now, in milliseconds; 0 means no expiry.
    pub(super) fn ttl_millis(&self) -> u64 {
        self.time_to_live.map_or(0, |time_to_live| u64::try_from(time_to_live.as_millis()).unwrap_or(u64::MAX).max(1))
    }

    pub(super) async fn get(&self, key: &str) -> Result<Option<Vec<u8>>> {
        retry(|| self.store.get(key)).await
    }

    pub(super) async fn get_many(&self, keys: &[String]) -> Result<Vec<Option<Vec<u8>>>> {
        let values = retry(|| self.store.get_many(keys)).await?;
        if values.len() == keys.len() {
            return Ok(values);
        }
        Err(Error::internal(format!("a store returned {} values for {} keys", values.len(), keys.len())))
    }

    /// Reads the values of several keys; a corrupt value does not prevent reading the others.
    pub(super) async fn get_each_checked(&self, keys: &[String]) -> Result<Vec<Result<Option<Vec<u8>>>>> {
        match self.get_many(keys).await {
            Err(error) if is_corruption(&error) => {}
            values => return Ok(values?.into_iter().map(Ok).collect()),
        }
        let mut values = Vec::with_capacity(keys.len());
        for key in keys {
            match self.get(key).await {
                Err(error) if !is_corruption(&error) => return Err(error),
                value => values.push(value),
            }
        }
        Ok(values)
    }

    /// Returns true if a key exists; a key with a corrupt value exists.
    pub(super) async fn has(&self, key: &str) -> Result<bool> {
        match self.get(key).await {
            Err(error) if is_corruption(&error) => Ok(true),
            value => Ok(value?.is_some()),
        }
    }

    /// Puts a value under a new key without retries; returns false if the key exists.
    pub(super) async fn try_put_new(&self, key: &str, value: &[u8]) -> Result<bool> {
        self.store.put(key, value, PutOptions { if_absent: true, ttl: None }).await
    }

    pub(super) async fn put(&self, key: &str, value: &[u8], ttl: Option<Duration>) -> Result<()> {
        retry(|| self.store.put(key, value, PutOptions { if_absent: false, ttl })).await.map(drop)
    }

    pub(super) async fn delete(&self, keys: &[String]) -> Result<()> {
        for page in keys.chunks(PAGE) {
            retry(|| self.store.delete(page)).await?;
        }
        Ok(())
    }

    pub(super) async fn list(&self, prefix: &str, after: Option<&str>, limit: usize) -> Result<Vec<String>> {
        retry(|| self.store.list(prefix, after, limit)).await
    }

    /// Returns the numbers in the base markers of a thread after a number, ascending.
    pub(super) async fn base_numbers(&self, thread: &ThreadId, after: Option<u64>) -> Result<Vec<u64>> {
        let after = after.map(|number| self.keys.base(thread, number));
        let keys = self.list(&self.keys.folder(thread, KeyKind::Base), after.as_deref(), PAGE).await?;
        Ok(keys.iter().filter_map(|key| number_in(key)).collect())
    }

    /// Removes all keys of one kind of a thread for which `is_removable` returns true.
    pub(super) async fn clear(
        &self,
        thread: &ThreadId,
        kind: KeyKind,
        is_removable: impl Fn(&str) -> bool,
    ) -> Result<()> {
        let (folder, mut after) = (self.keys.folder(thread, kind), None::<String>);
        loop {
            let page = self.list(&folder, after.as_deref(), PAGE).await?;
            let Some(last) = page.last().cloned() else { return Ok(()) };
            let removed: Vec<String> = page.into_iter().filter(|key| is_removable(key)).collect();
            self.delete(&removed).await?;
            after = Some(last);
        }
    }

    /// Sends a heartbeat unless the last one is recent.
    pub(super) async fn heartbeat_if_due(&self) -> Result<()> {
        let is_recent = |last_heartbeat: &Instant| last_heartbeat.elapsed() < self.lease_timeout / 3;
        if self.lock_last_heartbeat().as_ref().is_some_and(is_recent) {
            return Ok(());
        }
        self.heartbeat().await
    }

    pub(super) async fn heartbeat(&self) -> Result<()> {
        let now = Instant::now();
        self.put(&self.keys.holder(self.token), b"", Some(self.lease_timeout)).await?;
        *self.lock_last_heartbeat() = Some(now);
        Ok(())
    }

    fn lock_last_heartbeat(&self) -> MutexGuard<'_, Option<Instant>> {
        self.last_heartbeat.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns true if the heartbeat of another process has not expired.
    pub(super) async fn is_alive(&self, holder: u64) -> Result<bool> {
        match self.get(&self.keys.holder(holder)).await {
            // A live process writes its heartbeat again; a corrupt heartbeat of a dead process would never expire.
            Err(error) if is_corruption(&error) => Ok(false),
            value => Ok(value?.is_some()),
        }
    }

    /// Queues a task for the background thread.
    pub(super) fn run_in_background(&self, task: BackgroundTask) {
        // If the background thread has ended, the checkpointer is closed and its leases expire.
        drop(self.background_tx.send(task));
    }

    /// Returns the current tables of a thread if it exists, up to the first corrupt record; an error if no record is
    /// readable.
    pub(super) async fn read_thread(&self, thread: &ThreadId) -> Result<Option<OwnedMutexGuard<ThreadLog>>> {
        if !thread.is_valid() {
            return Ok(None);
        }
        let mut log = self.thread(thread).lock_owned().await;
        log.refresh_readable(self).await.map_err(|error| error.with_thread(Some(thread)))?;
        if log.tables.status.is_none() {
            return log.check_not_corrupt().map(|()| None);
        }
        // For a corrupt thread the time to live may be in an unreadable record, so expiry is not checked.
        Ok(if log.corruption.is_none() && log.is_expired(self).await? { None } else { Some(log) })
    }

    /// Returns the cached thread behind its lock.
    pub(super) fn thread(&self, thread: &ThreadId) -> Arc<tokio::sync::Mutex<ThreadLog>> {
        self.thread_cache.get(thread)
    }
}

/// Calls `attempt` up to `MAX_ATTEMPTS` times while its error is retryable.
async fn retry<T, F: Future<Output = Result<T>>>(mut attempt: impl FnMut() -> F) -> Result<T> {
    for _ in 1..MAX_ATTEMPTS {
        match attempt().await {
            Err(error) if error.is_retryable() => {}
            done => return done,
        }
    }
    attempt().await
}
