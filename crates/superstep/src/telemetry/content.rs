//! What was said, in the form the conventions for generative AI give it: asked for, never on its own.

use serde_json::{Value, json};
use superstep_core::message::{Message, Role};
use superstep_core::model::{Answer, Request, StopReason};

/// What a model was asked, as a list of messages.
pub(super) fn request_content(request: &Request) -> Value {
    request.messages.iter().map(|message| said(message)).collect()
}

/// What a model answered, as a list of one message.
pub(super) fn answer_content(answer: &Answer) -> Value {
    let mut message = said(&answer.message);
    message["finish_reason"] = json!(match &answer.stop {
        StopReason::ToolCalls => "tool_call",
        StopReason::Length => "length",
        StopReason::Refused => "content_filter",
        _ => "stop",
    });
    json!([message])
}

fn said(message: &Message) -> Value {
    let role = match message.role {
        Role::System => "system",
        Role::Assistant => "assistant",
        Role::Tool => "tool",
        _ => "user",
    };
    let text = message.text();
    let mut parts = Vec::new();
    match &message.tool_call_id {
        Some(call) => parts.push(json!({ "type": "tool_call_response", "id": call, "response": text })),
        None if text.is_empty() => {}
        None => parts.push(json!({ "type": "text", "content": text })),
    }
    parts.extend(message.tool_calls.iter().map(|call| {
        let (id, name, arguments) = (&call.id, &call.name, &call.args);
        json!({ "type": "tool_call", "id": id, "name": name, "arguments": arguments })
    }));
    json!({ "role": role, "parts": parts })
}
