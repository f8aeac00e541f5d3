//! The scheduler behind HTTP, on a free port, with the members of the sample and nothing on their calendar.

use std::path::{Path, PathBuf};
use std::sync::LazyLock;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use jiff::civil::{Date, Weekday};
use jiff::tz::TimeZone;
use reqwest::{Client, Method, Response};
use serde_json::{Value, json};
use superstep_scheduler::calendar::Board;
use superstep_scheduler::store::Place;
use superstep_scheduler::{Settings, app, sample};
use superstep_server::{Config, Limit, Models, Server, Stores, serve};

/// The scheduler behind HTTP.
pub(crate) struct Served {
    pub(crate) server: Server,
    pub(crate) client: Client,
}

/// What it runs with in tests.
pub(crate) fn settings(place: Place, family: Board) -> Settings {
    let limit = Limit { most: 1000, within: Duration::from_secs(60), at_once: 100 };
    Settings { limit, patience: Duration::from_millis(300), ..Settings::new(place, family) }
}

/// Everything in memory.
pub(crate) async fn served() -> Served {
    with(sample::plain()).await
}

/// The same with another family.
pub(crate) async fn with(family: Board) -> Served {
    started(settings(Place::Memory, family), Config::new(Stores::memory())).await
}

pub(crate) async fn started(settings: Settings, config: Config) -> Served {
    started_with(settings, config, Models::default()).await
}

/// The same with models that requests may name.
pub(crate) async fn started_with(settings: Settings, config: Config, models: Models) -> Served {
    // Nothing here is encrypted; the client asks for it all the same. The second call finds the first one's.
    let _ = tokio_rustls::rustls::crypto::ring::default_provider().install_default();
    let server = serve(vec![app(settings, models).unwrap()], config.port(0)).await.unwrap();
    Served { server, client: Client::builder().no_proxy().build().unwrap() }
}

/// A Sunday in New York, so many weeks ahead of the day on which the test began: midnight may come while it runs.
pub(crate) fn sunday(weeks: i32) -> Date {
    static TODAY: LazyLock<Date> =
        LazyLock::new(|| jiff::Timestamp::now().to_zoned(TimeZone::get(sample::ZONE).unwrap()).date());
    TODAY.nth_weekday(weeks, Weekday::Sunday).unwrap()
}

/// What wants Emma and the car on a day at two.
pub(crate) fn soccer(day: Date) -> String {
    format!("Schedule soccer practice for Emma on {day} at 2pm with the car")
}

impl Served {
    /// Asks something: the status, and what came.
    pub(crate) async fn ask(&self, method: Method, path: &str, body: Option<Value>) -> (u16, Value) {
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
        self.ask(Method::GET, path, None).await
    }

    pub(crate) async fn post(&self, path: &str, body: Value) -> (u16, Value) {
        self.ask(Method::POST, path, Some(body)).await
    }

    pub(crate) async fn patch(&self, path: &str, body: Value) -> (u16, Value) {
        self.ask(Method::PATCH, path, Some(body)).await
    }

    pub(crate) async fn delete(&self, path: &str) -> (u16, Value) {
        self.ask(Method::DELETE, path, None).await
    }

    /// Says something as somebody; it must be taken.
    pub(crate) async fn say(&self, user: &str, text: &str) -> Value {
        let (status, answer) = self.post("/events", json!({ "text": text, "user_id": user })).await;
        assert_eq!(status, 200, "{text}: {answer}");
        answer
    }

    /// Says something that is done at once, and gives the event.
    pub(crate) async fn plan(&self, user: &str, text: &str) -> Value {
        let answer = self.say(user, text).await;
        assert_eq!(answer["status"], "completed", "{text}: {answer}");
        answer["result"]["event"].clone()
    }

    /// Answers what a conversation asks.
    pub(crate) async fn answer(&self, user: &str, asked: &Value, answer: Value) -> (u16, Value) {
        let path = format!("/threads/{}/answer", asked["workflow_id"].as_str().unwrap());
        let question = &asked["waiting"]["question_id"];
        self.post(&path, json!({ "user_id": user, "question_id": question, "answer": answer })).await
    }

    /// What somebody sees on a day.
    pub(crate) async fn on(&self, user: &str, day: Date) -> Vec<Value> {
        let (from, to) = (day.yesterday().unwrap(), day.tomorrow().unwrap().tomorrow().unwrap());
        let path = format!("/events?user_id={user}&from={from}T00:00:00Z&to={to}T00:00:00Z");
        let (status, found) = self.get(&path).await;
        assert_eq!(status, 200, "{found}");
        let is_then = |event: &&Value| event["start"].as_str().unwrap().starts_with(&day.to_string());
        found["events"].as_array().unwrap().iter().filter(is_then).cloned().collect()
    }

    /// Brings a file.
    pub(crate) async fn bring(&self, query: &str, file: impl Into<reqwest::Body>) -> Response {
        let request = self.client.post(self.url(&format!("/import?{query}"))).header("content-type", "text/calendar");
        request.body(file).send().await.unwrap()
    }
}

/// Where the problems of an answer are.
pub(crate) fn places(problem: &Value) -> Vec<&str> {
    problem["errors"].as_array().into_iter().flatten().filter_map(|part| part["pointer"].as_str()).collect()
}

/// A folder that is gone after the test.
pub(crate) struct Folder(PathBuf);

impl Folder {
    pub(crate) fn new() -> Self {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let name = format!("superstep-family-{}-{}", std::process::id(), COUNT.fetch_add(1, Ordering::Relaxed));
        let folder = std::env::temp_dir().join(name);
        // The number of a process comes again, and one that died left its folder.
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
