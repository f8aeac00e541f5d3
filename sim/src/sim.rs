//! One schedule: a disk, processes that live and die on it, and what has happened so far.
//!
//! Everything that could differ between two runs is decided here, out of the seed. What is right and wrong is in
//! `record` and `rules`.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::Waker;

use superstep::core::port::{At, Lease};
use superstep::{Code, Control, Error};

use crate::clock::Hands;
use crate::disk::Disk;
use crate::heard::Remembered;
use crate::line::Follow;
use crate::plan::{Plan, StoreFault};
use crate::process::{Place, Process};
use crate::random::Random;
use crate::record::Record;
use crate::rules::{Fact, Rule, Tally, Verdict, Violation};
use crate::work::whole;

/// How long a lease outlives its process, in microseconds.
const LEASE: i64 = 20_000;

/// One schedule.
pub(crate) struct Sim {
    pub(crate) disk: Disk,
    course: Mutex<Course>,
}

/// What happens to a process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fate {
    /// It died.
    Died,
    /// It goes on, but another one is to take its thread over.
    TakenOver,
    /// The schedule is over: a rule is broken, or nothing moves any more.
    Stopped,
}

impl Sim {
    pub(crate) fn new(disk: Disk, course: Course) -> Arc<Self> {
        Arc::new(Self { disk, course: Mutex::new(course) })
    }

    pub(crate) fn course(&self) -> MutexGuard<'_, Course> {
        self.course.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A new process.
    pub(crate) fn birth(self: &Arc<Self>) -> Process {
        let mut course = self.course();
        let number = course.lives.len();
        let makes_ids_again = matches!(course.plan, Plan::Clash { .. }) && number == 1;
        let (born, first_id) = (course.awaits, if makes_ids_again { 0 } else { number as u64 });
        course.note(|| format!("process {number} starts"));
        course.lives.push(Life { is_alive: true, is_zombie: false, born, first_id, ids: 0, controls: Vec::new() });
        drop(course);
        Process { sim: self.clone(), number }
    }

    /// Nothing can go on by itself: time passes, or the schedule is stuck.
    pub(crate) fn nothing_moves(&self) {
        let mut course = self.course();
        if !course.hands.move_on() {
            course.is_stuck = true;
            course.wake_watcher();
        }
    }

    /// A process comes to an await point. How often it lets others go first, or `None` when it is dead.
    pub(crate) fn arrive(&self, process: usize, place: Place) -> Option<u32> {
        let mut course = self.course();
        if !course.lives[process].is_alive {
            return None;
        }
        course.awaits += 1;
        let number = course.awaits;
        course.note(|| format!("await {number}: process {process} {place}"));
        if course.random.one_in(READS) {
            let verdict = self.read(&mut course);
            course.judge(verdict);
        }
        self.strike(&mut course, process);
        course.lives[process].is_alive.then(|| course.yields())
    }

    /// Somebody else looks at the thread.
    fn read(&self, course: &mut Course) -> Verdict {
        let unreadable = |error: Error| Violation { rule: Rule::WholeSteps, text: format!("a reader got {error}") };
        let Some((work, loaded)) = self.disk.read(At::Latest).map_err(unreadable)? else { return Ok(()) };
        course.tally.count(Fact::Reads);
        let step = loaded.checkpoint.step;
        whole(&work).or_else(|parts| Rule::WholeSteps.broken(format!("a reader saw half of step {step}: {parts}")))
    }

    /// What the plan has for this moment.
    fn strike(&self, course: &mut Course, process: usize) {
        if !course.is_due(process) {
            return;
        }
        course.strikes += 1;
        course.random = Random::apart(course.seed, u64::from(course.number));
        match course.plan {
            Plan::Crash { .. } | Plan::CrashTwice { .. } | Plan::Clash { .. } => course.kill(process),
            Plan::TakeOver { .. } => match course.held.take_if(|held| held.process == process) {
                Some(held) => {
                    course.note(|| format!("process {process} loses the thread and does not know"));
                    self.disk.release(&held.lease);
                    course.record.let_go(held.lease.fence);
                    course.tally.count(Fact::Takeovers);
                    course.lives[process].is_zombie = true;
                    course.is_taken_over = true;
                    course.wake_watcher();
                }
                None => course.kill(process),
            },
            Plan::Cancel { .. } => course.stop_runs(process, Fact::Cancels, Control::cancel),
            Plan::Drain { .. } => course.stop_runs(process, Fact::Drains, Control::drain),
            Plan::Calm | Plan::Reorder | Plan::Store { .. } => {}
        }
    }

    /// Frees the thread when whoever had it has been silent for long enough.
    pub(crate) fn expire_lease(&self, course: &mut Course) {
        let now = course.hands.now;
        if let Some(held) = course.held.take_if(|held| held.lapses.is_some_and(|lapses| lapses <= now)) {
            course.note(|| format!("lease {} lapses", held.lease.fence));
            self.disk.release(&held.lease);
            course.record.let_go(held.lease.fence);
        }
    }
}

/// One in so many await points, somebody else looks at the thread.
const READS: u32 = 24;

struct Life {
    is_alive: bool,
    is_zombie: bool,
    /// Await points before it.
    born: u32,
    first_id: u64,
    ids: u64,
    controls: Vec<Control>,
}

/// Who has the thread.
pub(crate) struct Held {
    pub(crate) lease: Lease,
    pub(crate) process: usize,
    /// When it is free again, where its owner is gone.
    pub(crate) lapses: Option<i64>,
}

/// A store that fails until it is repaired.
struct Trouble {
    code: Code,
    /// Recoveries until then.
    left: u32,
}

/// How far a schedule has come.
pub(crate) struct Course {
    seed: u64,
    number: u32,
    pub(crate) plan: Plan,
    pub(crate) random: Random,
    pub(crate) awaits: u32,
    pub(crate) calls: u32,
    /// Store failures that runs have met.
    pub(crate) failures: u32,
    strikes: u32,
    lives: Vec<Life>,
    pub(crate) held: Option<Held>,
    trouble: Option<Trouble>,
    pub(crate) record: Record,
    pub(crate) remembered: Remembered,
    pub(crate) follow: Follow,
    pub(crate) hands: Hands,
    watcher: Option<Waker>,
    pub(crate) is_stuck: bool,
    is_taken_over: bool,
    pub(crate) tally: Tally,
    pub(crate) violation: Option<Violation>,
    pub(crate) trace: Option<Vec<String>>,
    is_straight: bool,
}

impl Course {
    /// The start of a schedule. Where there is nothing to follow, nobody lets others go first: the order is that of
    /// the drawing.
    pub(crate) fn new(seed: u64, number: u32, plan: Plan, follow: Follow) -> Self {
        let is_straight = seed == 0 && !follow.is_strict();
        let random = Random::apart(seed, if plan == Plan::Reorder { u64::from(number) } else { 0 });
        Self {
            seed,
            number,
            plan,
            random,
            awaits: 0,
            calls: 0,
            failures: 0,
            strikes: 0,
            lives: Vec::new(),
            held: None,
            trouble: None,
            record: Record::default(),
            remembered: Remembered::default(),
            follow,
            hands: Hands::default(),
            watcher: None,
            is_stuck: false,
            is_taken_over: false,
            tally: Tally::default(),
            violation: None,
            trace: None,
            is_straight,
        }
    }

    /// Writes a line of the trace, where somebody reads it.
    pub(crate) fn note(&mut self, line: impl FnOnce() -> String) {
        if let Some(trace) = &mut self.trace {
            trace.push(line());
        }
    }

    /// Ends the schedule when a rule is broken.
    pub(crate) fn judge(&mut self, verdict: Verdict) {
        let Err(violation) = verdict else { return };
        self.note(|| format!("BROKEN: {}: {}", violation.rule, violation.text));
        self.violation.get_or_insert(violation);
        self.wake_watcher();
    }

    fn wake_watcher(&mut self) {
        if let Some(waker) = &self.watcher {
            waker.wake_by_ref();
        }
    }

    /// What has become of a process; whoever watches it is woken when that changes.
    pub(crate) fn fate(&mut self, process: usize, watcher: &Waker) -> Option<Fate> {
        if !self.watcher.as_ref().is_some_and(|known| known.will_wake(watcher)) {
            self.watcher = Some(watcher.clone());
        }
        if self.violation.is_some() || self.is_stuck {
            return Some(Fate::Stopped);
        }
        if !self.lives[process].is_alive {
            return Some(Fate::Died);
        }
        std::mem::take(&mut self.is_taken_over).then_some(Fate::TakenOver)
    }

    pub(crate) fn is_alive(&self, process: usize) -> bool {
        self.lives[process].is_alive
    }

    /// Whether a process has lost the thread, and goes on without knowing it.
    pub(crate) fn is_zombie(&self, process: usize) -> bool {
        self.lives[process].is_zombie
    }

    /// Await points since the last process was born.
    pub(crate) fn since_birth(&self) -> u32 {
        self.lives.last().map_or(0, |life| self.awaits - life.born)
    }

    fn is_due(&self, process: usize) -> bool {
        match (self.plan, self.strikes) {
            (
                Plan::Crash { at }
                | Plan::CrashTwice { at, .. }
                | Plan::Clash { at }
                | Plan::TakeOver { at }
                | Plan::Cancel { at }
                | Plan::Drain { at },
                0,
            ) => self.awaits == at,
            (Plan::CrashTwice { then, .. }, 1) => self.awaits - self.lives[process].born == then,
            _ => false,
        }
    }

    fn kill(&mut self, process: usize) {
        self.note(|| format!("process {process} dies"));
        self.lives[process].is_alive = false;
        self.tally.count(if self.strikes > 1 { Fact::DoubleCrashes } else { Fact::Crashes });
        let waits = if self.random.one_in(4) { LEASE } else { 0 };
        if let Some(held) = self.held.as_mut().filter(|held| held.process == process) {
            held.lapses = Some(self.hands.now + waits);
        }
        self.wake_watcher();
    }

    fn stop_runs(&mut self, process: usize, fact: Fact, stop: fn(&Control)) {
        let controls = std::mem::take(&mut self.lives[process].controls);
        if controls.is_empty() {
            return;
        }
        self.note(|| format!("the runs of process {process} are to stop: {}", fact.name()));
        self.tally.count(fact);
        self.record.cancels();
        controls.iter().for_each(stop);
    }

    /// The runs that the plan may stop.
    pub(crate) fn runs(&mut self, process: usize, control: &Control) {
        self.lives[process].controls.push(control.clone());
    }

    /// No run of the process goes on.
    pub(crate) fn rests(&mut self, process: usize) {
        self.lives[process].controls.clear();
    }

    /// How often a process lets others go first: mostly not at all, so that most of the time goes into work.
    fn yields(&mut self) -> u32 {
        if self.is_straight { 0 } else { [0, 0, 0, 0, 1, 1, 2, 4][self.random.below(8) as usize] }
    }

    /// An id that sorts after those given before by this process.
    pub(crate) fn fresh_id(&mut self, process: usize) -> u128 {
        let life = &mut self.lives[process];
        life.ids += 1;
        (u128::from(life.first_id + 1) << 64) | u128::from(life.ids)
    }

    /// The store is called. How it fails, where it does.
    pub(crate) fn call(&mut self) -> Option<StoreFault> {
        self.calls += 1;
        let fault = match (self.plan, &self.trouble) {
            (_, Some(trouble)) => StoreFault { lasts: true, kept: false, code: trouble.code },
            (Plan::Store { call, fault }, None) if call == self.calls => fault,
            _ => return None,
        };
        if fault.lasts && self.trouble.is_none() {
            let left = 1 + self.random.below(3);
            self.trouble = Some(Trouble { code: fault.code, left });
        }
        self.failures += 1;
        self.tally.count(Fact::StoreFailures);
        let call = self.calls;
        self.note(|| {
            format!("store call {call} fails with {}, {}", fault.code, if fault.kept { "done" } else { "not done" })
        });
        Some(fault)
    }

    /// A client starts again; a broken store is repaired after some time.
    pub(crate) fn recovers(&mut self) {
        self.tally.count(Fact::Recoveries);
        if let Some(trouble) = &mut self.trouble {
            trouble.left -= 1;
        }
        self.trouble.take_if(|trouble| trouble.left == 0);
    }

    /// A process has the thread. It may never hear of it, and then nobody gives the thread back.
    pub(crate) fn holds(&mut self, process: usize, lease: Lease) {
        self.held = Some(Held { lease, process, lapses: Some(self.hands.now + LEASE) });
    }

    /// A process knows that it has the thread, and keeps it until it gives it back.
    pub(crate) fn knows_its_lease(&mut self, fence: u64) {
        self.held.iter_mut().filter(|held| held.lease.fence == fence).for_each(|held| held.lapses = None);
    }
}
