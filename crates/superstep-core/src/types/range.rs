//! Bounds for a number or for the length of a text or list.
//!
//! Looks at size only; which kind of value a field takes is for `FieldType` to say.

use std::cmp::Ordering;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::fault::Fault;
use crate::json_reducer::order::compare_to_float;
use crate::types::kind;

/// Inclusive bounds of a number, of the characters of a string, or of the items of an array.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
#[serde(try_from = "Bounds")]
pub struct Range {
    /// The least value or length that is accepted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub min: Option<f64>,
    /// The greatest value or length that is accepted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max: Option<f64>,
}

impl Range {
    /// Bounds that at least one number satisfies.
    ///
    /// # Errors
    /// When a bound is not a finite number, or the lower one is above the upper.
    pub fn new(min: Option<f64>, max: Option<f64>) -> Result<Self, Fault> {
        if let Some(bound) = [min, max].into_iter().flatten().find(|bound| !bound.is_finite()) {
            return Err(Fault::new(format!("a range cannot end at {bound}")).help("leave the bound out"));
        }
        match (min, max) {
            (Some(min), Some(max)) if min > max => {
                Err(Fault::new(format!("no value is both at least {min} and at most {max}")))
            }
            _ => Ok(Range { min, max }),
        }
    }

    /// Compares a number by value, a string by its characters, an array by its items; null has no size and passes.
    ///
    /// # Errors
    /// When the size is out of bounds, or the value is a boolean or an object, which have none.
    pub fn check(&self, value: &Value) -> Result<(), Fault> {
        match value {
            Value::Null => Ok(()),
            Value::Number(number) => self.bound(|limit| compare_to_float(number, limit), &number.to_string(), ""),
            Value::String(text) => self.length(text.chars().count(), " characters"),
            Value::Array(items) => self.length(items.len(), " items"),
            Value::Bool(_) | Value::Object(_) => {
                Err(Fault::new(format!("a range needs a number, string or array, found {}", kind(value))))
            }
        }
    }

    fn length(&self, length: usize, unit: &str) -> Result<(), Fault> {
        let number = serde_json::Number::from(length);
        self.bound(|limit| compare_to_float(&number, limit), &length.to_string(), unit)
    }

    fn bound(&self, compare: impl Fn(f64) -> Ordering, found: &str, unit: &str) -> Result<(), Fault> {
        if let Some(min) = self.min.filter(|min| compare(*min) == Ordering::Less) {
            return Err(Fault::new(format!("expected at least {min}{unit}, found {found}")));
        }
        match self.max.filter(|max| compare(*max) == Ordering::Greater) {
            Some(max) => Err(Fault::new(format!("expected at most {max}{unit}, found {found}"))),
            None => Ok(()),
        }
    }
}

/// What a file may say about a range, before it is known to make sense.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Bounds {
    min: Option<f64>,
    max: Option<f64>,
}

impl TryFrom<Bounds> for Range {
    type Error = Fault;

    fn try_from(bounds: Bounds) -> Result<Self, Fault> {
        Range::new(bounds.min, bounds.max)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_range_bounds_numbers_by_value_and_texts_and_lists_by_length() {
        let range = Range::new(Some(2.0), Some(4.0)).expect("a range");
        let rows = [
            (json!(2), Ok(())),
            (json!(4.0), Ok(())),
            (json!(1), Err("expected at least 2, found 1")),
            (json!(4.5), Err("expected at most 4, found 4.5")),
            (json!("äöüß"), Ok(())),
            (json!("a"), Err("expected at least 2 characters, found 1")),
            (json!([1, 2, 3, 4, 5]), Err("expected at most 4 items, found 5")),
            (json!(null), Ok(())),
            (json!(true), Err("a range needs a number, string or array, found boolean")),
            (json!({}), Err("a range needs a number, string or array, found object")),
        ];
        for (value, expected) in rows {
            assert_eq!(range.check(&value).map_err(|fault| fault.message), expected.map_err(String::from), "{value}");
        }
        assert_eq!(Range::default().check(&json!(-5)), Ok(()));
    }

    #[test]
    fn a_large_integer_is_not_rounded_to_its_bound() {
        let range = Range::new(None, Some(9_007_199_254_740_992.0)).expect("a range");
        assert!(range.check(&json!(9_007_199_254_740_992_i64)).is_ok());
        assert!(range.check(&json!(9_007_199_254_740_993_i64)).is_err());
    }

    #[test]
    fn a_range_nothing_can_satisfy_is_refused() {
        assert!(Range::new(Some(3.0), Some(2.0)).is_err());
        assert!(Range::new(Some(f64::NAN), None).is_err());
        assert!(serde_json::from_value::<Range>(json!({ "min": 3, "max": 2 })).is_err());
        assert!(serde_json::from_value::<Range>(json!({ "minimum": 3 })).is_err());
        let range: Range = serde_json::from_value(json!({ "min": 1 })).expect("a range");
        assert_eq!(serde_json::to_value(range).expect("json"), json!({ "min": 1.0 }));
    }
}
