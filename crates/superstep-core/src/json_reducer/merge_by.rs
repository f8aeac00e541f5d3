//! Lists of objects with a key: the reducer `merge_by`.
//!
//! An object replaces the object with the same key as a whole, like a message under `add_messages`; fields are not
//! merged. Items without the key, from a default or an overwrite, stay in place and match nothing.

use std::collections::BTreeMap;

use serde_json::Value;

use super::list;
use super::ordering::OrderedValue;
use crate::change::{Change, Splice};
use crate::types::{excerpt, kind};
use crate::validation_error::ValidationError;

/// Replaces items with the same key in place, appends the others (R-GRA-23).
pub(super) fn merge_by(current: &mut Value, input: Value, key: &str) -> Result<Change, ValidationError> {
    let mut new_list = Vec::new();
    let was_null = current.is_null();
    let list = match &mut *current {
        Value::Array(list) => list,
        Value::Null => &mut new_list,
        other => return Err(ValidationError::new(format!("cannot merge objects by `{key}` into {}", kind(other)))),
    };
    let items = objects(input, key)?;
    let slots = slots(list, &items, key);
    let change = upsert(list, items, slots);
    if was_null {
        *current = Value::Array(new_list);
        return Ok(Change::Set);
    }
    Ok(change)
}

/// Returns the objects of the input, each with a usable key; a single object counts as a list of one.
fn objects(input: Value, key: &str) -> Result<Vec<Value>, ValidationError> {
    let (items, is_list) = match input {
        Value::Array(items) => (items, true),
        item => (vec![item], false),
    };
    for (at, item) in items.iter().enumerate() {
        let pointer = if is_list { format!("/{at}") } else { String::new() };
        let Some(map) = item.as_object() else {
            return Err(ValidationError::new(format!("expected object with `{}`, found {}", excerpt(key), kind(item)))
                .with_pointer(pointer));
        };
        match map.get(key) {
            None => {
                return Err(
                    ValidationError::new(format!("the object has no key `{}`", excerpt(key))).with_pointer(pointer)
                );
            }
            Some(identity) if !is_identity(identity) => {
                let message =
                    format!("the key `{}` must be a string, number or boolean, found {}", excerpt(key), kind(identity));
                return Err(ValidationError::new(message).with_pointer(format!("{pointer}/{}", escape(key))));
            }
            Some(_) => {}
        }
    }
    Ok(items)
}

/// Returns the target index of each item: the index of the first item with its key, or the next index after the
/// end.
fn slots(list: &[Value], items: &[Value], key: &str) -> Vec<usize> {
    let mut indexes = BTreeMap::new();
    for (at, identity) in list.iter().enumerate().filter_map(|(at, item)| Some((at, item.get(key)?))) {
        if is_identity(identity) {
            indexes.entry(OrderedValue(identity)).or_insert(at);
        }
    }
    let mut end = list.len();
    let identities = items.iter().filter_map(|item| item.get(key));
    let slot = |identity| {
        *indexes.entry(OrderedValue(identity)).or_insert_with(|| {
            end += 1;
            end - 1
        })
    };
    identities.map(slot).collect()
}

fn upsert(list: &mut Vec<Value>, items: Vec<Value>, slots: Vec<usize>) -> Change {
    // A map, because a later item of one input replaces an earlier one with the same key.
    let placed: BTreeMap<usize, Value> = slots.into_iter().zip(items).collect();
    let before = list.len();
    let mut edits: Vec<Splice> = Vec::new();
    let mut added = Vec::new();
    for (at, item) in placed {
        match list.get_mut(at) {
            Some(old) if *old == item => {}
            Some(old) => {
                *old = item;
                record(&mut edits, Splice { at, removed: 1, inserted: 1 });
            }
            None => added.push(item),
        }
    }
    let inserted = added.len();
    let change = list::extend(list, added);
    if edits.is_empty() {
        return change;
    }
    if inserted > 0 {
        record(&mut edits, Splice { at: before, removed: 0, inserted });
    }
    Change::Spliced { edits }
}

/// Adds a splice, merged with the previous one if they are adjacent.
fn record(edits: &mut Vec<Splice>, edit: Splice) {
    match edits.last_mut() {
        Some(last) if last.at + last.inserted == edit.at => {
            last.removed += edit.removed;
            last.inserted += edit.inserted;
        }
        _ => edits.push(edit),
    }
}

fn is_identity(value: &Value) -> bool {
    matches!(value, Value::String(_) | Value::Number(_) | Value::Bool(_))
}

/// Escapes a key for a JSON pointer.
fn escape(key: &str) -> String {
    key.replace('~', "~0").replace('/', "~1")
}

#[cfg(test)]
mod tests {
    use super::super::JsonReducer;
    use super::super::tests::check;
    use super::*;
    use serde_json::json;

    fn item(id: &str, value: i64) -> Value {
        json!({ "id": id, "v": value })
    }

    fn spliced(edits: &[(usize, usize, usize)]) -> Change {
        let edits = edits.iter().map(|&(at, removed, inserted)| Splice { at, removed, inserted }).collect();
        Change::Spliced { edits }
    }

    /// R-GRA-23: objects are upserted by their key, in order of first appearance.
    #[test]
    fn merge_by_replaces_in_place_and_appends_the_rest() {
        let (a, b, c, d) = (item("a", 1), item("b", 1), item("c", 1), item("d", 1));
        let (a2, b2) = (item("a", 2), item("b", 2));
        let rows = [
            (json!([a, b]), json!([b2, c]), json!([a, b2, c]), spliced(&[(1, 1, 2)])),
            (json!([a, b, c]), json!([a2, d]), json!([a2, b, c, d]), spliced(&[(0, 1, 1), (3, 0, 1)])),
            (json!([a, b, c]), json!([b2, a2]), json!([a2, b2, c]), spliced(&[(0, 2, 2)])),
            (json!([a]), json!([c, b]), json!([a, c, b]), Change::Appended { from: 1 }),
            (json!([a]), b.clone(), json!([a, b]), Change::Appended { from: 1 }),
            (json!([a]), json!([a2, a]), json!([a]), Change::Unchanged),
            (json!([a]), json!([b, b2]), json!([a, b2]), Change::Appended { from: 1 }),
            (json!([a]), json!([a]), json!([a]), Change::Unchanged),
            (json!([a]), json!([]), json!([a]), Change::Unchanged),
            (json!([a, a]), json!([a2]), json!([a2, a]), spliced(&[(0, 1, 1)])),
            (
                json!([7, { "x": 1 }, { "id": null }, a]),
                json!([a2]),
                json!([7, { "x": 1 }, { "id": null }, a2]),
                spliced(&[(3, 1, 1)]),
            ),
            (json!(null), json!([b, a, b2]), json!([b2, a]), Change::Set),
            (json!(null), json!([]), json!([]), Change::Set),
            (
                json!([{ "id": 1 }]),
                json!([{ "id": "1" }, { "id": 1.0 }]),
                json!([{ "id": 1 }, { "id": "1" }, { "id": 1.0 }]),
                Change::Appended { from: 1 },
            ),
        ];
        for (current, input, after, change) in rows {
            check("merge_by:id", current, input, Ok((after, change)));
        }
    }

    /// R-GRA-23: items without a usable key are rejected with their location.
    #[test]
    fn merge_by_rejects_items_without_the_key() {
        let rows = [
            (json!([]), json!([{ "id": 1 }, { "x": 1 }]), "the object has no key `id`", "/1"),
            (json!([]), json!({ "x": 1 }), "the object has no key `id`", ""),
            (json!([]), json!([1]), "expected object with `id`, found integer", "/0"),
            (json!([]), json!(null), "expected object with `id`, found null", ""),
            (
                json!([]),
                json!([{ "id": null }]),
                "the key `id` must be a string, number or boolean, found null",
                "/0/id",
            ),
            (json!("a"), json!([]), "cannot merge objects by `id` into string", ""),
            (json!({}), json!([]), "cannot merge objects by `id` into object", ""),
        ];
        for (current, input, message, pointer) in rows {
            check("merge_by:id", current.clone(), input.clone(), Err(message));
            let error = JsonReducer::MergeBy("id".into()).reduce(&mut current.clone(), input).expect_err("rejected");
            assert_eq!(error.pointer, pointer);
        }
        let error =
            JsonReducer::MergeBy("a/b".into()).reduce(&mut json!([]), json!({ "a/b": [] })).expect_err("rejected");
        assert_eq!(error.pointer, "/a~1b");
    }
}
