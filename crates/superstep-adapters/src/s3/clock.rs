//! What time it is for the server.
//!
//! Every answer says it, to the second. Our own clock is kept as long as it agrees with that, because it is finer; one that is
//! wrong is set right, so that machines which share a bucket agree on what has lapsed, and signatures are not too old.

use std::sync::atomic::{AtomicI64, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};

/// The clock of the server: how far ours is behind it, in milliseconds.
#[derive(Default)]
pub(super) struct Clock(AtomicI64);

impl Clock {
    /// Milliseconds since 1970.
    pub(super) fn now(&self) -> i64 {
        ours().saturating_add(self.0.load(Ordering::Relaxed))
    }

    /// Takes note of what an answer said about the time, to a request that was sent when our clock said `sent`.
    pub(super) fn saw(&self, sent: i64, date: &str) {
        if let Ok(date) = jiff::fmt::rfc2822::DateTimeParser::new().parse_timestamp(date) {
            self.settle((sent, ours()), date.as_millisecond());
        }
    }

    /// The server looked at its clock between two times of ours, and a part of a second may have been cut off.
    fn settle(&self, (sent, heard): (i64, i64), server: i64) {
        let (least, most) = (server.saturating_sub(heard), server.saturating_add(1_000).saturating_sub(sent));
        if least <= most {
            self.0.store(self.0.load(Ordering::Relaxed).clamp(least, most), Ordering::Relaxed);
        }
    }
}

/// What our own clock says.
pub(super) fn ours() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_millis()).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// R-FWK-40: a clock that agrees with the server is kept, one that does not is set as little as it takes.
    #[test]
    fn a_clock_that_is_wrong_is_set_right() {
        for (server, behind) in
            [(10_000, 0), (9_500, 0), (10_100, 0), (9_001, 0), (8_000, -1_000), (10_200, 100), (3_610_000, 3_599_900)]
        {
            let clock = Clock::default();
            clock.settle((10_000, 10_100), server);
            assert_eq!(clock.0.load(Ordering::Relaxed), behind, "{server}");
        }
        let clock = Clock::default();
        clock.saw(ours(), "Fri, 24 May 2013 00:00:00 GMT");
        assert!((clock.now() - 1_369_353_600_000).abs() < 5_000);
        clock.saw(ours(), "nonsense");
        assert!((clock.now() - 1_369_353_600_000).abs() < 5_000);
    }
}
