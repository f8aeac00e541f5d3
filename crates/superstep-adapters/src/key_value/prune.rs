//! Pruning of old checkpoints: the change log decides what is removed, one record states the result, then the values
//! are deleted.

use superstep_core::error::{Error, ErrorCode, Result};
use superstep_core::id::ThreadId;
use superstep_core::port::{KeyValue, PruneReport, Retention};

use super::backend::Backend;
use super::log_record::{LogRecord, RemovedRows};
use super::read::{self, LongValues, with_bodies};
use super::thread_log::ThreadLog;
use super::thread_tables::{HistoryTable, ThreadTables};
use crate::change_log::{NonCheckpointRows, PruneRow, prune as decide};

/// Maximum number of attempts while other processes write to the thread.
const MAX_ATTEMPTS: usize = 64;
/// Number of records beyond the needed ones after which the log is compacted.
const COMPACTION_SLACK: u64 = 16;

/// Removes old checkpoints of every namespace of a thread.
pub(super) async fn prune<K: KeyValue>(
    backend: &Backend<K>,
    thread: &ThreadId,
    retention: &Retention,
) -> Result<PruneReport> {
    let Some(mut log) = backend.read_thread(thread).await? else { return Ok(PruneReport::default()) };
    log.check_not_corrupt()?;
    for _ in 0..MAX_ATTEMPTS {
        let read = |tables: &ThreadTables, bodies: &mut LongValues| decide_all(tables, retention, bodies);
        let (report, removed) = with_bodies(backend, &mut log, read).await?;
        if retention.dry_run {
            return Ok(report);
        }
        if removed.is_empty() || log.append(backend, LogRecord::Pruned(removed)).await? {
            compact_or_clean(backend, &mut log).await?;
            return Ok(report);
        }
    }
    Err(concurrent_write_error(thread, "it was pruned"))
}

/// Removes records and values that are no longer needed, also those left by dead processes.
pub(super) async fn compact_or_clean<K: KeyValue>(backend: &Backend<K>, log: &mut ThreadLog) -> Result<()> {
    if log.is_long(COMPACTION_SLACK) { log.compact(backend).await } else { log.clear(backend).await }
}

pub(super) fn concurrent_write_error(thread: &ThreadId, operation: &str) -> Error {
    let message = format!("thread `{thread}` was repeatedly written while {operation}");
    Error::new(ErrorCode::StoreUnavailable, message).with_help("nothing was removed; try again")
}

/// Decides what is removed from every namespace of a thread; returns `None` while long values are missing.
fn decide_all(
    tables: &ThreadTables,
    retention: &Retention,
    bodies: &mut LongValues,
) -> Result<Option<(PruneReport, Vec<RemovedRows>)>> {
    let (mut report, mut removed, mut is_complete) = (PruneReport::default(), Vec::new(), true);
    for history in &tables.histories {
        let Some(candidates) = candidates(history, retention, bodies)? else {
            is_complete = false;
            continue;
        };
        let other_rows = NonCheckpointRows {
            retained_values: history.retained_values.values().cloned().collect(),
            parts: history.parts.iter().map(|(number, part)| (*number, (part.field, part.before))).collect(),
        };
        let plan = decide(candidates, other_rows, retention)?;
        if plan.removed.is_empty() {
            continue;
        }
        let unneeded = history.parts.values().filter(|part| !plan.parts.contains(&part.number));
        report.checkpoints += plan.removed.len();
        report.bytes += plan.bytes + unneeded.clone().map(|part| part.body.length()).sum::<u64>();
        removed.push(RemovedRows {
            namespace: history.namespace.clone(),
            checkpoints: plan.removed,
            heads: plan.rewritten.into_iter().map(|row| (row.number, row.value_index)).collect(),
            retained_values: plan.retained_values,
            parts: unneeded.map(|part| part.number).collect(),
            origins: history.origins.keys().filter(|number| !plan.origins.contains(number)).copied().collect(),
        });
    }
    Ok(is_complete.then_some((report, removed)))
}

fn candidates(history: &HistoryTable, retention: &Retention, bodies: &mut LongValues) -> Result<Option<Vec<PruneRow>>> {
    let (mut candidates, mut is_complete) = (Vec::new(), true);
    for row in history.rows.values() {
        let origin = if retention.needs_run_info() { Some(read::origin(history, row)?) } else { None };
        match read::pending(history, row, bodies)? {
            Some(pending) => candidates.push(PruneRow::new(row.clone(), origin.as_deref(), &pending)),
            None => is_complete = false,
        }
    }
    Ok(is_complete.then_some(candidates))
}
