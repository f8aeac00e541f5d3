//! What is done to whole threads: deleting, copying, counting.

use rusqlite::{Connection, OptionalExtension, params};
use superstep_core::checkpoint::Namespace;
use superstep_core::id::ThreadId;
use superstep_core::port::{Stats, ThreadStatus, ThreadsQuery};

use super::events;
use super::holder::Watch;
use super::lease;
use super::open::{key, keys, sum_in};
use super::trouble::{Answer, Trouble};
use crate::log::{self, line_sum};

/// The tables whose rows belong to a line, with the columns beside the key and the checksum.
const TABLES: [(&str, &str); 4] = [
    ("origin", "body"),
    ("checkpoint", "id, parent, step, source, time, origin, ahead, heads, vals"),
    ("part", "field, before, change, body"),
    ("remnant", "vals"),
];

fn lines(connection: &Connection, thread: i64) -> Answer<Vec<i64>> {
    let mut statement = connection.prepare_cached("SELECT id FROM line WHERE thread = ?1 ORDER BY id")?;
    Ok(statement.query_map([thread], |row| row.get(0))?.collect::<rusqlite::Result<_>>()?)
}

/// Removes everything of a thread. Refused while a run moves it.
pub(super) fn delete_thread(connection: &Connection, thread: &ThreadId, watch: &Watch) -> Answer<()> {
    let Some(row) = lease::check_unmoved(connection, thread, watch)? else { return Ok(()) };
    for line in lines(connection, row)? {
        for (table, _) in TABLES {
            connection.execute(&format!("DELETE FROM {table} WHERE key BETWEEN ?1 AND ?2"), keys(line))?;
        }
        connection.execute("DELETE FROM pending WHERE checkpoint BETWEEN ?1 AND ?2", keys(line))?;
    }
    connection.execute("DELETE FROM line WHERE thread = ?1", [row])?;
    connection.execute("DELETE FROM thread WHERE id = ?1", [row])?;
    Ok(())
}

/// Copies everything of a thread to one that does not exist yet.
pub(super) fn copy_thread(connection: &Connection, from: &ThreadId, to: &ThreadId) -> Answer<()> {
    let find = |thread: &ThreadId| {
        let mut statement = connection.prepare_cached("SELECT id, status FROM thread WHERE name = ?1")?;
        let found =
            statement.query_row([thread.as_str()], |row| Ok((row.get::<_, i64>(0)?, row.get::<_, Option<u8>>(1)?)));
        found.optional()
    };
    let Some((source, Some(status))) = find(from)? else {
        return Err(Trouble::Refused(log::nothing_to_copy(from)));
    };
    // One that was taken and given up before anything was saved is none.
    connection.execute("DELETE FROM thread WHERE name = ?1 AND status IS NULL AND holder IS NULL", [to.as_str()])?;
    if find(to)?.is_some() {
        return Err(Trouble::Refused(log::exists(to)));
    }
    // Nobody moves the copy.
    let status = if status == ThreadStatus::Busy.number() { ThreadStatus::Idle.number() } else { status };
    connection.execute("INSERT INTO thread (name, fence, status) VALUES (?1, 0, ?2)", params![to.as_str(), status])?;
    let copy = connection.last_insert_rowid();
    events::copy(connection, source, copy)?;
    for line in lines(connection, source)? {
        let target = copy_line(connection, line, (copy, to))?;
        let (first, last) = keys(line);
        let (offset, sums) = (key(target, 0) - first, sum_in(target, 0) - sum_in(line, 0));
        for (table, columns) in TABLES {
            let copied = format!(
                "INSERT INTO {table} (key, {columns}, sum) SELECT key + ?3, {columns}, sum + ?4 FROM {table} \
                 WHERE key BETWEEN ?1 AND ?2 ORDER BY key"
            );
            connection.execute(&copied, params![first, last, offset, sums])?;
        }
        // The order of the rows is the order in which it became known.
        let pending = "INSERT INTO pending (checkpoint, task, slot, body, sum) \
                       SELECT checkpoint + ?3, task, slot, body, sum + ?4 FROM pending \
                       WHERE checkpoint BETWEEN ?1 AND ?2 ORDER BY id";
        connection.execute(pending, params![first, last, offset, sums])?;
    }
    Ok(())
}

/// The row of a line for another thread, without what is in it.
fn copy_line(connection: &Connection, line: i64, (thread, name): (i64, &ThreadId)) -> Answer<i64> {
    let found = connection.query_row("SELECT namespace, names FROM line WHERE id = ?1", [line], |row| {
        Ok((row.get::<_, String>(0)?, row.get::<_, String>(1)?))
    });
    let (path, names) = found?;
    let sum = line_sum(name, &Namespace::from(&*path), &names);
    let made = "INSERT INTO line (thread, namespace, names, sum) VALUES (?1, ?2, ?3, ?4)";
    connection.execute(made, params![thread, path, names, sum])?;
    Ok(connection.last_insert_rowid())
}

/// The ids of threads, ascending.
pub(super) fn threads(connection: &Connection, query: &ThreadsQuery) -> Answer<Vec<ThreadId>> {
    let listed = "SELECT name FROM thread WHERE status IS NOT NULL AND name > ?1 ORDER BY name LIMIT ?2";
    let (after, most) = (query.after.as_ref().map_or("", ThreadId::as_str), query.limit.unwrap_or(usize::MAX));
    let mut statement = connection.prepare_cached(listed)?;
    let names = statement.query_map(params![after, i64::try_from(most).unwrap_or(i64::MAX)], |row| row.get(0))?;
    Ok(names.map(|name| name.map(|name: String| name.into())).collect::<rusqlite::Result<_>>()?)
}

/// What the file holds.
pub(super) fn stats(connection: &Connection) -> Answer<Stats> {
    let number = |query: &str| connection.query_row(query, [], |row| row.get::<_, i64>(0)).map(i64::cast_unsigned);
    Ok(Stats {
        threads: number("SELECT count(*) FROM thread WHERE status IS NOT NULL")?,
        checkpoints: number("SELECT count(*) FROM checkpoint")?,
        bytes: number("SELECT coalesce(sum(length(vals)), 0) FROM checkpoint")?
            + number("SELECT coalesce(sum(length(vals)), 0) FROM remnant")?
            + number("SELECT coalesce(sum(length(body)), 0) FROM part")?
            + number("SELECT coalesce(sum(length(body)), 0) FROM event")?,
    })
}
