//! Why a value was refused, before anybody knows which node or field it belongs to.
//!
//! Whoever does know turns it into a [`crate::error::Error`] with a code and a place.

use std::fmt;

use crate::error::Code;

/// Why a value was refused.
///
/// ```
/// use superstep_core::fault::Fault;
/// let fault = Fault::new("expected integer, found string").at("/0/age").help("write the age as a number");
/// assert_eq!(fault.to_string(), "/0/age: expected integer, found string");
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fault {
    /// The fact, in lower case, without a full stop.
    pub message: String,
    /// What to do about it.
    pub help: Option<String>,
    /// JSON pointer below the field; empty for the field itself.
    pub pointer: String,
    /// What kind of failure it is, where that is known already.
    pub code: Option<Code>,
}

impl Fault {
    /// A fault of the field itself.
    pub fn new(message: impl Into<String>) -> Self {
        Self { message: message.into(), help: None, pointer: String::new(), code: None }
    }

    /// Says what to do about it.
    #[must_use]
    pub fn help(mut self, help: impl Into<String>) -> Self {
        self.help = Some(help.into());
        self
    }

    /// Says what kind of failure it is.
    #[must_use]
    pub fn of(mut self, code: Code) -> Self {
        self.code = Some(code);
        self
    }

    /// Says where below the field it is, as a JSON pointer.
    #[must_use]
    pub fn at(mut self, pointer: impl Into<String>) -> Self {
        self.pointer = pointer.into();
        self
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.pointer.is_empty() {
            write!(f, "{}: ", self.pointer)?;
        }
        f.write_str(&self.message)
    }
}

impl std::error::Error for Fault {}

impl From<serde_json::Error> for Fault {
    fn from(error: serde_json::Error) -> Self {
        Self::new(error.to_string())
    }
}
