//! What runs say, for any number of readers: held for a while in a ring for each thread, read again from the store before.
//!
//! Nothing waits for a reader. A reader asks at its own speed; one that is so far behind that the ring has let go of what
//! it needs is told so and comes back with the number it has, which the store then answers. Everything here may be lost
//! with the process: what is kept is in the store.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use serde_json::Value;
use superstep::core::id::{RunId, ThreadId};
use superstep::{KeptEvent, StreamEvent};
use tokio::sync::watch;

mod feed;

pub use feed::{Feed, FeedEnd, Stop};

use crate::config::RingSize;

/// One event for readers.
#[derive(Debug)]
pub struct Told {
    number: u64,
    is_preview: bool,
    text: String,
    event: OnceLock<Value>,
}

impl Told {
    /// Its number: rises along the thread, and is the id of a server-sent event.
    #[must_use]
    pub fn number(&self) -> u64 {
        self.number
    }

    /// Whether it is a preview: not stored, and whole in a later event.
    #[must_use]
    pub fn is_preview(&self) -> bool {
        self.is_preview
    }

    /// The event of version 2, as JSON text.
    #[must_use]
    pub fn text(&self) -> &str {
        &self.text
    }

    /// The event of version 2.
    #[must_use]
    pub fn event(&self) -> &Value {
        self.event.get_or_init(|| serde_json::from_str(&self.text).unwrap_or_default())
    }

    /// What kind of event, such as `on_chain_start`.
    #[must_use]
    pub fn kind(&self) -> &str {
        self.event()["event"].as_str().unwrap_or_default()
    }

    fn live(event: &StreamEvent) -> Self {
        let text = serde_json::to_string(event).unwrap_or_default();
        Self { number: number(event), is_preview: event.is_preview(), text, event: OnceLock::new() }
    }

    fn stored(kept: KeptEvent) -> Self {
        let text = kept.event.to_string();
        Self { number: kept.number, is_preview: false, text, event: OnceLock::from(kept.event) }
    }
}

/// The one place that reads the number of an event which is told live: it rises along the thread.
fn number(event: &StreamEvent) -> u64 {
    event.metadata.seq
}

/// What is told of every thread that runs, or did a moment ago.
pub(crate) struct Hub {
    lines: Mutex<BTreeMap<ThreadId, Arc<Line>>>,
    size: RingSize,
}

/// What is told of one thread.
pub(crate) struct Line {
    ring: Mutex<Ring>,
    size: RingSize,
    /// Changes whenever there is something to look at.
    changed: watch::Sender<u64>,
}

struct Ring {
    told: VecDeque<Arc<Told>>,
    /// What was told before something with a lower number that is still to come.
    early: BTreeMap<u64, Arc<Told>>,
    bytes: usize,
    /// Everything above this was told here; nothing before the first event.
    from: Option<u64>,
    /// The last that the ring has let go of.
    let_go: u64,
    run: Option<RunId>,
    state: State,
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum State {
    Live,
    Over(Instant),
    Shutdown,
}

/// What a reader finds behind a number.
pub(crate) enum Found {
    Events(Vec<Arc<Told>>),
    /// Nothing yet.
    Nothing,
    /// What it needs is no longer here.
    TooSlow,
    Over,
    Shutdown,
}

/// How many events a reader takes at once.
const BATCH: usize = 256;

impl Hub {
    pub(crate) fn new(size: RingSize) -> Self {
        Self { lines: Mutex::default(), size }
    }

    /// Opens the line of a thread for a run.
    pub(crate) fn open(&self, thread: &ThreadId, run: RunId) -> Arc<Line> {
        let mut lines = lock(&self.lines);
        lines.retain(|_, line| !line.is_stale());
        let line = lines.entry(thread.clone()).or_insert_with(|| Arc::new(Line::new(self.size)));
        line.begin(run);
        line.clone()
    }

    /// The line of a thread, where it runs or did a moment ago.
    pub(crate) fn line(&self, thread: &ThreadId) -> Option<Arc<Line>> {
        lock(&self.lines).get(thread).filter(|line| !line.is_stale()).cloned()
    }

    /// Forgets lines that nobody needs any more.
    pub(crate) fn sweep(&self) {
        lock(&self.lines).retain(|_, line| !line.is_stale());
    }

    /// Tells every reader that the server stops.
    pub(crate) fn shut_down(&self) {
        lock(&self.lines).values().for_each(|line| line.suspend());
    }
}

impl Line {
    fn new(size: RingSize) -> Self {
        let (told, early, state) = (VecDeque::new(), BTreeMap::new(), State::Live);
        let ring = Ring { told, early, bytes: 0, from: None, let_go: 0, run: None, state };
        Self { ring: Mutex::new(ring), size, changed: watch::Sender::new(0) }
    }

    fn begin(&self, run: RunId) {
        let mut ring = lock(&self.ring);
        (ring.run, ring.state) = (Some(run), State::Live);
    }

    /// Tells an event to whoever reads, in the order of the numbers: parallel tasks speak while one of them is saved, so an
    /// event may come before one with a lower number. It then waits for that one.
    pub(crate) fn tell(&self, event: &StreamEvent) {
        let told = Arc::new(Told::live(event));
        let mut ring = lock(&self.ring);
        let next = ring.told.back().map_or(told.number, |last| last.number + 1);
        // After a run that died, the numbers of the next begin far above.
        if told.number <= next || is_start(event) {
            ring.push(told, self.size);
            ring.catch_up(self.size);
        } else {
            ring.early.insert(told.number, told);
            if ring.early.len() > BATCH {
                ring.let_through(self.size);
            }
        }
        drop(ring);
        self.wake();
    }

    /// Whether something waits for an event that has not come.
    pub(crate) fn holds_back(&self) -> bool {
        !lock(&self.ring).early.is_empty()
    }

    /// Tells what waits, whatever is missing: it was let go of, and is told by nobody.
    pub(crate) fn let_through(&self) {
        let mut ring = lock(&self.ring);
        ring.let_through(self.size);
        drop(ring);
        self.wake();
    }

    /// The run is over. Readers get what is left; those of a later run on the thread are not concerned.
    pub(crate) fn over(&self, run: RunId) {
        let mut ring = lock(&self.ring);
        if ring.run == Some(run) {
            ring.let_through(self.size);
            ring.state = State::Over(Instant::now());
        }
        drop(ring);
        self.wake();
    }

    /// The run goes on with another server. Readers get what is left, and come back.
    pub(crate) fn suspend(&self) {
        let mut ring = lock(&self.ring);
        if ring.state == State::Live {
            ring.let_through(self.size);
            ring.state = State::Shutdown;
        }
        drop(ring);
        self.wake();
    }

    fn wake(&self) {
        self.changed.send_modify(|count| *count += 1);
    }

    fn is_stale(&self) -> bool {
        let stays: Duration = self.size.stays;
        matches!(lock(&self.ring).state, State::Over(since) if since.elapsed() > stays)
    }

    /// What is at or below this is in the store alone; nothing when that is not known yet.
    fn floor(&self) -> Option<u64> {
        let ring = lock(&self.ring);
        ring.from.map(|from| from.max(ring.let_go))
    }

    /// What comes after a number.
    fn after(&self, number: u64) -> Found {
        let ring = lock(&self.ring);
        if ring.let_go > number {
            return Found::TooSlow;
        }
        let first = ring.told.partition_point(|told| told.number <= number);
        if first < ring.told.len() {
            return Found::Events(ring.told.range(first..).take(BATCH).cloned().collect());
        }
        match ring.state {
            State::Live => Found::Nothing,
            State::Over(_) => Found::Over,
            State::Shutdown => Found::Shutdown,
        }
    }
}

impl Ring {
    fn push(&mut self, told: Arc<Told>, size: RingSize) {
        self.from.get_or_insert(told.number.saturating_sub(1));
        self.bytes += told.text.len();
        // As a rule at the end.
        let place = self.told.partition_point(|other| other.number < told.number);
        self.told.insert(place, told);
        while self.told.len() > size.events || (self.bytes > size.bytes && self.told.len() > 1) {
            let Some(gone) = self.told.pop_front() else { break };
            (self.bytes, self.let_go) = (self.bytes - gone.text.len(), self.let_go.max(gone.number));
        }
    }

    /// Takes in what waited for the event that has just come.
    fn catch_up(&mut self, size: RingSize) {
        while let Some(entry) = self.early.first_entry() {
            if self.told.back().is_some_and(|last| *entry.key() > last.number + 1) {
                return;
            }
            let told = entry.remove();
            self.push(told, size);
        }
    }

    fn let_through(&mut self, size: RingSize) {
        for told in std::mem::take(&mut self.early).into_values() {
            self.push(told, size);
        }
    }
}

/// Whether a run begins with this.
fn is_start(event: &StreamEvent) -> bool {
    event.event == "on_chain_start" && event.parent_ids().is_empty()
}

/// A lock whose holder panicked holds nothing that could be half done.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
