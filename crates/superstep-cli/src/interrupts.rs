//! Ctrl-C, and a polite request to end.

use crate::failure::Failure;

#[cfg(unix)]
use tokio::signal::unix::{Signal, SignalKind, signal};

/// Ctrl-C, and a polite request to end; from the moment this is made they do not end the process.
pub(crate) struct Interrupts {
    #[cfg(unix)]
    signals: [Signal; 2],
}

#[cfg(unix)]
impl Interrupts {
    pub(crate) fn new() -> Result<Self, Failure> {
        let listen = |kind| {
            signal(kind).map_err(|error| {
                let message = format!("signals cannot be listened to: {}", error.kind());
                Failure::new(superstep::Code::Internal, message)
            })
        };
        Ok(Self { signals: [listen(SignalKind::interrupt())?, listen(SignalKind::terminate())?] })
    }

    /// The next one.
    pub(crate) async fn next(&mut self) {
        let [interrupt, terminate] = &mut self.signals;
        tokio::select! {
            _ = interrupt.recv() => {}
            _ = terminate.recv() => {}
        }
    }
}

#[cfg(not(unix))]
impl Interrupts {
    pub(crate) fn new() -> Result<Self, Failure> {
        Ok(Self {})
    }

    /// The next one.
    pub(crate) async fn next(&mut self) {
        drop(tokio::signal::ctrl_c().await);
    }
}
