//! Reading a section of a history: many checkpoints at once, newest first.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use rusqlite::{Connection, params};
use superstep_core::checkpoint::{CheckpointNamespace, RunInfo};
use superstep_core::id::ThreadId;
use superstep_core::port::{CheckpointTuple, HistoryQuery};

use super::error::SqliteResult;
use super::read::{fill, find_history, of_checkpoints, origin, pending, read_row};
use super::schema::{key, keys, number};
use super::write_rows::number_of;
use crate::change_log::{self, CheckpointAssembler, CheckpointRow};

/// Reads a section of a history, newest first; `None` if its values are longer than about `max_bytes` bytes.
pub(super) fn history(
    connection: &Connection,
    (thread, namespace): (&ThreadId, &CheckpointNamespace),
    query: &HistoryQuery,
    max_bytes: u64,
) -> SqliteResult<Option<Vec<CheckpointTuple>>> {
    let Some((history_id, names)) = find_history(connection, thread, namespace)? else { return Ok(Some(Vec::new())) };
    let before = match query.before {
        None => keys(history_id).1,
        Some(id) => {
            key(history_id, number_of(connection, history_id, id)?.ok_or_else(|| change_log::checkpoint_not_found(id))?)
        }
    };
    let mut assembler = CheckpointAssembler::new(thread, namespace, names.into());
    let rows = matching(connection, history_id, before, query)?;
    let oldest = rows.last().map_or(before, |(row, _)| key(history_id, row.number));
    let tasks = "SELECT DISTINCT checkpoint FROM pending WHERE checkpoint >= ?1 AND checkpoint < ?2";
    let mut statement = connection.prepare_cached(tasks)?;
    let with_tasks = statement.query_map(params![oldest, before], |row| row.get(0).map(number))?;
    let with_tasks: BTreeSet<u64> = with_tasks.collect::<rusqlite::Result<_>>()?;
    for (row, origin) in rows {
        let has_tasks = with_tasks.contains(&row.number);
        let pending = if has_tasks { pending(connection, history_id, &row)? } else { Vec::new() };
        assembler.request(row, origin, pending)?;
    }
    if assembler.estimated_bytes() > max_bytes {
        return Ok(None);
    }
    fill(connection, history_id, &mut assembler)?;
    Ok(Some(assembler.finish()?))
}

/// Reads the matching checkpoints of a history before a key, newest first.
fn matching(
    connection: &Connection,
    history_id: i64,
    before: i64,
    query: &HistoryQuery,
) -> SqliteResult<Vec<(CheckpointRow, Arc<RunInfo>)>> {
    let rows = of_checkpoints!(" FROM checkpoint WHERE key >= ?1 AND key < ?2 ORDER BY key DESC");
    let mut statement = connection.prepare_cached(rows)?;
    let mut rows = statement.query(params![keys(history_id).0, before])?;
    let (mut origins, mut matches) = (BTreeMap::new(), Vec::new());
    while query.limit.is_none_or(|limit| matches.len() < limit)
        && let Some(row) = rows.next()?
    {
        let row = read_row(row, history_id)?;
        let shared = match origins.get(&row.origin) {
            Some(shared) => Arc::clone(shared),
            None => {
                let read = origin(connection, history_id, &row)?;
                origins.insert(row.origin, read.clone());
                read
            }
        };
        if query.matches_columns(&row.header, &shared) {
            matches.push((row, shared));
        }
    }
    Ok(matches)
}
