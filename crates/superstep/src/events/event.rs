//! Event stream of a run: bounded, and created only if there is a subscriber.
//!
//! The stream *is* the run: polling it drives the run, dropping it stops the run at its next await point. A slow
//! subscriber slows the run down; no event is skipped, and the buffer is bounded. `mode_stream` projects events to
//! stream modes, `event_stream` to the format of `stream_events`; both read the one stream of this module.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use futures_core::Stream;
use serde_json::Value;
use superstep_core::checkpoint::CheckpointNamespace;
use superstep_core::error::{Error, Result};
use superstep_core::id::TaskId;
use superstep_core::machine::MachineEvent;
use superstep_core::port::BoxFuture;
use tokio::sync::mpsc;

pub use crate::events::call_events::{ModelCallInfo, ModelEvent, ToolEvent, ToolExecution};
pub use crate::events::event_stream::{EventData, EventFormat, EventMetadata, EventStream, StreamEvent};
pub(crate) use crate::events::filter::EventFilter;
pub use crate::events::graph_run::{GraphEnd, GraphRun};
pub(crate) use crate::events::graph_run::{HIDDEN, NO_STREAM};
#[doc(hidden)]
pub use crate::events::journal::next_number_after_crash;
pub(crate) use crate::events::journal::{EventJournal, JournalBatch, JournalStamp};
pub(crate) use crate::events::mode_stream::filter_for_modes;
pub use crate::events::mode_stream::{ModeStream, StreamMode, StreamPart, StreamPartData};
pub(crate) use crate::events::publisher::EventPublisher;

/// Maximum number of buffered events; the run waits while the buffer is full.
pub(crate) const EVENT_BUFFER_CAPACITY: usize = 64;

/// An event of a run, with its graph.
#[derive(Clone)]
#[non_exhaustive]
pub struct RunEvent {
    /// Position among the events of the run for this subscriber, ascending.
    pub seq: u64,
    /// Number of the event in the journal of the thread, if events are journaled; otherwise 0. An event that is
    /// projected to several journal entries has the number of the first. Events of parallel tasks may arrive in a
    /// slightly different order than that of their numbers.
    pub number: u64,
    /// Time in microseconds since 1970, by the clock of the run.
    pub time: i64,
    /// The graph, with its position in the run.
    pub graph: Arc<GraphRun>,
    /// Content of the event.
    pub kind: EventKind,
}

impl RunEvent {
    /// Returns the namespace of the graph; empty for the root graph.
    #[must_use]
    pub fn namespace(&self) -> &CheckpointNamespace {
        &self.graph.namespace
    }
}

/// Content of an event.
#[derive(Clone)]
#[non_exhaustive]
pub enum EventKind {
    /// A graph starts: the root graph or a subgraph.
    Started {
        /// Input as JSON; null if the graph continues.
        input: Value,
    },
    /// A graph has ended. The last event of each graph.
    Ended {
        /// Reason for the end.
        end: GraphEnd,
        /// Output as JSON; null after an error.
        output: Value,
    },
    /// An event of the machine: tasks, values, checkpoints, interrupts, warnings.
    Machine(MachineEvent),
    /// A custom event of a node.
    Custom {
        /// Name of the node.
        node: Arc<str>,
        /// Task of the node.
        task: TaskId,
        /// Name of the event, if the node named it.
        name: Option<Arc<str>>,
        /// Value of the event.
        value: Value,
    },
    /// An event of a model call.
    Model {
        /// Model call that the event is about.
        call: Arc<ModelCallInfo>,
        /// Content of the event.
        event: ModelEvent,
    },
    /// An event of a tool call.
    Tool {
        /// Tool call that the event is about.
        call: Arc<ToolExecution>,
        /// Content of the event.
        event: ToolEvent,
    },
    /// A failed node is retried.
    Retry {
        /// Name of the node.
        node: Arc<str>,
        /// Task of the node.
        task: TaskId,
        /// Number of the failed attempt, starting at 1.
        attempt: u32,
        /// Delay before the next attempt.
        delay: Duration,
        /// Error of the attempt.
        error: Error,
    },
}

/// Event stream of a run. Ends after the last event of the run.
#[must_use = "a run makes progress only while its stream is polled"]
pub struct RunStream<T> {
    run: Option<BoxFuture<'static, Result<T>>>,
    events: mpsc::Receiver<RunEvent>,
    result: Option<Result<T>>,
    seq: u64,
}

impl<T> RunStream<T> {
    pub(crate) fn new(run: BoxFuture<'static, Result<T>>, events: mpsc::Receiver<RunEvent>) -> Self {
        Self { run: Some(run), events, result: None, seq: 0 }
    }

    /// Returns the next event, or `None` if the run has ended.
    ///
    /// # Cancel safety
    /// Dropping the future loses no event; the next call returns it.
    pub async fn next(&mut self) -> Option<RunEvent>
    where
        T: Unpin,
    {
        std::future::poll_fn(|context| Pin::new(&mut *self).poll_next(context)).await
    }

    /// Returns the outcome of the run, after consuming the remaining events.
    ///
    /// # Errors
    /// Returns an error if the run fails.
    pub async fn finish(mut self) -> Result<T>
    where
        T: Unpin,
    {
        while self.next().await.is_some() {}
        self.result.unwrap_or_else(|| Err(Error::internal("the stream ended without a result")))
    }

    fn assign_seq(&mut self, mut event: RunEvent) -> RunEvent {
        self.seq += 1;
        event.seq = self.seq;
        event
    }
}

impl<T: Unpin> Stream for RunStream<T> {
    type Item = RunEvent;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<RunEvent>> {
        let this = &mut *self;
        if let Poll::Ready(Some(event)) = this.events.poll_recv(context) {
            return Poll::Ready(Some(this.assign_seq(event)));
        }
        if let Some(run) = &mut this.run
            && let Poll::Ready(result) = run.as_mut().poll(context)
        {
            this.result = Some(result);
            this.run = None;
        }
        match this.events.poll_recv(context) {
            Poll::Ready(Some(event)) => Poll::Ready(Some(this.assign_seq(event))),
            Poll::Ready(None) => Poll::Ready(None),
            // The run has ended, but a child still holds its end of the channel, or this task has used its
            // cooperative budget of the runtime: buffered events are returned, then the stream ends.
            Poll::Pending if this.run.is_none() => {
                Poll::Ready(this.events.try_recv().ok().map(|event| this.assign_seq(event)))
            }
            Poll::Pending => Poll::Pending,
        }
    }
}
