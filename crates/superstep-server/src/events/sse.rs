//! Encodes a subscription as server-sent events: `id`, `event` and `data` lines.
//!
//! The id of an event is its number on the thread, so a client that reconnects with its last id receives every
//! later event exactly once. One event may become several messages or none; only the last of them has the id,
//! because a client that is disconnected between them must receive all of them again.

use std::convert::Infallible;
use std::fmt::Write as _;

use axum::body::{Body, Bytes};
use axum::extract::FromRequestParts;
use axum::http::request::Parts;
use axum::http::{HeaderValue, header};
use axum::response::{IntoResponse, Response};
use futures_util::stream;
use superstep::ErrorCode;
use tokio::time::{Instant, sleep_until};

use crate::api::problem::Problem;
use crate::config::SseConfig;
use crate::events::broadcast::{PublishedEvent, Subscription, SubscriptionEnd};

pub use crate::events::ag_ui::ag_ui_encoder;

/// A server-sent event without id: event name and data.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SseMessage {
    /// Event name.
    pub event: String,
    /// Data, usually JSON.
    pub data: String,
}

impl SseMessage {
    /// Creates a message with an event name and its data.
    pub fn new(event: impl Into<String>, data: impl ToString) -> Self {
        Self { event: event.into(), data: data.to_string() }
    }
}

/// Encoder of events for one client.
pub trait SseEncoder: Send + 'static {
    /// Loads the data needed to encode an event.
    fn prepare(&mut self, _published: &PublishedEvent) -> impl Future<Output = ()> + Send {
        std::future::ready(())
    }

    /// Encodes one event as messages; none if the client does not need it.
    fn encode(&mut self, published: &PublishedEvent) -> Vec<SseMessage>;

    /// Returns the messages that follow the last event of a run; not called if the server shuts down or the client
    /// lagged.
    fn finish(&mut self) -> Vec<SseMessage> {
        Vec::new()
    }
}

impl<F: FnMut(&PublishedEvent) -> Vec<SseMessage> + Send + 'static> SseEncoder for F {
    fn encode(&mut self, published: &PublishedEvent) -> Vec<SseMessage> {
        self(published)
    }
}

/// Encodes an event of version 2 unchanged, under its own name.
#[must_use]
pub fn encode_v2_events(published: &PublishedEvent) -> Vec<SseMessage> {
    vec![SseMessage::new(published.event_type(), published.text())]
}

/// Creates the response that streams a subscription.
///
/// A comment is sent as heartbeat if there are no events. The last message before a shutdown is `event: shutdown`;
/// a client that lagged gets a comment. Both reconnect with their last id.
#[must_use]
pub fn sse_response(subscription: Subscription, encoder: impl SseEncoder) -> Response {
    let sse_stream = SseStream {
        pacer: SsePacer::new(subscription.sse_config),
        subscription,
        encoder,
        stage: SseStage::Opening,
        last_sent: None,
    };
    let body = Body::from_stream(stream::unfold(sse_stream, |mut sse_stream| async move {
        let text = sse_stream.next().await?;
        Some((Ok::<Bytes, Infallible>(text.into()), sse_stream))
    }));
    let mut response = body.into_response();
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("text/event-stream; charset=utf-8"));
    // Proxies must not buffer, compress or cache the stream.
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-cache, no-transform"));
    headers.insert("x-accel-buffering", HeaderValue::from_static("no"));
    response
}

struct SseStream<E> {
    subscription: Subscription,
    encoder: E,
    pacer: SsePacer,
    stage: SseStage,
    /// Number of the last event sent.
    last_sent: Option<u64>,
}

enum SseStage {
    Opening,
    Streaming,
    Ended,
}

impl<E: SseEncoder> SseStream<E> {
    async fn next(&mut self) -> Option<String> {
        match self.stage {
            SseStage::Opening => {
                self.stage = SseStage::Streaming;
                return Some(format!("retry: {}\n\n", self.subscription.sse_config.reconnect_delay.as_millis()));
            }
            SseStage::Ended => return None,
            SseStage::Streaming => {}
        }
        loop {
            self.pacer.wait_for_rate().await;
            let published = tokio::select! {
                biased;
                event = self.subscription.next() => event,
                () = self.pacer.heartbeat_due() => {
                    self.pacer.record_sent(0);
                    return Some(": heartbeat\n\n".to_owned());
                }
            };
            let Some(published) = published else {
                self.stage = SseStage::Ended;
                return Some(self.closing_messages());
            };
            self.last_sent = Some(published.number());
            self.encoder.prepare(&published).await;
            let messages = self.encoder.encode(&published);
            if !messages.is_empty() {
                self.pacer.record_sent(1);
                return Some(format_messages(&messages, Some(published.number())));
            }
        }
    }

    fn closing_messages(&mut self) -> String {
        match self.subscription.end() {
            Some(SubscriptionEnd::Lagged) => ": too slow, reconnect with the last id\n\n".to_owned(),
            Some(SubscriptionEnd::Shutdown) => {
                format_messages(&[SseMessage::new("shutdown", r#"{"reason":"the server is shutting down"}"#)], None)
            }
            Some(SubscriptionEnd::Failed(problem)) => {
                let data = serde_json::to_string(problem).unwrap_or_default();
                format_messages(&[SseMessage::new("problem", data)], None)
            }
            _ => format_messages(&self.encoder.finish(), self.last_sent) + ": end of stream\n\n",
        }
    }
}

fn format_messages(messages: &[SseMessage], number: Option<u64>) -> String {
    let mut text = String::new();
    for (index, message) in messages.iter().enumerate() {
        // Writing to a string cannot fail.
        if let Some(number) = number.filter(|_| index + 1 == messages.len()) {
            let _ = writeln!(text, "id: {number}");
        }
        let _ = writeln!(text, "event: {}", message.event);
        for data in message.data.split('\n') {
            let _ = writeln!(text, "data: {data}");
        }
        text.push('\n');
    }
    text
}

/// Heartbeat and rate limit of one client.
struct SsePacer {
    config: SseConfig,
    last_sent_at: Instant,
    /// Start of the second in which events are counted.
    window_start: Instant,
    count: u32,
}

impl SsePacer {
    fn new(config: SseConfig) -> Self {
        let now = Instant::now();
        Self { config, last_sent_at: now, window_start: now, count: 0 }
    }

    fn record_sent(&mut self, events: u32) {
        self.last_sent_at = Instant::now();
        self.count += events;
    }

    async fn heartbeat_due(&self) {
        sleep_until(self.last_sent_at + self.config.heartbeat_interval).await;
    }

    /// Waits for the next second if the client has received its maximum of this one.
    async fn wait_for_rate(&mut self) {
        let next = self.window_start + std::time::Duration::from_secs(1);
        if self.count >= self.config.max_events_per_second {
            sleep_until(next).await;
        }
        if Instant::now() >= next {
            (self.window_start, self.count) = (Instant::now(), 0);
        }
    }
}

/// Number of the last event the client has: the header `Last-Event-ID`, or `after` in the query.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LastEventId(pub Option<u64>);

impl<S: Send + Sync> FromRequestParts<S> for LastEventId {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Problem> {
        // A browser that reconnects sends the header, and the query it used at first.
        let header = parts.headers.get("last-event-id").and_then(|id| id.to_str().ok()).map(str::to_owned);
        let query = parts.uri.query().unwrap_or_default().split('&').find_map(|pair| pair.strip_prefix("after="));
        let Some(last_id) = header.or_else(|| query.map(str::to_owned)).filter(|id| !id.is_empty()) else {
            return Ok(Self(None));
        };
        let number = last_id.parse().map_err(|_| {
            let problem = Problem::new(400, ErrorCode::InputInvalid, "the last event id is not a number");
            problem.with_hint("send the `id` of the last event unchanged")
        });
        number.map(|number| Self(Some(number)))
    }
}
