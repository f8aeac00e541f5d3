//! Node that calls a model.

use std::sync::Arc;

use serde_json::{Map, Value};
use superstep_core::dynamic_state::DynamicState;
use superstep_core::error::{Error, ErrorCode};
use superstep_core::message::Message;
use superstep_core::model::{ChatRequest, ResponseFormat};
use superstep_core::port::{SharedModel, SharedTool};

use super::NodeInputs;
use crate::engine::context::TaskContext;
use crate::graph::handler::Node;
use crate::graph::output::NodeError;
use crate::models::Prompt;

/// A node that calls a model and writes the response.
///
/// ```
/// use serde_json::json;
/// use superstep::files::ModelNode;
/// use superstep::models::{Prompt, ScriptedModel};
/// use superstep::prelude::*;
/// use superstep::{DynamicState, Schema};
///
/// let schema = Schema::from_json("page", &json!({ "text": { "type": "string" }, "title": { "type": "string" } }))?;
/// let mut graph = StateGraph::<DynamicState>::with_schema("page", schema);
/// let prompt = Prompt::new("title", "1", "A title for: {{text}}")?;
/// graph.add_node("title", ModelNode::new(ScriptedModel::new(["Foxes"])).prompt(prompt).output("title"));
/// graph.add_edge(START, "title").add_edge("title", END);
/// let done = graph.compile()?.invoke(json!({ "text": "The fox …" })).wait_blocking()?;
/// assert_eq!(*done.state.get("title"), "Foxes");
/// # Ok::<(), superstep::Error>(())
/// ```
#[must_use = "a node has no effect until it is added to a graph"]
#[derive(Clone)]
pub struct ModelNode {
    model: SharedModel,
    prompt: Option<Prompt>,
    messages: Option<String>,
    tools: Vec<SharedTool>,
    output: Option<String>,
    format: Option<ResponseFormat>,
    temperature: Option<f64>,
    max_tokens: Option<u32>,
}

impl ModelNode {
    /// Creates a node that calls this model.
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

    /// Sets the prompt, which is sent before the messages; without a message list, the prompt is the whole request.
    pub fn prompt(mut self, prompt: Prompt) -> Self {
        self.prompt = Some(prompt);
        self
    }

    /// Sets the message list of the conversation. The response is added to the list, unless `output` is another
    /// field.
    pub fn messages(mut self, field: impl Into<String>) -> Self {
        self.messages = Some(field.into());
        self
    }

    /// Adds tools that the model may call.
    pub fn tools(mut self, tools: impl IntoIterator<Item = impl Into<SharedTool>>) -> Self {
        self.tools.extend(tools.into_iter().map(Into::into));
        self
    }

    /// Sets the field for the text of the response, or for the message if the field is a message list.
    pub fn output(mut self, field: impl Into<String>) -> Self {
        self.output = Some(field.into());
        self
    }

    /// Sets the format of the response; the field then receives the value.
    pub fn format(mut self, format: ResponseFormat) -> Self {
        self.format = Some(format);
        self
    }

    /// Sets the sampling temperature.
    pub fn temperature(mut self, temperature: f64) -> Self {
        self.temperature = Some(temperature);
        self
    }

    /// Sets the maximum length of the response, in tokens.
    pub fn max_tokens(mut self, tokens: u32) -> Self {
        self.max_tokens = Some(tokens);
        self
    }

    fn request(&self, values: &NodeInputs) -> Result<ChatRequest, NodeError> {
        let history = match &self.messages {
            Some(field) => match values.messages(field) {
                Some(messages) => messages.iter_arcs().cloned().collect(),
                None => return Err(NodeError::new(format!("`{field}` is not a message list")).fatal()),
            },
            None => Vec::new(),
        };
        let prompt = self.prompt.as_ref().map(|prompt| values.render(prompt)).transpose()?;
        let prompt_message = prompt
            .map(|message| if self.messages.is_some() { message } else { Message::user(message.text().into_owned()) });
        let mut request = ChatRequest::new(prompt_message.map(Arc::new).into_iter().chain(history));
        request.prompt = self.prompt.as_ref().map(|prompt| prompt.label().into());
        request.format.clone_from(&self.format);
        (request.temperature, request.max_tokens) = (self.temperature, self.max_tokens);
        Ok(request.tools(self.tools.iter().map(|tool| tool.spec().clone())))
    }
}

impl Node<DynamicState> for ModelNode {
    type Output = Value;

    async fn run(&self, cx: TaskContext) -> Result<Value, NodeError> {
        let values = NodeInputs::from_task(&cx)?;
        let Some(field) = self.output.as_ref().or(self.messages.as_ref()) else {
            return Err(Error::new(ErrorCode::InvalidGraph, "the model node has no field for its response")
                .with_help("set `output`")
                .into());
        };
        let response = cx.model(&self.model).request(self.request(&values)?).await?;
        let value = match &self.format {
            Some(format) => response.validate(format)?,
            None if values.messages(field).is_some() => serde_json::to_value(&response.message)?,
            None => response.message.text().into_owned().into(),
        };
        Ok(Value::Object(Map::from_iter([(field.clone(), value)])))
    }
}
