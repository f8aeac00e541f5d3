//! Event stream in protocol version 2: `{event, name, run_id, parent_ids, tags, metadata, data}`.

use std::collections::VecDeque;
use std::pin::Pin;
use std::task::{Context, Poll};

use futures_core::Stream;
use superstep_core::error::Result;

pub(crate) use crate::events::projection::Projection;
pub use crate::events::scope::EventMetadata;
pub use crate::events::stream_event::{EventData, StreamEvent};

use crate::events::event::RunStream;

/// Format of events.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum EventFormat {
    /// Superstep format: a chunk of a response is a text.
    #[default]
    Superstep,
    /// LangChain format: a chunk of a response is a message, and metadata has the keys of LangGraph. Events that
    /// LangChain does not have are omitted.
    LangChain,
}

/// Run as a stream of protocol events. Ends after the end event of the run.
#[must_use = "a run makes progress only while its stream is polled"]
pub struct EventStream<T> {
    run: RunStream<T>,
    projection: Projection,
    waiting: VecDeque<StreamEvent>,
}

impl<T: Unpin> EventStream<T> {
    pub(crate) fn new(run: RunStream<T>) -> Self {
        Self { run, projection: Projection::new(EventFormat::Superstep), waiting: VecDeque::new() }
    }

    /// Sets the format of events.
    pub fn format(mut self, format: EventFormat) -> Self {
        self.projection = Projection::new(format);
        self
    }

    /// Returns events as [`crate::RunBuilder::journal_events`] stores them: the input of a node or a model is omitted,
    /// its `checkpoint_id` identifies it.
    pub fn as_journaled(mut self) -> Self {
        self.projection = Projection::stored(0);
        self
    }

    /// Returns the next event, or `None` if the run has ended.
    ///
    /// # Cancel safety
    /// Dropping the future loses no event; the next call returns it.
    pub async fn next(&mut self) -> Option<StreamEvent> {
        std::future::poll_fn(|context| Pin::new(&mut *self).poll_next(context)).await
    }

    /// Returns the outcome of the run, after consuming the remaining events.
    ///
    /// # Errors
    /// Returns an error if the run fails.
    pub async fn finish(self) -> Result<T> {
        self.run.finish().await
    }
}

impl<T: Unpin> Stream for EventStream<T> {
    type Item = StreamEvent;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<StreamEvent>> {
        let this = &mut *self;
        loop {
            if let Some(event) = this.waiting.pop_front() {
                return Poll::Ready(Some(event));
            }
            match Pin::new(&mut this.run).poll_next(context) {
                Poll::Ready(Some(event)) => this.projection.project(&event, &mut this.waiting),
                Poll::Ready(None) => return Poll::Ready(None),
                Poll::Pending => return Poll::Pending,
            }
        }
    }
}
