//! The only loop: machine, executor and store become events and a result.
//!
//! `run`, streams, resumes, batches, graphs inside graphs and server runs all come through [`drive`]. What is
//! decided is decided in the machine; here it is done, in the order it was asked for.

use std::future::poll_fn;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll};
use std::time::Duration;

use superstep_core::checkpoint::Entry;
use superstep_core::error::{Code, Error, Result};
use superstep_core::machine::{End, Event, Machine, Outcome, Step};
use superstep_core::planted::{Bug, is_planted};
use superstep_core::port::{BoxFuture, Clock, Commit, ThreadStatus};
use tracing::Instrument;

use crate::context::{Shared, over_budget};
use crate::control::Control;
use crate::executor::{Tasks, detach, run_task, task_cx};

mod kept;

use kept::{keeping, save_with_events};
pub(crate) use kept::{save_events, save_start};

/// Runs a machine to its end.
pub(crate) async fn drive(machine: &mut Machine, shared: &Arc<Shared>, tasks: &mut Tasks) -> Result<Outcome> {
    let mut begun = 0;
    loop {
        if let Some(control) = &shared.control {
            if control.is_draining() {
                machine.drain();
            }
            if control.is_cancelled() {
                return Err(cancelled_error());
            }
        }
        if shared.records.is_some() {
            shared.hand_over_records(machine);
        }
        let is_watched = shared.sink.is_some();
        // A reader that is behind holds the run back here, where nothing is asked for yet that could be lost.
        if is_watched {
            publish(machine, shared).await;
        }
        let step = machine.step();
        if is_watched && matches!(step, Step::Run(_)) {
            publish(machine, shared).await;
        }
        match step {
            // A hand-over to another worker costs more than a superstep: one ready task runs right here.
            Step::Run(mut batch) if batch.len() == 1 && tasks.is_idle() => {
                let Some(task) = batch.pop() else { continue };
                let index = task.index;
                check_budget(machine, shared)?;
                let begun = superstep_begun(shared, task.step);
                let mut work = pin!(run_task(task_cx(shared, task)));
                let end = match shared.limits.step_timeout {
                    None => work.await,
                    Some(_) => in_time(shared, begun, work.as_mut()).await.map_err(|error| machine.failure(error))?,
                };
                machine.finished(index, end)?;
                sign_of_life(shared);
            }
            Step::Run(batch) => {
                check_budget(machine, shared)?;
                begun = superstep_begun(shared, batch.first().map_or(0, |task| task.step));
                tasks.start(shared, batch);
            }
            Step::Wait => {
                let next = in_time(shared, begun, pin!(tasks.next(shared))).await;
                tasks.out_of_time = next.is_err();
                let next = next.map_err(|error| machine.failure(error))?;
                let (index, end) = next.ok_or_else(|| Error::internal("a run waits for tasks, and none runs"))?;
                machine.finished(index, end)?;
                sign_of_life(shared);
            }
            Step::Cancel(indices) => tasks.cancel(&indices),
            Step::Abort(indices) => tasks.abort(&indices),
            Step::Save(commit) if is_planted(Bug::AckBeforeCommit) => {
                save_later(shared, commit);
                machine.saved();
            }
            Step::Save(commit) => save_step(machine, shared, commit).await?,
            // The last events are told by the caller: the outcome must not get lost while a reader is behind.
            Step::Stop(outcome) => return Ok(*outcome),
        }
    }
}

/// Tells the last events of a run that is over; a reader that is behind can be cancelled, the outcome cannot.
async fn publish_last(machine: &mut Machine, shared: &Shared) {
    let mut told = pin!(publish(machine, shared));
    let Some(control) = &shared.control else { return told.await };
    let mut cancelled = pin!(control.cancelled());
    poll_fn(|context| match told.as_mut().poll(context) {
        Poll::Ready(()) => Poll::Ready(()),
        Poll::Pending => cancelled.as_mut().poll(context),
    })
    .await;
}

/// Tells what may be told.
pub(crate) async fn publish(machine: &mut Machine, shared: &Shared) {
    if let Some(sink) = &shared.sink {
        // Boxed: a run that nobody watches carries no room for it.
        Box::pin(sink.publish(shared, machine.take_events())).await;
    }
}

/// A task that ends inside another is a sign of life of that one.
fn sign_of_life(shared: &Shared) {
    if let Some(outer) = &shared.outer {
        outer.heartbeat_if_watched();
    }
}

/// Counts a commit that is under way.
pub(crate) struct UnderWay<'a>(&'a AtomicUsize);

impl<'a> UnderWay<'a> {
    pub(crate) fn begin(saving: &'a AtomicUsize) -> Self {
        saving.fetch_add(1, Ordering::Relaxed);
        Self(saving)
    }
}

impl Drop for UnderWay<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

async fn save(shared: &Shared, commit: &Commit) -> Result<()> {
    let Some(saver) = &shared.saver else { return Err(Error::internal("a run without a store asked to save")) };
    let _under_way = UnderWay::begin(&shared.saving);
    match &shared.watch {
        None => saver.commit(commit).await?,
        Some(watch) => saver.commit(commit).instrument(watch.here()).await?,
    }
    if let Some(sink) = shared.sink.as_ref().filter(|_| shared.stage.is_some() && shared.outer.is_none()) {
        sink.saved_all();
    }
    let asks = |entry: &Entry| matches!(entry, Entry::Question(_));
    // Nobody is shown a question that a crash could take back.
    match commit.status == Some(ThreadStatus::Interrupted) || commit.pending.iter().any(|known| asks(&known.entry)) {
        true => shared.flush().await,
        false => Ok(()),
    }
}

/// Saves what the machine asks for and says that it is; with the events that belong to it, where they are kept.
async fn save_step(machine: &mut Machine, shared: &Shared, commit: Box<Commit>) -> Result<()> {
    let Some((sink, _)) = keeping(shared) else {
        save(shared, &commit).await.map_err(|error| shared.not_saved(machine, error))?;
        drop(commit);
        machine.saved();
        return Ok(());
    };
    // Where everything is saved at the end, some was made in the same breath as this commit.
    let mut told = machine.take_events();
    let saved = Box::pin(save_with_events(shared, machine, &told, *commit)).await;
    let stamps = saved.map_err(|error| shared.not_saved(machine, error))?;
    machine.saved();
    told.extend(machine.take_events());
    Box::pin(sink.publish_saved(shared, stamps, told)).await;
    Ok(())
}

/// Starts to save and does not wait: a bug that only the simulation plants.
fn save_later(shared: &Shared, commit: Box<Commit>) {
    if let Some(saver) = shared.saver.clone() {
        drop(detach(Box::pin(async move { saver.commit(&commit).await })));
    }
}

/// Looked at before tasks start: what the last ones did is saved by then.
fn check_budget(machine: &Machine, shared: &Shared) -> Result<()> {
    over_budget(shared.spent.tokens(), shared.limits.tokens).map_err(|error| machine.failure(error))
}

/// When the tasks of a superstep start; nobody asks without a limit.
fn superstep_begun(shared: &Shared, step: i64) -> i64 {
    if let Some(watch) = &shared.watch {
        watch.superstep_begins(step);
    }
    shared.limits.step_timeout.map_or(0, |_| shared.clock.now())
}

/// The result of `work`, unless the superstep that began then takes too long.
async fn in_time<T>(shared: &Shared, begun: i64, work: Pin<&mut impl Future<Output = T>>) -> Result<T> {
    let Some(time) = shared.limits.step_timeout else { return Ok(work.await) };
    let used = Duration::from_micros(u64::try_from(shared.clock.now() - begun).unwrap_or(0));
    within(&*shared.clock, time.saturating_sub(used), work).await.ok_or_else(|| timed_out("the superstep", time))
}

/// The result of `work`, or `None` when it takes longer than `time`.
pub(crate) async fn within<T>(
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

pub(crate) fn timed_out(what: &str, time: Duration) -> Error {
    Error::new(Code::Timeout, format!("{what} took longer than {time:?}"))
        .help("the thread stays at its last saved superstep: continue it, or raise the limit")
}

/// Runs a machine to its end, its time limit or its cancellation, whichever comes first.
///
/// A commit that is under way is never dropped: nobody could say whether it happened. Tasks that have ended when the
/// run is stopped are kept.
pub(crate) async fn drive_limited(machine: &mut Machine, shared: &Arc<Shared>) -> Result<Outcome> {
    let mut tasks = Tasks::new(shared.limits.concurrency);
    let mut is_stopped = false;
    let ended = {
        let mut work = pin!(drive(machine, shared, &mut tasks));
        let time = shared.limits.run_timeout;
        let mut limit = time.map(|time| shared.clock.sleep(time));
        let mut cancelled = shared.control.as_ref().map(|control| Box::pin(control.cancelled()));
        let mut stop = None;
        poll_fn(|context| {
            if stop.is_none() {
                stop = stopped(context, cancelled.as_mut(), limit.as_mut().zip(time));
            }
            let is_saving = || shared.saving.load(Ordering::Relaxed) > 0;
            let polled = match stop.is_some() && !is_saving() {
                true => Poll::Pending,
                false => work.as_mut().poll(context),
            };
            is_stopped = polled.is_pending() && stop.is_some() && !is_saving();
            if is_stopped { Poll::Ready(Err(stop.take().unwrap_or_else(cancelled_error))) } else { polled }
        })
        .await
    };
    // Not by the code alone: a store may be out of time too, and nothing is saved after a save that failed.
    is_stopped |= tasks.out_of_time || ended.as_ref().is_err_and(|error| error.code() == Code::Cancelled);
    match ended {
        Err(error) if is_stopped => wind_up(machine, shared, &mut tasks).await.ok_or_else(|| machine.failure(error)),
        Err(error) => Err(machine.failure(error)),
        Ok(outcome) => {
            publish_last(machine, shared).await;
            Ok(outcome)
        }
    }
}

/// Keeps what tasks have ended with before the run was stopped. The outcome, when that was all there was to do.
async fn wind_up(machine: &mut Machine, shared: &Shared, tasks: &mut Tasks) -> Option<Outcome> {
    shared.hand_over_records(machine);
    while let Some((index, end)) = tasks.ended().filter(|_| !is_planted(Bug::CancelDropsSibling)) {
        machine.finished(index, end).ok()?;
    }
    if shared.stage.is_some() || shared.sink.is_some() {
        // Graphs inside hand over what they have done when their tasks are dropped, and it is saved with what follows;
        // nothing is told by a task after the run has told its end.
        tasks.let_go().await;
    }
    machine.cancel();
    loop {
        match machine.step() {
            Step::Save(commit) => {
                let mut told = machine.take_events();
                let stamps = save_with_events(shared, machine, &told, *commit).await.ok()?;
                machine.saved();
                told.extend(machine.take_events());
                // What was planned and called off at once has not begun.
                let has_begun = |event: &Event| !matches!(event, Event::TaskStarted { .. });
                let stamped = told.iter().zip(stamps).filter(|(event, _)| has_begun(event));
                let stamps = stamped.map(|(_, stamp)| stamp).collect();
                told.retain(has_begun);
                if let Some(sink) = &shared.sink {
                    sink.publish_saved(shared, stamps, told).await;
                }
            }
            Step::Run(_) => machine.cancel(),
            Step::Cancel(indices) | Step::Abort(indices) => tasks.cancel(&indices),
            Step::Stop(outcome) => {
                let is_over = matches!(outcome.end, End::Finished | End::Interrupted(_));
                publish(machine, shared).await;
                return is_over.then_some(*outcome);
            }
            Step::Wait => return None,
        }
    }
}

/// Why a run is to stop, where it is.
fn stopped<C: Future<Output = ()>>(
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
    Error::new(Code::Cancelled, "the run was cancelled").help("the thread stays at its last saved superstep")
}

/// The result of `work`, or that the run was cancelled before there was one.
pub(crate) async fn unless_cancelled<T>(
    control: &Control,
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
