//! Where schedules are performed: one thread, one runtime, no timers, no input or output, the same order every time.
//!
//! The runtime tells when it has nothing left to do: then simulated time passes.

use std::cell::{Cell, RefCell};
use std::sync::Arc;
use std::task::{Poll, Waker};

use tokio::runtime::{Builder, Runtime};

use crate::sim::Sim;

thread_local! {
    /// The schedule that is performed on this thread.
    static PERFORMED: RefCell<Option<Arc<Sim>>> = const { RefCell::new(None) };
    /// Who waits until everything is quiet.
    static WAITS: Cell<Option<Waker>> = const { Cell::new(None) };
}

/// A thread to perform on.
pub(crate) struct Stage(Runtime);

impl Stage {
    pub(crate) fn new() -> std::io::Result<Self> {
        Builder::new_current_thread().on_thread_park(on_idle).build().map(Self)
    }

    /// Performs a play to its end.
    ///
    /// The play is a task of its own: the runtime counts as quiet only when none is ready, and the future a runtime
    /// blocks on is none of its tasks.
    pub(crate) fn perform<T: Send + 'static>(&self, play: impl Future<Output = T> + Send + 'static) -> T {
        let ended = self.0.block_on(async { tokio::spawn(play).await });
        ended.unwrap_or_else(|error| std::panic::resume_unwind(error.into_panic()))
    }
}

fn on_idle() {
    if let Some(waker) = WAITS.take() {
        return waker.wake();
    }
    let performed = PERFORMED.with_borrow(Clone::clone);
    if let Some(sim) = performed {
        sim.nothing_moves();
    }
}

/// Ends when nothing else on this thread can go on: what was dropped is gone, and the next schedule starts as the first.
pub(crate) async fn quiet() {
    let mut has_waited = false;
    std::future::poll_fn(|context| {
        if has_waited {
            return Poll::Ready(());
        }
        has_waited = true;
        WAITS.set(Some(context.waker().clone()));
        Poll::Pending
    })
    .await;
}

/// Makes a schedule the one that is performed, until this is dropped.
pub(crate) struct Curtain;

impl Curtain {
    pub(crate) fn up(sim: &Arc<Sim>) -> Self {
        PERFORMED.replace(Some(sim.clone()));
        Self
    }
}

impl Drop for Curtain {
    fn drop(&mut self) {
        PERFORMED.replace(None);
    }
}
