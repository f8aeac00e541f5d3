//! Conflict detection for one event: participants, resources and constraints (R-FAM-106).
//!
//! Time ranges are half-open. A series is checked for 12 months; another event that overlaps several of its
//! instances is one conflict with a count. Proposed events of other members count as busy and are marked tentative.
//! An event never conflicts with itself, and a series never conflicts with its overrides.

use superstep::Result;
use superstep::core::time::Time;

use super::availability_check::AvailabilityCheck;
use super::raw_conflict::{ConflictFormatter, RawConflict};
use super::time_math::year_from;
use super::visibility::Viewer;
use crate::calendar::{CalendarChange, CalendarSnapshot, Event, TimeRange};
use crate::models::{Conflict, EventStatus};
use crate::time_zone::NamedTimeZone;

/// Detects all conflicts of an event, most severe first. A series is checked for the 12 months from its start.
///
/// # Errors
/// Returns an error if a recurrence rule or a time zone, of the event or in the snapshot, is invalid.
pub fn detect_conflicts(snapshot: &CalendarSnapshot, event: &Event) -> Result<Vec<Conflict>> {
    detect_conflicts_from(snapshot, event, event.span.start)
}

/// Detects conflicts like [`detect_conflicts`], but checks only the 12 months from `from` if the event is a series that
/// started earlier. Past conflicts of an old series need no action.
///
/// # Errors
/// As for [`detect_conflicts`].
pub fn detect_conflicts_from(snapshot: &CalendarSnapshot, event: &Event, from: Time) -> Result<Vec<Conflict>> {
    detect_conflicts_for_viewer(snapshot, event, from, Viewer::Member(&event.owner))
}

/// Detects conflicts like [`detect_conflicts_from`], worded for any member instead of the owner. Titles that the member
/// may not see are replaced by "busy".
///
/// # Errors
/// As for [`detect_conflicts`].
pub fn detect_conflicts_for_member(
    snapshot: &CalendarSnapshot,
    event: &Event,
    from: Time,
    member: &str,
) -> Result<Vec<Conflict>> {
    detect_conflicts_for_viewer(snapshot, event, from, Viewer::Member(member))
}

/// Detects conflicts like [`detect_conflicts_from`], worded for a viewer.
pub(super) fn detect_conflicts_for_viewer(
    snapshot: &CalendarSnapshot,
    event: &Event,
    from: Time,
    viewer: Viewer<'_>,
) -> Result<Vec<Conflict>> {
    let formatter = ConflictFormatter::for_viewer(snapshot, viewer)?;
    Ok(raw_conflicts(snapshot, event, from)?.iter().map(|raw| raw.conflict(&event.id, &formatter)).collect())
}

/// Conflicts caused by a set of changes.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct ChangeConflicts {
    /// Conflicts of the requested event, most severe first.
    pub of_event: Vec<Conflict>,
    /// Conflicts of the other changed events: only blocking conflicts that did not exist before.
    pub of_other_events: Vec<Conflict>,
}

impl ChangeConflicts {
    /// Returns true if a conflict forbids writing the changes.
    #[must_use]
    pub fn is_blocking(&self) -> bool {
        self.of_event.iter().any(|conflict| conflict.severity.is_blocking()) || !self.of_other_events.is_empty()
    }
}

/// Detects the conflicts of all events that change between two snapshots, worded for the requester. The requested
/// event gets all its conflicts; every other changed event gets only blocking conflicts that did not exist before.
/// A rejected event has no conflicts.
///
/// # Errors
/// As for [`detect_conflicts`].
pub fn detect_change_conflicts(
    before: &CalendarSnapshot,
    after: &CalendarSnapshot,
    (event, changes): (&Event, &[CalendarChange]),
    requester: &str,
    now: Time,
) -> Result<ChangeConflicts> {
    let own = match event.status {
        EventStatus::Rejected => Vec::new(),
        _ => detect_conflicts_for_member(after, event, now, requester)?,
    };
    let formatter = ConflictFormatter::for_viewer(after, Viewer::Member(requester))?;
    let mut others = Vec::new();
    for change in changes {
        let CalendarChange::Event(other) = change else { continue };
        // The final version of the event comes from the snapshot, because one resolution may change an event twice.
        let Some(other) = after.events.get(&other.id).filter(|other| other.id != event.id) else { continue };
        for raw in new_blocking(before, after, other, now)? {
            let conflict = raw.conflict_with_owner(other, &formatter);
            if !others.contains(&conflict) {
                others.push(conflict);
            }
        }
    }
    Ok(ChangeConflicts { of_event: own, of_other_events: others })
}

/// Detects blocking conflicts of an event that did not exist in an earlier snapshot, worded for a member. A
/// resource that was full before and is now full because of other events, or at other times, is a new conflict.
///
/// # Errors
/// As for [`detect_conflicts`].
pub(crate) fn detect_new_blocking(
    before: &CalendarSnapshot,
    after: &CalendarSnapshot,
    event: &Event,
    from: Time,
    member: &str,
) -> Result<Vec<Conflict>> {
    let formatter = ConflictFormatter::for_viewer(after, Viewer::Member(member))?;
    Ok(new_blocking(before, after, event, from)?.iter().map(|raw| raw.conflict(&event.id, &formatter)).collect())
}

fn new_blocking(
    before: &CalendarSnapshot,
    after: &CalendarSnapshot,
    event: &Event,
    from: Time,
) -> Result<Vec<RawConflict>> {
    let previous = match before.events.get(&event.id) {
        Some(old) => raw_conflicts(before, old, from)?,
        None => Vec::new(),
    };
    let is_old = |conflict: &RawConflict| {
        previous
            .iter()
            .any(|old| old.key == conflict.key && conflict.overlapping_instances.is_subset(&old.overlapping_instances))
    };
    let mut conflicts = raw_conflicts(after, event, from)?;
    conflicts.retain(|conflict| conflict.severity.is_blocking() && !is_old(conflict));
    Ok(conflicts)
}

fn raw_conflicts(snapshot: &CalendarSnapshot, event: &Event, from: Time) -> Result<Vec<RawConflict>> {
    let availability = AvailabilityCheck::new(snapshot, event, &horizon(event, from)?)?;
    Ok(availability.conflicts(availability.spans()))
}

/// Returns the time range in which an event is checked for conflicts.
pub(super) fn horizon(event: &Event, from: Time) -> Result<TimeRange> {
    if event.recurrence.is_none() {
        return Ok(event.span);
    }
    year_from(&NamedTimeZone::from_iana_name(&event.zone)?, event.span.start.max(from))
}
