//! Routing of the agent loop: next node and open tool calls, computed from the state only.

use std::collections::BTreeSet;

use super::call_chain::RETURN_DIRECT;
use super::state::AgentState;
use crate::core::message::{Role, ToolCall, ToolStatus};
use crate::tools::has_pending_tool_calls;
use crate::{Endpoint, Goto, Message, Messages};

/// Endpoints of the agent loop.
#[derive(Debug, Clone)]
pub(super) struct LoopEndpoints {
    /// The first `before_model` hook, or the model node.
    pub(super) entry: Endpoint,
    pub(super) tools: Option<Endpoint>,
    /// The first `after_agent` hook, or the end of the graph.
    pub(super) exit: Endpoint,
}

/// Returns the target after a model call.
pub(super) fn after_model(state: &AgentState, endpoints: &LoopEndpoints) -> Goto {
    if state.structured_response.is_some() {
        return Goto::node(endpoints.exit.clone());
    }
    match &endpoints.tools {
        Some(tools) if has_pending_tool_calls(&state.messages) => Goto::node(tools.clone()),
        _ if ends_with_model_message(state) => Goto::node(endpoints.exit.clone()),
        _ => Goto::node(endpoints.entry.clone()),
    }
}

/// Returns true if the last message is a model response; otherwise a message was added after the response.
fn ends_with_model_message(state: &AgentState) -> bool {
    state.messages.last().is_none_or(|message| message.role == Role::Assistant)
}

/// Returns the last model message, with its tool calls that have no result yet.
pub(super) fn open_calls(messages: &Messages) -> Option<(&Message, Vec<&ToolCall>)> {
    let mut answered_ids = BTreeSet::new();
    for message in messages.iter().rev() {
        match message.role {
            Role::Assistant => {
                let calls = message.tool_calls.iter().filter(|call| !answered_ids.contains(call.id.as_str()));
                return Some((message, calls.collect()));
            }
            Role::Tool => answered_ids.extend(message.tool_call_id.as_deref()),
            _ => {}
        }
    }
    None
}

/// Returns the tool message for a call that does not run.
pub(super) fn rejected_tool_message(call: &ToolCall, reason: &str) -> Message {
    let message = Message::tool(&call.id, format!("not executed: {reason}")).with_name(&call.name);
    message.with_status(ToolStatus::Error).with_metadata("error", "refused")
}

/// Returns the target after the tool node: the end if all results are marked as the response of the agent.
pub(super) fn after_tools(state: &AgentState, endpoints: &LoopEndpoints) -> Goto {
    let mut results = state.messages.iter().rev().take_while(|message| message.role == Role::Tool).peekable();
    let is_direct = results.peek().is_some()
        && results
            .all(|message| message.metadata.get(RETURN_DIRECT).and_then(serde_json::Value::as_bool) == Some(true));
    Goto::node(if is_direct { endpoints.exit.clone() } else { endpoints.entry.clone() })
}
