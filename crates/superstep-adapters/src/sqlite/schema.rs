//! Opening a file: its path, the setup of connections, and the tables.

use std::path::{Path, PathBuf};
use std::time::Duration;

use rusqlite::config::DbConfig;
use rusqlite::{Connection, OpenFlags};
use superstep_core::error::{Error, ErrorCode, Result};

use super::error::{SqliteError, SqliteResult, to_error};
use crate::{filesystem, wal};

/// Table of events, with the thread in the upper half of the key. A trigger deletes the events with their thread,
/// because a program of the previous version, which may still have the file open, does not know the table.
macro_rules! events {
    () => {
        "
CREATE TABLE event (
    key INTEGER PRIMARY KEY,
    run BLOB NOT NULL,
    body BLOB NOT NULL,
    sum INTEGER NOT NULL
) STRICT;
CREATE TRIGGER events_go AFTER DELETE ON thread BEGIN
    DELETE FROM event WHERE key BETWEEN old.id << 32 AND (old.id << 32) + 4294967295;
END;
"
    };
}

/// SQLite application id of such a file.
const APPLICATION: i32 = 0x7375_7073;
/// Page size in bytes. Half the size doubles the time for long values; twice the size doubles it for short ones.
const PAGE: i32 = 2_048;
/// Version of the tables. A version is never reused. 1: uncompressed values. 2: long values may be compressed. 3:
/// events.
const VERSION: i32 = 3;
/// Migrations, each from one version to the next, starting with version 1. A program of the previous version that
/// still runs loses its leases.
const STEPS: [&str; VERSION as usize - 1] = [
    "
DROP TABLE holder;
CREATE TABLE holder (
    id INTEGER PRIMARY KEY,
    beat INTEGER NOT NULL
) STRICT;
UPDATE thread SET holder = NULL, run = NULL, fence = fence + 1;
",
    concat!("ALTER TABLE thread ADD COLUMN forgotten INTEGER NOT NULL DEFAULT 0;", events!()),
];

/// The tables. Rows of a history have the history in the upper half of their key and their number in the lower half:
/// new rows of a history are inserted at the end of its rows, which fills pages well.
const TABLES: &str = concat!(
    "
CREATE TABLE holder (
    id INTEGER PRIMARY KEY,
    beat INTEGER NOT NULL
) STRICT;
CREATE TABLE thread (
    id INTEGER PRIMARY KEY,
    name TEXT NOT NULL UNIQUE,
    fence INTEGER NOT NULL,
    holder INTEGER,
    run BLOB,
    status INTEGER,
    forgotten INTEGER NOT NULL DEFAULT 0
) STRICT;
CREATE TABLE line (
    id INTEGER PRIMARY KEY,
    thread INTEGER NOT NULL,
    namespace TEXT NOT NULL,
    names TEXT NOT NULL,
    sum INTEGER NOT NULL,
    UNIQUE (thread, namespace)
) STRICT;
CREATE TABLE origin (
    key INTEGER PRIMARY KEY,
    body BLOB NOT NULL,
    sum INTEGER NOT NULL
) STRICT;
CREATE TABLE checkpoint (
    key INTEGER PRIMARY KEY,
    id BLOB NOT NULL,
    parent BLOB,
    step INTEGER NOT NULL,
    source INTEGER NOT NULL,
    time INTEGER NOT NULL,
    origin INTEGER NOT NULL,
    ahead BLOB NOT NULL,
    heads BLOB NOT NULL,
    vals BLOB NOT NULL,
    sum INTEGER NOT NULL
) STRICT;
CREATE INDEX checkpoint_by_id ON checkpoint (id);
CREATE TABLE part (
    key INTEGER PRIMARY KEY,
    field INTEGER NOT NULL,
    before INTEGER NOT NULL,
    change TEXT NOT NULL,
    body BLOB NOT NULL,
    sum INTEGER NOT NULL
) STRICT;
CREATE TABLE remnant (
    key INTEGER PRIMARY KEY,
    vals BLOB NOT NULL,
    sum INTEGER NOT NULL
) STRICT;
CREATE TABLE pending (
    id INTEGER PRIMARY KEY,
    checkpoint INTEGER NOT NULL,
    task BLOB NOT NULL,
    slot TEXT NOT NULL,
    body BLOB NOT NULL,
    sum INTEGER NOT NULL,
    UNIQUE (checkpoint, task, slot)
) STRICT;
",
    events!()
);

/// Returns the canonical path of a file, independent of links: other processes look for lock files next to it.
fn canonical_path(path: &Path) -> PathBuf {
    if let Ok(real) = path.canonicalize() {
        return real;
    }
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    match (folder.canonicalize(), path.file_name()) {
        (Ok(folder), Some(name)) => folder.join(name),
        _ => path.to_owned(),
    }
}

/// Returns the key of a row of a history.
pub(super) fn key(history_id: i64, number: u64) -> i64 {
    history_id << 32 | number.cast_signed()
}

/// Returns the number of a row in its history.
pub(super) fn number(key: i64) -> u64 {
    (key & i64::from(u32::MAX)).cast_unsigned()
}

/// Returns the history of a row.
pub(super) fn history_of(key: i64) -> i64 {
    key >> 32
}

/// Returns a checksum as stored in a row of a history, so that a row of another history has a different one.
pub(super) fn checksum_in_history(history_id: i64, sum: u32) -> i64 {
    i64::from(sum) + history_id
}

/// Returns the first and the last possible key of the rows of a history.
pub(super) fn keys(history_id: i64) -> (i64, i64) {
    (key(history_id, 0), key(history_id, u64::from(u32::MAX)))
}

/// Location of the tables.
#[derive(Debug, Clone)]
pub(super) struct DatabasePath(Option<PathBuf>);

impl DatabasePath {
    pub(super) fn new(path: &Path) -> Self {
        Self((path != Path::new(":memory:")).then(|| canonical_path(path)))
    }

    /// Returns the path of the file; `None` in memory.
    pub(super) fn path(&self) -> Option<&Path> {
        self.0.as_deref()
    }

    /// Returns the name in errors.
    pub(super) fn name(&self) -> String {
        self.0.as_ref().map_or_else(|| ":memory:".to_owned(), |path| path.display().to_string())
    }

    /// Rejects a network filesystem: locks and the write-ahead log do not work between machines.
    pub(super) fn check_disk(&self) -> Result<()> {
        let folder = self.0.as_deref().and_then(Path::parent).map(|folder| match folder.as_os_str().is_empty() {
            true => Path::new("."),
            false => folder,
        });
        folder.map_or(Ok(()), |folder| filesystem::reject_network_filesystem(folder, &self.name()))
    }

    /// Opens a read-only connection to an existing file.
    pub(super) fn connect_reader(&self, busy: Duration) -> SqliteResult<Connection> {
        let connection = self.connect(busy, OpenFlags::default() - OpenFlags::SQLITE_OPEN_CREATE)?;
        connection.pragma_update(None, "query_only", true)?;
        Ok(connection)
    }

    /// Opens a connection that waits for the locks of other processes.
    fn connect(&self, busy: Duration, flags: OpenFlags) -> SqliteResult<Connection> {
        let connection = match &self.0 {
            Some(path) => Connection::open_with_flags(path, flags)?,
            None => Connection::open_in_memory()?,
        };
        connection.busy_timeout(busy)?;
        connection.set_prepared_statement_cache_capacity(64);
        // Otherwise SQLite plans some statements again for each set of parameters.
        connection.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true)?;
        Ok(connection)
    }

    /// Opens the writing connection and creates the tables if necessary.
    pub(super) fn connect_writer(&self, busy: Duration) -> SqliteResult<Connection> {
        let mut connection = self.connect(busy, OpenFlags::default())?;
        // For a new file: a superstep changes few bytes, and SQLite writes whole pages.
        connection.pragma_update(None, "page_size", PAGE)?;
        if self.0.is_some() && !wal::enable_wal(&connection, busy)? {
            return Err(SqliteError::Rejected(wal_unavailable(&self.name())));
        }
        connection.pragma_update(None, "synchronous", "FULL")?;
        // Return the space of a large log file to the filesystem.
        connection.pragma_update(None, "journal_size_limit", 64 << 20)?;
        connection.pragma_update(None, "temp_store", "MEMORY")?;
        prepare_tables(&mut connection, &self.name())?;
        Ok(connection)
    }

    /// Opens the writing connection like `connect_writer`, with the error that the caller of the port sees.
    pub(super) fn open_writer(&self, busy: Duration) -> Result<Connection> {
        self.connect_writer(busy).map_err(|failure| match failure {
            SqliteError::Database(error) => to_error(&error, &self.name()),
            other => other.into_error(&self.name()),
        })
    }
}

fn wal_unavailable(name: &str) -> Error {
    Error::new(ErrorCode::StoreUnavailable, format!("the filesystem of `{name}` does not support a write-ahead log"))
        .with_help("use a local disk instead of a network filesystem")
        .with_retryable(false)
}

/// Creates the tables of a new file or checks and migrates those of an existing one. The transaction makes concurrent
/// calls of two processes safe.
fn prepare_tables(connection: &mut Connection, name: &str) -> SqliteResult<()> {
    let transaction = connection.transaction_with_behavior(rusqlite::TransactionBehavior::Immediate)?;
    let number = |pragma: &str| transaction.pragma_query_value(None, pragma, |row| row.get::<_, i32>(0));
    let (application, version) = (number("application_id")?, number("user_version")?);
    let tables: i64 = transaction.query_row("SELECT count(*) FROM sqlite_schema", [], |row| row.get(0))?;
    match (application, version) {
        (APPLICATION, VERSION) => {}
        (APPLICATION, version) if version > VERSION => return Err(SqliteError::Rejected(too_new(name, version))),
        (APPLICATION, version @ 1..) => {
            for step in &STEPS[version as usize - 1..] {
                transaction.execute_batch(step)?;
            }
            transaction.pragma_update(None, "user_version", VERSION)?;
        }
        (0, 0) if tables == 0 => {
            transaction.execute_batch(TABLES)?;
            transaction.pragma_update(None, "application_id", APPLICATION)?;
            transaction.pragma_update(None, "user_version", VERSION)?;
        }
        _ => return Err(SqliteError::Rejected(foreign_file_error(name))),
    }
    Ok(transaction.commit()?)
}

fn too_new(name: &str, version: i32) -> Error {
    let message =
        format!("`{name}` has tables of version {version}, which is newer than the supported version {VERSION}");
    Error::new(ErrorCode::CheckpointTooNew, message).with_help("open it with the version that wrote it, or a newer one")
}

fn foreign_file_error(name: &str) -> Error {
    Error::new(ErrorCode::ConfigInvalid, format!("`{name}` is an SQLite file of another program"))
        .with_help("use another file; nothing was changed in this one")
}
