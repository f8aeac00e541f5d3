//! Drives runs: owns their tasks, tells their events to the hub, writes down how they end.
//!
//! A task is never let go of: shutdown drains it, then cancels it, then aborts it. An aborted run leaves its record as it
//! was, and the next server takes it up.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use superstep::core::id::{RunId, ThreadId};
use superstep::{Code, Control, Error, Status, StreamEvent};
use tokio::sync::{Notify, oneshot};
use tokio::task::JoinSet;
use tokio::time::{Instant, timeout_at};

use crate::hub::{Brake, Hub, Line, Stop, lock};
use crate::ledger::{Ledger, Record, RunFailure, RunStatus, ThreadRecord};
use crate::limits::Pass;
use crate::problem::Problem;
use crate::registry::{Ended, Running};

/// The runs of this process.
pub(crate) struct Worker {
    tasks: Mutex<JoinSet<()>>,
    live: Arc<Live>,
    most: usize,
}

#[derive(Default)]
struct Live {
    runs: Mutex<BTreeMap<ThreadId, Hand>>,
    is_closing: AtomicBool,
    /// Told when a run has ended, and its place is free.
    freed: Notify,
}

#[derive(Clone)]
struct Hand {
    run: RunId,
    brake: Brake,
}

/// A place among the runs of this process: one for each thread.
pub(crate) struct Place {
    live: Arc<Live>,
    thread: ThreadId,
    hand: Hand,
}

impl Drop for Place {
    fn drop(&mut self) {
        lock(&self.live.runs).remove(&self.thread);
    }
}

impl Place {
    pub(crate) fn control(&self) -> Control {
        self.hand.brake.control().clone()
    }

    pub(crate) fn brake(&self) -> Brake {
        self.hand.brake.clone()
    }

    /// Whether it ends because the server does.
    fn is_suspended(&self) -> bool {
        self.live.is_closing.load(Ordering::SeqCst) && !self.hand.brake.is_pulled()
    }
}

/// Everything it takes to drive a run.
pub(crate) struct Job {
    pub(crate) place: Place,
    pub(crate) running: Running,
    pub(crate) record: Record,
    pub(crate) ledger: Ledger,
    pub(crate) hub: Arc<Hub>,
    pub(crate) pass: Option<Pass>,
    /// What was known of the thread before, to be restored when the run is refused; a run that is taken up is not.
    pub(crate) before: Option<Option<ThreadRecord>>,
    /// Told once the run is written down, or why it could not be.
    pub(crate) written: oneshot::Sender<Result<(), Problem>>,
    /// Told once the run has begun, or why it has not.
    pub(crate) begun: oneshot::Sender<Result<(), Problem>>,
}

impl Worker {
    pub(crate) fn new(most: usize) -> Self {
        Self { tasks: Mutex::default(), live: Arc::default(), most }
    }

    /// Takes a place for a run.
    ///
    /// # Errors
    /// When the thread runs already, there are too many runs, or the server stops.
    pub(crate) fn enter(&self, thread: &ThreadId, run: RunId) -> Result<Place, Problem> {
        self.take_place(thread, run, self.most)
    }

    /// As [`Worker::enter`], however many runs there are: for who wants that nobody else moves a thread.
    ///
    /// # Errors
    /// When the thread runs already, or the server stops.
    pub(crate) fn hold(&self, thread: &ThreadId, run: RunId) -> Result<Place, Problem> {
        self.take_place(thread, run, usize::MAX)
    }

    fn take_place(&self, thread: &ThreadId, run: RunId, most: usize) -> Result<Place, Problem> {
        let mut runs = lock(&self.live.runs);
        if self.live.is_closing.load(Ordering::SeqCst) {
            return Err(Problem::closing());
        }
        if runs.contains_key(thread) {
            let detail = format!("thread `{thread}` already runs");
            return Err(Problem::conflict(detail).hint("wait for its end, or stop it").on_thread(thread));
        }
        if runs.len() >= most {
            let detail = format!("{most} runs at once are all that this server drives");
            return Err(Problem::too_many(detail, Duration::from_secs(5)));
        }
        let hand = Hand { run, brake: Brake::default() };
        runs.insert(thread.clone(), hand.clone());
        Ok(Place { live: self.live.clone(), thread: thread.clone(), hand })
    }

    /// Whether there are more places taken than runs may be.
    pub(crate) fn is_over_full(&self) -> bool {
        lock(&self.live.runs).len() > self.most
    }

    /// Ends when a run has, and its place is free.
    pub(crate) async fn freed(&self) {
        self.live.freed.notified().await;
    }

    /// Drives a run in the background.
    pub(crate) fn start(&self, job: Job) {
        let mut tasks = lock(&self.tasks);
        while tasks.try_join_next().is_some() {}
        let live = self.live.clone();
        tasks.spawn(async move {
            drive(job).await;
            live.freed.notify_one();
        });
    }

    /// Stops the run of a thread; false when none runs here.
    pub(crate) fn stop(&self, thread: &ThreadId, stop: Stop) -> bool {
        let Some(brake) = self.brake(thread) else { return false };
        brake.pull(stop);
        true
    }

    /// What the run of a thread is stopped with, where one runs here.
    pub(crate) fn brake(&self, thread: &ThreadId) -> Option<Brake> {
        lock(&self.live.runs).get(thread).map(|hand| hand.brake.clone())
    }

    /// The run of a thread, where one runs here.
    pub(crate) fn run_of(&self, thread: &ThreadId) -> Option<RunId> {
        lock(&self.live.runs).get(thread).map(|hand| hand.run)
    }

    /// How many runs there are, and how many there may be.
    pub(crate) fn load(&self) -> (usize, usize) {
        (lock(&self.live.runs).len(), self.most)
    }

    pub(crate) fn is_closing(&self) -> bool {
        self.live.is_closing.load(Ordering::SeqCst)
    }

    /// Takes no new runs and lets those there are finish their superstep; cancels them at `drained`, aborts them at `over`.
    pub(crate) async fn shut_down(&self, drained: Instant, over: Instant) {
        let hands: Vec<Hand> = {
            let runs = lock(&self.live.runs);
            self.live.is_closing.store(true, Ordering::SeqCst);
            runs.values().cloned().collect()
        };
        hands.iter().for_each(|hand| hand.brake.control().drain());
        let mut tasks = std::mem::take(&mut *lock(&self.tasks));
        if timeout_at(drained, join_all(&mut tasks)).await.is_err() {
            hands.iter().for_each(|hand| hand.brake.control().cancel());
            let _ = timeout_at(over, join_all(&mut tasks)).await;
        }
        tasks.abort_all();
    }

    /// Lets go of everything at once, as a process that dies does.
    pub(crate) fn abort(&self) {
        lock(&self.tasks).abort_all();
    }
}

async fn join_all(tasks: &mut JoinSet<()>) {
    while tasks.join_next().await.is_some() {}
}

/// Writes a run down and drives it to its end. Whoever asked for it may have left: nothing here depends on that.
async fn drive(job: Job) {
    let Job { place, mut running, mut record, ledger, hub, mut pass, before, written, begun } = job;
    let run = record.order.run;
    // One that is taken up has been written down by whoever did so.
    if before.is_some()
        && let Err(problem) = ledger.write(&record).await
    {
        // Whoever is told may try again at once.
        drop((place, pass));
        return drop(written.send(Err(problem)));
    }
    // From here on the run is found after a crash, and heard by readers.
    let line = hub.open(&record.order.thread, run);
    let _ = written.send(Ok(()));
    let Some(first) = running.next().await else {
        let problem = refused(running, record, &ledger, (before, place.is_suspended())).await;
        drop((place, pass));
        line.over(run);
        return drop(begun.send(Err(problem)));
    };
    line.tell(&first);
    if let Some(pass) = &mut pass {
        pass.has_begun();
    }
    let _ = begun.send(Ok(()));
    let mut look = None;
    while let Some(event) = next(&mut running, &line, &mut look).await {
        line.tell(&event);
    }
    let ended = running.finish().await;
    record.checkpoint = match &ended {
        Ok(ended) => ended.checkpoint,
        Err(error) => error.partial().and_then(|partial| partial.checkpoint),
    };
    let (status, failure) = status_of(&ended, place.is_suspended());
    record.ended(status, failure);
    // Only then are readers told: whoever sees the end finds it written down, and the thread free.
    if let Err(problem) = patiently(|| ledger.write_end(&record)).await {
        // The record still says `running`: whoever looks next finds out how it ended.
        tracing::error!(%run, "the end of a run could not be written down: {}", problem.detail());
    }
    drop((place, pass));
    match status {
        RunStatus::Suspended => line.suspend(),
        _ => line.over(run),
    }
}

/// The next event. Where one is missing that others wait for, `look` is when the store is asked about it: it may have been
/// stored and not told. One that is still being saved is waited for.
async fn next(running: &mut Running, line: &Line, look: &mut Option<Instant>) -> Option<StreamEvent> {
    while line.holds_back() {
        let at = *look.get_or_insert_with(|| Instant::now() + MISSING);
        if Instant::now() < at
            && let Ok(event) = timeout_at(at, running.next()).await
        {
            return event;
        }
        line.pass_stored();
        *look = None;
    }
    *look = None;
    running.next().await
}

/// How long after an event went missing it is looked for among those that are stored. As a rule it is on its way.
const MISSING: Duration = Duration::from_millis(250);

/// Does something with a store again when that failed, each time after twice the pause: about six seconds in all.
async fn patiently<T, F: Future<Output = Result<T, Problem>>>(attempt: impl Fn() -> F) -> Result<T, Problem> {
    let mut pause = Duration::from_millis(100);
    loop {
        match attempt().await {
            Err(problem) if pause < Duration::from_secs(5) => {
                tracing::warn!("a record could not be written, and is tried again: {}", problem.detail());
                tokio::time::sleep(pause).await;
                pause *= 2;
            }
            done => return done,
        }
    }
}

/// A run that ended before it said anything: it was refused.
async fn refused(
    running: Running,
    mut record: Record,
    ledger: &Ledger,
    (before, is_suspended): (Option<Option<ThreadRecord>>, bool),
) -> Problem {
    let error = running.finish().await.err().unwrap_or_else(|| Error::internal("a run ended without a word"));
    let written = match before {
        Some(before) => patiently(|| ledger.take_back(&record, before.clone())).await,
        // It was taken up after its process died, and the next server does so again; nothing is wrong with the run where
        // a store was away for a moment.
        None if is_suspended || error.is_retryable() => Ok(()),
        None => {
            match error.code() {
                Code::Cancelled => record.ended(RunStatus::Stopped, None),
                _ => record.ended(RunStatus::Interrupted, Some(RunFailure::from(&error))),
            }
            patiently(|| ledger.write_end(&record)).await
        }
    };
    if let Err(problem) = written {
        tracing::error!(run = %record.order.run, "a refused run is still written down: {}", problem.detail());
    }
    Problem::from(error)
}

fn status_of(ended: &Result<Ended, Error>, is_suspended: bool) -> (RunStatus, Option<RunFailure>) {
    let stopped = if is_suspended { RunStatus::Suspended } else { RunStatus::Stopped };
    match ended {
        Ok(ended) => match &ended.status {
            Status::Interrupted(_) | Status::Paused(_) => (RunStatus::Waiting, None),
            Status::Drained => (stopped, None),
            _ => (RunStatus::Finished, None),
        },
        Err(error) if error.code() == Code::Cancelled => (stopped, None),
        Err(error) => (RunStatus::Failed, Some(RunFailure::from(error))),
    }
}
