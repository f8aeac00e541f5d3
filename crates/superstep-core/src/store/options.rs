//! Options that are common to all stores.

use std::sync::Arc;
use std::time::Duration;

use super::operation::MAX_TTL;
use super::{PutOp, Ttl};
use crate::port::{Clock, SharedEmbedder};

/// The options that are common to all stores.
#[derive(Clone)]
#[must_use]
pub struct StoreOptions {
    /// Source of time. Default: the system clock.
    pub clock: Option<Arc<dyn Clock>>,
    /// Embedder; without one only text search is available.
    pub embedder: Option<SharedEmbedder>,
    /// TTL of items whose put sets none. Default: no expiry.
    pub default_ttl: Option<Duration>,
    /// True if a read restarts the TTL, unless the read sets its own value. Default: true.
    pub refresh_on_read: bool,
}

impl Default for StoreOptions {
    fn default() -> Self {
        Self { clock: None, embedder: None, default_ttl: None, refresh_on_read: true }
    }
}

impl StoreOptions {
    /// Sets the clock.
    pub fn clock(mut self, clock: Arc<dyn Clock>) -> Self {
        self.clock = Some(clock);
        self
    }

    /// Sets the embedder for stored texts and for vector search.
    pub fn embedder(mut self, embedder: impl Into<SharedEmbedder>) -> Self {
        self.embedder = Some(embedder.into());
        self
    }

    /// Sets the TTL of items whose put sets none.
    pub fn default_ttl(mut self, time: Duration) -> Self {
        self.default_ttl = Some(time);
        self
    }

    /// Sets whether a read restarts the TTL, if the read sets no value.
    pub fn refresh_on_read(mut self, refresh: bool) -> Self {
        self.refresh_on_read = refresh;
        self
    }

    /// Returns the TTL of a put, in microseconds; `None` for no expiry.
    #[must_use]
    pub fn ttl_micros(&self, put: &PutOp) -> Option<i64> {
        let time = match put.ttl {
            Ttl::StoreDefault => self.default_ttl,
            Ttl::Forever => None,
            Ttl::For(time) => Some(time),
        };
        time.map(|time| i64::try_from(time.min(MAX_TTL).as_micros()).unwrap_or(i64::MAX))
    }

    /// Returns true if a read restarts the TTL.
    #[must_use]
    pub fn should_refresh(&self, requested: Option<bool>) -> bool {
        requested.unwrap_or(self.refresh_on_read)
    }
}
