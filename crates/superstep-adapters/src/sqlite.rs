//! A checkpointer in an SQLite file, which needs nothing but a path.
//!
//! One connection writes, on a dedicated thread (`writer_thread`), and commits the changes of several runs in one
//! transaction; readers have their own connections (`read`). The rows to write are determined by the change log
//! (`crate::change_log`), which contains no SQL; all SQL of this checkpointer is in this folder. Leases are in `lease`,
//! errors in `error`.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use superstep_core::checkpoint::CheckpointNamespace;
use superstep_core::error::{Error, Result};
use superstep_core::id::{RunId, ThreadId};
use superstep_core::port::{
    CheckpointSelector, CheckpointTuple, Checkpointer, CheckpointerStats, Commit, EventsQuery, HistoryQuery, Lease,
    PruneReport, Retention, StoredEvent, ThreadStatus, ThreadsQuery,
};

mod commit;
mod error;
mod history;
mod journal;
mod lease;
mod lease_holder;
mod pending_releases;
mod prune;
mod read;
mod schema;
mod store;
mod threads;
mod write_rows;
mod writer_thread;

use crate::change_log::{self, HistoryCache, ValueEncoding};
use read::ReadConnections;
pub use store::SqliteStore;
use writer_thread::WriterHandle;

/// Durability of a commit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum Synchronous {
    /// Each commit is synced to disk: nothing is lost, even on power loss.
    #[default]
    Full,
    /// Nothing is lost if the process dies. On power loss, the last supersteps may be lost although they were
    /// reported as saved; the file stays consistent.
    Normal,
}

/// Settings of a file; see [`SqliteCheckpointer::options`].
#[derive(Debug, Clone)]
#[must_use]
pub struct SqliteOptions {
    synchronous: Synchronous,
    busy: Duration,
    lease_timeout: Duration,
    encoding: ValueEncoding,
}

impl Default for SqliteOptions {
    fn default() -> Self {
        let (busy, lease_timeout) = (Duration::from_secs(5), Duration::from_secs(15));
        Self { synchronous: Synchronous::Full, busy, lease_timeout, encoding: ValueEncoding::Compressed }
    }
}

impl SqliteOptions {
    /// Sets the durability of commits. Default: [`Synchronous::Full`].
    pub fn synchronous(mut self, synchronous: Synchronous) -> Self {
        self.synchronous = synchronous;
        self
    }

    /// Sets the time that a commit waits while another process writes. Default: 5 seconds.
    pub fn busy_timeout(mut self, busy: Duration) -> Self {
        self.busy = busy;
        self
    }

    /// Sets the time after which other processes may take over the threads of a live process that makes no progress,
    /// for example because it is suspended; all processes of a file should use the same value. Default: 15 seconds.
    /// The threads of a dead process can be taken over immediately.
    pub fn lease_timeout(mut self, lease_timeout: Duration) -> Self {
        self.lease_timeout = lease_timeout;
        self
    }

    /// Enables the compression of long values with zstd. Default: on. Compressed and uncompressed values are readable
    /// with either setting.
    pub fn compression(mut self, is_on: bool) -> Self {
        self.encoding = if is_on { ValueEncoding::Compressed } else { ValueEncoding::Plain };
        self
    }

    /// Opens a file and creates it if it does not exist; `":memory:"` exists as long as the checkpointer.
    ///
    /// # Errors
    /// Returns an error if the file cannot be opened, belongs to another program, or was written by a newer version.
    pub fn open(&self, path: impl AsRef<Path>) -> Result<SqliteCheckpointer> {
        let database = schema::DatabasePath::new(path.as_ref());
        database.check_disk()?;
        let writer = WriterHandle::start(database.clone(), self)?;
        let readers = ReadConnections::new(database, self.busy);
        Ok(SqliteCheckpointer(Arc::new(SqliteInner {
            readers,
            history_cache: HistoryCache::new(self.encoding),
            writer,
        })))
    }
}

/// A checkpointer in an SQLite file. Clones share one checkpointer.
///
/// Several processes of one machine may open one file: each thread has at most one lease holder at a time. If a
/// process dies, other processes can continue its threads.
///
/// ```
/// use superstep::prelude::*;
/// use superstep_adapters::sqlite::SqliteCheckpointer;
///
/// #[derive(GraphState, Clone, Serialize, Deserialize)]
/// struct Visits {
///     #[reduce(add)]
///     count: u64,
/// }
///
/// # let folder = std::env::temp_dir().join(format!("superstep-doc-{}", std::process::id()));
/// # std::fs::create_dir_all(&folder).unwrap();
/// # let path = folder.join("checkpoints.db");
/// let mut graph = StateGraph::<Visits>::new("visits");
/// let visit = graph.add_node("visit", || Visits::update().count(1_u64));
/// graph.add_edge(START, visit).add_edge(visit, END);
/// graph.checkpointer(SqliteCheckpointer::open(&path)?);
/// let visits = graph.compile()?;
///
/// visits.invoke(Visits::input().count(0_u64)).thread("visit-1").wait_blocking()?;
/// assert_eq!(visits.invoke(Visits::input().count(0_u64)).thread("visit-1").wait_blocking()?.state.count, 2);
/// # drop((graph, visits));
/// # std::fs::remove_dir_all(&folder).unwrap();
/// # Ok::<(), superstep::Error>(())
/// ```
#[derive(Clone)]
pub struct SqliteCheckpointer(Arc<SqliteInner>);

/// Readers are dropped first: the last connection to be closed cleans up the write-ahead log.
struct SqliteInner {
    readers: ReadConnections,
    history_cache: HistoryCache,
    writer: WriterHandle,
}

impl SqliteCheckpointer {
    /// Opens a file and creates it if it does not exist; `":memory:"` exists as long as the checkpointer.
    ///
    /// # Errors
    /// Returns an error if the file cannot be opened, belongs to another program, or was written by a newer version.
    pub fn open(path: impl AsRef<Path>) -> Result<Self> {
        SqliteOptions::default().open(path)
    }

    /// Returns settings that the caller can change before opening.
    pub fn options() -> SqliteOptions {
        SqliteOptions::default()
    }

    /// Returns the path of the file; `None` in memory.
    #[must_use]
    pub fn path(&self) -> Option<PathBuf> {
        self.0.writer.database().path().map(Path::to_owned)
    }

    /// Runs a read on a reader connection; in memory there is only one connection, the writer.
    async fn read<T: Send + 'static>(
        &self,
        operation: impl FnMut(&rusqlite::Connection) -> error::SqliteResult<T> + Send + 'static,
    ) -> Result<T> {
        match &self.0.readers {
            ReadConnections::Files(files) => files.with_connection(operation),
            ReadConnections::Writer => self.0.writer.perform(writer_thread::SyncMode::NoSync, operation).await,
        }
    }
}

/// Maximum history page size that is read on the thread of the caller, if its values are short.
const MAX_INLINE_PAGE: usize = 128;
/// Maximum total size of such values in bytes.
const MAX_INLINE_BYTES: u64 = 64 << 10;

/// Returns true if a query reads a few consecutive checkpoints. A query with filters may read all checkpoints.
fn is_page(query: &HistoryQuery) -> bool {
    let HistoryQuery { before: _, limit, source, step, run, metadata } = query;
    let has_no_filter = source.is_none() && step.is_none() && run.is_none() && metadata.is_empty();
    has_no_filter && limit.is_some_and(|limit| limit <= MAX_INLINE_PAGE)
}

impl SqliteCheckpointer {
    /// Runs a read like `read`, but without blocking the thread of the caller if the read takes long.
    async fn read_blocking<T: Send + 'static>(
        &self,
        mut operation: impl FnMut(&rusqlite::Connection) -> error::SqliteResult<T> + Send + 'static,
    ) -> Result<T> {
        let (ReadConnections::Files(_), Ok(runtime)) = (&self.0.readers, tokio::runtime::Handle::try_current()) else {
            return self.read(operation).await;
        };
        let store = self.clone();
        let result = runtime.spawn_blocking(move || match &store.0.readers {
            ReadConnections::Files(files) => files.with_connection(&mut operation),
            ReadConnections::Writer => Err(Error::internal("a file-based checkpointer has no reader connections")),
        });
        result.await.unwrap_or_else(|error| Err(Error::internal(format!("a blocking read failed: {error}"))))
    }
}

impl std::fmt::Debug for SqliteCheckpointer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("SqliteCheckpointer").field("path", &self.path()).finish()
    }
}

impl Checkpointer for SqliteCheckpointer {
    async fn acquire(&self, thread: &ThreadId, run: RunId) -> Result<Lease> {
        if !thread.is_valid() {
            return Err(change_log::invalid_thread_id(thread));
        }
        let acquired = self.0.writer.acquire(thread.clone(), run, self.0.history_cache.last_release(thread)).await?;
        Ok(self.0.history_cache.acquire(thread, acquired))
    }

    fn release(&self, lease: &Lease) {
        if let Some(row) = self.0.history_cache.release(lease) {
            self.0.writer.release(row, lease.fence);
        }
    }

    async fn commit(&self, commit: &Commit) -> Result<()> {
        change_log::save(self, commit).await.map_err(|error| error.with_thread(Some(&commit.lease.thread)))
    }

    async fn load(
        &self,
        thread: &ThreadId,
        namespace: &CheckpointNamespace,
        at: CheckpointSelector,
    ) -> Result<Option<CheckpointTuple>> {
        if self.0.history_cache.is_new(thread) {
            return Ok(None);
        }
        let (name, namespace) = (thread.clone(), namespace.clone());
        let loaded = self.read(move |connection| read::load(connection, &name, &namespace, at)).await;
        loaded.map_err(|error| error.with_thread(Some(thread)))
    }

    async fn history(
        &self,
        thread: &ThreadId,
        namespace: &CheckpointNamespace,
        query: &HistoryQuery,
    ) -> Result<Vec<CheckpointTuple>> {
        let (history_key, owned_query) = ((thread.clone(), namespace.clone()), query.clone());
        let list = move |connection: &rusqlite::Connection, max_bytes| {
            history::history(connection, (&history_key.0, &history_key.1), &owned_query, max_bytes)
        };
        let mut listed = Ok(None);
        if is_page(query) {
            let list = list.clone();
            listed = self.read(move |connection| list(connection, MAX_INLINE_BYTES)).await;
        }
        if matches!(listed, Ok(None)) {
            listed = self.read_blocking(move |connection| list(connection, u64::MAX)).await;
        }
        listed.map(Option::unwrap_or_default).map_err(|error| error.with_thread(Some(thread)))
    }

    async fn threads(&self, query: &ThreadsQuery) -> Result<Vec<ThreadId>> {
        let query = query.clone();
        self.read_blocking(move |connection| threads::threads(connection, &query)).await
    }

    async fn status(&self, thread: &ThreadId) -> Result<Option<ThreadStatus>> {
        let (name, monitor) = (thread.clone(), self.0.writer.monitor());
        self.read(move |connection| lease::status(connection, &name, &monitor)).await
    }

    async fn namespaces(&self, thread: &ThreadId) -> Result<Vec<CheckpointNamespace>> {
        let name = thread.clone();
        self.read_blocking(move |connection| read::namespaces(connection, &name)).await
    }

    async fn delete_thread(&self, thread: &ThreadId) -> Result<()> {
        let (name, monitor) = (thread.clone(), self.0.writer.monitor());
        let deleted = self.0.writer.perform(writer_thread::SyncMode::Sync, move |connection| {
            threads::delete_thread(connection, &name, &monitor)
        });
        deleted.await?;
        self.0.history_cache.remove(thread);
        Ok(())
    }

    async fn copy_thread(&self, from: &ThreadId, to: &ThreadId) -> Result<()> {
        if !to.is_valid() {
            return Err(change_log::invalid_thread_id(to));
        }
        let (from, to) = (from.clone(), to.clone());
        let copied = move |connection: &rusqlite::Connection| threads::copy_thread(connection, &from, &to);
        self.0.writer.perform(writer_thread::SyncMode::Sync, copied).await
    }

    async fn prune(&self, thread: &ThreadId, retention: &Retention) -> Result<PruneReport> {
        let (name, retention) = (thread.clone(), retention.clone());
        let pruned = move |connection: &rusqlite::Connection| prune::prune(connection, &name, &retention);
        self.0.writer.perform(writer_thread::SyncMode::Sync, pruned).await
    }

    async fn stats(&self) -> Result<CheckpointerStats> {
        self.read_blocking(threads::stats).await
    }

    async fn events(&self, thread: &ThreadId, query: &EventsQuery) -> Result<Vec<StoredEvent>> {
        let (name, query) = (thread.clone(), query.clone());
        let read = self.read_blocking(move |connection| journal::read(connection, &name, &query)).await;
        read.map_err(|error| error.with_thread(Some(thread)))
    }

    async fn last_event_number(&self, thread: &ThreadId) -> Result<u64> {
        let name = thread.clone();
        let last = move |connection: &rusqlite::Connection| journal::last(connection, &name);
        // A commit whose future was dropped may still be queued: the result must include it.
        match self.0.writer.is_idle() {
            true => self.read(last).await,
            false => self.0.writer.perform(writer_thread::SyncMode::NoSync, last).await,
        }
    }

    async fn delete_events(&self, thread: &ThreadId, up_to: u64) -> Result<()> {
        let name = thread.clone();
        let deleted = move |connection: &rusqlite::Connection| journal::delete_up_to(connection, &name, up_to);
        self.0.writer.perform(writer_thread::SyncMode::Sync, deleted).await
    }
}
