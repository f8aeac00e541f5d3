//! The update of a list: one item or many, in code and in JSON alike.

use serde::de::DeserializeOwned;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::Value;

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
            return match (many, E::deserialize(&value)) {
                (Ok(many), _) => Ok(Self(many)),
                (Err(_), Ok(one)) => Ok(Self(vec![one])),
                (Err(error), Err(_)) => Err(serde::de::Error::custom(error)),
            };
        }
        E::deserialize(&value).map(|one| Self(vec![one])).map_err(serde::de::Error::custom)
    }
}
