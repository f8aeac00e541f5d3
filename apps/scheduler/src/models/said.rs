//! Something that was said.
//!
//! A thread keeps it as a message of the house, whose metadata has the time; this is how it is written for others.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use superstep::Message;
use superstep::core::message::Role as MessageRole;
use superstep::core::time::Time;

/// The key of a message's metadata with the time.
const TIMESTAMP: &str = "timestamp";

/// Something that was said.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Said {
    /// Who said it.
    pub role: Role,
    /// What was said.
    pub content: String,
    /// When.
    #[schemars(with = "String")]
    pub timestamp: Time,
}

/// Who said something.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Role {
    /// Somebody of the family.
    User,
    /// The scheduler.
    Assistant,
    /// Nobody: how things are.
    System,
}

impl Said {
    /// Something that is said now.
    #[must_use]
    pub fn new(role: Role, content: &str, timestamp: Time) -> Self {
        Self { role, content: content.to_owned(), timestamp }
    }

    /// As a thread keeps it.
    #[must_use]
    pub fn to_message(&self) -> Message {
        let role = match self.role {
            Role::User => MessageRole::User,
            Role::Assistant => MessageRole::Assistant,
            Role::System => MessageRole::System,
        };
        Message::new(role, self.content.as_str()).with_metadata(TIMESTAMP, json!(self.timestamp))
    }

    /// What a message of a thread says; nothing where it has no time or is the work of a tool.
    #[must_use]
    pub fn read(message: &Message) -> Option<Self> {
        let role = match message.role {
            MessageRole::User => Role::User,
            MessageRole::Assistant => Role::Assistant,
            MessageRole::System => Role::System,
            _ => return None,
        };
        let timestamp = message.metadata.get(TIMESTAMP).and_then(Value::as_str)?;
        Some(Self { role, content: message.text().into_owned(), timestamp: Time::parse(timestamp).ok()? })
    }
}
