//! The named reducers over JSON values, for schemas that are declared at run time (R-GRA-12 to R-GRA-23).
//!
//! A reducer works in place and returns exactly what it changed. It never clones the current value, never leaves a
//! partial change behind, and does not depend on a clock, randomness or hash order. `apply` decides which writes
//! reach it, and in which order; `add_messages` is in the `message` module.

mod arithmetic;
mod change_replay;
mod list;
mod map;
mod marker;
mod merge_by;
mod name;
pub(crate) mod ordering;

use serde_json::Value;

use crate::change::Change;
use crate::types::not_one_of;
use crate::validation_error::ValidationError;

pub use change_replay::{apply_delta, delta};
pub use marker::{as_overwrite, is_remove_marker, overwrite_marker, remove_marker};
pub use name::REDUCER_NAMES;

/// A pure function `(current, input) -> new` over JSON values; null stands for a value that has not been written
/// yet.
///
/// ```
/// use serde_json::json;
/// use superstep_core::change::Change;
/// use superstep_core::json_reducer::JsonReducer;
/// let mut items = json!(["a"]);
/// let change = JsonReducer::parse("add")?.reduce(&mut items, json!(["b", "c"]))?;
/// assert_eq!((items, change), (json!(["a", "b", "c"]), Change::Appended { from: 1 }));
/// # Ok::<(), superstep_core::validation_error::ValidationError>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum JsonReducer {
    /// Concatenates arrays, sums numbers, joins strings; other kinds are rejected.
    Add,
    /// Converts both sides to lists (null is empty, a scalar or map one item) and concatenates them.
    Append,
    /// Merges maps one level deep; keys of the input win, a key set to the remove marker is removed.
    Merge,
    /// Merges maps at every depth; any other pair of values is replaced.
    DeepMerge,
    /// Always takes the input.
    Replace,
    /// Takes the greater of two numbers, or of two strings by code point.
    Max,
    /// Takes the lesser of two numbers, or of two strings by code point.
    Min,
    /// Appends like `Append`, then keeps only this many items at the end.
    KeepLast(usize),
    /// Appends like `Append`, without duplicates, in order of first appearance.
    SetUnion,
    /// Keeps the first value that is not null; later values are ignored.
    SetOnce,
    /// Takes the input, which must be one of these values.
    OneOf(Vec<Value>),
    /// A list of objects: an object replaces the one with the same value of this key in place, other objects are
    /// appended.
    MergeBy(String),
    /// Appends like `Append`; growth beyond this many items is rejected.
    Capped(usize),
}

impl JsonReducer {
    /// Reduces `input` into `current` and returns the change, in time proportional to the input for `Add`,
    /// `Append`, `Capped` and `Merge`.
    ///
    /// `Change::Unchanged` means that the value is equal to the previous one. A change from null, or from a value
    /// that is not a list for the reducers that make a list, is reported as `Change::Set`. An overwrite does not
    /// use the reducer: reduce the result of [`as_overwrite`] with [`JsonReducer::Replace`] (R-GRA-35).
    ///
    /// # Errors
    /// Returns an error if the kinds do not fit the reducer, a sum overflows, a cap would be exceeded, a value is
    /// not among those allowed, or a key is missing. Then `current` is unchanged.
    pub fn reduce(&self, current: &mut Value, input: Value) -> Result<Change, ValidationError> {
        match self {
            JsonReducer::Add => arithmetic::add(current, input),
            JsonReducer::Append => Ok(list::append(current, input)),
            JsonReducer::Merge => map::merge(current, input),
            JsonReducer::DeepMerge => map::deep_merge(current, input),
            JsonReducer::Replace => Ok(replace(current, input)),
            JsonReducer::Max => arithmetic::max(current, input),
            JsonReducer::Min => arithmetic::min(current, input),
            JsonReducer::KeepLast(limit) => Ok(list::keep_last(current, input, *limit)),
            JsonReducer::SetUnion => Ok(list::set_union(current, input)),
            JsonReducer::SetOnce if current.is_null() => Ok(replace(current, input)),
            JsonReducer::SetOnce => Ok(Change::Unchanged),
            JsonReducer::OneOf(values) if values.contains(&input) => Ok(replace(current, input)),
            JsonReducer::OneOf(values) => Err(not_one_of(values, &input)),
            JsonReducer::MergeBy(key) => merge_by::merge_by(current, input, key),
            JsonReducer::Capped(limit) => list::capped(current, input, *limit),
        }
    }

    /// Returns true if the reducer would silently keep the current value, so that the caller can warn or reject.
    ///
    /// Only `SetOnce` does that (R-GRA-39). A default does not count as a write: pass null if the field only has
    /// its default.
    pub fn ignores_input(&self, current: &Value, input: &Value) -> bool {
        *self == JsonReducer::SetOnce && !current.is_null() && current != input
    }

    /// Returns true if the reducer can fail; a reducer that cannot fail needs no undo step before several fields
    /// are applied together.
    pub fn is_fallible(&self) -> bool {
        match self {
            JsonReducer::Append
            | JsonReducer::Replace
            | JsonReducer::KeepLast(_)
            | JsonReducer::SetUnion
            | JsonReducer::SetOnce => false,
            JsonReducer::Add
            | JsonReducer::Merge
            | JsonReducer::DeepMerge
            | JsonReducer::Max
            | JsonReducer::Min
            | JsonReducer::OneOf(_)
            | JsonReducer::MergeBy(_)
            | JsonReducer::Capped(_) => true,
        }
    }
}

fn replace(current: &mut Value, input: Value) -> Change {
    if *current == input {
        return Change::Unchanged;
    }
    *current = input;
    Change::Set
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::canonical::sort_keys;
    use proptest::prelude::*;
    use serde_json::json;

    /// Checks one row: the current value and the input, and the expected value with its change, or the error
    /// message.
    pub(crate) fn check(reducer: &str, current: Value, input: Value, expected: Result<(Value, Change), &str>) {
        let row = format!("{reducer}: {current} <- {input}");
        let reducer = JsonReducer::parse(reducer).expect(&row);
        let mut value = current.clone();
        let result = reducer.reduce(&mut value, input);
        match expected {
            Ok((after, change)) => {
                assert_eq!((&result, &value), (&Ok(change.clone()), &after), "{row}");
                let mut replayed = current;
                apply_delta(&mut replayed, &change, &delta(&after, &change)).expect(&row);
                assert_eq!(replayed, after, "{row}: replayed");
            }
            Err(message) => {
                assert_eq!(result.map_err(|error| error.message), Err(message.to_string()), "{row}");
                assert_eq!(value, current, "{row}: a failed reduction changes nothing");
            }
        }
    }

    /// R-GRA-22: always the update; an equal value is no change.
    #[test]
    fn replace_takes_the_update() {
        let rows = [
            (json!(null), json!(1), Change::Set),
            (json!([1]), json!("a"), Change::Set),
            (json!({ "a": 1 }), json!(null), Change::Set),
            (json!({ "a": 1 }), json!({ "a": 1 }), Change::Unchanged),
            (json!(1), json!(1.0), Change::Set),
        ];
        for (current, input, change) in rows {
            check("replace", current, input.clone(), Ok((input, change)));
        }
    }

    /// R-GRA-23, R-GRA-39, R-DEB-12: the first value that is not null stays; an ignored write can be detected.
    #[test]
    fn set_once_keeps_the_first_value() {
        let topic = json!("Should AI be regulated?");
        let other = json!("Different topic");
        check("set_once", json!(null), topic.clone(), Ok((topic.clone(), Change::Set)));
        check("set_once", json!(null), json!(null), Ok((json!(null), Change::Unchanged)));
        check("set_once", topic.clone(), other.clone(), Ok((topic.clone(), Change::Unchanged)));
        check("set_once", json!(""), topic.clone(), Ok((json!(""), Change::Unchanged)));
        check("set_once", json!(false), json!(true), Ok((json!(false), Change::Unchanged)));
        let rows = [
            (JsonReducer::SetOnce, topic.clone(), other.clone(), true),
            (JsonReducer::SetOnce, topic.clone(), json!(null), true),
            (JsonReducer::SetOnce, topic.clone(), topic.clone(), false),
            (JsonReducer::SetOnce, json!(null), topic.clone(), false),
            (JsonReducer::Replace, topic, other, false),
        ];
        for (reducer, current, input, expected) in rows {
            assert_eq!(reducer.ignores_input(&current, &input), expected, "{reducer:?} {current} {input}");
        }
    }

    /// R-GRA-23: the update must be one of the values.
    #[test]
    fn one_of_rejects_other_values() {
        let reducer = r#"one_of:["low", "high", null, 3]"#;
        check(reducer, json!("low"), json!("high"), Ok((json!("high"), Change::Set)));
        check(reducer, json!("low"), json!("low"), Ok((json!("low"), Change::Unchanged)));
        check(reducer, json!("low"), json!(null), Ok((json!(null), Change::Set)));
        let message = r#"expected one of "low", "high", null, 3, found "hihg""#;
        check(reducer, json!("low"), json!("hihg"), Err(message));
        check(reducer, json!("low"), json!([3]), Err(r#"expected one of "low", "high", null, 3, found array of 1"#));
        let error = JsonReducer::parse(reducer)
            .expect("a known name")
            .reduce(&mut json!(3), json!("hihg"))
            .expect_err("rejected");
        assert_eq!(error.help.as_deref(), Some("did you mean `high`?"));
    }

    #[test]
    fn infallible_reducers_report_that_they_cannot_fail() {
        let never = ["append", "replace", "keep_last:3", "set_union", "set_once"];
        for reducer in all_reducers() {
            assert_eq!(reducer.is_fallible(), !never.contains(&&*reducer.name()), "{reducer:?}");
        }
    }

    fn all_reducers() -> Vec<JsonReducer> {
        let names = [
            "add",
            "append",
            "merge",
            "deep_merge",
            "replace",
            "max",
            "min",
            "keep_last:3",
            "set_union",
            "set_once",
            r#"one_of:[1, "a", [], {}]"#,
            "merge_by:id",
            "capped:3",
        ];
        names.map(|name| JsonReducer::parse(name).expect("a known name")).to_vec()
    }

    /// Small alphabets, so that equal keys, equal items and overflow happen often.
    pub(crate) fn any_value() -> impl Strategy<Value = Value> {
        let scalar = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            (-2i64..3).prop_map(Value::from),
            prop::sample::select(vec![i64::MIN, i64::MAX]).prop_map(Value::from),
            Just(Value::from(u64::MAX)),
            prop::sample::select(vec![0.0, -0.0, 1.0, -1.5, 1e300, f64::MAX]).prop_map(Value::from),
            "[abü]{0,2}".prop_map(Value::from),
        ];
        scalar.prop_recursive(3, 24, 5, |inner| {
            let id = prop_oneof![(0i64..3).prop_map(Value::from), "[ab]".prop_map(Value::from)];
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..5).prop_map(Value::from),
                prop::collection::vec((id, inner.clone()).prop_map(|(id, v)| json!({ "id": id, "v": v })), 0..5)
                    .prop_map(Value::from),
                prop::collection::btree_map("[abc]", prop_oneof![4 => inner, 1 => Just(remove_marker())], 0..4)
                    .prop_map(|map| Value::Object(map.into_iter().collect())),
            ]
        })
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(2_000))]

        /// R-GRA-34, R-GRA-45: reducing twice on clones gives one result; a failing reducer changes nothing; the
        /// stored delta replays a successful change exactly; `Unchanged` means equal, and any other change means
        /// different.
        #[test]
        fn any_fold_is_deterministic_atomic_and_replayable(
            reducer in prop::sample::select(all_reducers()),
            before in any_value(),
            input in any_value(),
        ) {
            let (mut once, mut twice) = (before.clone(), before.clone());
            let result = reducer.reduce(&mut once, input.clone());
            prop_assert_eq!(&result, &reducer.reduce(&mut twice, input));
            prop_assert_eq!(&once, &twice);
            match result {
                Err(_) => prop_assert!(reducer.is_fallible() && once == before),
                Ok(change) => {
                    prop_assert_eq!(change == Change::Unchanged, once == before);
                    let mut replayed = before;
                    apply_delta(&mut replayed, &change, &delta(&once, &change))?;
                    // Compared as text, because `0.0` equals `-0.0` as a value; sorted, because the order of keys
                    // has no meaning.
                    prop_assert_eq!(sort_keys(replayed).to_string(), sort_keys(once).to_string());
                }
            }
        }

        /// R-GRA-45: a chain of changes is replayed from its deltas alone, also through JSON (R-FWK-50).
        #[test]
        fn a_chain_of_folds_replays_from_its_parts(
            reducer in prop::sample::select(all_reducers()),
            inputs in prop::collection::vec(any_value(), 0..8),
        ) {
            let (mut value, mut replayed) = (Value::Null, Value::Null);
            for input in inputs {
                let Ok(change) = reducer.reduce(&mut value, input) else { continue };
                let stored = serde_json::to_string(&(&change, delta(&value, &change)))?;
                let (change, piece): (Change, Value) = serde_json::from_str(&stored)?;
                apply_delta(&mut replayed, &change, &piece)?;
            }
            prop_assert_eq!(sort_keys(replayed).to_string(), sort_keys(value).to_string());
        }
    }
}
