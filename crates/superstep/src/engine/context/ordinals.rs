//! Ordinals of the actions of a task: its interrupts, recorded steps, nested runs and model calls.
//!
//! When the code runs again, the same action must get the same ordinal. Actions inside a recorded step have separate
//! ordinals: once the step is recorded, its code is skipped, and later actions must not take over its ordinals.

use std::cell::RefCell;
use std::future::poll_fn;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use super::TaskLocals;

/// Kind of action that gets an ordinal.
#[derive(Clone, Copy)]
pub(crate) enum OrdinalKind {
    Interrupt,
    Call,
    Child,
    Model,
}

/// Next ordinal of each kind.
#[derive(Default)]
pub(crate) struct OrdinalCounters([AtomicU32; 4]);

impl OrdinalCounters {
    pub(crate) fn from(first: u32) -> Self {
        Self([first; 4].map(AtomicU32::new))
    }

    pub(crate) fn restart(&self) {
        self.0.iter().for_each(|number| number.store(0, Ordering::Relaxed));
    }

    fn next(&self, kind: OrdinalKind) -> u32 {
        self.0[kind as usize].fetch_add(1, Ordering::Relaxed)
    }
}

/// Ordinal of an action among the actions of its kind.
pub(crate) struct Ordinal {
    /// The recorded step or the part of the task that contains the action; empty for the code of the task itself.
    pub(crate) step: Arc<str>,
    pub(crate) number: u32,
}

/// A recorded step whose code is running.
struct RecordedStep {
    cell: usize,
    path: Arc<str>,
    numbers: OrdinalCounters,
}

thread_local! {
    /// Steps that are being polled on this OS thread, the innermost last.
    static STEPS: RefCell<Vec<RecordedStep>> = const { RefCell::new(Vec::new()) };
}

impl TaskLocals {
    /// Returns the ordinal of the next action of a kind, in the current step.
    pub(crate) fn next_ordinal(&self, kind: OrdinalKind) -> Ordinal {
        let address = self.address();
        STEPS.with_borrow(|steps| match steps.iter().rev().find(|step| step.cell == address) {
            Some(step) => Ordinal { step: step.path.clone(), number: step.numbers.next(kind) },
            None => Ordinal { step: self.scope_path(), number: self.ordinals.next(kind) },
        })
    }

    /// Runs the code of a recorded step, with separate ordinals.
    pub(crate) async fn with_step_ordinals<F: Future>(&self, key: &str, code: F) -> F::Output {
        let path = format!("{}{key}/", self.key_prefix).into();
        let mut step = Some(RecordedStep { cell: self.address(), path, numbers: OrdinalCounters::default() });
        let mut code = pin!(code);
        poll_fn(|context| {
            let _scope = StepScope::enter(&mut step);
            code.as_mut().poll(context)
        })
        .await
    }

    /// Returns an address that distinguishes the steps of this task from those of another task polled inside it.
    fn address(&self) -> usize {
        std::ptr::from_ref(self) as usize
    }
}

/// Guard that makes a step current during one poll, also if the poll panics.
struct StepScope<'a>(&'a mut Option<RecordedStep>);

impl<'a> StepScope<'a> {
    fn enter(step: &'a mut Option<RecordedStep>) -> Self {
        STEPS.with_borrow_mut(|steps| steps.extend(step.take()));
        Self(step)
    }
}

impl Drop for StepScope<'_> {
    fn drop(&mut self) {
        *self.0 = STEPS.with_borrow_mut(Vec::pop);
    }
}
