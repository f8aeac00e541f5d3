//! One reader: what is stored after its number, then what the ring has, then what is told live.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use superstep::core::id::ThreadId;
use superstep::{Code, EventsQuery};
use tokio::sync::watch;

use super::{BATCH, Found, Leaving, Line, Told};
use crate::config::Pace;
use crate::problem::Problem;
use crate::registry::Served;

/// Every event of a thread after a number, once and in order, until the run ends.
#[must_use = "a feed tells nothing until it is asked"]
pub struct Feed {
    thread: ThreadId,
    served: Arc<dyn Served>,
    line: Option<(Arc<Line>, watch::Receiver<u64>)>,
    /// The number of the last event that was given.
    last: u64,
    ready: VecDeque<Arc<Told>>,
    reads_store: bool,
    /// Up to here the ring has something left out that may be in the store.
    gap: u64,
    /// Up to here the store has told everything there is.
    caught_up: u64,
    end: Option<FeedEnd>,
    /// Dropped with the feed: a reader that left before the end stops the run, where it was asked to.
    leaving: Option<Leaving>,
    pub(crate) pace: Pace,
}

/// Why a feed has no more events.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub enum FeedEnd {
    /// The run is over, or there is none.
    Over,
    /// The reader was too far behind: it comes back with the last number it has.
    TooSlow,
    /// The server stops: the reader comes back with the last number it has.
    Shutdown,
    /// The store could not be read, or does not have yet what comes next.
    Failed(Problem),
}

impl Feed {
    pub(crate) fn new(
        (thread, after): (ThreadId, Option<u64>),
        served: Arc<dyn Served>,
        line: Option<Arc<Line>>,
        pace: Pace,
    ) -> Self {
        let line = line.map(|line| {
            let changed = line.changed.subscribe();
            (line, changed)
        });
        let (last, ready) = (after.unwrap_or_default(), VecDeque::new());
        let (reads_store, gap, caught_up, end, leaving) = (true, 0, 0, None, None);
        Self { thread, served, line, last, ready, reads_store, gap, caught_up, end, leaving, pace }
    }

    pub(crate) fn leaving(mut self, leaving: Option<Leaving>) -> Self {
        self.leaving = leaving;
        self
    }

    /// The thread.
    #[must_use]
    pub fn thread(&self) -> &ThreadId {
        &self.thread
    }

    /// The next event, or `None` when there are no more; [`Feed::end`] then says why.
    ///
    /// # Cancel safety
    /// Dropping the future loses no event; the next call returns it.
    pub async fn next(&mut self) -> Option<Arc<Told>> {
        loop {
            if let Some(told) = self.ready.pop_front() {
                self.last = told.number;
                return Some(told);
            }
            if self.end.is_some() {
                return None;
            }
            if self.reads_store {
                self.read_store().await;
                continue;
            }
            let Some((line, changed)) = &mut self.line else {
                self.finish(FeedEnd::Over);
                continue;
            };
            // Previews that the ring has let go of are nowhere; what they said is in what was read.
            self.last = self.last.max(std::mem::take(&mut self.caught_up));
            changed.borrow_and_update();
            match line.after(self.last) {
                Found::Events(told) => self.ready = told.into(),
                // The line is held here, so its sender lives.
                Found::Nothing => drop(changed.changed().await),
                Found::Gap(up_to) => (self.reads_store, self.gap) = (true, up_to),
                Found::TooSlow => self.finish(FeedEnd::TooSlow),
                Found::Over => self.finish(FeedEnd::Over),
                Found::Shutdown => self.finish(FeedEnd::Shutdown),
            }
        }
    }

    /// Why there are no more events, once there are none.
    #[must_use]
    pub fn end(&self) -> Option<&FeedEnd> {
        self.end.as_ref()
    }

    fn finish(&mut self, end: FeedEnd) {
        if let Some(leaving) = self.leaving.take() {
            leaving.stay();
        }
        self.end = Some(end);
    }

    /// Reads on in the store, up to where the ring begins or has something again.
    async fn read_store(&mut self) {
        // Looked at first: what is stored from then on is read too.
        let below = self.line.as_ref().and_then(|(line, _)| line.below());
        let floor = below.map(|below| below.floor.max(self.gap));
        if floor.is_some_and(|floor| floor <= self.last) {
            self.reads_store = false;
            return;
        }
        let query = EventsQuery { after: Some(self.last), limit: Some(BATCH), ..EventsQuery::default() };
        match self.served.events(&self.thread, &query).await {
            Ok(kept) => {
                let (found, top) = (kept.len(), floor.unwrap_or(u64::MAX));
                let below_top = kept.into_iter().filter(|kept| kept.number <= top);
                self.ready = below_top.map(|kept| Arc::new(Told::stored(kept))).collect();
                if found < BATCH || self.ready.len() < found {
                    (self.reads_store, self.caught_up) = (false, floor.unwrap_or(0));
                    let reached = self.ready.back().map_or(self.last, |told| told.number);
                    if below.is_some_and(|below| below.owed > reached) {
                        self.finish(FeedEnd::Failed(unsaved(&self.thread)));
                    }
                }
            }
            Err(problem) => self.finish(FeedEnd::Failed(problem)),
        }
    }
}

/// What the reader needs next was said, and is neither held any more nor stored yet: it must not go past that.
fn unsaved(thread: &ThreadId) -> Problem {
    let detail = "more was said than is held, and it is not stored yet";
    let problem = Problem::new(503, Code::StoreUnavailable, detail).retry_after(Duration::from_secs(2));
    problem.hint("come back with the last id once the run has saved more").on_thread(thread)
}
