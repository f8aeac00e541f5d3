//! Removing old checkpoints: reads what a line has, asks the log what may go, and does it.

use std::collections::BTreeMap;

use rusqlite::{Connection, params};
use superstep_core::id::ThreadId;
use superstep_core::port::{PruneReport, Retention};

use super::read;
use super::trouble::Answer;
use super::write::insert_part;
use crate::log::{Candidate, Link, Links, Pruning, has_open_question, prune as decide};

/// Removes old checkpoints of every graph of a thread.
pub(super) fn prune(connection: &Connection, thread: &ThreadId, retention: &Retention) -> Answer<PruneReport> {
    let lines =
        "SELECT line.id FROM thread JOIN line ON line.thread = thread.id WHERE thread.name = ?1 ORDER BY line.id";
    let mut statement = connection.prepare_cached(lines)?;
    let lines: Vec<i64> = statement.query_map([thread.as_str()], |row| row.get(0))?.collect::<rusqlite::Result<_>>()?;
    let mut report = PruneReport::default();
    for line in lines {
        let pruning = decide(candidates(connection, line)?, &links(connection, line)?, retention)?;
        if pruning.gone.is_empty() {
            continue;
        }
        let parts = unneeded(connection, line, &pruning)?;
        report.checkpoints += pruning.gone.len();
        report.bytes += pruning.bytes + parts.values().sum::<u64>();
        if !retention.dry_run {
            remove(connection, line, &pruning, parts.keys())?;
        }
    }
    Ok(report)
}

fn candidates(connection: &Connection, line: i64) -> Answer<Vec<Candidate>> {
    let mut candidates = Vec::new();
    for row in read::rows(connection, line)? {
        let pending = read::pending(connection, line, &row)?;
        let (has_pending, has_open_question) = (!pending.is_empty(), has_open_question(&pending));
        candidates.push(Candidate { row, has_pending, has_open_question });
    }
    Ok(candidates)
}

fn links(connection: &Connection, line: i64) -> Answer<Links> {
    let mut statement = connection
        .prepare_cached("SELECT field, chain, link FROM part WHERE line = ?1 AND number = 0 AND link <> ''")?;
    let mut rows = statement.query([line])?;
    let mut links = Links::new();
    while let Some(row) = rows.next()? {
        if let Some(link) = Link::parse(&row.get::<_, String>(2)?) {
            links.insert((row.get(0)?, row.get::<_, i64>(1)?.cast_unsigned()), link);
        }
    }
    Ok(links)
}

/// Parts that nobody needs any longer, with their lengths.
fn unneeded(connection: &Connection, line: i64, pruning: &Pruning) -> Answer<BTreeMap<(u32, u64, u64), u64>> {
    let mut statement =
        connection.prepare_cached("SELECT field, chain, number, length(body) FROM part WHERE line = ?1")?;
    let mut rows = statement.query([line])?;
    let mut parts = BTreeMap::new();
    while let Some(row) = rows.next()? {
        let number = |place| row.get::<_, i64>(place).map(i64::cast_unsigned);
        let (field, chain, part, length) = (row.get::<_, u32>(0)?, number(1)?, number(2)?, number(3)?);
        if pruning.chains.get(&(field, chain)).is_none_or(|last| part > *last) {
            parts.insert((field, chain, part), length);
        }
    }
    Ok(parts)
}

fn remove<'a>(
    connection: &Connection,
    line: i64,
    pruning: &Pruning,
    parts: impl Iterator<Item = &'a (u32, u64, u64)>,
) -> Answer<()> {
    let mut part =
        connection.prepare_cached("DELETE FROM part WHERE line = ?1 AND field = ?2 AND chain = ?3 AND number = ?4")?;
    for (field, chain, number) in parts {
        part.execute(params![line, field, chain.cast_signed(), number.cast_signed()])?;
    }
    for moved in &pruning.moved {
        insert_part(connection, line, moved)?;
    }
    let mut rewrite =
        connection.prepare_cached("UPDATE checkpoint SET heads = ?3, sum = ?4 WHERE line = ?1 AND number = ?2")?;
    for row in &pruning.rewritten {
        rewrite.execute(params![line, row.number.cast_signed(), row.heads, row.sum()])?;
    }
    let mut checkpoint = connection.prepare_cached("DELETE FROM checkpoint WHERE line = ?1 AND number = ?2")?;
    let mut pending = connection.prepare_cached("DELETE FROM pending WHERE line = ?1 AND checkpoint = ?2")?;
    for number in &pruning.gone {
        checkpoint.execute(params![line, number.cast_signed()])?;
        pending.execute(params![line, number.cast_signed()])?;
    }
    let mut origins = connection.prepare_cached("SELECT number FROM origin WHERE line = ?1")?;
    let origins: Vec<i64> = origins.query_map([line], |row| row.get(0))?.collect::<rusqlite::Result<_>>()?;
    let mut origin = connection.prepare_cached("DELETE FROM origin WHERE line = ?1 AND number = ?2")?;
    for number in origins.iter().filter(|number| !pruning.origins.contains(&number.cast_unsigned())) {
        origin.execute(params![line, number])?;
    }
    Ok(())
}
