//! Services that speak as OpenAI does, each with its own ways: Azure, Groq, Ollama, and servers of anybody's.

use serde_json::json;
use superstep_adapters::models::Provider;
use superstep_core::message::{Media, Message, Part};
use superstep_core::model::{AnswerFormat, Request, StopReason, ToolChoice, Trouble};

use super::openai::{chunk, completion, stream, usage_event};
use super::server::{Script, Server};
use super::{KEY, ask, calls, heard, weather};

/// R-FWK-70: Azure is asked at endpoint, deployment and version, with its own header; its first event is about filters.
#[tokio::test]
async fn azure_is_asked_at_its_deployment() {
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
    let scripts = [Script::events(stream(&events)), Script::json(&completion(&message, "stop"))];
    let server = Server::start(scripts).await;
    let model = Provider::azure(&server.address, "support-bot", "2024-10-21").key(KEY);
    let (in_pieces, _) = heard(&model, &Request::from("Hi")).await;
    let whole = ask(&model, &Request::from("Hi")).await.unwrap();
    for answer in [in_pieces, whole] {
        assert_eq!((&*answer.message.text(), answer.usage().total_tokens), ("Hello.", 29));
        assert_eq!(answer.model.to_string(), "azure/support-bot (remote)");
    }
    let asked = server.last();
    let expected = "POST /openai/deployments/support-bot/chat/completions?api-version=2024-10-21";
    assert_eq!((asked.line.as_str(), asked.head("api-key")), (expected, Some(KEY)));
    assert_eq!(asked.head("authorization"), None);
}

/// R-FWK-70: Groq tells what an answer cost in a place of its own.
#[tokio::test]
async fn groq_tells_its_usage_in_its_own_place() {
    let mut last = chunk(&json!({}), Some("stop"));
    last["x_groq"] = json!({"id": "req_1", "usage": {"prompt_tokens": 36, "completion_tokens": 4, "total_tokens": 40}});
    let events = [chunk(&json!({"role": "assistant", "content": "Hello."}), None), last];
    let server = Server::start([Script::events(stream(&events))]).await;
    let model = Provider::groq("llama-3.1-8b-instant").key(KEY).base_url(format!("{}/openai/v1", server.address));
    let (answer, _) = heard(&model, &Request::from("Hi")).await;
    assert_eq!((answer.usage().input_tokens, answer.usage().estimated), (36, false));
    assert_eq!(answer.model.to_string(), "groq/llama-3.1-8b-instant (remote)");
    let asked = server.last();
    assert_eq!(asked.line, "POST /openai/v1/chat/completions");
    assert_eq!(asked.head("authorization"), Some("Bearer sk-very-secret-0123456789"));
    assert_eq!(asked.body["model"], "llama-3.1-8b-instant");
}

/// R-FWK-69, R-FWK-70: Ollama needs no key, takes schemas, gives calls whole, and refuses what it would not heed.
#[tokio::test]
async fn ollama_needs_no_key_and_refuses_what_it_would_not_heed() {
    let call = json!({"id": "call_q1", "index": 0, "type": "function",
        "function": {"name": "weather", "arguments": "{\"city\":\"Paris\"}"}});
    let events = [
        chunk(&json!({"role": "assistant", "content": "", "tool_calls": [call]}), None),
        chunk(&json!({"role": "assistant", "content": ""}), Some("stop")),
        usage_event(),
    ];
    let server = Server::start([Script::events(stream(&events))]).await;
    let model = Provider::ollama("llama3.2:1b").base_url(format!("{}/v1", server.address));
    let schema = json!({"type": "object", "properties": {"mood": {"type": "string"}}, "required": ["mood"]});
    let request = Request::from("Weather?").tools([weather()]).format(AnswerFormat::new("report", schema));
    let (answer, _) = heard(&model, &request).await;
    assert_eq!(calls(&answer), [("call_q1", "weather", json!({"city": "Paris"}))]);
    assert_eq!((&answer.stop, answer.usage().total_tokens), (&StopReason::ToolCalls, 29));
    let asked = server.last();
    assert_eq!((asked.line.as_str(), asked.head("authorization")), ("POST /v1/chat/completions", None));
    assert_eq!(asked.body["response_format"]["json_schema"]["name"], "report");

    let forbidden = Request::from("Weather?").tools([weather()]).tool_choice(ToolChoice::None);
    let _ = heard(&model, &forbidden).await;
    assert_eq!((server.last().body.get("tools"), server.last().body.get("tool_choice")), (None, None));

    let picture = Message::user(vec![Part::Image(Media::url("https://a.example/b.png"))]);
    for refused in [
        Request::from("Weather?").tools([weather()]).tool_choice(ToolChoice::Required),
        Request::from("Weather?").tools([weather()]).tool_choice(ToolChoice::Named("weather".to_owned())),
        Request::new([picture]),
    ] {
        let error = ask(&model, &refused).await.unwrap_err();
        assert_eq!(Trouble::of(&error), Some(Trouble::BadRequest), "{error}");
    }
    assert_eq!(server.count(), 2);
}

/// R-FWK-67, R-FWK-70: any server that speaks so: without a key, with headers of a gateway, with a name that the library
/// would shorten, and with an answer that nobody counted.
#[tokio::test]
async fn any_server_that_speaks_so_is_asked() {
    let mut body = completion(&json!({"role": "assistant", "content": "Hello."}), "stop");
    body.as_object_mut().unwrap().remove("usage");
    let server = Server::start([Script::json(&body)]).await;
    let model =
        Provider::compatible(format!("{}/api?team=red", server.address), "qwen-max").header("X-Team", "blue-team");
    let answer = ask(&model, &Request::from("Say hello to everybody.")).await.unwrap();
    assert!(answer.usage().estimated && answer.usage().input_tokens > 4);
    assert_eq!(answer.model.to_string(), "compatible/qwen-max (remote)");
    let asked = server.last();
    assert_eq!(asked.line, "POST /api/chat/completions?team=red");
    assert_eq!((asked.head("authorization"), asked.head("x-team")), (None, Some("blue-team")));
    assert_eq!((&asked.body["model"], asked.body.get("reasoning_effort")), (&json!("qwen-max"), None));

    let instead = model.clone().key(KEY).header("Authorization", "Basic abcdefgh");
    ask(&instead, &Request::from("Hi")).await.unwrap();
    assert_eq!(server.last().head("authorization"), Some("Basic abcdefgh"));
}
