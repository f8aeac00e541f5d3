//! System clock and id source: the only place of the engine that reads time and randomness.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use superstep_core::machine::Environment;
use superstep_core::port::{BoxFuture, Clock};

/// The clock of the operating system.
#[derive(Debug, Clone, Copy, Default)]
pub struct SystemClock;

impl Clock for SystemClock {
    fn now(&self) -> i64 {
        #[expect(clippy::disallowed_methods, reason = "the only place that reads the real clock")]
        let now = SystemTime::now();
        now.duration_since(UNIX_EPOCH).map_or(0, |time| i64::try_from(time.as_micros()).unwrap_or(i64::MAX))
    }

    fn sleep(&self, time: Duration) -> BoxFuture<'static, ()> {
        #[expect(clippy::disallowed_methods, reason = "the only place that sleeps in real time")]
        Box::pin(tokio::time::sleep(time))
    }
}

/// Generator of new ids: time first, so that ids sort by age, then a counter, then a value that differs between
/// processes.
pub(crate) struct SystemEnvironment {
    clock: Arc<dyn Clock>,
    process_id: u64,
    last: AtomicU64,
}

impl SystemEnvironment {
    pub(crate) fn new(clock: Arc<dyn Clock>) -> Self {
        let mut seed = [0; 8];
        // Without randomness ids are still unique in this process, and fenced writes detect collisions between
        // processes.
        #[expect(clippy::disallowed_methods, reason = "the only source of real randomness")]
        let _ = getrandom::fill(&mut seed);
        Self { clock, process_id: u64::from_le_bytes(seed), last: AtomicU64::new(0) }
    }
}

impl Environment for SystemEnvironment {
    fn now(&self) -> i64 {
        self.clock.now()
    }

    fn new_id(&self) -> u128 {
        let now = u64::try_from(self.clock.now()).unwrap_or(0);
        // Microseconds, incremented by one if two ids fall into the same microsecond, so that no value repeats.
        let mut last = self.last.load(Ordering::Relaxed);
        let stamp = loop {
            let next = now.max(last + 1);
            match self.last.compare_exchange_weak(last, next, Ordering::Relaxed, Ordering::Relaxed) {
                Ok(_) => break next,
                Err(seen) => last = seen,
            }
        };
        (u128::from(stamp) << 64) | u128::from(self.process_id ^ stamp.rotate_left(17))
    }
}
