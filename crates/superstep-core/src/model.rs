//! Requests and responses of language models, without the models: requests, chunks, responses, errors.
//!
//! The port to a model is `port::Model`. Every response names the model that produced it, and rules are always
//! labelled as rules.

mod error;
mod estimate;
mod fingerprint;
mod request;

pub use error::ModelErrorKind;
pub use estimate::{estimate, estimate_input};
pub use fingerprint::fingerprint_of;
pub use request::{ChatRequest, ResponseFormat, ToolChoice};

use std::fmt;
use std::sync::Arc;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::error::{Error, ErrorCode, Result};
use crate::message::{Message, TokenUsage};

/// The provider and the name of a model.
///
/// ```
/// use superstep_core::model::{ModelInfo, ModelKind};
///
/// let info = ModelInfo::new("groq", "llama-3.1-8b-instant", ModelKind::Remote);
/// assert_eq!(info.to_string(), "groq/llama-3.1-8b-instant (remote)");
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ModelInfo {
    /// Provider, such as `openai`, `local` or `scripted`.
    pub provider: Arc<str>,
    /// Name of the model.
    pub name: Arc<str>,
    /// Kind of the model.
    pub kind: ModelKind,
}

impl ModelInfo {
    /// Creates the description of a model.
    pub fn new(provider: impl Into<Arc<str>>, name: impl Into<Arc<str>>, kind: ModelKind) -> Self {
        Self { provider: provider.into(), name: name.into(), kind }
    }
}

impl fmt::Display for ModelInfo {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{} ({})", self.provider, self.name, self.kind)
    }
}

/// The kind of a model.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ModelKind {
    /// Hand-written rules: no language model.
    Rules,
    /// Weights that run in this process.
    Weights,
    /// A model behind a network address.
    Remote,
}

impl fmt::Display for ModelKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Rules => "rules",
            Self::Weights => "weights",
            Self::Remote => "remote",
        })
    }
}

/// A chunk of a response while it streams. Joined in order, the chunks make the message of the response.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum MessageChunk {
    /// More of the text.
    Text(String),
    /// More of the model's reasoning before the text.
    Reasoning(String),
    /// More of a tool call.
    ToolCall(ToolCallChunk),
}

/// A chunk of a tool call in a response.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct ToolCallChunk {
    /// Index of the call in the response, from 0.
    pub index: usize,
    /// Id of the call, in the first chunk.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    /// Name of the tool, in the first chunk.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// More of the text of the arguments.
    pub args: String,
}

/// The response of a model.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct ChatResponse {
    /// Message with text and tool calls; its usage is the usage of the model call.
    pub message: Message,
    /// Reason why the model stopped.
    pub stop: StopReason,
    /// The model that responded.
    pub model: ModelInfo,
}

/// The reason why a model stopped.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum StopReason {
    /// The response is complete.
    End,
    /// The model requests tool calls.
    ToolCalls,
    /// The response reached its maximum length.
    Length,
    /// The model reached a stop sequence.
    Sequence,
    /// The response or the request is not allowed.
    #[serde(rename = "refused")]
    ContentFilter,
    /// Any other reason, as named by the provider.
    Other(String),
}

impl ChatResponse {
    /// Creates a response. The stop reason is `ToolCalls` if the message has tool calls, otherwise `End`.
    pub fn new(message: Message, model: ModelInfo) -> Self {
        let stop = if message.tool_calls.is_empty() { StopReason::End } else { StopReason::ToolCalls };
        Self { message, stop, model }
    }

    /// Sets the stop reason.
    #[must_use]
    pub fn with_stop(mut self, stop: StopReason) -> Self {
        self.stop = stop;
        self
    }

    /// Sets the usage.
    #[must_use]
    pub fn with_usage(mut self, usage: TokenUsage) -> Self {
        self.message.usage = Some(usage);
        self
    }

    /// Returns the usage; zero if there is none.
    #[must_use]
    pub fn usage(&self) -> TokenUsage {
        self.message.usage.clone().unwrap_or_default()
    }

    /// Parses the text as JSON; a Markdown code fence around the text is removed.
    ///
    /// # Errors
    /// Returns a retryable error if the text is not JSON.
    pub fn json(&self) -> Result<Value> {
        let text = self.message.text();
        serde_json::from_str(strip_code_fence(&text)).map_err(|error| {
            let reason =
                if self.stop == StopReason::Length { "the response was truncated" } else { "the response is not JSON" };
            ModelErrorKind::InvalidResponse.error(&self.model, format!("{reason}: {error}"))
        })
    }

    /// Parses the text as a value of a type.
    ///
    /// # Errors
    /// Returns a retryable error if the text is not JSON, or not of this type.
    pub fn parse<T: DeserializeOwned>(&self) -> Result<T> {
        serde_path_to_error::deserialize(self.json()?).map_err(|error| {
            let (path, error) = (error.path().to_string(), error.into_inner());
            ModelErrorKind::InvalidResponse.error(
                &self.model,
                format!(
                    "the response does not match the type \
                 at `{path}`: {error}"
                ),
            )
        })
    }

    /// Validates the response against the requested schema.
    ///
    /// # Errors
    /// Returns an error if the text is not JSON, or violates the schema; every violation is listed.
    pub fn validate(&self, format: &ResponseFormat) -> Result<Value> {
        let value = self.json()?;
        let validator = jsonschema::validator_for(&format.schema).map_err(|error| {
            Error::new(ErrorCode::ConfigInvalid, format!("`{}` is not a valid JSON Schema: {error}", format.name))
        })?;
        let violations: Vec<String> =
            validator.iter_errors(&value).take(5).map(|error| format!("{}: {error}", error.instance_path())).collect();
        match violations.is_empty() {
            true => Ok(value),
            false => {
                let message = format!("the response violates the schema `{}`: {}", format.name, violations.join("; "));
                Err(ModelErrorKind::InvalidResponse.error(&self.model, message))
            }
        }
    }
}

/// Removes a fence of three backticks around the whole text, if there is one.
fn strip_code_fence(text: &str) -> &str {
    let text = text.trim();
    let Some(content) = text.strip_prefix("```").and_then(|text| text.strip_suffix("```")) else { return text };
    match content.split_once('\n') {
        Some((language, content)) if !language.contains(['{', '[', '"']) => content.trim(),
        _ => content.trim(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn response(text: &str) -> ChatResponse {
        ChatResponse::new(Message::assistant(text), ModelInfo::new("scripted", "test", ModelKind::Rules))
    }

    /// R-FWK-69: a response is parsed as JSON, with or without a fence; an error names the location of the
    /// mismatch.
    #[test]
    fn an_answer_is_read_as_json() {
        #[derive(Debug, PartialEq, Deserialize)]
        struct CityResponse {
            city: String,
        }
        let paris = CityResponse { city: "Paris".to_owned() };
        assert_eq!(response(r#"{"city": "Paris"}"#).parse::<CityResponse>().unwrap(), paris);
        assert_eq!(response("```json\n{\"city\": \"Paris\"}\n```").parse::<CityResponse>().unwrap(), paris);
        assert_eq!(response("```{\"city\": \"Paris\"}```").parse::<CityResponse>().unwrap(), paris);
        let parse_error = response(r#"{"city": 7}"#).parse::<CityResponse>().unwrap_err();
        assert_eq!(parse_error.code(), ErrorCode::ModelBadAnswer);
        assert!(parse_error.message().contains("`city`"), "{parse_error}");
        assert_eq!(response("Paris!").json().unwrap_err().code(), ErrorCode::ModelBadAnswer);
        let cut = response(r#"{"city": "Par"#).with_stop(StopReason::Length);
        assert!(cut.json().unwrap_err().message().contains("the response was truncated"));
    }

    /// R-FWK-69, R-FWK-71: a response that violates the schema is an invalid response, and the error names the
    /// violations.
    #[test]
    fn an_answer_is_checked_against_its_schema() {
        let schema = serde_json::json!({"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]});
        let format = ResponseFormat::new("count", schema);
        assert!(response(r#"{"n": 1}"#).validate(&format).is_ok());
        let error = response(r#"{"n": "one"}"#).validate(&format).unwrap_err();
        assert_eq!(ModelErrorKind::from_error(&error), Some(ModelErrorKind::InvalidResponse));
        assert!(error.message().contains("/n"), "{error}");
    }
}
