//! The run loop: connects machine, executor and checkpointer, and produces events and an outcome.
//!
//! Runs, streams, resumes, batches, subgraphs and server runs all use [`drive`], the only run loop. The machine makes
//! all decisions; the loop performs its actions in order.

use std::future::poll_fn;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll};
use std::time::Duration;

use superstep_core::checkpoint::TaskEntry;
use superstep_core::error::{Error, ErrorCode, Result};
use superstep_core::machine::{Action, Machine, MachineEnd, MachineEvent, MachineOutcome};
use superstep_core::port::{BoxFuture, Clock, Commit, ThreadStatus};
use superstep_core::seeded_bugs::{SeededBug, is_enabled};
use tracing::Instrument;

use crate::engine::context::{RunShared, token_budget_exceeded};
use crate::engine::executor::{TaskSet, detach, run_task, task_cx};
use crate::run::control::RunControl;

mod journaled_commit;

use journaled_commit::{journal, save_with_events};
pub(crate) use journaled_commit::{save_events, save_start};

/// Drives a machine to its end.
pub(crate) async fn drive(
    machine: &mut Machine,
    shared: &Arc<RunShared>,
    tasks: &mut TaskSet,
) -> Result<MachineOutcome> {
    let mut started_at = 0;
    loop {
        if let Some(control) = &shared.control {
            if control.is_draining() {
                machine.drain();
            }
            if control.is_cancelled() {
                return Err(cancelled_error());
            }
        }
        if shared.recorded_results.is_some() {
            shared.pass_recorded_results(machine);
        }
        let is_watched = shared.publisher.is_some();
        // A slow subscriber blocks the run here, where no action of the machine is in progress that could be lost.
        if is_watched {
            publish(machine, shared).await;
        }
        let step = machine.next_action();
        if is_watched && matches!(step, Action::Run(_)) {
            publish(machine, shared).await;
        }
        match step {
            // Spawning on another worker costs more than a superstep, so a single task runs in place.
            Action::Run(mut batch) if batch.len() == 1 && tasks.is_idle() => {
                let Some(task) = batch.pop() else { continue };
                let index = task.index;
                check_budget(machine, shared)?;
                let started_at = superstep_start_time(shared, task.step);
                let mut work = pin!(run_task(task_cx(shared, task)));
                let end = match shared.limits.step_timeout {
                    None => work.await,
                    Some(_) => with_superstep_timeout(shared, started_at, work.as_mut())
                        .await
                        .map_err(|error| machine.failure(error))?,
                };
                machine.task_ended(index, end)?;
                heartbeat_parent(shared);
            }
            Action::Run(batch) => {
                check_budget(machine, shared)?;
                started_at = superstep_start_time(shared, batch.first().map_or(0, |task| task.step));
                tasks.start(shared, batch);
            }
            Action::Wait => {
                let next = with_superstep_timeout(shared, started_at, pin!(tasks.next(shared))).await;
                tasks.superstep_timed_out = next.is_err();
                end_task(machine, next)?;
                heartbeat_parent(shared);
            }
            Action::Cancel(indices) => tasks.cancel(&indices),
            Action::Abort(indices) => tasks.abort(&indices),
            Action::Save(commit) if is_enabled(SeededBug::AckBeforeCommit) => {
                commit_without_waiting(shared, commit);
                machine.commit_completed();
            }
            Action::Save(commit) => save_step(machine, shared, commit).await?,
            // The caller publishes the last events: the outcome must not be lost while a subscriber is slow.
            Action::Stop(outcome) => return Ok(*outcome),
        }
    }
}

/// Reports the next ended task to the machine.
fn end_task(machine: &mut Machine, next: Result<Option<(usize, superstep_core::machine::TaskEnd)>>) -> Result<()> {
    let next = next.map_err(|error| machine.failure(error))?;
    let (index, end) = next.ok_or_else(|| Error::internal("the run waits for tasks, but no task is running"))?;
    machine.task_ended(index, end)
}

/// Publishes the last events of an ended run. Waiting for a slow subscriber can be cancelled; the outcome cannot.
async fn publish_final(machine: &mut Machine, shared: &RunShared) {
    let mut publishing = pin!(publish(machine, shared));
    let Some(control) = &shared.control else { return publishing.await };
    let mut cancelled = pin!(control.cancelled());
    poll_fn(|context| match publishing.as_mut().poll(context) {
        Poll::Ready(()) => Poll::Ready(()),
        Poll::Pending => cancelled.as_mut().poll(context),
    })
    .await;
}

/// Publishes the events that may be published now.
pub(crate) async fn publish(machine: &mut Machine, shared: &RunShared) {
    if let Some(publisher) = &shared.publisher {
        // Boxed, so that a run without subscribers does not reserve memory for it.
        Box::pin(publisher.publish(shared, machine.take_events())).await;
    }
}

/// Counts the end of a task in a subgraph as a heartbeat of the parent task.
fn heartbeat_parent(shared: &RunShared) {
    if let Some(outer) = &shared.parent_task {
        outer.heartbeat_if_idle_timeout();
    }
}

/// Guard that counts a commit in flight.
pub(crate) struct CommitInFlight<'a>(&'a AtomicUsize);

impl<'a> CommitInFlight<'a> {
    pub(crate) fn begin(saving: &'a AtomicUsize) -> Self {
        saving.fetch_add(1, Ordering::Relaxed);
        Self(saving)
    }
}

impl Drop for CommitInFlight<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

async fn save(shared: &RunShared, commit: &Commit) -> Result<()> {
    let Some(checkpointer) = &shared.checkpointer else {
        return Err(Error::internal("commit requested without a checkpointer"));
    };
    let _in_flight = CommitInFlight::begin(&shared.commits_in_flight);
    match &shared.observer {
        None => checkpointer.commit(commit).await?,
        Some(observer) => checkpointer.commit(commit).instrument(observer.current_span()).await?,
    }
    if let Some(publisher) =
        shared.publisher.as_ref().filter(|_| shared.subgraph_buffer.is_some() && shared.parent_task.is_none())
    {
        publisher.release_deferred();
    }
    let is_interrupt = |entry: &TaskEntry| matches!(entry, TaskEntry::Interrupt(_));
    // An interrupt is visible only after it is persisted, so that a crash cannot withdraw it.
    match commit.status == Some(ThreadStatus::Interrupted)
        || commit.pending.iter().any(|pending| is_interrupt(&pending.entry))
    {
        true => shared.flush().await,
        false => Ok(()),
    }
}

/// Performs a commit of the machine and reports its success to the machine; includes its events if they are
/// journaled.
async fn save_step(machine: &mut Machine, shared: &RunShared, commit: Box<Commit>) -> Result<()> {
    let Some((publisher, _)) = journal(shared) else {
        save(shared, &commit).await.map_err(|error| shared.commit_error(machine, error))?;
        drop(commit);
        machine.commit_completed();
        return Ok(());
    };
    // With commits at the end of the run, some events were created together with this commit.
    let mut events = machine.take_events();
    let saved = Box::pin(save_with_events(shared, machine, &events, *commit)).await;
    let stamps = saved.map_err(|error| shared.commit_error(machine, error))?;
    machine.commit_completed();
    events.extend(machine.take_events());
    Box::pin(publisher.publish_saved(shared, stamps, events)).await;
    Ok(())
}

/// Commits without waiting: a seeded bug for the simulation.
fn commit_without_waiting(shared: &RunShared, commit: Box<Commit>) {
    if let Some(checkpointer) = shared.checkpointer.clone() {
        drop(detach(Box::pin(async move { checkpointer.commit(&commit).await })));
    }
}

/// Checked before tasks start, after the results of the previous ones are persisted.
fn check_budget(machine: &Machine, shared: &RunShared) -> Result<()> {
    token_budget_exceeded(shared.usage.tokens(), shared.limits.tokens).map_err(|error| machine.failure(error))
}

/// Returns the start time of a superstep; 0 without a superstep timeout.
fn superstep_start_time(shared: &RunShared, step: i64) -> i64 {
    if let Some(observer) = &shared.observer {
        observer.superstep_started(step);
    }
    shared.limits.step_timeout.map_or(0, |_| shared.clock.now())
}

/// Returns the result of `work`, or an error if the superstep exceeds its timeout.
async fn with_superstep_timeout<T>(
    shared: &RunShared,
    started_at: i64,
    work: Pin<&mut impl Future<Output = T>>,
) -> Result<T> {
    let Some(time) = shared.limits.step_timeout else { return Ok(work.await) };
    let used = Duration::from_micros(u64::try_from(shared.clock.now() - started_at).unwrap_or(0));
    with_timeout(&*shared.clock, time.saturating_sub(used), work).await.ok_or_else(|| timed_out("the superstep", time))
}

/// Returns the result of `work`, or `None` if it takes longer than `time`.
pub(crate) async fn with_timeout<T>(
    clock: &dyn Clock,
    time: Duration,
    mut work: Pin<&mut impl Future<Output = T>>,
) -> Option<T> {
    let mut limit = clock.sleep(time);
    poll_fn(|context| match work.as_mut().poll(context) {
        Poll::Ready(value) => Poll::Ready(Some(value)),
        Poll::Pending => limit.as_mut().poll(context).map(|()| None),
    })
    .await
}

pub(crate) fn timed_out(operation: &str, time: Duration) -> Error {
    Error::new(ErrorCode::Timeout, format!("{operation} exceeded its timeout of {time:?}"))
        .with_help("continue the thread from its last saved superstep, or raise the timeout")
}

/// Drives a machine to its end, its timeout or its cancellation, whichever comes first.
///
/// A commit in flight is never dropped, because its result would be unknown. Results of tasks that have finished when
/// the run is stopped are persisted.
pub(crate) async fn drive_with_limits(machine: &mut Machine, shared: &Arc<RunShared>) -> Result<MachineOutcome> {
    let mut tasks = TaskSet::new(shared.limits.concurrency);
    let mut is_stopped = false;
    let ended = {
        let mut work = pin!(drive(machine, shared, &mut tasks));
        let time = shared.limits.run_timeout;
        let mut limit = time.map(|time| shared.clock.sleep(time));
        let mut cancelled = shared.control.as_ref().map(|control| Box::pin(control.cancelled()));
        let mut stop = None;
        poll_fn(|context| {
            if stop.is_none() {
                stop = stop_error(context, cancelled.as_mut(), limit.as_mut().zip(time));
            }
            let is_saving = || shared.commits_in_flight.load(Ordering::Relaxed) > 0;
            let polled = match stop.is_some() && !is_saving() {
                true => Poll::Pending,
                false => work.as_mut().poll(context),
            };
            is_stopped = polled.is_pending() && stop.is_some() && !is_saving();
            if is_stopped { Poll::Ready(Err(stop.take().unwrap_or_else(cancelled_error))) } else { polled }
        })
        .await
    };
    // Not by the error code alone: a checkpointer may time out too, and nothing is committed after a failed commit.
    is_stopped |= tasks.superstep_timed_out || ended.as_ref().is_err_and(|error| error.code() == ErrorCode::Cancelled);
    match ended {
        Err(error) if is_stopped => {
            collect_finished_tasks(machine, shared, &mut tasks).await.ok_or_else(|| machine.failure(error))
        }
        Err(error) => Err(machine.failure(error)),
        Ok(outcome) => {
            publish_final(machine, shared).await;
            Ok(outcome)
        }
    }
}

/// Persists the results of finished tasks of a stopped run. Returns the outcome if no work was left.
async fn collect_finished_tasks(
    machine: &mut Machine,
    shared: &RunShared,
    tasks: &mut TaskSet,
) -> Option<MachineOutcome> {
    shared.pass_recorded_results(machine);
    while let Some((index, end)) = tasks.try_next().filter(|_| !is_enabled(SeededBug::CancelDropsSibling)) {
        machine.task_ended(index, end).ok()?;
    }
    if shared.subgraph_buffer.is_some() || shared.publisher.is_some() {
        // Subgraphs pass on their commits when their tasks are dropped, and these are saved with the next commit; no
        // task may publish events after the end of the run.
        tasks.abort_all().await;
    }
    machine.cancel();
    loop {
        match machine.next_action() {
            Action::Save(commit) => {
                let mut events = machine.take_events();
                let stamps = save_with_events(shared, machine, &events, *commit).await.ok()?;
                machine.commit_completed();
                events.extend(machine.take_events());
                // Tasks that were scheduled and cancelled at once have not started.
                let has_started = |event: &MachineEvent| !matches!(event, MachineEvent::TaskStarted { .. });
                let stamped = events.iter().zip(stamps).filter(|(event, _)| has_started(event));
                let stamps = stamped.map(|(_, stamp)| stamp).collect();
                events.retain(has_started);
                if let Some(publisher) = &shared.publisher {
                    publisher.publish_saved(shared, stamps, events).await;
                }
            }
            Action::Run(_) => machine.cancel(),
            Action::Cancel(indices) | Action::Abort(indices) => tasks.cancel(&indices),
            Action::Stop(outcome) => {
                let is_over = matches!(outcome.end, MachineEnd::Finished | MachineEnd::Interrupted(_));
                publish(machine, shared).await;
                return is_over.then_some(*outcome);
            }
            Action::Wait => return None,
        }
    }
}

/// Returns the error with which a run is stopped, if its timeout expired or it was cancelled.
fn stop_error<C: Future<Output = ()>>(
    context: &mut Context<'_>,
    cancelled: Option<&mut Pin<Box<C>>>,
    limit: Option<(&mut BoxFuture<'static, ()>, Duration)>,
) -> Option<Error> {
    if cancelled.is_some_and(|cancelled| cancelled.as_mut().poll(context).is_ready()) {
        return Some(cancelled_error());
    }
    let (sleep, time) = limit?;
    sleep.as_mut().poll(context).is_ready().then(|| timed_out("the run", time))
}

fn cancelled_error() -> Error {
    Error::new(ErrorCode::Cancelled, "the run was cancelled").with_help("the thread stays at its last saved superstep")
}

/// Returns the result of `work`, or an error if the run is cancelled first.
pub(crate) async fn cancellable<T>(
    control: &RunControl,
    mut work: Pin<&mut impl Future<Output = Result<T>>>,
) -> Result<T> {
    let mut cancelled = pin!(control.cancelled());
    poll_fn(|context| {
        if cancelled.as_mut().poll(context).is_ready() {
            return Poll::Ready(Err(cancelled_error()));
        }
        work.as_mut().poll(context)
    })
    .await
}
