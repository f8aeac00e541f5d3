//! Tests of fields: what a condition looks at.
//!
//! A test never fails: what cannot be compared does not hold.

use std::cmp::Ordering;

use serde::Deserialize;
use serde_json::Value;

use super::nodes::Values;
use crate::tool::wants_tools;

/// A test of a field, or of several.
///
/// ```
/// use superstep::file::Test;
/// let urgent = Test::all([Test::equals("topic", "outage"), Test::at_least("score", 7)]);
/// let asks = Test::any([urgent, Test::equals("verdict", "escalate").at("/decision")]);
/// # let _ = asks;
/// ```
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(try_from = "Words")]
pub struct Test(pub(super) Check);

#[derive(Debug, Clone, PartialEq)]
pub(super) enum Check {
    Field { field: String, at: Option<String>, is: Is },
    WantsTools(String),
    All(Vec<Test>),
    Any(Vec<Test>),
    Not(Box<Test>),
}

#[derive(Debug, Clone, PartialEq)]
pub(super) enum Is {
    Equals(Value),
    OneOf(Vec<Value>),
    AtLeast(Value),
    AtMost(Value),
    Contains(Value),
    Exists(bool),
}

impl Test {
    fn field(field: impl Into<String>, is: Is) -> Self {
        Self(Check::Field { field: field.into(), at: None, is })
    }

    /// Holds when the value is this; numbers are compared as numbers.
    #[must_use]
    pub fn equals(field: impl Into<String>, value: impl Into<Value>) -> Self {
        Self::field(field, Is::Equals(value.into()))
    }

    /// Holds when the value is one of these.
    #[must_use]
    pub fn one_of(field: impl Into<String>, values: impl IntoIterator<Item = impl Into<Value>>) -> Self {
        Self::field(field, Is::OneOf(values.into_iter().map(Into::into).collect()))
    }

    /// Holds when the value is a number, not below this, or a text, not before it.
    #[must_use]
    pub fn at_least(field: impl Into<String>, least: impl Into<Value>) -> Self {
        Self::field(field, Is::AtLeast(least.into()))
    }

    /// Holds when the value is a number, not above this, or a text, not after it.
    #[must_use]
    pub fn at_most(field: impl Into<String>, most: impl Into<Value>) -> Self {
        Self::field(field, Is::AtMost(most.into()))
    }

    /// Holds when the value is a text with this in it, or a list that has this item.
    #[must_use]
    pub fn contains(field: impl Into<String>, part: impl Into<Value>) -> Self {
        Self::field(field, Is::Contains(part.into()))
    }

    /// Holds when there is a value other than null.
    #[must_use]
    pub fn exists(field: impl Into<String>) -> Self {
        Self::field(field, Is::Exists(true))
    }

    /// Holds when there is no value, or null.
    #[must_use]
    pub fn is_missing(field: impl Into<String>) -> Self {
        Self::field(field, Is::Exists(false))
    }

    /// Holds when the last message of this field asks for tools.
    #[must_use]
    pub fn wants_tools(field: impl Into<String>) -> Self {
        Self(Check::WantsTools(field.into()))
    }

    /// Holds when all of these do.
    #[must_use]
    pub fn all(tests: impl IntoIterator<Item = Self>) -> Self {
        Self(Check::All(tests.into_iter().collect()))
    }

    /// Holds when one of these does.
    #[must_use]
    pub fn any(tests: impl IntoIterator<Item = Self>) -> Self {
        Self(Check::Any(tests.into_iter().collect()))
    }

    /// Holds when this does not.
    #[must_use]
    #[expect(clippy::should_implement_trait, reason = "it is the word of the file format, beside `all` and `any`")]
    pub fn not(test: Self) -> Self {
        Self(Check::Not(Box::new(test)))
    }

    /// Looks into the value of the field, at a JSON pointer such as `/score`.
    #[must_use]
    pub fn at(mut self, pointer: impl Into<String>) -> Self {
        if let Check::Field { at, .. } = &mut self.0 {
            *at = Some(pointer.into());
        }
        self
    }

    pub(super) fn holds(&self, values: &Values) -> bool {
        match &self.0 {
            Check::All(tests) => tests.iter().all(|test| test.holds(values)),
            Check::Any(tests) => tests.iter().any(|test| test.holds(values)),
            Check::Not(test) => !test.holds(values),
            Check::WantsTools(field) => values.messages(field).is_some_and(wants_tools),
            Check::Field { field, at, is } => {
                let value = values.get(field);
                let found = at.as_ref().map_or(Some(&*value), |at| value.pointer(at));
                is.holds(found.unwrap_or(&Value::Null))
            }
        }
    }

    /// The fields it looks at.
    pub(super) fn fields(&self) -> Vec<&str> {
        match &self.0 {
            Check::All(tests) | Check::Any(tests) => tests.iter().flat_map(Self::fields).collect(),
            Check::Not(test) => test.fields(),
            Check::WantsTools(field) | Check::Field { field, .. } => vec![field],
        }
    }
}

impl Is {
    fn holds(&self, found: &Value) -> bool {
        match self {
            Self::Equals(value) => is_equal(found, value),
            Self::OneOf(values) => values.iter().any(|value| is_equal(found, value)),
            Self::AtLeast(least) => compare(found, least).is_some_and(Ordering::is_ge),
            Self::AtMost(most) => compare(found, most).is_some_and(Ordering::is_le),
            Self::Contains(part) => match (found, part) {
                (Value::String(text), Value::String(part)) => text.contains(part.as_str()),
                (Value::Array(items), part) => items.iter().any(|item| is_equal(item, part)),
                _ => false,
            },
            Self::Exists(exists) => found.is_null() != *exists,
        }
    }
}

fn is_equal(found: &Value, value: &Value) -> bool {
    found == value || (found.is_number() && compare(found, value) == Some(Ordering::Equal))
}

fn compare(found: &Value, value: &Value) -> Option<Ordering> {
    match (found, value) {
        (Value::String(found), Value::String(value)) => Some(found.cmp(value)),
        (Value::Number(found), Value::Number(value)) => match (found.as_i128(), value.as_i128()) {
            (Some(found), Some(value)) => Some(found.cmp(&value)),
            _ => found.as_f64()?.partial_cmp(&value.as_f64()?),
        },
        _ => None,
    }
}

/// The words of a test that say what must hold; each test has one.
pub(super) const TEST_WORDS: [&str; 10] =
    ["equals", "one_of", "at_least", "at_most", "contains", "exists", "wants_tools", "all", "any", "not"];

/// Those of them that look at a `field`.
pub(super) const FIELD_WORDS: [&str; 6] = ["equals", "one_of", "at_least", "at_most", "contains", "exists"];

/// A test as it stands in a file.
#[derive(Deserialize)]
struct Words {
    field: Option<String>,
    at: Option<String>,
    equals: Option<Value>,
    one_of: Option<Vec<Value>>,
    at_least: Option<Value>,
    at_most: Option<Value>,
    contains: Option<Value>,
    exists: Option<bool>,
    wants_tools: Option<String>,
    all: Option<Vec<Test>>,
    any: Option<Vec<Test>>,
    not: Option<Box<Test>>,
}

impl TryFrom<Words> for Test {
    type Error = &'static str;

    fn try_from(words: Words) -> Result<Self, &'static str> {
        let whole = (words.all.map(Check::All))
            .or(words.any.map(Check::Any))
            .or(words.not.map(Check::Not))
            .or(words.wants_tools.map(Check::WantsTools));
        if let Some(whole) = whole {
            return Ok(Self(whole));
        }
        let is = (words.equals.map(Is::Equals))
            .or(words.one_of.map(Is::OneOf))
            .or(words.at_least.map(Is::AtLeast))
            .or(words.at_most.map(Is::AtMost))
            .or(words.contains.map(Is::Contains))
            .or(words.exists.map(Is::Exists))
            .ok_or("a test without a word")?;
        let field = words.field.ok_or("a test without a field")?;
        Ok(Self(Check::Field { field, at: words.at, is }))
    }
}
