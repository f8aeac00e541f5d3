//! Google's `generateContent` and `streamGenerateContent`.

use serde_json::{Value, json};
use superstep_adapters::models::ProviderModel;
use superstep_core::message::{ContentPart, Media, Message};
use superstep_core::model::{ChatRequest, ModelErrorKind, ResponseFormat, StopReason, ToolChoice};

use super::server::{ScriptedResponse, Server};
use super::{KEY, calls, conversation, generate, generate_streamed, listen, weather};

fn model(server: &Server) -> ProviderModel {
    ProviderModel::google("gemini-2.5-flash").api_key(KEY).base_url(format!("{}/v1beta", server.address))
}

fn content(parts: &Value, finish_reason: Option<&str>) -> Value {
    let mut candidate = json!({"content": {"parts": parts, "role": "model"}, "index": 0});
    if let Some(reason) = finish_reason {
        candidate["finishReason"] = reason.into();
    }
    json!({
        "candidates": [candidate],
        "usageMetadata": {
            "promptTokenCount": 11, "candidatesTokenCount": 5, "totalTokenCount": 20, "thoughtsTokenCount": 4,
            "promptTokensDetails": [{"modality": "TEXT", "tokenCount": 11}],
        },
        "modelVersion": "gemini-2.5-flash", "responseId": "abc",
    })
}

/// Formats server-sent events like the provider, with CRLF line ends.
fn stream(events: &[Value]) -> String {
    events.iter().map(|event| format!("data: {event}\r\n\r\n")).collect()
}

/// R-FWK-67, R-FWK-69, R-FWK-70, R-FWK-75: a non-streamed response, and the form of the request.
#[tokio::test]
async fn a_response_without_a_listener_is_complete() {
    let server = Server::start([ScriptedResponse::json(&content(&json!([{"text": " Hello."}]), Some("STOP")))]).await;
    let request = ChatRequest::new([Message::system("Be short."), Message::user("Hi")]);
    let response = generate(&model(&server), &request).await.unwrap();
    assert_eq!((&*response.message.text(), &response.stop), (" Hello.", &StopReason::End));
    let usage = response.usage();
    assert_eq!((usage.input_tokens, usage.output_tokens, usage.total_tokens, usage.estimated), (11, 9, 20, false));
    assert_eq!(response.model.to_string(), "google/gemini-2.5-flash (remote)");

    let sent = server.last();
    assert_eq!(sent.line, "POST /v1beta/models/gemini-2.5-flash:generateContent");
    assert_eq!((sent.header("x-goog-api-key"), sent.header("authorization")), (Some(KEY), None));
    assert_eq!(sent.body["contents"], json!([{"role": "user", "parts": [{"text": "Hi"}]}]));
    assert_eq!(sent.body["systemInstruction"], json!({"parts": [{"text": "Be short."}]}));
    assert_eq!(sent.body.get("generationConfig"), None);
}

/// R-FWK-69: streamed text and complete tool calls, independent of how the connection splits them. Calls of two
/// events get two ids, and their signatures are sent back.
#[tokio::test]
async fn streamed_text_and_calls_do_not_depend_on_chunk_boundaries() {
    let call = |city: &str| json!({"functionCall": {"name": "weather", "args": {"city": city}}});
    let mut signed = call("Kyōto");
    signed["thoughtSignature"] = "c2ln".into();
    let events = [
        content(&json!([{"text": "Ich schaue "}]), None),
        content(&json!([{"text": "nach – 😀"}]), None),
        content(&json!([signed]), None),
        content(&json!([call("Rome")]), Some("STOP")),
    ];
    for size in [1, 5, 100_000] {
        let server = Server::start([ScriptedResponse::events(stream(&events)).cut_every(size)]).await;
        let (response, chunks) =
            generate_streamed(&model(&server), &ChatRequest::from("Weather?").tools([weather()])).await;
        assert_eq!((&*response.message.text(), &response.stop), ("Ich schaue nach – 😀", &StopReason::ToolCalls));
        let expected =
            [("tool_call_0", "weather", json!({"city": "Kyōto"})), ("tool_call_1", "weather", json!({"city": "Rome"}))];
        assert_eq!((calls(&response), chunks.len()), (expected.to_vec(), 4));
        assert_eq!((response.usage().total_tokens, response.usage().estimated), (20, false));
        assert_eq!(server.last().line, "POST /v1beta/models/gemini-2.5-flash:streamGenerateContent?alt=sse");

        let results = ["tool_call_0", "tool_call_1"].map(|id| Message::tool(id, "rain"));
        let messages = [Message::user("Weather?"), response.message].into_iter().chain(results);
        let (response, _) = generate_streamed(&model(&server), &ChatRequest::new(messages)).await;
        // The server repeats its response: tool calls of another turn get other ids.
        assert_eq!(calls(&response).iter().map(|call| call.0).collect::<Vec<_>>(), ["tool_call_2", "tool_call_3"]);
        let sent = server.last().body;
        assert_eq!(sent["contents"][1]["parts"][1]["thoughtSignature"], "c2ln");
        let names: Vec<_> = [0, 1].map(|at| &sent["contents"][2]["parts"][at]["functionResponse"]["name"]).to_vec();
        assert_eq!(names, ["weather", "weather"]);
    }
}

/// R-FWK-68, R-FWK-69: a complete request is sent in the provider's form.
#[tokio::test]
async fn a_complete_request_is_sent() {
    let server = Server::start([ScriptedResponse::json(&content(&json!([{"text": "{}"}]), Some("MAX_TOKENS")))]).await;
    let schema = json!({"type": "object", "properties": {"mood": {"type": "string"}}, "required": ["mood"]});
    let mut messages = conversation();
    messages.push(Message::user(vec![ContentPart::Image(Media::base64("aGk=", "image/png"))]));
    let mut request = ChatRequest::new(messages)
        .tools([weather()])
        .tool_choice(ToolChoice::Named("weather".to_owned()))
        .format(ResponseFormat::new("report", schema.clone()))
        .temperature(0.25)
        .max_tokens(300)
        .stop("END");
    (request.top_p, request.seed) = (Some(0.5), Some(42));
    assert_eq!(generate(&model(&server), &request).await.unwrap().stop, StopReason::Length);

    let body = server.last().body;
    let roles: Vec<_> = body["contents"].as_array().unwrap().iter().map(|content| &content["role"]).collect();
    assert_eq!(roles, ["user", "model", "user", "user", "user"]);
    assert_eq!(body["contents"][1]["parts"][1]["functionCall"]["args"], json!({"city": "Paris"}));
    let results: Vec<_> = body["contents"][2]["parts"].as_array().unwrap().iter().collect();
    let texts: Vec<_> = results.iter().map(|part| &part["functionResponse"]["response"]["content"]).collect();
    assert_eq!(texts, ["sunny", "no such city", "not executed: the conversation continued without it"]);
    assert!(results.iter().all(|part| part["functionResponse"]["name"] == "weather"));
    let picture = json!({"inline_data": {"mime_type": "image/png", "data": "aGk="}});
    assert_eq!(body["contents"][4]["parts"], json!([picture]));
    let declared = &body["tools"][0]["functionDeclarations"][0];
    assert_eq!(
        (&declared["name"], &declared["parametersJsonSchema"]["required"]),
        (&json!("weather"), &json!(["city"]))
    );
    let choice = json!({"mode": "ANY", "allowedFunctionNames": ["weather"]});
    assert_eq!(body["toolConfig"]["functionCallingConfig"], choice);
    let config = &body["generationConfig"];
    assert_eq!((&config["responseMimeType"], &config["responseJsonSchema"]), (&json!("application/json"), &schema));
    let numbers = ["temperature", "topP", "maxOutputTokens", "seed"].map(|key| config[key].as_f64().unwrap());
    assert_eq!((numbers, &config["stopSequences"]), ([0.25, 0.5, 300.0, 42.0], &json!(["END"])));
}

/// R-FWK-71: a blocked prompt is a content refusal, a filtered response reports its stop reason, and a response
/// without a stop reason is incomplete.
#[tokio::test]
async fn blocked_filtered_and_broken_responses_are_distinguished() {
    let blocked =
        json!({"promptFeedback": {"blockReason": "PROHIBITED_CONTENT"}, "usageMetadata": {"promptTokenCount": 3}});
    let scripts = [ScriptedResponse::json(&blocked), ScriptedResponse::events(stream(std::slice::from_ref(&blocked)))];
    let server = Server::start(scripts).await;
    let complete = generate(&model(&server), &ChatRequest::from("Harm?")).await.unwrap_err();
    let streamed = listen(&model(&server), &ChatRequest::from("Harm?")).await.0.unwrap_err();
    for error in [complete, streamed] {
        assert_eq!(ModelErrorKind::from_error(&error), Some(ModelErrorKind::ContentFiltered), "{error}");
        assert!(error.message().contains("PROHIBITED_CONTENT"), "{error}");
    }
    let filtered =
        json!({"candidates": [{"finishReason": "SAFETY", "index": 0}], "usageMetadata": {"promptTokenCount": 3}});
    let half = content(&json!([{"text": "Half"}]), None);
    let scripts = [
        ScriptedResponse::events(stream(&[half.clone(), filtered])),
        ScriptedResponse::events(stream(std::slice::from_ref(&half))),
        ScriptedResponse::events(""),
    ];
    let server = Server::start(scripts).await;
    let (response, _) = generate_streamed(&model(&server), &ChatRequest::from("Hm?")).await;
    assert_eq!((&*response.message.text(), &response.stop), ("Half", &StopReason::ContentFilter));
    for kind in [ModelErrorKind::StreamInterrupted, ModelErrorKind::InvalidResponse] {
        let (response, _) = listen(&model(&server), &ChatRequest::from("Hm?")).await;
        assert_eq!(ModelErrorKind::from_error(&response.unwrap_err()), Some(kind));
    }
}
