//! What an update of a message list may say: put this message, remove that one, remove all.
//!
//! In JSON an update is one element or a list of them. A list is always a list: `["user", "hi"]` is two messages of the
//! user and never one pair, because otherwise a text could choose the role of the text after it.

use serde::de::{Deserialize, Deserializer, Error as _};
use serde::ser::SerializeStruct;
use serde::{Serialize, Serializer};
use serde_json::Value;

use super::read::under;
use super::{Message, MessageId};
use crate::fault::Fault;

/// The id that means all messages in a removal, as LangGraph writes it.
const ALL: &str = "__remove_all__";

/// One element of an update of a message list.
#[derive(Debug, Clone, PartialEq, Eq)]
#[expect(clippy::large_enum_variant, reason = "nearly every edit is a put; a box would cost each of them")]
pub enum MessageEdit {
    /// Replaces the message of the same id in its place, or appends.
    Put(Message),
    /// Removes the message of that id.
    Remove(MessageId),
    /// Removes all messages, those that come before it in the update included.
    RemoveAll,
}

/// Removes the message of that id.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RemoveMessage(pub MessageId);

impl RemoveMessage {
    /// Removes the message of that id.
    pub fn new(id: impl Into<MessageId>) -> Self {
        Self(id.into())
    }
}

/// Removes all messages.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RemoveAll;

impl From<Message> for MessageEdit {
    fn from(message: Message) -> Self {
        Self::Put(message)
    }
}

impl From<RemoveMessage> for MessageEdit {
    fn from(RemoveMessage(id): RemoveMessage) -> Self {
        // As in LangGraph, where it is the only way to say so.
        if id.as_str() == ALL { Self::RemoveAll } else { Self::Remove(id) }
    }
}

impl From<RemoveAll> for MessageEdit {
    fn from(RemoveAll: RemoveAll) -> Self {
        Self::RemoveAll
    }
}

impl<'de> Deserialize<'de> for MessageEdit {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Self::try_from(Value::deserialize(deserializer)?).map_err(D::Error::custom)
    }
}

impl Serialize for MessageEdit {
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

/// An update of a message list: edits, in order.
///
/// ```
/// use superstep_core::message::{Message, MessageEdit, MessageEdits, RemoveMessage};
///
/// let one: MessageEdits = "hi".into();
/// assert_eq!(one, Message::user("hi").into());
/// let several: MessageEdits = vec![RemoveMessage::new("1").into(), MessageEdit::Put(Message::user("hi"))].into();
/// assert_eq!(several.0.len(), 2);
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
#[serde(transparent)]
pub struct MessageEdits(pub Vec<MessageEdit>);

impl MessageEdits {
    /// Gives every message that has no id the next one.
    ///
    /// Ids are made once, before an update is saved or folded, so that a replay finds the same ones.
    pub fn stamp(&mut self, next: &mut dyn FnMut() -> MessageId) {
        for edit in &mut self.0 {
            if let MessageEdit::Put(message) = edit
                && message.id.is_none()
            {
                message.id = Some(next());
            }
        }
    }
}

impl TryFrom<Value> for MessageEdits {
    type Error = Fault;

    /// Reads one element or a list of them.
    ///
    /// # Errors
    /// Fails if an element is neither a message nor a removal; the fault points at the part that is wrong.
    fn try_from(value: Value) -> Result<Self, Fault> {
        let Value::Array(elements) = value else { return Ok(MessageEdit::try_from(value)?.into()) };
        elements.into_iter().enumerate().map(|(i, element)| MessageEdit::try_from(element).map_err(under(i))).collect()
    }
}

impl<'de> Deserialize<'de> for MessageEdits {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Self::try_from(Value::deserialize(deserializer)?).map_err(D::Error::custom)
    }
}

impl<E: Into<MessageEdit>> FromIterator<E> for MessageEdits {
    fn from_iter<I: IntoIterator<Item = E>>(edits: I) -> Self {
        Self(edits.into_iter().map(Into::into).collect())
    }
}

impl From<MessageEdit> for MessageEdits {
    fn from(edit: MessageEdit) -> Self {
        Self(vec![edit])
    }
}

impl From<Vec<MessageEdit>> for MessageEdits {
    fn from(edits: Vec<MessageEdit>) -> Self {
        Self(edits)
    }
}

impl From<Message> for MessageEdits {
    fn from(message: Message) -> Self {
        MessageEdit::from(message).into()
    }
}

impl From<Option<Message>> for MessageEdits {
    fn from(message: Option<Message>) -> Self {
        message.into_iter().collect()
    }
}

impl From<Vec<Message>> for MessageEdits {
    fn from(messages: Vec<Message>) -> Self {
        messages.into_iter().collect()
    }
}

impl<const N: usize> From<[Message; N]> for MessageEdits {
    fn from(messages: [Message; N]) -> Self {
        messages.into_iter().collect()
    }
}

impl From<&str> for MessageEdits {
    fn from(text: &str) -> Self {
        Message::user(text).into()
    }
}

impl From<String> for MessageEdits {
    fn from(text: String) -> Self {
        Message::user(text).into()
    }
}

impl From<RemoveMessage> for MessageEdits {
    fn from(removal: RemoveMessage) -> Self {
        MessageEdit::from(removal).into()
    }
}

impl From<RemoveAll> for MessageEdits {
    fn from(removal: RemoveAll) -> Self {
        MessageEdit::from(removal).into()
    }
}
