//! Event journal of one thread, in the order of event numbers.

use superstep_core::error::{Error, Result};
use superstep_core::port::{EventsQuery, StoredEvent, count_duplicates};

use super::field_version::length;

/// Journaled events, and the highest number ever used.
#[derive(Clone, Default)]
pub(super) struct ThreadJournal {
    last: u64,
    events: Vec<StoredEvent>,
}

impl ThreadJournal {
    pub(super) fn last(&self) -> u64 {
        self.last
    }

    /// Returns the events of a commit that are not stored yet, in order.
    pub(super) fn new_events(&self, mut events: Vec<&StoredEvent>, is_repeat: bool) -> Result<Vec<StoredEvent>> {
        let is_saved = |index: usize| Ok::<_, Error>(self.find(events[index].number) == Some(events[index]));
        let duplicates = count_duplicates(events.iter().map(|event| event.number), self.last, is_repeat, is_saved)?;
        Ok(events.drain(duplicates..).cloned().collect())
    }

    fn find(&self, number: u64) -> Option<&StoredEvent> {
        let index = self.events.binary_search_by_key(&number, |event| event.number).ok()?;
        Some(&self.events[index])
    }

    /// Adds events whose numbers follow all stored ones.
    pub(super) fn add(&mut self, events: Vec<StoredEvent>) {
        self.last = events.last().map_or(self.last, |event| event.number);
        self.events.extend(events);
    }

    pub(super) fn query(&self, query: &EventsQuery) -> Vec<StoredEvent> {
        let first = self.events.partition_point(|event| query.after.is_some_and(|after| event.number <= after));
        let matching = self.events[first..].iter().filter(|event| query.matches(event.number, event.run));
        matching.take(query.limit.unwrap_or(usize::MAX)).cloned().collect()
    }

    pub(super) fn delete_up_to(&mut self, up_to: u64) {
        self.events.drain(..self.events.partition_point(|event| event.number <= up_to));
    }

    /// Returns the total length of all events as JSON, in bytes.
    pub(super) fn bytes(&self) -> u64 {
        self.events.iter().map(|event| length(&event.payload)).sum()
    }
}
