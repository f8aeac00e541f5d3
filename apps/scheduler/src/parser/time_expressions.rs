//! Collects the time expressions of a sentence, before they are resolved.

use jiff::civil::Date;

use super::clock_time::{ClockTime, DayHalfHint};
use super::dates::{DateForm, DateRange, day_range, in_month, in_week, plus};
use super::durations::SpokenDuration;
use super::phrase_meaning::PhraseMeaning;
use super::phrase_reader::{PhraseMatch, SlotValue};
use crate::agents::format::format_date;

/// Maximum number of days in a month.
const MAX_MONTH_DAYS: i32 = 31;

/// Time expressions of a sentence.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct TimeExpressions {
    /// Dates, in order of occurrence.
    pub(super) days: Vec<DateRange>,
    /// Start date of an open range, such as `from Friday on`.
    pub(super) onward: Option<DateRange>,
    /// Time of day.
    pub(super) time: Option<ClockExpression>,
    /// Part of the day, in hours.
    pub(super) part: Option<(i8, i8)>,
    /// True for an all-day event.
    pub(super) is_all_day: bool,
    /// Duration.
    pub(super) length: Option<SpokenDuration>,
    /// Shift; the flag is true for later, false for earlier, `None` if not given.
    pub(super) shift: Option<(SpokenDuration, Option<bool>)>,
    /// Duration after a date, such as `two weeks from Friday`, until `resolve_offset` decides if the duration is that
    /// of the event.
    pub(super) offset: Option<(SpokenDuration, DateRange)>,
    /// Questions about ambiguities.
    pub(super) questions: Vec<String>,
    /// True if an ambiguity must be resolved by the user.
    pub(super) is_open: bool,
}

/// An expression for a time of day.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ClockExpression {
    At(ClockTime),
    Range(ClockTime, ClockTime),
    Until(ClockTime),
    After(ClockTime),
    Before(ClockTime),
}

impl ClockExpression {
    /// Returns the times in the expression.
    pub(super) fn clocks(self) -> Vec<ClockTime> {
        match self {
            Self::At(clock) | Self::Until(clock) | Self::After(clock) | Self::Before(clock) => vec![clock],
            Self::Range(from, to) => vec![from, to],
        }
    }
}

impl TimeExpressions {
    /// Collects the time expressions of phrases.
    pub(super) fn from_matches<'a>(findings: impl IntoIterator<Item = &'a PhraseMatch>, today: Date) -> Self {
        let mut expressions = Self::default();
        for finding in findings {
            expressions.add(finding, today);
        }
        expressions.resolve_offset();
        expressions
    }

    /// Returns true if there are no time expressions.
    pub(super) fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    fn add(&mut self, finding: &PhraseMatch, today: Date) {
        match (finding.meaning, finding.values.as_slice()) {
            (PhraseMeaning::Date, [SlotValue::Days(days)]) => self.days.push(days.clone()),
            (PhraseMeaning::DateOffset, [SlotValue::Length(length), SlotValue::Days(days)]) => {
                self.offset = Some((*length, days.clone()));
            }
            (PhraseMeaning::DateOn, [SlotValue::Days(days)]) => self.onward = Some(days.clone()),
            (PhraseMeaning::DateAfter, [SlotValue::Days(days)]) => {
                self.onward = Some(DateRange::single(days.end, DateForm::Day))
            }
            (PhraseMeaning::DateAfter, month @ [SlotValue::Month(_)]) => {
                self.onward = in_month(today, month).map(|days| DateRange::single(days.end, DateForm::Day));
            }
            (PhraseMeaning::DateRange, [SlotValue::Days(first), SlotValue::Days(last)]) => {
                self.days.push(date_span(first, last));
                self.is_all_day = true;
            }
            (PhraseMeaning::DayRange, values) => {
                self.days.extend(day_range(today, values).map(|(first, last)| date_span(&first, &last)));
                self.is_all_day = true;
            }
            (PhraseMeaning::DatePart(from, to), [SlotValue::Days(days)]) => {
                self.days.push(days.clone());
                self.part = Some((from, to));
            }
            (PhraseMeaning::TodayPart(from, to), _) => {
                self.days.push(DateRange::single(today, DateForm::Day));
                self.part = Some((from, to));
            }
            (PhraseMeaning::PartOfDay(from, to) | PhraseMeaning::RepeatPart(from, to), _) => {
                self.part = Some((from, to))
            }
            (PhraseMeaning::AllDay, _) => self.is_all_day = true,
            (PhraseMeaning::Length, [SlotValue::Length(length)]) => self.length = Some(*length),
            (PhraseMeaning::Later, [SlotValue::Length(length)]) => self.shift = Some((*length, Some(true))),
            (PhraseMeaning::Earlier, [SlotValue::Length(length)]) => self.shift = Some((*length, Some(false))),
            (PhraseMeaning::By, [SlotValue::Length(length)]) => self.shift = Some((*length, None)),
            (PhraseMeaning::Range, [SlotValue::Clock(from), SlotValue::Clock(to)]) => {
                self.set_clock(ClockExpression::Range(*from, *to))
            }
            (PhraseMeaning::At, [SlotValue::Clock(clock)]) => self.set_clock(ClockExpression::At(*clock)),
            (PhraseMeaning::AtBefore, [SlotValue::Number(minutes), SlotValue::Clock(clock)]) => {
                self.set_clock(ClockExpression::At(clock.minus_minutes(*minutes)));
            }
            (PhraseMeaning::Until, [SlotValue::Clock(clock)]) => self.set_clock(ClockExpression::Until(*clock)),
            (PhraseMeaning::After, [SlotValue::Clock(clock)]) => self.set_clock(ClockExpression::After(*clock)),
            (PhraseMeaning::Before, [SlotValue::Clock(clock)]) => self.set_clock(ClockExpression::Before(*clock)),
            _ => {}
        }
    }

    /// Resolves `two weeks from Friday at three` to a date. Without a time of day, the duration may also be that of
    /// the event.
    fn resolve_offset(&mut self) {
        let Some((length, from)) = self.offset.take() else { return };
        if length.as_minutes().is_some() {
            self.length = Some(length);
            self.days.push(from);
            return;
        }
        let later = |date: Date| length.add_to(date.into(), true).date();
        let form = if from.is_single() { DateForm::Day } else { DateForm::Several };
        let then = DateRange { first: later(from.first), end: later(from.end), form, problem: from.problem.clone() };
        if self.time.is_none() && self.part.is_none() {
            let (then, from) = (format_date(then.first), format_date(from.first));
            self.questions.push(format!("Is it on {then}, or does it start on {from} and last that long?"));
            self.is_open = true;
        }
        self.days.push(then);
    }

    fn set_clock(&mut self, time: ClockExpression) {
        self.time = Some(match (self.time, time) {
            (None, time) => time,
            (Some(ClockExpression::At(from)), ClockExpression::Until(to)) => ClockExpression::Range(from, to),
            (Some(first), repeated) if first == repeated => first,
            // The second time may be another instance, so it must not be dropped silently.
            (Some(first), _) => {
                self.questions.push("You gave two times. Which one is it?".to_owned());
                self.is_open = true;
                first
            }
        });
    }

    /// Returns the half of the day that the part of the day implies.
    pub(super) fn hint(&self) -> Option<DayHalfHint> {
        self.part.map(|(_, to)| if to <= 12 { DayHalfHint::Morning } else { DayHalfHint::Later })
    }

    /// Combines all dates. Returns the date or range of dates, and a question if they are ambiguous.
    pub(super) fn day(&self) -> (Option<DateRange>, Option<String>) {
        let is_date = |days: &&DateRange| days.is_single() && days.form != DateForm::Weekday;
        let exact_date = self.days.iter().find(is_date);
        let weekday = self.days.iter().find(|days| days.form == DateForm::Weekday);
        let several = self.days.iter().find(|days| !days.is_single());
        let date = exact_date.map(|date| resolve_in_range(date, several));
        match (&date, weekday, several) {
            (Some(date), Some(weekday), _) if date.form == DateForm::Approximate => {
                let day = in_week(plus(date.first, -3), weekday.first.weekday());
                (Some(DateRange::single(day, DateForm::Day)), None)
            }
            (Some(date), Some(weekday), _) if date.first.weekday() != weekday.first.weekday() => {
                let (date_name, weekday_name) = (format_date(date.first), weekday.first.strftime("%A"));
                (Some(date.clone()), Some(format!("Is it {date_name}, or {weekday_name}?")))
            }
            (Some(date), ..) => {
                let second = exact_date.and_then(|exact| self.second_day(exact));
                (Some(date.clone()), second.or_else(|| self.outside_question()))
            }
            (None, Some(weekday), Some(several)) => {
                let day = in_week(several.first, weekday.first.weekday());
                (Some(DateRange::single(day, DateForm::Day)), self.second_day(weekday))
            }
            (None, Some(weekday), None) => (Some(weekday.clone()), self.second_day(weekday)),
            (None, None, several) => (several.cloned(), several.and_then(|several| self.second_day(several))),
        }
    }

    /// Returns a question if a date lies outside of the given range of dates.
    fn outside_question(&self) -> Option<String> {
        let several = self.days.iter().find(|days| !days.is_single())?;
        let date = self.days.iter().find(|days| days.is_single() && days.form != DateForm::Weekday)?;
        let date = resolve_in_range(date, Some(several));
        let (first, last) = (format_date(several.first), format_date(plus(several.end, -1)));
        (!several.contains(date.first))
            .then(|| format!("Is it {}, or between {first} and {last}?", format_date(date.first)))
    }

    /// Returns a question if a second date of the same form differs: a second weekday, a second date or a second
    /// range.
    fn second_day(&self, first: &DateRange) -> Option<String> {
        let is_like = |days: &DateRange| match first.form {
            DateForm::Weekday | DateForm::Several => days.form == first.form,
            _ => !matches!(days.form, DateForm::Weekday | DateForm::Several | DateForm::Approximate),
        };
        let mut others = self.days.iter().filter(|days| is_like(days) && days.first != first.first);
        others.next().map(|other| format!("Is it {}, or {}?", format_date(first.first), format_date(other.first)))
    }
}

/// Resolves `the 20th of next month` within that month.
fn resolve_in_range(date: &DateRange, several: Option<&DateRange>) -> DateRange {
    let Some(several) = several.filter(|_| date.form == DateForm::Nth && date.problem.is_none()) else {
        return date.clone();
    };
    let mut dates = (0..MAX_MONTH_DAYS).map(|more| plus(several.first, more)).take_while(|day| several.contains(*day));
    let same = dates.find(|day| day.day() == date.first.day());
    same.map_or_else(|| date.clone(), |day| DateRange::single(day, DateForm::Nth))
}

fn date_span(first: &DateRange, last: &DateRange) -> DateRange {
    let mut end = last.end;
    // `Friday to Sunday`, on a Saturday.
    if end <= first.first && last.form == DateForm::Weekday {
        end = plus(end, 7);
    }
    let problem = first.problem.clone().or_else(|| last.problem.clone());
    let ends_before = || format!("{} to {} ends before it starts.", format_date(first.first), format_date(last.first));
    let problem = problem.or_else(|| (end <= first.first).then(ends_before));
    DateRange { problem, ..DateRange::several(first.first, end) }
}
