//! Commits with the events that belong to them: each in the transaction of what it speaks of, numbered as it is saved.

use superstep_core::datum::Datum;
use superstep_core::error::Result;
use superstep_core::machine::Machine;
use superstep_core::port::{Commit, StoredEvent};

use super::save;
use crate::context::Shared;
use crate::stream::{Keeper, Sink};

/// Where events go, when they are kept.
pub(super) fn keeping(shared: &Shared) -> Option<(&Sink, &Keeper)> {
    let sink = shared.sink.as_ref()?;
    Some((sink, sink.kept.as_deref()?))
}

/// Saves a commit with the events that belong to it.
pub(super) async fn save_with_events(shared: &Shared, machine: &Machine, commit: Commit) -> Result<()> {
    let Some((sink, kept)) = keeping(shared) else { return save(shared, &commit).await };
    for event in machine.saving_events() {
        sink.keep_machine(shared, event);
    }
    save_numbered(shared, kept, commit).await
}

/// Saves events that came after the last commit. What cannot be saved now is lost: the run itself is saved.
pub(crate) async fn save_events(shared: &Shared) {
    let (Some((_, kept)), Some(lease)) = (keeping(shared), &shared.lease) else { return };
    let commit = Commit::empty(lease.clone(), shared.namespace.clone());
    let _ = save_numbered(shared, kept, commit).await;
}

async fn save_numbered(shared: &Shared, kept: &Keeper, mut commit: Commit) -> Result<()> {
    // Held while the commit is under way: what is numbered later is saved later.
    let mut last = kept.last.lock().await;
    let stored = |(number, body)| StoredEvent { number, run: shared.run, body: Datum::json(body) };
    commit.events = (*last + 1..).zip(kept.take()).map(stored).collect();
    let newest = commit.events.last().map(|event| event.number);
    if newest.is_some() || commit.checkpoint.is_some() || !commit.pending.is_empty() || commit.status.is_some() {
        save(shared, &commit).await?;
    }
    *last = newest.unwrap_or(*last);
    Ok(())
}
