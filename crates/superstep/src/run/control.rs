//! Control of a running run: cancel, or drain at the next superstep boundary.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use tokio::sync::Notify;

/// Control that stops a run from outside. Cheap to clone; one control may serve several runs.
///
/// ```
/// use superstep::RunControl;
/// let control = RunControl::new();
/// control.drain();
/// assert!(control.is_draining() && !control.is_cancelled());
/// ```
#[derive(Clone, Default)]
pub struct RunControl(Arc<ControlInner>);

#[derive(Default)]
struct ControlInner {
    cancelled: AtomicBool,
    draining: AtomicBool,
    wake: Notify,
}

impl RunControl {
    /// Creates a control that has not been triggered.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Stops the run at its next await point. The thread stays at its last complete superstep; results of finished
    /// tasks are kept.
    pub fn cancel(&self) {
        self.0.cancelled.store(true, Ordering::SeqCst);
        self.0.wake.notify_waiters();
    }

    /// Stops the run at the next superstep boundary, persisted and ready to continue.
    pub fn drain(&self) {
        self.0.draining.store(true, Ordering::SeqCst);
    }

    /// Returns true once [`RunControl::cancel`] was called.
    #[must_use]
    pub fn is_cancelled(&self) -> bool {
        self.0.cancelled.load(Ordering::SeqCst)
    }

    /// Returns true once [`RunControl::drain`] was called.
    #[must_use]
    pub fn is_draining(&self) -> bool {
        self.0.draining.load(Ordering::SeqCst)
    }

    /// Completes when the run is cancelled.
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
