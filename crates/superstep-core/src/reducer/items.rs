//! The update of a list: one item or many, in code and in JSON alike.

use serde::de::DeserializeOwned;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::Value;

use crate::fault::Fault;
use crate::field::read;

/// One item or many, for the end of a list.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(transparent)]
pub struct Items<E>(pub Vec<E>);

impl<'de, E: DeserializeOwned> Deserialize<'de> for Items<E> {
    // A list of items first, then one item: an item that is itself a list is read right as long as a
    // list of it does not also read as one.
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let value = Value::deserialize(deserializer)?;
        if value.is_null() {
            return Ok(Self(Vec::new()));
        }
        if let Value::Array(_) = &value {
            let many: Result<Vec<E>, _> = Vec::deserialize(&value);
            return many.map(Self).or_else(|error| {
                E::deserialize(&value).map(|one| Self(vec![one])).map_err(|_| serde::de::Error::custom(error))
            });
        }
        E::deserialize(&value).map(|one| Self(vec![one])).map_err(serde::de::Error::custom)
    }
}

impl<E: DeserializeOwned> Items<E> {
    /// Reads one item or many, and says of each item that does not read where it stands.
    pub(super) fn read(value: Value) -> Result<Self, Vec<Fault>> {
        let Value::Array(items) = value else { return read(value) };
        let mut faults = Vec::new();
        let mut read_items = Vec::with_capacity(items.len());
        for (index, item) in items.iter().enumerate() {
            match read::<E>(item.clone()) {
                Ok(item) => read_items.push(item),
                Err(more) => faults.extend(more.into_iter().map(|fault| {
                    let pointer = format!("/{index}{}", fault.pointer);
                    fault.at(pointer)
                })),
            }
        }
        if faults.is_empty() {
            return Ok(Self(read_items));
        }
        read::<E>(Value::Array(items)).map(|one| Self(vec![one])).map_err(|_| faults)
    }
}
