//! What is asked of a language model and what it answers, without the model: requests, pieces, answers, troubles.
//!
//! The door to a model is `port::Model`. Whoever answers is named in every answer, and rules are never called anything else.

mod estimate;
mod fingerprint;
mod request;
mod trouble;

pub use estimate::{estimate, estimate_input};
pub use fingerprint::fingerprint_of;
pub use request::{AnswerFormat, Request, ToolChoice};
pub use trouble::Trouble;

use std::fmt;
use std::sync::Arc;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::error::{Code, Error, Result};
use crate::message::{Message, Usage};

/// Who answers.
///
/// ```
/// use superstep_core::model::{ModelInfo, ModelKind};
///
/// let info = ModelInfo::new("groq", "llama-3.1-8b-instant", ModelKind::Remote);
/// assert_eq!(info.to_string(), "groq/llama-3.1-8b-instant (remote)");
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ModelInfo {
    /// Who runs it, such as `openai`, `local` or `scripted`.
    pub provider: Arc<str>,
    /// Which one.
    pub name: Arc<str>,
    /// What it is.
    pub kind: ModelKind,
}

impl ModelInfo {
    /// Says who answers.
    pub fn new(provider: impl Into<Arc<str>>, name: impl Into<Arc<str>>, kind: ModelKind) -> Self {
        Self { provider: provider.into(), name: name.into(), kind }
    }
}

impl fmt::Display for ModelInfo {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{} ({})", self.provider, self.name, self.kind)
    }
}

/// What kind of thing answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ModelKind {
    /// Rules that somebody wrote: no language model at all.
    Rules,
    /// Weights that run in this process.
    Weights,
    /// A model behind an address.
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

/// A piece of an answer that is under way. Joined in order, the pieces make the message of the answer.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Piece {
    /// More of the text.
    Text(String),
    /// More of what the model thinks before it answers.
    Reasoning(String),
    /// More of a call of a tool.
    ToolCall(ToolCallPiece),
}

/// More of a call of a tool that an answer asks for.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct ToolCallPiece {
    /// Which call of the answer, from 0.
    pub index: usize,
    /// Its id, in the first piece.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    /// The tool, in the first piece.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// More of the text of the arguments.
    pub args: String,
}

/// What a model answers.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Answer {
    /// What it says and which tools it asks for; its usage is what it cost.
    pub message: Message,
    /// Why it stopped.
    pub stop: StopReason,
    /// Who answered.
    pub model: ModelInfo,
}

/// Why a model stopped.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum StopReason {
    /// It had said everything.
    End,
    /// It wants tools to be run.
    ToolCalls,
    /// It reached the longest answer it may give.
    Length,
    /// It came to a text where it was told to stop.
    Sequence,
    /// What it was about to say, or was asked, is not allowed.
    Refused,
    /// Something else, in the provider's word.
    Other(String),
}

impl Answer {
    /// An answer. Says of itself that tools are asked for where the message has calls.
    pub fn new(message: Message, model: ModelInfo) -> Self {
        let stop = if message.tool_calls.is_empty() { StopReason::End } else { StopReason::ToolCalls };
        Self { message, stop, model }
    }

    /// Says why it stopped.
    #[must_use]
    pub fn with_stop(mut self, stop: StopReason) -> Self {
        self.stop = stop;
        self
    }

    /// Says what it cost.
    #[must_use]
    pub fn with_usage(mut self, usage: Usage) -> Self {
        self.message.usage = Some(usage);
        self
    }

    /// What it cost; nothing when nobody counted.
    #[must_use]
    pub fn usage(&self) -> Usage {
        self.message.usage.clone().unwrap_or_default()
    }

    /// The text as JSON; a fence around it, as models like to write one, is let pass.
    ///
    /// # Errors
    /// When it is not JSON: the model's fault, and worth another try.
    pub fn json(&self) -> Result<Value> {
        let text = self.message.text();
        serde_json::from_str(unfenced(&text)).map_err(|error| {
            let said =
                if self.stop == StopReason::Length { "the answer was cut off" } else { "the answer is not JSON" };
            Trouble::BadAnswer.error(&self.model, format!("{said}: {error}"))
        })
    }

    /// The text as a value of a type.
    ///
    /// # Errors
    /// When it is not JSON, or not of this type: the model's fault, and worth another try.
    pub fn parse<T: DeserializeOwned>(&self) -> Result<T> {
        serde_path_to_error::deserialize(self.json()?).map_err(|error| {
            let (path, error) = (error.path().to_string(), error.into_inner());
            Trouble::BadAnswer.error(&self.model, format!("the answer does not fit at `{path}`: {error}"))
        })
    }

    /// Checks the answer against the schema it was asked for.
    ///
    /// # Errors
    /// When it is not JSON, or breaks the schema: every problem is listed.
    pub fn check(&self, format: &AnswerFormat) -> Result<Value> {
        let value = self.json()?;
        let validator = jsonschema::validator_for(&format.schema).map_err(|error| {
            Error::new(Code::ConfigInvalid, format!("the schema `{}` is not one: {error}", format.name))
        })?;
        let problems: Vec<String> =
            validator.iter_errors(&value).take(5).map(|error| format!("{}: {error}", error.instance_path())).collect();
        match problems.is_empty() {
            true => Ok(value),
            false => {
                let said = format!("the answer breaks the schema `{}`: {}", format.name, problems.join("; "));
                Err(Trouble::BadAnswer.error(&self.model, said))
            }
        }
    }
}

/// The text inside of a fence of three backticks, where there is one around all of it.
fn unfenced(text: &str) -> &str {
    let text = text.trim();
    let Some(inside) = text.strip_prefix("```").and_then(|text| text.strip_suffix("```")) else { return text };
    match inside.split_once('\n') {
        Some((language, inside)) if !language.contains(['{', '[', '"']) => inside.trim(),
        _ => inside.trim(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answer(text: &str) -> Answer {
        Answer::new(Message::assistant(text), ModelInfo::new("scripted", "test", ModelKind::Rules))
    }

    /// R-FWK-69: an answer is read as JSON, with or without a fence, and what does not fit is told with its place.
    #[test]
    fn an_answer_is_read_as_json() {
        #[derive(Debug, PartialEq, Deserialize)]
        struct Place {
            city: String,
        }
        let paris = Place { city: "Paris".to_owned() };
        assert_eq!(answer(r#"{"city": "Paris"}"#).parse::<Place>().unwrap(), paris);
        assert_eq!(answer("```json\n{\"city\": \"Paris\"}\n```").parse::<Place>().unwrap(), paris);
        assert_eq!(answer("```{\"city\": \"Paris\"}```").parse::<Place>().unwrap(), paris);
        let wrong = answer(r#"{"city": 7}"#).parse::<Place>().unwrap_err();
        assert_eq!(wrong.code(), Code::ModelBadAnswer);
        assert!(wrong.message().contains("`city`"), "{wrong}");
        assert_eq!(answer("Paris!").json().unwrap_err().code(), Code::ModelBadAnswer);
        let cut = answer(r#"{"city": "Par"#).with_stop(StopReason::Length);
        assert!(cut.json().unwrap_err().message().contains("cut off"));
    }

    /// R-FWK-69, R-FWK-71: an answer that breaks the schema is a bad answer that names what is wrong.
    #[test]
    fn an_answer_is_checked_against_its_schema() {
        let schema = serde_json::json!({"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]});
        let format = AnswerFormat::new("count", schema);
        assert!(answer(r#"{"n": 1}"#).check(&format).is_ok());
        let error = answer(r#"{"n": "one"}"#).check(&format).unwrap_err();
        assert_eq!(Trouble::of(&error), Some(Trouble::BadAnswer));
        assert!(error.message().contains("/n"), "{error}");
    }
}
