//! Faulty checkpointers: the simulation must find each of these seeded bugs.

use std::sync::Arc;

use superstep::core::checkpoint::Checkpoint;
use superstep::core::error::Result;
use superstep::core::id::CheckpointId;
use superstep::core::port::Commit;

use crate::checkpointer_backend::SimulatedDisk;
use crate::simulation::SimulationState;

/// Commits independent of the lease holder.
pub(super) fn ignore_fence(disk: &SimulatedDisk, state: &SimulationState, commit: &Commit) -> Result<()> {
    match &state.held {
        Some(held) => disk.commit(&Commit { lease: held.lease.clone(), ..copy(commit) }),
        None => disk.commit(commit),
    }
}

/// Splits a superstep into two transactions: the checkpoint with the first value, then the other values. Returns
/// `None` if it has only one value.
pub(super) fn split_commit(commit: &Commit) -> Option<(Commit, Commit)> {
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

/// Commits the same superstep again as another one.
pub(super) fn duplicate_step(disk: &SimulatedDisk, commit: &Commit) {
    if let Some(checkpoint) = &commit.checkpoint {
        let duplicate =
            Checkpoint { id: id_beside(checkpoint.id), parent: Some(checkpoint.id), ..(**checkpoint).clone() };
        let _ = disk.commit(&Commit { checkpoint: Some(Arc::new(duplicate)), ..copy(commit) });
    }
}

/// Overwrites a checkpoint with the same id, which removes everything built on it.
pub(super) fn overwrite_checkpoint(disk: &SimulatedDisk, commit: &Commit) -> Result<()> {
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

/// Returns a full copy of a commit.
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
        subgraph_commits: commit.subgraph_commits.iter().map(copy).collect(),
    }
}

/// Returns an id that no process generates.
fn id_beside(id: CheckpointId) -> CheckpointId {
    CheckpointId::from_bits(id.bits() | (1 << 120))
}
