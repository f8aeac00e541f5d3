//! The fold over maps: keys of the update win, a removed key goes.

use std::collections::BTreeMap;
use std::fmt::Display;

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::Value;

use super::{FieldValue, Reducer};
use crate::change::Change;
use crate::datum::Datum;
use crate::fault::Fault;
use crate::json_reducer::{is_remove_marker, remove_marker};
use crate::update::Remove;

/// What happens to one key of a map.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Edit<V> {
    /// It has this value.
    Set(V),
    /// It goes.
    Remove,
}

impl<V: Serialize> Serialize for Edit<V> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Set(value) => value.serialize(serializer),
            Self::Remove => remove_marker().serialize(serializer),
        }
    }
}

impl<'de, V: serde::de::DeserializeOwned> Deserialize<'de> for Edit<V> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let value = Value::deserialize(deserializer)?;
        if is_remove_marker(&value) {
            return Ok(Self::Remove);
        }
        V::deserialize(value).map(Self::Set).map_err(serde::de::Error::custom)
    }
}

/// The update of a map: some keys get a value, some go.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent, bound(deserialize = "K: serde::de::DeserializeOwned + Ord, V: serde::de::DeserializeOwned"))]
pub struct MapEdits<K: Ord, V>(pub BTreeMap<K, Edit<V>>);

impl<K: Ord, V> From<BTreeMap<K, V>> for MapEdits<K, V> {
    fn from(map: BTreeMap<K, V>) -> Self {
        Self(map.into_iter().map(|(key, value)| (key, Edit::Set(value))).collect())
    }
}

impl<K: Ord, V> From<(K, V)> for MapEdits<K, V> {
    fn from((key, value): (K, V)) -> Self {
        Self([(key, Edit::Set(value))].into())
    }
}

impl<K: Ord, V, const N: usize> From<[(K, V); N]> for MapEdits<K, V> {
    fn from(pairs: [(K, V); N]) -> Self {
        Self::from(BTreeMap::from(pairs))
    }
}

impl<K: Ord, V> From<Remove<K>> for MapEdits<K, V> {
    fn from(Remove(key): Remove<K>) -> Self {
        Self([(key, Edit::Remove)].into())
    }
}

/// Shallow merge: keys of the update win, nested values are replaced whole.
pub struct Merge;

impl<K, V> Reducer<BTreeMap<K, V>> for Merge
where
    K: FieldValue + Ord + Display,
    V: FieldValue + PartialEq,
{
    type Input = MapEdits<K, V>;
    const FALLIBLE: bool = false;

    fn name() -> String {
        "merge".to_owned()
    }

    fn reduce(current: &mut BTreeMap<K, V>, input: MapEdits<K, V>) -> Result<Change, Fault> {
        let (mut set, mut removed) = (Vec::new(), Vec::new());
        for (key, edit) in input.0 {
            match edit {
                Edit::Set(value) if current.get(&key) == Some(&value) => {}
                Edit::Set(value) => {
                    set.push(key.to_string());
                    current.insert(key, value);
                }
                Edit::Remove => {
                    if current.remove(&key).is_some() {
                        removed.push(key.to_string());
                    }
                }
            }
        }
        Ok(if set.is_empty() && removed.is_empty() { Change::Unchanged } else { Change::Merged { set, removed } })
    }

    fn part(value: &BTreeMap<K, V>, change: &Change) -> Datum {
        map_part(value, change)
    }

    fn restore(value: &mut BTreeMap<K, V>, change: &Change, part: Datum) -> Result<(), Fault> {
        map_restore(value, change, part)
    }
}

/// The entries a change set, or all of them when the whole map is new.
pub(super) fn map_part<K, V>(value: &BTreeMap<K, V>, change: &Change) -> Datum
where
    K: FieldValue + Ord + Display,
    V: FieldValue,
{
    let Change::Merged { set, .. } = change else { return Datum::live(value.clone()) };
    let entries = value.iter().filter(|(key, _)| set.contains(&key.to_string()));
    Datum::live(entries.map(|(key, value)| (key.clone(), value.clone())).collect::<BTreeMap<K, V>>())
}

/// Replays a change of a map.
pub(super) fn map_restore<K, V>(value: &mut BTreeMap<K, V>, change: &Change, part: Datum) -> Result<(), Fault>
where
    K: FieldValue + Ord + Display,
    V: FieldValue,
{
    let Change::Merged { removed, .. } = change else { return super::restore_whole(value, change, part) };
    value.retain(|key, _| !removed.contains(&key.to_string()));
    value.extend(part.take::<BTreeMap<K, V>>()?);
    Ok(())
}
