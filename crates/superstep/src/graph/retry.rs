//! Retry policies of nodes.

use std::sync::Arc;
use std::time::Duration;

use superstep_core::error::{ErrorCode, ErrorKind};

use crate::graph::output::NodeError;

/// Predicate that decides whether an error is retried.
pub(crate) type RetryPredicate = Arc<dyn Fn(&NodeError) -> bool + Send + Sync>;

/// Retry policy of a node.
///
/// The delay before attempt *n + 1* is `initial · backoff^(n−1)`, at most `max_interval`, plus a jitter of up to 10
/// %. A `Retry-After` of the remote service takes precedence.
///
/// ```
/// use std::time::Duration;
/// use superstep::RetryPolicy;
/// let retry = RetryPolicy::exponential(4).initial_interval(Duration::from_millis(100));
/// assert_eq!(retry.delay(1, 0.0), Duration::from_millis(100));
/// assert_eq!(retry.delay(2, 0.0), Duration::from_millis(200));
/// ```
#[derive(Clone)]
pub struct RetryPolicy {
    pub(crate) initial_interval: Duration,
    pub(crate) backoff_factor: f64,
    pub(crate) max_interval: Duration,
    pub(crate) max_attempts: u32,
    pub(crate) jitter: bool,
    pub(crate) retry_on: RetryPredicate,
}

impl Default for RetryPolicy {
    fn default() -> Self {
        Self {
            initial_interval: Duration::from_millis(500),
            backoff_factor: 2.0,
            max_interval: Duration::from_secs(128),
            max_attempts: 3,
            jitter: true,
            retry_on: Arc::new(is_transient),
        }
    }
}

impl RetryPolicy {
    /// Creates a policy with exponential backoff and this many attempts, including the first.
    #[must_use]
    pub fn exponential(max_attempts: u32) -> Self {
        Self { max_attempts, ..Self::default() }
    }

    /// Sets the delay before the second attempt.
    #[must_use]
    pub fn initial_interval(mut self, interval: Duration) -> Self {
        self.initial_interval = interval;
        self
    }

    /// Sets the factor by which each delay grows.
    #[must_use]
    pub fn backoff_factor(mut self, factor: f64) -> Self {
        self.backoff_factor = factor;
        self
    }

    /// Sets the maximum delay.
    #[must_use]
    pub fn max_interval(mut self, interval: Duration) -> Self {
        self.max_interval = interval;
        self
    }

    /// Disables the jitter, for tests.
    #[must_use]
    pub fn without_jitter(mut self) -> Self {
        self.jitter = false;
        self
    }

    /// Sets the predicate for errors that are retried, in place of the default.
    #[must_use]
    pub fn retry_on(mut self, predicate: impl Fn(&NodeError) -> bool + Send + Sync + 'static) -> Self {
        self.retry_on = Arc::new(predicate);
        self
    }

    /// Returns the delay after attempt `attempt` failed; `random` in 0..1 scales the jitter.
    #[must_use]
    pub fn delay(&self, attempt: u32, random: f64) -> Duration {
        let exponent = i32::try_from(attempt.saturating_sub(1)).unwrap_or(i32::MAX);
        let seconds = self.initial_interval.as_secs_f64() * self.backoff_factor.powi(exponent);
        let capped = seconds.min(self.max_interval.as_secs_f64());
        let jitter = if self.jitter { capped * 0.1 * random } else { 0.0 };
        Duration::from_secs_f64((capped + jitter).max(0.0))
    }
}

/// Returns the first policy whose predicate matches an error.
pub(crate) fn first_matching<'a>(policies: &'a [RetryPolicy], error: &NodeError) -> Option<&'a RetryPolicy> {
    policies.iter().find(|policy| (policy.retry_on)(error))
}

/// Returns true for timeouts, lost connections, overload and server errors; false for invalid input.
fn is_transient(error: &NodeError) -> bool {
    if let Some(retryable) = error.retryable {
        return retryable;
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
    matches!(error.error.kind(), ErrorKind::External { retry: true }) && error.error.code() != ErrorCode::NodeFailed
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
