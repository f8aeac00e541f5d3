//! The place where calls are made: those of a group at once, one group after the other.
//!
//! Attempts, time, redaction and events are the engine's (`ToolNode`). A call that fails stops none of the others; one
//! that needs it is not made. A call that may change something and was under way when the process ended is not made
//! again unless a person says so.

use std::collections::BTreeMap;

use serde_json::Value;
use superstep::core::id::derive;
use superstep::core::message::{ToolCall, ToolStatus};
use superstep::store::{Index, Put};
use superstep::tool::shortened;
use superstep::{Ask, Ctx, Cx, Message, NodeError, View};
use superstep_server::belongings;

use super::Routed;
use crate::desk::Desk;
use crate::plan::PlannedCall;
use crate::scratch;
use crate::state::{Assistant, AssistantUpdate, Phase};

mod fill;
mod unknown;

use fill::filled;
use unknown::{is_unknown, settle_unknown};

/// Makes the calls, and gives their outputs in the order of the calls.
pub(crate) async fn tool_executor(
    state: View<Assistant>,
    desk: Ctx<Desk>,
    ask: Ask,
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
        for (call, mut message) in ready.clone().into_iter().zip(desk.runner().answer(&cx, ready).await?) {
            let id = call.id.clone();
            if is_unknown(&message) {
                message = settle_unknown(message, call, &desk, (&ask, &cx)).await?;
            }
            done.insert(id, cut(message, &desk, &cx).await?);
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

/// A result that is too long is cut, with a word about it, and kept whole in the store, where it goes with its thread.
async fn cut(mut message: Message, desk: &Desk, cx: &Cx) -> Result<Message, NodeError> {
    let text = message.text().into_owned();
    let short = shortened(&text, desk.limits.result_bytes);
    if short == text {
        return Ok(message);
    }
    // What the engine had to cut before is whole nowhere.
    let was_cut = message.metadata.get("cut_from_bytes").and_then(Value::as_u64);
    let length = was_cut.map_or(text.len(), |bytes| usize::try_from(bytes).unwrap_or(usize::MAX));
    let short = if was_cut.is_some() { counted_from_first(&short, &text) } else { short };
    message = message.with_metadata("cut_bytes", length.saturating_sub(short.len()));
    message.content = short.into();
    if let (Ok(store), Some(thread), None) = (cx.store(), cx.thread(), was_cut) {
        let key = format!("{:032x}", derive(&[text.as_bytes()]));
        let place = belongings(thread);
        let reference = format!("{}/{key}", place.join("/"));
        // Nobody looks for its words.
        store.put_with(Put::new(place, key, text).index(Index::None)).await?;
        message = message.with_metadata("whole", reference);
    }
    Ok(message)
}

/// The same with the lengths of what was there before it was first cut.
fn counted_from_first(short: &str, before: &str) -> String {
    let (mut value, before): (Value, Value) = match (serde_json::from_str(short), serde_json::from_str(before)) {
        (Ok(value), Ok(before)) => (value, before),
        _ => return short.to_owned(),
    };
    if let (Some(notes), Some(first)) = (value.get_mut("cut").and_then(Value::as_object_mut), before["cut"].as_object())
    {
        for (place, note) in first {
            match notes.get_mut(place).and_then(Value::as_object_mut) {
                Some(now) => drop(now.insert("of".to_owned(), note["of"].clone())),
                None => drop(notes.insert(place.clone(), note.clone())),
            }
        }
    }
    value.to_string()
}
