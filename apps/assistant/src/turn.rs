//! The turn of a conversation that is under way: its question, what was said before it, and what its tools gave.

use std::borrow::Cow;
use std::collections::BTreeMap;

use serde_json::{Map, Value, json};
use superstep::core::message::{Role, ToolCall, ToolStatus};
use superstep::core::time::Time;
use superstep::{Cx, Message, NodeError};

use crate::desk::Desk;
use crate::memory;
use crate::policy::Rights;
use crate::prompt::{Ask, Clarified, Manual, Output, Said, Task, Tried, said};
use crate::scratch;
use crate::state::Assistant;

/// What marks a message of the user that says what was meant.
pub(crate) const CLARIFIES: &str = "clarifies";
/// What marks a message that the policy refused, and its answer: the name of the rule.
pub(crate) const RULE: &str = "rule";
/// How many facts about the user a model is told.
const TOLD_FACTS: usize = 20;

/// The turn under way.
pub(crate) struct Turn<'a> {
    before: Vec<&'a Message>,
    question: Option<&'a Message>,
    after: Vec<&'a Message>,
}

impl<'a> Turn<'a> {
    /// The turn that the last question of the user began.
    pub(crate) fn of(state: &'a Assistant) -> Self {
        let all: Vec<&Message> = state.messages.iter().collect();
        let begins = |message: &&Message| message.role == Role::User && !message.metadata.contains_key(CLARIFIES);
        match all.iter().rposition(begins) {
            Some(place) => {
                let (before, rest) = all.split_at(place);
                Self { before: before.to_vec(), question: Some(rest[0]), after: rest[1..].to_vec() }
            }
            None => Self { before: all, question: None, after: Vec::new() },
        }
    }

    /// The message that began it.
    pub(crate) fn message(&self) -> Option<&'a Message> {
        self.question
    }

    /// What is asked.
    pub(crate) fn question(&self) -> Cow<'a, str> {
        self.question.map(Message::text).unwrap_or_default()
    }

    /// What was said before, without the work of tools and without what the policy refused: no model ever hears that.
    pub(crate) fn history(&self) -> Vec<Said> {
        let is_told = |message: &&&Message| is_said(message) && !message.metadata.contains_key(RULE);
        self.before.iter().filter(is_told).map(|message| said(message)).collect()
    }

    /// What the user said when asked what was meant.
    pub(crate) fn clarified(&self) -> Vec<Clarified> {
        let about = |message: &&&Message| message.metadata.get(CLARIFIES).and_then(Value::as_str).map(str::to_owned);
        let pair =
            |message: &&Message| Some(Clarified { about: about(&message)?, answer: message.text().into_owned() });
        self.after.iter().filter_map(pair).collect()
    }

    /// What all calls gave so far, in order.
    pub(crate) fn outputs(&self) -> Vec<Output> {
        let calls: BTreeMap<&str, &ToolCall> =
            self.after.iter().flat_map(|message| &message.tool_calls).map(|call| (call.id.as_str(), call)).collect();
        let output = |message: &&Message| {
            let call = calls.get(message.tool_call_id.as_deref()?)?;
            Some(output(message, &call.name, call.args.as_object().cloned().unwrap_or_default()))
        };
        self.after.iter().filter(|message| message.role == Role::Tool).filter_map(output).collect()
    }
}

/// Whether a message is something that was said, and not the work of tools.
pub(crate) fn is_said(message: &Message) -> bool {
    match message.role {
        Role::User => true,
        Role::Assistant => message.tool_calls.is_empty(),
        _ => false,
    }
}

pub(crate) fn output(message: &Message, tool: &str, args: Map<String, Value>) -> Output {
    let status = if message.status == ToolStatus::Success { "success" } else { "error" };
    let id = message.tool_call_id.clone().unwrap_or_default();
    Output { id, tool: tool.to_owned(), args, status: status.to_owned(), content: message.text().into_owned() }
}

/// What the calls of the last attempt gave.
pub(crate) fn last_outputs(state: &Assistant) -> Vec<Output> {
    let args: BTreeMap<&str, &Map<String, Value>> =
        state.tool_calls.iter().map(|call| (call.id.as_str(), &call.args)).collect();
    let of = |message: &Message| {
        let id = message.tool_call_id.as_deref().unwrap_or_default();
        let args = args.get(id).map(|args| (*args).clone()).unwrap_or_default();
        output(message, message.name.as_deref().unwrap_or_default(), args)
    };
    state.tool_outputs.iter().map(of).collect()
}

/// What all calls of the turn gave that went well, and the failures of the last attempt.
pub(crate) fn useful_outputs(state: &Assistant) -> Vec<Output> {
    let last: Vec<String> = last_outputs(state).into_iter().map(|output| output.id).collect();
    let is_useful = |output: &Output| output.is_good() || last.contains(&output.id);
    Turn::of(state).outputs().into_iter().filter(is_useful).collect()
}

/// What a model is asked in this turn, with all that every task needs.
pub(crate) async fn ask(task: Task, state: &Assistant, desk: &Desk, cx: &Cx) -> Result<Ask, NodeError> {
    let turn = Turn::of(state);
    let mut ask = Ask::new(task, turn.question());
    ask.history = turn.history();
    ask.clarified = turn.clarified();
    ask.summary.clone_from(&state.summary);
    ask.preferences = state.user_context.get("preferences").cloned().unwrap_or_default();
    ask.today = today(state, desk, cx)?;
    ask.verdict.clone_from(&state.verdict);
    if let Ok(store) = cx.store() {
        let known = memory::facts(store, &state.user_id).await?;
        ask.facts = known.into_iter().take(TOLD_FACTS).map(|known| known.fact.text).collect();
    }
    Ok(ask)
}

/// What was tried in this turn.
pub(crate) fn tried(state: &Assistant) -> Vec<Tried> {
    scratch::read(state, scratch::TRIED)
}

/// What the tools that the user may use are and take.
pub(crate) async fn manuals(state: &Assistant, desk: &Desk) -> Result<Vec<Manual>, NodeError> {
    let rights = rights(state);
    let specs = desk.tools().specs().await?;
    let allowed = specs.into_iter().filter(|spec| rights.allows(&spec.name));
    let manual = |spec: std::sync::Arc<superstep::tool::ToolSpec>| Manual {
        tool: spec.name.clone(),
        about: spec.description.clone(),
        args: Value::clone(&spec.input_schema),
    };
    Ok(allowed.map(manual).collect())
}

/// What the user may use.
pub(crate) fn rights(state: &Assistant) -> Rights {
    let given = state.user_context.get("rights").cloned().unwrap_or_default();
    serde_json::from_value(given).unwrap_or_default()
}

/// The day, in the zone of the user.
pub(crate) fn today(state: &Assistant, desk: &Desk, cx: &Cx) -> Result<String, NodeError> {
    if let Some(day) = &desk.today {
        return Ok(day.clone());
    }
    let zone = state.user_context.get("preferences").and_then(|known| known["zone"].as_str()).unwrap_or("UTC");
    let now = jiff::Timestamp::from_microsecond(cx.now())?;
    let zone = jiff::tz::TimeZone::get(zone).unwrap_or(jiff::tz::TimeZone::UTC);
    Ok(now.to_zoned(zone).strftime("%Y-%m-%d").to_string())
}

/// When the turn began, as it is written.
pub(crate) fn began(state: &Assistant) -> Value {
    #[expect(clippy::cast_possible_truncation, reason = "a time in microseconds is far below the limit")]
    let micros = (state.start_time * 1e6).round() as i64;
    Time::from_unix_micros(micros).map_or(Value::Null, |time| json!(time))
}
