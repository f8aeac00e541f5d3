//! Small boards for the tests: the family of the specification, and events in few words.

use std::collections::BTreeMap;

use superstep::core::time::Time;
use superstep_scheduler::calendar::{
    Board, Calendar, Change, Event, Family, Flexibility, Member, Participant, Preferences, Priority, Recurrence,
    Resource, Role, Rule, RuleKind, Span, Strength, Visibility, WeekStart,
};
use superstep_scheduler::models::{Conflict, EventStatus};

pub(crate) const NEW_YORK: &str = "America/New_York";

/// A time on the wall of the family, such as `2026-01-10T14:00`; a day alone is its midnight.
pub(crate) fn at(text: &str) -> Time {
    let text = if text.len() == 10 { format!("{text}T00:00:00") } else { format!("{text}:00") };
    Time::parse_event(&text, NEW_YORK).unwrap()
}

/// Thursday 8 January 2026, 3:30 pm: the now of the specification.
pub(crate) fn now() -> Time {
    Time::parse("2026-01-08T20:30:00Z").unwrap()
}

/// A stretch of a day, such as `2026-01-10 14:00 15:00`; an end that is earlier is on the next day.
pub(crate) fn span(text: &str) -> Span {
    let mut parts = text.split(' ');
    let (day, from, to) = (parts.next().unwrap(), parts.next().unwrap(), parts.next().unwrap());
    let start = at(&format!("{day}T{from}"));
    let end = at(&format!("{day}T{to}"));
    let end = if end > start { end } else { Time::from_unix_micros(end.as_unix_micros() + 86_400_000_000).unwrap() };
    Span::new(start, end).unwrap()
}

/// How a stretch of time reads on the family's wall: `2026-01-10 14:00 15:00`.
pub(crate) fn shown(span: &Span) -> String {
    let zone = superstep_scheduler::zone::Zone::named(NEW_YORK).unwrap();
    let (start, end) = (zone.wall(span.start), zone.wall(span.end));
    format!("{} {}", start.strftime("%Y-%m-%d %H:%M"), end.strftime("%H:%M"))
}

/// Mom, Dad and Emma in New York, with a car for one and a kitchen for three, and nothing on the calendar.
pub(crate) fn family() -> Board {
    let mut board = Board::new(Family {
        id: "family".to_owned(),
        name: "The Millers".to_owned(),
        zone: NEW_YORK.to_owned(),
        week_start: WeekStart::Monday,
        always_ask: false,
    });
    for (id, name, role) in [("mom", "Mom", Role::Parent), ("dad", "Dad", Role::Parent), ("emma", "Emma", Role::Child)]
    {
        board.apply(Change::Member(member(id, name, role)));
    }
    for (id, capacity, kind) in [("car", 1, "vehicle"), ("kitchen", 3, "room")] {
        board.apply(Change::Resource(resource(id, capacity, kind)));
    }
    board.apply(Change::Calendar(calendar("shared", None, Visibility::Family)));
    board
}

pub(crate) fn member(id: &str, name: &str, role: Role) -> Member {
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

pub(crate) fn rule(id: &str, kind: RuleKind, strength: Strength) -> Rule {
    Rule { id: id.to_owned(), name: format!("Rule {id}"), member: None, kind, strength, is_active: true }
}

/// A confirmed event of Mom's, whose id is its title in small letters; nobody takes part yet.
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
        exception_of: None,
        priority: Priority::Medium,
        flexibility: Flexibility::Preferred,
        status: EventStatus::Confirmed,
        owner: "mom".to_owned(),
        sequence: 0,
        location: String::new(),
        notes: String::new(),
        extra: Vec::new(),
        created_at: now(),
        updated_at: now(),
    }
}

/// Changes to an event, one after another.
pub(crate) trait Build: Sized {
    fn change(self, change: impl FnOnce(&mut Event)) -> Self;

    /// Those without whom it cannot be.
    fn of(self, members: &[&str]) -> Self {
        self.taking(members, true)
    }

    /// Those without whom it can be.
    fn perhaps(self, members: &[&str]) -> Self {
        self.taking(members, false)
    }

    fn taking(self, members: &[&str], is_required: bool) -> Self {
        let new = members.iter().map(|member| Participant { member: (*member).to_owned(), is_required });
        self.change(|event| event.participants.extend(new))
    }

    fn using(self, resources: &[&str]) -> Self {
        self.change(|event| event.resources.extend(resources.iter().map(|id| (*id).to_owned())))
    }

    fn every(self, rule: &str) -> Self {
        let recurrence = Recurrence { rule: rule.to_owned(), left_out: Vec::new(), added: Vec::new() };
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

/// A board with more on it.
pub(crate) trait With: Sized {
    fn and(self, change: Change) -> Self;

    fn with(self, event: Event) -> Self {
        self.and(Change::Event(Box::new(event)))
    }

    fn ruled(self, id: &str, kind: RuleKind, strength: Strength) -> Self {
        self.and(Change::Rule(rule(id, kind, strength)))
    }
}

impl With for Board {
    fn and(mut self, change: Change) -> Self {
        self.apply(change);
        self
    }
}

/// The conflicts of an event in short, the worst first: kind, severity and with what.
pub(crate) fn short(conflicts: &[Conflict]) -> Vec<String> {
    let one = |conflict: &Conflict| {
        let kind = serde_json::to_value(conflict.kind).unwrap();
        let severity = serde_json::to_value(conflict.severity).unwrap();
        let title = conflict.conflicting_event_title.as_deref().unwrap_or("-");
        format!("{} {} {title}", kind.as_str().unwrap(), severity.as_str().unwrap())
    };
    conflicts.iter().map(one).collect()
}
