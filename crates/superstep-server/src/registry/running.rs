//! A run that is under way, whatever its state is: events, then how it ended.

use superstep::core::error::Result;
use superstep::core::id::CheckpointId;
use superstep::core::port::BoxFuture;
use superstep::core::state::State;
use superstep::telemetry::RunUsage;
use superstep::{EventStream, Outcome, Status, StreamEvent};

/// A run that is under way. Asking for events drives it; dropping it stops it.
#[must_use = "a run goes on only while its events are asked for"]
pub struct Running(Box<dyn Erased>);

/// How a run ended.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Ended {
    /// How.
    pub status: Status,
    /// The newest checkpoint.
    pub checkpoint: Option<CheckpointId>,
    /// What models took.
    pub usage: RunUsage,
}

trait Erased: Send {
    fn next(&mut self) -> BoxFuture<'_, Option<StreamEvent>>;
    fn finish(self: Box<Self>) -> BoxFuture<'static, Result<Ended>>;
}

impl<S: State> Erased for EventStream<Outcome<S>> {
    fn next(&mut self) -> BoxFuture<'_, Option<StreamEvent>> {
        Box::pin(EventStream::next(self))
    }

    fn finish(self: Box<Self>) -> BoxFuture<'static, Result<Ended>> {
        Box::pin(async move {
            let outcome = EventStream::finish(*self).await?;
            let usage = outcome.usage().clone();
            Ok(Ended { status: outcome.status, checkpoint: outcome.checkpoint, usage })
        })
    }
}

impl Running {
    pub(super) fn new<S: State>(events: EventStream<Outcome<S>>) -> Self {
        Self(Box::new(events))
    }

    /// The next event, or `None` when the run has ended.
    ///
    /// # Cancel safety
    /// Dropping the future loses no event; the next call returns it.
    pub async fn next(&mut self) -> Option<StreamEvent> {
        self.0.next().await
    }

    /// How it ended.
    ///
    /// # Errors
    /// What the run failed with.
    pub async fn finish(self) -> Result<Ended> {
        self.0.finish().await
    }
}
