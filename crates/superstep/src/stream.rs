//! Watching a run: one bounded stream of events, made only when somebody listens.
//!
//! The stream *is* the run: polling it drives the run, dropping it stops the run at its next await point.
//! A reader that is behind holds the run back; nothing is skipped and nothing piles up.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use futures_core::Stream;
use serde_json::Value;
use superstep_core::checkpoint::Namespace;
use superstep_core::error::{Error, Result};
use superstep_core::machine::Event;
use superstep_core::port::{BoxFuture, StateRef};
use tokio::sync::mpsc;

mod said;

pub use said::{ModelCall, ModelEvent, ToolEvent, ToolRun};

use crate::conclude::output_of;
use crate::context::{Cx, Shared};
use crate::output::NodeError;

/// How many events wait for a reader before the run does.
const BUFFER: usize = 64;

/// One thing a run says, with the path of the graph it happened in.
#[derive(Clone)]
pub struct RunEvent {
    /// The path of the graph; empty for the outermost.
    pub namespace: Namespace,
    /// What.
    pub kind: EventKind,
}

/// What a run says.
#[derive(Clone)]
#[non_exhaustive]
pub enum EventKind {
    /// Something the machine says: tasks, values, checkpoints, interrupts, warnings.
    Machine(Event),
    /// Something a node says.
    Custom {
        /// The node.
        node: Arc<str>,
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
        /// The attempt that failed, from 1.
        attempt: u32,
        /// The wait before the next.
        wait: Duration,
        /// Why it failed.
        error: Error,
    },
}

/// Where events go.
#[derive(Clone)]
pub(crate) struct Sink(mpsc::Sender<RunEvent>);

impl Sink {
    pub(crate) fn open() -> (Self, mpsc::Receiver<RunEvent>) {
        let (sender, receiver) = mpsc::channel(BUFFER);
        (Self(sender), receiver)
    }

    pub(crate) async fn publish(&self, shared: &Shared, events: Vec<Event>) {
        for event in events {
            self.send(&shared.namespace, EventKind::Machine(visible(shared, event))).await;
        }
    }

    pub(crate) async fn custom(&self, cx: &Cx, value: Value) {
        self.send(cx.namespace(), EventKind::Custom { node: cx.node().into(), value }).await;
    }

    pub(crate) async fn retry(&self, cx: &Cx, attempt: u32, wait: Duration, error: &NodeError) {
        let error = error.error().clone();
        self.send(cx.namespace(), EventKind::Retry { node: cx.node().into(), attempt, wait, error }).await;
    }

    pub(crate) async fn tool(&self, cx: &Cx, call: &Arc<ToolRun>, what: ToolEvent) {
        self.send(cx.namespace(), EventKind::Tool { call: call.clone(), what }).await;
    }

    async fn send(&self, namespace: &Namespace, kind: EventKind) {
        // A reader that has gone does not stop the run here: whoever holds the run decides that.
        let _ = self.0.send(RunEvent { namespace: namespace.clone(), kind }).await;
    }
}

/// The event as readers see it: values have only fields of the output schema.
fn visible(shared: &Shared, event: Event) -> Event {
    match event {
        Event::Values { step, state } if shared.program.hides_fields => {
            let schema = state.schema;
            let state = output_of(&shared.program.topology, &state.state);
            Event::Values { step, state: StateRef { schema, state } }
        }
        event => event,
    }
}

/// A run that is watched. Ends after the run's last event.
#[must_use = "a stream drives its run only while it is polled"]
pub struct RunStream<T> {
    run: Option<BoxFuture<'static, Result<T>>>,
    events: mpsc::Receiver<RunEvent>,
    result: Option<Result<T>>,
}

impl<T> RunStream<T> {
    pub(crate) fn new(run: BoxFuture<'static, Result<T>>, events: mpsc::Receiver<RunEvent>) -> Self {
        Self { run: Some(run), events, result: None }
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
}

impl<T: Unpin> Stream for RunStream<T> {
    type Item = RunEvent;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<RunEvent>> {
        let this = &mut *self;
        if let Poll::Ready(Some(event)) = this.events.poll_recv(context) {
            return Poll::Ready(Some(event));
        }
        if let Some(run) = &mut this.run
            && let Poll::Ready(result) = run.as_mut().poll(context)
        {
            this.result = Some(result);
            this.run = None;
        }
        match this.events.poll_recv(context) {
            Poll::Ready(Some(event)) => Poll::Ready(Some(event)),
            Poll::Ready(None) => Poll::Ready(None),
            // The run is over but a child still holds its end of the channel: nothing more will come.
            Poll::Pending if this.run.is_none() => Poll::Ready(None),
            Poll::Pending => Poll::Pending,
        }
    }
}
