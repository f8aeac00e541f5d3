//! Filters: a tree of conditions over paths in the values of items.
//!
//! Evaluated here and not in a database, so that one filter finds the same items in every store. Keys are names and
//! never patterns or code.

use std::cmp::Ordering;

use serde_json::Value;

use super::compare::{order, same};

mod parse;
#[cfg(test)]
mod tests;

/// A path to a value: keys of objects, from the outside in. A key is used verbatim; a dot in it is a dot.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ValuePath(Vec<String>);

impl ValuePath {
    /// Returns the keys.
    #[must_use]
    pub fn as_slice(&self) -> &[String] {
        &self.0
    }

    /// Returns the value at the path; `None` below a missing key or a value that is not an object.
    #[must_use]
    pub fn find<'a>(&self, value: &'a Value) -> Option<&'a Value> {
        self.0.iter().try_fold(value, |value, key| value.as_object()?.get(key))
    }
}

impl From<&str> for ValuePath {
    fn from(key: &str) -> Self {
        Self(vec![key.to_owned()])
    }
}

impl<T: Into<String>, const N: usize> From<[T; N]> for ValuePath {
    fn from(keys: [T; N]) -> Self {
        Self(keys.into_iter().map(Into::into).collect())
    }
}

impl From<Vec<String>> for ValuePath {
    fn from(keys: Vec<String>) -> Self {
        Self(keys)
    }
}

/// A condition on the value of an item.
///
/// Numbers are compared by value, so `1` equals `1.0`; texts byte by byte. Only numbers and texts have an order, and
/// none between the two kinds: `Lt` and the other order conditions never hold for two kinds of value, nor for an absent
/// value. `null` is a value and not absent.
///
/// ```
/// use serde_json::json;
/// use superstep_core::store::Filter;
///
/// let filter = Filter::All(vec![Filter::eq("kind", "note"), Filter::gt(["author", "age"], 17)]);
/// assert!(filter.matches(&json!({ "kind": "note", "author": { "age": 30 } })));
/// assert!(!filter.matches(&json!({ "kind": "note", "author": { "age": "30" } })));
/// ```
#[derive(Debug, Clone, PartialEq)]
pub enum Filter {
    /// The value exists and equals this one.
    Eq(ValuePath, Value),
    /// The value is absent, or differs from this one.
    Ne(ValuePath, Value),
    /// The value exists and is less than this one.
    Lt(ValuePath, Value),
    /// The value exists and is less than or equal to this one.
    Lte(ValuePath, Value),
    /// The value exists and is greater than this one.
    Gt(ValuePath, Value),
    /// The value exists and is greater than or equal to this one.
    Gte(ValuePath, Value),
    /// The value exists and equals one of these.
    In(ValuePath, Vec<Value>),
    /// The value exists, whatever its kind.
    Exists(ValuePath),
    /// All of these hold; true for an empty list.
    All(Vec<Filter>),
    /// One of these holds; false for an empty list.
    Any(Vec<Filter>),
    /// None of these holds; true for an empty list.
    None(Vec<Filter>),
}

/// A condition that holds for every item.
impl Default for Filter {
    fn default() -> Self {
        Self::All(Vec::new())
    }
}

impl Filter {
    /// Requires that the value exists and equals this one.
    pub fn eq(keys: impl Into<ValuePath>, value: impl Into<Value>) -> Self {
        Self::Eq(keys.into(), value.into())
    }

    /// Requires that the value is absent, or differs from this one.
    pub fn ne(keys: impl Into<ValuePath>, value: impl Into<Value>) -> Self {
        Self::Ne(keys.into(), value.into())
    }

    /// Requires a value less than this one.
    pub fn lt(keys: impl Into<ValuePath>, value: impl Into<Value>) -> Self {
        Self::Lt(keys.into(), value.into())
    }

    /// Requires a value less than or equal to this one.
    pub fn lte(keys: impl Into<ValuePath>, value: impl Into<Value>) -> Self {
        Self::Lte(keys.into(), value.into())
    }

    /// Requires a value greater than this one.
    pub fn gt(keys: impl Into<ValuePath>, value: impl Into<Value>) -> Self {
        Self::Gt(keys.into(), value.into())
    }

    /// Requires a value greater than or equal to this one.
    pub fn gte(keys: impl Into<ValuePath>, value: impl Into<Value>) -> Self {
        Self::Gte(keys.into(), value.into())
    }

    /// Requires a value that equals one of these.
    pub fn one_of<V: Into<Value>>(keys: impl Into<ValuePath>, values: impl IntoIterator<Item = V>) -> Self {
        Self::In(keys.into(), values.into_iter().map(Into::into).collect())
    }

    /// Requires a value, whatever its kind.
    pub fn exists(keys: impl Into<ValuePath>) -> Self {
        Self::Exists(keys.into())
    }

    /// Returns true if the condition holds for a value.
    #[must_use]
    pub fn matches(&self, value: &Value) -> bool {
        let ordered = |keys: &ValuePath, bound: &Value| keys.find(value).and_then(|actual| order(actual, bound));
        let equals = |keys: &ValuePath, expected: &Value| keys.find(value).is_some_and(|actual| same(actual, expected));
        match self {
            Self::Eq(keys, expected) => equals(keys, expected),
            Self::Ne(keys, unwanted) => !equals(keys, unwanted),
            Self::Lt(keys, bound) => ordered(keys, bound) == Some(Ordering::Less),
            Self::Lte(keys, bound) => ordered(keys, bound).is_some_and(Ordering::is_le),
            Self::Gt(keys, bound) => ordered(keys, bound) == Some(Ordering::Greater),
            Self::Gte(keys, bound) => ordered(keys, bound).is_some_and(Ordering::is_ge),
            Self::In(keys, expected) => expected.iter().any(|expected| equals(keys, expected)),
            Self::Exists(keys) => keys.find(value).is_some(),
            Self::All(filters) => filters.iter().all(|filter| filter.matches(value)),
            Self::Any(filters) => filters.iter().any(|filter| filter.matches(value)),
            Self::None(filters) => !filters.iter().any(|filter| filter.matches(value)),
        }
    }

    /// Returns the equalities that every match must satisfy, for a store with an index. Values that violate one of
    /// them never match; other values may not match either.
    #[must_use]
    pub fn required_equalities(&self) -> Vec<(&ValuePath, &Value)> {
        match self {
            Self::Eq(keys, expected) => vec![(keys, expected)],
            Self::All(filters) => filters.iter().flat_map(Self::required_equalities).collect(),
            _ => Vec::new(),
        }
    }
}
