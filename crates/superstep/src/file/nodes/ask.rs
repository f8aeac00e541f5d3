//! A node that asks a person.

use serde_json::{Map, Value};
use superstep_core::record::Record;

use super::Values;
use crate::context::{Ask, Cx};
use crate::extract::FromTask;
use crate::handler::Node;
use crate::model::Prompt;
use crate::output::NodeError;

/// Asks a person, and writes the answer to a field. The name of the question is the name of the node.
#[must_use = "give it to a graph"]
#[derive(Debug, Clone)]
pub struct AskNode {
    question: Prompt,
    output: String,
    answer: Option<Value>,
    show: Vec<String>,
}

impl AskNode {
    /// Asks this, and writes the answer to the field `output`.
    pub fn new(question: Prompt, output: impl Into<String>) -> Self {
        Self { question, output: output.into(), answer: None, show: Vec::new() }
    }

    /// The JSON Schema of the answer; others are refused.
    pub fn answer(mut self, schema: Value) -> Self {
        self.answer = Some(schema);
        self
    }

    /// Also shows these fields.
    pub fn show(mut self, fields: impl IntoIterator<Item = impl Into<String>>) -> Self {
        self.show.extend(fields.into_iter().map(Into::into));
        self
    }
}

impl Node<Record> for AskNode {
    type Output = Value;

    async fn run(&self, cx: Cx) -> Result<Value, NodeError> {
        let values = Values::of(&cx)?;
        let shown: Map<String, Value> =
            self.show.iter().map(|field| (field.clone(), values.get(field).into_owned())).collect();
        let text = values.fill(&self.question)?.text().into_owned();
        let ask = <Ask as FromTask<Record, ()>>::from_task(&cx)?;
        let answer = ask.with(cx.node(), Value::Object(shown), &text, self.answer.clone()).await?;
        Ok(Value::Object(Map::from_iter([(self.output.clone(), answer)])))
    }
}
