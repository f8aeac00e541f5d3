//! Iterator over the local times of a recurrence rule, period by period.
//!
//! The iterator jumps directly to any period, so a far range costs no more than a near one. Time zones are handled
//! by the caller.

use jiff::SignedDuration;
use jiff::civil::{Date, DateTime, Time, Weekday};

use super::rrule::{Frequency, RecurrenceRule, WeekdayNum};

/// The local times of a recurrence rule with defaults, from the period of one time to that of another, earliest first.
///
/// The first period is complete; the caller skips times before the first start.
pub(super) struct LocalOccurrences<'a> {
    pattern: &'a RecurrenceRule,
    first: DateTime,
    until: DateTime,
    index: i64,
    empty_periods: i64,
    pending: std::vec::IntoIter<DateTime>,
}

impl<'a> LocalOccurrences<'a> {
    pub(super) fn new(pattern: &'a RecurrenceRule, first: DateTime, from: DateTime, until: DateTime) -> Self {
        let index = pattern.index_of(first, from);
        Self { pattern, first, until, index, empty_periods: 0, pending: Vec::new().into_iter() }
    }
}

impl Iterator for LocalOccurrences<'_> {
    type Item = DateTime;

    fn next(&mut self) -> Option<DateTime> {
        loop {
            if let Some(occurrence) = self.pending.next() {
                return Some(occurrence);
            }
            let begin = self.pattern.begin(self.first, self.index).filter(|begin| *begin < self.until)?;
            if self.empty_periods > self.pattern.max_empty_periods() {
                return None;
            }
            self.empty_periods += 1;
            self.index += 1;
            if self.pattern.frequency > Frequency::Daily && !self.pattern.falls_on(begin.date()) {
                // Skips days that do not match, instead of iterating over their seconds.
                let tomorrow = begin.date().tomorrow().ok()?.to_datetime(Time::midnight());
                self.index = self.index.max(self.pattern.index_of(self.first, tomorrow));
                continue;
            }
            let local_times = self.pattern.expand_period(self.first, begin);
            if !local_times.is_empty() {
                self.empty_periods = 0;
            }
            self.pending = local_times.into_iter();
        }
    }
}

impl RecurrenceRule {
    /// Returns the number of empty periods after which a rule has no more instances. The calendar repeats every 400
    /// years.
    fn max_empty_periods(&self) -> i64 {
        match self.frequency {
            Frequency::Yearly => 400,
            Frequency::Monthly => 4_800,
            Frequency::Weekly => 20_871,
            _ => 146_097,
        }
    }

    /// Returns the length of a period in seconds, if all periods have the same length.
    fn seconds(&self) -> Option<i64> {
        let seconds = match self.frequency {
            Frequency::Yearly | Frequency::Monthly => return None,
            Frequency::Weekly => 7 * 86_400,
            Frequency::Daily => 86_400,
            Frequency::Hourly => 3_600,
            Frequency::Minutely => 60,
            Frequency::Secondly => 1,
        };
        Some(seconds * self.interval)
    }

    /// Returns the begin of the period that contains the first start.
    fn base(&self, first: DateTime) -> DateTime {
        let (day, midnight) = (first.date(), Time::midnight());
        match self.frequency {
            Frequency::Yearly => day.first_of_year().to_datetime(midnight),
            Frequency::Monthly => day.first_of_month().to_datetime(midnight),
            Frequency::Weekly => week_of(day, self.week_start).to_datetime(midnight),
            Frequency::Daily => day.to_datetime(midnight),
            Frequency::Hourly => day.at(first.hour(), 0, 0, 0),
            Frequency::Minutely => day.at(first.hour(), first.minute(), 0, 0),
            Frequency::Secondly => day.at(first.hour(), first.minute(), first.second(), 0),
        }
    }

    /// Returns the index of the last period that begins at or before `local_time`. Periods skipped by INTERVAL have no
    /// index.
    fn index_of(&self, first: DateTime, local_time: DateTime) -> i64 {
        let base = self.base(first);
        let periods = match self.seconds() {
            Some(seconds) => local_time.duration_since(base).as_secs().div_euclid(seconds),
            None => (months(local_time) - months(base)).div_euclid(self.months_apart()),
        };
        periods.max(0)
    }

    /// Returns the begin of a period; `None` after the last year that jiff supports.
    fn begin(&self, first: DateTime, index: i64) -> Option<DateTime> {
        let base = self.base(first);
        if let Some(seconds) = self.seconds() {
            return base.checked_add(SignedDuration::from_secs(seconds.checked_mul(index)?)).ok();
        }
        let month = months(base).checked_add(self.months_apart().checked_mul(index)?)?;
        let year = i16::try_from(month.div_euclid(12)).ok()?;
        let month = i8::try_from(month.rem_euclid(12) + 1).ok()?;
        Some(Date::new(year, month, 1).ok()?.to_datetime(Time::midnight()))
    }

    fn months_apart(&self) -> i64 {
        if self.frequency == Frequency::Yearly { 12 * self.interval } else { self.interval }
    }

    /// Returns all local times of one period.
    fn expand_period(&self, first: DateTime, begin: DateTime) -> Vec<DateTime> {
        let times = self.times(begin, first.subsec_nanosecond());
        let mut occurrences = Vec::new();
        for day in self.dates(begin.date()).filter(|day| self.falls_on(*day)) {
            occurrences.extend(times.iter().map(|time| day.to_datetime(*time)));
        }
        if self.positions.is_empty() {
            return occurrences;
        }
        let to_index = |position: &i16| match usize::from(position.unsigned_abs()) {
            back if *position < 0 => occurrences.len().checked_sub(back),
            forth => forth.checked_sub(1),
        };
        let mut chosen: Vec<_> =
            self.positions.iter().filter_map(to_index).filter_map(|at| occurrences.get(at).copied()).collect();
        chosen.sort_unstable();
        chosen.dedup();
        chosen
    }

    /// Returns the days of a period.
    fn dates(&self, begin: Date) -> impl Iterator<Item = Date> + use<> {
        let days = match self.frequency {
            Frequency::Yearly => begin.days_in_year(),
            Frequency::Monthly => begin.days_in_month().into(),
            Frequency::Weekly => 7,
            _ => 1,
        };
        // A month that BYMONTH excludes has no days to check.
        let is_empty = self.frequency == Frequency::Monthly && !allows(&self.months, begin.month().into());
        let days = if is_empty { 0 } else { days };
        std::iter::successors(Some(begin), |day| day.tomorrow().ok()).take(usize::try_from(days).unwrap_or(0))
    }

    /// Returns the times of day of a period.
    fn times(&self, begin: DateTime, fraction: i32) -> Vec<Time> {
        let current = [begin.hour(), begin.minute(), begin.second()].map(i16::from);
        let pick = |list: &[i16], current: i16, finer: Frequency| match list {
            list if self.frequency < finer => list.to_vec(),
            list if allows(list, current) => vec![current],
            _ => Vec::new(),
        };
        let hours = pick(&self.hours, current[0], Frequency::Hourly);
        let minutes = pick(&self.minutes, current[1], Frequency::Minutely);
        let seconds = pick(&self.seconds, current[2], Frequency::Secondly);
        let mut times = Vec::with_capacity(hours.len() * minutes.len() * seconds.len());
        let to_i8 = |number: &i16| i8::try_from(*number).unwrap_or(i8::MAX);
        for hour in &hours {
            for minute in &minutes {
                times.extend(
                    seconds.iter().flat_map(|second| Time::new(to_i8(hour), to_i8(minute), to_i8(second), fraction)),
                );
            }
        }
        times
    }

    /// Returns true if a day matches all day parts of the rule.
    fn falls_on(&self, day: Date) -> bool {
        allows(&self.months, day.month().into())
            && (self.month_days.is_empty() || is_named(&self.month_days, day.day().into(), day.days_in_month().into()))
            && (self.days.is_empty() || self.days.iter().any(|weekday| self.is_weekday(*weekday, day)))
            && (self.year_days.is_empty() || is_named(&self.year_days, day.day_of_year(), day.days_in_year()))
            && (self.weeks.is_empty() || self.is_in_week(day))
    }

    fn is_weekday(&self, expected: WeekdayNum, day: Date) -> bool {
        if expected.weekday != day.weekday() {
            return false;
        }
        let Some(ordinal) = expected.ordinal else { return true };
        // In a yearly rule without BYMONTH the ordinal counts within the year.
        let is_in_month = self.frequency == Frequency::Monthly || !self.months.is_empty();
        let (position, length) = match is_in_month {
            true => (day.day().into(), day.days_in_month().into()),
            false => (day.day_of_year(), day.days_in_year()),
        };
        ordinal == (position - 1) / 7 + 1 || ordinal == -((length - position) / 7 + 1)
    }

    /// Returns true if a day is in one of the weeks of BYWEEKNO. A week belongs to the year that contains most of its
    /// days.
    fn is_in_week(&self, day: Date) -> bool {
        let middle = week_of(day, self.week_start).saturating_add(SignedDuration::from_hours(3 * 24));
        let number = (middle.day_of_year() - 1) / 7 + 1;
        let weeks = number + (middle.days_in_year() - middle.day_of_year()) / 7;
        is_named(&self.weeks, number, weeks)
    }
}

/// Returns the first day of the week of a day.
fn week_of(day: Date, week_start: Weekday) -> Date {
    let days = i64::from(day.weekday().since(week_start));
    day.saturating_sub(SignedDuration::from_hours(24 * days))
}

/// Returns the number of months since year 0.
fn months(local_time: DateTime) -> i64 {
    i64::from(local_time.year()) * 12 + i64::from(local_time.month()) - 1
}

/// Returns true if a list is empty or contains the value.
fn allows(list: &[i16], value: i16) -> bool {
    list.is_empty() || list.contains(&value)
}

/// Returns true if a list contains the value, counted from the start or from the end.
fn is_named(list: &[i16], value: i16, length: i16) -> bool {
    list.contains(&value) || list.contains(&(value - length - 1))
}
