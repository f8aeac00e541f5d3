//! Event journal of one thread, in the order of event numbers.

use superstep_core::error::{Error, Result};
use superstep_core::port::{EventsQuery, StoredEvent, count_duplicates};

use super::field_version::length;

/// Journaled events, and the highest number ever used.
#[derive(Clone, Default)]
pub(super) struct ThreadJournal {
    last: u64,
    kept: Vec<StoredEvent>,
}

impl ThreadJournal {
    pub(super) fn last(&self) -> u64 {
        self.last
    }

    /// Returns the events of a commit that are not stored yet, in order.
    pub(super) fn new_events(&self, mut events: Vec<&StoredEvent>, is_repeat: bool) -> Result<Vec<StoredEvent>> {
        let is_kept = |place: usize| Ok::<_, Error>(self.find(events[place].number) == Some(events[place]));
        let known = count_duplicates(events.iter().map(|event| event.number), self.last, is_repeat, is_kept)?;
        Ok(events.drain(known..).cloned().collect())
    }

    fn find(&self, number: u64) -> Option<&StoredEvent> {
        let place = self.kept.binary_search_by_key(&number, |event| event.number).ok()?;
        Some(&self.kept[place])
    }

    /// Adds events whose numbers follow all stored ones.
    pub(super) fn add(&mut self, events: Vec<StoredEvent>) {
        self.last = events.last().map_or(self.last, |event| event.number);
        self.kept.extend(events);
    }

    pub(super) fn query(&self, query: &EventsQuery) -> Vec<StoredEvent> {
        let first = self.kept.partition_point(|event| query.after.is_some_and(|after| event.number <= after));
        let wanted = self.kept[first..].iter().filter(|event| query.matches(event.number, event.run));
        wanted.take(query.limit.unwrap_or(usize::MAX)).cloned().collect()
    }

    pub(super) fn delete_up_to(&mut self, up_to: u64) {
        self.kept.drain(..self.kept.partition_point(|event| event.number <= up_to));
    }

    /// Returns the total length of all events as JSON, in bytes.
    pub(super) fn bytes(&self) -> u64 {
        self.kept.iter().map(|event| length(&event.payload)).sum()
    }
}
