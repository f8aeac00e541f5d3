//! Released leases whose rows are not updated yet.
//!
//! They are queued until they are written, so that a disk that is temporarily full does not keep a thread busy
//! forever. Until then the row still names this process, so the next run of this process can acquire the thread
//! without a transaction.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use superstep_core::id::RunId;

use super::lease::next_fence;
use crate::change_log::AcquiredThread;

/// Maximum delay of a release if no other transaction is written before.
pub(super) const RELEASE_DELAY: Duration = Duration::from_millis(5);

/// Queue of pending releases, shared with the writer thread.
#[derive(Clone, Default)]
pub(super) struct PendingReleases(Arc<Mutex<ReleaseQueue>>);

#[derive(Default)]
struct ReleaseQueue {
    list: Vec<PendingRelease>,
    /// True if the writer thread has to be woken for new releases.
    writer_is_idle: bool,
    /// Number of jobs that were sent to the writer and have not ended.
    jobs_in_flight: usize,
    /// Runs that hold a thread whose row names the previous run, each with its fence, which the row value only
    /// represents.
    runs: BTreeMap<i64, (RunId, u64)>,
}

/// A released lease: the row of the thread and its fence.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct PendingRelease {
    pub(super) row: i64,
    pub(super) fence: u64,
    released_at: Instant,
}

impl PendingReleases {
    fn lock(&self) -> MutexGuard<'_, ReleaseQueue> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Queues a release. Returns true if the writer thread has to be woken.
    pub(super) fn queue_release(&self, row: i64, fence: u64) -> bool {
        let mut state = self.lock();
        state.list.push(PendingRelease { row, fence, released_at: Instant::now() });
        state.writer_is_idle
    }

    /// Acquires a thread that was released a moment ago, if its release is not written yet.
    ///
    /// Not while a job is on its way to the writer: it could belong to the previous lease. And not after the delay:
    /// another process may have taken over from a suspended one, which only the row shows.
    pub(super) fn reacquire(&self, (row, before): (i64, u64), run: RunId) -> Option<AcquiredThread> {
        let mut state = self.lock();
        let fence = next_fence(before).filter(|_| state.jobs_in_flight == 0)?;
        let is_reacquirable = |release: &PendingRelease| {
            (release.row, release.fence) == (row, before) && release.released_at.elapsed() < RELEASE_DELAY
        };
        let index = state.list.iter().position(is_reacquirable)?;
        state.list.remove(index);
        state.runs.insert(row, (run, fence));
        Some(AcquiredThread { row, fence, before, is_new: false })
    }

    /// Returns the run that holds a thread and its fence, if its row names another run.
    pub(super) fn run_of(&self, row: i64) -> Option<(RunId, u64)> {
        self.lock().runs.get(&row).copied()
    }

    /// Records that the row of a thread names the run that holds it.
    pub(super) fn row_written(&self, row: i64) {
        self.lock().runs.remove(&row);
    }

    /// Counts a job that is sent to the writer.
    pub(super) fn job_sent(&self) {
        self.lock().jobs_in_flight += 1;
    }

    /// Counts jobs that have ended, successfully or not.
    pub(super) fn jobs_ended(&self, count: usize) {
        let mut state = self.lock();
        state.jobs_in_flight = state.jobs_in_flight.saturating_sub(count);
    }

    /// Returns true if no job is on its way to the writer.
    pub(super) fn is_idle(&self) -> bool {
        self.lock().jobs_in_flight == 0
    }

    /// Takes all pending releases to be written. Their threads can no longer be acquired without a transaction.
    pub(super) fn take_all(&self) -> Vec<PendingRelease> {
        let mut state = self.lock();
        let list = std::mem::take(&mut state.list);
        for release in &list {
            if state.runs.get(&release.row).is_some_and(|(_, fence)| *fence == release.fence) {
                state.runs.remove(&release.row);
            }
        }
        list
    }

    /// Queues releases again that could not be written.
    pub(super) fn requeue(&self, list: Vec<PendingRelease>) {
        let mut state = self.lock();
        let newer = std::mem::replace(&mut state.list, list);
        state.list.extend(newer);
    }

    /// Returns the pending releases.
    pub(super) fn list(&self) -> Vec<PendingRelease> {
        self.lock().list.clone()
    }

    pub(super) fn wake(&self) {
        self.lock().writer_is_idle = false;
    }

    /// Marks the writer as idle if there are no pending releases, or only those that could not be written; returns
    /// true if so.
    pub(super) fn sleep_unless_new(&self, before: &[PendingRelease]) -> bool {
        let mut state = self.lock();
        state.writer_is_idle = state.list.is_empty() || state.list == before;
        state.writer_is_idle
    }
}

/// Guard of an acquired lease that releases it if the caller has stopped waiting.
pub(super) struct SqliteLeaseGuard {
    acquired: AcquiredThread,
    releases: Option<PendingReleases>,
}

impl SqliteLeaseGuard {
    pub(super) fn new(acquired: AcquiredThread, releases: &PendingReleases) -> Self {
        Self { acquired, releases: Some(releases.clone()) }
    }

    pub(super) fn disarm(mut self) -> AcquiredThread {
        self.releases = None;
        self.acquired
    }
}

impl Drop for SqliteLeaseGuard {
    fn drop(&mut self) {
        if let Some(releases) = self.releases.take() {
            releases.queue_release(self.acquired.row, self.acquired.fence);
        }
    }
}
