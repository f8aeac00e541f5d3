//! Write-ahead logging of SQLite files, shared by the adapters that use such files.

use std::time::{Duration, Instant};

use rusqlite::{Connection, ErrorCode, Result};

/// Delay before a retry.
const RETRY_DELAY: Duration = Duration::from_millis(2);

/// Enables write-ahead logging; returns false if the filesystem does not support it.
///
/// SQLite ignores its busy timeout for this statement: without retries, one of two processes that open a new file at
/// the same time would fail.
pub(crate) fn enable_wal(connection: &Connection, timeout: Duration) -> Result<bool> {
    let started = Instant::now();
    loop {
        match connection.pragma_update_and_check(None, "journal_mode", "wal", |row| row.get::<_, String>(0)) {
            Err(error) if is_busy(&error) && started.elapsed() < timeout => std::thread::sleep(RETRY_DELAY),
            mode => return Ok(mode? == "wal"),
        }
    }
}

fn is_busy(error: &rusqlite::Error) -> bool {
    matches!(error.sqlite_error_code(), Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked))
}
