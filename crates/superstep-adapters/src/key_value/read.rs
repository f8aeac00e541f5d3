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
use super::keys::part_path;
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
    pub(super) fn get<'a>(&'a mut self, body: &'a ValueBody) -> Option<&'a [u8]> {
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
    let (mut bodies, mut attempts, was_readable) = (LongValues::default(), 0, log.corruption.is_none());
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
            let (before, key) = (log.next(), part_path(&log.thread, &name));
            log.refresh_readable(backend).await?;
            if was_readable {
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

fn find(history: &HistoryTable, at: CheckpointSelector) -> Option<&CheckpointRow> {
    match at {
        CheckpointSelector::Latest | CheckpointSelector::NewerThan(_) => {
            history.rows.last_key_value().map(|(_, row)| row)
        }
        CheckpointSelector::Id(id) => history.rows.get(history.numbers.get(&id)?),
    }
}

/// Returns the run info of a checkpoint.
pub(super) fn origin(history: &HistoryTable, row: &CheckpointRow) -> Result<Arc<RunInfo>> {
    match history.origins.get(&row.origin) {
        Some(origin) => Ok(Arc::new(RunInfoRow::read(&origin.body, row.header.id)?)),
        None => Err(corrupt_row_error(row.header.id, "the run info is missing")),
    }
}

/// Returns the pending entries of a checkpoint in the order in which they were written; `None` while a long value is
/// missing.
pub(super) fn pending(
    history: &HistoryTable,
    row: &CheckpointRow,
    bodies: &mut LongValues,
) -> Result<Option<Vec<PendingEntry>>> {
    let (mut pending, mut is_complete) = (Vec::new(), true);
    for pending_row in history.pending.get(&row.number).into_iter().flatten() {
        match bodies.get(&pending_row.body) {
            Some(body) => {
                let (task, slot) = (pending_row.task, pending_row.slot.clone());
                pending
                    .push(PendingRow { checkpoint: row.number, task, slot, body: body.to_vec() }.read(row.header.id)?);
            }
            None => is_complete = false,
        }
    }
    Ok(is_complete.then_some(pending))
}

/// Adds everything that the checkpoints still need; returns false while a long value is missing.
fn fill(history: &HistoryTable, assembler: &mut CheckpointAssembler, bodies: &mut LongValues) -> Result<bool> {
    loop {
        let missing = assembler.missing_rows()?;
        if missing.is_empty() {
            return Ok(true);
        }
        let mut is_complete = true;
        for missing_row in missing {
            match missing_row {
                MissingRows::Row(number) => add_missing_row(history, number, assembler)?,
                MissingRows::Values(number) => add_missing_values(history, number, assembler)?,
                MissingRows::Parts(number) => is_complete &= add_missing_parts(history, number, assembler, bodies)?,
            }
        }
        if !is_complete {
            return Ok(false);
        }
    }
}

fn add_missing_row(history: &HistoryTable, number: u64, assembler: &mut CheckpointAssembler) -> Result<()> {
    match history.rows.get(&number) {
        Some(row) => assembler.add_row(row.clone()),
        None => Err(assembler.corrupt_rows_error(None, &format!("checkpoint {number} of its history is missing"))),
    }
}

fn add_missing_values(history: &HistoryTable, number: u64, assembler: &mut CheckpointAssembler) -> Result<()> {
    let row = history.rows.get(&number).map(|row| &row.values);
    match row.or_else(|| history.retained_values.get(&number).map(|retained| &retained.values)) {
        Some(values) => {
            assembler.add_values(number, values.clone());
            Ok(())
        }
        None => Err(assembler
            .corrupt_rows_error(None, &format!("the values of checkpoint {number} of its history are missing"))),
    }
}

/// Adds a part and the earlier parts that it builds on, unless they are present.
fn add_missing_parts(
    history: &HistoryTable,
    number: u64,
    assembler: &mut CheckpointAssembler,
    bodies: &mut LongValues,
) -> Result<bool> {
    let (mut next, mut is_complete) = (Some(ValueLocation::Part(number)), true);
    while let Some(ValueLocation::Part(number)) = next
        && !assembler.has_part(number)
    {
        let Some(part) = history.parts.get(&number) else {
            return Err(assembler.corrupt_rows_error(None, &format!("part {number} of its values is missing")));
        };
        let Some(change) = read_change(&part.change) else {
            return Err(assembler.corrupt_rows_error(Some(part.field), "it is not a change"));
        };
        // A part builds on earlier ones only; following a later one could loop forever.
        next = part.before.filter(|before| !matches!(before, ValueLocation::Part(before) if *before >= number));
        match bodies.get(&part.body) {
            Some(body) => {
                let (field, before, body) = (part.field, part.before, body.to_vec());
                assembler.add_part(PartRow { number, field, before, change, body });
            }
            None => is_complete = false,
        }
    }
    Ok(is_complete)
}

/// Rejects reads behind the corrupt record of a thread. Readable are the checkpoint with this id and those before it;
/// pending entries behind the corrupt record are lost.
pub(super) fn check_readable(log: &ThreadLog, key: &HistoryKey, id: Option<CheckpointId>) -> Result<()> {
    let history = log.tables.history(&key.1).map(|(_, history)| history);
    match (history, id) {
        (Some(history), Some(id)) if history.numbers.contains_key(&id) => Ok(()),
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
    let Some((_, history)) = tables.history(&key.1) else { return Ok(Some(None)) };
    let Some(row) = find(history, at) else { return Ok(Some(None)) };
    let (origin, pending) = (origin(history, row)?, pending(history, row, bodies)?);
    let mut assembler = CheckpointAssembler::new(&key.0, &key.1, history.names.clone());
    if at == CheckpointSelector::NewerThan(row.header.id) {
        let Some(pending) = pending else { return Ok(None) };
        return Ok(Some(Some(assembler.without_values(row.clone(), &origin, pending)?)));
    }
    let has_pending = pending.is_some();
    assembler.request(row.clone(), origin, pending.unwrap_or_default())?;
    if !fill(history, &mut assembler, bodies)? || !has_pending {
        return Ok(None);
    }
    Ok(Some(assembler.finish()?.pop()))
}

/// Loads a section of a history, newest first.
pub(super) fn history(
    tables: &ThreadTables,
    key: &HistoryKey,
    query: &HistoryQuery,
    bodies: &mut LongValues,
) -> Result<Option<Vec<CheckpointTuple>>> {
    let Some((_, history)) = tables.history(&key.1) else { return Ok(Some(Vec::new())) };
    let before = match query.before {
        None => u64::MAX,
        Some(id) => *history.numbers.get(&id).ok_or_else(|| change_log::checkpoint_not_found(id))?,
    };
    let mut assembler = CheckpointAssembler::new(&key.0, &key.1, history.names.clone());
    let (mut origins, mut has_pending, mut remaining) = (BTreeMap::new(), true, query.limit.unwrap_or(usize::MAX));
    for row in history.rows.range(..before).rev().map(|(_, row)| row) {
        if remaining == 0 {
            break;
        }
        let shared = match origins.get(&row.origin) {
            Some(shared) => Arc::clone(shared),
            None => {
                let read = origin(history, row)?;
                origins.insert(row.origin, read.clone());
                read
            }
        };
        if query.matches_columns(&row.header, &shared) {
            let pending = pending(history, row, bodies)?;
            has_pending &= pending.is_some();
            assembler.request(row.clone(), shared, pending.unwrap_or_default())?;
            remaining -= 1;
        }
    }
    if !fill(history, &mut assembler, bodies)? || !has_pending {
        return Ok(None);
    }
    assembler.finish().map(Some)
}

/// Returns a history as the history writer needs it.
pub(super) fn entry(tables: &ThreadTables, key: &HistoryKey) -> Result<CachedHistory> {
    let Some((number, history)) = tables.history(&key.1) else { return Ok(CachedHistory::default()) };
    let base = base(tables, key, CheckpointSelector::Latest)?.unwrap_or_default();
    let newest_part = history.parts.last_key_value().map_or(0, |(number, _)| *number);
    let writer = HistoryWriter::new((base.number, newest_part), history.names.to_vec(), base);
    Ok(CachedHistory::new(Some(number as i64), writer))
}

/// Returns the information about a checkpoint that the next checkpoint builds on.
pub(super) fn base(
    tables: &ThreadTables,
    key: &HistoryKey,
    at: CheckpointSelector,
) -> Result<Option<ParentCheckpoint>> {
    let Some((_, history)) = tables.history(&key.1) else { return Ok(None) };
    let Some(row) = find(history, at) else { return Ok(None) };
    let mut assembler = CheckpointAssembler::new(&key.0, &key.1, history.names.clone());
    assembler.request(row.clone(), origin(history, row)?, Vec::new())?;
    loop {
        match assembler.base()? {
            Ok(base) => return Ok(base),
            Err(missing) => add_missing_row(history, missing, &mut assembler)?,
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
    let (Some(loaded), Some((_, history)), Some(child)) =
        (loaded, tables.history(&key.1), base(tables, key, CheckpointSelector::Id(id))?)
    else {
        return Ok(Some(None));
    };
    let parent = match loaded.checkpoint.parent {
        None => Some(ParentCheckpoint::default()),
        Some(parent) => base(tables, key, CheckpointSelector::Id(parent))?,
    };
    let changed_fields = parent.map(|parent| change_log::changed_fields(&history.names, &child, &parent));
    Ok(Some(Some((loaded, changed_fields))))
}
