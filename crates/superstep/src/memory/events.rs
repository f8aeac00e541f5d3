//! What runs on one thread said and is kept, in the order of numbers.

use superstep_core::error::{Error, Result};
use superstep_core::port::{EventsQuery, StoredEvent, events_known};

use super::version::length;

/// Events, and the last number there ever was.
#[derive(Clone, Default)]
pub(super) struct Events {
    last: u64,
    kept: Vec<StoredEvent>,
}

impl Events {
    pub(super) fn last(&self) -> u64 {
        self.last
    }

    /// Those of a commit, in their order, that are still to be kept.
    pub(super) fn unsaved(&self, mut events: Vec<&StoredEvent>, is_repeat: bool) -> Result<Vec<StoredEvent>> {
        let is_kept = |place: usize| Ok::<_, Error>(self.find(events[place].number) == Some(events[place]));
        let known = events_known(events.iter().map(|event| event.number), self.last, is_repeat, is_kept)?;
        Ok(events.drain(known..).cloned().collect())
    }

    fn find(&self, number: u64) -> Option<&StoredEvent> {
        let place = self.kept.binary_search_by_key(&number, |event| event.number).ok()?;
        Some(&self.kept[place])
    }

    /// Keeps events that come after all others.
    pub(super) fn add(&mut self, events: Vec<StoredEvent>) {
        self.last = events.last().map_or(self.last, |event| event.number);
        self.kept.extend(events);
    }

    pub(super) fn ask(&self, query: &EventsQuery) -> Vec<StoredEvent> {
        let first = self.kept.partition_point(|event| query.after.is_some_and(|after| event.number <= after));
        let wanted = self.kept[first..].iter().filter(|event| query.matches(event.number, event.run));
        wanted.take(query.limit.unwrap_or(usize::MAX)).cloned().collect()
    }

    pub(super) fn forget(&mut self, up_to: u64) {
        self.kept.drain(..self.kept.partition_point(|event| event.number <= up_to));
    }

    /// How long all of them are as JSON.
    pub(super) fn bytes(&self) -> u64 {
        self.kept.iter().map(|event| length(&event.body)).sum()
    }
}
