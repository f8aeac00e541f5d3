//! Assembles checkpoints from rows.
//!
//! Tables in memory are read directly; long values are fetched when a checkpoint needs them. A read function adds
//! missing values to a list and is called again after they have been fetched.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use superstep_core::checkpoint::{PendingEntry, RunInfo};
use superstep_core::error::Result;
use superstep_core::id::CheckpointId;
use superstep_core::port::{CheckpointSelector, CheckpointTuple, HistoryQuery, KeyValue};

use super::backend::Backend;
use super::envelope::corrupt_value_error as long_value_error;
use super::keys::part_place;
use super::thread_log::{ThreadLog, long_values};
use super::thread_tables::{HistoryTable, ThreadTables, ValueBody};
use crate::change_log::{
    self, CachedHistory, CheckpointAssembler, CheckpointRow, CheckpointWithChanges, HistoryKey, HistoryWriter,
    MissingRows, ParentCheckpoint, PartRow, PendingRow, RunInfoRow, ValueLocation, corrupt_row_error, read_change,
};

/// Maximum number of restarts because another process removed values during the read.
const MAX_ATTEMPTS: usize = 8;

/// Fetched long values, and the names of those still missing.
#[derive(Default)]
pub(super) struct LongValues {
    loaded: BTreeMap<String, Vec<u8>>,
    missing: BTreeSet<String>,
}

impl LongValues {
    /// Returns the bytes of a body if they are available; otherwise adds its name to the missing values.
    pub(super) fn of<'a>(&'a mut self, body: &'a ValueBody) -> Option<&'a [u8]> {
        match body {
            ValueBody::Short(bytes) => Some(bytes),
            ValueBody::Long { name, .. } => {
                if !self.loaded.contains_key(name) {
                    self.missing.insert(name.clone());
                }
                self.loaded.get(name).map(Vec::as_slice)
            }
        }
    }
}

/// Calls `read` and fetches missing values until it returns a result; `None` means that values are missing.
pub(super) async fn with_bodies<K: KeyValue, T>(
    backend: &Backend<K>,
    log: &mut ThreadLog,
    mut read: impl FnMut(&ThreadTables, &mut LongValues) -> Result<Option<T>>,
) -> Result<T> {
    let (mut bodies, mut attempts, was_whole) = (LongValues::default(), 0, log.corruption.is_none());
    loop {
        if let Some(done) = read(&log.tables, &mut bodies)? {
            return Ok(done);
        }
        let names: Vec<String> = std::mem::take(&mut bodies.missing).into_iter().collect();
        let values = long_values(backend, &log.thread, &names).await?;
        for (name, value) in names.into_iter().zip(values) {
            if let Some(value) = value {
                bodies.loaded.insert(name, value);
                continue;
            }
            // Another process may have pruned the value since the thread was read; the tables show that after reading
            // on.
            let (before, key) = (log.next(), part_place(&log.thread, &name));
            log.refresh_readable(backend).await?;
            if was_whole {
                log.check_not_corrupt()?;
            }
            attempts += 1;
            if log.next() == before || attempts > MAX_ATTEMPTS {
                return Err(long_value_error(&key, "this value is missing"));
            }
            break;
        }
    }
}

fn find(line: &HistoryTable, at: CheckpointSelector) -> Option<&CheckpointRow> {
    match at {
        CheckpointSelector::Latest | CheckpointSelector::NewerThan(_) => line.rows.last_key_value().map(|(_, row)| row),
        CheckpointSelector::Id(id) => line.rows.get(line.numbers.get(&id)?),
    }
}

/// Returns the run info of a checkpoint.
pub(super) fn origin(line: &HistoryTable, row: &CheckpointRow) -> Result<Arc<RunInfo>> {
    match line.origins.get(&row.origin) {
        Some(origin) => Ok(Arc::new(RunInfoRow::read(&origin.body, row.header.id)?)),
        None => Err(corrupt_row_error(row.header.id, "the run info is missing")),
    }
}

/// Returns the pending entries of a checkpoint in the order in which they were written; `None` while a long value is
/// missing.
pub(super) fn pending(
    line: &HistoryTable,
    row: &CheckpointRow,
    bodies: &mut LongValues,
) -> Result<Option<Vec<PendingEntry>>> {
    let (mut pending, mut is_whole) = (Vec::new(), true);
    for pending_row in line.pending.get(&row.number).into_iter().flatten() {
        match bodies.of(&pending_row.body) {
            Some(body) => {
                let (task, slot) = (pending_row.task, pending_row.slot.clone());
                pending
                    .push(PendingRow { checkpoint: row.number, task, slot, body: body.to_vec() }.read(row.header.id)?);
            }
            None => is_whole = false,
        }
    }
    Ok(is_whole.then_some(pending))
}

/// Adds everything that the checkpoints still need; returns false while a long value is missing.
fn fill(line: &HistoryTable, gather: &mut CheckpointAssembler, bodies: &mut LongValues) -> Result<bool> {
    loop {
        let needs = gather.missing_rows()?;
        if needs.is_empty() {
            return Ok(true);
        }
        let mut is_whole = true;
        for need in needs {
            match need {
                MissingRows::Row(number) => add_missing_row(line, number, gather)?,
                MissingRows::Values(number) => add_missing_values(line, number, gather)?,
                MissingRows::Parts(number) => is_whole &= add_missing_parts(line, number, gather, bodies)?,
            }
        }
        if !is_whole {
            return Ok(false);
        }
    }
}

fn add_missing_row(line: &HistoryTable, number: u64, gather: &mut CheckpointAssembler) -> Result<()> {
    match line.rows.get(&number) {
        Some(row) => gather.add_row(row.clone()),
        None => Err(gather.corrupt_rows_error(None, &format!("checkpoint {number} of its history is missing"))),
    }
}

fn add_missing_values(line: &HistoryTable, number: u64, gather: &mut CheckpointAssembler) -> Result<()> {
    let row = line.rows.get(&number).map(|row| &row.values);
    match row.or_else(|| line.retained_values.get(&number).map(|retained| &retained.values)) {
        Some(values) => {
            gather.add_values(number, values.clone());
            Ok(())
        }
        None => {
            Err(gather
                .corrupt_rows_error(None, &format!("the values of checkpoint {number} of its history are missing")))
        }
    }
}

/// Adds a part and the earlier parts that it builds on, unless they are present.
fn add_missing_parts(
    line: &HistoryTable,
    number: u64,
    gather: &mut CheckpointAssembler,
    bodies: &mut LongValues,
) -> Result<bool> {
    let (mut next, mut is_whole) = (Some(ValueLocation::Part(number)), true);
    while let Some(ValueLocation::Part(number)) = next
        && !gather.has_part(number)
    {
        let Some(part) = line.parts.get(&number) else {
            return Err(gather.corrupt_rows_error(None, &format!("part {number} of its values is missing")));
        };
        let Some(change) = read_change(&part.change) else {
            return Err(gather.corrupt_rows_error(Some(part.field), "it is not a change"));
        };
        // A part builds on earlier ones only; following a later one could loop forever.
        next = part.before.filter(|before| !matches!(before, ValueLocation::Part(before) if *before >= number));
        match bodies.of(&part.body) {
            Some(body) => {
                let (field, before, body) = (part.field, part.before, body.to_vec());
                gather.add_part(PartRow { number, field, before, change, body });
            }
            None => is_whole = false,
        }
    }
    Ok(is_whole)
}

/// Rejects reads behind the corrupt record of a thread. Readable are the checkpoint with this id and those before it;
/// pending entries behind the corrupt record are lost.
pub(super) fn check_readable(log: &ThreadLog, key: &HistoryKey, id: Option<CheckpointId>) -> Result<()> {
    let line = log.tables.line(&key.1).map(|(_, line)| line);
    match (line, id) {
        (Some(line), Some(id)) if line.numbers.contains_key(&id) => Ok(()),
        _ => log.check_not_corrupt(),
    }
}

/// Loads a checkpoint; the outer `None` means that long values are missing.
pub(super) fn load(
    tables: &ThreadTables,
    key: &HistoryKey,
    at: CheckpointSelector,
    bodies: &mut LongValues,
) -> Result<Option<Option<CheckpointTuple>>> {
    let Some((_, line)) = tables.line(&key.1) else { return Ok(Some(None)) };
    let Some(row) = find(line, at) else { return Ok(Some(None)) };
    let (origin, pending) = (origin(line, row)?, pending(line, row, bodies)?);
    let mut gather = CheckpointAssembler::new(&key.0, &key.1, line.names.clone());
    if at == CheckpointSelector::NewerThan(row.header.id) {
        let Some(pending) = pending else { return Ok(None) };
        return Ok(Some(Some(gather.without_values(row.clone(), &origin, pending)?)));
    }
    let is_known = pending.is_some();
    gather.request(row.clone(), origin, pending.unwrap_or_default())?;
    if !fill(line, &mut gather, bodies)? || !is_known {
        return Ok(None);
    }
    Ok(Some(gather.finish()?.pop()))
}

/// Loads a section of a history, newest first.
pub(super) fn history(
    tables: &ThreadTables,
    key: &HistoryKey,
    query: &HistoryQuery,
    bodies: &mut LongValues,
) -> Result<Option<Vec<CheckpointTuple>>> {
    let Some((_, line)) = tables.line(&key.1) else { return Ok(Some(Vec::new())) };
    let before = match query.before {
        None => u64::MAX,
        Some(id) => *line.numbers.get(&id).ok_or_else(|| change_log::checkpoint_not_found(id))?,
    };
    let mut gather = CheckpointAssembler::new(&key.0, &key.1, line.names.clone());
    let (mut origins, mut is_known, mut left) = (BTreeMap::new(), true, query.limit.unwrap_or(usize::MAX));
    for row in line.rows.range(..before).rev().map(|(_, row)| row) {
        if left == 0 {
            break;
        }
        let shared = match origins.get(&row.origin) {
            Some(shared) => Arc::clone(shared),
            None => {
                let read = origin(line, row)?;
                origins.insert(row.origin, read.clone());
                read
            }
        };
        if query.matches_columns(&row.header, &shared) {
            let pending = pending(line, row, bodies)?;
            is_known &= pending.is_some();
            gather.request(row.clone(), shared, pending.unwrap_or_default())?;
            left -= 1;
        }
    }
    if !fill(line, &mut gather, bodies)? || !is_known {
        return Ok(None);
    }
    gather.finish().map(Some)
}

/// Returns a history as the history writer needs it.
pub(super) fn entry(tables: &ThreadTables, key: &HistoryKey) -> Result<CachedHistory> {
    let Some((number, line)) = tables.line(&key.1) else { return Ok(CachedHistory::default()) };
    let base = base(tables, key, CheckpointSelector::Latest)?.unwrap_or_default();
    let newest_part = line.parts.last_key_value().map_or(0, |(number, _)| *number);
    let writer = HistoryWriter::new((base.number, newest_part), line.names.to_vec(), base);
    Ok(CachedHistory::new(Some(number as i64), writer))
}

/// Returns the information about a checkpoint that the next checkpoint builds on.
pub(super) fn base(
    tables: &ThreadTables,
    key: &HistoryKey,
    at: CheckpointSelector,
) -> Result<Option<ParentCheckpoint>> {
    let Some((_, line)) = tables.line(&key.1) else { return Ok(None) };
    let Some(row) = find(line, at) else { return Ok(None) };
    let mut gather = CheckpointAssembler::new(&key.0, &key.1, line.names.clone());
    gather.request(row.clone(), origin(line, row)?, Vec::new())?;
    loop {
        match gather.base()? {
            Ok(base) => return Ok(base),
            Err(missing) => add_missing_row(line, missing, &mut gather)?,
        }
    }
}

/// Loads a checkpoint with the names of the fields it changed.
pub(super) fn read_with_changes(
    tables: &ThreadTables,
    key: &HistoryKey,
    id: CheckpointId,
    bodies: &mut LongValues,
) -> Result<Option<Option<CheckpointWithChanges>>> {
    let Some(loaded) = load(tables, key, CheckpointSelector::Id(id), bodies)? else { return Ok(None) };
    let (Some(loaded), Some((_, line)), Some(own)) =
        (loaded, tables.line(&key.1), base(tables, key, CheckpointSelector::Id(id))?)
    else {
        return Ok(Some(None));
    };
    let parent = match loaded.checkpoint.parent {
        None => Some(ParentCheckpoint::default()),
        Some(parent) => base(tables, key, CheckpointSelector::Id(parent))?,
    };
    let changed_fields = parent.map(|parent| change_log::changed_fields(&line.names, &own, &parent));
    Ok(Some(Some((loaded, changed_fields))))
}
