//! OpenAI's chat completions.

use serde_json::{Value, json};
use superstep_adapters::models::ProviderModel;
use superstep_core::message::{ContentPart, Media, Message, ToolCall};
use superstep_core::model::{ChatRequest, MessageChunk, ModelErrorKind, ResponseFormat, StopReason, ToolChoice};

use super::server::{ScriptedResponse, Server, data};
use super::{KEY, calls, conversation, generate, generate_streamed, weather};

fn model(server: &Server) -> ProviderModel {
    ProviderModel::openai("gpt-4.1-mini").api_key(KEY).base_url(format!("{}/v1", server.address))
}

/// Returns a completion with this message in the provider's form.
pub(super) fn completion(message: &Value, finish_reason: &str) -> Value {
    json!({
        "id": "chatcmpl-1", "object": "chat.completion", "created": 1_741_569_952, "model": "gpt-4.1-mini-2025-04-14",
        "choices": [{"index": 0, "message": message, "logprobs": null, "finish_reason": finish_reason}],
        "usage": {
            "prompt_tokens": 19, "completion_tokens": 10, "total_tokens": 29,
            "prompt_tokens_details": {"cached_tokens": 4, "audio_tokens": 0},
            "completion_tokens_details": {"reasoning_tokens": 3, "audio_tokens": 0},
        },
        "service_tier": "default", "system_fingerprint": "fp_1",
    })
}

/// Returns a streamed event with this choice.
pub(super) fn chunk(delta: &Value, finish_reason: Option<&str>) -> Value {
    let choice = json!({"index": 0, "delta": delta, "logprobs": null, "finish_reason": finish_reason});
    json!({
        "id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 1_741_569_952, "model": "gpt-4.1-mini",
        "system_fingerprint": "fp_1", "choices": [choice], "usage": null,
    })
}

pub(super) fn usage_event() -> Value {
    let usage = json!({"prompt_tokens": 19, "completion_tokens": 10, "total_tokens": 29});
    json!({"id": "chatcmpl-1", "object": "chat.completion.chunk", "choices": [], "usage": usage})
}

/// Formats the events of a response with the end marker.
pub(super) fn stream(events: &[Value]) -> String {
    data(events) + "data: [DONE]\n\n"
}

/// R-FWK-67, R-FWK-69, R-FWK-70, R-FWK-75: a non-streamed response with usage and model. The text is not trimmed.
#[tokio::test]
async fn a_response_without_a_listener_is_complete() {
    let message = json!({"role": "assistant", "content": "  Hello.\n", "refusal": null, "annotations": []});
    let server = Server::start([ScriptedResponse::json(&completion(&message, "stop"))]).await;
    let request = ChatRequest::new([Message::system("Be short."), Message::user("Hi")]);
    let response = generate(&model(&server), &request).await.unwrap();
    assert_eq!((&*response.message.text(), &response.stop), ("  Hello.\n", &StopReason::End));
    let usage = response.usage();
    assert_eq!((usage.input_tokens, usage.output_tokens, usage.total_tokens, usage.estimated), (19, 10, 29, false));
    assert_eq!((&usage.details["cached_tokens"], &usage.details["reasoning_tokens"]), (&json!(4), &json!(3)));
    assert_eq!(response.model.to_string(), "openai/gpt-4.1-mini (remote)");

    let sent = server.last();
    assert_eq!(sent.line, "POST /v1/chat/completions");
    assert_eq!(sent.header("authorization"), Some("Bearer sk-very-secret-0123456789"));
    assert_eq!((&sent.body["model"], &sent.body["stream"]), (&json!("gpt-4.1-mini"), &json!(false)));
    let messages = json!([{"role": "system", "content": "Be short."}, {"role": "user", "content": "Hi"}]);
    assert_eq!(sent.body["messages"], messages);
    for unset in ["temperature", "top_p", "max_tokens", "stop", "seed", "tools", "tool_choice", "reasoning_effort"] {
        assert_eq!(sent.body.get(unset), None, "{unset}");
    }
}

/// R-FWK-67, R-FWK-69: a streamed response is independent of how the connection splits characters and events.
#[tokio::test]
async fn streamed_responses_do_not_depend_on_chunk_boundaries() {
    let events = stream(&[
        chunk(&json!({"role": "assistant", "content": "", "refusal": null}), None),
        chunk(&json!({"content": "Grüße, "}), None),
        chunk(&json!({"content": "日本 "}), None),
        chunk(&json!({"content": "😀!"}), None),
        chunk(&json!({}), Some("stop")),
        usage_event(),
    ]);
    for size in [1, 2, 3, 7, 100, 100_000] {
        let server = Server::start([ScriptedResponse::events(events.as_str()).cut_every(size)]).await;
        let (response, chunks) = generate_streamed(&model(&server), &ChatRequest::from("Hi")).await;
        assert_eq!((&*response.message.text(), &response.stop), ("Grüße, 日本 😀!", &StopReason::End), "{size}");
        assert_eq!(chunks.len(), 3, "{size}");
        assert_eq!((response.usage().total_tokens, response.usage().estimated), (29, false));
        let sent = server.last();
        assert_eq!(sent.body["stream"], true);
        assert_eq!(sent.body["stream_options"], json!({"include_usage": true}));
    }
}

/// R-FWK-69: two tool calls with interleaved argument fragments, and comments as keep-alive.
#[tokio::test]
async fn calls_in_fragments_are_put_together() {
    let first = |index: usize, id: &str| {
        let call =
            json!({"index": index, "id": id, "type": "function", "function": {"name": "weather", "arguments": ""}});
        chunk(&json!({"tool_calls": [call]}), None)
    };
    let more = |index: usize, args: &str| {
        chunk(&json!({"tool_calls": [{"index": index, "function": {"arguments": args}}]}), None)
    };
    let events = [
        chunk(&json!({"role": "assistant", "content": null}), None),
        first(0, "call_Xy1"),
        more(0, "{\"ci"),
        first(1, "call_Xy2"),
        more(1, "{\"city\":\"Rome\"}"),
        more(0, "ty\":\"Paris\"}"),
        chunk(&json!({}), Some("tool_calls")),
        usage_event(),
    ];
    let body = format!(": keep alive\n\n{}", stream(&events));
    for size in [1, 10_000] {
        let server = Server::start([ScriptedResponse::events(body.as_str()).cut_every(size)]).await;
        let request = ChatRequest::from("Weather?").tools([weather()]);
        let (response, chunks) = generate_streamed(&model(&server), &request).await;
        let expected =
            [("call_Xy1", "weather", json!({"city": "Paris"})), ("call_Xy2", "weather", json!({"city": "Rome"}))];
        assert_eq!((calls(&response), &response.stop), (expected.to_vec(), &StopReason::ToolCalls));
        let fragments = chunks.iter().filter_map(|chunk| match chunk {
            MessageChunk::ToolCall(chunk) => Some((chunk.index, chunk.args.as_str())),
            _ => None,
        });
        let expected = [(0, ""), (0, "{\"ci"), (1, ""), (1, "{\"city\":\"Rome\"}"), (0, "ty\":\"Paris\"}")];
        assert_eq!(fragments.collect::<Vec<_>>(), expected);
    }
}

/// R-FWK-68, R-FWK-69: a complete request is sent in the provider's form, and an open tool call gets a result.
#[tokio::test]
async fn a_complete_request_is_sent() {
    let server =
        Server::start([ScriptedResponse::json(&completion(&json!({"role": "assistant", "content": "{}"}), "stop"))])
            .await;
    let schema = json!({
        "type": "object",
        "properties": {"mood": {"type": "string"}, "note": {"type": "string"}},
        "required": ["mood"],
    });
    let mut request = ChatRequest::new(conversation())
        .tools([weather()])
        .tool_choice(ToolChoice::Named("weather".to_owned()))
        .format(ResponseFormat::new("report", schema))
        .temperature(0.25)
        .max_tokens(300)
        .stop("END");
    (request.top_p, request.seed) = (Some(0.5), Some(42));
    generate(&model(&server), &request).await.unwrap();

    let body = server.last().body;
    let call = |id: &str, city: &str| {
        let args = json!({"city": city}).to_string();
        json!({"id": id, "type": "function", "function": {"name": "weather", "arguments": args}})
    };
    let result = |id: &str, text: &str| json!({"role": "tool", "tool_call_id": id, "content": text});
    let expected = json!([
        {"role": "system", "content": "Be short."},
        {"role": "user", "content": "Weather in Paris, Rome and Oslo?"},
        {"role": "assistant", "content": "I look.", "tool_calls": [call("a", "Paris"), call("b", "Rome"), call("c", "Oslo")]},
        result("a", "sunny"),
        result("b", "no such city"),
        result("c", "not executed: the conversation continued without it"),
        {"role": "user", "content": "Well?"},
    ]);
    assert_eq!(body["messages"], expected);
    let tool = &body["tools"][0]["function"];
    assert_eq!((&tool["name"], &tool["parameters"]["required"]), (&json!("weather"), &json!(["city"])));
    assert_eq!(body["tool_choice"], json!({"type": "function", "function": {"name": "weather"}}));
    // The provider's strict mode: no additional properties, and all properties required.
    let format = &body["response_format"];
    assert_eq!((&format["type"], &format["json_schema"]["strict"]), (&json!("json_schema"), &json!(true)));
    assert_eq!(format["json_schema"]["name"], "report");
    assert_eq!(format["json_schema"]["schema"]["additionalProperties"], false);
    assert_eq!(format["json_schema"]["schema"]["required"], json!(["mood", "note"]));
    let numbers = ["temperature", "top_p", "max_tokens", "seed"].map(|key| body[key].as_f64().unwrap());
    assert_eq!((numbers, &body["stop"]), ([0.25, 0.5, 300.0, 42.0], &json!(["END"])));
}

/// R-FWK-69: arguments that are not JSON are kept in both kinds of calls and can be sent back.
#[tokio::test]
async fn arguments_that_are_not_json_do_not_lose_the_answer() {
    let call = json!({"id": "x", "type": "function", "function": {"name": "weather", "arguments": "{city: Paris"}});
    let message = json!({"role": "assistant", "content": null, "tool_calls": [call]});
    let events = [
        chunk(
            &json!({"tool_calls": [{"index": 0, "id": "x", "type": "function",
            "function": {"name": "weather", "arguments": "{city: Paris"}}]}),
            None,
        ),
        chunk(&json!({}), Some("tool_calls")),
    ];
    let scripts =
        [ScriptedResponse::json(&completion(&message, "tool_calls")), ScriptedResponse::events(stream(&events))];
    let server = Server::start(scripts).await;
    let request = ChatRequest::from("Weather?").tools([weather()]);
    let complete = generate(&model(&server), &request).await.unwrap();
    let (streamed, _) = generate_streamed(&model(&server), &request).await;
    let expected = [("x", "weather", json!("{city: Paris"))];
    assert_eq!((calls(&complete), calls(&streamed)), (expected.to_vec(), expected.to_vec()));
    // The stream contained no usage, so it is estimated and marked as such.
    assert!(streamed.usage().estimated && streamed.usage().output_tokens > 0);

    let follow_up = ChatRequest::new([Message::user("Weather?"), streamed.message, Message::tool("x", "not JSON")]);
    let _ = generate_streamed(&model(&server), &follow_up).await;
    let sent = server.last().body["messages"][1]["tool_calls"][0]["function"]["arguments"].clone();
    assert_eq!(serde_json::from_str::<Value>(sent.as_str().unwrap()).unwrap(), json!({"unparsed": "{city: Paris"}));
}

/// R-FWK-71: a refusal, a filtered and a truncated response report their stop reason, and the text is kept.
#[tokio::test]
async fn a_declined_and_a_truncated_response_report_their_stop_reason() {
    let refusal = json!({"role": "assistant", "content": null, "refusal": "I cannot help with that."});
    let events = [
        chunk(&json!({"role": "assistant", "content": "", "refusal": null}), None),
        chunk(&json!({"refusal": "I cannot "}), None),
        chunk(&json!({"refusal": "help with that."}), None),
        chunk(&json!({}), Some("stop")),
    ];
    let scripts = [ScriptedResponse::json(&completion(&refusal, "stop")), ScriptedResponse::events(stream(&events))];
    let server = Server::start(scripts).await;
    let request = ChatRequest::from("Harm?");
    for response in
        [generate(&model(&server), &request).await.unwrap(), generate_streamed(&model(&server), &request).await.0]
    {
        let expected = ("I cannot help with that.", &StopReason::ContentFilter);
        assert_eq!((&*response.message.text(), &response.stop), expected);
    }
    for (word, stop) in [("content_filter", StopReason::ContentFilter), ("length", StopReason::Length)] {
        let message = json!({"role": "assistant", "content": "Half"});
        let server = Server::start([ScriptedResponse::json(&completion(&message, word))]).await;
        assert_eq!(generate(&model(&server), &request).await.unwrap().stop, stop);
    }
}

/// R-FWK-69: reasoning is emitted as separate chunks and kept with the message.
#[tokio::test]
async fn reasoning_is_separated_from_the_text() {
    let events = [
        chunk(&json!({"reasoning_content": "Let me "}), None),
        chunk(&json!({"reasoning_content": "see."}), None),
        chunk(&json!({"content": "Four."}), None),
        chunk(&json!({}), Some("stop")),
    ];
    let message = json!({"role": "assistant", "content": "Four.", "reasoning_content": "Let me see."});
    let scripts = [ScriptedResponse::events(stream(&events)), ScriptedResponse::json(&completion(&message, "stop"))];
    let server = Server::start(scripts).await;
    let (streamed, chunks) = generate_streamed(&model(&server), &ChatRequest::from("2+2?")).await;
    assert_eq!(chunks[0], MessageChunk::Reasoning("Let me ".to_owned()));
    let complete = generate(&model(&server), &ChatRequest::from("2+2?")).await.unwrap();
    for response in [streamed, complete] {
        assert_eq!(
            (&*response.message.text(), &response.message.metadata["reasoning"]),
            ("Four.", &json!("Let me see."))
        );
    }
}

/// R-FWK-69: images are sent with texts, by URL or embedded; unsupported parts are rejected before a request is sent.
#[tokio::test]
async fn images_are_sent_and_audio_is_rejected() {
    let server = Server::start([ScriptedResponse::json(&completion(
        &json!({"role": "assistant", "content": "A cat."}),
        "stop",
    ))])
    .await;
    let parts = vec![
        ContentPart::text("What is this?"),
        ContentPart::Image(Media::url("https://pictures.example/cat.png")),
        ContentPart::Image(Media::base64("aGk=", "image/gif")),
    ];
    generate(&model(&server), &ChatRequest::new([Message::user(parts)])).await.unwrap();
    let expected = json!([
        {"type": "text", "text": "What is this?"},
        {"type": "image_url", "image_url": {"url": "https://pictures.example/cat.png"}},
        {"type": "image_url", "image_url": {"url": "data:image/gif;base64,aGk="}},
    ]);
    assert_eq!(server.last().body["messages"][0]["content"], expected);

    let rows = [
        (Message::user(vec![ContentPart::Audio(Media::base64("aGk=", "audio/wav"))]), "`audio`"),
        (Message::user(vec![ContentPart::Other(json!({"type": "video"}))]), "`video`"),
        (Message::tool("a", vec![ContentPart::Image(Media::url("https://a.example/b.png"))]), "`image`"),
        (Message::new(superstep_core::message::Role::Tool, "who asked?"), "tool_call_id"),
    ];
    for (message, named) in rows {
        let call = Message::assistant("").with_tool_calls([ToolCall::new("a", "weather", json!({}))]);
        let error = generate(&model(&server), &ChatRequest::new([call, message])).await.unwrap_err();
        assert_eq!(ModelErrorKind::from_error(&error), Some(ModelErrorKind::BadRequest), "{error}");
        assert!(error.message().contains(named), "{error}");
    }
    assert_eq!(server.count(), 1);
}
