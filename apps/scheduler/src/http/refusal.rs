//! How requests are refused here, beyond what the server knows: places in bodies, and what stands in the way.

use axum::body::Body;
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde_json::{Value, json};
use superstep::core::error::Problem as Found;
use superstep::core::fault::Fault;
use superstep::{Code, Error};
use superstep_server::Problem;

use crate::models::Conflict;

/// A field of a body that cannot be so, as what goes wrong while the calendar is held: 422.
pub(super) fn wrong(pointer: &str, fact: impl Into<String>) -> Error {
    let found = Found { pointer: pointer.to_owned(), message: fact.into(), help: None };
    Error::listing(Code::InputInvalid, "the body is not valid", vec![found])
}

/// The same for what can be seen at once.
pub(super) fn invalid(pointer: &str, fact: impl Into<String>, help: &str) -> Problem {
    Problem::invalid("the body is not valid", [Fault::new(fact).at(pointer).help(help).into()])
}

/// A parameter of an address that cannot be so: 422.
pub(super) fn invalid_query(name: &str, fact: impl Into<String>) -> Problem {
    Problem::invalid("the address is not valid", [Fault::new(fact).at(format!("/{name}")).into()])
}

/// What stands in the way of a change: 409, with all of it.
pub(super) fn blocked(conflicts: &[Conflict], can_be_forced: bool) -> Response {
    in_the_way(
        conflicts,
        match can_be_forced {
            true => "choose another time, or send `force`",
            false => "choose another time: what is full cannot be forced",
        },
    )
}

/// The same, with what helps.
pub(super) fn in_the_way(conflicts: &[Conflict], help: &str) -> Response {
    let details: Vec<&str> = conflicts.iter().map(|conflict| conflict.details.as_str()).collect();
    let problem = Problem::conflict(details.join(" ")).hint(help);
    let mut body = serde_json::to_value(&problem).unwrap_or_default();
    body["conflicts"] = json!(conflicts);
    written(&body)
}

fn written(body: &Value) -> Response {
    let mut response = (StatusCode::CONFLICT, Body::from(body.to_string())).into_response();
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, header::HeaderValue::from_static("application/problem+json"));
    headers.insert(header::CACHE_CONTROL, header::HeaderValue::from_static("no-store"));
    response
}
