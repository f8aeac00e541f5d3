//! Builders of small calendars: the family of the specification, and events in short notation.

use std::collections::BTreeMap;

use superstep::core::time::Time;
use superstep_scheduler::calendar::{
    Calendar, CalendarChange, CalendarSnapshot, Constraint, ConstraintKind, ConstraintStrength, Event, Family,
    Flexibility, Member, MemberRole, Participant, Preferences, Priority, Recurrence, Resource, TimeRange, Visibility,
    WeekStart,
};
use superstep_scheduler::models::{Conflict, EventStatus};

pub(crate) const NEW_YORK: &str = "America/New_York";

/// Parses a time in the time zone of the family, such as `2026-01-10T14:00`. A date alone means midnight.
pub(crate) fn at(text: &str) -> Time {
    let text = if text.len() == 10 { format!("{text}T00:00:00") } else { format!("{text}:00") };
    Time::parse_event(&text, NEW_YORK).unwrap()
}

/// Returns Thursday 8 January 2026, 3:30 pm: the current time of the specification.
pub(crate) fn now() -> Time {
    Time::parse("2026-01-08T20:30:00Z").unwrap()
}

/// Parses a time range such as `2026-01-10 14:00 15:00`. If the end is earlier than the start, it is on the next
/// day.
pub(crate) fn span(text: &str) -> TimeRange {
    let mut parts = text.split(' ');
    let (day, from, to) = (parts.next().unwrap(), parts.next().unwrap(), parts.next().unwrap());
    let start = at(&format!("{day}T{from}"));
    let end = at(&format!("{day}T{to}"));
    let end = if end > start { end } else { Time::from_unix_micros(end.as_unix_micros() + 86_400_000_000).unwrap() };
    TimeRange::new(start, end).unwrap()
}

/// Formats a time range in the time zone of the family: `2026-01-10 14:00 15:00`.
pub(crate) fn format_span(span: &TimeRange) -> String {
    let zone = superstep_scheduler::time_zone::NamedTimeZone::from_iana_name(NEW_YORK).unwrap();
    let (start, end) = (zone.to_local(span.start), zone.to_local(span.end));
    format!("{} {}", start.strftime("%Y-%m-%d %H:%M"), end.strftime("%H:%M"))
}

/// Creates the family: Mom, Dad and Emma in New York, a car with capacity 1, a kitchen with capacity 3, and no
/// events.
pub(crate) fn family() -> CalendarSnapshot {
    let mut snapshot = CalendarSnapshot::new(Family {
        id: "family".to_owned(),
        name: "The Millers".to_owned(),
        zone: NEW_YORK.to_owned(),
        week_start: WeekStart::Monday,
        always_ask: false,
    });
    for (id, name, role) in
        [("mom", "Mom", MemberRole::Parent), ("dad", "Dad", MemberRole::Parent), ("emma", "Emma", MemberRole::Child)]
    {
        snapshot.apply(CalendarChange::Member(member(id, name, role)));
    }
    for (id, capacity, kind) in [("car", 1, "vehicle"), ("kitchen", 3, "room")] {
        snapshot.apply(CalendarChange::Resource(resource(id, capacity, kind)));
    }
    snapshot.apply(CalendarChange::Calendar(calendar("shared", None, Visibility::Family)));
    snapshot
}

pub(crate) fn member(id: &str, name: &str, role: MemberRole) -> Member {
    let (id, name) = (id.to_owned(), name.to_owned());
    Member { id, name, aliases: Vec::new(), role, zone: None, preferences: Preferences::default() }
}

pub(crate) fn resource(id: &str, capacity: u32, kind: &str) -> Resource {
    let (id, name, kind) = (id.to_owned(), id.to_owned(), kind.to_owned());
    Resource { id, name, aliases: Vec::new(), kind, capacity, attributes: BTreeMap::new() }
}

pub(crate) fn calendar(id: &str, owner: Option<&str>, visibility: Visibility) -> Calendar {
    Calendar { id: id.to_owned(), name: id.to_owned(), owner: owner.map(str::to_owned), visibility }
}

pub(crate) fn rule(id: &str, kind: ConstraintKind, strength: ConstraintStrength) -> Constraint {
    Constraint { id: id.to_owned(), name: format!("Rule {id}"), member: None, kind, strength, is_active: true }
}

/// Creates a confirmed event owned by Mom without participants. Its id is the title in lower case.
pub(crate) fn event(title: &str, when: &str) -> Event {
    Event {
        id: title.to_lowercase(),
        uid: title.to_lowercase(),
        calendar: "shared".to_owned(),
        title: title.to_owned(),
        span: span(when),
        zone: NEW_YORK.to_owned(),
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
        created_at: now(),
        updated_at: now(),
    }
}

/// Chained changes of an event.
pub(crate) trait Build: Sized {
    fn change(self, change: impl FnOnce(&mut Event)) -> Self;

    /// Adds required participants.
    fn with_participants(self, members: &[&str]) -> Self {
        self.add_participants(members, true)
    }

    /// Adds optional participants.
    fn with_optional_participants(self, members: &[&str]) -> Self {
        self.add_participants(members, false)
    }

    fn add_participants(self, members: &[&str], is_required: bool) -> Self {
        let new = members.iter().map(|member| Participant { member: (*member).to_owned(), is_required });
        self.change(|event| event.participants.extend(new))
    }

    fn using(self, resources: &[&str]) -> Self {
        self.change(|event| event.resources.extend(resources.iter().map(|id| (*id).to_owned())))
    }

    fn repeating(self, rule: &str) -> Self {
        let recurrence = Recurrence { rule: rule.to_owned(), exdates: Vec::new(), rdates: Vec::new() };
        self.change(|event| event.recurrence = Some(recurrence))
    }

    fn priority(self, priority: Priority) -> Self {
        self.change(|event| event.priority = priority)
    }

    fn flexibility(self, flexibility: Flexibility) -> Self {
        self.change(|event| event.flexibility = flexibility)
    }

    fn proposed(self) -> Self {
        self.change(|event| event.status = EventStatus::Proposed)
    }

    fn owned_by(self, member: &str) -> Self {
        self.change(|event| event.owner = member.to_owned())
    }
}

impl Build for Event {
    fn change(mut self, change: impl FnOnce(&mut Event)) -> Self {
        change(&mut self);
        self
    }
}

/// Chained additions to a calendar.
pub(crate) trait With: Sized {
    fn with_change(self, change: CalendarChange) -> Self;

    fn with(self, event: Event) -> Self {
        self.with_change(CalendarChange::Event(Box::new(event)))
    }

    fn with_rule(self, id: &str, kind: ConstraintKind, strength: ConstraintStrength) -> Self {
        self.with_change(CalendarChange::Rule(rule(id, kind, strength)))
    }
}

impl With for CalendarSnapshot {
    fn with_change(mut self, change: CalendarChange) -> Self {
        self.apply(change);
        self
    }
}

/// Summarises the conflicts of an event, worst first: kind, severity and conflicting event.
pub(crate) fn summaries(conflicts: &[Conflict]) -> Vec<String> {
    let summarize = |conflict: &Conflict| {
        let kind = serde_json::to_value(conflict.kind).unwrap();
        let severity = serde_json::to_value(conflict.severity).unwrap();
        let title = conflict.conflicting_event_title.as_deref().unwrap_or("-");
        format!("{} {} {title}", kind.as_str().unwrap(), severity.as_str().unwrap())
    };
    conflicts.iter().map(summarize).collect()
}
