//! The types of fields in a dynamic schema, and the check of a value against a type (R-GRA-5 to R-GRA-7).
//!
//! A check lists every violation with a JSON pointer and never changes the value. The caller decides if a violation
//! is an error, a warning or ignored, and adds the names of field, node and superstep.

mod bounds;
mod from_json_schema;
mod json_schema_validator;

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::{Map, Value, json};

use crate::suggest::did_you_mean_or_list;
use crate::time::Time;
use crate::validation_error::ValidationError;

pub use bounds::Bounds;
pub use json_schema_validator::JsonSchemaValidator;

/// The type of a field; null is accepted by `Any`, by `Nullable` and by a schema that permits null.
///
/// The data form is a name (`"integer"`, nullable: `"integer?"`), `{"nullable": ..}`, `{"enum": [..]}` or
/// `{"schema": {..}}`.
///
/// ```
/// use serde_json::json;
/// use superstep_core::types::FieldType;
/// let count = FieldType::parse(&json!("integer?"))?;
/// assert!(count.check(&json!(null)).is_ok());
/// assert_eq!(count.check(&json!("3")).unwrap_err()[0].message, "expected integer, found string");
/// # Ok::<(), superstep_core::validation_error::ValidationError>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum FieldType {
    /// Every value; the type of a field without a declared type.
    Any,
    /// `true` or `false`.
    Boolean,
    /// A number written without fraction that fits 64 bits, signed or unsigned; `1.0` is rejected.
    Integer,
    /// Every number.
    Number,
    /// Every string.
    String,
    /// Every array.
    Array,
    /// Every object.
    Object,
    /// A string that is a time of RFC 3339 with offset.
    DateTime,
    /// An array of objects; the messages reducer validates their content.
    Messages,
    /// One of these values, none of them null.
    Enum(Vec<Value>),
    /// Null or any value of the inner type.
    Nullable(Box<FieldType>),
    /// Any value that the JSON Schema accepts.
    Schema(JsonSchemaValidator),
}

/// The types with a name, in the order of R-GRA-6.
const NAMED_TYPES: [(&str, FieldType); 9] = [
    ("any", FieldType::Any),
    ("boolean", FieldType::Boolean),
    ("integer", FieldType::Integer),
    ("number", FieldType::Number),
    ("string", FieldType::String),
    ("array", FieldType::Array),
    ("object", FieldType::Object),
    ("datetime", FieldType::DateTime),
    ("messages", FieldType::Messages),
];

/// Names of these types in other languages, which no edit distance finds.
const TYPE_ALIASES: [(&str, &str); 12] = [
    ("dict", "object"),
    ("map", "object"),
    ("hash", "object"),
    ("record", "object"),
    ("list", "array"),
    ("vec", "array"),
    ("float", "number"),
    ("double", "number"),
    ("text", "string"),
    ("symbol", "string"),
    ("time", "datetime"),
    ("timestamp", "datetime"),
];

impl FieldType {
    /// Parses the data form.
    ///
    /// # Errors
    /// Returns an error if a name is unknown (the help text lists the valid ones, the nearest first), if an
    /// enumeration is empty or contains null, or if a schema is not a valid JSON Schema.
    pub fn parse(form: &Value) -> Result<Self, ValidationError> {
        match form {
            Value::String(name) => parse_name(name),
            Value::Object(map) => parse_map(map),
            other => Err(ValidationError::new(format!("expected a type, found {}", kind(other))).with_help(FORMS_HELP)),
        }
    }

    /// Creates an enumeration of `values`.
    ///
    /// # Errors
    /// Returns an error if `values` is empty or contains null.
    pub fn enumeration(values: Vec<Value>) -> Result<Self, ValidationError> {
        if values.is_empty() {
            return Err(ValidationError::new("an enum requires at least one value"));
        }
        if values.contains(&Value::Null) {
            return Err(ValidationError::new("an enum must not contain null")
                .with_help("use `{\"nullable\": {\"enum\": [..]}}`"));
        }
        Ok(FieldType::Enum(values))
    }

    /// Creates a type from a JSON Schema; the schema is compiled here, once.
    ///
    /// # Errors
    /// Returns an error if the value is not a valid JSON Schema or refers to another document.
    pub fn schema(source: Value) -> Result<Self, ValidationError> {
        JsonSchemaValidator::new(source).map(FieldType::Schema)
    }

    /// Checks a value and lists every violation, each with its location below the field.
    ///
    /// # Errors
    /// Returns the violations, at least one, in order of location.
    pub fn check(&self, value: &Value) -> Result<(), Vec<ValidationError>> {
        let errors = self.errors(value);
        if errors.is_empty() { Ok(()) } else { Err(errors) }
    }

    /// Checks an external value, and converts a time to the stored form: with offset, text without one as UTC.
    ///
    /// # Errors
    /// Same as [`FieldType::check`], except that a time may lack its offset.
    pub fn normalize(&self, value: Value) -> Result<Value, Vec<ValidationError>> {
        match (self, &value) {
            (FieldType::Nullable(inner), input) if !input.is_null() => inner.normalize(value),
            (FieldType::DateTime, Value::String(text)) => match Time::parse_system(text) {
                Ok(time) => Ok(Value::String(time.to_string())),
                Err(error) => Err(vec![error]),
            },
            _ => self.check(&value).map(|()| value),
        }
    }

    /// Returns the type as JSON Schema, as precisely as JSON Schema permits.
    pub fn to_json_schema(&self) -> Value {
        match self {
            FieldType::Any => json!({}),
            FieldType::DateTime => json!({ "type": "string", "format": "date-time" }),
            FieldType::Messages => json!({ "type": "array", "items": { "type": "object" } }),
            FieldType::Enum(values) => json!({ "enum": values }),
            FieldType::Nullable(inner) => nullable_schema(inner.to_json_schema()),
            FieldType::Schema(schema) => schema.source().clone(),
            named => json!({ "type": named.name() }),
        }
    }

    fn errors(&self, value: &Value) -> Vec<ValidationError> {
        let fits = match (self, value) {
            (FieldType::Any, _)
            | (FieldType::Nullable(_), Value::Null)
            | (FieldType::Boolean, Value::Bool(_))
            | (FieldType::Number, Value::Number(_))
            | (FieldType::String, Value::String(_))
            | (FieldType::Array, Value::Array(_))
            | (FieldType::Object, Value::Object(_)) => true,
            (FieldType::Integer, Value::Number(number)) => !number.is_f64(),
            (FieldType::DateTime, Value::String(text)) => return Time::parse(text).err().into_iter().collect(),
            (FieldType::Messages, Value::Array(items)) => return message_errors(items),
            (FieldType::Enum(values), value) => return enum_error(values, value).into_iter().collect(),
            (FieldType::Nullable(inner), value) => return inner.errors(value),
            (FieldType::Schema(schema), value) => return schema.errors(value),
            _ => false,
        };
        if fits { Vec::new() } else { vec![self.mismatch(value)] }
    }

    fn mismatch(&self, value: &Value) -> ValidationError {
        let error = ValidationError::new(format!("expected {}, found {}", self.name(), kind(value)));
        match (self, value) {
            (FieldType::Integer, Value::Number(number)) => error.with_help(format!("`{number}` has a fractional part")),
            (_, Value::Null) => error.with_help(format!("the type `{}?` accepts null", self.name())),
            _ => error,
        }
    }

    /// Returns the name of a named type; the others are only written in their own data form.
    fn name(&self) -> &'static str {
        match self {
            FieldType::Any => "any",
            FieldType::Boolean => "boolean",
            FieldType::Integer => "integer",
            FieldType::Number => "number",
            FieldType::String => "string",
            FieldType::Array => "array",
            FieldType::Object => "object",
            FieldType::DateTime => "datetime",
            FieldType::Messages => "messages",
            FieldType::Enum(_) => "enum",
            FieldType::Nullable(_) => "nullable",
            FieldType::Schema(_) => "schema",
        }
    }

    fn to_data(&self) -> Value {
        match self {
            FieldType::Enum(values) => json!({ "enum": values }),
            FieldType::Schema(schema) => json!({ "schema": schema.source() }),
            FieldType::Nullable(inner) => match inner.to_data() {
                Value::String(name) if !name.ends_with('?') => Value::String(name + "?"),
                inner => json!({ "nullable": inner }),
            },
            named => Value::String(named.name().into()),
        }
    }
}

const FORMS_HELP: &str = "a type is a name such as `\"integer\"` or `\"string?\"`, or `{\"nullable\": ..}`, \
     `{\"enum\": [..]}` or `{\"schema\": {..}}`";

fn parse_name(name: &str) -> Result<FieldType, ValidationError> {
    let (base, is_nullable) = name.strip_suffix('?').map_or((name, false), |base| (base, true));
    let Some((_, field_type)) = NAMED_TYPES.into_iter().find(|(candidate, _)| *candidate == base) else {
        let suggested =
            TYPE_ALIASES.iter().find(|(foreign, _)| foreign.eq_ignore_ascii_case(base)).map_or(base, |(_, name)| name);
        let valid: Vec<&str> = NAMED_TYPES.iter().map(|(valid, _)| *valid).collect();
        return Err(ValidationError::new(format!("unknown type `{}`", excerpt(name)))
            .with_help(did_you_mean_or_list(suggested, &valid)));
    };
    Ok(if is_nullable { FieldType::Nullable(Box::new(field_type)) } else { field_type })
}

fn parse_map(map: &Map<String, Value>) -> Result<FieldType, ValidationError> {
    let mut entries = map.iter();
    let (Some((form, argument)), None) = (entries.next(), entries.next()) else {
        return Err(ValidationError::new(format!("expected a type, found object with {} keys", map.len()))
            .with_help(FORMS_HELP));
    };
    let with_form_pointer = |error: ValidationError| {
        let pointer = format!("/{form}{}", error.pointer);
        error.with_pointer(pointer)
    };
    match (form.as_str(), argument) {
        ("nullable", inner) => {
            FieldType::parse(inner).map(|inner| FieldType::Nullable(Box::new(inner))).map_err(with_form_pointer)
        }
        ("schema", source) => FieldType::schema(source.clone()).map_err(with_form_pointer),
        ("enum", Value::Array(values)) => FieldType::enumeration(values.clone()).map_err(with_form_pointer),
        ("enum", other) => {
            Err(with_form_pointer(ValidationError::new(format!("expected array, found {}", kind(other)))))
        }
        _ => {
            let error = ValidationError::new(format!("unknown type form `{}`", excerpt(form)));
            Err(error.with_help(did_you_mean_or_list(form, &["nullable", "enum", "schema"])))
        }
    }
}

fn message_errors(items: &[Value]) -> Vec<ValidationError> {
    let invalid = items.iter().enumerate().filter(|(_, item)| !item.is_object());
    invalid
        .map(|(at, item)| {
            ValidationError::new(format!("expected object, found {}", kind(item))).with_pointer(format!("/{at}"))
        })
        .collect()
}

fn enum_error(values: &[Value], value: &Value) -> Option<ValidationError> {
    (!values.contains(value)).then(|| not_one_of(values, value))
}

/// Returns the error for a value that is not in a list, with a suggestion if both are strings.
pub(crate) fn not_one_of(values: &[Value], value: &Value) -> ValidationError {
    const MAX_LISTED: usize = 12;
    let mut list: Vec<String> = values.iter().take(MAX_LISTED).map(value_summary).collect();
    if values.len() > MAX_LISTED {
        list.push(format!("{} more", values.len() - MAX_LISTED));
    }
    let error = ValidationError::new(format!("expected one of {}, found {}", list.join(", "), value_summary(value)));
    let suggestion =
        value.as_str().and_then(|text| crate::suggest::did_you_mean(text, values.iter().filter_map(Value::as_str)));
    match suggestion {
        Some(help) => error.with_help(help),
        None => error,
    }
}

/// Makes a schema accept null too; definitions stay at the top level, where references expect them.
fn nullable_schema(inner: Value) -> Value {
    let Value::Object(mut map) = inner else { return json!({ "anyOf": [inner, { "type": "null" }] }) };
    if map.is_empty() {
        return Value::Object(map);
    }
    if let (Some(Value::String(name)), None, None) = (map.get("type"), map.get("enum"), map.get("const")) {
        let both = if name == "null" { json!("null") } else { json!([name, "null"]) };
        map.insert("type".into(), both);
        return Value::Object(map);
    }
    let mut outer = Map::new();
    for key in ["$schema", "$defs", "definitions"] {
        if let Some((key, value)) = map.remove_entry(key) {
            outer.insert(key, value);
        }
    }
    outer.insert("anyOf".into(), json!([map, { "type": "null" }]));
    Value::Object(outer)
}

/// Returns the name of the kind of a value; a number with a fraction is a `number`, without one an `integer`.
pub(crate) fn kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(number) if number.is_f64() => "number",
        Value::Number(_) => "integer",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    }
}

const MAX_EXCERPT_LENGTH: usize = 60;

/// Formats a value for a message: scalars as JSON, the others by their size.
pub(crate) fn value_summary(value: &Value) -> String {
    match value {
        Value::String(text) => format!("{:?}", excerpt(text)),
        Value::Array(items) => format!("array of {}", items.len()),
        Value::Object(map) => format!("object of {}", map.len()),
        scalar => scalar.to_string(),
    }
}

/// Returns at most sixty characters of an external text.
pub(crate) fn excerpt(text: &str) -> String {
    truncate(text, MAX_EXCERPT_LENGTH)
}

fn truncate(text: &str, limit: usize) -> String {
    match text.char_indices().nth(limit) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.into(),
    }
}

impl Serialize for FieldType {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.to_data().serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for FieldType {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        FieldType::parse(&Value::deserialize(deserializer)?).map_err(explain)
    }
}

/// Converts the error of a value into the error of a deserializer, which has one text for message and help.
pub(crate) fn explain<E: serde::de::Error>(error: ValidationError) -> E {
    match error.help {
        Some(help) => E::custom(format!("{}; {help}", error.message)),
        None => E::custom(error.message),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(form: Value) -> FieldType {
        FieldType::parse(&form).expect("a type")
    }

    fn check(form: Value, value: Value, expected: &[(&str, &str)]) {
        let errors = parse(form.clone()).check(&value).err().unwrap_or_default();
        let errors: Vec<(&str, &str)> = errors.iter().map(|error| (&*error.pointer, &*error.message)).collect();
        assert_eq!(errors, expected, "{form} {value}");
    }

    /// R-GRA-5, R-GRA-6, R-GRA-7: each type accepts its own values, and otherwise names the expected and the found
    /// type.
    #[test]
    fn a_type_accepts_its_values_and_names_what_it_found_instead() {
        let accepted = [
            ("any", vec![json!(null), json!(1), json!({})]),
            ("boolean", vec![json!(true)]),
            ("integer", vec![json!(0), json!(i64::MIN), json!(u64::MAX)]),
            ("number", vec![json!(0), json!(1.5), json!(u64::MAX)]),
            ("string", vec![json!(""), json!("é")]),
            ("array", vec![json!([]), json!([1, "a"])]),
            ("object", vec![json!({}), json!({ "a": null })]),
            ("datetime", vec![json!("2026-03-01T09:30:00Z"), json!("2026-03-01T09:30:00.123456+05:30")]),
            ("messages", vec![json!([]), json!([{ "role": "user", "content": "hi" }])]),
        ];
        for (name, values) in &accepted {
            for value in values {
                check(json!(name), value.clone(), &[]);
                check(json!(format!("{name}?")), value.clone(), &[]);
            }
            check(json!(format!("{name}?")), json!(null), &[]);
            check(json!({ "nullable": name }), json!(null), &[]);
        }
        let rejected = [
            ("integer", json!("str"), "expected integer, found string"),
            ("integer", json!(1.0), "expected integer, found number"),
            ("integer", json!(null), "expected integer, found null"),
            ("integer?", json!(true), "expected integer, found boolean"),
            ("boolean", json!(1), "expected boolean, found integer"),
            ("number", json!("1"), "expected number, found string"),
            ("string", json!([]), "expected string, found array"),
            ("string", json!(null), "expected string, found null"),
            ("array", json!({}), "expected array, found object"),
            ("object", json!([]), "expected object, found array"),
            ("object", json!(null), "expected object, found null"),
            ("datetime", json!(1), "expected datetime, found integer"),
            ("datetime", json!("2026-03-01T09:30:00"), "`2026-03-01T09:30:00` is not an RFC 3339 time with offset"),
            ("messages", json!("hi"), "expected messages, found string"),
            ("messages", json!(null), "expected messages, found null"),
        ];
        for (name, value, message) in rejected {
            check(json!(name), value, &[("", message)]);
        }
    }

    /// R-GRA-50: one check lists all violations, each with a JSON pointer.
    #[test]
    fn all_problems_are_listed_with_pointers() {
        let two = [("/0", "expected object, found integer"), ("/2", "expected object, found string")];
        check(json!("messages"), json!([1, {}, "x"]), &two);
        let schema = json!({ "schema": { "type": "array", "items": { "type": "integer" } } });
        let two = [("/1", "expected integer, found string"), ("/2", "expected integer, found null")];
        check(schema.clone(), json!([1, "a", null]), &two);
        check(schema, json!(null), &[("", "expected array, found null")]);
    }

    /// R-GRA-6: enumerations, also nullable ones; a similar value is suggested.
    #[test]
    fn an_enumeration_accepts_its_values_only() {
        let form = json!({ "enum": ["open", "closed", 3] });
        check(form.clone(), json!("open"), &[]);
        check(form.clone(), json!(3), &[]);
        check(form.clone(), json!(null), &[("", "expected one of \"open\", \"closed\", 3, found null")]);
        check(json!({ "nullable": form }), json!(null), &[]);
        let errors = parse(form).check(&json!("opne")).expect_err("rejected");
        assert_eq!(errors[0].help.as_deref(), Some("did you mean `open`?"));
    }

    /// R-GRA-12 for types: an unknown name is an error that lists the valid ones, the nearest first.
    #[test]
    fn an_unknown_type_is_rejected_with_the_nearest_name() {
        let rest = "known: `integer`, `any`, `boolean`, `number`, `string`, `array`, `object`, `datetime`, `messages`";
        let rows = [
            (json!("intger"), "unknown type `intger`", Some(format!("did you mean `integer`? {rest}"))),
            (json!("int?"), "unknown type `int?`", Some(format!("did you mean `integer`? {rest}"))),
            (json!("integer??"), "unknown type `integer??`", Some(format!("did you mean `integer`? {rest}"))),
            (json!("bytes"), "unknown type `bytes`", None),
            (json!(3), "expected a type, found integer", Some(FORMS_HELP.into())),
            (json!({}), "expected a type, found object with 0 keys", Some(FORMS_HELP.into())),
            (
                json!({ "enum": [1], "nullable": true }),
                "expected a type, found object with 2 keys",
                Some(FORMS_HELP.into()),
            ),
            (json!({ "enum": [] }), "an enum requires at least one value", None),
            (json!({ "enum": "a" }), "expected array, found string", None),
            (json!({ "enum": [null] }), "an enum must not contain null", None),
        ];
        for (form, message, help) in rows {
            let error = FieldType::parse(&form).expect_err("rejected");
            assert_eq!(error.message, message);
            assert!(help.is_none() || error.help == help, "{:?}", error.help);
        }
        let first = |name: &str| FieldType::parse(&json!(name)).expect_err("rejected").help.expect("advice");
        assert!(first("Dict").starts_with("did you mean `object`?"));
        assert!(first("list").starts_with("did you mean `array`?"));
        let error = FieldType::parse(&json!({ "nullable": { "schema": { "type": "strin" } } })).expect_err("rejected");
        assert_eq!(error.pointer, "/nullable/schema/type");
    }

    /// R-GRA-13, R-FWK-50: every type survives its data form and exports a JSON Schema.
    #[test]
    fn the_data_form_and_the_json_schema_of_each_type() {
        let tree = json!({ "$defs": { "t": { "type": "object" } }, "$ref": "#/$defs/t" });
        let rows = [
            (json!("any"), json!({})),
            (json!("any?"), json!({})),
            (json!("integer"), json!({ "type": "integer" })),
            (json!("string?"), json!({ "type": ["string", "null"] })),
            (json!("datetime"), json!({ "type": "string", "format": "date-time" })),
            (json!("messages"), json!({ "type": "array", "items": { "type": "object" } })),
            (json!({ "enum": ["a", 1] }), json!({ "enum": ["a", 1] })),
            (json!({ "nullable": { "enum": ["a"] } }), json!({ "anyOf": [{ "enum": ["a"] }, { "type": "null" }] })),
            (
                json!({ "nullable": "integer?" }),
                json!({ "anyOf": [{ "type": ["integer", "null"] }, { "type": "null" }] }),
            ),
            (json!({ "schema": tree }), tree.clone()),
            (
                json!({ "nullable": { "schema": tree } }),
                json!({ "$defs": tree["$defs"], "anyOf": [{ "$ref": "#/$defs/t" }, { "type": "null" }] }),
            ),
        ];
        for (form, schema) in rows {
            let field_type = parse(form.clone());
            assert_eq!(serde_json::to_value(&field_type).expect("data"), form);
            assert_eq!(serde_json::from_value::<FieldType>(form).expect("a type"), field_type);
            assert_eq!(field_type.to_json_schema(), schema);
            assert!(JsonSchemaValidator::new(schema).is_ok());
        }
        assert_eq!(parse(json!({ "nullable": "integer" })), parse(json!("integer?")));
        let error = serde_json::from_value::<FieldType>(json!("strng")).expect_err("rejected").to_string();
        assert!(error.contains("unknown type `strng`; did you mean `string`?"), "{error}");
    }

    /// R-FWK-95: text without offset is accepted on input only, and stored with one.
    #[test]
    fn naive_times_are_accepted_as_utc_and_rejected_later() {
        let naive = json!("2026-03-01T09:30:00.500000");
        for form in [json!("datetime"), json!("datetime?")] {
            let admitted = parse(form).normalize(naive.clone());
            assert_eq!(admitted, Ok(json!("2026-03-01T09:30:00.5Z")));
        }
        assert!(parse(json!("datetime")).check(&naive).is_err());
        assert!(parse(json!("datetime")).normalize(json!("soon")).is_err());
        assert_eq!(parse(json!("datetime?")).normalize(json!(null)), Ok(json!(null)));
        assert_eq!(parse(json!("string")).normalize(naive.clone()), Ok(naive));
        assert!(parse(json!("integer")).normalize(json!("1")).is_err());
    }

    #[test]
    fn long_values_are_cut_in_messages() {
        let long = "ü".repeat(500);
        let errors = parse(json!({ "enum": ["a"] })).check(&json!(long)).expect_err("rejected");
        assert_eq!(errors[0].message, format!("expected one of \"a\", found \"{}…\"", "ü".repeat(60)));
        assert_eq!(value_summary(&json!([1, 2])), "array of 2");
        assert_eq!(value_summary(&json!({ "a": 1 })), "object of 1");
        let many: Vec<Value> = (0..100).map(Value::from).collect();
        assert!(not_one_of(&many, &json!(-1)).message.ends_with("10, 11, 88 more, found -1"));
    }
}
