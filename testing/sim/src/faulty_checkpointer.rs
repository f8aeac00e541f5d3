//! The checkpointer of one process: the simulated disk, with an await point before and after each effect, and the
//! faults of the plan.

use superstep::core::checkpoint::{CheckpointNamespace, TaskEntry};
use superstep::core::delegate_checkpointer;
use superstep::core::error::{Error, Result};
use superstep::core::id::{RunId, ThreadId};
use superstep::core::port::{
    CheckpointSelector, CheckpointTuple, Checkpointer, Commit, EventsQuery, HistoryQuery, Lease, StoredEvent,
};
use superstep::core::seeded_bugs::{SeededBug, is_enabled};
use superstep::{MemoryCheckpointer, ThreadStatus};

use crate::fault_plan::StoreFault;
use crate::invariants::Counter;
use crate::process::{AwaitPoint, Process};
use crate::simulation::SimulationState;

mod seeded_bugs;

/// The checkpointer through which a process accesses the simulated disk.
pub(crate) struct FaultyCheckpointer(pub(crate) Process);

impl FaultyCheckpointer {
    /// Simulates one call: an await point, the effect (unless the fault prevents it), and another await point.
    async fn call<T>(
        &self,
        name: &'static str,
        effect: impl FnOnce(&mut SimulationState, Option<StoreFault>) -> Result<T>,
    ) -> Result<T> {
        self.0.pause(AwaitPoint::Before(name)).await;
        let result = {
            let mut state = self.0.state();
            state.counters.count(Counter::Calls);
            match state.call() {
                None => effect(&mut state, None),
                Some(fault) => {
                    let _unknown = fault.applied.then(|| effect(&mut state, Some(fault)));
                    Err(Error::new(fault.code, format!("{name} failed with an injected fault")))
                }
            }
        };
        self.0.pause(AwaitPoint::After(name)).await;
        result
    }

    fn commit_and_check(&self, state: &mut SimulationState, commit: &Commit, fault: Option<StoreFault>) -> Result<()> {
        let result = self.save(state, commit, fault);
        state.trace_event(|| format!("process {} commits {}: {}", self.0.number, describe(commit), outcome(&result)));
        let rejection = match &result {
            Ok(()) => {
                let check_result = state.oracle.committed(commit).and_then(|()| state.history.check_commit(commit));
                state.check(check_result);
                let resumes =
                    commit.pending.iter().filter(|pending| matches!(pending.entry, TaskEntry::Resume(_))).count();
                state.counters.add(Counter::ResumesSaved, resumes as u64);
                state.counters.add(Counter::UnknownCommits, u64::from(fault.is_some()));
                return result;
            }
            Err(error) => state.oracle.rejected(commit, error),
        };
        match rejection {
            Ok(true) => state.counters.count(Counter::StaleLeasesRejected),
            Ok(false) if is_id_conflict(state, commit) => state.counters.count(Counter::IdConflictsRejected),
            Ok(false) => {}
            Err(violation) => state.check(Err(violation)),
        }
        result
    }

    /// Writes to the disk, or incorrectly if a bug is seeded.
    fn save(&self, state: &SimulationState, commit: &Commit, fault: Option<StoreFault>) -> Result<()> {
        let disk = &self.0.sim.disk;
        if is_enabled(SeededBug::NoFence) {
            return seeded_bugs::ignore_fence(disk, state, commit);
        }
        if is_enabled(SeededBug::IdClashReplaced) {
            return seeded_bugs::overwrite_checkpoint(disk, commit);
        }
        let result = disk.commit(commit);
        if fault.is_some() && is_enabled(SeededBug::RetryUnknownCommit) {
            seeded_bugs::duplicate_step(disk, commit);
        }
        result
    }
}

fn is_id_conflict(state: &SimulationState, commit: &Commit) -> bool {
    commit.checkpoint.as_ref().is_some_and(|checkpoint| state.oracle.checkpoint(checkpoint.id).is_some())
}

/// Returns a description of a commit for the trace.
fn describe(commit: &Commit) -> String {
    let step = commit.checkpoint.as_ref().map_or_else(
        || "no step".to_owned(),
        |checkpoint| format!("step {} ({:?}, {})", checkpoint.step, checkpoint.source, checkpoint.id),
    );
    let entries: Vec<String> =
        commit.pending.iter().map(|pending| format!("{} {}", pending.node, pending.entry.slot())).collect();
    format!(
        "{step} of graph `{}` with lease {} [{}]",
        commit.namespace.as_str(),
        commit.lease.fence,
        entries.join(", ")
    )
}

fn outcome<T>(result: &Result<T>) -> String {
    match result {
        Ok(_) => "ok".to_owned(),
        Err(error) => error.message().to_owned(),
    }
}

impl Checkpointer for FaultyCheckpointer {
    async fn acquire(&self, _thread: &ThreadId, run: RunId) -> Result<Lease> {
        let request = self.call("acquire", |state, _| {
            self.0.sim.expire_lease(state);
            let lease = self.0.sim.disk.acquire(run);
            state.trace_event(|| format!("process {} acquires the thread: {}", self.0.number, outcome(&lease)));
            if let Ok(lease) = &lease {
                state.oracle.acquired(run, lease.fence);
                state.lease_granted(self.0.number, lease.clone());
            }
            lease
        });
        let lease = request.await?;
        self.0.state().lease_acknowledged(lease.fence);
        Ok(lease)
    }

    fn release(&self, lease: &Lease) {
        let mut state = self.0.state();
        if !state.is_alive(self.0.number) {
            return;
        }
        state.trace_event(|| format!("process {} releases lease {}", self.0.number, lease.fence));
        self.0.sim.disk.release(lease);
        state.oracle.released(lease.fence);
        state.held.take_if(|held| held.lease.fence == lease.fence);
    }

    async fn commit(&self, commit: &Commit) -> Result<()> {
        if is_enabled(SeededBug::WritesAfterCheckpoint)
            && let Some((first, second)) = seeded_bugs::split_commit(commit)
        {
            self.call("commit", |state, fault| self.commit_and_check(state, &first, fault)).await?;
            return self.call("commit", |state, fault| self.commit_and_check(state, &second, fault)).await;
        }
        self.call("commit", |state, fault| self.commit_and_check(state, commit, fault)).await
    }

    async fn load(
        &self,
        _thread: &ThreadId,
        namespace: &CheckpointNamespace,
        at: CheckpointSelector,
    ) -> Result<Option<CheckpointTuple>> {
        self.call("load", |state, _| {
            let loaded = self.0.sim.disk.load(namespace, at)?;
            let pending = loaded.iter().flat_map(|loaded| &loaded.pending);
            let saved = pending.filter(|entry| matches!(entry.entry, TaskEntry::Done(_))).count();
            state.counters.add(Counter::ResultsReused, saved as u64);
            Ok(loaded)
        })
        .await
    }

    async fn history(
        &self,
        _thread: &ThreadId,
        namespace: &CheckpointNamespace,
        query: &HistoryQuery,
    ) -> Result<Vec<CheckpointTuple>> {
        self.call("history", |_, _| self.0.sim.disk.history(namespace, query)).await
    }

    async fn status(&self, _thread: &ThreadId) -> Result<Option<ThreadStatus>> {
        self.call("status", |_, _| self.0.sim.disk.status()).await
    }

    async fn namespaces(&self, _thread: &ThreadId) -> Result<Vec<CheckpointNamespace>> {
        self.call("namespaces", |_, _| self.0.sim.disk.namespaces()).await
    }

    async fn events(&self, _thread: &ThreadId, query: &EventsQuery) -> Result<Vec<StoredEvent>> {
        self.call("events", |_, _| self.0.sim.disk.events(query)).await
    }

    async fn last_event_number(&self, _thread: &ThreadId) -> Result<u64> {
        self.call("last_event", |_, _| self.0.sim.disk.last_event()).await
    }

    delegate_checkpointer!(_this => not_simulated()?; delete_events);
    delegate_checkpointer!(_this => not_simulated()?; threads, delete_thread, copy_thread, prune, stats);
}

/// Returns the error of calls that no schedule makes.
fn not_simulated() -> Result<&'static MemoryCheckpointer> {
    Err(Error::internal("the simulation does not support this call"))
}
