//! The delta of a value that is stored for a change, and its replay.
//!
//! The size of a delta depends on the change, not on the value. A delta that does not fit the value it is replayed
//! on belongs to another history: it is rejected and changes nothing.

use serde_json::{Map, Value};

use crate::change::{Change, Splice};
use crate::types::kind;
use crate::validation_error::ValidationError;

/// Returns the delta to store for `change`, read from the value after the change.
///
/// The full value if it was set, the new items of a list, an object of the keys set in a map, null for no change.
pub fn delta(value_after: &Value, change: &Change) -> Value {
    match change {
        Change::Unchanged => Value::Null,
        Change::Set => value_after.clone(),
        Change::Appended { from } => Value::Array(items(value_after, *from, None)),
        Change::Spliced { edits } => {
            Value::Array(edits.iter().flat_map(|edit| items(value_after, edit.at, Some(edit.inserted))).collect())
        }
        Change::Merged { set, .. } => {
            let entry = |key: &String| Some((key.clone(), value_after.get(key)?.clone()));
            Value::Object(set.iter().filter_map(entry).collect())
        }
    }
}

/// Replays a change on `current`, given its stored [`delta`].
///
/// A list or map that has not been written yet may be null.
///
/// # Errors
/// Returns an error if the change or its delta does not fit `current`, which is then unchanged.
pub fn apply_delta(current: &mut Value, change: &Change, delta: &Value) -> Result<(), ValidationError> {
    match change {
        Change::Unchanged => Ok(()),
        Change::Set => {
            *current = delta.clone();
            Ok(())
        }
        Change::Appended { from } => append(current, *from, delta),
        Change::Spliced { edits } => splice(current, edits, delta),
        Change::Merged { set, removed } => merge(current, set, removed, delta),
    }
}

fn items(list: &Value, from: usize, count: Option<usize>) -> Vec<Value> {
    let items = list.as_array().map_or(&[][..], |items| items);
    items.iter().skip(from).take(count.unwrap_or(usize::MAX)).cloned().collect()
}

fn append(current: &mut Value, from: usize, delta: &Value) -> Result<(), ValidationError> {
    let Value::Array(added) = delta else { return Err(delta_mismatch("array", delta)) };
    let present = length(current)?;
    if present != from {
        return Err(ValidationError::new(format!("expected {from} items before the append, found {present}")));
    }
    list(current).extend(added.iter().cloned());
    Ok(())
}

fn splice(current: &mut Value, edits: &[Splice], delta: &Value) -> Result<(), ValidationError> {
    let Value::Array(inserted) = delta else { return Err(delta_mismatch("array", delta)) };
    let mut length = length(current)?;
    let mut needed = 0_usize;
    for edit in edits {
        if edit.at.checked_add(edit.removed).is_none_or(|end| end > length) {
            return Err(ValidationError::new(format!(
                "the edit at index {} removes {} of {length} items",
                edit.at, edit.removed
            )));
        }
        length = (length - edit.removed).saturating_add(edit.inserted);
        needed = needed.saturating_add(edit.inserted);
    }
    if needed != inserted.len() {
        return Err(ValidationError::new(format!("the edits insert {needed} items, found {}", inserted.len())));
    }
    let list = list(current);
    let mut inserted = inserted.iter().cloned();
    for edit in edits {
        list.splice(edit.at..edit.at + edit.removed, inserted.by_ref().take(edit.inserted));
    }
    Ok(())
}

fn merge(current: &mut Value, set: &[String], removed: &[String], delta: &Value) -> Result<(), ValidationError> {
    let Value::Object(values) = delta else { return Err(delta_mismatch("object", delta)) };
    if let Some(key) = set.iter().find(|key| !values.contains_key(*key)) {
        return Err(ValidationError::new(format!("the value of the key `{key}` is missing")));
    }
    if current.is_null() {
        *current = Value::Object(Map::new());
    }
    let Value::Object(map) = current else { return Err(delta_mismatch("object", current)) };
    for key in removed {
        map.remove(key);
    }
    map.extend(set.iter().filter_map(|key| Some((key.clone(), values.get(key)?.clone()))));
    Ok(())
}

fn length(current: &Value) -> Result<usize, ValidationError> {
    match current {
        Value::Null => Ok(0),
        Value::Array(items) => Ok(items.len()),
        other => Err(delta_mismatch("array", other)),
    }
}

/// Returns the list to edit; `length` has already rejected values that cannot be a list.
fn list(current: &mut Value) -> &mut Vec<Value> {
    if !current.is_array() {
        *current = Value::Array(Vec::new());
    }
    current.as_array_mut().expect("the value was converted to a list above")
}

fn delta_mismatch(expected: &str, actual: &Value) -> ValidationError {
    ValidationError::new(format!("a stored change requires {expected}, found {}", kind(actual)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn spliced(edits: &[(usize, usize, usize)]) -> Change {
        let edits = edits.iter().map(|&(at, removed, inserted)| Splice { at, removed, inserted }).collect();
        Change::Spliced { edits }
    }

    fn merged(set: &[&str], removed: &[&str]) -> Change {
        let owned = |keys: &[&str]| keys.iter().map(|key| key.to_string()).collect();
        Change::Merged { set: owned(set), removed: owned(removed) }
    }

    /// D16: the stored delta is as large as the change.
    #[test]
    fn the_part_of_a_change_is_what_changed() {
        let list = json!([1, 2, 3, 4, 5]);
        let rows = [
            (list.clone(), Change::Unchanged, json!(null)),
            (list.clone(), Change::Set, list.clone()),
            (list.clone(), Change::Appended { from: 3 }, json!([4, 5])),
            (list.clone(), Change::Appended { from: 9 }, json!([])),
            (list.clone(), spliced(&[(0, 4, 0), (1, 0, 1), (3, 1, 2)]), json!([2, 4, 5])),
            (json!({ "a": 1, "b": 2, "c": 3 }), merged(&["a", "c"], &["x"]), json!({ "a": 1, "c": 3 })),
        ];
        for (after, change, expected) in rows {
            assert_eq!(delta(&after, &change), expected, "{change:?}");
        }
    }

    #[test]
    fn a_change_is_replayed_on_what_was_there() {
        let rows = [
            (json!([1]), Change::Unchanged, json!(null), json!([1])),
            (json!([1]), Change::Set, json!("a"), json!("a")),
            (json!([1]), Change::Appended { from: 1 }, json!([2, 3]), json!([1, 2, 3])),
            (json!(null), Change::Appended { from: 0 }, json!([1]), json!([1])),
            (json!([1, 2, 3]), spliced(&[(0, 1, 0), (2, 0, 1)]), json!([4]), json!([2, 3, 4])),
            (json!([1, 2, 3]), spliced(&[(1, 2, 1)]), json!([9]), json!([1, 9])),
            (json!({ "a": 1, "b": 2 }), merged(&["c"], &["a"]), json!({ "c": 3 }), json!({ "b": 2, "c": 3 })),
            (json!(null), merged(&["c"], &[]), json!({ "c": 3 }), json!({ "c": 3 })),
        ];
        for (mut current, change, delta, after) in rows {
            apply_delta(&mut current, &change, &delta).expect("it fits");
            assert_eq!(current, after, "{change:?}");
        }
    }

    /// R-FWK-50: a delta of another history is rejected and changes nothing.
    #[test]
    fn a_delta_that_does_not_match_is_rejected_entirely() {
        let rows = [
            (json!([1]), Change::Appended { from: 2 }, json!([1]), "expected 2 items before the append, found 1"),
            (json!("a"), Change::Appended { from: 0 }, json!([1]), "a stored change requires array, found string"),
            (json!([]), Change::Appended { from: 0 }, json!(1), "a stored change requires array, found integer"),
            (json!([1]), spliced(&[(0, 1, 1), (1, 1, 0)]), json!([2]), "the edit at index 1 removes 1 of 1 items"),
            (
                json!([1]),
                spliced(&[(usize::MAX, 1, 0)]),
                json!([]),
                "the edit at index 18446744073709551615 removes 1 of 1 items",
            ),
            (json!([1]), spliced(&[(0, 1, 2)]), json!([2]), "the edits insert 2 items, found 1"),
            (json!({}), spliced(&[]), json!([]), "a stored change requires array, found object"),
            (json!({ "a": 1 }), merged(&["b"], &["a"]), json!({}), "the value of the key `b` is missing"),
            (json!([1]), merged(&["b"], &[]), json!({ "b": 1 }), "a stored change requires object, found array"),
            (json!(null), merged(&["b"], &[]), json!([]), "a stored change requires object, found array"),
        ];
        for (current, change, delta, message) in rows {
            let mut value = current.clone();
            let result = apply_delta(&mut value, &change, &delta).map_err(|error| error.message);
            assert_eq!((result, value), (Err(message.to_string()), current), "{change:?}");
        }
    }
}
