//! The reducer over maps: keys of the update win, a removed key is deleted.

use std::collections::BTreeMap;
use std::fmt::Display;

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::Value;

use super::{FieldValue, Reducer};
use crate::change::Change;
use crate::json_reducer::{is_remove_marker, remove_marker};
use crate::update::Remove;
use crate::validation_error::ValidationError;
use crate::value::AnyValue;

/// The update of one key of a map.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum MapEntryUpdate<V> {
    /// Sets this value.
    Set(V),
    /// Removes the key.
    Remove,
}

impl<V: Serialize> Serialize for MapEntryUpdate<V> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Set(value) => value.serialize(serializer),
            Self::Remove => remove_marker().serialize(serializer),
        }
    }
}

impl<'de, V: serde::de::DeserializeOwned> Deserialize<'de> for MapEntryUpdate<V> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let value = Value::deserialize(deserializer)?;
        if is_remove_marker(&value) {
            return Ok(Self::Remove);
        }
        V::deserialize(value).map(Self::Set).map_err(serde::de::Error::custom)
    }
}

/// The update of a map: some keys get a value, some are removed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent, bound(deserialize = "K: serde::de::DeserializeOwned + Ord, V: serde::de::DeserializeOwned"))]
pub struct MapUpdate<K: Ord, V>(pub BTreeMap<K, MapEntryUpdate<V>>);

impl<K: Ord, V> From<BTreeMap<K, V>> for MapUpdate<K, V> {
    fn from(map: BTreeMap<K, V>) -> Self {
        Self(map.into_iter().map(|(key, value)| (key, MapEntryUpdate::Set(value))).collect())
    }
}

impl<K: Ord, V> From<(K, V)> for MapUpdate<K, V> {
    fn from((key, value): (K, V)) -> Self {
        Self([(key, MapEntryUpdate::Set(value))].into())
    }
}

impl<K: Ord, V, const N: usize> From<[(K, V); N]> for MapUpdate<K, V> {
    fn from(pairs: [(K, V); N]) -> Self {
        Self::from(BTreeMap::from(pairs))
    }
}

impl<K: Ord, V> From<Remove<K>> for MapUpdate<K, V> {
    fn from(Remove(key): Remove<K>) -> Self {
        Self([(key, MapEntryUpdate::Remove)].into())
    }
}

/// Shallow merge: keys of the update win, nested values are replaced as a whole.
pub struct Merge;

impl<K, V> Reducer<BTreeMap<K, V>> for Merge
where
    K: FieldValue + Ord + Display,
    V: FieldValue + PartialEq,
{
    type Input = MapUpdate<K, V>;
    const FALLIBLE: bool = false;

    fn name() -> String {
        "merge".to_owned()
    }

    fn reduce(current: &mut BTreeMap<K, V>, input: MapUpdate<K, V>) -> Result<Change, ValidationError> {
        let (mut set, mut removed) = (Vec::new(), Vec::new());
        for (key, edit) in input.0 {
            match edit {
                MapEntryUpdate::Set(value) if current.get(&key) == Some(&value) => {}
                MapEntryUpdate::Set(value) => {
                    set.push(key.to_string());
                    current.insert(key, value);
                }
                MapEntryUpdate::Remove => {
                    if current.remove(&key).is_some() {
                        removed.push(key.to_string());
                    }
                }
            }
        }
        Ok(if set.is_empty() && removed.is_empty() { Change::Unchanged } else { Change::Merged { set, removed } })
    }

    fn delta(value: &BTreeMap<K, V>, change: &Change) -> AnyValue {
        map_delta(value, change)
    }

    fn apply_delta(value: &mut BTreeMap<K, V>, change: &Change, delta: AnyValue) -> Result<(), ValidationError> {
        apply_map_delta(value, change, delta)
    }
}

/// Returns the entries that a change set, or all entries if the whole map is new.
pub(super) fn map_delta<K, V>(value: &BTreeMap<K, V>, change: &Change) -> AnyValue
where
    K: FieldValue + Ord + Display,
    V: FieldValue,
{
    let Change::Merged { set, .. } = change else { return AnyValue::native(value.clone()) };
    let entries = value.iter().filter(|(key, _)| set.contains(&key.to_string()));
    AnyValue::native(entries.map(|(key, value)| (key.clone(), value.clone())).collect::<BTreeMap<K, V>>())
}

/// Replays a change of a map.
pub(super) fn apply_map_delta<K, V>(
    value: &mut BTreeMap<K, V>,
    change: &Change,
    delta: AnyValue,
) -> Result<(), ValidationError>
where
    K: FieldValue + Ord + Display,
    V: FieldValue,
{
    let Change::Merged { removed, .. } = change else { return super::restore_full_value(value, change, delta) };
    value.retain(|key, _| !removed.contains(&key.to_string()));
    value.extend(delta.into_value::<BTreeMap<K, V>>()?);
    Ok(())
}
