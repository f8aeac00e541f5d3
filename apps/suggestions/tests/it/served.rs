//! The application behind HTTP, on a free port, with the sample, at noon of some day.

use std::sync::{Arc, Mutex};

use axum::Router;
use axum::http::{HeaderMap, StatusCode};
use axum::routing::post;
use reqwest::{Client, Response};
use serde_json::Value;
use superstep::testing::ManualClock;
use superstep_server::{Config, Models, Server, Stores, serve};
use superstep_suggestions::{Settings, app};

use crate::sources::{Folder, noon};

/// The application behind HTTP.
pub(crate) struct Platform {
    pub(crate) server: Server,
    pub(crate) client: Client,
    pub(crate) clock: ManualClock,
}

/// With the sample, and no model but rules.
pub(crate) async fn platform() -> (Folder, Platform) {
    let folder = Folder::new();
    let platform = started(&folder, |_| {}, Models::default()).await;
    (folder, platform)
}

/// In this folder, with these settings and models.
pub(crate) async fn started(folder: &Folder, change: impl FnOnce(&mut Settings), models: Models) -> Platform {
    paced(folder, change, models, Config::new(Stores::memory())).await
}

pub(crate) async fn paced(
    folder: &Folder,
    change: impl FnOnce(&mut Settings),
    models: Models,
    config: Config,
) -> Platform {
    // Nothing here is encrypted; the client asks for it all the same. The second call finds the first one's.
    let _ = tokio_rustls::rustls::crypto::ring::default_provider().install_default();
    let clock = noon();
    let home = folder.path().join("home");
    let posts = Some(home.join("posts.db"));
    let mut settings = Settings { home, posts, clock: Arc::new(clock.clone()), ..Settings::default() };
    change(&mut settings);
    let server = serve(vec![app(settings, models).unwrap()], config.port(0)).await.unwrap();
    Platform { server, client: Client::builder().no_proxy().build().unwrap(), clock }
}

impl Platform {
    pub(crate) fn url(&self, path: &str) -> String {
        self.server.url() + path
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

    /// A refusal: its status, and what it says.
    pub(crate) async fn refused(&self, path: &str) -> (u16, Value) {
        let response = self.get(path).await;
        assert_eq!(response.headers()["content-type"], "application/problem+json", "{path}");
        (response.status().as_u16(), response.json().await.unwrap())
    }
}

/// The events of a stream that has ended: names and data.
pub(crate) fn events(text: &str) -> Vec<(String, Value)> {
    let field = |block: &str, name: &str| {
        block.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(": ")).map(str::to_owned)
    };
    let block = |block| Some((field(block, "event")?, serde_json::from_str(&field(block, "data")?).unwrap()));
    text.split("\n\n").filter_map(block).collect()
}

/// A Microsoft Graph that refuses everybody, and what it was asked with.
pub(crate) async fn refusing_graph() -> (String, Arc<Mutex<Vec<String>>>) {
    let asked: Arc<Mutex<Vec<String>>> = Arc::default();
    let heard = asked.clone();
    let refuse = move |headers: HeaderMap| {
        heard.lock().unwrap().push(headers["authorization"].to_str().unwrap().to_owned());
        async { (StatusCode::UNAUTHORIZED, r#"{"error": {"code": "InvalidAuthenticationToken"}}"#) }
    };
    let router = Router::new().route("/v1.0/search/query", post(refuse));
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    tokio::spawn(async move { axum::serve(listener, router).await });
    (url, asked)
}
