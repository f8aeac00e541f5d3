//! Resolves the time zone names of a file.
//!
//! Tried in this order: the IANA name, the Windows name, the location in the VTIMEZONE, and the offsets in the
//! VTIMEZONE. For the last, any time zone with the same offsets is accepted.

use std::collections::BTreeMap;
use std::str::FromStr;
use std::sync::Arc;

use calcard::common::timezone::Tz;
use calcard::icalendar::ICalendar;
use jiff::civil::DateTime;
use superstep::core::time::Time;

use super::component::{Component, component_name};
use super::content_line::ContentLine;
use super::datetime::{format_local_time, parse_utc};
use super::property::Property;
use crate::calendar::{CalendarSnapshot, Event, Flexibility, Priority, Recurrence, TimeRange};
use crate::models::EventStatus;
use crate::time_zone::NamedTimeZone;

/// Well-known time zones, tried first, because several time zones have the same offsets.
const WELL_KNOWN: [&str; 20] = [
    "America/New_York",
    "America/Chicago",
    "America/Denver",
    "America/Phoenix",
    "America/Los_Angeles",
    "America/Anchorage",
    "Pacific/Honolulu",
    "America/Halifax",
    "America/Sao_Paulo",
    "Europe/London",
    "Europe/Berlin",
    "Europe/Athens",
    "Europe/Moscow",
    "Africa/Johannesburg",
    "Asia/Dubai",
    "Asia/Kolkata",
    "Asia/Shanghai",
    "Asia/Tokyo",
    "Australia/Sydney",
    "Pacific/Auckland",
];

/// One second in microseconds.
const MICROS_PER_SECOND: i64 = 1_000_000;

/// Time zones that a file defines, by TZID.
#[derive(Debug)]
pub(super) struct TimezoneLookup(BTreeMap<String, NamedTimeZone>);

impl TimezoneLookup {
    /// Resolves the VTIMEZONEs of a file. Offsets are compared around `now`.
    pub(super) fn new(components: &[Component], snapshot: &CalendarSnapshot, now: Time) -> Self {
        let defined =
            components.iter().filter(|component| component.name == "VTIMEZONE" && component.problem.is_none());
        let named = defined.filter_map(|component| {
            let name =
                component.lines.iter().filter_map(Property::parse).find(|property| property.name == "TZID")?.text();
            let zone = by_name(&name)
                .or_else(|| by_definition(component))
                .or_else(|| by_utc_offsets(component, snapshot, now))?;
            Some((name, zone))
        });
        Self(named.collect())
    }

    /// Returns the time zone for a name.
    pub(super) fn find(&self, name: &str) -> Option<NamedTimeZone> {
        self.0.get(name).cloned().or_else(|| by_name(name))
    }
}

fn by_name(name: &str) -> Option<NamedTimeZone> {
    let from_tz = |zone: Tz| NamedTimeZone::from_iana_name(&zone.name()?).ok();
    // A known IANA name stays as written, because `calcard` renames some of them.
    NamedTimeZone::from_iana_name(name).ok().or_else(|| Tz::from_str(name).ok().and_then(from_tz))
}

/// Resolves `X-LIC-LOCATION` and similar properties.
fn by_definition(component: &Component) -> Option<NamedTimeZone> {
    let lines: String = component.lines.iter().map(|line| format!("{}\n", line.text)).collect();
    let calendar = ICalendar::parse(format!("BEGIN:VTIMEZONE\n{lines}END:VTIMEZONE\n")).ok()?;
    let (_, zone) = calendar.components.first()?.timezone()?;
    NamedTimeZone::from_iana_name(&zone.name()?).ok()
}

/// Returns a time zone with the same offsets in the years around `now`: that of the family, a well-known one, or
/// the first by name.
fn by_utc_offsets(component: &Component, snapshot: &CalendarSnapshot, now: Time) -> Option<NamedTimeZone> {
    let month = 30 * 86_400 * MICROS_PER_SECOND;
    let samples: Vec<i64> = (-12..=24).map(|months| now.as_unix_micros() + months * month).collect();
    let timeline = OffsetTimeline::from_component(component, snapshot, Time::from_unix_micros(*samples.last()?).ok()?)?;
    let fits = |zone: &NamedTimeZone| {
        samples
            .iter()
            .all(|at| Time::from_unix_micros(*at).is_ok_and(|time| timeline.offset_at(time) == offset(zone, time)))
    };
    let mut names: Vec<String> = jiff::tz::db().available().map(|name| name.to_string()).collect();
    names.sort_unstable();
    let others = names.iter().map(String::as_str).filter(|name| name.contains('/'));
    let mut candidates = std::iter::once(snapshot.family.zone.as_str()).chain(WELL_KNOWN).chain(others);
    candidates.find_map(|name| NamedTimeZone::from_iana_name(name).ok().filter(fits))
}

/// Returns the UTC offset in seconds.
fn offset(zone: &NamedTimeZone, time: Time) -> i64 {
    let zoned = zone.to_local(time).to_zoned(jiff::tz::TimeZone::UTC);
    zoned.map_or(i64::MAX, |zoned| {
        (zoned.timestamp().as_microsecond() - time.as_unix_micros()).div_euclid(MICROS_PER_SECOND)
    })
}

/// UTC offsets of a VTIMEZONE: its transitions and the offset before the first one.
#[derive(Debug)]
pub(super) struct OffsetTimeline {
    before: i64,
    transitions: Vec<(i64, i64)>,
}

impl OffsetTimeline {
    /// Computes all transitions until an instant; `None` if the component is invalid.
    pub(super) fn from_component(component: &Component, snapshot: &CalendarSnapshot, until: Time) -> Option<Self> {
        let mut transitions = Vec::new();
        for observance in observances(&component.nested) {
            let find = |name: &str| observance.iter().find(|property| property.name == name);
            let (from, to) = (parse_offset(find("TZOFFSETFROM")?.value())?, parse_offset(find("TZOFFSETTO")?.value())?);
            let event = transition_series(&observance, from)?;
            let all = TimeRange::new(Time::from_unix_micros(-62_000_000_000 * MICROS_PER_SECOND).ok()?, until)?;
            for instance in snapshot.instances_of(&Arc::new(event), &all).ok()? {
                // The local time was parsed as if it were UTC.
                transitions.push((instance.span.start.as_unix_micros() - from * MICROS_PER_SECOND, from, to));
            }
        }
        transitions.sort_unstable();
        let before = transitions.first()?.1;
        Some(Self { before, transitions: transitions.into_iter().map(|(at, _, to)| (at, to)).collect() })
    }

    /// Returns the UTC offset at an instant, in seconds.
    pub(super) fn offset_at(&self, time: Time) -> i64 {
        let after = self.transitions.partition_point(|(at, _)| *at <= time.as_unix_micros());
        after.checked_sub(1).map_or(self.before, |last| self.transitions[last].1)
    }
}

/// Returns the properties of each STANDARD and DAYLIGHT.
fn observances(nested: &[ContentLine]) -> Vec<Vec<Property>> {
    let mut all: Vec<Vec<Property>> = Vec::new();
    for line in nested {
        if component_name(&line.text, "BEGIN:").is_some() {
            all.push(Vec::new());
        } else if let (Some(last), Some(property)) = (all.last_mut(), Property::parse(line)) {
            last.push(property);
        }
    }
    all
}

/// Converts the transitions of an observance to a series, with local times stored as UTC.
fn transition_series(observance: &[Property], from: i64) -> Option<Event> {
    let find = |name: &str| observance.iter().find(|property| property.name == name);
    let start = parse_utc(find("DTSTART")?)?;
    let rule = find("RRULE").map(|rule| with_local_until(rule.value(), from)).unwrap_or_default();
    // Transitions are yearly; any other rule could take unbounded time.
    let is_yearly = rule.is_ascii() && rule.contains("FREQ=YEARLY");
    if !is_yearly && !rule.is_empty() {
        return None;
    }
    let utc = NamedTimeZone::from_iana_name("UTC").ok()?;
    let added = observance.iter().filter(|property| property.name == "RDATE").filter_map(parse_utc);
    let added = added.map(|time| utc.to_local(time)).collect();
    Some(Event {
        id: String::new(),
        uid: String::new(),
        calendar: String::new(),
        title: String::new(),
        span: TimeRange::new(start, Time::from_unix_micros(start.as_unix_micros() + MICROS_PER_SECOND).ok()?)?,
        zone: "UTC".to_owned(),
        is_all_day: false,
        participants: Vec::new(),
        resources: Vec::new(),
        recurrence: Some(Recurrence { rule, exdates: Vec::new(), rdates: added }),
        recurrence_override: None,
        priority: Priority::default(),
        flexibility: Flexibility::default(),
        status: EventStatus::Confirmed,
        owner: String::new(),
        sequence: 0,
        location: String::new(),
        notes: String::new(),
        preserved_properties: Vec::new(),
        created_at: start,
        updated_at: start,
    })
}

/// Converts UNTIL from UTC to the local time that is stored as UTC.
fn with_local_until(rule: &str, from: i64) -> String {
    let rule = rule.to_ascii_uppercase();
    let moved = |part: &str| {
        let until = part.strip_prefix("UNTIL=")?.strip_suffix('Z')?;
        let until = DateTime::strptime("%Y%m%dT%H%M%S", until).ok()?;
        let local_time = until.checked_add(jiff::Span::new().try_seconds(from).ok()?).ok()?;
        Some(format!("UNTIL={}Z", format_local_time(local_time)))
    };
    let parts: Vec<String> = rule.split(';').map(|part| moved(part).unwrap_or_else(|| part.to_owned())).collect();
    parts.join(";")
}

/// Parses an offset such as `-0500` or `+053000` to seconds.
fn parse_offset(text: &str) -> Option<i64> {
    let (sign, digits) = match text.split_at_checked(1)? {
        ("-", digits) => (-1, digits),
        ("+", digits) => (1, digits),
        _ => return None,
    };
    let part = |from: usize| digits.get(from..from + 2).and_then(|part| part.parse::<i64>().ok());
    let rest = if digits.len() == 6 { part(4)? } else { 0 };
    matches!(digits.len(), 4 | 6).then_some(sign * (part(0)? * 3_600 + part(2)? * 60 + rest))
}
