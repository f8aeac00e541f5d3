//! Bounds for a number or for the length of a text or list.
//!
//! Checks the size only; `FieldType` checks the kind of a value.

use std::cmp::Ordering;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::json_reducer::ordering::compare_to_float;
use crate::types::kind;
use crate::validation_error::ValidationError;

/// Inclusive bounds of a number, of the characters of a string, or of the items of an array.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
#[serde(try_from = "RawBounds")]
pub struct Bounds {
    /// Minimum value or length.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub min: Option<f64>,
    /// Maximum value or length.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max: Option<f64>,
}

impl Bounds {
    /// Creates bounds that at least one number satisfies.
    ///
    /// # Errors
    /// Returns an error if a bound is not a finite number, or the lower one is above the upper.
    pub fn new(min: Option<f64>, max: Option<f64>) -> Result<Self, ValidationError> {
        if let Some(bound) = [min, max].into_iter().flatten().find(|bound| !bound.is_finite()) {
            return Err(ValidationError::new(format!("invalid bound {bound}")).with_help("omit the bound"));
        }
        match (min, max) {
            (Some(min), Some(max)) if min > max => {
                Err(ValidationError::new(format!("the range from {min} to {max} is empty")))
            }
            _ => Ok(Bounds { min, max }),
        }
    }

    /// Compares a number by value, a string by its characters, an array by its items; null has no size and passes.
    ///
    /// # Errors
    /// Returns an error if the size is out of bounds, or the value is a boolean or an object, which have no size.
    pub fn check(&self, value: &Value) -> Result<(), ValidationError> {
        match value {
            Value::Null => Ok(()),
            Value::Number(number) => self.bound(|limit| compare_to_float(number, limit), &number.to_string(), ""),
            Value::String(text) => self.length(text.chars().count(), " characters"),
            Value::Array(items) => self.length(items.len(), " items"),
            Value::Bool(_) | Value::Object(_) => {
                Err(ValidationError::new(format!("a range requires a number, string or array, found {}", kind(value))))
            }
        }
    }

    fn length(&self, length: usize, unit: &str) -> Result<(), ValidationError> {
        let number = serde_json::Number::from(length);
        self.bound(|limit| compare_to_float(&number, limit), &length.to_string(), unit)
    }

    fn bound(&self, compare: impl Fn(f64) -> Ordering, actual: &str, unit: &str) -> Result<(), ValidationError> {
        if let Some(min) = self.min.filter(|min| compare(*min) == Ordering::Less) {
            return Err(ValidationError::new(format!("expected at least {min}{unit}, found {actual}")));
        }
        match self.max.filter(|max| compare(*max) == Ordering::Greater) {
            Some(max) => Err(ValidationError::new(format!("expected at most {max}{unit}, found {actual}"))),
            None => Ok(()),
        }
    }
}

/// The bounds in a file, before their validation.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawBounds {
    min: Option<f64>,
    max: Option<f64>,
}

impl TryFrom<RawBounds> for Bounds {
    type Error = ValidationError;

    fn try_from(bounds: RawBounds) -> Result<Self, ValidationError> {
        Bounds::new(bounds.min, bounds.max)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_range_bounds_numbers_by_value_and_texts_and_lists_by_length() {
        let range = Bounds::new(Some(2.0), Some(4.0)).expect("a range");
        let rows = [
            (json!(2), Ok(())),
            (json!(4.0), Ok(())),
            (json!(1), Err("expected at least 2, found 1")),
            (json!(4.5), Err("expected at most 4, found 4.5")),
            (json!("äöüß"), Ok(())),
            (json!("a"), Err("expected at least 2 characters, found 1")),
            (json!([1, 2, 3, 4, 5]), Err("expected at most 4 items, found 5")),
            (json!(null), Ok(())),
            (json!(true), Err("a range requires a number, string or array, found boolean")),
            (json!({}), Err("a range requires a number, string or array, found object")),
        ];
        for (value, expected) in rows {
            assert_eq!(range.check(&value).map_err(|error| error.message), expected.map_err(String::from), "{value}");
        }
        assert_eq!(Bounds::default().check(&json!(-5)), Ok(()));
    }

    #[test]
    fn a_large_integer_is_not_rounded_to_its_bound() {
        let range = Bounds::new(None, Some(9_007_199_254_740_992.0)).expect("a range");
        assert!(range.check(&json!(9_007_199_254_740_992_i64)).is_ok());
        assert!(range.check(&json!(9_007_199_254_740_993_i64)).is_err());
    }

    #[test]
    fn an_unsatisfiable_range_is_rejected() {
        assert!(Bounds::new(Some(3.0), Some(2.0)).is_err());
        assert!(Bounds::new(Some(f64::NAN), None).is_err());
        assert!(serde_json::from_value::<Bounds>(json!({ "min": 3, "max": 2 })).is_err());
        assert!(serde_json::from_value::<Bounds>(json!({ "minimum": 3 })).is_err());
        let range: Bounds = serde_json::from_value(json!({ "min": 1 })).expect("a range");
        assert_eq!(serde_json::to_value(range).expect("json"), json!({ "min": 1.0 }));
    }
}
