//! Shutdown signals: Ctrl-C and `SIGTERM`.

use crate::error::CliError;

#[cfg(unix)]
use tokio::signal::unix::{Signal, SignalKind, signal};

/// Handle for Ctrl-C and `SIGTERM`; once created, these signals no longer end the process.
pub(crate) struct ShutdownSignals {
    #[cfg(unix)]
    signals: [Signal; 2],
}

#[cfg(unix)]
impl ShutdownSignals {
    pub(crate) fn new() -> Result<Self, CliError> {
        let listen = |kind| {
            signal(kind).map_err(|error| {
                let message = format!("cannot listen for signals: {}", error.kind());
                CliError::new(superstep::ErrorCode::Internal, message)
            })
        };
        Ok(Self { signals: [listen(SignalKind::interrupt())?, listen(SignalKind::terminate())?] })
    }

    /// Waits for the next signal.
    pub(crate) async fn next(&mut self) {
        let [interrupt, terminate] = &mut self.signals;
        tokio::select! {
            _ = interrupt.recv() => {}
            _ = terminate.recv() => {}
        }
    }
}

#[cfg(not(unix))]
impl ShutdownSignals {
    pub(crate) fn new() -> Result<Self, CliError> {
        Ok(Self {})
    }

    /// Waits for the next signal.
    pub(crate) async fn next(&mut self) {
        drop(tokio::signal::ctrl_c().await);
    }
}
