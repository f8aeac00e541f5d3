//! The event journal: one row per event, and in the row of the thread the highest number that was deleted.
//!
//! A key has the thread in its upper half and the number of the event in its lower half, like the rows of a history.

use rusqlite::{Connection, OptionalExtension, params};
use superstep_core::error::{Error, ErrorCode};
use superstep_core::id::{RunId, ThreadId};
use superstep_core::port::{EventsQuery, StoredEvent};

use super::error::{SqliteError, SqliteResult};
use super::schema::{checksum_in_history, key, keys, number};
use crate::change_log::{EventRow, RowTransaction};

/// Maximum event number that fits in a key.
const MAX_EVENT_NUMBER: u64 = u32::MAX as u64;

/// Returns the events of a transaction that are not stored yet.
pub(super) fn new_events<'a>(connection: &Connection, job: &'a RowTransaction) -> SqliteResult<&'a [EventRow]> {
    let Some(highest) = job.events.last() else { return Ok(&[]) };
    if highest.number > MAX_EVENT_NUMBER {
        return Err(SqliteError::Rejected(too_many(&job.lease.thread)));
    }
    job.unsaved_events(last_of(connection, job.thread)?, |row| {
        let mut statement =
            connection.prepare_cached("SELECT 1 FROM event WHERE key = ?1 AND run = ?2 AND sum = ?3")?;
        let sum = checksum_in_history(job.thread, row.sum());
        Ok(statement.exists(params![key(job.thread, row.number), row.run.bits().to_be_bytes(), sum])?)
    })
}

fn too_many(thread: &ThreadId) -> Error {
    Error::new(ErrorCode::TooLarge, format!("thread `{thread}` has the maximum number of events"))
        .with_help("start a new thread")
}

pub(super) fn insert(connection: &Connection, thread: i64, rows: &[EventRow]) -> SqliteResult<()> {
    for row in rows {
        let insert = "INSERT INTO event (key, run, body, sum) VALUES (?1, ?2, ?3, ?4)";
        let values = params![
            key(thread, row.number),
            row.run.bits().to_be_bytes(),
            row.body,
            checksum_in_history(thread, row.sum())
        ];
        connection.prepare_cached(insert)?.execute(values)?;
    }
    Ok(())
}

fn find(connection: &Connection, thread: &ThreadId) -> SqliteResult<Option<i64>> {
    let mut statement = connection.prepare_cached("SELECT id FROM thread WHERE name = ?1")?;
    Ok(statement.query_row([thread.as_str()], |row| row.get(0)).optional()?)
}

/// Returns the highest number ever used by an event of a thread.
fn last_of(connection: &Connection, thread: i64) -> SqliteResult<u64> {
    let sql = "SELECT forgotten, (SELECT key FROM event WHERE key BETWEEN ?2 AND ?3 ORDER BY key DESC LIMIT 1) \
                 FROM thread WHERE id = ?1";
    let (first, last) = keys(thread);
    let mut statement = connection.prepare_cached(sql)?;
    let (forgotten, newest) = statement.query_row(params![thread, first, last], |row| {
        Ok((row.get::<_, i64>(0)?.cast_unsigned(), row.get::<_, Option<i64>>(1)?))
    })?;
    Ok(newest.map_or(0, number).max(forgotten))
}

/// Returns the highest number ever used by an event of a thread; 0 if the thread does not exist.
pub(super) fn last(connection: &Connection, thread: &ThreadId) -> SqliteResult<u64> {
    find(connection, thread)?.map_or(Ok(0), |row| last_of(connection, row))
}

/// Reads events of a thread in ascending order.
pub(super) fn read(connection: &Connection, name: &ThreadId, query: &EventsQuery) -> SqliteResult<Vec<StoredEvent>> {
    let Some(thread) = find(connection, name)? else { return Ok(Vec::new()) };
    let after = query.after.unwrap_or(0);
    if after >= MAX_EVENT_NUMBER {
        return Ok(Vec::new());
    }
    let sql = "SELECT key, run, body, sum FROM event WHERE key BETWEEN ?1 AND ?2 AND (?3 IS NULL OR run = ?3) \
                 ORDER BY key LIMIT ?4";
    let run = query.run.map(|run| run.bits().to_be_bytes());
    let limit = i64::try_from(query.limit.unwrap_or(usize::MAX)).unwrap_or(i64::MAX);
    let mut statement = connection.prepare_cached(sql)?;
    let mut rows = statement.query(params![key(thread, after + 1), keys(thread).1, run, limit])?;
    let mut events = Vec::new();
    while let Some(row) = rows.next()? {
        let run = RunId::from_bits(u128::from_be_bytes(row.get(1)?));
        let read = EventRow { number: number(row.get(0)?), run, body: row.get(2)? };
        // A row of another thread has a different checksum.
        let sum = u32::try_from(row.get::<_, i64>(3)? - thread).unwrap_or(!read.sum());
        events.push(read.read(sum)?);
    }
    Ok(events)
}

/// Deletes events up to a number; the highest number ever used stays stored.
pub(super) fn delete_up_to(connection: &Connection, name: &ThreadId, up_to: u64) -> SqliteResult<()> {
    let Some(thread) = find(connection, name)? else { return Ok(()) };
    let up_to = up_to.min(last_of(connection, thread)?);
    let update = "UPDATE thread SET forgotten = max(forgotten, ?2) WHERE id = ?1";
    connection.execute(update, params![thread, up_to.cast_signed()])?;
    connection.execute("DELETE FROM event WHERE key BETWEEN ?1 AND ?2", params![key(thread, 0), key(thread, up_to)])?;
    Ok(())
}

/// Copies the events of a thread to another one.
pub(super) fn copy(connection: &Connection, from: i64, to: i64) -> SqliteResult<()> {
    let update = "UPDATE thread SET forgotten = (SELECT forgotten FROM thread WHERE id = ?1) WHERE id = ?2";
    connection.execute(update, params![from, to])?;
    let (first, last) = keys(from);
    let copy_events = "INSERT INTO event (key, run, body, sum) SELECT key + ?3, run, body, sum + ?4 FROM event \
                  WHERE key BETWEEN ?1 AND ?2 ORDER BY key";
    connection.execute(copy_events, params![first, last, key(to, 0) - first, to - from])?;
    Ok(())
}
