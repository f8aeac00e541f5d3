//! The names of the reducers and their data form (R-GRA-12).
//!
//! Never guesses: an unknown name, a missing argument and a superfluous one are errors that list the valid names.

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::{Value, json};

use super::JsonReducer;
use crate::suggest::did_you_mean_or_list;
use crate::types::{excerpt, explain, kind, value_summary};
use crate::validation_error::ValidationError;

/// All reducers a schema can name, including `add_messages`, which reduces messages and not plain values.
pub const REDUCER_NAMES: [&str; 14] = [
    "add",
    "append",
    "merge",
    "deep_merge",
    "replace",
    "max",
    "min",
    "keep_last",
    "set_union",
    "set_once",
    "one_of",
    "merge_by",
    "capped",
    "add_messages",
];

impl JsonReducer {
    /// Parses a name, with its argument after a colon: `add`, `keep_last:10`, `merge_by:id`, `one_of:["a", "b"]`.
    ///
    /// # Errors
    /// Returns an error if the name is unknown (the help text lists the valid ones, the nearest first), or if its
    /// argument is missing, of the wrong kind, or superfluous. `add_messages` is an error here; the caller must
    /// recognise it before.
    pub fn parse(text: &str) -> Result<Self, ValidationError> {
        match text.split_once(':') {
            None => build(text, None),
            Some((name @ "merge_by", key)) => build(name, Some(&Value::from(key))),
            Some((name, argument)) => {
                let argument = serde_json::from_str(argument).unwrap_or_else(|_| Value::from(argument));
                build(name, Some(&argument))
            }
        }
    }

    /// Parses the data form: a string as for [`JsonReducer::parse`], or `{"one_of": ["a", "b"]}`,
    /// `{"keep_last": 10}`.
    ///
    /// # Errors
    /// Same as [`JsonReducer::parse`]; also returns an error if the value is neither a string nor an object with
    /// one key.
    pub fn from_data(form: &Value) -> Result<Self, ValidationError> {
        let entry = form.as_object().filter(|map| map.len() == 1).and_then(|map| map.iter().next());
        match (form, entry) {
            (Value::String(text), _) => JsonReducer::parse(text),
            (_, Some((name, argument))) => build(name, Some(argument)),
            (other, None) => {
                let error = ValidationError::new(format!("expected the name of a reducer, found {}", kind(other)));
                Err(error
                    .with_help("a reducer is a name such as `\"add\"` or `\"keep_last:10\"`, or `{\"one_of\": [..]}`"))
            }
        }
    }

    /// Returns the name with its argument, which [`JsonReducer::parse`] accepts: `add`, `keep_last:10`.
    pub fn name(&self) -> String {
        match self {
            JsonReducer::Add => "add".into(),
            JsonReducer::Append => "append".into(),
            JsonReducer::Merge => "merge".into(),
            JsonReducer::DeepMerge => "deep_merge".into(),
            JsonReducer::Replace => "replace".into(),
            JsonReducer::Max => "max".into(),
            JsonReducer::Min => "min".into(),
            JsonReducer::KeepLast(limit) => format!("keep_last:{limit}"),
            JsonReducer::SetUnion => "set_union".into(),
            JsonReducer::SetOnce => "set_once".into(),
            JsonReducer::OneOf(values) => format!("one_of:{}", json!(values)),
            JsonReducer::MergeBy(key) => format!("merge_by:{key}"),
            JsonReducer::Capped(limit) => format!("capped:{limit}"),
        }
    }
}

fn build(name: &str, argument: Option<&Value>) -> Result<JsonReducer, ValidationError> {
    let plain = match name {
        "keep_last" => return count(name, argument).map(JsonReducer::KeepLast),
        "capped" => return count(name, argument).map(JsonReducer::Capped),
        "merge_by" => return key(argument).map(JsonReducer::MergeBy),
        "one_of" => return values(argument).map(JsonReducer::OneOf),
        "add" => JsonReducer::Add,
        "append" => JsonReducer::Append,
        "merge" => JsonReducer::Merge,
        "deep_merge" => JsonReducer::DeepMerge,
        "replace" => JsonReducer::Replace,
        "max" => JsonReducer::Max,
        "min" => JsonReducer::Min,
        "set_union" => JsonReducer::SetUnion,
        "set_once" => JsonReducer::SetOnce,
        "add_messages" => {
            let error = ValidationError::new("the reducer `add_messages` merges messages, not plain values");
            return Err(error.with_help("give the field the type `messages`"));
        }
        unknown => return Err(unknown_name(unknown)),
    };
    match argument {
        None => Ok(plain),
        Some(_) => Err(ValidationError::new(format!("the reducer `{name}` takes no argument"))),
    }
}

fn unknown_name(name: &str) -> ValidationError {
    ValidationError::new(format!("unknown reducer `{}`", excerpt(name)))
        .with_help(did_you_mean_or_list(name, &REDUCER_NAMES))
}

fn count(name: &str, argument: Option<&Value>) -> Result<usize, ValidationError> {
    let count = argument.and_then(Value::as_u64).and_then(|count| usize::try_from(count).ok());
    count.ok_or_else(|| needs(name, "a number of items", argument).with_help(format!("write it like `{name}:10`")))
}

fn key(argument: Option<&Value>) -> Result<String, ValidationError> {
    let key = argument.and_then(Value::as_str).filter(|key| !key.is_empty());
    let argument_error = || needs("merge_by", "a key name", argument).with_help("write it like `merge_by:id`");
    key.map(str::to_string).ok_or_else(argument_error)
}

fn values(argument: Option<&Value>) -> Result<Vec<Value>, ValidationError> {
    let values = argument.and_then(Value::as_array).filter(|values| !values.is_empty());
    let argument_error =
        || needs("one_of", "a list of values", argument).with_help("write it like `{\"one_of\": [\"a\", \"b\"]}`");
    values.cloned().ok_or_else(argument_error)
}

fn needs(name: &str, expected: &str, argument: Option<&Value>) -> ValidationError {
    let actual = argument.map_or_else(|| "nothing".to_string(), value_summary);
    ValidationError::new(format!("the reducer `{name}` requires {expected}, found {actual}"))
}

impl Serialize for JsonReducer {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            JsonReducer::OneOf(values) => json!({ "one_of": values }).serialize(serializer),
            named => named.name().serialize(serializer),
        }
    }
}

impl<'de> Deserialize<'de> for JsonReducer {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        JsonReducer::from_data(&Value::deserialize(deserializer)?).map_err(explain)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// R-GRA-12: built-in reducers are named by a string, in the form that `fields()` returns (R-GRA-13).
    #[test]
    fn every_reducer_is_read_back_from_its_name_and_its_data() {
        let rows = [
            (json!("add"), JsonReducer::Add, "add"),
            (json!("append"), JsonReducer::Append, "append"),
            (json!("merge"), JsonReducer::Merge, "merge"),
            (json!("deep_merge"), JsonReducer::DeepMerge, "deep_merge"),
            (json!("replace"), JsonReducer::Replace, "replace"),
            (json!("max"), JsonReducer::Max, "max"),
            (json!("min"), JsonReducer::Min, "min"),
            (json!("keep_last:10"), JsonReducer::KeepLast(10), "keep_last:10"),
            (json!("set_union"), JsonReducer::SetUnion, "set_union"),
            (json!("set_once"), JsonReducer::SetOnce, "set_once"),
            (json!({ "one_of": ["a", 1] }), JsonReducer::OneOf(vec![json!("a"), json!(1)]), r#"one_of:["a",1]"#),
            (json!("merge_by:id"), JsonReducer::MergeBy("id".into()), "merge_by:id"),
            (json!("merge_by:10"), JsonReducer::MergeBy("10".into()), "merge_by:10"),
            (json!("merge_by:a:b"), JsonReducer::MergeBy("a:b".into()), "merge_by:a:b"),
            (json!("capped:0"), JsonReducer::Capped(0), "capped:0"),
        ];
        for (data, reducer, name) in rows {
            assert_eq!(JsonReducer::from_data(&data), Ok(reducer.clone()));
            assert_eq!(JsonReducer::parse(name), Ok(reducer.clone()));
            assert_eq!(reducer.name(), name);
            assert_eq!(serde_json::to_value(&reducer).expect("data"), data);
            assert_eq!(serde_json::from_value::<JsonReducer>(data).expect("a reducer"), reducer);
        }
        let rows = [
            (json!({ "keep_last": 10 }), JsonReducer::KeepLast(10)),
            (json!({ "merge_by": "id" }), JsonReducer::MergeBy("id".into())),
            (json!({ "capped": 5 }), JsonReducer::Capped(5)),
        ];
        for (data, reducer) in rows {
            assert_eq!(JsonReducer::from_data(&data), Ok(reducer));
        }
    }

    /// R-GRA-12: an unknown name is an error that lists the valid ones, the nearest first.
    #[test]
    fn an_unknown_reducer_is_rejected_with_the_valid_ones() {
        let rows = [("ADD", "add"), ("keeplast:3", "keep_last"), ("apend", "append"), ("addmessages", "add_messages")];
        for (text, nearest) in rows {
            let error = JsonReducer::parse(text).expect_err("rejected");
            let name = text.split(':').next().expect("a name");
            assert_eq!(error.message, format!("unknown reducer `{name}`"));
            let help = error.help.expect("advice");
            assert!(help.starts_with(&format!("did you mean `{nearest}`? known: `{nearest}`, ")), "{help}");
            assert!(REDUCER_NAMES.iter().all(|valid| help.contains(&format!("`{valid}`"))), "{help}");
        }
        let error = serde_json::from_value::<JsonReducer>(json!("apend")).expect_err("rejected").to_string();
        assert!(error.starts_with("unknown reducer `apend`; did you mean `append`?"), "{error}");
    }

    /// R-GRA-12: a missing, wrong or superfluous argument is rejected.
    #[test]
    fn arguments_are_checked() {
        let rows = [
            (json!("keep_last"), "the reducer `keep_last` requires a number of items, found nothing"),
            (json!("keep_last:"), "the reducer `keep_last` requires a number of items, found \"\""),
            (json!("keep_last:ten"), "the reducer `keep_last` requires a number of items, found \"ten\""),
            (json!("keep_last:-1"), "the reducer `keep_last` requires a number of items, found -1"),
            (json!({ "capped": 1.5 }), "the reducer `capped` requires a number of items, found 1.5"),
            (json!("merge_by"), "the reducer `merge_by` requires a key name, found nothing"),
            (json!("merge_by:"), "the reducer `merge_by` requires a key name, found \"\""),
            (json!("one_of"), "the reducer `one_of` requires a list of values, found nothing"),
            (json!({ "one_of": [] }), "the reducer `one_of` requires a list of values, found array of 0"),
            (json!("add:3"), "the reducer `add` takes no argument"),
            (json!({ "replace": null }), "the reducer `replace` takes no argument"),
            (json!("add_messages"), "the reducer `add_messages` merges messages, not plain values"),
            (json!(3), "expected the name of a reducer, found integer"),
            (json!({}), "expected the name of a reducer, found object"),
        ];
        for (data, message) in rows {
            assert_eq!(
                JsonReducer::from_data(&data).map_err(|error| error.message),
                Err(message.to_string()),
                "{data}"
            );
        }
    }
}
