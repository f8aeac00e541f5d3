//! Errors as users see them: message, location, all fields, advice, link to the error page.
//!
//! Created from the engine's `Error` and the server's `Problem` and `RunError`; the exit code follows from the error
//! code.

use std::fmt::{self, Display};

use serde_json::{Value, json};
use superstep::core::id::ThreadId;
use superstep::{Error, ErrorCode};
use superstep_server::{Problem, RunError};

use crate::output::{Output, TextStyle, styled, write_stderr};
use crate::text::{columns, padded, shell_quote, strip_control_characters};
use crate::usage::USAGE;

/// An error, and the exit code of the process.
#[derive(Debug, Clone)]
pub(crate) struct CliError(Box<ErrorDetails>);

#[derive(Debug, Clone)]
struct ErrorDetails {
    exit: u8,
    /// Error code; `None` for wrong use of the command line, which has no error page.
    code: Option<ErrorCode>,
    message: String,
    location: Vec<String>,
    /// Validation errors: location and message.
    fields: Vec<(String, String)>,
    help: Vec<String>,
    /// Thread that is saved and can be resumed.
    saved: Option<String>,
}

impl CliError {
    pub(crate) fn new(code: ErrorCode, message: impl Into<String>) -> Self {
        Error::new(code, message).into()
    }

    /// Creates an error for wrong use of the command line.
    pub(crate) fn usage(message: impl Into<String>) -> Self {
        let mut failure = Self::new(ErrorCode::InputInvalid, message);
        (failure.0.exit, failure.0.code) = (USAGE, None);
        failure
    }

    /// Adds advice.
    pub(crate) fn help(mut self, help: impl Into<String>) -> Self {
        self.0.help.push(help.into());
        self
    }

    /// Adds the thread that is saved and can be resumed.
    pub(crate) fn with_resume_hint(mut self, thread: &ThreadId) -> Self {
        self.0.saved = Some(thread.to_string());
        self
    }

    /// Returns the exit code of the process.
    pub(crate) fn exit(&self) -> u8 {
        self.0.exit
    }

    /// Returns true if the input is invalid.
    pub(crate) fn is_input_error(&self) -> bool {
        self.0.code == Some(ErrorCode::InputInvalid)
    }

    /// Returns only the code, for contexts in which the message must not appear because it may contain private
    /// data.
    pub(crate) fn code_text(&self) -> String {
        self.0.code.map_or_else(|| "failed".to_owned(), |code| format!("failed with {code}"))
    }

    /// Prints the error to stderr.
    pub(crate) fn print(&self, out: &Output) {
        match out.is_text() {
            true => self.lines().iter().for_each(|line| write_stderr(line)),
            false => write_stderr(&self.to_json().to_string()),
        }
    }

    fn lines(&self) -> Vec<String> {
        let title = self.0.code.map_or_else(|| "error".to_owned(), |code| format!("error[{code}]"));
        // The message may come from a model, a database or a file.
        let mut lines =
            vec![format!("{}: {}", styled(TextStyle::Bad, &title), strip_control_characters(&self.0.message))];
        if !self.0.location.is_empty() {
            lines.push(format!("  {}", strip_control_characters(&self.0.location.join(", "))));
        }
        let widest = self.0.fields.iter().map(|(pointer, _)| columns(pointer)).max().unwrap_or(0).min(32);
        for (pointer, message) in &self.0.fields {
            let gap = if widest == 0 { "" } else { "  " };
            lines.push(format!(
                "  {}{gap}{}",
                padded(&strip_control_characters(pointer), widest),
                strip_control_characters(message)
            ));
        }
        for (index, help) in self.0.help.iter().enumerate() {
            let title = if index == 0 { "help:" } else { "     " };
            lines.push(format!("  {title} {}", strip_control_characters(help)));
        }
        if let Some(code) = self.0.code {
            lines.push(format!("  more: superstep explain {code}"));
        }
        let saved = self.0.saved.iter().map(|thread| strip_control_characters(&resume_command(thread)));
        lines.extend(saved.map(|command| format!("  state is saved; resume with: {command}")));
        lines
    }

    fn to_json(&self) -> Value {
        let fields: Vec<Value> =
            self.0.fields.iter().map(|(pointer, message)| json!({ "pointer": pointer, "message": message })).collect();
        json!({ "error": {
            "code": self.0.code.map(|code| code.to_string()),
            "message": self.0.message,
            "place": self.0.location,
            "errors": fields,
            "help": self.0.help,
            "thread": self.0.saved,
            "exit": self.0.exit,
        } })
    }
}

/// Formats the error as one line, for lists.
impl Display for CliError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0.code {
            Some(code) => write!(f, "[{code}] {}", self.0.message),
            None => f.write_str(&self.0.message),
        }
    }
}

/// Returns the command that resumes a thread.
pub(crate) fn resume_command(thread: impl Display) -> String {
    format!("superstep resume {}", shell_quote(&thread.to_string()))
}

/// Finds a code by its text.
pub(crate) fn find_code(text: &str) -> Option<ErrorCode> {
    ErrorCode::ALL.iter().copied().find(|code| code.to_string() == text)
}

fn field_error(pointer: &str, message: &str, hint: Option<&str>) -> (String, String) {
    (pointer.to_owned(), hint.map_or_else(|| message.to_owned(), |hint| format!("{message} — {hint}")))
}

impl From<Error> for CliError {
    fn from(error: Error) -> Self {
        let location = error.location();
        let node = location.node.as_ref().map(|node| format!("node `{node}`"));
        let step = location.step.map(|step| format!("step {step}"));
        let thread = location.thread.as_ref().map(|thread| format!("thread {thread}"));
        let fields = error.diagnostics().iter();
        Self(Box::new(ErrorDetails {
            exit: error.exit_code(),
            code: Some(error.code()),
            message: error.message().to_owned(),
            location: [node, step, thread].into_iter().flatten().collect(),
            fields: fields
                .map(|diagnostic| field_error(&diagnostic.pointer, &diagnostic.message, diagnostic.help.as_deref()))
                .collect(),
            help: error.help().map(str::to_owned).into_iter().collect(),
            saved: None,
        }))
    }
}

impl From<Problem> for CliError {
    fn from(problem: Problem) -> Self {
        let code = find_code(problem.code()).unwrap_or(ErrorCode::Internal);
        let mut error = Error::new(code, problem.detail());
        if problem.status() == 500 {
            // A type mismatch has another exit code in a node than in the input; the HTTP status tells them apart.
            error = error.with_node("");
        }
        let fields = problem.fields().iter();
        Self(Box::new(ErrorDetails {
            exit: error.exit_code(),
            code: Some(code),
            message: problem.detail().to_owned(),
            location: Vec::new(),
            fields: fields.map(|field| field_error(&field.pointer, &field.message, field.hint.as_deref())).collect(),
            help: problem.hint().map(str::to_owned).into_iter().collect(),
            saved: None,
        }))
    }
}

impl From<RunError> for CliError {
    fn from(failure: RunError) -> Self {
        let code = find_code(&failure.code).unwrap_or(ErrorCode::Internal);
        // A run that has started fails in a node.
        let mut failed = Self::from(Error::new(code, failure.message).with_node(""));
        failed.0.location.clear();
        match failure.hint {
            Some(hint) => failed.help(hint),
            None => failed,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// R-CLI-12: every error ends the process with the exit code of its table, in a node and outside of one.
    #[test]
    fn every_code_has_its_exit_code() {
        for code in ErrorCode::ALL.iter().copied() {
            for error in [Error::new(code, "x"), Error::new(code, "x").with_node("n")] {
                let expected = error.exit_code();
                assert_eq!(CliError::from(error).exit(), expected, "{code}");
            }
        }
    }
}
