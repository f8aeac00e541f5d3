//! The named reducers over JSON values, for schemas that are declared at run time (R-GRA-12 to R-GRA-23).
//!
//! A fold works in place and says exactly what it changed. It never clones the current value, never leaves a half-done
//! fold behind, and sees no clock, randomness or hash order. Which writes reach it, and in which order, `apply` decides;
//! `add_messages` lives with the messages.

mod arithmetic;
mod list;
mod map;
mod marker;
mod merge_by;
mod name;
pub(crate) mod order;
mod replay;

use serde_json::Value;

use crate::change::Change;
use crate::fault::Fault;
use crate::types::not_one_of;

pub use marker::{as_overwrite, is_remove_marker, overwrite_marker, remove_marker};
pub use name::REDUCER_NAMES;
pub use replay::{part, restore};

/// A pure function `(current, input) -> new` over JSON values, where null stands for a value nobody has written yet.
///
/// ```
/// use serde_json::json;
/// use superstep_core::change::Change;
/// use superstep_core::json_reducer::JsonReducer;
/// let mut items = json!(["a"]);
/// let change = JsonReducer::parse("add")?.fold(&mut items, json!(["b", "c"]))?;
/// assert_eq!((items, change), (json!(["a", "b", "c"]), Change::Appended { from: 1 }));
/// # Ok::<(), superstep_core::fault::Fault>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum JsonReducer {
    /// Arrays are concatenated, numbers summed, strings joined; nothing else can be added.
    Add,
    /// Both sides become lists (null is empty, a scalar or map one item) and are concatenated.
    Append,
    /// Maps are merged one level deep, keys of the input win, a key set to the remove marker goes.
    Merge,
    /// Maps are merged at every depth; what is not a map on both sides is replaced.
    DeepMerge,
    /// The input, always.
    Replace,
    /// The greater of two numbers, or of two strings by code point.
    Max,
    /// The lesser of two numbers, or of two strings by code point.
    Min,
    /// Like `Append`, then only the last items stay, this many.
    KeepLast(usize),
    /// Like `Append`, without duplicates, in order of first appearance.
    SetUnion,
    /// The first value that is not null; later ones are ignored.
    SetOnce,
    /// The input, which has to be one of these values.
    OneOf(Vec<Value>),
    /// A list of objects: an object whose value of this key is already there replaces that one in place, others are
    /// appended.
    MergeBy(String),
    /// Like `Append`, but growing beyond this many items is refused.
    Capped(usize),
}

impl JsonReducer {
    /// Folds `input` into `current` and says what changed, in time proportional to the input for `Add`, `Append`,
    /// `Capped` and `Merge`.
    ///
    /// `Change::Unchanged` means that the value is equal to what it was. A value that was null, or not a list for the
    /// reducers that make one of it, is reported as `Change::Set`. Overwriting goes around the reducer: fold what
    /// [`as_overwrite`] gives with [`JsonReducer::Replace`] (R-GRA-35).
    ///
    /// # Errors
    /// When the kinds do not fit the reducer, a sum overflows, a cap would be exceeded, a value is not among those
    /// allowed, or a key is missing. Then `current` is as before.
    pub fn fold(&self, current: &mut Value, input: Value) -> Result<Change, Fault> {
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

    /// Whether a fold would silently keep another value than the one written, so that the caller can warn or refuse.
    ///
    /// Only `SetOnce` does that (R-GRA-39). A default does not count as a write: pass null while only it is there.
    pub fn would_ignore(&self, current: &Value, input: &Value) -> bool {
        *self == JsonReducer::SetOnce && !current.is_null() && current != input
    }

    /// Whether a fold can fail; one that cannot needs no trial before several fields are folded together.
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
    use crate::canonical::sorted;
    use proptest::prelude::*;
    use serde_json::json;

    /// One row: what the field holds and what is written give what the field holds then and the change, or a message.
    pub(crate) fn check(reducer: &str, current: Value, input: Value, expected: Result<(Value, Change), &str>) {
        let row = format!("{reducer}: {current} <- {input}");
        let reducer = JsonReducer::parse(reducer).expect(&row);
        let mut value = current.clone();
        let found = reducer.fold(&mut value, input);
        match expected {
            Ok((after, change)) => {
                assert_eq!((&found, &value), (&Ok(change.clone()), &after), "{row}");
                let mut replayed = current;
                restore(&mut replayed, &change, &part(&after, &change)).expect(&row);
                assert_eq!(replayed, after, "{row}: replayed");
            }
            Err(message) => {
                assert_eq!(found.map_err(|fault| fault.message), Err(message.to_string()), "{row}");
                assert_eq!(value, current, "{row}: a failed fold changes nothing");
            }
        }
    }

    /// R-GRA-22: the update, always; an equal value is no change.
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

    /// R-GRA-23, R-GRA-39, R-DEB-12: the first value that is not null stays; an ignored write can be told.
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
            assert_eq!(reducer.would_ignore(&current, &input), expected, "{reducer:?} {current} {input}");
        }
    }

    /// R-GRA-23: the update has to be one of the values.
    #[test]
    fn one_of_refuses_other_values() {
        let reducer = r#"one_of:["low", "high", null, 3]"#;
        check(reducer, json!("low"), json!("high"), Ok((json!("high"), Change::Set)));
        check(reducer, json!("low"), json!("low"), Ok((json!("low"), Change::Unchanged)));
        check(reducer, json!("low"), json!(null), Ok((json!(null), Change::Set)));
        let message = r#"expected one of "low", "high", null, 3, found "hihg""#;
        check(reducer, json!("low"), json!("hihg"), Err(message));
        check(reducer, json!("low"), json!([3]), Err(r#"expected one of "low", "high", null, 3, found array of 1"#));
        let fault =
            JsonReducer::parse(reducer).expect("known").fold(&mut json!(3), json!("hihg")).expect_err("refused");
        assert_eq!(fault.help.as_deref(), Some("did you mean `high`?"));
    }

    #[test]
    fn the_reducers_that_cannot_fail_say_so() {
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
        names.map(|name| JsonReducer::parse(name).expect("known")).to_vec()
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

        /// R-GRA-34, R-GRA-45: a fold twice on clones is one result; a failing one changes nothing; the stored part
        /// replays a good one exactly; `Unchanged` means equal, and anything else means different.
        #[test]
        fn any_fold_is_deterministic_whole_and_replayable(
            reducer in prop::sample::select(all_reducers()),
            before in any_value(),
            input in any_value(),
        ) {
            let (mut once, mut twice) = (before.clone(), before.clone());
            let result = reducer.fold(&mut once, input.clone());
            prop_assert_eq!(&result, &reducer.fold(&mut twice, input));
            prop_assert_eq!(&once, &twice);
            match result {
                Err(_) => prop_assert!(reducer.is_fallible() && once == before),
                Ok(change) => {
                    prop_assert_eq!(change == Change::Unchanged, once == before);
                    let mut replayed = before;
                    restore(&mut replayed, &change, &part(&once, &change))?;
                    // Texts, because `0.0` equals `-0.0` as a value; sorted, because the order of keys says nothing.
                    prop_assert_eq!(sorted(replayed).to_string(), sorted(once).to_string());
                }
            }
        }

        /// R-GRA-45: a chain of folds is replayed from its parts alone, also through JSON (R-FWK-50).
        #[test]
        fn a_chain_of_folds_replays_from_its_parts(
            reducer in prop::sample::select(all_reducers()),
            inputs in prop::collection::vec(any_value(), 0..8),
        ) {
            let (mut value, mut replayed) = (Value::Null, Value::Null);
            for input in inputs {
                let Ok(change) = reducer.fold(&mut value, input) else { continue };
                let stored = serde_json::to_string(&(&change, part(&value, &change)))?;
                let (change, piece): (Change, Value) = serde_json::from_str(&stored)?;
                restore(&mut replayed, &change, &piece)?;
            }
            prop_assert_eq!(sorted(replayed).to_string(), sorted(value).to_string());
        }
    }
}
