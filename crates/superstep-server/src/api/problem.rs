//! HTTP errors as `application/problem+json` (RFC 9457), with a code, a hint and a list of all validation errors.
//!
//! The body contains only what the caller can act on; details go to the log. The engine maps its error
//! codes to HTTP status and documentation page; errors of HTTP itself (hosts, limits, media types) are created here.

use std::time::Duration;

use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde::Serialize;
use superstep::core::error::Diagnostic;
use superstep::core::id::{CheckpointId, ThreadId};
use superstep::core::validation_error::ValidationError;
use superstep::{Error, ErrorCode, ErrorKind};
use utoipa::ToSchema;

/// HTTP error of a request, or error of a run.
///
/// ```
/// use superstep::ErrorCode;
/// use superstep_server::Problem;
/// let problem = Problem::new(404, ErrorCode::NotFound, "no debate `d1`").with_hint("`GET /api/debates` lists them");
/// assert_eq!((problem.status(), problem.code()), (404, "SS-015"));
/// ```
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct Problem(Box<ProblemBody>);

/// Body of a problem response.
#[derive(Debug, Clone, Serialize, ToSchema)]
struct ProblemBody {
    /// URL of the page about this kind of problem.
    #[serde(rename = "type")]
    kind: String,
    /// Short description of this kind of problem.
    title: String,
    /// HTTP status.
    status: u16,
    /// Description of this occurrence.
    detail: String,
    /// Stable error code.
    code: String,
    /// Advice for fixing the problem.
    #[serde(skip_serializing_if = "Option::is_none")]
    hint: Option<String>,
    /// All validation errors.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    errors: Vec<ProblemField>,
    /// Thread that the problem is about.
    #[serde(skip_serializing_if = "Option::is_none")]
    thread_id: Option<String>,
    /// Checkpoint from which the run can be resumed.
    #[serde(skip_serializing_if = "Option::is_none")]
    checkpoint_id: Option<String>,
    /// True if the same request may succeed later.
    retryable: bool,
    #[serde(skip)]
    retry_after: Option<Duration>,
    #[serde(skip)]
    internal: Option<String>,
}

/// A validation error of one value.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, ToSchema)]
pub struct ProblemField {
    /// JSON pointer to the value; empty for the whole document.
    pub pointer: String,
    /// Description of the error.
    pub message: String,
    /// Expected value.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub expected: Option<String>,
    /// Actual value.
    #[serde(rename = "found", skip_serializing_if = "Option::is_none")]
    pub actual: Option<String>,
    /// Advice for fixing the error.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hint: Option<String>,
}

impl Problem {
    /// Creates a problem from HTTP status, code and description.
    #[must_use]
    pub fn new(status: u16, code: ErrorCode, detail: impl Into<String>) -> Self {
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

    /// Creates a problem for invalid input: 422, with every error.
    #[must_use]
    pub fn invalid(detail: impl Into<String>, fields: impl IntoIterator<Item = ProblemField>) -> Self {
        let mut problem = Self::new(422, ErrorCode::InputInvalid, detail);
        problem.0.errors = fields.into_iter().collect();
        problem
    }

    /// Creates a problem for a missing resource: 404.
    #[must_use]
    pub fn not_found(detail: impl Into<String>) -> Self {
        Self::new(404, ErrorCode::NotFound, detail)
    }

    /// Creates a problem for a request that conflicts with the state of a thread: 409.
    #[must_use]
    pub fn conflict(detail: impl Into<String>) -> Self {
        Self::new(409, ErrorCode::ThreadBusy, detail).not_retryable()
    }

    /// Creates a problem for an exceeded limit: 429, with the time to wait.
    #[must_use]
    pub fn too_many_requests(detail: impl Into<String>, wait: Duration) -> Self {
        Self::new(429, ErrorCode::TooLarge, detail).with_retry_after(wait)
    }

    /// Creates a problem for a server that is shutting down: 503.
    #[must_use]
    pub fn shutting_down() -> Self {
        Self::new(503, ErrorCode::TooLarge, "the server is shutting down and accepts no new runs")
            .with_retry_after(Duration::from_secs(5))
            .with_hint("try again after the restart")
    }

    /// Marks the problem as retryable after a delay.
    #[must_use]
    pub fn with_retry_after(mut self, wait: Duration) -> Self {
        (self.0.retryable, self.0.retry_after) = (true, Some(wait));
        self
    }

    /// Marks the problem as not retryable.
    pub(crate) fn not_retryable(mut self) -> Self {
        (self.0.retryable, self.0.retry_after) = (false, None);
        self
    }

    /// Sets the hint: advice for the caller.
    #[must_use]
    pub fn with_hint(mut self, hint: impl Into<String>) -> Self {
        self.0.hint = Some(hint.into());
        self
    }

    /// Sets the thread the problem is about.
    #[must_use]
    pub fn with_thread(mut self, thread: &ThreadId) -> Self {
        self.0.thread_id = Some(thread.to_string());
        self
    }

    /// Sets the checkpoint to continue from.
    #[must_use]
    pub fn with_checkpoint(mut self, checkpoint: CheckpointId) -> Self {
        self.0.checkpoint_id = Some(checkpoint.to_string());
        self
    }

    /// Sets the details for the log; the caller does not see them.
    #[must_use]
    pub fn with_internal(mut self, details: impl ToString) -> Self {
        self.0.internal = Some(details.to_string());
        self
    }

    /// Returns the HTTP status.
    #[must_use]
    pub fn status(&self) -> u16 {
        self.0.status
    }

    /// Returns the stable error code, such as `SS-015`.
    #[must_use]
    pub fn code(&self) -> &str {
        &self.0.code
    }

    /// Returns the description of the error.
    #[must_use]
    pub fn detail(&self) -> &str {
        &self.0.detail
    }

    /// Returns the hint: advice for the caller.
    #[must_use]
    pub fn hint(&self) -> Option<&str> {
        self.0.hint.as_deref()
    }

    /// Returns true if the same request may succeed later.
    #[must_use]
    pub fn is_retryable(&self) -> bool {
        self.0.retryable
    }

    /// Returns all validation errors.
    #[must_use]
    pub fn fields(&self) -> &[ProblemField] {
        &self.0.errors
    }
}

impl From<Error> for Problem {
    fn from(error: Error) -> Self {
        let code = error.code();
        let mut problem = Self::new(error.http_status(), code, error.message());
        if error.kind() == ErrorKind::Internal {
            // The caller cannot act on a broken invariant, and its text may contain internal details.
            problem.0.detail = "internal server error".to_owned();
        } else if let Some(node) = &error.location().node {
            problem.0.detail = format!("node `{node}`: {}", error.message());
        }
        problem.0.hint = error.help().map(str::to_owned);
        problem.0.errors = error.diagnostics().iter().cloned().map(ProblemField::from).collect();
        problem.0.thread_id = error.location().thread.as_ref().map(ToString::to_string);
        problem.0.checkpoint_id = error.partial().and_then(|partial| partial.checkpoint).map(|id| id.to_string());
        (problem.0.retryable, problem.0.retry_after) = (error.is_retryable(), error.retry_after());
        problem.0.internal = (problem.0.status >= 500).then(|| format!("{error:?}"));
        problem
    }
}

impl From<Diagnostic> for ProblemField {
    fn from(diagnostic: Diagnostic) -> Self {
        let Diagnostic { pointer, message, help } = diagnostic;
        // The message of the engine contains the expected and the actual value.
        let split = message.strip_prefix("expected ").and_then(|rest| rest.rsplit_once(", found "));
        let split = split.map(|(expected, actual)| (expected.to_owned(), actual.to_owned()));
        let (expected, actual) = split.unzip();
        Self { pointer, message, expected, actual, hint: help }
    }
}

impl From<ValidationError> for ProblemField {
    fn from(error: ValidationError) -> Self {
        Diagnostic::from(error).into()
    }
}

impl IntoResponse for Problem {
    fn into_response(self) -> Response {
        if let Some(details) = self.0.internal.as_deref().filter(|_| self.0.status >= 500) {
            tracing::error!(code = %self.0.code, status = self.0.status, "{details}");
        }
        let status = StatusCode::from_u16(self.0.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        // A body of strings and numbers always serializes.
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

/// Converts `ThreadBusy` to `Thread busy`.
fn title(code: ErrorCode) -> String {
    let mut title = String::new();
    for symbol in code.name().chars() {
        if symbol.is_uppercase() && !title.is_empty() {
            title.push(' ');
            title.extend(symbol.to_lowercase());
        } else {
            title.push(symbol);
        }
    }
    title
}

#[cfg(test)]
mod tests {
    use super::*;

    /// R-SRV-5: each validation error has its location, the expected and the actual value.
    #[test]
    fn problems_contain_location_expected_and_actual_value() {
        let diagnostic =
            Diagnostic { pointer: "/n".into(), message: "expected integer, found text".into(), help: None };
        let problem =
            Problem::from(Error::with_diagnostics(ErrorCode::TypeMismatch, "the input is invalid", vec![diagnostic]));
        let field = &problem.fields()[0];
        assert_eq!((field.expected.as_deref(), field.actual.as_deref()), (Some("integer"), Some("text")));
        assert_eq!((problem.status(), field.pointer.as_str()), (422, "/n"));
    }

    /// R-SRV-4a: details of an internal error are in the log and not in the body.
    #[test]
    fn an_internal_error_is_not_revealed_to_the_caller() {
        let problem = Problem::from(Error::internal("slot 7 of /etc/secret"));
        assert!(!serde_json::to_string(&problem).unwrap().contains("secret"));
        assert!(problem.0.internal.unwrap().contains("secret"));
    }
}
