//! A rejected value, before its node and field are known.
//!
//! The caller that knows node and field converts a [`ValidationError`] into a [`crate::error::Error`] with a code and a
//! location.

use std::fmt;

use crate::error::ErrorCode;

/// The reason why a value is rejected.
///
/// ```
/// use superstep_core::validation_error::ValidationError;
/// let error = ValidationError::new("expected integer, found string").with_pointer("/0/age").with_help("write the age as a number");
/// assert_eq!(error.to_string(), "/0/age: expected integer, found string");
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ValidationError {
    /// The fact, in lower case, without a full stop.
    pub message: String,
    /// Advice for the user.
    pub help: Option<String>,
    /// JSON pointer below the field; empty for the field itself.
    pub pointer: String,
    /// Code of the error, if it is already known.
    pub code: Option<ErrorCode>,
}

impl ValidationError {
    /// Creates an error about the field itself.
    pub fn new(message: impl Into<String>) -> Self {
        Self { message: message.into(), help: None, pointer: String::new(), code: None }
    }

    /// Sets the help text.
    #[must_use]
    pub fn with_help(mut self, help: impl Into<String>) -> Self {
        self.help = Some(help.into());
        self
    }

    /// Sets the error code.
    #[must_use]
    pub fn with_code(mut self, code: ErrorCode) -> Self {
        self.code = Some(code);
        self
    }

    /// Sets the location below the field, as a JSON pointer.
    #[must_use]
    pub fn with_pointer(mut self, pointer: impl Into<String>) -> Self {
        self.pointer = pointer.into();
        self
    }
}

impl fmt::Display for ValidationError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.pointer.is_empty() {
            write!(f, "{}: ", self.pointer)?;
        }
        f.write_str(&self.message)
    }
}

impl std::error::Error for ValidationError {}

impl From<serde_json::Error> for ValidationError {
    fn from(error: serde_json::Error) -> Self {
        Self::new(error.to_string())
    }
}
