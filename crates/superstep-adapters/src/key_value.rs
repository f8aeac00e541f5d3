//! A checkpointer on top of any key-value store: a folder of files, SQLite, Redis, or a store of your own.
//!
//! Each thread is a log of records (`log_record`), numbered without gaps. A commit puts one new key with the next
//! number, and that put is the entire transaction: if several processes try, one succeeds and the others detect that
//! the number is in use (`thread_log`). The tables that result from the records are cached in memory (`thread_tables`);
//! as in the database adapters, the change log (`crate::change_log`) decides which rows a commit consists of. Leases
//! are in `lease`, background work in `background`, the handling of corrupt threads in `corruption`, key names in
//! `keys`, the envelope around every value in `envelope`. Each backend has its own module.

use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;

use superstep_core::checkpoint::CheckpointNamespace;
use superstep_core::error::{Error, ErrorCode, Result};
use superstep_core::id::{RunId, ThreadId};
use superstep_core::port::{
    CheckpointSelector, CheckpointTuple, Checkpointer, CheckpointerStats, Commit, EventsQuery, HistoryQuery, KeyValue,
    Lease, PruneReport, Retention, StoredEvent, ThreadStatus, ThreadsQuery,
};

mod backend;
mod background;
mod blocking_pool;
mod codec;
mod commit;
mod corruption;
mod envelope;
mod files;
mod journal;
mod keys;
mod lease;
mod log_record;
mod prune;
mod read;
#[cfg(feature = "redis")]
mod redis;
#[cfg(feature = "sqlite")]
mod sqlite_table;
mod thread_cache;
mod thread_index;
mod thread_log;
mod thread_tables;
mod threads;

use crate::change_log::{self, ValueEncoding};
use backend::Backend;
use background::BackgroundTask;
use commit::ThreadWriter;
pub use files::FileKeyValue;
use read::with_bodies;
#[cfg(feature = "redis")]
pub use redis::{RedisKeyValue, RedisOptions};
#[cfg(feature = "sqlite")]
pub use sqlite_table::SqliteKeyValue;

/// Time for which the tombstone of a deleted thread stays, so that a process that was suspended meanwhile cannot
/// write to the thread.
const TOMBSTONE_TTL: Duration = Duration::from_secs(24 * 3_600);

/// Settings of a checkpointer; see [`KeyValueCheckpointer::options`].
#[derive(Debug, Clone)]
#[must_use]
pub struct KeyValueOptions {
    prefix: String,
    lease_timeout: Duration,
    time_to_live: Option<Duration>,
    threads: usize,
    encoding: ValueEncoding,
}

impl Default for KeyValueOptions {
    fn default() -> Self {
        let (prefix, lease_timeout) = ("superstep".to_owned(), Duration::from_secs(30));
        Self { prefix, lease_timeout, time_to_live: None, threads: 1_024, encoding: ValueEncoding::Compressed }
    }
}

impl KeyValueOptions {
    /// Enables the compression of long values with zstd. Default: on. Compressed and uncompressed values are readable
    /// with either setting.
    pub fn compression(mut self, is_on: bool) -> Self {
        self.encoding = if is_on { ValueEncoding::Compressed } else { ValueEncoding::Plain };
        self
    }

    /// Sets the prefix of all keys, which is followed by `/`. Checkpointers with different prefixes do not see each
    /// other. Default: `superstep`. A prefix has 1 to 128 of the characters `A-Z a-z 0-9 _ . : -`.
    pub fn prefix(mut self, prefix: impl Into<String>) -> Self {
        self.prefix = prefix.into();
        self
    }

    /// Sets the time without a heartbeat after which other processes may take over the threads of this process.
    /// Default: 30 seconds. With a shorter time, the work of a crashed process continues sooner. Two processes never
    /// write to one thread with any setting: writes with an outdated lease are rejected.
    pub fn lease_timeout(mut self, lease_timeout: Duration) -> Self {
        self.lease_timeout = lease_timeout;
        self
    }

    /// Sets the time after which a thread without commits is removed. Default: never. The time starts at the last
    /// commit, with the setting of the process that made it; a thread with an active lease is not removed.
    pub fn time_to_live(mut self, time_to_live: Duration) -> Self {
        self.time_to_live = Some(time_to_live);
        self
    }

    /// Sets the maximum number of threads cached in memory, without their long values. Default: 1,024. Other threads
    /// are read again when needed.
    pub fn cached_threads(mut self, threads: usize) -> Self {
        self.threads = threads;
        self
    }

    /// Opens a checkpointer on top of a key-value store.
    ///
    /// # Errors
    /// Returns an error if the prefix is invalid, a time is zero, or the operating system provides no thread or no
    /// randomness.
    pub fn open<K: KeyValue>(&self, store: K) -> Result<KeyValueCheckpointer<K>> {
        if self.lease_timeout.is_zero() || self.time_to_live.is_some_and(|time_to_live| time_to_live.is_zero()) {
            return Err(Error::new(ErrorCode::ConfigInvalid, "the lease timeout or the time to live is zero")
                .with_help("set both to more than zero, or omit them"));
        }
        let (tasks, inbox) = tokio::sync::mpsc::unbounded_channel();
        let backend = Arc::new(Backend::new(store, self, tasks)?);
        let handle = background::start(backend.clone(), inbox)?;
        Ok(KeyValueCheckpointer(Arc::new(CheckpointerInner { backend, background: Some(handle) })))
    }
}

/// A checkpointer on top of a key-value store. Clones share one checkpointer.
///
/// Any number of processes may share the data: each thread has at most one lease holder at a time. If a process dies,
/// other processes can continue its threads after [`KeyValueOptions::lease_timeout`] at the latest.
///
/// ```
/// use superstep::prelude::*;
/// use superstep_adapters::key_value::{FileKeyValue, KeyValueCheckpointer};
///
/// #[derive(GraphState, Clone, Serialize, Deserialize)]
/// struct Visits {
///     #[reduce(add)]
///     count: u64,
/// }
///
/// # let folder = std::env::temp_dir().join(format!("superstep-doc-keys-{}", std::process::id()));
/// let mut graph = StateGraph::<Visits>::new("visits");
/// let visit = graph.add_node("visit", || Visits::update().count(1_u64));
/// graph.add_edge(START, visit).add_edge(visit, END);
/// graph.checkpointer(KeyValueCheckpointer::open(FileKeyValue::open(&folder)?)?);
/// let visits = graph.compile()?;
///
/// visits.invoke(Visits::input().count(0_u64)).thread("visit-1").wait_blocking()?;
/// assert_eq!(visits.invoke(Visits::input().count(0_u64)).thread("visit-1").wait_blocking()?.state.count, 2);
/// # drop((graph, visits));
/// # std::fs::remove_dir_all(&folder).unwrap();
/// # Ok::<(), superstep::Error>(())
/// ```
pub struct KeyValueCheckpointer<K: KeyValue>(Arc<CheckpointerInner<K>>);

struct CheckpointerInner<K: KeyValue> {
    backend: Arc<Backend<K>>,
    background: Option<JoinHandle<()>>,
}

/// Finishes writes that have started, as long as the store responds.
impl<K: KeyValue> Drop for CheckpointerInner<K> {
    fn drop(&mut self) {
        self.backend.run_in_background(BackgroundTask::Close);
        if let Some(handle) = self.background.take() {
            // The thread panics only because of a bug; the consequence is a lease that expires instead of being
            // released.
            drop(handle.join());
        }
    }
}

impl<K: KeyValue> Clone for KeyValueCheckpointer<K> {
    fn clone(&self) -> Self {
        Self(self.0.clone())
    }
}

impl<K: KeyValue> std::fmt::Debug for KeyValueCheckpointer<K> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("KeyValueCheckpointer").field("keys", &self.0.backend.keys).finish_non_exhaustive()
    }
}

impl<K: KeyValue> KeyValueCheckpointer<K> {
    /// Opens a checkpointer on top of a key-value store, with the prefix `superstep`.
    ///
    /// # Errors
    /// Returns the errors of [`KeyValueOptions::open`].
    pub fn open(store: K) -> Result<Self> {
        KeyValueOptions::default().open(store)
    }

    /// Returns the underlying key-value store.
    #[must_use]
    pub fn key_value(&self) -> &K {
        &self.0.backend.store
    }

    /// Removes the remains of expired threads and returns their number. A checkpointer with a time to live does this
    /// periodically in the background.
    ///
    /// # Errors
    /// Returns an error if the store fails; threads found before the error stay removed.
    pub async fn sweep_expired(&self) -> Result<usize> {
        threads::sweep(&self.0.backend).await
    }
}

impl KeyValueCheckpointer<FileKeyValue> {
    /// Returns settings that the caller can change before opening.
    pub fn options() -> KeyValueOptions {
        KeyValueOptions::default()
    }
}

impl<K: KeyValue> Checkpointer for KeyValueCheckpointer<K> {
    async fn acquire(&self, thread: &ThreadId, run: RunId) -> Result<Lease> {
        if !thread.is_valid() {
            return Err(change_log::invalid_thread_id(thread));
        }
        lease::acquire(&self.0.backend, thread, run).await.map_err(|error| error.with_thread(Some(thread)))
    }

    fn release(&self, lease: &Lease) {
        if self.0.backend.history_cache.release(lease).is_some() {
            lease::release(&self.0.backend, &lease.thread, lease.fence);
        }
    }

    async fn commit(&self, commit: &Commit) -> Result<()> {
        let backend = &*self.0.backend;
        let writer = ThreadWriter { backend, lease: &commit.lease, log: backend.thread(&commit.lease.thread) };
        change_log::save(&writer, commit).await.map_err(|error| error.with_thread(Some(&commit.lease.thread)))
    }

    async fn load(
        &self,
        thread: &ThreadId,
        namespace: &CheckpointNamespace,
        at: CheckpointSelector,
    ) -> Result<Option<CheckpointTuple>> {
        let (backend, key) = (&*self.0.backend, (thread.clone(), namespace.clone()));
        let Some(mut log) = backend.read_thread(thread).await? else { return Ok(None) };
        let id = if let CheckpointSelector::Id(id) = at { Some(id) } else { None };
        read::check_readable(&log, &key, id)?;
        let loaded = with_bodies(backend, &mut log, |tables, bodies| read::load(tables, &key, at, bodies)).await;
        loaded.map_err(|error| error.with_thread(Some(thread)))
    }

    async fn history(
        &self,
        thread: &ThreadId,
        namespace: &CheckpointNamespace,
        query: &HistoryQuery,
    ) -> Result<Vec<CheckpointTuple>> {
        let (backend, key) = (&*self.0.backend, (thread.clone(), namespace.clone()));
        let Some(mut log) = backend.read_thread(thread).await? else { return Ok(Vec::new()) };
        read::check_readable(&log, &key, query.before)?;
        let listed = with_bodies(backend, &mut log, |tables, bodies| read::history(tables, &key, query, bodies)).await;
        listed.map_err(|error| error.with_thread(Some(thread)))
    }

    async fn threads(&self, query: &ThreadsQuery) -> Result<Vec<ThreadId>> {
        threads::threads(&self.0.backend, query).await
    }

    async fn status(&self, thread: &ThreadId) -> Result<Option<ThreadStatus>> {
        match self.0.backend.read_thread(thread).await? {
            Some(log) => {
                log.check_not_corrupt()?;
                lease::status(&self.0.backend, &log).await
            }
            None => Ok(None),
        }
    }

    async fn namespaces(&self, thread: &ThreadId) -> Result<Vec<CheckpointNamespace>> {
        let Some(log) = self.0.backend.read_thread(thread).await? else { return Ok(Vec::new()) };
        let histories = log.tables.histories.iter().filter(|history| !history.rows.is_empty());
        let mut namespaces: Vec<CheckpointNamespace> = histories.map(|history| history.namespace.clone()).collect();
        namespaces.sort();
        Ok(namespaces)
    }

    async fn delete_thread(&self, thread: &ThreadId) -> Result<()> {
        threads::delete_thread(&self.0.backend, thread).await?;
        self.0.backend.history_cache.remove(thread);
        Ok(())
    }

    async fn copy_thread(&self, from: &ThreadId, to: &ThreadId) -> Result<()> {
        if !to.is_valid() {
            return Err(change_log::invalid_thread_id(to));
        }
        threads::copy_thread(&self.0.backend, from, to).await
    }

    async fn prune(&self, thread: &ThreadId, retention: &Retention) -> Result<PruneReport> {
        prune::prune(&self.0.backend, thread, retention).await.map_err(|error| error.with_thread(Some(thread)))
    }

    async fn stats(&self) -> Result<CheckpointerStats> {
        threads::stats(&self.0.backend).await
    }

    async fn events(&self, thread: &ThreadId, query: &EventsQuery) -> Result<Vec<StoredEvent>> {
        journal::events(&self.0.backend, thread, query).await.map_err(|error| error.with_thread(Some(thread)))
    }

    async fn last_event_number(&self, thread: &ThreadId) -> Result<u64> {
        Ok(self.0.backend.read_thread(thread).await?.map_or(0, |log| log.tables.last_event))
    }

    async fn delete_events(&self, thread: &ThreadId, up_to: u64) -> Result<()> {
        journal::delete_up_to(&self.0.backend, thread, up_to).await.map_err(|error| error.with_thread(Some(thread)))
    }
}
