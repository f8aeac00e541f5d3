//! Tool arguments: their schema, and error messages for invalid ones.
//!
//! Error messages are sent to a model and stored: they name the argument and the expected type, but never a value.

use std::any::TypeId;

use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};
use superstep_core::suggest::did_you_mean_or_list;
use superstep_core::tool::{ToolError, ToolSpec};
use superstep_core::types::JsonSchemaValidator;

/// Maximum number of errors listed per call.
const MAX_ERRORS: usize = 10;

/// A type of tool arguments: deserializable from JSON, with a JSON Schema.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be the arguments of a tool",
    note = "arguments are deserialized from JSON and described to a model: `#[derive(Deserialize, JsonSchema)]`"
)]
pub trait ToolArgs: DeserializeOwned + JsonSchema + Send + 'static {}

impl<T: DeserializeOwned + JsonSchema + Send + 'static> ToolArgs for T {}

/// Marker of argument errors among the errors of a tool.
pub(super) struct InvalidArgs;

/// Returns the JSON Schema of arguments: an object that permits no other properties.
pub(super) fn schema_of<T: ToolArgs>() -> Value {
    if takes_nothing::<T>() {
        return (*ToolSpec::new("", "").input_schema).clone();
    }
    // Inlined: models read a flat schema better, and some providers reject references.
    let settings = SchemaSettings::draft2020_12().with(|settings| settings.inline_subschemas = true);
    let mut schema = settings.into_generator().into_root_schema_for::<T>().to_value();
    if let Value::Object(object) = &mut schema {
        object.remove("$schema");
        object.remove("title");
        if object.get("type").and_then(Value::as_str) == Some("object") {
            object.entry("properties").or_insert_with(|| Value::Object(Map::new()));
            object.entry("additionalProperties").or_insert(Value::Bool(false));
        }
    }
    schema
}

/// Returns true for `()`, which means no arguments: an empty object in JSON.
fn takes_nothing<T: 'static>() -> bool {
    TypeId::of::<T>() == TypeId::of::<()>()
}

/// Deserializes arguments that are valid for the schema.
pub(super) fn read<T: ToolArgs>(args: Map<String, Value>, schema: &Value) -> Result<T, ToolError> {
    let args = if takes_nothing::<T>() { Value::Null } else { Value::Object(args) };
    serde_path_to_error::deserialize(args).map_err(|error| {
        // The message of serde contains the value.
        let path = error.path().to_string();
        let name = path.split(['.', '[']).next().unwrap_or_default();
        let text = match schema.get("properties").and_then(|properties| properties.get(name)) {
            Some(property) => format!("`{path}` is invalid: expected {}", expected(property)),
            None => "the arguments are invalid".to_owned(),
        };
        ToolError { passthrough: Some(Box::new(InvalidArgs)), ..ToolError::new(text) }
    })
}

/// Validates arguments with the schema of a tool.
///
/// ```
/// use serde_json::json;
/// use superstep::tools::{ToolSpec, check_arguments};
///
/// let schema = json!({ "type": "object", "properties": { "n": { "type": "integer" } }, "additionalProperties": false });
/// let spec = ToolSpec::new("double", "Doubles a number.").with_input_schema(schema);
/// let args = json!({ "n": "secret" });
/// let error = check_arguments(&spec, args.as_object().unwrap()).unwrap_err();
/// assert_eq!(error.message, "invalid arguments for `double`: `n`: expected integer, found string");
/// ```
///
/// # Errors
/// Returns an error that names the invalid arguments and the expected types, without any value.
pub fn check_arguments(spec: &ToolSpec, args: &Map<String, Value>) -> Result<(), ToolError> {
    check(spec, validator(spec).as_ref(), &Value::Object(args.clone()))
}

/// Returns the validator of a tool's schema; `None` for an invalid schema, which checks nothing.
pub(super) fn validator(spec: &ToolSpec) -> Option<JsonSchemaValidator> {
    JsonSchemaValidator::new((*spec.input_schema).clone()).ok()
}

/// Validates arguments with an existing validator. See [`check_arguments`].
pub(super) fn check(spec: &ToolSpec, schema: Option<&JsonSchemaValidator>, args: &Value) -> Result<(), ToolError> {
    let object = args.as_object();
    let mut diagnostics = object.map(|object| unknown(&spec.input_schema, object)).unwrap_or_default();
    diagnostics.extend(object.into_iter().flat_map(|object| missing(&spec.input_schema, object)));
    let has_name_errors = !diagnostics.is_empty();
    let errors = schema.map(|schema| schema.errors_without_values(args)).unwrap_or_default();
    // Errors about the top-level object repeat the unknown and missing names above.
    let errors = errors.into_iter().filter(|error| !(has_name_errors && error.pointer.is_empty()));
    diagnostics.extend(errors.map(|error| match error.pointer.strip_prefix('/') {
        Some(path) => format!("`{path}`: {}", error.message),
        None => error.message,
    }));
    if diagnostics.is_empty() {
        return Ok(());
    }
    if diagnostics.len() > MAX_ERRORS {
        let more = diagnostics.split_off(MAX_ERRORS).len();
        diagnostics.push(format!("and {more} more"));
    }
    Err(ToolError::new(format!("invalid arguments for `{}`: {}", spec.name, diagnostics.join("; "))))
}

fn unknown(schema: &Value, args: &Map<String, Value>) -> Vec<String> {
    let properties = schema.get("properties").and_then(Value::as_object);
    let (Some(properties), Some(Value::Bool(false))) = (properties, schema.get("additionalProperties")) else {
        return Vec::new();
    };
    let names: Vec<&str> = properties.keys().map(String::as_str).collect();
    let unknown = args.keys().filter(|name| !properties.contains_key(*name));
    let text = |name: &String| {
        let name: String = name.chars().take(64).collect();
        match names.is_empty() {
            true => format!("unknown argument `{name}`; the tool takes no arguments"),
            false => format!("unknown argument `{name}`; {}", did_you_mean_or_list(&name, &names)),
        }
    };
    unknown.map(text).collect()
}

fn missing(schema: &Value, args: &Map<String, Value>) -> Vec<String> {
    let required = schema.get("required").and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str);
    let text = |name: &str| {
        let property = schema.get("properties").and_then(|properties| properties.get(name)).unwrap_or(&Value::Null);
        format!("`{name}` is missing: expected {}", expected(property))
    };
    required.filter(|name| !args.contains_key(*name)).map(text).collect()
}

/// Returns a short description of the type that a schema expects.
fn expected(schema: &Value) -> String {
    if let Some(Value::Array(values)) = schema.get("enum") {
        let values: Vec<String> = values.iter().take(12).map(Value::to_string).collect();
        return format!("one of {}", values.join(", "));
    }
    match schema.get("type") {
        Some(Value::String(name)) => match schema.get("format").and_then(Value::as_str) {
            // The format of a number only describes the width of the Rust type.
            Some(format) if name == "string" => format!("{name} ({format})"),
            _ => name.clone(),
        },
        Some(Value::Array(names)) => names.iter().filter_map(Value::as_str).collect::<Vec<_>>().join(" or "),
        _ => "a different value".to_owned(),
    }
}
