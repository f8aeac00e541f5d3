//! Numbers for what the code of a task does in order: its questions, its recorded steps, the graphs it calls.
//!
//! Whenever the code runs again, the same thing must get the same number. What happens inside a recorded step is
//! numbered apart: once recorded the step is skipped, and what comes after it must not move up into its numbers.

use std::cell::RefCell;
use std::future::poll_fn;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use super::TaskCell;

/// What is numbered.
#[derive(Clone, Copy)]
pub(crate) enum Kind {
    Question,
    Call,
    Child,
    Model,
}

/// How many of each kind there were so far.
#[derive(Default)]
pub(crate) struct Numbers([AtomicU32; 4]);

impl Numbers {
    pub(crate) fn from(first: u32) -> Self {
        Self([first; 4].map(AtomicU32::new))
    }

    pub(crate) fn restart(&self) {
        self.0.iter().for_each(|number| number.store(0, Ordering::Relaxed));
    }

    fn next(&self, kind: Kind) -> u32 {
        self.0[kind as usize].fetch_add(1, Ordering::Relaxed)
    }
}

/// The place of something among its kind.
pub(crate) struct Place {
    /// The recorded step, or the part of the task, that it happens in; empty for the code of the task itself.
    pub(crate) step: Arc<str>,
    pub(crate) number: u32,
}

/// A recorded step whose code runs.
struct Step {
    cell: usize,
    path: Arc<str>,
    numbers: Numbers,
}

thread_local! {
    /// The steps that are being polled on this thread, the innermost last.
    static STEPS: RefCell<Vec<Step>> = const { RefCell::new(Vec::new()) };
}

impl TaskCell {
    /// The number of the next thing of a kind, where the code stands now.
    pub(crate) fn number(&self, kind: Kind) -> Place {
        let mine = self.address();
        STEPS.with_borrow(|steps| match steps.iter().rev().find(|step| step.cell == mine) {
            Some(step) => Place { step: step.path.clone(), number: step.numbers.next(kind) },
            None => Place { step: self.scope_path(), number: self.numbers.next(kind) },
        })
    }

    /// Runs the code of a recorded step, with numbers of its own.
    pub(crate) async fn apart<F: Future>(&self, key: &str, code: F) -> F::Output {
        let path = format!("{}{key}/", self.root).into();
        let mut step = Some(Step { cell: self.address(), path, numbers: Numbers::default() });
        let mut code = pin!(code);
        poll_fn(|context| {
            let _inside = Inside::enter(&mut step);
            code.as_mut().poll(context)
        })
        .await
    }

    /// Tells the steps of one task from those of another whose code is polled inside it.
    fn address(&self) -> usize {
        std::ptr::from_ref(self) as usize
    }
}

/// A step for the length of one poll, also of one that panics.
struct Inside<'a>(&'a mut Option<Step>);

impl<'a> Inside<'a> {
    fn enter(step: &'a mut Option<Step>) -> Self {
        STEPS.with_borrow_mut(|steps| steps.extend(step.take()));
        Self(step)
    }
}

impl Drop for Inside<'_> {
    fn drop(&mut self) {
        *self.0 = STEPS.with_borrow_mut(Vec::pop);
    }
}
