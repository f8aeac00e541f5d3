//! How a run is stopped, by whoever asks for it or by a reader who leaves.
//!
//! One that ends with its server goes on with the next; one that somebody asked to stop does not.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use superstep::Control;

/// How a run is stopped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Stop {
    /// Lets go of what runs now; the thread stays at its last whole superstep.
    Now,
    /// Lets the superstep finish and saves it.
    AfterStep,
}

/// What a run is stopped with.
#[derive(Clone, Default)]
pub(crate) struct Brake {
    control: Control,
    is_pulled: Arc<AtomicBool>,
}

impl Brake {
    pub(crate) fn control(&self) -> &Control {
        &self.control
    }

    /// Whether somebody asked for the run to stop.
    pub(crate) fn is_pulled(&self) -> bool {
        self.is_pulled.load(Ordering::SeqCst)
    }

    pub(crate) fn pull(&self, stop: Stop) {
        // First, so that a run that ends by it finds out why.
        self.is_pulled.store(true, Ordering::SeqCst);
        match stop {
            Stop::Now => self.control.cancel(),
            Stop::AfterStep => self.control.drain(),
        }
    }
}

/// Stops a run when it is dropped, where that was asked for.
#[must_use = "one that is dropped stops the run"]
pub(crate) struct Leaving {
    brake: Brake,
    stop: Option<Stop>,
}

impl Leaving {
    pub(crate) fn new(brake: Brake, stop: Option<Stop>) -> Self {
        Self { brake, stop }
    }

    /// The run is over, or goes on without who attended it.
    pub(crate) fn stay(mut self) {
        self.stop = None;
    }
}

impl Drop for Leaving {
    fn drop(&mut self) {
        if let Some(stop) = self.stop {
            self.brake.pull(stop);
        }
    }
}
