//! Calendars with a series, and their instances in a time range.

use std::sync::Arc;

use jiff::civil::DateTime;
use superstep::core::time::Time;
use superstep_scheduler::calendar::{
    CalendarChange, CalendarSnapshot, Event, EventInstance, Family, Flexibility, Priority, Recurrence, TimeRange,
    WeekStart,
};
use superstep_scheduler::models::EventStatus;
use superstep_scheduler::time_zone::NamedTimeZone;

pub(crate) const NEW_YORK: &str = "America/New_York";

/// Parses a local time such as `2026-03-03T17:00`.
pub(crate) fn local_time(text: &str) -> DateTime {
    text.parse().unwrap()
}

pub(crate) fn zone(name: &str) -> NamedTimeZone {
    NamedTimeZone::from_iana_name(name).unwrap()
}

pub(crate) fn time(text: &str) -> Time {
    Time::parse(text).unwrap()
}

pub(crate) fn empty_snapshot() -> CalendarSnapshot {
    CalendarSnapshot::new(Family {
        id: "family".to_owned(),
        name: "The Millers".to_owned(),
        zone: NEW_YORK.to_owned(),
        week_start: WeekStart::Monday,
        always_ask: false,
    })
}

/// Creates a confirmed event with a duration in minutes.
pub(crate) fn event(id: &str, zone_name: &str, first: &str, minutes: i64) -> Event {
    let start = zone(zone_name).to_instant(local_time(first)).unwrap();
    let end = Time::from_unix_micros(start.as_unix_micros() + minutes * 60_000_000).unwrap();
    Event {
        id: id.to_owned(),
        uid: format!("{id}@example.org"),
        calendar: "home".to_owned(),
        title: "Piano".to_owned(),
        span: TimeRange::new(start, zone(zone_name).with_local_offset(end).unwrap()).unwrap(),
        zone: zone_name.to_owned(),
        is_all_day: false,
        participants: Vec::new(),
        resources: Vec::new(),
        recurrence: None,
        recurrence_override: None,
        priority: Priority::Medium,
        flexibility: Flexibility::Preferred,
        status: EventStatus::Confirmed,
        owner: "mom".to_owned(),
        sequence: 0,
        location: String::new(),
        notes: String::new(),
        preserved_properties: Vec::new(),
        created_at: time("2026-01-01T00:00:00Z"),
        updated_at: time("2026-01-01T00:00:00Z"),
    }
}

/// Creates a series of one-hour events.
pub(crate) fn series(zone_name: &str, first: &str, rule: &str) -> Event {
    let recurrence = Recurrence { rule: rule.to_owned(), exdates: Vec::new(), rdates: Vec::new() };
    Event { recurrence: Some(recurrence), ..event("piano", zone_name, first, 60) }
}

pub(crate) fn snapshot_with(events: impl IntoIterator<Item = Event>) -> CalendarSnapshot {
    let mut snapshot = empty_snapshot();
    for event in events {
        snapshot.apply(CalendarChange::Event(Box::new(event)));
    }
    snapshot
}

/// Returns the range between two days in UTC.
pub(crate) fn days(from: &str, until: &str) -> TimeRange {
    TimeRange::new(time(&format!("{from}T00:00:00Z")), time(&format!("{until}T00:00:00Z"))).unwrap()
}

pub(crate) fn on(snapshot: &CalendarSnapshot, within: &TimeRange) -> Vec<EventInstance> {
    snapshot.instances(within).unwrap()
}

/// Returns the starts of all instances as text.
pub(crate) fn starts(snapshot: &CalendarSnapshot, within: &TimeRange) -> Vec<String> {
    on(snapshot, within).iter().map(|instance| instance.span.start.to_string()).collect()
}

/// Returns the starts of a single event as text.
pub(crate) fn starts_of(event: Event, within: &TimeRange) -> Vec<String> {
    starts(&snapshot_with([event]), within)
}

pub(crate) fn event_by_id(snapshot: &CalendarSnapshot, id: &str) -> Arc<Event> {
    snapshot.events.get(id).unwrap().clone()
}
