//! Messages: what people, models and tools say to each other, and the list that keeps them.
//!
//! Three written forms are read (role, seed, LangChain; see `read`), one is written unless another is asked for.
//! Nothing here makes ids or reads a clock: whoever owns those stamps an update before it is folded.
//! The list and its fold are in `list` and `fold`, what an update may say in `edit`, what a provider gets in `trim`.

mod content;
mod edit;
mod fold;
mod list;
mod read;
mod schema;
mod tokens;
mod trim;
mod usage;
mod write;

#[cfg(test)]
mod tests;

pub use content::{Content, Media, MediaSource, Part};
pub use edit::{MessageEdit, MessageEdits, RemoveAll, RemoveMessage};
pub use list::{Iter, Messages};
pub(crate) use tokens::of_text as tokens_of_text;
pub use tokens::{TokenCount, count_tokens};
pub use trim::{TrimBudget, Trimmed, close_unanswered, trim};

use std::borrow::{Borrow, Cow};
use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// One message of a conversation.
///
/// ```
/// use superstep_core::message::{Message, Role};
///
/// let message = Message::user("hi").with_id("1").with_name("ada");
/// assert_eq!(message.role, Role::User);
/// assert_eq!(message.text(), "hi");
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Message {
    /// What a later message must carry to replace this one; without it a message is only ever appended.
    pub id: Option<MessageId>,
    /// Who speaks.
    pub role: Role,
    /// What is said.
    pub content: Content,
    /// Which speaker of that role, e.g. the agent or the tool.
    pub name: Option<String>,
    /// What an assistant asks to be run.
    pub tool_calls: Vec<ToolCall>,
    /// Which call a tool message answers.
    pub tool_call_id: Option<String>,
    /// How the call went; only written and read for tool messages.
    pub status: ToolStatus,
    /// What the application or the provider notes about the message.
    pub metadata: BTreeMap<String, Value>,
    /// When it was said.
    pub time: Option<jiff::Timestamp>,
    /// What it cost.
    pub usage: Option<Usage>,
    /// Keys of the JSON it was read from that have no field here, kept so that they are written again.
    pub extra: BTreeMap<String, Value>,
}

impl Message {
    /// A message of that role and nothing else.
    pub fn new(role: Role, content: impl Into<Content>) -> Self {
        Self {
            id: None,
            role,
            content: content.into(),
            name: None,
            tool_calls: Vec::new(),
            tool_call_id: None,
            status: ToolStatus::Success,
            metadata: BTreeMap::new(),
            time: None,
            usage: None,
            extra: BTreeMap::new(),
        }
    }

    /// What the person says.
    pub fn user(content: impl Into<Content>) -> Self {
        Self::new(Role::User, content)
    }

    /// What the model says.
    pub fn assistant(content: impl Into<Content>) -> Self {
        Self::new(Role::Assistant, content)
    }

    /// What the model is told to be.
    pub fn system(content: impl Into<Content>) -> Self {
        Self::new(Role::System, content)
    }

    /// What the tool answers to the call of that id.
    pub fn tool(call_id: impl Into<String>, content: impl Into<Content>) -> Self {
        Self { tool_call_id: Some(call_id.into()), ..Self::new(Role::Tool, content) }
    }

    /// Sets the id.
    #[must_use]
    pub fn with_id(mut self, id: impl Into<MessageId>) -> Self {
        self.id = Some(id.into());
        self
    }

    /// Sets the name of the speaker.
    #[must_use]
    pub fn with_name(mut self, name: impl Into<String>) -> Self {
        self.name = Some(name.into());
        self
    }

    /// Adds calls that the assistant asks for.
    #[must_use]
    pub fn with_tool_calls(mut self, calls: impl IntoIterator<Item = ToolCall>) -> Self {
        self.tool_calls.extend(calls);
        self
    }

    /// Says how the tool call went.
    #[must_use]
    pub fn with_status(mut self, status: ToolStatus) -> Self {
        self.status = status;
        self
    }

    /// Notes one thing about the message.
    #[must_use]
    pub fn with_metadata(mut self, key: impl Into<String>, value: impl Into<Value>) -> Self {
        self.metadata.insert(key.into(), value.into());
        self
    }

    /// The text of the content; of parts, the texts one after the other.
    pub fn text(&self) -> Cow<'_, str> {
        self.content.text()
    }
}

/// The name of a message within its list.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(transparent)]
pub struct MessageId(Arc<str>);

impl MessageId {
    /// The id as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for MessageId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.0, f)
    }
}

impl fmt::Display for MessageId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.0)
    }
}

impl AsRef<str> for MessageId {
    fn as_ref(&self) -> &str {
        &self.0
    }
}

// Lets the index of a list be asked with text.
impl Borrow<str> for MessageId {
    fn borrow(&self) -> &str {
        &self.0
    }
}

impl From<&str> for MessageId {
    fn from(id: &str) -> Self {
        Self(id.into())
    }
}

impl From<String> for MessageId {
    fn from(id: String) -> Self {
        Self(id.into())
    }
}

impl From<&MessageId> for MessageId {
    fn from(id: &MessageId) -> Self {
        id.clone()
    }
}

/// Who speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Role {
    /// Whoever wrote the application.
    System,
    /// The person.
    User,
    /// The model.
    Assistant,
    /// A tool that the model asked for.
    Tool,
}

/// One call that an assistant asks for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ToolCall {
    /// What the answer must name.
    pub id: String,
    /// Which tool.
    pub name: String,
    /// Its arguments; the text as it came if the model wrote something that is not JSON.
    pub args: Value,
    /// Keys that the provider added.
    pub extra: BTreeMap<String, Value>,
}

impl ToolCall {
    /// A call of that tool.
    pub fn new(id: impl Into<String>, name: impl Into<String>, args: impl Into<Value>) -> Self {
        Self { id: id.into(), name: name.into(), args: args.into(), extra: BTreeMap::new() }
    }
}

/// How a tool call went.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ToolStatus {
    /// The content is the result.
    #[default]
    Success,
    /// The content says what went wrong.
    Error,
}

/// Tokens that a message cost.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Usage {
    /// Tokens that the model read.
    #[serde(alias = "prompt_tokens")]
    pub input_tokens: u64,
    /// Tokens that the model wrote.
    #[serde(alias = "completion_tokens")]
    pub output_tokens: u64,
    /// Both, or more where the provider counts more.
    pub total_tokens: u64,
    /// Counted by us and not by the provider.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub estimated: bool,
    /// What else the provider counted.
    #[serde(flatten)]
    pub details: BTreeMap<String, Value>,
}

impl Usage {
    /// What the provider counted.
    pub fn new(input_tokens: u64, output_tokens: u64) -> Self {
        Self {
            input_tokens,
            output_tokens,
            total_tokens: input_tokens.saturating_add(output_tokens),
            ..Self::default()
        }
    }
}
