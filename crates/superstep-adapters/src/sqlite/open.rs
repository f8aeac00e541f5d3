//! Opening a file: where it is, how connections are set up, and the tables.

use std::path::{Path, PathBuf};
use std::time::Duration;

use rusqlite::config::DbConfig;
use rusqlite::{Connection, OpenFlags};
use superstep_core::error::{Code, Error, Result};

use super::trouble::{Answer, Trouble, describe};
use crate::{disk, write_ahead};

/// Events, with the thread in the upper half of their key. They go with their thread by themselves: a program of the
/// version before, which may still have the file open, knows nothing of them.
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

/// Marks a file as ours.
const APPLICATION: i32 = 0x7375_7073;
/// Bytes of a page. With half of it long values take twice as long to write, with twice of it short ones.
const PAGE: i32 = 2_048;
/// The version of the tables. A number is never reused. 1: values as they are. 2: long ones may be squeezed. 3: events.
const VERSION: i32 = 3;
/// What makes tables of a version those of the next, from 1. A program of the version before that still runs has its
/// threads taken from it.
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

/// Rows of a line have the line in the upper half of their key and their number in the lower: what is added to a line goes
/// to the end of its rows, and pages fill up.
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

/// The one name of a file, by whatever link it is opened: other processes look for locks beside it.
fn real(path: &Path) -> PathBuf {
    if let Ok(real) = path.canonicalize() {
        return real;
    }
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    match (folder.canonicalize(), path.file_name()) {
        (Ok(folder), Some(name)) => folder.join(name),
        _ => path.to_owned(),
    }
}

/// The key of a row in a line.
pub(super) fn key(line: i64, number: u64) -> i64 {
    line << 32 | number.cast_signed()
}

/// The number of a row in its line.
pub(super) fn number(key: i64) -> u64 {
    (key & i64::from(u32::MAX)).cast_unsigned()
}

/// The line of a row.
pub(super) fn line_of(key: i64) -> i64 {
    key >> 32
}

/// A checksum as it stands in a row of a line: a row that got into another line has one that does not fit.
pub(super) fn sum_in(line: i64, sum: u32) -> i64 {
    i64::from(sum) + line
}

/// The first and the last key that a row of a line can have.
pub(super) fn keys(line: i64) -> (i64, i64) {
    (key(line, 0), key(line, u64::from(u32::MAX)))
}

/// Where the tables are.
#[derive(Debug, Clone)]
pub(super) struct Place(Option<PathBuf>);

impl Place {
    pub(super) fn new(path: &Path) -> Self {
        Self((path != Path::new(":memory:")).then(|| real(path)))
    }

    /// The file; `None` in memory.
    pub(super) fn path(&self) -> Option<&Path> {
        self.0.as_deref()
    }

    /// The name in messages.
    pub(super) fn name(&self) -> String {
        self.0.as_ref().map_or_else(|| ":memory:".to_owned(), |path| path.display().to_string())
    }

    /// Refuses a disk of another machine: locks and the write-ahead log do not hold between machines.
    pub(super) fn check_disk(&self) -> Result<()> {
        let folder = self.0.as_deref().and_then(Path::parent).map(|folder| match folder.as_os_str().is_empty() {
            true => Path::new("."),
            false => folder,
        });
        folder.map_or(Ok(()), |folder| disk::check(folder, &self.name()))
    }

    /// A connection to a file that is there.
    pub(super) fn connect_reader(&self, busy: Duration) -> Answer<Connection> {
        let connection = self.connect(busy, OpenFlags::default() - OpenFlags::SQLITE_OPEN_CREATE)?;
        connection.pragma_update(None, "query_only", true)?;
        Ok(connection)
    }

    /// A connection that waits for others.
    fn connect(&self, busy: Duration, flags: OpenFlags) -> Answer<Connection> {
        let connection = match &self.0 {
            Some(path) => Connection::open_with_flags(path, flags)?,
            None => Connection::open_in_memory()?,
        };
        connection.busy_timeout(busy)?;
        connection.set_prepared_statement_cache_capacity(64);
        // Otherwise some statements are planned anew each time, for the values they are given.
        connection.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true)?;
        Ok(connection)
    }

    /// A connection that writes, with the tables in place.
    pub(super) fn connect_writer(&self, busy: Duration) -> Answer<Connection> {
        let mut connection = self.connect(busy, OpenFlags::default())?;
        // Of a new file: a superstep changes little, and what it changes is written in whole pages.
        connection.pragma_update(None, "page_size", PAGE)?;
        if self.0.is_some() && !write_ahead::keep(&connection, busy)? {
            return Err(Trouble::Refused(no_log(&self.name())));
        }
        connection.pragma_update(None, "synchronous", "FULL")?;
        // What a long history left behind in the log file is given back to the disk.
        connection.pragma_update(None, "journal_size_limit", 64 << 20)?;
        connection.pragma_update(None, "temp_store", "MEMORY")?;
        prepare_tables(&mut connection, &self.name())?;
        Ok(connection)
    }

    /// As `connect_writer`, with the error a caller gets.
    pub(super) fn open_writer(&self, busy: Duration) -> Result<Connection> {
        self.connect_writer(busy).map_err(|trouble| match trouble {
            Trouble::Database(error) => describe(&error, &self.name()),
            other => other.into_error(&self.name()),
        })
    }
}

fn no_log(name: &str) -> Error {
    Error::new(Code::StoreUnavailable, format!("`{name}` is on a disk that cannot keep a write-ahead log"))
        .help("put the file on a disk of this machine, not on a network share")
        .retryable(false)
}

/// Makes the tables of a new file and checks those of another. Two processes that do this at once do it once.
fn prepare_tables(connection: &mut Connection, name: &str) -> Answer<()> {
    let transaction = connection.transaction_with_behavior(rusqlite::TransactionBehavior::Immediate)?;
    let number = |pragma: &str| transaction.pragma_query_value(None, pragma, |row| row.get::<_, i32>(0));
    let (application, version) = (number("application_id")?, number("user_version")?);
    let tables: i64 = transaction.query_row("SELECT count(*) FROM sqlite_schema", [], |row| row.get(0))?;
    match (application, version) {
        (APPLICATION, VERSION) => {}
        (APPLICATION, version) if version > VERSION => return Err(Trouble::Refused(too_new(name, version))),
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
        _ => return Err(Trouble::Refused(not_ours(name))),
    }
    Ok(transaction.commit()?)
}

fn too_new(name: &str, version: i32) -> Error {
    let message = format!("`{name}` has tables of version {version}; this program knows {VERSION}");
    Error::new(Code::CheckpointTooNew, message).help("open it with the program that wrote it, or a newer one")
}

fn not_ours(name: &str) -> Error {
    Error::new(Code::ConfigInvalid, format!("`{name}` is an SQLite file of another program"))
        .help("name another file; nothing was changed in this one")
}
