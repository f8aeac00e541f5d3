//! Time and ids of the simulation: time advances when all tasks sleep, ids count up in each process.

use std::collections::BTreeMap;
use std::task::{Poll, Waker};
use std::time::Duration;

use superstep::core::machine::Environment;
use superstep::core::port::{BoxFuture, Clock};

use crate::process::Process;

/// The clock of a schedule.
#[derive(Default)]
pub(crate) struct ClockState {
    pub(crate) now: i64,
    sleepers: BTreeMap<(i64, u64), Option<Waker>>,
    count: u64,
}

impl ClockState {
    /// Advances the time to the next wakeup. Returns false if no task sleeps.
    pub(crate) fn advance_to_next_wakeup(&mut self) -> bool {
        let Some(((wake_at, _), waker)) = self.sleepers.iter_mut().find(|(_, waker)| waker.is_some()) else {
            return false;
        };
        self.now = self.now.max(*wake_at);
        if let Some(waker) = waker.take() {
            waker.wake();
        }
        true
    }

    fn register_sleeper(&mut self, micros: i64) -> (i64, u64) {
        self.count += 1;
        (self.now.saturating_add(micros), self.count)
    }
}

impl Clock for Process {
    fn now(&self) -> i64 {
        self.state().clock.now
    }

    fn sleep(&self, time: Duration) -> BoxFuture<'static, ()> {
        let key = self.state().clock.register_sleeper(i64::try_from(time.as_micros()).unwrap_or(i64::MAX));
        let sleeper = SleepFuture { process: self.clone(), key };
        Box::pin(std::future::poll_fn(move |context| {
            let clock = &mut sleeper.process.state().clock;
            if clock.now >= sleeper.key.0 {
                return Poll::Ready(());
            }
            clock.sleepers.insert(sleeper.key, Some(context.waker().clone()));
            Poll::Pending
        }))
    }
}

struct SleepFuture {
    process: Process,
    key: (i64, u64),
}

impl Drop for SleepFuture {
    fn drop(&mut self) {
        // The waker is dropped after the lock is released: it may be the last reference to a task.
        let _waker = self.process.state().clock.sleepers.remove(&self.key);
    }
}

impl Environment for Process {
    fn now(&self) -> i64 {
        Clock::now(self)
    }

    fn new_id(&self) -> u128 {
        self.state().fresh_id(self.number)
    }
}
