//! Checkpoints in any store that keeps values under keys: a folder of files, SQLite, Redis, or one of your own.
//!
//! Each thread is a log of records (`record`), numbered without a gap. A commit puts one new key with the next number,
//! and that is the whole transaction: of many who try one succeeds, and whoever was overtaken finds out (`thread`).
//! What the records come to is kept in memory as tables (`tables`), where the log of changes decides what a commit is
//! made of, as it does for databases. Who moves a thread is in `lease`, what is done on the side in `keeper`, what
//! becomes of a thread that is damaged in `damage`. Where things are is in `keys`, what stands around every value in
//! `frame`. The doors are in folders of their own.

use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;

use superstep_core::checkpoint::Namespace;
use superstep_core::error::{Code, Error, Result};
use superstep_core::id::{RunId, ThreadId};
use superstep_core::port::{
    At, Checkpointer, Commit, EventsQuery, HistoryQuery, KeyValue, Lease, Loaded, PruneReport, Retention, Stats,
    StoredEvent, ThreadStatus, ThreadsQuery,
};

mod codec;
mod commit;
mod damage;
mod events;
mod files;
mod frame;
mod keeper;
mod keys;
mod lease;
mod listing;
mod prune;
mod read;
mod record;
#[cfg(feature = "redis")]
mod redis;
mod room;
mod shelf;
#[cfg(feature = "sqlite")]
mod sqlite;
mod tables;
mod thread;
mod upkeep;
mod workers;

use crate::log::{self, Form};
use commit::Desk;
pub use files::Files;
use keeper::Note;
use read::with_bodies;
#[cfg(feature = "redis")]
pub use redis::{Redis, RedisOptions};
use room::Room;
#[cfg(feature = "sqlite")]
pub use sqlite::SqliteKeys;

/// How long a process that stood still is kept from writing to a thread that was deleted meanwhile.
const REMEMBERED: Duration = Duration::from_secs(24 * 3_600);

/// How a store is opened; see [`KeyValueStore::options`].
#[derive(Debug, Clone)]
#[must_use]
pub struct Options {
    prefix: String,
    lapse: Duration,
    time_to_live: Option<Duration>,
    threads: usize,
    form: Form,
}

impl Default for Options {
    fn default() -> Self {
        let (prefix, lapse) = ("superstep".to_owned(), Duration::from_secs(30));
        Self { prefix, lapse, time_to_live: None, threads: 1_024, form: Form::Squeezed }
    }
}

impl Options {
    /// Whether long values are written in fewer bytes (zstd). They are unless told; either is read whatever is told here.
    pub fn compression(mut self, is_on: bool) -> Self {
        self.form = if is_on { Form::Squeezed } else { Form::Plain };
        self
    }

    /// What all keys begin with, followed by `/`: stores with different prefixes do not see each other. `superstep`
    /// unless told; 1 to 128 of `A-Z a-z 0-9 _ . : -`.
    pub fn prefix(mut self, prefix: impl Into<String>) -> Self {
        self.prefix = prefix.into();
        self
    }

    /// After how long without a sign of life others may take the threads of this process. 30 seconds unless told.
    /// Shorter means that work goes on sooner after a process died. Whichever it is, no two ever write to one thread:
    /// what comes from a process whose thread was taken is refused.
    pub fn lapse_after(mut self, lapse: Duration) -> Self {
        self.lapse = lapse;
        self
    }

    /// How long a thread stays that nobody writes to. For ever unless told. It counts from the last commit, by what
    /// the process that made it was told; a thread that a run moves does not go.
    pub fn time_to_live(mut self, time_to_live: Duration) -> Self {
        self.time_to_live = Some(time_to_live);
        self
    }

    /// How many threads are kept in memory at most, without their long values. 1,024 unless told; one that is not in
    /// memory is read again.
    pub fn threads_in_memory(mut self, threads: usize) -> Self {
        self.threads = threads;
        self
    }

    /// Opens a store in whatever keeps values under keys.
    ///
    /// # Errors
    /// When the prefix is not one, a time is zero, or the system gives no thread or no randomness.
    pub fn open<K: KeyValue>(&self, store: K) -> Result<KeyValueStore<K>> {
        if self.lapse.is_zero() || self.time_to_live.is_some_and(|life| life.is_zero()) {
            return Err(Error::new(Code::ConfigInvalid, "a lapse or a time to live of nothing")
                .help("give both some time, or leave them out"));
        }
        let (notes, inbox) = tokio::sync::mpsc::unbounded_channel();
        let room = Arc::new(Room::new(store, self, notes)?);
        let keeper = keeper::start(room.clone(), inbox)?;
        Ok(KeyValueStore(Arc::new(Inner { room, keeper: Some(keeper) })))
    }
}

/// Checkpoints in a store that keeps values under keys. Clones are one and the same store.
///
/// Any number of processes may share one: each thread is moved by one of them at a time, and what a process had under way
/// when it died is there for the next, at the latest after [`Options::lapse_after`].
///
/// ```
/// use superstep::prelude::*;
/// use superstep_adapters::key_value::{Files, KeyValueStore};
///
/// #[derive(State, Clone, Serialize, Deserialize)]
/// struct Visits {
///     #[reduce(add)]
///     count: u64,
/// }
///
/// # let folder = std::env::temp_dir().join(format!("superstep-doc-keys-{}", std::process::id()));
/// let mut graph = Graph::<Visits>::new("visits");
/// let visit = graph.node("visit", || Visits::update().count(1_u64));
/// graph.edge(START, visit).edge(visit, END);
/// graph.checkpointer(KeyValueStore::open(Files::open(&folder)?)?);
/// let visits = graph.compile()?;
///
/// visits.run(Visits::input().count(0_u64)).thread("door").wait()?;
/// assert_eq!(visits.run(Visits::input().count(0_u64)).thread("door").wait()?.state.count, 2);
/// # drop((graph, visits));
/// # std::fs::remove_dir_all(&folder).unwrap();
/// # Ok::<(), superstep::Error>(())
/// ```
pub struct KeyValueStore<K: KeyValue>(Arc<Inner<K>>);

struct Inner<K: KeyValue> {
    room: Arc<Room<K>>,
    keeper: Option<JoinHandle<()>>,
}

/// What is on its way is still done, as long as the store answers.
impl<K: KeyValue> Drop for Inner<K> {
    fn drop(&mut self) {
        self.room.note(Note::Close);
        if let Some(keeper) = self.keeper.take() {
            // It only panics for a bug, which leaves nothing but a lease that lapses.
            drop(keeper.join());
        }
    }
}

impl<K: KeyValue> Clone for KeyValueStore<K> {
    fn clone(&self) -> Self {
        Self(self.0.clone())
    }
}

impl<K: KeyValue> std::fmt::Debug for KeyValueStore<K> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("KeyValueStore").field("keys", &self.0.room.keys).finish_non_exhaustive()
    }
}

impl<K: KeyValue> KeyValueStore<K> {
    /// Opens a store in whatever keeps values under keys, with the prefix `superstep`.
    ///
    /// # Errors
    /// As [`Options::open`].
    pub fn open(store: K) -> Result<Self> {
        Options::default().open(store)
    }

    /// What the values are kept in.
    #[must_use]
    pub fn store(&self) -> &K {
        &self.0.room.store
    }

    /// Removes what is left of threads that outlived their time, and says how many there were. A store that was opened
    /// with a time to live does so by itself, now and then.
    ///
    /// # Errors
    /// When the store fails; what was found before that is removed.
    pub async fn sweep(&self) -> Result<usize> {
        upkeep::sweep(&self.0.room).await
    }
}

impl KeyValueStore<Files> {
    /// Opens a store in another way than the usual.
    pub fn options() -> Options {
        Options::default()
    }
}

impl<K: KeyValue> Checkpointer for KeyValueStore<K> {
    async fn acquire(&self, thread: &ThreadId, run: RunId) -> Result<Lease> {
        if !thread.is_valid() {
            return Err(log::invalid(thread));
        }
        lease::acquire(&self.0.room, thread, run).await.map_err(|error| error.on_thread(Some(thread)))
    }

    fn release(&self, lease: &Lease) {
        if self.0.room.held.give_back(lease).is_some() {
            lease::give_back(&self.0.room, &lease.thread, lease.fence);
        }
    }

    async fn commit(&self, commit: &Commit) -> Result<()> {
        let room = &*self.0.room;
        let desk = Desk { room, lease: &commit.lease, log: room.thread(&commit.lease.thread) };
        log::save(&desk, commit).await.map_err(|error| error.on_thread(Some(&commit.lease.thread)))
    }

    async fn load(&self, thread: &ThreadId, namespace: &Namespace, at: At) -> Result<Option<Loaded>> {
        let (room, place) = (&*self.0.room, (thread.clone(), namespace.clone()));
        let Some(mut log) = room.look(thread).await? else { return Ok(None) };
        let id = if let At::Id(id) = at { Some(id) } else { None };
        read::check_readable(&log, &place, id)?;
        let loaded = with_bodies(room, &mut log, |tables, bodies| read::load(tables, &place, at, bodies)).await;
        loaded.map_err(|error| error.on_thread(Some(thread)))
    }

    async fn history(&self, thread: &ThreadId, namespace: &Namespace, query: &HistoryQuery) -> Result<Vec<Loaded>> {
        let (room, place) = (&*self.0.room, (thread.clone(), namespace.clone()));
        let Some(mut log) = room.look(thread).await? else { return Ok(Vec::new()) };
        read::check_readable(&log, &place, query.before)?;
        let listed = with_bodies(room, &mut log, |tables, bodies| read::history(tables, &place, query, bodies)).await;
        listed.map_err(|error| error.on_thread(Some(thread)))
    }

    async fn threads(&self, query: &ThreadsQuery) -> Result<Vec<ThreadId>> {
        upkeep::threads(&self.0.room, query).await
    }

    async fn status(&self, thread: &ThreadId) -> Result<Option<ThreadStatus>> {
        match self.0.room.look(thread).await? {
            Some(log) => {
                log.check_whole()?;
                lease::status(&self.0.room, &log).await
            }
            None => Ok(None),
        }
    }

    async fn namespaces(&self, thread: &ThreadId) -> Result<Vec<Namespace>> {
        let Some(log) = self.0.room.look(thread).await? else { return Ok(Vec::new()) };
        let lines = log.tables.lines.iter().filter(|line| !line.rows.is_empty());
        let mut namespaces: Vec<Namespace> = lines.map(|line| line.namespace.clone()).collect();
        namespaces.sort();
        Ok(namespaces)
    }

    async fn delete_thread(&self, thread: &ThreadId) -> Result<()> {
        upkeep::delete_thread(&self.0.room, thread).await?;
        self.0.room.held.forget(thread);
        Ok(())
    }

    async fn copy_thread(&self, from: &ThreadId, to: &ThreadId) -> Result<()> {
        if !to.is_valid() {
            return Err(log::invalid(to));
        }
        upkeep::copy_thread(&self.0.room, from, to).await
    }

    async fn prune(&self, thread: &ThreadId, retention: &Retention) -> Result<PruneReport> {
        prune::prune(&self.0.room, thread, retention).await.map_err(|error| error.on_thread(Some(thread)))
    }

    async fn stats(&self) -> Result<Stats> {
        upkeep::stats(&self.0.room).await
    }

    async fn events(&self, thread: &ThreadId, query: &EventsQuery) -> Result<Vec<StoredEvent>> {
        events::events(&self.0.room, thread, query).await.map_err(|error| error.on_thread(Some(thread)))
    }

    async fn last_event(&self, thread: &ThreadId) -> Result<u64> {
        Ok(self.0.room.look(thread).await?.map_or(0, |log| log.tables.last_event))
    }

    async fn forget_events(&self, thread: &ThreadId, up_to: u64) -> Result<()> {
        events::forget(&self.0.room, thread, up_to).await.map_err(|error| error.on_thread(Some(thread)))
    }
}
