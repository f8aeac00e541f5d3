//! What the nodes ask a model: words for a language model, and a block of JSON that rules read back.
//!
//! The block is a system message: `task: plan` in its first line, the rest JSON. Results of tools are in it and nowhere
//! else, so that they are data for whoever reads them. What was said before and the question are messages of their own.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use superstep::Message;
use superstep::core::message::Role;
use superstep::model::{AnswerFormat, Request};

use crate::verdict::{Judgement, Verdict};

mod words;

/// What is to be done.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Task {
    /// Decide which tools to run: the answer is a [`crate::plan::Plan`] as JSON.
    Plan,
    /// Write the answer to the user.
    Answer,
    /// Say whether the outputs answer the question: the answer is a [`Judgement`] as JSON.
    Verify,
    /// Sum up the conversation: the answer is a [`crate::memory::Summed`] as JSON.
    Summarize,
}

impl Task {
    /// As it stands in the first line of the block.
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

/// Something that was said before.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Said {
    /// `user` or `assistant`.
    pub role: String,
    /// What.
    pub text: String,
}

/// A tool, as a model is told of it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Manual {
    /// Its name.
    pub tool: String,
    /// What it does.
    pub about: String,
    /// The JSON Schema of its arguments.
    pub args: Value,
}

/// A call of this turn that was made already.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Tried {
    /// The tool.
    pub tool: String,
    /// Its arguments.
    pub args: Map<String, Value>,
    /// `ok`, `empty`, `irrelevant`, or `error: ` and why.
    pub outcome: String,
}

/// What a call of this turn gave.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Output {
    /// The id of the call.
    pub id: String,
    /// The tool.
    pub tool: String,
    /// Its arguments.
    pub args: Map<String, Value>,
    /// `success` or `error`.
    pub status: String,
    /// What it gave, as it gave it; why not, where it failed.
    pub content: String,
}

impl Output {
    /// Whether the call went well.
    #[must_use]
    pub fn is_good(&self) -> bool {
        self.status == "success"
    }

    /// What it gave, as JSON; a text where it is none.
    #[must_use]
    pub fn value(&self) -> Value {
        serde_json::from_str(&self.content).unwrap_or_else(|_| Value::String(self.content.clone()))
    }
}

/// What the user said when asked what was meant.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Clarified {
    /// What could mean several things, or nothing, e.g. `Miller`.
    pub about: String,
    /// What the user said, e.g. `Anna Miller`.
    pub answer: String,
}

/// Everything that a model is asked.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Ask {
    /// What is to be done.
    #[serde(skip, default = "plan")]
    pub task: Task,
    /// What the user asks in this turn.
    #[serde(default, skip_serializing)]
    pub question: String,
    /// What was said before, oldest first.
    #[serde(default, skip_serializing)]
    pub history: Vec<Said>,
    /// The names of the tools that the user may use.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tools: Vec<String>,
    /// The same with what they do and take; for language models.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub manuals: Vec<Manual>,
    /// What was tried in this turn, oldest first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tried: Vec<Tried>,
    /// What calls of this turn gave, in order; for `answer` also the failed ones of the last attempt.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub outputs: Vec<Output>,
    /// What was found wrong with the last attempt, or missing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub verdict: Option<Verdict>,
    /// What was said before what is in `history`.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub summary: String,
    /// Length, units, zone, language.
    #[serde(default, skip_serializing_if = "Value::is_null")]
    pub preferences: Value,
    /// The day, `YYYY-MM-DD`, in the zone of the user.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub today: String,
    /// What is known about the user.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub facts: Vec<String>,
    /// What the user said in this turn when asked what was meant.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub clarified: Vec<Clarified>,
    /// Why the last plan was refused, where it was.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub refused: Option<String>,
}

const fn plan() -> Task {
    Task::Plan
}

impl Ask {
    /// Asks this about a question, and nothing more.
    #[must_use]
    pub fn new(task: Task, question: impl Into<String>) -> Self {
        Self {
            task,
            question: question.into(),
            history: Vec::new(),
            tools: Vec::new(),
            manuals: Vec::new(),
            tried: Vec::new(),
            outputs: Vec::new(),
            verdict: None,
            summary: String::new(),
            preferences: Value::Null,
            today: String::new(),
            facts: Vec::new(),
            clarified: Vec::new(),
            refused: None,
        }
    }

    /// As a request: the summary, the words, the block, what was said before, the question.
    #[must_use]
    pub fn request(&self) -> Request {
        let block = serde_json::to_value(self).unwrap_or_default();
        let block = format!("task: {}\n{block}", self.task.name());
        let summary = (!self.summary.is_empty()).then(|| words::summary(&self.summary));
        let said = self.history.iter().map(|said| match said.role.as_str() {
            "assistant" => Message::assistant(said.text.as_str()),
            _ => Message::user(said.text.as_str()),
        });
        let messages = summary
            .map(Message::system)
            .into_iter()
            .chain([Message::system(words::of(self.task)), Message::system(block)])
            .chain(said)
            .chain([Message::user(self.question.as_str())]);
        let request = Request::new(messages);
        match self.task {
            Task::Verify => request.format(AnswerFormat::of::<Judgement>()),
            Task::Plan | Task::Answer | Task::Summarize => request,
        }
    }

    /// What a request asks, where it was made by [`Ask::request`].
    #[must_use]
    pub fn read(request: &Request) -> Option<Self> {
        let is_block = |message: &&Arc<Message>| message.role == Role::System && message.text().starts_with("task: ");
        let place = request.messages.iter().position(|message| is_block(&message))?;
        let text = request.messages[place].text();
        let (task, block) = text.split_once('\n')?;
        let mut ask: Self = serde_json::from_str(block).ok()?;
        ask.task = serde_json::from_value(Value::from(task.strip_prefix("task: ")?)).ok()?;
        let (question, history) = request.messages[place + 1..].split_last()?;
        ask.question = question.text().into_owned();
        ask.history = history.iter().map(|message| said(message)).collect();
        Some(ask)
    }
}

/// What a message says, without who else was in it.
pub(crate) fn said(message: &Message) -> Said {
    let role = if message.role == Role::Assistant { "assistant" } else { "user" };
    Said { role: role.to_owned(), text: message.text().into_owned() }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// R-PLN-27, R-PLN-48: what a node asks is what rules read, and a summary comes first.
    #[test]
    fn an_ask_is_read_back() {
        let args = json!({ "sql": "select 1" }).as_object().unwrap().clone();
        for task in [Task::Plan, Task::Answer, Task::Verify, Task::Summarize] {
            let mut ask = Ask::new(task, "task: plan\n{}");
            ask.history = vec![
                Said { role: "user".to_owned(), text: "Hello".to_owned() },
                Said { role: "assistant".to_owned(), text: "Hi!".to_owned() },
            ];
            ask.tried = vec![Tried { tool: "bq_query".to_owned(), args: args.clone(), outcome: "empty".to_owned() }];
            ask.tools = vec!["bq_query".to_owned()];
            ask.summary = "They spoke about tents.".to_owned();
            ask.preferences = json!({ "length": "short" });
            let request = ask.request();
            assert!(request.messages[0].text().contains("They spoke about tents."));
            assert_eq!(request.messages.last().unwrap().text(), "task: plan\n{}");
            assert_eq!(Ask::read(&request), Some(ask));
        }
        assert_eq!(Ask::read(&Request::new([Message::user("task: plan\n{}")])), None);
    }
}
