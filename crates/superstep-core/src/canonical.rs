//! One written form for equal JSON: what is hashed or compared as text must not depend on the order of keys.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

/// The same value with its keys in order: another part of a program may have asked `serde_json` to keep the order in which
/// they were put.
///
/// ```
/// use serde_json::json;
/// use superstep_core::canonical::sorted;
///
/// assert_eq!(sorted(json!({"b": 1, "a": {"d": 2, "c": 3}})).to_string(), r#"{"a":{"c":3,"d":2},"b":1}"#);
/// ```
#[must_use]
pub fn sorted(value: Value) -> Value {
    match value {
        Value::Object(object) => {
            let sorted: BTreeMap<String, Value> = object.into_iter().map(|(key, value)| (key, sorted(value))).collect();
            Value::Object(sorted.into_iter().collect())
        }
        Value::Array(items) => Value::Array(items.into_iter().map(sorted).collect()),
        other => other,
    }
}

/// The entries of an object in the order of their keys.
pub fn in_order(object: &Map<String, Value>) -> impl Iterator<Item = (&String, &Value)> {
    object.iter().collect::<BTreeMap<_, _>>().into_iter()
}
