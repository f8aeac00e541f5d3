//! Test server: the assistant over HTTP on a free port, with the sample data and a scripted model, and a parser of
//! its event stream.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use reqwest::{Client, Response};
use serde_json::{Value, json};
use superstep::Result;
use superstep::models::{ChatRequest, ChatResponse, ChunkSender, Model, ModelInfo, ScriptedModel, SharedModel};
use superstep_assistant::{AssistantSettings, app};
use superstep_server::{ModelRegistry, RateLimit, Server, ServerConfig, Storage, serve};
use tokio::sync::Semaphore;

/// The assistant over HTTP.
pub(crate) struct TestServer {
    pub(crate) handle: Server,
    pub(crate) client: Client,
}

/// Returns the settings of the tests.
pub(crate) fn settings() -> AssistantSettings {
    AssistantSettings {
        rate_limit: RateLimit { max_requests: 1000, window: Duration::from_secs(60), max_concurrent: 100 },
        today: Some("2026-11-02".to_owned()),
        remember_facts: true,
        examples: vec!["How many orders shipped late in October?".to_owned()],
        ..AssistantSettings::new(concat!(env!("CARGO_MANIFEST_DIR"), "/sample"))
    }
}

/// Starts an assistant whose model `script` is this one.
pub(crate) async fn start_server(script: impl Into<SharedModel>) -> TestServer {
    started(settings(), ServerConfig::new(Storage::memory()), script).await
}

pub(crate) async fn started(
    settings: AssistantSettings,
    config: ServerConfig,
    script: impl Into<SharedModel>,
) -> TestServer {
    // The connection is not encrypted, but the client requires a provider. A second call finds the installed one.
    let _ = tokio_rustls::rustls::crypto::ring::default_provider().install_default();
    let models = ModelRegistry::default().with_model("script", script);
    let server = serve(vec![app(settings, models).unwrap()], config.port(0)).await.unwrap();
    TestServer { handle: server, client: Client::builder().no_proxy().build().unwrap() }
}

/// Builds a message of `ana` to the scripted model, with further fields.
pub(crate) fn question(message: &str, fields: &Value) -> Value {
    let mut body = json!({ "message": message, "userId": "ana", "model": "script" });
    body.as_object_mut().unwrap().extend(fields.as_object().unwrap().clone());
    body
}

impl TestServer {
    pub(crate) fn url(&self, path: &str) -> String {
        self.handle.url() + path
    }

    pub(crate) async fn post(&self, path: &str, body: &Value) -> Response {
        self.client.post(self.url(path)).json(body).send().await.unwrap()
    }

    pub(crate) async fn get(&self, path: &str) -> Response {
        self.client.get(self.url(path)).send().await.unwrap()
    }

    pub(crate) async fn json(&self, path: &str) -> Value {
        let response = self.get(path).await;
        assert_eq!(response.status(), 200, "{path}");
        response.json().await.unwrap()
    }

    /// Returns the session of `ana`.
    pub(crate) async fn session(&self, id: &str) -> Value {
        self.json(&format!("/api/assistant/{id}?userId=ana")).await
    }

    /// Sends a message and reads the turn to its end, or to an interrupt. Also returns the session id.
    pub(crate) async fn send(&self, message: &str, more: Value) -> (String, Vec<SentEvent>) {
        let response = self.post("/api/assistant", &question(message, &more)).await;
        let id = started_session_id(&response);
        (id, parse_events(&response.text().await.unwrap()))
    }

    /// Sends a message and waits for the JSON answer; returns status and body.
    pub(crate) async fn wait(&self, message: &str, more: Value) -> (u16, Value) {
        let request = self.client.post(self.url("/api/assistant")).header("accept", "application/json");
        let response = request.json(&question(message, &more)).send().await.unwrap();
        (response.status().as_u16(), response.json().await.unwrap())
    }

    /// Answers the open interrupt of a session of `ana`.
    pub(crate) async fn answer(&self, id: &str, answer: Value) -> u16 {
        let waiting = self.session(id).await["waiting"]["id"].clone();
        self.answer_to(id, waiting.as_str().unwrap_or("nothing"), answer).await.0
    }

    /// Answers an interrupt of a session of `ana`; returns status and body.
    pub(crate) async fn answer_to(&self, id: &str, question: &str, answer: Value) -> (u16, Value) {
        let path = format!("/api/assistant/{id}/answer?userId=ana");
        let response = self.post(&path, &json!({ "questionId": question, "answer": answer })).await;
        (response.status().as_u16(), response.json().await.unwrap())
    }

    /// Stops the turn of a session of `ana`.
    pub(crate) async fn stop(&self, id: &str) -> u16 {
        self.post(&format!("/api/assistant/{id}/stop?userId=ana"), &json!({})).await.status().as_u16()
    }

    /// Reads the events of a session of `ana` after an event id.
    pub(crate) async fn stream(&self, id: &str, after: Option<u64>) -> Vec<SentEvent> {
        let mut request = self.client.get(self.url(&format!("/api/assistant/{id}/stream?userId=ana")));
        if let Some(after) = after {
            request = request.header("last-event-id", after);
        }
        let response = request.send().await.unwrap();
        assert_eq!(response.status(), 200);
        parse_events(&response.text().await.unwrap())
    }
}

/// Returns the session id of a started turn.
pub(crate) fn started_session_id(response: &Response) -> String {
    assert_eq!(response.status(), 200);
    let id = response.headers()["x-thread-id"].to_str().unwrap().to_owned();
    assert_eq!(response.headers()["location"], format!("/api/assistant/{id}").as_str());
    id
}

/// A server-sent event.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct SentEvent {
    pub(crate) id: Option<u64>,
    pub(crate) event: String,
    pub(crate) data: Value,
}

impl SentEvent {
    /// Returns the node that emitted the event.
    pub(crate) fn node(&self) -> &str {
        self.data["metadata"]["node"].as_str().unwrap_or_default()
    }
}

/// Parses the events of a finished stream.
pub(crate) fn parse_events(text: &str) -> Vec<SentEvent> {
    text.split("\n\n").filter_map(block).collect()
}

fn block(block: &str) -> Option<SentEvent> {
    let field = |name: &str| block.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(": "));
    let (event, data) = (field("event")?, field("data")?);
    let id = field("id").map(|id| id.parse().unwrap());
    Some(SentEvent { id, event: event.to_owned(), data: serde_json::from_str(data).unwrap() })
}

/// Returns the events that are not about the run itself.
pub(crate) fn without_run_events(sent: &[SentEvent]) -> Vec<&SentEvent> {
    let is_included = |sent: &&SentEvent| !sent.event.starts_with("on_chain") && sent.event != "on_checkpoint";
    sent.iter().filter(is_included).collect()
}

/// A script that gives its next response once per permit.
#[derive(Clone)]
pub(crate) struct Gated {
    pub(crate) script: ScriptedModel,
    pub(crate) gate: Arc<Semaphore>,
}

impl Gated {
    pub(crate) fn new(script: ScriptedModel) -> Self {
        Self { script, gate: Arc::new(Semaphore::new(0)) }
    }
}

impl Model for Gated {
    fn info(&self) -> ModelInfo {
        SharedModel::from(self.script.clone()).info()
    }

    async fn generate(&self, request: &ChatRequest, out: &mut ChunkSender<'_>) -> Result<ChatResponse> {
        self.gate.acquire().await.unwrap().forget();
        SharedModel::from(self.script.clone()).generate(request, out).await
    }
}

/// A folder that is deleted after the test.
pub(crate) struct Folder(PathBuf);

impl Folder {
    pub(crate) fn new(name: &str) -> Self {
        let folder = std::env::temp_dir().join(format!("superstep-assistant-{name}-{}", std::process::id()));
        // Process ids are reused, and a crashed process may have left its folder.
        drop(std::fs::remove_dir_all(&folder));
        std::fs::create_dir_all(&folder).unwrap();
        Self(folder)
    }

    pub(crate) fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}
