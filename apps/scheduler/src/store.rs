//! Calendar store: a file, or a database server that many processes share.
//!
//! Everything is read as a [`CalendarSnapshot`] and changed by [`CalendarStore::change`]: one transaction that locks
//! the family, so that the checked state is the written state. `write_plan` translates a change into statements and
//! `transaction` runs them; both are independent of the database. SQL is in `upserts`, `queries` and the modules of the
//! two databases.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use superstep::core::port::Clock;
use superstep::core::time::Time;
use superstep::settings::Secret;
use superstep::{Error, ErrorCode, Result, SystemClock};
use tokio::sync::OnceCell;

use crate::calendar::{CalendarChange, CalendarSnapshot, Family};
use crate::context::clock_time;
use crate::models::Conflict;
use crate::store::audit::AuditEntry;

pub mod audit;
mod expire_proposals;
mod idempotent_change;
mod integrity;
mod location;
mod migrations;
mod postgres;
mod queries;
mod sql_value;
mod sqlite;
mod transaction;
mod undo;
mod upserts;
mod write_plan;

pub use idempotent_change::IdempotentResult;
use location::Database;
pub use location::StoreLocation;
use queries::ResultSets;
use sql_value::SqlStatement;
use transaction::{ChangeJob, DecideFn, family_not_found};
pub use undo::UndoOutcome;
use write_plan::ChangeAuthor;

/// Function that finds all conflicts among the confirmed events of a calendar, from a point in time on.
pub type ConflictScanner = fn(&CalendarSnapshot, Time) -> Result<Vec<Conflict>>;

/// Options for opening a calendar store; see [`CalendarStore::options`].
#[derive(Clone)]
#[must_use]
pub struct StoreOptions {
    timeout: Duration,
    clock: Arc<dyn Clock>,
    scan: Option<ConflictScanner>,
    schema: String,
    initial_family: Option<Arc<CalendarSnapshot>>,
}

impl Default for StoreOptions {
    fn default() -> Self {
        let schema = "superstep_scheduler".to_owned();
        Self { timeout: Duration::from_secs(5), clock: Arc::new(SystemClock), scan: None, schema, initial_family: None }
    }
}

impl StoreOptions {
    /// Sets the longest wait for a locked or unreachable database before a call fails. Default: 5 seconds.
    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.timeout = timeout;
        self
    }

    /// Sets the clock of the audit log. Default: the system clock.
    pub fn clock(mut self, clock: impl Clock) -> Self {
        self.clock = Arc::new(clock);
        self
    }

    /// Sets the clock like [`StoreOptions::clock`].
    pub(crate) fn shared_clock(mut self, clock: Arc<dyn Clock>) -> Self {
        self.clock = clock;
        self
    }

    /// Sets the conflict scan that runs with every change of members, resources, constraints and events; its result is
    /// written in the same transaction. A change that contains [`CalendarChange::Conflicts`] is not scanned. Default:
    /// no scan.
    pub fn scan(mut self, scan: ConflictScanner) -> Self {
        self.scan = Some(scan);
        self
    }

    /// Sets the PostgreSQL schema of the tables, which is created if it is missing. Default: `superstep_scheduler`.
    pub fn schema(mut self, schema: impl Into<String>) -> Self {
        self.schema = schema.into();
        self
    }

    /// Sets a family that is created with all of its calendar when the store is opened, unless a family with its id
    /// exists.
    pub fn family(mut self, family: impl Into<Arc<CalendarSnapshot>>) -> Self {
        self.initial_family = Some(family.into());
        self
    }

    /// Creates a store that opens its database on first use; until then nothing is read or created. A failed
    /// opening is retried by the next call.
    #[must_use]
    pub fn open_lazy(self, location: StoreLocation) -> CalendarStore {
        let (database, snapshots) = (OnceCell::new(), Mutex::default());
        CalendarStore(Arc::new(Inner { location, database, snapshots, options: self }), AccessMode::ReadWrite)
    }

    /// Opens an SQLite file, and creates it if it is missing.
    ///
    /// # Errors
    /// Returns an error if the file cannot be opened or written, or belongs to a newer version or another program.
    pub async fn open_sqlite(self, path: impl AsRef<Path>) -> Result<CalendarStore> {
        self.open(StoreLocation::Sqlite(path.as_ref().to_owned())).await
    }

    /// Opens an in-memory store, which is dropped with its last clone.
    ///
    /// # Errors
    /// Returns an error if the in-memory database cannot be opened.
    pub async fn open_sqlite_in_memory(self) -> Result<CalendarStore> {
        self.open(StoreLocation::Memory).await
    }

    /// Connects to a PostgreSQL server, with a URL as for the checkpointer. The store can be used on the current
    /// tokio runtime only.
    ///
    /// # Errors
    /// Returns an error if the URL is invalid, the server cannot be reached or rejects the user, or the tables
    /// belong to a newer version or another program.
    pub async fn open_postgres(self, url: &str) -> Result<CalendarStore> {
        self.open(StoreLocation::Postgres(Secret::new(url))).await
    }

    async fn open(self, location: StoreLocation) -> Result<CalendarStore> {
        let calendars = self.open_lazy(location);
        calendars.database().await?;
        Ok(calendars)
    }
}

/// A store with the calendars of all families. Clones share the database and the cache.
#[derive(Clone)]
pub struct CalendarStore(Arc<Inner>, AccessMode);

/// Access mode of a store handle.
#[derive(Clone, Copy, PartialEq, Eq)]
enum AccessMode {
    ReadWrite,
    ReadOnly,
}

struct Inner {
    location: StoreLocation,
    /// The database, after first use.
    database: OnceCell<Database>,
    /// Cached calendar snapshot of each family.
    snapshots: Mutex<BTreeMap<String, Arc<CalendarSnapshot>>>,
    options: StoreOptions,
}

/// Result of a change.
#[derive(Debug, Clone, PartialEq)]
pub struct ChangeResult {
    /// Calendar snapshot after the change.
    pub snapshot: Arc<CalendarSnapshot>,
    /// Written changes; empty if the calendar was already in this state.
    pub changes: Vec<CalendarChange>,
}

impl CalendarStore {
    /// Returns options to open a store with other than the default settings.
    pub fn options() -> StoreOptions {
        StoreOptions::default()
    }

    /// Opens an SQLite file, and creates it if it is missing.
    ///
    /// # Errors
    /// As [`StoreOptions::open_sqlite`].
    pub async fn open_sqlite(path: impl AsRef<Path>) -> Result<Self> {
        StoreOptions::default().open_sqlite(path).await
    }

    /// Opens an in-memory store, which is dropped with its last clone.
    ///
    /// # Errors
    /// As [`StoreOptions::open_sqlite_in_memory`].
    pub async fn open_sqlite_in_memory() -> Result<Self> {
        StoreOptions::default().open_sqlite_in_memory().await
    }

    /// Connects to a PostgreSQL server.
    ///
    /// # Errors
    /// As [`StoreOptions::open_postgres`].
    pub async fn open_postgres(url: &str) -> Result<Self> {
        StoreOptions::default().open_postgres(url).await
    }

    /// Returns a read-only handle of the same store: every change fails with `PolicyRefused`.
    #[must_use]
    pub fn read_only(&self) -> Self {
        Self(self.0.clone(), AccessMode::ReadOnly)
    }

    /// Lists all families, ordered by id.
    ///
    /// # Errors
    /// `StoreUnavailable` if the database is locked or unreachable for longer than [`StoreOptions::timeout`].
    pub async fn families(&self) -> Result<Vec<Family>> {
        queries::to_families(self.query(vec![queries::families()]).await?)
    }

    /// Creates a family with initial records.
    ///
    /// # Errors
    /// `InputInvalid` if a family with this id exists; otherwise as [`CalendarStore::change`].
    pub async fn create_family(&self, actor: &str, family: Family, first: Vec<CalendarChange>) -> Result<ChangeResult> {
        self.run(self.creation(actor, family, first)?).await
    }

    fn creation(&self, actor: &str, family: Family, first: Vec<CalendarChange>) -> Result<ChangeJob> {
        let (id, creation) = (family.id.clone(), Some(family.clone()));
        let decide = move |snapshot: &CalendarSnapshot, _: &[AuditEntry]| {
            if snapshot.revision > 0 {
                let message = format!("family `{}` already exists", snapshot.family.id);
                return Err(Error::new(ErrorCode::InputInvalid, message));
            }
            let changes: Vec<CalendarChange> = std::iter::once(CalendarChange::Family(family)).chain(first).collect();
            Ok(changes.into())
        };
        let job = self.change_job(&id, (actor, "create_family"), Box::new(decide))?;
        Ok(ChangeJob { creation, ..job })
    }

    /// Reads the current calendar snapshot of a family. If the cached snapshot is current, only the revision is
    /// read.
    ///
    /// # Errors
    /// `NotFound` if there is no such family; `StoreUnavailable` if the database is locked or unreachable for
    /// longer than [`StoreOptions::timeout`].
    pub async fn snapshot(&self, family: &str) -> Result<Arc<CalendarSnapshot>> {
        let revision = queries::to_revision(self.query(vec![queries::revision(family)]).await?)?;
        let revision = revision.ok_or_else(|| family_not_found(family))?;
        if let Some(snapshot) = self.snapshots().get(family).filter(|snapshot| snapshot.revision == revision) {
            return Ok(snapshot.clone());
        }
        let snapshot = queries::to_snapshot(self.query(queries::select_snapshot(family)).await?)?;
        let snapshot = Arc::new(snapshot.ok_or_else(|| family_not_found(family))?);
        self.cache_snapshot(&snapshot);
        Ok(snapshot)
    }

    /// Changes the calendar of a family in one transaction. `decide` receives the calendar while the family is
    /// locked, and returns the changes. Either all of them are written, with an audit entry, or none.
    ///
    /// # Errors
    /// The error of `decide`; `NotFound` if there is no such family; `TypeMismatch` if an event references a
    /// missing record; `StoreUnavailable` if the database is locked or unreachable for longer than
    /// [`StoreOptions::timeout`].
    ///
    /// # Cancel safety
    /// If the future is dropped, the changes are written completely or not at all.
    pub async fn change(
        &self,
        family: &str,
        actor: &str,
        action: &str,
        decide: impl FnOnce(&CalendarSnapshot) -> Result<Vec<CalendarChange>> + Send + 'static,
    ) -> Result<ChangeResult> {
        let decide = Box::new(move |snapshot: &CalendarSnapshot, _: &[AuditEntry]| decide(snapshot).map(Into::into));
        self.run(self.change_job(family, (actor, action), decide)?).await
    }

    /// Returns the last audit entries, newest first.
    ///
    /// # Errors
    /// `NotFound` if there is no such family; `StoreUnavailable` as for [`CalendarStore::snapshot`].
    pub async fn audit(&self, family: &str, limit: u32) -> Result<Vec<AuditEntry>> {
        let mut results = self.query(vec![queries::revision(family), queries::entries(family, limit)]).await?;
        let entries = results.split_off(1);
        queries::to_revision(results)?.ok_or_else(|| family_not_found(family))?;
        queries::to_entries(entries)
    }

    /// Returns a change job that has not started.
    fn change_job(&self, family: &str, (actor, action): (&str, &str), decide: DecideFn) -> Result<ChangeJob> {
        let author = ChangeAuthor { actor: actor.to_owned(), action: action.to_owned(), at: self.now()?, task: None };
        Ok(ChangeJob {
            family: family.to_owned(),
            creation: None,
            author,
            since: None,
            scan: self.0.options.scan,
            last_seen_snapshot: self.snapshots().get(family).cloned(),
            decide: Some(decide),
            decided: None,
            planned: None,
        })
    }

    async fn run(&self, job: ChangeJob) -> Result<ChangeResult> {
        if self.1 == AccessMode::ReadOnly {
            return Err(Error::new(ErrorCode::PolicyRefused, "queries cannot modify the calendar"));
        }
        let changed = self.database().await?.change(job).await?;
        self.cache_snapshot(&changed.snapshot);
        Ok(changed)
    }

    async fn query(&self, statements: Vec<SqlStatement>) -> Result<ResultSets> {
        self.database().await?.query(statements).await
    }

    async fn database(&self) -> Result<&Database> {
        self.0.database.get_or_try_init(|| Box::pin(self.open_database())).await
    }

    /// Opens the database, and creates the initial family if it is missing.
    async fn open_database(&self) -> Result<Database> {
        let Inner { location, options, .. } = &*self.0;
        let database = Database::open(location, options).await?;
        let Some(initial) = &options.initial_family else { return Ok(database) };
        let exists =
            queries::to_revision(database.query(vec![queries::revision(&initial.family.id)]).await?)?.is_some();
        if !exists {
            let job = self.creation("superstep", (*initial.family).clone(), initial.to_changes())?;
            match database.change(job).await {
                // Another process has created the family.
                Err(error) if error.code() == ErrorCode::InputInvalid => {}
                created => drop(created?),
            }
        }
        Ok(database)
    }

    fn now(&self) -> Result<Time> {
        clock_time(self.0.options.clock.now())
    }

    fn snapshots(&self) -> MutexGuard<'_, BTreeMap<String, Arc<CalendarSnapshot>>> {
        self.0.snapshots.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Caches a snapshot, even one that is older than the cached one: after a restore from a backup the older
    /// revision is current, and an outdated snapshot is only read again.
    fn cache_snapshot(&self, snapshot: &Arc<CalendarSnapshot>) {
        self.snapshots().insert(snapshot.family.id.clone(), snapshot.clone());
    }
}

/// Omits the location, because it can contain the password of a server.
impl std::fmt::Debug for CalendarStore {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let backend = match &self.0.location {
            StoreLocation::Memory | StoreLocation::Sqlite(_) => "Sqlite",
            StoreLocation::Postgres(_) => "Postgres",
        };
        f.debug_tuple("CalendarStore").field(&format_args!("{backend}")).finish()
    }
}
