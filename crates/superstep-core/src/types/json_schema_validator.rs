//! A JSON Schema compiled once, for the Rust types that have one (R-GRA-6).
//!
//! Never fetches anything: a reference to another document is an error when the schema is compiled.

use std::fmt;
use std::sync::Arc;

use jsonschema::Validator;
use jsonschema::error::{TypeKind, ValidationErrorKind};
use serde_json::Value;

use crate::types::{kind, truncate, value_summary};
use crate::validation_error::ValidationError;

/// A compiled JSON Schema. Two of them are equal if their sources are.
#[derive(Clone)]
pub struct JsonSchemaValidator {
    source: Arc<Value>,
    validator: Arc<Validator>,
}

impl JsonSchemaValidator {
    /// Compiles a JSON Schema, by the draft its `$schema` names, 2020-12 without one.
    ///
    /// # Errors
    /// Returns an error if the value is not a valid JSON Schema or refers to another document.
    pub fn new(source: Value) -> Result<Self, ValidationError> {
        let validator = jsonschema::options().offline().build(&source).map_err(|error| {
            let message = format!(
                "not a valid JSON Schema: {}",
                lowercase_first(&error.masked_with(value_summary(error.instance())).to_string())
            );
            ValidationError::new(truncate(&message, MAX_MESSAGE_LENGTH)).with_pointer(error.instance_path().to_string())
        })?;
        Ok(JsonSchemaValidator { source: Arc::new(source), validator: Arc::new(validator) })
    }

    /// Returns the source of the schema.
    pub fn source(&self) -> &Value {
        &self.source
    }

    /// Returns every violation of the schema, in order of location.
    pub(super) fn errors(&self, value: &Value) -> Vec<ValidationError> {
        self.errors_with(value, value_summary)
    }

    /// Returns every violation, without the values in the messages: for recipients that must not see them.
    #[must_use]
    pub fn errors_without_values(&self, value: &Value) -> Vec<ValidationError> {
        self.errors_with(value, |_| "the value".to_owned())
    }

    fn errors_with(&self, value: &Value, format_value: fn(&Value) -> String) -> Vec<ValidationError> {
        if self.validator.is_valid(value) {
            return Vec::new();
        }
        let mut errors: Vec<ValidationError> =
            self.validator.iter_errors(value).map(|error| to_validation_error(&error, format_value)).collect();
        errors.sort_by(|a, b| (&a.pointer, &a.message).cmp(&(&b.pointer, &b.message)));
        errors.dedup();
        errors
    }
}

const MAX_MESSAGE_LENGTH: usize = 240;

fn to_validation_error(error: &jsonschema::ValidationError<'_>, format_value: fn(&Value) -> String) -> ValidationError {
    let message = match error.kind() {
        ValidationErrorKind::Type { kind: TypeKind::Single(expected) } => {
            format!("expected {expected}, found {}", kind(error.instance()))
        }
        ValidationErrorKind::Type { kind: TypeKind::Multiple(expected) } => {
            let names: Vec<String> = expected.iter().map(|expected| expected.to_string()).collect();
            format!("expected {}, found {}", names.join(" or "), kind(error.instance()))
        }
        ValidationErrorKind::Required { property } => format!("missing {}", value_summary(property)),
        _ => lowercase_first(&error.masked_with(format_value(error.instance())).to_string()),
    };
    ValidationError::new(truncate(&message, MAX_MESSAGE_LENGTH)).with_pointer(error.instance_path().to_string())
}

/// Converts the first character to lower case: messages of superstep begin in lower case, those of the validator do
/// not always.
fn lowercase_first(message: &str) -> String {
    let mut characters = message.chars();
    characters.next().map_or_else(String::new, |first| first.to_lowercase().chain(characters).collect())
}

impl PartialEq for JsonSchemaValidator {
    fn eq(&self, other: &Self) -> bool {
        self.source == other.source
    }
}

impl fmt::Debug for JsonSchemaValidator {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("JsonSchemaValidator").field(&self.source).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn person() -> JsonSchemaValidator {
        let schema = json!({
            "type": "object",
            "properties": {
                "name": { "type": "string", "minLength": 2 },
                "age": { "type": ["integer", "null"], "minimum": 0 },
                "tags": { "type": "array", "items": { "enum": ["a", "b"] } },
            },
            "required": ["name", "age"],
            "additionalProperties": false,
        });
        JsonSchemaValidator::new(schema).expect("a schema")
    }

    /// R-GRA-6, R-GRA-50: a type with a JSON Schema reports all violations at once, each with a pointer.
    #[test]
    fn every_problem_is_listed_with_its_place() {
        let value = json!({ "name": "x", "age": "old", "tags": ["a", "c"], "extra": 1 });
        let errors: Vec<(String, String)> =
            person().errors(&value).into_iter().map(|error| (error.pointer, error.message)).collect();
        let expected = [
            ("", "additional properties are not allowed ('extra' was unexpected)"),
            ("/age", "expected null or integer, found string"),
            ("/name", "\"x\" is shorter than 2 characters"),
            ("/tags/1", "\"c\" is not one of \"a\" or \"b\""),
        ];
        assert_eq!(errors, expected.map(|(pointer, message)| (pointer.to_string(), message.to_string())));
        assert_eq!(person().errors(&json!({ "name": "Ada", "age": null })), []);
        assert_eq!(person().errors(&json!({ "age": 1 }))[0].message, "missing \"name\"");
    }

    #[test]
    fn an_invalid_or_external_schema_is_rejected() {
        let rows = [json!({ "type": "intger" }), json!({ "$ref": "https://example.com/a.json" }), json!(3)];
        for schema in rows {
            let error = JsonSchemaValidator::new(schema.clone()).expect_err("rejected");
            assert!(error.message.starts_with("not a valid JSON Schema: "), "{schema}: {}", error.message);
        }
    }

    /// R-FWK-81: a check without values names location and expectation, and no part of the value.
    #[test]
    fn errors_without_values_hide_values() {
        let broken = json!({ "name": "s", "age": -7.5, "tags": ["a", "secret"] });
        let errors: Vec<_> = person().errors_without_values(&broken).iter().map(ToString::to_string).collect();
        assert_eq!(errors.len(), 4, "{errors:?}");
        assert!(errors.iter().any(|text| text.starts_with("/tags/1: the value is not one of")), "{errors:?}");
        assert!(!errors.iter().any(|text| text.contains("secret") || text.contains("7.5")), "{errors:?}");
        assert_eq!(person().errors_without_values(&json!({ "name": "Ada", "age": 1 })), []);
    }

    #[test]
    fn long_values_are_not_echoed() {
        let schema = JsonSchemaValidator::new(json!({ "type": "object", "properties": { "a": { "maxLength": 3 } } }))
            .expect("a schema");
        let error = &schema.errors(&json!({ "a": "x".repeat(10_000) }))[0];
        assert!(error.message.chars().count() < 120, "{}", error.message);
    }
}
