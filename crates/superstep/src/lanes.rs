//! Several runs on one thread of one graph: who waits, who is refused, who is stopped.
//!
//! Only the order inside this process is kept here; what keeps processes apart is the store's lease.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, Weak};

use superstep_core::error::{Code, Error, Result};
use superstep_core::id::{CheckpointId, ThreadId};
use tokio::sync::OwnedMutexGuard;

use crate::context::lock;
use crate::control::Control;

/// What happens when a thread is asked to run while it runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum WhenBusy {
    /// Waits for its turn.
    #[default]
    Queue,
    /// Is refused.
    Reject,
    /// Stops the running one and keeps what it did.
    Interrupt,
    /// Stops the running one and starts where that one started.
    Rollback,
}

/// The lanes of a graph, one for each thread that runs.
#[derive(Default)]
pub(crate) struct Lanes(Mutex<BTreeMap<ThreadId, Weak<Lane>>>);

#[derive(Default)]
pub(crate) struct Lane {
    turn: Arc<tokio::sync::Mutex<()>>,
    running: Mutex<Option<Running>>,
    /// Where the run that was rolled back had started; the next one starts there.
    rolled_back_to: Mutex<Option<Option<CheckpointId>>>,
}

#[derive(Clone)]
struct Running {
    control: Control,
    base: Option<CheckpointId>,
    rolled_back: bool,
}

/// The turn of one run.
pub(crate) struct Turn {
    lane: Arc<Lane>,
    _guard: OwnedMutexGuard<()>,
    /// Where to start when the run before this one was rolled back.
    pub(crate) base: Option<Option<CheckpointId>>,
}

impl Drop for Turn {
    fn drop(&mut self) {
        if let Some(ended) = lock(&self.lane.running).take().filter(|ended| ended.rolled_back) {
            *lock(&self.lane.rolled_back_to) = Some(ended.base);
        }
    }
}

impl Lanes {
    /// Waits for the turn of a run on a thread, or is refused.
    pub(crate) async fn enter(&self, thread: &ThreadId, control: &Control, when_busy: WhenBusy) -> Result<Turn> {
        let lane = self.lane(thread);
        let guard = match (lane.turn.clone().try_lock_owned(), when_busy) {
            (Ok(guard), _) => guard,
            (Err(_), WhenBusy::Reject) => {
                return Err(Error::new(Code::ThreadBusy, format!("thread `{thread}` already runs"))
                    .help("wait for it, or say what should happen with `when_busy`"));
            }
            (Err(_), WhenBusy::Queue) => lane.turn.clone().lock_owned().await,
            (Err(_), WhenBusy::Interrupt | WhenBusy::Rollback) => {
                lane.stop(when_busy == WhenBusy::Rollback);
                lane.turn.clone().lock_owned().await
            }
        };
        let base = lock(&lane.rolled_back_to).take();
        *lock(&lane.running) = Some(Running { control: control.clone(), base: None, rolled_back: false });
        Ok(Turn { lane, _guard: guard, base })
    }

    fn lane(&self, thread: &ThreadId) -> Arc<Lane> {
        let mut lanes = lock(&self.0);
        if let Some(lane) = lanes.get(thread).and_then(Weak::upgrade) {
            return lane;
        }
        // Now and then only, so that a new thread costs the same however many there are.
        if lanes.len().is_power_of_two() {
            lanes.retain(|_, lane| lane.strong_count() > 0);
        }
        let lane = Arc::new(Lane::default());
        lanes.insert(thread.clone(), Arc::downgrade(&lane));
        lane
    }
}

impl Lane {
    fn stop(&self, roll_back: bool) {
        if let Some(running) = &mut *lock(&self.running) {
            running.rolled_back |= roll_back;
            running.control.cancel();
        }
    }
}

impl Turn {
    /// Remembers where the run started, for a roll-back.
    pub(crate) fn started_at(&self, base: Option<CheckpointId>) {
        if let Some(running) = &mut *lock(&self.lane.running) {
            running.base = base;
        }
    }
}
