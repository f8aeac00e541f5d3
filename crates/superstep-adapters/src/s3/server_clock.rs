//! The time of the server.
//!
//! Every response contains the time in seconds. The local clock is used as long as it agrees with that, because it is
//! more precise; a wrong local clock is corrected, so that all machines that share a bucket agree on expiry, and
//! signatures are accepted.

use std::sync::atomic::{AtomicI64, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};

/// The clock of the server, as the offset to the local clock in milliseconds.
#[derive(Default)]
pub(super) struct ServerClock(AtomicI64);

impl ServerClock {
    /// Returns milliseconds since 1970.
    pub(super) fn now(&self) -> i64 {
        local_now_millis().saturating_add(self.0.load(Ordering::Relaxed))
    }

    /// Adjusts the offset by the date of a response to a request that was sent at the local time `sent`.
    pub(super) fn observe(&self, sent: i64, date: &str) {
        if let Ok(date) = jiff::fmt::rfc2822::DateTimeParser::new().parse_timestamp(date) {
            self.adjust((sent, local_now_millis()), date.as_millisecond());
        }
    }

    /// Adjusts the offset: the server read its clock between the two local times and truncated it to seconds.
    fn adjust(&self, (sent, received): (i64, i64), server: i64) {
        let (min, max) = (server.saturating_sub(received), server.saturating_add(1_000).saturating_sub(sent));
        if min <= max {
            self.0.store(self.0.load(Ordering::Relaxed).clamp(min, max), Ordering::Relaxed);
        }
    }
}

/// Returns the local time in milliseconds since 1970.
pub(super) fn local_now_millis() -> i64 {
    let elapsed = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(elapsed.as_millis()).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// R-FWK-40: a correct clock is kept, a wrong one is corrected by the smallest amount.
    #[test]
    fn a_wrong_clock_is_corrected() {
        for (server, expected_offset) in
            [(10_000, 0), (9_500, 0), (10_100, 0), (9_001, 0), (8_000, -1_000), (10_200, 100), (3_610_000, 3_599_900)]
        {
            let clock = ServerClock::default();
            clock.adjust((10_000, 10_100), server);
            assert_eq!(clock.0.load(Ordering::Relaxed), expected_offset, "{server}");
        }
        let clock = ServerClock::default();
        clock.observe(local_now_millis(), "Fri, 24 May 2013 00:00:00 GMT");
        assert!((clock.now() - 1_369_353_600_000).abs() < 5_000);
        clock.observe(local_now_millis(), "nonsense");
        assert!((clock.now() - 1_369_353_600_000).abs() < 5_000);
    }
}
