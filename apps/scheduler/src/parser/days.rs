//! Which days are meant: `tomorrow`, `next Tuesday`, `Jan 11`, `this weekend`.

use jiff::civil::{Date, Weekday};

use super::lengths::Length;
use super::pattern::Pattern;
use super::reader::{Reader, Value};
use super::sense::{DateSense, Unit};
use super::token::Kind;

/// How many days back a date without a year is taken for one that was, rather than for one of next year.
const JUST_PAST: i32 = 60;

/// From the first day until before the last.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Days {
    /// The first day.
    pub(super) first: Date,
    /// The first day after.
    pub(super) end: Date,
    /// How it was said.
    pub(super) how: How,
    /// What is wrong with it.
    pub(super) problem: Option<String>,
}

/// How days were said.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum How {
    /// As a day of the week, of which another may be meant.
    Weekday,
    /// As a day of the week that was.
    Past,
    /// As one day.
    Day,
    /// As a number of weeks or months ahead; a day of the week that is near may be said as well.
    Around,
    /// As a day of a month that was not said.
    Nth,
    /// As a day of a month without a year.
    YearDay,
    /// As several days.
    Several,
}

impl Days {
    /// One day.
    pub(super) fn one(first: Date, how: How) -> Self {
        Self { first, end: plus(first, 1), how, problem: None }
    }

    /// Several days.
    pub(super) fn several(first: Date, end: Date) -> Self {
        Self { first, end, how: How::Several, problem: None }
    }

    /// Whether a day is one of them.
    pub(super) fn has(&self, date: Date) -> bool {
        (self.first..self.end).contains(&date)
    }

    /// Whether it is a single day.
    pub(super) fn is_one(&self) -> bool {
        self.how != How::Several
    }
}

/// A day so many days later.
pub(super) fn plus(date: Date, days: i32) -> Date {
    jiff::Span::new().try_days(days).map_or(date, |span| date.saturating_add(span))
}

fn plus_months(date: Date, months: i32) -> Date {
    jiff::Span::new().try_months(months).map_or(date, |span| date.saturating_add(span))
}

/// The days that begin at a token.
pub(super) fn days(reader: &Reader<'_>, at: usize) -> Option<(Days, usize)> {
    longest(reader, &reader.language.dates, at)
}

/// The day that begins at a token and is one only behind words such as `on`: `Christmas` is part of many a title.
pub(super) fn feast(reader: &Reader<'_>, at: usize) -> Option<(Days, usize)> {
    longest(reader, &reader.language.feasts, at)
}

fn longest(reader: &Reader<'_>, table: &[(Pattern, DateSense)], at: usize) -> Option<(Days, usize)> {
    let fits = table.iter().filter_map(|(pattern, sense)| {
        let (values, end) = reader.fits(pattern, at)?;
        Some((meant(reader, *sense, &values)?, end))
    });
    fits.reduce(|best, next| if next.1 > best.1 { next } else { best })
}

fn meant(reader: &Reader<'_>, sense: DateSense, values: &[Value]) -> Option<Days> {
    let today = reader.now.date();
    let weekday = values.iter().find_map(|value| match value {
        Value::Weekdays(days) => days.first().copied(),
        _ => None,
    });
    let coming = |weekday: Weekday| today.nth_weekday(1, weekday).unwrap_or(today);
    Some(match sense {
        DateSense::Offset(days) => Days::one(plus(today, days), How::Day),
        DateSense::Weekday => Days::one(coming(weekday?), How::Weekday),
        DateSense::ThisWeekday if weekday? == today.weekday() => Days::one(today, How::Day),
        DateSense::ThisWeekday => Days::one(coming(weekday?), How::Day),
        DateSense::NextWeekday => Days::one(in_week(week(reader, 1), weekday?), How::Day),
        DateSense::LastWeekday => Days::one(today.nth_weekday(-1, weekday?).ok()?, How::Past),
        DateSense::WeekAfter => Days::one(plus(coming(weekday?), 7), How::Day),
        DateSense::Weekend(weeks) => {
            let saturday = in_week(plus(today, 7 * weeks), Weekday::Saturday);
            // On a Sunday the weekend is under way.
            let first = if today.weekday() == Weekday::Sunday { plus(saturday, -7) } else { saturday };
            Days::several(first, plus(first, 2))
        }
        DateSense::Week(weeks) => Days::several(week(reader, weeks), week(reader, weeks + 1)),
        DateSense::Month(months) => {
            let first = plus_months(today.first_of_month(), months);
            Days::several(first, plus_months(first, 1))
        }
        DateSense::Ahead => ahead(today, values)?,
        DateSense::MonthDay | DateSense::DayMonth => month_day(today, values)?,
        DateSense::Nth => nth(today, values)?,
        DateSense::Feast(month, day) => on(today, None, month.unsigned_abs().into(), day.unsigned_abs().into()),
        DateSense::PlaceOf => weekday_of(today, (place(values)?, weekday?), values)?,
        DateSense::LastOf => weekday_of(today, (-1, weekday?), values)?,
        DateSense::PlaceAhead(months) => weekday_in(today, (place(values)?, weekday?), months),
        DateSense::LastAhead(months) => weekday_in(today, (-1, weekday?), months),
        DateSense::InMonth => in_month(today, values)?,
        DateSense::Digits => digits(reader, values)?,
    })
}

/// The first day of the week that is so many weeks ahead.
fn week(reader: &Reader<'_>, weeks: i32) -> Date {
    let today = reader.now.date();
    let since = i32::from(today.weekday().since(reader.week_start));
    plus(today, 7 * weeks - since)
}

/// The first such day of the seven that begin with one.
pub(super) fn in_week(first: Date, weekday: Weekday) -> Date {
    plus(first, i32::from(weekday.since(first.weekday())))
}

fn ahead(today: Date, values: &[Value]) -> Option<Days> {
    let [Value::Amount(amount), Value::Unit(unit)] = values else { return None };
    if matches!(unit, Unit::Minute | Unit::Hour) || !(0.0..=1_000.0).contains(amount) {
        return None;
    }
    // At most a thousand.
    let amount = amount.round() as i32;
    let length = match unit {
        Unit::Week => Length { days: 7 * amount, ..Length::default() },
        Unit::Month => Length { months: amount, ..Length::default() },
        Unit::Year => Length { months: 12 * amount, ..Length::default() },
        _ => Length { days: amount, ..Length::default() },
    };
    let how = if matches!(unit, Unit::Day) { How::Day } else { How::Around };
    Some(Days::one(length.from(today.into(), true).date(), how))
}

fn month_day(today: Date, values: &[Value]) -> Option<Days> {
    let month = values.iter().find_map(|value| if let Value::Month(month) = value { Some(*month) } else { None })?;
    let day = values.iter().find_map(|value| if let Value::Nth(day) = value { Some(*day) } else { None })?;
    let year = values.iter().find_map(|value| if let Value::Year(year) = value { Some(*year) } else { None });
    Some(on(today, year, month.unsigned_abs().into(), day))
}

/// Two days of one month.
pub(super) fn day_range(today: Date, values: &[Value]) -> Option<(Days, Days)> {
    let month = values.iter().find_map(|value| if let Value::Month(month) = value { Some(*month) } else { None })?;
    let mut days = values.iter().filter_map(|value| if let Value::Nth(day) = value { Some(*day) } else { None });
    let on = |day: u32| on(today, None, month.unsigned_abs().into(), day);
    Some((on(days.next()?), on(days.next()?)))
}

/// A day of a month. Without a year it is the next one that comes, unless it was a short while ago.
fn on(today: Date, year: Option<u32>, month: u32, day: u32) -> Days {
    let of = |year: i16| Date::new(year, i8::try_from(month).ok()?, i8::try_from(day).ok()?).ok();
    if let Some(year) = year {
        let year = if year < 100 { year + 2_000 } else { year };
        let found = i16::try_from(year).ok().and_then(of);
        return found.map_or_else(|| none(today, month, day, Some(year)), |date| Days::one(date, How::Day));
    }
    // The 29th of February is in the next leap year.
    let found = (0..8).filter_map(|more| of(today.year().saturating_add(more)));
    let mut found = found.filter(|date| *date >= plus(today, -JUST_PAST));
    found.next().map_or_else(|| none(today, month, day, None), |date| Days::one(date, How::YearDay))
}

fn none(today: Date, month: u32, day: u32, year: Option<u32>) -> Days {
    let name = usize::try_from(month).ok().and_then(|month| MONTHS.get(month.wrapping_sub(1)));
    let problem = match (name, year) {
        (Some(name), Some(year)) => format!("{day} {name} {year} does not exist"),
        (Some(name), None) => format!("{day} {name} does not exist"),
        (None, _) => format!("there is no month {month}"),
    };
    Days { problem: Some(problem), ..Days::one(today, How::Day) }
}

fn nth(today: Date, values: &[Value]) -> Option<Days> {
    let [Value::Nth(day), ..] = values else { return None };
    let Some(day) = i8::try_from(*day).ok().filter(|day| (1..=31).contains(day)) else {
        let problem = format!("no month has a day {day}");
        return Some(Days { problem: Some(problem), ..Days::one(today, How::Day) });
    };
    let months = (0..12).map(|months| plus_months(today.first_of_month(), months));
    let mut found = months.filter_map(|first| Date::new(first.year(), first.month(), day).ok());
    found.find(|date| *date >= today).map(|date| Days::one(date, How::Nth))
}

/// The days of that number around a day that are not over: that of the same month first, then that of the next.
pub(super) fn nth_around(nth: i8, day: Date, today: Date) -> Vec<Date> {
    let months = [0, 1, -1].map(|more| plus_months(day.first_of_month(), more));
    let dates = months.iter().filter_map(|first| Date::new(first.year(), first.month(), nth).ok());
    dates.filter(|date| *date >= today).collect()
}

/// Which of the days of the week of a month.
fn place(values: &[Value]) -> Option<i8> {
    values.iter().find_map(|value| if let Value::Nth(nth) = value { i8::try_from(*nth).ok() } else { None })
}

/// `The second Saturday in December`: the next that comes, unless the year was said.
fn weekday_of(today: Date, (place, weekday): (i8, Weekday), values: &[Value]) -> Option<Days> {
    let month = values.iter().find_map(|value| if let Value::Month(month) = value { Some(*month) } else { None })?;
    let said = year(values);
    let years = said.map_or_else(|| vec![today.year(), today.year().saturating_add(1)], |year| vec![year]);
    let of = |year: i16| Date::new(year, month, 1).ok()?.nth_weekday_of_month(place, weekday).ok();
    let mut found = years.into_iter().filter_map(of).filter(|date| said.is_some() || *date >= today);
    Some(found.next().map_or_else(|| no_such_weekday(today), |date| Days::one(date, How::Day)))
}

/// The same of a month that is so many months ahead.
fn weekday_in(today: Date, (place, weekday): (i8, Weekday), months: i32) -> Days {
    let first = plus_months(today.first_of_month(), months);
    let found = first.nth_weekday_of_month(place, weekday);
    found.map_or_else(|_| no_such_weekday(today), |date| Days::one(date, How::Day))
}

fn no_such_weekday(today: Date) -> Days {
    Days { problem: Some("that month has no such day".to_owned()), ..Days::one(today, How::Day) }
}

fn year(values: &[Value]) -> Option<i16> {
    values.iter().find_map(|value| if let Value::Year(year) = value { i16::try_from(*year).ok() } else { None })
}

/// All of a month, the next that comes.
pub(super) fn in_month(today: Date, values: &[Value]) -> Option<Days> {
    let month = values.iter().find_map(|value| if let Value::Month(month) = value { Some(*month) } else { None })?;
    let year = year(values);
    let year = year.unwrap_or_else(|| today.year() + i16::from(month < today.month()));
    let first = Date::new(year, month, 1).ok()?;
    Some(Days::several(first, plus_months(first, 1)))
}

fn digits(reader: &Reader<'_>, values: &[Value]) -> Option<Days> {
    let [Value::Digits(kind)] = values else { return None };
    let today = reader.now.date();
    match *kind {
        Kind::Iso(year, month, day) => Some(on(today, Some(year), month, day)),
        Kind::Slashed(first, second, year) => {
            let is_month_first = reader.language.words.is_month_first && first <= 12;
            let (month, day) = if is_month_first { (first, second) } else { (second, first) };
            ((1..=12).contains(&month) && day >= 1).then(|| on(today, year, month, day))
        }
        Kind::Dotted(day, month, year) => {
            ((1..=12).contains(&month) && (1..=31).contains(&day)).then(|| on(today, year, month, day))
        }
        _ => None,
    }
}

/// The months, as they are written in answers.
const MONTHS: [&str; 12] = [
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
];

/// A day as it is written in answers: `Monday 5 January`.
pub(super) fn written(date: Date) -> String {
    date.strftime("%A %-d %B").to_string()
}
