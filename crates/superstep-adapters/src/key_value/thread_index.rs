//! The thread index: one key per existing thread, and one key per thread with a time to live.
//!
//! A thread is added to the index as uncertain before its first record is written, and as existing once it has saved
//! something; before it is deleted, it becomes uncertain again. So a crash in between leaves an uncertain entry, and
//! a listing reads the log of that thread. Expiry is not stored in the index: each incarnation of a thread has a TTL
//! key of its own, so that a process that is slow to remove the previous incarnation cannot expire the new one.

use std::time::Duration;

use superstep_core::error::Result;
use superstep_core::id::ThreadId;
use superstep_core::port::KeyValue;

use super::backend::Backend;
use super::envelope::is_corruption;
use super::thread_log::ThreadLog;

const EXISTS: &str = "sure";
const EXISTS_WITH_TTL: &str = "brief ";
const UNCERTAIN: &str = "doubt";

/// State of a thread in the index.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum IndexState {
    Absent,
    /// The thread exists.
    Exists,
    /// The log of the thread has to be read.
    Uncertain,
}

/// Reads the index state of several threads.
pub(super) async fn index_states<K: KeyValue>(backend: &Backend<K>, threads: &[ThreadId]) -> Result<Vec<IndexState>> {
    let keys: Vec<String> = threads.iter().map(|thread| backend.keys.index_key(thread)).collect();
    let (mut states, mut ttl_keys) = (Vec::with_capacity(threads.len()), Vec::new());
    for (thread, value) in threads.iter().zip(backend.get_each_checked(&keys).await?) {
        let value = value.map(|value| value.map(|value| String::from_utf8_lossy(&value).into_owned()));
        let first_record = |text: &str| u64::from_str_radix(text.strip_prefix(EXISTS_WITH_TTL)?, 16).ok();
        states.push(match value {
            Ok(None) => IndexState::Absent,
            Ok(Some(text)) if text == EXISTS => IndexState::Exists,
            Ok(Some(text)) => {
                ttl_keys.extend(
                    first_record(&text).map(|first_record| (states.len(), backend.keys.ttl_key(thread, first_record))),
                );
                IndexState::Uncertain
            }
            Err(_) => IndexState::Uncertain,
        });
    }
    let (indexes, keys): (Vec<usize>, Vec<String>) = ttl_keys.into_iter().unzip();
    for (index, value) in indexes.into_iter().zip(backend.get_each_checked(&keys).await?) {
        if !matches!(value, Ok(None)) {
            states[index] = IndexState::Exists;
        }
    }
    Ok(states)
}

impl ThreadLog {
    /// Adds the thread to the index and renews its time to live; called before something is saved.
    pub(super) async fn add_to_index<K: KeyValue>(&mut self, backend: &Backend<K>) -> Result<()> {
        self.renew_ttl(backend, self.tables.first_record).await?;
        if self.index_checked_fence == self.tables.fence {
            return Ok(());
        }
        // A process that deleted an earlier incarnation may remove the index entry late, so each run checks it once.
        let exists = self.tables.status.is_some();
        let stored = match backend.get(&backend.keys.index_key(&self.thread)).await {
            Err(error) if is_corruption(&error) => None,
            stored => stored?,
        };
        if !exists || stored.as_deref() != Some(self.entry(backend, true).as_bytes()) {
            self.put_index_entry(backend, exists).await?;
        }
        self.index_checked_fence = self.tables.fence;
        Ok(())
    }

    /// Renews the TTL key of the incarnation that began with this record.
    pub(super) async fn renew_ttl<K: KeyValue>(&self, backend: &Backend<K>, first_record: u64) -> Result<()> {
        if backend.time_to_live.is_none() {
            return Ok(());
        }
        backend.put(&backend.keys.ttl_key(&self.thread, first_record), b"", backend.time_to_live).await
    }

    /// Writes the index entry of the thread.
    pub(super) async fn put_index_entry<K: KeyValue>(&mut self, backend: &Backend<K>, exists: bool) -> Result<()> {
        backend.put(&backend.keys.index_key(&self.thread), self.entry(backend, exists).as_bytes(), None).await?;
        self.is_index_uncertain = !exists;
        Ok(())
    }

    fn entry<K: KeyValue>(&self, backend: &Backend<K>, exists: bool) -> String {
        match (exists, backend.time_to_live) {
            (false, _) => UNCERTAIN.to_owned(),
            (true, None) => EXISTS.to_owned(),
            (true, Some(_)) => format!("{EXISTS_WITH_TTL}{:016x}", self.tables.first_record),
        }
    }

    /// Removes a deleted thread from the index; returns false if the thread has been created again meanwhile. Then
    /// the entry is written again, because this call may have removed the new one.
    pub(super) async fn remove_index_entry<K: KeyValue>(&mut self, backend: &Backend<K>) -> Result<bool> {
        let next = self.next();
        backend.delete(&[backend.keys.index_key(&self.thread)]).await?;
        self.refresh_readable(backend).await?;
        if self.next() == next && self.corruption.is_none() {
            return Ok(true);
        }
        self.put_index_entry(backend, false).await?;
        Ok(false)
    }

    /// Returns true if the thread has expired and no live process holds a lease on it.
    pub(super) async fn is_expired<K: KeyValue>(&self, backend: &Backend<K>) -> Result<bool> {
        if self.tables.status.is_none() || self.tables.ttl_millis == 0 {
            return Ok(false);
        }
        if backend.has(&backend.keys.ttl_key(&self.thread, self.tables.first_record)).await? {
            return Ok(false);
        }
        Ok(!self.is_leased(backend).await?)
    }

    /// Returns true if a live process holds a lease on the thread.
    pub(super) async fn is_leased<K: KeyValue>(&self, backend: &Backend<K>) -> Result<bool> {
        match self.tables.lease_owner {
            None => Ok(false),
            // The release of a lease of this process may still be queued, so the record alone does not decide.
            Some(owner) if owner.process_token == backend.token => {
                Ok(backend.history_cache.fence_of(&self.thread) == Some(self.tables.fence))
            }
            Some(owner) => backend.is_alive(owner.process_token).await,
        }
    }
}

/// Returns the interval between two sweeps for expired threads.
pub(super) fn sweep_period(time_to_live: Duration) -> Duration {
    (time_to_live / 2).clamp(Duration::from_millis(100), Duration::from_secs(3_600))
}
