//! Checkpoints in an SQLite file: the store that needs nothing but a path.
//!
//! One connection writes, on a thread of its own (`writer`), and commits what several runs want saved in one transaction;
//! readers have connections of their own (`read`). What is written is decided by the log of changes, which knows no SQL;
//! all SQL of this store is in this folder. Who may move a thread is in `lease`, what goes wrong in `trouble`.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use superstep_core::checkpoint::Namespace;
use superstep_core::error::{Error, Result};
use superstep_core::id::{RunId, ThreadId};
use superstep_core::port::{
    At, Checkpointer, Commit, EventsQuery, HistoryQuery, Lease, Loaded, PruneReport, Retention, Stats, StoredEvent,
    ThreadStatus, ThreadsQuery,
};

mod commit;
mod events;
mod history;
mod holder;
mod lease;
mod open;
mod owed;
mod prune;
mod read;
mod store;
mod trouble;
mod upkeep;
mod write;
mod writer;

use crate::log::{self, Form, Held};
use read::Readers;
pub use store::SqliteStore;
use writer::Writer;

/// How hard a commit is on the disk.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum Synchronous {
    /// What was told is on the disk: nothing is lost, also when the power goes.
    #[default]
    Full,
    /// Nothing is lost when the program dies. When the power goes, the last supersteps may be gone, and with them what
    /// was told of them; the file stays whole.
    Normal,
}

/// How a file is opened; see [`Sqlite::options`].
#[derive(Debug, Clone)]
#[must_use]
pub struct Options {
    synchronous: Synchronous,
    busy: Duration,
    lapse: Duration,
    form: Form,
}

impl Default for Options {
    fn default() -> Self {
        let (busy, lapse) = (Duration::from_secs(5), Duration::from_secs(15));
        Self { synchronous: Synchronous::Full, busy, lapse, form: Form::Squeezed }
    }
}

impl Options {
    /// How hard a commit is on the disk. [`Synchronous::Full`] unless told.
    pub fn synchronous(mut self, synchronous: Synchronous) -> Self {
        self.synchronous = synchronous;
        self
    }

    /// How long a commit waits while another process writes. 5 seconds unless told.
    pub fn busy_timeout(mut self, busy: Duration) -> Self {
        self.busy = busy;
        self
    }

    /// After how long another process may take the threads of one that is alive and does nothing, such as one that was
    /// stopped; all processes of a file should say the same. 15 seconds unless told. The threads of a process that died
    /// can be taken at once.
    pub fn lapse_after(mut self, lapse: Duration) -> Self {
        self.lapse = lapse;
        self
    }

    /// Whether long values are written in fewer bytes (zstd). They are unless told; either is read whatever is told here.
    pub fn compression(mut self, is_on: bool) -> Self {
        self.form = if is_on { Form::Squeezed } else { Form::Plain };
        self
    }

    /// Opens a file, or makes it; `":memory:"` lives as long as the store.
    ///
    /// # Errors
    /// When the file cannot be opened, is not a store of ours, or was written by a newer version.
    pub fn open(&self, path: impl AsRef<Path>) -> Result<Sqlite> {
        let place = open::Place::new(path.as_ref());
        place.check_disk()?;
        let writer = Writer::start(place.clone(), self)?;
        let readers = Readers::new(place, self.busy);
        Ok(Sqlite(Arc::new(Inner { readers, held: Held::new(self.form), writer })))
    }
}

/// A store in an SQLite file. Clones are one and the same store.
///
/// Several processes may open one file, on one machine: each thread is moved by one of them at a time, and what a
/// process had under way when it died is there for the next.
///
/// ```
/// use superstep::prelude::*;
/// use superstep_adapters::sqlite::Sqlite;
///
/// #[derive(State, Clone, Serialize, Deserialize)]
/// struct Visits {
///     #[reduce(add)]
///     count: u64,
/// }
///
/// # let folder = std::env::temp_dir().join(format!("superstep-doc-{}", std::process::id()));
/// # std::fs::create_dir_all(&folder).unwrap();
/// # let path = folder.join("checkpoints.db");
/// let mut graph = Graph::<Visits>::new("visits");
/// let visit = graph.node("visit", || Visits::update().count(1_u64));
/// graph.edge(START, visit).edge(visit, END);
/// graph.checkpointer(Sqlite::open(&path)?);
/// let visits = graph.compile()?;
///
/// visits.run(Visits::input().count(0_u64)).thread("door").wait()?;
/// assert_eq!(visits.run(Visits::input().count(0_u64)).thread("door").wait()?.state.count, 2);
/// # drop((graph, visits));
/// # std::fs::remove_dir_all(&folder).unwrap();
/// # Ok::<(), superstep::Error>(())
/// ```
#[derive(Clone)]
pub struct Sqlite(Arc<Inner>);

/// Readers go first when it is dropped: the last connection to be closed tidies up the file.
struct Inner {
    readers: Readers,
    held: Held,
    writer: Writer,
}

impl Sqlite {
    /// Opens a file, or makes it; `":memory:"` lives as long as the store.
    ///
    /// # Errors
    /// When the file cannot be opened, is not a store of ours, or was written by a newer version.
    pub fn open(path: impl AsRef<Path>) -> Result<Self> {
        Options::default().open(path)
    }

    /// Opens a file in another way than the usual.
    pub fn options() -> Options {
        Options::default()
    }

    /// Where the file is; `None` in memory.
    #[must_use]
    pub fn path(&self) -> Option<PathBuf> {
        self.0.writer.place().path().map(Path::to_owned)
    }

    /// Asks a connection that only reads; in memory there is one connection, and it is the one that writes.
    async fn ask<T: Send + 'static>(
        &self,
        question: impl FnMut(&rusqlite::Connection) -> trouble::Answer<T> + Send + 'static,
    ) -> Result<T> {
        match &self.0.readers {
            Readers::Files(files) => files.ask(question),
            Readers::Writer => self.0.writer.perform(writer::Effect::Fleeting, question).await,
        }
    }
}

/// Checkpoints of a history that are read on the thread of whoever asks, when their values are short.
const PAGE: usize = 128;
/// Bytes of values that are.
const SHORT: u64 = 64 << 10;

/// A few checkpoints in a row. What looks for some among others may look at all of them.
fn is_page(query: &HistoryQuery) -> bool {
    let HistoryQuery { before: _, limit, source, step, run, metadata } = query;
    let takes_all = source.is_none() && step.is_none() && run.is_none() && metadata.is_empty();
    takes_all && limit.is_some_and(|limit| limit <= PAGE)
}

impl Sqlite {
    /// As `ask`, for what may take long: whoever asks does not stand still meanwhile.
    async fn ask_long<T: Send + 'static>(
        &self,
        mut question: impl FnMut(&rusqlite::Connection) -> trouble::Answer<T> + Send + 'static,
    ) -> Result<T> {
        let (Readers::Files(_), Ok(runtime)) = (&self.0.readers, tokio::runtime::Handle::try_current()) else {
            return self.ask(question).await;
        };
        let store = self.clone();
        let answer = runtime.spawn_blocking(move || match &store.0.readers {
            Readers::Files(files) => files.ask(&mut question),
            Readers::Writer => Err(Error::internal("a file became a store in memory")),
        });
        answer.await.unwrap_or_else(|error| Err(Error::internal(format!("a question came to nothing: {error}"))))
    }
}

impl std::fmt::Debug for Sqlite {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Sqlite").field("path", &self.path()).finish()
    }
}

impl Checkpointer for Sqlite {
    async fn acquire(&self, thread: &ThreadId, run: RunId) -> Result<Lease> {
        if !thread.is_valid() {
            return Err(log::invalid(thread));
        }
        let taken = self.0.writer.acquire(thread.clone(), run, self.0.held.given_back(thread)).await?;
        Ok(self.0.held.take(thread, taken))
    }

    fn release(&self, lease: &Lease) {
        if let Some(row) = self.0.held.give_back(lease) {
            self.0.writer.release(row, lease.fence);
        }
    }

    async fn commit(&self, commit: &Commit) -> Result<()> {
        log::save(self, commit).await.map_err(|error| error.on_thread(Some(&commit.lease.thread)))
    }

    async fn load(&self, thread: &ThreadId, namespace: &Namespace, at: At) -> Result<Option<Loaded>> {
        if self.0.held.is_new(thread) {
            return Ok(None);
        }
        let (name, namespace) = (thread.clone(), namespace.clone());
        let loaded = self.ask(move |connection| read::load(connection, &name, &namespace, at)).await;
        loaded.map_err(|error| error.on_thread(Some(thread)))
    }

    async fn history(&self, thread: &ThreadId, namespace: &Namespace, query: &HistoryQuery) -> Result<Vec<Loaded>> {
        let (place, asked) = ((thread.clone(), namespace.clone()), query.clone());
        let ask = move |connection: &rusqlite::Connection, most| {
            history::history(connection, (&place.0, &place.1), &asked, most)
        };
        let mut listed = Ok(None);
        if is_page(query) {
            let ask = ask.clone();
            listed = self.ask(move |connection| ask(connection, SHORT)).await;
        }
        if matches!(listed, Ok(None)) {
            listed = self.ask_long(move |connection| ask(connection, u64::MAX)).await;
        }
        listed.map(Option::unwrap_or_default).map_err(|error| error.on_thread(Some(thread)))
    }

    async fn threads(&self, query: &ThreadsQuery) -> Result<Vec<ThreadId>> {
        let query = query.clone();
        self.ask_long(move |connection| upkeep::threads(connection, &query)).await
    }

    async fn status(&self, thread: &ThreadId) -> Result<Option<ThreadStatus>> {
        let (name, watch) = (thread.clone(), self.0.writer.watch());
        self.ask(move |connection| lease::status(connection, &name, &watch)).await
    }

    async fn namespaces(&self, thread: &ThreadId) -> Result<Vec<Namespace>> {
        let name = thread.clone();
        self.ask_long(move |connection| read::namespaces(connection, &name)).await
    }

    async fn delete_thread(&self, thread: &ThreadId) -> Result<()> {
        let (name, watch) = (thread.clone(), self.0.writer.watch());
        let deleted = self
            .0
            .writer
            .perform(writer::Effect::Durable, move |connection| upkeep::delete_thread(connection, &name, &watch));
        deleted.await?;
        self.0.held.forget(thread);
        Ok(())
    }

    async fn copy_thread(&self, from: &ThreadId, to: &ThreadId) -> Result<()> {
        if !to.is_valid() {
            return Err(log::invalid(to));
        }
        let (from, to) = (from.clone(), to.clone());
        let copied = move |connection: &rusqlite::Connection| upkeep::copy_thread(connection, &from, &to);
        self.0.writer.perform(writer::Effect::Durable, copied).await
    }

    async fn prune(&self, thread: &ThreadId, retention: &Retention) -> Result<PruneReport> {
        let (name, retention) = (thread.clone(), retention.clone());
        let pruned = move |connection: &rusqlite::Connection| prune::prune(connection, &name, &retention);
        self.0.writer.perform(writer::Effect::Durable, pruned).await
    }

    async fn stats(&self) -> Result<Stats> {
        self.ask_long(upkeep::stats).await
    }

    async fn events(&self, thread: &ThreadId, query: &EventsQuery) -> Result<Vec<StoredEvent>> {
        let (name, query) = (thread.clone(), query.clone());
        let read = self.ask_long(move |connection| events::read(connection, &name, &query)).await;
        read.map_err(|error| error.on_thread(Some(thread)))
    }

    async fn last_event(&self, thread: &ThreadId) -> Result<u64> {
        let name = thread.clone();
        let last = move |connection: &rusqlite::Connection| events::last(connection, &name);
        // A commit that nobody waits for any more may still be on its way: the answer is the one from after it.
        match self.0.writer.is_idle() {
            true => self.ask(last).await,
            false => self.0.writer.perform(writer::Effect::Fleeting, last).await,
        }
    }

    async fn forget_events(&self, thread: &ThreadId, up_to: u64) -> Result<()> {
        let name = thread.clone();
        let forgotten = move |connection: &rusqlite::Connection| events::forget(connection, &name, up_to);
        self.0.writer.perform(writer::Effect::Durable, forgotten).await
    }
}
