//! Conditions on fields, evaluated by condition nodes.
//!
//! A condition never fails: a comparison of incompatible values is false.

use std::cmp::Ordering;

use serde::Deserialize;
use serde_json::Value;

use super::nodes::NodeInputs;
use crate::tools::has_pending_tool_calls;

/// A condition on one or more fields.
///
/// ```
/// use superstep::files::Condition;
/// let urgent = Condition::all([Condition::equals("topic", "outage"), Condition::at_least("score", 7)]);
/// let asks = Condition::any([urgent, Condition::equals("verdict", "escalate").at("/decision")]);
/// # let _ = asks;
/// ```
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(try_from = "RawCondition")]
pub struct Condition(pub(super) ConditionKind);

#[derive(Debug, Clone, PartialEq)]
pub(super) enum ConditionKind {
    Field { field: String, at: Option<String>, comparison: Comparison },
    HasToolCalls(String),
    All(Vec<Condition>),
    Any(Vec<Condition>),
    Not(Box<Condition>),
}

#[derive(Debug, Clone, PartialEq)]
pub(super) enum Comparison {
    Equals(Value),
    OneOf(Vec<Value>),
    AtLeast(Value),
    AtMost(Value),
    Contains(Value),
    Exists(bool),
}

impl Condition {
    fn field(field: impl Into<String>, comparison: Comparison) -> Self {
        Self(ConditionKind::Field { field: field.into(), at: None, comparison })
    }

    /// Creates a condition that is true if the value is equal; numbers are compared by value.
    #[must_use]
    pub fn equals(field: impl Into<String>, value: impl Into<Value>) -> Self {
        Self::field(field, Comparison::Equals(value.into()))
    }

    /// Creates a condition that is true if the value is one of these.
    #[must_use]
    pub fn one_of(field: impl Into<String>, values: impl IntoIterator<Item = impl Into<Value>>) -> Self {
        Self::field(field, Comparison::OneOf(values.into_iter().map(Into::into).collect()))
    }

    /// Creates a condition that is true for a number of at least this value, or a text that does not sort before it.
    #[must_use]
    pub fn at_least(field: impl Into<String>, min: impl Into<Value>) -> Self {
        Self::field(field, Comparison::AtLeast(min.into()))
    }

    /// Creates a condition that is true for a number of at most this value, or a text that does not sort after it.
    #[must_use]
    pub fn at_most(field: impl Into<String>, max: impl Into<Value>) -> Self {
        Self::field(field, Comparison::AtMost(max.into()))
    }

    /// Creates a condition that is true for a text that contains this text, or a list that contains this item.
    #[must_use]
    pub fn contains(field: impl Into<String>, part: impl Into<Value>) -> Self {
        Self::field(field, Comparison::Contains(part.into()))
    }

    /// Creates a condition that is true if there is a value other than null.
    #[must_use]
    pub fn exists(field: impl Into<String>) -> Self {
        Self::field(field, Comparison::Exists(true))
    }

    /// Creates a condition that is true if there is no value, or null.
    #[must_use]
    pub fn is_missing(field: impl Into<String>) -> Self {
        Self::field(field, Comparison::Exists(false))
    }

    /// Creates a condition that is true if the last message of this field has open tool calls.
    #[must_use]
    pub fn has_tool_calls(field: impl Into<String>) -> Self {
        Self(ConditionKind::HasToolCalls(field.into()))
    }

    /// Creates a condition that is true if all of these are true.
    #[must_use]
    pub fn all(tests: impl IntoIterator<Item = Self>) -> Self {
        Self(ConditionKind::All(tests.into_iter().collect()))
    }

    /// Creates a condition that is true if at least one of these is true.
    #[must_use]
    pub fn any(tests: impl IntoIterator<Item = Self>) -> Self {
        Self(ConditionKind::Any(tests.into_iter().collect()))
    }

    /// Creates a condition that is true if this one is false.
    #[must_use]
    #[expect(clippy::should_implement_trait, reason = "named after the key `not` of graph files")]
    pub fn not(test: Self) -> Self {
        Self(ConditionKind::Not(Box::new(test)))
    }

    /// Compares a nested value of the field, at a JSON pointer such as `/score`.
    #[must_use]
    pub fn at(mut self, pointer: impl Into<String>) -> Self {
        if let ConditionKind::Field { at, .. } = &mut self.0 {
            *at = Some(pointer.into());
        }
        self
    }

    pub(super) fn evaluate(&self, values: &NodeInputs) -> bool {
        match &self.0 {
            ConditionKind::All(tests) => tests.iter().all(|test| test.evaluate(values)),
            ConditionKind::Any(tests) => tests.iter().any(|test| test.evaluate(values)),
            ConditionKind::Not(test) => !test.evaluate(values),
            ConditionKind::HasToolCalls(field) => values.messages(field).is_some_and(has_pending_tool_calls),
            ConditionKind::Field { field, at, comparison } => {
                let value = values.get(field);
                let actual = at.as_ref().map_or(Some(&*value), |at| value.pointer(at));
                comparison.holds(actual.unwrap_or(&Value::Null))
            }
        }
    }

    /// Returns the fields that the condition reads.
    pub(super) fn fields(&self) -> Vec<&str> {
        match &self.0 {
            ConditionKind::All(tests) | ConditionKind::Any(tests) => tests.iter().flat_map(Self::fields).collect(),
            ConditionKind::Not(test) => test.fields(),
            ConditionKind::HasToolCalls(field) | ConditionKind::Field { field, .. } => vec![field],
        }
    }
}

impl Comparison {
    fn holds(&self, actual: &Value) -> bool {
        match self {
            Self::Equals(value) => is_equal(actual, value),
            Self::OneOf(values) => values.iter().any(|value| is_equal(actual, value)),
            Self::AtLeast(min) => compare(actual, min).is_some_and(Ordering::is_ge),
            Self::AtMost(max) => compare(actual, max).is_some_and(Ordering::is_le),
            Self::Contains(part) => match (actual, part) {
                (Value::String(text), Value::String(part)) => text.contains(part.as_str()),
                (Value::Array(items), part) => items.iter().any(|item| is_equal(item, part)),
                _ => false,
            },
            Self::Exists(exists) => actual.is_null() != *exists,
        }
    }
}

fn is_equal(actual: &Value, value: &Value) -> bool {
    actual == value || (actual.is_number() && compare(actual, value) == Some(Ordering::Equal))
}

fn compare(actual: &Value, value: &Value) -> Option<Ordering> {
    match (actual, value) {
        (Value::String(actual), Value::String(value)) => Some(actual.cmp(value)),
        (Value::Number(actual), Value::Number(value)) => match (actual.as_i128(), value.as_i128()) {
            (Some(actual), Some(value)) => Some(actual.cmp(&value)),
            _ => actual.as_f64()?.partial_cmp(&value.as_f64()?),
        },
        _ => None,
    }
}

/// Operators of a condition; each condition has exactly one.
pub(super) const CONDITION_KEYS: [&str; 10] =
    ["equals", "one_of", "at_least", "at_most", "contains", "exists", "has_tool_calls", "all", "any", "not"];

/// Operators that compare a `field`.
pub(super) const FIELD_CONDITION_KEYS: [&str; 6] = ["equals", "one_of", "at_least", "at_most", "contains", "exists"];

/// A condition as written in a file.
#[derive(Deserialize)]
struct RawCondition {
    field: Option<String>,
    at: Option<String>,
    equals: Option<Value>,
    one_of: Option<Vec<Value>>,
    at_least: Option<Value>,
    at_most: Option<Value>,
    contains: Option<Value>,
    exists: Option<bool>,
    has_tool_calls: Option<String>,
    all: Option<Vec<Condition>>,
    any: Option<Vec<Condition>>,
    not: Option<Box<Condition>>,
}

impl TryFrom<RawCondition> for Condition {
    type Error = &'static str;

    fn try_from(raw: RawCondition) -> Result<Self, &'static str> {
        let kind = (raw.all.map(ConditionKind::All))
            .or(raw.any.map(ConditionKind::Any))
            .or(raw.not.map(ConditionKind::Not))
            .or(raw.has_tool_calls.map(ConditionKind::HasToolCalls));
        if let Some(kind) = kind {
            return Ok(Self(kind));
        }
        let comparison = (raw.equals.map(Comparison::Equals))
            .or(raw.one_of.map(Comparison::OneOf))
            .or(raw.at_least.map(Comparison::AtLeast))
            .or(raw.at_most.map(Comparison::AtMost))
            .or(raw.contains.map(Comparison::Contains))
            .or(raw.exists.map(Comparison::Exists))
            .ok_or("a condition without an operator")?;
        let field = raw.field.ok_or("a condition without a field")?;
        Ok(Self(ConditionKind::Field { field, at: raw.at, comparison }))
    }
}
