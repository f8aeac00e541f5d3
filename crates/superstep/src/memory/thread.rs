//! One thread in memory: who moves it, how it stands, and a line of checkpoints for each graph of it.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};

use superstep_core::checkpoint::Namespace;
use superstep_core::error::{Error, Result};
use superstep_core::id::{RunId, ThreadId};
use superstep_core::port::{
    Commit, Lease, PruneReport, Retention, Stats, StoredEvent, ThreadStatus, events_in_order, refusal,
};

use super::events::Events;
use super::line::Line;

/// A thread. It counts as one that exists once something was saved.
#[derive(Default)]
pub(super) struct Thread {
    fence: u64,
    holder: Option<RunId>,
    status: Option<ThreadStatus>,
    /// Boxed: a map has room for several, and a thread has mostly one.
    lines: BTreeMap<Namespace, Box<Line>>,
    pub(super) events: Events,
}

impl Thread {
    /// Gives a run the right to move the thread, unless another run has it. A run may take over from itself.
    pub(super) fn take(&mut self, thread: &ThreadId, run: RunId, fences: &AtomicU64) -> Result<Lease> {
        if self.holder.is_some_and(|holder| holder != run) {
            self.check_free(thread)?;
        }
        self.fence = fences.fetch_add(1, Ordering::Relaxed) + 1;
        self.holder = Some(run);
        Ok(Lease { thread: thread.clone(), fence: self.fence })
    }

    /// Takes the right back from whoever has this fence. True when nothing is left to keep.
    pub(super) fn give_back(&mut self, fence: u64) -> bool {
        if self.fence == fence {
            self.holder = None;
        }
        self.holder.is_none() && self.status.is_none()
    }

    pub(super) fn check_free(&self, thread: &ThreadId) -> Result<()> {
        self.holder.map_or(Ok(()), |holder| Err(refusal::busy(thread, holder)))
    }

    /// How the thread stands. Whoever died while moving it moves it no longer.
    pub(super) fn status(&self) -> Option<ThreadStatus> {
        match self.status {
            Some(ThreadStatus::Busy) if self.holder.is_none() => Some(ThreadStatus::Idle),
            status => status,
        }
    }

    pub(super) fn line(&self, namespace: &Namespace) -> Option<&Line> {
        self.lines.get(namespace).map(|line| &**line)
    }

    pub(super) fn namespaces(&self) -> Vec<Namespace> {
        self.lines.iter().filter(|(_, line)| !line.is_empty()).map(|(namespace, _)| namespace.clone()).collect()
    }

    /// Saves all of a transaction, or nothing.
    pub(super) fn commit(&mut self, commit: &Commit) -> Result<()> {
        if self.holder.is_none() || self.fence != commit.lease.fence {
            return Err(refusal::fenced(&commit.lease));
        }
        let thread = &commit.lease.thread;
        let has_events = !commit.events.is_empty() || commit.inside.iter().any(|inside| !inside.events.is_empty());
        let events = if has_events { self.unsaved_events(commit) } else { Ok(Vec::new()) };
        let events = events.map_err(|error| error.on_thread(Some(thread)))?;
        let saved = if commit.inside.is_empty() { self.save(commit) } else { self.save_all(commit) };
        if saved.map_err(|error| error.on_thread(Some(thread)))? {
            self.status = commit.status.or(self.status).or(Some(ThreadStatus::Idle));
        }
        if has_events {
            self.events.add(events);
        }
        Ok(())
    }

    /// The events of a transaction that are not kept yet. What is sent again is known by its checkpoint.
    fn unsaved_events(&self, commit: &Commit) -> Result<Vec<StoredEvent>> {
        let is_known = |part: &&Commit| {
            let line = self.lines.get(&part.namespace);
            part.checkpoint.as_ref().is_some_and(|checkpoint| line.is_some_and(|line| line.has(checkpoint.id)))
        };
        let (known, fresh): (Vec<_>, Vec<_>) = commit.inside.iter().chain([commit]).partition(is_known);
        self.events.unsaved(events_in_order(fresh)?, !known.is_empty())
    }

    /// As `save`, with what graphs inside have done.
    fn save_all(&mut self, commit: &Commit) -> Result<bool> {
        let all = || commit.inside.iter().chain([commit]);
        let before: BTreeMap<Namespace, Option<Box<Line>>> =
            all().map(|commit| (commit.namespace.clone(), self.lines.get(&commit.namespace).cloned())).collect();
        let saved = all().try_fold(false, |_, commit| self.save(commit));
        if saved.is_err() {
            for (namespace, line) in before {
                match line {
                    Some(line) => drop(self.lines.insert(namespace, line)),
                    None => drop(self.lines.remove(&namespace)),
                }
            }
        }
        saved
    }

    fn save(&mut self, commit: &Commit) -> Result<bool> {
        check_place(commit)?;
        if let Some(line) = self.lines.get_mut(&commit.namespace) {
            return line.commit(commit);
        }
        let mut line = Line::default();
        let is_new = line.commit(commit)?;
        self.lines.insert(commit.namespace.clone(), Box::new(line));
        Ok(is_new)
    }

    /// The same history under another name, moved by nobody; `None` when there is nothing to copy.
    pub(super) fn copy_for(&self, thread: &ThreadId) -> Option<Self> {
        let status = match self.status? {
            ThreadStatus::Busy => ThreadStatus::Idle,
            status => status,
        };
        let lines =
            self.lines.iter().map(|(namespace, line)| (namespace.clone(), Box::new(line.copy_for(thread)))).collect();
        Some(Self { fence: 0, holder: None, status: Some(status), lines, events: self.events.clone() })
    }

    pub(super) fn prune(&mut self, retention: &Retention) -> PruneReport {
        let mut report = PruneReport::default();
        for line in self.lines.values_mut() {
            line.prune(retention, &mut report);
        }
        report
    }

    pub(super) fn count(&self, stats: &mut Stats) {
        stats.threads += u64::from(self.status.is_some());
        stats.bytes += self.events.bytes();
        for line in self.lines.values() {
            stats.checkpoints += line.len() as u64;
            stats.bytes += line.bytes();
        }
    }
}

/// A checkpoint that says it belongs elsewhere would be found in the wrong place for ever.
fn check_place(commit: &Commit) -> Result<()> {
    let Some(checkpoint) = &commit.checkpoint else { return Ok(()) };
    if checkpoint.thread == commit.lease.thread && checkpoint.namespace == commit.namespace {
        return Ok(());
    }
    let (thread, namespace) = (&checkpoint.thread, checkpoint.namespace.as_str());
    Err(Error::internal(format!("checkpoint {} belongs to thread `{thread}`, graph `{namespace}`", checkpoint.id)))
}
