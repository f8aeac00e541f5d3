//! Event of protocol version 2, and its serialization.

use std::sync::Arc;

use serde::ser::SerializeMap;
use serde::{Serialize, Serializer};
use serde_json::{Value, json};
use superstep_core::id::RunId;
use superstep_core::message::MessageId;
use superstep_core::model::MessageChunk;

use crate::events::event_stream::EventFormat;
use crate::events::json;
use crate::events::scope::EventMetadata;

/// A LangChain `astream_events` v2 event, such as `on_chain_start`.
#[derive(Clone)]
#[non_exhaustive]
pub struct StreamEvent {
    /// Type of the event.
    pub event: &'static str,
    /// Name of the graph, node, model or tool that the event is about, or of a custom event.
    pub name: Arc<str>,
    /// Id of the graph run, task or call; start, chunks and end have the same id.
    pub run_id: RunId,
    /// Scope and time of the event.
    pub metadata: EventMetadata,
    /// Payload of the event.
    pub data: EventData,
}

impl StreamEvent {
    /// Returns the ids of all enclosing graph runs and tasks, the outermost first.
    #[must_use]
    pub fn parent_ids(&self) -> &[String] {
        &self.metadata.scope.parents
    }

    /// Returns the tags of the run and of the node.
    #[must_use]
    pub fn tags(&self) -> &[String] {
        &self.metadata.scope.tags
    }

    /// Returns true for a preview: an event that is not journaled, and whose content is part of a later event.
    #[must_use]
    pub fn is_preview(&self) -> bool {
        matches!(self.data, EventData::Chunk { .. }) || (self.event == "on_custom_event" && &*self.name == PROGRESS)
    }
}

impl Serialize for StreamEvent {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(7))?;
        map.serialize_entry("event", self.event)?;
        map.serialize_entry("name", &*self.name)?;
        map.serialize_entry("run_id", &self.run_id)?;
        map.serialize_entry("parent_ids", self.parent_ids())?;
        map.serialize_entry("tags", self.tags())?;
        map.serialize_entry("metadata", &self.metadata)?;
        map.serialize_entry("data", &self.data)?;
        map.end()
    }
}

/// Payload of an event.
#[derive(Clone)]
#[non_exhaustive]
pub enum EventData {
    /// A JSON value.
    Json(Value),
    /// A chunk of a response.
    Chunk {
        /// Part of the response.
        chunk: MessageChunk,
        /// Id of the message.
        message: MessageId,
        /// Index of the chunk, starting at 0.
        index: u64,
        /// Format of the event.
        format: EventFormat,
    },
}

impl EventData {
    /// Returns the text of a chunk.
    #[must_use]
    pub fn text(&self) -> Option<&str> {
        match self {
            Self::Chunk { chunk: MessageChunk::Text(text), .. } => Some(text),
            _ => None,
        }
    }
}

impl Serialize for EventData {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let (chunk, message, index) = match self {
            Self::Json(value) => return value.serialize(serializer),
            Self::Chunk { chunk, message, format: EventFormat::LangChain, .. } => {
                return json!({"chunk": json::langchain_chunk(chunk, message.as_str())}).serialize(serializer);
            }
            Self::Chunk { chunk, message, index, .. } => (chunk, message, index),
        };
        let mut map = serializer.serialize_map(None)?;
        match chunk {
            MessageChunk::Text(text) => map.serialize_entry("chunk", text)?,
            MessageChunk::Reasoning(text) => {
                map.serialize_entry("chunk", "")?;
                map.serialize_entry("reasoning", text)?;
            }
            MessageChunk::ToolCall(call) => {
                map.serialize_entry("chunk", "")?;
                map.serialize_entry("tool_call", call)?;
            }
            _ => {}
        }
        map.serialize_entry("message_id", message)?;
        map.serialize_entry("index", index)?;
        map.end()
    }
}

/// Name of the progress event of a tool.
pub(crate) const PROGRESS: &str = "on_tool_progress";
