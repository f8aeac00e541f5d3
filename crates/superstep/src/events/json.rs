//! JSON encoding of event payloads, shared by all stream modes.

use serde_json::{Map, Value, json};
use superstep_core::checkpoint::Interrupt;
use superstep_core::error::Error;
use superstep_core::graph::Topology;
use superstep_core::message::{Message, MessageUpdate, MessageUpdates};
use superstep_core::model::{MessageChunk, ToolCallChunk};
use superstep_core::port::StateRef;
use superstep_core::update::Update;

use crate::events::event::GraphRun;

/// Returns the visible fields of a state.
pub(crate) fn values(graph: &GraphRun, state: &StateRef) -> Value {
    let output = &graph.topology.output;
    let schema = &state.schema;
    let is_output = |name: &str| schema.find(name).is_some_and(|id| output.contains(&id));
    to_json_or_error(schema.to_json_of(&*state.state, |field| !field.flags.untracked && is_output(&field.name)))
}

/// Returns all persisted fields of a state.
pub(crate) fn state(state: &StateRef) -> Value {
    to_json_or_error(state.schema.to_json(&*state.state))
}

/// Returns a serialization error as a value, because a stream cannot report it otherwise.
pub(crate) fn to_json_or_error(result: Result<Value, Error>) -> Value {
    result.unwrap_or_else(|error| json!({"__error__": error.message()}))
}

/// Returns the writes of a task; null if there are none, and a list of single writes if a field was written more than
/// once.
pub(crate) fn update(topology: &Topology, update: &Update) -> Value {
    if update.is_empty() {
        return Value::Null;
    }
    let writes = update.writes().iter().map(|write| {
        let value = write.value.to_json().unwrap_or_else(|error| json!({"__error__": error.message}));
        (topology.schema.field(write.field).name.to_string(), value)
    });
    let writes: Vec<(String, Value)> = writes.collect();
    let is_repeated = |index: usize| writes[..index].iter().any(|(name, _)| *name == writes[index].0);
    if (0..writes.len()).any(is_repeated) {
        return writes.into_iter().map(|(name, value)| Value::Object(Map::from_iter([(name, value)]))).collect();
    }
    Value::Object(writes.into_iter().collect())
}

/// Returns the messages that an update adds to message fields, in order.
pub(crate) fn messages(topology: &Topology, update: &Update) -> Vec<Message> {
    let is_list = |reducer: &Option<String>| reducer.as_deref() == Some("add_messages");
    let mut added = Vec::new();
    for write in update.writes().iter().filter(|write| is_list(&topology.schema.field(write.field).reducer)) {
        let edits = write.value.get::<MessageUpdates>().cloned();
        let edits = edits.or_else(|| write.value.clone().into_value::<MessageUpdates>().ok());
        let puts = edits.into_iter().flat_map(|edits| edits.0).filter_map(|edit| match edit {
            MessageUpdate::Put(message) => Some(message),
            _ => None,
        });
        added.extend(puts);
    }
    added
}

pub(crate) fn interrupts(interrupts: &[Interrupt]) -> Value {
    let encode = |interrupt: &Interrupt| {
        let mut encoded = json!({"id": interrupt.id.to_string(), "value": interrupt.value, "node": &*interrupt.node});
        if let Some(schema) = &interrupt.resume_schema {
            encoded["schema"] = schema.clone();
        }
        encoded
    };
    interrupts.iter().map(encode).collect()
}

pub(crate) fn error(error: &Error) -> Value {
    json!({
        "code": error.code().to_string(),
        "message": error.message(),
        "hint": error.help(),
        "retryable": error.is_retryable(),
    })
}

/// Encodes a chunk of a response as LangChain does: as a partial message.
pub(crate) fn langchain_chunk(chunk: &MessageChunk, id: &str) -> Value {
    let mut encoded = json!({
        "type": "AIMessageChunk", "id": id, "content": "", "additional_kwargs": {}, "response_metadata": {},
        "tool_calls": [], "tool_call_chunks": [],
    });
    match chunk {
        MessageChunk::Text(text) => encoded["content"] = text.as_str().into(),
        MessageChunk::Reasoning(text) => encoded["additional_kwargs"] = json!({"reasoning_content": text}),
        MessageChunk::ToolCall(ToolCallChunk { index, id, name, args }) => {
            let call = json!({"type": "tool_call_chunk", "index": index, "id": id, "name": name, "args": args});
            encoded["tool_call_chunks"] = json!([call]);
        }
        _ => {}
    }
    encoded
}
