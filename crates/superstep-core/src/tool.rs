//! Descriptions and results of tools, without the tools. The port is `port::Tool`.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::command::TaskOutput;
use crate::message::Content;

/// The description of a tool for models and users.
///
/// ```
/// use superstep_core::tool::ToolSpec;
///
/// let spec = ToolSpec::new("add", "Adds two numbers.").read_only();
/// assert!(spec.annotations.read_only);
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ToolSpec {
    /// Name: letters, digits, `_` and `-`, at most 64.
    pub name: String,
    /// Description for the model.
    pub description: String,
    /// JSON Schema of the arguments.
    pub input_schema: Arc<Value>,
    /// JSON Schema of the result, if it is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output_schema: Option<Arc<Value>>,
    /// Side effects of the tool.
    #[serde(default)]
    pub annotations: ToolAnnotations,
    /// Timeout of one call, in place of the default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timeout: Option<Duration>,
    /// Number of retries of a failed call.
    #[serde(default)]
    pub retries: u32,
    /// True if the result is the final response of an agent, which then does not call its model again.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub return_direct: bool,
}

/// The side effects of a tool.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct ToolAnnotations {
    /// True if the tool changes nothing.
    pub read_only: bool,
    /// True if calling the tool twice has the same effect as once.
    pub idempotent: bool,
    /// True if the tool may destroy data: a human approves the call first, unless the policy decides otherwise.
    pub destructive: bool,
}

impl ToolSpec {
    /// Creates a tool without arguments.
    pub fn new(name: impl Into<String>, description: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            description: description.into(),
            input_schema: Arc::new(json!({"type": "object", "properties": {}, "additionalProperties": false})),
            output_schema: None,
            annotations: ToolAnnotations::default(),
            timeout: None,
            retries: 0,
            return_direct: false,
        }
    }

    /// Sets the schema of the arguments.
    #[must_use]
    pub fn with_input_schema(mut self, schema: impl Into<Arc<Value>>) -> Self {
        self.input_schema = schema.into();
        self
    }

    /// Marks the tool as read-only.
    #[must_use]
    pub fn read_only(mut self) -> Self {
        self.annotations.read_only = true;
        self
    }

    /// Marks the tool as idempotent.
    #[must_use]
    pub fn idempotent(mut self) -> Self {
        self.annotations.idempotent = true;
        self
    }

    /// Marks the tool as destructive.
    #[must_use]
    pub fn destructive(mut self) -> Self {
        self.annotations.destructive = true;
        self
    }

    /// Sets the timeout of one call.
    #[must_use]
    pub fn timeout(mut self, time: Duration) -> Self {
        self.timeout = Some(time);
        self
    }

    /// Sets the number of retries of a failed call.
    #[must_use]
    pub fn retries(mut self, retries: u32) -> Self {
        self.retries = retries;
        self
    }

    /// Makes the result the final response of an agent.
    #[must_use]
    pub fn return_direct(mut self) -> Self {
        self.return_direct = true;
        self
    }
}

/// The result of a tool.
#[derive(Debug, Default)]
#[non_exhaustive]
pub struct ToolOutput {
    /// Content for the model.
    pub content: Option<Content>,
    /// Data for the program, not sent to the model: stored with the tool message.
    pub artifact: Option<Value>,
    /// True if the tool reports an error.
    pub is_error: bool,
    /// Command with updates and targets for the graph, if the tool returns one.
    pub command: Option<Box<TaskOutput>>,
    /// Metadata of the tool message.
    pub metadata: BTreeMap<String, Value>,
}

impl ToolOutput {
    /// Creates a result with a content for the model.
    pub fn new(content: impl Into<Content>) -> Self {
        Self { content: Some(content.into()), ..Self::default() }
    }

    /// Creates an error result with a message for the model.
    pub fn error(content: impl Into<Content>) -> Self {
        Self { is_error: true, ..Self::new(content) }
    }

    /// Adds data for the program, not sent to the model.
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

/// Converts a string to text, any other value to JSON text.
impl From<Value> for ToolOutput {
    fn from(value: Value) -> Self {
        match value {
            Value::String(text) => Self::new(text),
            value => Self::new(value.to_string()),
        }
    }
}

/// The error of a tool.
///
/// `?` converts every error into one. `ToolError` is not an error type itself, because that conversion would
/// conflict.
pub struct ToolError {
    /// Message for the model.
    pub message: String,
    /// True if the same call may succeed later.
    pub retryable: bool,
    /// Cause, for traces and never for the model.
    pub cause: Option<Arc<dyn std::error::Error + Send + Sync>>,
    /// Set if the tool did not fail: the run itself stops, or has an error.
    pub passthrough: Option<Passthrough>,
}

/// A value that is not for the model: the engine passes it on.
pub type Passthrough = Box<dyn std::any::Any + Send + Sync>;

impl ToolError {
    /// Creates an error with a message for the model.
    pub fn new(message: impl Into<String>) -> Self {
        Self { message: message.into(), retryable: false, cause: None, passthrough: None }
    }

    /// Marks the error as retryable.
    #[must_use]
    pub fn retryable(mut self) -> Self {
        self.retryable = true;
        self
    }

    /// Wraps a value that the engine passes on and the model never sees.
    pub fn passthrough(value: Passthrough) -> Self {
        Self { passthrough: Some(value), ..Self::new("passed through") }
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
                    passthrough: None,
                }
            }
            Err(other) => {
                Self { message: other.to_string(), retryable: false, cause: Some(Arc::from(other)), passthrough: None }
            }
        }
    }
}
