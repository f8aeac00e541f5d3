//! Commits with the events that belong to them: each in the transaction of what it speaks of, numbered as it is saved.

use std::sync::atomic::Ordering;

use superstep_core::datum::Datum;
use superstep_core::error::Result;
use superstep_core::machine::{Event, Machine};
use superstep_core::port::{Commit, SharedCheckpointer, StoredEvent};

use super::{UnderWay, save};
use crate::context::Shared;
use crate::stream::{Batch, Keeper, Sink, Stamp};

/// Where events go, when they are kept.
pub(super) fn keeping(shared: &Shared) -> Option<(&Sink, &Keeper)> {
    let sink = shared.sink.as_ref()?;
    Some((sink, sink.kept.as_deref()?))
}

/// Saves a commit with the events that belong to it: those the machine made before it, and those that may be told once
/// it is saved. How they were kept, in this order.
pub(super) async fn save_with_events(
    shared: &Shared,
    machine: &Machine,
    before: &[Event],
    commit: Commit,
) -> Result<Vec<Stamp>> {
    if keeping(shared).is_none() {
        save(shared, &commit).await?;
        return Ok(Vec::new());
    }
    save_numbered(shared, before.iter().chain(machine.saving_events()), commit).await
}

/// Saves that the run has begun, in the store itself, however the run saves: from here on no other run gives its events
/// the numbers of this one.
pub(crate) async fn save_start(shared: &Shared, store: Option<&SharedCheckpointer>) -> Result<()> {
    let (Some((_, kept)), Some(lease), Some(store)) = (keeping(shared), &shared.lease, store) else { return Ok(()) };
    let mut last = kept.last.lock().await;
    let batch = kept.take(0);
    let events = stored(shared, &batch);
    let newest = events.last().map_or(*last, |event| event.number);
    let _under_way = UnderWay::begin(&shared.saving);
    store.commit(&Commit { events, ..Commit::empty(lease.clone(), shared.namespace.clone()) }).await?;
    batch.saved();
    *last = newest;
    Ok(())
}

/// Saves events that came after the last commit. What cannot be saved now is lost: the run itself is saved.
pub(crate) async fn save_events(shared: &Shared) {
    let (Some((_, kept)), Some(lease)) = (keeping(shared), &shared.lease) else { return };
    // Nothing is saved after a save that failed.
    if !kept.has_failed.load(Ordering::Relaxed) {
        let commit = Commit::empty(lease.clone(), shared.namespace.clone());
        let _ = save_numbered(shared, [].iter(), commit).await;
    }
}

async fn save_numbered<'a>(
    shared: &Shared,
    events: impl Iterator<Item = &'a Event> + Send,
    mut commit: Commit,
) -> Result<Vec<Stamp>> {
    let Some((sink, kept)) = keeping(shared) else { return Ok(Vec::new()) };
    // Held while the commit is under way: what is numbered later is saved later. Only then are the events of this commit
    // laid with those that wait: another one must not take them along.
    let mut last = kept.last.lock().await;
    if let Some((saver, thread)) = shared.saver.as_ref().zip(shared.thread.as_ref()).filter(|_| kept.is_unsure()) {
        // An earlier commit was let go of while it was under way: the store knows how far it came.
        *last = saver.last_event(thread).await?;
        kept.sort_out(*last);
    }
    let others = kept.waiting();
    let stamps = events.map(|event| sink.keep_machine(shared, event)).collect();
    let batch = kept.take(others);
    commit.events = stored(shared, &batch);
    let newest = commit.events.last().map(|event| event.number);
    if newest.is_some() || commit.checkpoint.is_some() || !commit.pending.is_empty() || commit.status.is_some() {
        let saved = save(shared, &commit).await;
        kept.has_failed.fetch_or(saved.is_err(), Ordering::Relaxed);
        saved?;
    }
    batch.saved();
    *last = newest.unwrap_or(*last);
    Ok(stamps)
}

fn stored(shared: &Shared, batch: &Batch<'_>) -> Vec<StoredEvent> {
    let stored = |(number, body): &(u64, serde_json::Value)| StoredEvent {
        number: *number,
        run: shared.run,
        body: Datum::json(body.clone()),
    };
    batch.events().iter().map(stored).collect()
}
