//! Converts one VEVENT of a file to an event, before the import compares it with the snapshot.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use calcard::icalendar::{ICalendarParameterName as Parameter, ICalendarValue};
use superstep::Result;
use superstep::core::id::hash_id;
use superstep::core::time::Time;

use super::attendee::{Attendee, attendee, names_resources, resource};
use super::component::Component;
use super::content_line::excerpt;
use super::datetime::{IcsDateTime, LAST_YEAR, parse_datetime, parse_utc};
use super::preserved::MAPPED_PROPERTIES;
use super::property::Property;
use super::recurrence;
use super::report::{ImportProblem, ImportReport, ReportEntry};
use super::timezone_lookup::TimezoneLookup;
use super::vevent_writer;
use crate::calendar::{CalendarSnapshot, Event, Flexibility, Participant, Priority, TimeRange};
use crate::models::EventStatus;
use crate::time_zone::NamedTimeZone;

/// Context of an import.
pub(super) struct ImportContext<'a> {
    pub(super) snapshot: &'a CalendarSnapshot,
    /// Events of the snapshot by UID.
    pub(super) existing: BTreeMap<&'a str, Vec<&'a Arc<Event>>>,
    pub(super) zones: TimezoneLookup,
    /// Time zone of the family.
    pub(super) family: NamedTimeZone,
    pub(super) now: Time,
    /// Calendar for new events.
    pub(super) calendar: &'a str,
    /// Owner of new events.
    pub(super) owner: &'a str,
}

impl ImportContext<'_> {
    /// Returns the time zone for dates and for times without a time zone: that of the known all-day event with this
    /// UID, else that of the family.
    fn default_time_zone(&self, uid: &str) -> Result<NamedTimeZone> {
        let existing = self.existing.get(uid).and_then(|events| events.iter().find(|event| event.is_all_day));
        existing.map_or_else(|| Ok(self.family.clone()), |event| NamedTimeZone::from_iana_name(&event.zone))
    }
}

/// A parsed VEVENT.
#[derive(Debug)]
pub(super) struct ParsedEvent {
    /// The event as in the file. Id, calendar and owner are those of a new event.
    pub(super) event: Event,
    pub(super) line: usize,
    /// RECURRENCE-ID: the instance of a series.
    pub(super) instance: Option<IcsDateTime>,
    pub(super) is_cancelled: bool,
    /// Time of the last change, if the file has it.
    pub(super) changed_at: Option<Time>,
    /// Fields that are present in the file. Missing ones are taken from the known event.
    pub(super) explicit: ExplicitFields,
}

/// Presence of optional fields in a VEVENT.
#[derive(Debug)]
pub(super) struct ExplicitFields {
    pub(super) creation: bool,
    pub(super) people: bool,
    pub(super) resources: bool,
    pub(super) flexibility: bool,
}

impl ParsedEvent {
    pub(super) fn entry(&self) -> ReportEntry {
        ReportEntry { line: self.line, uid: self.event.uid.clone(), title: self.event.title.clone() }
    }
}

/// Parses a VEVENT. An invalid property that the event can do without is reported and left out.
pub(super) fn parse(
    component: &Component,
    context: &ImportContext<'_>,
    report: &mut ImportReport,
) -> Result<ParsedEvent, ImportProblem> {
    if let Some(problem) = &component.problem {
        return Err(problem.clone());
    }
    let properties = properties(component, report);
    let find = |name: &str| properties.iter().find(|property| property.name == name);
    let uid = uid(component, &properties, report);
    let missing = || ImportProblem::new(component.line, "DTSTART", "is missing");
    let dtstart = find("DTSTART").ok_or_else(missing)?;
    let default_zone = context.default_time_zone(&uid).map_err(|error| dtstart.problem(error.message()))?;
    let start = parse_datetime(dtstart, &context.zones, &default_zone, report)?;
    let instance = match find("RECURRENCE-ID") {
        Some(property) => Some(instance(property, context, &start.zone, report)?),
        None => None,
    };
    let mut event = Event { span: span(&properties, &start, context, report)?, ..empty_event(uid, &start, context) };
    if instance.is_none() {
        event.recurrence = recurrence::parse(&properties, &start, context, report)?;
    } else if let Some(rule) = find("RRULE") {
        report.add_problem(rule.problem("is ignored: a single instance of a series cannot repeat"));
    }
    recurrence::check_recurrence(&event)
        .map_err(|error| find("RRULE").or(find("RDATE")).unwrap_or(dtstart).problem(error.message()))?;
    for property in &properties {
        apply_property(&mut event, property, context.snapshot, report);
    }
    let stamps = [find("LAST-MODIFIED"), find("DTSTAMP")];
    let changed_at = stamps.into_iter().flatten().find_map(parse_utc);
    event.updated_at = changed_at.unwrap_or(context.now);
    let created_at = find("CREATED").and_then(parse_utc);
    event.created_at = created_at.or(changed_at).unwrap_or(context.now);
    event.preserved_properties = preserved_lines(&properties, component, &event, context.snapshot)
        .map_err(|error| dtstart.problem(error.message()))?;
    let is_cancelled = find("STATUS").is_some_and(|status| status.value().eq_ignore_ascii_case("CANCELLED"));
    let explicit = ExplicitFields {
        creation: created_at.is_some(),
        people: properties.iter().any(|property| property.name == "ATTENDEE" && !names_resources(property)),
        resources: properties.iter().any(names_resources),
        flexibility: find("X-SUPERSTEP-FLEXIBILITY").is_some(),
    };
    Ok(ParsedEvent { event, line: component.line, instance, is_cancelled, changed_at, explicit })
}

/// Properties that an event may have only once.
const SINGLE_PROPERTIES: [&str; 14] = [
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

fn properties(component: &Component, report: &mut ImportReport) -> Vec<Property> {
    let mut properties: Vec<Property> = Vec::new();
    for line in &component.lines {
        let Some(property) = Property::parse(line) else {
            let message = format!("`{}` is not a property", excerpt(&line.text));
            report.add_problem(ImportProblem::new(line.number, &component.name, message));
            continue;
        };
        let is_repeated = SINGLE_PROPERTIES.contains(&property.name.as_str())
            && properties.iter().any(|earlier| earlier.name == property.name);
        if is_repeated {
            report.add_problem(property.problem("occurs twice; the first one is used"));
        } else if ["SUMMARY", "DESCRIPTION", "LOCATION"].contains(&property.name.as_str()) {
            properties.push(property.normalized());
        } else {
            properties.push(property);
        }
    }
    properties
}

fn uid(component: &Component, properties: &[Property], report: &mut ImportReport) -> String {
    let file_uid = properties.iter().find(|property| property.name == "UID").map(Property::text);
    file_uid.map(|uid| uid.trim().to_owned()).filter(|uid| !uid.is_empty()).unwrap_or_else(|| {
        report.add_problem(ImportProblem::new(
            component.line,
            "UID",
            "is missing; it was derived from the content of the event",
        ));
        // DTSTAMP is the time of the export. Without it, the next export of the same event gets the same UID.
        let content = properties.iter().filter(|property| property.name != "DTSTAMP");
        let parts: Vec<&[u8]> = content.map(|property| property.raw.as_bytes()).collect();
        format!("{:032x}@superstep", hash_id(&parts))
    })
}

fn instance(
    property: &Property,
    context: &ImportContext<'_>,
    default_zone: &NamedTimeZone,
    report: &mut ImportReport,
) -> Result<IcsDateTime, ImportProblem> {
    if property.parameter(&Parameter::Range).is_some() {
        return Err(property.problem("changes this and all following instances, which is not supported"));
    }
    parse_datetime(property, &context.zones, default_zone, report)
}

fn empty_event(uid: String, start: &IcsDateTime, context: &ImportContext<'_>) -> Event {
    Event {
        id: format!("ev_{:032x}", hash_id(&[b"calendar file", uid.as_bytes()])),
        uid,
        calendar: context.calendar.to_owned(),
        title: String::new(),
        span: TimeRange { start: context.now, end: context.now },
        zone: start.zone.name().to_owned(),
        is_all_day: start.is_day,
        participants: Vec::new(),
        resources: Vec::new(),
        recurrence: None,
        recurrence_override: None,
        priority: Priority::default(),
        flexibility: Flexibility::default(),
        status: EventStatus::Confirmed,
        owner: context.owner.to_owned(),
        sequence: 0,
        location: String::new(),
        notes: String::new(),
        preserved_properties: Vec::new(),
        created_at: context.now,
        updated_at: context.now,
    }
}

/// Returns the time range of an event from DTEND or DURATION. Default: the minimum duration.
fn span(
    properties: &[Property],
    start: &IcsDateTime,
    context: &ImportContext<'_>,
    report: &mut ImportReport,
) -> Result<TimeRange, ImportProblem> {
    let find = |name: &str| properties.iter().find(|property| property.name == name);
    let dtstart = find("DTSTART").or(properties.first());
    let problem = |message: &str| match find("DTEND").or(find("DURATION")).or(dtstart) {
        Some(property) => property.problem(message),
        None => ImportProblem::new(0, "VEVENT", message),
    };
    let instant = |datetime: &IcsDateTime| {
        datetime.zone.to_instant(datetime.local_time).map_err(|error| problem(error.message()))
    };
    let begin = instant(start)?;
    let end = match (find("DTEND"), find("DURATION")) {
        (Some(property), _) => {
            let end = parse_datetime(property, &context.zones, &start.zone, report)?;
            if end.is_day != start.is_day {
                return Err(property.problem("and DTSTART must both be dates or both be times"));
            }
            instant(&end)?
        }
        (None, Some(duration)) => after(start, duration)?,
        (None, None) => begin,
    };
    if end < begin {
        return Err(problem("is before DTSTART"));
    }
    if let Some(span) = TimeRange::new(begin, end) {
        return if span.is_too_long() { Err(problem("is more than a year after DTSTART")) } else { Ok(span) };
    }
    // Events without duration cannot be stored.
    let min_duration = if start.is_day { jiff::Span::new().days(1) } else { jiff::Span::new().minutes(1) };
    let end = IcsDateTime { local_time: start.local_time.saturating_add(min_duration), ..start.clone() };
    TimeRange::new(begin, instant(&end)?).ok_or_else(|| problem("is not after DTSTART"))
}

/// Returns the end of an event from its start and DURATION: days in local time, hours in elapsed time.
pub(super) fn after(start: &IcsDateTime, duration: &Property) -> Result<Time, ImportProblem> {
    let Some(ICalendarValue::Duration(length)) = duration.typed() else {
        return Err(duration.problem(format!("`{}` is not a duration", excerpt(duration.value()))));
    };
    if length.neg {
        return Err(duration.problem("is negative"));
    }
    let too_long = || duration.problem("is too long");
    let days = i64::from(length.weeks) * 7 + i64::from(length.days);
    let hours = i64::from(length.hours) * 3_600 + i64::from(length.minutes) * 60 + i64::from(length.seconds);
    let days = jiff::Span::new().try_days(days).map_err(|_| too_long())?;
    let local_time = start
        .local_time
        .checked_add(days)
        .ok()
        .filter(|local_time| local_time.year() <= LAST_YEAR)
        .ok_or_else(too_long)?;
    let day = start.zone.to_instant(local_time).map_err(|error| duration.problem(error.message()))?;
    let micros = hours.checked_mul(1_000_000).and_then(|hours| day.as_unix_micros().checked_add(hours));
    let end = micros.and_then(|micros| Time::from_unix_micros(micros).ok());
    let end = end.filter(|end| start.zone.to_local(*end).year() <= LAST_YEAR).ok_or_else(too_long)?;
    start.zone.with_local_offset(end).map_err(|error| duration.problem(error.message()))
}

/// Applies one property to an event.
fn apply_property(event: &mut Event, property: &Property, snapshot: &CalendarSnapshot, report: &mut ImportReport) {
    match property.name.as_str() {
        "SUMMARY" => event.title = property.text(),
        "DESCRIPTION" => event.notes = property.text(),
        "LOCATION" => event.location = property.text(),
        "ATTENDEE" => match attendee(property, snapshot) {
            Attendee::Member(participant) => add_participant(&mut event.participants, participant),
            Attendee::Resource(id) if !event.resources.contains(&id) => event.resources.push(id),
            Attendee::Resource(_) | Attendee::External => {}
        },
        "RESOURCES" => {
            for id in property.texts().iter().filter_map(|name| resource(name, snapshot)) {
                if !event.resources.contains(&id) {
                    event.resources.push(id);
                }
            }
        }
        "PRIORITY" => match priority(property) {
            Some(priority) => event.priority = priority,
            None => report.add_problem(property.problem("is not a number from 0 to 9")),
        },
        "SEQUENCE" => match property.value().parse() {
            Ok(sequence) => event.sequence = sequence,
            Err(_) => report.add_problem(property.problem("is not a non-negative number; read as 0")),
        },
        "X-SUPERSTEP-FLEXIBILITY" => match property.value() {
            "FIXED" => event.flexibility = Flexibility::Fixed,
            "PREFERRED" => event.flexibility = Flexibility::Preferred,
            "FLEXIBLE" => event.flexibility = Flexibility::Flexible,
            _ => report.add_problem(property.problem("is not one of FIXED, PREFERRED and FLEXIBLE")),
        },
        "CREATED" | "LAST-MODIFIED" | "DTSTAMP" if parse_utc(property).is_none() => {
            report.add_problem(property.problem(format!("`{}` is not a time", excerpt(property.value()))));
        }
        _ => {}
    }
}

fn add_participant(participants: &mut Vec<Participant>, new: Participant) {
    match participants.iter_mut().find(|participant| participant.member == new.member) {
        Some(existing) => existing.is_required |= new.is_required,
        None => participants.push(new),
    }
}

/// Converts PRIORITY to an event priority: 1 is the highest, 9 the lowest, 0 means undefined.
pub(super) fn priority(property: &Property) -> Option<Priority> {
    match property.value().parse::<u8>().ok()? {
        1 => Some(Priority::Critical),
        2..=4 => Some(Priority::High),
        0 | 5 => Some(Priority::Medium),
        6..=9 => Some(Priority::Low),
        _ => None,
    }
}

/// Returns the lines that the event must preserve: those that the export writes unchanged only if they are
/// preserved.
fn preserved_lines(
    properties: &[Property],
    component: &Component,
    event: &Event,
    snapshot: &CalendarSnapshot,
) -> Result<Vec<String>> {
    let without: BTreeSet<String> = vevent_writer::properties(event, snapshot)?.into_iter().collect();
    let unmapped = properties.iter().filter(|property| !MAPPED_PROPERTIES.contains(&property.name.as_str()));
    let unmapped = unmapped.map(|property| &property.raw).filter(|raw| !without.contains(*raw));
    let mut lines: Vec<String> = unmapped.cloned().collect();
    let mut with: BTreeMap<String, usize> = BTreeMap::new();
    for line in vevent_writer::properties(&Event { preserved_properties: lines.clone(), ..event.clone() }, snapshot)? {
        *with.entry(line).or_default() += 1;
    }
    lines.retain(|line| with.get_mut(line).and_then(|left| left.checked_sub(1).map(|rest| *left = rest)).is_some());
    lines.extend(component.nested.iter().map(|line| line.text.clone()));
    Ok(lines)
}
