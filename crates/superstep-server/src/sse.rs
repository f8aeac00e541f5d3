//! Server-sent events: a feed as `id`, `event` and `data` lines.
//!
//! The id of an event is its number on the thread, so whoever comes back with the last one misses nothing and hears
//! nothing twice. One told event may become several lines or none; only the last of them has the id, because a reader
//! that is cut off between them must hear all of them again.

mod ag_ui;

use std::convert::Infallible;
use std::fmt::Write as _;

use axum::body::{Body, Bytes};
use axum::extract::FromRequestParts;
use axum::http::request::Parts;
use axum::http::{HeaderValue, header};
use axum::response::{IntoResponse, Response};
use futures_util::stream;
use superstep::Code;
use tokio::time::{Instant, sleep_until};

use crate::config::Pace;
use crate::hub::{Feed, FeedEnd, Told};
use crate::problem::Problem;

pub use ag_ui::ag_ui;

/// One line for a reader: the name of the event, and its data.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Line {
    /// The name.
    pub event: String,
    /// The data, as a rule JSON.
    pub data: String,
}

impl Line {
    /// A line.
    pub fn new(event: impl Into<String>, data: impl ToString) -> Self {
        Self { event: event.into(), data: data.to_string() }
    }
}

/// How a reader wants to hear what is told.
pub trait View: Send + 'static {
    /// Looks up what it needs to tell an event.
    fn prepare(&mut self, _told: &Told) -> impl Future<Output = ()> + Send {
        std::future::ready(())
    }

    /// One told event as lines; none when it is of no interest.
    fn tell(&mut self, told: &Told) -> Vec<Line>;

    /// What is said at the end of the run, after everything was told; not when the server stops or the reader was too slow.
    fn end(&mut self) -> Vec<Line> {
        Vec::new()
    }
}

impl<F: FnMut(&Told) -> Vec<Line> + Send + 'static> View for F {
    fn tell(&mut self, told: &Told) -> Vec<Line> {
        self(told)
    }
}

/// Events of version 2 as they are, each under its own name.
#[must_use]
pub fn events(told: &Told) -> Vec<Line> {
    vec![Line::new(told.kind(), told.text())]
}

/// A feed as a response.
///
/// A comment goes out when there is nothing to tell for a while. When the server stops, the last thing said is
/// `event: shutdown`; a reader that was too slow gets a comment. Both come back with the last id they have.
#[must_use]
pub fn sse(feed: Feed, view: impl View) -> Response {
    let sender = Sender { beat: Beat::new(feed.pace), feed, view, stage: Stage::Opening, heard: None };
    let body = Body::from_stream(stream::unfold(sender, |mut sender| async move {
        let text = sender.next().await?;
        Some((Ok::<Bytes, Infallible>(text.into()), sender))
    }));
    let mut response = body.into_response();
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("text/event-stream; charset=utf-8"));
    // No proxy may hold it back, squeeze it or keep it.
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-cache, no-transform"));
    headers.insert("x-accel-buffering", HeaderValue::from_static("no"));
    response
}

struct Sender<V> {
    feed: Feed,
    view: V,
    beat: Beat,
    stage: Stage,
    /// The number of the last event that was heard.
    heard: Option<u64>,
}

enum Stage {
    Opening,
    Telling,
    Over,
}

impl<V: View> Sender<V> {
    async fn next(&mut self) -> Option<String> {
        match self.stage {
            Stage::Opening => {
                self.stage = Stage::Telling;
                return Some(format!("retry: {}\n\n", self.feed.pace.retry.as_millis()));
            }
            Stage::Over => return None,
            Stage::Telling => {}
        }
        loop {
            self.beat.wait_for_turn().await;
            let told = tokio::select! {
                biased;
                told = self.feed.next() => told,
                () = self.beat.due() => {
                    self.beat.said(0);
                    return Some(": still here\n\n".to_owned());
                }
            };
            let Some(told) = told else {
                self.stage = Stage::Over;
                return Some(self.last());
            };
            self.heard = Some(told.number());
            self.view.prepare(&told).await;
            let lines = self.view.tell(&told);
            if !lines.is_empty() {
                self.beat.said(1);
                return Some(written(&lines, Some(told.number())));
            }
        }
    }

    fn last(&mut self) -> String {
        match self.feed.end() {
            Some(FeedEnd::TooSlow) => ": too slow, come back with the last id\n\n".to_owned(),
            Some(FeedEnd::Shutdown) => written(&[Line::new("shutdown", r#"{"reason":"the server stops"}"#)], None),
            Some(FeedEnd::Failed(problem)) => {
                let data = serde_json::to_string(problem).unwrap_or_default();
                written(&[Line::new("problem", data)], None)
            }
            _ => written(&self.view.end(), self.heard) + ": the end\n\n",
        }
    }
}

fn written(lines: &[Line], number: Option<u64>) -> String {
    let mut text = String::new();
    for (place, line) in lines.iter().enumerate() {
        // Writing to text cannot fail.
        if let Some(number) = number.filter(|_| place + 1 == lines.len()) {
            let _ = writeln!(text, "id: {number}");
        }
        let _ = writeln!(text, "event: {}", line.event);
        for data in line.data.split('\n') {
            let _ = writeln!(text, "data: {data}");
        }
        text.push('\n');
    }
    text
}

/// When something has to be said, and when no more may be.
struct Beat {
    pace: Pace,
    last: Instant,
    second: Instant,
    count: u32,
}

impl Beat {
    fn new(pace: Pace) -> Self {
        let now = Instant::now();
        Self { pace, last: now, second: now, count: 0 }
    }

    fn said(&mut self, events: u32) {
        self.last = Instant::now();
        self.count += events;
    }

    async fn due(&self) {
        sleep_until(self.last + self.pace.heartbeat).await;
    }

    /// A reader that has had its share of this second waits for the next.
    async fn wait_for_turn(&mut self) {
        let next = self.second + std::time::Duration::from_secs(1);
        if self.count >= self.pace.per_second {
            sleep_until(next).await;
        }
        if Instant::now() >= next {
            (self.second, self.count) = (Instant::now(), 0);
        }
    }
}

/// The number after which a reader wants to hear: the header `Last-Event-ID`, or `after` in the query.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct After(pub Option<u64>);

impl<S: Send + Sync> FromRequestParts<S> for After {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Problem> {
        // A browser that comes back sends the header along with the address it had at first.
        let header = parts.headers.get("last-event-id").and_then(|id| id.to_str().ok()).map(str::to_owned);
        let query = parts.uri.query().unwrap_or_default().split('&').find_map(|pair| pair.strip_prefix("after="));
        let Some(given) = header.or_else(|| query.map(str::to_owned)).filter(|id| !id.is_empty()) else {
            return Ok(Self(None));
        };
        let number = given.parse().map_err(|_| {
            let problem = Problem::new(400, Code::InputInvalid, "the last event id is not a number");
            problem.hint("send back the `id` of the last event as it was")
        });
        number.map(|number| Self(Some(number)))
    }
}
