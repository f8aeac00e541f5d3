//! What is asked of a model: messages, tools, the form of the answer, and limits.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::message::{Message, Messages};
use crate::tool::ToolSpec;

/// What is asked of a model.
///
/// ```
/// use superstep_core::message::Message;
/// use superstep_core::model::Request;
///
/// let request = Request::new([Message::system("Be short."), Message::user("What is Rust?")]).temperature(0.2);
/// assert_eq!(request.messages.len(), 2);
/// ```
#[derive(Debug, Clone, PartialEq, Default)]
#[non_exhaustive]
pub struct Request {
    /// What was said so far.
    pub messages: Vec<Arc<Message>>,
    /// What the model may ask to be run.
    pub tools: Vec<Arc<ToolSpec>>,
    /// Whether it must.
    pub tool_choice: ToolChoice,
    /// The form its answer must have.
    pub format: Option<AnswerFormat>,
    /// How much chance there is in the answer.
    pub temperature: Option<f64>,
    /// The share of the likeliest words it chooses from.
    pub top_p: Option<f64>,
    /// The longest answer, in tokens.
    pub max_tokens: Option<u32>,
    /// Texts at which it stops.
    pub stop: Vec<String>,
    /// Where chance begins, for models that can repeat themselves.
    pub seed: Option<u64>,
    /// The version of the prompt in `messages`, for traces. Not sent.
    pub prompt: Option<Arc<str>>,
}

impl Request {
    /// Asks with these messages.
    pub fn new<M: Into<Arc<Message>>>(messages: impl IntoIterator<Item = M>) -> Self {
        Self { messages: messages.into_iter().map(Into::into).collect(), ..Self::default() }
    }

    /// Adds tools that the model may ask for.
    #[must_use]
    pub fn tools<T: Into<Arc<ToolSpec>>>(mut self, tools: impl IntoIterator<Item = T>) -> Self {
        self.tools.extend(tools.into_iter().map(Into::into));
        self
    }

    /// Says whether the model must ask for tools.
    #[must_use]
    pub fn tool_choice(mut self, choice: ToolChoice) -> Self {
        self.tool_choice = choice;
        self
    }

    /// Says which form the answer must have.
    #[must_use]
    pub fn format(mut self, format: AnswerFormat) -> Self {
        self.format = Some(format);
        self
    }

    /// Sets how much chance there is in the answer.
    #[must_use]
    pub fn temperature(mut self, temperature: f64) -> Self {
        self.temperature = Some(temperature);
        self
    }

    /// Sets the longest answer, in tokens.
    #[must_use]
    pub fn max_tokens(mut self, tokens: u32) -> Self {
        self.max_tokens = Some(tokens);
        self
    }

    /// Adds a text at which the model stops.
    #[must_use]
    pub fn stop(mut self, text: impl Into<String>) -> Self {
        self.stop.push(text.into());
        self
    }
}

impl From<&Messages> for Request {
    fn from(messages: &Messages) -> Self {
        Self { messages: messages.to_vec(), ..Self::default() }
    }
}

impl From<&str> for Request {
    fn from(text: &str) -> Self {
        Self::new([Message::user(text)])
    }
}

/// Whether a model must ask for tools.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ToolChoice {
    /// It decides.
    #[default]
    Auto,
    /// It must not.
    None,
    /// It must ask for one, whichever.
    Required,
    /// It must ask for this one.
    Named(String),
}

/// A form that an answer must have.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct AnswerFormat {
    /// What providers call it: letters, digits, `_` and `-`.
    pub name: String,
    /// The JSON Schema.
    pub schema: Arc<Value>,
}

impl AnswerFormat {
    /// A form by its JSON Schema.
    pub fn new(name: impl Into<String>, schema: impl Into<Arc<Value>>) -> Self {
        Self { name: name.into(), schema: schema.into() }
    }

    /// The form of a type.
    #[must_use]
    pub fn of<T: schemars::JsonSchema>() -> Self {
        let schema = schemars::SchemaGenerator::default().into_root_schema_for::<T>();
        let allowed = |letter: char| if letter.is_ascii_alphanumeric() || letter == '-' { letter } else { '_' };
        Self::new(T::schema_name().chars().map(allowed).collect::<String>(), Value::from(schema))
    }
}
