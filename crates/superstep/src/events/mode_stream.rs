//! Stream by modes: every part has the same structure in all modes.

use std::collections::VecDeque;
use std::fmt;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use futures_core::Stream;
use serde::ser::SerializeMap;
use serde::{Deserialize, Serialize, Serializer};
use serde_json::{Value, json};
use superstep_core::checkpoint::CheckpointNamespace;
use superstep_core::error::Result;
use superstep_core::message::Message;
use superstep_core::model::MessageChunk;

use crate::events::mode_projection::ModeProjection;

use crate::events::event::{EventFilter, ModelCallInfo, RunStream, StreamEvent};
use crate::events::json;

/// Mode of a stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum StreamMode {
    /// The output after each superstep that changed it; first, the state after the input.
    Values,
    /// The writes of each task, when the task ends.
    Updates,
    /// Chunks of model responses, and complete messages of nodes; each message once.
    Messages,
    /// Custom events of nodes.
    Custom,
    /// Start and end of tasks.
    Tasks,
    /// Checkpoints, when they are saved.
    Checkpoints,
    /// Tasks and checkpoints, with step and time.
    Debug,
    /// Start, progress and end of tool calls.
    Tools,
    /// All events, in protocol version 2.
    Events,
}

impl StreamMode {
    const fn name(self) -> &'static str {
        match self {
            Self::Values => "values",
            Self::Updates => "updates",
            Self::Messages => "messages",
            Self::Custom => "custom",
            Self::Tasks => "tasks",
            Self::Checkpoints => "checkpoints",
            Self::Debug => "debug",
            Self::Tools => "tools",
            Self::Events => "events",
        }
    }
}

impl fmt::Display for StreamMode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// Returns the event filter for these modes.
pub(crate) fn filter_for_modes(modes: &[StreamMode], streams_subgraphs: bool) -> EventFilter {
    let has = |mode: StreamMode| modes.contains(&mode);
    let all = has(StreamMode::Events);
    let has_tasks = has(StreamMode::Tasks) || has(StreamMode::Debug);
    let has_checkpoints = has(StreamMode::Checkpoints) || has(StreamMode::Debug);
    EventFilter {
        graphs: all,
        task_starts: all || has_tasks || has(StreamMode::Messages),
        task_ends: all || has_tasks || has(StreamMode::Updates) || has(StreamMode::Messages),
        values: all || has(StreamMode::Values) || has(StreamMode::Messages),
        checkpoints: all || has_checkpoints,
        interrupts: all || has(StreamMode::Values) || has(StreamMode::Updates),
        custom: all || has(StreamMode::Custom),
        model_and_tool_calls: all || has(StreamMode::Tools),
        chunks: all || has(StreamMode::Messages),
        warnings: all,
        subgraphs: streams_subgraphs || all,
    }
}

/// A part of a stream by modes. Serialized as `{type, ns, seq, data}`.
#[derive(Clone)]
#[non_exhaustive]
pub struct StreamPart {
    /// Mode of the part.
    pub mode: StreamMode,
    /// Namespace of the graph; empty for the root graph.
    pub namespace: CheckpointNamespace,
    /// Position in the stream, ascending.
    pub seq: u64,
    /// Payload of the part.
    pub data: StreamPartData,
}

impl Serialize for StreamPart {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let segments: Vec<&str> = self.namespace.as_str().split('|').filter(|segment| !segment.is_empty()).collect();
        let mut map = serializer.serialize_map(Some(4))?;
        map.serialize_entry("type", &self.mode)?;
        map.serialize_entry("ns", &segments)?;
        map.serialize_entry("seq", &self.seq)?;
        map.serialize_entry("data", &self.data)?;
        map.end()
    }
}

impl fmt::Debug for StreamPart {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&serde_json::to_string(self).map_err(|_| fmt::Error)?)
    }
}

/// Payload of a part.
#[derive(Clone)]
#[non_exhaustive]
pub enum StreamPartData {
    /// A JSON value.
    Json(Value),
    /// A chunk of a model response. Serialized as `[message, metadata]`, as in LangGraph.
    Chunk {
        /// Part of the response.
        chunk: MessageChunk,
        /// Model call that produced the chunk.
        call: Arc<ModelCallInfo>,
    },
    /// A complete message. Serialized as `[message, metadata]`.
    Message {
        /// Message that a node wrote.
        message: Arc<Message>,
        /// Name of the node that wrote the message.
        node: Arc<str>,
        /// Number of the superstep.
        step: i64,
    },
    /// An event of protocol version 2.
    Event(Box<StreamEvent>),
}

impl StreamPartData {
    /// Returns the text of a chunk or a message.
    #[must_use]
    pub fn text(&self) -> Option<std::borrow::Cow<'_, str>> {
        match self {
            Self::Chunk { chunk: MessageChunk::Text(text), .. } => Some(text.as_str().into()),
            Self::Message { message, .. } => Some(message.text()),
            _ => None,
        }
    }

    /// Returns the payload as JSON.
    #[must_use]
    pub fn to_json(&self) -> Value {
        serde_json::to_value(self).unwrap_or_else(|error| json!({"__error__": error.to_string()}))
    }
}

impl Serialize for StreamPartData {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let task_metadata = |node: &str, step: i64| json!({"langgraph_node": node, "langgraph_step": step});
        match self {
            Self::Json(value) => value.serialize(serializer),
            Self::Event(event) => event.serialize(serializer),
            Self::Chunk { chunk, call } => {
                let mut metadata = task_metadata(&call.node, call.step);
                metadata["model"] = json!(call.model);
                (json::langchain_chunk(chunk, call.message.as_str()), metadata).serialize(serializer)
            }
            Self::Message { message, node, step } => {
                (message.to_langchain(), task_metadata(node, *step)).serialize(serializer)
            }
        }
    }
}

/// Run as a stream by modes. Ends when the run has ended.
#[must_use = "a run makes progress only while its stream is polled"]
pub struct ModeStream<T> {
    run: RunStream<T>,
    modes: ModeProjection,
    waiting: VecDeque<StreamPart>,
}

impl<T: Unpin> ModeStream<T> {
    pub(crate) fn new(run: RunStream<T>, modes: &[StreamMode], streams_subgraphs: bool) -> Self {
        Self { run, modes: ModeProjection::new(modes, streams_subgraphs), waiting: VecDeque::new() }
    }

    /// Returns the next part, or `None` if the run has ended.
    ///
    /// # Cancel safety
    /// Dropping the future loses no part; the next call returns it.
    pub async fn next(&mut self) -> Option<StreamPart> {
        std::future::poll_fn(|context| Pin::new(&mut *self).poll_next(context)).await
    }

    /// Returns the outcome of the run, after consuming the remaining parts.
    ///
    /// # Errors
    /// Returns an error if the run fails.
    pub async fn finish(self) -> Result<T> {
        self.run.finish().await
    }
}

impl<T: Unpin> Stream for ModeStream<T> {
    type Item = StreamPart;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<StreamPart>> {
        let this = &mut *self;
        loop {
            if let Some(part) = this.waiting.pop_front() {
                return Poll::Ready(Some(part));
            }
            match Pin::new(&mut this.run).poll_next(context) {
                Poll::Ready(Some(event)) => this.modes.project(event, &mut this.waiting),
                Poll::Ready(None) => return Poll::Ready(None),
                Poll::Pending => return Poll::Pending,
            }
        }
    }
}
