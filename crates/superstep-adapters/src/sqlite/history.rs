//! A part of a history: many checkpoints of a line in one go, newest first.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use rusqlite::{Connection, params};
use superstep_core::checkpoint::{Namespace, Origin};
use superstep_core::id::ThreadId;
use superstep_core::port::{HistoryQuery, Loaded};

use super::open::{key, keys, number};
use super::read::{fill, line, of_checkpoints, origin, pending, read_row};
use super::trouble::Answer;
use super::write::number_of;
use crate::log::{self, Gather, Row};

/// A part of a history, newest first; `None` when its values are about longer than `most` bytes.
pub(super) fn history(
    connection: &Connection,
    (thread, namespace): (&ThreadId, &Namespace),
    query: &HistoryQuery,
    most: u64,
) -> Answer<Option<Vec<Loaded>>> {
    let Some((line, names)) = line(connection, thread, namespace)? else { return Ok(Some(Vec::new())) };
    let before = match query.before {
        None => keys(line).1,
        Some(id) => key(line, number_of(connection, line, id)?.ok_or_else(|| log::missing(id))?),
    };
    let mut gather = Gather::new(thread, namespace, names.into());
    let found = matching(connection, line, before, query)?;
    let oldest = found.last().map_or(before, |(row, _)| key(line, row.number));
    let tasks = "SELECT DISTINCT checkpoint FROM pending WHERE checkpoint >= ?1 AND checkpoint < ?2";
    let mut statement = connection.prepare_cached(tasks)?;
    let with_tasks = statement.query_map(params![oldest, before], |row| row.get(0).map(number))?;
    let with_tasks: BTreeSet<u64> = with_tasks.collect::<rusqlite::Result<_>>()?;
    for (row, origin) in found {
        let has_tasks = with_tasks.contains(&row.number);
        let pending = if has_tasks { pending(connection, line, &row)? } else { Vec::new() };
        gather.want(row, origin, pending)?;
    }
    if gather.weight() > most {
        return Ok(None);
    }
    fill(connection, line, &mut gather)?;
    Ok(Some(gather.finish()?))
}

/// The checkpoints of a line before a key that are asked for, newest first.
fn matching(connection: &Connection, line: i64, before: i64, query: &HistoryQuery) -> Answer<Vec<(Row, Arc<Origin>)>> {
    let rows = of_checkpoints!(" FROM checkpoint WHERE key >= ?1 AND key < ?2 ORDER BY key DESC");
    let mut statement = connection.prepare_cached(rows)?;
    let mut rows = statement.query(params![keys(line).0, before])?;
    let (mut origins, mut found) = (BTreeMap::new(), Vec::new());
    while query.limit.is_none_or(|limit| found.len() < limit)
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
        if query.matches_pieces(&row.mark, &shared) {
            found.push((row, shared));
        }
    }
    Ok(found)
}
