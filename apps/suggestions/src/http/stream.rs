//! A search while it goes on: events of version 2, and the suggestions at the end.
//!
//! The stream is the run: when nobody reads any more it is dropped, and the run stops. There is nothing to come back to,
//! so events have no ids.

use std::convert::Infallible;

use axum::http::{HeaderValue, header};
use axum::response::sse::{Event, KeepAlive, Sse};
use axum::response::{IntoResponse, Response};
use futures_util::stream::unfold;
use superstep::{EventStream, Outcome, Result};
use superstep_server::{Pace, Pass, Problem};

use super::shown::body;
use crate::state::Suggestions;
use crate::suggest::{Asking, Suggested};

type Events = EventStream<Outcome<Suggestions>>;

/// A search that somebody listens to.
pub(super) struct Telling {
    asking: Asking,
    stage: Stage,
    /// Given back when the search is over, or nobody listens any more.
    _pass: Pass,
}

enum Stage {
    /// The graph runs.
    Running(Box<Events>),
    /// There is no model: it is searched directly.
    Direct,
    Over,
}

impl Telling {
    pub(super) fn new(asking: Asking, run: Option<Events>, pass: Pass) -> Self {
        let stage = run.map_or(Stage::Direct, |run| Stage::Running(Box::new(run)));
        Self { asking, stage, _pass: pass }
    }

    pub(super) fn response(self, pace: Pace) -> Response {
        let events = unfold(self, |mut telling| async move {
            let event = telling.next().await?;
            Some((Ok::<Event, Infallible>(event), telling))
        });
        let silence = KeepAlive::new().interval(pace.heartbeat).text("still here");
        let mut response = Sse::new(events).keep_alive(silence).into_response();
        // No proxy may hold it back, squeeze it or keep it.
        let headers = response.headers_mut();
        headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-cache, no-transform"));
        headers.insert("x-accel-buffering", HeaderValue::from_static("no"));
        response
    }

    async fn next(&mut self) -> Option<Event> {
        match std::mem::replace(&mut self.stage, Stage::Over) {
            Stage::Running(mut run) => match run.next().await {
                Some(event) => {
                    self.stage = Stage::Running(run);
                    // Texts, numbers and lists alone can always be written.
                    Some(line(event.event, &serde_json::to_string(&event).unwrap_or_default()))
                }
                None => Some(last(self.asking.conclude(run.finish().await).await)),
            },
            Stage::Direct => Some(last(Ok(self.asking.directly(None).await))),
            Stage::Over => None,
        }
    }
}

fn last(suggested: Result<Suggested>) -> Event {
    match suggested {
        Ok(suggested) => line("suggestions", &body(suggested).to_string()),
        Err(error) => line("problem", &serde_json::to_string(&Problem::from(error)).unwrap_or_default()),
    }
}

fn line(name: &str, data: &str) -> Event {
    Event::default().event(name).data(data)
}
