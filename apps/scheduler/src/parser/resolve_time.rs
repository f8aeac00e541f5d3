//! Resolves time expressions to the time of a new event or to the range of a query.

use jiff::civil::{Date, DateTime};

use super::clock_time::{DayHalfHint, at, resolve_range};
use super::dates::{DateForm, DateRange, in_week, plus};
use super::recurrence::RecurrencePhrase;
use super::time_expressions::{ClockExpression, TimeExpressions};
use crate::agents::format::{self, format_date};
use crate::calendar::Preferences;
use crate::time_zone::NamedTimeZone;

/// Minutes in a day.
const MINUTES_PER_DAY: i32 = 24 * 60;
/// Maximum number of days that are enumerated.
const MAX_ENUMERATED_DAYS: i32 = 31;
/// Maximum number of candidate times, enough for one week.
const MAX_CHOICES: usize = 7;

/// Context for the resolution of times.
#[derive(Debug, Clone, Copy)]
pub(super) struct LocalClock<'a> {
    /// Current local time.
    pub(super) now: DateTime,
    /// Time zone of the family.
    pub(super) zone: &'a NamedTimeZone,
    /// Preferences of the speaker.
    pub(super) preferences: &'a Preferences,
    /// Half of the day that other words imply.
    pub(super) hint: Option<DayHalfHint>,
}

/// A resolved time.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct ResolvedTime {
    /// Local time range.
    pub(super) span: Option<(DateTime, DateTime)>,
    /// True if the event is somewhere within the range.
    pub(super) is_vague: bool,
    /// True for an all-day event.
    pub(super) is_all_day: bool,
    /// RRULE value.
    pub(super) rule: Option<String>,
    /// True if a date was given.
    pub(super) has_date: bool,
    /// True if a time of day was given.
    pub(super) has_time: bool,
    /// Duration in minutes, if the duration was given and not the end.
    pub(super) length: Option<i64>,
    /// Candidate ranges: the given hours on each of several days.
    pub(super) time_options: Vec<(DateTime, DateTime)>,
    /// True if an ambiguity must be resolved by the user.
    pub(super) is_open: bool,
    /// Questions about ambiguities.
    pub(super) questions: Vec<String>,
    /// Errors as sentences.
    pub(super) problems: Vec<String>,
}

impl LocalClock<'_> {
    /// Resolves the time of a new event.
    pub(super) fn create(&self, expressions: &TimeExpressions, repeat: Option<RecurrencePhrase>) -> ResolvedTime {
        let mut when = self.resolve(expressions, repeat);
        self.choose_day(expressions, &mut when);
        if when.problems.is_empty()
            && when.rule.is_none()
            && let Some((start, end)) = when.span
            && (if when.is_vague || when.is_all_day { end <= self.now } else { start < self.now })
        {
            when.problems.push(self.past_error(expressions, start));
            when.span = None;
        }
        when
    }

    /// Selects the first of several days for the given hours, and asks for the day, so that the hours are not lost.
    fn choose_day(&self, expressions: &TimeExpressions, when: &mut ResolvedTime) {
        let Some(last) = when.time_options.last().copied() else { return };
        when.time_options.retain(|(start, _)| *start >= self.now);
        let first = when.time_options.first().copied().unwrap_or(last);
        when.questions
            .push(format!("Is it on {}, on another of these days, or on all of them?", format_date(first.0.date())));
        when.is_open = true;
        when.span = Some(first);
        let is_exact = matches!(expressions.time, Some(ClockExpression::At(_) | ClockExpression::Range(..)));
        if !is_exact || when.time_options.len() > MAX_CHOICES {
            when.time_options.clear();
        }
    }

    /// Resolves the range of a query.
    pub(super) fn resolve_query(&self, expressions: &TimeExpressions) -> ResolvedTime {
        let mut expressions = expressions.clone();
        expressions.time = expressions.time.map(|time| match time {
            ClockExpression::At(clock) if clock.is_named => ClockExpression::After(clock),
            time => time,
        });
        let mut when = ResolvedTime { time_options: Vec::new(), ..self.resolve(&expressions, None) };
        if let (None, Some(onward)) = (when.span, &expressions.onward) {
            let first = onward.first.to_datetime(jiff::civil::Time::midnight());
            when.span = Some((first, at(plus(onward.first, 365), 0)));
            when.has_date = true;
        }
        when
    }

    fn resolve(&self, expressions: &TimeExpressions, repeat: Option<RecurrencePhrase>) -> ResolvedTime {
        let mut when = ResolvedTime {
            questions: expressions.questions.clone(),
            is_open: expressions.is_open,
            ..ResolvedTime::default()
        };
        let (day, question) = expressions.day();
        when.is_open |= question.is_some();
        when.questions.extend(question);
        when.problems.extend(expressions.days.iter().filter_map(|days| days.problem.clone()));
        when.problems.extend(
            expressions.time.iter().flat_map(|time| time.clocks()).filter_map(super::clock_time::ClockTime::problem),
        );
        when.has_date = when.problems.is_empty() && (day.is_some() || repeat.is_some());
        if !when.problems.is_empty() {
            return when;
        }
        // `for 6 weeks` is the duration of the series, not of an instance.
        let is_long = |length: &super::durations::SpokenDuration| repeat.is_none() || length.as_minutes().is_some();
        let expressions = &TimeExpressions { length: expressions.length.filter(is_long), ..expressions.clone() };
        let minutes = self.minutes(expressions, &mut when);
        if !when.problems.is_empty() {
            return when;
        }
        let from = day.clone().or_else(|| expressions.onward.clone());
        let days = match repeat {
            Some(mut repeat) => {
                repeat.fill_weekday(day.as_ref());
                self.first_day(&repeat, from.as_ref(), minutes, &mut when)
            }
            None => day,
        };
        if !when.problems.is_empty() {
            return when;
        }
        let anchor = days.clone().or_else(|| minutes.map(|minutes| self.next_day(minutes)));
        if let (Some(days), true) = (&days, when.rule.is_none()) {
            when.questions.extend(self.today_or_later(days, minutes));
        }
        if let Some(days) = anchor {
            self.set_span(expressions, &days, minutes, &mut when);
        }
        when
    }

    /// Resolves the range of minutes within the day. Errors and ambiguities are added to `when`.
    fn minutes(&self, expressions: &TimeExpressions, when: &mut ResolvedTime) -> Option<MinuteRange> {
        let hint = expressions.hint().or(self.hint);
        let mut resolve_clock = |clock: super::clock_time::ClockTime| {
            let resolved = clock.resolve(hint, self.preferences);
            if resolved.is_ambiguous {
                when.questions.push(format!("Is {} in the morning or in the evening?", clock.text()));
            }
            resolved.minute
        };
        let minutes = match expressions.time? {
            ClockExpression::At(clock) => {
                let start = resolve_clock(clock);
                let length = expressions.length.and_then(super::durations::SpokenDuration::total_minutes);
                let length = length.unwrap_or_else(|| self.preferences.default_minutes.into());
                let end = start.saturating_add(i32::try_from(length).unwrap_or(MINUTES_PER_DAY));
                MinuteRange { start, end, is_vague: false, length: Some(length) }
            }
            ClockExpression::Until(clock) | ClockExpression::Before(clock) => {
                MinuteRange { start: 0, end: resolve_clock(clock), is_vague: true, length: None }
            }
            ClockExpression::After(clock) => {
                MinuteRange { start: resolve_clock(clock), end: MINUTES_PER_DAY, is_vague: true, length: None }
            }
            ClockExpression::Range(from, to) => {
                let Some((start, end)) = resolve_range(from, to, hint, self.preferences) else {
                    let (from, to) = (from.text(), to.text());
                    when.problems.push(format!("The time from {from} to {to} ends before it starts."));
                    return None;
                };
                if start.is_ambiguous {
                    when.questions.push(format!("Is {} in the morning or in the evening?", from.text()));
                }
                MinuteRange { start: start.minute, end: end.minute, is_vague: false, length: None }
            }
        };
        when.has_time = !minutes.is_vague;
        Some(minutes)
    }

    /// Returns the day of the first instance of a series. The recurrence rule is added to `when`.
    fn first_day(
        &self,
        repeat: &RecurrencePhrase,
        from: Option<&DateRange>,
        minutes: Option<MinuteRange>,
        when: &mut ResolvedTime,
    ) -> Option<DateRange> {
        let today = self.now.date();
        let mut from = from.map_or(today, |days| days.first.max(today));
        let is_over = minutes.is_some_and(|minutes| at(today, minutes.start) < self.now);
        // Without a time of day, a series starts tomorrow, because little of today may be left.
        if from == today && (is_over || minutes.is_none()) {
            from = plus(today, 1);
        }
        let Some(first) = repeat.first(from) else {
            when.problems.push("No month has such a day.".to_owned());
            return None;
        };
        match repeat.to_rrule(first, self.zone) {
            Ok(rule) => when.rule = Some(rule),
            Err(error) => when.problems.push(format!("The recurrence is not valid: {}.", error.message())),
        }
        Some(DateRange::single(first, DateForm::Day))
    }

    /// Returns today, or tomorrow if the time of day is over.
    fn next_day(&self, minutes: MinuteRange) -> DateRange {
        let today = self.now.date();
        let is_over = at(today, if minutes.is_vague { minutes.end } else { minutes.start }) < self.now;
        DateRange::single(if is_over { plus(today, 1) } else { today }, DateForm::Day)
    }

    /// Returns the question if a weekday may mean today: `Thursday`, on a Thursday.
    pub(super) fn today_or_later(&self, days: &DateRange, minutes: Option<MinuteRange>) -> Option<String> {
        let today = self.now.date();
        let is_over = minutes.is_some_and(|minutes| at(today, minutes.start) < self.now);
        let is_open = days.form == DateForm::Weekday && days.first.weekday() == today.weekday() && !is_over;
        is_open.then(|| format!("Is it today, or {}?", format_date(days.first)))
    }

    fn set_span(
        &self,
        expressions: &TimeExpressions,
        days: &DateRange,
        minutes: Option<MinuteRange>,
        when: &mut ResolvedTime,
    ) {
        let part = expressions.part.map(|(from, to)| (i32::from(from) * 60, i32::from(to) * 60));
        let (start, end) = (at(days.first, 0), at(days.end, 0));
        let (span, is_vague) = match (minutes, part) {
            (Some(minutes), _) if days.is_single() => {
                when.length = minutes.length;
                ((at(days.first, minutes.start), at(days.first, minutes.end)), minutes.is_vague)
            }
            (None, Some((from, to))) if days.is_single() => ((at(days.first, from), at(days.first, to)), true),
            (None, None) if days.is_single() && expressions.length.is_some_and(|length| length.days > 0) => {
                when.is_all_day = true;
                when.has_time = true;
                ((start, at(plus(days.first, expressions.length.map_or(1, |length| length.days)), 0)), false)
            }
            (None, None) if expressions.is_all_day => {
                when.is_all_day = true;
                when.has_time = true;
                ((start, end), false)
            }
            // Any of several days.
            _ => {
                when.has_time = false;
                let hours = minutes.map(|minutes| (minutes.start, minutes.end)).or(part);
                when.time_options = hours.map(|hours| on_each_day(days, hours)).unwrap_or_default();
                ((start, end), true)
            }
        };
        when.is_vague = is_vague;
        when.span = Some(span);
    }

    /// Formats the error for a time in the past.
    fn past_error(&self, expressions: &TimeExpressions, start: DateTime) -> String {
        let (day, _) = expressions.day();
        let was = format_date(start.date());
        let is_weekday = expressions.days.iter().any(|days| matches!(days.form, DateForm::Past | DateForm::Weekday));
        let next = match day.map(|days| days.form) {
            _ if is_weekday => next_weekday(start.date(), self.now),
            Some(DateForm::YearDay) => next_year(start.date()),
            _ if start.date() >= plus(self.now.date(), -1) => {
                let next = plus(self.now.date(), 1);
                format!("tomorrow, {}", format_date(next))
            }
            _ => next_year(start.date()),
        };
        let time = expressions.time.map(|_| format!(" at {}", format::format_time(start.time()))).unwrap_or_default();
        format!("That was on {was}{time}; did you mean {next}?")
    }
}

/// Returns the same hours on each of several days.
fn on_each_day(days: &DateRange, (from, to): (i32, i32)) -> Vec<(DateTime, DateTime)> {
    let dates = (0..MAX_ENUMERATED_DAYS).map(|more| plus(days.first, more)).take_while(|date| days.contains(*date));
    dates.map(|date| (at(date, from), at(date, to))).collect()
}

/// Formats the next date after now with the same weekday.
pub(super) fn next_weekday(date: Date, now: DateTime) -> String {
    let mut next = in_week(now.date(), date.weekday());
    if at(next, 0) <= now {
        next = plus(next, 7);
    }
    format!("next {}, {}", next.strftime("%A"), next.strftime("%-d %B"))
}

fn next_year(date: Date) -> String {
    let next = date.saturating_add(jiff::Span::new().years(1));
    format!("{} {}", format_date(next), next.year())
}

/// A range of minutes within a day.
#[derive(Debug, Clone, Copy)]
pub(super) struct MinuteRange {
    start: i32,
    end: i32,
    is_vague: bool,
    /// Duration in minutes, if given.
    length: Option<i64>,
}
