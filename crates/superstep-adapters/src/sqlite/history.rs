//! Reading a section of a history: many checkpoints at once, newest first.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use rusqlite::{Connection, params};
use superstep_core::checkpoint::{CheckpointNamespace, RunInfo};
use superstep_core::id::ThreadId;
use superstep_core::port::{CheckpointTuple, HistoryQuery};

use super::error::SqliteResult;
use super::read::{fill, line, of_checkpoints, origin, pending, read_row};
use super::schema::{key, keys, number};
use super::write_rows::number_of;
use crate::change_log::{self, CheckpointAssembler, CheckpointRow};

/// Reads a section of a history, newest first; `None` if its values are longer than about `most` bytes.
pub(super) fn history(
    connection: &Connection,
    (thread, namespace): (&ThreadId, &CheckpointNamespace),
    query: &HistoryQuery,
    most: u64,
) -> SqliteResult<Option<Vec<CheckpointTuple>>> {
    let Some((line, names)) = line(connection, thread, namespace)? else { return Ok(Some(Vec::new())) };
    let before = match query.before {
        None => keys(line).1,
        Some(id) => key(line, number_of(connection, line, id)?.ok_or_else(|| change_log::checkpoint_not_found(id))?),
    };
    let mut gather = CheckpointAssembler::new(thread, namespace, names.into());
    let rows = matching(connection, line, before, query)?;
    let oldest = rows.last().map_or(before, |(row, _)| key(line, row.number));
    let tasks = "SELECT DISTINCT checkpoint FROM pending WHERE checkpoint >= ?1 AND checkpoint < ?2";
    let mut statement = connection.prepare_cached(tasks)?;
    let with_tasks = statement.query_map(params![oldest, before], |row| row.get(0).map(number))?;
    let with_tasks: BTreeSet<u64> = with_tasks.collect::<rusqlite::Result<_>>()?;
    for (row, origin) in rows {
        let has_tasks = with_tasks.contains(&row.number);
        let pending = if has_tasks { pending(connection, line, &row)? } else { Vec::new() };
        gather.request(row, origin, pending)?;
    }
    if gather.estimated_bytes() > most {
        return Ok(None);
    }
    fill(connection, line, &mut gather)?;
    Ok(Some(gather.finish()?))
}

/// Reads the matching checkpoints of a history before a key, newest first.
fn matching(
    connection: &Connection,
    line: i64,
    before: i64,
    query: &HistoryQuery,
) -> SqliteResult<Vec<(CheckpointRow, Arc<RunInfo>)>> {
    let rows = of_checkpoints!(" FROM checkpoint WHERE key >= ?1 AND key < ?2 ORDER BY key DESC");
    let mut statement = connection.prepare_cached(rows)?;
    let mut rows = statement.query(params![keys(line).0, before])?;
    let (mut origins, mut matches) = (BTreeMap::new(), Vec::new());
    while query.limit.is_none_or(|limit| matches.len() < limit)
        && let Some(row) = rows.next()?
    {
        let row = read_row(row, line)?;
        let shared = match origins.get(&row.origin) {
            Some(shared) => Arc::clone(shared),
            None => {
                let read = origin(connection, line, &row)?;
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
