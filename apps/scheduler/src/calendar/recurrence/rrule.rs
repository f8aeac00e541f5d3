//! Strict parser of RFC 5545 recurrence rules.
//!
//! A part that is unknown, repeated, out of range or meaningless beside another part is rejected by its name. The
//! expansion of rules is in `occurrences`.

use std::fmt::Display;

use jiff::SignedDuration;
use jiff::civil::{Date, DateTime, Weekday};
use superstep::core::time::Time;
use superstep::{Error, ErrorCode, Result};

use super::MAX_INSTANCES;
use crate::time_zone::NamedTimeZone;

/// A parsed recurrence rule. An empty list means that the part is missing.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct RecurrenceRule {
    pub(super) frequency: Frequency,
    pub(super) interval: i64,
    pub(super) end: RuleEnd,
    pub(super) months: Vec<i16>,
    pub(super) weeks: Vec<i16>,
    pub(super) year_days: Vec<i16>,
    pub(super) month_days: Vec<i16>,
    pub(super) days: Vec<WeekdayNum>,
    pub(super) hours: Vec<i16>,
    pub(super) minutes: Vec<i16>,
    pub(super) seconds: Vec<i16>,
    pub(super) positions: Vec<i16>,
    pub(super) week_start: Weekday,
}

/// Frequency of a rule, longest period first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Frequency {
    Yearly,
    Monthly,
    Weekly,
    Daily,
    Hourly,
    Minutely,
    Secondly,
}

/// End of a rule.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum RuleEnd {
    Never,
    Count(usize),
    Until(Until),
}

/// The three forms of UNTIL.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Until {
    Utc(DateTime),
    Local(DateTime),
    Day(Date),
}

/// An element of BYDAY: every such weekday, or the nth of a month or year. Negative ordinals count from the end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct WeekdayNum {
    pub(super) ordinal: Option<i16>,
    pub(super) weekday: Weekday,
}

const WEEKDAYS: [(&str, Weekday); 7] = [
    ("MO", Weekday::Monday),
    ("TU", Weekday::Tuesday),
    ("WE", Weekday::Wednesday),
    ("TH", Weekday::Thursday),
    ("FR", Weekday::Friday),
    ("SA", Weekday::Saturday),
    ("SU", Weekday::Sunday),
];

const FREQUENCIES: [(&str, Frequency); 7] = [
    ("YEARLY", Frequency::Yearly),
    ("MONTHLY", Frequency::Monthly),
    ("WEEKLY", Frequency::Weekly),
    ("DAILY", Frequency::Daily),
    ("HOURLY", Frequency::Hourly),
    ("MINUTELY", Frequency::Minutely),
    ("SECONDLY", Frequency::Secondly),
];

/// Maximum INTERVAL: a century of days.
const MAX_INTERVAL: i64 = 36_525;

/// Splits a rule into its parts, in upper case, without the property name.
///
/// # Errors
/// Returns an error if a part has no value or the rule is empty.
pub(crate) fn parts(rule: &str) -> Result<Vec<(String, String)>> {
    let upper_case = rule.trim().to_ascii_uppercase();
    let value = upper_case.strip_prefix("RRULE:").unwrap_or(&upper_case);
    // Some programs end a rule with a semicolon.
    let value = value.strip_suffix(';').unwrap_or(value);
    let split = |part: &str| match part.split_once('=') {
        Some((name, value)) if !value.trim().is_empty() => Ok((name.trim().to_owned(), value.trim().to_owned())),
        _ => Err(invalid_part(part.trim(), "is not of the form `NAME=value`")),
    };
    value.split(';').map(split).collect()
}

/// Joins parts to a rule.
pub(crate) fn joined(parts: &[(String, String)]) -> String {
    parts.iter().map(|(name, value)| format!("{name}={value}")).collect::<Vec<_>>().join(";")
}

/// Creates an error that names the part.
pub(super) fn invalid_part(part: impl Display, reason: impl Display) -> Error {
    Error::new(ErrorCode::InputInvalid, format!("RRULE part `{part}`: {reason}"))
}

impl RecurrenceRule {
    /// Parses a rule, with or without the prefix `RRULE:`.
    ///
    /// # Errors
    /// Returns an error that names the invalid part.
    pub(super) fn parse(rule: &str) -> Result<Self> {
        let parts = parts(rule)?;
        for (index, (name, value)) in parts.iter().enumerate() {
            if parts[..index].iter().any(|(earlier, _)| earlier == name) {
                return Err(invalid_part(format_args!("{name}={value}"), format_args!("`{name}` occurs twice")));
            }
        }
        let mut pattern = Self::with_frequency(frequency(&parts)?);
        for (name, value) in &parts {
            pattern.read_part(name, value)?;
        }
        pattern.check_together(&parts)?;
        Ok(pattern)
    }

    fn with_frequency(frequency: Frequency) -> Self {
        Self {
            frequency,
            interval: 1,
            end: RuleEnd::Never,
            months: Vec::new(),
            weeks: Vec::new(),
            year_days: Vec::new(),
            month_days: Vec::new(),
            days: Vec::new(),
            hours: Vec::new(),
            minutes: Vec::new(),
            seconds: Vec::new(),
            positions: Vec::new(),
            week_start: Weekday::Monday,
        }
    }

    fn read_part(&mut self, name: &str, value: &str) -> Result<()> {
        let part = format!("{name}={value}");
        match name {
            "FREQ" => {}
            "INTERVAL" => self.interval = number(&part, value, 1, MAX_INTERVAL)?,
            "COUNT" | "UNTIL" if self.end != RuleEnd::Never => {
                return Err(invalid_part(part, "`COUNT` and `UNTIL` cannot be combined"));
            }
            "COUNT" => self.end = RuleEnd::Count(count(&part, value)?),
            "UNTIL" => self.end = RuleEnd::Until(until(&part, value)?),
            "BYMONTH" => self.months = numbers(&part, value, 1..=12)?,
            "BYWEEKNO" => self.weeks = numbers(&part, value, -53..=53)?,
            "BYYEARDAY" => self.year_days = numbers(&part, value, -366..=366)?,
            "BYMONTHDAY" => self.month_days = numbers(&part, value, -31..=31)?,
            "BYSETPOS" => self.positions = numbers(&part, value, -366..=366)?,
            "BYHOUR" => self.hours = numbers(&part, value, 0..=23)?,
            "BYMINUTE" => self.minutes = numbers(&part, value, 0..=59)?,
            "BYSECOND" => self.seconds = numbers(&part, value, 0..=59)?,
            "BYDAY" => self.days = value.split(',').map(|text| day(&part, text)).collect::<Result<_>>()?,
            "WKST" => {
                self.week_start = weekday(value).ok_or_else(|| invalid_part(part, "is not one of MO, TU, … SU"))?
            }
            _ => return Err(invalid_part(part, format_args!("RFC 5545 defines no part `{name}`"))),
        }
        Ok(())
    }

    fn check_together(&self, parts: &[(String, String)]) -> Result<()> {
        let frequency = self.frequency.name();
        let frequency_error = |name: &str, reason: &str| {
            let value = parts.iter().find(|(candidate, _)| candidate == name).map_or("", |(_, value)| value);
            Err(invalid_part(format_args!("{name}={value}"), format_args!("{reason} `FREQ={frequency}`")))
        };
        let is_by_month_or_year = self.frequency <= Frequency::Monthly;
        if !self.weeks.is_empty() && self.frequency != Frequency::Yearly {
            return frequency_error("BYWEEKNO", "week numbers require `FREQ=YEARLY`; they cannot be combined with");
        }
        if !self.year_days.is_empty()
            && matches!(self.frequency, Frequency::Monthly | Frequency::Weekly | Frequency::Daily)
        {
            return frequency_error("BYYEARDAY", "days of the year cannot be combined with");
        }
        if !self.month_days.is_empty() && self.frequency == Frequency::Weekly {
            return frequency_error("BYMONTHDAY", "days of the month cannot be combined with");
        }
        let has_ordinals = self.days.iter().any(|day| day.ordinal.is_some());
        if has_ordinals && (!is_by_month_or_year || !self.weeks.is_empty()) {
            return frequency_error(
                "BYDAY",
                "a numbered weekday requires a monthly or yearly rule without `BYWEEKNO`, not",
            );
        }
        let is_by_month = self.frequency == Frequency::Monthly;
        if is_by_month && self.days.iter().any(|day| day.ordinal.is_some_and(|ordinal| ordinal.abs() > 5)) {
            return frequency_error("BYDAY", "numbers beyond 5 or -5 are invalid with");
        }
        if !self.positions.is_empty() && !parts.iter().any(|(name, _)| name.starts_with("BY") && name != "BYSETPOS") {
            return frequency_error("BYSETPOS", "another `BY…` part is required with");
        }
        if self.frequency > Frequency::Daily && self.end == RuleEnd::Never {
            return Err(invalid_part(
                format_args!("FREQ={frequency}"),
                "a rule that repeats within a day must end: add `COUNT` or `UNTIL`, or write \
                 `FREQ=DAILY` with `BYHOUR` and `BYMINUTE`",
            ));
        }
        Ok(())
    }

    /// Fills in the parts that default to the first start.
    pub(super) fn with_defaults_from(mut self, first: DateTime) -> Self {
        let names_days = !(self.weeks.is_empty() && self.year_days.is_empty() && self.month_days.is_empty());
        let every_weekday = WeekdayNum { ordinal: None, weekday: first.weekday() };
        match self.frequency {
            // BYWEEKNO alone means one day of that week.
            Frequency::Yearly if self.days.is_empty() && self.year_days.is_empty() && self.month_days.is_empty() => {
                if self.weeks.is_empty() {
                    self.month_days = vec![first.day().into()];
                    if self.months.is_empty() {
                        self.months = vec![first.month().into()];
                    }
                } else {
                    self.days = vec![every_weekday];
                }
            }
            Frequency::Monthly if self.days.is_empty() && !names_days => self.month_days = vec![first.day().into()],
            Frequency::Weekly if self.days.is_empty() => self.days = vec![every_weekday],
            _ => {}
        }
        let default_to = |list: &mut Vec<i16>, at: i8, finer: Frequency, frequency: Frequency| {
            if list.is_empty() && frequency < finer {
                list.push(at.into());
            }
        };
        default_to(&mut self.hours, first.hour(), Frequency::Hourly, self.frequency);
        default_to(&mut self.minutes, first.minute(), Frequency::Minutely, self.frequency);
        default_to(&mut self.seconds, first.second(), Frequency::Secondly, self.frequency);
        self
    }
}

impl Frequency {
    pub(super) fn name(self) -> &'static str {
        FREQUENCIES.iter().find(|(_, one)| *one == self).map_or("", |(name, _)| name)
    }
}

impl Until {
    /// Returns the last instant at which an instance may start.
    pub(super) fn instant(&self, zone: &NamedTimeZone) -> Result<Time> {
        match self {
            Self::Utc(time) => NamedTimeZone::from_iana_name("UTC")?.to_instant(*time),
            Self::Local(time) => zone.to_instant(*time),
            Self::Day(day) => zone.to_instant(day.at(23, 59, 59, 999_999_999)),
        }
    }

    /// Formats UNTIL after the series was moved.
    fn format_shifted(&self, shift: &SeriesShift<'_>) -> Result<String> {
        let text = match self {
            Self::Utc(_) => {
                let utc = NamedTimeZone::from_iana_name("UTC")?;
                let local_time = shift.from.to_local(self.instant(shift.from)?).saturating_add(shift.by);
                utc.to_local(shift.to.to_instant(local_time)?).strftime("%Y%m%dT%H%M%SZ").to_string()
            }
            Self::Local(time) => time.saturating_add(shift.by).strftime("%Y%m%dT%H%M%S").to_string(),
            Self::Day(day) => {
                day.saturating_add(SignedDuration::from_hours(24 * shift.days)).strftime("%Y%m%d").to_string()
            }
        };
        Ok(text)
    }
}

fn frequency(parts: &[(String, String)]) -> Result<Frequency> {
    let Some((_, value)) = parts.iter().find(|(name, _)| name == "FREQ") else {
        return Err(invalid_part("FREQ", "is missing: set a frequency, such as `FREQ=WEEKLY`"));
    };
    let matched = FREQUENCIES.iter().find(|(name, _)| name == value).map(|(_, frequency)| *frequency);
    matched.ok_or_else(|| invalid_part(format_args!("FREQ={value}"), "is not one of YEARLY, MONTHLY, WEEKLY, DAILY"))
}

fn number(part: &str, text: &str, min: i64, max: i64) -> Result<i64> {
    let number = text.parse::<i64>().ok().filter(|number| (min..=max).contains(number));
    number.ok_or_else(|| invalid_part(part, format_args!("`{text}` is not a number from {min} to {max}")))
}

fn numbers(part: &str, value: &str, range: std::ops::RangeInclusive<i16>) -> Result<Vec<i16>> {
    let mut numbers = Vec::new();
    for text in value.split(',') {
        let number = number(part, text, (*range.start()).into(), (*range.end()).into())?;
        // Lists that may count from the end have no zero.
        if number == 0 && *range.start() < 0 {
            return Err(invalid_part(part, "must not contain `0`: it counts from 1, or from -1 at the end"));
        }
        numbers.extend(i16::try_from(number));
    }
    numbers.sort_unstable();
    numbers.dedup();
    Ok(numbers)
}

fn count(part: &str, value: &str) -> Result<usize> {
    let count = value.parse::<usize>().map_err(|_| invalid_part(part, format_args!("`{value}` is not a number")))?;
    match count {
        0 => Err(invalid_part(part, "a series needs at least one instance")),
        count if count > MAX_INSTANCES => {
            Err(invalid_part(part, format_args!("a series that ends can have at most {MAX_INSTANCES} instances")))
        }
        count => Ok(count),
    }
}

fn until(part: &str, value: &str) -> Result<Until> {
    let invalid = || invalid_part(part, "is not a day such as `20261231` or a time such as `20261231T230000Z`");
    let time = |text: &str| DateTime::strptime("%Y%m%dT%H%M%S", text).map_err(|_| invalid());
    // `strptime` also accepts shorter texts, with another meaning.
    match (value.strip_suffix('Z'), value.len()) {
        (Some(utc), 16) => Ok(Until::Utc(time(utc)?)),
        (None, 15) => Ok(Until::Local(time(value)?)),
        (None, 8) => Ok(Until::Day(Date::strptime("%Y%m%d", value).map_err(|_| invalid())?)),
        _ => Err(invalid()),
    }
}

fn weekday(name: &str) -> Option<Weekday> {
    WEEKDAYS.iter().find(|(candidate, _)| *candidate == name).map(|(_, weekday)| *weekday)
}

fn day(part: &str, text: &str) -> Result<WeekdayNum> {
    let invalid = || {
        invalid_part(
            part,
            format_args!("`{text}` is not one of MO, TU, WE, TH, FR, SA, SU, or numbered such as 2TU or -1FR"),
        )
    };
    let (ordinal, name) = text.split_at_checked(text.len().saturating_sub(2)).ok_or_else(invalid)?;
    let weekday = weekday(name).ok_or_else(invalid)?;
    if ordinal.is_empty() {
        return Ok(WeekdayNum { ordinal: None, weekday });
    }
    let number = ordinal.parse::<i16>().ok().filter(|number| *number != 0 && number.abs() <= 53);
    Ok(WeekdayNum { ordinal: Some(number.ok_or_else(invalid)?), weekday })
}

/// Shift of the first start of a series, in local time.
pub(crate) struct SeriesShift<'a> {
    pub(crate) by: SignedDuration,
    /// Difference of the local dates in days.
    pub(crate) days: i64,
    pub(crate) from: &'a NamedTimeZone,
    pub(crate) to: &'a NamedTimeZone,
}

/// Returns the rule of a series that was moved. Weekdays move too if the rule stays equivalent, and UNTIL moves
/// too. A single BYHOUR, BYMINUTE or BYSECOND is removed, because the first start defines the time of day.
///
/// # Errors
/// Returns an error if the rule is invalid.
pub(crate) fn moved_rule(rule: &str, shift: &SeriesShift<'_>) -> Result<String> {
    let pattern = RecurrenceRule::parse(rule)?;
    let mut parts = parts(rule)?;
    parts.retain(|(name, value)| !matches!(name.as_str(), "BYHOUR" | "BYMINUTE" | "BYSECOND") || value.contains(','));
    // With INTERVAL above 1, a weekday that moves across the end of its week would move into a week that the rule
    // skips.
    let is_weekly = pattern.frequency == Frequency::Weekly && pattern.interval == 1 && pattern.positions.is_empty();
    for (name, value) in &mut parts {
        match (name.as_str(), &pattern.end) {
            ("BYDAY", _) if is_weekly => {
                let weekdays = pattern.days.iter().map(|day| weekday_name(day.weekday.wrapping_add(shift.days)));
                *value = weekdays.collect::<Vec<_>>().join(",");
            }
            ("UNTIL", RuleEnd::Until(until)) => *value = until.format_shifted(shift)?,
            _ => {}
        }
    }
    Ok(joined(&parts))
}

fn weekday_name(weekday: Weekday) -> &'static str {
    WEEKDAYS.iter().find(|(_, one)| *one == weekday).map_or("MO", |(name, _)| name)
}
