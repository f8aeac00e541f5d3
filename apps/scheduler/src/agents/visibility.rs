//! Permissions: which events a member may see and change. Also the time zone of a member.

use superstep::Result;

use crate::calendar::series::SeriesSelection;
use crate::calendar::{CalendarChange, CalendarSnapshot, Event, MemberRole, Visibility};
use crate::models::EventStatus;
use crate::time_zone::NamedTimeZone;

/// Title of an event that the viewer may not see.
pub(crate) const BUSY: &str = "busy";

/// The viewer of a result: one member, or the whole family.
#[derive(Debug, Clone, Copy)]
pub(super) enum Viewer<'a> {
    Member(&'a str),
    Family,
}

impl Viewer<'_> {
    /// Returns true if the viewer may see the details of an event. Its time is always visible.
    pub(super) fn sees(self, snapshot: &CalendarSnapshot, event: &Event) -> bool {
        let calendar = snapshot.calendars.get(&event.calendar);
        if calendar.is_none_or(|calendar| calendar.visibility == Visibility::Family) {
            return true;
        }
        let Self::Member(member) = self else { return false };
        let is_owner =
            event.owner == member || calendar.is_some_and(|calendar| calendar.owner.as_deref() == Some(member));
        is_owner || event.participants.iter().any(|participant| participant.member == member)
    }

    /// Returns true if the viewer may see the title of an event. Proposed events are shown only to their owner.
    pub(super) fn can_see_proposal(self, snapshot: &CalendarSnapshot, event: &Event) -> bool {
        let is_own = matches!(self, Self::Member(member) if event.owner == member);
        (event.status == EventStatus::Confirmed || is_own) && self.sees(snapshot, event)
    }

    /// Returns the title of an event for the viewer.
    pub(super) fn title(self, snapshot: &CalendarSnapshot, event: &Event) -> String {
        if self.can_see_proposal(snapshot, event) { event.title.clone() } else { BUSY.to_owned() }
    }

    /// Returns the time zone of the viewer. Default: the time zone of the family, also for an unknown member.
    pub(super) fn zone(self, snapshot: &CalendarSnapshot) -> Result<NamedTimeZone> {
        let member = match self {
            Self::Member(member) => snapshot.members.get(member),
            Self::Family => None,
        };
        NamedTimeZone::from_iana_name(member.and_then(|member| member.zone.as_deref()).unwrap_or(&snapshot.family.zone))
    }
}

/// Returns true if a member may see the details of an event. Its time is always visible.
pub(crate) fn can_see_details(snapshot: &CalendarSnapshot, member: &str, event: &Event) -> bool {
    Viewer::Member(member).sees(snapshot, event)
}

/// Returns the title of an event for a member.
pub(crate) fn visible_title(snapshot: &CalendarSnapshot, member: &str, event: &Event) -> String {
    Viewer::Member(member).title(snapshot, event)
}

/// Returns the time zone in which times are shown to a member.
///
/// # Errors
/// Returns an error if the time zone is unknown.
pub(crate) fn time_zone_of(snapshot: &CalendarSnapshot, member: &str) -> Result<NamedTimeZone> {
    Viewer::Member(member).zone(snapshot)
}

/// Returns true if a member may change an event: parents may change all events they see, others only their own.
pub(crate) fn can_modify(snapshot: &CalendarSnapshot, member: &str, event: &Event) -> bool {
    let record = snapshot.members.get(member);
    record.is_some_and(|record| record.role == MemberRole::Parent || event.owner == record.id)
        && can_see_details(snapshot, member, event)
}

/// Returns true if a member may change an event, or the selected instances of its series. Permission to change an
/// override does not include permission to change the other instances.
pub(crate) fn can_modify_instances(
    snapshot: &CalendarSnapshot,
    member: &str,
    event: &Event,
    selection: SeriesSelection,
) -> bool {
    let others = event.recurrence_override.as_ref().filter(|_| !matches!(selection, SeriesSelection::This(_)));
    let series = others.and_then(|replaced| snapshot.events.get(&replaced.series));
    can_modify(snapshot, member, event) && series.is_none_or(|series| can_modify(snapshot, member, series))
}

/// Returns the snapshot with only the events a member may see. Messages of the member are parsed against this
/// snapshot, so that hidden events cannot be matched.
pub(crate) fn visible_snapshot(snapshot: &CalendarSnapshot, member: &str) -> CalendarSnapshot {
    let mut visible = snapshot.clone();
    for event in snapshot.events.values().filter(|event| !can_see_details(snapshot, member, event)) {
        visible.apply(CalendarChange::RemoveEvent(event.id.clone()));
        // A hidden override would let its instance reappear at the old time, so that instance is excluded.
        let Some(replaced) = &event.recurrence_override else { continue };
        let Some(series) = visible.events.get(&replaced.series).filter(|series| series.status <= event.status) else {
            continue;
        };
        let mut series = series.as_ref().clone();
        if let Some(recurrence) = &mut series.recurrence {
            recurrence.exdates.push(replaced.start);
            visible.apply(CalendarChange::Event(Box::new(series)));
        }
    }
    visible
}
