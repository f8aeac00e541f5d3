//! The stream of events, version 2: `{event, name, run_id, parent_ids, tags, metadata, data}`.

use std::collections::VecDeque;
use std::pin::Pin;
use std::task::{Context, Poll};

use futures_core::Stream;
use superstep_core::error::Result;

mod event;
mod place;
mod project;

pub use event::{EventData, StreamEvent};
pub use place::EventMetadata;
pub(super) use project::Projection;

use super::RunStream;

/// In which words events are told.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum EventForm {
    /// Ours: a piece of an answer is a text.
    #[default]
    Superstep,
    /// LangChain's: a piece of an answer is a message, and places have the names that LangGraph gives them. Events that
    /// LangChain does not know are left out.
    LangChain,
}

/// A run that is watched as events. Ends after the run's end was told.
#[must_use = "a stream drives its run only while it is polled"]
pub struct EventStream<T> {
    run: RunStream<T>,
    projection: Projection,
    waiting: VecDeque<StreamEvent>,
}

impl<T: Unpin> EventStream<T> {
    pub(crate) fn new(run: RunStream<T>) -> Self {
        Self { run, projection: Projection::new(EventForm::Superstep), waiting: VecDeque::new() }
    }

    /// Tells events in other words.
    pub fn form(mut self, form: EventForm) -> Self {
        self.projection = Projection::new(form);
        self
    }

    /// Tells events as [`crate::Run::keep_events`] stores them: what a node or a model begins with is not repeated, its
    /// `checkpoint_id` names it.
    pub fn as_kept(mut self) -> Self {
        self.projection = Projection::stored(0);
        self
    }

    /// The next event, or `None` when the run has ended.
    ///
    /// # Cancel safety
    /// Dropping the future loses no event; the next call returns it.
    pub async fn next(&mut self) -> Option<StreamEvent> {
        std::future::poll_fn(|context| Pin::new(&mut *self).poll_next(context)).await
    }

    /// The result of the run, after the events that are left.
    ///
    /// # Errors
    /// What the run failed with.
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
