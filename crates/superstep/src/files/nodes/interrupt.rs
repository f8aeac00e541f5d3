//! Node that raises an interrupt.

use serde_json::{Map, Value};
use superstep_core::dynamic_state::DynamicState;

use super::NodeInputs;
use crate::engine::context::{Interrupts, TaskContext};
use crate::graph::extract::FromTask;
use crate::graph::handler::Node;
use crate::graph::output::NodeError;
use crate::models::Prompt;

/// A node that raises an interrupt and writes the resume value to a field. The interrupt has the name of the node.
#[must_use = "a node has no effect until it is added to a graph"]
#[derive(Debug, Clone)]
pub struct InterruptNode {
    prompt: Prompt,
    output: String,
    resume_schema: Option<Value>,
    payload_fields: Vec<String>,
}

impl InterruptNode {
    /// Creates a node that raises an interrupt with this text and writes the resume value to the field `output`.
    pub fn new(prompt: Prompt, output: impl Into<String>) -> Self {
        Self { prompt, output: output.into(), resume_schema: None, payload_fields: Vec::new() }
    }

    /// Sets the JSON Schema of the resume value. Other values are rejected.
    pub fn resume_schema(mut self, schema: Value) -> Self {
        self.resume_schema = Some(schema);
        self
    }

    /// Adds fields to the payload of the interrupt.
    pub fn payload_fields(mut self, fields: impl IntoIterator<Item = impl Into<String>>) -> Self {
        self.payload_fields.extend(fields.into_iter().map(Into::into));
        self
    }
}

impl Node<DynamicState> for InterruptNode {
    type Output = Value;

    async fn run(&self, cx: TaskContext) -> Result<Value, NodeError> {
        let values = NodeInputs::from_task(&cx)?;
        let payload: Map<String, Value> =
            self.payload_fields.iter().map(|field| (field.clone(), values.get(field).into_owned())).collect();
        let text = values.render(&self.prompt)?.text().into_owned();
        let interrupts = <Interrupts as FromTask<DynamicState, ()>>::from_task(&cx)?;
        let resume_value =
            interrupts.raise_with_schema(cx.node(), Value::Object(payload), &text, self.resume_schema.clone()).await?;
        Ok(Value::Object(Map::from_iter([(self.output.clone(), resume_value)])))
    }
}
