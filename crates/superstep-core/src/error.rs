//! The one error type: fact, code, help, place, cause.
//!
//! Codes are stable and never reused; each has a page in the book. What to print, which HTTP status and
//! which exit code belong to a failure is decided here and nowhere else.

use std::any::Any;
use std::error::Error as StdError;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::fault::Fault;
use crate::id::{CheckpointId, ThreadId};

mod code;

pub use code::Code;

/// What went wrong, where, and what to do.
///
/// ```
/// use superstep_core::error::{Code, Error};
/// let error = Error::new(Code::UnknownField, "no field `titel`").help("did you mean `title`?").at_node("draft");
/// assert_eq!(error.to_string(), "error[SS-004]: node `draft`: no field `titel`\nhelp: did you mean `title`?");
/// assert_eq!(error.code().page(), "errors/SS-004.html");
/// ```
#[derive(Clone)]
pub struct Error(Box<Inner>);

#[derive(Clone)]
struct Inner {
    code: Code,
    message: String,
    help: Option<String>,
    place: Place,
    retryable: bool,
    retry_after: Option<Duration>,
    problems: Vec<Problem>,
    source: Option<Arc<dyn StdError + Send + Sync>>,
    partial: Option<Partial>,
}

/// Where it happened.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Place {
    /// The thread.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub thread: Option<ThreadId>,
    /// The superstep.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub step: Option<i64>,
    /// The node.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub node: Option<String>,
}

/// One of several things that are wrong with a value, a schema or a graph.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Problem {
    /// Where, as a JSON pointer; empty for the whole.
    pub pointer: String,
    /// The fact.
    pub message: String,
    /// What to do about it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub help: Option<String>,
}

impl From<Fault> for Problem {
    fn from(fault: Fault) -> Self {
        Self { pointer: fault.pointer, message: fault.message, help: fault.help }
    }
}

/// What there is when a run does not end well: nothing of the failed superstep, all of the ones before.
#[derive(Clone)]
pub struct Partial {
    /// The state after the last whole superstep; `None` when a later one was under way to the store and nobody knows
    /// whether it got there.
    pub state: Option<Arc<dyn Any + Send + Sync>>,
    /// The nodes that were due, where the state is known.
    pub next: Vec<String>,
    /// The nodes that ran last, oldest first, at most ten.
    pub recent: Vec<String>,
    /// The checkpoint to resume from, when there is a store.
    pub checkpoint: Option<CheckpointId>,
}

/// Who has to act.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Kind {
    /// The graph or a node of it is at fault.
    Graph,
    /// What the caller gave is at fault.
    Input,
    /// The outside world is at fault.
    Outside {
        /// Whether the same call may go well later.
        retry: bool,
    },
    /// We are at fault: please report it.
    Internal,
}

impl Error {
    /// An error with its code and fact.
    pub fn new(code: Code, message: impl Into<String>) -> Self {
        Self(Box::new(Inner {
            code,
            message: message.into(),
            help: None,
            place: Place::default(),
            retryable: code.is_retryable(),
            retry_after: None,
            problems: Vec::new(),
            source: None,
            partial: None,
        }))
    }

    /// An error that lists every problem found.
    pub fn listing(code: Code, message: impl Into<String>, problems: Vec<Problem>) -> Self {
        let mut error = Self::new(code, message);
        error.0.problems = problems;
        error
    }

    /// A broken invariant of ours.
    pub fn internal(message: impl Into<String>) -> Self {
        Self::new(Code::Internal, message).help("this is a bug in superstep: please report it with this text")
    }

    /// Says what to do about it.
    #[must_use]
    pub fn help(mut self, help: impl Into<String>) -> Self {
        self.0.help = Some(help.into());
        self
    }

    /// Names the node it happened in, unless one is named already.
    #[must_use]
    pub fn at_node(mut self, node: impl Into<String>) -> Self {
        self.0.place.node.get_or_insert_with(|| node.into());
        self
    }

    /// Names the superstep it happened in, unless one is named already.
    #[must_use]
    pub fn at_step(mut self, step: i64) -> Self {
        self.0.place.step.get_or_insert(step);
        self
    }

    /// Names the thread it happened on, unless one is named already.
    #[must_use]
    pub fn on_thread(mut self, thread: Option<&ThreadId>) -> Self {
        if self.0.place.thread.is_none() {
            self.0.place.thread = thread.cloned();
        }
        self
    }

    /// Keeps what caused it.
    #[must_use]
    pub fn caused_by(mut self, source: impl Into<Arc<dyn StdError + Send + Sync>>) -> Self {
        self.0.source = Some(source.into());
        self
    }

    /// Says whether trying again may help.
    #[must_use]
    pub fn retryable(mut self, retryable: bool) -> Self {
        self.0.retryable = retryable;
        self
    }

    /// Says when trying again may help.
    #[must_use]
    pub fn retry_after(mut self, wait: Duration) -> Self {
        (self.0.retryable, self.0.retry_after) = (true, Some(wait));
        self
    }

    /// Keeps what there is of the run.
    #[must_use]
    pub fn with_partial(mut self, partial: Partial) -> Self {
        self.0.partial.get_or_insert(partial);
        self
    }

    /// The same error in other words: of itself, of its problems, and of what caused it.
    pub(crate) fn reworded(
        mut self,
        reword: &mut dyn FnMut(&mut String),
        cause: impl FnOnce(Arc<dyn StdError + Send + Sync>) -> Arc<dyn StdError + Send + Sync>,
    ) -> Self {
        reword(&mut self.0.message);
        self.0.help.as_mut().into_iter().for_each(&mut *reword);
        for problem in &mut self.0.problems {
            reword(&mut problem.message);
            problem.help.as_mut().into_iter().for_each(&mut *reword);
        }
        self.0.source = self.0.source.take().map(cause);
        self
    }

    /// The stable code.
    #[must_use]
    pub fn code(&self) -> Code {
        self.0.code
    }

    /// The fact, without code and help.
    #[must_use]
    pub fn message(&self) -> &str {
        &self.0.message
    }

    /// The advice.
    #[must_use]
    pub fn advice(&self) -> Option<&str> {
        self.0.help.as_deref()
    }

    /// Where it happened.
    #[must_use]
    pub fn place(&self) -> &Place {
        &self.0.place
    }

    /// Every problem found, for errors that list several.
    #[must_use]
    pub fn problems(&self) -> &[Problem] {
        &self.0.problems
    }

    /// Whether trying again may help.
    #[must_use]
    pub fn is_retryable(&self) -> bool {
        self.0.retryable
    }

    /// How long to wait before trying again, where somebody said so.
    #[must_use]
    pub fn wait(&self) -> Option<Duration> {
        self.0.retry_after
    }

    /// What there is of the run.
    #[must_use]
    pub fn partial(&self) -> Option<&Partial> {
        self.0.partial.as_ref()
    }

    /// The state after the last whole superstep, as the type it has.
    #[must_use]
    pub fn partial_state<S: Any>(&self) -> Option<&S> {
        self.0.partial.as_ref()?.state.as_ref()?.downcast_ref()
    }

    /// Who has to act.
    #[must_use]
    pub fn kind(&self) -> Kind {
        self.0.code.kind(self.0.place.node.is_some(), self.0.retryable)
    }

    /// The HTTP status this error answers with.
    #[must_use]
    pub fn http_status(&self) -> u16 {
        self.0.code.http_status(self.0.place.node.is_some())
    }

    /// The exit code a program ends with.
    #[must_use]
    pub fn exit_code(&self) -> u8 {
        self.0.code.exit_code(self.0.place.node.is_some())
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "error[{}]: ", self.0.code)?;
        if let Some(node) = &self.0.place.node {
            write!(f, "node `{node}`: ")?;
        }
        f.write_str(&self.0.message)?;
        for problem in &self.0.problems {
            let pointer = if problem.pointer.is_empty() { String::new() } else { format!("{}: ", problem.pointer) };
            write!(f, "\n  - {pointer}{}", problem.message)?;
            if let Some(help) = &problem.help {
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

/// The text of a panic.
#[must_use]
pub fn panic_text(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().map(|text| (*text).to_owned());
    text.or_else(|| panic.downcast_ref::<String>().cloned()).unwrap_or_else(|| "no message".to_owned())
}

/// What a fallible call of the engine gives.
pub type Result<T, E = Error> = std::result::Result<T, E>;

#[cfg(test)]
mod tests {
    use super::*;

    /// R-FWK-93: one error type with code, message, cause, hint, page, `retryable` and place.
    #[test]
    fn an_error_says_what_where_why_and_what_to_do() {
        let error = Error::new(Code::NodeFailed, "no answer from the mail server")
            .help("check the address")
            .at_node("send")
            .at_step(4)
            .on_thread(Some(&"t1".into()))
            .caused_by(Arc::new(Fault::new("connection refused")) as Arc<dyn StdError + Send + Sync>)
            .retryable(true);
        assert_eq!(
            error.to_string(),
            "error[SS-011]: node `send`: no answer from the mail server\nhelp: check the address"
        );
        assert_eq!(error.source().unwrap().to_string(), "connection refused");
        assert_eq!(error.place().step, Some(4));
        assert_eq!(error.place().thread.as_ref().unwrap().as_str(), "t1");
        assert_eq!(error.code().page(), "errors/SS-011.html");
        assert!(error.is_retryable());
    }

    /// R-FWK-93: a wrong type is the caller's fault at the input and the graph's fault in a node.
    #[test]
    fn a_wrong_type_has_the_status_of_whoever_gave_it() {
        let input = Error::new(Code::TypeMismatch, "expected integer");
        assert_eq!((input.http_status(), input.exit_code(), input.kind()), (422, 65, Kind::Input));
        let node = input.at_node("a");
        assert_eq!((node.http_status(), node.exit_code(), node.kind()), (500, 70, Kind::Graph));
    }
}
