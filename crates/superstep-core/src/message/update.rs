//! Updates of a message list: put a message, remove a message, remove all.
//!
//! In JSON an update is one element or a list of elements. A list is always a list: `["user", "hi"]` is two
//! messages of the user and never one pair, because otherwise a text could choose the role of the text after it.

use serde::de::{Deserialize, Deserializer, Error as _};
use serde::ser::SerializeStruct;
use serde::{Serialize, Serializer};
use serde_json::Value;

use super::parse::under;
use super::{Message, MessageId};
use crate::validation_error::ValidationError;

/// The id that means all messages in a removal, as in LangGraph.
const ALL: &str = "__remove_all__";

/// One element of an update of a message list.
#[derive(Debug, Clone, PartialEq, Eq)]
#[expect(clippy::large_enum_variant, reason = "most edits are puts; a box would add an allocation to each")]
pub enum MessageUpdate {
    /// Replaces the message with the same id in place, or appends the message.
    Put(Message),
    /// Removes the message with this id.
    Remove(MessageId),
    /// Removes all messages, including those before this element in the update.
    RemoveAll,
}

/// Removes the message with this id.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RemoveMessage(pub MessageId);

impl RemoveMessage {
    /// Creates the removal of the message with this id.
    pub fn new(id: impl Into<MessageId>) -> Self {
        Self(id.into())
    }
}

/// Removes all messages.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RemoveAll;

impl From<Message> for MessageUpdate {
    fn from(message: Message) -> Self {
        Self::Put(message)
    }
}

impl From<RemoveMessage> for MessageUpdate {
    fn from(RemoveMessage(id): RemoveMessage) -> Self {
        // As in LangGraph, where this id is the only way to remove all messages.
        if id.as_str() == ALL { Self::RemoveAll } else { Self::Remove(id) }
    }
}

impl From<RemoveAll> for MessageUpdate {
    fn from(RemoveAll: RemoveAll) -> Self {
        Self::RemoveAll
    }
}

impl<'de> Deserialize<'de> for MessageUpdate {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Self::try_from(Value::deserialize(deserializer)?).map_err(D::Error::custom)
    }
}

impl Serialize for MessageUpdate {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let id = match self {
            Self::Put(message) => return message.serialize(serializer),
            Self::Remove(id) => id.as_str(),
            Self::RemoveAll => ALL,
        };
        let mut removal = serializer.serialize_struct("RemoveMessage", 2)?;
        removal.serialize_field("type", "remove")?;
        removal.serialize_field("id", id)?;
        removal.end()
    }
}

/// An update of a message list: elements, in order.
///
/// ```
/// use superstep_core::message::{Message, MessageUpdate, MessageUpdates, RemoveMessage};
///
/// let one: MessageUpdates = "hi".into();
/// assert_eq!(one, Message::user("hi").into());
/// let several: MessageUpdates = vec![RemoveMessage::new("1").into(), MessageUpdate::Put(Message::user("hi"))].into();
/// assert_eq!(several.0.len(), 2);
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
#[serde(transparent)]
pub struct MessageUpdates(pub Vec<MessageUpdate>);

impl MessageUpdates {
    /// Assigns the next id to every message without one.
    ///
    /// Ids are created once, before an update is saved or reduced, so that a replay has the same ids.
    pub fn assign_ids(&mut self, next: &mut dyn FnMut() -> MessageId) {
        for edit in &mut self.0 {
            if let MessageUpdate::Put(message) = edit
                && message.id.is_none()
            {
                message.id = Some(next());
            }
        }
    }
}

impl TryFrom<Value> for MessageUpdates {
    type Error = ValidationError;

    /// Parses one element or a list of elements.
    ///
    /// # Errors
    /// Returns an error if an element is neither a message nor a removal; the error points at the invalid part.
    fn try_from(value: Value) -> Result<Self, ValidationError> {
        let Value::Array(elements) = value else { return Ok(MessageUpdate::try_from(value)?.into()) };
        elements
            .into_iter()
            .enumerate()
            .map(|(i, element)| MessageUpdate::try_from(element).map_err(under(i)))
            .collect()
    }
}

impl<'de> Deserialize<'de> for MessageUpdates {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Self::try_from(Value::deserialize(deserializer)?).map_err(D::Error::custom)
    }
}

impl<E: Into<MessageUpdate>> FromIterator<E> for MessageUpdates {
    fn from_iter<I: IntoIterator<Item = E>>(edits: I) -> Self {
        Self(edits.into_iter().map(Into::into).collect())
    }
}

impl From<MessageUpdate> for MessageUpdates {
    fn from(edit: MessageUpdate) -> Self {
        Self(vec![edit])
    }
}

impl From<Vec<MessageUpdate>> for MessageUpdates {
    fn from(edits: Vec<MessageUpdate>) -> Self {
        Self(edits)
    }
}

impl From<Message> for MessageUpdates {
    fn from(message: Message) -> Self {
        MessageUpdate::from(message).into()
    }
}

impl From<Option<Message>> for MessageUpdates {
    fn from(message: Option<Message>) -> Self {
        message.into_iter().collect()
    }
}

impl From<Vec<Message>> for MessageUpdates {
    fn from(messages: Vec<Message>) -> Self {
        messages.into_iter().collect()
    }
}

impl<const N: usize> From<[Message; N]> for MessageUpdates {
    fn from(messages: [Message; N]) -> Self {
        messages.into_iter().collect()
    }
}

impl From<&str> for MessageUpdates {
    fn from(text: &str) -> Self {
        Message::user(text).into()
    }
}

impl From<String> for MessageUpdates {
    fn from(text: String) -> Self {
        Message::user(text).into()
    }
}

impl From<RemoveMessage> for MessageUpdates {
    fn from(removal: RemoveMessage) -> Self {
        MessageUpdate::from(removal).into()
    }
}

impl From<RemoveAll> for MessageUpdates {
    fn from(removal: RemoveAll) -> Self {
        MessageUpdate::from(removal).into()
    }
}
