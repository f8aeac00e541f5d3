//! Errors of tools: a machine-readable kind, followed by a sentence for people.
//!
//! By the kind, the verifier decides to plan again, to ask the user, or to give up.

use superstep::ToolError;

/// Creates an error: the named object does not exist.
pub(crate) fn unknown(text: impl std::fmt::Display) -> ToolError {
    ToolError::new(format!("unknown_table: {text}"))
}

/// Creates an error: the name is ambiguous.
pub(crate) fn ambiguous(text: impl std::fmt::Display) -> ToolError {
    ToolError::new(format!("ambiguous: {text}"))
}

/// Creates an error: the caller has no permission.
pub(crate) fn forbidden(text: impl std::fmt::Display) -> ToolError {
    ToolError::new(format!("forbidden: {text}"))
}

/// Creates an error: the operation is not allowed for any caller.
pub(crate) fn not_allowed(text: impl std::fmt::Display) -> ToolError {
    ToolError::new(format!("refused: {text}"))
}

/// Creates an error: the service is temporarily or locally unavailable.
pub(crate) fn unavailable(text: impl std::fmt::Display) -> ToolError {
    ToolError::new(format!("unavailable: {text}"))
}

/// Creates a retryable error: the operation took too long.
pub(crate) fn timeout(text: impl std::fmt::Display) -> ToolError {
    ToolError::new(format!("timeout: {text}")).retryable()
}

/// Creates an error: the arguments are invalid.
pub(crate) fn invalid(text: impl std::fmt::Display) -> ToolError {
    ToolError::new(format!("invalid: {text}"))
}
