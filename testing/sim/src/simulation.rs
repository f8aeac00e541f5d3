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
use crate::invariants::{CheckResult, Counter, Counters, Rule, Violation};
use crate::oracle::Oracle;
use crate::process::{AwaitPoint, Process};
use crate::random::Random;
use crate::state::check_consistent;

/// Time for which a lease outlives its process, in microseconds.
const LEASE_DURATION_MICROS: i64 = 20_000;

/// One schedule.
pub(crate) struct Simulation {
    pub(crate) disk: SimulatedDisk,
    state: Mutex<SimulationState>,
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
    pub(crate) fn new(disk: SimulatedDisk, state: SimulationState) -> Arc<Self> {
        Arc::new(Self { disk, state: Mutex::new(state) })
    }

    pub(crate) fn state(&self) -> MutexGuard<'_, SimulationState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Starts a process.
    pub(crate) fn start_process(self: &Arc<Self>) -> Process {
        let mut state = self.state();
        let number = state.processes.len();
        let repeats_ids = matches!(state.plan, FaultPlan::IdConflict { .. }) && number == 1;
        let (started_at_await, first_id) = (state.awaits, if repeats_ids { 0 } else { number as u64 });
        state.trace_event(|| format!("process {number} starts"));
        state.processes.push(ProcessState {
            is_alive: true,
            is_zombie: false,
            started_at_await,
            first_id,
            ids: 0,
            controls: Vec::new(),
        });
        drop(state);
        Process { sim: self.clone(), number }
    }

    /// Handles an idle runtime: advances the time, or marks the schedule as stuck.
    pub(crate) fn advance_time_or_stall(&self) {
        let mut state = self.state();
        if !state.clock.advance_to_next_wakeup() {
            state.is_stuck = true;
            state.wake_watcher();
        }
    }

    /// Reaches an await point. Returns how often the process yields, or `None` if it is dead.
    pub(crate) fn reach_await_point(&self, process: usize, point: AwaitPoint) -> Option<u32> {
        let mut state = self.state();
        if !state.processes[process].is_alive {
            return None;
        }
        state.awaits += 1;
        let number = state.awaits;
        state.trace_event(|| format!("await {number}: process {process} {point}"));
        if state.random.one_in(READ_INTERVAL) {
            let check_result = self.read(&mut state);
            state.check(check_result);
        }
        self.inject_fault(&mut state, process);
        state.processes[process].is_alive.then(|| state.random_yields())
    }

    /// Reads the thread as another process.
    fn read(&self, state: &mut SimulationState) -> CheckResult {
        let unreadable =
            |error: Error| Violation { rule: Rule::CompleteSupersteps, text: format!("a reader got {error}") };
        let Some((stored, loaded)) = self.disk.read(CheckpointSelector::Latest).map_err(unreadable)? else {
            return Ok(());
        };
        state.counters.count(Counter::Reads);
        let step = loaded.checkpoint.step;
        check_consistent(&stored).or_else(|problem| {
            Rule::CompleteSupersteps.broken(format!("a reader saw an incomplete step {step}: {problem}"))
        })
    }

    /// Injects the fault of the plan if its await point is reached.
    fn inject_fault(&self, state: &mut SimulationState, process: usize) {
        if !state.is_due(process) {
            return;
        }
        state.faults_injected += 1;
        state.random = Random::for_stream(state.seed, u64::from(state.number));
        match state.plan {
            FaultPlan::Crash { .. } | FaultPlan::CrashTwice { .. } | FaultPlan::IdConflict { .. } => {
                state.kill(process)
            }
            FaultPlan::TakeOver { .. } => match state.held.take_if(|held| held.process == process) {
                Some(held) => {
                    state.trace_event(|| format!("process {process} loses the thread without noticing"));
                    self.disk.release(&held.lease);
                    state.oracle.released(held.lease.fence);
                    state.counters.count(Counter::Takeovers);
                    state.processes[process].is_zombie = true;
                    state.is_taken_over = true;
                    state.wake_watcher();
                }
                None => state.kill(process),
            },
            FaultPlan::Cancel { .. } => state.stop_runs(process, Counter::Cancels, RunControl::cancel),
            FaultPlan::Drain { .. } => state.stop_runs(process, Counter::Drains, RunControl::drain),
            FaultPlan::NoFault | FaultPlan::Reorder | FaultPlan::Store { .. } => {}
        }
    }

    /// Releases the thread after its dead holder's lease has expired.
    pub(crate) fn expire_lease(&self, state: &mut SimulationState) {
        let now = state.clock.now;
        if let Some(held) = state.held.take_if(|held| held.expires_at.is_some_and(|expires_at| expires_at <= now)) {
            state.trace_event(|| format!("lease {} expires", held.lease.fence));
            self.disk.release(&held.lease);
            state.oracle.released(held.lease.fence);
        }
    }
}

/// At one in this number of await points, another process reads the thread.
const READ_INTERVAL: u32 = 24;

struct ProcessState {
    is_alive: bool,
    is_zombie: bool,
    /// Await points before the process started.
    started_at_await: u32,
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
    faults_injected: u32,
    processes: Vec<ProcessState>,
    pub(crate) held: Option<HeldLease>,
    outage: Option<StoreOutage>,
    pub(crate) oracle: Oracle,
    pub(crate) client_memory: ClientMemory,
    pub(crate) history: HistoryMatcher,
    pub(crate) clock: ClockState,
    watcher: Option<Waker>,
    pub(crate) is_stuck: bool,
    is_taken_over: bool,
    pub(crate) counters: Counters,
    pub(crate) violation: Option<Violation>,
    pub(crate) trace: Option<Vec<String>>,
    in_graph_order: bool,
}

impl SimulationState {
    /// Creates the state of a new schedule. Without histories to compare with, no process yields: tasks run in graph
    /// order.
    pub(crate) fn new(seed: u64, number: u32, plan: FaultPlan, history: HistoryMatcher) -> Self {
        let in_graph_order = seed == 0 && !history.is_strict();
        let random = Random::for_stream(seed, if plan == FaultPlan::Reorder { u64::from(number) } else { 0 });
        Self {
            seed,
            number,
            plan,
            random,
            awaits: 0,
            calls: 0,
            failures: 0,
            faults_injected: 0,
            processes: Vec::new(),
            held: None,
            outage: None,
            oracle: Oracle::default(),
            client_memory: ClientMemory::default(),
            history,
            clock: ClockState::default(),
            watcher: None,
            is_stuck: false,
            is_taken_over: false,
            counters: Counters::default(),
            violation: None,
            trace: None,
            in_graph_order,
        }
    }

    /// Adds a line to the trace if it is enabled.
    pub(crate) fn trace_event(&mut self, line: impl FnOnce() -> String) {
        if let Some(trace) = &mut self.trace {
            trace.push(line());
        }
    }

    /// Ends the schedule if a check failed.
    pub(crate) fn check(&mut self, check_result: CheckResult) {
        let Err(violation) = check_result else { return };
        self.trace_event(|| format!("BROKEN: {}: {}", violation.rule, violation.text));
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
        if !self.processes[process].is_alive {
            return Some(ProcessFate::Died);
        }
        std::mem::take(&mut self.is_taken_over).then_some(ProcessFate::TakenOver)
    }

    pub(crate) fn is_alive(&self, process: usize) -> bool {
        self.processes[process].is_alive
    }

    /// Returns true if a process has lost the thread and continues without knowing it.
    pub(crate) fn is_zombie(&self, process: usize) -> bool {
        self.processes[process].is_zombie
    }

    /// Returns the number of await points since the last process started.
    pub(crate) fn awaits_since_start(&self) -> u32 {
        self.processes.last().map_or(0, |process| self.awaits - process.started_at_await)
    }

    fn is_due(&self, process: usize) -> bool {
        match (self.plan, self.faults_injected) {
            (
                FaultPlan::Crash { at }
                | FaultPlan::CrashTwice { at, .. }
                | FaultPlan::IdConflict { at }
                | FaultPlan::TakeOver { at }
                | FaultPlan::Cancel { at }
                | FaultPlan::Drain { at },
                0,
            ) => self.awaits == at,
            (FaultPlan::CrashTwice { then, .. }, 1) => self.awaits - self.processes[process].started_at_await == then,
            _ => false,
        }
    }

    fn kill(&mut self, process: usize) {
        self.trace_event(|| format!("process {process} crashes"));
        self.processes[process].is_alive = false;
        self.counters.count(if self.faults_injected > 1 { Counter::DoubleCrashes } else { Counter::Crashes });
        let lease_time = if self.random.one_in(4) { LEASE_DURATION_MICROS } else { 0 };
        if let Some(held) = self.held.as_mut().filter(|held| held.process == process) {
            held.expires_at = Some(self.clock.now + lease_time);
        }
        self.wake_watcher();
    }

    fn stop_runs(&mut self, process: usize, counter: Counter, stop: fn(&RunControl)) {
        let controls = std::mem::take(&mut self.processes[process].controls);
        if controls.is_empty() {
            return;
        }
        self.trace_event(|| format!("the runs of process {process} are stopped: {}", counter.name()));
        self.counters.count(counter);
        self.oracle.record_cancellation();
        controls.iter().for_each(stop);
    }

    /// Registers a run that the plan may stop.
    pub(crate) fn register_run(&mut self, process: usize, control: &RunControl) {
        self.processes[process].controls.push(control.clone());
    }

    /// Records that the process has no active run.
    pub(crate) fn end_runs(&mut self, process: usize) {
        self.processes[process].controls.clear();
    }

    /// Returns how often a process yields: mostly not at all, which saves time.
    fn random_yields(&mut self) -> u32 {
        if self.in_graph_order { 0 } else { [0, 0, 0, 0, 1, 1, 2, 4][self.random.below(8) as usize] }
    }

    /// Returns an id that sorts after all earlier ids of this process.
    pub(crate) fn fresh_id(&mut self, process: usize) -> u128 {
        let process = &mut self.processes[process];
        process.ids += 1;
        (u128::from(process.first_id + 1) << 64) | u128::from(process.ids)
    }

    /// Counts a call of the checkpointer and returns its fault, if any.
    pub(crate) fn call(&mut self) -> Option<StoreFault> {
        self.calls += 1;
        let fault = match (self.plan, &self.outage) {
            (_, Some(outage)) => StoreFault { persists: true, applied: false, code: outage.code },
            (FaultPlan::Store { call, fault }, None) if call == self.calls => fault,
            _ => return None,
        };
        if fault.persists && self.outage.is_none() {
            let left = 1 + self.random.below(3);
            self.outage = Some(StoreOutage { code: fault.code, left });
        }
        self.failures += 1;
        self.counters.count(Counter::StoreFailures);
        let call = self.calls;
        self.trace_event(|| {
            let effect = if fault.applied { "with effect" } else { "without effect" };
            format!("checkpointer call {call} fails with {}, {effect}", fault.code)
        });
        Some(fault)
    }

    /// Records a restart of a client; a failing checkpointer is repaired after some restarts.
    pub(crate) fn record_restart(&mut self) {
        self.counters.count(Counter::Recoveries);
        if let Some(outage) = &mut self.outage {
            outage.left -= 1;
        }
        self.outage.take_if(|outage| outage.left == 0);
    }

    /// Records a granted lease. If the process never learns of it, the lease expires.
    pub(crate) fn lease_granted(&mut self, process: usize, lease: Lease) {
        self.held = Some(HeldLease { lease, process, expires_at: Some(self.clock.now + LEASE_DURATION_MICROS) });
    }

    /// Records that a process knows its lease, which then lasts until it is released.
    pub(crate) fn lease_acknowledged(&mut self, fence: u64) {
        self.held.iter_mut().filter(|held| held.lease.fence == fence).for_each(|held| held.expires_at = None);
    }
}
