//! Content of messages, in the format of the conventions for generative AI; recorded only on request.

use serde_json::{Value, json};
use superstep_core::message::{Message, Role};
use superstep_core::model::{ChatRequest, ChatResponse, StopReason};

/// Returns the messages of a chat request.
pub(super) fn request_content(request: &ChatRequest) -> Value {
    request.messages.iter().map(|message| message_json(message)).collect()
}

/// Returns a chat response as a list of one message.
pub(super) fn response_content(response: &ChatResponse) -> Value {
    let mut message = message_json(&response.message);
    message["finish_reason"] = json!(match &response.stop {
        StopReason::ToolCalls => "tool_call",
        StopReason::Length => "length",
        StopReason::ContentFilter => "content_filter",
        _ => "stop",
    });
    json!([message])
}

fn message_json(message: &Message) -> Value {
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
