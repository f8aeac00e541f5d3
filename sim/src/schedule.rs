//! One schedule from its first process to the last look at the disk.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use superstep::core::id::RunId;
use superstep::core::port::At;
use superstep::{Code, ThreadStatus};

use crate::client::{Client, rest};
use crate::disk::Disk;
use crate::line::Line;
use crate::plan::Plan;
use crate::process::Process;
use crate::rules::{Fact, Rule, Tally, Verdict, Violation};
use crate::sim::{Course, Fate, Sim};
use crate::stage::{Curtain, quiet};
use crate::work::{Work, whole};

/// So many times a client starts again at most.
const PATIENCE: u32 = 40;

/// What came of a schedule.
pub(crate) struct Played {
    pub(crate) awaits: u32,
    pub(crate) calls: u32,
    /// Await points after the last process was born.
    pub(crate) recovery: u32,
    pub(crate) violation: Option<Violation>,
    pub(crate) tally: Tally,
    pub(crate) trace: Vec<String>,
    pub(crate) line: Line,
}

type Life = Pin<Box<dyn Future<Output = superstep::Result<()>> + Send>>;

/// Performs a schedule.
pub(crate) async fn perform(client: &Client, course: Course) -> Played {
    quiet().await;
    let sim = Sim::new(Disk::new(client.case.is_cold), course);
    let curtain = Curtain::up(&sim);
    live(client, &sim).await;
    let line = end(client, &sim);
    drop(curtain);
    let mut course = sim.course();
    course.tally.count(Fact::Schedules);
    let awaits = u64::from(course.awaits);
    course.tally.add(Fact::Awaits, awaits);
    let resolved = course.violation.is_none() && course.tally.of(Fact::UnknownCommits) > 0;
    course.tally.add(Fact::UnknownResolved, u64::from(resolved));
    Played {
        awaits: course.awaits,
        calls: course.calls,
        recovery: course.since_birth(),
        violation: course.violation.take(),
        tally: std::mem::take(&mut course.tally),
        trace: course.trace.take().unwrap_or_default(),
        line,
    }
}

/// Lives one process after the other until the client has what it wants.
async fn live(client: &Client, sim: &Arc<Sim>) {
    let mut process = sim.birth();
    let mut zombie: Option<Life> = None;
    for _ in 0..=PATIENCE {
        let mut life: Option<Life> = Some(Box::pin(client.clone().live(process.clone())));
        let watch = Watch { process: &process, life: &mut life, zombie: &mut zombie };
        match watch.await {
            Ok(Ok(())) => return bury(&process, zombie).await,
            Ok(Err(error)) => {
                if error.code() == Code::ThreadBusy {
                    rest(&process).await;
                }
            }
            Err(Fate::Died) => {
                drop(life);
                process = sim.birth();
            }
            Err(Fate::TakenOver) => {
                zombie = life;
                process = sim.birth();
            }
            Err(Fate::Stopped) => return,
        }
        sim.course().recovers();
    }
    sim.course().judge(Rule::Ends.broken(format!("the client gave up after {PATIENCE} recoveries")));
}

/// Waits for the end of a process that has lost its thread.
async fn bury(process: &Process, mut zombie: Option<Life>) {
    if zombie.is_some() {
        let _ = Watch { process, life: &mut zombie, zombie: &mut None }.await;
    }
}

/// Polls a process, and beside it one that has lost the thread, until something becomes of the first.
struct Watch<'a> {
    process: &'a Process,
    life: &'a mut Option<Life>,
    zombie: &'a mut Option<Life>,
}

impl Future for Watch<'_> {
    type Output = Result<superstep::Result<()>, Fate>;

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

fn poll_life(life: &mut Option<Life>, context: &mut Context<'_>) -> Poll<superstep::Result<()>> {
    let polled = life.as_mut().map_or(Poll::Pending, |life| life.as_mut().poll(context));
    if polled.is_ready() {
        *life = None;
    }
    polled
}

/// The last look at the disk. The whole history when it is wanted, or now and then.
fn end(client: &Client, sim: &Sim) -> Line {
    let mut course = sim.course();
    if course.is_stuck {
        course.judge(Rule::Ends.broken("nothing moves any more, and nothing waits for the clock"));
    }
    if course.violation.is_some() {
        return Line::default();
    }
    let verdict = check_end(client, &mut course, sim);
    course.judge(verdict);
    if course.follow.is_strict() && !course.random.one_in(WHOLE) {
        return Line::default();
    }
    let read = Line::read(&sim.disk, &course.record.checkpoints);
    let verdict = match &read {
        Ok(line) => course.follow.compare(line).and_then(|()| all_whole(line)),
        Err(error) => Rule::SameLine.broken(format!("the history cannot be read: {error}")),
    };
    course.judge(verdict);
    read.unwrap_or_default()
}

/// One in so many histories is read from the disk from end to end.
const WHOLE: u32 = 8;

fn all_whole(line: &Line) -> Verdict {
    let broken = line.rows.iter().find_map(|(moment, work)| whole(work).err().map(|parts| (moment, parts)));
    broken.map_or(Ok(()), |(moment, parts)| Rule::WholeSteps.broken(format!("half a step: {moment:?}: {parts}")))
}

/// What must hold of every end.
fn check_end(client: &Client, course: &mut Course, sim: &Sim) -> Verdict {
    let found = match sim.disk.read(At::Latest) {
        Ok(found) => found,
        Err(error) => return Rule::SameLine.broken(format!("the end cannot be read: {error}")),
    };
    let Some((work, loaded)) = found else { return Rule::Ends.broken("nothing is on the disk") };
    if !loaded.checkpoint.due.is_empty() {
        return Rule::Ends.broken(format!("{:?} is still due", loaded.checkpoint.due));
    }
    whole(&work).or_else(|parts| Rule::WholeSteps.broken(format!("the end is half a step: {parts}")))?;
    check_wanted(client, &work)?;
    if course.follow.is_strict() {
        course.tally.count(Fact::LinesCompared);
        course.follow.ends(&course.record.checkpoints, &work)?;
    }
    course.record.check_told(|id| sim.disk.has(id))?;
    sim.expire_lease(course);
    if course.held.is_none() && sim.disk.acquire(RunId::from_bits(u128::MAX)).is_err() {
        return Rule::Ends.broken("nobody has the thread, and nobody can get it");
    }
    match sim.disk.status() {
        Ok(Some(ThreadStatus::Error)) if matches!(course.plan, Plan::Store { .. }) => Ok(()),
        Ok(Some(ThreadStatus::Idle)) => Ok(()),
        other => Rule::Ends.broken(format!("the thread is done, and stands at {other:?}")),
    }
}

/// Every input and every update from outside counts once.
fn check_wanted(client: &Client, work: &Work) -> Verdict {
    let sorted = |numbers: &[u64]| {
        let mut sorted = numbers.to_vec();
        sorted.sort_unstable();
        sorted
    };
    let (inputs, notes) = client.case.wanted();
    if sorted(&work.inputs) == inputs && sorted(&work.notes) == notes {
        return Ok(());
    }
    let (inputs, notes) = (&work.inputs, &work.notes);
    Rule::SameLine.broken(format!("the inputs {inputs:?} and notes {notes:?} were applied"))
}

impl Played {
    /// A schedule that came to nothing.
    pub(crate) fn failed(violation: Violation) -> Self {
        let mut tally = Tally::default();
        tally.count(Fact::Schedules);
        let line = Line::default();
        Self { awaits: 0, calls: 0, recovery: 0, violation: Some(violation), tally, trace: Vec::new(), line }
    }
}
