//! The test family: the Smiths, who share a car and a kitchen.

use std::collections::BTreeMap;

use jiff::civil;
use serde_json::json;
use superstep::Result;
use superstep::core::time::Time;
use superstep_scheduler::calendar::{
    Calendar, CalendarChange, CalendarSnapshot, Constraint, ConstraintKind, ConstraintStrength, Event, Family,
    Flexibility, Member, MemberRole, Participant, Preferences, Priority, Recurrence, RecurrenceOverride, Resource,
    TimeRange, Visibility, WeekStart,
};
use superstep_scheduler::models::{Conflict, ConflictType, EventStatus, Severity};

pub(crate) fn time(text: &str) -> Time {
    Time::parse(text).unwrap()
}

pub(crate) fn smiths() -> Family {
    Family {
        id: "smith".to_owned(),
        name: "The Smiths".to_owned(),
        zone: "America/New_York".to_owned(),
        week_start: WeekStart::Sunday,
        always_ask: true,
    }
}

pub(crate) fn member(id: &str, role: MemberRole) -> Member {
    let preferences = Preferences { default_minutes: 45, ..Preferences::default() };
    let aliases = vec![format!("{id}my"), "Schätzchen".to_owned()];
    Member { id: id.to_owned(), name: id.to_uppercase(), aliases, role, zone: None, preferences }
}

pub(crate) fn resource(id: &str, capacity: u32) -> Resource {
    let attributes = BTreeMap::from([("seats".to_owned(), json!(5)), ("range".to_owned(), json!(0.1))]);
    let aliases = vec![format!("our {id}")];
    Resource { id: id.to_owned(), name: id.to_uppercase(), aliases, kind: "thing".to_owned(), capacity, attributes }
}

pub(crate) fn family_objects() -> Vec<CalendarChange> {
    let emma = Member { zone: Some("Europe/Berlin".to_owned()), ..member("emma", MemberRole::Child) };
    let private = Calendar {
        id: "moms".to_owned(),
        name: "Mom's".to_owned(),
        owner: Some("mom".to_owned()),
        visibility: Visibility::Private,
    };
    let shared =
        Calendar { id: "home".to_owned(), name: "Home".to_owned(), owner: None, visibility: Visibility::Family };
    let kind =
        ConstraintKind::BlockedWindow { days: vec![1, 7], from: civil::time(20, 0, 0, 0), to: civil::time(7, 0, 0, 0) };
    vec![
        // Not in dependency order: a change may refer to an object that follows it.
        CalendarChange::Calendar(private),
        CalendarChange::Calendar(shared),
        CalendarChange::Member(member("mom", MemberRole::Parent)),
        CalendarChange::Member(member("dad", MemberRole::Parent)),
        CalendarChange::Member(emma),
        CalendarChange::Resource(resource("car", 1)),
        CalendarChange::Resource(resource("kitchen", 3)),
        CalendarChange::Rule(rule("nights", Some("emma"), kind, ConstraintStrength::Hard)),
        CalendarChange::Rule(rule(
            "few",
            None,
            ConstraintKind::MaxEventsPerDay { count: 4 },
            ConstraintStrength::Soft(7),
        )),
    ]
}

pub(crate) fn rule(id: &str, member: Option<&str>, kind: ConstraintKind, strength: ConstraintStrength) -> Constraint {
    let name = format!("rule {id}");
    Constraint {
        id: id.to_owned(),
        name,
        member: member.map(str::to_owned),
        kind,
        strength,
        is_active: member.is_some(),
    }
}

/// Creates a one-hour event on 10 January 2026 at an hour in New York.
pub(crate) fn event(id: &str, hour: u32, status: EventStatus) -> Event {
    let start = time("2026-01-10T00:00:00-05:00").as_unix_micros() + i64::from(hour) * 3_600_000_000;
    let at = |micros: i64| Time::from_unix_micros(micros).unwrap().in_zone("America/New_York").unwrap();
    Event {
        id: id.to_owned(),
        uid: format!("{id}@smith"),
        calendar: "home".to_owned(),
        title: format!("Event {id}"),
        span: TimeRange::new(at(start), at(start + 3_600_000_000)).unwrap(),
        zone: "America/New_York".to_owned(),
        is_all_day: false,
        participants: vec![Participant { member: "mom".to_owned(), is_required: true }],
        resources: vec!["car".to_owned()],
        recurrence: None,
        recurrence_override: None,
        priority: Priority::Medium,
        flexibility: Flexibility::Preferred,
        status,
        owner: "mom".to_owned(),
        sequence: 0,
        location: String::new(),
        notes: String::new(),
        preserved_properties: Vec::new(),
        created_at: time("2026-01-05T12:00:00Z"),
        updated_at: time("2026-01-05T12:00:00Z"),
    }
}

/// Creates a series with all fields set.
pub(crate) fn piano() -> Event {
    let local_start = |day| civil::date(2026, 1, day).at(17, 0, 0, 0);
    Event {
        span: TimeRange::new(time("2026-01-06T17:00:00-05:00"), time("2026-01-06T18:00:00-05:00")).unwrap(),
        is_all_day: true,
        participants: vec![
            Participant { member: "emma".to_owned(), is_required: true },
            Participant { member: "dad".to_owned(), is_required: false },
        ],
        resources: vec!["kitchen".to_owned(), "car".to_owned()],
        recurrence: Some(Recurrence {
            rule: "FREQ=WEEKLY;BYDAY=TU".to_owned(),
            exdates: vec![local_start(13)],
            rdates: vec![local_start(15), local_start(16)],
        }),
        priority: Priority::Critical,
        flexibility: Flexibility::Fixed,
        owner: "emma".to_owned(),
        sequence: 4,
        location: "Hauptstraße 3".to_owned(),
        notes: "bring 'notes'\nand \"books\"".to_owned(),
        preserved_properties: vec!["X-COLOR:blue".to_owned(), "BEGIN:VALARM".to_owned()],
        created_at: time("2026-01-02T09:00:00.123456+01:00"),
        ..event("piano", 0, EventStatus::Confirmed)
    }
}

/// Creates an override that moves one Tuesday of piano.
pub(crate) fn later_piano() -> Event {
    let start = civil::date(2026, 1, 20).at(17, 0, 0, 0);
    let exception_of = Some(RecurrenceOverride { series: "piano".to_owned(), start });
    Event {
        recurrence_override: exception_of,
        resources: Vec::new(),
        ..event("later-piano", 19, EventStatus::Confirmed)
    }
}

pub(crate) fn put(event: Event) -> CalendarChange {
    CalendarChange::Event(Box::new(event))
}

/// Returns the conflicts with confirmed events that use the same resource at that time.
pub(crate) fn car_is_taken(snapshot: &CalendarSnapshot, event: &Event) -> Result<Vec<Conflict>> {
    let mut conflicts = Vec::new();
    for instance in snapshot.instances(&event.span)? {
        let other = &instance.event;
        let is_other = other.id != event.id && other.status == EventStatus::Confirmed;
        if is_other && event.resources.iter().any(|resource| other.resources.contains(resource)) {
            conflicts.push(conflict(&event.id, &other.id));
        }
    }
    Ok(conflicts)
}

pub(crate) fn conflict(event: &str, other: &str) -> Conflict {
    Conflict {
        id: format!("{event}-{other}"),
        kind: ConflictType::ResourceConflict,
        severity: Severity::High,
        conflicting_event_id: Some(other.to_owned()),
        conflicting_event_title: None,
        participants_affected: vec!["mom".to_owned()],
        details: "the car is taken".to_owned(),
    }
}
