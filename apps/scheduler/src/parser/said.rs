//! What a sentence says about time, gathered from its phrases and not yet settled.

use jiff::civil::Date;

use super::days::{Days, How, day_range, in_month, in_week, plus, written};
use super::hours::{Clock, Hint};
use super::lengths::Length;
use super::reader::{Finding, Value};
use super::sense::Sense;

/// What is said about time.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Said {
    /// Days, in the order they were said.
    pub(super) days: Vec<Days>,
    /// From which day on.
    pub(super) onward: Option<Days>,
    /// The time of the day.
    pub(super) time: Option<TimeSaid>,
    /// A part of the day, in hours.
    pub(super) part: Option<(i8, i8)>,
    /// Whether it is a matter of days.
    pub(super) is_all_day: bool,
    /// How long.
    pub(super) length: Option<Length>,
    /// By how much it moves; whether later, if said.
    pub(super) shift: Option<(Length, Option<bool>)>,
    /// What may be meant in two ways.
    pub(super) doubts: Vec<String>,
}

/// A time of the day.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum TimeSaid {
    At(Clock),
    Range(Clock, Clock),
    Until(Clock),
    After(Clock),
    Before(Clock),
}

impl TimeSaid {
    /// The times in it.
    pub(super) fn clocks(self) -> Vec<Clock> {
        match self {
            Self::At(one) | Self::Until(one) | Self::After(one) | Self::Before(one) => vec![one],
            Self::Range(from, to) => vec![from, to],
        }
    }
}

impl Said {
    /// What these phrases say.
    pub(super) fn of<'a>(findings: impl IntoIterator<Item = &'a Finding>, today: Date) -> Self {
        let mut said = Self::default();
        for finding in findings {
            said.take(finding, today);
        }
        said
    }

    /// Whether nothing is said.
    pub(super) fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    fn take(&mut self, finding: &Finding, today: Date) {
        match (finding.sense, finding.values.as_slice()) {
            (Sense::Date, [Value::Days(days)]) => self.days.push(days.clone()),
            (Sense::DateOn, [Value::Days(days)]) => self.onward = Some(days.clone()),
            (Sense::DateAfter, [Value::Days(days)]) => self.onward = Some(Days::one(days.end, How::Day)),
            (Sense::DateAfter, month @ [Value::Month(_)]) => {
                self.onward = in_month(today, month).map(|days| Days::one(days.end, How::Day));
            }
            (Sense::DateRange, [Value::Days(first), Value::Days(last)]) => {
                self.days.push(between(first, last));
                self.is_all_day = true;
            }
            (Sense::DayRange, values) => {
                self.days.extend(day_range(today, values).map(|(first, last)| between(&first, &last)));
                self.is_all_day = true;
            }
            (Sense::DatePart(from, to), [Value::Days(days)]) => {
                self.days.push(days.clone());
                self.part = Some((from, to));
            }
            (Sense::TodayPart(from, to), _) => {
                self.days.push(Days::one(today, How::Day));
                self.part = Some((from, to));
            }
            (Sense::Part(from, to) | Sense::RepeatPart(from, to), _) => self.part = Some((from, to)),
            (Sense::AllDay, _) => self.is_all_day = true,
            (Sense::Length, [Value::Length(length)]) => self.length = Some(*length),
            (Sense::Later, [Value::Length(length)]) => self.shift = Some((*length, Some(true))),
            (Sense::Earlier, [Value::Length(length)]) => self.shift = Some((*length, Some(false))),
            (Sense::By, [Value::Length(length)]) => self.shift = Some((*length, None)),
            (Sense::Range, [Value::Clock(from), Value::Clock(to)]) => self.time(TimeSaid::Range(*from, *to)),
            (Sense::At, [Value::Clock(clock)]) => self.time(TimeSaid::At(*clock)),
            (Sense::Until, [Value::Clock(clock)]) => self.time(TimeSaid::Until(*clock)),
            (Sense::After, [Value::Clock(clock)]) => self.time(TimeSaid::After(*clock)),
            (Sense::Before, [Value::Clock(clock)]) => self.time(TimeSaid::Before(*clock)),
            _ => {}
        }
    }

    fn time(&mut self, time: TimeSaid) {
        self.time = Some(match (self.time, time) {
            (None, time) => time,
            (Some(TimeSaid::At(from)), TimeSaid::Until(to)) => TimeSaid::Range(from, to),
            (Some(first), _) => {
                self.doubts.push("Two times were said; which one is it?".to_owned());
                first
            }
        });
    }

    /// What the part of the day says about its half.
    pub(super) fn hint(&self) -> Option<Hint> {
        self.part.map(|(_, to)| if to <= 12 { Hint::Morning } else { Hint::Later })
    }

    /// The days that all of them mean together.
    pub(super) fn day(&self) -> (Option<Days>, Option<String>) {
        let is_date = |days: &&Days| days.is_one() && days.how != How::Weekday;
        let date = self.days.iter().find(is_date);
        let weekday = self.days.iter().find(|days| days.how == How::Weekday);
        let several = self.days.iter().find(|days| !days.is_one());
        match (date, weekday, several) {
            (Some(date), Some(weekday), _) if date.how == How::Around => {
                let day = in_week(plus(date.first, -3), weekday.first.weekday());
                (Some(Days::one(day, How::Day)), None)
            }
            (Some(date), Some(weekday), _) if date.first.weekday() != weekday.first.weekday() => {
                let (date_name, weekday_name) = (written(date.first), weekday.first.strftime("%A"));
                (Some(date.clone()), Some(format!("Is it {date_name}, or {weekday_name}?")))
            }
            (Some(date), ..) => (Some(date.clone()), self.second_day(date)),
            (None, Some(weekday), Some(several)) => {
                let day = in_week(several.first, weekday.first.weekday());
                (Some(Days::one(day, How::Day)), None)
            }
            (None, Some(weekday), None) => (Some(weekday.clone()), self.second_day(weekday)),
            (None, None, several) => (several.cloned(), None),
        }
    }

    /// A doubt when another day of the same kind was said.
    fn second_day(&self, first: &Days) -> Option<String> {
        let mut others = self.days.iter().filter(|days| days.how == first.how && days.first != first.first);
        others.next().map(|other| format!("Is it {}, or {}?", written(first.first), written(other.first)))
    }
}

fn between(first: &Days, last: &Days) -> Days {
    let mut end = last.end;
    // `Friday to Sunday`, said on a Saturday.
    if end <= first.first && last.how == How::Weekday {
        end = plus(end, 7);
    }
    let problem = first.problem.clone().or_else(|| last.problem.clone());
    let ends_before = || format!("{} to {} ends before it starts", written(first.first), written(last.first));
    let problem = problem.or_else(|| (end <= first.first).then(ends_before));
    Days { problem, ..Days::several(first.first, end) }
}
