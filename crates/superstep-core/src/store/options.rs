//! How a store treats what it is given, whichever store it is.

use std::sync::Arc;
use std::time::Duration;

use super::operation::LONGEST_LIFE;
use super::{Lasts, Put};
use crate::port::{Clock, SharedEmbedder};

/// How a store treats what it is given, whichever store it is.
#[derive(Clone)]
#[must_use]
pub struct Options {
    /// Where time comes from; the machine's clock unless told.
    pub clock: Option<Arc<dyn Clock>>,
    /// What makes vectors of texts; without one there is text search only.
    pub embedder: Option<SharedEmbedder>,
    /// How long items last when a put does not say; for ever unless told.
    pub lasts: Option<Duration>,
    /// Whether reading an item makes it last anew, when a read does not say. It does unless told.
    pub refresh_on_read: bool,
}

impl Default for Options {
    fn default() -> Self {
        Self { clock: None, embedder: None, lasts: None, refresh_on_read: true }
    }
}

impl Options {
    /// Takes the time from this clock.
    pub fn clock(mut self, clock: Arc<dyn Clock>) -> Self {
        self.clock = Some(clock);
        self
    }

    /// Makes vectors of what is put, and searches by them.
    pub fn embedder(mut self, embedder: impl Into<SharedEmbedder>) -> Self {
        self.embedder = Some(embedder.into());
        self
    }

    /// How long items last when a put does not say.
    pub fn lasts(mut self, time: Duration) -> Self {
        self.lasts = Some(time);
        self
    }

    /// Whether reading an item makes it last anew, when a read does not say.
    pub fn refresh_on_read(mut self, refresh: bool) -> Self {
        self.refresh_on_read = refresh;
        self
    }

    /// How long what is put lasts, in microseconds; `None` for ever.
    #[must_use]
    pub fn life(&self, put: &Put) -> Option<i64> {
        let time = match put.lasts {
            Lasts::AsStore => self.lasts,
            Lasts::Forever => None,
            Lasts::For(time) => Some(time),
        };
        time.map(|time| i64::try_from(time.min(LONGEST_LIFE).as_micros()).unwrap_or(i64::MAX))
    }

    /// Whether a read makes what it reads last anew.
    #[must_use]
    pub fn refreshes(&self, asked: Option<bool>) -> bool {
        asked.unwrap_or(self.refresh_on_read)
    }
}
