//! A model wrapper that redacts requests and responses.

use std::sync::{Arc, Mutex};

use superstep::models::{MessageChunk, ModelExt, ScriptedModel, ToolCallChunk};
use superstep::redaction::Redaction;

use super::*;

/// R-FWK-91: joined chunks equal the redacted response, for text and tool calls.
#[tokio::test]
async fn chunks_and_responses_have_no_secrets() {
    let mut stream = Speaker(SECRETS).with_redaction(Redaction::default()).stream("hi");
    let mut joined = String::new();
    while let Some(chunk) = stream.next().await {
        let MessageChunk::Text(text) = chunk.unwrap() else { panic!("not a text") };
        joined += &text;
    }
    let answer = stream.finish().await.unwrap();
    assert_eq!(joined, answer.message.text());
    assert!(!NEEDLES.iter().any(|needle| joined.contains(needle)), "{joined}");
    assert!(joined.contains("[REDACTED:private_key]"));
}

/// A model that calls a tool with a mail address, in two chunks.
struct Caller(Arc<Mutex<String>>);

impl Model for Caller {
    fn info(&self) -> ModelInfo {
        Speaker("").info()
    }

    async fn generate(&self, request: &ChatRequest, out: &mut ChunkSender<'_>) -> superstep::Result<ChatResponse> {
        *self.0.lock().unwrap() = format!("{request:?}");
        let (id, name) = (Some("c0".to_owned()), Some("send".to_owned()));
        out.tool_call(ToolCallChunk { index: 0, id, name, args: r#"{"to":"ada.love"#.to_owned() }).await;
        out.tool_call(ToolCallChunk { index: 0, args: r#"lace@example.com"}"#.to_owned(), ..Default::default() }).await;
        let call = ToolCall::new("c0", "send", json!({ "to": "ada.lovelace@example.com" }));
        Ok(ChatResponse::new(Message::assistant("").with_tool_calls([call]), self.info()))
    }
}

/// R-FWK-91: requests and tool arguments contain no secrets either.
#[tokio::test]
async fn requests_and_calls_have_no_secrets() {
    let received = Arc::new(Mutex::new(String::new()));
    let mut stream = Caller(received.clone()).with_redaction(Redaction::default()).share().stream(SECRETS);
    let mut args = String::new();
    while let Some(chunk) = stream.next().await {
        let MessageChunk::ToolCall(chunk) = chunk.unwrap() else { panic!("not a call") };
        args += &chunk.args;
    }
    assert_eq!(args, r#"{"to":"[REDACTED:mail]"}"#);
    assert_eq!(stream.finish().await.unwrap().message.tool_calls[0].args, json!({ "to": "[REDACTED:mail]" }));
    let received = received.lock().unwrap().clone();
    assert!(
        received.contains("[REDACTED:card]") && !NEEDLES.iter().any(|needle| received.contains(needle)),
        "{received}"
    );
    let failing = ScriptedModel::new(Vec::<&str>::new()).with_redaction(Redaction::default());
    assert!(failing.complete("hi").await.is_err());
}

/// A model that sends reasoning, text and two tool calls, each without trailing whitespace.
struct Thinker;

impl Model for Thinker {
    fn info(&self) -> ModelInfo {
        Speaker("").info()
    }

    async fn generate(&self, _request: &ChatRequest, out: &mut ChunkSender<'_>) -> superstep::Result<ChatResponse> {
        let call = |index: usize| ToolCallChunk { index, args: format!("[{index}]"), ..ToolCallChunk::default() };
        out.send(MessageChunk::Reasoning("I ask ada@example.com".to_owned())).await;
        out.send(MessageChunk::Text("Done".to_owned())).await;
        out.tool_call(call(0)).await;
        out.tool_call(call(1)).await;
        Ok(ChatResponse::new(Message::assistant("Done"), self.info()))
    }
}

/// R-FWK-91: text that was held back is delivered before chunks of the next source.
#[tokio::test]
async fn chunks_stay_in_order() {
    let mut stream = Thinker.with_redaction(Redaction::default()).stream("hi");
    let mut chunks = Vec::new();
    while let Some(chunk) = stream.next().await {
        chunks.push(match chunk.unwrap() {
            MessageChunk::Reasoning(text) => format!("thinks {text}"),
            MessageChunk::Text(text) => format!("says {text}"),
            MessageChunk::ToolCall(call) => format!("calls {}", call.args),
            _ => panic!("unknown"),
        });
    }
    assert_eq!(chunks, ["thinks I ask ", "thinks [REDACTED:mail]", "says Done", "calls [0]", "calls [1]"]);
}
