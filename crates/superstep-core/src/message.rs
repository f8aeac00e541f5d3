//! Messages of users, models and tools, and the list that holds them.
//!
//! Three JSON forms are parsed (role, class name, LangChain; see `parse`), and the role form is written by default.
//! Nothing here creates ids or reads a clock: the engine assigns ids to an update before it is reduced. The list and
//! its reducer are in `list` and `reduce`, the updates in `update`, the trimming for a provider in `trim`.

mod content;
mod list;
mod parse;
mod reduce;
mod schema;
mod serialize;
mod tokens;
mod trim;
mod update;
mod usage;

#[cfg(test)]
mod tests;

pub use content::{Content, ContentPart, Media, MediaSource};
pub use list::{Messages, MessagesIter};
pub(crate) use tokens::tokens_of_text;
pub use tokens::{TokenCount, count_tokens};
pub use trim::{TrimOptions, TrimResult, add_missing_tool_results, trim};
pub use update::{MessageUpdate, MessageUpdates, RemoveAll, RemoveMessage};

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
    /// Id of the message. A later message with the same id replaces this one; a message without an id is always
    /// appended.
    pub id: Option<MessageId>,
    /// Role of the author.
    pub role: Role,
    /// Content of the message.
    pub content: Content,
    /// Name of the author within the role, for example of the agent or the tool.
    pub name: Option<String>,
    /// Tool calls that an assistant requests.
    pub tool_calls: Vec<ToolCall>,
    /// Id of the call whose result a tool message contains.
    pub tool_call_id: Option<String>,
    /// Status of the tool call; only written and parsed for tool messages.
    pub status: ToolStatus,
    /// Metadata from the application or the provider.
    pub metadata: BTreeMap<String, Value>,
    /// Creation time.
    pub time: Option<jiff::Timestamp>,
    /// Token usage.
    pub usage: Option<TokenUsage>,
    /// Keys of the parsed JSON that have no field here, kept so that they are written again.
    pub extra: BTreeMap<String, Value>,
}

impl Message {
    /// Creates a message with this role and content.
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

    /// Creates a message of the user.
    pub fn user(content: impl Into<Content>) -> Self {
        Self::new(Role::User, content)
    }

    /// Creates a message of the model.
    pub fn assistant(content: impl Into<Content>) -> Self {
        Self::new(Role::Assistant, content)
    }

    /// Creates a system message: instructions for the model.
    pub fn system(content: impl Into<Content>) -> Self {
        Self::new(Role::System, content)
    }

    /// Creates the tool message with the result of the call with this id.
    pub fn tool(call_id: impl Into<String>, content: impl Into<Content>) -> Self {
        Self { tool_call_id: Some(call_id.into()), ..Self::new(Role::Tool, content) }
    }

    /// Sets the id.
    #[must_use]
    pub fn with_id(mut self, id: impl Into<MessageId>) -> Self {
        self.id = Some(id.into());
        self
    }

    /// Sets the name of the author.
    #[must_use]
    pub fn with_name(mut self, name: impl Into<String>) -> Self {
        self.name = Some(name.into());
        self
    }

    /// Adds tool calls that the assistant requests.
    #[must_use]
    pub fn with_tool_calls(mut self, calls: impl IntoIterator<Item = ToolCall>) -> Self {
        self.tool_calls.extend(calls);
        self
    }

    /// Sets the status of the tool call.
    #[must_use]
    pub fn with_status(mut self, status: ToolStatus) -> Self {
        self.status = status;
        self
    }

    /// Adds one entry of metadata.
    #[must_use]
    pub fn with_metadata(mut self, key: impl Into<String>, value: impl Into<Value>) -> Self {
        self.metadata.insert(key.into(), value.into());
        self
    }

    /// Returns the text of the content; for content parts, their concatenated texts.
    pub fn text(&self) -> Cow<'_, str> {
        self.content.text()
    }
}

/// The id of a message within its list.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(transparent)]
pub struct MessageId(Arc<str>);

impl MessageId {
    /// Returns the id as text.
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

// Permits lookups in the index of a list with a `&str`.
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

/// The author of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Role {
    /// The author of the application.
    System,
    /// The user.
    User,
    /// The model.
    Assistant,
    /// A tool that the model called.
    Tool,
}

/// One tool call that an assistant requests.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ToolCall {
    /// Id that the tool result must have.
    pub id: String,
    /// Name of the tool.
    pub name: String,
    /// Arguments; the text as received if the model wrote something that is not JSON.
    pub args: Value,
    /// Keys that the provider added.
    pub extra: BTreeMap<String, Value>,
}

impl ToolCall {
    /// Creates a call of this tool.
    pub fn new(id: impl Into<String>, name: impl Into<String>, args: impl Into<Value>) -> Self {
        Self { id: id.into(), name: name.into(), args: args.into(), extra: BTreeMap::new() }
    }
}

/// The status of a tool call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ToolStatus {
    /// The content is the result.
    #[default]
    Success,
    /// The content describes the error.
    Error,
}

/// The token usage of a message.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct TokenUsage {
    /// Number of tokens that the model read.
    #[serde(alias = "prompt_tokens")]
    pub input_tokens: u64,
    /// Number of tokens that the model wrote.
    #[serde(alias = "completion_tokens")]
    pub output_tokens: u64,
    /// Sum of both, or more if the provider counts more.
    pub total_tokens: u64,
    /// True if the numbers are an estimate of superstep, false if the provider counted them.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub estimated: bool,
    /// Further counts of the provider.
    #[serde(flatten)]
    pub details: BTreeMap<String, Value>,
}

impl TokenUsage {
    /// Creates the usage from the counts of a provider.
    pub fn new(input_tokens: u64, output_tokens: u64) -> Self {
        Self {
            input_tokens,
            output_tokens,
            total_tokens: input_tokens.saturating_add(output_tokens),
            ..Self::default()
        }
    }
}
