//! Rejects parts of an imported calendar file: events that the user may not change, and events that need a resource
//! at full capacity.
//!
//! Conflicts of participants do not reject an event, because the imported event takes place anyway; they are
//! reported.

use std::collections::BTreeMap;

use superstep::Result;
use superstep::core::time::Time;

use super::requester::can_modify;
use crate::agents::{conflicts, is_transparent};
use crate::calendar::{CalendarChange, CalendarSnapshot, Event, Recurrence, TimeRange};
use crate::ics::ImportResult;
use crate::models::{Conflict, ConflictType, EventStatus};

/// Checks an import inside the transaction of the change.
pub(super) struct ImportGuard<'a> {
    pub(super) snapshot: &'a CalendarSnapshot,
    pub(super) user: &'a str,
    pub(super) now: Time,
}

impl ImportGuard<'_> {
    /// Returns the rejected UIDs with their reasons.
    ///
    /// Events are checked one after the other in the order of the file. Events that are already on the calendar
    /// come first, so that a new event can take a slot that the file frees by moving another one.
    pub(super) fn rejected_uids(&self, imported: &ImportResult) -> Result<BTreeMap<String, String>> {
        let mut rejected = BTreeMap::new();
        let mut accepted = self.snapshot.clone();
        let is_existing = |(_, changes): &(&str, &[CalendarChange])| {
            changes.iter().any(|change| self.existing_event(change).is_some())
        };
        let (existing, new): (Vec<_>, Vec<_>) = imported.parts().partition(is_existing);
        for (uid, changes) in existing.into_iter().chain(new) {
            let mut candidate = accepted.clone();
            changes.iter().cloned().for_each(|change| candidate.apply(change));
            match self.rejection_reason(changes, &candidate)? {
                Some(reason) => drop(rejected.insert(uid.to_owned(), reason)),
                None => accepted = candidate,
            }
        }
        Ok(rejected)
    }

    /// Returns the reason why changes are rejected, if they are; `candidate` is the calendar with the changes applied.
    fn rejection_reason(&self, changes: &[CalendarChange], candidate: &CalendarSnapshot) -> Result<Option<String>> {
        let affected = changes.iter().filter_map(|change| self.existing_event(change));
        // An override changes its series, even if the override itself is new.
        let mut affected = affected.chain(changes.iter().filter_map(|change| self.series(change)));
        if affected.any(|event| !can_modify(self.snapshot, self.user, event)) {
            return Ok(Some("you do not have permission to change the event on the calendar".to_owned()));
        }
        let is_full =
            |conflict: &Conflict| conflict.kind == ConflictType::ResourceConflict && conflict.severity.is_blocking();
        for change in changes {
            let CalendarChange::Event(event) = change else { continue };
            if !self.needs_new_resources(event) {
                continue;
            }
            let conflicts = conflicts::detect_conflicts_for_member(candidate, event, self.now, self.user)?;
            if let Some(full) = conflicts.into_iter().find(is_full) {
                return Ok(Some(full.details));
            }
        }
        Ok(None)
    }

    /// Returns true if an event will use resources at times at which it does not use them yet.
    fn needs_new_resources(&self, event: &Event) -> bool {
        let is_over = event.recurrence.is_none() && event.span.end <= self.now;
        let is_unchanged = self
            .snapshot
            .events
            .get(&event.id)
            .is_some_and(|existing| resource_usage(existing) == resource_usage(event));
        event.status == EventStatus::Confirmed && !event.resources.is_empty() && !is_over && !is_unchanged
    }

    /// Returns the existing event that a change concerns.
    fn existing_event(&self, change: &CalendarChange) -> Option<&Event> {
        let id = match change {
            CalendarChange::Event(event) => &event.id,
            CalendarChange::RemoveEvent(id) => id,
            _ => return None,
        };
        self.snapshot.events.get(id).map(AsRef::as_ref)
    }

    /// Returns the existing series to which a change adds an override.
    fn series(&self, change: &CalendarChange) -> Option<&Event> {
        let CalendarChange::Event(event) = change else { return None };
        self.snapshot.events.get(&event.recurrence_override.as_ref()?.series).map(AsRef::as_ref)
    }
}

/// The fields that determine when an event uses which resources.
#[derive(PartialEq)]
struct ResourceUsage<'a> {
    span: TimeRange,
    /// Recurrence rules are expanded in this time zone.
    zone: &'a str,
    is_all_day: bool,
    recurrence: Option<&'a Recurrence>,
    resources: &'a [String],
    /// A transparent event uses no resources.
    is_transparent: bool,
}

fn resource_usage(event: &Event) -> ResourceUsage<'_> {
    ResourceUsage {
        span: event.span,
        zone: &event.zone,
        is_all_day: event.is_all_day,
        recurrence: event.recurrence.as_ref(),
        resources: &event.resources,
        is_transparent: is_transparent(event),
    }
}
