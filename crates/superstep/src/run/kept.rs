//! Commits with the events that belong to them: each in the transaction of what it speaks of, numbered as it is saved.

use std::sync::atomic::Ordering;

use superstep_core::datum::Datum;
use superstep_core::error::Result;
use superstep_core::machine::{Event, Machine};
use superstep_core::port::{Commit, StoredEvent};

use super::save;
use crate::context::Shared;
use crate::stream::{Keeper, Sink};

/// Where events go, when they are kept.
pub(super) fn keeping(shared: &Shared) -> Option<(&Sink, &Keeper)> {
    let sink = shared.sink.as_ref()?;
    Some((sink, sink.kept.as_deref()?))
}

/// Saves a commit with the events that belong to it: those the machine made before it, and those that may be told once
/// it is saved.
pub(super) async fn save_with_events(
    shared: &Shared,
    machine: &Machine,
    before: &[Event],
    commit: Commit,
) -> Result<()> {
    if keeping(shared).is_none() {
        return save(shared, &commit).await;
    }
    save_numbered(shared, before.iter().chain(machine.saving_events()), commit).await
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
) -> Result<()> {
    let Some((sink, kept)) = keeping(shared) else { return Ok(()) };
    // Held while the commit is under way: what is numbered later is saved later. Only then are the events of this commit
    // laid with those that wait: another one must not take them along.
    let mut last = kept.last.lock().await;
    if let Some((saver, thread)) = shared.saver.as_ref().zip(shared.thread.as_ref()).filter(|_| kept.is_unsure()) {
        // An earlier commit was let go of while it was under way: the store knows how far it came.
        *last = saver.last_event(thread).await?;
        kept.sort_out(*last);
    }
    let others = kept.waiting();
    for event in events {
        sink.keep_machine(shared, event);
    }
    let batch = kept.take(*last, others);
    let stored = |(number, body): &(u64, serde_json::Value)| StoredEvent {
        number: *number,
        run: shared.run,
        body: Datum::json(body.clone()),
    };
    commit.events = batch.events().iter().map(stored).collect();
    let newest = commit.events.last().map(|event| event.number);
    if newest.is_some() || commit.checkpoint.is_some() || !commit.pending.is_empty() || commit.status.is_some() {
        let saved = save(shared, &commit).await;
        kept.has_failed.fetch_or(saved.is_err(), Ordering::Relaxed);
        saved?;
    }
    batch.saved();
    *last = newest.unwrap_or(*last);
    Ok(())
}
