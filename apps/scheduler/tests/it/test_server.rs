//! Test server: the scheduler over HTTP on a free port, with the sample members and an empty calendar.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use jiff::civil::{Date, Weekday};
use reqwest::{Client, Method, Response};
use serde_json::{Value, json};
use superstep_scheduler::calendar::CalendarSnapshot;
use superstep_scheduler::store::StoreLocation;
use superstep_scheduler::time_zone::NamedTimeZone;
use superstep_scheduler::{SchedulerSettings, app, sample};
use superstep_server::{ModelRegistry, RateLimit, Server, ServerConfig, Storage, serve};

use crate::fixtures::now;
use crate::requests::stopped_clock;

/// The scheduler over HTTP.
pub(crate) struct TestServer {
    pub(crate) server: Server,
    pub(crate) client: Client,
}

/// Returns the settings for tests.
pub(crate) fn settings(location: StoreLocation, family: CalendarSnapshot) -> SchedulerSettings {
    let rate_limit = RateLimit { max_requests: 1000, window: Duration::from_secs(60), max_concurrent: 100 };
    SchedulerSettings { rate_limit, clock: Arc::new(stopped_clock()), ..SchedulerSettings::new(location, family) }
}

/// Starts the server with all data in memory.
pub(crate) async fn start_server() -> TestServer {
    start_with_family(sample::empty_family()).await
}

/// Starts the server with a custom family.
pub(crate) async fn start_with_family(family: CalendarSnapshot) -> TestServer {
    start_with_settings(settings(StoreLocation::Memory, family), ServerConfig::new(Storage::memory())).await
}

pub(crate) async fn start_with_settings(settings: SchedulerSettings, config: ServerConfig) -> TestServer {
    start_with_models(settings, config, ModelRegistry::default()).await
}

/// Starts the server with models that requests can select.
pub(crate) async fn start_with_models(
    settings: SchedulerSettings,
    config: ServerConfig,
    models: ModelRegistry,
) -> TestServer {
    // The HTTP client needs a crypto provider although nothing is encrypted here. A second installation fails and is
    // ignored.
    let _ = tokio_rustls::rustls::crypto::ring::default_provider().install_default();
    let server = serve(vec![app(settings, models).unwrap()], config.port(0)).await.unwrap();
    TestServer { server, client: Client::builder().no_proxy().build().unwrap() }
}

/// Returns the day on the clock of the server, in New York.
pub(crate) fn today() -> Date {
    NamedTimeZone::from_iana_name(sample::ZONE).unwrap().to_local(now()).date()
}

/// Returns a Sunday, counted in weeks from the day on the clock of the server.
pub(crate) fn sunday(weeks: i32) -> Date {
    today().nth_weekday(weeks, Weekday::Sunday).unwrap()
}

/// Returns a request that needs Emma and the car on a day at 2 pm.
pub(crate) fn soccer(day: Date) -> String {
    format!("Schedule soccer practice for Emma on {day} at 2pm with the car")
}

impl TestServer {
    /// Sends a request. Returns status and body.
    pub(crate) async fn send_request(&self, method: Method, path: &str, body: Option<Value>) -> (u16, Value) {
        let request = self.client.request(method, self.url(path));
        let request = match body {
            Some(body) => request.json(&body),
            None => request,
        };
        let response = request.send().await.unwrap();
        let status = response.status().as_u16();
        let text = response.text().await.unwrap();
        (status, serde_json::from_str(&text).unwrap_or(Value::String(text)))
    }

    pub(crate) fn url(&self, path: &str) -> String {
        format!("{}/api/scheduler{path}", self.server.url())
    }

    pub(crate) async fn get(&self, path: &str) -> (u16, Value) {
        self.send_request(Method::GET, path, None).await
    }

    pub(crate) async fn post(&self, path: &str, body: Value) -> (u16, Value) {
        self.send_request(Method::POST, path, Some(body)).await
    }

    pub(crate) async fn patch(&self, path: &str, body: Value) -> (u16, Value) {
        self.send_request(Method::PATCH, path, Some(body)).await
    }

    pub(crate) async fn delete(&self, path: &str) -> (u16, Value) {
        self.send_request(Method::DELETE, path, None).await
    }

    /// Sends a sentence as a user; the request must be accepted.
    pub(crate) async fn send(&self, user: &str, text: &str) -> Value {
        let (status, answer) = self.post("/events", json!({ "text": text, "user_id": user })).await;
        assert_eq!(status, 200, "{text}: {answer}");
        answer
    }

    /// Sends a sentence that completes without a question. Returns the event.
    pub(crate) async fn plan(&self, user: &str, text: &str) -> Value {
        let answer = self.send(user, text).await;
        assert_eq!(answer["status"], "completed", "{text}: {answer}");
        answer["result"]["event"].clone()
    }

    /// Answers the open question of a conversation.
    pub(crate) async fn answer(&self, user: &str, paused: &Value, answer: Value) -> (u16, Value) {
        let path = format!("/threads/{}/answer", paused["workflow_id"].as_str().unwrap());
        let question = &paused["waiting"]["question_id"];
        self.post(&path, json!({ "user_id": user, "question_id": question, "answer": answer })).await
    }

    /// Returns the events of a day that are visible to a user.
    pub(crate) async fn events_on(&self, user: &str, day: Date) -> Vec<Value> {
        let (from, to) = (day.yesterday().unwrap(), day.tomorrow().unwrap().tomorrow().unwrap());
        let path = format!("/events?user_id={user}&from={from}T00:00:00Z&to={to}T00:00:00Z");
        let (status, listed) = self.get(&path).await;
        assert_eq!(status, 200, "{listed}");
        let is_on_day = |event: &&Value| event["start"].as_str().unwrap().starts_with(&day.to_string());
        listed["events"].as_array().unwrap().iter().filter(is_on_day).cloned().collect()
    }

    /// Imports a calendar file.
    pub(crate) async fn import_file(&self, query: &str, file: impl Into<reqwest::Body>) -> Response {
        let request = self.client.post(self.url(&format!("/import?{query}"))).header("content-type", "text/calendar");
        request.body(file).send().await.unwrap()
    }
}

/// Returns the pointers of the errors in a problem response.
pub(crate) fn pointers(problem: &Value) -> Vec<&str> {
    problem["errors"].as_array().into_iter().flatten().filter_map(|part| part["pointer"].as_str()).collect()
}

/// Temporary folder, deleted on drop.
pub(crate) struct Folder(PathBuf);

impl Folder {
    pub(crate) fn new() -> Self {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let name = format!("superstep-family-{}-{}", std::process::id(), COUNT.fetch_add(1, Ordering::Relaxed));
        let folder = std::env::temp_dir().join(name);
        // Process ids are reused, and a process that was killed did not delete its folder.
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
