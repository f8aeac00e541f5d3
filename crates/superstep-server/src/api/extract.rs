//! Extractors for request bodies and queries: parsed, validated, and rejected with all errors at once.

use std::time::Duration;

use axum::body::Bytes;
use axum::extract::{FromRequest, FromRequestParts, Query, Request};
use axum::http::request::Parts;
use axum::http::{HeaderMap, header};
use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde_json::Value;
use superstep::ErrorCode;
use superstep::core::suggest::did_you_mean_or_list;
use superstep::core::types::FieldType;
use superstep::core::validation_error::ValidationError;

use crate::api::problem::{Problem, ProblemField};

/// A request body, parsed as JSON and validated against the JSON Schema of `T`.
///
/// The default content type of `curl -d` is parsed as JSON as well. Invalid bodies are rejected: 415 for another
/// media type, 413 for too many bytes, 400 for text that is not JSON, 422 for JSON that does not match the schema,
/// with the location of every error.
pub struct ValidatedJson<T>(pub T);

/// Timeout for receiving a body.
const BODY_TIMEOUT: Duration = Duration::from_secs(10);

impl<T: DeserializeOwned + JsonSchema, S: Send + Sync> FromRequest<S> for ValidatedJson<T> {
    type Rejection = Problem;

    async fn from_request(request: Request, state: &S) -> Result<Self, Problem> {
        check_content_type(request.headers())?;
        let bytes = tokio::time::timeout(BODY_TIMEOUT, Bytes::from_request(request, state)).await;
        let bytes =
            bytes.map_err(|_| Problem::new(408, ErrorCode::Timeout, "the body was not received within 10 s"))?;
        let bytes = bytes.map_err(|rejection| match rejection.status().as_u16() {
            413 => Problem::new(413, ErrorCode::TooLarge, "the body exceeds the size limit of this server"),
            _ => Problem::new(400, ErrorCode::InputInvalid, "the body cannot be read").with_internal(rejection),
        })?;
        parse_validated(&bytes).map(Self)
    }
}

/// A query string, parsed as `T`.
pub struct ValidatedQuery<T>(pub T);

impl<T: DeserializeOwned, S: Send + Sync> FromRequestParts<S> for ValidatedQuery<T> {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Problem> {
        let query = Query::<T>::from_request_parts(parts, state).await;
        query.map(|Query(query)| Self(query)).map_err(|rejection| Problem::invalid(rejection.body_text(), []))
    }
}

fn check_content_type(headers: &HeaderMap) -> Result<(), Problem> {
    let content_type =
        headers.get(header::CONTENT_TYPE).and_then(|content_type| content_type.to_str().ok()).unwrap_or_default();
    let essence = content_type.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
    // The default of `curl -d`. Pages of other sites do not get here: the origin check rejects them.
    let is_curl_default = essence == "application/x-www-form-urlencoded";
    if is_curl_default
        || essence == "application/json"
        || (essence.starts_with("application/") && essence.ends_with("+json"))
    {
        return Ok(());
    }
    let problem = Problem::new(415, ErrorCode::InputInvalid, "the content type of the body is not JSON");
    Err(problem.with_hint("send the header `Content-Type: application/json`"))
}

fn parse_validated<T: DeserializeOwned + JsonSchema>(bytes: &[u8]) -> Result<T, Problem> {
    let value: Value = serde_json::from_slice(bytes).map_err(|error| {
        let detail = format!("the body is not JSON: line {}, column {}", error.line(), error.column());
        Problem::new(400, ErrorCode::InputInvalid, detail)
    })?;
    let json_schema = schemars::SchemaGenerator::default().into_root_schema_for::<T>().to_value();
    let schema =
        FieldType::schema(json_schema.clone()).map_err(|error| superstep::Error::internal(error.to_string()))?;
    let invalid = |errors: Vec<ValidationError>| {
        Problem::invalid("the body is invalid", errors.into_iter().map(ProblemField::from))
    };
    schema.check(&value).map_err(|errors| invalid(locate_errors(&json_schema, &value, errors)))?;
    // Constraints that a schema cannot express.
    serde_json::from_value(value).map_err(|error| invalid(vec![ValidationError::new(error.to_string())]))
}

/// Locates each error of a body at its own field: a missing or unknown field is not an error of the whole body, and
/// a range error names the range.
fn locate_errors(schema: &Value, value: &Value, errors: Vec<ValidationError>) -> Vec<ValidationError> {
    let (Some(fields), Some(object)) = (schema["properties"].as_object(), value.as_object()) else { return errors };
    let names: Vec<&str> = fields.keys().map(String::as_str).collect();
    let required = schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str);
    let missing = required.filter(|name| !object.contains_key(*name)).map(|name| {
        let error = ValidationError::new("missing").with_pointer(format!("/{name}"));
        match fields[name]["description"].as_str() {
            Some(description) => error.with_help(description),
            None => error,
        }
    });
    let is_closed = schema["additionalProperties"] == false;
    let unknown = object.keys().filter(|name| is_closed && !fields.contains_key(*name)).map(|name| {
        ValidationError::new(format!("unknown field `{name}`"))
            .with_pointer(format!("/{name}"))
            .with_help(did_you_mean_or_list(name, &names))
    });
    let field_errors = errors.into_iter().filter(|error| !error.pointer.is_empty()).map(|error| {
        let field = error.pointer.strip_prefix('/').and_then(|name| fields.get(name));
        match field.map(|field| (&field["minimum"], &field["maximum"])) {
            Some((min @ Value::Number(_), max @ Value::Number(_))) => {
                let range = format!("use a value from {min} to {max}");
                error.with_help(range)
            }
            _ => error,
        }
    });
    let mut all: Vec<ValidationError> = missing.chain(unknown).chain(field_errors).collect();
    all.sort_by(|a, b| a.pointer.cmp(&b.pointer));
    all
}
