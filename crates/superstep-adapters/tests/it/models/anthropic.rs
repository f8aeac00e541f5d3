//! Anthropic's Messages API.

use serde_json::{Value, json};
use superstep_adapters::models::ProviderModel;
use superstep_core::message::{ContentPart, Media, Message};
use superstep_core::model::{ChatRequest, MessageChunk, ModelErrorKind, ResponseFormat, StopReason, ToolChoice};

use super::server::{ScriptedResponse, Server};
use super::{KEY, calls, conversation, generate, generate_streamed, weather};

fn model(server: &Server) -> ProviderModel {
    ProviderModel::anthropic("claude-sonnet-4-5").api_key(KEY).base_url(format!("{}/v1/", server.address))
}

fn message(content: &Value, stop_reason: &str) -> Value {
    json!({
        "id": "msg_01", "type": "message", "role": "assistant", "model": "claude-sonnet-4-5-20250929",
        "content": content, "stop_reason": stop_reason, "stop_sequence": null,
        "usage": {"input_tokens": 12, "cache_creation_input_tokens": 0, "cache_read_input_tokens": 8, "output_tokens": 6},
    })
}

/// Formats server-sent events with the names in their data.
fn stream(events: &[Value]) -> String {
    events.iter().map(|event| format!("event: {}\ndata: {event}\n\n", event["type"].as_str().unwrap())).collect()
}

fn start() -> Value {
    let mut message = message(&json!([]), "");
    message["stop_reason"] = Value::Null;
    message["usage"] = json!({"input_tokens": 12, "output_tokens": 1});
    json!({"type": "message_start", "message": message})
}

fn block(index: usize, block: &Value) -> Value {
    json!({"type": "content_block_start", "index": index, "content_block": block})
}

fn delta(index: usize, delta: &Value) -> Value {
    json!({"type": "content_block_delta", "index": index, "delta": delta})
}

fn stop(index: usize) -> Value {
    json!({"type": "content_block_stop", "index": index})
}

fn end(reason: &str) -> [Value; 2] {
    let delta = json!({"stop_reason": reason, "stop_sequence": null});
    [json!({"type": "message_delta", "delta": delta, "usage": {"output_tokens": 6}}), json!({"type": "message_stop"})]
}

/// R-FWK-67, R-FWK-69, R-FWK-70, R-FWK-75: a non-streamed response, and the form of the request.
#[tokio::test]
async fn a_response_without_a_listener_is_complete() {
    let content = json!([{"type": "text", "text": "Hello"}, {"type": "text", "text": ", you."}]);
    let server = Server::start([ScriptedResponse::json(&message(&content, "end_turn"))]).await;
    let request = ChatRequest::new([Message::system("Be short."), Message::user("Hi")]).max_tokens(99);
    let response = generate(&model(&server), &request).await.unwrap();
    assert_eq!((&*response.message.text(), &response.stop), ("Hello, you.", &StopReason::End));
    let usage = response.usage();
    assert_eq!((usage.input_tokens, usage.output_tokens, usage.estimated), (20, 6, false));
    assert_eq!(response.model.to_string(), "anthropic/claude-sonnet-4-5 (remote)");

    let sent = server.last();
    assert_eq!((sent.line.as_str(), sent.header("x-api-key")), ("POST /v1/messages", Some(KEY)));
    assert_eq!((sent.header("anthropic-version"), sent.header("authorization")), (Some("2023-06-01"), None));
    assert_eq!((&sent.body["model"], &sent.body["system"]), (&json!("claude-sonnet-4-5"), &json!("Be short.")));
    assert_eq!(sent.body["messages"], json!([{"role": "user", "content": "Hi"}]));
    assert_eq!(sent.body["max_tokens"], 99);
}

/// R-FWK-69: streamed text and a tool call, independent of how the connection splits them.
#[tokio::test]
async fn streamed_text_and_calls_do_not_depend_on_chunk_boundaries() {
    let json_delta = |text: &str| delta(1, &json!({"type": "input_json_delta", "partial_json": text}));
    let mut events = vec![
        start(),
        block(0, &json!({"type": "text", "text": ""})),
        json!({"type": "ping"}),
        delta(0, &json!({"type": "text_delta", "text": "Ich schaue "})),
        delta(0, &json!({"type": "text_delta", "text": "nach – 😀"})),
        stop(0),
        block(1, &json!({"type": "tool_use", "id": "toolu_1", "name": "weather", "input": {}})),
        json_delta(""),
        json_delta("{\"city\": \"Ky"),
        json_delta("ōto\"}"),
        stop(1),
        block(2, &json!({"type": "tool_use", "id": "toolu_2", "name": "now", "input": {}})),
        stop(2),
    ];
    events.extend(end("tool_use"));
    for size in [1, 5, 100_000] {
        let server = Server::start([ScriptedResponse::events(stream(&events)).cut_every(size)]).await;
        let (response, chunks) =
            generate_streamed(&model(&server), &ChatRequest::from("Weather?").tools([weather()])).await;
        assert_eq!((&*response.message.text(), &response.stop), ("Ich schaue nach – 😀", &StopReason::ToolCalls));
        let expected = [("toolu_1", "weather", json!({"city": "Kyōto"})), ("toolu_2", "now", json!({}))];
        assert_eq!(calls(&response), expected);
        let fragments = chunks.iter().filter_map(|chunk| match chunk {
            MessageChunk::ToolCall(chunk) => Some((chunk.index, chunk.args.as_str())),
            _ => None,
        });
        let expected = [(0, ""), (0, ""), (0, "{\"city\": \"Ky"), (0, "ōto\"}"), (1, "")];
        assert_eq!(fragments.collect::<Vec<_>>(), expected);
        assert_eq!((response.usage().input_tokens, response.usage().output_tokens), (12, 6));
    }
}

/// R-FWK-69: thinking is separated from the text and sent back unchanged, as the provider requires.
#[tokio::test]
async fn reasoning_is_separated_from_the_text_and_sent_back() {
    let hidden = json!({"type": "redacted_thinking", "data": "c2VjcmV0"});
    let call = json!({"type": "tool_use", "id": "toolu_1", "name": "weather", "input": {}});
    let mut events = vec![
        start(),
        block(0, &json!({"type": "thinking", "thinking": "", "signature": ""})),
        delta(0, &json!({"type": "thinking_delta", "thinking": "Hm."})),
        delta(0, &json!({"type": "signature_delta", "signature": "c2ln"})),
        stop(0),
        block(1, &hidden),
        stop(1),
        block(2, &json!({"type": "text", "text": ""})),
        delta(2, &json!({"type": "text_delta", "text": "I look."})),
        stop(2),
        block(3, &call),
        stop(3),
    ];
    events.extend(end("tool_use"));
    let thought = json!({"type": "thinking", "thinking": "Hm.", "signature": "c2ln"});
    let text = json!({"type": "text", "text": "I look."});
    let content = json!([thought, hidden, text, call]);
    let scripts = [ScriptedResponse::events(stream(&events)), ScriptedResponse::json(&message(&content, "tool_use"))];
    let server = Server::start(scripts).await;
    let (streamed, _) = generate_streamed(&model(&server), &ChatRequest::from("Weather?")).await;
    let complete = generate(&model(&server), &ChatRequest::from("Weather?")).await.unwrap();
    for response in [streamed, complete] {
        assert_eq!((&*response.message.text(), &response.message.metadata["reasoning"]), ("I look.", &json!("Hm.")));
        let messages = [Message::user("Weather?"), response.message, Message::tool("toolu_1", "rain")];
        generate(&model(&server), &ChatRequest::new(messages)).await.unwrap();
        let sent = server.last().body;
        assert_eq!((&sent["messages"][1]["content"], sent.get("thinking")), (&content, None));
    }
}

/// R-FWK-68, R-FWK-69: a complete request is sent in the provider's form; a tool named `web_search` stays a client
/// tool.
#[tokio::test]
async fn a_complete_request_is_sent() {
    let content = json!([{"type": "tool_use", "id": "toolu_1", "name": "weather", "input": {"city": "Rome"}}]);
    let server = Server::start([ScriptedResponse::json(&message(&content, "tool_use"))]).await;
    let schema = json!({"type": "object", "properties": {"mood": {"type": "string"}}, "required": ["mood"]});
    let mut search = weather();
    search.name = "web_search".to_owned();
    let mut request = ChatRequest::new(conversation())
        .tools([weather(), search])
        .tool_choice(ToolChoice::Required)
        .format(ResponseFormat::new("report", schema))
        .temperature(0.25)
        .stop("END");
    request.top_p = Some(0.5);
    let response = generate(&model(&server), &request).await.unwrap();
    assert_eq!(calls(&response), [("toolu_1", "weather", json!({"city": "Rome"}))]);

    let body = server.last().body;
    let call = |id: &str, city: &str| json!({"type": "tool_use", "id": id, "name": "weather", "input": {"city": city}});
    let open = "not executed: the conversation continued without it";
    let expected = json!([
        {"role": "user", "content": "Weather in Paris, Rome and Oslo?"},
        {"role": "assistant", "content": [
            {"type": "text", "text": "I look."}, call("a", "Paris"), call("b", "Rome"), call("c", "Oslo"),
        ]},
        {"role": "user", "content": [
            {"type": "tool_result", "tool_use_id": "a", "content": "sunny"},
            {"type": "tool_result", "tool_use_id": "b", "content": "no such city", "is_error": true},
            {"type": "tool_result", "tool_use_id": "c", "content": open, "is_error": true},
        ]},
        {"role": "user", "content": "Well?"},
    ]);
    assert_eq!(body["messages"], expected);
    assert_eq!(body["tool_choice"], json!({"type": "any"}));
    assert_eq!((&body["tools"][0]["name"], &body["tools"][1]["name"]), (&json!("weather"), &json!("web_search")));
    assert_eq!((body["tools"][1].get("type"), &body["tools"][1]["input_schema"]["required"]), (None, &json!(["city"])));
    let format = &body["output_config"]["format"];
    assert_eq!((&format["type"], &format["schema"]["additionalProperties"]), (&json!("json_schema"), &json!(false)));
    let numbers = (body["temperature"].as_f64().unwrap(), body["top_p"].as_f64().unwrap());
    assert_eq!((numbers, &body["stop_sequences"]), ((0.25, 0.5), &json!(["END"])));
}

/// R-FWK-68: a conversation with another provider continues here: tool call ids are converted consistently for calls
/// and results, and empty content is omitted.
#[tokio::test]
async fn a_conversation_of_another_provider_continues() {
    let content = json!([{"type": "text", "text": "Fine."}]);
    let server = Server::start([ScriptedResponse::json(&message(&content, "end_turn"))]).await;
    let long = "x".repeat(65);
    let of = |id: &str| superstep::core::message::ToolCall::new(id, "weather", json!({"city": "Rome"}));
    let request = ChatRequest::new([
        Message::user(vec![ContentPart::text(""), ContentPart::text("Weather?")]),
        Message::assistant("").with_tool_calls(["call#weather#0", &long, "plain-1"].map(of)),
        Message::tool("call#weather#0", "rain"),
        Message::tool(&*long, "sun"),
        Message::tool("plain-1", "wind"),
        Message::user(""),
        Message::user("Well?"),
    ]);
    generate(&model(&server), &request).await.unwrap();
    let messages = server.last().body["messages"].clone();
    assert_eq!(messages.as_array().unwrap().len(), 4, "{messages}");
    assert!(!messages.to_string().contains("\"text\":\"\""), "{messages}");
    let ids = |message: usize, key: &str| -> Vec<String> {
        let blocks = messages[message]["content"].as_array().unwrap();
        blocks.iter().map(|block| block[key].as_str().unwrap().to_owned()).collect()
    };
    let called = ids(1, "id");
    assert_eq!((&called, called[2].as_str()), (&ids(2, "tool_use_id"), "plain-1"));
    assert!(
        called.iter().all(|id| id.len() <= 40 && id.chars().all(|l| l.is_ascii_alphanumeric() || "_-".contains(l)))
    );
    assert_ne!(called[0], called[1]);
}

/// R-FWK-69: images are sent by URL, embedded, and in tool results.
#[tokio::test]
async fn images_are_sent() {
    let server =
        Server::start([ScriptedResponse::json(&message(&json!([{"type": "text", "text": "A cat."}]), "end_turn"))])
            .await;
    let parts = || vec![ContentPart::text("Look"), ContentPart::Image(Media::base64("aGk=", "image/png"))];
    let mut all = conversation();
    all[1] = Message::user(vec![
        ContentPart::Image(Media::url("https://pictures.example/cat.jpg")),
        ContentPart::Image(Media::url("data:image/webp;base64,aGk=")),
    ]);
    all[3] = Message::tool("a", parts());
    generate(&model(&server), &ChatRequest::new(all)).await.unwrap();
    let body = server.last().body;
    let embedded =
        |kind: &str| json!({"type": "image", "source": {"type": "base64", "media_type": kind, "data": "aGk="}});
    let by_address = json!({"type": "image", "source": {"type": "url", "url": "https://pictures.example/cat.jpg"}});
    assert_eq!(body["messages"][0]["content"], json!([by_address, embedded("image/webp")]));
    let result = &body["messages"][2]["content"][0]["content"];
    assert_eq!(*result, json!([{"type": "text", "text": "Look"}, embedded("image/png")]));
}

/// R-FWK-69, R-FWK-71: an unsupported setting is rejected before a request is sent; an error in the middle of a
/// response is classified by the provider's text.
#[tokio::test]
async fn unsupported_requests_are_rejected_and_errors_during_a_response_are_reported() {
    let overloaded = json!({"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}});
    let events = [start(), block(0, &json!({"type": "text", "text": ""})), overloaded];
    let server = Server::start([ScriptedResponse::events(stream(&events))]).await;
    let mut seeded = ChatRequest::from("Hi");
    seeded.seed = Some(7);
    let error = generate(&model(&server), &seeded).await.unwrap_err();
    assert_eq!(
        (ModelErrorKind::from_error(&error), error.message().contains("seed")),
        (Some(ModelErrorKind::BadRequest), true)
    );
    let odd = ProviderModel::anthropic("claude-high").api_key(KEY).base_url(&server.address);
    assert!(generate(&odd, &ChatRequest::from("Hi")).await.unwrap_err().message().contains("`-high`"));
    assert_eq!(server.count(), 0);
    let (response, _) = super::listen(&model(&server), &ChatRequest::from("Hi")).await;
    assert_eq!(ModelErrorKind::from_error(&response.unwrap_err()), Some(ModelErrorKind::Overloaded));
}
