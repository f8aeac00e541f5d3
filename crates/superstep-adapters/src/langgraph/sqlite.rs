//! The tables of LangGraph's SQLite checkpointer, opened read-only.

use std::path::{Path, PathBuf};
use std::time::Duration;

use rusqlite::{Connection, OpenFlags, Row};
use superstep_core::error::{Error, ErrorCode, Result};

use super::rows::{CheckpointBody, EncodedValue, RowContext, SourceCheckpointRow, SourceWriteRow, ThreadRows};

/// Time to wait for a process that writes.
const BUSY_TIMEOUT: Duration = Duration::from_secs(5);

pub(super) struct SqliteSource {
    path: PathBuf,
}

impl SqliteSource {
    pub(super) fn open(path: &Path) -> Result<Self> {
        let file = Self { path: path.to_owned() };
        let table_count: i64 = file.with_connection(|connection| {
            let tables =
                "SELECT count(*) FROM sqlite_master WHERE type = 'table' AND name IN ('checkpoints', 'writes')";
            connection.query_row(tables, [], |row| row.get(0))
        })?;
        if table_count == 2 {
            return Ok(file);
        }
        let message = format!("`{}` is not a database of LangGraph's SQLite checkpointer", path.display());
        Err(Error::new(ErrorCode::InputInvalid, message)
            .with_help("use a file with the tables `checkpoints` and `writes`"))
    }

    fn with_connection<T>(&self, query: impl FnOnce(&Connection) -> rusqlite::Result<T>) -> Result<T> {
        let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let result = Connection::open_with_flags(&self.path, flags).and_then(|connection| {
            connection.busy_timeout(BUSY_TIMEOUT)?;
            // One read transaction, so that all rows belong to one state.
            connection.execute_batch("BEGIN")?;
            query(&connection)
        });
        result.map_err(|error| {
            let message = format!("`{}` cannot be read: {error}", self.path.display());
            Error::new(ErrorCode::InputInvalid, message).with_help("nothing was imported; the file is unchanged")
        })
    }

    pub(super) fn threads(&self) -> Result<Vec<String>> {
        self.with_connection(|connection| {
            let mut rows = connection.prepare("SELECT DISTINCT thread_id FROM checkpoints ORDER BY thread_id")?;
            rows.query_map([], |row| row.get(0))?.collect()
        })
    }

    pub(super) fn read(&self, thread: &str) -> Result<ThreadRows> {
        let (checkpoints, writes) = self.with_connection(|connection| {
            let mut query = connection.prepare(
                "SELECT checkpoint_ns, checkpoint_id, parent_checkpoint_id, type, checkpoint, metadata FROM checkpoints \
                 WHERE thread_id = ? ORDER BY checkpoint_id",
            )?;
            let checkpoints = query.query_map([thread], |row| Ok((checkpoint(row)?, bytes(row, 5)?)))?;
            let checkpoints = checkpoints.collect::<rusqlite::Result<Vec<_>>>()?;
            // Files from before 2024 have no column for the path.
            let has_path = "SELECT count(*) FROM pragma_table_info('writes') WHERE name = 'task_path'";
            let path = match connection.query_row(has_path, [], |row| row.get(0))? {
                0 => "''",
                _ => "task_path",
            };
            let mut query = connection.prepare(&format!(
                "SELECT checkpoint_ns, checkpoint_id, task_id, {path} AS path, channel, type, value FROM writes \
                 WHERE thread_id = ? ORDER BY path, task_id, idx"
            ))?;
            let writes = query.query_map([thread], |row| Ok(((row.get(0)?, row.get(1)?), write(row)?)))?;
            Ok((checkpoints, writes.collect::<rusqlite::Result<Vec<_>>>()?))
        })?;
        let mut rows = ThreadRows { thread: thread.to_owned(), ..ThreadRows::default() };
        for (mut row, metadata) in checkpoints {
            if !metadata.is_empty() {
                let context = RowContext { thread, checkpoint: &row.id };
                row.metadata = serde_json::from_slice(&metadata)
                    .map_err(|error| context.unreadable(None, &format!("the metadata cannot be read: {error}")))?;
            }
            rows.checkpoints.push(row);
        }
        for (key, write) in writes {
            rows.writes.entry(key).or_default().push(write);
        }
        Ok(rows)
    }
}

fn checkpoint(row: &Row<'_>) -> rusqlite::Result<SourceCheckpointRow> {
    let value = EncodedValue { encoding: encoding(row, 3)?, bytes: bytes(row, 4)? };
    Ok(SourceCheckpointRow {
        namespace: row.get(0)?,
        id: row.get(1)?,
        parent: row.get(2)?,
        checkpoint: CheckpointBody::Full(value),
        metadata: serde_json::json!({}),
    })
}

fn write(row: &Row<'_>) -> rusqlite::Result<SourceWriteRow> {
    let value = EncodedValue { encoding: encoding(row, 5)?, bytes: bytes(row, 6)? };
    Ok(SourceWriteRow { task: row.get(2)?, path: row.get(3)?, channel: row.get(4)?, value })
}

/// Returns the name of the encoding; rows of the first versions have none.
fn encoding(row: &Row<'_>, column: usize) -> rusqlite::Result<String> {
    Ok(row.get::<_, Option<String>>(column)?.unwrap_or_else(|| "json".to_owned()))
}

/// Returns a text or blob as bytes: the column type depends on the writer.
fn bytes(row: &Row<'_>, column: usize) -> rusqlite::Result<Vec<u8>> {
    use rusqlite::types::ValueRef;
    Ok(match row.get_ref(column)? {
        ValueRef::Text(bytes) | ValueRef::Blob(bytes) => bytes.to_vec(),
        _ => Vec::new(),
    })
}
