//! A node that writes fields.

use serde_json::{Map, Value};
use superstep_core::record::Record;

use super::Values;
use crate::context::Cx;
use crate::handler::Node;
use crate::model::Prompt;
use crate::output::NodeError;

/// Writes fields: constants, texts with placeholders, copies of other fields. Reducers fold what it writes.
#[must_use = "give it to a graph"]
#[derive(Debug, Clone, Default)]
pub struct SetNode(Vec<(String, From)>);

/// Where a value comes from.
#[derive(Debug, Clone)]
enum From {
    Value(Value),
    Template(Prompt),
    Copy(String),
}

impl SetNode {
    /// Writes nothing yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// Writes this value.
    pub fn value(self, field: impl Into<String>, value: impl Into<Value>) -> Self {
        self.with(field.into(), From::Value(value.into()))
    }

    /// Writes this text, with the values of its placeholders.
    pub fn template(self, field: impl Into<String>, text: Prompt) -> Self {
        self.with(field.into(), From::Template(text))
    }

    /// Writes the value of the field `from`, or of the item the node was started for.
    pub fn copy(self, field: impl Into<String>, from: impl Into<String>) -> Self {
        self.with(field.into(), From::Copy(from.into()))
    }

    fn with(mut self, field: String, from: From) -> Self {
        self.0.push((field, from));
        self
    }
}

impl Node<Record> for SetNode {
    type Output = Value;

    async fn run(&self, cx: Cx) -> Result<Value, NodeError> {
        let values = Values::of(&cx)?;
        let mut update = Map::new();
        for (field, from) in &self.0 {
            let value = match from {
                From::Value(value) => value.clone(),
                From::Template(text) => Value::from(values.fill(text)?.text().into_owned()),
                From::Copy(from) => values.get(from).into_owned(),
            };
            update.insert(field.clone(), value);
        }
        Ok(Value::Object(update))
    }
}
