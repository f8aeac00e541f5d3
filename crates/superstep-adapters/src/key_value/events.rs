//! What runs on a thread said: read out of its records, and forgotten by one more.

use superstep_core::error::Result;
use superstep_core::id::ThreadId;
use superstep_core::port::{EventsQuery, KeyValue, StoredEvent};

use super::prune::{condense_or_clear, written_again};
use super::read::{Bodies, with_bodies};
use super::record::Record;
use super::room::Room;
use super::tables::{Event, Tables};
use crate::log::{EventRow, Job, Refusal};

/// How often it is tried to forget events of a thread that others write to.
const TRIES: usize = 64;

/// Leaves those events in a transaction that are still to be written.
pub(super) fn leave_unsaved(job: &mut Job, tables: &Tables) -> Result<(), Refusal> {
    let is_kept = |row: &EventRow| {
        let kept = tables.events.get(&row.number);
        Ok::<_, Refusal>(kept.is_some_and(|kept| (kept.run, kept.sum) == (row.run, row.sum())))
    };
    let unsaved = job.unsaved_events(tables.last_event, is_kept)?.len();
    job.events.drain(..job.events.len() - unsaved);
    Ok(())
}

/// Events of a thread, ascending.
pub(super) async fn events<K: KeyValue>(
    room: &Room<K>,
    thread: &ThreadId,
    query: &EventsQuery,
) -> Result<Vec<StoredEvent>> {
    let Some(mut log) = room.look(thread).await? else { return Ok(Vec::new()) };
    with_bodies(room, &mut log, |tables, bodies| read(tables, query, bodies)).await
}

/// `None` while a part of them is missing.
fn read(tables: &Tables, query: &EventsQuery, bodies: &mut Bodies) -> Result<Option<Vec<StoredEvent>>> {
    let Some(first) = query.after.map_or(Some(0), |after| after.checked_add(1)) else { return Ok(Some(Vec::new())) };
    let wanted = tables.events.range(first..).map(|(_, event)| event);
    let wanted = wanted.filter(|event| query.matches(event.number, event.run));
    let (mut read, mut is_whole) = (Vec::new(), true);
    for Event { number, run, sum, body } in wanted.take(query.limit.unwrap_or(usize::MAX)) {
        match bodies.of(body) {
            Some(body) => read.push(EventRow { number: *number, run: *run, body: body.to_vec() }.read(*sum)?),
            None => is_whole = false,
        }
    }
    Ok(is_whole.then_some(read))
}

/// Removes events up to a number.
pub(super) async fn forget<K: KeyValue>(room: &Room<K>, thread: &ThreadId, up_to: u64) -> Result<()> {
    let Some(mut log) = room.look(thread).await? else { return Ok(()) };
    for _ in 0..TRIES {
        if log.tables.events.range(..=up_to).next().is_none() {
            return Ok(());
        }
        if log.append(room, Record::Forgotten { up_to }).await? {
            return condense_or_clear(room, &mut log).await;
        }
    }
    Err(written_again(thread, "its events were forgotten"))
}
