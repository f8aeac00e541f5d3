//! What runs say, for any number of readers: held for a while in a ring for each thread, read again from the store before.
//!
//! Nothing waits for a reader. A reader asks at its own speed; one that is so far behind that the ring has let go of what
//! it needs is told so and comes back with the number it has, which the store then answers. Numbers rise for every reader,
//! and none that is stored is left out. Everything here may be lost with the process: what is kept is in the store.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use serde_json::Value;
use superstep::core::id::{RunId, ThreadId};
use superstep::{KeptEvent, StreamEvent};
use tokio::sync::watch;

mod feed;
mod ring;
mod stop;
mod stored;

pub use feed::{Feed, FeedEnd};
use ring::{Below, Ring};
pub use stop::Stop;
pub(crate) use stop::{Brake, Leaving};
pub(crate) use stored::Heard;

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
    now: Mutex<Now>,
    /// For this long after the end of the run.
    stays: Duration,
    /// Changes whenever there is something to look at.
    changed: watch::Sender<u64>,
}

struct Now {
    ring: Ring,
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
    /// Only the store has what is between the number and this one.
    Gap(u64),
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

    /// The store has the events of a thread up to a number.
    fn stored(&self, thread: &ThreadId, number: u64) {
        // The lines are not held while one is busy.
        let line = lock(&self.lines).get(thread).cloned();
        if let Some(line) = line {
            lock(&line.now).ring.stored(number);
        }
    }

    /// Forgets a thread; whoever reads it comes to the end.
    pub(crate) fn forget(&self, thread: &ThreadId) {
        if let Some(line) = lock(&self.lines).remove(thread) {
            line.close_if(|_| true, State::Over(Instant::now()));
        }
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
        let now = Now { ring: Ring::new(size), run: None, state: State::Live };
        Self { now: Mutex::new(now), stays: size.stays, changed: watch::Sender::new(0) }
    }

    fn begin(&self, run: RunId) {
        let mut now = lock(&self.now);
        (now.run, now.state) = (Some(run), State::Live);
    }

    /// Tells an event to whoever reads, in the order of the numbers: parallel tasks speak while one of them is saved, so an
    /// event may come before one with a lower number. It then waits for that one, however long it takes: where a graph saves
    /// only at its end, what graphs inside say of their checkpoints comes then, and what follows waits for it.
    pub(crate) fn tell(&self, event: &StreamEvent) {
        lock(&self.now).ring.take(Arc::new(Told::live(event)), is_start(event));
        self.wake();
    }

    /// Whether something waits for an event that has not come.
    pub(crate) fn holds_back(&self) -> bool {
        lock(&self.now).ring.holds_back()
    }

    /// Tells what waits for events that are stored and were not told: readers are sent to the store for them.
    pub(crate) fn pass_stored(&self) {
        lock(&self.now).ring.pass_stored();
        self.wake();
    }

    /// The run is over. Readers get what is left; those of a later run on the thread are not concerned.
    pub(crate) fn over(&self, run: RunId) {
        self.close_if(|now| now.run == Some(run), State::Over(Instant::now()));
    }

    /// The run goes on with another server. Readers get what is left in order, and come back.
    pub(crate) fn suspend(&self) {
        self.close_if(|now| now.state == State::Live, State::Shutdown);
    }

    fn close_if(&self, is_meant: impl FnOnce(&Now) -> bool, state: State) {
        let mut now = lock(&self.now);
        if is_meant(&now) {
            match state {
                State::Shutdown => now.ring.cut(),
                _ => now.ring.end(),
            }
            now.state = state;
        }
        drop(now);
        self.wake();
    }

    fn wake(&self) {
        self.changed.send_modify(|count| *count += 1);
    }

    fn is_stale(&self) -> bool {
        matches!(lock(&self.now).state, State::Over(since) if since.elapsed() > self.stays)
    }

    /// What the store alone has; nothing when that is not known yet.
    fn below(&self) -> Option<Below> {
        lock(&self.now).ring.below()
    }

    /// What comes after a number.
    fn after(&self, number: u64) -> Found {
        let now = lock(&self.now);
        now.ring.after(number).unwrap_or(match now.state {
            State::Live => Found::Nothing,
            State::Over(_) => Found::Over,
            State::Shutdown => Found::Shutdown,
        })
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
