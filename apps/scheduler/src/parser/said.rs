//! What a sentence says about time, gathered from its phrases and not yet settled.

use jiff::civil::Date;

use super::days::{Days, How, day_range, in_month, in_week, plus, written};
use super::hours::{Clock, Hint};
use super::lengths::Length;
use super::reader::{Finding, Value};
use super::sense::Sense;

/// Within so many days there is every day of a month that has it.
const LONGEST_MONTH: i32 = 31;

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
    /// So long after a day, until it is settled that this is no length.
    pub(super) ahead: Option<(Length, Days)>,
    /// What may be meant in two ways.
    pub(super) doubts: Vec<String>,
    /// Whether one of the doubts is too great to go on.
    pub(super) is_open: bool,
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
        said.settle_ahead();
        said
    }

    /// Whether nothing is said.
    pub(super) fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    fn take(&mut self, finding: &Finding, today: Date) {
        match (finding.sense, finding.values.as_slice()) {
            (Sense::Date, [Value::Days(days)]) => self.days.push(days.clone()),
            (Sense::DateAhead, [Value::Length(length), Value::Days(days)]) => {
                self.ahead = Some((*length, days.clone()));
            }
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
            (Sense::AtBefore, [Value::Number(minutes), Value::Clock(clock)]) => {
                self.time(TimeSaid::At(clock.earlier_by(*minutes)));
            }
            (Sense::Until, [Value::Clock(clock)]) => self.time(TimeSaid::Until(*clock)),
            (Sense::After, [Value::Clock(clock)]) => self.time(TimeSaid::After(*clock)),
            (Sense::Before, [Value::Clock(clock)]) => self.time(TimeSaid::Before(*clock)),
            _ => {}
        }
    }

    /// `Two weeks from Friday at three` is a day. Without a time it may as well be how long something takes.
    fn settle_ahead(&mut self) {
        let Some((length, from)) = self.ahead.take() else { return };
        if length.as_minutes().is_some() {
            self.length = Some(length);
            self.days.push(from);
            return;
        }
        let later = |date: Date| length.from(date.into(), true).date();
        let how = if from.is_one() { How::Day } else { How::Several };
        let then = Days { first: later(from.first), end: later(from.end), how, problem: from.problem.clone() };
        if self.time.is_none() && self.part.is_none() {
            let (then, from) = (written(then.first), written(from.first));
            self.doubts.push(format!("Is it {then}, or does it begin on {from} and take that long?"));
            self.is_open = true;
        }
        self.days.push(then);
    }

    fn time(&mut self, time: TimeSaid) {
        self.time = Some(match (self.time, time) {
            (None, time) => time,
            (Some(TimeSaid::At(from)), TimeSaid::Until(to)) => TimeSaid::Range(from, to),
            (Some(first), again) if first == again => first,
            // The second one may be another time at which it is as well: to drop it would be to forget it.
            (Some(first), _) => {
                self.doubts.push("Two times were said; which one is it?".to_owned());
                self.is_open = true;
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
        let said = self.days.iter().find(is_date);
        let weekday = self.days.iter().find(|days| days.how == How::Weekday);
        let several = self.days.iter().find(|days| !days.is_one());
        let date = said.map(|date| in_stretch(date, several));
        match (&date, weekday, several) {
            (Some(date), Some(weekday), _) if date.how == How::Around => {
                let day = in_week(plus(date.first, -3), weekday.first.weekday());
                (Some(Days::one(day, How::Day)), None)
            }
            (Some(date), Some(weekday), _) if date.first.weekday() != weekday.first.weekday() => {
                let (date_name, weekday_name) = (written(date.first), weekday.first.strftime("%A"));
                (Some(date.clone()), Some(format!("Is it {date_name}, or {weekday_name}?")))
            }
            (Some(date), ..) => {
                let second = said.and_then(|said| self.second_day(said));
                (Some(date.clone()), second.or_else(|| self.outside()))
            }
            (None, Some(weekday), Some(several)) => {
                let day = in_week(several.first, weekday.first.weekday());
                (Some(Days::one(day, How::Day)), self.second_day(weekday))
            }
            (None, Some(weekday), None) => (Some(weekday.clone()), self.second_day(weekday)),
            (None, None, several) => (several.cloned(), several.and_then(|several| self.second_day(several))),
        }
    }

    /// A doubt when a day was said that is none of the several days that were said as well.
    fn outside(&self) -> Option<String> {
        let several = self.days.iter().find(|days| !days.is_one())?;
        let date = self.days.iter().find(|days| days.is_one() && days.how != How::Weekday)?;
        let date = in_stretch(date, Some(several));
        let (first, last) = (written(several.first), written(plus(several.end, -1)));
        (!several.has(date.first)).then(|| format!("Is it {}, or between {first} and {last}?", written(date.first)))
    }

    /// A doubt when another day was said: a weekday beside a weekday, a date beside a date, several days beside several.
    fn second_day(&self, first: &Days) -> Option<String> {
        let is_like = |days: &Days| match first.how {
            How::Weekday | How::Several => days.how == first.how,
            _ => !matches!(days.how, How::Weekday | How::Several | How::Around),
        };
        let mut others = self.days.iter().filter(|days| is_like(days) && days.first != first.first);
        others.next().map(|other| format!("Is it {}, or {}?", written(first.first), written(other.first)))
    }
}

/// `The 20th of next month` is a day of that month, not of this one.
fn in_stretch(date: &Days, several: Option<&Days>) -> Days {
    let Some(several) = several.filter(|_| date.how == How::Nth && date.problem.is_none()) else { return date.clone() };
    let mut dates = (0..LONGEST_MONTH).map(|more| plus(several.first, more)).take_while(|one| several.has(*one));
    let same = dates.find(|one| one.day() == date.first.day());
    same.map_or_else(|| date.clone(), |one| Days::one(one, How::Nth))
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
