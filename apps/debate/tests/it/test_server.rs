//! Test fixture: the debate application over HTTP on a free port, and a parser of its events.

use std::time::Duration;

use reqwest::{Client, Response};
use serde_json::{Value, json};
use superstep_debate::{DebateSettings, app};
use superstep_server::{App, ModelRegistry, RateLimit, Server, ServerConfig, Storage, serve};

use super::support::{Speaker, TOPIC};

/// The debate application over HTTP, with a client.
pub(crate) struct TestServer {
    pub(crate) handle: Server,
    pub(crate) client: Client,
}

/// Starts a server with the test model `speaker`.
pub(crate) async fn start_server(speaker: Speaker) -> TestServer {
    start_server_with_config(ServerConfig::new(Storage::memory()), speaker).await
}

pub(crate) async fn start_server_with_config(config: ServerConfig, speaker: Speaker) -> TestServer {
    let limit = RateLimit { max_requests: 1000, window: Duration::from_secs(60), max_concurrent: 100 };
    start_server_with_limit(config, speaker, limit).await
}

pub(crate) async fn start_server_with_limit(
    config: ServerConfig,
    speaker: Speaker,
    rate_limit: RateLimit,
) -> TestServer {
    let settings = DebateSettings { rate_limit, typing_delay: Duration::ZERO, ..DebateSettings::default() };
    serve_apps(vec![app(settings, ModelRegistry::default().with_model("speaker", speaker)).unwrap()], config).await
}

/// Starts a server with another application on the same server.
pub(crate) async fn with_other_app(other: App) -> TestServer {
    let models = ModelRegistry::default().with_model("speaker", Speaker::default());
    serve_apps(vec![app(DebateSettings::default(), models).unwrap(), other], ServerConfig::new(Storage::memory())).await
}

async fn serve_apps(apps: Vec<App>, config: ServerConfig) -> TestServer {
    // No connection is encrypted, but the client requires a TLS provider. Later calls find it installed.
    let _ = tokio_rustls::rustls::crypto::ring::default_provider().install_default();
    let server = serve(apps, config.port(0)).await.unwrap();
    TestServer { handle: server, client: Client::builder().no_proxy().build().unwrap() }
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
        self.get(path).await.json().await.unwrap()
    }

    /// Creates a debate and reads its events to the end, or to an interrupt. Returns its id and the events.
    pub(crate) async fn debate(&self, more: Value) -> (String, Vec<SentEvent>) {
        let mut body = json!({ "topic": TOPIC, "model": "speaker" });
        body.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        let response = self.post("/api/debate", &body).await;
        assert_eq!(response.status(), 200, "{}", response.text().await.unwrap());
        let id = response.headers()["x-debate-id"].to_str().unwrap().to_owned();
        assert_eq!(response.headers()["location"], format!("/api/debate/{id}").as_str());
        (id, parse_events(&response.text().await.unwrap()))
    }

    /// Returns the events of a debate after a number.
    pub(crate) async fn stream(&self, id: &str, format: &str, after: Option<u64>) -> Vec<SentEvent> {
        let mut request = self.client.get(self.url(&format!("/api/debate/{id}/stream?format={format}")));
        if let Some(after) = after {
            request = request.header("last-event-id", after);
        }
        parse_events(&request.send().await.unwrap().text().await.unwrap())
    }
}

/// A received server-sent event.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct SentEvent {
    pub(crate) id: Option<u64>,
    pub(crate) event: String,
    pub(crate) data: Value,
}

/// Parses the events of a stream that has ended.
pub(crate) fn parse_events(text: &str) -> Vec<SentEvent> {
    text.split("\n\n").filter_map(parse_event).collect()
}

fn parse_event(block: &str) -> Option<SentEvent> {
    let field = |name: &str| block.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(": "));
    let (event, data) = (field("event")?, field("data")?);
    let id = field("id").map(|id| id.parse().unwrap());
    Some(SentEvent { id, event: event.to_owned(), data: serde_json::from_str(data).unwrap() })
}

/// Returns the names of events, without consecutive repetitions.
pub(crate) fn event_names(sent: &[SentEvent]) -> Vec<&str> {
    let mut names: Vec<&str> = sent.iter().map(|sent| sent.event.as_str()).collect();
    names.dedup();
    names
}
