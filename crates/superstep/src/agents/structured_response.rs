//! Structured responses: the request for them, their validation, and correction messages.

use std::sync::Arc;

use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use super::state::ADDED_BY;
use crate::core::message::{ToolCall, ToolStatus};
use crate::models::{ChatRequest, ChatResponse, ModelKind, ResponseFormat, SharedModel, ToolChoice};
use crate::tools::{ToolSpec, check_arguments};
use crate::{Error, ErrorCode, JsonSchema, Message, Result};

/// Strategy by which the model returns a structured response.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum ResponseStrategy {
    /// The response format (schema) of the request, for models that support it.
    Provider,
    /// A tool that the model must call with the response as arguments.
    Tool,
}

type ValidateFn = Arc<dyn Fn(&Value) -> Result<(), String> + Send + Sync>;

/// Required format of the response of an agent.
#[derive(Clone)]
pub(super) struct StructuredResponse {
    format: ResponseFormat,
    check: ValidateFn,
    spec: Arc<ToolSpec>,
    strategy: Option<ResponseStrategy>,
    pub(super) corrections: u32,
}

/// Interpretation of a model response.
pub(super) enum ParsedResponse {
    /// Not the structured response: the model requests tools.
    Pending,
    /// The structured response, with messages that close its open calls.
    Done(Value, Vec<Message>),
    /// Not a valid structured response, with the messages that tell the model so.
    Invalid(String, Vec<Message>),
}

impl StructuredResponse {
    pub(super) fn for_type<T: JsonSchema + DeserializeOwned>() -> Self {
        let format = ResponseFormat::for_type::<T>();
        let description = format!(
            "Returns the final response as `{}`. Call it once, when you have all the \
             information.",
            format.name
        );
        let spec = ToolSpec::new(&format.name, description).with_input_schema(format.schema.clone());
        let check = |value: &Value| T::deserialize(value).map(drop).map_err(|error| error.to_string());
        Self { format, check: Arc::new(check), spec: spec.into(), strategy: None, corrections: 0 }
    }

    pub(super) fn with(self, strategy: Option<ResponseStrategy>, corrections: u32) -> Self {
        Self { strategy, corrections, ..self }
    }

    /// Returns an error if the response schema itself is not usable.
    pub(super) fn schema_error(&self) -> Option<Error> {
        let is_object = self.format.schema.get("type").and_then(Value::as_str) == Some("object");
        (!is_object).then(|| {
            Error::new(
                ErrorCode::InvalidGraph,
                format!("the response type `{}` is not an object with named fields", self.format.name),
            )
            .with_help("wrap it in a struct; providers and tools accept only objects")
        })
    }

    fn is_by_tool(&self, model: &SharedModel) -> bool {
        // Models that run in this process do not support a response schema.
        self.strategy.map_or(model.info().kind == ModelKind::Weights, |strategy| strategy == ResponseStrategy::Tool)
    }

    /// Returns the name of the tool that returns the response, if the strategy is a tool.
    pub(super) fn tool(&self, model: &SharedModel) -> Option<String> {
        self.is_by_tool(model).then(|| self.spec.name.clone())
    }

    /// Adds the response format or the response tool to the request. With `is_last`, the model must respond now.
    pub(super) fn add_to_request(&self, model: &SharedModel, request: &mut ChatRequest, is_last: bool) -> Result<()> {
        if !self.is_by_tool(model) {
            request.format = Some(self.format.clone());
            return Ok(());
        }
        if request.tools.iter().any(|tool| tool.name == self.spec.name) {
            let fact = format!("the response type and a tool are both named `{}`", self.spec.name);
            return Err(Error::new(ErrorCode::InvalidGraph, fact).with_help("rename one of them"));
        }
        request.tools.push(self.spec.clone());
        request.tool_choice = if is_last { ToolChoice::Named(self.spec.name.clone()) } else { ToolChoice::Required };
        Ok(())
    }

    /// Returns true if a call contains the structured response, so that there is nothing to run.
    pub(super) fn is_response_call(&self, call: &ToolCall) -> bool {
        call.name == self.spec.name
    }

    /// Interprets a response.
    pub(super) fn read(&self, model: &SharedModel, response: &ChatResponse, has_tools: bool) -> ParsedResponse {
        let parsed = self.read_with_tools(model, response);
        if has_tools || response.message.tool_calls.is_empty() {
            return parsed;
        }
        // These calls never run, and an open call would end the agent without a response.
        let close = |messages: Vec<Message>| {
            let is_answered =
                |call: &&ToolCall| messages.iter().any(|message| message.tool_call_id.as_ref() == Some(&call.id));
            let open = response.message.tool_calls.iter().filter(|call| !is_answered(call));
            let closed: Vec<Message> =
                open.map(|call| error_tool_message(call, "not executed: the agent has no tools")).collect();
            [messages, closed].concat()
        };
        match parsed {
            ParsedResponse::Pending => {
                ParsedResponse::Invalid("the model called a tool, but the agent has none".to_owned(), close(Vec::new()))
            }
            ParsedResponse::Invalid(error, messages) => ParsedResponse::Invalid(error, close(messages)),
            done @ ParsedResponse::Done(..) => done,
        }
    }

    fn read_with_tools(&self, model: &SharedModel, response: &ChatResponse) -> ParsedResponse {
        if !self.is_by_tool(model) {
            return match response.message.tool_calls.is_empty() {
                false => ParsedResponse::Pending,
                true => self.read_text(response),
            };
        }
        let mut calls = response.message.tool_calls.iter();
        match calls.find(|call| self.is_response_call(call)) {
            Some(call) => self.read_call(call, &response.message),
            None if !response.message.tool_calls.is_empty() => ParsedResponse::Pending,
            None => {
                let text = format!("Return the response with a call of `{}`.", self.spec.name);
                ParsedResponse::Invalid(
                    "the response was not returned with a tool call".to_owned(),
                    vec![correction_message(text)],
                )
            }
        }
    }

    fn read_text(&self, response: &ChatResponse) -> ParsedResponse {
        let checked = response.validate(&self.format).map_err(|error| error.message().to_owned());
        match checked.and_then(|value| (self.check)(&value).map(|()| value)) {
            Ok(value) => ParsedResponse::Done(value, Vec::new()),
            Err(error) => {
                let text = format!(
                    "The response does not match the required schema: {error}. Respond again \
                     with JSON only."
                );
                ParsedResponse::Invalid(error, vec![correction_message(text)])
            }
        }
    }

    fn read_call(&self, call: &ToolCall, message: &Message) -> ParsedResponse {
        let args = match &call.args {
            Value::Object(args) => args.clone(),
            _ => Map::new(),
        };
        let checked = check_arguments(&self.spec, &args).map_err(|error| error.message);
        match checked.and_then(|()| (self.check)(&call.args)) {
            Ok(()) => {
                let others = message.tool_calls.iter().filter(|other| other.id != call.id);
                let closed = others.map(|other| {
                    error_tool_message(
                        other,
                        "not executed: the response was \
                     already returned",
                    )
                });
                let closed = std::iter::once(accepted(call)).chain(closed).collect();
                ParsedResponse::Done(call.args.clone(), closed)
            }
            Err(error) => {
                let correction =
                    error_tool_message(call, &format!("the response does not match the required schema: {error}"));
                ParsedResponse::Invalid(error, vec![correction])
            }
        }
    }

    /// Returns the error of a model whose responses stay invalid.
    pub(super) fn failed(&self, model: &SharedModel, error: &str) -> Error {
        let text = format!("the response does not match `{}`: {error}", self.format.name);
        crate::models::ModelErrorKind::InvalidResponse.error(&model.info(), text)
    }
}

/// Creates a correction message with the role of the user.
fn correction_message(text: String) -> Message {
    Message::user(text).with_metadata(ADDED_BY, "agent")
}

fn accepted(call: &ToolCall) -> Message {
    Message::tool(&call.id, "done").with_name(&call.name)
}

fn error_tool_message(call: &ToolCall, text: &str) -> Message {
    Message::tool(&call.id, text).with_name(&call.name).with_status(ToolStatus::Error)
}
