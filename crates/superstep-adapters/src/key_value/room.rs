//! What everything here works with: the store, its keys, and what this process holds.
//!
//! What fails and may be tried again is tried again, here and nowhere else: every call is such that doing it twice does
//! the same as once.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use superstep_core::error::{Error, Result};
use superstep_core::id::ThreadId;
use superstep_core::port::{KeyValue, Put};
use tokio::sync::OwnedMutexGuard;
use tokio::sync::mpsc::UnboundedSender;

use super::Options;
use super::frame::is_damage;
use super::keeper::Note;
use super::keys::{Keys, Kind, number_in};
use super::shelf::Shelf;
use super::thread::Log;
use crate::log::Held;

/// How often something is tried before its failure is told.
const TRIES: usize = 3;
/// Keys that are asked for, listed or deleted in one go.
pub(super) const PAGE: usize = 512;

/// A store and what is known of it.
pub(super) struct Room<K> {
    pub(super) store: K,
    pub(super) keys: Keys,
    pub(super) lapse: Duration,
    pub(super) time_to_live: Option<Duration>,
    /// This process, or one store within it.
    pub(super) token: u64,
    count: AtomicU64,
    pub(super) held: Held,
    pub(super) shelf: Shelf,
    /// The greatest fence that was given here.
    fence: AtomicU64,
    /// When this process last said that it is alive.
    seen: Mutex<Option<Instant>>,
    notes: UnboundedSender<Note>,
}

impl<K: KeyValue> Room<K> {
    pub(super) fn new(store: K, options: &Options, notes: UnboundedSender<Note>) -> Result<Self> {
        let mut bits = [0_u8; 8];
        getrandom::fill(&mut bits).map_err(|error| Error::internal(format!("no randomness: {error}")))?;
        Ok(Self {
            store,
            keys: Keys::new(&options.prefix)?,
            lapse: options.lapse,
            time_to_live: options.time_to_live,
            token: u64::from_le_bytes(bits),
            count: AtomicU64::new(0),
            held: Held::new(options.form),
            shelf: Shelf::new(options.threads),
            fence: AtomicU64::new(0),
            seen: Mutex::default(),
            notes,
        })
    }

    /// A pair of numbers that nobody has had before.
    pub(super) fn unique(&self) -> (u64, u64) {
        (self.token, self.count.fetch_add(1, Ordering::Relaxed))
    }

    /// A fence above one, and above all that were given here.
    pub(super) fn fence_above(&self, last: u64) -> u64 {
        self.fence.fetch_max(last, Ordering::Relaxed);
        self.fence.fetch_add(1, Ordering::Relaxed) + 1
    }

    /// How long a thread stays that is written to now, in milliseconds; 0 for ever.
    pub(super) fn lasts(&self) -> u64 {
        self.time_to_live.map_or(0, |life| u64::try_from(life.as_millis()).unwrap_or(u64::MAX).max(1))
    }

    pub(super) async fn get(&self, key: &str) -> Result<Option<Vec<u8>>> {
        again(|| self.store.get(key)).await
    }

    pub(super) async fn get_many(&self, keys: &[String]) -> Result<Vec<Option<Vec<u8>>>> {
        let values = again(|| self.store.get_many(keys)).await?;
        if values.len() == keys.len() {
            return Ok(values);
        }
        Err(Error::internal(format!("a store gave {} values for {} keys", values.len(), keys.len())))
    }

    /// The values under several keys; one that is damaged does not keep the others from being read.
    pub(super) async fn get_each(&self, keys: &[String]) -> Result<Vec<Result<Option<Vec<u8>>>>> {
        match self.get_many(keys).await {
            Err(error) if is_damage(&error) => {}
            values => return Ok(values?.into_iter().map(Ok).collect()),
        }
        let mut values = Vec::with_capacity(keys.len());
        for key in keys {
            match self.get(key).await {
                Err(error) if !is_damage(&error) => return Err(error),
                value => values.push(value),
            }
        }
        Ok(values)
    }

    /// Whether there is such a key; one whose value is damaged is there.
    pub(super) async fn has(&self, key: &str) -> Result<bool> {
        match self.get(key).await {
            Err(error) if is_damage(&error) => Ok(true),
            value => Ok(value?.is_some()),
        }
    }

    /// Puts a value under a new key, once; false when there is one.
    pub(super) async fn try_put_new(&self, key: &str, value: &[u8]) -> Result<bool> {
        self.store.put(key, value, Put { only_new: true, lasts: None }).await
    }

    pub(super) async fn put(&self, key: &str, value: &[u8], lasts: Option<Duration>) -> Result<()> {
        again(|| self.store.put(key, value, Put { only_new: false, lasts })).await.map(drop)
    }

    pub(super) async fn delete(&self, keys: &[String]) -> Result<()> {
        for some in keys.chunks(PAGE) {
            again(|| self.store.delete(some)).await?;
        }
        Ok(())
    }

    pub(super) async fn list(&self, prefix: &str, after: Option<&str>, limit: usize) -> Result<Vec<String>> {
        again(|| self.store.list(prefix, after, limit)).await
    }

    /// The numbers of the records that reading may begin at, ascending, of those after one.
    pub(super) async fn bases(&self, thread: &ThreadId, after: Option<u64>) -> Result<Vec<u64>> {
        let after = after.map(|number| self.keys.base(thread, number));
        let found = self.list(&self.keys.folder(thread, Kind::Base), after.as_deref(), PAGE).await?;
        Ok(found.iter().filter_map(|key| number_in(key)).collect())
    }

    /// Removes everything of a kind that a thread has and that may go.
    pub(super) async fn clear(&self, thread: &ThreadId, kind: Kind, may_go: impl Fn(&str) -> bool) -> Result<()> {
        let (folder, mut after) = (self.keys.folder(thread, kind), None::<String>);
        loop {
            let found = self.list(&folder, after.as_deref(), PAGE).await?;
            let Some(last) = found.last().cloned() else { return Ok(()) };
            let gone: Vec<String> = found.into_iter().filter(|key| may_go(key)).collect();
            self.delete(&gone).await?;
            after = Some(last);
        }
    }

    /// Says that this process is alive, unless it did so a moment ago.
    pub(super) async fn show_life(&self) -> Result<()> {
        let is_fresh = |seen: &Instant| seen.elapsed() < self.lapse / 3;
        if self.seen().as_ref().is_some_and(is_fresh) {
            return Ok(());
        }
        self.beat().await
    }

    pub(super) async fn beat(&self) -> Result<()> {
        let now = Instant::now();
        self.put(&self.keys.holder(self.token), b"", Some(self.lapse)).await?;
        *self.seen() = Some(now);
        Ok(())
    }

    fn seen(&self) -> MutexGuard<'_, Option<Instant>> {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether another process says that it is alive.
    pub(super) async fn is_alive(&self, holder: u64) -> Result<bool> {
        match self.get(&self.keys.holder(holder)).await {
            // One that is alive puts it anew; of one that is not it would stay for ever.
            Err(error) if is_damage(&error) => Ok(false),
            value => Ok(value?.is_some()),
        }
    }

    /// Something to be done on the side.
    pub(super) fn note(&self, note: Note) {
        // When the keeper is gone the store has ended, and its leases lapse.
        drop(self.notes.send(note));
    }

    /// A thread as it is now, where there is one; as far as it can be read, and an error when that is nothing.
    pub(super) async fn look(&self, thread: &ThreadId) -> Result<Option<OwnedMutexGuard<Log>>> {
        if !thread.is_valid() {
            return Ok(None);
        }
        let mut log = self.thread(thread).lock_owned().await;
        log.read_up(self).await.map_err(|error| error.on_thread(Some(thread)))?;
        if log.tables.status.is_none() {
            return log.check_whole().map(|()| None);
        }
        // How long it was to last may be said behind the damage.
        Ok(if log.damage.is_none() && log.is_gone(self).await? { None } else { Some(log) })
    }

    /// A thread, to be looked at by one at a time.
    pub(super) fn thread(&self, thread: &ThreadId) -> Arc<tokio::sync::Mutex<Log>> {
        self.shelf.get(thread)
    }
}

/// Tries until it is done, or cannot be.
async fn again<T, F: Future<Output = Result<T>>>(mut attempt: impl FnMut() -> F) -> Result<T> {
    for _ in 1..TRIES {
        match attempt().await {
            Err(error) if error.is_retryable() => {}
            done => return done,
        }
    }
    attempt().await
}
