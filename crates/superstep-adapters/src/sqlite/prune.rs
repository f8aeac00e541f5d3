//! Pruning of old checkpoints: reads a history, lets the change log decide what is removed, and removes it.

use std::collections::BTreeMap;
use std::sync::Arc;

use rusqlite::{Connection, params};
use superstep_core::checkpoint::RunInfo;
use superstep_core::id::ThreadId;
use superstep_core::port::{PruneReport, Retention};

use super::error::SqliteResult;
use super::read;
use super::schema::{checksum_in_history, key, keys, number};
use crate::change_log::{NonCheckpointRows, PrunePlan, PruneRow, RetainedValuesRow, ValueLocation, prune as decide};

/// Removes old checkpoints of every namespace of a thread.
pub(super) fn prune(connection: &Connection, thread: &ThreadId, retention: &Retention) -> SqliteResult<PruneReport> {
    let history_ids =
        "SELECT line.id FROM thread JOIN line ON line.thread = thread.id WHERE thread.name = ?1 ORDER BY line.id";
    let mut statement = connection.prepare_cached(history_ids)?;
    let history_ids: Vec<i64> =
        statement.query_map([thread.as_str()], |row| row.get(0))?.collect::<rusqlite::Result<_>>()?;
    let (mut report, mut plans) = (PruneReport::default(), Vec::new());
    // Decide for all namespaces before removing anything: a corrupt one leaves the others unchanged.
    for history_id in history_ids {
        let (other_rows, lengths) = other_rows(connection, history_id)?;
        let plan = decide(candidates(connection, history_id, retention)?, other_rows, retention)?;
        let unneeded = lengths.into_iter().filter(|(part, _)| !plan.parts.contains(part)).collect::<Vec<_>>();
        if !plan.removed.is_empty() {
            report.checkpoints += plan.removed.len();
            report.bytes += plan.bytes + unneeded.iter().map(|(_, length)| length).sum::<u64>();
            plans.push((history_id, plan, unneeded));
        }
    }
    for (history_id, plan, unneeded) in plans.iter().filter(|_| !retention.dry_run) {
        remove(connection, *history_id, plan, unneeded.iter().map(|(part, _)| *part))?;
    }
    Ok(report)
}

fn candidates(connection: &Connection, history_id: i64, retention: &Retention) -> SqliteResult<Vec<PruneRow>> {
    let (mut candidates, mut origins) = (Vec::new(), BTreeMap::<u64, Arc<RunInfo>>::new());
    for row in read::rows(connection, history_id)? {
        if retention.needs_run_info() && !origins.contains_key(&row.origin) {
            origins.insert(row.origin, read::origin(connection, history_id, &row)?);
        }
        let (pending, origin) = (read::pending(connection, history_id, &row)?, row.origin);
        candidates.push(PruneRow::new(row, origins.get(&origin).map(|origin| &**origin), &pending));
    }
    Ok(candidates)
}

/// Reads the other rows of a history and the lengths of its parts.
fn other_rows(connection: &Connection, history_id: i64) -> SqliteResult<(NonCheckpointRows, BTreeMap<u64, u64>)> {
    let mut statement =
        connection.prepare_cached("SELECT key, field, before, length(body) FROM part WHERE key BETWEEN ?1 AND ?2")?;
    let mut rows = statement.query(keys(history_id))?;
    let (mut parts, mut lengths) = (BTreeMap::new(), BTreeMap::new());
    while let Some(row) = rows.next()? {
        let part = number(row.get(0)?);
        parts.insert(part, (row.get(1)?, ValueLocation::from_number(row.get(2)?)));
        lengths.insert(part, row.get::<_, i64>(3)?.cast_unsigned());
    }
    let mut statement = connection.prepare_cached("SELECT key, vals FROM remnant WHERE key BETWEEN ?1 AND ?2")?;
    let (mut rows, mut retained_values) = (statement.query(keys(history_id))?, Vec::new());
    while let Some(row) = rows.next()? {
        retained_values.push(RetainedValuesRow { number: number(row.get(0)?), values: row.get(1)? });
    }
    Ok((NonCheckpointRows { retained_values, parts }, lengths))
}

fn remove(
    connection: &Connection,
    history_id: i64,
    plan: &PrunePlan,
    parts: impl Iterator<Item = u64>,
) -> SqliteResult<()> {
    let mut part = connection.prepare_cached("DELETE FROM part WHERE key = ?1")?;
    for number in parts {
        part.execute([key(history_id, number)])?;
    }
    connection.prepare_cached("DELETE FROM remnant WHERE key BETWEEN ?1 AND ?2")?.execute(keys(history_id))?;
    let mut insert_retained = connection.prepare_cached("INSERT INTO remnant (key, vals, sum) VALUES (?1, ?2, ?3)")?;
    for row in &plan.retained_values {
        insert_retained.execute(params![
            key(history_id, row.number),
            row.values,
            checksum_in_history(history_id, row.sum())
        ])?;
    }
    let mut rewrite = connection.prepare_cached("UPDATE checkpoint SET heads = ?2, sum = ?3 WHERE key = ?1")?;
    for row in &plan.rewritten {
        rewrite.execute(params![
            key(history_id, row.number),
            row.value_index,
            checksum_in_history(history_id, row.sum())
        ])?;
    }
    let mut checkpoint = connection.prepare_cached("DELETE FROM checkpoint WHERE key = ?1")?;
    let mut pending = connection.prepare_cached("DELETE FROM pending WHERE checkpoint = ?1")?;
    for number in &plan.removed {
        checkpoint.execute([key(history_id, *number)])?;
        pending.execute([key(history_id, *number)])?;
    }
    let mut origins = connection.prepare_cached("SELECT key FROM origin WHERE key BETWEEN ?1 AND ?2")?;
    let origins: Vec<i64> = origins.query_map(keys(history_id), |row| row.get(0))?.collect::<rusqlite::Result<_>>()?;
    let mut origin = connection.prepare_cached("DELETE FROM origin WHERE key = ?1")?;
    for key in origins.iter().filter(|key| !plan.origins.contains(&number(**key))) {
        origin.execute([key])?;
    }
    Ok(())
}
