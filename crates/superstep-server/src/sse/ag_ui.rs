//! What is told, in the words of AG-UI.
//!
//! Hears everything from the beginning and tells what comes after the reader's last event: a message that a piece belongs
//! to may have begun before it. States are told whole at the start and at the end, and as patches in between (`states`).

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use serde_json::{Value, json};

mod states;

use super::{Line, View};
use crate::hub::Told;
use crate::registry::Served;
use states::States;

/// Events of AG-UI about a thread of this graph, for a reader that has those up to `after`.
#[must_use]
pub fn ag_ui(after: Option<u64>, graph: Arc<dyn Served>) -> impl View {
    let (open, said, calls) = Default::default();
    AgUi { after: after.unwrap_or(0), states: States::new(graph), open, said, calls }
}

struct AgUi {
    after: u64,
    states: States,
    /// Messages that have begun.
    open: BTreeSet<String>,
    /// Messages that were told whole.
    said: BTreeSet<String>,
    /// The ids by which models know calls of tools, by those of their runs.
    calls: BTreeMap<String, Value>,
}

impl View for AgUi {
    async fn prepare(&mut self, told: &Told) {
        if told.kind() == "on_checkpoint" && is_whole(told.event()) {
            self.states.look(told, told.number() <= self.after).await;
        }
    }

    fn tell(&mut self, told: &Told) -> Vec<Line> {
        let events = self.events(told.kind(), told.event());
        if told.number() <= self.after {
            return Vec::new();
        }
        let named = events.into_iter().map(|event| Line::new(event["type"].as_str().unwrap_or_default(), &event));
        named.collect()
    }
}

impl AgUi {
    fn events(&mut self, kind: &str, event: &Value) -> Vec<Value> {
        let (data, metadata) = (&event["data"], &event["metadata"]);
        if is_whole(event) {
            let events =
                if kind == "on_checkpoint" { self.states.take().into_iter().collect() } else { whole(kind, event) };
            let snapshots = events.iter().filter_map(|event| event.get("snapshot"));
            snapshots.for_each(|state| self.states.told(state));
            return events;
        }
        let is_node = event["name"] == metadata["node"];
        match kind {
            "on_chain_start" if is_node => vec![json!({ "type": "STEP_STARTED", "stepName": event["name"] })],
            "on_chain_end" if is_node => vec![json!({ "type": "STEP_FINISHED", "stepName": event["name"] })],
            "on_chat_model_stream" => self.piece(data),
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

    /// A piece of a message.
    fn piece(&mut self, data: &Value) -> Vec<Value> {
        let (Some(id), Some(delta)) = (data["message_id"].as_str(), data["chunk"].as_str()) else { return Vec::new() };
        if delta.is_empty() {
            return Vec::new();
        }
        let begins = self.open.insert(id.to_owned());
        let start = begins.then(|| json!({ "type": "TEXT_MESSAGE_START", "messageId": id, "role": "assistant" }));
        let content = json!({ "type": "TEXT_MESSAGE_CONTENT", "messageId": id, "delta": delta });
        start.into_iter().chain([content]).collect()
    }

    /// A message is whole: what was not heard of it piece by piece is said at once.
    fn message(&mut self, message: &Value) -> Vec<Value> {
        let Some(id) = message["id"].as_str() else { return Vec::new() };
        let mut events = Vec::new();
        if !self.open.remove(id) {
            events = self.piece(&json!({ "message_id": id, "chunk": text(&message["content"]) }));
            self.open.remove(id);
            if events.is_empty() {
                return events;
            }
        }
        if self.said.insert(id.to_owned()) {
            events.push(json!({ "type": "TEXT_MESSAGE_END", "messageId": id }));
        }
        events
    }
}

/// Whether an event is about the run as a whole.
fn is_whole(event: &Value) -> bool {
    event["parent_ids"].as_array().is_some_and(Vec::is_empty)
}

/// What the run as a whole says.
fn whole(kind: &str, event: &Value) -> Vec<Value> {
    let (data, thread, run) = (&event["data"], &event["metadata"]["thread_id"], &event["run_id"]);
    let finished =
        |outcome: Value| json!({ "type": "RUN_FINISHED", "threadId": thread, "runId": run, "outcome": outcome });
    match kind {
        "on_chain_start" => {
            let started = json!({ "type": "RUN_STARTED", "threadId": thread, "runId": run });
            let given = json!({ "type": "STATE_SNAPSHOT", "snapshot": data["input"] });
            if data["input"].is_object() { vec![started, given] } else { vec![started] }
        }
        "on_interrupt" => vec![json!({ "type": "CUSTOM", "name": "on_interrupt", "value": data["interrupts"] })],
        "on_chain_error" => {
            let error = &data["error"];
            vec![json!({ "type": "RUN_ERROR", "message": error["message"], "code": error["code"] })]
        }
        "on_chain_end" => match data["output"].get("__interrupt__") {
            Some(questions) => vec![finished(json!({ "type": "interrupt", "interrupts": questions }))],
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
