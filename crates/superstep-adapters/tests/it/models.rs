//! Model providers, with local servers that imitate their APIs.

mod anthropic;
mod faults;
mod google;
mod openai;
mod openai_compatible;
mod server;
mod settings;

use serde_json::{Value, json};
use superstep_adapters::models::ProviderModel;
use superstep_core::error::Result;
use superstep_core::message::{Message, ToolCall};
use superstep_core::model::{ChatRequest, ChatResponse, MessageChunk};
use superstep_core::port::{BoxFuture, ChunkListener, ChunkSender, Model};
use superstep_core::tool::ToolSpec;

/// An API key that must not appear outside of request headers.
const KEY: &str = "sk-very-secret-0123456789";

/// A listener that records all chunks.
#[derive(Default)]
struct RecordingListener(Vec<MessageChunk>);

impl ChunkListener for RecordingListener {
    fn on_chunk(&mut self, chunk: MessageChunk) -> Option<BoxFuture<'_, ()>> {
        self.0.push(chunk);
        None
    }
}

/// Calls a model with a listener.
async fn listen(model: &ProviderModel, request: &ChatRequest) -> (Result<ChatResponse>, Vec<MessageChunk>) {
    let mut listener = RecordingListener::default();
    let response = model.generate(request, &mut ChunkSender::new(&mut listener)).await;
    (response, listener.0)
}

/// Calls a model without a listener.
async fn generate(model: &ProviderModel, request: &ChatRequest) -> Result<ChatResponse> {
    model.generate(request, &mut ChunkSender::discard()).await
}

/// Calls a model with a listener and checks that the concatenated chunks are the response.
async fn generate_streamed(model: &ProviderModel, request: &ChatRequest) -> (ChatResponse, Vec<MessageChunk>) {
    let (response, chunks) = listen(model, request).await;
    let response = response.unwrap();
    let (mut text, mut reasoning, mut calls) = (String::new(), String::new(), Vec::<(String, String, String)>::new());
    for chunk in &chunks {
        match chunk {
            MessageChunk::Text(more) => text.push_str(more),
            MessageChunk::Reasoning(more) => reasoning.push_str(more),
            MessageChunk::ToolCall(chunk) => {
                if chunk.index == calls.len() {
                    calls.push((chunk.id.clone().unwrap(), chunk.name.clone().unwrap(), String::new()));
                }
                calls[chunk.index].2.push_str(&chunk.args);
            }
            other => panic!("{other:?}"),
        }
    }
    let expected_reasoning = response.message.metadata.get("reasoning").and_then(Value::as_str).unwrap_or_default();
    assert_eq!((text.as_str(), reasoning.as_str()), (&*response.message.text(), expected_reasoning));
    assert_eq!(calls.len(), response.message.tool_calls.len());
    for ((id, name, args), call) in calls.iter().zip(&response.message.tool_calls) {
        assert_eq!((id, name), (&call.id, &call.name));
        let read = if args.is_empty() { json!({}) } else { serde_json::from_str(args).unwrap_or(args.clone().into()) };
        assert_eq!(read, call.args);
    }
    (response, chunks)
}

/// Returns the tool that is sent to every provider.
fn weather() -> ToolSpec {
    let schema = json!({"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]});
    ToolSpec::new("weather", "How the weather is.").with_input_schema(schema)
}

/// Returns a conversation with two tool calls, one of them failed, and a third without a result.
fn conversation() -> Vec<Message> {
    let call = |id: &str, city: &str| ToolCall::new(id, "weather", json!({"city": city}));
    vec![
        Message::system("Be short."),
        Message::user("Weather in Paris, Rome and Oslo?"),
        Message::assistant("I look.").with_tool_calls([call("a", "Paris"), call("b", "Rome"), call("c", "Oslo")]),
        Message::tool("a", "sunny"),
        Message::tool("b", "no such city").with_status(superstep_core::message::ToolStatus::Error),
        Message::user("Well?"),
    ]
}

/// Returns ids, names and arguments of the tool calls of a response.
fn calls(response: &ChatResponse) -> Vec<(&str, &str, Value)> {
    let calls = response.message.tool_calls.iter();
    calls.map(|call| (call.id.as_str(), call.name.as_str(), call.args.clone())).collect()
}
