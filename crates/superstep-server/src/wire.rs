//! The JSON that comes in: read, held against its schema, and refused with every problem at once.

use std::time::Duration;

use axum::body::Bytes;
use axum::extract::{FromRequest, FromRequestParts, Query, Request};
use axum::http::request::Parts;
use axum::http::{HeaderMap, header};
use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde_json::Value;
use superstep::Code;
use superstep::core::fault::Fault;
use superstep::core::suggest::known_names;
use superstep::core::types::FieldType;

use crate::problem::{Problem, ProblemPart};

/// The body of a request, as JSON of this type.
///
/// What `curl -d` sends is read as JSON as well. What does not fit is refused with every place: 415 for another media type, 413 for too many bytes, 400 for what is no
/// JSON, 422 for JSON of another form.
pub struct Body<T>(pub T);

/// How long a body may take to come in.
const PATIENCE: Duration = Duration::from_secs(10);

impl<T: DeserializeOwned + JsonSchema, S: Send + Sync> FromRequest<S> for Body<T> {
    type Rejection = Problem;

    async fn from_request(request: Request, state: &S) -> Result<Self, Problem> {
        check_type(request.headers())?;
        let bytes = tokio::time::timeout(PATIENCE, Bytes::from_request(request, state)).await;
        let bytes = bytes.map_err(|_| Problem::new(408, Code::Timeout, "the body did not come in within 10 s"))?;
        let bytes = bytes.map_err(|rejection| match rejection.status().as_u16() {
            413 => Problem::new(413, Code::TooLarge, "the body has more bytes than this server takes"),
            _ => Problem::new(400, Code::InputInvalid, "the body could not be read").internal(rejection),
        })?;
        read(&bytes).map(Self)
    }
}

/// The query of a request, of this type.
pub struct Asks<T>(pub T);

impl<T: DeserializeOwned, S: Send + Sync> FromRequestParts<S> for Asks<T> {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Problem> {
        let query = Query::<T>::from_request_parts(parts, state).await;
        query.map(|Query(query)| Self(query)).map_err(|rejection| Problem::invalid(rejection.body_text(), []))
    }
}

fn check_type(headers: &HeaderMap) -> Result<(), Problem> {
    let given = headers.get(header::CONTENT_TYPE).and_then(|given| given.to_str().ok()).unwrap_or_default();
    let essence = given.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
    // What `curl -d` says unless told otherwise. No page of another site gets this far: its origin is refused.
    let is_unsaid = essence == "application/x-www-form-urlencoded";
    if is_unsaid || essence == "application/json" || (essence.starts_with("application/") && essence.ends_with("+json"))
    {
        return Ok(());
    }
    let problem = Problem::new(415, Code::InputInvalid, "the body is not said to be JSON");
    Err(problem.hint("send the header `Content-Type: application/json`"))
}

fn read<T: DeserializeOwned + JsonSchema>(bytes: &[u8]) -> Result<T, Problem> {
    let value: Value = serde_json::from_slice(bytes).map_err(|error| {
        let detail = format!("the body is not JSON: line {}, column {}", error.line(), error.column());
        Problem::new(400, Code::InputInvalid, detail)
    })?;
    let described = schemars::SchemaGenerator::default().into_root_schema_for::<T>().to_value();
    let schema = FieldType::schema(described.clone()).map_err(|fault| superstep::Error::internal(fault.to_string()))?;
    let refuse =
        |faults: Vec<Fault>| Problem::invalid("the body is not valid", faults.into_iter().map(ProblemPart::from));
    schema.check(&value).map_err(|faults| refuse(placed(&described, &value, faults)))?;
    // What a schema cannot say.
    serde_json::from_value(value).map_err(|error| refuse(vec![Fault::new(error.to_string())]))
}

/// What is wrong with a body, each at its own place: a field that is missing or unknown is not a problem of the whole, and
/// where a range is allowed it is said.
fn placed(schema: &Value, value: &Value, faults: Vec<Fault>) -> Vec<Fault> {
    let (Some(fields), Some(given)) = (schema["properties"].as_object(), value.as_object()) else { return faults };
    let names: Vec<&str> = fields.keys().map(String::as_str).collect();
    let required = schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str);
    let missing = required.filter(|name| !given.contains_key(*name)).map(|name| {
        let fault = Fault::new("missing").at(format!("/{name}"));
        match fields[name]["description"].as_str() {
            Some(meaning) => fault.help(meaning),
            None => fault,
        }
    });
    let is_closed = schema["additionalProperties"] == false;
    let unknown = given.keys().filter(|name| is_closed && !fields.contains_key(*name)).map(|name| {
        Fault::new(format!("unknown field `{name}`")).at(format!("/{name}")).help(known_names(name, &names))
    });
    let inside = faults.into_iter().filter(|fault| !fault.pointer.is_empty()).map(|fault| {
        let field = fault.pointer.strip_prefix('/').and_then(|name| fields.get(name));
        match field.map(|field| (&field["minimum"], &field["maximum"])) {
            Some((least @ Value::Number(_), most @ Value::Number(_))) => {
                let range = format!("allowed are {least} to {most}");
                fault.help(range)
            }
            _ => fault,
        }
    });
    let mut all: Vec<Fault> = missing.chain(unknown).chain(inside).collect();
    all.sort_by(|a, b| a.pointer.cmp(&b.pointer));
    all
}
