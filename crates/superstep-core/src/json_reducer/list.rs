//! Growing lists: the reducers `append`, `keep_last`, `capped` and `set_union`.
//!
//! All convert each side to a list first: null is the empty list, an array is itself, any other value (also a map)
//! is one item. None copies an existing item.

use std::collections::BTreeSet;

use serde_json::Value;

use super::ordering::OrderedValue;
use crate::change::{Change, Splice};
use crate::validation_error::ValidationError;

/// Concatenates both sides as lists (R-GRA-19).
pub(super) fn append(current: &mut Value, input: Value) -> Change {
    let added = wrap(input);
    if let Value::Array(list) = current {
        return extend(list, added);
    }
    let mut list = wrap(current.take());
    list.extend(added);
    *current = Value::Array(list);
    Change::Set
}

/// Appends, then drops the oldest items until `limit` are left (R-GRA-32).
pub(super) fn keep_last(current: &mut Value, input: Value, limit: usize) -> Change {
    let mut added = wrap(input);
    let Value::Array(list) = current else {
        let mut list = wrap(current.take());
        list.extend(added);
        list.drain(..list.len().saturating_sub(limit));
        *current = Value::Array(list);
        return Change::Set;
    };
    let surplus = (list.len() + added.len()).saturating_sub(limit);
    if is_same_after(list, &added, surplus) {
        return Change::Unchanged;
    }
    let from_front = surplus.min(list.len());
    added.drain(..surplus - from_front);
    list.drain(..from_front);
    if from_front == 0 {
        return extend(list, added);
    }
    let (retained, inserted) = (list.len(), added.len());
    list.extend(added);
    Change::Spliced { edits: shifted(from_front, retained, inserted) }
}

/// Appends, unless that makes the list longer than `limit` (R-GRA-23).
pub(super) fn capped(current: &mut Value, input: Value, limit: usize) -> Result<Change, ValidationError> {
    let (present, added) = (length(current), length(&input));
    if added > 0 && present + added > limit {
        let error = ValidationError::new(format!("{present} items plus {added} more exceed the cap of {limit}"));
        return Err(error.with_help("write fewer items, overwrite the list, or use `keep_last` to drop the oldest"));
    }
    Ok(append(current, input))
}

/// Appends the missing values, each once, in order of first appearance (R-GRA-33).
pub(super) fn set_union(current: &mut Value, input: Value) -> Change {
    let was_list = current.is_array();
    let (mut list, added) = (wrap(current.take()), wrap(input));
    let from = list.len();
    let first: Vec<bool> = {
        let mut seen = BTreeSet::new();
        list.iter().chain(&added).map(|item| seen.insert(OrderedValue(item))).collect()
    };
    let (first_here, first_added) = first.split_at(from);
    // The current list can have duplicates only through a default or an overwrite; the union removes those too.
    let had_duplicates = first_here.contains(&false);
    if had_duplicates {
        let mut flags = first_here.iter();
        list.retain(|_| flags.next() == Some(&true));
    }
    list.extend(added.into_iter().zip(first_added).filter(|(_, first)| **first).map(|(item, _)| item));
    let change = match (was_list && !had_duplicates, list.len() > from) {
        (false, _) => Change::Set,
        (true, true) => Change::Appended { from },
        (true, false) => Change::Unchanged,
    };
    *current = Value::Array(list);
    change
}

/// Pushes items onto an existing list.
pub(super) fn extend(list: &mut Vec<Value>, added: Vec<Value>) -> Change {
    if added.is_empty() {
        return Change::Unchanged;
    }
    let from = list.len();
    list.extend(added);
    Change::Appended { from }
}

fn wrap(value: Value) -> Vec<Value> {
    match value {
        Value::Null => Vec::new(),
        Value::Array(items) => items,
        item => vec![item],
    }
}

fn length(value: &Value) -> usize {
    match value {
        Value::Null => 0,
        Value::Array(items) => items.len(),
        _ => 1,
    }
}

/// Returns true if dropping `surplus` items from the front of `list` and `added` leaves exactly `list`; the
/// comparison ends at the first difference, nearly always the first item.
fn is_same_after(list: &[Value], added: &[Value], surplus: usize) -> bool {
    list.len() + added.len() - surplus == list.len() && list.iter().eq(list.iter().chain(added).skip(surplus))
}

/// Returns the splices of a list that lost items at its front and gained items at its end.
fn shifted(removed: usize, retained: usize, inserted: usize) -> Vec<Splice> {
    if retained == 0 {
        return vec![Splice { at: 0, removed, inserted }];
    }
    let mut edits = vec![Splice { at: 0, removed, inserted: 0 }];
    if inserted > 0 {
        edits.push(Splice { at: retained, removed: 0, inserted });
    }
    edits
}

#[cfg(test)]
mod tests {
    use super::super::tests::check;
    use super::*;
    use serde_json::json;

    fn spliced(edits: &[(usize, usize, usize)]) -> Change {
        let edits = edits.iter().map(|&(at, removed, inserted)| Splice { at, removed, inserted }).collect();
        Change::Spliced { edits }
    }

    /// R-GRA-19: null is `[]`, an array is itself, a scalar is one element, a map is one element.
    #[test]
    fn append_wraps_each_side_and_concatenates() {
        let rows = [
            (json!([1]), json!([2, 3]), json!([1, 2, 3]), Change::Appended { from: 1 }),
            (json!([1]), json!(2), json!([1, 2]), Change::Appended { from: 1 }),
            (json!([1]), json!("ab"), json!([1, "ab"]), Change::Appended { from: 1 }),
            (json!([1]), json!({ "a": 1 }), json!([1, { "a": 1 }]), Change::Appended { from: 1 }),
            (json!([1]), json!([[2]]), json!([1, [2]]), Change::Appended { from: 1 }),
            (json!([]), json!(false), json!([false]), Change::Appended { from: 0 }),
            (json!([1]), json!([]), json!([1]), Change::Unchanged),
            (json!([1]), json!(null), json!([1]), Change::Unchanged),
            (json!(null), json!([1]), json!([1]), Change::Set),
            (json!(null), json!(1), json!([1]), Change::Set),
            (json!(null), json!(null), json!([]), Change::Set),
            (json!({ "a": 1 }), json!(2), json!([{ "a": 1 }, 2]), Change::Set),
            (json!("a"), json!(null), json!(["a"]), Change::Set),
        ];
        for (current, input, after, change) in rows {
            check("append", current, input, Ok((after, change)));
        }
    }

    /// R-GRA-32: 8 current and 5 new items leave the last 10, in order.
    #[test]
    fn keep_last_ten_of_eight_and_five() {
        let change = spliced(&[(0, 3, 0), (5, 0, 5)]);
        let after = json!([4, 5, 6, 7, 8, 9, 10, 11, 12, 13]);
        check("keep_last:10", json!([1, 2, 3, 4, 5, 6, 7, 8]), json!([9, 10, 11, 12, 13]), Ok((after, change)));
    }

    /// R-GRA-23, R-GRA-32: the edge cases of `keep_last`.
    #[test]
    fn keep_last_drops_the_oldest_and_records_exact_splices() {
        let rows = [
            (json!([1]), json!([2]), json!([1, 2]), Change::Appended { from: 1 }),
            (json!([1, 2]), json!(3), json!([1, 2, 3]), Change::Appended { from: 2 }),
            (json!([1, 2, 3]), json!(4), json!([2, 3, 4]), spliced(&[(0, 1, 0), (2, 0, 1)])),
            (json!([1, 2, 3]), json!([4, 5, 6, 7]), json!([5, 6, 7]), spliced(&[(0, 3, 3)])),
            (json!([]), json!([1, 2, 3, 4]), json!([2, 3, 4]), Change::Appended { from: 0 }),
            (json!([1, 2, 3]), json!(null), json!([1, 2, 3]), Change::Unchanged),
            (json!([7, 7, 7]), json!([7]), json!([7, 7, 7]), Change::Unchanged),
            (json!([1, 2, 3]), json!([1, 2, 3]), json!([1, 2, 3]), Change::Unchanged),
            // Too long by a default or an overwrite: truncated at the next write.
            (json!([1, 2, 3, 4, 5]), json!([]), json!([3, 4, 5]), spliced(&[(0, 2, 0)])),
            (json!(null), json!([1, 2, 3, 4]), json!([2, 3, 4]), Change::Set),
            (json!("a"), json!([1, 2, 3]), json!([1, 2, 3]), Change::Set),
        ];
        for (current, input, after, change) in rows {
            check("keep_last:3", current, input, Ok((after, change)));
        }
        check("keep_last:0", json!([]), json!([1]), Ok((json!([]), Change::Unchanged)));
        check("keep_last:0", json!([1]), json!([2]), Ok((json!([]), spliced(&[(0, 1, 0)]))));
    }

    /// R-GRA-33: `[a,b]` with `[b,c]` is `[a,b,c]`, in order of first appearance.
    #[test]
    fn set_union_keeps_first_appearances() {
        let rows = [
            (json!(["a", "b"]), json!(["b", "c"]), json!(["a", "b", "c"]), Change::Appended { from: 2 }),
            (json!(["a"]), json!(["c", "b", "c"]), json!(["a", "c", "b"]), Change::Appended { from: 1 }),
            (json!(["a"]), json!(["a"]), json!(["a"]), Change::Unchanged),
            (json!(["a"]), json!("b"), json!(["a", "b"]), Change::Appended { from: 1 }),
            (json!(["a"]), json!(null), json!(["a"]), Change::Unchanged),
            (
                json!([1]),
                json!([1.0, "1", [1], { "a": 1 }]),
                json!([1, 1.0, "1", [1], { "a": 1 }]),
                Change::Appended { from: 1 },
            ),
            (
                json!([{ "a": [1] }]),
                json!([{ "a": [1] }, { "a": [2] }]),
                json!([{ "a": [1] }, { "a": [2] }]),
                Change::Appended { from: 1 },
            ),
            (json!(["a", "a", "b"]), json!(["b", "c"]), json!(["a", "b", "c"]), Change::Set),
            (json!(null), json!(["b", "b"]), json!(["b"]), Change::Set),
            (json!("a"), json!(["a"]), json!(["a"]), Change::Set),
        ];
        for (current, input, after, change) in rows {
            check("set_union", current, input, Ok((after, change)));
        }
    }

    /// R-GRA-23: `capped` appends up to its limit and rejects more.
    #[test]
    fn capped_rejects_growth_beyond_its_limit() {
        let rows = [
            (json!([1]), json!([2, 3]), json!([1, 2, 3]), Change::Appended { from: 1 }),
            (json!(null), json!(1), json!([1]), Change::Set),
            (json!([1, 2, 3]), json!([]), json!([1, 2, 3]), Change::Unchanged),
            (json!([1, 2, 3, 4]), json!(null), json!([1, 2, 3, 4]), Change::Unchanged),
        ];
        for (current, input, after, change) in rows {
            check("capped:3", current, input, Ok((after, change)));
        }
        check("capped:3", json!([1, 2]), json!([3, 4]), Err("2 items plus 2 more exceed the cap of 3"));
        check("capped:3", json!([1, 2, 3]), json!({}), Err("3 items plus 1 more exceed the cap of 3"));
        check("capped:3", json!(null), json!([1, 2, 3, 4]), Err("0 items plus 4 more exceed the cap of 3"));
    }

    /// An append costs as much as the appended items, so the list itself is not reallocated if its
    /// capacity suffices.
    #[test]
    fn appending_pushes_in_place() {
        let mut current = Value::Array(Vec::with_capacity(8));
        append(&mut current, json!(["a"]));
        let before = current.as_array().expect("a list").as_ptr();
        append(&mut current, json!(["b", "c"]));
        assert_eq!(current.as_array().expect("a list").as_ptr(), before);
    }
}
