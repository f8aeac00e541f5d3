//! The two markers in a JSON update: remove this key, and overwrite without the reducer.
//!
//! A marker is recognised only by its exact shape; a map with any other key is data.

use serde_json::{Map, Value, json};

const REMOVE: &str = "__remove__";
const OVERWRITE: &str = "__overwrite__";

/// Returns the value that deletes a key under `merge` and `deep_merge`: `{"__remove__": true}` (R-GRA-21).
pub fn remove_marker() -> Value {
    json!({ REMOVE: true })
}

/// Returns true if a value is the marker of [`remove_marker`].
pub fn is_remove_marker(value: &Value) -> bool {
    value.as_object().is_some_and(|map| map.len() == 1 && map.get(REMOVE) == Some(&Value::Bool(true)))
}

/// Returns the update that replaces a value without the reducer: `{"__overwrite__": value}` (R-GRA-35).
pub fn overwrite_marker(value: Value) -> Value {
    Value::Object(Map::from_iter([(OVERWRITE.to_string(), value)]))
}

/// Extracts the value of an overwrite, in superstep's form or in that of an erased Python dataclass,
/// `{"value": .., "type": "__overwrite__"}`.
///
/// ```
/// use serde_json::json;
/// use superstep_core::json_reducer::{as_overwrite, overwrite_marker};
/// assert_eq!(as_overwrite(overwrite_marker(json!([1]))), Ok(json!([1])));
/// ```
///
/// # Errors
/// Returns the value unchanged if it is not an overwrite.
pub fn as_overwrite(value: Value) -> Result<Value, Value> {
    let Value::Object(mut map) = value else { return Err(value) };
    let is_erased = map.len() == 2 && map.get("type").and_then(Value::as_str) == Some(OVERWRITE);
    let inner = match map.len() {
        1 => map.remove(OVERWRITE),
        _ if is_erased => map.remove("value"),
        _ => None,
    };
    inner.ok_or(Value::Object(map))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// R-GRA-21: only the exact marker removes.
    #[test]
    fn only_the_exact_shape_is_a_remove_marker() {
        assert!(is_remove_marker(&remove_marker()));
        let rows = [
            json!(null),
            json!({}),
            json!({ "__remove__": false }),
            json!({ "__remove__": true, "a": 1 }),
            json!(true),
        ];
        for value in rows {
            assert!(!is_remove_marker(&value), "{value}");
        }
    }

    /// R-GRA-35: both forms of an overwrite are recognised; every other value is returned unchanged.
    #[test]
    fn an_overwrite_is_unwrapped_and_other_values_are_unchanged() {
        let rows = [
            (overwrite_marker(json!(null)), Ok(json!(null))),
            (json!({ "__overwrite__": [1, 2] }), Ok(json!([1, 2]))),
            (json!({ "value": { "a": 1 }, "type": "__overwrite__" }), Ok(json!({ "a": 1 }))),
            (overwrite_marker(overwrite_marker(json!(1))), Ok(overwrite_marker(json!(1)))),
            (json!({ "__overwrite__": 1, "b": 2 }), Err(json!({ "__overwrite__": 1, "b": 2 }))),
            (json!({ "value": 1, "type": "other" }), Err(json!({ "value": 1, "type": "other" }))),
            (json!({ "x": 1, "type": "__overwrite__" }), Err(json!({ "x": 1, "type": "__overwrite__" }))),
            (json!({ "type": "__overwrite__" }), Err(json!({ "type": "__overwrite__" }))),
            (json!({}), Err(json!({}))),
            (json!([1]), Err(json!([1]))),
        ];
        for (value, expected) in rows {
            assert_eq!(as_overwrite(value.clone()), expected, "{value}");
        }
    }
}
