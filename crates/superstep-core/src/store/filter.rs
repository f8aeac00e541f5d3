//! Which items are wanted, by what is in their values: a tree of conditions over paths of keys.
//!
//! Decided here and in no database, so that one filter finds the same items in every store. Keys are names and never
//! patterns or code.

use std::cmp::Ordering;

use serde_json::Value;

use super::compare::{order, same};

mod read;
#[cfg(test)]
mod tests;

/// The way to a value: keys of objects, from the outside in. A key is taken as it is; a dot in it is a dot.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Keys(Vec<String>);

impl Keys {
    /// The keys.
    #[must_use]
    pub fn as_slice(&self) -> &[String] {
        &self.0
    }

    /// What stands there; a missing key and a value that is no object have nothing below them.
    #[must_use]
    pub fn find<'a>(&self, value: &'a Value) -> Option<&'a Value> {
        self.0.iter().try_fold(value, |value, key| value.as_object()?.get(key))
    }
}

impl From<&str> for Keys {
    fn from(key: &str) -> Self {
        Self(vec![key.to_owned()])
    }
}

impl<T: Into<String>, const N: usize> From<[T; N]> for Keys {
    fn from(keys: [T; N]) -> Self {
        Self(keys.into_iter().map(Into::into).collect())
    }
}

impl From<Vec<String>> for Keys {
    fn from(keys: Vec<String>) -> Self {
        Self(keys)
    }
}

/// A condition on the value of an item.
///
/// Numbers are compared by value, so `1` is `1.0`; texts byte by byte. Only numbers and texts have an order, and none
/// between them: `Less` and its like never hold for two kinds of value, nor for what is absent. `null` is a value and
/// not absent.
///
/// ```
/// use serde_json::json;
/// use superstep_core::store::Filter;
///
/// let filter = Filter::All(vec![Filter::is("kind", "note"), Filter::greater(["author", "age"], 17)]);
/// assert!(filter.matches(&json!({ "kind": "note", "author": { "age": 30 } })));
/// assert!(!filter.matches(&json!({ "kind": "note", "author": { "age": "30" } })));
/// ```
#[derive(Debug, Clone, PartialEq)]
pub enum Filter {
    /// There is a value and it is this one.
    Is(Keys, Value),
    /// There is no value, or another one.
    Not(Keys, Value),
    /// There is a smaller one.
    Less(Keys, Value),
    /// There is this or a smaller one.
    LessOrEqual(Keys, Value),
    /// There is a greater one.
    Greater(Keys, Value),
    /// There is this or a greater one.
    GreaterOrEqual(Keys, Value),
    /// There is one of these.
    In(Keys, Vec<Value>),
    /// There is a value, of whatever kind.
    Exists(Keys),
    /// All of these hold; an empty list does.
    All(Vec<Filter>),
    /// One of these holds; an empty list does not.
    Any(Vec<Filter>),
    /// None of these holds; of an empty list none does.
    None(Vec<Filter>),
}

/// Holds for every item.
impl Default for Filter {
    fn default() -> Self {
        Self::All(Vec::new())
    }
}

impl Filter {
    /// There is a value and it is this one.
    pub fn is(keys: impl Into<Keys>, value: impl Into<Value>) -> Self {
        Self::Is(keys.into(), value.into())
    }

    /// There is no value, or another one.
    pub fn not(keys: impl Into<Keys>, value: impl Into<Value>) -> Self {
        Self::Not(keys.into(), value.into())
    }

    /// There is a smaller one.
    pub fn less(keys: impl Into<Keys>, value: impl Into<Value>) -> Self {
        Self::Less(keys.into(), value.into())
    }

    /// There is this or a smaller one.
    pub fn less_or_equal(keys: impl Into<Keys>, value: impl Into<Value>) -> Self {
        Self::LessOrEqual(keys.into(), value.into())
    }

    /// There is a greater one.
    pub fn greater(keys: impl Into<Keys>, value: impl Into<Value>) -> Self {
        Self::Greater(keys.into(), value.into())
    }

    /// There is this or a greater one.
    pub fn greater_or_equal(keys: impl Into<Keys>, value: impl Into<Value>) -> Self {
        Self::GreaterOrEqual(keys.into(), value.into())
    }

    /// There is one of these.
    pub fn one_of<V: Into<Value>>(keys: impl Into<Keys>, values: impl IntoIterator<Item = V>) -> Self {
        Self::In(keys.into(), values.into_iter().map(Into::into).collect())
    }

    /// There is a value, of whatever kind.
    pub fn exists(keys: impl Into<Keys>) -> Self {
        Self::Exists(keys.into())
    }

    /// Whether the condition holds for a value.
    #[must_use]
    pub fn matches(&self, value: &Value) -> bool {
        let ordered = |keys: &Keys, bound: &Value| keys.find(value).and_then(|found| order(found, bound));
        let is = |keys: &Keys, wanted: &Value| keys.find(value).is_some_and(|found| same(found, wanted));
        match self {
            Self::Is(keys, wanted) => is(keys, wanted),
            Self::Not(keys, unwanted) => !is(keys, unwanted),
            Self::Less(keys, bound) => ordered(keys, bound) == Some(Ordering::Less),
            Self::LessOrEqual(keys, bound) => ordered(keys, bound).is_some_and(Ordering::is_le),
            Self::Greater(keys, bound) => ordered(keys, bound) == Some(Ordering::Greater),
            Self::GreaterOrEqual(keys, bound) => ordered(keys, bound).is_some_and(Ordering::is_ge),
            Self::In(keys, wanted) => wanted.iter().any(|wanted| is(keys, wanted)),
            Self::Exists(keys) => keys.find(value).is_some(),
            Self::All(filters) => filters.iter().all(|filter| filter.matches(value)),
            Self::Any(filters) => filters.iter().any(|filter| filter.matches(value)),
            Self::None(filters) => !filters.iter().any(|filter| filter.matches(value)),
        }
    }

    /// What a value must be the same as in places, whatever else it has: for a store whose index can tell. Values that
    /// do not have all of these are not wanted; others may not be wanted either.
    #[must_use]
    pub fn musts(&self) -> Vec<(&Keys, &Value)> {
        match self {
            Self::Is(keys, wanted) => vec![(keys, wanted)],
            Self::All(filters) => filters.iter().flat_map(Self::musts).collect(),
            _ => Vec::new(),
        }
    }
}
