//! A subscription of one client: first the journal after its number, then the replay buffer, then live events.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use superstep::core::id::ThreadId;
use superstep::{ErrorCode, EventsQuery};
use tokio::sync::watch;

use crate::api::problem::Problem;
use crate::config::SseConfig;
use crate::events::broadcast::{CancelOnDrop, PublishedEvent, READ_BATCH, ReadResult, ThreadBroadcast};
use crate::graphs::registry::ServedGraph;

/// A subscription to the events of a thread after a number: yields each event once and in order, until the run ends.
#[must_use = "a subscription yields events only when `next` is called"]
pub struct Subscription {
    thread: ThreadId,
    graph: Arc<dyn ServedGraph>,
    broadcast: Option<(Arc<ThreadBroadcast>, watch::Receiver<u64>)>,
    /// Number of the last event returned.
    last_number: u64,
    buffered: VecDeque<Arc<PublishedEvent>>,
    reads_journal: bool,
    /// Last number of a gap in the replay buffer; its events may be in the journal.
    gap_end: u64,
    /// Number up to which every event of the journal was read.
    journal_read_to: u64,
    end: Option<SubscriptionEnd>,
    /// Cancels the run if the subscription is dropped before its end; `None` if the client does not control the run.
    cancel_on_drop: Option<CancelOnDrop>,
    pub(crate) sse_config: SseConfig,
}

/// Reason why a subscription ended.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub enum SubscriptionEnd {
    /// The run has ended, or there is none.
    RunEnded,
    /// The subscriber lagged too far behind: it should reconnect with the last number it has.
    Lagged,
    /// The server shuts down: the subscriber should reconnect with the last number it has.
    Shutdown,
    /// Reading the journal failed, or the next event is not persisted yet.
    Failed(Problem),
}

impl Subscription {
    pub(crate) fn new(
        (thread, after): (ThreadId, Option<u64>),
        graph: Arc<dyn ServedGraph>,
        broadcast: Option<Arc<ThreadBroadcast>>,
        sse_config: SseConfig,
    ) -> Self {
        let broadcast = broadcast.map(|broadcast| {
            let changed = broadcast.changed.subscribe();
            (broadcast, changed)
        });
        let (last_number, buffered) = (after.unwrap_or_default(), VecDeque::new());
        let (reads_journal, gap_end, journal_read_to, end, cancel_on_drop) = (true, 0, 0, None, None);
        Self {
            thread,
            graph,
            broadcast,
            last_number,
            buffered,
            reads_journal,
            gap_end,
            journal_read_to,
            end,
            cancel_on_drop,
            sse_config,
        }
    }

    pub(crate) fn with_cancel_on_drop(mut self, guard: Option<CancelOnDrop>) -> Self {
        self.cancel_on_drop = guard;
        self
    }

    /// Returns the thread of the subscription.
    #[must_use]
    pub fn thread(&self) -> &ThreadId {
        &self.thread
    }

    /// Returns the next event, or `None` if there are no more; [`Subscription::end`] then returns the reason.
    ///
    /// # Cancel safety
    /// Dropping the future loses no event; the next call returns it.
    pub async fn next(&mut self) -> Option<Arc<PublishedEvent>> {
        loop {
            if let Some(event) = self.buffered.pop_front() {
                self.last_number = event.number;
                return Some(event);
            }
            if self.end.is_some() {
                return None;
            }
            if self.reads_journal {
                self.read_journal().await;
                continue;
            }
            let Some((broadcast, changed)) = &mut self.broadcast else {
                self.close(SubscriptionEnd::RunEnded);
                continue;
            };
            // Evicted previews are not persisted; their content is part of the events read from the journal.
            self.last_number = self.last_number.max(std::mem::take(&mut self.journal_read_to));
            changed.borrow_and_update();
            match broadcast.read_after(self.last_number) {
                ReadResult::Events(events) => self.buffered = events.into(),
                // The subscription holds the broadcast, so the sender is alive and the result cannot be an error.
                ReadResult::Pending => drop(changed.changed().await),
                ReadResult::Gap(up_to) => (self.reads_journal, self.gap_end) = (true, up_to),
                ReadResult::Lagged => self.close(SubscriptionEnd::Lagged),
                ReadResult::RunEnded => self.close(SubscriptionEnd::RunEnded),
                ReadResult::Shutdown => self.close(SubscriptionEnd::Shutdown),
            }
        }
    }

    /// Returns the reason why there are no more events, once the subscription has ended.
    #[must_use]
    pub fn end(&self) -> Option<&SubscriptionEnd> {
        self.end.as_ref()
    }

    fn close(&mut self, end: SubscriptionEnd) {
        if let Some(guard) = self.cancel_on_drop.take() {
            guard.disarm();
        }
        self.end = Some(end);
    }

    /// Reads events from the journal, up to where the replay buffer starts or continues after a gap.
    async fn read_journal(&mut self) {
        // Read before the journal, so that events persisted in between are part of the journal read.
        let range = self.broadcast.as_ref().and_then(|(broadcast, _)| broadcast.journal_range());
        let journal_end = range.map(|range| range.end.max(self.gap_end));
        if journal_end.is_some_and(|end| end <= self.last_number) {
            self.reads_journal = false;
            return;
        }
        let query = EventsQuery { after: Some(self.last_number), limit: Some(READ_BATCH), ..EventsQuery::default() };
        match self.graph.events(&self.thread, &query).await {
            Ok(events) => {
                let (count, end) = (events.len(), journal_end.unwrap_or(u64::MAX));
                let in_range = events.into_iter().filter(|event| event.number <= end);
                self.buffered = in_range.map(|event| Arc::new(PublishedEvent::from_journal(event))).collect();
                if count < READ_BATCH || self.buffered.len() < count {
                    (self.reads_journal, self.journal_read_to) = (false, journal_end.unwrap_or(0));
                    let reached = self.buffered.back().map_or(self.last_number, |event| event.number);
                    if range.is_some_and(|range| range.unpersisted_up_to > reached) {
                        self.close(SubscriptionEnd::Failed(not_yet_persisted(&self.thread)));
                    }
                }
            }
            Err(problem) => self.close(SubscriptionEnd::Failed(problem)),
        }
    }
}

/// Returns the error for a subscriber whose next event was evicted and is not persisted yet: the subscriber must not
/// skip that event.
fn not_yet_persisted(thread: &ThreadId) -> Problem {
    let detail = "the next event was evicted from the replay buffer and is not persisted yet";
    let problem = Problem::new(503, ErrorCode::StoreUnavailable, detail).with_retry_after(Duration::from_secs(2));
    problem.with_hint("reconnect with the last id after the run has persisted more events").with_thread(thread)
}
