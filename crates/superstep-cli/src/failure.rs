//! What went wrong, as people read it: the fact, where, every part, what to do, where to read more.
//!
//! Made from the engine's `Error` and from the server's `Problem`; the exit code is the one of the table of codes.

use std::fmt::{self, Display};

use serde_json::{Value, json};
use superstep::core::id::ThreadId;
use superstep::{Code, Error};
use superstep_server::{Problem, RunFailure};

use crate::out::{Out, Tone, toned, write_stderr};
use crate::usage::USAGE;
use crate::words::{columns, harmless, padded, quoted};

/// What went wrong, and how the process ends.
#[derive(Debug, Clone)]
pub(crate) struct Failure(Box<Facts>);

#[derive(Debug, Clone)]
struct Facts {
    exit: u8,
    /// Nothing for a wrong use of the command line, which has no page.
    code: Option<Code>,
    message: String,
    place: Vec<String>,
    /// Where, and what is wrong there.
    parts: Vec<(String, String)>,
    help: Vec<String>,
    /// The thread that is saved and can go on.
    saved: Option<String>,
}

impl Failure {
    pub(crate) fn new(code: Code, message: impl Into<String>) -> Self {
        Error::new(code, message).into()
    }

    /// The command line was used wrongly.
    pub(crate) fn usage(message: impl Into<String>) -> Self {
        let mut failure = Self::new(Code::InputInvalid, message);
        (failure.0.exit, failure.0.code) = (USAGE, None);
        failure
    }

    /// One more thing to do about it.
    pub(crate) fn help(mut self, help: impl Into<String>) -> Self {
        self.0.help.push(help.into());
        self
    }

    /// The thread stands where it was and can go on.
    pub(crate) fn saved(mut self, thread: &ThreadId) -> Self {
        self.0.saved = Some(thread.to_string());
        self
    }

    /// How the process ends.
    pub(crate) fn exit(&self) -> u8 {
        self.0.exit
    }

    /// Whether it is the input that does not fit.
    pub(crate) fn is_about_input(&self) -> bool {
        self.0.code == Some(Code::InputInvalid)
    }

    /// Its code alone, where the fact may name what is nobody's business.
    pub(crate) fn code_text(&self) -> String {
        self.0.code.map_or_else(|| "failed".to_owned(), |code| format!("failed with {code}"))
    }

    /// Shows it, on stderr.
    pub(crate) fn show(&self, out: &Out) {
        match out.is_text() {
            true => self.lines().iter().for_each(|line| write_stderr(line)),
            false => write_stderr(&self.to_json().to_string()),
        }
    }

    fn lines(&self) -> Vec<String> {
        let title = self.0.code.map_or_else(|| "error".to_owned(), |code| format!("error[{code}]"));
        // A model, a store or a file may have said it.
        let mut lines = vec![format!("{}: {}", toned(Tone::Bad, &title), harmless(&self.0.message))];
        if !self.0.place.is_empty() {
            lines.push(format!("  {}", harmless(&self.0.place.join(", "))));
        }
        let widest = self.0.parts.iter().map(|(place, _)| columns(place)).max().unwrap_or(0).min(32);
        for (place, fact) in &self.0.parts {
            let gap = if widest == 0 { "" } else { "  " };
            lines.push(format!("  {}{gap}{}", padded(&harmless(place), widest), harmless(fact)));
        }
        for (number, help) in self.0.help.iter().enumerate() {
            let title = if number == 0 { "help:" } else { "     " };
            lines.push(format!("  {title} {}", harmless(help)));
        }
        if let Some(code) = self.0.code {
            lines.push(format!("  more: superstep explain {code}"));
        }
        let saved = self.0.saved.iter().map(|thread| harmless(&resume_command(thread)));
        lines.extend(saved.map(|command| format!("  state is saved: {command}")));
        lines
    }

    fn to_json(&self) -> Value {
        let parts: Vec<Value> =
            self.0.parts.iter().map(|(place, fact)| json!({ "pointer": place, "message": fact })).collect();
        json!({ "error": {
            "code": self.0.code.map(|code| code.to_string()),
            "message": self.0.message,
            "place": self.0.place,
            "errors": parts,
            "help": self.0.help,
            "thread": self.0.saved,
            "exit": self.0.exit,
        } })
    }
}

/// The fact in one line, for lists.
impl Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0.code {
            Some(code) => write!(f, "[{code}] {}", self.0.message),
            None => f.write_str(&self.0.message),
        }
    }
}

/// How a thread goes on.
pub(crate) fn resume_command(thread: impl Display) -> String {
    format!("superstep resume {}", quoted(&thread.to_string()))
}

/// A code by its text.
pub(crate) fn find_code(text: &str) -> Option<Code> {
    Code::ALL.iter().copied().find(|code| code.to_string() == text)
}

fn part(pointer: &str, message: &str, hint: Option<&str>) -> (String, String) {
    (pointer.to_owned(), hint.map_or_else(|| message.to_owned(), |hint| format!("{message} — {hint}")))
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        let place = error.place();
        let node = place.node.as_ref().map(|node| format!("node `{node}`"));
        let step = place.step.map(|step| format!("step {step}"));
        let thread = place.thread.as_ref().map(|thread| format!("thread {thread}"));
        let parts = error.problems().iter();
        Self(Box::new(Facts {
            exit: error.exit_code(),
            code: Some(error.code()),
            message: error.message().to_owned(),
            place: [node, step, thread].into_iter().flatten().collect(),
            parts: parts.map(|found| part(&found.pointer, &found.message, found.help.as_deref())).collect(),
            help: error.advice().map(str::to_owned).into_iter().collect(),
            saved: None,
        }))
    }
}

impl From<Problem> for Failure {
    fn from(problem: Problem) -> Self {
        let code = find_code(problem.code()).unwrap_or(Code::Internal);
        let mut error = Error::new(code, problem.detail());
        if problem.status() == 500 {
            // A wrong type ends differently in a node than at the input; the status tells them apart.
            error = error.at_node("");
        }
        let parts = problem.parts().iter();
        Self(Box::new(Facts {
            exit: error.exit_code(),
            code: Some(code),
            message: problem.detail().to_owned(),
            place: Vec::new(),
            parts: parts.map(|found| part(&found.pointer, &found.message, found.hint.as_deref())).collect(),
            help: problem.advice().map(str::to_owned).into_iter().collect(),
            saved: None,
        }))
    }
}

impl From<RunFailure> for Failure {
    fn from(failure: RunFailure) -> Self {
        let code = find_code(&failure.code).unwrap_or(Code::Internal);
        // A run that has begun fails in a node.
        let mut failed = Self::from(Error::new(code, failure.message).at_node(""));
        failed.0.place.clear();
        match failure.hint {
            Some(hint) => failed.help(hint),
            None => failed,
        }
    }
}
