//! Time, from outside.

use std::time::Duration;

use super::BoxFuture;

/// Where time comes from: the real one in production, one that tests move in tests.
pub trait Clock: Send + Sync + 'static {
    /// Now, in microseconds since 1970.
    fn now(&self) -> i64;

    /// Ends after a time.
    fn sleep(&self, time: Duration) -> BoxFuture<'static, ()>;
}
