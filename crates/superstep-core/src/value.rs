//! Values inside the engine: native Rust values that are shared, or plain JSON from the edge.
//!
//! A native value is converted to JSON only on request.

use std::any::Any;
use std::fmt;
use std::io;
use std::sync::Arc;

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::validation_error::ValidationError;

/// A native value that the engine can carry, share and, at the edge, write as JSON.
pub trait ErasedValue: Any + Send + Sync {
    /// Converts the value to JSON.
    ///
    /// # Errors
    /// Returns an error if the value cannot be written as JSON, for example a map with keys that are not text.
    fn to_json(&self) -> Result<Value, ValidationError>;

    /// Writes the value as JSON text, without an intermediate `Value`.
    ///
    /// # Errors
    /// Returns an error if the value cannot be written as JSON, or if `out` fails.
    fn write_json(&self, out: &mut dyn io::Write) -> Result<(), ValidationError>;
}

impl<T: Serialize + Any + Send + Sync> ErasedValue for T {
    fn to_json(&self) -> Result<Value, ValidationError> {
        Ok(serde_json::to_value(self)?)
    }

    fn write_json(&self, out: &mut dyn io::Write) -> Result<(), ValidationError> {
        Ok(serde_json::to_writer(out, self)?)
    }
}

/// A value whose Rust type the engine does not know.
///
/// ```
/// use superstep_core::value::AnyValue;
/// assert_eq!(AnyValue::native(vec![1, 2]).into_value::<Vec<u8>>().unwrap(), [1, 2]);           // another type: through JSON
/// assert_eq!(AnyValue::json(serde_json::json!([1])).into_value::<Vec<u8>>().unwrap(), [1]);
/// ```
#[derive(Clone)]
pub enum AnyValue {
    /// A shared Rust value.
    Native(Arc<dyn ErasedValue>),
    /// Plain data from a store or from the network.
    Json(Arc<Value>),
}

impl AnyValue {
    /// Wraps a Rust value for sharing.
    pub fn native<T: Serialize + Any + Send + Sync>(value: T) -> Self {
        Self::Native(Arc::new(value))
    }

    /// Wraps plain data.
    #[must_use]
    pub fn json(value: Value) -> Self {
        Self::Json(Arc::new(value))
    }

    /// Returns a reference to the value if it is a native `T`.
    #[must_use]
    pub fn get<T: Any>(&self) -> Option<&T> {
        match self {
            Self::Native(payload) => {
                let any: &dyn Any = &**payload;
                any.downcast_ref()
            }
            Self::Json(value) => {
                let any: &dyn Any = &**value;
                any.downcast_ref()
            }
        }
    }

    /// Returns the value itself: moved if there is no other owner, cloned otherwise, and deserialized from JSON if
    /// it is not a native `T`.
    ///
    /// # Errors
    /// Returns an error if the data cannot be deserialized as a `T`.
    pub fn into_value<T: Any + Send + Sync + Clone + DeserializeOwned>(self) -> Result<T, ValidationError> {
        match self {
            Self::Native(payload) if (&*payload as &dyn Any).is::<T>() => {
                let value = (payload as Arc<dyn Any + Send + Sync>).downcast::<T>();
                value.map(Arc::unwrap_or_clone).map_err(|_| ValidationError::new("a native value changed its type"))
            }
            Self::Native(payload) => Ok(serde_json::from_value(payload.to_json()?)?),
            Self::Json(value) => match (value.clone() as Arc<dyn Any + Send + Sync>).downcast::<T>() {
                Ok(plain) => {
                    drop(value);
                    Ok(Arc::unwrap_or_clone(plain))
                }
                Err(_) => Ok(T::deserialize(&*value)?),
            },
        }
    }

    /// Converts the value to JSON.
    ///
    /// # Errors
    /// Returns an error if a native value cannot be written as JSON.
    pub fn to_json(&self) -> Result<Value, ValidationError> {
        match self {
            Self::Native(payload) => payload.to_json(),
            Self::Json(value) => Ok((**value).clone()),
        }
    }

    /// Writes the value as JSON text, without an intermediate `Value`.
    ///
    /// # Errors
    /// Returns an error if a native value cannot be written as JSON, or if `out` fails.
    pub fn write_json(&self, out: &mut dyn io::Write) -> Result<(), ValidationError> {
        match self {
            Self::Native(payload) => payload.write_json(out),
            Self::Json(value) => Ok(serde_json::to_writer(out, &**value)?),
        }
    }
}

impl fmt::Debug for AnyValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.to_json() {
            Ok(value) => write!(f, "{value}"),
            Err(_) => f.write_str("(not serializable)"),
        }
    }
}

impl PartialEq for AnyValue {
    fn eq(&self, other: &Self) -> bool {
        match (self.to_json(), other.to_json()) {
            (Ok(mine), Ok(theirs)) => mine == theirs,
            _ => false,
        }
    }
}

impl From<Value> for AnyValue {
    fn from(value: Value) -> Self {
        Self::json(value)
    }
}

/// A native value that never leaves the process; serialized as null.
#[derive(Clone)]
pub struct Unserialized<T>(pub T);

impl<T> Serialize for Unserialized<T> {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_unit()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_value_is_moved_out_by_its_last_holder_and_copied_by_others() {
        let text = "a text that is long enough to have an allocation of its own".to_owned();
        let address = text.as_ptr();
        let value = AnyValue::native(text);
        let copy = value.clone().into_value::<String>().unwrap();
        assert_ne!(copy.as_ptr(), address);
        let moved = value.into_value::<String>().unwrap();
        assert_eq!((moved.as_ptr(), &moved), (address, &copy));
        let plain = AnyValue::json(json!(copy));
        let address = plain.get::<Value>().and_then(Value::as_str).map(str::as_ptr);
        let moved = plain.into_value::<Value>().unwrap();
        assert_eq!(moved.as_str().map(str::as_ptr), address);
    }

    #[test]
    fn live_and_plain_values_are_read_as_each_other() {
        let rows = [AnyValue::native(vec![1, 2]), AnyValue::json(json!([1, 2])), AnyValue::native([1_u8, 2])];
        for value in &rows {
            assert_eq!(value.clone().into_value::<Vec<u64>>().unwrap(), [1, 2]);
            assert_eq!(value.to_json().unwrap(), json!([1, 2]));
            let mut text = Vec::new();
            value.write_json(&mut text).unwrap();
            assert_eq!(text, b"[1,2]");
            assert_eq!((value, format!("{value:?}")), (&rows[0], "[1,2]".to_owned()));
            assert!(value.clone().into_value::<String>().is_err());
        }
        assert_ne!(rows[0], AnyValue::native(vec![2, 1]));
    }

    #[test]
    fn unserializable_values_are_errors() {
        let keys_are_lists = std::collections::BTreeMap::from([(vec![1], 2)]);
        let value = AnyValue::native(keys_are_lists);
        assert!(value.to_json().is_err());
        assert_eq!(format!("{value:?}"), "(not serializable)");
        assert_ne!(value, value.clone());
        assert_eq!(AnyValue::native(Unserialized(keys())).to_json().unwrap(), Value::Null);
    }

    fn keys() -> impl Fn() + Clone + Send + Sync {
        || {}
    }
}
