//! Liveness of the processes that hold leases.
//!
//! An open checkpointer holds a lock on a file next to the database. The operating system releases the lock when the
//! process ends for any reason, so the threads of a dead process can be taken over immediately, without a clock. A
//! process that is alive but makes no progress (suspended or swapped out) is detected by its heartbeat, a number that
//! it increments every few seconds: a process that sees the same number for longer than the lease timeout, by its own
//! clock, may take over. Late writes of the other process are then rejected by their fence.

use std::collections::BTreeMap;
use std::fs::{File, OpenOptions, TryLockError};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use rusqlite::{Connection, OptionalExtension};
use superstep_core::error::{Error, ErrorCode, Result};

use super::error::SqliteResult;
use super::schema::DatabasePath;

/// Separator between the name of the database and the token in the name of a lock file.
const LOCK_FILE_INFIX: &str = "-holder-";

/// A lease holder: one checkpointer of a process.
pub(super) struct LeaseHolder {
    /// Random id, which is never used again.
    id: i64,
    /// True if the holder has a row in the database.
    pub(super) is_written: bool,
    lock: Option<(File, PathBuf)>,
}

impl LeaseHolder {
    pub(super) fn new(database: &DatabasePath) -> Result<Self> {
        loop {
            let id = random()?;
            let Some(path) = database.path() else { return Ok(Self { id, is_written: false, lock: None }) };
            // A file that is not locked yet looks like an abandoned one. If another process has just removed it, a
            // new name is used.
            if let Some(lock) = lock_file(&lock_path(path, &token(id)))? {
                return Ok(Self { id, is_written: false, lock: Some(lock) });
            }
        }
    }

    /// Returns the id of the row of this holder, inserting the row if necessary.
    pub(super) fn row(&mut self, connection: &Connection) -> SqliteResult<i64> {
        if !self.is_written {
            // After a failed transaction, the row may or may not exist.
            let upsert = "INSERT INTO holder (id, beat) VALUES (?1, 0) ON CONFLICT (id) DO UPDATE SET beat = beat + 1";
            connection.execute(upsert, [self.id])?;
            self.is_written = true;
        }
        Ok(self.id)
    }

    /// Sends a heartbeat. A row that may have been lost in a failed transaction is inserted again, which counts as a
    /// heartbeat.
    pub(super) fn heartbeat(&mut self, connection: &Connection) -> SqliteResult<()> {
        if !self.is_written {
            return self.row(connection).map(drop);
        }
        let mut statement = connection.prepare_cached("UPDATE holder SET beat = beat + 1 WHERE id = ?1")?;
        statement.execute([self.id])?;
        Ok(())
    }

    /// Deletes the row of this holder.
    pub(super) fn release(&mut self, connection: &Connection) {
        // A row that remains belongs to no live process and is removed by the next one that checks it.
        if std::mem::take(&mut self.is_written) {
            let _ = connection.execute("DELETE FROM holder WHERE id = ?1", [self.id]);
        }
    }
}

impl Drop for LeaseHolder {
    fn drop(&mut self) {
        if let Some((_, path)) = self.lock.take() {
            let _ = std::fs::remove_file(path);
        }
    }
}

fn lock_path(database: &Path, token: &str) -> PathBuf {
    let mut name = database.as_os_str().to_owned();
    name.push(LOCK_FILE_INFIX);
    name.push(token);
    name.into()
}

fn random() -> Result<i64> {
    let mut bits = [0_u8; 8];
    getrandom::fill(&mut bits)
        .map_err(|error| Error::internal(format!("the system returned no random bytes: {error}")))?;
    Ok((u64::from_le_bytes(bits) >> 1).cast_signed())
}

/// Returns the token of a holder in the name of its lock file.
fn token(id: i64) -> String {
    format!("{id:016x}")
}

fn is_token(text: &str) -> bool {
    text.len() == 16 && text.bytes().all(|byte| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte))
}

/// Creates and locks a file; `None` if another process removed it before it was locked.
fn lock_file(path: &Path) -> Result<Option<(File, PathBuf)>> {
    let created = OpenOptions::new().write(true).create_new(true).open(path);
    let locked = created.and_then(|file| match file.try_lock() {
        Ok(()) => Ok(path.exists().then_some(file)),
        Err(TryLockError::WouldBlock) => Ok(None),
        Err(TryLockError::Error(error)) => Err(error),
    });
    locked.map(|file| file.map(|file| (file, path.to_owned()))).map_err(|error| {
        Error::new(ErrorCode::StoreUnavailable, format!("failed to create and lock `{}`", path.display()))
            .with_help("the folder of the database must be writable and on a local disk")
            .with_retryable(false)
            .with_source(Arc::new(error) as Arc<dyn std::error::Error + Send + Sync>)
    })
}

/// Monitor of other lease holders.
#[derive(Clone)]
pub(super) struct HolderMonitor(Arc<MonitorState>);

struct MonitorState {
    database: Option<PathBuf>,
    lease_timeout: Duration,
    heartbeats: Mutex<BTreeMap<i64, (i64, Instant)>>,
}

impl HolderMonitor {
    pub(super) fn new(database: &DatabasePath, lease_timeout: Duration) -> Self {
        Self(Arc::new(MonitorState {
            database: database.path().map(Path::to_owned),
            lease_timeout,
            heartbeats: Mutex::default(),
        }))
    }

    /// Removes the rows and files of dead holders.
    pub(super) fn remove_dead_holders(&self, connection: &Connection) -> SqliteResult<()> {
        let mut statement = connection.prepare("SELECT id FROM holder")?;
        let holders: Vec<i64> = statement.query_map([], |row| row.get(0))?.collect::<rusqlite::Result<_>>()?;
        for holder in holders.iter().filter(|holder| !self.has_lock(&token(**holder))) {
            connection.execute("DELETE FROM holder WHERE id = ?1", [holder])?;
        }
        self.sweep_files();
        Ok(())
    }

    /// Removes lock files of processes that died before they had a row. A file that cannot be removed is left for a
    /// later sweep.
    fn sweep_files(&self) {
        let Some(database) = &self.0.database else { return };
        let Some(name) = database.file_name().and_then(|name| name.to_str()) else { return };
        let folder = database.parent().filter(|folder| !folder.as_os_str().is_empty());
        let Ok(files) = std::fs::read_dir(folder.unwrap_or(Path::new("."))) else { return };
        for file in files.flatten() {
            let file = file.file_name();
            let token = file.to_str().and_then(|file| file.strip_prefix(name)?.strip_prefix(LOCK_FILE_INFIX));
            if let Some(token) = token.filter(|token| is_token(token)) {
                // Checking a lock removes its file if no process holds it.
                self.has_lock(token);
            }
        }
    }

    /// Returns true if another holder is alive and makes progress.
    pub(super) fn is_alive(&self, connection: &Connection, holder: i64) -> SqliteResult<bool> {
        let mut statement = connection.prepare_cached("SELECT beat FROM holder WHERE id = ?1")?;
        let result = statement.query_row([holder], |row| row.get::<_, i64>(0));
        let Some(heartbeat) = result.optional()? else { return Ok(false) };
        Ok(self.has_lock(&token(holder)) && self.has_recent_heartbeat(holder, heartbeat))
    }

    fn has_lock(&self, token: &str) -> bool {
        let Some(database) = &self.0.database else { return true };
        let path = lock_path(database, token);
        let Ok(file) = OpenOptions::new().write(true).open(&path) else { return path.exists() };
        match file.try_lock() {
            Ok(()) => {
                let _ = std::fs::remove_file(&path);
                false
            }
            Err(TryLockError::WouldBlock | TryLockError::Error(_)) => true,
        }
    }

    fn has_recent_heartbeat(&self, holder: i64, heartbeat: i64) -> bool {
        let now = Instant::now();
        let mut heartbeats = self.0.heartbeats.lock().unwrap_or_else(PoisonError::into_inner);
        let entry = heartbeats.entry(holder).or_insert((heartbeat, now));
        if entry.0 != heartbeat {
            *entry = (heartbeat, now);
        }
        now.duration_since(entry.1) < self.0.lease_timeout
    }
}
