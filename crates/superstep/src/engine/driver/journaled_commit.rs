//! Commits with journaled events: each event is saved in the transaction of the change that it reports, and numbered
//! in the order of commits.

use std::sync::atomic::Ordering;

use superstep_core::error::Result;
use superstep_core::machine::{Machine, MachineEvent};
use superstep_core::port::{Commit, SharedCheckpointer, StoredEvent};
use superstep_core::value::AnyValue;

use super::{CommitInFlight, save};
use crate::engine::context::RunShared;
use crate::events::event::{EventJournal, EventPublisher, JournalBatch, JournalStamp};

/// Returns publisher and journal, if events are journaled.
pub(super) fn journal(shared: &RunShared) -> Option<(&EventPublisher, &EventJournal)> {
    let publisher = shared.publisher.as_ref()?;
    Some((publisher, publisher.journal.as_deref()?))
}

/// Saves a commit with its events: those that the machine created before it, and those that may be published once it
/// is saved. Returns their journal stamps in this order.
pub(super) async fn save_with_events(
    shared: &RunShared,
    machine: &Machine,
    before: &[MachineEvent],
    commit: Commit,
) -> Result<Vec<JournalStamp>> {
    if journal(shared).is_none() {
        save(shared, &commit).await?;
        return Ok(Vec::new());
    }
    save_numbered(shared, before.iter().chain(machine.saving_events()), commit).await
}

/// Saves the start of the run directly in the checkpointer, whatever the durability: from now on no other run assigns
/// the event numbers of this one.
pub(crate) async fn save_start(shared: &RunShared, store: Option<&SharedCheckpointer>) -> Result<()> {
    let (Some((_, event_journal)), Some(lease), Some(store)) = (journal(shared), &shared.lease, store) else {
        return Ok(());
    };
    let mut last = event_journal.last.lock().await;
    let batch = event_journal.take_batch(0);
    let events = stored(shared, &batch);
    let newest = events.last().map_or(*last, |event| event.number);
    let _in_flight = CommitInFlight::begin(&shared.commits_in_flight);
    store.commit(&Commit { events, ..Commit::empty(lease.clone(), shared.namespace.clone()) }).await?;
    batch.confirm();
    *last = newest;
    Ok(())
}

/// Saves events after the last commit. Events that cannot be saved are lost; the run itself is persisted.
pub(crate) async fn save_events(shared: &RunShared) {
    let (Some((_, event_journal)), Some(lease)) = (journal(shared), &shared.lease) else { return };
    // Nothing is committed after a failed commit.
    if !event_journal.has_failed.load(Ordering::Relaxed) {
        let commit = Commit::empty(lease.clone(), shared.namespace.clone());
        let _ = save_numbered(shared, [].iter(), commit).await;
    }
}

async fn save_numbered<'a>(
    shared: &RunShared,
    events: impl Iterator<Item = &'a MachineEvent> + Send,
    mut commit: Commit,
) -> Result<Vec<JournalStamp>> {
    let Some((publisher, event_journal)) = journal(shared) else { return Ok(Vec::new()) };
    // Held while the commit is in flight, so that events are saved in the order of their numbers. The events of this
    // commit are added only now, so that no other commit takes them.
    let mut last = event_journal.last.lock().await;
    if let Some((checkpointer, thread)) =
        shared.checkpointer.as_ref().zip(shared.thread.as_ref()).filter(|_| event_journal.has_unconfirmed())
    {
        // An earlier commit was dropped while in flight: only the checkpointer knows whether it succeeded.
        *last = checkpointer.last_event_number(thread).await?;
        event_journal.reconcile(*last);
    }
    let events_before_commit = event_journal.pending_count();
    let stamps = events.map(|event| publisher.journal_machine_event(shared, event)).collect();
    let batch = event_journal.take_batch(events_before_commit);
    commit.events = stored(shared, &batch);
    let newest = commit.events.last().map(|event| event.number);
    if newest.is_some() || commit.checkpoint.is_some() || !commit.pending.is_empty() || commit.status.is_some() {
        let saved = save(shared, &commit).await;
        event_journal.has_failed.fetch_or(saved.is_err(), Ordering::Relaxed);
        saved?;
    }
    batch.confirm();
    *last = newest.unwrap_or(*last);
    Ok(stamps)
}

fn stored(shared: &RunShared, batch: &JournalBatch<'_>) -> Vec<StoredEvent> {
    let stored = |(number, body): &(u64, serde_json::Value)| StoredEvent {
        number: *number,
        run: shared.run,
        payload: AnyValue::json(body.clone()),
    };
    batch.events().iter().map(stored).collect()
}
