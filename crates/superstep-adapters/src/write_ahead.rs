//! The write-ahead log of an SQLite file. Shared by the doors that keep such files.

use std::time::{Duration, Instant};

use rusqlite::{Connection, ErrorCode, Result};

/// How long to wait before somebody else has got further.
const PAUSE: Duration = Duration::from_millis(2);

/// Has a file keep a write-ahead log; whether its disk can.
///
/// SQLite waits for nobody here, whatever its timeout: of two that open a new file at once one would be refused.
pub(crate) fn keep(connection: &Connection, patience: Duration) -> Result<bool> {
    let begun = Instant::now();
    loop {
        match connection.pragma_update_and_check(None, "journal_mode", "wal", |row| row.get::<_, String>(0)) {
            Err(error) if is_busy(&error) && begun.elapsed() < patience => std::thread::sleep(PAUSE),
            mode => return Ok(mode? == "wal"),
        }
    }
}

fn is_busy(error: &rusqlite::Error) -> bool {
    matches!(error.sqlite_error_code(), Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked))
}
