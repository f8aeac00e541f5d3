//! What a value of a file must look like: one table of keys (see `keys`), from which files are checked and their JSON
//! Schema is written.

use serde_json::{Map, Value, json};
use superstep_core::suggest::known_names;
use superstep_core::types::FieldType;

use super::keys::{COMMON, KINDS, Kind as NodeKind, TEST_KEYS};
use super::problems::Problems;
use super::test::{FIELD_WORDS, TEST_WORDS};
use super::tree::{Kind, Tree, below};

/// The form of a value.
pub(super) enum Form {
    /// A text.
    Text,
    /// A text that is not empty.
    Name,
    /// `true` or `false`.
    Flag,
    /// A whole number of at least this.
    Whole(u64),
    /// A number of at least zero.
    Number,
    /// A time in seconds, more than zero.
    Seconds,
    /// One of these words.
    Word(&'static [&'static str]),
    /// Any value but null.
    Value,
    /// A type, as fields of the state have.
    Type,
    /// A JSON Schema.
    Schema,
    /// A list.
    List(&'static Form),
    /// One, or a list of them.
    OneOrMore(&'static Form),
    /// Keys that are known.
    Table(&'static [Key]),
    /// Keys of the writer's own.
    Map(&'static Form),
    /// A number of seconds, or a table.
    SecondsOr(&'static Form),
    /// The fields of the state; the schema reads them.
    Fields,
    /// A node: a table whose keys depend on its kind.
    Node,
}

/// One key of a table.
pub(super) struct Key {
    pub(super) name: &'static str,
    pub(super) form: &'static Form,
    pub(super) required: bool,
    pub(super) says: &'static str,
}

/// Checks a value and everything in it.
pub(super) fn check(form: &Form, tree: &Tree, pointer: &str, problems: &mut Problems) {
    match (form, &tree.kind) {
        (Form::Table(keys), Kind::Map(_)) => check_table(&keys.iter().collect::<Vec<_>>(), tree, pointer, problems),
        (Form::Node, Kind::Map(_)) => check_node(tree, pointer, problems),
        (Form::Map(inner), Kind::Map(entries)) => {
            for entry in entries {
                check(inner, &entry.value, &below(pointer, &entry.key), problems);
            }
        }
        (Form::List(inner) | Form::OneOrMore(inner), Kind::List(items)) => {
            for (at, item) in items.iter().enumerate() {
                check(inner, item, &below(pointer, &at.to_string()), problems);
            }
        }
        (Form::OneOrMore(inner), _) => check(inner, tree, pointer, problems),
        (Form::SecondsOr(inner), Kind::Map(_)) => check(inner, tree, pointer, problems),
        (Form::Type, _) => {
            if let Err(fault) = FieldType::parse(&tree.to_json()) {
                problems.fault(pointer, fault);
            }
        }
        (Form::Schema, Kind::Map(_)) => {
            if let Err(fault) = FieldType::schema(tree.to_json()) {
                problems.fault(pointer, fault);
            }
        }
        (Form::Word(words), Kind::Text(text)) if !words.contains(&text.as_str()) => {
            problems.at(pointer, format!("unknown word `{}`", shown(text)), Some(known_names(text, words)));
        }
        (form, _) if fits(form, &tree.kind) => {}
        (form, kind) => problems.at(pointer, format!("expected {}, found {}", word(form), found(kind)), None),
    }
}

fn fits(form: &Form, kind: &Kind) -> bool {
    match (form, kind) {
        (Form::Text | Form::Word(_), Kind::Text(_)) | (Form::Flag, Kind::Flag(_)) | (Form::Fields, Kind::Map(_)) => {
            true
        }
        (Form::Name, Kind::Text(text)) => !text.is_empty(),
        (Form::Whole(least), Kind::Number(number)) => {
            number.as_u64().is_some_and(|number| number >= *least && number <= u64::from(u32::MAX))
        }
        (Form::Number, Kind::Number(number)) => number.as_f64().is_some_and(|number| number >= 0.0),
        (Form::Seconds | Form::SecondsOr(_), Kind::Number(number)) => {
            number.as_f64().is_some_and(|seconds| seconds > 0.0 && seconds <= SECONDS)
        }
        (Form::Value, kind) => !matches!(kind, Kind::Null),
        _ => false,
    }
}

/// The longest time that can be said: ten years.
const SECONDS: f64 = 315_360_000.0;

/// The form in the words of a message.
fn word(form: &Form) -> String {
    match form {
        Form::Text | Form::Word(_) => "a text".to_owned(),
        Form::Name => "a name".to_owned(),
        Form::Flag => "`true` or `false`".to_owned(),
        Form::Whole(least) => format!("a whole number of at least {least}"),
        Form::Number => "a number of at least 0".to_owned(),
        Form::Seconds => "a number of seconds".to_owned(),
        Form::SecondsOr(_) => "a number of seconds, or a table".to_owned(),
        Form::Value => "a value".to_owned(),
        Form::Type => "a type".to_owned(),
        Form::Schema => "a JSON Schema in a table".to_owned(),
        Form::List(_) => "a list".to_owned(),
        Form::OneOrMore(inner) => format!("{} or a list", word(inner)),
        Form::Table(_) | Form::Map(_) | Form::Fields | Form::Node => "a table".to_owned(),
    }
}

fn found(kind: &Kind) -> String {
    match kind {
        Kind::Null => "null".to_owned(),
        Kind::Flag(flag) => format!("`{flag}`"),
        Kind::Number(number) => format!("`{number}`"),
        Kind::Text(text) => format!("\"{}\"", shown(text)),
        Kind::List(items) => format!("a list of {}", items.len()),
        Kind::Map(entries) => format!("a table of {}", entries.len()),
    }
}

/// At most forty characters of a text from the file.
pub(super) fn shown(text: &str) -> String {
    let mut short: String = text.chars().take(40).collect();
    if short.len() < text.len() {
        short.push('…');
    }
    short
}

fn check_node(tree: &Tree, pointer: &str, problems: &mut Problems) {
    let names: Vec<&str> = KINDS.iter().map(|kind| kind.name).collect();
    let kind = match tree.get("kind").map(|tree| &tree.kind) {
        Some(Kind::Text(text)) => text.as_str(),
        Some(other) => {
            let fact = format!("expected the kind of the node, found {}", found(other));
            return problems.at(&below(pointer, "kind"), fact, Some(known_names("", &names)));
        }
        None => return problems.at(pointer, "the node has no `kind`", Some(known_names("", &names))),
    };
    let Some(NodeKind { keys, .. }) = KINDS.iter().find(|known| known.name == kind) else {
        let fact = format!("unknown kind of node `{}`", shown(kind));
        return problems.at(&below(pointer, "kind"), fact, Some(known_names(kind, &names)));
    };
    check_table(&COMMON.iter().chain(keys.iter()).collect::<Vec<_>>(), tree, pointer, problems);
}

fn check_table(keys: &[&Key], tree: &Tree, pointer: &str, problems: &mut Problems) {
    for entry in tree.entries() {
        let place = below(pointer, &entry.key);
        match keys.iter().find(|key| key.name == entry.key) {
            Some(key) => check(key.form, &entry.value, &place, problems),
            None if problems.is_full() => {}
            None => {
                let names: Vec<&str> = keys.iter().map(|key| key.name).collect();
                let fact = format!("unknown key `{}`", shown(&entry.key));
                problems.at_key(&place, fact, Some(known_names(&entry.key, &names)));
            }
        }
    }
    for key in keys.iter().filter(|key| key.required && tree.get(key.name).is_none()) {
        problems.at(pointer, format!("`{}` is missing", key.name), Some(format!("it is {}", key.says)));
    }
    if keys.first().is_some_and(|first| std::ptr::eq(*first, &raw const TEST_KEYS[0])) {
        check_words(tree, pointer, problems);
    }
}

/// A test has one word that says what must hold, and a field where that word looks at one.
fn check_words(tree: &Tree, pointer: &str, problems: &mut Problems) {
    let words: Vec<&str> = TEST_WORDS.into_iter().filter(|word| tree.get(word).is_some()).collect();
    match words.as_slice() {
        [word] => {
            let looks = FIELD_WORDS.contains(word);
            if looks && tree.get("field").is_none() {
                problems.at(pointer, "the test has no `field`", Some(format!("`{word}` looks at a field")));
            }
            for key in ["field", "at"].into_iter().filter(|key| !looks && tree.get(key).is_some()) {
                problems.at_key(&below(pointer, key), format!("`{word}` has no `{key}`"), Some("remove it".to_owned()));
            }
        }
        [] => problems.at(pointer, "the test does not say what must hold", Some(known_names("", &TEST_WORDS))),
        words => {
            let help = "put them under `all` or `any`, one in each test";
            problems.at(
                pointer,
                format!("the test has {} words: `{}`", words.len(), words.join("`, `")),
                Some(help.to_owned()),
            );
        }
    }
}

/// The form as JSON Schema, for editors.
pub(super) fn json_schema(form: &Form) -> Value {
    match form {
        Form::Text => json!({ "type": "string" }),
        Form::Name => json!({ "type": "string", "minLength": 1 }),
        Form::Flag => json!({ "type": "boolean" }),
        Form::Whole(least) => json!({ "type": "integer", "minimum": least, "maximum": u32::MAX }),
        Form::Number => json!({ "type": "number", "minimum": 0 }),
        Form::Seconds => json!({ "type": "number", "exclusiveMinimum": 0, "maximum": SECONDS }),
        Form::SecondsOr(inner) => json!({ "anyOf": [json_schema(&Form::Seconds), json_schema(inner)] }),
        Form::Word(words) => json!({ "enum": words }),
        Form::Value => json!({ "not": { "type": "null" } }),
        Form::Type => json!({ "type": ["string", "object"] }),
        Form::Schema => json!({ "type": "object" }),
        Form::List(inner) => json!({ "type": "array", "items": json_schema(inner) }),
        Form::OneOrMore(inner) => {
            let inner = json_schema(inner);
            json!({ "anyOf": [inner, { "type": "array", "items": inner }] })
        }
        // A test may hold tests: the one form that contains itself has a name.
        Form::Table(keys) if keys.first().is_some_and(|key| std::ptr::eq(key, &raw const TEST_KEYS[0])) => {
            json!({ "$ref": "#/$defs/test" })
        }
        Form::Table(keys) => table_schema(keys.iter()),
        Form::Map(inner) => json!({ "type": "object", "additionalProperties": json_schema(inner) }),
        Form::Fields => json!({ "type": "object", "additionalProperties": { "type": "object" } }),
        Form::Node => json!({ "anyOf": KINDS.iter().map(node_schema).collect::<Vec<_>>() }),
    }
}

fn node_schema(kind: &NodeKind) -> Value {
    let mut schema = table_schema(COMMON.iter().chain(kind.keys));
    schema["description"] = kind.says.into();
    schema["properties"]["kind"] = json!({ "const": kind.name });
    schema
}

pub(super) fn table_schema<'a>(keys: impl Iterator<Item = &'a Key>) -> Value {
    let (mut properties, mut required) = (Map::new(), Vec::new());
    for key in keys {
        let mut schema = json_schema(key.form);
        schema["description"] = key.says.into();
        properties.insert(key.name.to_owned(), schema);
        if key.required {
            required.push(key.name);
        }
    }
    json!({ "type": "object", "properties": properties, "required": required, "additionalProperties": false })
}
