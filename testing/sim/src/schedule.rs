//! One schedule, from its first process to the final check of the stored data.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use superstep::core::id::RunId;
use superstep::core::port::CheckpointSelector;
use superstep::{ErrorCode, ThreadStatus};

use crate::checkpointer_backend::SimulatedDisk;
use crate::client::{Client, wait_before_retry};
use crate::executor::{CurrentSimulationGuard, until_idle};
use crate::fault_plan::FaultPlan;
use crate::history::ThreadHistory;
use crate::invariants::{CheckResult, Counter, Counters, Rule, Violation};
use crate::process::Process;
use crate::simulation::{ProcessFate, Simulation, SimulationState};
use crate::state::{SimState, check_consistent};

/// Maximum number of restarts of a client.
const MAX_CLIENT_RESTARTS: u32 = 40;

/// Result of a schedule.
pub(crate) struct ScheduleResult {
    pub(crate) awaits: u32,
    pub(crate) calls: u32,
    /// Await points after the last process started.
    pub(crate) recovery: u32,
    pub(crate) violation: Option<Violation>,
    pub(crate) counters: Counters,
    pub(crate) trace: Vec<String>,
    pub(crate) history: ThreadHistory,
}

type ProcessFuture = Pin<Box<dyn Future<Output = superstep::Result<()>> + Send>>;

/// Runs a schedule.
pub(crate) async fn perform(client: &Client, state: SimulationState) -> ScheduleResult {
    until_idle().await;
    let sim = Simulation::new(SimulatedDisk::new(client.case.is_cold), state);
    let guard = CurrentSimulationGuard::enter(&sim);
    run_processes(client, &sim).await;
    let history = end(client, &sim);
    drop(guard);
    let mut state = sim.state();
    state.counters.count(Counter::Schedules);
    let awaits = u64::from(state.awaits);
    state.counters.add(Counter::Awaits, awaits);
    let resolved = state.violation.is_none() && state.counters.get(Counter::UnknownCommits) > 0;
    state.counters.add(Counter::UnknownResolved, u64::from(resolved));
    ScheduleResult {
        awaits: state.awaits,
        calls: state.calls,
        recovery: state.awaits_since_start(),
        violation: state.violation.take(),
        counters: std::mem::take(&mut state.counters),
        trace: state.trace.take().unwrap_or_default(),
        history,
    }
}

/// Runs one process after the other until the client has reached its goals.
async fn run_processes(client: &Client, sim: &Arc<Simulation>) {
    let mut process = sim.start_process();
    let mut zombie: Option<ProcessFuture> = None;
    for _ in 0..=MAX_CLIENT_RESTARTS {
        let mut attempt: Option<ProcessFuture> = Some(Box::pin(client.clone().run(process.clone())));
        let watch = ProcessPoller { process: &process, attempt: &mut attempt, zombie: &mut zombie };
        match watch.await {
            Ok(Ok(())) => return await_zombie(&process, zombie).await,
            Ok(Err(error)) => {
                if error.code() == ErrorCode::ThreadBusy {
                    wait_before_retry(&process).await;
                }
            }
            Err(ProcessFate::Died) => {
                drop(attempt);
                process = sim.start_process();
            }
            Err(ProcessFate::TakenOver) => {
                zombie = attempt;
                process = sim.start_process();
            }
            Err(ProcessFate::Stopped) => return,
        }
        sim.state().record_restart();
    }
    sim.state().check(Rule::Ends.broken(format!("the client did not succeed in {MAX_CLIENT_RESTARTS} recoveries")));
}

/// Waits for the end of a process that has lost its thread.
async fn await_zombie(process: &Process, mut zombie: Option<ProcessFuture>) {
    if zombie.is_some() {
        let _ = ProcessPoller { process, attempt: &mut zombie, zombie: &mut None }.await;
    }
}

/// Polls a process, and concurrently one that has lost the thread, until the state of the first changes.
struct ProcessPoller<'a> {
    process: &'a Process,
    attempt: &'a mut Option<ProcessFuture>,
    zombie: &'a mut Option<ProcessFuture>,
}

impl Future for ProcessPoller<'_> {
    type Output = Result<superstep::Result<()>, ProcessFate>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let this = &mut *self;
        let fate = |context: &Context<'_>| this.process.state().fate(this.process.number, context.waker());
        if let Some(fate) = fate(context) {
            return Poll::Ready(Err(fate));
        }
        let _ = poll_attempt(this.zombie, context);
        let polled = poll_attempt(this.attempt, context);
        match fate(context) {
            Some(fate) => Poll::Ready(Err(fate)),
            None => polled.map(Ok),
        }
    }
}

fn poll_attempt(attempt: &mut Option<ProcessFuture>, context: &mut Context<'_>) -> Poll<superstep::Result<()>> {
    let polled = attempt.as_mut().map_or(Poll::Pending, |attempt| attempt.as_mut().poll(context));
    if polled.is_ready() {
        *attempt = None;
    }
    polled
}

/// Checks the stored data at the end; reads the whole history if it is needed, and otherwise for some schedules.
fn end(client: &Client, sim: &Simulation) -> ThreadHistory {
    let mut state = sim.state();
    if state.is_stuck {
        state.check(Rule::Ends.broken("the schedule is stuck: no task is ready or sleeps"));
    }
    if state.violation.is_some() {
        return ThreadHistory::default();
    }
    let check_result = check_end(client, &mut state, sim);
    state.check(check_result);
    if state.history.is_strict() && !state.random.one_in(FULL_READ_INTERVAL) {
        return ThreadHistory::default();
    }
    let read = ThreadHistory::read(&sim.disk, &state.oracle.checkpoints);
    let check_result = match &read {
        Ok(history) => state.history.compare(history).and_then(|()| check_all_consistent(history)),
        Err(error) => Rule::HistoryUnchanged.broken(format!("the history cannot be read: {error}")),
    };
    state.check(check_result);
    read.unwrap_or_default()
}

/// One in this number of histories is read completely from the disk.
const FULL_READ_INTERVAL: u32 = 8;

fn check_all_consistent(history: &ThreadHistory) -> CheckResult {
    let broken = history
        .rows
        .iter()
        .find_map(|(summary, stored)| check_consistent(stored).err().map(|problem| (summary, problem)));
    broken.map_or(Ok(()), |(summary, problem)| {
        Rule::CompleteSupersteps.broken(format!("an incomplete superstep: {summary:?}: {problem}"))
    })
}

/// Checks the invariants at the end of a schedule.
fn check_end(client: &Client, state: &mut SimulationState, sim: &Simulation) -> CheckResult {
    let latest = match sim.disk.read(CheckpointSelector::Latest) {
        Ok(latest) => latest,
        Err(error) => return Rule::HistoryUnchanged.broken(format!("the last checkpoint cannot be read: {error}")),
    };
    let Some((stored, loaded)) = latest else { return Rule::Ends.broken("no checkpoint is on the disk") };
    if !loaded.checkpoint.next_tasks.is_empty() {
        return Rule::Ends.broken(format!("there are next tasks: {:?}", loaded.checkpoint.next_tasks));
    }
    check_consistent(&stored)
        .or_else(|problem| Rule::CompleteSupersteps.broken(format!("incomplete at the end: {problem}")))?;
    check_applied_values(client, &stored)?;
    if state.history.is_strict() {
        state.counters.count(Counter::HistoriesCompared);
        state.history.check_end(&state.oracle.checkpoints, &stored)?;
    }
    state.oracle.check_published(|id| sim.disk.has(id))?;
    sim.expire_lease(state);
    if state.held.is_none() && sim.disk.acquire(RunId::from_bits(u128::MAX)).is_err() {
        return Rule::Ends.broken("no process has the thread, and none can acquire it");
    }
    match sim.disk.status() {
        Ok(Some(ThreadStatus::Error)) if matches!(state.plan, FaultPlan::Store { .. }) => Ok(()),
        Ok(Some(ThreadStatus::Idle)) => Ok(()),
        other => Rule::Ends.broken(format!("the run has ended, and the thread status is {other:?}")),
    }
}

/// Checks that every input and every external update was applied once.
fn check_applied_values(client: &Client, stored: &SimState) -> CheckResult {
    let sorted = |numbers: &[u64]| {
        let mut sorted = numbers.to_vec();
        sorted.sort_unstable();
        sorted
    };
    let (inputs, notes) = client.case.expected_values();
    if sorted(&stored.inputs) == inputs && sorted(&stored.notes) == notes {
        return Ok(());
    }
    let (inputs, notes) = (&stored.inputs, &stored.notes);
    Rule::HistoryUnchanged.broken(format!("the inputs {inputs:?} and notes {notes:?} were applied"))
}

impl ScheduleResult {
    /// Returns the result of a schedule that failed.
    pub(crate) fn failed(violation: Violation) -> Self {
        let mut counters = Counters::default();
        counters.count(Counter::Schedules);
        let history = ThreadHistory::default();
        Self { awaits: 0, calls: 0, recovery: 0, violation: Some(violation), counters, trace: Vec::new(), history }
    }
}
