//! What a tool is and what it gives, without the tool. The door to one is `port::Tool`.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::command::Output;
use crate::message::Content;

/// What a model and a person are told of a tool.
///
/// ```
/// use superstep_core::tool::ToolSpec;
///
/// let spec = ToolSpec::new("add", "Adds two numbers.").read_only();
/// assert!(spec.annotations.read_only);
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ToolSpec {
    /// What it is called by: letters, digits, `_` and `-`, at most 64.
    pub name: String,
    /// What it does, for the model.
    pub description: String,
    /// The JSON Schema of its arguments.
    pub input_schema: Arc<Value>,
    /// The JSON Schema of what it gives, where it is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output_schema: Option<Arc<Value>>,
    /// What it does to the world.
    #[serde(default)]
    pub annotations: Annotations,
    /// How long one call may take, in place of the usual.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timeout: Option<Duration>,
    /// How often a failed call is made again.
    #[serde(default)]
    pub retries: u32,
    /// What it gives is the answer of an agent, which then does not ask its model again.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub return_direct: bool,
}

/// What a tool does to the world.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Annotations {
    /// It changes nothing.
    pub read_only: bool,
    /// Calling it twice does the same as once.
    pub idempotent: bool,
    /// It may destroy something: a person is asked first, unless the policy says otherwise.
    pub destructive: bool,
}

impl ToolSpec {
    /// A tool without arguments.
    pub fn new(name: impl Into<String>, description: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            description: description.into(),
            input_schema: Arc::new(json!({"type": "object", "properties": {}, "additionalProperties": false})),
            output_schema: None,
            annotations: Annotations::default(),
            timeout: None,
            retries: 0,
            return_direct: false,
        }
    }

    /// Says which arguments it takes.
    #[must_use]
    pub fn with_input(mut self, schema: impl Into<Arc<Value>>) -> Self {
        self.input_schema = schema.into();
        self
    }

    /// Says that it changes nothing.
    #[must_use]
    pub fn read_only(mut self) -> Self {
        self.annotations.read_only = true;
        self
    }

    /// Says that calling it twice does the same as once.
    #[must_use]
    pub fn idempotent(mut self) -> Self {
        self.annotations.idempotent = true;
        self
    }

    /// Says that it may destroy something.
    #[must_use]
    pub fn destructive(mut self) -> Self {
        self.annotations.destructive = true;
        self
    }

    /// Sets how long one call may take.
    #[must_use]
    pub fn timeout(mut self, time: Duration) -> Self {
        self.timeout = Some(time);
        self
    }

    /// Sets how often a failed call is made again.
    #[must_use]
    pub fn retries(mut self, retries: u32) -> Self {
        self.retries = retries;
        self
    }

    /// Says that what it gives is the answer of an agent.
    #[must_use]
    pub fn return_direct(mut self) -> Self {
        self.return_direct = true;
        self
    }
}

/// What a tool gives.
#[derive(Debug, Default)]
#[non_exhaustive]
pub struct ToolOutput {
    /// What the model is told.
    pub content: Option<Content>,
    /// What the program gets besides, and the model does not: kept with the tool message.
    pub artifact: Option<Value>,
    /// The tool says itself that it failed.
    pub is_error: bool,
    /// What becomes of the graph's state and way, where the tool decides that.
    pub command: Option<Box<Output>>,
    /// What is noted of the answer.
    pub metadata: BTreeMap<String, Value>,
}

impl ToolOutput {
    /// A content for the model.
    pub fn new(content: impl Into<Content>) -> Self {
        Self { content: Some(content.into()), ..Self::default() }
    }

    /// A failure, in words for the model.
    pub fn error(content: impl Into<Content>) -> Self {
        Self { is_error: true, ..Self::new(content) }
    }

    /// Adds what is for the program and not for the model.
    #[must_use]
    pub fn with_artifact(mut self, artifact: impl Into<Value>) -> Self {
        self.artifact = Some(artifact.into());
        self
    }
}

impl From<String> for ToolOutput {
    fn from(text: String) -> Self {
        Self::new(text)
    }
}

impl From<&str> for ToolOutput {
    fn from(text: &str) -> Self {
        Self::new(text)
    }
}

/// A text as it is, anything else as JSON.
impl From<Value> for ToolOutput {
    fn from(value: Value) -> Self {
        match value {
            Value::String(text) => Self::new(text),
            value => Self::new(value.to_string()),
        }
    }
}

/// Why a tool failed.
///
/// `?` turns every error into one. It is not an error type itself, so that `?` can.
pub struct ToolError {
    /// What the model is told.
    pub message: String,
    /// Whether the same call may go well later.
    pub retryable: bool,
    /// What caused it, for traces and never for the model.
    pub cause: Option<Arc<dyn std::error::Error + Send + Sync>>,
    /// Not a failure of the tool: the run itself stops, or is at fault.
    pub passes: Option<Passes>,
}

/// Something that is not for the model: whoever runs the tool passes it on.
pub type Passes = Box<dyn std::any::Any + Send + Sync>;

impl ToolError {
    /// A failure in words for the model.
    pub fn new(message: impl Into<String>) -> Self {
        Self { message: message.into(), retryable: false, cause: None, passes: None }
    }

    /// Says that the same call may go well later.
    #[must_use]
    pub fn retryable(mut self) -> Self {
        self.retryable = true;
        self
    }

    /// Something that whoever runs the tool passes on, and the model never sees.
    pub fn passing(what: Passes) -> Self {
        Self { passes: Some(what), ..Self::new("passed on") }
    }
}

impl fmt::Debug for ToolError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ToolError")
            .field("message", &self.message)
            .field("retryable", &self.retryable)
            .finish_non_exhaustive()
    }
}

impl fmt::Display for ToolError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl<E: std::error::Error + Send + Sync + 'static> From<E> for ToolError {
    fn from(error: E) -> Self {
        let boxed: Box<dyn std::error::Error + Send + Sync> = Box::new(error);
        match boxed.downcast::<crate::error::Error>() {
            Ok(error) => {
                let (message, retryable) = (error.message().to_owned(), error.is_retryable());
                Self {
                    message,
                    retryable,
                    cause: Some(Arc::from(error as Box<dyn std::error::Error + Send + Sync>)),
                    passes: None,
                }
            }
            Err(other) => {
                Self { message: other.to_string(), retryable: false, cause: Some(Arc::from(other)), passes: None }
            }
        }
    }
}
