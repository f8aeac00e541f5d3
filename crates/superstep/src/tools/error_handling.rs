//! Error handling of tool calls: a message for the model, or a failure of the node.

use std::error::Error as StdError;
use std::fmt;
use std::sync::Arc;

use superstep_core::error::{Error, ErrorCode};

use crate::graph::output::NodeError;

/// Reason why a call has no result.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub enum ToolFailureKind {
    /// There is no such tool. Always reported to the model, which invented the name.
    UnknownTool,
    /// The arguments are not valid for the schema, or too long.
    BadArguments,
    /// The tool returned an error.
    Failed,
    /// The tool exceeded its timeout.
    TimedOut,
    /// The tool panicked.
    Panicked,
    /// The process ended while the tool ran, and the call must not be repeated ([`super::ToolNode::at_most_once`]).
    OutcomeUnknown,
}

impl ToolFailureKind {
    /// Returns the name for message metadata.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::UnknownTool => "unknown_tool",
            Self::BadArguments => "bad_arguments",
            Self::Failed => "failed",
            Self::TimedOut => "timed_out",
            Self::Panicked => "panicked",
            Self::OutcomeUnknown => "outcome_unknown",
        }
    }
}

/// A failed tool call.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct ToolFailure {
    /// Name of the tool.
    pub tool: String,
    /// Id of the call.
    pub call: String,
    /// Reason of the failure.
    pub kind: ToolFailureKind,
    /// Message that the model may receive.
    pub text: String,
    /// Underlying error, if there is one. Never sent to a model.
    pub cause: Option<Arc<dyn StdError + Send + Sync>>,
    pub(super) retryable: bool,
}

impl ToolFailure {
    /// Converts to an error of the node.
    pub(super) fn into_node_error(self) -> NodeError {
        let code = if self.kind == ToolFailureKind::TimedOut { ErrorCode::Timeout } else { ErrorCode::ToolFailed };
        let error = Error::new(code, self.text).with_retryable(self.retryable);
        match self.cause {
            Some(cause) => error.with_source(cause).into(),
            None => error.into(),
        }
    }
}

type ErrorMessageFn = Arc<dyn Fn(&ToolFailure) -> Option<String> + Send + Sync>;

/// Handling of failed tool calls.
///
/// An interrupt, a cancelled run and a tool in an incompatible graph are not failures of the tool: they are never
/// handled here. A rejection by a human or a policy is always reported to the model.
#[derive(Clone, Default)]
#[non_exhaustive]
pub enum ToolErrorHandling {
    /// The tool message contains the error; the run continues.
    #[default]
    ReturnToModel,
    /// The node fails after the other calls have ended.
    Propagate,
    /// The tool message contains this text, for any error.
    Message(String),
    /// Failures of these kinds are reported to the model, all others fail the node.
    Only(Vec<ToolFailureKind>),
    /// The returned text is reported to the model; for `None`, the node fails.
    With(ErrorMessageFn),
}

impl ToolErrorHandling {
    /// Creates a handling with a function: the returned text is reported to the model; for `None`, the node fails.
    pub fn from_fn(choose: impl Fn(&ToolFailure) -> Option<String> + Send + Sync + 'static) -> Self {
        Self::With(Arc::new(choose))
    }

    /// Returns the text for the model; `None` if the node fails.
    pub(super) fn text(&self, failure: &ToolFailure) -> Option<String> {
        match self {
            _ if failure.kind == ToolFailureKind::UnknownTool => Some(failure.text.clone()),
            Self::ReturnToModel => Some(failure.text.clone()),
            Self::Propagate => None,
            Self::Message(text) => Some(text.clone()),
            Self::Only(kinds) => kinds.contains(&failure.kind).then(|| failure.text.clone()),
            Self::With(choose) => choose(failure),
        }
    }
}

impl fmt::Debug for ToolErrorHandling {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::ReturnToModel => f.write_str("ReturnToModel"),
            Self::Propagate => f.write_str("Propagate"),
            Self::Message(text) => f.debug_tuple("Message").field(text).finish(),
            Self::Only(kinds) => f.debug_tuple("Only").field(kinds).finish(),
            Self::With(_) => f.write_str("With(..)"),
        }
    }
}
