//! A simulated process: the access of its nodes, its runs and its checkpointer to the simulation.
//!
//! A process is the context of every run, its clock and its source of ids. All waiting goes through
//! [`Process::pause`], so that the process can be delayed or crashed at any of these points.

use std::fmt;
use std::pin::Pin;
use std::sync::{Arc, MutexGuard};
use std::task::{Context, Poll};

use superstep::TaskContext;

use crate::fault_plan::FaultPlan;
use crate::invariants::Counter;
use crate::oracle::{Execution, ExecutionKind, TaskIdentity};
use crate::simulation::{Simulation, SimulationState};

/// A process.
#[derive(Clone)]
pub(crate) struct Process {
    pub(crate) sim: Arc<Simulation>,
    pub(crate) number: usize,
}

/// Location of an await point.
#[derive(Debug, Clone, Copy)]
pub(crate) enum AwaitPoint {
    /// In a task, with the location there.
    Task(u64, &'static str),
    /// Before a call of the checkpointer takes effect.
    Before(&'static str),
    /// After the call took effect, before the caller knows.
    After(&'static str),
    /// A slow subscriber.
    Reader,
}

impl fmt::Display for AwaitPoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Task(label, part) => write!(f, "in task {label}: {part}"),
            Self::Before(call) => write!(f, "before {call}"),
            Self::After(call) => write!(f, "after {call}"),
            Self::Reader => f.write_str("in a slow subscriber"),
        }
    }
}

impl Process {
    pub(crate) fn state(&self) -> MutexGuard<'_, SimulationState> {
        self.sim.state()
    }

    /// Returns the future of an await point, which never completes in a dead process.
    pub(crate) fn pause(&self, point: AwaitPoint) -> AwaitPointFuture<'_> {
        AwaitPointFuture { process: self, point, left: None }
    }

    /// Records the start of a task.
    pub(crate) fn start_task(&self, cx: &TaskContext, label: u64) -> Execution {
        let execution = Execution {
            key: TaskIdentity::from_key(cx.idempotency_key()),
            label,
            run: cx.run_id(),
            namespace: cx.namespace().clone(),
            checkpoint: cx.checkpoint_id(),
        };
        let mut state = self.state();
        if state.is_alive(self.number) {
            let kind = state.oracle.task_started(&execution);
            let number = self.number;
            state.trace_event(|| format!("process {number} starts task {label}: {kind:?}"));
            match kind {
                Ok(ExecutionKind::First) => {}
                Ok(ExecutionKind::Repeated) => state.counters.count(Counter::SecondExecutions),
                Ok(ExecutionKind::Zombie) => state.counters.count(Counter::ZombieStarts),
                Err(violation) => state.check(Err(violation)),
            }
        }
        drop(state);
        execution
    }

    /// Records the result of a task.
    pub(crate) fn task_returned(&self, execution: &Execution) {
        let mut state = self.state();
        if state.is_alive(self.number) {
            state.oracle.task_returned(execution);
        }
    }

    /// Records the computation of a recorded result.
    pub(crate) fn record_computed(&self, execution: &Execution, name: &str) {
        let mut state = self.state();
        if state.is_alive(self.number) {
            let label = execution.label;
            state.trace_event(|| format!("task {label} computes `{name}`"));
            let check_result = state.oracle.record_computed(execution, name);
            state.check(check_result);
        }
    }

    /// Records that a recorded result was used instead of a new one.
    pub(crate) fn record_reused(&self) {
        self.state().counters.count(Counter::RecordsReused);
    }

    /// Returns true if the process has lost its thread to another one.
    pub(crate) fn is_zombie(&self) -> bool {
        self.state().is_zombie(self.number)
    }

    /// Returns true if another process may act for the same client.
    pub(crate) fn has_rival(&self) -> bool {
        matches!(self.state().plan, FaultPlan::TakeOver { .. })
    }

    /// Returns a random number below `many`, which is not 0.
    pub(crate) fn below(&self, many: usize) -> usize {
        self.state().random.below(many as u32) as usize
    }

    /// Returns true once in `many` on average.
    pub(crate) fn one_in(&self, many: u32) -> bool {
        self.state().random.one_in(many)
    }
}

/// Future of an await point.
pub(crate) struct AwaitPointFuture<'a> {
    process: &'a Process,
    point: AwaitPoint,
    left: Option<u32>,
}

impl Future for AwaitPointFuture<'_> {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        let left = match self.left {
            Some(left) => self.process.state().is_alive(self.process.number).then_some(left),
            None => self.process.sim.reach_await_point(self.process.number, self.point),
        };
        match left {
            Some(0) => Poll::Ready(()),
            Some(left) => {
                self.left = Some(left - 1);
                context.waker().wake_by_ref();
                Poll::Pending
            }
            // A dead process is never woken.
            None => {
                self.left = Some(1);
                Poll::Pending
            }
        }
    }
}
