//! Test server: the application over HTTP on a free port, with the sample and a clock fixed at noon.

use std::sync::{Arc, Mutex};

use axum::Router;
use axum::http::{HeaderMap, StatusCode};
use axum::routing::post;
use reqwest::{Client, Response};
use serde_json::Value;
use superstep::testing::ManualClock;
use superstep_server::{ModelRegistry, Server, ServerConfig, Storage, serve};
use superstep_suggestions::{SuggestionsSettings, app};

use crate::sources::{Folder, noon};

/// The application over HTTP.
pub(crate) struct TestServer {
    pub(crate) handle: Server,
    pub(crate) client: Client,
    pub(crate) clock: ManualClock,
}

/// Starts the application with the sample and rule-based models only.
pub(crate) async fn start_server() -> (Folder, TestServer) {
    let folder = Folder::new();
    let server = start_server_with(&folder, |_| {}, ModelRegistry::default()).await;
    (folder, server)
}

/// Starts the application in a folder with custom settings and models.
pub(crate) async fn start_server_with(
    folder: &Folder,
    change: impl FnOnce(&mut SuggestionsSettings),
    models: ModelRegistry,
) -> TestServer {
    start_server_with_config(folder, change, models, ServerConfig::new(Storage::memory())).await
}

pub(crate) async fn start_server_with_config(
    folder: &Folder,
    change: impl FnOnce(&mut SuggestionsSettings),
    models: ModelRegistry,
    config: ServerConfig,
) -> TestServer {
    // The HTTP client needs a crypto provider although nothing is encrypted here. A second installation fails and is
    // ignored.
    let _ = tokio_rustls::rustls::crypto::ring::default_provider().install_default();
    let clock = noon();
    let data_dir = folder.path().join("home");
    let posts = Some(data_dir.join("posts.db"));
    let mut settings =
        SuggestionsSettings { data_dir, posts, clock: Arc::new(clock.clone()), ..SuggestionsSettings::default() };
    change(&mut settings);
    let handle = serve(vec![app(settings, models).unwrap()], config.port(0)).await.unwrap();
    TestServer { handle, client: Client::builder().no_proxy().build().unwrap(), clock }
}

impl TestServer {
    pub(crate) fn url(&self, path: &str) -> String {
        self.handle.url() + path
    }

    pub(crate) async fn get(&self, path: &str) -> Response {
        self.client.get(self.url(path)).send().await.unwrap()
    }

    pub(crate) async fn json(&self, path: &str) -> Value {
        let response = self.get(path).await;
        assert_eq!(response.status(), 200, "{path}");
        response.json().await.unwrap()
    }

    pub(crate) async fn post(&self, path: &str, body: &Value) -> (u16, Value) {
        let response = self.client.post(self.url(path)).json(body).send().await.unwrap();
        (response.status().as_u16(), response.json().await.unwrap())
    }

    /// Requests a path that must be rejected. Returns the status and the problem body.
    pub(crate) async fn get_rejected(&self, path: &str) -> (u16, Value) {
        let response = self.get(path).await;
        assert_eq!(response.headers()["content-type"], "application/problem+json", "{path}");
        (response.status().as_u16(), response.json().await.unwrap())
    }
}

/// Parses the events of a finished stream into names and data.
pub(crate) fn events(text: &str) -> Vec<(String, Value)> {
    let field = |block: &str, name: &str| {
        block.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(": ")).map(str::to_owned)
    };
    let block = |block| Some((field(block, "event")?, serde_json::from_str(&field(block, "data")?).unwrap()));
    text.split("\n\n").filter_map(block).collect()
}

/// Starts a Microsoft Graph server that rejects every request and records the `Authorization` headers.
pub(crate) async fn rejecting_graph() -> (String, Arc<Mutex<Vec<String>>>) {
    let tokens: Arc<Mutex<Vec<String>>> = Arc::default();
    let recorded = tokens.clone();
    let reject = move |headers: HeaderMap| {
        recorded.lock().unwrap().push(headers["authorization"].to_str().unwrap().to_owned());
        async { (StatusCode::UNAUTHORIZED, r#"{"error": {"code": "InvalidAuthenticationToken"}}"#) }
    };
    let router = Router::new().route("/v1.0/search/query", post(reject));
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    tokio::spawn(async move { axum::serve(listener, router).await });
    (url, tokens)
}
