//! One VEVENT of a file as an event, before it is compared with what is on the board.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use calcard::icalendar::{ICalendarParameterName as Parameter, ICalendarValue};
use superstep::Result;
use superstep::core::id::derive;
use superstep::core::time::Time;

use super::component::Component;
use super::kept::KNOWN;
use super::lines::excerpt;
use super::people::{Attendee, attendee, is_of_things, resource};
use super::property::Property;
use super::recurrence;
use super::report::{Entry, Problem, Report};
use super::when::{LAST_YEAR, Moment, moment, stamp};
use super::write;
use super::zones::Zones;
use crate::calendar::{Board, Event, Flexibility, Participant, Priority, Span};
use crate::models::EventStatus;
use crate::zone::Zone;

/// What a file is read with.
pub(super) struct Source<'a> {
    pub(super) board: &'a Board,
    /// The events of the board by their names in calendar files.
    pub(super) known: BTreeMap<&'a str, Vec<&'a Arc<Event>>>,
    pub(super) zones: Zones,
    /// Where the family is.
    pub(super) family: Zone,
    pub(super) now: Time,
    /// The calendar for what is new.
    pub(super) calendar: &'a str,
    /// Whose it is.
    pub(super) owner: &'a str,
}

impl Source<'_> {
    /// Where days and times without a zone are: where the event is if it is known, else with the family.
    fn home(&self, uid: &str) -> Result<Zone> {
        let known = self.known.get(uid).and_then(|events| events.iter().find(|event| event.is_all_day));
        known.map_or_else(|| Ok(self.family.clone()), |event| Zone::named(&event.zone))
    }
}

/// One VEVENT, read.
#[derive(Debug)]
pub(super) struct Draft {
    /// What it says; its id, calendar and owner are as for something new.
    pub(super) event: Event,
    pub(super) line: usize,
    /// RECURRENCE-ID: which instance of a series it is.
    pub(super) instance: Option<Moment>,
    pub(super) is_cancelled: bool,
    /// When it was last changed, if it says.
    pub(super) changed_at: Option<Time>,
    /// What the file says that is otherwise taken from the known event.
    pub(super) says: Says,
}

/// What a file need not say.
#[derive(Debug)]
pub(super) struct Says {
    pub(super) creation: bool,
    pub(super) people: bool,
    pub(super) things: bool,
    pub(super) flexibility: bool,
}

impl Draft {
    pub(super) fn entry(&self) -> Entry {
        Entry { line: self.line, uid: self.event.uid.clone(), title: self.event.title.clone() }
    }
}

/// Reads a VEVENT; what can be read without is noted and left out.
pub(super) fn read(component: &Component, source: &Source<'_>, report: &mut Report) -> Result<Draft, Problem> {
    if let Some(flaw) = &component.flaw {
        return Err(flaw.clone());
    }
    let properties = properties(component, report);
    let find = |name: &str| properties.iter().find(|property| property.name == name);
    let uid = uid(component, &properties, report);
    let missing = || Problem::new(component.line, "DTSTART", "is missing");
    let starts = find("DTSTART").ok_or_else(missing)?;
    let home = source.home(&uid).map_err(|error| starts.problem(error.message()))?;
    let start = moment(starts, &source.zones, &home, report)?;
    let instance = match find("RECURRENCE-ID") {
        Some(property) => Some(instance(property, source, &start.zone, report)?),
        None => None,
    };
    let mut event = Event { span: span(&properties, &start, source, report)?, ..blank(uid, &start, source) };
    if instance.is_none() {
        event.recurrence = recurrence::read(&properties, &start, source, report)?;
    } else if let Some(rule) = find("RRULE") {
        report.note(rule.problem("is left out: one instance of a series does not repeat"));
    }
    recurrence::readable_rule(&event)
        .map_err(|error| find("RRULE").or(find("RDATE")).unwrap_or(starts).problem(error.message()))?;
    for property in &properties {
        set(&mut event, property, source.board, report);
    }
    let stamps = [find("LAST-MODIFIED"), find("DTSTAMP")];
    let changed_at = stamps.into_iter().flatten().find_map(stamp);
    event.updated_at = changed_at.unwrap_or(source.now);
    let created_at = find("CREATED").and_then(stamp);
    event.created_at = created_at.or(changed_at).unwrap_or(source.now);
    event.extra =
        extra(&properties, component, &event, source.board).map_err(|error| starts.problem(error.message()))?;
    let is_cancelled = find("STATUS").is_some_and(|status| status.value().eq_ignore_ascii_case("CANCELLED"));
    let says = Says {
        creation: created_at.is_some(),
        people: properties.iter().any(|property| property.name == "ATTENDEE" && !is_of_things(property)),
        things: properties.iter().any(is_of_things),
        flexibility: find("X-SUPERSTEP-FLEXIBILITY").is_some(),
    };
    Ok(Draft { event, line: component.line, instance, is_cancelled, changed_at, says })
}

/// Properties of which an event has one.
const ONCE: [&str; 14] = [
    "UID",
    "DTSTAMP",
    "DTSTART",
    "DTEND",
    "DURATION",
    "RECURRENCE-ID",
    "SUMMARY",
    "DESCRIPTION",
    "LOCATION",
    "PRIORITY",
    "STATUS",
    "SEQUENCE",
    "CREATED",
    "LAST-MODIFIED",
];

fn properties(component: &Component, report: &mut Report) -> Vec<Property> {
    let mut properties: Vec<Property> = Vec::new();
    for line in &component.own {
        let Some(property) = Property::read(line) else {
            let message = format!("`{}` is no property", excerpt(&line.text));
            report.note(Problem::new(line.number, &component.name, message));
            continue;
        };
        let is_again = ONCE.contains(&property.name.as_str()) && properties.iter().any(|one| one.name == property.name);
        if is_again {
            report.note(property.problem("is there twice; the first counts"));
        } else if ["SUMMARY", "DESCRIPTION", "LOCATION"].contains(&property.name.as_str()) {
            properties.push(property.tidied());
        } else {
            properties.push(property);
        }
    }
    properties
}

fn uid(component: &Component, properties: &[Property], report: &mut Report) -> String {
    let given = properties.iter().find(|property| property.name == "UID").map(Property::text);
    given.map(|uid| uid.trim().to_owned()).filter(|uid| !uid.is_empty()).unwrap_or_else(|| {
        report.note(Problem::new(component.line, "UID", "is missing; one was made from what the event says"));
        // Without the time of the export, so that the next one of the same event makes the same name.
        let says = properties.iter().filter(|property| property.name != "DTSTAMP");
        let parts: Vec<&[u8]> = says.map(|property| property.raw.as_bytes()).collect();
        format!("{:032x}@superstep", derive(&parts))
    })
}

fn instance(property: &Property, source: &Source<'_>, home: &Zone, report: &mut Report) -> Result<Moment, Problem> {
    if property.parameter(&Parameter::Range).is_some() {
        return Err(property.problem("changes this instance and all that follow, which is read only as a series"));
    }
    moment(property, &source.zones, home, report)
}

fn blank(uid: String, start: &Moment, source: &Source<'_>) -> Event {
    Event {
        id: format!("ev_{:032x}", derive(&[b"calendar file", uid.as_bytes()])),
        uid,
        calendar: source.calendar.to_owned(),
        title: String::new(),
        span: Span { start: source.now, end: source.now },
        zone: start.zone.name().to_owned(),
        is_all_day: start.is_day,
        participants: Vec::new(),
        resources: Vec::new(),
        recurrence: None,
        exception_of: None,
        priority: Priority::default(),
        flexibility: Flexibility::default(),
        status: EventStatus::Confirmed,
        owner: source.owner.to_owned(),
        sequence: 0,
        location: String::new(),
        notes: String::new(),
        extra: Vec::new(),
        created_at: source.now,
        updated_at: source.now,
    }
}

/// When an event is: by DTEND, by DURATION, or as short as can be.
fn span(properties: &[Property], start: &Moment, source: &Source<'_>, report: &mut Report) -> Result<Span, Problem> {
    let find = |name: &str| properties.iter().find(|property| property.name == name);
    let starts = find("DTSTART").or(properties.first());
    let problem = |message: &str| match find("DTEND").or(find("DURATION")).or(starts) {
        Some(property) => property.problem(message),
        None => Problem::new(0, "VEVENT", message),
    };
    let instant = |moment: &Moment| moment.zone.instant(moment.wall).map_err(|error| problem(error.message()));
    let begin = instant(start)?;
    let end = match (find("DTEND"), find("DURATION")) {
        (Some(property), _) => {
            let end = moment(property, &source.zones, &start.zone, report)?;
            if end.is_day != start.is_day {
                return Err(property.problem("is a day and DTSTART a time, or the other way round"));
            }
            instant(&end)?
        }
        (None, Some(duration)) => after(start, duration)?,
        (None, None) => begin,
    };
    if end < begin {
        return Err(problem("is before DTSTART"));
    }
    if let Some(span) = Span::new(begin, end) {
        return if span.is_too_long() { Err(problem("is more than a year after DTSTART")) } else { Ok(span) };
    }
    // A board knows nothing without length.
    let shortest = if start.is_day { jiff::Span::new().days(1) } else { jiff::Span::new().minutes(1) };
    let end = Moment { wall: start.wall.saturating_add(shortest), ..start.clone() };
    Span::new(begin, instant(&end)?).ok_or_else(|| problem("is not after DTSTART"))
}

/// When something ends that starts then and lasts as long as a DURATION says: days by the wall, hours by the clock.
pub(super) fn after(start: &Moment, duration: &Property) -> Result<Time, Problem> {
    let Some(ICalendarValue::Duration(length)) = duration.typed() else {
        return Err(duration.problem(format!("`{}` is no duration", excerpt(duration.value()))));
    };
    if length.neg {
        return Err(duration.problem("is negative"));
    }
    let too_long = || duration.problem("is too long");
    let days = i64::from(length.weeks) * 7 + i64::from(length.days);
    let hours = i64::from(length.hours) * 3_600 + i64::from(length.minutes) * 60 + i64::from(length.seconds);
    let days = jiff::Span::new().try_days(days).map_err(|_| too_long())?;
    let wall = start.wall.checked_add(days).ok().filter(|wall| wall.year() <= LAST_YEAR).ok_or_else(too_long)?;
    let day = start.zone.instant(wall).map_err(|error| duration.problem(error.message()))?;
    let micros = hours.checked_mul(1_000_000).and_then(|hours| day.as_unix_micros().checked_add(hours));
    let end = micros.and_then(|micros| Time::from_unix_micros(micros).ok());
    let end = end.filter(|end| start.zone.wall(*end).year() <= LAST_YEAR).ok_or_else(too_long)?;
    start.zone.written(end).map_err(|error| duration.problem(error.message()))
}

/// Puts what one property says into an event.
fn set(event: &mut Event, property: &Property, board: &Board, report: &mut Report) {
    match property.name.as_str() {
        "SUMMARY" => event.title = property.text(),
        "DESCRIPTION" => event.notes = property.text(),
        "LOCATION" => event.location = property.text(),
        "ATTENDEE" => match attendee(property, board) {
            Attendee::Member(participant) => join(&mut event.participants, participant),
            Attendee::Resource(id) if !event.resources.contains(&id) => event.resources.push(id),
            Attendee::Resource(_) | Attendee::Stranger => {}
        },
        "RESOURCES" => {
            for id in property.texts().iter().filter_map(|name| resource(name, board)) {
                if !event.resources.contains(&id) {
                    event.resources.push(id);
                }
            }
        }
        "PRIORITY" => match priority(property) {
            Some(priority) => event.priority = priority,
            None => report.note(property.problem("is no number from 0 to 9")),
        },
        "SEQUENCE" => match property.value().parse() {
            Ok(sequence) => event.sequence = sequence,
            Err(_) => report.note(property.problem("is no number from 0 on; read as 0")),
        },
        "X-SUPERSTEP-FLEXIBILITY" => match property.value() {
            "FIXED" => event.flexibility = Flexibility::Fixed,
            "PREFERRED" => event.flexibility = Flexibility::Preferred,
            "FLEXIBLE" => event.flexibility = Flexibility::Flexible,
            _ => report.note(property.problem("is none of FIXED, PREFERRED and FLEXIBLE")),
        },
        "CREATED" | "LAST-MODIFIED" | "DTSTAMP" if stamp(property).is_none() => {
            report.note(property.problem(format!("`{}` is no time", excerpt(property.value()))));
        }
        _ => {}
    }
}

fn join(participants: &mut Vec<Participant>, new: Participant) {
    match participants.iter_mut().find(|one| one.member == new.member) {
        Some(known) => known.is_required |= new.is_required,
        None => participants.push(new),
    }
}

/// How much an event matters by a number from 1, the most, to 9; 0 says nothing.
pub(super) fn priority(property: &Property) -> Option<Priority> {
    match property.value().parse::<u8>().ok()? {
        1 => Some(Priority::Critical),
        2..=4 => Some(Priority::High),
        0 | 5 => Some(Priority::Medium),
        6..=9 => Some(Priority::Low),
        _ => None,
    }
}

/// What an event has to keep of its lines: all that is written as it was if it is kept, and not if it is not.
fn extra(properties: &[Property], component: &Component, event: &Event, board: &Board) -> Result<Vec<String>> {
    let without: BTreeSet<String> = write::properties(event, board)?.into_iter().collect();
    let own = properties.iter().filter(|property| !KNOWN.contains(&property.name.as_str()));
    let own = own.map(|property| &property.raw).filter(|raw| !without.contains(*raw));
    let mut extra: Vec<String> = own.cloned().collect();
    let mut with: BTreeMap<String, usize> = BTreeMap::new();
    for line in write::properties(&Event { extra: extra.clone(), ..event.clone() }, board)? {
        *with.entry(line).or_default() += 1;
    }
    extra.retain(|line| with.get_mut(line).and_then(|left| left.checked_sub(1).map(|rest| *left = rest)).is_some());
    extra.extend(component.nested.iter().map(|line| line.text.clone()));
    Ok(extra)
}
