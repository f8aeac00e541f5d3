//! Message of a conversation, in the form that clients see.
//!
//! The thread stores messages as [`superstep::Message`] with the time in the metadata; [`Message`] is their external
//! form.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use superstep::Message as ChatMessage;
use superstep::core::message::Role;
use superstep::core::time::Time;

/// Metadata key of the time of a message.
const TIMESTAMP: &str = "timestamp";

/// A message of a conversation.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Message {
    /// Role of the author.
    pub role: MessageRole,
    /// Text of the message.
    pub content: String,
    /// Time of the message.
    #[schemars(with = "String")]
    pub timestamp: Time,
}

/// Role of the author of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum MessageRole {
    /// A member of the family.
    User,
    /// The scheduler.
    Assistant,
    /// The system.
    System,
}

impl Message {
    /// Creates a message.
    #[must_use]
    pub fn new(role: MessageRole, content: &str, timestamp: Time) -> Self {
        Self { role, content: content.to_owned(), timestamp }
    }

    /// Converts the message to the form that the thread stores.
    #[must_use]
    pub fn to_chat_message(&self) -> ChatMessage {
        let role = match self.role {
            MessageRole::User => Role::User,
            MessageRole::Assistant => Role::Assistant,
            MessageRole::System => Role::System,
        };
        ChatMessage::new(role, self.content.as_str()).with_metadata(TIMESTAMP, json!(self.timestamp))
    }

    /// Converts a stored message; `None` for messages without a time and for messages of tools.
    #[must_use]
    pub fn from_chat_message(message: &ChatMessage) -> Option<Self> {
        let role = match message.role {
            Role::User => MessageRole::User,
            Role::Assistant => MessageRole::Assistant,
            Role::System => MessageRole::System,
            _ => return None,
        };
        let timestamp = message.metadata.get(TIMESTAMP).and_then(Value::as_str)?;
        Some(Self { role, content: message.text().into_owned(), timestamp: Time::parse(timestamp).ok()? })
    }
}
