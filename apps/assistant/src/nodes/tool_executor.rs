//! Tool executor node: runs the calls of a group in parallel, one group after the other.
//!
//! Retries, timeouts, redaction and events belong to the engine (`ToolNode`). A failed call does not stop the
//! others, but calls that depend on its result are skipped. A call with side effects whose outcome is unknown after
//! a crash runs again only with a person's approval.

use std::collections::BTreeMap;

use serde_json::Value;
use superstep::core::id::hash_id;
use superstep::core::message::{ToolCall, ToolStatus};
use superstep::store::{IndexFields, PutOp};
use superstep::tools::truncate_output;
use superstep::{Interrupts, Message, NodeError, RunContext, TaskContext, View};
use superstep_server::thread_data_namespace;

use super::RoutedCalls;
use crate::context::AssistantContext;
use crate::plan::PlannedCall;
use crate::scratchpad;
use crate::state::{AgentState, AgentStateUpdate, Phase};

mod argument_references;
mod unknown_outcome;

use argument_references::resolve_references;
use unknown_outcome::{ask_about_unknown_outcome, is_unknown};

/// Runs the calls and returns their outputs in the order of the calls.
pub(crate) async fn tool_executor(
    state: View<AgentState>,
    context: RunContext<AssistantContext>,
    interrupts: Interrupts,
    cx: TaskContext,
) -> Result<AgentStateUpdate, NodeError> {
    let routed: RoutedCalls = scratchpad::read(&state, scratchpad::ROUTED);
    let calls: BTreeMap<&str, &PlannedCall> = state.tool_calls.iter().map(|call| (call.id.as_str(), call)).collect();
    let mut done: BTreeMap<String, Message> = BTreeMap::new();
    for (id, reason) in &routed.rejected {
        let Some(call) = calls.get(id.as_str()) else { continue };
        done.insert(id.clone(), skipped_call_message(call, reason));
    }
    for group in &routed.groups {
        let mut ready = Vec::new();
        for call in group.iter().filter_map(|id| calls.get(id.as_str())) {
            if done.contains_key(&call.id) {
                continue;
            }
            match resolve_references(call, &done) {
                Ok(args) => ready.push(ToolCall::new(&call.id, &call.tool, Value::Object(args))),
                Err(reason) => {
                    done.insert(call.id.clone(), skipped_call_message(call, &reason));
                }
            }
        }
        for (call, mut message) in ready.clone().into_iter().zip(context.tool_node().run_calls(&cx, ready).await?) {
            let id = call.id.clone();
            if is_unknown(&message) {
                message = ask_about_unknown_outcome(message, call, &context, (&interrupts, &cx)).await?;
            }
            done.insert(id, truncate(message, &context, &cx).await?);
        }
    }
    let outputs: Vec<Message> = state.tool_calls.iter().filter_map(|call| done.remove(&call.id)).collect();
    Ok(AgentState::update().phase(Phase::Execute).messages(outputs.clone()).tool_outputs(outputs))
}

/// Returns the message for a skipped call. Its id depends only on the call, so that a second execution of the node
/// gives the same message.
fn skipped_call_message(call: &PlannedCall, reason: &str) -> Message {
    let message = Message::tool(&call.id, reason).with_name(&call.tool).with_id(format!("not-made-{}", call.id));
    message.with_status(ToolStatus::Error).with_metadata("tool", call.tool.as_str()).with_metadata("error", "refused")
}

/// Cuts a result that is too long, with a note, and saves the full text in the store, where it is deleted with its
/// thread.
async fn truncate(mut message: Message, context: &AssistantContext, cx: &TaskContext) -> Result<Message, NodeError> {
    let text = message.text().into_owned();
    let short = truncate_output(&text, context.limits.result_bytes);
    if short == text {
        return Ok(message);
    }
    // A result that the engine already cut is not available in full.
    let original_length = message.metadata.get("cut_from_bytes").and_then(Value::as_u64);
    let length = original_length.map_or(text.len(), |bytes| usize::try_from(bytes).unwrap_or(usize::MAX));
    let short = if original_length.is_some() { correct_lengths(&short, &text) } else { short };
    message = message.with_metadata("cut_bytes", length.saturating_sub(short.len()));
    message.content = short.into();
    if let (Ok(store), Some(thread), None) = (cx.store(), cx.thread_id(), original_length) {
        let key = format!("{:032x}", hash_id(&[text.as_bytes()]));
        let namespace = thread_data_namespace(thread);
        let reference = format!("{}/{key}", namespace.join("/"));
        // The text is not searched, so it is not indexed.
        store.put_with(PutOp::new(namespace, key, text).index(IndexFields::None)).await?;
        message = message.with_metadata("whole", reference);
    }
    Ok(message)
}

/// Corrects the lengths in a shortened value so that they refer to the value before the first cut.
fn correct_lengths(short: &str, before: &str) -> String {
    let (mut value, before): (Value, Value) = match (serde_json::from_str(short), serde_json::from_str(before)) {
        (Ok(value), Ok(before)) => (value, before),
        _ => return short.to_owned(),
    };
    if let (Some(notes), Some(first)) = (value.get_mut("cut").and_then(Value::as_object_mut), before["cut"].as_object())
    {
        for (pointer, note) in first {
            match notes.get_mut(pointer).and_then(Value::as_object_mut) {
                Some(existing) => drop(existing.insert("of".to_owned(), note["of"].clone())),
                None => drop(notes.insert(pointer.clone(), note.clone())),
            }
        }
    }
    value.to_string()
}
