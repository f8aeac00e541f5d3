//! The arguments of a tool: their schema, and the words for those that do not fit.
//!
//! The words go to a model and into stored messages: they name the argument and what was expected, never a value.

use std::any::TypeId;

use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};
use superstep_core::suggest::known_names;
use superstep_core::tool::{ToolError, ToolSpec};
use superstep_core::types::Schema;

/// How many problems of one call are told.
const PROBLEMS: usize = 10;

/// What a tool can take as its arguments: anything that reads from JSON and has a JSON Schema.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be the arguments of a tool",
    note = "arguments are read from JSON and shown to a model: `#[derive(Deserialize, JsonSchema)]`"
)]
pub trait Arguments: DeserializeOwned + JsonSchema + Send + 'static {}

impl<T: DeserializeOwned + JsonSchema + Send + 'static> Arguments for T {}

/// Marks a refusal of arguments among the errors of a tool.
pub(super) struct BadArguments;

/// The JSON Schema of arguments: one object, which takes nothing that it does not name.
pub(super) fn schema_of<T: Arguments>() -> Value {
    if takes_nothing::<T>() {
        return (*ToolSpec::new("", "").input_schema).clone();
    }
    // Inlined: models read a flat schema better, and some providers refuse references.
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

/// `()` stands for no arguments, which in JSON are an empty object.
fn takes_nothing<T: 'static>() -> bool {
    TypeId::of::<T>() == TypeId::of::<()>()
}

/// Reads arguments that fit the schema.
pub(super) fn read<T: Arguments>(args: Map<String, Value>, schema: &Value) -> Result<T, ToolError> {
    let args = if takes_nothing::<T>() { Value::Null } else { Value::Object(args) };
    serde_path_to_error::deserialize(args).map_err(|error| {
        // What serde says shows the value.
        let path = error.path().to_string();
        let name = path.split(['.', '[']).next().unwrap_or_default();
        let text = match schema.get("properties").and_then(|known| known.get(name)) {
            Some(property) => format!("`{path}` cannot be read: expected {}", expected(property)),
            None => "the arguments cannot be read".to_owned(),
        };
        ToolError { passes: Some(Box::new(BadArguments)), ..ToolError::new(text) }
    })
}

/// Holds arguments against the schema of a tool.
///
/// ```
/// use serde_json::json;
/// use superstep::tool::{ToolSpec, check_arguments};
///
/// let schema = json!({ "type": "object", "properties": { "n": { "type": "integer" } }, "additionalProperties": false });
/// let spec = ToolSpec::new("double", "Doubles a number.").with_input(schema);
/// let args = json!({ "n": "secret" });
/// let error = check_arguments(&spec, args.as_object().unwrap()).unwrap_err();
/// assert_eq!(error.message, "bad arguments for `double`: `n`: expected integer, found string");
/// ```
///
/// # Errors
/// Which arguments do not fit and what was expected, without any value.
pub fn check_arguments(spec: &ToolSpec, args: &Map<String, Value>) -> Result<(), ToolError> {
    check(spec, validator(spec).as_ref(), &Value::Object(args.clone()))
}

/// The check of a tool's schema; a schema that is none checks nothing, and is the tool's own business.
pub(super) fn validator(spec: &ToolSpec) -> Option<Schema> {
    Schema::new((*spec.input_schema).clone()).ok()
}

/// As [`check_arguments`], with the check made before; the arguments are an object.
pub(super) fn check(spec: &ToolSpec, schema: Option<&Schema>, args: &Value) -> Result<(), ToolError> {
    let named = args.as_object();
    let mut problems = named.map(|named| unknown(&spec.input_schema, named)).unwrap_or_default();
    problems.extend(named.into_iter().flat_map(|named| missing(&spec.input_schema, named)));
    let has_named = !problems.is_empty();
    let faults = schema.map(|schema| schema.blind_faults(args)).unwrap_or_default();
    // At the top a schema speaks of what is missing or too much, which was said already.
    let faults = faults.into_iter().filter(|fault| !(has_named && fault.pointer.is_empty()));
    problems.extend(faults.map(|fault| match fault.pointer.strip_prefix('/') {
        Some(place) => format!("`{place}`: {}", fault.message),
        None => fault.message,
    }));
    if problems.is_empty() {
        return Ok(());
    }
    if problems.len() > PROBLEMS {
        let more = problems.split_off(PROBLEMS).len();
        problems.push(format!("and {more} more"));
    }
    Err(ToolError::new(format!("bad arguments for `{}`: {}", spec.name, problems.join("; "))))
}

fn unknown(schema: &Value, args: &Map<String, Value>) -> Vec<String> {
    let known = schema.get("properties").and_then(Value::as_object);
    let (Some(known), Some(Value::Bool(false))) = (known, schema.get("additionalProperties")) else {
        return Vec::new();
    };
    let names: Vec<&str> = known.keys().map(String::as_str).collect();
    let unknown = args.keys().filter(|name| !known.contains_key(*name));
    let text = |name: &String| {
        let name: String = name.chars().take(64).collect();
        match names.is_empty() {
            true => format!("no argument `{name}`, it takes none"),
            false => format!("no argument `{name}`; {}", known_names(&name, &names)),
        }
    };
    unknown.map(text).collect()
}

fn missing(schema: &Value, args: &Map<String, Value>) -> Vec<String> {
    let required = schema.get("required").and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str);
    let text = |name: &str| {
        let property = schema.get("properties").and_then(|known| known.get(name)).unwrap_or(&Value::Null);
        format!("`{name}` is missing: expected {}", expected(property))
    };
    required.filter(|name| !args.contains_key(*name)).map(text).collect()
}

/// What a schema expects, in a word or two.
fn expected(schema: &Value) -> String {
    if let Some(Value::Array(values)) = schema.get("enum") {
        let values: Vec<String> = values.iter().take(12).map(Value::to_string).collect();
        return format!("one of {}", values.join(", "));
    }
    match schema.get("type") {
        Some(Value::String(name)) => match schema.get("format").and_then(Value::as_str) {
            // Of numbers the format only says how wide the Rust type is.
            Some(format) if name == "string" => format!("{name} ({format})"),
            _ => name.clone(),
        },
        Some(Value::Array(names)) => names.iter().filter_map(Value::as_str).collect::<Vec<_>>().join(" or "),
        _ => "a value of another form".to_owned(),
    }
}
