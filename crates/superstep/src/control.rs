//! A hand on a running run: cancel it, or let it stop at the next step boundary.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use tokio::sync::Notify;

/// Stops a run from outside. Cheap to clone; one may serve several runs.
///
/// ```
/// use superstep::Control;
/// let control = Control::new();
/// control.drain();
/// assert!(control.is_draining() && !control.is_cancelled());
/// ```
#[derive(Clone, Default)]
pub struct Control(Arc<Inner>);

#[derive(Default)]
struct Inner {
    cancelled: AtomicBool,
    draining: AtomicBool,
    wake: Notify,
}

impl Control {
    /// A hand that has not moved yet.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Stops the run at its next await point. The thread stays at its last whole superstep, finished tasks
    /// are kept.
    pub fn cancel(&self) {
        self.0.cancelled.store(true, Ordering::SeqCst);
        self.0.wake.notify_waiters();
    }

    /// Lets the run stop at the next step boundary, saved and ready to go on.
    pub fn drain(&self) {
        self.0.draining.store(true, Ordering::SeqCst);
    }

    /// True once [`Control::cancel`] was called.
    #[must_use]
    pub fn is_cancelled(&self) -> bool {
        self.0.cancelled.load(Ordering::SeqCst)
    }

    /// True once [`Control::drain`] was called.
    #[must_use]
    pub fn is_draining(&self) -> bool {
        self.0.draining.load(Ordering::SeqCst)
    }

    /// Ends when the run is cancelled.
    pub(crate) async fn cancelled(&self) {
        loop {
            let woken = self.0.wake.notified();
            if self.is_cancelled() {
                return;
            }
            woken.await;
        }
    }
}
