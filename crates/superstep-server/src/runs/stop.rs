//! Stopping of runs, on request or when an attached client disconnects.
//!
//! A run that stops with its server continues on the next one; a run that a client stopped does not.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use superstep::RunControl;

/// Mode of stopping a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum StopMode {
    /// Cancels the running tasks; the thread stays at its last complete superstep.
    Cancel,
    /// Finishes and saves the running superstep.
    Drain,
}

/// Handle to stop a run.
#[derive(Clone, Default)]
pub(crate) struct StopHandle {
    control: RunControl,
    is_requested: Arc<AtomicBool>,
}

impl StopHandle {
    pub(crate) fn control(&self) -> &RunControl {
        &self.control
    }

    /// Returns true if a stop was requested.
    pub(crate) fn is_requested(&self) -> bool {
        self.is_requested.load(Ordering::SeqCst)
    }

    pub(crate) fn request(&self, stop: StopMode) {
        // Set before the run is stopped, so that the end of the run sees the request.
        self.is_requested.store(true, Ordering::SeqCst);
        match stop {
            StopMode::Cancel => self.control.cancel(),
            StopMode::Drain => self.control.drain(),
        }
    }
}

/// Guard that stops a run when dropped, if a stop mode is set.
#[must_use = "dropping the guard stops the run"]
pub(crate) struct StopOnDrop {
    stop_handle: StopHandle,
    stop: Option<StopMode>,
}

impl StopOnDrop {
    pub(crate) fn new(stop_handle: StopHandle, stop: Option<StopMode>) -> Self {
        Self { stop_handle, stop }
    }

    /// Disarms the guard: the run has ended, or continues without its client.
    pub(crate) fn disarm(mut self) {
        self.stop = None;
    }
}

impl Drop for StopOnDrop {
    fn drop(&mut self) {
        if let Some(stop) = self.stop {
            self.stop_handle.request(stop);
        }
    }
}
