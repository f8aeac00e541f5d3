//! The request to a model: messages, tools, the response format, and limits.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::message::{Message, Messages};
use crate::tool::ToolSpec;

/// A request to a model.
///
/// ```
/// use superstep_core::message::Message;
/// use superstep_core::model::ChatRequest;
///
/// let request = ChatRequest::new([Message::system("Be short."), Message::user("What is Rust?")]).temperature(0.2);
/// assert_eq!(request.messages.len(), 2);
/// ```
#[derive(Debug, Clone, PartialEq, Default)]
#[non_exhaustive]
pub struct ChatRequest {
    /// Messages of the conversation.
    pub messages: Vec<Arc<Message>>,
    /// Tools that the model may call.
    pub tools: Vec<Arc<ToolSpec>>,
    /// Rule for tool calls.
    pub tool_choice: ToolChoice,
    /// Required format of the response.
    pub format: Option<ResponseFormat>,
    /// Sampling temperature.
    pub temperature: Option<f64>,
    /// Nucleus sampling: share of the most likely tokens to sample from.
    pub top_p: Option<f64>,
    /// Maximum length of the response, in tokens.
    pub max_tokens: Option<u32>,
    /// Stop sequences.
    pub stop: Vec<String>,
    /// Random seed, for models that support reproducible output.
    pub seed: Option<u64>,
    /// Version of the prompt in `messages`, for traces. Not sent.
    pub prompt: Option<Arc<str>>,
}

impl ChatRequest {
    /// Creates a request with these messages.
    pub fn new<M: Into<Arc<Message>>>(messages: impl IntoIterator<Item = M>) -> Self {
        Self { messages: messages.into_iter().map(Into::into).collect(), ..Self::default() }
    }

    /// Adds tools that the model may call.
    #[must_use]
    pub fn tools<T: Into<Arc<ToolSpec>>>(mut self, tools: impl IntoIterator<Item = T>) -> Self {
        self.tools.extend(tools.into_iter().map(Into::into));
        self
    }

    /// Sets the rule for tool calls.
    #[must_use]
    pub fn tool_choice(mut self, choice: ToolChoice) -> Self {
        self.tool_choice = choice;
        self
    }

    /// Sets the required format of the response.
    #[must_use]
    pub fn format(mut self, format: ResponseFormat) -> Self {
        self.format = Some(format);
        self
    }

    /// Sets the sampling temperature.
    #[must_use]
    pub fn temperature(mut self, temperature: f64) -> Self {
        self.temperature = Some(temperature);
        self
    }

    /// Sets the maximum length of the response, in tokens.
    #[must_use]
    pub fn max_tokens(mut self, tokens: u32) -> Self {
        self.max_tokens = Some(tokens);
        self
    }

    /// Adds a stop sequence.
    #[must_use]
    pub fn stop(mut self, text: impl Into<String>) -> Self {
        self.stop.push(text.into());
        self
    }
}

impl From<&Messages> for ChatRequest {
    fn from(messages: &Messages) -> Self {
        Self { messages: messages.to_vec(), ..Self::default() }
    }
}

impl From<&str> for ChatRequest {
    fn from(text: &str) -> Self {
        Self::new([Message::user(text)])
    }
}

/// The rule for tool calls of a model.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ToolChoice {
    /// The model decides.
    #[default]
    Auto,
    /// The model must not call a tool.
    None,
    /// The model must call any of the tools.
    Required,
    /// The model must call this tool.
    Named(String),
}

/// A required format of a response.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ResponseFormat {
    /// Name for the provider: letters, digits, `_` and `-`.
    pub name: String,
    /// JSON Schema of the response.
    pub schema: Arc<Value>,
}

impl ResponseFormat {
    /// Creates a format from a JSON Schema.
    pub fn new(name: impl Into<String>, schema: impl Into<Arc<Value>>) -> Self {
        Self { name: name.into(), schema: schema.into() }
    }

    /// Creates the format of a type.
    #[must_use]
    pub fn for_type<T: schemars::JsonSchema>() -> Self {
        let schema = schemars::SchemaGenerator::default().into_root_schema_for::<T>();
        let sanitized =
            |character: char| if character.is_ascii_alphanumeric() || character == '-' { character } else { '_' };
        Self::new(T::schema_name().chars().map(sanitized).collect::<String>(), Value::from(schema))
    }
}
