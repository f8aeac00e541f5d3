//! The type of a field derived from a JSON Schema, for Rust types that have one.
//!
//! Returns only types that are certain: a schema that allows several kinds of values becomes `any`. Null is
//! ignored, since a field may always be absent.

use serde_json::Value;

use super::FieldType;

/// Maximum nesting depth: references may be cyclic, and no real schema nests them this deep.
const MAX_DEPTH: usize = 8;

impl FieldType {
    /// Returns the narrowest type that accepts everything the JSON Schema accepts.
    ///
    /// ```
    /// use serde_json::json;
    /// use superstep_core::types::FieldType;
    /// assert_eq!(FieldType::from_json_schema(&json!({ "type": ["integer", "null"] })), FieldType::Integer);
    /// assert_eq!(FieldType::from_json_schema(&json!({ "type": ["integer", "string"] })), FieldType::Any);
    /// ```
    #[must_use]
    pub fn from_json_schema(schema: &Value) -> Self {
        reflect(schema, schema, MAX_DEPTH).unwrap_or(Self::Any)
    }
}

/// Returns the type of a part of a schema; `None` if only null matches it.
fn reflect(root: &Value, schema: &Value, depth: usize) -> Option<FieldType> {
    if depth == 0 {
        return Some(FieldType::Any);
    }
    if let Some(target) = schema.get("$ref").and_then(Value::as_str) {
        let target = target.strip_prefix('#').and_then(|pointer| root.pointer(pointer));
        return target.map_or(Some(FieldType::Any), |target| reflect(root, target, depth - 1));
    }
    if let Some(values) = schema.get("enum").and_then(Value::as_array) {
        return enumeration(values.iter());
    }
    if let Some(value) = schema.get("const") {
        return enumeration([value].into_iter());
    }
    for key in ["anyOf", "oneOf"] {
        if let Some(choices) = schema.get(key).and_then(Value::as_array) {
            return common_type(choices.iter().filter_map(|choice| reflect(root, choice, depth - 1)));
        }
    }
    if let Some([only]) = schema.get("allOf").and_then(Value::as_array).map(Vec::as_slice) {
        return reflect(root, only, depth - 1);
    }
    match schema.get("type") {
        Some(Value::String(name)) => type_of_name(schema, name),
        Some(Value::Array(names)) => common_type(names.iter().filter_map(|name| type_of_name(schema, name.as_str()?))),
        _ => Some(FieldType::Any),
    }
}

fn enumeration<'a>(values: impl Iterator<Item = &'a Value>) -> Option<FieldType> {
    let values: Vec<Value> = values.filter(|value| !value.is_null()).cloned().collect();
    (!values.is_empty()).then_some(FieldType::Enum(values))
}

/// Returns the common type of several choices: enumerations are joined, equal types are merged, others have no
/// common type.
fn common_type(choices: impl Iterator<Item = FieldType>) -> Option<FieldType> {
    choices.reduce(|one, other| match (one, other) {
        (FieldType::Enum(mut values), FieldType::Enum(more)) => {
            values.extend(more);
            FieldType::Enum(values)
        }
        (one, other) if one == other => one,
        _ => FieldType::Any,
    })
}

fn type_of_name(schema: &Value, name: &str) -> Option<FieldType> {
    Some(match name {
        "null" => return None,
        "boolean" => FieldType::Boolean,
        "integer" => FieldType::Integer,
        "number" => FieldType::Number,
        "string" if schema.get("format").is_some_and(|format| format == "date-time") => FieldType::DateTime,
        "string" => FieldType::String,
        "array" => FieldType::Array,
        "object" => FieldType::Object,
        _ => FieldType::Any,
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// R-GRA-6: a Rust type with a JSON Schema gets the type of its schema.
    #[test]
    fn unambiguous_json_schemas_determine_the_type() {
        let tree = json!({ "$ref": "#/$defs/tree", "$defs": { "tree": { "type": "object" } } });
        let circle = json!({ "$ref": "#/$defs/a", "$defs": { "a": { "$ref": "#/$defs/a" } } });
        let rows = [
            (json!(true), json!("any")),
            (json!({}), json!("any")),
            (json!({ "type": "boolean" }), json!("boolean")),
            (json!({ "type": "integer", "format": "int64" }), json!("integer")),
            (json!({ "type": ["number", "null"] }), json!("number")),
            (json!({ "type": "string" }), json!("string")),
            (json!({ "type": "string", "format": "date-time" }), json!("datetime")),
            (json!({ "type": "array", "items": true }), json!("array")),
            (json!({ "type": "object" }), json!("object")),
            (json!({ "type": "null" }), json!("any")),
            (json!({ "type": ["integer", "string"] }), json!("any")),
            (json!({ "type": "string", "enum": ["a", "b"] }), json!({ "enum": ["a", "b"] })),
            (json!({ "enum": ["a", null] }), json!({ "enum": ["a"] })),
            (json!({ "oneOf": [{ "const": "a" }, { "const": "b" }] }), json!({ "enum": ["a", "b"] })),
            (json!({ "anyOf": [{ "type": "object" }, { "type": "null" }] }), json!("object")),
            (json!({ "oneOf": [{ "type": "object" }, { "const": "a" }] }), json!("any")),
            (json!({ "allOf": [{ "type": "object" }] }), json!("object")),
            (tree, json!("object")),
            (circle, json!("any")),
            (json!({ "$ref": "https://example.org/x" }), json!("any")),
        ];
        for (schema, expected) in rows {
            assert_eq!(FieldType::from_json_schema(&schema).to_data(), expected, "{schema}");
        }
    }
}
