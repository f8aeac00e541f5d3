//! When and how often a failed node is tried again.

use std::sync::Arc;
use std::time::Duration;

use superstep_core::error::{Code, Kind};

use crate::output::NodeError;

/// Decides whether a failure is worth another attempt.
pub(crate) type RetryOn = Arc<dyn Fn(&NodeError) -> bool + Send + Sync>;

/// How a failed node is tried again.
///
/// The wait before attempt *n + 1* is `initial · backoff^(n−1)`, at most `max_interval`, plus up to a tenth.
/// A `Retry-After` of the far side wins.
///
/// ```
/// use std::time::Duration;
/// use superstep::Retry;
/// let retry = Retry::exponential(4).initial_interval(Duration::from_millis(100));
/// assert_eq!(retry.wait(1, 0.0), Duration::from_millis(100));
/// assert_eq!(retry.wait(2, 0.0), Duration::from_millis(200));
/// ```
#[derive(Clone)]
pub struct Retry {
    pub(crate) initial_interval: Duration,
    pub(crate) backoff: f64,
    pub(crate) max_interval: Duration,
    pub(crate) max_attempts: u32,
    pub(crate) jitter: bool,
    pub(crate) retry_on: RetryOn,
}

impl Default for Retry {
    fn default() -> Self {
        Self {
            initial_interval: Duration::from_millis(500),
            backoff: 2.0,
            max_interval: Duration::from_secs(128),
            max_attempts: 3,
            jitter: true,
            retry_on: Arc::new(worth_it),
        }
    }
}

impl Retry {
    /// Waits that double, with this many attempts in all.
    #[must_use]
    pub fn exponential(max_attempts: u32) -> Self {
        Self { max_attempts, ..Self::default() }
    }

    /// The wait before the second attempt.
    #[must_use]
    pub fn initial_interval(mut self, interval: Duration) -> Self {
        self.initial_interval = interval;
        self
    }

    /// What each wait is multiplied with to give the next.
    #[must_use]
    pub fn backoff(mut self, factor: f64) -> Self {
        self.backoff = factor;
        self
    }

    /// The longest wait.
    #[must_use]
    pub fn max_interval(mut self, interval: Duration) -> Self {
        self.max_interval = interval;
        self
    }

    /// Waits are exact, for tests.
    #[must_use]
    pub fn without_jitter(mut self) -> Self {
        self.jitter = false;
        self
    }

    /// Which failures are worth another attempt, in place of the default.
    #[must_use]
    pub fn retry_on(mut self, worth_it: impl Fn(&NodeError) -> bool + Send + Sync + 'static) -> Self {
        self.retry_on = Arc::new(worth_it);
        self
    }

    /// The wait after attempt `n` failed; `random` in 0..1 is the share of the jitter.
    #[must_use]
    pub fn wait(&self, attempt: u32, random: f64) -> Duration {
        let exponent = i32::try_from(attempt.saturating_sub(1)).unwrap_or(i32::MAX);
        let seconds = self.initial_interval.as_secs_f64() * self.backoff.powi(exponent);
        let capped = seconds.min(self.max_interval.as_secs_f64());
        let jitter = if self.jitter { capped * 0.1 * random } else { 0.0 };
        Duration::from_secs_f64((capped + jitter).max(0.0))
    }
}

/// The first policy that finds a failure worth another attempt.
pub(crate) fn matching<'a>(policies: &'a [Retry], error: &NodeError) -> Option<&'a Retry> {
    policies.iter().find(|policy| (policy.retry_on)(error))
}

/// Timeouts, lost connections, overload and server errors are worth it; wrong input never is.
fn worth_it(error: &NodeError) -> bool {
    if let Some(said) = error.retryable {
        return said;
    }
    if error.error.is_retryable() {
        return true;
    }
    let mut cause = error.cause();
    while let Some(inner) = cause {
        if let Some(io) = inner.downcast_ref::<std::io::Error>() {
            return is_connection(io.kind());
        }
        cause = inner.source();
    }
    matches!(error.error.kind(), Kind::Outside { retry: true }) && error.error.code() != Code::NodeFailed
}

fn is_connection(kind: std::io::ErrorKind) -> bool {
    use std::io::ErrorKind;
    matches!(
        kind,
        ErrorKind::ConnectionRefused
            | ErrorKind::ConnectionReset
            | ErrorKind::ConnectionAborted
            | ErrorKind::NotConnected
            | ErrorKind::BrokenPipe
            | ErrorKind::TimedOut
            | ErrorKind::UnexpectedEof
            | ErrorKind::HostUnreachable
            | ErrorKind::NetworkUnreachable
            | ErrorKind::NetworkDown
    )
}
