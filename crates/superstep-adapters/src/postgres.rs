//! Checkpoints in PostgreSQL: the store that many processes on many machines share.
//!
//! What is written is decided by the log of changes, which knows no SQL; all SQL of this store is in this folder. A commit
//! is one call of a function in the database (`functions.sql`), so it is one journey to the server. Connections live on
//! the runtime of whoever asks (`room`, `wire`); a thread of the store keeps the leases of this process alive (`keeper`). Nothing is left in a
//! session, so a pooler in transaction mode may stand in between. What goes wrong, and what helps, is in `trouble`.

use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;

use superstep_core::checkpoint::Namespace;
use superstep_core::error::{Code, Error, Result};
use superstep_core::id::{RunId, ThreadId};
use superstep_core::port::{
    At, Checkpointer, Commit, EventsQuery, HistoryQuery, Lease, Loaded, PruneReport, Retention, Stats, StoredEvent,
    ThreadStatus, ThreadsQuery,
};
use tokio::sync::mpsc::UnboundedReceiver;

mod add;
mod address;
mod commit;
mod connections;
mod events;
mod hints;
mod keeper;
mod lease;
mod migrate;
mod prune;
mod read;
mod room;
mod rows;
mod statements;
mod store;
#[cfg(feature = "postgres-tls")]
mod tls;
#[cfg(not(feature = "postgres-tls"))]
#[path = "postgres/plain.rs"]
mod tls;
mod trouble;
mod upkeep;
mod wire;

use crate::log::{self, Form};
use address::Address;
use commit::reader;
pub use connections::{Connections, Failure};
use keeper::{Keeper, Note};
use lease::Holder;
use room::Room;
pub use store::PostgresStore;

/// How a server is connected to; see [`Postgres::options`].
#[derive(Debug, Clone)]
#[must_use]
pub struct Options {
    schema: String,
    connections: usize,
    lapse: Duration,
    patience: Duration,
    form: Form,
}

impl Default for Options {
    fn default() -> Self {
        let (lapse, patience) = (Duration::from_secs(15), Duration::from_secs(30));
        Self { schema: "superstep".to_owned(), connections: 8, lapse, patience, form: Form::Squeezed }
    }
}

impl Options {
    /// The schema the tables are in, made when it is missing. `superstep` unless told.
    pub fn schema(mut self, schema: impl Into<String>) -> Self {
        self.schema = schema.into();
        self
    }

    /// The most connections that are open at once, beside one that keeps leases alive. 8 unless told. Each is used for
    /// one question at a time and never while a node runs, so few are enough for many runs.
    pub fn connections(mut self, connections: usize) -> Self {
        self.connections = connections;
        self
    }

    /// After how long without a sign of life others may take the threads of this process, by the clock of the server.
    /// 15 seconds unless told. Shorter means that work goes on sooner after a process died; longer, that one which
    /// cannot reach the server for a while keeps its threads. Whichever it is, no two ever write to one thread: what
    /// comes from a process whose thread was taken is refused.
    pub fn lapse_after(mut self, lapse: Duration) -> Self {
        self.lapse = lapse;
        self
    }

    /// How long a server that is away is waited for before a call fails. 30 seconds unless told.
    pub fn patience(mut self, patience: Duration) -> Self {
        self.patience = patience;
        self
    }

    /// Whether long values are written in fewer bytes (zstd). They are unless told; either is read whatever is told here.
    pub fn compression(mut self, is_on: bool) -> Self {
        self.form = if is_on { Form::Squeezed } else { Form::Plain };
        self
    }

    /// Connects to a server and makes the tables where they are missing.
    ///
    /// # Errors
    /// When the address cannot be read, when it asks for encryption (`sslmode=require`, `verify-ca`, `verify-full`) and the
    /// server has none or is not believed, when the server cannot be reached within [`Options::patience`] or refuses the
    /// user, and when the tables were made by a newer version. Encryption needs the feature `postgres-tls`.
    pub async fn connect(&self, url: &str) -> Result<Postgres> {
        let address = Address::new(url, self)?;
        let (notes, inbox) = tokio::sync::mpsc::unbounded_channel();
        let holder = Arc::new(Holder::new((self.lapse, self.form), notes)?);
        let (thread, room) = start(holder.clone(), inbox, (address, self.connections)).await?;
        let mut inner = Inner { room, holder, warnings: Vec::new(), thread: Some(thread) };
        inner.warnings = migrate::prepare(&inner.room).await?;
        Ok(Postgres(Arc::new(inner)))
    }
}

/// Starts the thread that keeps connections and leases.
async fn start(
    holder: Arc<Holder>,
    inbox: UnboundedReceiver<Note>,
    (address, connections): (Address, usize),
) -> Result<(JoinHandle<()>, Arc<Room>)> {
    let (told, begun) = tokio::sync::oneshot::channel();
    // The runtime is made and ends on its thread: one that ends in a task of another takes that down with it.
    let work = move || match tokio::runtime::Builder::new_current_thread().enable_all().build() {
        Ok(runtime) => {
            let room = Arc::new(Room::new(address, runtime.handle().clone(), connections));
            drop(told.send(Ok(room.clone())));
            runtime.block_on(Keeper::new(room, holder).keep(inbox));
        }
        Err(error) => drop(told.send(Err(error))),
    };
    let thread = std::thread::Builder::new().name("superstep-postgres".to_owned()).spawn(work);
    let thread = thread.map_err(|error| no_thread(&error))?;
    let room = begun.await.map_err(|_| Error::internal("the thread of a store ended at once"))?;
    Ok((thread, room.map_err(|error| no_thread(&error))?))
}

fn no_thread(error: &std::io::Error) -> Error {
    Error::new(Code::StoreUnavailable, format!("no thread for the store: {error}"))
}

/// A store in a PostgreSQL database. Clones are one and the same store.
///
/// Any number of processes may use one database: each thread is moved by one of them at a time, and what a process had
/// under way when it died is there for the next.
///
/// ```no_run
/// use superstep::prelude::*;
/// use superstep_adapters::postgres::Postgres;
///
/// #[derive(State, Clone, Serialize, Deserialize)]
/// struct Visits {
///     #[reduce(add)]
///     count: u64,
/// }
///
/// # async fn visit() -> superstep::Result<()> {
/// let mut graph = Graph::<Visits>::new("visits");
/// let visit = graph.node("visit", || Visits::update().count(1_u64));
/// graph.edge(START, visit).edge(visit, END);
/// graph.checkpointer(Postgres::connect("postgres://me:secret@localhost/work").await?);
/// let visits = graph.compile()?;
///
/// visits.run(Visits::input().count(0_u64)).thread("door").await?;
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct Postgres(Arc<Inner>);

struct Inner {
    room: Arc<Room>,
    holder: Arc<Holder>,
    warnings: Vec<String>,
    thread: Option<JoinHandle<()>>,
}

/// What is on its way is still done, as long as the server answers.
impl Drop for Inner {
    fn drop(&mut self) {
        self.holder.close();
        if let Some(thread) = self.thread.take() {
            // It only panics for a bug of ours, of which whoever waited was told.
            drop(thread.join());
        }
    }
}

impl Postgres {
    /// Connects to a server and makes the tables where they are missing, in the schema `superstep`.
    ///
    /// # Errors
    /// As [`Options::connect`].
    pub async fn connect(url: &str) -> Result<Self> {
        Options::default().connect(url).await
    }

    /// Connects in another way than the usual.
    pub fn options() -> Options {
        Options::default()
    }

    /// What the settings of the server take away from the promises of this store, as it was when it was connected to;
    /// empty when that is nothing.
    #[must_use]
    pub fn warnings(&self) -> &[String] {
        &self.0.warnings
    }

    fn room(&self) -> &Room {
        &self.0.room
    }
}

/// Without the password.
impl std::fmt::Debug for Postgres {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Postgres").field(&format_args!("{}", self.0.room.address)).finish()
    }
}

impl Checkpointer for Postgres {
    async fn acquire(&self, thread: &ThreadId, run: RunId) -> Result<Lease> {
        if !thread.is_valid() {
            return Err(log::invalid(thread));
        }
        let taken = lease::acquire(&self.0.room, &self.0.holder, thread, run).await;
        taken.map_err(|error| error.on_thread(Some(thread)))
    }

    fn release(&self, lease: &Lease) {
        self.0.holder.release(lease);
    }

    async fn commit(&self, commit: &Commit) -> Result<()> {
        log::save(self, commit).await.map_err(|error| error.on_thread(Some(&commit.lease.thread)))
    }

    async fn load(&self, thread: &ThreadId, namespace: &Namespace, at: At) -> Result<Option<Loaded>> {
        let (room, place) = (self.room(), &(thread.clone(), namespace.clone()));
        let loaded =
            room.read(|client, is_within| async move { reader(&client, room, is_within).load(place, at).await });
        loaded.await.map_err(|error| error.on_thread(Some(thread)))
    }

    async fn history(&self, thread: &ThreadId, namespace: &Namespace, query: &HistoryQuery) -> Result<Vec<Loaded>> {
        let (room, place) = (self.room(), &(thread.clone(), namespace.clone()));
        let listed =
            room.read(|client, is_within| async move { reader(&client, room, is_within).history(place, query).await });
        listed.await.map_err(|error| error.on_thread(Some(thread)))
    }

    async fn threads(&self, query: &ThreadsQuery) -> Result<Vec<ThreadId>> {
        upkeep::threads(self.room(), query).await.map_err(|trouble| trouble.into_error(&self.room().address))
    }

    async fn status(&self, thread: &ThreadId) -> Result<Option<ThreadStatus>> {
        let status = lease::status(self.room(), &self.0.holder, thread).await;
        status.map_err(|trouble| trouble.into_error(&self.room().address))
    }

    async fn namespaces(&self, thread: &ThreadId) -> Result<Vec<Namespace>> {
        let room = self.room();
        room.read(|client, is_within| async move { reader(&client, room, is_within).namespaces(thread).await }).await
    }

    async fn delete_thread(&self, thread: &ThreadId) -> Result<()> {
        let deleted = lease::delete_thread(self.room(), &self.0.holder, thread).await;
        deleted.map_err(|trouble| trouble.into_error(&self.room().address))?;
        self.0.holder.held.forget(thread);
        Ok(())
    }

    async fn copy_thread(&self, from: &ThreadId, to: &ThreadId) -> Result<()> {
        if !to.is_valid() {
            return Err(log::invalid(to));
        }
        let copied = upkeep::copy_thread(self.room(), from, to).await;
        copied.map_err(|trouble| trouble.into_error(&self.room().address))
    }

    async fn prune(&self, thread: &ThreadId, retention: &Retention) -> Result<PruneReport> {
        let pruned = prune::prune(self.room(), thread, retention).await;
        pruned.map_err(|trouble| trouble.into_error(&self.room().address))
    }

    async fn stats(&self) -> Result<Stats> {
        upkeep::stats(self.room()).await.map_err(|trouble| trouble.into_error(&self.room().address))
    }

    async fn events(&self, thread: &ThreadId, query: &EventsQuery) -> Result<Vec<StoredEvent>> {
        let read = events::read(self.room(), thread, query).await;
        read.map_err(|trouble| trouble.into_error(&self.room().address).on_thread(Some(thread)))
    }

    async fn last_event(&self, thread: &ThreadId) -> Result<u64> {
        events::last(self.room(), thread).await.map_err(|trouble| trouble.into_error(&self.room().address))
    }

    async fn forget_events(&self, thread: &ThreadId, up_to: u64) -> Result<()> {
        events::forget(self.room(), thread, up_to).await.map_err(|trouble| trouble.into_error(&self.room().address))
    }
}
