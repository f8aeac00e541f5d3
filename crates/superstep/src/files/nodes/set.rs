//! Node that writes fields.

use serde_json::{Map, Value};
use superstep_core::dynamic_state::DynamicState;

use super::NodeInputs;
use crate::engine::context::TaskContext;
use crate::graph::handler::Node;
use crate::graph::output::NodeError;
use crate::models::Prompt;

/// A node that writes fields: constants, templates, copies of other fields. Reducers merge the written values.
#[must_use = "a node has no effect until it is added to a graph"]
#[derive(Debug, Clone, Default)]
pub struct SetNode(Vec<(String, ValueSource)>);

/// Source of a value.
#[derive(Debug, Clone)]
enum ValueSource {
    Value(Value),
    Template(Prompt),
    Copy(String),
}

impl SetNode {
    /// Creates a node that writes nothing.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a constant.
    pub fn value(self, field: impl Into<String>, value: impl Into<Value>) -> Self {
        self.with(field.into(), ValueSource::Value(value.into()))
    }

    /// Adds a text with placeholders, which are replaced by their values.
    pub fn template(self, field: impl Into<String>, text: Prompt) -> Self {
        self.with(field.into(), ValueSource::Template(text))
    }

    /// Adds a copy of the field `from`, or of the item of a map node.
    pub fn copy(self, field: impl Into<String>, from: impl Into<String>) -> Self {
        self.with(field.into(), ValueSource::Copy(from.into()))
    }

    fn with(mut self, field: String, from: ValueSource) -> Self {
        self.0.push((field, from));
        self
    }
}

impl Node<DynamicState> for SetNode {
    type Output = Value;

    async fn run(&self, cx: TaskContext) -> Result<Value, NodeError> {
        let values = NodeInputs::from_task(&cx)?;
        let mut update = Map::new();
        for (field, from) in &self.0 {
            let value = match from {
                ValueSource::Value(value) => value.clone(),
                ValueSource::Template(text) => Value::from(values.render(text)?.text().into_owned()),
                ValueSource::Copy(from) => values.get(from).into_owned(),
            };
            update.insert(field.clone(), value);
        }
        Ok(Value::Object(update))
    }
}
