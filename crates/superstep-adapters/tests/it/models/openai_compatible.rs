//! OpenAI-compatible providers with their differences: Azure, Groq, Ollama, and custom servers.

use serde_json::json;
use superstep_adapters::models::ProviderModel;
use superstep_core::message::{ContentPart, Media, Message};
use superstep_core::model::{ChatRequest, ModelErrorKind, ResponseFormat, StopReason, ToolChoice};

use super::openai::{chunk, completion, stream, usage_event};
use super::server::{ScriptedResponse, Server};
use super::{KEY, calls, generate, generate_streamed, weather};

/// R-FWK-70: Azure uses endpoint, deployment, API version and its own header; its first event contains filter
/// results.
#[tokio::test]
async fn azure_is_called_at_its_deployment() {
    let filters = json!({"choices": [], "created": 0, "id": "", "model": "", "object": "",
        "prompt_filter_results": [{"prompt_index": 0, "content_filter_results": {"hate": {"filtered": false}}}]});
    let events = [
        filters,
        chunk(&json!({"role": "assistant", "content": ""}), None),
        chunk(&json!({"content": "Hello."}), None),
        chunk(&json!({}), Some("stop")),
        usage_event(),
    ];
    let message = json!({"role": "assistant", "content": "Hello."});
    let scripts = [ScriptedResponse::events(stream(&events)), ScriptedResponse::json(&completion(&message, "stop"))];
    let server = Server::start(scripts).await;
    let model = ProviderModel::azure(&server.address, "support-bot", "2024-10-21").api_key(KEY);
    let (streamed, _) = generate_streamed(&model, &ChatRequest::from("Hi")).await;
    let complete = generate(&model, &ChatRequest::from("Hi")).await.unwrap();
    for response in [streamed, complete] {
        assert_eq!((&*response.message.text(), response.usage().total_tokens), ("Hello.", 29));
        assert_eq!(response.model.to_string(), "azure/support-bot (remote)");
    }
    let sent = server.last();
    let expected = "POST /openai/deployments/support-bot/chat/completions?api-version=2024-10-21";
    assert_eq!((sent.line.as_str(), sent.header("api-key")), (expected, Some(KEY)));
    assert_eq!(sent.header("authorization"), None);
}

/// R-FWK-70: Groq reports the usage in a field of its own.
#[tokio::test]
async fn groq_reports_usage_in_its_own_field() {
    let mut last = chunk(&json!({}), Some("stop"));
    last["x_groq"] = json!({"id": "req_1", "usage": {"prompt_tokens": 36, "completion_tokens": 4, "total_tokens": 40}});
    let events = [chunk(&json!({"role": "assistant", "content": "Hello."}), None), last];
    let server = Server::start([ScriptedResponse::events(stream(&events))]).await;
    let model =
        ProviderModel::groq("llama-3.1-8b-instant").api_key(KEY).base_url(format!("{}/openai/v1", server.address));
    let (response, _) = generate_streamed(&model, &ChatRequest::from("Hi")).await;
    assert_eq!((response.usage().input_tokens, response.usage().estimated), (36, false));
    assert_eq!(response.model.to_string(), "groq/llama-3.1-8b-instant (remote)");
    let sent = server.last();
    assert_eq!(sent.line, "POST /openai/v1/chat/completions");
    assert_eq!(sent.header("authorization"), Some("Bearer sk-very-secret-0123456789"));
    assert_eq!(sent.body["model"], "llama-3.1-8b-instant");
}

/// R-FWK-69, R-FWK-70: Ollama needs no key, accepts schemas, sends complete tool calls, and settings that it ignores
/// are rejected.
#[tokio::test]
async fn ollama_needs_no_key_and_rejects_settings_that_it_would_ignore() {
    let call = json!({"id": "call_q1", "index": 0, "type": "function",
        "function": {"name": "weather", "arguments": "{\"city\":\"Paris\"}"}});
    let events = [
        chunk(&json!({"role": "assistant", "content": "", "tool_calls": [call]}), None),
        chunk(&json!({"role": "assistant", "content": ""}), Some("stop")),
        usage_event(),
    ];
    let server = Server::start([ScriptedResponse::events(stream(&events))]).await;
    let model = ProviderModel::ollama("llama3.2:1b").base_url(format!("{}/v1", server.address));
    let schema = json!({"type": "object", "properties": {"mood": {"type": "string"}}, "required": ["mood"]});
    let request = ChatRequest::from("Weather?").tools([weather()]).format(ResponseFormat::new("report", schema));
    let (response, _) = generate_streamed(&model, &request).await;
    assert_eq!(calls(&response), [("call_q1", "weather", json!({"city": "Paris"}))]);
    assert_eq!((&response.stop, response.usage().total_tokens), (&StopReason::ToolCalls, 29));
    let sent = server.last();
    assert_eq!((sent.line.as_str(), sent.header("authorization")), ("POST /v1/chat/completions", None));
    assert_eq!(sent.body["response_format"]["json_schema"]["name"], "report");

    let forbidden = ChatRequest::from("Weather?").tools([weather()]).tool_choice(ToolChoice::None);
    let _ = generate_streamed(&model, &forbidden).await;
    assert_eq!((server.last().body.get("tools"), server.last().body.get("tool_choice")), (None, None));

    let picture = Message::user(vec![ContentPart::Image(Media::url("https://a.example/b.png"))]);
    for unsupported in [
        ChatRequest::from("Weather?").tools([weather()]).tool_choice(ToolChoice::Required),
        ChatRequest::from("Weather?").tools([weather()]).tool_choice(ToolChoice::Named("weather".to_owned())),
        ChatRequest::new([picture]),
    ] {
        let error = generate(&model, &unsupported).await.unwrap_err();
        assert_eq!(ModelErrorKind::from_error(&error), Some(ModelErrorKind::BadRequest), "{error}");
    }
    assert_eq!(server.count(), 2);
}

/// R-FWK-67, R-FWK-70: any compatible server works without a key, with headers of a gateway, with a model name that
/// the library would shorten, and without usage.
#[tokio::test]
async fn any_compatible_server_is_called() {
    let mut body = completion(&json!({"role": "assistant", "content": "Hello."}), "stop");
    body.as_object_mut().unwrap().remove("usage");
    let server = Server::start([ScriptedResponse::json(&body)]).await;
    let model = ProviderModel::openai_compatible(format!("{}/api?team=red", server.address), "qwen-max")
        .header("X-Team", "blue-team");
    let response = generate(&model, &ChatRequest::from("Say hello to everybody.")).await.unwrap();
    assert!(response.usage().estimated && response.usage().input_tokens > 4);
    assert_eq!(response.model.to_string(), "compatible/qwen-max (remote)");
    let sent = server.last();
    assert_eq!(sent.line, "POST /api/chat/completions?team=red");
    assert_eq!((sent.header("authorization"), sent.header("x-team")), (None, Some("blue-team")));
    assert_eq!((&sent.body["model"], sent.body.get("reasoning_effort")), (&json!("qwen-max"), None));

    let instead = model.clone().api_key(KEY).header("Authorization", "Basic abcdefgh");
    generate(&instead, &ChatRequest::from("Hi")).await.unwrap();
    assert_eq!(server.last().header("authorization"), Some("Basic abcdefgh"));
}
