//! A node that asks a model.

use std::sync::Arc;

use serde_json::{Map, Value};
use superstep_core::error::{Code, Error};
use superstep_core::message::Message;
use superstep_core::model::{AnswerFormat, Request};
use superstep_core::port::{SharedModel, SharedTool};
use superstep_core::record::Record;

use super::Values;
use crate::context::Cx;
use crate::handler::Node;
use crate::model::Prompt;
use crate::output::NodeError;

/// Asks a model, and writes its answer.
///
/// ```
/// use serde_json::json;
/// use superstep::file::ModelNode;
/// use superstep::model::{Prompt, Scripted};
/// use superstep::prelude::*;
/// use superstep::{Record, Schema};
///
/// let schema = Schema::from_json("page", &json!({ "text": { "type": "string" }, "title": { "type": "string" } }))?;
/// let mut graph = Graph::<Record>::with_schema("page", schema);
/// let prompt = Prompt::new("title", "1", "A title for: {{text}}")?;
/// graph.node("title", ModelNode::new(Scripted::new(["Foxes"])).prompt(prompt).output("title"));
/// graph.edge(START, "title").edge("title", END);
/// let done = graph.compile()?.run(json!({ "text": "The fox …" })).wait()?;
/// assert_eq!(*done.state.get("title"), "Foxes");
/// # Ok::<(), superstep::Error>(())
/// ```
#[must_use = "give it to a graph"]
#[derive(Clone)]
pub struct ModelNode {
    model: SharedModel,
    prompt: Option<Prompt>,
    messages: Option<String>,
    tools: Vec<SharedTool>,
    output: Option<String>,
    format: Option<AnswerFormat>,
    temperature: Option<f64>,
    max_tokens: Option<u32>,
}

impl ModelNode {
    /// Asks this model.
    pub fn new(model: impl Into<SharedModel>) -> Self {
        Self {
            model: model.into(),
            prompt: None,
            messages: None,
            tools: Vec::new(),
            output: None,
            format: None,
            temperature: None,
            max_tokens: None,
        }
    }

    /// What it is told, in front of the messages; without a message list this is the whole question.
    pub fn prompt(mut self, prompt: Prompt) -> Self {
        self.prompt = Some(prompt);
        self
    }

    /// The message list it goes on with. Its answer is added there, unless `output` is another field.
    pub fn messages(mut self, field: impl Into<String>) -> Self {
        self.messages = Some(field.into());
        self
    }

    /// Tools it may ask for.
    pub fn tools(mut self, tools: impl IntoIterator<Item = impl Into<SharedTool>>) -> Self {
        self.tools.extend(tools.into_iter().map(Into::into));
        self
    }

    /// The field the text of its answer is written to, or the message where that field is a message list.
    pub fn output(mut self, field: impl Into<String>) -> Self {
        self.output = Some(field.into());
        self
    }

    /// The form of its answer; the field then gets the value.
    pub fn format(mut self, format: AnswerFormat) -> Self {
        self.format = Some(format);
        self
    }

    /// How much chance there is in the answer.
    pub fn temperature(mut self, temperature: f64) -> Self {
        self.temperature = Some(temperature);
        self
    }

    /// The longest answer, in tokens.
    pub fn max_tokens(mut self, tokens: u32) -> Self {
        self.max_tokens = Some(tokens);
        self
    }

    fn request(&self, values: &Values) -> Result<Request, NodeError> {
        let said = match &self.messages {
            Some(field) => match values.messages(field) {
                Some(messages) => messages.shared().cloned().collect(),
                None => return Err(NodeError::new(format!("`{field}` is not a message list")).fatal()),
            },
            None => Vec::new(),
        };
        let prompt = self.prompt.as_ref().map(|prompt| values.fill(prompt)).transpose()?;
        let told =
            prompt.map(|told| if self.messages.is_some() { told } else { Message::user(told.text().into_owned()) });
        let mut request = Request::new(told.map(Arc::new).into_iter().chain(said));
        request.prompt = self.prompt.as_ref().map(|prompt| prompt.label().into());
        request.format.clone_from(&self.format);
        (request.temperature, request.max_tokens) = (self.temperature, self.max_tokens);
        Ok(request.tools(self.tools.iter().map(|tool| tool.spec().clone())))
    }
}

impl Node<Record> for ModelNode {
    type Output = Value;

    async fn run(&self, cx: Cx) -> Result<Value, NodeError> {
        let values = Values::of(&cx)?;
        let Some(field) = self.output.as_ref().or(self.messages.as_ref()) else {
            return Err(Error::new(Code::InvalidGraph, "it has no field for the answer").help("say `output`").into());
        };
        let answer = cx.model(&self.model).request(self.request(&values)?).await?;
        let value = match &self.format {
            Some(format) => answer.check(format)?,
            None if values.messages(field).is_some() => serde_json::to_value(&answer.message)?,
            None => answer.message.text().into_owned().into(),
        };
        Ok(Value::Object(Map::from_iter([(field.clone(), value)])))
    }
}
