//! One thread in memory: lease, status, and a history for each of its graphs.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};

use superstep_core::checkpoint::CheckpointNamespace;
use superstep_core::error::{Error, Result};
use superstep_core::id::{RunId, ThreadId};
use superstep_core::port::{
    CheckpointerStats, Commit, Lease, PruneReport, Retention, StoredEvent, ThreadStatus, errors, sort_events,
};

use super::history::History;
use super::journal::ThreadJournal;

/// A thread. It exists for callers once something was committed.
#[derive(Default)]
pub(super) struct Thread {
    fence: u64,
    holder: Option<RunId>,
    status: Option<ThreadStatus>,
    /// Boxed, because a map node reserves space for several entries and most threads have one.
    histories: BTreeMap<CheckpointNamespace, Box<History>>,
    pub(super) events: ThreadJournal,
}

impl Thread {
    /// Acquires the lease of the thread for a run, unless another run holds the lease. A run may acquire its own
    /// lease again.
    pub(super) fn acquire_lease(&mut self, thread: &ThreadId, run: RunId, fences: &AtomicU64) -> Result<Lease> {
        if self.holder.is_some_and(|holder| holder != run) {
            self.check_free(thread)?;
        }
        self.fence = fences.fetch_add(1, Ordering::Relaxed) + 1;
        self.holder = Some(run);
        Ok(Lease { thread: thread.clone(), fence: self.fence })
    }

    /// Releases the lease with this fence. Returns true if the thread has no data.
    pub(super) fn release_lease(&mut self, fence: u64) -> bool {
        if self.fence == fence {
            self.holder = None;
        }
        self.holder.is_none() && self.status.is_none()
    }

    pub(super) fn check_free(&self, thread: &ThreadId) -> Result<()> {
        self.holder.map_or(Ok(()), |run| Err(errors::thread_busy(thread, run)))
    }

    /// Returns the status of the thread. A run whose process died is no longer busy.
    pub(super) fn status(&self) -> Option<ThreadStatus> {
        match self.status {
            Some(ThreadStatus::Busy) if self.holder.is_none() => Some(ThreadStatus::Idle),
            status => status,
        }
    }

    pub(super) fn history(&self, namespace: &CheckpointNamespace) -> Option<&History> {
        self.histories.get(namespace).map(|history| &**history)
    }

    pub(super) fn namespaces(&self) -> Vec<CheckpointNamespace> {
        self.histories
            .iter()
            .filter(|(_, history)| !history.is_empty())
            .map(|(namespace, _)| namespace.clone())
            .collect()
    }

    /// Applies a commit completely, or not at all.
    pub(super) fn commit(&mut self, commit: &Commit) -> Result<()> {
        if self.holder.is_none() || self.fence != commit.lease.fence {
            return Err(errors::lease_lost(&commit.lease));
        }
        let thread = &commit.lease.thread;
        let has_events = !commit.events.is_empty()
            || commit.subgraph_commits.iter().any(|subgraph_commit| !subgraph_commit.events.is_empty());
        let events = if has_events { self.unsaved_events(commit) } else { Ok(Vec::new()) };
        let events = events.map_err(|error| error.with_thread(Some(thread)))?;
        let saved = if commit.subgraph_commits.is_empty() { self.save(commit) } else { self.save_all(commit) };
        if saved.map_err(|error| error.with_thread(Some(thread)))? {
            self.status = commit.status.or(self.status).or(Some(ThreadStatus::Idle));
        }
        if has_events {
            self.events.add(events);
        }
        Ok(())
    }

    /// Returns the events of a commit that are not journaled yet. A repeated commit is detected by its checkpoint.
    fn unsaved_events(&self, commit: &Commit) -> Result<Vec<StoredEvent>> {
        let is_saved = |part: &&Commit| {
            let history = self.histories.get(&part.namespace);
            part.checkpoint.as_ref().is_some_and(|checkpoint| history.is_some_and(|history| history.has(checkpoint.id)))
        };
        let (saved, unsaved): (Vec<_>, Vec<_>) = commit.subgraph_commits.iter().chain([commit]).partition(is_saved);
        self.events.new_events(sort_events(unsaved)?, !saved.is_empty())
    }

    /// Saves a commit together with those of subgraphs. Restores all histories on failure.
    fn save_all(&mut self, commit: &Commit) -> Result<bool> {
        let all = || commit.subgraph_commits.iter().chain([commit]);
        let before: BTreeMap<CheckpointNamespace, Option<Box<History>>> =
            all().map(|commit| (commit.namespace.clone(), self.histories.get(&commit.namespace).cloned())).collect();
        let saved = all().try_fold(false, |_, commit| self.save(commit));
        if saved.is_err() {
            for (namespace, history) in before {
                match history {
                    Some(history) => drop(self.histories.insert(namespace, history)),
                    None => drop(self.histories.remove(&namespace)),
                }
            }
        }
        saved
    }

    fn save(&mut self, commit: &Commit) -> Result<bool> {
        check_thread_and_namespace(commit)?;
        if let Some(history) = self.histories.get_mut(&commit.namespace) {
            return history.commit(commit);
        }
        let mut history = History::default();
        let is_new = history.commit(commit)?;
        self.histories.insert(commit.namespace.clone(), Box::new(history));
        Ok(is_new)
    }

    /// Copies the thread without its lease; `None` if nothing was committed.
    pub(super) fn copy_for(&self, thread: &ThreadId) -> Option<Self> {
        let status = match self.status? {
            ThreadStatus::Busy => ThreadStatus::Idle,
            status => status,
        };
        let histories = self
            .histories
            .iter()
            .map(|(namespace, history)| (namespace.clone(), Box::new(history.copy_to_thread(thread))))
            .collect();
        Some(Self { fence: 0, holder: None, status: Some(status), histories, events: self.events.clone() })
    }

    pub(super) fn prune(&mut self, retention: &Retention) -> PruneReport {
        let mut report = PruneReport::default();
        for history in self.histories.values_mut() {
            history.prune(retention, &mut report);
        }
        report
    }

    pub(super) fn count(&self, stats: &mut CheckpointerStats) {
        stats.threads += u64::from(self.status.is_some());
        stats.bytes += self.events.bytes();
        for history in self.histories.values() {
            stats.checkpoints += history.len() as u64;
            stats.bytes += history.bytes();
        }
    }
}

/// Checks that a checkpoint belongs to the thread and namespace of its commit; otherwise no read would find it there.
fn check_thread_and_namespace(commit: &Commit) -> Result<()> {
    let Some(checkpoint) = &commit.checkpoint else { return Ok(()) };
    if checkpoint.thread == commit.lease.thread && checkpoint.namespace == commit.namespace {
        return Ok(());
    }
    let (thread, namespace) = (&checkpoint.thread, checkpoint.namespace.as_str());
    Err(Error::internal(format!("checkpoint {} belongs to thread `{thread}`, graph `{namespace}`", checkpoint.id)))
}
