//! Pieces of events as JSON, the same in every mode.

use serde_json::{Map, Value, json};
use superstep_core::checkpoint::Question;
use superstep_core::error::Error;
use superstep_core::graph::Topology;
use superstep_core::message::{Message, MessageEdit, MessageEdits};
use superstep_core::model::{Piece, ToolCallPiece};
use superstep_core::port::StateRef;
use superstep_core::update::Update;

use super::GraphRun;

/// The fields that callers see of a state.
pub(super) fn values(graph: &GraphRun, state: &StateRef) -> Value {
    let output = &graph.topology.output;
    let schema = &state.schema;
    let is_output = |name: &str| schema.find(name).is_some_and(|id| output.contains(&id));
    told(schema.to_json_of(&*state.state, |field| !field.flags.untracked && is_output(&field.name)))
}

/// A state with all that is saved of it.
pub(super) fn state(state: &StateRef) -> Value {
    told(state.schema.to_json(&*state.state))
}

/// What could not be written is said where it would stand: a stream has no other way.
pub(crate) fn told(written: Result<Value, Error>) -> Value {
    written.unwrap_or_else(|error| json!({"__error__": error.message()}))
}

/// What a task wrote; null for nothing, and a list of single writes where it wrote a field more than once.
pub(crate) fn update(topology: &Topology, update: &Update) -> Value {
    if update.is_empty() {
        return Value::Null;
    }
    let writes = update.writes().iter().map(|write| {
        let value = write.value.to_json().unwrap_or_else(|fault| json!({"__error__": fault.message}));
        (topology.schema.field(write.field).name.to_string(), value)
    });
    let writes: Vec<(String, Value)> = writes.collect();
    let is_again = |place: usize| writes[..place].iter().any(|(name, _)| *name == writes[place].0);
    if (0..writes.len()).any(is_again) {
        return writes.into_iter().map(|(name, value)| Value::Object(Map::from_iter([(name, value)]))).collect();
    }
    Value::Object(writes.into_iter().collect())
}

/// The messages that an update puts into fields of messages, in order.
pub(super) fn messages(topology: &Topology, update: &Update) -> Vec<Message> {
    let is_list = |reducer: &Option<String>| reducer.as_deref() == Some("add_messages");
    let mut found = Vec::new();
    for write in update.writes().iter().filter(|write| is_list(&topology.schema.field(write.field).reducer)) {
        let edits = write.value.get::<MessageEdits>().cloned();
        let edits = edits.or_else(|| write.value.clone().take::<MessageEdits>().ok());
        let puts = edits.into_iter().flat_map(|edits| edits.0).filter_map(|edit| match edit {
            MessageEdit::Put(message) => Some(message),
            _ => None,
        });
        found.extend(puts);
    }
    found
}

pub(super) fn questions(questions: &[Question]) -> Value {
    let form = |question: &Question| {
        let mut form = json!({"id": question.id.to_string(), "value": question.value, "node": &*question.node});
        if let Some(schema) = &question.schema {
            form["schema"] = schema.clone();
        }
        form
    };
    questions.iter().map(form).collect()
}

pub(super) fn error(error: &Error) -> Value {
    json!({
        "code": error.code().to_string(),
        "message": error.message(),
        "hint": error.advice(),
        "retryable": error.is_retryable(),
    })
}

/// A piece of an answer as LangChain writes it: a message that is not whole.
pub(super) fn langchain_chunk(piece: &Piece, id: &str) -> Value {
    let mut chunk = json!({
        "type": "AIMessageChunk", "id": id, "content": "", "additional_kwargs": {}, "response_metadata": {},
        "tool_calls": [], "tool_call_chunks": [],
    });
    match piece {
        Piece::Text(text) => chunk["content"] = text.as_str().into(),
        Piece::Reasoning(text) => chunk["additional_kwargs"] = json!({"reasoning_content": text}),
        Piece::ToolCall(ToolCallPiece { index, id, name, args }) => {
            let call = json!({"type": "tool_call_chunk", "index": index, "id": id, "name": name, "args": args});
            chunk["tool_call_chunks"] = json!([call]);
        }
        _ => {}
    }
    chunk
}
