//! How a tool fails: a word that programs know, then words for people.
//!
//! The verifier decides by the first word whether to plan again, to ask, or to give up.

use superstep::ToolError;

/// What was named does not exist.
pub(crate) fn unknown(text: impl std::fmt::Display) -> ToolError {
    ToolError::new(format!("unknown_table: {text}"))
}

/// What was named is more than one thing.
pub(crate) fn ambiguous(text: impl std::fmt::Display) -> ToolError {
    ToolError::new(format!("ambiguous: {text}"))
}

/// The caller may not.
pub(crate) fn forbidden(text: impl std::fmt::Display) -> ToolError {
    ToolError::new(format!("forbidden: {text}"))
}

/// Nobody may.
pub(crate) fn refused(text: impl std::fmt::Display) -> ToolError {
    ToolError::new(format!("refused: {text}"))
}

/// It cannot be done now, or not here.
pub(crate) fn unavailable(text: impl std::fmt::Display) -> ToolError {
    ToolError::new(format!("unavailable: {text}"))
}

/// It takes too long.
pub(crate) fn timeout(text: impl std::fmt::Display) -> ToolError {
    ToolError::new(format!("timeout: {text}")).retryable()
}

/// It makes no sense.
pub(crate) fn invalid(text: impl std::fmt::Display) -> ToolError {
    ToolError::new(format!("invalid: {text}"))
}
