//! The executor of schedules: one thread, one runtime, no timers and no I/O, with the same order every time.
//!
//! Simulated time advances while the runtime is idle.

use std::cell::{Cell, RefCell};
use std::sync::Arc;
use std::task::{Poll, Waker};

use tokio::runtime::{Builder, Runtime};

use crate::simulation::Simulation;

thread_local! {
    /// The schedule that currently runs on this thread.
    static CURRENT_SIMULATION: RefCell<Option<Arc<Simulation>>> = const { RefCell::new(None) };
    /// Waker of the task that waits until the runtime is idle.
    static IDLE_WAKER: Cell<Option<Waker>> = const { Cell::new(None) };
}

/// A single-threaded runtime.
pub(crate) struct DeterministicRuntime(Runtime);

impl DeterministicRuntime {
    pub(crate) fn new() -> std::io::Result<Self> {
        Builder::new_current_thread().on_thread_park(on_idle).build().map(Self)
    }

    /// Runs a future to its end.
    ///
    /// The future is spawned as a task: the runtime is idle only if no task is ready, and the future passed to
    /// `block_on` is not a task.
    pub(crate) fn perform<T: Send + 'static>(&self, schedule: impl Future<Output = T> + Send + 'static) -> T {
        let ended = self.0.block_on(async { tokio::spawn(schedule).await });
        ended.unwrap_or_else(|error| std::panic::resume_unwind(error.into_panic()))
    }
}

fn on_idle() {
    if let Some(waker) = IDLE_WAKER.take() {
        return waker.wake();
    }
    let current = CURRENT_SIMULATION.with_borrow(Clone::clone);
    if let Some(sim) = current {
        sim.advance_time_or_stall();
    }
}

/// Completes when no other task on this thread can proceed: dropped tasks are gone, and the next schedule starts from
/// the same state as the first.
pub(crate) async fn until_idle() {
    let mut has_waited = false;
    std::future::poll_fn(|context| {
        if has_waited {
            return Poll::Ready(());
        }
        has_waited = true;
        IDLE_WAKER.set(Some(context.waker().clone()));
        Poll::Pending
    })
    .await;
}

/// Guard that makes a schedule the current one of this thread.
pub(crate) struct CurrentSimulationGuard;

impl CurrentSimulationGuard {
    pub(crate) fn enter(sim: &Arc<Simulation>) -> Self {
        CURRENT_SIMULATION.replace(Some(sim.clone()));
        Self
    }
}

impl Drop for CurrentSimulationGuard {
    fn drop(&mut self) {
        CURRENT_SIMULATION.replace(None);
    }
}
