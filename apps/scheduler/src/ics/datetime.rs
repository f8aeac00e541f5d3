//! Dates and times in calendar files.

use calcard::icalendar::ICalendarParameterName as Parameter;
use jiff::civil::DateTime;
use superstep::Result;
use superstep::core::time::Time;

use super::property::Property;
use super::report::{ImportProblem, ImportReport};
use super::timezone_lookup::TimezoneLookup;
use crate::time_zone::NamedTimeZone;

/// Last accepted year, with a margin to the last year that jiff supports.
pub(super) const LAST_YEAR: i16 = 9_000;

/// A local date and time in a time zone.
#[derive(Debug, Clone)]
pub(super) struct IcsDateTime {
    /// The time zone.
    pub(super) zone: NamedTimeZone,
    /// The local time; midnight for a date.
    pub(super) local_time: DateTime,
    /// True if the value is a date without a time.
    pub(super) is_day: bool,
}

impl IcsDateTime {
    /// Converts to the local time of a series whose first instance starts at `first`.
    pub(super) fn local_time_in(&self, zone: &NamedTimeZone, first: DateTime) -> Result<DateTime> {
        if self.is_day {
            // A date in a timed series means the instance of that day.
            return Ok(self.local_time.date().to_datetime(first.time()));
        }
        // No conversion within the same zone: a local time that a clock change skips would move.
        if zone.name() == self.zone.name() {
            Ok(self.local_time)
        } else {
            Ok(zone.to_local(self.zone.to_instant(self.local_time)?))
        }
    }
}

/// Parses all values of a property in their time zones. `default_zone` is the time zone of values without one.
pub(super) fn parse_datetimes(
    property: &Property,
    zones: &TimezoneLookup,
    default_zone: &NamedTimeZone,
    report: &mut ImportReport,
) -> Result<Vec<IcsDateTime>, ImportProblem> {
    let zone = match property.parameter(&Parameter::Tzid) {
        None => default_zone.clone(),
        Some(name) => zones.find(&name).unwrap_or_else(|| {
            let message = format!("time zone `{name}` is unknown; read as {}", default_zone.name());
            report.add_problem(property.problem(message));
            default_zone.clone()
        }),
    };
    let is_day = property.parameter(&Parameter::Value).is_some_and(|value| value.eq_ignore_ascii_case("DATE"));
    let mut datetimes = Vec::new();
    for text in property.value().split(',') {
        let (text, rest) = text.trim().split_once('/').unwrap_or((text.trim(), ""));
        if !rest.is_empty() {
            report.add_problem(property.problem("is a period; only its start was read"));
        }
        let (local_time, form) =
            parse(text).ok_or_else(|| property.problem(format!("`{text}` is not a date or a time")))?;
        if !(1..=LAST_YEAR).contains(&local_time.year()) {
            return Err(property.problem(format!("`{text}` is not within the years 1 to {LAST_YEAR}")));
        }
        let is_day = is_day || form == DateTimeForm::Day;
        let local_time = if is_day { local_time.date().to_datetime(jiff::civil::Time::midnight()) } else { local_time };
        let zone = match form {
            DateTimeForm::Utc if !is_day => utc(property)?,
            _ if is_day => default_zone.clone(),
            _ => zone.clone(),
        };
        datetimes.push(IcsDateTime { zone, local_time, is_day });
    }
    Ok(datetimes)
}

/// Parses the single value of a property.
pub(super) fn parse_datetime(
    property: &Property,
    zones: &TimezoneLookup,
    default_zone: &NamedTimeZone,
    report: &mut ImportReport,
) -> Result<IcsDateTime, ImportProblem> {
    let mut all = parse_datetimes(property, zones, default_zone, report)?;
    match (all.pop(), all.is_empty()) {
        (Some(single), true) => Ok(single),
        _ => Err(property.problem("has more than one time")),
    }
}

/// Parses the value of a property that is always in UTC.
pub(super) fn parse_utc(property: &Property) -> Option<Time> {
    let (local_time, _) = parse(property.value())?;
    utc(property).ok()?.to_instant(local_time).ok()
}

fn utc(property: &Property) -> Result<NamedTimeZone, ImportProblem> {
    NamedTimeZone::from_iana_name("UTC").map_err(|error| property.problem(error.message()))
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum DateTimeForm {
    Day,
    Local,
    Utc,
}

fn parse(text: &str) -> Option<(DateTime, DateTimeForm)> {
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
        None => Some((jiff::civil::Date::strptime("%Y%m%d", day).ok()?.into(), DateTimeForm::Day)),
        Some(time) if time.len() != 6 || !is_digits(time) => None,
        Some(time) => {
            let local_time = DateTime::strptime("%Y%m%d%H%M%S", format!("{day}{time}")).ok()?;
            Some((local_time, if is_utc { DateTimeForm::Utc } else { DateTimeForm::Local }))
        }
    }
}

/// Formats an instant in UTC.
pub(super) fn format_utc(time: Time) -> Result<String> {
    Ok(format!("{}Z", format_local_time(NamedTimeZone::from_iana_name("UTC")?.to_local(time))))
}

/// Formats a property with a local time in a time zone, or with a date.
pub(super) fn format_property(name: &str, local_time: DateTime, zone: &NamedTimeZone, is_day: bool) -> String {
    match (is_day, zone.name()) {
        (true, _) => format!("{name};VALUE=DATE:{}", local_time.strftime("%Y%m%d")),
        (false, "UTC") => format!("{name}:{}Z", format_local_time(local_time)),
        (false, zone) => format!("{name};TZID={zone}:{}", format_local_time(local_time)),
    }
}

/// Formats a local time without a time zone.
pub(super) fn format_local_time(local_time: DateTime) -> String {
    local_time.strftime("%Y%m%dT%H%M%S").to_string()
}
