//! Which place a file means by the name of a time zone.
//!
//! By its IANA name, by the name that Windows has for it, by what its VTIMEZONE says beside the name, and at last by the
//! hours in that VTIMEZONE: any place whose clocks go the same way will do.

use std::collections::BTreeMap;
use std::str::FromStr;
use std::sync::Arc;

use calcard::common::timezone::Tz;
use calcard::icalendar::ICalendar;
use jiff::civil::DateTime;
use superstep::core::time::Time;

use super::component::{Component, marker};
use super::lines::Line;
use super::property::Property;
use super::when::{digits, stamp};
use crate::calendar::{Board, Event, Flexibility, Priority, Recurrence, Span};
use crate::models::EventStatus;
use crate::zone::Zone;

/// Places that people know, asked before all others: there are hundreds with the hours of Berlin.
const FAMILIAR: [&str; 20] = [
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

/// A second, as times count.
const SECOND: i64 = 1_000_000;

/// The zones of a file.
#[derive(Debug)]
pub(super) struct Zones(BTreeMap<String, Zone>);

impl Zones {
    /// Those that the file defines, at about the time at which it is read.
    pub(super) fn new(components: &[Component], board: &Board, now: Time) -> Self {
        let defined = components.iter().filter(|one| one.name == "VTIMEZONE" && one.flaw.is_none());
        let named = defined.filter_map(|one| {
            let name = one.own.iter().filter_map(Property::read).find(|property| property.name == "TZID")?.text();
            let zone = by_name(&name).or_else(|| by_definition(one)).or_else(|| by_hours(one, board, now))?;
            Some((name, zone))
        });
        Self(named.collect())
    }

    /// The place that is meant by a name.
    pub(super) fn find(&self, name: &str) -> Option<Zone> {
        self.0.get(name).cloned().or_else(|| by_name(name))
    }
}

fn by_name(name: &str) -> Option<Zone> {
    let known = |zone: Tz| Zone::named(&zone.name()?).ok();
    // A known name must stay as it is: the library writes some of them differently.
    Zone::named(name).ok().or_else(|| Tz::from_str(name).ok().and_then(known))
}

/// By `X-LIC-LOCATION` and the like.
fn by_definition(component: &Component) -> Option<Zone> {
    let lines: String = component.own.iter().map(|line| format!("{}\n", line.text)).collect();
    let calendar = ICalendar::parse(format!("BEGIN:VTIMEZONE\n{lines}END:VTIMEZONE\n")).ok()?;
    let (_, zone) = calendar.components.first()?.timezone()?;
    Zone::named(&zone.name()?).ok()
}

/// The family's own zone, a familiar one, or the first by name, with the same hours in the years around now.
fn by_hours(component: &Component, board: &Board, now: Time) -> Option<Zone> {
    let month = 30 * 86_400 * SECOND;
    let moments: Vec<i64> = (-12..=24).map(|months| now.as_unix_micros() + months * month).collect();
    let hours = Hours::read(component, board, Time::from_unix_micros(*moments.last()?).ok()?)?;
    let fits = |zone: &Zone| {
        moments.iter().all(|at| Time::from_unix_micros(*at).is_ok_and(|time| hours.at(time) == offset(zone, time)))
    };
    let mut names: Vec<String> = jiff::tz::db().available().map(|name| name.to_string()).collect();
    names.sort_unstable();
    let others = names.iter().map(String::as_str).filter(|name| name.contains('/'));
    let mut candidates = std::iter::once(board.family.zone.as_str()).chain(FAMILIAR).chain(others);
    candidates.find_map(|name| Zone::named(name).ok().filter(fits))
}

/// How far the wall of a place is from UTC, in seconds.
fn offset(zone: &Zone, time: Time) -> i64 {
    let wall = zone.wall(time).to_zoned(jiff::tz::TimeZone::UTC);
    wall.map_or(i64::MAX, |wall| (wall.timestamp().as_microsecond() - time.as_unix_micros()).div_euclid(SECOND))
}

/// When the clocks of a VTIMEZONE change, and to what.
#[derive(Debug)]
pub(super) struct Hours {
    before: i64,
    changes: Vec<(i64, i64)>,
}

impl Hours {
    /// All changes until a moment; nothing when the component cannot be understood.
    pub(super) fn read(component: &Component, board: &Board, until: Time) -> Option<Self> {
        let mut changes = Vec::new();
        for observance in observances(&component.nested) {
            let find = |name: &str| observance.iter().find(|property| property.name == name);
            let (from, to) = (seconds(find("TZOFFSETFROM")?.value())?, seconds(find("TZOFFSETTO")?.value())?);
            let event = onsets(&observance, from)?;
            let all = Span::new(Time::from_unix_micros(-62_000_000_000 * SECOND).ok()?, until)?;
            for instance in board.instances_of(&Arc::new(event), &all).ok()? {
                // The wall was read as if it were in UTC.
                changes.push((instance.span.start.as_unix_micros() - from * SECOND, from, to));
            }
        }
        changes.sort_unstable();
        let before = changes.first()?.1;
        Some(Self { before, changes: changes.into_iter().map(|(at, _, to)| (at, to)).collect() })
    }

    /// How far the wall is from UTC then, in seconds.
    pub(super) fn at(&self, time: Time) -> i64 {
        let after = self.changes.partition_point(|(at, _)| *at <= time.as_unix_micros());
        after.checked_sub(1).map_or(self.before, |last| self.changes[last].1)
    }
}

/// The properties of each STANDARD and DAYLIGHT.
fn observances(nested: &[Line]) -> Vec<Vec<Property>> {
    let mut all: Vec<Vec<Property>> = Vec::new();
    for line in nested {
        if marker(&line.text, "BEGIN:").is_some() {
            all.push(Vec::new());
        } else if let (Some(last), Some(property)) = (all.last_mut(), Property::read(line)) {
            last.push(property);
        }
    }
    all
}

/// The changes of an observance as a series, with its wall as if it were in UTC.
fn onsets(observance: &[Property], from: i64) -> Option<Event> {
    let find = |name: &str| observance.iter().find(|property| property.name == name);
    let start = stamp(find("DTSTART")?)?;
    let rule = find("RRULE").map(|rule| with_end_on_the_wall(rule.value(), from)).unwrap_or_default();
    // Clocks change by the year; any other rule could take for ever to compute.
    let is_yearly = rule.is_ascii() && rule.contains("FREQ=YEARLY");
    if !is_yearly && !rule.is_empty() {
        return None;
    }
    let utc = Zone::named("UTC").ok()?;
    let added = observance.iter().filter(|property| property.name == "RDATE").filter_map(stamp);
    let added = added.map(|time| utc.wall(time)).collect();
    Some(Event {
        id: String::new(),
        uid: String::new(),
        calendar: String::new(),
        title: String::new(),
        span: Span::new(start, Time::from_unix_micros(start.as_unix_micros() + SECOND).ok()?)?,
        zone: "UTC".to_owned(),
        is_all_day: false,
        participants: Vec::new(),
        resources: Vec::new(),
        recurrence: Some(Recurrence { rule, left_out: Vec::new(), added }),
        exception_of: None,
        priority: Priority::default(),
        flexibility: Flexibility::default(),
        status: EventStatus::Confirmed,
        owner: String::new(),
        sequence: 0,
        location: String::new(),
        notes: String::new(),
        extra: Vec::new(),
        created_at: start,
        updated_at: start,
    })
}

/// The rule with its UNTIL, which is in UTC, on the wall that is read as if it were in UTC.
fn with_end_on_the_wall(rule: &str, from: i64) -> String {
    let rule = rule.to_ascii_uppercase();
    let moved = |part: &str| {
        let until = part.strip_prefix("UNTIL=")?.strip_suffix('Z')?;
        let until = DateTime::strptime("%Y%m%dT%H%M%S", until).ok()?;
        let wall = until.checked_add(jiff::Span::new().try_seconds(from).ok()?).ok()?;
        Some(format!("UNTIL={}Z", digits(wall)))
    };
    let parts: Vec<String> = rule.split(';').map(|part| moved(part).unwrap_or_else(|| part.to_owned())).collect();
    parts.join(";")
}

/// An offset such as `-0500` or `+053000`, in seconds.
fn seconds(text: &str) -> Option<i64> {
    let (sign, digits) = match text.split_at_checked(1)? {
        ("-", digits) => (-1, digits),
        ("+", digits) => (1, digits),
        _ => return None,
    };
    let part = |from: usize| digits.get(from..from + 2).and_then(|part| part.parse::<i64>().ok());
    let rest = if digits.len() == 6 { part(4)? } else { 0 };
    matches!(digits.len(), 4 | 6).then_some(sign * (part(0)? * 3_600 + part(2)? * 60 + rest))
}
