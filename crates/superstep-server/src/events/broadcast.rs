//! Broadcasts the events of runs to any number of subscribers: recent events come from a replay buffer per thread,
//! older ones from the journal.
//!
//! Publishing never waits for a subscriber. Each subscriber reads at its own speed; a subscriber that needs events
//! evicted from the buffer is disconnected ([`SubscriptionEnd::Lagged`]), reconnects with its last number, and reads
//! the events from the journal. Numbers increase for every subscriber, and no persisted event is skipped. Nothing here
//! must survive a crash: persisted data is in the checkpointer.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use serde_json::Value;
use superstep::core::id::{RunId, ThreadId};
use superstep::{JournalEvent, StreamEvent};
use tokio::sync::watch;

pub(crate) use crate::events::commit_listener::NotifyingCheckpointer;
use crate::events::replay_buffer::{JournalRange, ReplayBuffer};
pub use crate::events::subscription::{Subscription, SubscriptionEnd};
pub use crate::runs::cancel::CancelMode;
pub(crate) use crate::runs::cancel::{CancelHandle, CancelOnDrop};

use crate::config::ReplayBufferConfig;

/// An event as subscribers receive it.
#[derive(Debug)]
pub struct PublishedEvent {
    pub(crate) number: u64,
    pub(crate) is_preview: bool,
    pub(crate) text: String,
    pub(crate) event: OnceLock<Value>,
}

impl PublishedEvent {
    /// Returns the number of the event, which increases along the thread and is the id of the server-sent event.
    #[must_use]
    pub fn number(&self) -> u64 {
        self.number
    }

    /// Returns true if the event is a preview: not persisted, and contained in full in a later event.
    #[must_use]
    pub fn is_preview(&self) -> bool {
        self.is_preview
    }

    /// Returns the version 2 event as JSON text.
    #[must_use]
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Returns the version 2 event as JSON.
    #[must_use]
    pub fn event(&self) -> &Value {
        self.event.get_or_init(|| serde_json::from_str(&self.text).unwrap_or_default())
    }

    /// Returns the type of the event, such as `on_chain_start`.
    #[must_use]
    pub fn event_type(&self) -> &str {
        self.event()["event"].as_str().unwrap_or_default()
    }

    fn from_live(event: &StreamEvent) -> Self {
        let text = serde_json::to_string(event).unwrap_or_default();
        Self { number: number(event), is_preview: event.is_preview(), text, event: OnceLock::new() }
    }

    pub(crate) fn from_journal(event: JournalEvent) -> Self {
        let text = event.event.to_string();
        Self { number: event.number, is_preview: false, text, event: OnceLock::from(event.event) }
    }
}

/// Returns the number of a live event. No other function reads this field.
fn number(event: &StreamEvent) -> u64 {
    event.metadata.seq
}

/// Broadcasts of all threads that have a run or had one recently.
pub(crate) struct EventBroadcaster {
    threads: Mutex<BTreeMap<ThreadId, Arc<ThreadBroadcast>>>,
    config: ReplayBufferConfig,
}

/// Broadcast of one thread.
pub(crate) struct ThreadBroadcast {
    state: Mutex<BroadcastState>,
    /// Time for which the broadcast stays after the end of the run.
    retention: Duration,
    /// Changes whenever subscribers should read again.
    pub(crate) changed: watch::Sender<u64>,
}

struct BroadcastState {
    buffer: ReplayBuffer,
    run: Option<RunId>,
    stream: StreamState,
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum StreamState {
    Live,
    Ended(Instant),
    Shutdown,
}

/// Result of reading events after a number.
pub(crate) enum ReadResult {
    Events(Vec<Arc<PublishedEvent>>),
    /// No further event yet.
    Pending,
    /// The events between the subscriber's number and this one are only in the journal.
    Gap(u64),
    /// An event that the subscriber needs was evicted.
    Lagged,
    /// The run has ended, and every event was read.
    RunEnded,
    Shutdown,
}

/// Maximum number of events per read.
pub(crate) const READ_BATCH: usize = 256;

impl EventBroadcaster {
    pub(crate) fn new(config: ReplayBufferConfig) -> Self {
        Self { threads: Mutex::default(), config }
    }

    /// Opens the broadcast of a thread for a run.
    pub(crate) fn open(&self, thread: &ThreadId, run: RunId) -> Arc<ThreadBroadcast> {
        let mut threads = lock(&self.threads);
        threads.retain(|_, broadcast| !broadcast.is_stale());
        let broadcast = threads.entry(thread.clone()).or_insert_with(|| Arc::new(ThreadBroadcast::new(self.config)));
        broadcast.start_run(run);
        broadcast.clone()
    }

    /// Returns the broadcast of a thread that has a run or had one recently.
    pub(crate) fn get(&self, thread: &ThreadId) -> Option<Arc<ThreadBroadcast>> {
        lock(&self.threads).get(thread).filter(|broadcast| !broadcast.is_stale()).cloned()
    }

    /// Marks the events of a thread up to a number as persisted.
    pub(crate) fn mark_persisted(&self, thread: &ThreadId, number: u64) {
        // The map is unlocked first, so that a busy thread does not block the others.
        let broadcast = lock(&self.threads).get(thread).cloned();
        if let Some(broadcast) = broadcast {
            lock(&broadcast.state).buffer.mark_persisted(number);
        }
    }

    /// Removes the broadcast of a thread; its subscriptions end.
    pub(crate) fn remove(&self, thread: &ThreadId) {
        if let Some(broadcast) = lock(&self.threads).remove(thread) {
            broadcast.close_if(|_| true, StreamState::Ended(Instant::now()));
        }
    }

    /// Removes broadcasts that have expired.
    pub(crate) fn remove_expired(&self) {
        lock(&self.threads).retain(|_, broadcast| !broadcast.is_stale());
    }

    /// Ends all subscriptions because the server shuts down.
    pub(crate) fn shut_down(&self) {
        lock(&self.threads).values().for_each(|broadcast| broadcast.suspend_run());
    }
}

impl ThreadBroadcast {
    fn new(config: ReplayBufferConfig) -> Self {
        let state = BroadcastState { buffer: ReplayBuffer::new(config), run: None, stream: StreamState::Live };
        Self { state: Mutex::new(state), retention: config.retain_after_end, changed: watch::Sender::new(0) }
    }

    fn start_run(&self, run: RunId) {
        let mut state = lock(&self.state);
        (state.run, state.stream) = (Some(run), StreamState::Live);
    }

    /// Publishes an event in the order of the numbers. Parallel tasks emit events while another event is being
    /// persisted, so an event may arrive before one with a lower number; it then waits for that one, without a
    /// timeout. If a graph commits only at its end, the events of subgraph checkpoints arrive then, and later ones
    /// wait for them.
    pub(crate) fn publish(&self, event: &StreamEvent) {
        lock(&self.state).buffer.insert(Arc::new(PublishedEvent::from_live(event)), is_start(event));
        self.wake();
    }

    /// Returns true if an event waits for an earlier one that has not arrived.
    pub(crate) fn has_gap(&self) -> bool {
        lock(&self.state).buffer.has_gap()
    }

    /// Publishes events that wait only for persisted events that never arrived here: subscribers read those from
    /// the journal.
    pub(crate) fn skip_persisted_gap(&self) {
        lock(&self.state).buffer.skip_persisted_gap();
        self.wake();
    }

    /// Ends a run. Subscribers receive the remaining events; those of a later run on the thread are not affected.
    pub(crate) fn end_run(&self, run: RunId) {
        self.close_if(|state| state.run == Some(run), StreamState::Ended(Instant::now()));
    }

    /// Suspends the run, which continues on another server. Subscribers receive the events that are in order, and
    /// reconnect.
    pub(crate) fn suspend_run(&self) {
        self.close_if(|state| state.stream == StreamState::Live, StreamState::Shutdown);
    }

    fn close_if(&self, is_match: impl FnOnce(&BroadcastState) -> bool, stream: StreamState) {
        let mut state = lock(&self.state);
        if is_match(&state) {
            match stream {
                StreamState::Shutdown => state.buffer.close_for_shutdown(),
                _ => state.buffer.close(),
            }
            state.stream = stream;
        }
        drop(state);
        self.wake();
    }

    fn wake(&self) {
        self.changed.send_modify(|count| *count += 1);
    }

    fn is_stale(&self) -> bool {
        matches!(lock(&self.state).stream, StreamState::Ended(ended_at) if ended_at.elapsed() > self.retention)
    }

    /// Returns the range that only the journal has; `None` if it is not known yet.
    pub(crate) fn journal_range(&self) -> Option<JournalRange> {
        lock(&self.state).buffer.journal_range()
    }

    /// Reads the events after a number.
    pub(crate) fn read_after(&self, number: u64) -> ReadResult {
        let state = lock(&self.state);
        state.buffer.read_after(number).unwrap_or(match state.stream {
            StreamState::Live => ReadResult::Pending,
            StreamState::Ended(_) => ReadResult::RunEnded,
            StreamState::Shutdown => ReadResult::Shutdown,
        })
    }
}

/// Returns true if the event is the first of a run.
fn is_start(event: &StreamEvent) -> bool {
    event.event == "on_chain_start" && event.parent_ids().is_empty()
}

/// Locks a mutex even if it is poisoned: no holder leaves the value half changed.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
