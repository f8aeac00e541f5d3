//! How a request is refused: `application/problem+json`, with a code, a hint and every single problem.
//!
//! Two messages stay apart: the body says what the caller can act on, the log what happened. Which HTTP status and which
//! page belong to a code is decided in the engine; what the engine cannot know (hosts, limits, media types) is made here.

use std::time::Duration;

use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde::Serialize;
use superstep::core::error::Problem as Found;
use superstep::core::fault::Fault;
use superstep::core::id::{CheckpointId, ThreadId};
use superstep::{Code, Error, Kind};
use utoipa::ToSchema;

/// Why a request was refused, or what a run failed with.
///
/// ```
/// use superstep::Code;
/// use superstep_server::Problem;
/// let problem = Problem::new(404, Code::NotFound, "no debate `d1`").hint("`GET /api/debates` lists them");
/// assert_eq!((problem.status(), problem.code()), (404, "SS-015"));
/// ```
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct Problem(Box<ProblemBody>);

/// What a refusal says.
#[derive(Debug, Clone, Serialize, ToSchema)]
struct ProblemBody {
    /// The page about this kind of problem.
    #[serde(rename = "type")]
    kind: String,
    /// What kind of problem, in words.
    title: String,
    /// The HTTP status.
    status: u16,
    /// What is wrong this time.
    detail: String,
    /// The stable code.
    code: String,
    /// What to do about it.
    #[serde(skip_serializing_if = "Option::is_none")]
    hint: Option<String>,
    /// Every single thing that is wrong.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    errors: Vec<ProblemPart>,
    /// The thread it is about.
    #[serde(skip_serializing_if = "Option::is_none")]
    thread_id: Option<String>,
    /// The checkpoint to go on from.
    #[serde(skip_serializing_if = "Option::is_none")]
    checkpoint_id: Option<String>,
    /// Whether the same request may go well later.
    retryable: bool,
    #[serde(skip)]
    retry_after: Option<Duration>,
    #[serde(skip)]
    internal: Option<String>,
}

/// One of several things that are wrong.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, ToSchema)]
pub struct ProblemPart {
    /// Where, as a JSON pointer; empty for the whole.
    pub pointer: String,
    /// The fact.
    pub message: String,
    /// What should stand there.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub expected: Option<String>,
    /// What stands there.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub found: Option<String>,
    /// What to do about it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hint: Option<String>,
}

impl Problem {
    /// A problem with its status, code and fact.
    #[must_use]
    pub fn new(status: u16, code: Code, detail: impl Into<String>) -> Self {
        Self(Box::new(ProblemBody {
            kind: code.page(),
            title: title(code),
            status,
            detail: detail.into(),
            code: code.to_string(),
            hint: None,
            errors: Vec::new(),
            thread_id: None,
            checkpoint_id: None,
            retryable: code.is_retryable(),
            retry_after: None,
            internal: None,
        }))
    }

    /// Input that does not have the form it should have: 422, with every place.
    #[must_use]
    pub fn invalid(detail: impl Into<String>, parts: impl IntoIterator<Item = ProblemPart>) -> Self {
        let mut problem = Self::new(422, Code::InputInvalid, detail);
        problem.0.errors = parts.into_iter().collect();
        problem
    }

    /// Something that does not exist: 404.
    #[must_use]
    pub fn not_found(detail: impl Into<String>) -> Self {
        Self::new(404, Code::NotFound, detail)
    }

    /// A request that contradicts how a thread stands: 409.
    #[must_use]
    pub fn conflict(detail: impl Into<String>) -> Self {
        Self::new(409, Code::ThreadBusy, detail).lasting()
    }

    /// A limit of ours, and when trying again may help: 429.
    #[must_use]
    pub fn too_many(detail: impl Into<String>, wait: Duration) -> Self {
        Self::new(429, Code::TooLarge, detail).retry_after(wait)
    }

    /// The server is about to stop: 503.
    #[must_use]
    pub fn closing() -> Self {
        Self::new(503, Code::TooLarge, "the server is shutting down and takes no new runs")
            .retry_after(Duration::from_secs(5))
            .hint("try again when it is back")
    }

    /// Says when trying again may help.
    #[must_use]
    pub fn retry_after(mut self, wait: Duration) -> Self {
        (self.0.retryable, self.0.retry_after) = (true, Some(wait));
        self
    }

    /// Says that the same request cannot go well later.
    pub(crate) fn lasting(mut self) -> Self {
        (self.0.retryable, self.0.retry_after) = (false, None);
        self
    }

    /// Says what to do about it.
    #[must_use]
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.0.hint = Some(hint.into());
        self
    }

    /// Names the thread it is about.
    #[must_use]
    pub fn on_thread(mut self, thread: &ThreadId) -> Self {
        self.0.thread_id = Some(thread.to_string());
        self
    }

    /// Names the checkpoint to go on from.
    #[must_use]
    pub fn at_checkpoint(mut self, checkpoint: CheckpointId) -> Self {
        self.0.checkpoint_id = Some(checkpoint.to_string());
        self
    }

    /// Keeps what happened for the log; the caller does not see it.
    #[must_use]
    pub fn internal(mut self, what: impl ToString) -> Self {
        self.0.internal = Some(what.to_string());
        self
    }

    /// The HTTP status.
    #[must_use]
    pub fn status(&self) -> u16 {
        self.0.status
    }

    /// The stable code, such as `SS-015`.
    #[must_use]
    pub fn code(&self) -> &str {
        &self.0.code
    }

    /// What is wrong.
    #[must_use]
    pub fn detail(&self) -> &str {
        &self.0.detail
    }

    /// What to do about it.
    #[must_use]
    pub fn advice(&self) -> Option<&str> {
        self.0.hint.as_deref()
    }

    /// Whether the same request may go well later.
    #[must_use]
    pub fn is_retryable(&self) -> bool {
        self.0.retryable
    }

    /// Every single thing that is wrong.
    #[must_use]
    pub fn parts(&self) -> &[ProblemPart] {
        &self.0.errors
    }
}

impl From<Error> for Problem {
    fn from(error: Error) -> Self {
        let code = error.code();
        let mut problem = Self::new(error.http_status(), code, error.message());
        if error.kind() == Kind::Internal {
            // A broken invariant of ours is nothing a caller can act on, and may name what is none of its business.
            problem.0.detail = "something went wrong that should not have".to_owned();
        } else if let Some(node) = &error.place().node {
            problem.0.detail = format!("node `{node}`: {}", error.message());
        }
        problem.0.hint = error.advice().map(str::to_owned);
        problem.0.errors = error.problems().iter().cloned().map(ProblemPart::from).collect();
        problem.0.thread_id = error.place().thread.as_ref().map(ToString::to_string);
        problem.0.checkpoint_id = error.partial().and_then(|partial| partial.checkpoint).map(|id| id.to_string());
        (problem.0.retryable, problem.0.retry_after) = (error.is_retryable(), error.wait());
        problem.0.internal = (problem.0.status >= 500).then(|| format!("{error:?}"));
        problem
    }
}

impl From<Found> for ProblemPart {
    fn from(found: Found) -> Self {
        let Found { pointer, message, help } = found;
        // The engine says both in one sentence.
        let both = message.strip_prefix("expected ").and_then(|rest| rest.rsplit_once(", found "));
        let both = both.map(|(expected, found)| (expected.to_owned(), found.to_owned()));
        let (expected, found) = both.unzip();
        Self { pointer, message, expected, found, hint: help }
    }
}

impl From<Fault> for ProblemPart {
    fn from(fault: Fault) -> Self {
        Found::from(fault).into()
    }
}

impl IntoResponse for Problem {
    fn into_response(self) -> Response {
        if let Some(what) = self.0.internal.as_deref().filter(|_| self.0.status >= 500) {
            tracing::error!(code = %self.0.code, status = self.0.status, "{what}");
        }
        let status = StatusCode::from_u16(self.0.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        // Texts and numbers alone can always be written.
        let body = serde_json::to_vec(&self).unwrap_or_default();
        let mut response = (status, body).into_response();
        let headers = response.headers_mut();
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/problem+json"));
        headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
        if let Some(wait) = self.0.retry_after {
            headers.insert(header::RETRY_AFTER, HeaderValue::from(wait.as_secs().max(1)));
        }
        response
    }
}

/// `ThreadBusy` as `Thread busy`.
fn title(code: Code) -> String {
    let mut title = String::new();
    for letter in code.name().chars() {
        if letter.is_uppercase() && !title.is_empty() {
            title.push(' ');
            title.extend(letter.to_lowercase());
        } else {
            title.push(letter);
        }
    }
    title
}

#[cfg(test)]
mod tests {
    use super::*;

    /// R-SRV-5: each problem has its place, what was expected and what was found.
    #[test]
    fn a_problem_says_where_what_was_expected_and_what_was_found() {
        let found = Found { pointer: "/n".into(), message: "expected integer, found text".into(), help: None };
        let problem = Problem::from(Error::listing(Code::TypeMismatch, "the input is not valid", vec![found]));
        let part = &problem.parts()[0];
        assert_eq!((part.expected.as_deref(), part.found.as_deref()), (Some("integer"), Some("text")));
        assert_eq!((problem.status(), part.pointer.as_str()), (422, "/n"));
    }

    /// R-SRV-4: what only we can act on is in the log and not in the body.
    #[test]
    fn a_bug_of_ours_is_not_told_to_the_caller() {
        let problem = Problem::from(Error::internal("slot 7 of /etc/secret"));
        assert!(!serde_json::to_string(&problem).unwrap().contains("secret"));
        assert!(problem.0.internal.unwrap().contains("secret"));
    }
}
