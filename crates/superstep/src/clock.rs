//! Real time and real ids: the one place of the engine that looks at the world.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use superstep_core::machine::World;
use superstep_core::port::{BoxFuture, Clock};

/// The clock of the machine.
#[derive(Debug, Clone, Copy, Default)]
pub struct SystemClock;

impl Clock for SystemClock {
    fn now(&self) -> i64 {
        #[expect(clippy::disallowed_methods, reason = "the one place where real time enters")]
        let now = SystemTime::now();
        now.duration_since(UNIX_EPOCH).map_or(0, |time| i64::try_from(time.as_micros()).unwrap_or(i64::MAX))
    }

    fn sleep(&self, time: Duration) -> BoxFuture<'static, ()> {
        #[expect(clippy::disallowed_methods, reason = "the one place where real time passes")]
        Box::pin(tokio::time::sleep(time))
    }
}

/// Fresh ids: time first, so that they sort, then a counter, then what sets processes apart.
pub(crate) struct Fresh {
    clock: Arc<dyn Clock>,
    process: u64,
    last: AtomicU64,
}

impl Fresh {
    pub(crate) fn new(clock: Arc<dyn Clock>) -> Self {
        let mut seed = [0; 8];
        // Without randomness ids are still unique in this process, and fenced writes catch the rest.
        #[expect(clippy::disallowed_methods, reason = "the one place where randomness enters")]
        let _ = getrandom::fill(&mut seed);
        Self { clock, process: u64::from_le_bytes(seed), last: AtomicU64::new(0) }
    }
}

impl World for Fresh {
    fn now(&self) -> i64 {
        self.clock.now()
    }

    fn fresh(&self) -> u128 {
        let now = u64::try_from(self.clock.now()).unwrap_or(0);
        // Microseconds, pushed on by one where two ids fall into the same: never the same twice.
        let mut last = self.last.load(Ordering::Relaxed);
        let stamp = loop {
            let next = now.max(last + 1);
            match self.last.compare_exchange_weak(last, next, Ordering::Relaxed, Ordering::Relaxed) {
                Ok(_) => break next,
                Err(seen) => last = seen,
            }
        };
        (u128::from(stamp) << 64) | u128::from(self.process ^ stamp.rotate_left(17))
    }
}
