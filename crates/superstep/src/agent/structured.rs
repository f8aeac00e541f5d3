//! The answer as data: how the model is asked for it, and what it is told when it is wrong.

use std::sync::Arc;

use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use super::state::ADDED_BY;
use crate::core::message::{ToolCall, ToolStatus};
use crate::model::{Answer, AnswerFormat, ModelKind, Request, SharedModel, ToolChoice};
use crate::tool::{ToolSpec, check_arguments};
use crate::{Code, Error, JsonSchema, Message, Result};

/// How the model is asked for an answer of a form.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum AnswerBy {
    /// By the schema of its answer, for models that can be held to one.
    Format,
    /// By a tool that it must call with the answer.
    Tool,
}

type Check = Arc<dyn Fn(&Value) -> Result<(), String> + Send + Sync>;

/// The form that the answer of an agent must have.
#[derive(Clone)]
pub(super) struct Structured {
    format: AnswerFormat,
    check: Check,
    spec: Arc<ToolSpec>,
    by: Option<AnswerBy>,
    pub(super) corrections: u32,
}

/// What an answer means for the agent.
pub(super) enum Reading {
    /// It is not the answer: the model wants tools.
    Pending,
    /// It is the answer; these messages close what it left open.
    Done(Value, Vec<Message>),
    /// It is none; the model is told these.
    Wrong(String, Vec<Message>),
}

impl Structured {
    pub(super) fn of<T: JsonSchema + DeserializeOwned>() -> Self {
        let format = AnswerFormat::of::<T>();
        let description = format!("Gives the answer, as `{}`. Call it once, when you know everything.", format.name);
        let spec = ToolSpec::new(&format.name, description).with_input(format.schema.clone());
        let check = |value: &Value| T::deserialize(value).map(drop).map_err(|error| error.to_string());
        Self { format, check: Arc::new(check), spec: spec.into(), by: None, corrections: 0 }
    }

    pub(super) fn with(self, by: Option<AnswerBy>, corrections: u32) -> Self {
        Self { by, corrections, ..self }
    }

    /// What is wrong with the form itself.
    pub(super) fn problem(&self) -> Option<Error> {
        let is_object = self.format.schema.get("type").and_then(Value::as_str) == Some("object");
        (!is_object).then(|| {
            Error::new(
                Code::InvalidGraph,
                format!("the answer `{}` is not an object of named fields", self.format.name),
            )
            .help("put it into a struct: providers and tools take only these")
        })
    }

    fn is_by_tool(&self, model: &SharedModel) -> bool {
        // Weights in this process are not held to a schema.
        self.by.map_or(model.info().kind == ModelKind::Weights, |by| by == AnswerBy::Tool)
    }

    /// The tool by which the answer is given, where it is.
    pub(super) fn tool(&self, model: &SharedModel) -> Option<String> {
        self.is_by_tool(model).then(|| self.spec.name.clone())
    }

    /// Asks for the answer; `is_last` when the model may do nothing else any more.
    pub(super) fn ask(&self, model: &SharedModel, request: &mut Request, is_last: bool) -> Result<()> {
        if !self.is_by_tool(model) {
            request.format = Some(self.format.clone());
            return Ok(());
        }
        if request.tools.iter().any(|tool| tool.name == self.spec.name) {
            let fact = format!("the answer and a tool are both called `{}`", self.spec.name);
            return Err(Error::new(Code::InvalidGraph, fact).help("give one another name"));
        }
        request.tools.push(self.spec.clone());
        request.tool_choice = if is_last { ToolChoice::Named(self.spec.name.clone()) } else { ToolChoice::Required };
        Ok(())
    }

    /// Whether a call gives the answer and is nothing to run.
    pub(super) fn is_answer(&self, call: &ToolCall) -> bool {
        call.name == self.spec.name
    }

    /// What an answer means, for an agent that has tools or has none.
    pub(super) fn read(&self, model: &SharedModel, answer: &Answer, has_tools: bool) -> Reading {
        let reading = self.read_with_tools(model, answer);
        if has_tools || answer.message.tool_calls.is_empty() {
            return reading;
        }
        // Nobody runs what is called, and a call that is left open would end the agent without an answer.
        let close = |told: Vec<Message>| {
            let is_told = |call: &&ToolCall| told.iter().any(|told| told.tool_call_id.as_ref() == Some(&call.id));
            let open = answer.message.tool_calls.iter().filter(|call| !is_told(call));
            let closed: Vec<Message> = open.map(|call| refused(call, "not executed: there are no tools")).collect();
            [told, closed].concat()
        };
        match reading {
            Reading::Pending => Reading::Wrong("a tool was called, and there are none".to_owned(), close(Vec::new())),
            Reading::Wrong(fault, told) => Reading::Wrong(fault, close(told)),
            done @ Reading::Done(..) => done,
        }
    }

    fn read_with_tools(&self, model: &SharedModel, answer: &Answer) -> Reading {
        if !self.is_by_tool(model) {
            return match answer.message.tool_calls.is_empty() {
                false => Reading::Pending,
                true => self.read_text(answer),
            };
        }
        let mut calls = answer.message.tool_calls.iter();
        match calls.find(|call| self.is_answer(call)) {
            Some(call) => self.read_call(call, &answer.message),
            None if !answer.message.tool_calls.is_empty() => Reading::Pending,
            None => {
                let text = format!("Give the answer by a call of `{}`.", self.spec.name);
                Reading::Wrong("the answer was not given by a call".to_owned(), vec![told(text)])
            }
        }
    }

    fn read_text(&self, answer: &Answer) -> Reading {
        let checked = answer.check(&self.format).map_err(|error| error.message().to_owned());
        match checked.and_then(|value| (self.check)(&value).map(|()| value)) {
            Ok(value) => Reading::Done(value, Vec::new()),
            Err(fault) => {
                let text = format!("This is not the answer that is asked for: {fault}. Answer again, with JSON only.");
                Reading::Wrong(fault, vec![told(text)])
            }
        }
    }

    fn read_call(&self, call: &ToolCall, message: &Message) -> Reading {
        let args = match &call.args {
            Value::Object(args) => args.clone(),
            _ => Map::new(),
        };
        let checked = check_arguments(&self.spec, &args).map_err(|error| error.message);
        match checked.and_then(|()| (self.check)(&call.args)) {
            Ok(()) => {
                let others = message.tool_calls.iter().filter(|other| other.id != call.id);
                let closed = others.map(|other| refused(other, "not executed: the answer was given"));
                let closed = std::iter::once(accepted(call)).chain(closed).collect();
                Reading::Done(call.args.clone(), closed)
            }
            Err(fault) => {
                let told = refused(call, &format!("this is not the answer that is asked for: {fault}"));
                Reading::Wrong(fault, vec![told])
            }
        }
    }

    /// The error of a model that does not find the form.
    pub(super) fn failed(&self, model: &SharedModel, fault: &str) -> Error {
        let said = format!("the answer has not the form `{}`: {fault}", self.format.name);
        crate::model::Trouble::BadAnswer.error(&model.info(), said)
    }
}

/// Something that the model is told in the role of the user.
fn told(text: String) -> Message {
    Message::user(text).with_metadata(ADDED_BY, "agent")
}

fn accepted(call: &ToolCall) -> Message {
    Message::tool(&call.id, "done").with_name(&call.name)
}

fn refused(call: &ToolCall, text: &str) -> Message {
    Message::tool(&call.id, text).with_name(&call.name).with_status(ToolStatus::Error)
}
