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
use crate::invariants::{CheckResult, Counters, Fact, Rule, Violation};
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
    pub(crate) tally: Counters,
    pub(crate) trace: Vec<String>,
    pub(crate) line: ThreadHistory,
}

type ProcessFuture = Pin<Box<dyn Future<Output = superstep::Result<()>> + Send>>;

/// Runs a schedule.
pub(crate) async fn perform(client: &Client, course: SimulationState) -> ScheduleResult {
    until_idle().await;
    let sim = Simulation::new(SimulatedDisk::new(client.case.is_cold), course);
    let guard = CurrentSimulationGuard::enter(&sim);
    live(client, &sim).await;
    let line = end(client, &sim);
    drop(guard);
    let mut course = sim.course();
    course.tally.count(Fact::Schedules);
    let awaits = u64::from(course.awaits);
    course.tally.add(Fact::Awaits, awaits);
    let resolved = course.violation.is_none() && course.tally.of(Fact::UnknownCommits) > 0;
    course.tally.add(Fact::UnknownResolved, u64::from(resolved));
    ScheduleResult {
        awaits: course.awaits,
        calls: course.calls,
        recovery: course.since_birth(),
        violation: course.violation.take(),
        tally: std::mem::take(&mut course.tally),
        trace: course.trace.take().unwrap_or_default(),
        line,
    }
}

/// Runs one process after the other until the client has reached its goals.
async fn live(client: &Client, sim: &Arc<Simulation>) {
    let mut process = sim.start_process();
    let mut zombie: Option<ProcessFuture> = None;
    for _ in 0..=MAX_CLIENT_RESTARTS {
        let mut life: Option<ProcessFuture> = Some(Box::pin(client.clone().run(process.clone())));
        let watch = ProcessPoller { process: &process, life: &mut life, zombie: &mut zombie };
        match watch.await {
            Ok(Ok(())) => return await_zombie(&process, zombie).await,
            Ok(Err(error)) => {
                if error.code() == ErrorCode::ThreadBusy {
                    wait_before_retry(&process).await;
                }
            }
            Err(ProcessFate::Died) => {
                drop(life);
                process = sim.start_process();
            }
            Err(ProcessFate::TakenOver) => {
                zombie = life;
                process = sim.start_process();
            }
            Err(ProcessFate::Stopped) => return,
        }
        sim.course().recovers();
    }
    sim.course().judge(Rule::Ends.broken(format!("the client did not succeed in {MAX_CLIENT_RESTARTS} recoveries")));
}

/// Waits for the end of a process that has lost its thread.
async fn await_zombie(process: &Process, mut zombie: Option<ProcessFuture>) {
    if zombie.is_some() {
        let _ = ProcessPoller { process, life: &mut zombie, zombie: &mut None }.await;
    }
}

/// Polls a process, and concurrently one that has lost the thread, until the state of the first changes.
struct ProcessPoller<'a> {
    process: &'a Process,
    life: &'a mut Option<ProcessFuture>,
    zombie: &'a mut Option<ProcessFuture>,
}

impl Future for ProcessPoller<'_> {
    type Output = Result<superstep::Result<()>, ProcessFate>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let this = &mut *self;
        let fate = |context: &Context<'_>| this.process.course().fate(this.process.number, context.waker());
        if let Some(fate) = fate(context) {
            return Poll::Ready(Err(fate));
        }
        let _ = poll_life(this.zombie, context);
        let polled = poll_life(this.life, context);
        match fate(context) {
            Some(fate) => Poll::Ready(Err(fate)),
            None => polled.map(Ok),
        }
    }
}

fn poll_life(life: &mut Option<ProcessFuture>, context: &mut Context<'_>) -> Poll<superstep::Result<()>> {
    let polled = life.as_mut().map_or(Poll::Pending, |life| life.as_mut().poll(context));
    if polled.is_ready() {
        *life = None;
    }
    polled
}

/// Checks the stored data at the end; reads the whole history if it is needed, and otherwise for some schedules.
fn end(client: &Client, sim: &Simulation) -> ThreadHistory {
    let mut course = sim.course();
    if course.is_stuck {
        course.judge(Rule::Ends.broken("the schedule is stuck: no task is ready or sleeps"));
    }
    if course.violation.is_some() {
        return ThreadHistory::default();
    }
    let verdict = check_end(client, &mut course, sim);
    course.judge(verdict);
    if course.follow.is_strict() && !course.random.one_in(FULL_READ_INTERVAL) {
        return ThreadHistory::default();
    }
    let read = ThreadHistory::read(&sim.disk, &course.record.checkpoints);
    let verdict = match &read {
        Ok(line) => course.follow.compare(line).and_then(|()| all_whole(line)),
        Err(error) => Rule::SameLine.broken(format!("the history cannot be read: {error}")),
    };
    course.judge(verdict);
    read.unwrap_or_default()
}

/// One in this number of histories is read completely from the disk.
const FULL_READ_INTERVAL: u32 = 8;

fn all_whole(line: &ThreadHistory) -> CheckResult {
    let broken = line.rows.iter().find_map(|(moment, work)| check_consistent(work).err().map(|parts| (moment, parts)));
    broken.map_or(Ok(()), |(moment, parts)| {
        Rule::WholeSteps.broken(format!("an incomplete superstep: {moment:?}: {parts}"))
    })
}

/// Checks the invariants at the end of a schedule.
fn check_end(client: &Client, course: &mut SimulationState, sim: &Simulation) -> CheckResult {
    let latest = match sim.disk.read(CheckpointSelector::Latest) {
        Ok(latest) => latest,
        Err(error) => return Rule::SameLine.broken(format!("the last checkpoint cannot be read: {error}")),
    };
    let Some((work, loaded)) = latest else { return Rule::Ends.broken("no checkpoint is on the disk") };
    if !loaded.checkpoint.next_tasks.is_empty() {
        return Rule::Ends.broken(format!("there are next tasks: {:?}", loaded.checkpoint.next_tasks));
    }
    check_consistent(&work).or_else(|parts| Rule::WholeSteps.broken(format!("incomplete at the end: {parts}")))?;
    check_wanted(client, &work)?;
    if course.follow.is_strict() {
        course.tally.count(Fact::LinesCompared);
        course.follow.ends(&course.record.checkpoints, &work)?;
    }
    course.record.check_published(|id| sim.disk.has(id))?;
    sim.expire_lease(course);
    if course.held.is_none() && sim.disk.acquire(RunId::from_bits(u128::MAX)).is_err() {
        return Rule::Ends.broken("no process has the thread, and none can acquire it");
    }
    match sim.disk.status() {
        Ok(Some(ThreadStatus::Error)) if matches!(course.plan, FaultPlan::Store { .. }) => Ok(()),
        Ok(Some(ThreadStatus::Idle)) => Ok(()),
        other => Rule::Ends.broken(format!("the run has ended, and the thread status is {other:?}")),
    }
}

/// Checks that every input and every external update was applied once.
fn check_wanted(client: &Client, work: &SimState) -> CheckResult {
    let sorted = |numbers: &[u64]| {
        let mut sorted = numbers.to_vec();
        sorted.sort_unstable();
        sorted
    };
    let (inputs, notes) = client.case.expected_values();
    if sorted(&work.inputs) == inputs && sorted(&work.notes) == notes {
        return Ok(());
    }
    let (inputs, notes) = (&work.inputs, &work.notes);
    Rule::SameLine.broken(format!("the inputs {inputs:?} and notes {notes:?} were applied"))
}

impl ScheduleResult {
    /// Returns the result of a schedule that failed.
    pub(crate) fn failed(violation: Violation) -> Self {
        let mut tally = Counters::default();
        tally.count(Fact::Schedules);
        let line = ThreadHistory::default();
        Self { awaits: 0, calls: 0, recovery: 0, violation: Some(violation), tally, trace: Vec::new(), line }
    }
}
