//! A process of the simulation: what its nodes, its runs and its store know of the world.
//!
//! It is the context of every run, its clock and its source of ids. Whatever it awaits goes through [`Process::pause`],
//! so that it can be made to wait, or die, at any of these points.

use std::fmt;
use std::pin::Pin;
use std::sync::{Arc, MutexGuard};
use std::task::{Context, Poll};

use superstep::Cx;

use crate::plan::Plan;
use crate::record::{Execution, Key, Standing};
use crate::rules::Fact;
use crate::sim::{Course, Sim};

/// A process.
#[derive(Clone)]
pub(crate) struct Process {
    pub(crate) sim: Arc<Sim>,
    pub(crate) number: usize,
}

/// Where a process is when it awaits something.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Place {
    /// In a task, and where there.
    Task(u64, &'static str),
    /// Before a call of the store takes effect.
    Before(&'static str),
    /// After it took effect, before the caller knows.
    After(&'static str),
    /// A client that reads slowly.
    Reader,
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Task(label, part) => write!(f, "in task {label}: {part}"),
            Self::Before(call) => write!(f, "before {call}"),
            Self::After(call) => write!(f, "after {call}"),
            Self::Reader => f.write_str("reads on"),
        }
    }
}

impl Process {
    pub(crate) fn course(&self) -> MutexGuard<'_, Course> {
        self.sim.course()
    }

    /// An await point. Never ends in a process that is dead.
    pub(crate) fn pause(&self, place: Place) -> Pause<'_> {
        Pause { process: self, place, left: None }
    }

    /// A task begins.
    pub(crate) fn begins(&self, cx: &Cx, label: u64) -> Execution {
        let execution = Execution {
            key: Key::given(cx.idempotency_key()),
            label,
            run: cx.run(),
            namespace: cx.namespace().clone(),
            checkpoint: cx.checkpoint(),
        };
        let mut course = self.course();
        if course.is_alive(self.number) {
            let standing = course.record.begins(&execution);
            let number = self.number;
            course.note(|| format!("process {number} begins task {label}: {standing:?}"));
            match standing {
                Ok(Standing::First) => {}
                Ok(Standing::Again) => course.tally.count(Fact::SecondExecutions),
                Ok(Standing::Zombie) => course.tally.count(Fact::ZombieStarts),
                Err(violation) => course.judge(Err(violation)),
            }
        }
        drop(course);
        execution
    }

    /// A task has its result.
    pub(crate) fn returns(&self, execution: &Execution) {
        let mut course = self.course();
        if course.is_alive(self.number) {
            course.record.returns(execution);
        }
    }

    /// What is to be recorded is made.
    pub(crate) fn makes(&self, execution: &Execution, name: &str) {
        let mut course = self.course();
        if course.is_alive(self.number) {
            let label = execution.label;
            course.note(|| format!("task {label} makes `{name}`"));
            let verdict = course.record.makes(execution, name);
            course.judge(verdict);
        }
    }

    /// A recorded result was given in place of a new one.
    pub(crate) fn served(&self) {
        self.course().tally.count(Fact::RecordsServed);
    }

    /// Whether it has lost its thread to another.
    pub(crate) fn is_zombie(&self) -> bool {
        self.course().is_zombie(self.number)
    }

    /// Whether another process may act for the same client.
    pub(crate) fn has_rival(&self) -> bool {
        matches!(self.course().plan, Plan::TakeOver { .. })
    }

    /// One of so many, which are not none.
    pub(crate) fn below(&self, many: usize) -> usize {
        self.course().random.below(many as u32) as usize
    }

    /// True once in `many`.
    pub(crate) fn one_in(&self, many: u32) -> bool {
        self.course().random.one_in(many)
    }
}

/// An await point.
pub(crate) struct Pause<'a> {
    process: &'a Process,
    place: Place,
    left: Option<u32>,
}

impl Future for Pause<'_> {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        let left = match self.left {
            Some(left) => self.process.course().is_alive(self.process.number).then_some(left),
            None => self.process.sim.arrive(self.process.number, self.place),
        };
        match left {
            Some(0) => Poll::Ready(()),
            Some(left) => {
                self.left = Some(left - 1);
                context.waker().wake_by_ref();
                Poll::Pending
            }
            // Nobody wakes the dead.
            None => {
                self.left = Some(1);
                Poll::Pending
            }
        }
    }
}
