//! Where the loop of an agent goes on, and which calls are open: read off its state, and nothing else.

use std::collections::BTreeSet;

use super::around::RETURN_DIRECT;
use super::state::AgentState;
use crate::core::message::{Role, ToolCall, ToolStatus};
use crate::tool::wants_tools;
use crate::{Endpoint, Go, Message, Messages};

/// The places of the loop.
#[derive(Debug, Clone)]
pub(super) struct Places {
    /// What comes before the model, or the model.
    pub(super) entry: Endpoint,
    pub(super) tools: Option<Endpoint>,
    /// What comes after the loop, or the end.
    pub(super) exit: Endpoint,
}

/// After the model has answered.
pub(super) fn after_model(state: &AgentState, places: &Places) -> Go {
    if state.structured.is_some() {
        return Go::to(places.exit.clone());
    }
    match &places.tools {
        Some(tools) if wants_tools(&state.messages) => Go::to(tools.clone()),
        _ if is_answered(state) => Go::to(places.exit.clone()),
        _ => Go::to(places.entry.clone()),
    }
}

/// Whether the last word is the model's; otherwise it was told something since.
fn is_answered(state: &AgentState) -> bool {
    state.messages.last().is_none_or(|message| message.role == Role::Assistant)
}

/// The last message of the model, and its calls that nobody has answered.
pub(super) fn open_calls(messages: &Messages) -> Option<(&Message, Vec<&ToolCall>)> {
    let mut answered = BTreeSet::new();
    for message in messages.iter().rev() {
        match message.role {
            Role::Assistant => {
                let calls = message.tool_calls.iter().filter(|call| !answered.contains(call.id.as_str()));
                return Some((message, calls.collect()));
            }
            Role::Tool => answered.extend(message.tool_call_id.as_deref()),
            _ => {}
        }
    }
    None
}

/// The answer to a call that is not made.
pub(super) fn refusal(call: &ToolCall, reason: &str) -> Message {
    let message = Message::tool(&call.id, format!("not executed: {reason}")).with_name(&call.name);
    message.with_status(ToolStatus::Error).with_metadata("error", "refused")
}

/// After tools have run: their results are the answer where all of them say so.
pub(super) fn after_tools(state: &AgentState, places: &Places) -> Go {
    let mut results = state.messages.iter().rev().take_while(|message| message.role == Role::Tool).peekable();
    let is_direct = results.peek().is_some()
        && results
            .all(|message| message.metadata.get(RETURN_DIRECT).and_then(serde_json::Value::as_bool) == Some(true));
    Go::to(if is_direct { places.exit.clone() } else { places.entry.clone() })
}
