//! Generated family with a full calendar, for benchmarks: every member has many series.

use std::collections::BTreeMap;

use jiff::civil::{DateTime, date};
use superstep::Result;

use crate::calendar::{
    CalendarChange, CalendarSnapshot, Constraint, ConstraintKind, ConstraintStrength, Event, Family, Flexibility,
    Member, MemberRole, Participant, Preferences, Priority, Recurrence, Resource, TimeRange, WeekStart,
};
use crate::models::EventStatus;
use crate::time_zone::NamedTimeZone;

/// Generates a calendar with `people` members, `person_0` and so on, each with `series_each` endless series that
/// start in January 2026.
///
/// Most series are weekly, some on working days or every other week. The first member is a parent. There is a `car`
/// with capacity 1, and constraints of most kinds.
///
/// # Errors
/// Returns an error if a date is outside the supported range, which does not happen with these dates.
pub fn build_snapshot(people: usize, series_each: usize) -> Result<CalendarSnapshot> {
    let zone = NamedTimeZone::from_iana_name("America/New_York")?;
    let mut snapshot = CalendarSnapshot::new(Family {
        id: "family".to_owned(),
        name: "The Millers".to_owned(),
        zone: zone.name().to_owned(),
        week_start: WeekStart::Monday,
        always_ask: false,
    });
    for person in 0..people {
        snapshot.apply(CalendarChange::Member(member(person)));
        for series in 0..series_each {
            snapshot.apply(CalendarChange::Event(Box::new(event(&zone, person, series, people)?)));
        }
    }
    let attributes = BTreeMap::new();
    let (id, name, kind) = ("car".to_owned(), "car".to_owned(), "vehicle".to_owned());
    snapshot.apply(CalendarChange::Resource(Resource { id, name, aliases: Vec::new(), kind, capacity: 1, attributes }));
    for rule in rules() {
        snapshot.apply(CalendarChange::Rule(rule));
    }
    Ok(snapshot)
}

fn member(person: usize) -> Member {
    Member {
        id: format!("person_{person}"),
        name: format!("Person {person}"),
        aliases: Vec::new(),
        role: if person == 0 { MemberRole::Parent } else { MemberRole::Child },
        zone: None,
        preferences: Preferences::default(),
    }
}

/// Generates a series; day, hour and recurrence rule follow from its numbers.
fn event(zone: &NamedTimeZone, person: usize, series: usize, people: usize) -> Result<Event> {
    let number = person * 7 + series * 3;
    let day = i8::try_from(5 + number % 7).unwrap_or(5);
    let start: DateTime = date(2026, 1, day).at(i8::try_from(8 + number % 12).unwrap_or(8), 0, 0, 0);
    let end = start.saturating_add(jiff::Span::new().minutes(45));
    let rule = match series % 10 {
        0 => "FREQ=WEEKLY;BYDAY=MO,TU,WE,TH,FR",
        1 => "FREQ=WEEKLY;INTERVAL=2",
        _ => "FREQ=WEEKLY",
    };
    let first = Participant { member: format!("person_{person}"), is_required: true };
    let second = Participant { member: format!("person_{}", (person + 1) % people), is_required: false };
    let id = format!("series_{person}_{series}");
    let created_at = zone.to_instant(date(2026, 1, 1).at(0, 0, 0, 0))?;
    Ok(Event {
        uid: format!("{id}@example.com"),
        id,
        calendar: "family".to_owned(),
        title: format!("Series {series} of person {person}"),
        span: TimeRange { start: zone.to_instant(start)?, end: zone.to_instant(end)? },
        zone: zone.name().to_owned(),
        is_all_day: false,
        participants: if series.is_multiple_of(4) && people > 1 { vec![first, second] } else { vec![first] },
        resources: if series.is_multiple_of(5) { vec!["car".to_owned()] } else { Vec::new() },
        recurrence: Some(Recurrence { rule: rule.to_owned(), exdates: Vec::new(), rdates: Vec::new() }),
        recurrence_override: None,
        priority: Priority::Medium,
        flexibility: Flexibility::Preferred,
        status: EventStatus::Confirmed,
        owner: format!("person_{person}"),
        sequence: 0,
        location: String::new(),
        notes: String::new(),
        preserved_properties: Vec::new(),
        created_at,
        updated_at: created_at,
    })
}

fn rules() -> Vec<Constraint> {
    let time = |hour| jiff::civil::time(hour, 0, 0, 0);
    let kinds = [
        ConstraintKind::NoEventsBefore { time: time(7) },
        ConstraintKind::NoEventsAfter { time: time(21) },
        ConstraintKind::BlockedWindow { days: vec![7], from: time(9), to: time(11) },
        ConstraintKind::MinGapMinutes { minutes: 15 },
        ConstraintKind::MaxEventsPerDay { count: 12 },
        ConstraintKind::MaxEventsPerWeek { count: 60 },
    ];
    let rule = |(number, kind): (usize, ConstraintKind)| Constraint {
        id: format!("rule_{number}"),
        name: format!("Rule {number}"),
        member: None,
        kind,
        strength: if number < 2 { ConstraintStrength::Hard } else { ConstraintStrength::Soft(5) },
        is_active: true,
    };
    kinds.into_iter().enumerate().map(rule).collect()
}
