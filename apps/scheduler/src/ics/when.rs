//! Days and times as calendar files write them.

use calcard::icalendar::ICalendarParameterName as Parameter;
use jiff::civil::DateTime;
use superstep::Result;
use superstep::core::time::Time;

use super::property::Property;
use super::report::{Problem, Report};
use super::zones::Zones;
use crate::zone::Zone;

/// The last year that is read: far enough from the last that can be computed for whatever is added to it.
pub(super) const LAST_YEAR: i16 = 9_000;

/// A time on the wall of a place.
#[derive(Debug, Clone)]
pub(super) struct Moment {
    /// The place.
    pub(super) zone: Zone,
    /// The time on its wall; of a day, midnight.
    pub(super) wall: DateTime,
    /// Whether only the day was said.
    pub(super) is_day: bool,
}

impl Moment {
    /// The same moment on the wall of a series, whose first one starts at `first`.
    pub(super) fn on_wall(&self, zone: &Zone, first: DateTime) -> Result<DateTime> {
        if self.is_day {
            // A day in a series of times is the one of that day.
            return Ok(self.wall.date().to_datetime(first.time()));
        }
        // Within one zone nothing is computed: a time that clocks skip would move.
        if zone.name() == self.zone.name() { Ok(self.wall) } else { Ok(zone.wall(self.zone.instant(self.wall)?)) }
    }
}

/// All moments that a property names, in the zones of its file; `home` is where times without a zone are.
pub(super) fn moments(
    property: &Property,
    zones: &Zones,
    home: &Zone,
    report: &mut Report,
) -> Result<Vec<Moment>, Problem> {
    let zone = match property.parameter(&Parameter::Tzid) {
        None => home.clone(),
        Some(name) => zones.find(&name).unwrap_or_else(|| {
            let message = format!("time zone `{name}` is unknown; read as {}", home.name());
            report.note(property.problem(message));
            home.clone()
        }),
    };
    let is_day = property.parameter(&Parameter::Value).is_some_and(|value| value.eq_ignore_ascii_case("DATE"));
    let mut moments = Vec::new();
    for text in property.value().split(',') {
        let (text, rest) = text.trim().split_once('/').unwrap_or((text.trim(), ""));
        if !rest.is_empty() {
            report.note(property.problem("is a period; only its start was read"));
        }
        let (wall, form) = parse(text).ok_or_else(|| property.problem(format!("`{text}` is no day and no time")))?;
        if !(1..=LAST_YEAR).contains(&wall.year()) {
            return Err(property.problem(format!("`{text}` is not within the years 1 to {LAST_YEAR}")));
        }
        let is_day = is_day || form == Form::Day;
        let wall = if is_day { wall.date().to_datetime(jiff::civil::Time::midnight()) } else { wall };
        let zone = match form {
            Form::Utc if !is_day => utc(property)?,
            _ if is_day => home.clone(),
            _ => zone.clone(),
        };
        moments.push(Moment { zone, wall, is_day });
    }
    Ok(moments)
}

/// The one moment that a property names.
pub(super) fn moment(property: &Property, zones: &Zones, home: &Zone, report: &mut Report) -> Result<Moment, Problem> {
    let mut all = moments(property, zones, home, report)?;
    match (all.pop(), all.is_empty()) {
        (Some(one), true) => Ok(one),
        _ => Err(property.problem("names more than one time")),
    }
}

/// The instant of a property that is always in UTC.
pub(super) fn stamp(property: &Property) -> Option<Time> {
    let (wall, _) = parse(property.value())?;
    utc(property).ok()?.instant(wall).ok()
}

fn utc(property: &Property) -> Result<Zone, Problem> {
    Zone::named("UTC").map_err(|error| property.problem(error.message()))
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Form {
    Day,
    Wall,
    Utc,
}

fn parse(text: &str) -> Option<(DateTime, Form)> {
    let is_digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    let (body, is_utc) = match text.strip_suffix(['Z', 'z']) {
        Some(body) => (body, true),
        None => (text, false),
    };
    let (day, time) = match body.split_once(['T', 't']) {
        Some((day, time)) => (day, Some(time)),
        None => (body, None),
    };
    if day.len() != 8 || !is_digits(day) {
        return None;
    }
    match time {
        None if is_utc => None,
        None => Some((jiff::civil::Date::strptime("%Y%m%d", day).ok()?.into(), Form::Day)),
        Some(time) if time.len() != 6 || !is_digits(time) => None,
        Some(time) => {
            let wall = DateTime::strptime("%Y%m%d%H%M%S", format!("{day}{time}")).ok()?;
            Some((wall, if is_utc { Form::Utc } else { Form::Wall }))
        }
    }
}

/// An instant as it is written in UTC.
pub(super) fn in_utc(time: Time) -> Result<String> {
    Ok(format!("{}Z", digits(Zone::named("UTC")?.wall(time))))
}

/// A property with a time on the wall of a place, or only with its day.
pub(super) fn written(name: &str, wall: DateTime, zone: &Zone, is_day: bool) -> String {
    match (is_day, zone.name()) {
        (true, _) => format!("{name};VALUE=DATE:{}", wall.strftime("%Y%m%d")),
        (false, "UTC") => format!("{name}:{}Z", digits(wall)),
        (false, zone) => format!("{name};TZID={zone}:{}", digits(wall)),
    }
}

/// A time on the wall, without a zone.
pub(super) fn digits(wall: DateTime) -> String {
    wall.strftime("%Y%m%dT%H%M%S").to_string()
}
