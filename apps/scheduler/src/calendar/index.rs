//! Caches of a snapshot: parsed recurrences and overrides by series.
//!
//! The index is derived from the events alone. Two snapshots are equal regardless of their caches, and clones share
//! the caches.

use std::sync::{Arc, OnceLock};

use imbl::{OrdMap, OrdSet};
use jiff::civil::DateTime;
use superstep::Result;

use super::event::Event;
use super::recurrence::RecurrenceExpander;

/// Derived data of a snapshot.
#[derive(Debug, Clone, Default)]
pub(super) struct SnapshotIndex {
    /// Recurrence expanders by event id, parsed on first use.
    expanders: OrdMap<String, Arc<CachedExpander>>,
    /// Overrides, sorted by series, then by the local start of the instance they replace, then by id.
    overrides: OrdSet<(String, DateTime, String)>,
}

#[derive(Debug)]
struct CachedExpander {
    event: Arc<Event>,
    expander: OnceLock<Arc<RecurrenceExpander>>,
}

impl PartialEq for SnapshotIndex {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl SnapshotIndex {
    /// Adds an event of the snapshot.
    pub(super) fn insert(&mut self, event: &Arc<Event>) {
        if event.recurrence.is_some() {
            let cached = CachedExpander { event: event.clone(), expander: OnceLock::new() };
            self.expanders.insert(event.id.clone(), Arc::new(cached));
        }
        if let Some(replaced) = &event.recurrence_override {
            self.overrides.insert((replaced.series.clone(), replaced.start, event.id.clone()));
        }
    }

    /// Removes an event that was deleted from the snapshot or is about to be replaced.
    pub(super) fn remove(&mut self, event: &Event) {
        self.expanders.remove(&event.id);
        if let Some(replaced) = &event.recurrence_override {
            self.overrides.remove(&(replaced.series.clone(), replaced.start, event.id.clone()));
        }
    }

    /// Returns the recurrence expander of an event.
    ///
    /// # Errors
    /// Returns an error if the recurrence rule or the time zone is invalid.
    pub(super) fn expander(&self, event: &Arc<Event>) -> Result<Arc<RecurrenceExpander>> {
        // The event may be a draft that is not in the snapshot, so the cache is used only for the same allocation.
        let cached = self.expanders.get(&event.id).filter(|cached| Arc::ptr_eq(&cached.event, event));
        let Some(cached) = cached else { return Ok(Arc::new(RecurrenceExpander::from_event(event)?)) };
        if let Some(expander) = cached.expander.get() {
            return Ok(expander.clone());
        }
        let expander = Arc::new(RecurrenceExpander::from_event(event)?);
        Ok(cached.expander.get_or_init(|| expander).clone())
    }

    /// Returns the overrides of a series for a range of local starts: the start of the replaced instance and the id
    /// of the override.
    pub(super) fn overrides(
        &self,
        series: &str,
        from: DateTime,
        until: DateTime,
    ) -> impl Iterator<Item = (DateTime, &str)> {
        let first_key = (series.to_owned(), from, String::new());
        let series = series.to_owned();
        let is_in = move |entry: &&(String, DateTime, String)| entry.0 == series && entry.1 <= until;
        self.overrides.range(first_key..).take_while(is_in).map(|(_, start, id)| (*start, id.as_str()))
    }
}
