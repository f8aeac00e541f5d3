//! The platform behind HTTP, on a free port, and a reader of what it sends.

use std::time::Duration;

use reqwest::{Client, Response};
use serde_json::{Value, json};
use superstep_debate::{Settings, app};
use superstep_server::{App, Config, Limit, Models, Server, Stores, serve};

use super::support::{Speaker, TOPIC};

/// The platform behind HTTP.
pub(crate) struct Platform {
    pub(crate) server: Server,
    pub(crate) client: Client,
}

/// A platform whose model `speaker` says whose turn it is.
pub(crate) async fn platform(speaker: Speaker) -> Platform {
    started(Config::new(Stores::memory()), speaker).await
}

pub(crate) async fn started(config: Config, speaker: Speaker) -> Platform {
    let limit = Limit { most: 1000, within: Duration::from_secs(60), at_once: 100 };
    limited(config, speaker, limit).await
}

pub(crate) async fn limited(config: Config, speaker: Speaker, limit: Limit) -> Platform {
    let settings = Settings { limit, pace: Duration::ZERO, ..Settings::default() };
    listening(vec![app(settings, Models::default().with("speaker", speaker)).unwrap()], config).await
}

/// A platform with another application beside it.
pub(crate) async fn beside(other: App) -> Platform {
    let models = Models::default().with("speaker", Speaker::default());
    listening(vec![app(Settings::default(), models).unwrap(), other], Config::new(Stores::memory())).await
}

async fn listening(apps: Vec<App>, config: Config) -> Platform {
    // Nothing here is encrypted; the client asks for it all the same. The second call finds the first one's.
    let _ = tokio_rustls::rustls::crypto::ring::default_provider().install_default();
    let server = serve(apps, config.port(0)).await.unwrap();
    Platform { server, client: Client::builder().no_proxy().build().unwrap() }
}

impl Platform {
    pub(crate) fn url(&self, path: &str) -> String {
        self.server.url() + path
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

    /// Begins a debate and hears it to its end, or to a question. Its id comes with it.
    pub(crate) async fn debate(&self, more: Value) -> (String, Vec<Sent>) {
        let mut body = json!({ "topic": TOPIC, "model": "speaker" });
        body.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        let response = self.post("/api/debate", &body).await;
        assert_eq!(response.status(), 200, "{}", response.text().await.unwrap());
        let id = response.headers()["x-debate-id"].to_str().unwrap().to_owned();
        assert_eq!(response.headers()["location"], format!("/api/debate/{id}").as_str());
        (id, read(&response.text().await.unwrap()))
    }

    /// What is told of a debate after an event.
    pub(crate) async fn stream(&self, id: &str, format: &str, after: Option<u64>) -> Vec<Sent> {
        let mut request = self.client.get(self.url(&format!("/api/debate/{id}/stream?format={format}")));
        if let Some(after) = after {
            request = request.header("last-event-id", after);
        }
        read(&request.send().await.unwrap().text().await.unwrap())
    }
}

/// One server-sent event.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Sent {
    pub(crate) id: Option<u64>,
    pub(crate) event: String,
    pub(crate) data: Value,
}

/// The events of a stream that has ended.
pub(crate) fn read(text: &str) -> Vec<Sent> {
    text.split("\n\n").filter_map(block).collect()
}

fn block(block: &str) -> Option<Sent> {
    let field = |name: &str| block.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(": "));
    let (event, data) = (field("event")?, field("data")?);
    let id = field("id").map(|id| id.parse().unwrap());
    Some(Sent { id, event: event.to_owned(), data: serde_json::from_str(data).unwrap() })
}

/// The names of events, each run of the same name once.
pub(crate) fn names(sent: &[Sent]) -> Vec<&str> {
    let mut names: Vec<&str> = sent.iter().map(|sent| sent.event.as_str()).collect();
    names.dedup();
    names
}
