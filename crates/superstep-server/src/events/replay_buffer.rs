//! Replay buffer of one thread: releases events in the order of their numbers, and retains them until they are
//! persisted.
//!
//! A client that reconnects is served from the journal and then from the buffer, so the buffer may evict persisted
//! events, and previews, which are never persisted. Events that are not persisted yet stay, up to a hard limit;
//! past that limit the buffer remembers up to which number unpersisted events were evicted.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use crate::config::ReplayBufferConfig;
use crate::events::broadcast::{PublishedEvent, READ_BATCH, ReadResult};

/// Factor by which the buffer may exceed its size for events that are not persisted yet.
const MAX_UNPERSISTED_FACTOR: usize = 16;

/// Replay buffer of one thread.
pub(crate) struct ReplayBuffer {
    events: VecDeque<BufferedEvent>,
    /// Events that arrived before one with a lower number.
    out_of_order: BTreeMap<u64, Arc<PublishedEvent>>,
    /// Size of all buffered events in bytes.
    bytes: usize,
    /// Number above which every event was released here; `None` before the first event.
    released_after: Option<u64>,
    /// Number of the last released event.
    last_number: Option<u64>,
    /// Number of the last evicted event.
    last_evicted: u64,
    /// Number of the last event known to be persisted. Every event with a lower number is persisted too, or never
    /// will be.
    persisted_up_to: u64,
    /// Number of the last event that was evicted before it was persisted.
    last_evicted_unpersisted: u64,
    config: ReplayBufferConfig,
}

struct BufferedEvent {
    event: Arc<PublishedEvent>,
    /// True if events right before this one never arrived here; the journal may have them.
    follows_gap: bool,
}

/// Range of events that only the journal has.
#[derive(Clone, Copy)]
pub(crate) struct JournalRange {
    /// Last number of the range.
    pub(crate) end: u64,
    /// Last number that is not persisted yet; 0 if the whole range is persisted.
    pub(crate) unpersisted_up_to: u64,
}

impl ReplayBuffer {
    pub(crate) fn new(config: ReplayBufferConfig) -> Self {
        let (events, out_of_order) = (VecDeque::new(), BTreeMap::new());
        Self {
            events,
            out_of_order,
            bytes: 0,
            released_after: None,
            last_number: None,
            last_evicted: 0,
            persisted_up_to: 0,
            last_evicted_unpersisted: 0,
            config,
        }
    }

    /// Inserts an event. An event that arrives too early waits for its predecessors; the first event of a run does
    /// not, because what is missing before it belongs to an earlier run.
    pub(crate) fn insert(&mut self, event: Arc<PublishedEvent>, is_start: bool) {
        let next = self.last_number.map_or(event.number, |last| last + 1);
        if event.number < next {
            // The event comes too late: it is in the journal, or contained in full in a later event.
            return;
        }
        self.bytes += event.text.len();
        if event.number == next || is_start {
            let follows_gap = event.number > next;
            self.push(event, follows_gap);
            self.drain_in_order();
        } else {
            self.out_of_order.insert(event.number, event);
        }
        self.evict();
    }

    /// Marks all events up to a number as persisted.
    pub(crate) fn mark_persisted(&mut self, number: u64) {
        self.persisted_up_to = self.persisted_up_to.max(number);
        self.evict();
    }

    /// Returns true if an event waits for an earlier one that has not arrived.
    pub(crate) fn has_gap(&self) -> bool {
        !self.out_of_order.is_empty()
    }

    /// Releases events whose missing predecessors are persisted: subscribers read those from the journal.
    pub(crate) fn skip_persisted_gap(&mut self) {
        while self.out_of_order.first_key_value().is_some_and(|(first, _)| *first <= self.persisted_up_to + 1) {
            self.skip_gap();
        }
    }

    /// Closes the buffer at the end of the run: no event follows, and events not persisted by now never will be.
    pub(crate) fn close(&mut self) {
        while self.has_gap() {
            self.skip_gap();
        }
        self.last_evicted_unpersisted = 0;
        self.evict();
    }

    /// Closes the buffer at shutdown: drops the events that wait, because clients that reconnect find them after
    /// their predecessors.
    pub(crate) fn close_for_shutdown(&mut self) {
        self.bytes -= self.out_of_order.values().map(|event| event.text.len()).sum::<usize>();
        self.out_of_order.clear();
    }

    /// Returns the range that only the journal has; `None` if it is not known yet.
    pub(crate) fn journal_range(&self) -> Option<JournalRange> {
        let unpersisted_up_to =
            if self.last_evicted_unpersisted > self.persisted_up_to { self.last_evicted_unpersisted } else { 0 };
        self.released_after.map(|start| JournalRange { end: start.max(self.last_evicted), unpersisted_up_to })
    }

    /// Reads the events after a number; `None` if there are none yet.
    pub(crate) fn read_after(&self, number: u64) -> Option<ReadResult> {
        if self.last_evicted > number {
            return Some(ReadResult::Lagged);
        }
        let first = self.events.partition_point(|buffered| buffered.event.number <= number);
        let next = self.events.get(first)?;
        if next.follows_gap && next.event.number > number + 1 {
            return Some(ReadResult::Gap(next.event.number - 1));
        }
        let rest = self.events.range(first + 1..).take_while(|buffered| !buffered.follows_gap);
        Some(ReadResult::Events(
            std::iter::once(next).chain(rest).take(READ_BATCH).map(|buffered| buffered.event.clone()).collect(),
        ))
    }

    fn push(&mut self, event: Arc<PublishedEvent>, follows_gap: bool) {
        self.released_after.get_or_insert(event.number.saturating_sub(1));
        self.last_number = Some(event.number);
        self.events.push_back(BufferedEvent { event, follows_gap });
    }

    /// Releases the events that waited for the last one.
    fn drain_in_order(&mut self) {
        while let Some(entry) = self.out_of_order.first_entry()
            && self.last_number.is_none_or(|last| *entry.key() == last + 1)
        {
            let event = entry.remove();
            self.push(event, false);
        }
    }

    /// Releases the events that wait for the first missing one.
    fn skip_gap(&mut self) {
        if let Some((_, event)) = self.out_of_order.pop_first() {
            self.push(event, true);
            self.drain_in_order();
        }
    }

    fn evict(&mut self) {
        while self.exceeds_limit(1) && self.events.len() + self.out_of_order.len() > 1 {
            let exceeds_hard_limit = self.exceeds_limit(MAX_UNPERSISTED_FACTOR);
            match self.events.front() {
                Some(first) if exceeds_hard_limit || self.is_evictable(&first.event) => self.evict_first(),
                None if exceeds_hard_limit => self.abandon_gap(),
                _ => return,
            }
        }
    }

    fn exceeds_limit(&self, factor: usize) -> bool {
        let count = self.events.len() + self.out_of_order.len();
        count > self.config.max_events.saturating_mul(factor)
            || self.bytes > self.config.max_bytes.saturating_mul(factor)
    }

    /// Returns true if a client that reconnects does not need the event from the buffer.
    fn is_evictable(&self, event: &PublishedEvent) -> bool {
        event.is_preview || event.number <= self.persisted_up_to
    }

    fn evict_first(&mut self) {
        let Some(BufferedEvent { event, .. }) = self.events.pop_front() else { return };
        (self.bytes, self.last_evicted) = (self.bytes - event.text.len(), event.number);
        if !self.is_evictable(&event) {
            self.last_evicted_unpersisted = event.number;
        }
    }

    /// Gives up a gap because the events that wait for it exceed the limit: subscribers read them from the journal
    /// once they are persisted.
    fn abandon_gap(&mut self) {
        let Some((first, _)) = self.out_of_order.first_key_value() else { return };
        self.last_evicted = first - 1;
        self.last_evicted_unpersisted = self.last_evicted;
        self.skip_gap();
    }
}

#[cfg(test)]
mod tests {
    use std::sync::OnceLock;

    use super::*;

    fn buffer_of(max_events: usize) -> ReplayBuffer {
        ReplayBuffer::new(ReplayBufferConfig { max_events, ..ReplayBufferConfig::default() })
    }

    fn publish(buffer: &mut ReplayBuffer, numbers: impl IntoIterator<Item = u64>) {
        for number in numbers {
            let event = PublishedEvent { number, is_preview: false, text: String::new(), event: OnceLock::new() };
            buffer.insert(Arc::new(event), number == 1);
        }
    }

    fn numbers_after(buffer: &ReplayBuffer, number: u64) -> Vec<u64> {
        match buffer.read_after(number) {
            Some(ReadResult::Events(events)) => events.iter().map(|event| event.number).collect(),
            _ => Vec::new(),
        }
    }

    /// R-SRV-9: events after a missing event are released with it, or once it is persisted; subscribers then read
    /// it from the journal.
    #[test]
    fn a_missing_event_is_awaited_until_it_arrives_or_is_persisted() {
        let mut buffer = buffer_of(100);
        publish(&mut buffer, [1, 2, 5, 4]);
        buffer.skip_persisted_gap();
        assert_eq!((numbers_after(&buffer, 0), buffer.has_gap()), (vec![1, 2], true));
        publish(&mut buffer, [3, 8, 9]);
        assert_eq!(numbers_after(&buffer, 0), [1, 2, 3, 4, 5]);
        // 6 is persisted, and 7 is not.
        buffer.mark_persisted(6);
        buffer.skip_persisted_gap();
        assert!(buffer.has_gap());
        buffer.mark_persisted(7);
        buffer.skip_persisted_gap();
        assert_eq!(numbers_after(&buffer, 0), [1, 2, 3, 4, 5]);
        assert!(matches!(buffer.read_after(5), Some(ReadResult::Gap(7))));
        assert_eq!(numbers_after(&buffer, 7), [8, 9]);
        // 6 and 7 arrive late: subscribers past them have read them from the journal.
        publish(&mut buffer, [6, 7, 10]);
        assert_eq!(numbers_after(&buffer, 7), [8, 9, 10]);
    }

    /// R-SRV-9, R-SRV-18: a shutdown does not lead subscribers past an event that is still being persisted.
    #[test]
    fn out_of_order_events_are_not_published_at_shutdown() {
        let mut buffer = buffer_of(100);
        publish(&mut buffer, [1, 2, 4, 5]);
        buffer.close_for_shutdown();
        assert_eq!((numbers_after(&buffer, 0), buffer.has_gap()), (vec![1, 2], false));
        assert!(buffer.read_after(2).is_none());
    }

    /// R-SRV-9: events evicted over the limit are reported as missing until they are persisted, whether they were
    /// released or wait for a missing event.
    #[test]
    fn evicted_events_are_missing_until_they_are_persisted() {
        let mut buffer = buffer_of(2);
        buffer.mark_persisted(1);
        publish(&mut buffer, 1..=20);
        assert_eq!(buffer.journal_range().map(|range| (range.end, range.unpersisted_up_to)), Some((1, 0)));
        assert_eq!(numbers_after(&buffer, 1).len(), 19);
        publish(&mut buffer, 30..=80);
        let range = buffer.journal_range().unwrap();
        assert!(range.end >= 29 && range.unpersisted_up_to == range.end, "{} {}", range.end, range.unpersisted_up_to);
        assert!(matches!(buffer.read_after(20), Some(ReadResult::Lagged)));
        buffer.mark_persisted(80);
        assert_eq!(buffer.journal_range().map(|range| (range.end, range.unpersisted_up_to)), Some((78, 0)));
        assert_eq!(numbers_after(&buffer, 78), [79, 80]);
    }
}
