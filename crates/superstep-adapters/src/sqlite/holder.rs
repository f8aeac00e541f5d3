//! Which processes are alive, as far as they hold threads.
//!
//! An open store keeps a file beside the database locked. The system lets go of the lock when the process ends, however it
//! ends: so the threads of a dead one can be taken at once, and no clock is asked. One that is alive but
//! stands still (stopped, or swapped out for good) is told by its beat, a number it raises every few seconds: whoever saw
//! the same number for longer than a lease lasts, by its own clock, may take over. Late writes of the other are then
//! refused by their fence.

use std::collections::BTreeMap;
use std::fs::{File, OpenOptions, TryLockError};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use rusqlite::{Connection, OptionalExtension};
use superstep_core::error::{Code, Error, Result};

use super::open::Place;
use super::trouble::Answer;

/// What stands between the name of a database and a token in the name of a lock.
const MARK: &str = "-holder-";

/// One process, or one store within it.
pub(super) struct Holder {
    /// Its number, which nobody else ever has.
    id: i64,
    /// It has a row.
    pub(super) is_written: bool,
    lock: Option<(File, PathBuf)>,
}

impl Holder {
    pub(super) fn new(place: &Place) -> Result<Self> {
        loop {
            let id = random()?;
            let Some(path) = place.path() else { return Ok(Self { id, is_written: false, lock: None }) };
            // A file that is not locked yet looks like one that was left behind. Whoever swept it away just now gets
            // another name to look at, never the same one again.
            if let Some(lock) = lock_file(&lock_path(path, &token(id)))? {
                return Ok(Self { id, is_written: false, lock: Some(lock) });
            }
        }
    }

    /// Its row in this database.
    pub(super) fn row(&mut self, connection: &Connection) -> Answer<i64> {
        if !self.is_written {
            // After a transaction that failed nobody knows whether the row went with it.
            let put = "INSERT INTO holder (id, beat) VALUES (?1, 0) ON CONFLICT (id) DO UPDATE SET beat = beat + 1";
            connection.execute(put, [self.id])?;
            self.is_written = true;
        }
        Ok(self.id)
    }

    /// Says that it is alive. A row that may have gone with a failed transaction is made anew, which says the same.
    pub(super) fn beat(&mut self, connection: &Connection) -> Answer<()> {
        if !self.is_written {
            return self.row(connection).map(drop);
        }
        let mut statement = connection.prepare_cached("UPDATE holder SET beat = beat + 1 WHERE id = ?1")?;
        statement.execute([self.id])?;
        Ok(())
    }

    /// Leaves nothing behind.
    pub(super) fn leave(&mut self, connection: &Connection) {
        // A row that stays is of nobody who is alive, and is removed by the next who looks.
        if std::mem::take(&mut self.is_written) {
            let _ = connection.execute("DELETE FROM holder WHERE id = ?1", [self.id]);
        }
    }
}

impl Drop for Holder {
    fn drop(&mut self) {
        if let Some((_, path)) = self.lock.take() {
            let _ = std::fs::remove_file(path);
        }
    }
}

fn lock_path(database: &Path, token: &str) -> PathBuf {
    let mut name = database.as_os_str().to_owned();
    name.push(MARK);
    name.push(token);
    name.into()
}

fn random() -> Result<i64> {
    let mut bits = [0_u8; 8];
    getrandom::fill(&mut bits).map_err(|error| Error::internal(format!("no randomness: {error}")))?;
    Ok((u64::from_le_bytes(bits) >> 1).cast_signed())
}

/// A holder in the name of its lock.
fn token(id: i64) -> String {
    format!("{id:016x}")
}

fn is_token(text: &str) -> bool {
    text.len() == 16 && text.bytes().all(|byte| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte))
}

/// Makes a file and locks it; `None` when somebody took it away before it was locked.
fn lock_file(path: &Path) -> Result<Option<(File, PathBuf)>> {
    let made = OpenOptions::new().write(true).create_new(true).open(path);
    let locked = made.and_then(|file| match file.try_lock() {
        Ok(()) => Ok(path.exists().then_some(file)),
        Err(TryLockError::WouldBlock) => Ok(None),
        Err(TryLockError::Error(error)) => Err(error),
    });
    locked.map(|file| file.map(|file| (file, path.to_owned()))).map_err(|error| {
        Error::new(Code::StoreUnavailable, format!("`{}` cannot be made and locked", path.display()))
            .help("the folder of the database must be writable, on a disk of this machine")
            .retryable(false)
            .caused_by(Arc::new(error) as Arc<dyn std::error::Error + Send + Sync>)
    })
}

/// Watches other holders.
#[derive(Clone)]
pub(super) struct Watch(Arc<Watching>);

struct Watching {
    database: Option<PathBuf>,
    lapse: Duration,
    seen: Mutex<BTreeMap<i64, (i64, Instant)>>,
}

impl Watch {
    pub(super) fn new(place: &Place, lapse: Duration) -> Self {
        Self(Arc::new(Watching { database: place.path().map(Path::to_owned), lapse, seen: Mutex::default() }))
    }

    /// Removes what holders left behind that are gone.
    pub(super) fn sweep(&self, connection: &Connection) -> Answer<()> {
        let mut statement = connection.prepare("SELECT id FROM holder")?;
        let holders: Vec<i64> = statement.query_map([], |row| row.get(0))?.collect::<rusqlite::Result<_>>()?;
        for holder in holders.iter().filter(|holder| !self.has_lock(&token(**holder))) {
            connection.execute("DELETE FROM holder WHERE id = ?1", [holder])?;
        }
        self.sweep_files();
        Ok(())
    }

    /// Removes files of processes that died before they had a row. What cannot be removed now is litter until later.
    fn sweep_files(&self) {
        let Some(database) = &self.0.database else { return };
        let Some(name) = database.file_name().and_then(|name| name.to_str()) else { return };
        let folder = database.parent().filter(|folder| !folder.as_os_str().is_empty());
        let Ok(files) = std::fs::read_dir(folder.unwrap_or(Path::new("."))) else { return };
        for file in files.flatten() {
            let file = file.file_name();
            let token = file.to_str().and_then(|file| file.strip_prefix(name)?.strip_prefix(MARK));
            if let Some(token) = token.filter(|token| is_token(token)) {
                // Whoever looks at a lock removes the file when nobody has it.
                self.has_lock(token);
            }
        }
    }

    /// Whether another holder still moves its threads.
    pub(super) fn is_alive(&self, connection: &Connection, holder: i64) -> Answer<bool> {
        let mut statement = connection.prepare_cached("SELECT beat FROM holder WHERE id = ?1")?;
        let found = statement.query_row([holder], |row| row.get::<_, i64>(0));
        let Some(beat) = found.optional()? else { return Ok(false) };
        Ok(self.has_lock(&token(holder)) && self.has_beaten(holder, beat))
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

    fn has_beaten(&self, holder: i64, beat: i64) -> bool {
        let now = Instant::now();
        let mut seen = self.0.seen.lock().unwrap_or_else(PoisonError::into_inner);
        let entry = seen.entry(holder).or_insert((beat, now));
        if entry.0 != beat {
            *entry = (beat, now);
        }
        now.duration_since(entry.1) < self.0.lapse
    }
}
