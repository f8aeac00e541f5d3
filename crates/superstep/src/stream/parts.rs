//! The stream by modes: each part has the same shape whatever is asked for.

use std::collections::VecDeque;
use std::fmt;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use futures_core::Stream;
use serde::ser::SerializeMap;
use serde::{Deserialize, Serialize, Serializer};
use serde_json::{Value, json};
use superstep_core::checkpoint::Namespace;
use superstep_core::error::Result;
use superstep_core::message::Message;
use superstep_core::model::Piece;

mod modes;

use modes::Modes;

use super::{Interest, ModelCall, RunStream, StreamEvent, form};

/// What a stream shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum StreamMode {
    /// The output after each superstep that changed it; the first is the state after the input.
    Values,
    /// What each task wrote, as it ends.
    Updates,
    /// What models say, piece by piece, and messages that come whole; each once.
    Messages,
    /// What nodes say themselves.
    Custom,
    /// Tasks as they begin and end.
    Tasks,
    /// Checkpoints as they are saved.
    Checkpoints,
    /// Tasks and checkpoints, with step and time.
    Debug,
    /// Tools as they begin, go on and end.
    Tools,
    /// Everything, as events of version 2.
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

/// What has to be heard for these modes.
pub(crate) fn interest(modes: &[StreamMode], inside: bool) -> Interest {
    let has = |mode: StreamMode| modes.contains(&mode);
    let all = has(StreamMode::Events);
    let is_watched = has(StreamMode::Tasks) || has(StreamMode::Debug);
    let is_saved = has(StreamMode::Checkpoints) || has(StreamMode::Debug);
    Interest {
        graphs: all,
        starts: all || is_watched || has(StreamMode::Messages),
        ends: all || is_watched || has(StreamMode::Updates) || has(StreamMode::Messages),
        values: all || has(StreamMode::Values) || has(StreamMode::Messages),
        checkpoints: all || is_saved,
        questions: all || has(StreamMode::Values) || has(StreamMode::Updates),
        custom: all || has(StreamMode::Custom),
        calls: all || has(StreamMode::Tools),
        pieces: all || has(StreamMode::Messages),
        notes: all,
        inside: inside || all,
    }
}

/// One part of a stream by modes. Written as `{type, ns, seq, data}`.
#[derive(Clone)]
#[non_exhaustive]
pub struct StreamPart {
    /// Which mode shows it.
    pub mode: StreamMode,
    /// The path of the graph; empty for the outermost.
    pub namespace: Namespace,
    /// Rises with each part.
    pub seq: u64,
    /// What.
    pub data: PartData,
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

/// What a part shows.
#[derive(Clone)]
#[non_exhaustive]
pub enum PartData {
    /// As JSON.
    Json(Value),
    /// A piece of what a model says. Written as `[message, metadata]`, as LangGraph does.
    Piece {
        /// The piece.
        piece: Piece,
        /// The call of the model.
        call: Arc<ModelCall>,
    },
    /// A message that came whole. Written as `[message, metadata]`.
    Message {
        /// The message.
        message: Arc<Message>,
        /// The node that wrote it.
        node: Arc<str>,
        /// The superstep.
        step: i64,
    },
    /// An event of version 2.
    Event(Box<StreamEvent>),
}

impl PartData {
    /// The text of a piece or a message.
    #[must_use]
    pub fn text(&self) -> Option<std::borrow::Cow<'_, str>> {
        match self {
            Self::Piece { piece: Piece::Text(text), .. } => Some(text.as_str().into()),
            Self::Message { message, .. } => Some(message.text()),
            _ => None,
        }
    }

    /// What it shows, as JSON.
    #[must_use]
    pub fn to_json(&self) -> Value {
        serde_json::to_value(self).unwrap_or_else(|error| json!({"__error__": error.to_string()}))
    }
}

impl Serialize for PartData {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let place = |node: &str, step: i64| json!({"langgraph_node": node, "langgraph_step": step});
        match self {
            Self::Json(value) => value.serialize(serializer),
            Self::Event(event) => event.serialize(serializer),
            Self::Piece { piece, call } => {
                let mut metadata = place(&call.node, call.step);
                metadata["model"] = json!(call.model);
                (form::langchain_chunk(piece, call.message.as_str()), metadata).serialize(serializer)
            }
            Self::Message { message, node, step } => (message.to_langchain(), place(node, *step)).serialize(serializer),
        }
    }
}

/// A run that is watched by modes. Ends when the run has ended.
#[must_use = "a stream drives its run only while it is polled"]
pub struct PartStream<T> {
    run: RunStream<T>,
    modes: Modes,
    waiting: VecDeque<StreamPart>,
}

impl<T: Unpin> PartStream<T> {
    pub(crate) fn new(run: RunStream<T>, modes: &[StreamMode], inside: bool) -> Self {
        Self { run, modes: Modes::new(modes, inside), waiting: VecDeque::new() }
    }

    /// The next part, or `None` when the run has ended.
    ///
    /// # Cancel safety
    /// Dropping the future loses no part; the next call returns it.
    pub async fn next(&mut self) -> Option<StreamPart> {
        std::future::poll_fn(|context| Pin::new(&mut *self).poll_next(context)).await
    }

    /// The result of the run, after the parts that are left.
    ///
    /// # Errors
    /// What the run failed with.
    pub async fn finish(self) -> Result<T> {
        self.run.finish().await
    }
}

impl<T: Unpin> Stream for PartStream<T> {
    type Item = StreamPart;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<StreamPart>> {
        let this = &mut *self;
        loop {
            if let Some(part) = this.waiting.pop_front() {
                return Poll::Ready(Some(part));
            }
            match Pin::new(&mut this.run).poll_next(context) {
                Poll::Ready(Some(event)) => this.modes.show(event, &mut this.waiting),
                Poll::Ready(None) => return Poll::Ready(None),
                Poll::Pending => return Poll::Pending,
            }
        }
    }
}
