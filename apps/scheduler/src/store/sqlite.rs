//! Calendar store in an SQLite file or in memory.
//!
//! One connection writes and one reads, both on the blocking thread pool of tokio. A file that another process has
//! locked is retried with backoff. After a failure such as an I/O error the connection is reopened, because it is
//! unknown which writes the operating system kept.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use rusqlite::types::{ToSql, ToSqlOutput, ValueRef};
use rusqlite::{Connection, ErrorCode as SqliteErrorCode, OpenFlags, params_from_iter};
use superstep::{Error, ErrorCode, Result};
use tokio::runtime::Handle;
use tokio::sync::Mutex;

use super::ChangeResult;
use super::migrations;
use super::queries::ResultSets;
use super::sql_value::{RowReader, SqlStatement, SqlValue, corrupt_row};
use super::transaction::{self, ChangeJob, DatabaseSession, TransactionMode};

/// Busy timeout of one attempt.
const BUSY_TIMEOUT: Duration = Duration::from_millis(200);
/// First and longest delay between two attempts.
const RETRY_DELAYS: (Duration, Duration) = (Duration::from_millis(10), Duration::from_millis(500));

/// An SQLite database.
pub(super) struct SqliteDatabase {
    database_path: DatabasePath,
    writer: ConnectionSlot,
    reader: ConnectionSlot,
    timeout: Duration,
}

/// A connection, `None` until it is opened.
type ConnectionSlot = Arc<Mutex<Option<Connection>>>;

impl SqliteDatabase {
    /// Opens a file, or a database in memory.
    pub(super) async fn open(path: Option<&Path>, timeout: Duration) -> Result<Self> {
        let database_path = DatabasePath(path.map(Path::to_owned));
        let writer = ConnectionSlot::default();
        // An in-memory database is visible to its own connection only.
        let reader = if path.is_some() { ConnectionSlot::default() } else { writer.clone() };
        let opened = Self { database_path: database_path.clone(), writer, reader, timeout };
        let shared_path = database_path.clone();
        opened
            .with_connection(&opened.writer, move |connection| {
                shared_path.create_folder()?;
                if connection.is_none() {
                    *connection = Some(shared_path.connect(OpenFlags::SQLITE_OPEN_CREATE)?);
                }
                let session = &mut SqliteSession::new(connection, &shared_path)?;
                block_on(migrations::migrate(session, migrations::SQLITE, &shared_path.name()))
            })
            .await?;
        Ok(opened)
    }

    pub(super) async fn change(&self, mut job: ChangeJob) -> Result<ChangeResult> {
        let database_path = self.database_path.clone();
        let task = move |connection: &mut Option<Connection>| {
            block_on(transaction::change(&mut SqliteSession::new(connection, &database_path)?, &mut job))
        };
        self.with_connection(&self.writer, task).await
    }

    pub(super) async fn query(&self, statements: Vec<SqlStatement>) -> Result<ResultSets> {
        let database_path = self.database_path.clone();
        let task = move |connection: &mut Option<Connection>| {
            let open = SqliteSession::new(connection, &database_path)?;
            open.run("BEGIN")?;
            let answers = statements.iter().map(|statement| open.rows(statement)).collect();
            open.run("ROLLBACK")?;
            answers
        };
        self.with_connection(&self.reader, task).await
    }

    /// Runs a task with a connection, and retries while the file is locked and the timeout has not passed.
    async fn with_connection<T: Send + 'static>(
        &self,
        slot: &ConnectionSlot,
        mut task: impl FnMut(&mut Option<Connection>) -> Result<T, SqliteFailure> + Send + 'static,
    ) -> Result<T> {
        let (started, mut delay) = (Instant::now(), RETRY_DELAYS.0);
        loop {
            let (mut slot, database_path) = (slot.clone().lock_owned().await, self.database_path.clone());
            let attempt = tokio::task::spawn_blocking(move || {
                let answer = task(&mut slot);
                if matches!(&answer, Err(SqliteFailure::Database(error)) if database_path.poisons_connection(error)) {
                    *slot = None;
                }
                (answer, task)
            });
            let (answer, returned_task) =
                attempt.await.map_err(|error| Error::internal(format!("a change failed: {error}")))?;
            task = returned_task;
            match answer {
                Ok(answer) => return Ok(answer),
                Err(SqliteFailure::Database(error)) if is_transient(&error) && started.elapsed() < self.timeout => {
                    tokio::time::sleep(delay).await;
                    delay = (delay * 2).min(RETRY_DELAYS.1);
                }
                Err(failure) => return Err(failure.into_error(&self.database_path.name())),
            }
        }
    }
}

/// Runs a future that never waits, on a blocking thread.
fn block_on<F: Future>(future: F) -> F::Output {
    Handle::current().block_on(future)
}

/// Path of the database file; `None` in memory.
#[derive(Clone)]
struct DatabasePath(Option<PathBuf>);

impl DatabasePath {
    fn name(&self) -> String {
        self.0.as_ref().map_or_else(|| "the calendar in memory".to_owned(), |path| format!("`{}`", path.display()))
    }

    /// Creates the folder of the file.
    fn create_folder(&self) -> Result<(), SqliteFailure> {
        let Some(folder) = self.0.as_deref().and_then(Path::parent) else { return Ok(()) };
        std::fs::create_dir_all(folder).map_err(|error| {
            let message = format!("cannot create the folder of {}: {error}", self.name());
            SqliteFailure::Rejected(Error::new(ErrorCode::StoreUnavailable, message).with_retryable(false))
        })
    }

    fn connect(&self, extra_flags: OpenFlags) -> Result<Connection, SqliteFailure> {
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX | extra_flags;
        let connection = match &self.0 {
            Some(path) => Connection::open_with_flags(path, flags)?,
            None => Connection::open_in_memory()?,
        };
        connection.busy_timeout(BUSY_TIMEOUT)?;
        connection.set_prepared_statement_cache_capacity(64);
        if self.0.is_some() {
            connection.pragma_update(None, "journal_mode", "WAL")?;
        }
        connection.pragma_update(None, "synchronous", "FULL")?;
        connection.pragma_update(None, "foreign_keys", true)?;
        Ok(connection)
    }

    /// Returns true if the file was removed. Writes to a removed file would be lost with the process.
    fn is_removed(&self) -> bool {
        self.0.as_ref().is_some_and(|path| !path.exists())
    }

    fn poisons_connection(&self, error: &rusqlite::Error) -> bool {
        use SqliteErrorCode::{
            CannotOpen, DatabaseCorrupt, FileLockingProtocolFailed, NotADatabase, ReadOnly, SystemIoFailure,
        };
        let is_fatal = matches!(
            error.sqlite_error_code(),
            Some(SystemIoFailure | DatabaseCorrupt | NotADatabase | CannotOpen | ReadOnly | FileLockingProtocolFailed)
        );
        is_fatal && self.0.is_some()
    }
}

/// A connection in use.
struct SqliteSession<'a>(&'a mut Connection);

impl<'a> SqliteSession<'a> {
    fn new(connection: &'a mut Option<Connection>, database_path: &DatabasePath) -> Result<Self, SqliteFailure> {
        if database_path.is_removed() {
            *connection = None;
        }
        if connection.is_none() {
            // Does not create a file: if the file was removed, an empty one would look like a store without
            // families.
            *connection = Some(database_path.connect(OpenFlags::empty())?);
        }
        connection.as_mut().map(Self).ok_or_else(|| Error::internal("the connection is closed").into())
    }

    fn rows(&self, statement: &SqlStatement) -> Result<Vec<RowReader>, SqliteFailure> {
        let mut prepared = self.0.prepare_cached(&statement.sql)?;
        let columns = prepared.column_count();
        let mut rows = prepared.query(params_from_iter(&statement.cells))?;
        let mut result_rows = Vec::new();
        while let Some(row) = rows.next()? {
            let cells = (0..columns).map(|column| cell(row.get_ref(column)?)).collect::<Result<_, SqliteFailure>>()?;
            result_rows.push(RowReader::new(cells));
        }
        Ok(result_rows)
    }

    fn run(&self, sql: &str) -> Result<(), SqliteFailure> {
        Ok(self.0.execute_batch(sql)?)
    }
}

impl DatabaseSession for SqliteSession<'_> {
    type Failure = SqliteFailure;

    /// Empty, because `BEGIN IMMEDIATE` locks the whole file.
    const LOCK: &'static str = "";

    fn tables(&self) -> SqlStatement {
        SqlStatement::new("SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%'", [])
    }

    async fn begin(&mut self, _: TransactionMode) -> Result<(), SqliteFailure> {
        // A task that panicked may have left its transaction open.
        self.rollback().await;
        self.run("BEGIN IMMEDIATE")
    }

    async fn execute(&mut self, statements: Vec<SqlStatement>) -> Result<ResultSets, SqliteFailure> {
        statements.iter().map(|statement| self.rows(statement)).collect()
    }

    async fn script(&mut self, sql: &str) -> Result<(), SqliteFailure> {
        self.run(sql)
    }

    async fn commit(&mut self) -> Result<(), SqliteFailure> {
        self.run("COMMIT")
    }

    async fn rollback(&mut self) {
        if !self.0.is_autocommit() {
            // A transaction that cannot be rolled back ends with the connection.
            let _ = self.run("ROLLBACK");
        }
    }
}

impl ToSql for SqlValue {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        let value = match self {
            Self::Text(Some(text)) => ValueRef::Text(text.as_bytes()),
            Self::Number(Some(number)) => ValueRef::Integer(*number),
            Self::Text(None) | Self::Number(None) => ValueRef::Null,
            Self::Flag(flag) => ValueRef::Integer((*flag).into()),
        };
        Ok(ToSqlOutput::Borrowed(value))
    }
}

fn cell(value: ValueRef<'_>) -> Result<SqlValue, SqliteFailure> {
    match value {
        ValueRef::Null => Ok(SqlValue::Text(None)),
        ValueRef::Integer(number) => Ok(SqlValue::Number(Some(number))),
        ValueRef::Text(text) => match std::str::from_utf8(text) {
            Ok(text) => Ok(text.into()),
            Err(error) => Err(corrupt_row(error).into()),
        },
        ValueRef::Real(_) | ValueRef::Blob(_) => Err(corrupt_row("a value of another type").into()),
    }
}

/// Reason why a task failed.
#[derive(Debug)]
pub(super) enum SqliteFailure {
    /// The task returned an error.
    Rejected(Error),
    /// The database failed.
    Database(rusqlite::Error),
}

impl From<rusqlite::Error> for SqliteFailure {
    fn from(error: rusqlite::Error) -> Self {
        Self::Database(error)
    }
}

impl From<Error> for SqliteFailure {
    fn from(error: Error) -> Self {
        Self::Rejected(error)
    }
}

impl SqliteFailure {
    fn into_error(self, name: &str) -> Error {
        match self {
            Self::Rejected(error) => error,
            Self::Database(error) => describe(&error, name),
        }
    }
}

/// Returns true if the error is transient.
fn is_transient(error: &rusqlite::Error) -> bool {
    use SqliteErrorCode::{CannotOpen, DatabaseBusy, DatabaseLocked, SystemIoFailure};
    matches!(error.sqlite_error_code(), Some(DatabaseBusy | DatabaseLocked | CannotOpen | SystemIoFailure))
}

fn describe(error: &rusqlite::Error, name: &str) -> Error {
    let unavailable = |message: String, help: &str| Error::new(ErrorCode::StoreUnavailable, message).with_help(help);
    let described = match error.sqlite_error_code() {
        Some(SqliteErrorCode::DatabaseBusy | SqliteErrorCode::DatabaseLocked) => {
            unavailable(format!("{name} is locked by another process"), "nothing was written; try again")
        }
        Some(SqliteErrorCode::DiskFull) => {
            unavailable(format!("the disk of {name} is full"), "nothing was written; free some space and try again")
        }
        Some(SqliteErrorCode::CannotOpen) => {
            unavailable(format!("{name} cannot be opened"), "check that the file exists and is writable")
        }
        Some(SqliteErrorCode::SystemIoFailure) => {
            unavailable(format!("reading or writing {name} failed"), "check the disk, then try again")
        }
        Some(SqliteErrorCode::ReadOnly | SqliteErrorCode::PermissionDenied) => {
            unavailable(format!("{name} cannot be written"), "grant write permission for the file and its folder")
                .with_retryable(false)
        }
        Some(SqliteErrorCode::NotADatabase | SqliteErrorCode::DatabaseCorrupt) => {
            Error::new(ErrorCode::CheckpointCorrupt, format!("{name} is corrupt or not an SQLite file"))
                .with_help("restore the file from a backup, or set another location")
        }
        _ => Error::internal(format!("a statement on {name} failed")),
    };
    let cause: Box<dyn std::error::Error + Send + Sync> = error.to_string().into();
    described.with_source(Arc::from(cause))
}

#[cfg(test)]
mod tests;
