//! Writing the rows of a commit in one transaction. All checks run before the first row is written.

use rusqlite::{Connection, OptionalExtension, params};
use superstep_core::checkpoint::CheckpointNamespace;
use superstep_core::error::{Error, ErrorCode};
use superstep_core::id::{CheckpointId, ThreadId};

use super::error::{SqliteError, SqliteResult};
use super::journal;
use super::lease;
use super::schema::{checksum_in_history, key, keys, number};
use super::writer_thread::WriterContext;
use crate::change_log::{
    CheckpointRow, CheckpointRows, HistoryRows, PartRow, PendingRow, RowTransaction, ValueLocation,
    checkpoint_not_found, history_checksum, lease_lost,
};

impl RowTransaction {
    /// Writes the whole transaction or nothing; returns the row ids of the histories.
    pub(super) fn write(&self, context: &mut WriterContext) -> SqliteResult<Vec<i64>> {
        let holder = context.holder()?;
        let connection = &context.connection;
        let status = lease::check(connection, &self.lease, (self.thread, holder))?;
        let reacquired = context.pending_releases.run_of(self.thread);
        // The row value represents many fences: of those issued in this process, only the last one may write.
        if reacquired.is_some_and(|(_, fence)| fence != self.lease.fence) {
            return Err(SqliteError::Rejected(lease_lost(&self.lease)));
        }
        self.histories.iter().try_for_each(|history| history.check(connection, self.thread))?;
        let events = journal::new_events(connection, self)?;
        let thread = (self.thread, &self.lease.thread);
        let rows =
            self.histories.iter().map(|history| history.write(connection, thread)).collect::<SqliteResult<_>>()?;
        journal::insert(connection, self.thread, events)?;
        let new_status = self.status.or(status).unwrap_or_default();
        if status != Some(new_status) {
            let run = reacquired.map(|(run, _)| run.bits().to_be_bytes());
            let update_status = "UPDATE thread SET status = ?2, run = coalesce(?3, run) WHERE id = ?1";
            connection.prepare_cached(update_status)?.execute(params![self.thread, new_status.number(), run])?;
        }
        Ok(rows)
    }
}

impl HistoryRows {
    fn check(&self, connection: &Connection, thread: i64) -> SqliteResult<()> {
        let Some(history_id) = self.row else {
            return match find_history_id(connection, thread, &self.namespace)? {
                Some(_) => Err(SqliteError::Stale),
                None => Ok(()),
            };
        };
        if let Some(last) = self.new_checkpoints.last() {
            let parts = self.new_checkpoints.iter().filter_map(|new_checkpoint| new_checkpoint.parts.last());
            let highest = parts.map(|part| part.number).max().unwrap_or(0).max(last.row.number);
            if highest > u64::from(u32::MAX) {
                return Err(SqliteError::Rejected(too_long(&self.namespace)));
            }
        }
        self.check_new_checkpoints(connection, history_id)?;
        let mut checkpoint_exists = connection.prepare_cached("SELECT 1 FROM checkpoint WHERE key = ?1 AND id = ?2")?;
        for (id, row) in self.pending.iter().filter(|(_, row)| row.checkpoint <= self.newest) {
            if !checkpoint_exists.exists(params![key(history_id, row.checkpoint), id.bits().to_be_bytes()])? {
                // The cached history may be outdated; the tables decide whether the checkpoint exists.
                let is_missing = number_of(connection, history_id, *id)?.is_none();
                return Err(if is_missing {
                    SqliteError::Rejected(checkpoint_not_found(*id))
                } else {
                    SqliteError::Stale
                });
            }
        }
        Ok(())
    }

    /// Checks that the history is unchanged since the transaction was built and contains none of its checkpoints. One
    /// query per checkpoint reads the latest checkpoint, the base of the new one, and whether the id exists.
    fn check_new_checkpoints(&self, connection: &Connection, history_id: i64) -> SqliteResult<()> {
        let sql = "SELECT (SELECT key FROM checkpoint WHERE key BETWEEN ?1 AND ?2 ORDER BY key DESC LIMIT 1), \
                      ?3 IS NULL OR EXISTS (SELECT 1 FROM checkpoint WHERE key = ?3 AND id = ?4), \
                      EXISTS (SELECT 1 FROM checkpoint WHERE id = ?5 AND key BETWEEN ?1 AND ?2)";
        let (first, last) = keys(history_id);
        let mut saved = None;
        // There is at most one base per new checkpoint.
        for (index, new_checkpoint) in self.new_checkpoints.iter().enumerate() {
            let base = self.bases.get(index).map(|(number, id)| (key(history_id, *number), id.bits().to_be_bytes()));
            let id = new_checkpoint.row.header.id;
            let values =
                params![first, last, base.map(|base| base.0), base.map(|base| base.1), id.bits().to_be_bytes()];
            let mut statement = connection.prepare_cached(sql)?;
            let (newest, has_base, exists) = statement
                .query_row(values, |row| Ok((row.get::<_, Option<i64>>(0)?, row.get::<_, bool>(1)?, row.get(2)?)))?;
            if newest.map_or(0, number) != self.newest || !has_base {
                return Err(SqliteError::Stale);
            }
            saved = saved.or(Some(id).filter(|_| exists));
        }
        saved.map_or(Ok(()), |id| Err(SqliteError::AlreadySaved(id)))
    }

    fn write(&self, connection: &Connection, (thread, name): (i64, &ThreadId)) -> SqliteResult<i64> {
        let history_id = match self.row {
            Some(history_id) => history_id,
            None => {
                let insert = "INSERT INTO line (thread, namespace, names, sum) VALUES (?1, ?2, ?3, ?4)";
                let (path, names) = (&self.namespace, "[]");
                let values = params![thread, path.as_str(), names, history_checksum(name, path, names)];
                connection.prepare_cached(insert)?.insert(values)?
            }
        };
        for CheckpointRows { row, origin, parts, names } in &self.new_checkpoints {
            insert_row(connection, history_id, row)?;
            if let Some(origin) = origin {
                let insert = "INSERT INTO origin (key, body, sum) VALUES (?1, ?2, ?3)";
                let values =
                    params![key(history_id, origin.number), origin.body, checksum_in_history(history_id, origin.sum())];
                connection.prepare_cached(insert)?.execute(values)?;
            }
            parts.iter().try_for_each(|part| insert_part(connection, history_id, part))?;
            if let Some(names) = names {
                let update_names = "UPDATE line SET names = ?2, sum = ?3 WHERE id = ?1";
                let names = serde_json::to_string(names).unwrap_or_default();
                let sum = history_checksum(name, &self.namespace, &names);
                connection.prepare_cached(update_names)?.execute(params![history_id, names, sum])?;
            }
        }
        self.pending.iter().try_for_each(|(_, row)| put_pending(connection, history_id, row))?;
        Ok(history_id)
    }
}

/// Returns the row id of a history if it exists.
pub(super) fn find_history_id(
    connection: &Connection,
    thread: i64,
    namespace: &CheckpointNamespace,
) -> SqliteResult<Option<i64>> {
    let mut statement = connection.prepare_cached("SELECT id FROM line WHERE thread = ?1 AND namespace = ?2")?;
    Ok(statement.query_row(params![thread, namespace.as_str()], |row| row.get(0)).optional()?)
}

fn too_long(namespace: &CheckpointNamespace) -> Error {
    let message = format!("graph `{}` has the maximum number of checkpoints on its thread", namespace.as_str());
    Error::new(ErrorCode::TooLarge, message).with_help("start a new thread from the newest state of this one")
}

/// Reads the number of a checkpoint in its history.
pub(super) fn number_of(connection: &Connection, history_id: i64, id: CheckpointId) -> SqliteResult<Option<u64>> {
    let by_id = "SELECT key FROM checkpoint WHERE id = ?1 AND key BETWEEN ?2 AND ?3";
    let (first, last) = keys(history_id);
    let mut statement = connection.prepare_cached(by_id)?;
    let stored_key: Option<i64> =
        statement.query_row(params![id.bits().to_be_bytes(), first, last], |row| row.get(0)).optional()?;
    Ok(stored_key.map(number))
}

fn insert_row(connection: &Connection, history_id: i64, row: &CheckpointRow) -> SqliteResult<()> {
    let insert = "INSERT INTO checkpoint (key, id, parent, step, source, time, origin, ahead, heads, vals, sum) \
                 VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11)";
    connection.prepare_cached(insert)?.execute(params![
        key(history_id, row.number),
        row.header.id.bits().to_be_bytes(),
        row.header.parent.map(|parent| parent.bits().to_be_bytes()),
        row.header.step,
        row.header.source.to_u8(),
        row.header.time,
        row.origin.cast_signed(),
        row.schedule,
        row.value_index,
        row.values,
        checksum_in_history(history_id, row.sum()),
    ])?;
    Ok(())
}

fn insert_part(connection: &Connection, history_id: i64, part: &PartRow) -> SqliteResult<()> {
    let insert = "INSERT INTO part (key, field, before, change, body, sum) VALUES (?1, ?2, ?3, ?4, ?5, ?6)";
    let (change, before) = (part.change_text()?, ValueLocation::to_number(part.before));
    let sum = checksum_in_history(history_id, part.sum(&change));
    let values = params![key(history_id, part.number), part.field, before, change, part.body, sum];
    connection.prepare_cached(insert)?.execute(values)?;
    Ok(())
}

/// Writes a pending entry. An entry with the same task and slot is replaced in place.
fn put_pending(connection: &Connection, history_id: i64, row: &PendingRow) -> SqliteResult<()> {
    let put = "INSERT INTO pending (checkpoint, task, slot, body, sum) VALUES (?1, ?2, ?3, ?4, ?5) \
               ON CONFLICT (checkpoint, task, slot) DO UPDATE SET body = excluded.body, sum = excluded.sum";
    let task = row.task.bits().to_be_bytes();
    let values =
        params![key(history_id, row.checkpoint), task, row.slot, row.body, checksum_in_history(history_id, row.sum())];
    connection.prepare_cached(put)?.execute(values)?;
    Ok(())
}
