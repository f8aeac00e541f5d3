//! A total order over JSON values, so that sets and indexes need no hashing.
//!
//! `OrderedValue` agrees with the equality of `Value`: `1` and `1.0` are two values, `0.0` and `-0.0` are one.

use std::cmp::Ordering;

use serde_json::{Number, Value};

/// A value that can be a key of a `BTreeSet` or `BTreeMap`.
#[derive(Clone, Copy)]
pub(crate) struct OrderedValue<'a>(pub(crate) &'a Value);

impl Ord for OrderedValue<'_> {
    fn cmp(&self, other: &Self) -> Ordering {
        compare(self.0, other.0)
    }
}

impl PartialOrd for OrderedValue<'_> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for OrderedValue<'_> {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for OrderedValue<'_> {}

/// Orders two numbers by their exact value; an integer equals the float of the same value.
pub(crate) fn compare_numbers(a: &Number, b: &Number) -> Ordering {
    match (a.as_i128(), b.as_i128()) {
        (Some(a), Some(b)) => a.cmp(&b),
        (None, Some(_)) => compare_numbers(b, a).reverse(),
        (_, None) => compare_to_float(a, b.as_f64().unwrap_or(f64::INFINITY)),
    }
}

/// Orders a number relative to a float by exact value: an integer beyond 2⁵³ is not rounded first.
pub(crate) fn compare_to_float(number: &Number, float: f64) -> Ordering {
    let Some(integer) = number.as_i128() else {
        let number = number.as_f64().unwrap_or(f64::INFINITY);
        return number.partial_cmp(&float).unwrap_or(Ordering::Equal);
    };
    let floor = float.floor();
    // The cast saturates, but only far outside the range of 64-bit integers.
    integer.cmp(&(floor as i128)).then(if float > floor { Ordering::Less } else { Ordering::Equal })
}

fn compare(a: &Value, b: &Value) -> Ordering {
    match (a, b) {
        (Value::Bool(a), Value::Bool(b)) => a.cmp(b),
        (Value::Number(a), Value::Number(b)) => compare_numbers(a, b).then(a.is_f64().cmp(&b.is_f64())),
        (Value::String(a), Value::String(b)) => a.cmp(b),
        (Value::Array(a), Value::Array(b)) => a.iter().map(OrderedValue).cmp(b.iter().map(OrderedValue)),
        (Value::Object(a), Value::Object(b)) => {
            let by_entry =
                || a.iter().map(|(k, v)| (k, OrderedValue(v))).cmp(b.iter().map(|(k, v)| (k, OrderedValue(v))));
            a.len().cmp(&b.len()).then_with(by_entry)
        }
        (a, b) => rank(a).cmp(&rank(b)),
    }
}

fn rank(value: &Value) -> u8 {
    match value {
        Value::Null => 0,
        Value::Bool(_) => 1,
        Value::Number(_) => 2,
        Value::String(_) => 3,
        Value::Array(_) => 4,
        Value::Object(_) => 5,
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::any_value;
    use super::*;
    use proptest::prelude::*;
    use serde_json::json;

    #[test]
    fn numbers_compare_by_exact_value() {
        let rows = [
            (json!(1), json!(1.0), Ordering::Equal),
            (json!(1), json!(1.5), Ordering::Less),
            (json!(-1), json!(-1.5), Ordering::Greater),
            (json!(u64::MAX), json!(1.8446744073709552e19), Ordering::Less),
            (json!(i64::MIN), json!(-9.223_372_036_854_776e18), Ordering::Equal),
            (json!(9_007_199_254_740_993_i64), json!(9_007_199_254_740_992.0), Ordering::Greater),
            (json!(0), json!(f64::MAX), Ordering::Less),
            (json!(0), json!(f64::MIN), Ordering::Greater),
            (json!(2.5), json!(2.25), Ordering::Greater),
        ];
        for (a, b, expected) in rows {
            let (Value::Number(a), Value::Number(b)) = (a, b) else { panic!("numbers only") };
            assert_eq!(compare_numbers(&a, &b), expected, "{a} {b}");
            assert_eq!(compare_numbers(&b, &a), expected.reverse(), "{b} {a}");
        }
    }

    proptest! {
        #[test]
        fn the_order_is_total_and_agrees_with_equality(a in any_value(), b in any_value(), c in any_value()) {
            prop_assert_eq!(OrderedValue(&a) == OrderedValue(&b), a == b);
            prop_assert_eq!(OrderedValue(&a).cmp(&OrderedValue(&b)), OrderedValue(&b).cmp(&OrderedValue(&a)).reverse());
            if OrderedValue(&a) <= OrderedValue(&b) && OrderedValue(&b) <= OrderedValue(&c) {
                prop_assert!(OrderedValue(&a) <= OrderedValue(&c));
            }
        }
    }
}
