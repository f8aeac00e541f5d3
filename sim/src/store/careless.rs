//! Stores that break the rules: what the simulation must find when one of these bugs is planted.

use std::sync::Arc;

use superstep::core::checkpoint::Checkpoint;
use superstep::core::error::Result;
use superstep::core::id::CheckpointId;
use superstep::core::port::Commit;

use crate::disk::Disk;
use crate::sim::Course;

/// A commit that counts whoever has the thread.
pub(super) fn without_fence(disk: &Disk, course: &Course, commit: &Commit) -> Result<()> {
    match &course.held {
        Some(held) => disk.commit(&Commit { lease: held.lease.clone(), ..copy(commit) }),
        None => disk.commit(commit),
    }
}

/// A step in two transactions: the checkpoint with the first value, then the other values. `None` when it has only one.
pub(super) fn in_two(commit: &Commit) -> Option<(Commit, Commit)> {
    let checkpoint = commit.checkpoint.as_ref().filter(|_| commit.changes.len() > 1)?;
    let id = id_beside(checkpoint.id);
    let early = Checkpoint { id, ..(**checkpoint).clone() };
    let late = Checkpoint { parent: Some(id), ..(**checkpoint).clone() };
    let changes = |range: &[_]| range.iter().cloned().collect();
    let (first, others) = commit.changes.split_at(1);
    Some((
        Commit { checkpoint: Some(Arc::new(early)), changes: changes(first), pending: Vec::new(), ..copy(commit) },
        Commit { checkpoint: Some(Arc::new(late)), changes: changes(others), ..copy(commit) },
    ))
}

/// The same step again, as if it were another.
pub(super) fn once_more(disk: &Disk, commit: &Commit) {
    if let Some(checkpoint) = &commit.checkpoint {
        let again = Checkpoint { id: id_beside(checkpoint.id), parent: Some(checkpoint.id), ..(**checkpoint).clone() };
        let _ = disk.commit(&Commit { checkpoint: Some(Arc::new(again)), ..copy(commit) });
    }
}

/// Writes a checkpoint in place of another one with its id, which is gone with all that was built on it.
pub(super) fn replacing(disk: &Disk, commit: &Commit) -> Result<()> {
    if let Some(checkpoint) = &commit.checkpoint
        && disk.was_written(checkpoint.id)
        && disk.commit(commit).is_err()
    {
        disk.rewrite(checkpoint.id, commit.lease.fence);
    }
    disk.commit(commit)?;
    disk.remember(Commit { state: None, ..copy(commit) });
    Ok(())
}

/// All of a commit.
pub(crate) fn copy(commit: &Commit) -> Commit {
    Commit {
        lease: commit.lease.clone(),
        namespace: commit.namespace.clone(),
        checkpoint: commit.checkpoint.clone(),
        changes: commit.changes.clone(),
        state: commit.state.clone(),
        pending: commit.pending.clone(),
        status: commit.status,
        events: commit.events.clone(),
        inside: commit.inside.iter().map(copy).collect(),
    }
}

/// An id nobody else makes.
fn id_beside(id: CheckpointId) -> CheckpointId {
    CheckpointId::from_bits(id.bits() | (1 << 120))
}
