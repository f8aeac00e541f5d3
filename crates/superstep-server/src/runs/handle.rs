//! Handle of a run of any state type: its events, then its result.

use superstep::core::error::Result;
use superstep::core::id::CheckpointId;
use superstep::core::port::BoxFuture;
use superstep::core::state::GraphState;
use superstep::telemetry::RunUsage;
use superstep::{EventStream, Outcome, RunEnd, StreamEvent};

/// A run in progress. Requesting events drives the run; dropping the handle aborts it.
#[must_use = "the run advances only while its events are read"]
pub struct RunHandle(Box<dyn DynRunHandle>);

/// Result of a run.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct RunResult {
    /// Status at the end.
    pub status: RunEnd,
    /// Latest checkpoint.
    pub checkpoint: Option<CheckpointId>,
    /// Token usage and cost of models.
    pub usage: RunUsage,
}

trait DynRunHandle: Send {
    fn next(&mut self) -> BoxFuture<'_, Option<StreamEvent>>;
    fn finish(self: Box<Self>) -> BoxFuture<'static, Result<RunResult>>;
}

impl<S: GraphState> DynRunHandle for EventStream<Outcome<S>> {
    fn next(&mut self) -> BoxFuture<'_, Option<StreamEvent>> {
        Box::pin(EventStream::next(self))
    }

    fn finish(self: Box<Self>) -> BoxFuture<'static, Result<RunResult>> {
        Box::pin(async move {
            let outcome = EventStream::finish(*self).await?;
            let usage = outcome.usage().clone();
            Ok(RunResult { status: outcome.end, checkpoint: outcome.checkpoint, usage })
        })
    }
}

impl RunHandle {
    pub(crate) fn new<S: GraphState>(events: EventStream<Outcome<S>>) -> Self {
        Self(Box::new(events))
    }

    /// Returns the next event, or `None` when the run has ended.
    ///
    /// # Cancel safety
    /// Dropping the future loses no event; the next call returns it.
    pub async fn next(&mut self) -> Option<StreamEvent> {
        self.0.next().await
    }

    /// Returns the result of the run.
    ///
    /// # Errors
    /// Returns the error the run failed with.
    pub async fn finish(self) -> Result<RunResult> {
        self.0.finish().await
    }
}
