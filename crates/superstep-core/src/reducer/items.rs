//! The update of a list: one item or many, in code and in JSON.

use serde::de::DeserializeOwned;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::Value;

use crate::field::parse_json;
use crate::validation_error::ValidationError;

/// One item or many, to be appended to a list.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(transparent)]
pub struct OneOrMany<E>(pub Vec<E>);

impl<'de, E: DeserializeOwned> Deserialize<'de> for OneOrMany<E> {
    // Tries a list of items first, then one item: an item that is itself a list is parsed correctly unless it also
    // parses as a list of items.
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

impl<E: DeserializeOwned> OneOrMany<E> {
    /// Parses one item or many, and reports the index of each invalid item.
    pub(super) fn parse(value: Value) -> Result<Self, Vec<ValidationError>> {
        let Value::Array(items) = value else { return parse_json(value) };
        let mut errors = Vec::new();
        let mut parsed = Vec::with_capacity(items.len());
        for (index, item) in items.iter().enumerate() {
            match parse_json::<E>(item.clone()) {
                Ok(item) => parsed.push(item),
                Err(item_errors) => errors.extend(item_errors.into_iter().map(|error| {
                    let pointer = format!("/{index}{}", error.pointer);
                    error.with_pointer(pointer)
                })),
            }
        }
        if errors.is_empty() {
            return Ok(Self(parsed));
        }
        parse_json::<E>(Value::Array(items)).map(|one| Self(vec![one])).map_err(|_| errors)
    }
}
