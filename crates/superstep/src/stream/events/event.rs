//! One event of version 2, and how it is written.

use std::sync::Arc;

use serde::ser::SerializeMap;
use serde::{Serialize, Serializer};
use serde_json::{Value, json};
use superstep_core::id::RunId;
use superstep_core::message::MessageId;
use superstep_core::model::Piece;

use super::EventForm;
use super::place::EventMetadata;
use crate::stream::form;

/// One event of version 2.
#[derive(Clone)]
#[non_exhaustive]
pub struct StreamEvent {
    /// Which, such as `on_chain_start`.
    pub event: &'static str,
    /// What it is of: the name of a graph, a node, a model, a tool, or of a node's own event.
    pub name: Arc<str>,
    /// Names what it is of; the start, the pieces and the end of one thing have it in common.
    pub run_id: RunId,
    /// Where and when.
    pub metadata: EventMetadata,
    /// What.
    pub data: EventData,
}

impl StreamEvent {
    /// The ids of all that it happened inside of, the outermost first.
    #[must_use]
    pub fn parent_ids(&self) -> &[String] {
        &self.metadata.place.parents
    }

    /// Labels, of the run and of the node.
    #[must_use]
    pub fn tags(&self) -> &[String] {
        &self.metadata.place.tags
    }

    /// Whether it is a preview: something that is not saved, and that a later event holds whole.
    #[must_use]
    pub fn is_preview(&self) -> bool {
        matches!(self.data, EventData::Piece { .. }) || (self.event == "on_custom_event" && &*self.name == PROGRESS)
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

/// What an event says.
#[derive(Clone)]
#[non_exhaustive]
pub enum EventData {
    /// As JSON.
    Json(Value),
    /// A piece of an answer, as text.
    Piece {
        /// The piece.
        piece: Piece,
        /// The message it is of.
        message: MessageId,
        /// Which one, from 0.
        index: u64,
        /// In which words it is told.
        form: EventForm,
    },
}

impl EventData {
    /// The text of a piece of an answer.
    #[must_use]
    pub fn text(&self) -> Option<&str> {
        match self {
            Self::Piece { piece: Piece::Text(text), .. } => Some(text),
            _ => None,
        }
    }
}

impl Serialize for EventData {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let (piece, message, index) = match self {
            Self::Json(value) => return value.serialize(serializer),
            Self::Piece { piece, message, form: EventForm::LangChain, .. } => {
                return json!({"chunk": form::langchain_chunk(piece, message.as_str())}).serialize(serializer);
            }
            Self::Piece { piece, message, index, .. } => (piece, message, index),
        };
        let mut map = serializer.serialize_map(None)?;
        match piece {
            Piece::Text(text) => map.serialize_entry("chunk", text)?,
            Piece::Reasoning(text) => {
                map.serialize_entry("chunk", "")?;
                map.serialize_entry("reasoning", text)?;
            }
            Piece::ToolCall(call) => {
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

/// The name of the event by which a tool says how far it is.
pub(super) const PROGRESS: &str = "on_tool_progress";
