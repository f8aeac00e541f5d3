//! Executes runs: owns their tasks, publishes their events, persists their end.
//!
//! A task is never detached: shutdown drains it, then cancels it, then aborts it. An aborted run leaves its record
//! unchanged, and the next server recovers it.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use superstep::core::id::{RunId, ThreadId};
use superstep::{Error, ErrorCode, RunControl, RunEnd, StreamEvent};
use tokio::sync::{Notify, oneshot};
use tokio::task::JoinSet;
use tokio::time::{Instant, timeout_at};

use crate::access::rate_limit::RunPermit;
use crate::api::problem::Problem;
use crate::events::broadcast::{CancelHandle, CancelMode, EventBroadcaster, ThreadBroadcast, lock};
use crate::graphs::registry::{RunHandle, RunResult};
use crate::runs::repository::{RunError, RunRecord, RunRepository, RunStatus, ThreadRecord};

/// Executor of runs; owns the tasks of the active runs of this process.
pub(crate) struct Worker {
    tasks: Mutex<JoinSet<()>>,
    active: Arc<ActiveRuns>,
    capacity: usize,
}

#[derive(Default)]
struct ActiveRuns {
    runs: Mutex<BTreeMap<ThreadId, ActiveRun>>,
    is_shutting_down: AtomicBool,
    /// Notified when a run has ended and its slot is free.
    slot_released: Notify,
}

#[derive(Clone)]
struct ActiveRun {
    run: RunId,
    cancel_handle: CancelHandle,
}

/// A slot among the active runs of this process: at most one per thread.
pub(crate) struct RunSlot {
    active: Arc<ActiveRuns>,
    thread: ThreadId,
    active_run: ActiveRun,
}

impl Drop for RunSlot {
    fn drop(&mut self) {
        lock(&self.active.runs).remove(&self.thread);
    }
}

impl RunSlot {
    pub(crate) fn control(&self) -> RunControl {
        self.active_run.cancel_handle.control().clone()
    }

    pub(crate) fn cancel_handle(&self) -> CancelHandle {
        self.active_run.cancel_handle.clone()
    }

    /// Returns true if the run ends because the server shuts down.
    fn is_suspended(&self) -> bool {
        self.active.is_shutting_down.load(Ordering::SeqCst) && !self.active_run.cancel_handle.is_requested()
    }
}

/// Parts needed to execute a run.
pub(crate) struct RunJob {
    pub(crate) slot: RunSlot,
    pub(crate) handle: RunHandle,
    pub(crate) record: RunRecord,
    pub(crate) repository: RunRepository,
    pub(crate) broadcaster: Arc<EventBroadcaster>,
    pub(crate) permit: Option<RunPermit>,
    /// Earlier thread record, restored if the run is rejected; the outer `None` marks a recovered run, which
    /// restores nothing.
    pub(crate) thread_before: Option<Option<ThreadRecord>>,
    /// Receives the result of persisting the run record.
    pub(crate) saved_tx: oneshot::Sender<Result<(), Problem>>,
    /// Receives the result of starting the run.
    pub(crate) started_tx: oneshot::Sender<Result<(), Problem>>,
}

impl Worker {
    pub(crate) fn new(capacity: usize) -> Self {
        Self { tasks: Mutex::default(), active: Arc::default(), capacity }
    }

    /// Acquires a slot for a run.
    ///
    /// # Errors
    /// Returns an error if the thread already has a run, the maximum number of runs is reached, or the server shuts
    /// down.
    pub(crate) fn acquire_slot(&self, thread: &ThreadId, run: RunId) -> Result<RunSlot, Problem> {
        self.try_acquire_slot(thread, run, self.capacity)
    }

    /// Acquires a slot as [`Worker::acquire_slot`] does, but ignores the maximum number of runs. The slot keeps other
    /// runs off the thread.
    ///
    /// # Errors
    /// Returns an error if the thread already has a run, or the server shuts down.
    pub(crate) fn acquire_slot_over_capacity(&self, thread: &ThreadId, run: RunId) -> Result<RunSlot, Problem> {
        self.try_acquire_slot(thread, run, usize::MAX)
    }

    fn try_acquire_slot(&self, thread: &ThreadId, run: RunId, max: usize) -> Result<RunSlot, Problem> {
        let mut runs = lock(&self.active.runs);
        if self.active.is_shutting_down.load(Ordering::SeqCst) {
            return Err(Problem::shutting_down());
        }
        if runs.contains_key(thread) {
            let detail = format!("thread `{thread}` already has a run");
            return Err(Problem::conflict(detail).with_hint("wait for the run to end, or stop it").with_thread(thread));
        }
        if runs.len() >= max {
            let detail = format!("the server already has the maximum of {max} concurrent runs");
            return Err(Problem::too_many_requests(detail, Duration::from_secs(5)));
        }
        let active_run = ActiveRun { run, cancel_handle: CancelHandle::default() };
        runs.insert(thread.clone(), active_run.clone());
        Ok(RunSlot { active: self.active.clone(), thread: thread.clone(), active_run })
    }

    /// Returns true if more slots are in use than the maximum number of runs.
    pub(crate) fn is_over_capacity(&self) -> bool {
        lock(&self.active.runs).len() > self.capacity
    }

    /// Waits until a run has ended and its slot is free.
    pub(crate) async fn slot_released(&self) {
        self.active.slot_released.notified().await;
    }

    /// Executes a run in the background.
    pub(crate) fn start(&self, job: RunJob) {
        let mut tasks = lock(&self.tasks);
        while tasks.try_join_next().is_some() {}
        let active = self.active.clone();
        tasks.spawn(async move {
            drive(job).await;
            active.slot_released.notify_one();
        });
    }

    /// Cancels the run of a thread; false if this process has none.
    pub(crate) fn cancel(&self, thread: &ThreadId, mode: CancelMode) -> bool {
        let Some(handle) = self.cancel_handle(thread) else { return false };
        handle.request(mode);
        true
    }

    /// Returns the cancel handle of the run of a thread in this process.
    pub(crate) fn cancel_handle(&self, thread: &ThreadId) -> Option<CancelHandle> {
        lock(&self.active.runs).get(thread).map(|active| active.cancel_handle.clone())
    }

    /// Returns the run of a thread in this process.
    pub(crate) fn active_run(&self, thread: &ThreadId) -> Option<RunId> {
        lock(&self.active.runs).get(thread).map(|active| active.run)
    }

    /// Returns the number of active runs and their maximum.
    pub(crate) fn load(&self) -> (usize, usize) {
        (lock(&self.active.runs).len(), self.capacity)
    }

    pub(crate) fn is_shutting_down(&self) -> bool {
        self.active.is_shutting_down.load(Ordering::SeqCst)
    }

    /// Rejects new runs and drains the active ones; cancels them at `drain_deadline`, aborts them at `abort_at`.
    pub(crate) async fn shut_down(&self, drain_deadline: Instant, abort_at: Instant) {
        let active_runs: Vec<ActiveRun> = {
            let runs = lock(&self.active.runs);
            self.active.is_shutting_down.store(true, Ordering::SeqCst);
            runs.values().cloned().collect()
        };
        active_runs.iter().for_each(|active| active.cancel_handle.control().drain());
        let mut tasks = std::mem::take(&mut *lock(&self.tasks));
        if timeout_at(drain_deadline, join_all(&mut tasks)).await.is_err() {
            active_runs.iter().for_each(|active| active.cancel_handle.control().cancel());
            let _ = timeout_at(abort_at, join_all(&mut tasks)).await;
        }
        tasks.abort_all();
    }

    /// Aborts all runs immediately, as a crash of the process would.
    pub(crate) fn abort(&self) {
        lock(&self.tasks).abort_all();
    }
}

async fn join_all(tasks: &mut JoinSet<()>) {
    while tasks.join_next().await.is_some() {}
}

/// Persists a run and executes it to its end, even if the client that requested it has disconnected.
async fn drive(job: RunJob) {
    let RunJob {
        slot,
        mut handle,
        mut record,
        repository,
        broadcaster,
        mut permit,
        thread_before,
        saved_tx,
        started_tx,
    } = job;
    let run = record.request.run;
    // The record of a recovered run is persisted by the recovery.
    if thread_before.is_some()
        && let Err(problem) = repository.save(&record).await
    {
        // The slot is free before the client is notified, so that it may try again at once.
        drop((slot, permit));
        return drop(saved_tx.send(Err(problem)));
    }
    // From here on the run is recovered after a crash, and clients can subscribe.
    let broadcast = broadcaster.open(&record.request.thread, run);
    let _ = saved_tx.send(Ok(()));
    let Some(first) = handle.next().await else {
        let problem = handle_rejected_start(handle, record, &repository, (thread_before, slot.is_suspended())).await;
        drop((slot, permit));
        broadcast.end_run(run);
        return drop(started_tx.send(Err(problem)));
    };
    broadcast.publish(&first);
    if let Some(permit) = &mut permit {
        permit.mark_started();
    }
    let _ = started_tx.send(Ok(()));
    let mut gap_deadline = None;
    while let Some(event) = next(&mut handle, &broadcast, &mut gap_deadline).await {
        broadcast.publish(&event);
    }
    let result = handle.finish().await;
    record.checkpoint = match &result {
        Ok(result) => result.checkpoint,
        Err(error) => error.partial().and_then(|partial| partial.checkpoint),
    };
    let (status, error) = status_of(&result, slot.is_suspended());
    record.set_ended(status, error);
    // Subscribers are notified last: a client that sees the end finds it persisted, and the thread free.
    if let Err(problem) = retry_with_backoff(|| repository.save_end(&record)).await {
        // The record keeps the status `running`: the next recovery reads the end from the checkpoints.
        tracing::error!(%run, "the end of a run could not be persisted: {}", problem.detail());
    }
    drop((slot, permit));
    match status {
        RunStatus::Suspended => broadcast.suspend_run(),
        _ => broadcast.end_run(run),
    }
}

/// Returns the next event. If events wait for a missing one, `gap_deadline` is the time at which the gap is skipped if
/// the missing event is already persisted: it may have been persisted without being published. An event that is still
/// being persisted is awaited.
async fn next(
    handle: &mut RunHandle,
    broadcast: &ThreadBroadcast,
    gap_deadline: &mut Option<Instant>,
) -> Option<StreamEvent> {
    while broadcast.has_gap() {
        let deadline = *gap_deadline.get_or_insert_with(|| Instant::now() + GAP_TIMEOUT);
        if Instant::now() < deadline
            && let Ok(event) = timeout_at(deadline, handle.next()).await
        {
            return event;
        }
        broadcast.skip_persisted_gap();
        *gap_deadline = None;
    }
    *gap_deadline = None;
    handle.next().await
}

/// Time after which a missing event is read from the journal. Usually the event is published before that.
const GAP_TIMEOUT: Duration = Duration::from_millis(250);

/// Retries a storage operation with exponential backoff, for about six seconds in all.
async fn retry_with_backoff<T, F: Future<Output = Result<T, Problem>>>(attempt: impl Fn() -> F) -> Result<T, Problem> {
    let mut delay = Duration::from_millis(100);
    loop {
        match attempt().await {
            Err(problem) if delay < Duration::from_secs(5) => {
                tracing::warn!("a record could not be written; retrying: {}", problem.detail());
                tokio::time::sleep(delay).await;
                delay *= 2;
            }
            result => return result,
        }
    }
}

/// Records that a run was rejected: it ended before its first event. Returns the problem.
async fn handle_rejected_start(
    handle: RunHandle,
    mut record: RunRecord,
    repository: &RunRepository,
    (thread_before, is_suspended): (Option<Option<ThreadRecord>>, bool),
) -> Problem {
    let error =
        handle.finish().await.err().unwrap_or_else(|| Error::internal("the run ended without an event or an error"));
    let persisted = match thread_before {
        Some(before) => retry_with_backoff(|| repository.revert_start(&record, before.clone())).await,
        // The run was recovered after its process died, and the next server recovers it again; a short outage of
        // the storage does not make the run invalid.
        None if is_suspended || error.is_retryable() => Ok(()),
        None => {
            match error.code() {
                ErrorCode::Cancelled => record.set_ended(RunStatus::Cancelled, None),
                _ => record.set_ended(RunStatus::Orphaned, Some(RunError::from(&error))),
            }
            retry_with_backoff(|| repository.save_end(&record)).await
        }
    };
    if let Err(problem) = persisted {
        let run = record.request.run;
        tracing::error!(%run, "the record of a rejected run could not be removed: {}", problem.detail());
    }
    Problem::from(error)
}

fn status_of(result: &Result<RunResult, Error>, is_suspended: bool) -> (RunStatus, Option<RunError>) {
    let cancelled = if is_suspended { RunStatus::Suspended } else { RunStatus::Cancelled };
    match result {
        Ok(result) => match &result.status {
            RunEnd::Interrupted(_) | RunEnd::Paused(_) => (RunStatus::AwaitingInput, None),
            RunEnd::Drained => (cancelled, None),
            _ => (RunStatus::Succeeded, None),
        },
        Err(error) if error.code() == ErrorCode::Cancelled => (cancelled, None),
        Err(error) => (RunStatus::Failed, Some(RunError::from(error))),
    }
}
