//! What becomes of a call that went wrong: words for the model, or the end of the node.

use std::error::Error as StdError;
use std::fmt;
use std::sync::Arc;

use superstep_core::error::{Code, Error};

use crate::output::NodeError;

/// Why a call gave no result.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub enum FailureKind {
    /// There is no such tool. Always told the model, which made the name up.
    UnknownTool,
    /// The arguments do not fit the schema, or are too long.
    BadArguments,
    /// The tool failed.
    Failed,
    /// The tool took too long.
    TimedOut,
    /// The tool panicked.
    Panicked,
    /// The process ended while the tool ran, and it must not be run again ([`super::ToolNode::at_most_once`]).
    OutcomeUnknown,
}

impl FailureKind {
    /// The name in the metadata of a message.
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

/// A call that went wrong.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct ToolFailure {
    /// The tool.
    pub tool: String,
    /// The call.
    pub call: String,
    /// Why.
    pub kind: FailureKind,
    /// In words that a model may hear.
    pub text: String,
    /// What caused it, where that is known. Not for a model.
    pub cause: Option<Arc<dyn StdError + Send + Sync>>,
    pub(super) retryable: bool,
}

impl ToolFailure {
    /// The failure as the node's own.
    pub(super) fn propagated(self) -> NodeError {
        let code = if self.kind == FailureKind::TimedOut { Code::Timeout } else { Code::ToolFailed };
        let error = Error::new(code, self.text).retryable(self.retryable);
        match self.cause {
            Some(cause) => error.caused_by(cause).into(),
            None => error.into(),
        }
    }
}

type Choose = Arc<dyn Fn(&ToolFailure) -> Option<String> + Send + Sync>;

/// What becomes of calls that went wrong.
///
/// A question to a person, a cancelled run and a tool that is used in the wrong graph are not failures of a tool: they
/// pass, whatever is said here. What a person or a policy refuses is always told the model.
#[derive(Clone, Default)]
#[non_exhaustive]
pub enum Errors {
    /// The model is told, in the tool message; the run goes on.
    #[default]
    Text,
    /// The node fails, once the other calls have ended.
    Propagate,
    /// The model is told this, whatever it was.
    Message(String),
    /// Failures of these kinds are told the model, all others fail the node.
    Only(Vec<FailureKind>),
    /// What this says is told the model; where it says nothing, the node fails.
    With(Choose),
}

impl Errors {
    /// What `choose` says is told the model; where it says nothing, the node fails.
    pub fn with(choose: impl Fn(&ToolFailure) -> Option<String> + Send + Sync + 'static) -> Self {
        Self::With(Arc::new(choose))
    }

    /// What the model is told; nothing where the node fails.
    pub(super) fn text(&self, failure: &ToolFailure) -> Option<String> {
        match self {
            _ if failure.kind == FailureKind::UnknownTool => Some(failure.text.clone()),
            Self::Text => Some(failure.text.clone()),
            Self::Propagate => None,
            Self::Message(text) => Some(text.clone()),
            Self::Only(kinds) => kinds.contains(&failure.kind).then(|| failure.text.clone()),
            Self::With(choose) => choose(failure),
        }
    }
}

impl fmt::Debug for Errors {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Text => f.write_str("Text"),
            Self::Propagate => f.write_str("Propagate"),
            Self::Message(text) => f.debug_tuple("Message").field(text).finish(),
            Self::Only(kinds) => f.debug_tuple("Only").field(kinds).finish(),
            Self::With(_) => f.write_str("With(..)"),
        }
    }
}
