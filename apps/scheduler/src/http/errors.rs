//! Problem responses specific to the scheduler: invalid body fields, and conflicts.

use axum::body::Body;
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde_json::{Value, json};
use superstep::core::error::Diagnostic;
use superstep::core::validation_error::ValidationError;
use superstep::{Error, ErrorCode};
use superstep_server::Problem;

use crate::models::Conflict;

/// Returns the error for an invalid body field that is found inside a change: 422.
pub(super) fn field_error(pointer: &str, message: impl Into<String>) -> Error {
    let diagnostic = Diagnostic { pointer: pointer.to_owned(), message: message.into(), help: None };
    Error::with_diagnostics(ErrorCode::InputInvalid, "the body is invalid", vec![diagnostic])
}

/// Returns the problem for an invalid body field that is found before a change: 422.
pub(super) fn invalid(pointer: &str, message: impl Into<String>, help: &str) -> Problem {
    Problem::invalid(
        "the body is invalid",
        [ValidationError::new(message).with_pointer(pointer).with_help(help).into()],
    )
}

/// Returns the problem for an invalid query parameter: 422.
pub(super) fn invalid_query(name: &str, message: impl Into<String>) -> Problem {
    Problem::invalid("the query is invalid", [ValidationError::new(message).with_pointer(format!("/{name}")).into()])
}

/// Returns the response for a change that conflicts block: 409 with all conflicts.
pub(super) fn blocked(conflicts: &[Conflict], can_be_forced: bool) -> Response {
    conflict_response(
        conflicts,
        match can_be_forced {
            true => "choose another time, or send `force`",
            false => "choose another time: `force` does not apply to resources at capacity",
        },
    )
}

/// Returns a 409 response with conflicts and a help text.
pub(super) fn conflict_response(conflicts: &[Conflict], help: &str) -> Response {
    let details: Vec<&str> = conflicts.iter().map(|conflict| conflict.details.as_str()).collect();
    let problem = Problem::conflict(details.join(" ")).with_hint(help);
    let mut body = serde_json::to_value(&problem).unwrap_or_default();
    body["conflicts"] = json!(conflicts);
    problem_response(&body)
}

fn problem_response(body: &Value) -> Response {
    let mut response = (StatusCode::CONFLICT, Body::from(body.to_string())).into_response();
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, header::HeaderValue::from_static("application/problem+json"));
    headers.insert(header::CACHE_CONTROL, header::HeaderValue::from_static("no-store"));
    response
}
