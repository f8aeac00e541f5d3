//! The event journal of a thread: reading it from the records of the thread, and deleting events by writing one more
//! record.

use superstep_core::error::Result;
use superstep_core::id::ThreadId;
use superstep_core::port::{EventsQuery, KeyValue, StoredEvent};

use super::backend::Backend;
use super::log_record::LogRecord;
use super::prune::{compact_or_clean, concurrent_write_error};
use super::read::{LongValues, with_bodies};
use super::thread_tables::{StoredEventRow, ThreadTables};
use crate::change_log::{EventRow, RowTransaction, WriteRejection};

/// Maximum number of attempts to delete events while other processes write to the thread.
const MAX_ATTEMPTS: usize = 64;

/// Removes events from a transaction that are already stored.
pub(super) fn drop_duplicates(job: &mut RowTransaction, tables: &ThreadTables) -> Result<(), WriteRejection> {
    let is_saved = |row: &EventRow| {
        let saved = tables.events.get(&row.number);
        Ok::<_, WriteRejection>(saved.is_some_and(|saved| (saved.run, saved.sum) == (row.run, row.sum())))
    };
    let unsaved = job.unsaved_events(tables.last_event, is_saved)?.len();
    job.events.drain(..job.events.len() - unsaved);
    Ok(())
}

/// Reads events of a thread in ascending order.
pub(super) async fn events<K: KeyValue>(
    backend: &Backend<K>,
    thread: &ThreadId,
    query: &EventsQuery,
) -> Result<Vec<StoredEvent>> {
    let Some(mut log) = backend.read_thread(thread).await? else { return Ok(Vec::new()) };
    with_bodies(backend, &mut log, |tables, bodies| read(tables, query, bodies)).await
}

/// Reads the events from the tables; returns `None` while long bodies are missing.
fn read(tables: &ThreadTables, query: &EventsQuery, bodies: &mut LongValues) -> Result<Option<Vec<StoredEvent>>> {
    let Some(first) = query.after.map_or(Some(0), |after| after.checked_add(1)) else { return Ok(Some(Vec::new())) };
    let selected = tables.events.range(first..).map(|(_, event)| event);
    let selected = selected.filter(|event| query.matches(event.number, event.run));
    let (mut read, mut is_complete) = (Vec::new(), true);
    for StoredEventRow { number, run, sum, body } in selected.take(query.limit.unwrap_or(usize::MAX)) {
        match bodies.get(body) {
            Some(body) => read.push(EventRow { number: *number, run: *run, body: body.to_vec() }.read(*sum)?),
            None => is_complete = false,
        }
    }
    Ok(is_complete.then_some(read))
}

/// Deletes events up to a number.
pub(super) async fn delete_up_to<K: KeyValue>(backend: &Backend<K>, thread: &ThreadId, up_to: u64) -> Result<()> {
    let Some(mut log) = backend.read_thread(thread).await? else { return Ok(()) };
    for _ in 0..MAX_ATTEMPTS {
        if log.tables.events.range(..=up_to).next().is_none() {
            return Ok(());
        }
        if log.append(backend, LogRecord::EventsDeleted { up_to }).await? {
            return compact_or_clean(backend, &mut log).await;
        }
    }
    Err(concurrent_write_error(thread, "its events were deleted"))
}
