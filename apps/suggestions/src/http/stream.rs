//! Server-sent events of a search: events of version 2, then the suggestions.
//!
//! The stream owns the run: if the client disconnects, the stream is dropped and the run stops. A stream cannot be
//! resumed, so its events have no ids.

use std::convert::Infallible;

use axum::http::{HeaderValue, header};
use axum::response::sse::{Event, KeepAlive, Sse};
use axum::response::{IntoResponse, Response};
use futures_util::stream::unfold;
use superstep::{EventStream, Outcome, Result};
use superstep_server::{Problem, RunPermit, SseConfig};

use super::responses::suggestions_response;
use crate::state::SuggestionsState;
use crate::suggest::{SuggestionResult, SuggestionRun};

type RunEvents = EventStream<Outcome<SuggestionsState>>;

/// A search whose events are streamed to a client.
pub(super) struct SuggestionStream {
    suggestion_run: SuggestionRun,
    phase: StreamPhase,
    /// Rate limit permit, released when the search ends or the client disconnects.
    _permit: RunPermit,
}

enum StreamPhase {
    /// The graph is running.
    Running(Box<RunEvents>),
    /// Search without a model.
    Direct,
    Over,
}

impl SuggestionStream {
    pub(super) fn new(suggestion_run: SuggestionRun, run: Option<RunEvents>, permit: RunPermit) -> Self {
        let phase = run.map_or(StreamPhase::Direct, |run| StreamPhase::Running(Box::new(run)));
        Self { suggestion_run, phase, _permit: permit }
    }

    pub(super) fn response(self, config: SseConfig) -> Response {
        let events = unfold(self, |mut stream| async move {
            let event = stream.next().await?;
            Some((Ok::<Event, Infallible>(event), stream))
        });
        let keep_alive = KeepAlive::new().interval(config.heartbeat_interval).text("heartbeat");
        let mut response = Sse::new(events).keep_alive(keep_alive).into_response();
        // Prevents proxies from buffering, transforming or caching the stream.
        let headers = response.headers_mut();
        headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-cache, no-transform"));
        headers.insert("x-accel-buffering", HeaderValue::from_static("no"));
        response
    }

    async fn next(&mut self) -> Option<Event> {
        match std::mem::replace(&mut self.phase, StreamPhase::Over) {
            StreamPhase::Running(mut run) => match run.next().await {
                Some(event) => {
                    self.phase = StreamPhase::Running(run);
                    // Serialization cannot fail: events contain only strings, numbers and lists.
                    Some(sse_event(event.event, &serde_json::to_string(&event).unwrap_or_default()))
                }
                None => Some(final_event(self.suggestion_run.finish(run.finish().await).await)),
            },
            StreamPhase::Direct => Some(final_event(Ok(self.suggestion_run.search_without_model(None).await))),
            StreamPhase::Over => None,
        }
    }
}

fn final_event(suggested: Result<SuggestionResult>) -> Event {
    match suggested {
        Ok(suggested) => sse_event("suggestions", &suggestions_response(suggested).to_string()),
        Err(error) => sse_event("problem", &serde_json::to_string(&Problem::from(error)).unwrap_or_default()),
    }
}

fn sse_event(name: &str, data: &str) -> Event {
    Event::default().event(name).data(data)
}
