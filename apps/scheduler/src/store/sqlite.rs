//! Calendars in an SQLite file, or in memory.
//!
//! One connection writes and one reads, each on a thread where waiting harms nobody. A file that another process holds is
//! waited for in steps that grow; after a failed write the connection is made anew, because nobody knows what the system
//! kept of it.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use rusqlite::types::{ToSql, ToSqlOutput, ValueRef};
use rusqlite::{Connection, ErrorCode, OpenFlags, params_from_iter};
use superstep::{Code, Error, Result};
use tokio::runtime::Handle;
use tokio::sync::Mutex;

use super::Changed;
use super::cell::{Cell, Row, Statement, damaged};
use super::flow::{self, Access, Session, Work};
use super::migrations;
use super::read::Answers;

/// How long one try waits for another process.
const BUSY: Duration = Duration::from_millis(200);
/// The first and the longest pause before another try.
const PAUSES: (Duration, Duration) = (Duration::from_millis(10), Duration::from_millis(500));

/// Calendars in a file.
pub(super) struct Sqlite {
    place: Place,
    writer: Slot,
    reader: Slot,
    patience: Duration,
}

/// A connection, once there is one.
type Slot = Arc<Mutex<Option<Connection>>>;

impl Sqlite {
    /// Opens a file, or a database in memory.
    pub(super) async fn open(path: Option<&Path>, patience: Duration) -> Result<Self> {
        let place = Place(path.map(Path::to_owned));
        let writer = Slot::default();
        // What is in memory is seen by one connection only.
        let reader = if path.is_some() { Slot::default() } else { writer.clone() };
        let opened = Self { place: place.clone(), writer, reader, patience };
        let made = place.clone();
        opened
            .work(&opened.writer, move |connection| {
                made.make()?;
                if connection.is_none() {
                    *connection = Some(made.connect(OpenFlags::SQLITE_OPEN_CREATE)?);
                }
                let session = &mut Open::new(connection, &made)?;
                wait(migrations::migrate(session, migrations::SQLITE, &made.name()))
            })
            .await?;
        Ok(opened)
    }

    pub(super) async fn change(&self, mut work: Work) -> Result<Changed> {
        let place = self.place.clone();
        let task = move |connection: &mut Option<Connection>| {
            wait(flow::change(&mut Open::new(connection, &place)?, &mut work))
        };
        self.work(&self.writer, task).await
    }

    pub(super) async fn look(&self, statements: Vec<Statement>) -> Result<Answers> {
        let place = self.place.clone();
        let task = move |connection: &mut Option<Connection>| {
            let open = Open::new(connection, &place)?;
            open.run("BEGIN")?;
            let answers = statements.iter().map(|statement| open.rows(statement)).collect();
            open.run("ROLLBACK")?;
            answers
        };
        self.work(&self.reader, task).await
    }

    /// Does something with a connection, again while the file is held by others and there is patience left.
    async fn work<T: Send + 'static>(
        &self,
        slot: &Slot,
        mut task: impl FnMut(&mut Option<Connection>) -> Result<T, Trouble> + Send + 'static,
    ) -> Result<T> {
        let (begun, mut pause) = (Instant::now(), PAUSES.0);
        loop {
            let (mut slot, place) = (slot.clone().lock_owned().await, self.place.clone());
            let trying = tokio::task::spawn_blocking(move || {
                let answer = task(&mut slot);
                if matches!(&answer, Err(Trouble::Database(error)) if place.spoils(error)) {
                    *slot = None;
                }
                (answer, task)
            });
            let (answer, same) = trying.await.map_err(|error| Error::internal(format!("a change failed: {error}")))?;
            task = same;
            match answer {
                Ok(answer) => return Ok(answer),
                Err(Trouble::Database(error)) if is_passing(&error) && begun.elapsed() < self.patience => {
                    tokio::time::sleep(pause).await;
                    pause = (pause * 2).min(PAUSES.1);
                }
                Err(trouble) => return Err(trouble.into_error(&self.place.name())),
            }
        }
    }
}

/// Ends a future that waits for nothing.
fn wait<F: Future>(future: F) -> F::Output {
    Handle::current().block_on(future)
}

/// Where the tables are: a file, or in memory.
#[derive(Clone)]
struct Place(Option<PathBuf>);

impl Place {
    fn name(&self) -> String {
        self.0.as_ref().map_or_else(|| "the calendar in memory".to_owned(), |path| format!("`{}`", path.display()))
    }

    /// The folder of the file.
    fn make(&self) -> Result<(), Trouble> {
        let Some(folder) = self.0.as_deref().and_then(Path::parent) else { return Ok(()) };
        std::fs::create_dir_all(folder).map_err(|error| {
            let message = format!("there is no folder for {}: {error}", self.name());
            Trouble::Refused(Error::new(Code::StoreUnavailable, message).retryable(false))
        })
    }

    fn connect(&self, more: OpenFlags) -> Result<Connection, Trouble> {
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX | more;
        let connection = match &self.0 {
            Some(path) => Connection::open_with_flags(path, flags)?,
            None => Connection::open_in_memory()?,
        };
        connection.busy_timeout(BUSY)?;
        connection.set_prepared_statement_cache_capacity(64);
        if self.0.is_some() {
            connection.pragma_update(None, "journal_mode", "WAL")?;
        }
        connection.pragma_update(None, "synchronous", "FULL")?;
        connection.pragma_update(None, "foreign_keys", true)?;
        Ok(connection)
    }

    /// Whether somebody took the file away: what is written to it then is lost with the process.
    fn is_gone(&self) -> bool {
        self.0.as_ref().is_some_and(|path| !path.exists())
    }

    fn spoils(&self, error: &rusqlite::Error) -> bool {
        use ErrorCode::{
            CannotOpen, DatabaseCorrupt, FileLockingProtocolFailed, NotADatabase, ReadOnly, SystemIoFailure,
        };
        let spoils = matches!(
            error.sqlite_error_code(),
            Some(SystemIoFailure | DatabaseCorrupt | NotADatabase | CannotOpen | ReadOnly | FileLockingProtocolFailed)
        );
        spoils && self.0.is_some()
    }
}

/// A connection while somebody uses it.
struct Open<'a>(&'a mut Connection);

impl<'a> Open<'a> {
    fn new(connection: &'a mut Option<Connection>, place: &Place) -> Result<Self, Trouble> {
        if place.is_gone() {
            *connection = None;
        }
        if connection.is_none() {
            // A file that is not there was taken away: an empty one in its place would look like no families.
            *connection = Some(place.connect(OpenFlags::empty())?);
        }
        connection.as_mut().map(Self).ok_or_else(|| Error::internal("there is no connection").into())
    }

    fn rows(&self, statement: &Statement) -> Result<Vec<Row>, Trouble> {
        let mut prepared = self.0.prepare_cached(&statement.sql)?;
        let columns = prepared.column_count();
        let mut rows = prepared.query(params_from_iter(&statement.cells))?;
        let mut found = Vec::new();
        while let Some(row) = rows.next()? {
            let cells = (0..columns).map(|column| cell(row.get_ref(column)?)).collect::<Result<_, Trouble>>()?;
            found.push(Row::new(cells));
        }
        Ok(found)
    }

    fn run(&self, sql: &str) -> Result<(), Trouble> {
        Ok(self.0.execute_batch(sql)?)
    }
}

impl Session for Open<'_> {
    type Failure = Trouble;

    /// Whoever writes has the whole file.
    const LOCK: &'static str = "";

    fn tables(&self) -> Statement {
        Statement::new("SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%'", [])
    }

    async fn begin(&mut self, _: Access) -> Result<(), Trouble> {
        // One that panicked left its transaction behind.
        self.rollback().await;
        self.run("BEGIN IMMEDIATE")
    }

    async fn ask(&mut self, statements: Vec<Statement>) -> Result<Answers, Trouble> {
        statements.iter().map(|statement| self.rows(statement)).collect()
    }

    async fn script(&mut self, sql: &str) -> Result<(), Trouble> {
        self.run(sql)
    }

    async fn commit(&mut self) -> Result<(), Trouble> {
        self.run("COMMIT")
    }

    async fn rollback(&mut self) {
        if !self.0.is_autocommit() {
            // What cannot be rolled back goes with the connection.
            let _ = self.run("ROLLBACK");
        }
    }
}

impl ToSql for Cell {
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

fn cell(value: ValueRef<'_>) -> Result<Cell, Trouble> {
    match value {
        ValueRef::Null => Ok(Cell::Text(None)),
        ValueRef::Integer(number) => Ok(Cell::Number(Some(number))),
        ValueRef::Text(text) => match std::str::from_utf8(text) {
            Ok(text) => Ok(text.into()),
            Err(error) => Err(damaged(error).into()),
        },
        ValueRef::Real(_) | ValueRef::Blob(_) => Err(damaged("a value of another type").into()),
    }
}

/// Why something was not done.
#[derive(Debug)]
pub(super) enum Trouble {
    /// Whoever asked gave up.
    Refused(Error),
    /// The database failed.
    Database(rusqlite::Error),
}

impl From<rusqlite::Error> for Trouble {
    fn from(error: rusqlite::Error) -> Self {
        Self::Database(error)
    }
}

impl From<Error> for Trouble {
    fn from(error: Error) -> Self {
        Self::Refused(error)
    }
}

impl Trouble {
    fn into_error(self, name: &str) -> Error {
        match self {
            Self::Refused(error) => error,
            Self::Database(error) => describe(&error, name),
        }
    }
}

/// Whether the same may go well in a moment.
fn is_passing(error: &rusqlite::Error) -> bool {
    use ErrorCode::{CannotOpen, DatabaseBusy, DatabaseLocked, SystemIoFailure};
    matches!(error.sqlite_error_code(), Some(DatabaseBusy | DatabaseLocked | CannotOpen | SystemIoFailure))
}

fn describe(error: &rusqlite::Error, name: &str) -> Error {
    use ErrorCode as Kind;
    let outage = |message: String, help: &str| Error::new(Code::StoreUnavailable, message).help(help);
    let described = match error.sqlite_error_code() {
        Some(Kind::DatabaseBusy | Kind::DatabaseLocked) => outage(
            format!("another process has been writing to {name} for too long"),
            "nothing of this was written; try again",
        ),
        Some(Kind::DiskFull) => outage(
            format!("the disk with {name} is full"),
            "nothing of this was written; free some space and try again",
        ),
        Some(Kind::CannotOpen) => {
            outage(format!("{name} cannot be opened"), "see that the file is there and the program may write it")
        }
        Some(Kind::SystemIoFailure) => {
            outage(format!("reading or writing {name} failed"), "look at the disk, then try again")
        }
        Some(Kind::ReadOnly | Kind::PermissionDenied) => {
            outage(format!("{name} cannot be written"), "give the program the right to write the file and its folder")
                .retryable(false)
        }
        Some(Kind::NotADatabase | Kind::DatabaseCorrupt) => {
            Error::new(Code::CheckpointCorrupt, format!("{name} is damaged, or no SQLite file"))
                .help("restore the file from a copy, or name another")
        }
        _ => Error::internal(format!("a statement on {name} failed")),
    };
    let cause: Box<dyn std::error::Error + Send + Sync> = error.to_string().into();
    described.caused_by(Arc::from(cause))
}

#[cfg(test)]
mod tests;
