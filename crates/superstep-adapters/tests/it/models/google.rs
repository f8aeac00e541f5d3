//! Google's `generateContent` and `streamGenerateContent`.

use serde_json::{Value, json};
use superstep_adapters::models::Provider;
use superstep_core::message::{Media, Message, Part};
use superstep_core::model::{AnswerFormat, Request, StopReason, ToolChoice, Trouble};

use super::server::{Script, Server};
use super::{KEY, ask, calls, conversation, heard, listen, weather};

fn model(server: &Server) -> Provider {
    Provider::google("gemini-2.5-flash").key(KEY).base_url(format!("{}/v1beta", server.address))
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

/// Events as the service writes them: with both letters of a line's end.
fn stream(events: &[Value]) -> String {
    events.iter().map(|event| format!("data: {event}\r\n\r\n")).collect()
}

/// R-FWK-67, R-FWK-69, R-FWK-70, R-FWK-75: an answer at once, and how the service wants to be asked.
#[tokio::test]
async fn an_answer_comes_at_once_when_nobody_listens() {
    let server = Server::start([Script::json(&content(&json!([{"text": " Hello."}]), Some("STOP")))]).await;
    let request = Request::new([Message::system("Be short."), Message::user("Hi")]);
    let answer = ask(&model(&server), &request).await.unwrap();
    assert_eq!((&*answer.message.text(), &answer.stop), (" Hello.", &StopReason::End));
    let usage = answer.usage();
    assert_eq!((usage.input_tokens, usage.output_tokens, usage.total_tokens, usage.estimated), (11, 9, 20, false));
    assert_eq!(answer.model.to_string(), "google/gemini-2.5-flash (remote)");

    let asked = server.last();
    assert_eq!(asked.line, "POST /v1beta/models/gemini-2.5-flash:generateContent");
    assert_eq!((asked.head("x-goog-api-key"), asked.head("authorization")), (Some(KEY), None));
    assert_eq!(asked.body["contents"], json!([{"role": "user", "parts": [{"text": "Hi"}]}]));
    assert_eq!(asked.body["systemInstruction"], json!({"parts": [{"text": "Be short."}]}));
    assert_eq!(asked.body.get("generationConfig"), None);
}

/// R-FWK-69, U21: text and calls, which come whole, wherever the connection cuts them. Calls of two events have two ids,
/// and their signatures go back with them.
#[tokio::test]
async fn text_and_calls_come_in_pieces_wherever_they_are_cut() {
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
        let server = Server::start([Script::events(stream(&events)).cut_every(size)]).await;
        let (answer, pieces) = heard(&model(&server), &Request::from("Weather?").tools([weather()])).await;
        assert_eq!((&*answer.message.text(), &answer.stop), ("Ich schaue nach – 😀", &StopReason::ToolCalls));
        let expected =
            [("tool_call_0", "weather", json!({"city": "Kyōto"})), ("tool_call_1", "weather", json!({"city": "Rome"}))];
        assert_eq!((calls(&answer), pieces.len()), (expected.to_vec(), 4));
        assert_eq!((answer.usage().total_tokens, answer.usage().estimated), (20, false));
        assert_eq!(server.last().line, "POST /v1beta/models/gemini-2.5-flash:streamGenerateContent?alt=sse");

        let results = ["tool_call_0", "tool_call_1"].map(|id| Message::tool(id, "rain"));
        let again = [Message::user("Weather?"), answer.message].into_iter().chain(results);
        let (answer, _) = heard(&model(&server), &Request::new(again)).await;
        // The script says the same again: calls of another turn have other ids.
        assert_eq!(calls(&answer).iter().map(|call| call.0).collect::<Vec<_>>(), ["tool_call_2", "tool_call_3"]);
        let sent = server.last().body;
        assert_eq!(sent["contents"][1]["parts"][1]["thoughtSignature"], "c2ln");
        let names: Vec<_> = [0, 1].map(|at| &sent["contents"][2]["parts"][at]["functionResponse"]["name"]).to_vec();
        assert_eq!(names, ["weather", "weather"]);
    }
}

/// R-FWK-68, R-FWK-69: everything of a request arrives in the service's own form.
#[tokio::test]
async fn everything_of_a_request_arrives() {
    let server = Server::start([Script::json(&content(&json!([{"text": "{}"}]), Some("MAX_TOKENS")))]).await;
    let schema = json!({"type": "object", "properties": {"mood": {"type": "string"}}, "required": ["mood"]});
    let mut messages = conversation();
    messages.push(Message::user(vec![Part::Image(Media::base64("aGk=", "image/png"))]));
    let mut request = Request::new(messages)
        .tools([weather()])
        .tool_choice(ToolChoice::Named("weather".to_owned()))
        .format(AnswerFormat::new("report", schema.clone()))
        .temperature(0.25)
        .max_tokens(300)
        .stop("END");
    (request.top_p, request.seed) = (Some(0.5), Some(42));
    assert_eq!(ask(&model(&server), &request).await.unwrap().stop, StopReason::Length);

    let body = server.last().body;
    let roles: Vec<_> = body["contents"].as_array().unwrap().iter().map(|content| &content["role"]).collect();
    assert_eq!(roles, ["user", "model", "user", "user", "user"]);
    assert_eq!(body["contents"][1]["parts"][1]["functionCall"]["args"], json!({"city": "Paris"}));
    let results: Vec<_> = body["contents"][2]["parts"].as_array().unwrap().iter().collect();
    let texts: Vec<_> = results.iter().map(|part| &part["functionResponse"]["response"]["content"]).collect();
    assert_eq!(texts, ["sunny", "no such city", "not executed: the conversation went on without it"]);
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

/// R-FWK-71: a question that is blocked is refused content, an answer that is filtered says so, and one that ends without
/// a reason broke off.
#[tokio::test]
async fn blocked_filtered_and_broken_answers_are_told_apart() {
    let blocked =
        json!({"promptFeedback": {"blockReason": "PROHIBITED_CONTENT"}, "usageMetadata": {"promptTokenCount": 3}});
    let scripts = [Script::json(&blocked), Script::events(stream(std::slice::from_ref(&blocked)))];
    let server = Server::start(scripts).await;
    let whole = ask(&model(&server), &Request::from("Harm?")).await.unwrap_err();
    let in_pieces = listen(&model(&server), &Request::from("Harm?")).await.0.unwrap_err();
    for error in [whole, in_pieces] {
        assert_eq!(Trouble::of(&error), Some(Trouble::ContentRefused), "{error}");
        assert!(error.message().contains("PROHIBITED_CONTENT"), "{error}");
    }
    let filtered =
        json!({"candidates": [{"finishReason": "SAFETY", "index": 0}], "usageMetadata": {"promptTokenCount": 3}});
    let half = content(&json!([{"text": "Half"}]), None);
    let scripts = [
        Script::events(stream(&[half.clone(), filtered])),
        Script::events(stream(std::slice::from_ref(&half))),
        Script::events(""),
    ];
    let server = Server::start(scripts).await;
    let (answer, _) = heard(&model(&server), &Request::from("Hm?")).await;
    assert_eq!((&*answer.message.text(), &answer.stop), ("Half", &StopReason::Refused));
    for trouble in [Trouble::BrokenOff, Trouble::BadAnswer] {
        let (answer, _) = listen(&model(&server), &Request::from("Hm?")).await;
        assert_eq!(Trouble::of(&answer.unwrap_err()), Some(trouble));
    }
}
