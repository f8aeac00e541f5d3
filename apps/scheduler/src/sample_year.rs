//! A family with a full year, to measure with: every person has many series.

use std::collections::BTreeMap;

use jiff::civil::{DateTime, date};
use superstep::Result;

use crate::calendar::{
    Board, Change, Event, Family, Flexibility, Member, Participant, Preferences, Priority, Recurrence, Resource, Role,
    Rule, RuleKind, Span, Strength, WeekStart,
};
use crate::models::EventStatus;
use crate::zone::Zone;

/// A board with so many people, `person_0` and so on, each with so many series from January 2026 on, without end.
///
/// Most series are weekly, some on working days or every other week. The first person is a parent. There is a `car` for
/// one, and rules of most kinds.
///
/// # Errors
/// When the years are beyond what can be written, which they are not.
pub fn board(people: usize, series_each: usize) -> Result<Board> {
    let zone = Zone::named("America/New_York")?;
    let mut board = Board::new(Family {
        id: "family".to_owned(),
        name: "The Millers".to_owned(),
        zone: zone.name().to_owned(),
        week_start: WeekStart::Monday,
        always_ask: false,
    });
    for person in 0..people {
        board.apply(Change::Member(member(person)));
        for series in 0..series_each {
            board.apply(Change::Event(Box::new(event(&zone, person, series, people)?)));
        }
    }
    let attributes = BTreeMap::new();
    let (id, name, kind) = ("car".to_owned(), "car".to_owned(), "vehicle".to_owned());
    board.apply(Change::Resource(Resource { id, name, aliases: Vec::new(), kind, capacity: 1, attributes }));
    for rule in rules() {
        board.apply(Change::Rule(rule));
    }
    Ok(board)
}

fn member(person: usize) -> Member {
    Member {
        id: format!("person_{person}"),
        name: format!("Person {person}"),
        aliases: Vec::new(),
        role: if person == 0 { Role::Parent } else { Role::Child },
        zone: None,
        preferences: Preferences::default(),
    }
}

/// A series; its day, hour and rule follow from its numbers.
fn event(zone: &Zone, person: usize, series: usize, people: usize) -> Result<Event> {
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
    let created_at = zone.instant(date(2026, 1, 1).at(0, 0, 0, 0))?;
    Ok(Event {
        uid: format!("{id}@example.com"),
        id,
        calendar: "family".to_owned(),
        title: format!("Series {series} of person {person}"),
        span: Span { start: zone.instant(start)?, end: zone.instant(end)? },
        zone: zone.name().to_owned(),
        is_all_day: false,
        participants: if series.is_multiple_of(4) && people > 1 { vec![first, second] } else { vec![first] },
        resources: if series.is_multiple_of(5) { vec!["car".to_owned()] } else { Vec::new() },
        recurrence: Some(Recurrence { rule: rule.to_owned(), left_out: Vec::new(), added: Vec::new() }),
        exception_of: None,
        priority: Priority::Medium,
        flexibility: Flexibility::Preferred,
        status: EventStatus::Confirmed,
        owner: format!("person_{person}"),
        sequence: 0,
        location: String::new(),
        notes: String::new(),
        extra: Vec::new(),
        created_at,
        updated_at: created_at,
    })
}

fn rules() -> Vec<Rule> {
    let time = |hour| jiff::civil::time(hour, 0, 0, 0);
    let kinds = [
        RuleKind::NoEventsBefore { time: time(7) },
        RuleKind::NoEventsAfter { time: time(21) },
        RuleKind::BlockedWindow { days: vec![7], from: time(9), to: time(11) },
        RuleKind::MinGapMinutes { minutes: 15 },
        RuleKind::MaxEventsPerDay { count: 12 },
        RuleKind::MaxEventsPerWeek { count: 60 },
    ];
    let rule = |(number, kind): (usize, RuleKind)| Rule {
        id: format!("rule_{number}"),
        name: format!("Rule {number}"),
        member: None,
        kind,
        strength: if number < 2 { Strength::Hard } else { Strength::Soft(5) },
        is_active: true,
    };
    kinds.into_iter().enumerate().map(rule).collect()
}
