//! Sums and comparisons: the reducers `add`, `max` and `min`.
//!
//! Never wraps, never rounds a sum of integers, never converts one kind of value into another.

use std::cmp::Ordering;

use serde_json::{Number, Value};

use super::list;
use super::ordering::compare_numbers;
use crate::change::Change;
use crate::types::kind;
use crate::validation_error::ValidationError;

/// Sums numbers, joins strings, concatenates arrays (R-GRA-14 to R-GRA-18).
pub(super) fn add(current: &mut Value, input: Value) -> Result<Change, ValidationError> {
    if current.is_null() {
        return Ok(super::replace(current, input));
    }
    match (current, input) {
        (Value::Array(list), Value::Array(items)) => Ok(list::extend(list, items)),
        (Value::String(_), Value::String(more)) if more.is_empty() => Ok(Change::Unchanged),
        (Value::String(text), Value::String(more)) => {
            text.push_str(&more);
            Ok(Change::Set)
        }
        (Value::Number(number), Value::Number(more)) => {
            let sum = sum(number, &more)?;
            if *number == sum {
                return Ok(Change::Unchanged);
            }
            *number = sum;
            Ok(Change::Set)
        }
        (current, input) => Err(cannot_add(current, &input)),
    }
}

/// Keeps the greater value (R-GRA-23).
pub(super) fn max(current: &mut Value, input: Value) -> Result<Change, ValidationError> {
    replace_if_ordered(Ordering::Greater, current, input)
}

/// Keeps the lesser value (R-GRA-23).
pub(super) fn min(current: &mut Value, input: Value) -> Result<Change, ValidationError> {
    replace_if_ordered(Ordering::Less, current, input)
}

/// Takes the input if its order relative to the current value is `expected`.
fn replace_if_ordered(expected: Ordering, current: &mut Value, input: Value) -> Result<Change, ValidationError> {
    let order = match (&*current, &input) {
        (Value::Null, Value::Null) => Ordering::Equal,
        (Value::Null, Value::Number(_) | Value::String(_)) => expected,
        (Value::Number(current), Value::Number(input)) => compare_numbers(input, current),
        (Value::String(current), Value::String(input)) => input.cmp(current),
        (current, input) => {
            let error = ValidationError::new(format!("cannot compare {} with {}", kind(input), kind(current)));
            return Err(error.with_help("only two numbers or two strings can be compared"));
        }
    };
    if order != expected {
        return Ok(Change::Unchanged);
    }
    *current = input;
    Ok(Change::Set)
}

/// Adds two numbers. Two values of `i64` must have a sum in `i64`; only a current value that is already beyond
/// `i64` may grow up to `u64::MAX`.
fn sum(current: &Number, input: &Number) -> Result<Number, ValidationError> {
    let overflow = || {
        let error = ValidationError::new(format!("integer overflow: {current} + {input} exceeds 64 bits"));
        error.with_help("use a float, or reset the value with an overwrite")
    };
    if let (Some(a), Some(b)) = (current.as_i64(), input.as_i64()) {
        return a.checked_add(b).map(Number::from).ok_or_else(overflow);
    }
    if let (Some(a), Some(b)) = (current.as_i128(), input.as_i128()) {
        // Both fit 64 bits, so their sum fits 128.
        return Number::from_i128(a + b).ok_or_else(overflow);
    }
    let sum = current.as_f64().zip(input.as_f64()).and_then(|(a, b)| Number::from_f64(a + b));
    sum.ok_or_else(|| ValidationError::new(format!("float overflow: {current} + {input} is not a finite number")))
}

fn cannot_add(current: &Value, input: &Value) -> ValidationError {
    let error = ValidationError::new(format!("cannot add {} to {}", kind(input), kind(current)));
    match (current, input) {
        (Value::Array(_), Value::Null) => error,
        (Value::Array(_), _) => error.with_help("write an array, or give the field the reducer `append`"),
        (Value::Object(_), Value::Object(_)) => error.with_help("give the field the reducer `merge`"),
        _ => error,
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::check;
    use super::*;
    use serde_json::json;

    /// R-GRA-14: arrays are concatenated in order.
    #[test]
    fn add_concatenates_arrays() {
        check("add", json!([1, 2]), json!([3, 1]), Ok((json!([1, 2, 3, 1]), Change::Appended { from: 2 })));
        check("add", json!([]), json!([[1]]), Ok((json!([[1]]), Change::Appended { from: 0 })));
        check("add", json!([1]), json!([]), Ok((json!([1]), Change::Unchanged)));
    }

    /// R-GRA-15: numbers are summed; an integer and a float give a float; overflow is an error, never a wrap.
    #[test]
    fn add_sums_numbers_and_never_wraps() {
        let rows = [
            (json!(1), json!(2), json!(3), Change::Set),
            (json!(1), json!(-3), json!(-2), Change::Set),
            (json!(5), json!(0), json!(5), Change::Unchanged),
            (json!(1), json!(2.5), json!(3.5), Change::Set),
            (json!(1.5), json!(2), json!(3.5), Change::Set),
            (json!(1), json!(0.0), json!(1.0), Change::Set),
            (json!(i64::MAX - 1), json!(1), json!(i64::MAX), Change::Set),
            (json!(u64::MAX - 1), json!(1), json!(u64::MAX), Change::Set),
            (json!(u64::MAX), json!(-1), json!(u64::MAX - 1), Change::Set),
            (json!(-1), json!(u64::MAX), json!(u64::MAX - 1), Change::Set),
            (json!(i64::MIN), json!(1u64 << 63), json!(0), Change::Set),
        ];
        for (current, input, sum, change) in rows {
            check("add", current, input, Ok((sum, change)));
        }
        let rejected = [
            (json!(i64::MAX), json!(1), "9223372036854775807 + 1"),
            (json!(i64::MIN), json!(-1), "-9223372036854775808 + -1"),
            (json!(u64::MAX), json!(1), "18446744073709551615 + 1"),
            (json!(u64::MAX), json!(u64::MAX), "18446744073709551615 + 18446744073709551615"),
        ];
        for (current, input, sum) in rejected {
            check("add", current, input, Err(&format!("integer overflow: {sum} exceeds 64 bits")));
        }
        let message = "float overflow: 1.7976931348623157e+308 + 1.7976931348623157e+308 is not a finite number";
        check("add", json!(f64::MAX), json!(f64::MAX), Err(message));
    }

    /// R-GRA-16: strings are joined without separator.
    #[test]
    fn add_joins_strings() {
        check("add", json!("ab"), json!("cü"), Ok((json!("abcü"), Change::Set)));
        check("add", json!("ab"), json!(""), Ok((json!("ab"), Change::Unchanged)));
    }

    /// R-GRA-17: without a current value the result is the update.
    #[test]
    fn add_to_nothing_is_the_update() {
        for input in [json!([1]), json!([]), json!(3), json!("a"), json!({ "a": 1 }), json!(true)] {
            check("add", json!(null), input.clone(), Ok((input, Change::Set)));
        }
        check("add", json!(null), json!(null), Ok((json!(null), Change::Unchanged)));
    }

    /// R-GRA-18: other or mixed kinds are rejected; the message names both.
    #[test]
    fn add_rejects_other_and_mixed_kinds() {
        let rows = [
            (json!([1]), json!("a"), "cannot add string to array"),
            (json!([1]), json!(null), "cannot add null to array"),
            (json!("a"), json!(1), "cannot add integer to string"),
            (json!(1), json!("a"), "cannot add string to integer"),
            (json!(1.5), json!([]), "cannot add array to number"),
            (json!(1), json!(null), "cannot add null to integer"),
            (json!(true), json!(false), "cannot add boolean to boolean"),
            (json!({}), json!({}), "cannot add object to object"),
        ];
        for (current, input, message) in rows {
            check("add", current, input, Err(message));
        }
        assert!(cannot_add(&json!({}), &json!({})).help.is_some_and(|help| help.contains("`merge`")));
        assert!(cannot_add(&json!([]), &json!(1)).help.is_some_and(|help| help.contains("`append`")));
    }

    /// R-GRA-23: `max` and `min` keep a number or a string; numbers are compared exactly, kinds are not mixed.
    #[test]
    fn max_and_min_keep_the_extreme_of_one_kind() {
        let rows = [
            (json!(1), json!(2), json!(2), json!(1)),
            (json!(1), json!(1.5), json!(1.5), json!(1)),
            (json!(1), json!(1.0), json!(1), json!(1)),
            (json!(-1), json!(u64::MAX), json!(u64::MAX), json!(-1)),
            (
                json!(9_007_199_254_740_993_i64),
                json!(9_007_199_254_740_992.0),
                json!(9_007_199_254_740_993_i64),
                json!(9_007_199_254_740_992.0),
            ),
            (json!("b"), json!("a"), json!("b"), json!("a")),
            (json!("Z"), json!("a"), json!("a"), json!("Z")),
            (json!(null), json!(3), json!(3), json!(3)),
            (json!(null), json!("a"), json!("a"), json!("a")),
            (json!(null), json!(null), json!(null), json!(null)),
        ];
        for (current, input, max, min) in rows {
            let change = |after: &Value| if *after == current { Change::Unchanged } else { Change::Set };
            check("max", current.clone(), input.clone(), Ok((max.clone(), change(&max))));
            check("min", current.clone(), input, Ok((min.clone(), change(&min))));
        }
        let rejected = [
            (json!(1), json!("a"), "cannot compare string with integer"),
            (json!("a"), json!(1.5), "cannot compare number with string"),
            (json!(1), json!(null), "cannot compare null with integer"),
            (json!(null), json!(true), "cannot compare boolean with null"),
            (json!([1]), json!([2]), "cannot compare array with array"),
        ];
        for (current, input, message) in rejected {
            check("max", current.clone(), input.clone(), Err(message));
            check("min", current, input, Err(message));
        }
    }
}
