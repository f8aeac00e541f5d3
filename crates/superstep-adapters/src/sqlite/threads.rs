//! Operations on whole threads: delete, copy, list, count.

use rusqlite::{Connection, OptionalExtension, params};
use superstep_core::checkpoint::CheckpointNamespace;
use superstep_core::id::ThreadId;
use superstep_core::port::{CheckpointerStats, ThreadStatus, ThreadsQuery};

use super::error::{SqliteError, SqliteResult};
use super::journal;
use super::lease;
use super::lease_holder::HolderMonitor;
use super::schema::{checksum_in_history, key, keys};
use crate::change_log::{self, history_checksum};

/// Tables whose rows belong to a history, with their columns except key and checksum.
const TABLES: [(&str, &str); 4] = [
    ("origin", "body"),
    ("checkpoint", "id, parent, step, source, time, origin, ahead, heads, vals"),
    ("part", "field, before, change, body"),
    ("remnant", "vals"),
];

fn history_ids(connection: &Connection, thread: i64) -> SqliteResult<Vec<i64>> {
    let mut statement = connection.prepare_cached("SELECT id FROM line WHERE thread = ?1 ORDER BY id")?;
    Ok(statement.query_map([thread], |row| row.get(0))?.collect::<rusqlite::Result<_>>()?)
}

/// Deletes a thread. Returns an error while a run holds a lease on it.
pub(super) fn delete_thread(connection: &Connection, thread: &ThreadId, monitor: &HolderMonitor) -> SqliteResult<()> {
    let Some(row) = lease::check_not_running(connection, thread, monitor)? else { return Ok(()) };
    for history_id in history_ids(connection, row)? {
        for (table, _) in TABLES {
            connection.execute(&format!("DELETE FROM {table} WHERE key BETWEEN ?1 AND ?2"), keys(history_id))?;
        }
        connection.execute("DELETE FROM pending WHERE checkpoint BETWEEN ?1 AND ?2", keys(history_id))?;
    }
    connection.execute("DELETE FROM line WHERE thread = ?1", [row])?;
    connection.execute("DELETE FROM thread WHERE id = ?1", [row])?;
    Ok(())
}

/// Copies a thread to one that does not exist yet.
pub(super) fn copy_thread(connection: &Connection, from: &ThreadId, to: &ThreadId) -> SqliteResult<()> {
    let find = |thread: &ThreadId| {
        let mut statement = connection.prepare_cached("SELECT id, status FROM thread WHERE name = ?1")?;
        let result =
            statement.query_row([thread.as_str()], |row| Ok((row.get::<_, i64>(0)?, row.get::<_, Option<u8>>(1)?)));
        result.optional()
    };
    let Some((source, Some(status))) = find(from)? else {
        return Err(SqliteError::Rejected(change_log::source_thread_not_found(from)));
    };
    // A thread that was acquired and released without saving anything does not exist.
    connection.execute("DELETE FROM thread WHERE name = ?1 AND status IS NULL AND holder IS NULL", [to.as_str()])?;
    if find(to)?.is_some() {
        return Err(SqliteError::Rejected(change_log::thread_already_exists(to)));
    }
    // No run holds a lease on the copy.
    let status = if status == ThreadStatus::Busy.number() { ThreadStatus::Idle.number() } else { status };
    connection.execute("INSERT INTO thread (name, fence, status) VALUES (?1, 0, ?2)", params![to.as_str(), status])?;
    let copy = connection.last_insert_rowid();
    journal::copy(connection, source, copy)?;
    for history_id in history_ids(connection, source)? {
        let target = copy_history_row(connection, history_id, (copy, to))?;
        let (first, last) = keys(history_id);
        let (offset, sums) =
            (key(target, 0) - first, checksum_in_history(target, 0) - checksum_in_history(history_id, 0));
        for (table, columns) in TABLES {
            let copy_rows = format!(
                "INSERT INTO {table} (key, {columns}, sum) SELECT key + ?3, {columns}, sum + ?4 FROM {table} \
                 WHERE key BETWEEN ?1 AND ?2 ORDER BY key"
            );
            connection.execute(&copy_rows, params![first, last, offset, sums])?;
        }
        // The order of the rows is the order of the entries.
        let pending = "INSERT INTO pending (checkpoint, task, slot, body, sum) \
                       SELECT checkpoint + ?3, task, slot, body, sum + ?4 FROM pending \
                       WHERE checkpoint BETWEEN ?1 AND ?2 ORDER BY id";
        connection.execute(pending, params![first, last, offset, sums])?;
    }
    Ok(())
}

/// Copies the row of a history to another thread, without its checkpoints.
fn copy_history_row(connection: &Connection, history_id: i64, (thread, name): (i64, &ThreadId)) -> SqliteResult<i64> {
    let result = connection.query_row("SELECT namespace, names FROM line WHERE id = ?1", [history_id], |row| {
        Ok((row.get::<_, String>(0)?, row.get::<_, String>(1)?))
    });
    let (path, names) = result?;
    let sum = history_checksum(name, &CheckpointNamespace::from(&*path), &names);
    let insert = "INSERT INTO line (thread, namespace, names, sum) VALUES (?1, ?2, ?3, ?4)";
    connection.execute(insert, params![thread, path, names, sum])?;
    Ok(connection.last_insert_rowid())
}

/// Lists the ids of threads in ascending order.
pub(super) fn threads(connection: &Connection, query: &ThreadsQuery) -> SqliteResult<Vec<ThreadId>> {
    let sql = "SELECT name FROM thread WHERE status IS NOT NULL AND name > ?1 ORDER BY name LIMIT ?2";
    let (after, limit) = (query.after.as_ref().map_or("", ThreadId::as_str), query.limit.unwrap_or(usize::MAX));
    let mut statement = connection.prepare_cached(sql)?;
    let names = statement.query_map(params![after, i64::try_from(limit).unwrap_or(i64::MAX)], |row| row.get(0))?;
    Ok(names.map(|name| name.map(|name: String| name.into())).collect::<rusqlite::Result<_>>()?)
}

/// Counts the content of the file.
pub(super) fn stats(connection: &Connection) -> SqliteResult<CheckpointerStats> {
    let number = |query: &str| connection.query_row(query, [], |row| row.get::<_, i64>(0)).map(i64::cast_unsigned);
    Ok(CheckpointerStats {
        threads: number("SELECT count(*) FROM thread WHERE status IS NOT NULL")?,
        checkpoints: number("SELECT count(*) FROM checkpoint")?,
        bytes: number("SELECT coalesce(sum(length(vals)), 0) FROM checkpoint")?
            + number("SELECT coalesce(sum(length(vals)), 0) FROM remnant")?
            + number("SELECT coalesce(sum(length(body)), 0) FROM part")?
            + number("SELECT coalesce(sum(length(body)), 0) FROM event")?,
    })
}
