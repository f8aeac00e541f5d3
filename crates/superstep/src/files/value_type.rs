//! Types of values in a file. From one table of keys (see `keys`), files are validated and their JSON Schema is
//! generated.

use serde_json::{Map, Value, json};
use superstep_core::suggest::did_you_mean_or_list;
use superstep_core::types::FieldType;

use super::condition::{CONDITION_KEYS, FIELD_CONDITION_KEYS};
use super::diagnostics::Diagnostics;
use super::keys::{COMMON_NODE_KEYS, KINDS, NodeKindSpec as NodeKind, TEST_KEYS};
use super::spanned::{SpannedKind, SpannedValue, below};

/// Type of a value.
pub(super) enum ValueType {
    /// A string.
    Text,
    /// A non-empty string.
    Name,
    /// `true` or `false`.
    Bool,
    /// An integer with this minimum.
    Integer(u64),
    /// A number of at least zero.
    Number,
    /// A positive duration in seconds.
    Seconds,
    /// One of these strings.
    Enum(&'static [&'static str]),
    /// Any value except null.
    Value,
    /// A field type, as in the state.
    Type,
    /// A JSON Schema.
    Schema,
    /// A list.
    List(&'static ValueType),
    /// A single value or a list.
    OneOrMore(&'static ValueType),
    /// A table with declared keys.
    Table(&'static [FileKey]),
    /// A table with arbitrary keys.
    Map(&'static ValueType),
    /// A number of seconds, or a table.
    SecondsOr(&'static ValueType),
    /// Fields of the state, which the schema parser validates.
    Fields,
    /// A node: a table whose keys depend on its kind.
    Node,
}

/// One key of a table.
pub(super) struct FileKey {
    pub(super) name: &'static str,
    pub(super) form: &'static ValueType,
    pub(super) required: bool,
    pub(super) description: &'static str,
}

/// Validates a value and all nested values.
pub(super) fn check(form: &ValueType, tree: &SpannedValue, pointer: &str, diagnostics: &mut Diagnostics) {
    match (form, &tree.kind) {
        (ValueType::Table(keys), SpannedKind::Map(_)) => {
            check_table(&keys.iter().collect::<Vec<_>>(), tree, pointer, diagnostics)
        }
        (ValueType::Node, SpannedKind::Map(_)) => check_node(tree, pointer, diagnostics),
        (ValueType::Map(inner), SpannedKind::Map(entries)) => {
            for entry in entries {
                check(inner, &entry.value, &below(pointer, &entry.key), diagnostics);
            }
        }
        (ValueType::List(inner) | ValueType::OneOrMore(inner), SpannedKind::List(items)) => {
            for (at, item) in items.iter().enumerate() {
                check(inner, item, &below(pointer, &at.to_string()), diagnostics);
            }
        }
        (ValueType::OneOrMore(inner), _) => check(inner, tree, pointer, diagnostics),
        (ValueType::SecondsOr(inner), SpannedKind::Map(_)) => check(inner, tree, pointer, diagnostics),
        (ValueType::Type, _) => {
            if let Err(error) = FieldType::parse(&tree.to_json()) {
                diagnostics.validation_error(pointer, error);
            }
        }
        (ValueType::Schema, SpannedKind::Map(_)) => {
            if let Err(error) = FieldType::schema(tree.to_json()) {
                diagnostics.validation_error(pointer, error);
            }
        }
        (ValueType::Enum(values), SpannedKind::Text(text)) if !values.contains(&text.as_str()) => {
            diagnostics.at(
                pointer,
                format!("unknown value `{}`", truncate_for_message(text)),
                Some(did_you_mean_or_list(text, values)),
            );
        }
        (form, _) if fits(form, &tree.kind) => {}
        (form, kind) => {
            diagnostics.at(pointer, format!("expected {}, found {}", type_name(form), describe_value(kind)), None)
        }
    }
}

fn fits(form: &ValueType, kind: &SpannedKind) -> bool {
    match (form, kind) {
        (ValueType::Text | ValueType::Enum(_), SpannedKind::Text(_))
        | (ValueType::Bool, SpannedKind::Flag(_))
        | (ValueType::Fields, SpannedKind::Map(_)) => true,
        (ValueType::Name, SpannedKind::Text(text)) => !text.is_empty(),
        (ValueType::Integer(min), SpannedKind::Number(number)) => {
            number.as_u64().is_some_and(|number| number >= *min && number <= u64::from(u32::MAX))
        }
        (ValueType::Number, SpannedKind::Number(number)) => number.as_f64().is_some_and(|number| number >= 0.0),
        (ValueType::Seconds | ValueType::SecondsOr(_), SpannedKind::Number(number)) => {
            number.as_f64().is_some_and(|seconds| seconds > 0.0 && seconds <= MAX_SECONDS)
        }
        (ValueType::Value, kind) => !matches!(kind, SpannedKind::Null),
        _ => false,
    }
}

/// Maximum duration in seconds: ten years.
const MAX_SECONDS: f64 = 315_360_000.0;

/// Returns the name of a type for messages.
fn type_name(form: &ValueType) -> String {
    match form {
        ValueType::Text | ValueType::Enum(_) => "a string".to_owned(),
        ValueType::Name => "a non-empty string".to_owned(),
        ValueType::Bool => "`true` or `false`".to_owned(),
        ValueType::Integer(min) => format!("an integer of at least {min}"),
        ValueType::Number => "a non-negative number".to_owned(),
        ValueType::Seconds => "a duration in seconds".to_owned(),
        ValueType::SecondsOr(_) => "a duration in seconds, or a table".to_owned(),
        ValueType::Value => "a value".to_owned(),
        ValueType::Type => "a type".to_owned(),
        ValueType::Schema => "a table with a JSON Schema".to_owned(),
        ValueType::List(_) => "a list".to_owned(),
        ValueType::OneOrMore(inner) => format!("{} or a list", type_name(inner)),
        ValueType::Table(_) | ValueType::Map(_) | ValueType::Fields | ValueType::Node => "a table".to_owned(),
    }
}

fn describe_value(kind: &SpannedKind) -> String {
    match kind {
        SpannedKind::Null => "null".to_owned(),
        SpannedKind::Flag(flag) => format!("`{flag}`"),
        SpannedKind::Number(number) => format!("`{number}`"),
        SpannedKind::Text(text) => format!("\"{}\"", truncate_for_message(text)),
        SpannedKind::List(items) => format!("a list of {} items", items.len()),
        SpannedKind::Map(entries) => format!("a table of {} keys", entries.len()),
    }
}

/// Truncates a string from the file to forty characters.
pub(super) fn truncate_for_message(text: &str) -> String {
    let mut short: String = text.chars().take(40).collect();
    if short.len() < text.len() {
        short.push('…');
    }
    short
}

fn check_node(tree: &SpannedValue, pointer: &str, diagnostics: &mut Diagnostics) {
    let names: Vec<&str> = KINDS.iter().map(|kind| kind.name).collect();
    let kind = match tree.get("kind").map(|tree| &tree.kind) {
        Some(SpannedKind::Text(text)) => text.as_str(),
        Some(other) => {
            let fact = format!("expected a node kind, found {}", describe_value(other));
            return diagnostics.at(&below(pointer, "kind"), fact, Some(did_you_mean_or_list("", &names)));
        }
        None => return diagnostics.at(pointer, "the node has no `kind`", Some(did_you_mean_or_list("", &names))),
    };
    let Some(NodeKind { keys, .. }) = KINDS.iter().find(|spec| spec.name == kind) else {
        let fact = format!("unknown node kind `{}`", truncate_for_message(kind));
        return diagnostics.at(&below(pointer, "kind"), fact, Some(did_you_mean_or_list(kind, &names)));
    };
    check_table(&COMMON_NODE_KEYS.iter().chain(keys.iter()).collect::<Vec<_>>(), tree, pointer, diagnostics);
}

fn check_table(keys: &[&FileKey], tree: &SpannedValue, pointer: &str, diagnostics: &mut Diagnostics) {
    for entry in tree.entries() {
        let entry_pointer = below(pointer, &entry.key);
        match keys.iter().find(|key| key.name == entry.key) {
            Some(key) => check(key.form, &entry.value, &entry_pointer, diagnostics),
            None if diagnostics.is_full() => {}
            None => {
                let names: Vec<&str> = keys.iter().map(|key| key.name).collect();
                let fact = format!("unknown key `{}`", truncate_for_message(&entry.key));
                diagnostics.at_key(&entry_pointer, fact, Some(did_you_mean_or_list(&entry.key, &names)));
            }
        }
    }
    for key in keys.iter().filter(|key| key.required && tree.get(key.name).is_none()) {
        diagnostics.at(
            pointer,
            format!("`{}` is missing", key.name),
            Some(format!("description: {}", key.description)),
        );
    }
    if keys.first().is_some_and(|first| std::ptr::eq(*first, &raw const TEST_KEYS[0])) {
        check_condition_keys(tree, pointer, diagnostics);
    }
}

/// Checks that a condition has exactly one operator, and a field if the operator requires one.
fn check_condition_keys(tree: &SpannedValue, pointer: &str, diagnostics: &mut Diagnostics) {
    let operators: Vec<&str> = CONDITION_KEYS.into_iter().filter(|key| tree.get(key).is_some()).collect();
    match operators.as_slice() {
        [operator] => {
            let reads_field = FIELD_CONDITION_KEYS.contains(operator);
            if reads_field && tree.get("field").is_none() {
                diagnostics.at(pointer, "the condition has no `field`", Some(format!("`{operator}` requires a field")));
            }
            for key in ["field", "at"].into_iter().filter(|key| !reads_field && tree.get(key).is_some()) {
                diagnostics.at_key(
                    &below(pointer, key),
                    format!("`{operator}` does not take `{key}`"),
                    Some("remove it".to_owned()),
                );
            }
        }
        [] => diagnostics.at(pointer, "the condition has no operator", Some(did_you_mean_or_list("", &CONDITION_KEYS))),
        operators => {
            let help = "combine conditions with `all` or `any`, one operator each";
            diagnostics.at(
                pointer,
                format!("the condition has {} operators: `{}`", operators.len(), operators.join("`, `")),
                Some(help.to_owned()),
            );
        }
    }
}

/// Returns the type as JSON Schema, for editors.
pub(super) fn json_schema(form: &ValueType) -> Value {
    match form {
        ValueType::Text => json!({ "type": "string" }),
        ValueType::Name => json!({ "type": "string", "minLength": 1 }),
        ValueType::Bool => json!({ "type": "boolean" }),
        ValueType::Integer(min) => json!({ "type": "integer", "minimum": min, "maximum": u32::MAX }),
        ValueType::Number => json!({ "type": "number", "minimum": 0 }),
        ValueType::Seconds => json!({ "type": "number", "exclusiveMinimum": 0, "maximum": MAX_SECONDS }),
        ValueType::SecondsOr(inner) => json!({ "anyOf": [json_schema(&ValueType::Seconds), json_schema(inner)] }),
        ValueType::Enum(values) => json!({ "enum": values }),
        ValueType::Value => json!({ "not": { "type": "null" } }),
        ValueType::Type => json!({ "type": ["string", "object"] }),
        ValueType::Schema => json!({ "type": "object" }),
        ValueType::List(inner) => json!({ "type": "array", "items": json_schema(inner) }),
        ValueType::OneOrMore(inner) => {
            let inner = json_schema(inner);
            json!({ "anyOf": [inner, { "type": "array", "items": inner }] })
        }
        // A condition may contain conditions: the only recursive type needs a named definition.
        ValueType::Table(keys) if keys.first().is_some_and(|key| std::ptr::eq(key, &raw const TEST_KEYS[0])) => {
            json!({ "$ref": "#/$defs/test" })
        }
        ValueType::Table(keys) => table_schema(keys.iter()),
        ValueType::Map(inner) => json!({ "type": "object", "additionalProperties": json_schema(inner) }),
        ValueType::Fields => json!({ "type": "object", "additionalProperties": { "type": "object" } }),
        ValueType::Node => json!({ "anyOf": KINDS.iter().map(node_schema).collect::<Vec<_>>() }),
    }
}

fn node_schema(kind: &NodeKind) -> Value {
    let mut schema = table_schema(COMMON_NODE_KEYS.iter().chain(kind.keys));
    schema["description"] = kind.description.into();
    schema["properties"]["kind"] = json!({ "const": kind.name });
    schema
}

pub(super) fn table_schema<'a>(keys: impl Iterator<Item = &'a FileKey>) -> Value {
    let (mut properties, mut required) = (Map::new(), Vec::new());
    for key in keys {
        let mut schema = json_schema(key.form);
        schema["description"] = key.description.into();
        properties.insert(key.name.to_owned(), schema);
        if key.required {
            required.push(key.name);
        }
    }
    json!({ "type": "object", "properties": properties, "required": required, "additionalProperties": false })
}
