//! What a board remembers of its events, so that nothing is read or sought twice.
//!
//! Follows from the events alone: two boards are equal whatever they remember, and copies share it.

use std::sync::{Arc, OnceLock};

use imbl::{OrdMap, OrdSet};
use jiff::civil::DateTime;
use superstep::Result;

use super::event::Event;
use super::recurrence::Timetable;

/// What is remembered.
#[derive(Debug, Clone, Default)]
pub(super) struct Index {
    /// How each series repeats, read when first asked for.
    tables: OrdMap<String, Arc<Remembered>>,
    /// Exceptions by series, then by the start on the wall that they stand for, then by id.
    exceptions: OrdSet<(String, DateTime, String)>,
}

#[derive(Debug)]
struct Remembered {
    event: Arc<Event>,
    table: OnceLock<Arc<Timetable>>,
}

impl PartialEq for Index {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl Index {
    /// Takes note of an event that is now on the board.
    pub(super) fn put(&mut self, event: &Arc<Event>) {
        if event.recurrence.is_some() {
            let remembered = Remembered { event: event.clone(), table: OnceLock::new() };
            self.tables.insert(event.id.clone(), Arc::new(remembered));
        }
        if let Some(of) = &event.exception_of {
            self.exceptions.insert((of.series.clone(), of.start, event.id.clone()));
        }
    }

    /// Forgets an event that is no longer on the board, or no longer like this.
    pub(super) fn forget(&mut self, event: &Event) {
        self.tables.remove(&event.id);
        if let Some(of) = &event.exception_of {
            self.exceptions.remove(&(of.series.clone(), of.start, event.id.clone()));
        }
    }

    /// How an event repeats.
    ///
    /// # Errors
    /// When its rule or zone cannot be read.
    pub(super) fn table(&self, event: &Arc<Event>) -> Result<Arc<Timetable>> {
        // Somebody may ask for an event as it might become, which is not on the board.
        let remembered = self.tables.get(&event.id).filter(|remembered| Arc::ptr_eq(&remembered.event, event));
        let Some(remembered) = remembered else { return Ok(Arc::new(Timetable::read(event)?)) };
        if let Some(table) = remembered.table.get() {
            return Ok(table.clone());
        }
        let table = Arc::new(Timetable::read(event)?);
        Ok(remembered.table.get_or_init(|| table).clone())
    }

    /// The exceptions of a series that stand for starts from one time on the wall up to another: what each stands for,
    /// and its id.
    pub(super) fn exceptions(
        &self,
        series: &str,
        from: DateTime,
        until: DateTime,
    ) -> impl Iterator<Item = (DateTime, &str)> {
        let least = (series.to_owned(), from, String::new());
        let series = series.to_owned();
        let is_in = move |one: &&(String, DateTime, String)| one.0 == series && one.1 <= until;
        self.exceptions.range(least..).take_while(is_in).map(|(_, start, id)| (*start, id.as_str()))
    }
}
