//! The store of one process: the disk, with an await point before and after each effect, and faults where planned.

use superstep::core::checkpoint::{Entry, Namespace};
use superstep::core::error::{Error, Result};
use superstep::core::forward_checkpointer;
use superstep::core::id::{RunId, ThreadId};
use superstep::core::planted::{Bug, is_planted};
use superstep::core::port::{At, Checkpointer, Commit, EventsQuery, HistoryQuery, Lease, Loaded, StoredEvent};
use superstep::{Memory, ThreadStatus};

use crate::plan::StoreFault;
use crate::process::{Place, Process};
use crate::rules::Fact;
use crate::sim::Course;

mod careless;

/// The disk as a process sees it.
pub(crate) struct SimStore(pub(crate) Process);

impl SimStore {
    /// One call: a pause, the effect unless it fails without one, a pause.
    async fn call<T>(
        &self,
        name: &'static str,
        effect: impl FnOnce(&mut Course, Option<StoreFault>) -> Result<T>,
    ) -> Result<T> {
        self.0.pause(Place::Before(name)).await;
        let result = {
            let mut course = self.0.course();
            course.tally.count(Fact::Calls);
            match course.call() {
                None => effect(&mut course, None),
                Some(fault) => {
                    let _unknown = fault.kept.then(|| effect(&mut course, Some(fault)));
                    Err(Error::new(fault.code, format!("{name} failed, as the schedule asked")))
                }
            }
        };
        self.0.pause(Place::After(name)).await;
        result
    }

    fn commits(&self, course: &mut Course, commit: &Commit, fault: Option<StoreFault>) -> Result<()> {
        let result = self.save(course, commit, fault);
        course.note(|| format!("process {} commits {}: {}", self.0.number, spoken(commit), outcome(&result)));
        let refused = match &result {
            Ok(()) => {
                let verdict = course.record.committed(commit).and_then(|()| course.follow.saved(commit));
                course.judge(verdict);
                let answers = commit.pending.iter().filter(|known| matches!(known.entry, Entry::Answer(_))).count();
                course.tally.add(Fact::Answers, answers as u64);
                course.tally.add(Fact::UnknownCommits, u64::from(fault.is_some()));
                return result;
            }
            Err(error) => course.record.refused(commit, error),
        };
        match refused {
            Ok(true) => course.tally.count(Fact::FencesRefused),
            Ok(false) if is_clash(course, commit) => course.tally.count(Fact::ClashesRefused),
            Ok(false) => {}
            Err(violation) => course.judge(Err(violation)),
        }
        result
    }

    /// Writes to the disk, or does it wrong where a bug is planted.
    fn save(&self, course: &Course, commit: &Commit, fault: Option<StoreFault>) -> Result<()> {
        let disk = &self.0.sim.disk;
        if is_planted(Bug::NoFence) {
            return careless::without_fence(disk, course, commit);
        }
        if is_planted(Bug::IdClashReplaced) {
            return careless::replacing(disk, commit);
        }
        let result = disk.commit(commit);
        if fault.is_some() && is_planted(Bug::RetryUnknownCommit) {
            careless::once_more(disk, commit);
        }
        result
    }
}

fn is_clash(course: &Course, commit: &Commit) -> bool {
    commit.checkpoint.as_ref().is_some_and(|checkpoint| course.record.checkpoint(checkpoint.id).is_some())
}

/// A commit in words.
fn spoken(commit: &Commit) -> String {
    let step = commit.checkpoint.as_ref().map_or_else(
        || "no step".to_owned(),
        |checkpoint| format!("step {} ({:?}, {})", checkpoint.step, checkpoint.source, checkpoint.id),
    );
    let known: Vec<String> =
        commit.pending.iter().map(|known| format!("{} {}", known.node, known.entry.slot())).collect();
    format!("{step} of graph `{}` with lease {} [{}]", commit.namespace.as_str(), commit.lease.fence, known.join(", "))
}

fn outcome<T>(result: &Result<T>) -> String {
    match result {
        Ok(_) => "ok".to_owned(),
        Err(error) => error.message().to_owned(),
    }
}

impl Checkpointer for SimStore {
    async fn acquire(&self, _thread: &ThreadId, run: RunId) -> Result<Lease> {
        let asked = self.call("acquire", |course, _| {
            self.0.sim.expire_lease(course);
            let lease = self.0.sim.disk.acquire(run);
            course.note(|| format!("process {} asks for the thread: {}", self.0.number, outcome(&lease)));
            if let Ok(lease) = &lease {
                course.record.acquired(run, lease.fence);
                course.holds(self.0.number, lease.clone());
            }
            lease
        });
        let lease = asked.await?;
        self.0.course().knows_its_lease(lease.fence);
        Ok(lease)
    }

    fn release(&self, lease: &Lease) {
        let mut course = self.0.course();
        if !course.is_alive(self.0.number) {
            return;
        }
        course.note(|| format!("process {} gives lease {} back", self.0.number, lease.fence));
        self.0.sim.disk.release(lease);
        course.record.let_go(lease.fence);
        course.held.take_if(|held| held.lease.fence == lease.fence);
    }

    async fn commit(&self, commit: &Commit) -> Result<()> {
        if is_planted(Bug::WritesAfterCheckpoint)
            && let Some((first, second)) = careless::in_two(commit)
        {
            self.call("commit", |course, fault| self.commits(course, &first, fault)).await?;
            return self.call("commit", |course, fault| self.commits(course, &second, fault)).await;
        }
        self.call("commit", |course, fault| self.commits(course, commit, fault)).await
    }

    async fn load(&self, _thread: &ThreadId, namespace: &Namespace, at: At) -> Result<Option<Loaded>> {
        self.call("load", |course, _| {
            let loaded = self.0.sim.disk.load(namespace, at)?;
            let pending = loaded.iter().flat_map(|loaded| &loaded.pending);
            let kept = pending.filter(|known| matches!(known.entry, Entry::Done(_))).count();
            course.tally.add(Fact::KeptResults, kept as u64);
            Ok(loaded)
        })
        .await
    }

    async fn history(&self, _thread: &ThreadId, namespace: &Namespace, query: &HistoryQuery) -> Result<Vec<Loaded>> {
        self.call("history", |_, _| self.0.sim.disk.history(namespace, query)).await
    }

    async fn status(&self, _thread: &ThreadId) -> Result<Option<ThreadStatus>> {
        self.call("status", |_, _| self.0.sim.disk.status()).await
    }

    async fn namespaces(&self, _thread: &ThreadId) -> Result<Vec<Namespace>> {
        self.call("namespaces", |_, _| self.0.sim.disk.namespaces()).await
    }

    async fn events(&self, _thread: &ThreadId, query: &EventsQuery) -> Result<Vec<StoredEvent>> {
        self.call("events", |_, _| self.0.sim.disk.events(query)).await
    }

    async fn last_event(&self, _thread: &ThreadId) -> Result<u64> {
        self.call("last_event", |_, _| self.0.sim.disk.last_event()).await
    }

    forward_checkpointer!(_this => not_simulated()?; forget_events);
    forward_checkpointer!(_this => not_simulated()?; threads, delete_thread, copy_thread, prune, stats);
}

/// Stands where the store would be for what no schedule asks of it.
fn not_simulated() -> Result<&'static Memory> {
    Err(Error::internal("the simulation has no part for this"))
}
