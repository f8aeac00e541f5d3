//! Parses dates: `tomorrow`, `next Tuesday`, `Jan 11`, `this weekend`.

use jiff::civil::{Date, Weekday};

use super::durations::SpokenDuration;
use super::phrase_meaning::{DateMeaning, TimeUnit};
use super::phrase_pattern::PhrasePattern;
use super::phrase_reader::{PhraseReader, SlotValue};
use super::token::TokenKind;

/// Number of days for which a date without a year is taken as past, rather than as a date of next year.
const MAX_PAST_DAYS: i32 = 60;

/// A range of dates, with exclusive end.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct DateRange {
    /// First date.
    pub(super) first: Date,
    /// First date after the range.
    pub(super) end: Date,
    /// Form of the expression.
    pub(super) form: DateForm,
    /// Error as a sentence, if the date is invalid.
    pub(super) problem: Option<String>,
}

/// Form of a date expression.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum DateForm {
    /// A weekday, which may mean another week.
    Weekday,
    /// A weekday in the past.
    Past,
    /// An exact date.
    Day,
    /// A number of weeks, months or years from now. A weekday in the same sentence selects a date nearby.
    Approximate,
    /// A day of a month without the month.
    Nth,
    /// A day and a month without the year.
    YearDay,
    /// Several days.
    Several,
}

impl DateRange {
    /// Creates a range of one day.
    pub(super) fn single(first: Date, form: DateForm) -> Self {
        Self { first, end: plus(first, 1), form, problem: None }
    }

    /// Creates a range of several days.
    pub(super) fn several(first: Date, end: Date) -> Self {
        Self { first, end, form: DateForm::Several, problem: None }
    }

    /// Returns true if the range contains the date.
    pub(super) fn contains(&self, date: Date) -> bool {
        (self.first..self.end).contains(&date)
    }

    /// Returns true if the expression means a single day.
    pub(super) fn is_single(&self) -> bool {
        self.form != DateForm::Several
    }
}

/// Adds days to a date.
pub(super) fn plus(date: Date, days: i32) -> Date {
    jiff::Span::new().try_days(days).map_or(date, |span| date.saturating_add(span))
}

fn plus_months(date: Date, months: i32) -> Date {
    jiff::Span::new().try_months(months).map_or(date, |span| date.saturating_add(span))
}

/// Parses a date expression at a token.
pub(super) fn days(reader: &PhraseReader<'_>, index: usize) -> Option<(DateRange, usize)> {
    longest_match(reader, &reader.language.dates, index)
}

/// Parses the name of a holiday at a token, valid only after words such as `on`: `Christmas` is part of many
/// titles.
pub(super) fn named_holiday(reader: &PhraseReader<'_>, index: usize) -> Option<(DateRange, usize)> {
    longest_match(reader, &reader.language.holidays, index)
}

fn longest_match(
    reader: &PhraseReader<'_>,
    table: &[(PhrasePattern, DateMeaning)],
    index: usize,
) -> Option<(DateRange, usize)> {
    let fits = table.iter().filter_map(|(pattern, meaning)| {
        let (values, end) = reader.match_pattern(pattern, index)?;
        Some((resolve(reader, *meaning, &values)?, end))
    });
    fits.reduce(|best, next| if next.1 > best.1 { next } else { best })
}

fn resolve(reader: &PhraseReader<'_>, meaning: DateMeaning, values: &[SlotValue]) -> Option<DateRange> {
    let today = reader.now.date();
    let weekday = values.iter().find_map(|value| match value {
        SlotValue::Weekdays(days) => days.first().copied(),
        _ => None,
    });
    let next_weekday = |weekday: Weekday| today.nth_weekday(1, weekday).unwrap_or(today);
    Some(match meaning {
        DateMeaning::Offset(days) => DateRange::single(plus(today, days), DateForm::Day),
        DateMeaning::Weekday => DateRange::single(next_weekday(weekday?), DateForm::Weekday),
        DateMeaning::ThisWeekday if weekday? == today.weekday() => DateRange::single(today, DateForm::Day),
        DateMeaning::ThisWeekday => DateRange::single(next_weekday(weekday?), DateForm::Day),
        DateMeaning::NextWeekday => DateRange::single(in_week(week(reader, 1), weekday?), DateForm::Day),
        DateMeaning::LastWeekday => DateRange::single(today.nth_weekday(-1, weekday?).ok()?, DateForm::Past),
        DateMeaning::WeekAfter => DateRange::single(plus(next_weekday(weekday?), 7), DateForm::Day),
        DateMeaning::Weekend(weeks) => {
            let saturday = in_week(plus(today, 7 * weeks), Weekday::Saturday);
            // On a Sunday, "the weekend" is the current one.
            let first = if today.weekday() == Weekday::Sunday { plus(saturday, -7) } else { saturday };
            DateRange::several(first, plus(first, 2))
        }
        DateMeaning::Week(weeks) => DateRange::several(week(reader, weeks), week(reader, weeks + 1)),
        DateMeaning::Month(months) => {
            let first = plus_months(today.first_of_month(), months);
            DateRange::several(first, plus_months(first, 1))
        }
        DateMeaning::InUnits => offset_date(today, values)?,
        DateMeaning::MonthDay | DateMeaning::DayMonth => month_day(today, values)?,
        DateMeaning::Nth => nth(today, values)?,
        DateMeaning::Holiday(month, day) => {
            calendar_date(today, None, month.unsigned_abs().into(), day.unsigned_abs().into())
        }
        DateMeaning::OrdinalOf => weekday_of(today, (ordinal_of(values)?, weekday?), values)?,
        DateMeaning::LastOf => weekday_of(today, (-1, weekday?), values)?,
        DateMeaning::OrdinalAhead(months) => weekday_in(today, (ordinal_of(values)?, weekday?), months),
        DateMeaning::LastAhead(months) => weekday_in(today, (-1, weekday?), months),
        DateMeaning::InMonth => in_month(today, values)?,
        DateMeaning::Digits => digits(reader, values)?,
    })
}

/// Returns the first day of the week that is `weeks` weeks ahead.
fn week(reader: &PhraseReader<'_>, weeks: i32) -> Date {
    let today = reader.now.date();
    let since = i32::from(today.weekday().since(reader.week_start));
    plus(today, 7 * weeks - since)
}

/// Returns the first given weekday on or after a date.
pub(super) fn in_week(first: Date, weekday: Weekday) -> Date {
    plus(first, i32::from(weekday.since(first.weekday())))
}

fn offset_date(today: Date, values: &[SlotValue]) -> Option<DateRange> {
    let [SlotValue::Amount(amount), SlotValue::Unit(unit)] = values else { return None };
    if matches!(unit, TimeUnit::Minute | TimeUnit::Hour) || !(0.0..=1_000.0).contains(amount) {
        return None;
    }
    // The cast is safe: at most 1,000.
    let amount = amount.round() as i32;
    let length = match unit {
        TimeUnit::Week => SpokenDuration { days: 7 * amount, ..SpokenDuration::default() },
        TimeUnit::Month => SpokenDuration { months: amount, ..SpokenDuration::default() },
        TimeUnit::Year => SpokenDuration { months: 12 * amount, ..SpokenDuration::default() },
        _ => SpokenDuration { days: amount, ..SpokenDuration::default() },
    };
    let form = if matches!(unit, TimeUnit::Day) { DateForm::Day } else { DateForm::Approximate };
    Some(DateRange::single(length.add_to(today.into(), true).date(), form))
}

fn month_day(today: Date, values: &[SlotValue]) -> Option<DateRange> {
    let month =
        values.iter().find_map(|value| if let SlotValue::Month(month) = value { Some(*month) } else { None })?;
    let day = values.iter().find_map(|value| if let SlotValue::Nth(day) = value { Some(*day) } else { None })?;
    let year = values.iter().find_map(|value| if let SlotValue::Year(year) = value { Some(*year) } else { None });
    Some(calendar_date(today, year, month.unsigned_abs().into(), day))
}

/// Parses two days of one month.
pub(super) fn day_range(today: Date, values: &[SlotValue]) -> Option<(DateRange, DateRange)> {
    let month =
        values.iter().find_map(|value| if let SlotValue::Month(month) = value { Some(*month) } else { None })?;
    let mut days = values.iter().filter_map(|value| if let SlotValue::Nth(day) = value { Some(*day) } else { None });
    let on = |day: u32| calendar_date(today, None, month.unsigned_abs().into(), day);
    Some((on(days.next()?), on(days.next()?)))
}

/// Creates a date from month and day. Without a year, the next such date, unless the last one is at most
/// `MAX_PAST_DAYS` days ago.
fn calendar_date(today: Date, year: Option<u32>, month: u32, day: u32) -> DateRange {
    let date_in = |year: i16| Date::new(year, i8::try_from(month).ok()?, i8::try_from(day).ok()?).ok();
    if let Some(year) = year {
        let year = if year < 100 { year + 2_000 } else { year };
        let exact = i16::try_from(year).ok().and_then(date_in);
        return exact.map_or_else(
            || nonexistent_date(today, month, day, Some(year)),
            |date| DateRange::single(date, DateForm::Day),
        );
    }
    // Eight years, so that 29 February is found.
    let candidates = (0..8).filter_map(|more| date_in(today.year().saturating_add(more)));
    let mut upcoming = candidates.filter(|date| *date >= plus(today, -MAX_PAST_DAYS));
    upcoming
        .next()
        .map_or_else(|| nonexistent_date(today, month, day, None), |date| DateRange::single(date, DateForm::YearDay))
}

fn nonexistent_date(today: Date, month: u32, day: u32, year: Option<u32>) -> DateRange {
    let name = usize::try_from(month).ok().and_then(|month| MONTHS.get(month.wrapping_sub(1)));
    let problem = match (name, year) {
        (Some(name), Some(year)) => format!("{day} {name} {year} does not exist."),
        (Some(name), None) => format!("{day} {name} does not exist."),
        (None, _) => format!("There is no month {month}."),
    };
    DateRange { problem: Some(problem), ..DateRange::single(today, DateForm::Day) }
}

fn nth(today: Date, values: &[SlotValue]) -> Option<DateRange> {
    let [SlotValue::Nth(day), ..] = values else { return None };
    let Some(day) = i8::try_from(*day).ok().filter(|day| (1..=31).contains(day)) else {
        let problem = format!("No month has a day {day}.");
        return Some(DateRange { problem: Some(problem), ..DateRange::single(today, DateForm::Day) });
    };
    let months = (0..12).map(|months| plus_months(today.first_of_month(), months));
    let mut candidates = months.filter_map(|first| Date::new(first.year(), first.month(), day).ok());
    candidates.find(|date| *date >= today).map(|date| DateRange::single(date, DateForm::Nth))
}

/// Returns the dates with a day number near another date that are not in the past: same month first, then the next
/// month, then the previous one.
pub(super) fn nth_around(nth: i8, day: Date, today: Date) -> Vec<Date> {
    let months = [0, 1, -1].map(|more| plus_months(day.first_of_month(), more));
    let dates = months.iter().filter_map(|first| Date::new(first.year(), first.month(), nth).ok());
    dates.filter(|date| *date >= today).collect()
}

/// Returns the ordinal of a weekday in its month.
fn ordinal_of(values: &[SlotValue]) -> Option<i8> {
    values.iter().find_map(|value| if let SlotValue::Nth(nth) = value { i8::try_from(*nth).ok() } else { None })
}

/// Resolves `the second Saturday in December`: the next one, unless a year was given.
fn weekday_of(today: Date, (ordinal, weekday): (i8, Weekday), values: &[SlotValue]) -> Option<DateRange> {
    let month =
        values.iter().find_map(|value| if let SlotValue::Month(month) = value { Some(*month) } else { None })?;
    let explicit_year = year(values);
    let years = explicit_year.map_or_else(|| vec![today.year(), today.year().saturating_add(1)], |year| vec![year]);
    let date_in = |year: i16| Date::new(year, month, 1).ok()?.nth_weekday_of_month(ordinal, weekday).ok();
    let mut dates = years.into_iter().filter_map(date_in).filter(|date| explicit_year.is_some() || *date >= today);
    Some(dates.next().map_or_else(|| no_such_weekday(today), |date| DateRange::single(date, DateForm::Day)))
}

/// Resolves the nth weekday of the month that is `months` months ahead.
fn weekday_in(today: Date, (ordinal, weekday): (i8, Weekday), months: i32) -> DateRange {
    let first = plus_months(today.first_of_month(), months);
    let matched = first.nth_weekday_of_month(ordinal, weekday);
    matched.map_or_else(|_| no_such_weekday(today), |date| DateRange::single(date, DateForm::Day))
}

fn no_such_weekday(today: Date) -> DateRange {
    DateRange {
        problem: Some("That month does not have this day.".to_owned()),
        ..DateRange::single(today, DateForm::Day)
    }
}

fn year(values: &[SlotValue]) -> Option<i16> {
    values.iter().find_map(|value| if let SlotValue::Year(year) = value { i16::try_from(*year).ok() } else { None })
}

/// Returns the whole of a month, the next one unless a year was given.
pub(super) fn in_month(today: Date, values: &[SlotValue]) -> Option<DateRange> {
    let month =
        values.iter().find_map(|value| if let SlotValue::Month(month) = value { Some(*month) } else { None })?;
    let year = year(values);
    let year = year.unwrap_or_else(|| today.year() + i16::from(month < today.month()));
    let first = Date::new(year, month, 1).ok()?;
    Some(DateRange::several(first, plus_months(first, 1)))
}

fn digits(reader: &PhraseReader<'_>, values: &[SlotValue]) -> Option<DateRange> {
    let [SlotValue::Digits(kind)] = values else { return None };
    let today = reader.now.date();
    match *kind {
        TokenKind::Iso(year, month, day) => Some(calendar_date(today, Some(year), month, day)),
        TokenKind::Slashed(first, second, year) => {
            let is_month_first = reader.language.words.is_month_first && first <= 12;
            let (month, day) = if is_month_first { (first, second) } else { (second, first) };
            ((1..=12).contains(&month) && day >= 1).then(|| calendar_date(today, year, month, day))
        }
        TokenKind::Dotted(day, month, year) => {
            ((1..=12).contains(&month) && (1..=31).contains(&day)).then(|| calendar_date(today, year, month, day))
        }
        _ => None,
    }
}

/// Month names for answers.
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
