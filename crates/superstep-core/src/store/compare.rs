//! Equality and order of JSON values, with one definition for all stores.
//!
//! Numbers are compared by their exact value, so `1` and `1.0` are equal; texts byte by byte. Other kinds have no
//! order, and values of two kinds are never ordered.

use std::cmp::Ordering;

use serde_json::Value;

use crate::json_reducer::ordering::compare_numbers;

/// Returns true if two values are equal, numbers by value, objects regardless of the order of their keys.
pub(super) fn same(a: &Value, b: &Value) -> bool {
    match (a, b) {
        (Value::Number(a), Value::Number(b)) => compare_numbers(a, b) == Ordering::Equal,
        (Value::Array(a), Value::Array(b)) => a.len() == b.len() && a.iter().zip(b).all(|(a, b)| same(a, b)),
        (Value::Object(a), Value::Object(b)) => {
            a.len() == b.len() && a.iter().all(|(key, a)| b.get(key).is_some_and(|b| same(a, b)))
        }
        (a, b) => a == b,
    }
}

/// Returns the order of two values, if they have one.
pub(super) fn order(a: &Value, b: &Value) -> Option<Ordering> {
    match (a, b) {
        (Value::Number(a), Value::Number(b)) => Some(compare_numbers(a, b)),
        (Value::String(a), Value::String(b)) => Some(a.as_bytes().cmp(b.as_bytes())),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn numbers_are_compared_by_value_and_not_rounded() {
        assert!(same(&json!(1), &json!(1.0)) && same(&json!([{ "a": 1 }]), &json!([{ "a": 1.0 }])));
        assert!(!same(&json!(9_007_199_254_740_993_i64), &json!(9_007_199_254_740_992.0)));
        assert_eq!(order(&json!(u64::MAX), &json!(-1)), Some(Ordering::Greater));
        assert_eq!(order(&json!(0.5), &json!(1)), Some(Ordering::Less));
    }

    #[test]
    fn kinds_have_no_order_between_them() {
        let kinds = [json!(null), json!(true), json!(1), json!("1"), json!([1]), json!({ "a": 1 })];
        for (index, a) in kinds.iter().enumerate() {
            for (other, b) in kinds.iter().enumerate() {
                let is_ordered = index == other && (a.is_number() || a.is_string());
                assert_eq!((order(a, b).is_some(), same(a, b)), (is_ordered, index == other), "{a} {b}");
            }
        }
    }
}
