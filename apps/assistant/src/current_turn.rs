//! The current turn of a conversation: question, history and tool results.

use std::borrow::Cow;
use std::collections::BTreeMap;

use serde_json::{Map, Value, json};
use superstep::core::message::{Role, ToolCall, ToolStatus};
use superstep::core::time::Time;
use superstep::{Message, NodeError, TaskContext};

use crate::context::AssistantContext;
use crate::memory;
use crate::policy::Permissions;
use crate::prompt::{
    Clarification, HistoryMessage, ModelTask, PreviousCall, TaskPrompt, ToolDescription, ToolResult, history_message,
};
use crate::scratchpad;
use crate::state::AgentState;

/// Metadata key of a user message that answers a clarification question.
pub(crate) const CLARIFIES: &str = "clarifies";
/// Metadata key of a refused message and of its answer: the name of the rule.
pub(crate) const RULE: &str = "rule";
/// Maximum number of facts about the user that are passed to a model.
const MAX_PROMPT_FACTS: usize = 20;

/// The current turn.
pub(crate) struct CurrentTurn<'a> {
    before: Vec<&'a Message>,
    question: Option<&'a Message>,
    after: Vec<&'a Message>,
}

impl<'a> CurrentTurn<'a> {
    /// Returns the turn that the last question of the user started.
    pub(crate) fn from_state(state: &'a AgentState) -> Self {
        let all: Vec<&Message> = state.messages.iter().collect();
        let starts_turn = |message: &&Message| message.role == Role::User && !message.metadata.contains_key(CLARIFIES);
        match all.iter().rposition(starts_turn) {
            Some(index) => {
                let (before, rest) = all.split_at(index);
                Self { before: before.to_vec(), question: Some(rest[0]), after: rest[1..].to_vec() }
            }
            None => Self { before: all, question: None, after: Vec::new() },
        }
    }

    /// Returns the message that started the turn.
    pub(crate) fn message(&self) -> Option<&'a Message> {
        self.question
    }

    /// Returns the text of the question.
    pub(crate) fn question(&self) -> Cow<'a, str> {
        self.question.map(Message::text).unwrap_or_default()
    }

    /// Returns the history without tool messages and without refused messages, which models never receive.
    pub(crate) fn history(&self) -> Vec<HistoryMessage> {
        let is_visible =
            |message: &&&Message| is_user_or_assistant_text(message) && !message.metadata.contains_key(RULE);
        self.before.iter().filter(is_visible).map(|message| history_message(message)).collect()
    }

    /// Returns the answers to clarification questions.
    pub(crate) fn clarified(&self) -> Vec<Clarification> {
        let about = |message: &&&Message| message.metadata.get(CLARIFIES).and_then(Value::as_str).map(str::to_owned);
        let clarification =
            |message: &&Message| Some(Clarification { about: about(&message)?, answer: message.text().into_owned() });
        self.after.iter().filter_map(clarification).collect()
    }

    /// Returns the results of all calls so far, in order.
    pub(crate) fn outputs(&self) -> Vec<ToolResult> {
        let calls: BTreeMap<&str, &ToolCall> =
            self.after.iter().flat_map(|message| &message.tool_calls).map(|call| (call.id.as_str(), call)).collect();
        let result = |message: &&Message| {
            let call = calls.get(message.tool_call_id.as_deref()?)?;
            Some(tool_result(message, &call.name, call.args.as_object().cloned().unwrap_or_default()))
        };
        self.after.iter().filter(|message| message.role == Role::Tool).filter_map(result).collect()
    }
}

/// Returns true for text messages of user and assistant, and false for tool calls and their results.
pub(crate) fn is_user_or_assistant_text(message: &Message) -> bool {
    match message.role {
        Role::User => true,
        Role::Assistant => message.tool_calls.is_empty(),
        _ => false,
    }
}

pub(crate) fn tool_result(message: &Message, tool: &str, args: Map<String, Value>) -> ToolResult {
    let status = if message.status == ToolStatus::Success { "success" } else { "error" };
    let id = message.tool_call_id.clone().unwrap_or_default();
    ToolResult { id, tool: tool.to_owned(), args, status: status.to_owned(), content: message.text().into_owned() }
}

/// Returns the results of the calls of the last attempt.
pub(crate) fn last_outputs(state: &AgentState) -> Vec<ToolResult> {
    let args: BTreeMap<&str, &Map<String, Value>> =
        state.tool_calls.iter().map(|call| (call.id.as_str(), &call.args)).collect();
    let result = |message: &Message| {
        let id = message.tool_call_id.as_deref().unwrap_or_default();
        let args = args.get(id).map(|args| (*args).clone()).unwrap_or_default();
        tool_result(message, message.name.as_deref().unwrap_or_default(), args)
    };
    state.tool_outputs.iter().map(result).collect()
}

/// Returns all successful results of the turn, and the failures of the last attempt.
pub(crate) fn useful_outputs(state: &AgentState) -> Vec<ToolResult> {
    let last: Vec<String> = last_outputs(state).into_iter().map(|output| output.id).collect();
    let is_useful = |output: &ToolResult| output.is_success() || last.contains(&output.id);
    CurrentTurn::from_state(state).outputs().into_iter().filter(is_useful).collect()
}

/// Returns the model input for a task of this turn.
pub(crate) async fn task_prompt(
    task: ModelTask,
    state: &AgentState,
    context: &AssistantContext,
    cx: &TaskContext,
) -> Result<TaskPrompt, NodeError> {
    let turn = CurrentTurn::from_state(state);
    let mut prompt = TaskPrompt::new(task, turn.question());
    prompt.history = turn.history();
    prompt.clarified = turn.clarified();
    prompt.summary.clone_from(&state.summary);
    prompt.preferences = state.user_context.get("preferences").cloned().unwrap_or_default();
    prompt.today = today(state, context, cx)?;
    prompt.verdict.clone_from(&state.verdict);
    if let Ok(store) = cx.store() {
        let facts = memory::list_facts(store, &state.user_id).await?;
        prompt.facts = facts.into_iter().take(MAX_PROMPT_FACTS).map(|stored| stored.fact.text).collect();
    }
    Ok(prompt)
}

/// Returns the previous calls of this turn.
pub(crate) fn previous_calls(state: &AgentState) -> Vec<PreviousCall> {
    scratchpad::read(state, scratchpad::PREVIOUS_CALLS)
}

/// Returns the descriptions of the tools that the user may use.
pub(crate) async fn tool_descriptions(
    state: &AgentState,
    context: &AssistantContext,
) -> Result<Vec<ToolDescription>, NodeError> {
    let permissions = permissions(state);
    let specs = context.tools().specs().await?;
    let allowed = specs.into_iter().filter(|spec| permissions.allows(&spec.name));
    let description = |spec: std::sync::Arc<superstep::tools::ToolSpec>| ToolDescription {
        tool: spec.name.clone(),
        description: spec.description.clone(),
        args: Value::clone(&spec.input_schema),
    };
    Ok(allowed.map(description).collect())
}

/// Returns the permissions of the user.
pub(crate) fn permissions(state: &AgentState) -> Permissions {
    let value = state.user_context.get("rights").cloned().unwrap_or_default();
    serde_json::from_value(value).unwrap_or_default()
}

/// Returns the current date in the time zone of the user.
pub(crate) fn today(state: &AgentState, context: &AssistantContext, cx: &TaskContext) -> Result<String, NodeError> {
    if let Some(day) = &context.today {
        return Ok(day.clone());
    }
    let zone =
        state.user_context.get("preferences").and_then(|preferences| preferences["zone"].as_str()).unwrap_or("UTC");
    let now = jiff::Timestamp::from_microsecond(cx.now())?;
    let zone = jiff::tz::TimeZone::get(zone).unwrap_or(jiff::tz::TimeZone::UTC);
    Ok(now.to_zoned(zone).strftime("%Y-%m-%d").to_string())
}

/// Returns the start of the turn as a JSON timestamp.
pub(crate) fn started_at_json(state: &AgentState) -> Value {
    #[expect(clippy::cast_possible_truncation, reason = "a time in microseconds is far below the limit")]
    let micros = (state.start_time * 1e6).round() as i64;
    Time::from_unix_micros(micros).map_or(Value::Null, |time| json!(time))
}
