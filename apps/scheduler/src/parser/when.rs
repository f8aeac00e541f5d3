//! When something is to be, or which stretch of time is asked about, from all that was said.

use jiff::civil::{Date, DateTime};

use super::days::{Days, How, in_week, plus, written};
use super::hours::{Hint, at, settle_range};
use super::repeats::Repeat;
use super::said::{Said, TimeSaid};
use crate::calendar::Preferences;
use crate::zone::Zone;

/// The last minute of a day and one more.
const DAY: i32 = 24 * 60;
/// The most days that are looked at one by one.
const A_MONTH: i32 = 31;
/// The most times that are offered to choose from: those of a week.
const MOST_CHOICES: usize = 7;

/// What is needed to settle a time.
#[derive(Debug, Clone, Copy)]
pub(super) struct Wall<'a> {
    /// What the clock shows.
    pub(super) now: DateTime,
    /// Where.
    pub(super) zone: &'a Zone,
    /// What suits who speaks.
    pub(super) preferences: &'a Preferences,
    /// What other words say about the half of the day.
    pub(super) hint: Option<Hint>,
}

/// A time, settled.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct When {
    /// From when until when, on the wall.
    pub(super) span: Option<(DateTime, DateTime)>,
    /// Whether the span is only where it is to lie.
    pub(super) is_vague: bool,
    /// Whether it is a matter of days.
    pub(super) is_all_day: bool,
    /// The value of RRULE.
    pub(super) rule: Option<String>,
    /// Whether a day was said.
    pub(super) has_date: bool,
    /// Whether a time was said.
    pub(super) has_time: bool,
    /// How many minutes it takes, where that and not its end was said.
    pub(super) length: Option<i64>,
    /// The hours that were said, on each of the days of which one is meant.
    pub(super) either: Vec<(DateTime, DateTime)>,
    /// Whether one of the doubts is too great to go on.
    pub(super) is_open: bool,
    /// What may be meant in two ways.
    pub(super) doubts: Vec<String>,
    /// What cannot be.
    pub(super) problems: Vec<String>,
}

impl Wall<'_> {
    /// When something new is to be.
    pub(super) fn create(&self, said: &Said, repeat: Option<Repeat>) -> When {
        let mut when = self.settle(said, repeat);
        self.choose_day(said, &mut when);
        if when.problems.is_empty()
            && when.rule.is_none()
            && let Some((start, end)) = when.span
            && (if when.is_vague || when.is_all_day { end <= self.now } else { start < self.now })
        {
            when.problems.push(self.past(said, start));
            when.span = None;
        }
        when
    }

    /// Hours that were said with several days are not to be lost: the first day is taken, to be asked about.
    fn choose_day(&self, said: &Said, when: &mut When) {
        let Some(last) = when.either.last().copied() else { return };
        when.either.retain(|(start, _)| *start >= self.now);
        let first = when.either.first().copied().unwrap_or(last);
        when.doubts.push(format!("Is it on {}, on another of these days, or on each?", written(first.0.date())));
        when.is_open = true;
        when.span = Some(first);
        let is_exact = matches!(said.time, Some(TimeSaid::At(_) | TimeSaid::Range(..)));
        if !is_exact || when.either.len() > MOST_CHOICES {
            when.either.clear();
        }
    }

    /// Which stretch of time is asked about.
    pub(super) fn ask(&self, said: &Said) -> When {
        let mut said = said.clone();
        said.time = said.time.map(|time| match time {
            TimeSaid::At(clock) if clock.is_named => TimeSaid::After(clock),
            time => time,
        });
        let mut when = When { either: Vec::new(), ..self.settle(&said, None) };
        if let (None, Some(onward)) = (when.span, &said.onward) {
            let first = onward.first.to_datetime(jiff::civil::Time::midnight());
            when.span = Some((first, at(plus(onward.first, 365), 0)));
            when.has_date = true;
        }
        when
    }

    fn settle(&self, said: &Said, repeat: Option<Repeat>) -> When {
        let mut when = When { doubts: said.doubts.clone(), is_open: said.is_open, ..When::default() };
        let (day, doubt) = said.day();
        when.is_open |= doubt.is_some();
        when.doubts.extend(doubt);
        when.problems.extend(said.days.iter().filter_map(|days| days.problem.clone()));
        when.problems.extend(said.time.iter().flat_map(|time| time.clocks()).filter_map(super::hours::Clock::problem));
        when.has_date = when.problems.is_empty() && (day.is_some() || repeat.is_some());
        if !when.problems.is_empty() {
            return when;
        }
        // `for 6 weeks` is how often a series is, not how long one of it.
        let is_long = |length: &super::lengths::Length| repeat.is_none() || length.as_minutes().is_some();
        let said = &Said { length: said.length.filter(is_long), ..said.clone() };
        let minutes = self.minutes(said, &mut when);
        if !when.problems.is_empty() {
            return when;
        }
        let from = day.clone().or_else(|| said.onward.clone());
        let days = match repeat {
            Some(mut repeat) => {
                repeat.on_day_said(day.as_ref());
                self.first(&repeat, from.as_ref(), minutes, &mut when)
            }
            None => day,
        };
        if !when.problems.is_empty() {
            return when;
        }
        let anchor = days.clone().or_else(|| minutes.map(|minutes| self.next(minutes)));
        if let (Some(days), true) = (&days, when.rule.is_none()) {
            when.doubts.extend(self.today_or_later(days, minutes));
        }
        if let Some(days) = anchor {
            self.place(said, &days, minutes, &mut when);
        }
        when
    }

    /// From which minute of the day until which; problems and doubts go to `when`.
    fn minutes(&self, said: &Said, when: &mut When) -> Option<Minutes> {
        let hint = said.hint().or(self.hint);
        let mut settle = |clock: super::hours::Clock| {
            let settled = clock.settle(hint, self.preferences);
            if settled.is_doubtful {
                when.doubts.push(format!("Is {} in the morning or in the evening?", clock.written()));
            }
            settled.minute
        };
        let minutes = match said.time? {
            TimeSaid::At(clock) => {
                let start = settle(clock);
                let length = said.length.and_then(super::lengths::Length::in_all);
                let length = length.unwrap_or_else(|| self.preferences.default_minutes.into());
                let end = start.saturating_add(i32::try_from(length).unwrap_or(DAY));
                Minutes { start, end, is_vague: false, length: Some(length) }
            }
            TimeSaid::Until(clock) | TimeSaid::Before(clock) => {
                Minutes { start: 0, end: settle(clock), is_vague: true, length: None }
            }
            TimeSaid::After(clock) => Minutes { start: settle(clock), end: DAY, is_vague: true, length: None },
            TimeSaid::Range(from, to) => {
                let Some((start, end)) = settle_range(from, to, hint, self.preferences) else {
                    let (from, to) = (from.written(), to.written());
                    when.problems.push(format!("from {from} to {to} ends before it starts"));
                    return None;
                };
                if start.is_doubtful {
                    when.doubts.push(format!("Is {} in the morning or in the evening?", from.written()));
                }
                Minutes { start: start.minute, end: end.minute, is_vague: false, length: None }
            }
        };
        when.has_time = !minutes.is_vague;
        Some(minutes)
    }

    /// The day of the first of a series; its rule goes to `when`.
    fn first(&self, repeat: &Repeat, from: Option<&Days>, minutes: Option<Minutes>, when: &mut When) -> Option<Days> {
        let today = self.now.date();
        let mut from = from.map_or(today, |days| days.first.max(today));
        let is_over = minutes.is_some_and(|minutes| at(today, minutes.start) < self.now);
        // Without a time there is little left of today.
        if from == today && (is_over || minutes.is_none()) {
            from = plus(today, 1);
        }
        let Some(first) = repeat.first(from) else {
            when.problems.push("there is no such day in any month".to_owned());
            return None;
        };
        match repeat.written(first, self.zone) {
            Ok(rule) => when.rule = Some(rule),
            Err(error) => when.problems.push(error.to_string()),
        }
        Some(Days::one(first, How::Day))
    }

    /// Today, or tomorrow when that time of the day is over.
    fn next(&self, minutes: Minutes) -> Days {
        let today = self.now.date();
        let is_over = at(today, if minutes.is_vague { minutes.end } else { minutes.start }) < self.now;
        Days::one(if is_over { plus(today, 1) } else { today }, How::Day)
    }

    /// `Thursday`, said on a Thursday.
    pub(super) fn today_or_later(&self, days: &Days, minutes: Option<Minutes>) -> Option<String> {
        let today = self.now.date();
        let is_over = minutes.is_some_and(|minutes| at(today, minutes.start) < self.now);
        let is_open = days.how == How::Weekday && days.first.weekday() == today.weekday() && !is_over;
        is_open.then(|| format!("Is it today, or {}?", written(days.first)))
    }

    fn place(&self, said: &Said, days: &Days, minutes: Option<Minutes>, when: &mut When) {
        let part = said.part.map(|(from, to)| (i32::from(from) * 60, i32::from(to) * 60));
        let (start, end) = (at(days.first, 0), at(days.end, 0));
        let (span, is_vague) = match (minutes, part) {
            (Some(minutes), _) if days.is_one() => {
                when.length = minutes.length;
                ((at(days.first, minutes.start), at(days.first, minutes.end)), minutes.is_vague)
            }
            (None, Some((from, to))) if days.is_one() => ((at(days.first, from), at(days.first, to)), true),
            (None, None) if days.is_one() && said.length.is_some_and(|length| length.days > 0) => {
                when.is_all_day = true;
                when.has_time = true;
                ((start, at(plus(days.first, said.length.map_or(1, |length| length.days)), 0)), false)
            }
            (None, None) if said.is_all_day => {
                when.is_all_day = true;
                when.has_time = true;
                ((start, end), false)
            }
            // Some day of several, which are to be looked through.
            _ => {
                when.has_time = false;
                let hours = minutes.map(|minutes| (minutes.start, minutes.end)).or(part);
                when.either = hours.map(|hours| on_each(days, hours)).unwrap_or_default();
                ((start, end), true)
            }
        };
        when.is_vague = is_vague;
        when.span = Some(span);
    }

    /// What to say of a time that is over.
    fn past(&self, said: &Said, start: DateTime) -> String {
        let (day, _) = said.day();
        let was = written(start.date());
        let is_weekday = said.days.iter().any(|days| matches!(days.how, How::Past | How::Weekday));
        let next = match day.map(|days| days.how) {
            _ if is_weekday => next_weekday(start.date(), self.now),
            Some(How::YearDay) => next_year(start.date()),
            _ if start.date() >= plus(self.now.date(), -1) => {
                let next = plus(self.now.date(), 1);
                format!("tomorrow, {}", written(next))
            }
            _ => next_year(start.date()),
        };
        let time = if said.time.is_some() { start.strftime(" at %H:%M").to_string() } else { String::new() };
        format!("that was on {was}{time}; did you mean {next}?")
    }
}

/// The same hours on each of some days.
fn on_each(days: &Days, (from, to): (i32, i32)) -> Vec<(DateTime, DateTime)> {
    let dates = (0..A_MONTH).map(|more| plus(days.first, more)).take_while(|date| days.has(*date));
    dates.map(|date| (at(date, from), at(date, to))).collect()
}

/// The same day of the week, after now, as it is written in answers.
pub(super) fn next_weekday(date: Date, now: DateTime) -> String {
    let mut next = in_week(now.date(), date.weekday());
    if at(next, 0) <= now {
        next = plus(next, 7);
    }
    format!("next {}, {}", next.strftime("%A"), next.strftime("%-d %B"))
}

fn next_year(date: Date) -> String {
    let next = date.saturating_add(jiff::Span::new().years(1));
    format!("{} {}", written(next), next.year())
}

/// From a minute of the day until another.
#[derive(Debug, Clone, Copy)]
pub(super) struct Minutes {
    start: i32,
    end: i32,
    is_vague: bool,
    /// How long that is, where it was said so.
    length: Option<i64>,
}
