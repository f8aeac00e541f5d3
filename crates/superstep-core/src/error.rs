//! The error type of the workspace: message, code, help, location, cause.
//!
//! Codes are stable and never reused; each has a page in the book. The HTTP status and the exit code of an error
//! are decided here and nowhere else.

use std::any::Any;
use std::error::Error as StdError;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::id::{CheckpointId, ThreadId};
use crate::validation_error::ValidationError;

mod code;

pub use code::ErrorCode;

/// An error with its code, location and help text.
///
/// ```
/// use superstep_core::error::{Error, ErrorCode};
/// let error = Error::new(ErrorCode::UnknownField, "no field `titel`").with_help("did you mean `title`?").with_node("draft");
/// assert_eq!(error.to_string(), "error[SS-004]: node `draft`: no field `titel`\nhelp: did you mean `title`?");
/// assert_eq!(error.code().page(), "errors/SS-004.html");
/// ```
#[derive(Clone)]
pub struct Error(Box<ErrorInner>);

#[derive(Clone)]
struct ErrorInner {
    code: ErrorCode,
    message: String,
    help: Option<String>,
    location: ErrorLocation,
    retryable: bool,
    retry_after: Option<Duration>,
    diagnostics: Vec<Diagnostic>,
    source: Option<Arc<dyn StdError + Send + Sync>>,
    partial: Option<PartialOutcome>,
}

/// The location of an error in a run.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ErrorLocation {
    /// Id of the thread.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub thread: Option<ThreadId>,
    /// Number of the superstep.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub step: Option<i64>,
    /// Name of the node.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub node: Option<String>,
}

/// One entry of the list of everything that is wrong with a value, a schema or a graph.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Diagnostic {
    /// Location as a JSON pointer; empty for the whole value.
    pub pointer: String,
    /// Fact, in lower case, without a full stop.
    pub message: String,
    /// Advice for the user.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub help: Option<String>,
}

impl From<ValidationError> for Diagnostic {
    fn from(error: ValidationError) -> Self {
        Self { pointer: error.pointer, message: error.message, help: error.help }
    }
}

/// The result of a failed run: nothing of the failed superstep, everything of the supersteps before.
#[derive(Clone)]
pub struct PartialOutcome {
    /// State after the last complete superstep; `None` if the commit of a later superstep was in flight and its
    /// result is unknown.
    pub state: Option<Arc<dyn Any + Send + Sync>>,
    /// The scheduled nodes, if the state is known.
    pub next: Vec<String>,
    /// The nodes that ran last, oldest first, at most ten.
    pub recent: Vec<String>,
    /// The checkpoint to resume from, if there is a checkpointer.
    pub checkpoint: Option<CheckpointId>,
}

/// The category of an error: graph, input, external system, or bug.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum ErrorKind {
    /// The graph or one of its nodes is wrong.
    Graph,
    /// The input of the caller is wrong.
    Input,
    /// An external system failed.
    External {
        /// True if the same call may succeed later.
        retry: bool,
    },
    /// A bug in superstep: please report it.
    Internal,
}

impl Error {
    /// Creates an error with a code and a message.
    pub fn new(code: ErrorCode, message: impl Into<String>) -> Self {
        Self(Box::new(ErrorInner {
            code,
            message: message.into(),
            help: None,
            location: ErrorLocation::default(),
            retryable: code.is_retryable(),
            retry_after: None,
            diagnostics: Vec::new(),
            source: None,
            partial: None,
        }))
    }

    /// Creates an error that lists diagnostics.
    pub fn with_diagnostics(code: ErrorCode, message: impl Into<String>, diagnostics: Vec<Diagnostic>) -> Self {
        let mut error = Self::new(code, message);
        error.0.diagnostics = diagnostics;
        error
    }

    /// Creates an error for a broken invariant of superstep.
    pub fn internal(message: impl Into<String>) -> Self {
        Self::new(ErrorCode::Internal, message).with_help(
            "this is a bug in superstep; please report it with \
             this text",
        )
    }

    /// Sets the help text.
    #[must_use]
    pub fn with_help(mut self, help: impl Into<String>) -> Self {
        self.0.help = Some(help.into());
        self
    }

    /// Sets the node, unless a node is already set.
    #[must_use]
    pub fn with_node(mut self, node: impl Into<String>) -> Self {
        self.0.location.node.get_or_insert_with(|| node.into());
        self
    }

    /// Sets the superstep, unless a superstep is already set.
    #[must_use]
    pub fn with_step(mut self, step: i64) -> Self {
        self.0.location.step.get_or_insert(step);
        self
    }

    /// Sets the thread, unless a thread is already set.
    #[must_use]
    pub fn with_thread(mut self, thread: Option<&ThreadId>) -> Self {
        if self.0.location.thread.is_none() {
            self.0.location.thread = thread.cloned();
        }
        self
    }

    /// Sets the cause.
    #[must_use]
    pub fn with_source(mut self, source: impl Into<Arc<dyn StdError + Send + Sync>>) -> Self {
        self.0.source = Some(source.into());
        self
    }

    /// Sets whether a retry may help.
    #[must_use]
    pub fn with_retryable(mut self, retryable: bool) -> Self {
        self.0.retryable = retryable;
        self
    }

    /// Marks the error as retryable after this delay.
    #[must_use]
    pub fn with_retry_after(mut self, wait: Duration) -> Self {
        (self.0.retryable, self.0.retry_after) = (true, Some(wait));
        self
    }

    /// Sets the partial result of the run, unless one is already set.
    #[must_use]
    pub fn with_partial(mut self, partial: PartialOutcome) -> Self {
        self.0.partial.get_or_insert(partial);
        self
    }

    /// Rewrites the texts of the error, of its diagnostics, and of its cause.
    pub(crate) fn map_messages(
        mut self,
        reword: &mut dyn FnMut(&mut String),
        cause: impl FnOnce(Arc<dyn StdError + Send + Sync>) -> Arc<dyn StdError + Send + Sync>,
    ) -> Self {
        reword(&mut self.0.message);
        self.0.help.as_mut().into_iter().for_each(&mut *reword);
        for diagnostic in &mut self.0.diagnostics {
            reword(&mut diagnostic.message);
            diagnostic.help.as_mut().into_iter().for_each(&mut *reword);
        }
        self.0.source = self.0.source.take().map(cause);
        self
    }

    /// Returns the stable code.
    #[must_use]
    pub fn code(&self) -> ErrorCode {
        self.0.code
    }

    /// Returns the message, without code and help.
    #[must_use]
    pub fn message(&self) -> &str {
        &self.0.message
    }

    /// Returns the help text.
    #[must_use]
    pub fn help(&self) -> Option<&str> {
        self.0.help.as_deref()
    }

    /// Returns the location.
    #[must_use]
    pub fn location(&self) -> &ErrorLocation {
        &self.0.location
    }

    /// Returns all diagnostics, for errors that list several.
    #[must_use]
    pub fn diagnostics(&self) -> &[Diagnostic] {
        &self.0.diagnostics
    }

    /// Returns true if a retry may help.
    #[must_use]
    pub fn is_retryable(&self) -> bool {
        self.0.retryable
    }

    /// Returns the delay before a retry, if one is set.
    #[must_use]
    pub fn retry_after(&self) -> Option<Duration> {
        self.0.retry_after
    }

    /// Returns the partial result of the run.
    #[must_use]
    pub fn partial(&self) -> Option<&PartialOutcome> {
        self.0.partial.as_ref()
    }

    /// Returns the state after the last complete superstep, if its type is `S`.
    #[must_use]
    pub fn partial_state<S: Any>(&self) -> Option<&S> {
        self.0.partial.as_ref()?.state.as_ref()?.downcast_ref()
    }

    /// Returns the category of the error: graph, input, external system, or bug.
    #[must_use]
    pub fn kind(&self) -> ErrorKind {
        self.0.code.kind(self.0.location.node.is_some(), self.0.retryable)
    }

    /// Returns the HTTP status for this error.
    #[must_use]
    pub fn http_status(&self) -> u16 {
        self.0.code.http_status(self.0.location.node.is_some())
    }

    /// Returns the exit code of a process for this error.
    #[must_use]
    pub fn exit_code(&self) -> u8 {
        self.0.code.exit_code(self.0.location.node.is_some())
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "error[{}]: ", self.0.code)?;
        if let Some(node) = &self.0.location.node {
            write!(f, "node `{node}`: ")?;
        }
        f.write_str(&self.0.message)?;
        for diagnostic in &self.0.diagnostics {
            let pointer =
                if diagnostic.pointer.is_empty() { String::new() } else { format!("{}: ", diagnostic.pointer) };
            write!(f, "\n  - {pointer}{}", diagnostic.message)?;
            if let Some(help) = &diagnostic.help {
                write!(f, " ({help})")?;
            }
        }
        if let Some(help) = &self.0.help {
            write!(f, "\nhelp: {help}")?;
        }
        Ok(())
    }
}

impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self}")?;
        let mut cause = self.source();
        while let Some(error) = cause {
            write!(f, "\ncaused by: {error}")?;
            cause = error.source();
        }
        Ok(())
    }
}

impl StdError for Error {
    fn source(&self) -> Option<&(dyn StdError + 'static)> {
        self.0.source.as_ref().map(|source| &**source as _)
    }
}

/// Returns the message of a panic.
#[must_use]
pub fn panic_message(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().map(|text| (*text).to_owned());
    text.or_else(|| panic.downcast_ref::<String>().cloned()).unwrap_or_else(|| "no message".to_owned())
}

/// Result of a fallible call of the engine.
pub type Result<T, E = Error> = std::result::Result<T, E>;

#[cfg(test)]
mod tests {
    use super::*;

    /// R-FWK-93: one error type with code, message, cause, help, page, `retryable` and location.
    #[test]
    fn errors_contain_code_location_cause_and_help() {
        let error = Error::new(ErrorCode::NodeFailed, "no answer from the mail server")
            .with_help("check the address")
            .with_node("send")
            .with_step(4)
            .with_thread(Some(&"t1".into()))
            .with_source(Arc::new(ValidationError::new("connection refused")) as Arc<dyn StdError + Send + Sync>)
            .with_retryable(true);
        assert_eq!(
            error.to_string(),
            "error[SS-011]: node `send`: no answer from the mail server\nhelp: check the address"
        );
        assert_eq!(error.source().unwrap().to_string(), "connection refused");
        assert_eq!(error.location().step, Some(4));
        assert_eq!(error.location().thread.as_ref().unwrap().as_str(), "t1");
        assert_eq!(error.code().page(), "errors/SS-011.html");
        assert!(error.is_retryable());
    }

    /// R-FWK-93: a wrong type is the caller's error in the input and the graph's error in a node.
    #[test]
    fn a_wrong_type_has_the_status_of_its_source() {
        let input = Error::new(ErrorCode::TypeMismatch, "expected integer");
        assert_eq!((input.http_status(), input.exit_code(), input.kind()), (422, 65, ErrorKind::Input));
        let node = input.with_node("a");
        assert_eq!((node.http_status(), node.exit_code(), node.kind()), (500, 70, ErrorKind::Graph));
    }
}
