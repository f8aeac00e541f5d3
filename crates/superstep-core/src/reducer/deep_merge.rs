//! The reducer over nested maps: objects are merged into objects at every depth, all other values are replaced.
//!
//! Inside one value this is the reducer [`JsonReducer::DeepMerge`]; a Rust map handles its first level here, so
//! that only the keys of the update are touched.

use std::collections::BTreeMap;

use serde_json::Value;

use super::map::{apply_map_delta, map_delta};
use super::{MapEntryUpdate, MapUpdate, Reducer};
use crate::change::Change;
use crate::json_reducer::{self, JsonReducer};
use crate::validation_error::ValidationError;
use crate::value::AnyValue;

/// Merges objects at every depth; keys of the update win, keys set to the remove marker are removed.
pub struct DeepMerge;

impl Reducer<Value> for DeepMerge {
    type Input = Value;

    fn name() -> String {
        "deep_merge".to_owned()
    }

    fn reduce(current: &mut Value, input: Value) -> Result<Change, ValidationError> {
        JsonReducer::DeepMerge.reduce(current, input)
    }

    fn delta(value: &Value, change: &Change) -> AnyValue {
        AnyValue::json(json_reducer::delta(value, change))
    }

    fn apply_delta(value: &mut Value, change: &Change, delta: AnyValue) -> Result<(), ValidationError> {
        json_reducer::apply_delta(value, change, &delta.to_json()?)
    }
}

impl Reducer<BTreeMap<String, Value>> for DeepMerge {
    type Input = MapUpdate<String, Value>;
    const FALLIBLE: bool = false;

    fn name() -> String {
        "deep_merge".to_owned()
    }

    fn reduce(
        current: &mut BTreeMap<String, Value>,
        input: MapUpdate<String, Value>,
    ) -> Result<Change, ValidationError> {
        let (mut set, mut removed) = (Vec::new(), Vec::new());
        for (key, edit) in input.0 {
            match edit {
                MapEntryUpdate::Remove if current.remove(&key).is_some() => removed.push(key),
                MapEntryUpdate::Remove => {}
                MapEntryUpdate::Set(value) => {
                    if set_key(current, &key, value)? {
                        set.push(key);
                    }
                }
            }
        }
        Ok(if set.is_empty() && removed.is_empty() { Change::Unchanged } else { Change::Merged { set, removed } })
    }

    fn delta(value: &BTreeMap<String, Value>, change: &Change) -> AnyValue {
        map_delta(value, change)
    }

    fn apply_delta(
        value: &mut BTreeMap<String, Value>,
        change: &Change,
        delta: AnyValue,
    ) -> Result<(), ValidationError> {
        apply_map_delta(value, change, delta)
    }
}

/// Sets one key and returns true if the map changed. Merging objects never fails.
fn set_key(map: &mut BTreeMap<String, Value>, key: &str, mut value: Value) -> Result<bool, ValidationError> {
    if value.is_object() {
        match map.get_mut(key) {
            Some(inner @ Value::Object(_)) => {
                return JsonReducer::DeepMerge.reduce(inner, value).map(|change| !change.is_unchanged());
            }
            // Merging into null removes the keys that the object marks for removal.
            _ => {
                let mut merged = Value::Null;
                JsonReducer::DeepMerge.reduce(&mut merged, value)?;
                value = merged;
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
        /// R-GRA-23: a Rust map is reduced like plain JSON, and its changes replay.
        #[test]
        fn rust_maps_are_reduced_like_json_objects(before in any_value(), input in any_value()) {
            let (Value::Object(before), Value::Object(input)) = (before, input) else { return Ok(()) };
            let (mut object, mut map) = (Value::Object(before.clone()), BTreeMap::from_iter(before.clone()));
            let expected = JsonReducer::DeepMerge.reduce(&mut object, Value::Object(input.clone()))?;
            let edits: MapUpdate<String, Value> = serde_json::from_value(Value::Object(input))?;
            let change = DeepMerge::reduce(&mut map, edits)?;
            prop_assert_eq!(&change, &expected);
            prop_assert_eq!(serde_json::to_value(&map)?, object);
            let mut replayed = BTreeMap::from_iter(before);
            let delta = <DeepMerge as Reducer<BTreeMap<String, Value>>>::delta(&map, &change);
            DeepMerge::apply_delta(&mut replayed, &change, delta)?;
            prop_assert_eq!(replayed, map);
        }
    }
}
