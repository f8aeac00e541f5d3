//! One schedule: a disk, the processes that run on it, and the events so far.
//!
//! Everything that could differ between two runs is derived from the seed here. Correctness is defined in `oracle`
//! and `invariants`.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::Waker;

use superstep::core::port::{CheckpointSelector, Lease};
use superstep::{Error, ErrorCode, RunControl};

use crate::checkpointer_backend::SimulatedDisk;
use crate::client_assertions::ClientMemory;
use crate::clock::ClockState;
use crate::fault_plan::{FaultPlan, StoreFault};
use crate::history::HistoryMatcher;
use crate::invariants::{CheckResult, Counters, Fact, Rule, Violation};
use crate::oracle::Oracle;
use crate::process::{AwaitPoint, Process};
use crate::random::Random;
use crate::state::check_consistent;

/// Time for which a lease outlives its process, in microseconds.
const LEASE: i64 = 20_000;

/// One schedule.
pub(crate) struct Simulation {
    pub(crate) disk: SimulatedDisk,
    course: Mutex<SimulationState>,
}

/// Fate of a process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ProcessFate {
    /// The process crashed.
    Died,
    /// The process continues, but another one takes over its thread.
    TakenOver,
    /// The schedule ended: an invariant is violated, or nothing can proceed.
    Stopped,
}

impl Simulation {
    pub(crate) fn new(disk: SimulatedDisk, course: SimulationState) -> Arc<Self> {
        Arc::new(Self { disk, course: Mutex::new(course) })
    }

    pub(crate) fn course(&self) -> MutexGuard<'_, SimulationState> {
        self.course.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Starts a process.
    pub(crate) fn start_process(self: &Arc<Self>) -> Process {
        let mut course = self.course();
        let number = course.lives.len();
        let makes_ids_again = matches!(course.plan, FaultPlan::Clash { .. }) && number == 1;
        let (born, first_id) = (course.awaits, if makes_ids_again { 0 } else { number as u64 });
        course.note(|| format!("process {number} starts"));
        course.lives.push(ProcessState {
            is_alive: true,
            is_zombie: false,
            born,
            first_id,
            ids: 0,
            controls: Vec::new(),
        });
        drop(course);
        Process { sim: self.clone(), number }
    }

    /// Handles an idle runtime: advances the time, or marks the schedule as stuck.
    pub(crate) fn advance_time_or_stall(&self) {
        let mut course = self.course();
        if !course.clock.advance_to_next_wakeup() {
            course.is_stuck = true;
            course.wake_watcher();
        }
    }

    /// Reaches an await point. Returns how often the process yields, or `None` if it is dead.
    pub(crate) fn reach_await_point(&self, process: usize, point: AwaitPoint) -> Option<u32> {
        let mut course = self.course();
        if !course.lives[process].is_alive {
            return None;
        }
        course.awaits += 1;
        let number = course.awaits;
        course.note(|| format!("await {number}: process {process} {point}"));
        if course.random.one_in(READS) {
            let verdict = self.read(&mut course);
            course.judge(verdict);
        }
        self.inject_fault(&mut course, process);
        course.lives[process].is_alive.then(|| course.random_yields())
    }

    /// Reads the thread as another process.
    fn read(&self, course: &mut SimulationState) -> CheckResult {
        let unreadable = |error: Error| Violation { rule: Rule::WholeSteps, text: format!("a reader got {error}") };
        let Some((work, loaded)) = self.disk.read(CheckpointSelector::Latest).map_err(unreadable)? else {
            return Ok(());
        };
        course.tally.count(Fact::Reads);
        let step = loaded.checkpoint.step;
        check_consistent(&work)
            .or_else(|parts| Rule::WholeSteps.broken(format!("a reader saw an incomplete step {step}: {parts}")))
    }

    /// Injects the fault of the plan if its await point is reached.
    fn inject_fault(&self, course: &mut SimulationState, process: usize) {
        if !course.is_due(process) {
            return;
        }
        course.strikes += 1;
        course.random = Random::apart(course.seed, u64::from(course.number));
        match course.plan {
            FaultPlan::Crash { .. } | FaultPlan::CrashTwice { .. } | FaultPlan::Clash { .. } => course.kill(process),
            FaultPlan::TakeOver { .. } => match course.held.take_if(|held| held.process == process) {
                Some(held) => {
                    course.note(|| format!("process {process} loses the thread without noticing"));
                    self.disk.release(&held.lease);
                    course.record.released(held.lease.fence);
                    course.tally.count(Fact::Takeovers);
                    course.lives[process].is_zombie = true;
                    course.is_taken_over = true;
                    course.wake_watcher();
                }
                None => course.kill(process),
            },
            FaultPlan::Cancel { .. } => course.stop_runs(process, Fact::Cancels, RunControl::cancel),
            FaultPlan::Drain { .. } => course.stop_runs(process, Fact::Drains, RunControl::drain),
            FaultPlan::Calm | FaultPlan::Reorder | FaultPlan::Store { .. } => {}
        }
    }

    /// Releases the thread after its dead holder's lease has expired.
    pub(crate) fn expire_lease(&self, course: &mut SimulationState) {
        let now = course.clock.now;
        if let Some(held) = course.held.take_if(|held| held.expires_at.is_some_and(|expires_at| expires_at <= now)) {
            course.note(|| format!("lease {} expires", held.lease.fence));
            self.disk.release(&held.lease);
            course.record.released(held.lease.fence);
        }
    }
}

/// At one in this number of await points, another process reads the thread.
const READS: u32 = 24;

struct ProcessState {
    is_alive: bool,
    is_zombie: bool,
    /// Await points before the process started.
    born: u32,
    first_id: u64,
    ids: u64,
    controls: Vec<RunControl>,
}

/// The lease on the thread.
pub(crate) struct HeldLease {
    pub(crate) lease: Lease,
    pub(crate) process: usize,
    /// Expiry of the lease if its holder is gone.
    pub(crate) expires_at: Option<i64>,
}

/// An outage of the checkpointer until it is repaired.
struct StoreOutage {
    code: ErrorCode,
    /// Recoveries until the repair.
    left: u32,
}

/// State of a schedule.
pub(crate) struct SimulationState {
    seed: u64,
    number: u32,
    pub(crate) plan: FaultPlan,
    pub(crate) random: Random,
    pub(crate) awaits: u32,
    pub(crate) calls: u32,
    /// Number of failed checkpointer calls.
    pub(crate) failures: u32,
    strikes: u32,
    lives: Vec<ProcessState>,
    pub(crate) held: Option<HeldLease>,
    outage: Option<StoreOutage>,
    pub(crate) record: Oracle,
    pub(crate) client_memory: ClientMemory,
    pub(crate) follow: HistoryMatcher,
    pub(crate) clock: ClockState,
    watcher: Option<Waker>,
    pub(crate) is_stuck: bool,
    is_taken_over: bool,
    pub(crate) tally: Counters,
    pub(crate) violation: Option<Violation>,
    pub(crate) trace: Option<Vec<String>>,
    is_straight: bool,
}

impl SimulationState {
    /// Creates the state of a new schedule. Without histories to compare with, no process yields: tasks run in graph
    /// order.
    pub(crate) fn new(seed: u64, number: u32, plan: FaultPlan, follow: HistoryMatcher) -> Self {
        let is_straight = seed == 0 && !follow.is_strict();
        let random = Random::apart(seed, if plan == FaultPlan::Reorder { u64::from(number) } else { 0 });
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
            outage: None,
            record: Oracle::default(),
            client_memory: ClientMemory::default(),
            follow,
            clock: ClockState::default(),
            watcher: None,
            is_stuck: false,
            is_taken_over: false,
            tally: Counters::default(),
            violation: None,
            trace: None,
            is_straight,
        }
    }

    /// Adds a line to the trace if it is enabled.
    pub(crate) fn note(&mut self, line: impl FnOnce() -> String) {
        if let Some(trace) = &mut self.trace {
            trace.push(line());
        }
    }

    /// Ends the schedule if a check failed.
    pub(crate) fn judge(&mut self, verdict: CheckResult) {
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

    /// Returns the fate of a process; `watcher` is woken when it changes.
    pub(crate) fn fate(&mut self, process: usize, watcher: &Waker) -> Option<ProcessFate> {
        if !self.watcher.as_ref().is_some_and(|current| current.will_wake(watcher)) {
            self.watcher = Some(watcher.clone());
        }
        if self.violation.is_some() || self.is_stuck {
            return Some(ProcessFate::Stopped);
        }
        if !self.lives[process].is_alive {
            return Some(ProcessFate::Died);
        }
        std::mem::take(&mut self.is_taken_over).then_some(ProcessFate::TakenOver)
    }

    pub(crate) fn is_alive(&self, process: usize) -> bool {
        self.lives[process].is_alive
    }

    /// Returns true if a process has lost the thread and continues without knowing it.
    pub(crate) fn is_zombie(&self, process: usize) -> bool {
        self.lives[process].is_zombie
    }

    /// Returns the number of await points since the last process started.
    pub(crate) fn since_birth(&self) -> u32 {
        self.lives.last().map_or(0, |life| self.awaits - life.born)
    }

    fn is_due(&self, process: usize) -> bool {
        match (self.plan, self.strikes) {
            (
                FaultPlan::Crash { at }
                | FaultPlan::CrashTwice { at, .. }
                | FaultPlan::Clash { at }
                | FaultPlan::TakeOver { at }
                | FaultPlan::Cancel { at }
                | FaultPlan::Drain { at },
                0,
            ) => self.awaits == at,
            (FaultPlan::CrashTwice { then, .. }, 1) => self.awaits - self.lives[process].born == then,
            _ => false,
        }
    }

    fn kill(&mut self, process: usize) {
        self.note(|| format!("process {process} crashes"));
        self.lives[process].is_alive = false;
        self.tally.count(if self.strikes > 1 { Fact::DoubleCrashes } else { Fact::Crashes });
        let waits = if self.random.one_in(4) { LEASE } else { 0 };
        if let Some(held) = self.held.as_mut().filter(|held| held.process == process) {
            held.expires_at = Some(self.clock.now + waits);
        }
        self.wake_watcher();
    }

    fn stop_runs(&mut self, process: usize, fact: Fact, stop: fn(&RunControl)) {
        let controls = std::mem::take(&mut self.lives[process].controls);
        if controls.is_empty() {
            return;
        }
        self.note(|| format!("the runs of process {process} are stopped: {}", fact.name()));
        self.tally.count(fact);
        self.record.cancels();
        controls.iter().for_each(stop);
    }

    /// Registers a run that the plan may stop.
    pub(crate) fn runs(&mut self, process: usize, control: &RunControl) {
        self.lives[process].controls.push(control.clone());
    }

    /// Records that the process has no active run.
    pub(crate) fn rests(&mut self, process: usize) {
        self.lives[process].controls.clear();
    }

    /// Returns how often a process yields: mostly not at all, which saves time.
    fn random_yields(&mut self) -> u32 {
        if self.is_straight { 0 } else { [0, 0, 0, 0, 1, 1, 2, 4][self.random.below(8) as usize] }
    }

    /// Returns an id that sorts after all earlier ids of this process.
    pub(crate) fn fresh_id(&mut self, process: usize) -> u128 {
        let life = &mut self.lives[process];
        life.ids += 1;
        (u128::from(life.first_id + 1) << 64) | u128::from(life.ids)
    }

    /// Counts a call of the checkpointer and returns its fault, if any.
    pub(crate) fn call(&mut self) -> Option<StoreFault> {
        self.calls += 1;
        let fault = match (self.plan, &self.outage) {
            (_, Some(outage)) => StoreFault { lasts: true, applied: false, code: outage.code },
            (FaultPlan::Store { call, fault }, None) if call == self.calls => fault,
            _ => return None,
        };
        if fault.lasts && self.outage.is_none() {
            let left = 1 + self.random.below(3);
            self.outage = Some(StoreOutage { code: fault.code, left });
        }
        self.failures += 1;
        self.tally.count(Fact::StoreFailures);
        let call = self.calls;
        self.note(|| {
            let effect = if fault.applied { "with effect" } else { "without effect" };
            format!("checkpointer call {call} fails with {}, {effect}", fault.code)
        });
        Some(fault)
    }

    /// Records a restart of a client; a failing checkpointer is repaired after some restarts.
    pub(crate) fn recovers(&mut self) {
        self.tally.count(Fact::Recoveries);
        if let Some(outage) = &mut self.outage {
            outage.left -= 1;
        }
        self.outage.take_if(|outage| outage.left == 0);
    }

    /// Records a granted lease. If the process never learns of it, the lease expires.
    pub(crate) fn lease_granted(&mut self, process: usize, lease: Lease) {
        self.held = Some(HeldLease { lease, process, expires_at: Some(self.clock.now + LEASE) });
    }

    /// Records that a process knows its lease, which then lasts until it is released.
    pub(crate) fn lease_acknowledged(&mut self, fence: u64) {
        self.held.iter_mut().filter(|held| held.lease.fence == fence).for_each(|held| held.expires_at = None);
    }
}
