//! Test utilities for graphs: a manual clock, a checkpointer that crashes, recorded runs, scripted models.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::task::{Poll, Waker};
use std::time::Duration;

use superstep_core::delegate_checkpointer;
use superstep_core::error::{Error, ErrorCode, Result};
use superstep_core::machine::Environment;
use superstep_core::port::{BoxFuture, Checkpointer, Clock, Commit, SharedCheckpointer};

use crate::engine::context::lock;

mod cassette;

pub use crate::models::{ScriptedModel, ScriptedReply};
pub use cassette::Cassette;

/// Effect of a crash on the commit during which it happens.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CrashedWrite {
    /// The commit was not persisted.
    Lost,
    /// The commit was persisted, but the caller received no response.
    Persisted,
}

/// A checkpointer that works until its `n`-th commit and fails from then on, as if the process had been killed there.
///
/// ```
/// use superstep::MemoryCheckpointer;
/// use superstep::testing::{CrashingCheckpointer, CrashedWrite};
/// let disk = MemoryCheckpointer::new();
/// let store = CrashingCheckpointer::new(disk.clone(), 3, CrashedWrite::Lost);
/// assert!(!store.has_crashed());
/// ```
#[derive(Clone)]
pub struct CrashingCheckpointer(Arc<CrashState>);

struct CrashState {
    inner: SharedCheckpointer,
    crash_at: usize,
    crashed_write: CrashedWrite,
    commits: AtomicUsize,
    dead: AtomicBool,
}

impl CrashingCheckpointer {
    /// Creates a checkpointer that crashes at the commit with this index, starting at 0.
    pub fn new(inner: impl Into<SharedCheckpointer>, crash_at: usize, crashed_write: CrashedWrite) -> Self {
        let (commits, dead) = (AtomicUsize::new(0), AtomicBool::new(false));
        Self(Arc::new(CrashState { inner: inner.into(), crash_at, crashed_write, commits, dead }))
    }

    /// Returns true once the checkpointer has crashed.
    #[must_use]
    pub fn has_crashed(&self) -> bool {
        self.0.dead.load(Ordering::SeqCst)
    }

    fn alive(&self) -> Result<&SharedCheckpointer> {
        if self.has_crashed() { Err(crashed_error()) } else { Ok(&self.0.inner) }
    }
}

fn crashed_error() -> Error {
    Error::new(ErrorCode::StoreUnavailable, "the checkpointer crashed, as configured by the test")
}

impl Checkpointer for CrashingCheckpointer {
    delegate_checkpointer!(this => this.0.inner; release);
    delegate_checkpointer!(this => this.alive()?; acquire, load, history, threads, status, namespaces);
    delegate_checkpointer!(this => this.alive()?; delete_thread, copy_thread, prune, stats);
    delegate_checkpointer!(this => this.alive()?; events, last_event_number, delete_events);

    async fn commit(&self, commit: &Commit) -> Result<()> {
        let inner = self.alive()?;
        if self.0.commits.fetch_add(1, Ordering::SeqCst) < self.0.crash_at {
            return inner.commit(commit).await;
        }
        self.0.dead.store(true, Ordering::SeqCst);
        if self.0.crashed_write == CrashedWrite::Persisted {
            inner.commit(commit).await?;
        }
        Err(crashed_error())
    }
}

/// A clock that only advances when a test advances it.
///
/// ```
/// use std::time::Duration;
/// use superstep::core::port::Clock;
/// use superstep::testing::ManualClock;
/// let clock = ManualClock::new();
/// clock.advance(Duration::from_secs(2));
/// assert_eq!(clock.now(), 2_000_000);
/// ```
#[derive(Clone, Default)]
pub struct ManualClock(Arc<Mutex<ManualClockState>>);

#[derive(Default)]
struct ManualClockState {
    now: i64,
    sleepers: BTreeMap<(i64, usize), Option<Waker>>,
    count: usize,
}

impl ManualClock {
    /// Creates a clock that starts at 1970.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Advances the clock and wakes the sleepers whose time has come.
    pub fn advance(&self, time: Duration) {
        let mut state = lock(&self.0);
        state.now += i64::try_from(time.as_micros()).unwrap_or(i64::MAX);
        let now = state.now;
        for (_, waker) in state.sleepers.iter_mut().take_while(|((wake_at, _), _)| *wake_at <= now) {
            if let Some(waker) = waker.take() {
                waker.wake();
            }
        }
    }

    /// Returns the number of sleepers.
    #[must_use]
    pub fn sleepers(&self) -> usize {
        lock(&self.0).sleepers.len()
    }
}

impl Clock for ManualClock {
    fn now(&self) -> i64 {
        lock(&self.0).now
    }

    fn sleep(&self, time: Duration) -> BoxFuture<'static, ()> {
        let (clock, micros) = (self.clone(), i64::try_from(time.as_micros()).unwrap_or(i64::MAX));
        let key = {
            let mut state = lock(&clock.0);
            state.count += 1;
            (state.now.saturating_add(micros), state.count)
        };
        let sleeper = Sleeper { clock, key };
        Box::pin(std::future::poll_fn(move |context| {
            let mut state = lock(&sleeper.clock.0);
            if state.now >= sleeper.key.0 {
                return Poll::Ready(());
            }
            state.sleepers.insert(sleeper.key, Some(context.waker().clone()));
            Poll::Pending
        }))
    }
}

struct Sleeper {
    clock: ManualClock,
    key: (i64, usize),
}

impl Drop for Sleeper {
    fn drop(&mut self) {
        lock(&self.clock.0).sleepers.remove(&self.key);
    }
}

/// Environment with ids that count up from a seed: two runs with the same environment are identical.
pub struct DeterministicEnvironment(AtomicUsize);

impl DeterministicEnvironment {
    /// Creates an environment that starts at a seed.
    #[must_use]
    pub fn new(seed: usize) -> Arc<Self> {
        Arc::new(Self(AtomicUsize::new(seed)))
    }
}

impl Environment for DeterministicEnvironment {
    fn now(&self) -> i64 {
        0
    }

    fn new_id(&self) -> u128 {
        self.0.fetch_add(1, Ordering::SeqCst) as u128 + 1
    }
}
