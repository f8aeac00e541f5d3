//! Asks a model again when it failed in a way that may pass.

use std::sync::Arc;
use std::time::Duration;

use superstep_core::error::{Error, Result};
use superstep_core::model::{Answer, ModelInfo, Request};
use superstep_core::port::{Clock, Model, Pieces, SharedModel};

use super::Dice;
use crate::clock::SystemClock;
use crate::output::NodeError;
use crate::retry::Retry;

/// Waits longer than this are not waited for unless told.
const LONGEST_WAIT: Duration = Duration::from_secs(60);

/// A model that is asked again when it failed in a way that may pass.
///
/// The wait is the policy's, or what the provider asks for where that is longer, and never more than
/// [`longest_wait`](Self::longest_wait). Once a piece of the answer was told the error passes: what was heard cannot be
/// taken back.
///
/// ```
/// use superstep::Retry;
/// use superstep::model::{ModelExt, Reply, Scripted, Trouble};
///
/// # #[tokio::main(flavor = "current_thread", start_paused = true)]
/// # async fn main() -> superstep::Result<()> {
/// let script = Scripted::new([Reply::from(Trouble::Overloaded), Reply::text("Noon.")]);
/// let model = script.clone().retrying(Retry::default());
/// assert_eq!(model.complete("How late is it?").await?.message.text(), "Noon.");
/// assert_eq!(script.requests().len(), 2);
/// # Ok(()) }
/// ```
#[derive(Clone)]
pub struct Retrying {
    model: SharedModel,
    retry: Retry,
    longest_wait: Duration,
    clock: Arc<dyn Clock>,
}

impl Retrying {
    pub(super) fn new(model: impl Into<SharedModel>, retry: Retry) -> Self {
        Self { model: model.into(), retry, longest_wait: LONGEST_WAIT, clock: Arc::new(SystemClock) }
    }

    /// The longest wait, also where the provider asks for more. A minute unless told.
    #[must_use]
    pub fn longest_wait(mut self, wait: Duration) -> Self {
        self.longest_wait = wait;
        self
    }

    /// Where time comes from, for tests.
    #[must_use]
    pub fn clock(mut self, clock: impl Clock) -> Self {
        self.clock = Arc::new(clock);
        self
    }

    /// The wait before the next attempt; nothing when there is none.
    fn wait(&self, attempt: u32, error: &Error) -> Option<Duration> {
        let is_worth_it = attempt < self.retry.max_attempts && (self.retry.retry_on)(&NodeError::from(error.clone()));
        is_worth_it.then(|| {
            // Processes that failed together should not come back together.
            let share = Dice::new(self.clock.now().unsigned_abs()).share();
            self.retry.wait(attempt, share).max(error.wait().unwrap_or_default()).min(self.longest_wait)
        })
    }
}

impl Model for Retrying {
    fn info(&self) -> ModelInfo {
        self.model.info()
    }

    async fn answer(&self, request: &Request, out: &mut Pieces<'_>) -> Result<Answer> {
        let mut attempt = 1;
        loop {
            let error = match self.model.answer(request, out).await {
                Ok(answer) => return Ok(answer),
                Err(error) => error,
            };
            match self.wait(attempt, &error) {
                Some(wait) if !out.has_told() => self.clock.sleep(wait).await,
                _ => return Err(error),
            }
            attempt += 1;
        }
    }
}
