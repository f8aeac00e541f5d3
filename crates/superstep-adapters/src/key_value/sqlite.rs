//! Values under keys in one table of an SQLite file.
//!
//! One connection, on a thread of its own, does whatever is waiting in one transaction and answers when that is on the
//! disk: so many who write share one sync. For checkpoints of one machine the store in `crate::sqlite` is the better
//! choice; this one is for those who have values of other kinds under the same roof.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::JoinHandle;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use rusqlite::{Connection, ErrorCode, OptionalExtension, params};
use superstep_core::error::{Code, Error, Result};
use superstep_core::port::{KeyValue, Put, is_key};
use tokio::sync::oneshot;

use crate::{disk, write_ahead};

/// Marks a file as ours: `supk`.
const APPLICATION: i32 = 0x7375_706b;
/// The version of the table. A number is never reused.
const VERSION: i32 = 1;
/// The most that goes into one transaction.
const LARGEST_BATCH: usize = 256;
/// How long a transaction waits while another process writes.
const BUSY: Duration = Duration::from_secs(5);

/// An SQLite file as a store of values under keys. Clones are one and the same.
///
/// Several processes may use one file, on one machine. A file on a network disk is refused.
#[derive(Clone)]
pub struct SqliteKeys(Arc<Inner>);

struct Inner {
    path: PathBuf,
    works: Option<Sender<Box<dyn Work>>>,
    thread: Option<JoinHandle<()>>,
}

impl SqliteKeys {
    /// Opens a file, or makes it.
    ///
    /// # Errors
    /// When the file cannot be opened, is not one of these, was written by a newer version, or is on a network disk.
    pub fn open(path: impl AsRef<Path>) -> Result<Self> {
        let path = path.as_ref().to_owned();
        let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
        disk::check(folder, &path.display().to_string())?;
        let connection = connect(&path).map_err(|trouble| trouble.describe(&path))?;
        let (works, inbox) = channel();
        let mut room = Room { connection, path: path.clone(), is_spoilt: false };
        let thread = std::thread::Builder::new()
            .name("superstep-sqlite-keys".to_owned())
            .spawn(move || room.work(&inbox))
            .map_err(|error| Error::new(Code::StoreUnavailable, format!("no thread for the store: {error}")))?;
        Ok(Self(Arc::new(Inner { path, works: Some(works), thread: Some(thread) })))
    }

    async fn ask<T: Send + 'static>(
        &self,
        effect: Effect,
        question: impl FnMut(&Connection) -> rusqlite::Result<T> + Send + 'static,
    ) -> Result<T> {
        let (reply, answer) = oneshot::channel();
        if let Some(works) = &self.0.works {
            // When the thread is gone nobody replies, and whoever waits is told so.
            drop(works.send(Box::new(Task { effect, question, given: None, reply })));
        }
        answer.await.unwrap_or_else(|_| {
            Err(Error::new(Code::StoreUnavailable, format!("the store `{}` is closed", self.0.path.display()))
                .help("this may not be saved; open the store anew"))
        })
    }
}

impl std::fmt::Debug for SqliteKeys {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("SqliteKeys").field(&self.0.path).finish()
    }
}

/// What is on its way is still done.
impl Drop for Inner {
    fn drop(&mut self) {
        drop(self.works.take());
        if let Some(thread) = self.thread.take() {
            // A panic was told to whoever waited.
            drop(thread.join());
        }
    }
}

impl KeyValue for SqliteKeys {
    async fn get(&self, key: &str) -> Result<Option<Vec<u8>>> {
        let key = key.to_owned();
        self.ask(Effect::None, move |connection| read(connection, &key)).await
    }

    async fn get_many(&self, keys: &[String]) -> Result<Vec<Option<Vec<u8>>>> {
        let keys = keys.to_vec();
        self.ask(Effect::None, move |connection| keys.iter().map(|key| read(connection, key)).collect()).await
    }

    async fn put(&self, key: &str, value: &[u8], put: Put) -> Result<bool> {
        if !is_key(key) {
            return Err(Error::new(Code::InputInvalid, format!("`{key}` is not a key")));
        }
        let (key, value) = (key.to_owned(), value.to_vec());
        // In one transaction with all who put at the same time: nobody sees a key between these.
        self.ask(Effect::Change, move |connection| {
            if put.only_new && is_there(connection, &key)? {
                return Ok(false);
            }
            let ends = put.lasts.map(|lasts| now().saturating_add(millis(lasts)));
            let insert = "INSERT INTO value (key, body, ends) VALUES (?1, ?2, ?3) \
                          ON CONFLICT (key) DO UPDATE SET body = excluded.body, ends = excluded.ends";
            connection.prepare_cached(insert)?.execute(params![key, value, ends])?;
            if ends.is_some() {
                // Whoever puts what lapses also removes what has.
                connection.prepare_cached("DELETE FROM value WHERE ends <= ?1")?.execute([now()])?;
            }
            Ok(true)
        })
        .await
    }

    async fn delete(&self, keys: &[String]) -> Result<()> {
        let keys = keys.to_vec();
        self.ask(Effect::Change, move |connection| {
            let mut statement = connection.prepare_cached("DELETE FROM value WHERE key = ?1")?;
            keys.iter().try_for_each(|key| statement.execute([key]).map(drop))
        })
        .await
    }

    async fn list(&self, prefix: &str, after: Option<&str>, limit: usize) -> Result<Vec<String>> {
        // A range, because every pattern has characters with a meaning: no key has one as high as the last of these.
        let (first, end) = (prefix.to_owned(), format!("{prefix}\u{7f}"));
        let (after, limit) = (after.unwrap_or_default().to_owned(), i64::try_from(limit).unwrap_or(i64::MAX));
        self.ask(Effect::None, move |connection| {
            let keys = "SELECT key FROM value WHERE key >= ?1 AND key < ?2 AND key > ?3 AND (ends IS NULL OR ends > ?4) \
                        ORDER BY key LIMIT ?5";
            let mut statement = connection.prepare_cached(keys)?;
            statement.query_map(params![first, end, after, now(), limit], |row| row.get(0))?.collect()
        })
        .await
    }
}

fn read(connection: &Connection, key: &str) -> rusqlite::Result<Option<Vec<u8>>> {
    let one = "SELECT body FROM value WHERE key = ?1 AND (ends IS NULL OR ends > ?2)";
    connection.prepare_cached(one)?.query_row(params![key, now()], |row| row.get(0)).optional()
}

fn is_there(connection: &Connection, key: &str) -> rusqlite::Result<bool> {
    let one = "SELECT 1 FROM value WHERE key = ?1 AND (ends IS NULL OR ends > ?2)";
    connection.prepare_cached(one)?.exists(params![key, now()])
}

fn now() -> i64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, millis)
}

fn millis(time: Duration) -> i64 {
    i64::try_from(time.as_millis()).unwrap_or(i64::MAX).max(1)
}

/// Why a file was not opened.
enum Trouble {
    Database(rusqlite::Error),
    Refused(Error),
}

impl From<rusqlite::Error> for Trouble {
    fn from(error: rusqlite::Error) -> Self {
        Self::Database(error)
    }
}

impl Trouble {
    fn describe(self, path: &Path) -> Error {
        match self {
            Self::Database(error) => describe(&error, path),
            Self::Refused(error) => error,
        }
    }
}

fn connect(path: &Path) -> Result<Connection, Trouble> {
    let mut connection = Connection::open(path)?;
    connection.busy_timeout(BUSY)?;
    if !write_ahead::keep(&connection, BUSY)? {
        let message = format!("`{}` is on a disk that cannot keep a write-ahead log", path.display());
        return Err(Trouble::Refused(Error::new(Code::StoreUnavailable, message).retryable(false)));
    }
    connection.pragma_update(None, "synchronous", "FULL")?;
    let transaction = connection.transaction_with_behavior(rusqlite::TransactionBehavior::Immediate)?;
    let number = |pragma: &str| transaction.pragma_query_value(None, pragma, |row| row.get::<_, i32>(0));
    let tables: i64 = transaction.query_row("SELECT count(*) FROM sqlite_schema", [], |row| row.get(0))?;
    match (number("application_id")?, number("user_version")?) {
        (APPLICATION, VERSION) => {}
        (APPLICATION, version) if version > VERSION => {
            let message =
                format!("`{}` has a table of version {version}; this program knows {VERSION}", path.display());
            return Err(Trouble::Refused(Error::new(Code::CheckpointTooNew, message)));
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
            let error = Error::new(Code::ConfigInvalid, message);
            return Err(Trouble::Refused(error.help("name another file; nothing was changed in this one")));
        }
    }
    transaction.execute("DELETE FROM value WHERE ends <= ?1", [now()])?;
    transaction.commit()?;
    Ok(connection)
}

/// Whether something changes the file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Effect {
    None,
    Change,
}

/// Something to be done in a transaction. Done again from the start when the transaction was taken back.
trait Work: Send {
    fn effect(&self) -> Effect;
    fn run(&mut self, connection: &Connection) -> rusqlite::Result<()>;
    /// Tells whoever waits; `failure` when it came to nothing.
    fn tell(self: Box<Self>, failure: Option<&Error>);
}

struct Task<F, T> {
    effect: Effect,
    question: F,
    given: Option<T>,
    reply: oneshot::Sender<Result<T>>,
}

impl<F: FnMut(&Connection) -> rusqlite::Result<T> + Send, T: Send> Work for Task<F, T> {
    fn effect(&self) -> Effect {
        self.effect
    }

    fn run(&mut self, connection: &Connection) -> rusqlite::Result<()> {
        self.given = Some((self.question)(connection)?);
        Ok(())
    }

    fn tell(self: Box<Self>, failure: Option<&Error>) {
        let given = match (failure, self.given) {
            (None, Some(given)) => Ok(given),
            (Some(failure), _) => Err(failure.clone()),
            (None, None) => Err(Error::internal("work was told and not done")),
        };
        // Nobody may wait any longer; what is saved is saved.
        drop(self.reply.send(given));
    }
}

/// The thread.
struct Room {
    connection: Connection,
    path: PathBuf,
    /// A write failed: only a new connection can tell what the system kept of it.
    is_spoilt: bool,
}

impl Room {
    fn work(&mut self, inbox: &Receiver<Box<dyn Work>>) {
        while let Ok(first) = inbox.recv() {
            let mut batch = vec![first];
            batch.extend(inbox.try_iter().take(LARGEST_BATCH - 1));
            self.perform(batch);
        }
    }

    fn perform(&mut self, mut batch: Vec<Box<dyn Work>>) {
        match self.transact(&mut batch) {
            Ok(()) => batch.into_iter().for_each(|work| work.tell(None)),
            Err(_) if batch.len() > 1 && !self.is_spoilt => {
                // One of them is at fault; the others need not suffer for it.
                batch.into_iter().for_each(|work| self.perform(vec![work]));
            }
            Err(error) => batch.into_iter().for_each(|work| work.tell(Some(&error))),
        }
    }

    fn transact(&mut self, batch: &mut [Box<dyn Work>]) -> Result<()> {
        if self.is_spoilt {
            self.connection = connect(&self.path).map_err(|trouble| trouble.describe(&self.path))?;
            self.is_spoilt = false;
        }
        let changes = batch.iter().any(|work| work.effect() == Effect::Change);
        let connection = &self.connection;
        let done = connection
            .prepare_cached(if changes { "BEGIN IMMEDIATE" } else { "BEGIN" })
            .and_then(|mut begin| begin.execute([]))
            .and_then(|_| batch.iter_mut().try_for_each(|work| work.run(connection)))
            .and_then(|()| connection.prepare_cached("COMMIT")?.execute([]));
        done.map(drop).map_err(|error| {
            // SQLite takes some transactions back by itself.
            let is_back = self.connection.is_autocommit() || self.connection.execute_batch("ROLLBACK").is_ok();
            self.is_spoilt = !is_back || spoils_connection(&error);
            describe(&error, &self.path)
        })
    }
}

fn spoils_connection(error: &rusqlite::Error) -> bool {
    use ErrorCode::{CannotOpen, DatabaseCorrupt, NotADatabase, ReadOnly, SystemIoFailure};
    let code = error.sqlite_error_code();
    matches!(code, Some(SystemIoFailure | DatabaseCorrupt | NotADatabase | CannotOpen | ReadOnly))
}

/// A failure of the database as an error of ours.
fn describe(error: &rusqlite::Error, path: &Path) -> Error {
    let path = path.display();
    let outage = |message: String, help: &str| Error::new(Code::StoreUnavailable, message).help(help);
    let described = match error.sqlite_error_code() {
        Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => outage(
            format!("another process has been writing to `{path}` for too long"),
            "nothing of this was saved; try again",
        ),
        Some(ErrorCode::DiskFull) => outage(
            format!("the disk with `{path}` is full"),
            "this was not saved, everything before it is; free some space and go on with the thread",
        ),
        Some(ErrorCode::ReadOnly | ErrorCode::PermissionDenied | ErrorCode::CannotOpen) => outage(
            format!("`{path}` cannot be opened or written"),
            "nothing of this was saved; see that the folder exists and the program may write in it",
        )
        .retryable(false),
        Some(ErrorCode::NotADatabase | ErrorCode::DatabaseCorrupt) => {
            Error::new(Code::CheckpointCorrupt, format!("`{path}` is damaged, or not an SQLite file"))
                .help("restore the file from a copy, or name another")
        }
        Some(ErrorCode::TooBig) => Error::new(Code::TooLarge, format!("a value is too long for `{path}`"))
            .help("SQLite takes values of up to a thousand million bytes"),
        _ => outage(
            format!("reading or writing `{path}` failed"),
            "this may not be saved, everything told before it is; look at the disk, then go on with the thread",
        ),
    };
    let cause: Box<dyn std::error::Error + Send + Sync> = error.to_string().into();
    described.caused_by(Arc::from(cause))
}
