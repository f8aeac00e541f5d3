//! The port for time.

use std::time::Duration;

use super::BoxFuture;

/// The source of time: the system clock in production, a manual clock in tests.
pub trait Clock: Send + Sync + 'static {
    /// Returns the current time, in microseconds since 1970.
    fn now(&self) -> i64;

    /// Returns a future that completes after this duration.
    fn sleep(&self, time: Duration) -> BoxFuture<'static, ()>;
}
