//! Merged maps: the reducers `merge` and `deep_merge`.
//!
//! Changes only the keys of the input. A key set to the remove marker is removed; removing a missing key is no
//! error, since two parallel nodes may both remove it. `merge` interprets the marker at its own level only.

use serde_json::{Map, Value};

use super::marker::is_remove_marker;
use crate::change::Change;
use crate::types::kind;
use crate::validation_error::ValidationError;

/// Merges one level deep; nested maps are replaced as a whole (R-GRA-20, R-GRA-21).
pub(super) fn merge(current: &mut Value, input: Value) -> Result<Change, ValidationError> {
    merge_to_depth(current, input, MergeDepth::Shallow)
}

/// Merges maps into maps at every depth, and replaces all other values (R-GRA-23).
pub(super) fn deep_merge(current: &mut Value, input: Value) -> Result<Change, ValidationError> {
    merge_to_depth(current, input, MergeDepth::Deep)
}

#[derive(Clone, Copy, PartialEq)]
enum MergeDepth {
    Shallow,
    Deep,
}

#[derive(Default)]
struct ChangedKeys {
    set: Vec<String>,
    removed: Vec<String>,
}

impl ChangedKeys {
    fn is_empty(&self) -> bool {
        self.set.is_empty() && self.removed.is_empty()
    }
}

fn merge_to_depth(current: &mut Value, input: Value, depth: MergeDepth) -> Result<Change, ValidationError> {
    let (map, input) = match (&mut *current, input) {
        (Value::Object(map), Value::Object(input)) => (map, input),
        (Value::Null, Value::Object(input)) => {
            *current = Value::Object(merged(input, depth));
            return Ok(Change::Set);
        }
        (current, input) => {
            let error = ValidationError::new(format!("cannot merge {} into {}", kind(&input), kind(current)));
            return Err(error.with_help("both values must be objects"));
        }
    };
    let keys = merge_keys(map, input, depth);
    Ok(if keys.is_empty() { Change::Unchanged } else { Change::Merged { set: keys.set, removed: keys.removed } })
}

fn merge_keys(map: &mut Map<String, Value>, input: Map<String, Value>, depth: MergeDepth) -> ChangedKeys {
    let mut keys = ChangedKeys::default();
    for (key, value) in input {
        if is_remove_marker(&value) {
            if map.remove(&key).is_some() {
                keys.removed.push(key);
            }
        } else if set_key(map, &key, value, depth) {
            keys.set.push(key);
        }
    }
    keys
}

/// Sets one key and returns true if the map changed.
fn set_key(map: &mut Map<String, Value>, key: &str, value: Value, depth: MergeDepth) -> bool {
    let value = match (depth, map.get_mut(key), value) {
        (MergeDepth::Deep, Some(Value::Object(inner)), Value::Object(input)) => {
            return !merge_keys(inner, input, depth).is_empty();
        }
        (MergeDepth::Deep, _, Value::Object(input)) => Value::Object(merged(input, depth)),
        (_, _, value) => value,
    };
    if map.get(key) == Some(&value) {
        return false;
    }
    map.insert(key.to_string(), value);
    true
}

/// Returns the merge of the input into an empty map: the input without the keys it removes.
fn merged(input: Map<String, Value>, depth: MergeDepth) -> Map<String, Value> {
    let mut map = Map::new();
    merge_keys(&mut map, input, depth);
    map
}

#[cfg(test)]
mod tests {
    use super::super::marker::remove_marker;
    use super::super::tests::check;
    use super::*;
    use serde_json::json;

    fn keys(set: &[&str], removed: &[&str]) -> Change {
        let owned = |keys: &[&str]| keys.iter().map(|key| key.to_string()).collect();
        Change::Merged { set: owned(set), removed: owned(removed) }
    }

    /// R-GRA-20: shallow, keys of the update win, nested maps are replaced as a whole.
    #[test]
    fn merge_is_shallow_and_the_update_wins() {
        let rows = [
            (
                json!({ "a": 1, "b": 2 }),
                json!({ "b": 3, "c": 4 }),
                json!({ "a": 1, "b": 3, "c": 4 }),
                keys(&["b", "c"], &[]),
            ),
            (
                json!({ "a": { "x": 1, "y": 2 } }),
                json!({ "a": { "x": 3 } }),
                json!({ "a": { "x": 3 } }),
                keys(&["a"], &[]),
            ),
            (json!({ "a": 1, "b": 2 }), json!({ "a": 1, "b": 3 }), json!({ "a": 1, "b": 3 }), keys(&["b"], &[])),
            (json!({ "a": 1 }), json!({ "a": 1 }), json!({ "a": 1 }), Change::Unchanged),
            (json!({ "a": 1 }), json!({}), json!({ "a": 1 }), Change::Unchanged),
            (json!({ "a": 1 }), json!({ "a": null }), json!({ "a": null }), keys(&["a"], &[])),
            (json!({}), json!({ "a": null }), json!({ "a": null }), keys(&["a"], &[])),
            (json!(null), json!({ "a": 1 }), json!({ "a": 1 }), Change::Set),
            (json!(null), json!({}), json!({}), Change::Set),
        ];
        for (current, input, after, change) in rows {
            check("merge", current, input, Ok((after, change)));
        }
    }

    /// R-GRA-21: a key set to `Remove` is deleted.
    #[test]
    fn merge_removes_marked_keys() {
        let removed = remove_marker();
        let rows = [
            (
                json!({ "a": 1, "b": 2 }),
                json!({ "a": removed, "c": 3 }),
                json!({ "b": 2, "c": 3 }),
                keys(&["c"], &["a"]),
            ),
            (json!({ "a": null }), json!({ "a": removed }), json!({}), keys(&[], &["a"])),
            (json!({ "b": 2 }), json!({ "a": removed }), json!({ "b": 2 }), Change::Unchanged),
            (json!(null), json!({ "a": removed, "b": 1 }), json!({ "b": 1 }), Change::Set),
        ];
        for (current, input, after, change) in rows {
            for reducer in ["merge", "deep_merge"] {
                check(reducer, current.clone(), input.clone(), Ok((after.clone(), change.clone())));
            }
        }
    }

    /// R-GRA-21: a side that is not a map is rejected; the message names both kinds.
    #[test]
    fn merge_rejects_values_that_are_not_maps() {
        let rows = [
            (json!({}), json!([1]), "cannot merge array into object"),
            (json!({}), json!(null), "cannot merge null into object"),
            (json!(null), json!("a"), "cannot merge string into null"),
            (json!([1]), json!({}), "cannot merge object into array"),
            (json!("a"), json!(1), "cannot merge integer into string"),
        ];
        for (current, input, message) in rows {
            check("merge", current.clone(), input.clone(), Err(message));
            check("deep_merge", current, input, Err(message));
        }
    }

    /// R-GRA-23: `deep_merge` merges maps at every depth, honours `Remove` there, and replaces all other values.
    #[test]
    fn deep_merge_merges_nested_maps_and_replaces_other_values() {
        let removed = remove_marker();
        let rows = [
            (
                json!({ "a": { "x": 1, "y": { "z": 2 } }, "b": 1 }),
                json!({ "a": { "y": { "w": 3 } } }),
                json!({ "a": { "x": 1, "y": { "z": 2, "w": 3 } }, "b": 1 }),
                keys(&["a"], &[]),
            ),
            (
                json!({ "a": { "x": 1, "y": 2 } }),
                json!({ "a": { "x": removed } }),
                json!({ "a": { "y": 2 } }),
                keys(&["a"], &[]),
            ),
            (
                json!({ "a": { "x": 1 } }),
                json!({ "a": { "y": removed } }),
                json!({ "a": { "x": 1 } }),
                Change::Unchanged,
            ),
            (json!({ "a": { "x": 1 } }), json!({ "a": { "x": 1 } }), json!({ "a": { "x": 1 } }), Change::Unchanged),
            (json!({ "a": { "x": 1 } }), json!({ "a": [1] }), json!({ "a": [1] }), keys(&["a"], &[])),
            (json!({ "a": [1] }), json!({ "a": [2] }), json!({ "a": [2] }), keys(&["a"], &[])),
            (
                json!({ "a": [1] }),
                json!({ "a": { "x": removed, "y": 1 } }),
                json!({ "a": { "y": 1 } }),
                keys(&["a"], &[]),
            ),
            (json!({}), json!({ "a": { "b": { "x": removed } } }), json!({ "a": { "b": {} } }), keys(&["a"], &[])),
            (json!({ "a": { "x": 1 } }), json!({ "a": null }), json!({ "a": null }), keys(&["a"], &[])),
            (json!(null), json!({ "a": { "x": removed, "y": 1 } }), json!({ "a": { "y": 1 } }), Change::Set),
        ];
        for (current, input, after, change) in rows {
            check("deep_merge", current, input, Ok((after, change)));
        }
    }
}
