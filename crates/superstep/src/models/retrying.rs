//! Retries of model calls that fail with a transient error.

use std::sync::Arc;
use std::time::Duration;

use superstep_core::error::{Error, Result};
use superstep_core::model::{ChatRequest, ChatResponse, ModelInfo};
use superstep_core::port::{ChunkSender, Clock, Model, SharedModel};

use super::SeededRng;
use crate::engine::environment::SystemClock;
use crate::graph::output::NodeError;
use crate::graph::retry::RetryPolicy;

/// Default maximum delay before a retry.
const DEFAULT_MAX_INTERVAL: Duration = Duration::from_secs(60);

/// A model that retries calls after a transient error.
///
/// The delay is that of the policy, or the one that the provider requests if it is longer, and at most
/// [`max_interval`](Self::max_interval). Once a chunk of the response was published, the error is returned, because
/// the chunk cannot be withdrawn.
///
/// ```
/// use superstep::RetryPolicy;
/// use superstep::models::{ModelExt, ScriptedReply, ScriptedModel, ModelErrorKind};
///
/// # #[tokio::main(flavor = "current_thread", start_paused = true)]
/// # async fn main() -> superstep::Result<()> {
/// let script = ScriptedModel::new([ScriptedReply::from(ModelErrorKind::Overloaded), ScriptedReply::text("Noon.")]);
/// let model = script.clone().with_retry(RetryPolicy::default());
/// assert_eq!(model.complete("How late is it?").await?.message.text(), "Noon.");
/// assert_eq!(script.requests().len(), 2);
/// # Ok(()) }
/// ```
#[derive(Clone)]
pub struct RetryingModel {
    model: SharedModel,
    retry: RetryPolicy,
    max_interval: Duration,
    clock: Arc<dyn Clock>,
}

impl RetryingModel {
    pub(super) fn new(model: impl Into<SharedModel>, retry: RetryPolicy) -> Self {
        Self { model: model.into(), retry, max_interval: DEFAULT_MAX_INTERVAL, clock: Arc::new(SystemClock) }
    }

    /// Sets the maximum delay, also if the provider requests more. Default: 60 s.
    #[must_use]
    pub fn max_interval(mut self, interval: Duration) -> Self {
        self.max_interval = interval;
        self
    }

    /// Sets the clock of the delays. Tests inject one.
    #[must_use]
    pub fn clock(mut self, clock: impl Clock) -> Self {
        self.clock = Arc::new(clock);
        self
    }

    /// Returns the delay before the next attempt, or `None` if there is none.
    fn retry_delay(&self, attempt: u32, error: &Error) -> Option<Duration> {
        let should_retry = attempt < self.retry.max_attempts && (self.retry.retry_on)(&NodeError::from(error.clone()));
        should_retry.then(|| {
            // Jitter, so that processes that failed together do not retry together.
            let random = SeededRng::new(self.clock.now().unsigned_abs()).next_f64();
            self.retry.delay(attempt, random).max(error.retry_after().unwrap_or_default()).min(self.max_interval)
        })
    }
}

impl Model for RetryingModel {
    fn info(&self) -> ModelInfo {
        self.model.info()
    }

    async fn generate(&self, request: &ChatRequest, out: &mut ChunkSender<'_>) -> Result<ChatResponse> {
        let mut attempt = 1;
        loop {
            let error = match self.model.generate(request, out).await {
                Ok(response) => return Ok(response),
                Err(error) => error,
            };
            match self.retry_delay(attempt, &error) {
                Some(delay) if !out.has_sent() => self.clock.sleep(delay).await,
                _ => return Err(error),
            }
            attempt += 1;
        }
    }
}
