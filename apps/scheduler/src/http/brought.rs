//! What of a calendar file may not be: what is not theirs who bring it, and what wants a thing that is full.
//!
//! People are another matter: what a file says of them happens elsewhere, whether it suits or not, and is told as a conflict.

use std::collections::BTreeMap;

use superstep::Result;
use superstep::core::time::Time;

use super::asker::may_change;
use crate::agents::{conflicts, is_transparent};
use crate::calendar::{Board, Change, Event, Recurrence, Span};
use crate::ics::Imported;
use crate::models::{Conflict, ConflictType, EventStatus};

/// Somebody with a file, while nobody else can change the calendar.
pub(super) struct Bringer<'a> {
    pub(super) board: &'a Board,
    pub(super) user: &'a str,
    pub(super) now: Time,
}

impl Bringer<'_> {
    /// The UIDs that are left out, each with why.
    ///
    /// One after the other gets what it wants, the first of the file first; what is on the calendar already goes before what
    /// is new, so that something can take the place of what the file moves away.
    pub(super) fn refused(&self, imported: &Imported) -> Result<BTreeMap<String, String>> {
        let mut refused = BTreeMap::new();
        let mut taken = self.board.clone();
        let is_known = |(_, changes): &(&str, &[Change])| changes.iter().any(|change| self.known(change).is_some());
        let (known, new): (Vec<_>, Vec<_>) = imported.parts().partition(is_known);
        for (uid, changes) in known.into_iter().chain(new) {
            let mut tried = taken.clone();
            changes.iter().cloned().for_each(|change| tried.apply(change));
            match self.refusal(changes, &tried)? {
                Some(reason) => drop(refused.insert(uid.to_owned(), reason)),
                None => taken = tried,
            }
        }
        Ok(refused)
    }

    /// Why changes may not be; they are made already on `tried`.
    fn refusal(&self, changes: &[Change], tried: &Board) -> Result<Option<String>> {
        let known = changes.iter().filter_map(|change| self.known(change));
        // One that stands for an instance changes the series, even where it is new.
        let mut known = known.chain(changes.iter().filter_map(|change| self.series(change)));
        if known.any(|event| !may_change(self.board, self.user, event)) {
            return Ok(Some("it is on the calendar, and not yours to change".to_owned()));
        }
        let is_full = |one: &Conflict| one.kind == ConflictType::ResourceConflict && one.severity.is_blocking();
        for change in changes {
            let Change::Event(event) = change else { continue };
            if !self.wants_things(event) {
                continue;
            }
            let found = conflicts::find_as(tried, event, self.now, self.user)?;
            if let Some(full) = found.into_iter().find(is_full) {
                return Ok(Some(full.details));
            }
        }
        Ok(None)
    }

    /// Whether an event will use things at times at which it does not use them so far.
    fn wants_things(&self, event: &Event) -> bool {
        let is_over = event.recurrence.is_none() && event.span.end <= self.now;
        let is_as_before = self.board.events.get(&event.id).is_some_and(|known| place(known) == place(event));
        event.status == EventStatus::Confirmed && !event.resources.is_empty() && !is_over && !is_as_before
    }

    /// What a change would change.
    fn known(&self, change: &Change) -> Option<&Event> {
        let id = match change {
            Change::Event(event) => &event.id,
            Change::RemoveEvent(id) => id,
            _ => return None,
        };
        self.board.events.get(id).map(AsRef::as_ref)
    }

    /// The series that a change makes an instance of otherwise.
    fn series(&self, change: &Change) -> Option<&Event> {
        let Change::Event(event) = change else { return None };
        self.board.events.get(&event.exception_of.as_ref()?.series).map(AsRef::as_ref)
    }
}

/// What says when an event uses which things.
#[derive(PartialEq)]
struct Place<'a> {
    span: Span,
    /// A rule falls by the clocks of the zone.
    zone: &'a str,
    is_all_day: bool,
    recurrence: Option<&'a Recurrence>,
    resources: &'a [String],
    /// What takes nobody's time takes no things.
    is_transparent: bool,
}

fn place(event: &Event) -> Place<'_> {
    Place {
        span: event.span,
        zone: &event.zone,
        is_all_day: event.is_all_day,
        recurrence: event.recurrence.as_ref(),
        resources: &event.resources,
        is_transparent: is_transparent(event),
    }
}
