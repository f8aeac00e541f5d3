//! Encodes events in the AG-UI protocol.
//!
//! Processes all events from the beginning and sends those after the client's last event, because the message that a
//! chunk belongs to may have started earlier. States are sent in full at the start and at the end, and as patches in
//! between (`state_patch`).

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use serde_json::{Value, json};

mod state_patch;

use crate::events::broadcast::PublishedEvent;
use crate::events::sse::{SseEncoder, SseMessage};
use crate::graphs::registry::ServedGraph;
use state_patch::StateTracker;

/// Returns an encoder of AG-UI events for a thread of this graph, for a client that has the events up to `after`.
#[must_use]
pub fn ag_ui_encoder(after: Option<u64>, graph: Arc<dyn ServedGraph>) -> impl SseEncoder {
    let (open_messages, completed_messages, calls) = Default::default();
    AgUiEncoder {
        after: after.unwrap_or(0),
        states: StateTracker::new(graph),
        open_messages,
        completed_messages,
        calls,
    }
}

struct AgUiEncoder {
    after: u64,
    states: StateTracker,
    /// Ids of messages that have started and not ended.
    open_messages: BTreeSet<String>,
    /// Ids of messages that were sent in full.
    completed_messages: BTreeSet<String>,
    /// Tool call ids of models, by run id of the tool.
    calls: BTreeMap<String, Value>,
}

impl SseEncoder for AgUiEncoder {
    async fn prepare(&mut self, published: &PublishedEvent) {
        if published.event_type() == "on_checkpoint" && is_root_event(published.event()) {
            self.states.load_checkpoint_state(published, published.number() <= self.after).await;
        }
    }

    fn encode(&mut self, published: &PublishedEvent) -> Vec<SseMessage> {
        let events = self.events(published.event_type(), published.event());
        if published.number() <= self.after {
            return Vec::new();
        }
        let message = |event: Value| SseMessage::new(event["type"].as_str().unwrap_or_default(), &event);
        events.into_iter().map(message).collect()
    }
}

impl AgUiEncoder {
    fn events(&mut self, kind: &str, event: &Value) -> Vec<Value> {
        let (data, metadata) = (&event["data"], &event["metadata"]);
        if is_root_event(event) {
            let events = if kind == "on_checkpoint" {
                self.states.take_patch().into_iter().collect()
            } else {
                root_events(kind, event)
            };
            let snapshots = events.iter().filter_map(|event| event.get("snapshot"));
            snapshots.for_each(|state| self.states.set_snapshot(state));
            return events;
        }
        let is_node = event["name"] == metadata["node"];
        match kind {
            "on_chain_start" if is_node => vec![json!({ "type": "STEP_STARTED", "stepName": event["name"] })],
            "on_chain_end" if is_node => vec![json!({ "type": "STEP_FINISHED", "stepName": event["name"] })],
            "on_chat_model_stream" => self.message_chunk(data),
            "on_chat_model_end" => self.message(&data["output"]),
            "on_tool_start" => {
                self.calls.insert(text(&event["run_id"]), data["tool_call_id"].clone());
                tool_call(data)
            }
            "on_tool_end" => {
                let call = self.calls.remove(&text(&event["run_id"]));
                vec![json!({
                    "type": "TOOL_CALL_RESULT", "messageId": event["run_id"], "toolCallId": call,
                    "content": text(&data["output"]), "role": "tool",
                })]
            }
            "on_custom_event" => vec![json!({ "type": "CUSTOM", "name": event["name"], "value": data })],
            _ => Vec::new(),
        }
    }

    /// Encodes a chunk of a message.
    fn message_chunk(&mut self, data: &Value) -> Vec<Value> {
        let (Some(id), Some(delta)) = (data["message_id"].as_str(), data["chunk"].as_str()) else { return Vec::new() };
        if delta.is_empty() {
            return Vec::new();
        }
        let is_new = self.open_messages.insert(id.to_owned());
        let start = is_new.then(|| json!({ "type": "TEXT_MESSAGE_START", "messageId": id, "role": "assistant" }));
        let content = json!({ "type": "TEXT_MESSAGE_CONTENT", "messageId": id, "delta": delta });
        start.into_iter().chain([content]).collect()
    }

    /// Encodes a complete message; text that was not streamed in chunks is sent at once.
    fn message(&mut self, message: &Value) -> Vec<Value> {
        let Some(id) = message["id"].as_str() else { return Vec::new() };
        let mut events = Vec::new();
        if !self.open_messages.remove(id) {
            events = self.message_chunk(&json!({ "message_id": id, "chunk": text(&message["content"]) }));
            self.open_messages.remove(id);
            if events.is_empty() {
                return events;
            }
        }
        if self.completed_messages.insert(id.to_owned()) {
            events.push(json!({ "type": "TEXT_MESSAGE_END", "messageId": id }));
        }
        events
    }
}

/// Returns true if the event belongs to the root graph.
fn is_root_event(event: &Value) -> bool {
    event["parent_ids"].as_array().is_some_and(Vec::is_empty)
}

/// Encodes an event of the root graph.
fn root_events(kind: &str, event: &Value) -> Vec<Value> {
    let (data, thread, run) = (&event["data"], &event["metadata"]["thread_id"], &event["run_id"]);
    let finished =
        |outcome: Value| json!({ "type": "RUN_FINISHED", "threadId": thread, "runId": run, "outcome": outcome });
    match kind {
        "on_chain_start" => {
            let started = json!({ "type": "RUN_STARTED", "threadId": thread, "runId": run });
            let input_snapshot = json!({ "type": "STATE_SNAPSHOT", "snapshot": data["input"] });
            if data["input"].is_object() { vec![started, input_snapshot] } else { vec![started] }
        }
        "on_interrupt" => vec![json!({ "type": "CUSTOM", "name": "on_interrupt", "value": data["interrupts"] })],
        "on_chain_error" => {
            let error = &data["error"];
            vec![json!({ "type": "RUN_ERROR", "message": error["message"], "code": error["code"] })]
        }
        "on_chain_end" => match data["output"].get("__interrupt__") {
            Some(interrupts) => vec![finished(json!({ "type": "interrupt", "interrupts": interrupts }))],
            None => {
                let snapshot = json!({ "type": "STATE_SNAPSHOT", "snapshot": data["output"] });
                vec![snapshot, finished(json!({ "type": "success" }))]
            }
        },
        _ => Vec::new(),
    }
}

fn tool_call(data: &Value) -> Vec<Value> {
    let id = &data["tool_call_id"];
    vec![
        json!({ "type": "TOOL_CALL_START", "toolCallId": id, "toolCallName": data["tool"] }),
        json!({ "type": "TOOL_CALL_ARGS", "toolCallId": id, "delta": data["input"].to_string() }),
        json!({ "type": "TOOL_CALL_END", "toolCallId": id }),
    ]
}

fn text(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}
