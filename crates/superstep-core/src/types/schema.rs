//! A JSON Schema compiled once, for the types of Rust that have one (R-GRA-6).
//!
//! Never fetches anything: a reference to another document is an error when the schema is made.

use std::fmt;
use std::sync::Arc;

use jsonschema::error::{TypeKind, ValidationErrorKind};
use jsonschema::{ValidationError, Validator};
use serde_json::Value;

use crate::fault::Fault;
use crate::types::{brief, cut, kind};

/// A JSON Schema ready to check values; equal to another when the schema text is.
#[derive(Clone)]
pub struct Schema {
    source: Arc<Value>,
    validator: Arc<Validator>,
}

impl Schema {
    /// Compiles a JSON Schema, by the draft its `$schema` names, 2020-12 without one.
    ///
    /// # Errors
    /// When the value is not a valid JSON Schema or refers to another document.
    pub fn new(source: Value) -> Result<Self, Fault> {
        let validator = jsonschema::options().offline().build(&source).map_err(|error| {
            let message =
                format!("not a JSON Schema: {}", lower(&error.masked_with(brief(error.instance())).to_string()));
            Fault::new(cut(&message, MESSAGE)).at(error.instance_path().to_string())
        })?;
        Ok(Schema { source: Arc::new(source), validator: Arc::new(validator) })
    }

    /// The schema as it was given.
    pub fn source(&self) -> &Value {
        &self.source
    }

    /// Lists every way in which the value breaks the schema, in order of place.
    pub(super) fn faults(&self, value: &Value) -> Vec<Fault> {
        self.faults_showing(value, brief)
    }

    /// As a check, in words that show nothing of the value: for somebody who did not give it.
    #[must_use]
    pub fn blind_faults(&self, value: &Value) -> Vec<Fault> {
        self.faults_showing(value, |_| "the value".to_owned())
    }

    fn faults_showing(&self, value: &Value, show: fn(&Value) -> String) -> Vec<Fault> {
        if self.validator.is_valid(value) {
            return Vec::new();
        }
        let mut faults: Vec<Fault> = self.validator.iter_errors(value).map(|error| fault(&error, show)).collect();
        faults.sort_by(|a, b| (&a.pointer, &a.message).cmp(&(&b.pointer, &b.message)));
        faults.dedup();
        faults
    }
}

const MESSAGE: usize = 240;

fn fault(error: &ValidationError<'_>, show: fn(&Value) -> String) -> Fault {
    let message = match error.kind() {
        ValidationErrorKind::Type { kind: TypeKind::Single(expected) } => {
            format!("expected {expected}, found {}", kind(error.instance()))
        }
        ValidationErrorKind::Type { kind: TypeKind::Multiple(expected) } => {
            let names: Vec<String> = expected.iter().map(|expected| expected.to_string()).collect();
            format!("expected {}, found {}", names.join(" or "), kind(error.instance()))
        }
        ValidationErrorKind::Required { property } => format!("missing {}", brief(property)),
        _ => lower(&error.masked_with(show(error.instance())).to_string()),
    };
    Fault::new(cut(&message, MESSAGE)).at(error.instance_path().to_string())
}

/// Our messages begin in lower case; those of the validator do not always.
fn lower(message: &str) -> String {
    let mut letters = message.chars();
    letters.next().map_or_else(String::new, |first| first.to_lowercase().chain(letters).collect())
}

impl PartialEq for Schema {
    fn eq(&self, other: &Self) -> bool {
        self.source == other.source
    }
}

impl fmt::Debug for Schema {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Schema").field(&self.source).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn person() -> Schema {
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
        Schema::new(schema).expect("a schema")
    }

    /// R-GRA-6, R-GRA-50: a type with a JSON Schema reports all problems at once, each with a pointer.
    #[test]
    fn every_problem_is_listed_with_its_place() {
        let value = json!({ "name": "x", "age": "old", "tags": ["a", "c"], "extra": 1 });
        let found: Vec<(String, String)> =
            person().faults(&value).into_iter().map(|fault| (fault.pointer, fault.message)).collect();
        let expected = [
            ("", "additional properties are not allowed ('extra' was unexpected)"),
            ("/age", "expected null or integer, found string"),
            ("/name", "\"x\" is shorter than 2 characters"),
            ("/tags/1", "\"c\" is not one of \"a\" or \"b\""),
        ];
        assert_eq!(found, expected.map(|(pointer, message)| (pointer.to_string(), message.to_string())));
        assert_eq!(person().faults(&json!({ "name": "Ada", "age": null })), []);
        assert_eq!(person().faults(&json!({ "age": 1 }))[0].message, "missing \"name\"");
    }

    #[test]
    fn a_schema_that_is_none_or_points_elsewhere_is_refused() {
        let rows = [json!({ "type": "intger" }), json!({ "$ref": "https://example.com/a.json" }), json!(3)];
        for schema in rows {
            let fault = Schema::new(schema.clone()).expect_err("refused");
            assert!(fault.message.starts_with("not a JSON Schema: "), "{schema}: {}", fault.message);
        }
    }

    /// R-FWK-81: a blind check names place and expectation, and nothing of what was found.
    #[test]
    fn a_blind_check_shows_nothing_of_the_value() {
        let broken = json!({ "name": "s", "age": -7.5, "tags": ["a", "secret"] });
        let found: Vec<_> = person().blind_faults(&broken).iter().map(ToString::to_string).collect();
        assert_eq!(found.len(), 4, "{found:?}");
        assert!(found.iter().any(|text| text.starts_with("/tags/1: the value is not one of")), "{found:?}");
        assert!(!found.iter().any(|text| text.contains("secret") || text.contains("7.5")), "{found:?}");
        assert_eq!(person().blind_faults(&json!({ "name": "Ada", "age": 1 })), []);
    }

    #[test]
    fn long_values_are_not_echoed() {
        let schema =
            Schema::new(json!({ "type": "object", "properties": { "a": { "maxLength": 3 } } })).expect("a schema");
        let fault = &schema.faults(&json!({ "a": "x".repeat(10_000) }))[0];
        assert!(fault.message.chars().count() < 120, "{}", fault.message);
    }
}
