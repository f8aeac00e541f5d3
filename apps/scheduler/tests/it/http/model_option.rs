//! Requests that select a model: a model of the server, and a provider over HTTP.

use std::sync::{Arc, Mutex};

use axum::extract::State;
use axum::http::{HeaderMap, header};
use axum::response::{IntoResponse, Response};
use jiff::civil::Date;
use serde_json::{Value, json};
use superstep::models::ScriptedModel;
use superstep::settings::{Settings, SettingsSources};
use superstep_scheduler::sample;
use superstep_scheduler::store::StoreLocation;
use superstep_server::{ModelRegistry, ServerConfig, Storage};

use crate::test_server::{TestServer, settings, soccer, start_with_models, sunday};

async fn with_models(models: ModelRegistry) -> TestServer {
    start_with_models(
        settings(StoreLocation::Memory, sample::empty_family()),
        ServerConfig::new(Storage::memory()),
        models,
    )
    .await
}

/// Returns a model parse of [`soccer`] at this hour.
fn soccer_parse(day: Date, hour: u32) -> String {
    let parse = json!({
        "event_type": "create", "title": "Soccer practice", "start_time": format!("{day}T{hour}:00"),
        "participants": ["emma"], "resources": ["car"], "confidence": 0.9,
    });
    parse.to_string()
}

fn event_body(day: Date, model: &str) -> Value {
    json!({ "text": soccer(day), "user_id": "mom", "model": model })
}

/// R-FAM-110, R-FAM-111, R-FAM-114: a request selects a model in addition to the rules; the conversation keeps it,
/// and a disagreement of the two is resolved by a choice.
#[tokio::test]
async fn a_request_names_its_model() {
    let day = sunday(3);
    let model = ScriptedModel::new([soccer_parse(day, 14), soccer_parse(sunday(4), 16)]);
    let family = with_models(ModelRegistry::default().with_model("script", model.clone())).await;
    let (status, done) = family.post("/events", event_body(day, "script")).await;
    assert_eq!((status, &done["status"]), (200, &json!("completed")), "{done}");
    assert_eq!(done["understood"]["confidence"], 0.9, "as sure as the model, which is less sure than the rules");

    let next = sunday(4);
    let body = json!({ "text": soccer(next), "user_id": "mom", "conversation_id": done["workflow_id"] });
    let (status, paused) = family.post("/events", body).await;
    assert_eq!((status, &paused["status"], model.remaining()), (200, &json!("awaiting_user"), 0), "{paused}");
    assert!(paused["understood"]["confidence"].as_f64().unwrap() <= 0.69, "{paused}");
    let choice = &paused["waiting"]["choices"][0];
    assert!(choice["id"].as_str().unwrap().starts_with(&format!("{next}T16:00:00")), "{choice}");
    let (status, done) = family.answer("mom", &paused, json!({ "fields": { "start_time": choice["id"] } })).await;
    assert_eq!((status, &done["status"]), (200, &json!("completed")), "{done}");
    assert_eq!(done["result"]["event"]["start"], choice["id"]);
}

/// R-FAM-111, R-FAM-113: `local` means rules alone, an unknown model is rejected by name, and the settings list the
/// available models.
#[tokio::test]
async fn models_are_listed_or_rejected_by_name() {
    let (day, model) = (sunday(3), ScriptedModel::default());
    let family = with_models(ModelRegistry::default().with_model("script", model.clone())).await;
    for name in ["local", "local/rules"] {
        let body = json!({ "text": "When is everyone free this weekend?", "user_id": "mom", "model": name });
        assert_eq!(family.post("/query", body).await.0, 200, "{name}");
    }
    let (status, problem) = family.post("/events", event_body(day, "parrot")).await;
    assert_eq!(status, 422, "{problem}");
    assert!(problem["detail"].as_str().unwrap().contains("`parrot`"), "{problem}");
    assert!(model.requests().is_empty() && family.events_on("mom", day).await.is_empty());
    let (_, response) = family.get("/settings?user_id=mom").await;
    assert_eq!(response["parser"], json!({ "label": "rule-based parser", "model": null }));
    let names: Vec<&Value> = response["models"].as_array().unwrap().iter().map(|one| &one["name"]).collect();
    assert_eq!(names, ["local", "script"]);
    assert_eq!(response["models"][1]["label"], "script, no language model");
}

#[derive(Clone)]
struct Provider {
    reply: String,
    requests: Arc<Mutex<Vec<(String, Value)>>>,
}

/// Handles chat completions like an OpenAI-compatible service, streamed or not.
async fn complete(State(provider): State<Provider>, headers: HeaderMap, body: String) -> Response {
    let body: Value = serde_json::from_str(&body).unwrap();
    let key = headers["authorization"].to_str().unwrap().to_owned();
    let is_streamed = body["stream"] == true;
    provider.requests.lock().unwrap().push((key, body));
    let usage = json!({ "prompt_tokens": 9, "completion_tokens": 9, "total_tokens": 18 });
    let answer = |kind: &str, choice: Value| json!({ "id": "c", "object": kind, "created": 1, "model": "m", "choices": [choice], "usage": usage });
    let message = json!({ "role": "assistant", "content": provider.reply });
    if !is_streamed {
        let completion = answer("chat.completion", json!({ "index": 0, "message": message, "finish_reason": "stop" }));
        return ([(header::CONTENT_TYPE, "application/json")], completion.to_string()).into_response();
    }
    let chunk = answer("chat.completion.chunk", json!({ "index": 0, "delta": message, "finish_reason": null }));
    let end = answer("chat.completion.chunk", json!({ "index": 0, "delta": {}, "finish_reason": "stop" }));
    let stream = format!("data: {chunk}\n\ndata: {end}\n\ndata: [DONE]\n\n");
    ([(header::CONTENT_TYPE, "text/event-stream")], stream).into_response()
}

/// R-FAM-110, R-FAM-114: a provider over HTTP is called with a response schema, and its parse reaches the calendar.
#[tokio::test]
async fn a_provider_parses_the_sentence() {
    let day = sunday(3);
    let provider = Provider { reply: soccer_parse(day, 14), requests: Arc::default() };
    let app = axum::Router::new().fallback(complete).with_state(provider.clone());
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/v1/", listener.local_addr().unwrap());
    tokio::spawn(async move { axum::serve(listener, app).await });
    let file =
        format!("[models.far]\nprovider = 'openai'\nmodel = 'm'\nbase_url = '{url}'\napi_key = 'env:PROVIDER_KEY'\n");
    let sources = SettingsSources::new().toml("superstep.toml", &file).environment([("PROVIDER_KEY", "k-1")]);
    let family = with_models(ModelRegistry::from_settings(&Settings::parse(&sources).unwrap())).await;
    let (status, done) = family.post("/events", event_body(day, "far")).await;
    assert_eq!((status, &done["status"]), (200, &json!("completed")), "{done}");
    let reasoning = done["agent_outputs"]["nl_parser"]["reasoning"].as_str().unwrap();
    assert!(reasoning.starts_with("language model "), "{reasoning}");
    assert_eq!(family.events_on("mom", day).await.len(), 1);
    let requests = provider.requests.lock().unwrap();
    let [(key, body)] = requests.as_slice() else { panic!("{requests:?}") };
    assert_eq!((key.as_str(), &body["response_format"]["type"]), ("Bearer k-1", &json!("json_schema")));
    let required = body["response_format"]["json_schema"]["schema"]["required"].as_array().unwrap();
    assert!(required.contains(&json!("confidence")) && required.contains(&json!("scope")), "{body}");
}

/// R-FAM-126: a parent adds a name over HTTP and the request continues; the response for a child names who has
/// permission.
#[tokio::test]
async fn a_name_is_added_over_http() {
    let (family, day) = (with_models(ModelRegistry::default()).await, sunday(3));
    let text = format!("Schedule soccer for Zoe on {day} at 2pm");
    let add = json!({ "fields": { "add": [{ "name": "Zoe", "kind": "person" }] } });
    let paused = family.send("emma", &text).await;
    let offered = &paused["waiting"]["choices"][0];
    assert_eq!(offered, &json!({ "id": "add:person:Zoe", "label": "Add Zoe", "detail": "" }));
    let (_, response) = family.answer("emma", &paused, add.clone()).await;
    assert!(response["explanation"].as_str().unwrap().starts_with("Only a parent can add “Zoe”"), "{response}");
    assert_eq!(family.get("/members?user_id=mom").await.1["members"].as_array().unwrap().len(), 3);

    let paused = family.send("mom", &text).await;
    let unknown_name = json!({ "fields": { "add": [{ "name": "Bob", "kind": "person" }] } });
    assert_eq!(family.answer("mom", &paused, unknown_name).await.0, 422);
    let (status, done) = family.answer("mom", &paused, add).await;
    assert_eq!((status, &done["status"]), (200, &json!("completed")), "{done}");
    assert_eq!(done["result"]["event"]["participants"][0]["name"], "Zoe");
    assert_eq!(family.get("/members?user_id=mom").await.1["members"].as_array().unwrap().len(), 4);
}
