//! A key-value store in one table of an SQLite file.
//!
//! One connection on a dedicated thread runs all waiting jobs in one transaction and replies after the commit is on
//! disk: concurrent writers share one sync. For checkpoints on one machine, use `crate::sqlite`; this store is for
//! applications that also store other values in the same file.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::JoinHandle;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use rusqlite::{Connection, ErrorCode as SqliteErrorCode, OptionalExtension, params};
use superstep_core::error::{Error, ErrorCode, Result};
use superstep_core::port::{KeyValue, PutOptions, is_valid_key};
use tokio::sync::oneshot;

use crate::{filesystem, wal};

/// SQLite application id of such a file: `supk`.
const APPLICATION: i32 = 0x7375_706b;
/// Version of the table. A version is never reused.
const VERSION: i32 = 1;
/// Maximum number of jobs in one transaction.
const MAX_BATCH: usize = 256;
/// Time that a transaction waits for the write lock of another process.
const BUSY_TIMEOUT: Duration = Duration::from_secs(5);

/// A key-value store in an SQLite file. Clones share one store.
///
/// Several processes of one machine may use one file. A file on a network filesystem is rejected.
#[derive(Clone)]
pub struct SqliteKeyValue(Arc<SqliteKeysInner>);

struct SqliteKeysInner {
    path: PathBuf,
    jobs: Option<Sender<Box<dyn WriterJob>>>,
    thread: Option<JoinHandle<()>>,
}

impl SqliteKeyValue {
    /// Opens a file and creates it if it does not exist.
    ///
    /// # Errors
    /// Returns an error if the file cannot be opened, belongs to another program, was written by a newer version, or
    /// is on a network filesystem.
    pub fn open(path: impl AsRef<Path>) -> Result<Self> {
        let path = path.as_ref().to_owned();
        let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
        filesystem::reject_network_filesystem(folder, &path.display().to_string())?;
        let connection = connect(&path).map_err(|error| error.describe(&path))?;
        let (jobs, inbox) = channel();
        let mut writer = WriterThread { connection, path: path.clone(), write_failed: false };
        let thread = std::thread::Builder::new()
            .name("superstep-sqlite-keys".to_owned())
            .spawn(move || writer.work(&inbox))
            .map_err(|error| {
                Error::new(
                    ErrorCode::StoreUnavailable,
                    format!("failed to start the background OS thread of the SQLite key-value backend: {error}"),
                )
            })?;
        Ok(Self(Arc::new(SqliteKeysInner { path, jobs: Some(jobs), thread: Some(thread) })))
    }

    async fn with_connection<T: Send + 'static>(
        &self,
        access_mode: AccessMode,
        operation: impl FnMut(&Connection) -> rusqlite::Result<T> + Send + 'static,
    ) -> Result<T> {
        let (reply, response) = oneshot::channel();
        if let Some(jobs) = &self.0.jobs {
            // If the thread has ended, `reply` is dropped with the job and the caller receives an error.
            drop(jobs.send(Box::new(FnJob { access_mode, operation, result: None, reply })));
        }
        response.await.unwrap_or_else(|_| {
            Err(Error::new(
                ErrorCode::StoreUnavailable,
                format!("the checkpointer for `{}` is closed", self.0.path.display()),
            )
            .with_help("this write may be lost; create a new checkpointer"))
        })
    }
}

impl std::fmt::Debug for SqliteKeyValue {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("SqliteKeyValue").field(&self.0.path).finish()
    }
}

/// Finishes the jobs that are already queued.
impl Drop for SqliteKeysInner {
    fn drop(&mut self) {
        drop(self.jobs.take());
        if let Some(thread) = self.thread.take() {
            // The callers of a panicked job have received an error.
            drop(thread.join());
        }
    }
}

impl KeyValue for SqliteKeyValue {
    async fn get(&self, key: &str) -> Result<Option<Vec<u8>>> {
        let key = key.to_owned();
        self.with_connection(AccessMode::None, move |connection| read(connection, &key)).await
    }

    async fn get_many(&self, keys: &[String]) -> Result<Vec<Option<Vec<u8>>>> {
        let keys = keys.to_vec();
        self.with_connection(AccessMode::None, move |connection| keys.iter().map(|key| read(connection, key)).collect())
            .await
    }

    async fn put(&self, key: &str, value: &[u8], put: PutOptions) -> Result<bool> {
        if !is_valid_key(key) {
            return Err(Error::new(ErrorCode::InputInvalid, format!("`{key}` is not a valid key")));
        }
        let (key, value) = (key.to_owned(), value.to_vec());
        // Batched puts run one after the other inside one transaction, so none of them sees a state between check and
        // insert.
        self.with_connection(AccessMode::Change, move |connection| {
            if put.if_absent && key_exists(connection, &key)? {
                return Ok(false);
            }
            let expires_at = put.ttl.map(|ttl| now().saturating_add(millis(ttl)));
            let insert = "INSERT INTO value (key, body, ends) VALUES (?1, ?2, ?3) \
                          ON CONFLICT (key) DO UPDATE SET body = excluded.body, ends = excluded.ends";
            connection.prepare_cached(insert)?.execute(params![key, value, expires_at])?;
            if expires_at.is_some() {
                // Each put with a time to live also removes expired values.
                connection.prepare_cached("DELETE FROM value WHERE ends <= ?1")?.execute([now()])?;
            }
            Ok(true)
        })
        .await
    }

    async fn delete(&self, keys: &[String]) -> Result<()> {
        let keys = keys.to_vec();
        self.with_connection(AccessMode::Change, move |connection| {
            let mut statement = connection.prepare_cached("DELETE FROM value WHERE key = ?1")?;
            keys.iter().try_for_each(|key| statement.execute([key]).map(drop))
        })
        .await
    }

    async fn list(&self, prefix: &str, after: Option<&str>, limit: usize) -> Result<Vec<String>> {
        // A range instead of `LIKE`, whose pattern characters may occur in keys. No key contains `\u{7f}`.
        let (first, end) = (prefix.to_owned(), format!("{prefix}\u{7f}"));
        let (after, limit) = (after.unwrap_or_default().to_owned(), i64::try_from(limit).unwrap_or(i64::MAX));
        self.with_connection(AccessMode::None, move |connection| {
            let keys = "SELECT key FROM value WHERE key >= ?1 AND key < ?2 AND key > ?3 AND (ends IS NULL OR ends > ?4) \
                        ORDER BY key LIMIT ?5";
            let mut statement = connection.prepare_cached(keys)?;
            statement.query_map(params![first, end, after, now(), limit], |row| row.get(0))?.collect()
        })
        .await
    }
}

fn read(connection: &Connection, key: &str) -> rusqlite::Result<Option<Vec<u8>>> {
    let select = "SELECT body FROM value WHERE key = ?1 AND (ends IS NULL OR ends > ?2)";
    connection.prepare_cached(select)?.query_row(params![key, now()], |row| row.get(0)).optional()
}

fn key_exists(connection: &Connection, key: &str) -> rusqlite::Result<bool> {
    let select = "SELECT 1 FROM value WHERE key = ?1 AND (ends IS NULL OR ends > ?2)";
    connection.prepare_cached(select)?.exists(params![key, now()])
}

fn now() -> i64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, millis)
}

fn millis(time: Duration) -> i64 {
    i64::try_from(time.as_millis()).unwrap_or(i64::MAX).max(1)
}

/// Reason why a file was not opened.
enum OpenError {
    Database(rusqlite::Error),
    Rejected(Error),
}

impl From<rusqlite::Error> for OpenError {
    fn from(error: rusqlite::Error) -> Self {
        Self::Database(error)
    }
}

impl OpenError {
    fn describe(self, path: &Path) -> Error {
        match self {
            Self::Database(error) => describe(&error, path),
            Self::Rejected(error) => error,
        }
    }
}

fn connect(path: &Path) -> Result<Connection, OpenError> {
    let mut connection = Connection::open(path)?;
    connection.busy_timeout(BUSY_TIMEOUT)?;
    if !wal::enable_wal(&connection, BUSY_TIMEOUT)? {
        let message = format!("the filesystem of `{}` does not support a write-ahead log", path.display());
        return Err(OpenError::Rejected(Error::new(ErrorCode::StoreUnavailable, message).with_retryable(false)));
    }
    connection.pragma_update(None, "synchronous", "FULL")?;
    let transaction = connection.transaction_with_behavior(rusqlite::TransactionBehavior::Immediate)?;
    let number = |pragma: &str| transaction.pragma_query_value(None, pragma, |row| row.get::<_, i32>(0));
    let tables: i64 = transaction.query_row("SELECT count(*) FROM sqlite_schema", [], |row| row.get(0))?;
    match (number("application_id")?, number("user_version")?) {
        (APPLICATION, VERSION) => {}
        (APPLICATION, version) if version > VERSION => {
            let message = format!(
                "`{}` has a table of version {version}, which is newer than the supported version {VERSION}",
                path.display()
            );
            return Err(OpenError::Rejected(Error::new(ErrorCode::CheckpointTooNew, message)));
        }
        (0, 0) if tables == 0 => {
            transaction.execute_batch(
                "CREATE TABLE value (key TEXT PRIMARY KEY, body BLOB NOT NULL, ends INTEGER) STRICT, WITHOUT ROWID;
                 CREATE INDEX value_by_end ON value (ends) WHERE ends IS NOT NULL;",
            )?;
            transaction.pragma_update(None, "application_id", APPLICATION)?;
            transaction.pragma_update(None, "user_version", VERSION)?;
        }
        _ => {
            let message = format!("`{}` is an SQLite file of another program", path.display());
            let error = Error::new(ErrorCode::ConfigInvalid, message);
            return Err(OpenError::Rejected(error.with_help("use another file; nothing was changed in this one")));
        }
    }
    transaction.execute("DELETE FROM value WHERE ends <= ?1", [now()])?;
    transaction.commit()?;
    Ok(connection)
}

/// Access of a job to the file: read-only or writing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum AccessMode {
    None,
    Change,
}

/// A job of a transaction. Runs again from the start if the transaction is rolled back.
trait WriterJob: Send {
    fn access_mode(&self) -> AccessMode;
    fn run(&mut self, connection: &Connection) -> rusqlite::Result<()>;
    /// Replies to the caller, with the error if the job failed.
    fn reply(self: Box<Self>, failure: Option<&Error>);
}

struct FnJob<F, T> {
    access_mode: AccessMode,
    operation: F,
    result: Option<T>,
    reply: oneshot::Sender<Result<T>>,
}

impl<F: FnMut(&Connection) -> rusqlite::Result<T> + Send, T: Send> WriterJob for FnJob<F, T> {
    fn access_mode(&self) -> AccessMode {
        self.access_mode
    }

    fn run(&mut self, connection: &Connection) -> rusqlite::Result<()> {
        self.result = Some((self.operation)(connection)?);
        Ok(())
    }

    fn reply(self: Box<Self>, failure: Option<&Error>) {
        let result = match (failure, self.result) {
            (None, Some(value)) => Ok(value),
            (Some(failure), _) => Err(failure.clone()),
            (None, None) => Err(Error::internal("a job ended without a result")),
        };
        // The caller may have stopped waiting; the job is committed nevertheless.
        drop(self.reply.send(result));
    }
}

/// State of the writer thread.
struct WriterThread {
    connection: Connection,
    path: PathBuf,
    /// True after a failed write: only a new connection shows the state on disk.
    write_failed: bool,
}

impl WriterThread {
    fn work(&mut self, inbox: &Receiver<Box<dyn WriterJob>>) {
        while let Ok(first) = inbox.recv() {
            let mut batch = vec![first];
            batch.extend(inbox.try_iter().take(MAX_BATCH - 1));
            self.perform(batch);
        }
    }

    fn perform(&mut self, mut batch: Vec<Box<dyn WriterJob>>) {
        match self.transact(&mut batch) {
            Ok(()) => batch.into_iter().for_each(|job| job.reply(None)),
            Err(_) if batch.len() > 1 && !self.write_failed => {
                // One job failed: run them one by one, so that the others succeed.
                batch.into_iter().for_each(|job| self.perform(vec![job]));
            }
            Err(error) => batch.into_iter().for_each(|job| job.reply(Some(&error))),
        }
    }

    fn transact(&mut self, batch: &mut [Box<dyn WriterJob>]) -> Result<()> {
        if self.write_failed {
            self.connection = connect(&self.path).map_err(|error| error.describe(&self.path))?;
            self.write_failed = false;
        }
        let changes = batch.iter().any(|job| job.access_mode() == AccessMode::Change);
        let connection = &self.connection;
        let done = connection
            .prepare_cached(if changes { "BEGIN IMMEDIATE" } else { "BEGIN" })
            .and_then(|mut begin| begin.execute([]))
            .and_then(|_| batch.iter_mut().try_for_each(|job| job.run(connection)))
            .and_then(|()| connection.prepare_cached("COMMIT")?.execute([]));
        done.map(drop).map_err(|error| {
            // SQLite rolls some transactions back by itself.
            let is_rolled_back = self.connection.is_autocommit() || self.connection.execute_batch("ROLLBACK").is_ok();
            self.write_failed = !is_rolled_back || invalidates_connection(&error);
            describe(&error, &self.path)
        })
    }
}

fn invalidates_connection(error: &rusqlite::Error) -> bool {
    use SqliteErrorCode::{CannotOpen, DatabaseCorrupt, NotADatabase, ReadOnly, SystemIoFailure};
    let code = error.sqlite_error_code();
    matches!(code, Some(SystemIoFailure | DatabaseCorrupt | NotADatabase | CannotOpen | ReadOnly))
}

/// Converts an error of SQLite.
fn describe(error: &rusqlite::Error, path: &Path) -> Error {
    let path = path.display();
    let outage = |message: String, help: &str| Error::new(ErrorCode::StoreUnavailable, message).with_help(help);
    let described = match error.sqlite_error_code() {
        Some(SqliteErrorCode::DatabaseBusy | SqliteErrorCode::DatabaseLocked) => {
            outage(format!("`{path}` is locked by another process"), "nothing was saved; try again")
        }
        Some(SqliteErrorCode::DiskFull) => outage(
            format!("the disk of `{path}` is full"),
            "this commit was not saved; all earlier acknowledged commits are saved; free some space, then continue the \
             thread",
        ),
        Some(SqliteErrorCode::ReadOnly | SqliteErrorCode::PermissionDenied | SqliteErrorCode::CannotOpen) => outage(
            format!("`{path}` cannot be opened or written"),
            "nothing was saved; check that the folder exists and is writable",
        )
        .with_retryable(false),
        Some(SqliteErrorCode::NotADatabase | SqliteErrorCode::DatabaseCorrupt) => {
            Error::new(ErrorCode::CheckpointCorrupt, format!("`{path}` is corrupt or not an SQLite file"))
                .with_help("restore the file from a backup, or use another file")
        }
        Some(SqliteErrorCode::TooBig) => Error::new(ErrorCode::TooLarge, format!("a value is too large for `{path}`"))
            .with_help("SQLite stores values of up to 1,000,000,000 bytes"),
        _ => outage(
            format!("reading or writing `{path}` failed"),
            "this commit may be lost; all earlier acknowledged commits are saved; check the disk, then continue the \
             thread",
        ),
    };
    let cause: Box<dyn std::error::Error + Send + Sync> = error.to_string().into();
    described.with_source(Arc::from(cause))
}
