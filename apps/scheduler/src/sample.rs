//! Sample family embedded in the binary: three people, a car, a kitchen, and some weeks of typical events.

pub mod full_year;

use superstep::core::time::Time;

use crate::calendar::{
    Calendar, CalendarChange, CalendarSnapshot, Event, Family, Flexibility, Member, MemberRole, Participant,
    Preferences, Priority, Recurrence, Resource, TimeRange, Visibility, WeekStart,
};
use crate::models::EventStatus;

/// Time zone of the family.
pub const ZONE: &str = "America/New_York";

/// Current time of the sample: a Thursday, 15:30 local time.
pub const NOW: &str = "2026-01-08T20:30:00Z";

/// Returns [`NOW`] as a time.
#[must_use]
pub fn now() -> Time {
    Time::parse(NOW).expect("it is written as a time")
}

/// Returns the family without events.
#[must_use]
pub fn empty_family() -> CalendarSnapshot {
    let mut snapshot = CalendarSnapshot::new(Family {
        id: "family".to_owned(),
        name: "The family".to_owned(),
        zone: ZONE.to_owned(),
        week_start: WeekStart::Monday,
        always_ask: false,
    });
    let members = [
        ("mom", "Mom", MemberRole::Parent, &["Mum", "Mommy", "Mama", "Mami", "Mamá"][..]),
        ("dad", "Dad", MemberRole::Parent, &["Daddy", "Papa", "Papi", "Papá", "Vati"][..]),
        ("emma", "Emma", MemberRole::Child, &["Em"][..]),
    ];
    for (id, name, role, aliases) in members {
        let aliases = aliases.iter().map(ToString::to_string).collect();
        let (id, name) = (id.to_owned(), name.to_owned());
        snapshot.apply(CalendarChange::Member(Member {
            id,
            name,
            aliases,
            role,
            zone: None,
            preferences: Preferences::default(),
        }));
    }
    let resources = [
        ("car", "car", "vehicle", 1, &["Auto", "Wagen", "coche", "carro"][..]),
        ("kitchen", "kitchen", "room", 3, &["Küche", "cocina"][..]),
    ];
    for (id, name, kind, capacity, aliases) in resources {
        let aliases = aliases.iter().map(ToString::to_string).collect();
        let (id, name, kind) = (id.to_owned(), name.to_owned(), kind.to_owned());
        let attributes = std::collections::BTreeMap::new();
        snapshot.apply(CalendarChange::Resource(Resource { id, name, aliases, kind, capacity, attributes }));
    }
    let calendar = ("family", "Family");
    snapshot.apply(CalendarChange::Calendar(Calendar {
        id: calendar.0.to_owned(),
        name: calendar.1.to_owned(),
        owner: None,
        visibility: Visibility::Family,
    }));
    snapshot
}

/// A sample event: id, title, start, end, participants, resources, recurrence rule.
type SampleEvent = (&'static str, &'static str, &'static str, &'static str, &'static str, &'static str, &'static str);

const WORKDAYS: &str = "FREQ=WEEKLY;BYDAY=MO,TU,WE,TH,FR";

const EVENTS: [SampleEvent; 21] = [
    ("school", "School", "2026-01-05T08:30", "2026-01-05T15:00", "emma", "", WORKDAYS),
    ("work-mom", "Work", "2026-01-05T09:00", "2026-01-05T17:00", "mom", "", WORKDAYS),
    ("work-dad", "Work", "2026-01-05T09:00", "2026-01-05T17:30", "dad", "", WORKDAYS),
    ("piano", "Piano lesson", "2026-01-06T17:00", "2026-01-06T18:00", "emma", "", "FREQ=WEEKLY;BYDAY=TU"),
    (
        "soccer-practice",
        "Soccer practice",
        "2026-01-07T17:30",
        "2026-01-07T19:00",
        "emma",
        "car",
        "FREQ=WEEKLY;BYDAY=WE",
    ),
    ("yoga", "Yoga", "2026-01-05T19:00", "2026-01-05T20:00", "mom", "", "FREQ=WEEKLY;BYDAY=MO,WE"),
    ("swimming", "Swimming", "2026-01-09T16:00", "2026-01-09T17:00", "emma", "", "FREQ=WEEKLY;BYDAY=FR"),
    ("pizza", "Pizza night", "2026-01-09T18:30", "2026-01-09T20:00", "mom dad emma", "kitchen", "FREQ=WEEKLY;BYDAY=FR"),
    ("groceries", "Grocery shopping", "2026-01-03T14:00", "2026-01-03T15:30", "dad", "car", "FREQ=WEEKLY;BYDAY=SA"),
    ("haircut", "Haircut", "2026-01-09T17:30", "2026-01-09T18:00", "dad", "", ""),
    ("soccer-game", "Soccer game", "2026-01-10T10:00", "2026-01-10T12:00", "mom dad emma", "car", ""),
    ("doctor", "Doctor's appointment", "2026-01-12T10:00", "2026-01-12T10:30", "mom", "car", ""),
    ("conference", "Parent-teacher conference", "2026-01-13T18:30", "2026-01-13T19:30", "mom dad", "", ""),
    ("dentist", "Dentist", "2026-01-14T15:30", "2026-01-14T16:15", "emma", "", ""),
    ("book-club", "Book club", "2026-01-15T19:00", "2026-01-15T21:00", "mom", "", ""),
    ("date-night", "Date night", "2026-01-16T19:30", "2026-01-16T22:00", "mom dad", "car", ""),
    ("millers", "Dinner with the Millers", "2026-01-17T18:00", "2026-01-17T21:00", "mom dad emma", "", ""),
    ("birthday", "Grandma's birthday", "2026-01-18T15:00", "2026-01-18T18:00", "mom dad emma", "kitchen", ""),
    ("oil-change", "Oil change", "2026-01-19T08:00", "2026-01-19T09:00", "dad", "car", ""),
    ("eye-doctor", "Eye doctor", "2026-01-21T16:00", "2026-01-21T16:30", "emma", "", ""),
    ("science-fair", "Science fair", "2026-01-22T09:00", "2026-01-22T12:00", "emma", "", ""),
];

/// Returns the family with some weeks of events.
#[must_use]
pub fn family() -> CalendarSnapshot {
    let mut snapshot = empty_family();
    for row in &EVENTS {
        snapshot.apply(CalendarChange::Event(Box::new(event(*row))));
    }
    snapshot
}

fn event((id, title, start, end, people, resources, rule): SampleEvent) -> Event {
    let time = |text: &str| Time::parse_event(text, ZONE).expect("every line has two times");
    let created = Time::parse("2026-01-02T12:00:00Z").expect("it is written as a time");
    let (start, end) = (time(start), time(end));
    let participant = |member: &str| Participant { member: member.to_owned(), is_required: true };
    let recurrence = Recurrence { rule: rule.to_owned(), exdates: Vec::new(), rdates: Vec::new() };
    Event {
        id: id.to_owned(),
        uid: format!("{id}@sample"),
        calendar: "family".to_owned(),
        title: title.to_owned(),
        span: TimeRange { start, end },
        zone: ZONE.to_owned(),
        is_all_day: false,
        participants: people.split_whitespace().map(participant).collect(),
        resources: resources.split_whitespace().map(ToOwned::to_owned).collect(),
        recurrence: (!rule.is_empty()).then_some(recurrence),
        recurrence_override: None,
        priority: if matches!(id, "dentist" | "doctor") { Priority::High } else { Priority::Medium },
        flexibility: Flexibility::Preferred,
        status: EventStatus::Confirmed,
        owner: "mom".to_owned(),
        sequence: 0,
        location: String::new(),
        notes: String::new(),
        preserved_properties: Vec::new(),
        created_at: created,
        updated_at: created,
    }
}
