//! Values in the middle of the engine: live Rust values that are shared, or plain JSON from the edge.
//!
//! Never turns a live value into JSON unless somebody at the edge asks for it.

use std::any::Any;
use std::fmt;
use std::io;
use std::sync::Arc;

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::fault::Fault;

/// A live value the engine can carry, share and, at the edge, write as JSON.
pub trait Payload: Any + Send + Sync {
    /// The value as JSON.
    ///
    /// # Errors
    /// When the value cannot be written as JSON, such as a map with keys that are not text.
    fn to_json(&self) -> Result<Value, Fault>;

    /// Writes the value as JSON text, with nothing in between.
    ///
    /// # Errors
    /// When the value cannot be written as JSON, or `out` refuses.
    fn write_json(&self, out: &mut dyn io::Write) -> Result<(), Fault>;
}

impl<T: Serialize + Any + Send + Sync> Payload for T {
    fn to_json(&self) -> Result<Value, Fault> {
        Ok(serde_json::to_value(self)?)
    }

    fn write_json(&self, out: &mut dyn io::Write) -> Result<(), Fault> {
        Ok(serde_json::to_writer(out, self)?)
    }
}

/// A value whose Rust type the engine does not know.
///
/// ```
/// use superstep_core::datum::Datum;
/// assert_eq!(Datum::live(vec![1, 2]).take::<Vec<u8>>().unwrap(), [1, 2]);           // another type: through JSON
/// assert_eq!(Datum::json(serde_json::json!([1])).take::<Vec<u8>>().unwrap(), [1]);
/// ```
#[derive(Clone)]
pub enum Datum {
    /// A Rust value, shared.
    Live(Arc<dyn Payload>),
    /// Plain data from a store or a wire.
    Json(Arc<Value>),
}

impl Datum {
    /// A shared Rust value.
    pub fn live<T: Serialize + Any + Send + Sync>(value: T) -> Self {
        Self::Live(Arc::new(value))
    }

    /// Plain data.
    #[must_use]
    pub fn json(value: Value) -> Self {
        Self::Json(Arc::new(value))
    }

    /// A reference to the value when it is a live `T`.
    #[must_use]
    pub fn get<T: Any>(&self) -> Option<&T> {
        match self {
            Self::Live(payload) => {
                let any: &dyn Any = &**payload;
                any.downcast_ref()
            }
            Self::Json(value) => {
                let any: &dyn Any = &**value;
                any.downcast_ref()
            }
        }
    }

    /// The value itself: moved out when nobody else holds it, copied otherwise, and read through JSON
    /// when it is not a live `T`.
    ///
    /// # Errors
    /// When the data does not read as a `T`.
    pub fn take<T: Any + Send + Sync + Clone + DeserializeOwned>(self) -> Result<T, Fault> {
        match self {
            Self::Live(payload) if (&*payload as &dyn Any).is::<T>() => {
                let value = (payload as Arc<dyn Any + Send + Sync>).downcast::<T>();
                value.map(Arc::unwrap_or_clone).map_err(|_| Fault::new("a live value changed its type"))
            }
            Self::Live(payload) => Ok(serde_json::from_value(payload.to_json()?)?),
            Self::Json(value) => match (value.clone() as Arc<dyn Any + Send + Sync>).downcast::<T>() {
                Ok(plain) => {
                    drop(value);
                    Ok(Arc::unwrap_or_clone(plain))
                }
                Err(_) => Ok(T::deserialize(&*value)?),
            },
        }
    }

    /// The value as JSON.
    ///
    /// # Errors
    /// When a live value cannot be written as JSON.
    pub fn to_json(&self) -> Result<Value, Fault> {
        match self {
            Self::Live(payload) => payload.to_json(),
            Self::Json(value) => Ok((**value).clone()),
        }
    }

    /// Writes the value as JSON text, with nothing in between.
    ///
    /// # Errors
    /// When a live value cannot be written as JSON, or `out` refuses.
    pub fn write_json(&self, out: &mut dyn io::Write) -> Result<(), Fault> {
        match self {
            Self::Live(payload) => payload.write_json(out),
            Self::Json(value) => Ok(serde_json::to_writer(out, &**value)?),
        }
    }
}

impl fmt::Debug for Datum {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.to_json() {
            Ok(value) => write!(f, "{value}"),
            Err(_) => f.write_str("(not plain data)"),
        }
    }
}

impl PartialEq for Datum {
    fn eq(&self, other: &Self) -> bool {
        match (self.to_json(), other.to_json()) {
            (Ok(mine), Ok(theirs)) => mine == theirs,
            _ => false,
        }
    }
}

impl From<Value> for Datum {
    fn from(value: Value) -> Self {
        Self::json(value)
    }
}

/// A live value that never leaves the process: written as null.
#[derive(Clone)]
pub struct Opaque<T>(pub T);

impl<T> Serialize for Opaque<T> {
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
        let text = "a text that is long enough to have a place of its own".to_owned();
        let place = text.as_ptr();
        let datum = Datum::live(text);
        let copy = datum.clone().take::<String>().unwrap();
        assert_ne!(copy.as_ptr(), place);
        let moved = datum.take::<String>().unwrap();
        assert_eq!((moved.as_ptr(), &moved), (place, &copy));
        let plain = Datum::json(json!(copy));
        let place = plain.get::<Value>().and_then(Value::as_str).map(str::as_ptr);
        let moved = plain.take::<Value>().unwrap();
        assert_eq!(moved.as_str().map(str::as_ptr), place);
    }

    #[test]
    fn live_and_plain_values_are_read_as_each_other() {
        let rows = [Datum::live(vec![1, 2]), Datum::json(json!([1, 2])), Datum::live([1_u8, 2])];
        for datum in &rows {
            assert_eq!(datum.clone().take::<Vec<u64>>().unwrap(), [1, 2]);
            assert_eq!(datum.to_json().unwrap(), json!([1, 2]));
            let mut text = Vec::new();
            datum.write_json(&mut text).unwrap();
            assert_eq!(text, b"[1,2]");
            assert_eq!((datum, format!("{datum:?}")), (&rows[0], "[1,2]".to_owned()));
            assert!(datum.clone().take::<String>().is_err());
        }
        assert_ne!(rows[0], Datum::live(vec![2, 1]));
    }

    #[test]
    fn a_value_that_is_no_data_says_so() {
        let keys_are_lists = std::collections::BTreeMap::from([(vec![1], 2)]);
        let datum = Datum::live(keys_are_lists);
        assert!(datum.to_json().is_err());
        assert_eq!(format!("{datum:?}"), "(not plain data)");
        assert_ne!(datum, datum.clone());
        assert_eq!(Datum::live(Opaque(keys())).to_json().unwrap(), Value::Null);
    }

    fn keys() -> impl Fn() + Clone + Send + Sync {
        || {}
    }
}
