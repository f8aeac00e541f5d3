//! One canonical form of equal JSON values, for hashes and text comparison that must not depend on key order.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

/// Sorts the keys of the value, at every depth. Needed because another crate of the build may enable the feature of
/// `serde_json` that preserves insertion order.
///
/// ```
/// use serde_json::json;
/// use superstep_core::canonical::sort_keys;
///
/// assert_eq!(sort_keys(json!({"b": 1, "a": {"d": 2, "c": 3}})).to_string(), r#"{"a":{"c":3,"d":2},"b":1}"#);
/// ```
#[must_use]
pub fn sort_keys(value: Value) -> Value {
    match value {
        Value::Object(object) => {
            let sorted: BTreeMap<String, Value> =
                object.into_iter().map(|(key, value)| (key, sort_keys(value))).collect();
            Value::Object(sorted.into_iter().collect())
        }
        Value::Array(items) => Value::Array(items.into_iter().map(sort_keys).collect()),
        other => other,
    }
}

/// Iterates over the entries of an object in the order of their keys.
pub fn sorted_entries(object: &Map<String, Value>) -> impl Iterator<Item = (&String, &Value)> {
    object.iter().collect::<BTreeMap<_, _>>().into_iter()
}
