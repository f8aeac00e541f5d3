//! The fold over nested maps: objects are merged into objects at every depth, everything else is replaced.
//!
//! What happens inside one value is the fold of [`JsonReducer::DeepMerge`]; a map of Rust does its first level here, so
//! that only the keys of the update are touched.

use std::collections::BTreeMap;

use serde_json::Value;

use super::map::{map_part, map_restore};
use super::{Edit, MapEdits, Reducer};
use crate::change::Change;
use crate::datum::Datum;
use crate::fault::Fault;
use crate::json_reducer::{self, JsonReducer};

/// Deep merge: objects are merged at every depth, keys of the update win, keys set to the remove marker go.
pub struct DeepMerge;

impl Reducer<Value> for DeepMerge {
    type Input = Value;

    fn name() -> String {
        "deep_merge".to_owned()
    }

    fn reduce(current: &mut Value, input: Value) -> Result<Change, Fault> {
        JsonReducer::DeepMerge.fold(current, input)
    }

    fn part(value: &Value, change: &Change) -> Datum {
        Datum::json(json_reducer::part(value, change))
    }

    fn restore(value: &mut Value, change: &Change, part: Datum) -> Result<(), Fault> {
        json_reducer::restore(value, change, &part.to_json()?)
    }
}

impl Reducer<BTreeMap<String, Value>> for DeepMerge {
    type Input = MapEdits<String, Value>;
    const FALLIBLE: bool = false;

    fn name() -> String {
        "deep_merge".to_owned()
    }

    fn reduce(current: &mut BTreeMap<String, Value>, input: MapEdits<String, Value>) -> Result<Change, Fault> {
        let (mut set, mut removed) = (Vec::new(), Vec::new());
        for (key, edit) in input.0 {
            match edit {
                Edit::Remove if current.remove(&key).is_some() => removed.push(key),
                Edit::Remove => {}
                Edit::Set(value) => {
                    if set_key(current, &key, value)? {
                        set.push(key);
                    }
                }
            }
        }
        Ok(if set.is_empty() && removed.is_empty() { Change::Unchanged } else { Change::Merged { set, removed } })
    }

    fn part(value: &BTreeMap<String, Value>, change: &Change) -> Datum {
        map_part(value, change)
    }

    fn restore(value: &mut BTreeMap<String, Value>, change: &Change, part: Datum) -> Result<(), Fault> {
        map_restore(value, change, part)
    }
}

/// Sets one key and says whether that made a difference. Folding objects never fails.
fn set_key(map: &mut BTreeMap<String, Value>, key: &str, mut value: Value) -> Result<bool, Fault> {
    if value.is_object() {
        match map.get_mut(key) {
            Some(inner @ Value::Object(_)) => {
                return JsonReducer::DeepMerge.fold(inner, value).map(|change| !change.is_unchanged());
            }
            // Folded into nothing, an object loses the keys it removes.
            _ => {
                let mut fresh = Value::Null;
                JsonReducer::DeepMerge.fold(&mut fresh, value)?;
                value = fresh;
            }
        }
    }
    let is_new = map.get(key) != Some(&value);
    if is_new {
        map.insert(key.to_owned(), value);
    }
    Ok(is_new)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::json_reducer::tests::any_value;

    proptest! {
        /// R-GRA-23: a map of Rust is folded as plain JSON is, and its changes replay.
        #[test]
        fn a_map_and_an_object_fold_alike(before in any_value(), input in any_value()) {
            let (Value::Object(before), Value::Object(input)) = (before, input) else { return Ok(()) };
            let (mut object, mut map) = (Value::Object(before.clone()), BTreeMap::from_iter(before.clone()));
            let expected = JsonReducer::DeepMerge.fold(&mut object, Value::Object(input.clone()))?;
            let edits: MapEdits<String, Value> = serde_json::from_value(Value::Object(input))?;
            let change = DeepMerge::reduce(&mut map, edits)?;
            prop_assert_eq!(&change, &expected);
            prop_assert_eq!(serde_json::to_value(&map)?, object);
            let mut replayed = BTreeMap::from_iter(before);
            let part = <DeepMerge as Reducer<BTreeMap<String, Value>>>::part(&map, &change);
            DeepMerge::restore(&mut replayed, &change, part)?;
            prop_assert_eq!(replayed, map);
        }
    }
}
