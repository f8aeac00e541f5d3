//! Cancellation of runs, on request or when an attached client disconnects.
//!
//! A run that ends because its server shuts down continues on the next server; a cancelled run does not.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use superstep::RunControl;

/// Mode of cancelling a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum CancelMode {
    /// Cancels the running tasks at once; the thread stays at its last complete superstep.
    Immediate,
    /// Finishes and saves the running superstep first.
    Drain,
}

/// Handle to cancel a run.
#[derive(Clone, Default)]
pub(crate) struct CancelHandle {
    control: RunControl,
    is_requested: Arc<AtomicBool>,
}

impl CancelHandle {
    pub(crate) fn control(&self) -> &RunControl {
        &self.control
    }

    /// Returns true if cancellation was requested.
    pub(crate) fn is_requested(&self) -> bool {
        self.is_requested.load(Ordering::SeqCst)
    }

    pub(crate) fn request(&self, mode: CancelMode) {
        // Set before the control changes, so that the end of the run sees the request.
        self.is_requested.store(true, Ordering::SeqCst);
        match mode {
            CancelMode::Immediate => self.control.cancel(),
            CancelMode::Drain => self.control.drain(),
        }
    }
}

/// Guard that cancels a run when dropped, if a mode is set.
#[must_use = "dropping the guard cancels the run"]
pub(crate) struct CancelOnDrop {
    cancel_handle: CancelHandle,
    mode: Option<CancelMode>,
}

impl CancelOnDrop {
    pub(crate) fn new(cancel_handle: CancelHandle, mode: Option<CancelMode>) -> Self {
        Self { cancel_handle, mode }
    }

    /// Disarms the guard: the run has ended, or continues without its client.
    pub(crate) fn disarm(mut self) {
        self.mode = None;
    }
}

impl Drop for CancelOnDrop {
    fn drop(&mut self) {
        if let Some(mode) = self.mode {
            self.cancel_handle.request(mode);
        }
    }
}
