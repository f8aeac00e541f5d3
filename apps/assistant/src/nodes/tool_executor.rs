//! The place where calls are made: those of a group at once, one group after the other.
//!
//! Attempts, time, redaction and events are the engine's (`ToolNode`). A call that fails stops none of the others; one
//! that needs it is not made.

use std::collections::BTreeMap;

use serde_json::{Map, Value};
use superstep::core::id::derive;
use superstep::core::message::{ToolCall, ToolStatus};
use superstep::{Ctx, Cx, Message, NodeError, View};

use super::Routed;
use crate::desk::Desk;
use crate::plan::PlannedCall;
use crate::scratch;
use crate::state::{Assistant, AssistantUpdate, Phase};

/// Makes the calls, and gives their outputs in the order of the calls.
pub(crate) async fn tool_executor(
    state: View<Assistant>,
    desk: Ctx<Desk>,
    cx: Cx,
) -> Result<AssistantUpdate, NodeError> {
    let routed: Routed = scratch::read(&state, scratch::ROUTED);
    let calls: BTreeMap<&str, &PlannedCall> = state.tool_calls.iter().map(|call| (call.id.as_str(), call)).collect();
    let mut done: BTreeMap<String, Message> = BTreeMap::new();
    for (id, reason) in &routed.rejected {
        let Some(call) = calls.get(id.as_str()) else { continue };
        done.insert(id.clone(), not_made(call, reason));
    }
    for group in &routed.groups {
        let mut ready = Vec::new();
        for call in group.iter().filter_map(|id| calls.get(id.as_str())) {
            if done.contains_key(&call.id) {
                continue;
            }
            match filled(call, &done) {
                Ok(args) => ready.push(ToolCall::new(&call.id, &call.tool, Value::Object(args))),
                Err(reason) => {
                    done.insert(call.id.clone(), not_made(call, &reason));
                }
            }
        }
        for message in desk.runner().answer(&cx, ready).await? {
            let Some(id) = message.tool_call_id.clone() else { continue };
            done.insert(id, cut(message, &state, &desk, &cx).await?);
        }
    }
    let outputs: Vec<Message> = state.tool_calls.iter().filter_map(|call| done.remove(&call.id)).collect();
    Ok(Assistant::update().phase(Phase::Execute).messages(outputs.clone()).tool_outputs(outputs))
}

/// What stands for a call that is not made. Its id names it, so that it is the same when the node runs again.
fn not_made(call: &PlannedCall, reason: &str) -> Message {
    let message = Message::tool(&call.id, reason).with_name(&call.tool).with_id(format!("not-made-{}", call.id));
    message.with_status(ToolStatus::Error).with_metadata("tool", call.tool.as_str()).with_metadata("error", "refused")
}

/// The arguments with what other calls gave in place of `{{id}}`.
fn filled(call: &PlannedCall, done: &BTreeMap<String, Message>) -> Result<Map<String, Value>, String> {
    let mut given = BTreeMap::new();
    for id in &call.depends_on {
        match done.get(id) {
            Some(message) if message.status == ToolStatus::Success => {
                given.insert(format!("{{{{{id}}}}}"), message.text().into_owned());
            }
            _ => return Err(format!("unavailable: it needs `{id}`, which gave nothing")),
        }
    }
    let mut args = call.args.clone();
    args.values_mut().for_each(|value| fill(value, &given));
    Ok(args)
}

fn fill(value: &mut Value, given: &BTreeMap<String, String>) {
    match value {
        // Alone, it is the value that the call gave and not its text.
        Value::String(text) if given.contains_key(text.trim()) => {
            let whole = &given[text.trim()];
            let read = serde_json::from_str(whole).ok().map(simple);
            *value = read.unwrap_or_else(|| Value::String(whole.clone()));
        }
        Value::String(text) => {
            for (name, whole) in given {
                if text.contains(name) {
                    let read: Option<Value> = serde_json::from_str(whole).ok().map(simple);
                    let word = match read {
                        Some(Value::String(text)) => text,
                        Some(value) => value.to_string(),
                        None => whole.clone(),
                    };
                    *text = text.replace(name, &word);
                }
            }
        }
        Value::Array(items) => items.iter_mut().for_each(|item| fill(item, given)),
        Value::Object(entries) => entries.values_mut().for_each(|item| fill(item, given)),
        _ => {}
    }
}

/// What a call gave, without what it says about it: the one value of a query, the result of a calculation.
fn simple(value: Value) -> Value {
    if let Some(result) = value.get("result") {
        return result.clone();
    }
    match value.get("rows").and_then(Value::as_array).map(Vec::as_slice) {
        Some([Value::Array(cells)]) if cells.len() == 1 => cells[0].clone(),
        _ => value,
    }
}

/// A result that is too long is cut, with a word about it, and kept whole in the store.
async fn cut(mut message: Message, state: &Assistant, desk: &Desk, cx: &Cx) -> Result<Message, NodeError> {
    let (text, most) = (message.text().into_owned(), desk.limits.result_bytes);
    if text.len() <= most {
        return Ok(message);
    }
    let end = (0..=most).rev().find(|place| text.is_char_boundary(*place)).unwrap_or(0);
    let missing = text.len() - end;
    message.content = format!("{}\n[cut: {missing} of {} bytes are missing]", &text[..end], text.len()).into();
    message = message.with_metadata("cut_bytes", missing);
    if let Ok(store) = cx.store() {
        let key = format!("{:032x}", derive(&[text.as_bytes()]));
        let place = crate::memory::within(&state.user_id, "results");
        let reference = format!("{}/{key}", place.join("/"));
        store.put(place, key, text).await?;
        message = message.with_metadata("whole", reference);
    }
    Ok(message)
}
