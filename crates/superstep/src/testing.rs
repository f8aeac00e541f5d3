//! Help for tests of graphs: a clock that tests move, a store that dies on command, a run on tape, models that follow a script.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::task::{Poll, Waker};
use std::time::Duration;

use superstep_core::error::{Code, Error, Result};
use superstep_core::forward_checkpointer;
use superstep_core::machine::World;
use superstep_core::port::{BoxFuture, Checkpointer, Clock, Commit, SharedCheckpointer};

use crate::context::lock;

mod tape;

pub use crate::model::{Reply, Scripted};
pub use tape::Tape;

/// What happens to the write a store dies at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LastWrite {
    /// It never reached the disk.
    Lost,
    /// It reached the disk, but nobody heard of it.
    Kept,
}

/// A store that works until its `n`-th commit and is dead from then on, as if the process had been killed there.
///
/// ```
/// use superstep::Memory;
/// use superstep::testing::{CrashAt, LastWrite};
/// let disk = Memory::new();
/// let store = CrashAt::new(disk.clone(), 3, LastWrite::Lost);
/// assert!(!store.has_crashed());
/// ```
#[derive(Clone)]
pub struct CrashAt(Arc<Dying>);

struct Dying {
    disk: SharedCheckpointer,
    at: usize,
    last: LastWrite,
    commits: AtomicUsize,
    dead: AtomicBool,
}

impl CrashAt {
    /// Dies at the commit with this number, counted from 0.
    pub fn new(disk: impl Into<SharedCheckpointer>, at: usize, last: LastWrite) -> Self {
        let (commits, dead) = (AtomicUsize::new(0), AtomicBool::new(false));
        Self(Arc::new(Dying { disk: disk.into(), at, last, commits, dead }))
    }

    /// True once it has died.
    #[must_use]
    pub fn has_crashed(&self) -> bool {
        self.0.dead.load(Ordering::SeqCst)
    }

    fn alive(&self) -> Result<&SharedCheckpointer> {
        if self.has_crashed() { Err(gone()) } else { Ok(&self.0.disk) }
    }
}

fn gone() -> Error {
    Error::new(Code::StoreUnavailable, "the store crashed, as the test asked")
}

impl Checkpointer for CrashAt {
    forward_checkpointer!(this => this.0.disk; release);
    forward_checkpointer!(this => this.alive()?; acquire, load, history, threads, status, namespaces);
    forward_checkpointer!(this => this.alive()?; delete_thread, copy_thread, prune, stats);
    forward_checkpointer!(this => this.alive()?; events, last_event, forget_events);

    async fn commit(&self, commit: &Commit) -> Result<()> {
        let disk = self.alive()?;
        if self.0.commits.fetch_add(1, Ordering::SeqCst) < self.0.at {
            return disk.commit(commit).await;
        }
        self.0.dead.store(true, Ordering::SeqCst);
        if self.0.last == LastWrite::Kept {
            disk.commit(commit).await?;
        }
        Err(gone())
    }
}

/// A clock that stands still until a test moves it.
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
pub struct ManualClock(Arc<Mutex<Hands>>);

#[derive(Default)]
struct Hands {
    now: i64,
    sleepers: BTreeMap<(i64, usize), Option<Waker>>,
    count: usize,
}

impl ManualClock {
    /// A clock at 1970.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Moves the clock on and wakes who has slept enough.
    pub fn advance(&self, time: Duration) {
        let mut hands = lock(&self.0);
        hands.now += i64::try_from(time.as_micros()).unwrap_or(i64::MAX);
        let now = hands.now;
        for (_, waker) in hands.sleepers.iter_mut().take_while(|((due, _), _)| *due <= now) {
            if let Some(waker) = waker.take() {
                waker.wake();
            }
        }
    }

    /// How many sleep.
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
            let mut hands = lock(&clock.0);
            hands.count += 1;
            (hands.now.saturating_add(micros), hands.count)
        };
        let sleeper = Sleeper { clock, key };
        Box::pin(std::future::poll_fn(move |context| {
            let mut hands = lock(&sleeper.clock.0);
            if hands.now >= sleeper.key.0 {
                return Poll::Ready(());
            }
            hands.sleepers.insert(sleeper.key, Some(context.waker().clone()));
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

/// Times and ids that count up from a seed: two runs of the same world are equal to the last bit.
pub struct CountingWorld(AtomicUsize);

impl CountingWorld {
    /// A world that starts here.
    #[must_use]
    pub fn new(seed: usize) -> Arc<Self> {
        Arc::new(Self(AtomicUsize::new(seed)))
    }
}

impl World for CountingWorld {
    fn now(&self) -> i64 {
        0
    }

    fn fresh(&self) -> u128 {
        self.0.fetch_add(1, Ordering::SeqCst) as u128 + 1
    }
}
