//! The rows of a commit, in one transaction. Everything is looked at before the first row is written.

use rusqlite::{Connection, OptionalExtension, params};
use superstep_core::checkpoint::Namespace;
use superstep_core::id::CheckpointId;
use superstep_core::port::{Lease, ThreadStatus};

use super::lease;
use super::trouble::{Answer, Trouble};
use super::writer::Desk;
use crate::log::{Draft, PartRow, PendingRow, Row, missing};

/// A transaction that is ready to be written.
#[derive(Debug)]
pub(super) struct Job {
    pub(super) lease: Lease,
    /// The row of the thread.
    pub(super) thread: i64,
    pub(super) lines: Vec<LineJob>,
    pub(super) status: Option<ThreadStatus>,
}

/// What comes to one line.
#[derive(Debug)]
pub(super) struct LineJob {
    pub(super) namespace: Namespace,
    /// Its row; `None` when the line is new.
    pub(super) row: Option<i64>,
    /// The number of the newest checkpoint when this was put together.
    pub(super) newest: u64,
    pub(super) drafts: Vec<Draft>,
    /// What is known of tasks, each with the checkpoint it names.
    pub(super) pending: Vec<(CheckpointId, PendingRow)>,
}

impl Job {
    /// Writes everything, or nothing; gives the rows of the lines.
    pub(super) fn write(&self, desk: &mut Desk) -> Answer<Vec<i64>> {
        let holder = desk.holder()?;
        let connection = &desk.connection;
        let status = lease::check(connection, &self.lease, (self.thread, holder))?;
        self.lines.iter().try_for_each(|line| line.check(connection, self.thread))?;
        let rows = self.lines.iter().map(|line| line.write(connection, self.thread)).collect::<Answer<_>>()?;
        let stands = self.status.or(status).unwrap_or_default();
        if status != Some(stands) {
            let mut statement = connection.prepare_cached("UPDATE thread SET status = ?2 WHERE id = ?1")?;
            statement.execute(params![self.thread, stands.number()])?;
        }
        Ok(rows)
    }
}

impl LineJob {
    fn check(&self, connection: &Connection, thread: i64) -> Answer<()> {
        let Some(line) = self.row else {
            return match find_line(connection, thread, &self.namespace)? {
                Some(_) => Err(Trouble::Stale),
                None => Ok(()),
            };
        };
        if !self.drafts.is_empty() {
            let newest = "SELECT number FROM checkpoint WHERE line = ?1 ORDER BY number DESC LIMIT 1";
            let newest: Option<i64> =
                connection.prepare_cached(newest)?.query_row([line], |row| row.get(0)).optional()?;
            if newest.unwrap_or(0).cast_unsigned() != self.newest {
                return Err(Trouble::Stale);
            }
        }
        for draft in &self.drafts {
            if number_of(connection, line, draft.row.mark.id)?.is_some() {
                return Err(Trouble::Known(draft.row.mark.id));
            }
        }
        for (id, row) in self.pending.iter().filter(|(_, row)| row.checkpoint <= self.newest) {
            if !has_checkpoint(connection, line, row.checkpoint)? {
                return Err(Trouble::Refused(missing(*id)));
            }
        }
        Ok(())
    }

    fn write(&self, connection: &Connection, thread: i64) -> Answer<i64> {
        let line = match self.row {
            Some(line) => line,
            None => {
                let made = "INSERT INTO line (thread, namespace, names) VALUES (?1, ?2, '[]')";
                connection.prepare_cached(made)?.insert(params![thread, self.namespace.as_str()])?
            }
        };
        for Draft { row, origin, parts, names } in &self.drafts {
            insert_row(connection, line, row)?;
            if let Some(origin) = origin {
                let added = "INSERT INTO origin (line, number, body) VALUES (?1, ?2, ?3)";
                let values = params![line, origin.number.cast_signed(), origin.body];
                connection.prepare_cached(added)?.execute(values)?;
            }
            parts.iter().try_for_each(|part| insert_part(connection, line, part))?;
            if let Some(names) = names {
                let named = "UPDATE line SET names = ?2 WHERE id = ?1";
                let names = serde_json::to_string(names).unwrap_or_default();
                connection.prepare_cached(named)?.execute(params![line, names])?;
            }
        }
        self.pending.iter().try_for_each(|(_, row)| put_pending(connection, line, row))?;
        Ok(line)
    }
}

/// The row of a line, where it has one.
pub(super) fn find_line(connection: &Connection, thread: i64, namespace: &Namespace) -> Answer<Option<i64>> {
    let mut statement = connection.prepare_cached("SELECT id FROM line WHERE thread = ?1 AND namespace = ?2")?;
    Ok(statement.query_row(params![thread, namespace.as_str()], |row| row.get(0)).optional()?)
}

/// The number of a checkpoint in its line.
pub(super) fn number_of(connection: &Connection, line: i64, id: CheckpointId) -> Answer<Option<u64>> {
    let mut statement = connection.prepare_cached("SELECT number FROM checkpoint WHERE line = ?1 AND id = ?2")?;
    let number: Option<i64> =
        statement.query_row(params![line, id.bits().to_be_bytes()], |row| row.get(0)).optional()?;
    Ok(number.map(i64::cast_unsigned))
}

fn has_checkpoint(connection: &Connection, line: i64, number: u64) -> Answer<bool> {
    let mut statement = connection.prepare_cached("SELECT 1 FROM checkpoint WHERE line = ?1 AND number = ?2")?;
    Ok(statement.exists(params![line, number.cast_signed()])?)
}

fn insert_row(connection: &Connection, line: i64, row: &Row) -> Answer<()> {
    let added = "INSERT INTO checkpoint (line, number, id, parent, step, source, time, origin, ahead, heads, vals, sum) \
                 VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12)";
    connection.prepare_cached(added)?.execute(params![
        line,
        row.number.cast_signed(),
        row.mark.id.bits().to_be_bytes(),
        row.mark.parent.map(|parent| parent.bits().to_be_bytes()),
        row.mark.step,
        row.mark.source.number(),
        row.mark.time,
        row.origin.cast_signed(),
        row.ahead,
        row.heads,
        row.values,
        row.sum(),
    ])?;
    Ok(())
}

/// Adds a part of a value.
pub(super) fn insert_part(connection: &Connection, line: i64, part: &PartRow) -> Answer<()> {
    let added = "INSERT INTO part (line, field, chain, number, link, body, sum) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)";
    let link = part.link.text()?;
    let (chain, number, sum) = (part.chain.cast_signed(), part.number.cast_signed(), part.sum(&link));
    connection.prepare_cached(added)?.execute(params![line, part.field, chain, number, link, part.body, sum])?;
    Ok(())
}

/// One with the same task and slot is replaced, and keeps its place.
fn put_pending(connection: &Connection, line: i64, row: &PendingRow) -> Answer<()> {
    let put = "INSERT INTO pending (line, checkpoint, task, slot, body, sum) VALUES (?1, ?2, ?3, ?4, ?5, ?6) \
               ON CONFLICT (line, checkpoint, task, slot) DO UPDATE SET body = excluded.body, sum = excluded.sum";
    let task = row.task.bits().to_be_bytes();
    let values = params![line, row.checkpoint.cast_signed(), task, row.slot, row.body, row.sum()];
    connection.prepare_cached(put)?.execute(values)?;
    Ok(())
}
