//! A checkpointer in PostgreSQL, for many processes on many machines.
//!
//! The rows to write are determined by the change log (`crate::change_log`), which contains no SQL; all SQL of this
//! checkpointer is in this folder. A commit is one call of a database function (`functions.sql`), so it needs one round
//! trip. Connections run on the runtime of the caller (`pool`, `connection`); a dedicated thread sends the heartbeats
//! of this process (`lease_heartbeat`). No session state is used, so a connection pooler in transaction mode may be in
//! between. Errors and retries are in `error`.

use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;

use superstep_core::checkpoint::CheckpointNamespace;
use superstep_core::error::{Error, ErrorCode, Result};
use superstep_core::id::{RunId, ThreadId};
use superstep_core::port::{
    CheckpointSelector, CheckpointTuple, Checkpointer, CheckpointerStats, Commit, EventsQuery, HistoryQuery, Lease,
    PruneReport, Retention, StoredEvent, ThreadStatus, ThreadsQuery,
};
use tokio::sync::mpsc::UnboundedReceiver;

mod app_connections;
mod append;
mod commit;
mod config;
mod connection;
mod error;
mod journal;
mod lease;
mod lease_heartbeat;
mod pool;
mod prune;
mod read;
mod read_hints;
mod rows;
mod schema;
mod statements;
mod store;
mod threads;
#[cfg(feature = "postgres-tls")]
mod tls;
#[cfg(not(feature = "postgres-tls"))]
#[path = "postgres/no_tls.rs"]
mod tls;

use crate::change_log::{self, ValueEncoding};
pub use app_connections::{AppConnections, QueryError};
use commit::reader;
use config::PgConfig;
use lease::LeaseHolder;
use lease_heartbeat::{LeaseCommand, LeaseHeartbeat};
use pool::ConnectionPool;
pub use store::PostgresStore;

/// Connection settings; see [`PostgresCheckpointer::options`].
#[derive(Debug, Clone)]
#[must_use]
pub struct PostgresOptions {
    schema: String,
    max_connections: usize,
    lease_timeout: Duration,
    retry_timeout: Duration,
    encoding: ValueEncoding,
}

impl Default for PostgresOptions {
    fn default() -> Self {
        let (lease_timeout, retry_timeout) = (Duration::from_secs(15), Duration::from_secs(30));
        Self {
            schema: "superstep".to_owned(),
            max_connections: 8,
            lease_timeout,
            retry_timeout,
            encoding: ValueEncoding::Compressed,
        }
    }
}

impl PostgresOptions {
    /// Sets the schema of the tables, which is created if it does not exist. Default: `superstep`.
    pub fn schema(mut self, schema: impl Into<String>) -> Self {
        self.schema = schema.into();
        self
    }

    /// Sets the maximum number of open connections, in addition to one for heartbeats. Default: 8. A connection is
    /// used for one request at a time and never while a node runs, so a few connections serve many runs.
    pub fn max_connections(mut self, connections: usize) -> Self {
        self.max_connections = connections;
        self
    }

    /// Sets the time without a heartbeat, by the clock of the server, after which other processes may take over the
    /// threads of this process. Default: 15 seconds. With a shorter time, the work of a crashed process continues
    /// sooner; with a longer one, a process that cannot reach the server for a while keeps its threads. Two processes
    /// never write to one thread with any setting: writes with an outdated lease are rejected.
    pub fn lease_timeout(mut self, lease_timeout: Duration) -> Self {
        self.lease_timeout = lease_timeout;
        self
    }

    /// Sets the time after which a call fails if the server is unreachable. Default: 30 seconds.
    pub fn retry_timeout(mut self, retry_timeout: Duration) -> Self {
        self.retry_timeout = retry_timeout;
        self
    }

    /// Enables the compression of long values with zstd. Default: on. Compressed and uncompressed values are readable
    /// with either setting.
    pub fn compression(mut self, is_on: bool) -> Self {
        self.encoding = if is_on { ValueEncoding::Compressed } else { ValueEncoding::Plain };
        self
    }

    /// Connects to a server and creates missing tables.
    ///
    /// # Errors
    /// Returns an error if the URL is invalid, if it requires TLS (`sslmode=require`, `verify-ca`, `verify-full`) and
    /// the server has none or its certificate is not trusted, if the server cannot be reached within
    /// [`PostgresOptions::retry_timeout`] or rejects the user, or if the tables were created by a newer version. TLS
    /// requires the feature `postgres-tls`.
    pub async fn connect(&self, url: &str) -> Result<PostgresCheckpointer> {
        let address = PgConfig::new(url, self)?;
        let (commands, inbox) = tokio::sync::mpsc::unbounded_channel();
        let holder = Arc::new(LeaseHolder::new((self.lease_timeout, self.encoding), commands)?);
        let (thread, pool) = start(holder.clone(), inbox, (address, self.max_connections)).await?;
        let mut inner = PostgresInner { pool, holder, warnings: Vec::new(), thread: Some(thread) };
        inner.warnings = schema::prepare(&inner.pool).await?;
        Ok(PostgresCheckpointer(Arc::new(inner)))
    }
}

/// Starts the background thread for connections and heartbeats.
async fn start(
    holder: Arc<LeaseHolder>,
    inbox: UnboundedReceiver<LeaseCommand>,
    (address, connections): (PgConfig, usize),
) -> Result<(JoinHandle<()>, Arc<ConnectionPool>)> {
    let (sender, started) = tokio::sync::oneshot::channel();
    // The runtime is created and dropped on its own thread: dropping a runtime inside a task of another runtime
    // panics.
    let work = move || match tokio::runtime::Builder::new_current_thread().enable_all().build() {
        Ok(runtime) => {
            let pool = Arc::new(ConnectionPool::new(address, runtime.handle().clone(), connections));
            drop(sender.send(Ok(pool.clone())));
            runtime.block_on(LeaseHeartbeat::new(pool, holder).run(inbox));
        }
        Err(error) => drop(sender.send(Err(error))),
    };
    let thread = std::thread::Builder::new().name("superstep-postgres".to_owned()).spawn(work);
    let thread = thread.map_err(|error| thread_start_error(&error))?;
    let pool = started
        .await
        .map_err(|_| Error::internal("the background OS thread of the PostgreSQL checkpointer ended unexpectedly"))?;
    Ok((thread, pool.map_err(|error| thread_start_error(&error))?))
}

fn thread_start_error(error: &std::io::Error) -> Error {
    Error::new(
        ErrorCode::StoreUnavailable,
        format!("failed to start the background OS thread of the PostgreSQL checkpointer: {error}"),
    )
}

/// A checkpointer in a PostgreSQL database. Clones share one checkpointer.
///
/// Any number of processes may use one database: each thread has at most one lease holder at a time. If a process
/// dies, other processes can continue its threads.
///
/// ```no_run
/// use superstep::prelude::*;
/// use superstep_adapters::postgres::PostgresCheckpointer;
///
/// #[derive(GraphState, Clone, Serialize, Deserialize)]
/// struct Visits {
///     #[reduce(add)]
///     count: u64,
/// }
///
/// # async fn visit() -> superstep::Result<()> {
/// let mut graph = StateGraph::<Visits>::new("visits");
/// let visit = graph.add_node("visit", || Visits::update().count(1_u64));
/// graph.add_edge(START, visit).add_edge(visit, END);
/// graph.checkpointer(PostgresCheckpointer::connect("postgres://me:secret@localhost/work").await?);
/// let visits = graph.compile()?;
///
/// visits.invoke(Visits::input().count(0_u64)).thread("visit-1").await?;
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct PostgresCheckpointer(Arc<PostgresInner>);

struct PostgresInner {
    pool: Arc<ConnectionPool>,
    holder: Arc<LeaseHolder>,
    warnings: Vec<String>,
    thread: Option<JoinHandle<()>>,
}

/// Finishes writes that have started, as long as the server responds.
impl Drop for PostgresInner {
    fn drop(&mut self) {
        self.holder.close();
        if let Some(thread) = self.thread.take() {
            // The thread panics only because of a bug; the waiting caller has received an error.
            drop(thread.join());
        }
    }
}

impl PostgresCheckpointer {
    /// Connects to a server and creates missing tables, in the schema `superstep`.
    ///
    /// # Errors
    /// Returns the errors of [`PostgresOptions::connect`].
    pub async fn connect(url: &str) -> Result<Self> {
        PostgresOptions::default().connect(url).await
    }

    /// Returns connection settings that the caller can change before connecting.
    pub fn options() -> PostgresOptions {
        PostgresOptions::default()
    }

    /// Returns a warning for each server setting that weakens the guarantees of the checkpointer, as read when
    /// connecting; empty if there is none.
    #[must_use]
    pub fn warnings(&self) -> &[String] {
        &self.0.warnings
    }

    fn pool(&self) -> &ConnectionPool {
        &self.0.pool
    }
}

/// Hides the password.
impl std::fmt::Debug for PostgresCheckpointer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("PostgresCheckpointer").field(&format_args!("{}", self.0.pool.address)).finish()
    }
}

impl Checkpointer for PostgresCheckpointer {
    async fn acquire(&self, thread: &ThreadId, run: RunId) -> Result<Lease> {
        if !thread.is_valid() {
            return Err(change_log::invalid_thread_id(thread));
        }
        let acquired = lease::acquire(&self.0.pool, &self.0.holder, thread, run).await;
        acquired.map_err(|error| error.with_thread(Some(thread)))
    }

    fn release(&self, lease: &Lease) {
        self.0.holder.release(lease);
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
        let (pool, key) = (self.pool(), &(thread.clone(), namespace.clone()));
        let loaded = pool
            .read(|client, in_transaction| async move { reader(&client, pool, in_transaction).load(key, at).await });
        loaded.await.map_err(|error| error.with_thread(Some(thread)))
    }

    async fn history(
        &self,
        thread: &ThreadId,
        namespace: &CheckpointNamespace,
        query: &HistoryQuery,
    ) -> Result<Vec<CheckpointTuple>> {
        let (pool, key) = (self.pool(), &(thread.clone(), namespace.clone()));
        let listed = pool.read(|client, in_transaction| async move {
            reader(&client, pool, in_transaction).history(key, query).await
        });
        listed.await.map_err(|error| error.with_thread(Some(thread)))
    }

    async fn threads(&self, query: &ThreadsQuery) -> Result<Vec<ThreadId>> {
        threads::threads(self.pool(), query).await.map_err(|error| error.into_error(&self.pool().address))
    }

    async fn status(&self, thread: &ThreadId) -> Result<Option<ThreadStatus>> {
        let status = lease::status(self.pool(), &self.0.holder, thread).await;
        status.map_err(|error| error.into_error(&self.pool().address))
    }

    async fn namespaces(&self, thread: &ThreadId) -> Result<Vec<CheckpointNamespace>> {
        let pool = self.pool();
        pool.read(
            |client, in_transaction| async move { reader(&client, pool, in_transaction).namespaces(thread).await },
        )
        .await
    }

    async fn delete_thread(&self, thread: &ThreadId) -> Result<()> {
        let deleted = lease::delete_thread(self.pool(), &self.0.holder, thread).await;
        deleted.map_err(|error| error.into_error(&self.pool().address))?;
        self.0.holder.history_cache.remove(thread);
        Ok(())
    }

    async fn copy_thread(&self, from: &ThreadId, to: &ThreadId) -> Result<()> {
        if !to.is_valid() {
            return Err(change_log::invalid_thread_id(to));
        }
        let copied = threads::copy_thread(self.pool(), from, to).await;
        copied.map_err(|error| error.into_error(&self.pool().address))
    }

    async fn prune(&self, thread: &ThreadId, retention: &Retention) -> Result<PruneReport> {
        let pruned = prune::prune(self.pool(), thread, retention).await;
        pruned.map_err(|error| error.into_error(&self.pool().address))
    }

    async fn stats(&self) -> Result<CheckpointerStats> {
        threads::stats(self.pool()).await.map_err(|error| error.into_error(&self.pool().address))
    }

    async fn events(&self, thread: &ThreadId, query: &EventsQuery) -> Result<Vec<StoredEvent>> {
        let read = journal::read(self.pool(), thread, query).await;
        read.map_err(|error| error.into_error(&self.pool().address).with_thread(Some(thread)))
    }

    async fn last_event_number(&self, thread: &ThreadId) -> Result<u64> {
        journal::last(self.pool(), thread).await.map_err(|error| error.into_error(&self.pool().address))
    }

    async fn delete_events(&self, thread: &ThreadId, up_to: u64) -> Result<()> {
        journal::delete_up_to(self.pool(), thread, up_to).await.map_err(|error| error.into_error(&self.pool().address))
    }
}
