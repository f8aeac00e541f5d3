//! Watching a run: one bounded stream of events, made only when somebody listens.
//!
//! The stream *is* the run: polling it drives the run, dropping it stops the run at its next await point.
//! A reader that is behind holds the run back; nothing is skipped and nothing piles up. `parts` gives events by mode,
//! `events` in the form of `stream_events`; both are views of the one stream here.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use futures_core::Stream;
use serde_json::Value;
use superstep_core::checkpoint::Namespace;
use superstep_core::error::{Error, Result};
use superstep_core::id::TaskId;
use superstep_core::machine::Event;
use superstep_core::port::BoxFuture;
use tokio::sync::mpsc;

mod events;
pub(crate) mod form;
mod graph_run;
mod heard;
mod kept;
mod parts;
mod said;
mod sink;

pub use events::{EventData, EventForm, EventMetadata, EventStream, StreamEvent};
pub use graph_run::{GraphEnd, GraphRun};
pub(crate) use graph_run::{HIDDEN, NO_STREAM};
pub(crate) use heard::Interest;
#[doc(hidden)]
pub use kept::after_a_crash;
pub(crate) use kept::{Batch, Keeper, Stamp};
pub(crate) use parts::interest;
pub use parts::{PartData, PartStream, StreamMode, StreamPart};
pub use said::{ModelCall, ModelEvent, ToolEvent, ToolRun};
pub(crate) use sink::Sink;

/// How many events wait for a reader before the run does.
const BUFFER: usize = 64;

/// One thing a run says, with the graph it happened in.
#[derive(Clone)]
#[non_exhaustive]
pub struct RunEvent {
    /// Its place among the events of the run, as this reader gets them: each is higher than the one before.
    pub seq: u64,
    /// Its number on the thread, of a run that keeps its events; of the first, where it is told as several. 0 otherwise.
    /// Events of parallel tasks may come in a slightly different order than that of their numbers.
    pub number: u64,
    /// When, in microseconds since 1970, by the run's clock.
    pub time: i64,
    /// The graph, with its place in the run.
    pub graph: Arc<GraphRun>,
    /// What.
    pub kind: EventKind,
}

impl RunEvent {
    /// The path of the graph; empty for the outermost.
    #[must_use]
    pub fn namespace(&self) -> &Namespace {
        &self.graph.namespace
    }
}

/// What a run says.
#[derive(Clone)]
#[non_exhaustive]
pub enum EventKind {
    /// A graph begins: the outermost, or one inside.
    Started {
        /// What it begins with, as JSON; null when it goes on.
        input: Value,
    },
    /// A graph is over. The last event of each.
    Ended {
        /// How.
        end: GraphEnd,
        /// What it gives, as JSON; null when it failed.
        output: Value,
    },
    /// Something the machine says: tasks, values, checkpoints, interrupts, warnings.
    Machine(Event),
    /// Something a node says.
    Custom {
        /// The node.
        node: Arc<str>,
        /// The task.
        task: TaskId,
        /// What it calls it, where it has a name for it.
        name: Option<Arc<str>>,
        /// What it said.
        value: Value,
    },
    /// Something about a call of a model.
    Model {
        /// The call.
        call: Arc<ModelCall>,
        /// What.
        what: ModelEvent,
    },
    /// Something about a call of a tool.
    Tool {
        /// The call.
        call: Arc<ToolRun>,
        /// What.
        what: ToolEvent,
    },
    /// A failed node is tried again.
    Retry {
        /// The node.
        node: Arc<str>,
        /// The task.
        task: TaskId,
        /// The attempt that failed, from 1.
        attempt: u32,
        /// The wait before the next.
        wait: Duration,
        /// Why it failed.
        error: Error,
    },
}

/// A run that is watched. Ends after the run's last event.
#[must_use = "a stream drives its run only while it is polled"]
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

    /// The next event, or `None` when the run has ended.
    ///
    /// # Cancel safety
    /// Dropping the future loses no event; the next call returns it.
    pub async fn next(&mut self) -> Option<RunEvent>
    where
        T: Unpin,
    {
        std::future::poll_fn(|context| Pin::new(&mut *self).poll_next(context)).await
    }

    /// The result of the run, after the events that are left.
    ///
    /// # Errors
    /// What the run failed with.
    pub async fn finish(mut self) -> Result<T>
    where
        T: Unpin,
    {
        while self.next().await.is_some() {}
        self.result.unwrap_or_else(|| Err(Error::internal("a stream ended without a result")))
    }

    fn numbered(&mut self, mut event: RunEvent) -> RunEvent {
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
            return Poll::Ready(Some(this.numbered(event)));
        }
        if let Some(run) = &mut this.run
            && let Poll::Ready(result) = run.as_mut().poll(context)
        {
            this.result = Some(result);
            this.run = None;
        }
        match this.events.poll_recv(context) {
            Poll::Ready(Some(event)) => Poll::Ready(Some(this.numbered(event))),
            Poll::Ready(None) => Poll::Ready(None),
            // The run is over, but a child still holds its end of the channel, or this task has had its share of the
            // runtime: what is there still comes, and nothing more.
            Poll::Pending if this.run.is_none() => {
                Poll::Ready(this.events.try_recv().ok().map(|event| this.numbered(event)))
            }
            Poll::Pending => Poll::Pending,
        }
    }
}
