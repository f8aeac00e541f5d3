//! Prompts of the nodes: text for a language model, and a JSON block that the rule model parses.
//!
//! The block is a system message with `task: plan` (or another task) in its first line and JSON below. Tool results
//! appear only in this block, so that models treat them as data. The history and the question are separate
//! messages.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use superstep::Message;
use superstep::core::message::Role;
use superstep::models::{ChatRequest, ResponseFormat};

use crate::verdict::{Judgement, Verdict};

mod templates;

/// Task of a model call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ModelTask {
    /// Choose the tools to run: the response is a [`crate::plan::Plan`] as JSON.
    Plan,
    /// Write the answer for the user.
    Answer,
    /// Decide if the outputs answer the question: the response is a [`Judgement`] as JSON.
    Verify,
    /// Summarise the conversation: the response is a [`crate::memory::SummaryOutput`] as JSON.
    Summarize,
}

impl ModelTask {
    /// Returns the name in the first line of the block.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Plan => "plan",
            Self::Answer => "answer",
            Self::Verify => "verify",
            Self::Summarize => "summarize",
        }
    }
}

/// A message of the conversation history.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct HistoryMessage {
    /// `user` or `assistant`.
    pub role: String,
    /// Text of the message.
    pub text: String,
}

/// Description of a tool for a model.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ToolDescription {
    /// Name of the tool.
    pub tool: String,
    /// Purpose of the tool.
    #[serde(rename = "about")]
    pub description: String,
    /// JSON Schema of the arguments.
    pub args: Value,
}

/// A call that was already made in this turn.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PreviousCall {
    /// Name of the tool.
    pub tool: String,
    /// Arguments of the call.
    pub args: Map<String, Value>,
    /// `ok`, `empty`, `irrelevant`, or `error: ` with the reason.
    pub outcome: String,
}

/// Result of a call in this turn.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ToolResult {
    /// Id of the call.
    pub id: String,
    /// Name of the tool.
    pub tool: String,
    /// Arguments of the call.
    pub args: Map<String, Value>,
    /// `success` or `error`.
    pub status: String,
    /// Unchanged content of the result, or the error text.
    pub content: String,
}

impl ToolResult {
    /// Returns true if the call succeeded.
    #[must_use]
    pub fn is_success(&self) -> bool {
        self.status == "success"
    }

    /// Returns the content as JSON; text that is not JSON becomes a string.
    #[must_use]
    pub fn value(&self) -> Value {
        serde_json::from_str(&self.content).unwrap_or_else(|_| Value::String(self.content.clone()))
    }
}

/// A user's answer to a clarification question.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Clarification {
    /// Ambiguous or unknown part of the question, e.g. `Miller`.
    pub about: String,
    /// Answer of the user, e.g. `Anna Miller`.
    pub answer: String,
}

/// Complete input of a model call.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TaskPrompt {
    /// Task of the call.
    #[serde(skip, default = "plan")]
    pub task: ModelTask,
    /// Question of the user in this turn.
    #[serde(default, skip_serializing)]
    pub question: String,
    /// Earlier messages, oldest first.
    #[serde(default, skip_serializing)]
    pub history: Vec<HistoryMessage>,
    /// Names of the tools that the user may use.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tools: Vec<String>,
    /// Descriptions of the same tools, for language models.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[serde(rename = "manuals")]
    pub tool_descriptions: Vec<ToolDescription>,
    /// Earlier calls of this turn, oldest first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[serde(rename = "tried")]
    pub previous_calls: Vec<PreviousCall>,
    /// Results of calls in this turn, in order; for `answer` also the failed calls of the last attempt.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub outputs: Vec<ToolResult>,
    /// Verdict on the last attempt.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub verdict: Option<Verdict>,
    /// Summary of the messages before `history`.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub summary: String,
    /// Preferences of the user: length, units, time zone, language.
    #[serde(default, skip_serializing_if = "Value::is_null")]
    pub preferences: Value,
    /// Current date, `YYYY-MM-DD`, in the time zone of the user.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub today: String,
    /// Saved facts about the user.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub facts: Vec<String>,
    /// Answers to the clarification questions of this turn.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub clarified: Vec<Clarification>,
    /// Reason for the rejection of the last plan.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[serde(rename = "refused")]
    pub plan_rejection: Option<String>,
}

const fn plan() -> ModelTask {
    ModelTask::Plan
}

impl TaskPrompt {
    /// Creates a prompt that contains only a task and a question.
    #[must_use]
    pub fn new(task: ModelTask, question: impl Into<String>) -> Self {
        Self {
            task,
            question: question.into(),
            history: Vec::new(),
            tools: Vec::new(),
            tool_descriptions: Vec::new(),
            previous_calls: Vec::new(),
            outputs: Vec::new(),
            verdict: None,
            summary: String::new(),
            preferences: Value::Null,
            today: String::new(),
            facts: Vec::new(),
            clarified: Vec::new(),
            plan_rejection: None,
        }
    }

    /// Builds the request: summary, instructions, block, history, question.
    #[must_use]
    pub fn request(&self) -> ChatRequest {
        let block = serde_json::to_value(self).unwrap_or_default();
        let block = format!("task: {}\n{block}", self.task.name());
        let summary = (!self.summary.is_empty()).then(|| templates::summary(&self.summary));
        let earlier = self.history.iter().map(|earlier| match earlier.role.as_str() {
            "assistant" => Message::assistant(earlier.text.as_str()),
            _ => Message::user(earlier.text.as_str()),
        });
        let messages = summary
            .map(Message::system)
            .into_iter()
            .chain([Message::system(templates::template_for(self.task)), Message::system(block)])
            .chain(earlier)
            .chain([Message::user(self.question.as_str())]);
        let request = ChatRequest::new(messages);
        match self.task {
            ModelTask::Verify => request.format(ResponseFormat::for_type::<Judgement>()),
            ModelTask::Plan | ModelTask::Answer | ModelTask::Summarize => request,
        }
    }

    /// Parses a request that [`TaskPrompt::request`] built.
    #[must_use]
    pub fn from_request(request: &ChatRequest) -> Option<Self> {
        let is_block = |message: &&Arc<Message>| message.role == Role::System && message.text().starts_with("task: ");
        let index = request.messages.iter().position(|message| is_block(&message))?;
        let text = request.messages[index].text();
        let (task, block) = text.split_once('\n')?;
        let mut prompt: Self = serde_json::from_str(block).ok()?;
        prompt.task = serde_json::from_value(Value::from(task.strip_prefix("task: ")?)).ok()?;
        let (question, history) = request.messages[index + 1..].split_last()?;
        prompt.question = question.text().into_owned();
        prompt.history = history.iter().map(|message| history_message(message)).collect();
        Some(prompt)
    }
}

/// Returns role and text of a message.
pub(crate) fn history_message(message: &Message) -> HistoryMessage {
    let role = if message.role == Role::Assistant { "assistant" } else { "user" };
    HistoryMessage { role: role.to_owned(), text: message.text().into_owned() }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// R-PLN-27, R-PLN-48: the rule model parses the request of a node back, and a summary comes first.
    #[test]
    fn a_prompt_request_round_trips() {
        let args = json!({ "sql": "select 1" }).as_object().unwrap().clone();
        for task in [ModelTask::Plan, ModelTask::Answer, ModelTask::Verify, ModelTask::Summarize] {
            let mut prompt = TaskPrompt::new(task, "task: plan\n{}");
            prompt.history = vec![
                HistoryMessage { role: "user".to_owned(), text: "Hello".to_owned() },
                HistoryMessage { role: "assistant".to_owned(), text: "Hi!".to_owned() },
            ];
            prompt.previous_calls =
                vec![PreviousCall { tool: "bq_query".to_owned(), args: args.clone(), outcome: "empty".to_owned() }];
            prompt.tools = vec!["bq_query".to_owned()];
            prompt.summary = "They spoke about tents.".to_owned();
            prompt.preferences = json!({ "length": "short" });
            let request = prompt.request();
            assert!(request.messages[0].text().contains("They spoke about tents."));
            assert_eq!(request.messages.last().unwrap().text(), "task: plan\n{}");
            assert_eq!(TaskPrompt::from_request(&request), Some(prompt));
        }
        assert_eq!(TaskPrompt::from_request(&ChatRequest::new([Message::user("task: plan\n{}")])), None);
    }
}
