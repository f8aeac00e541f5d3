//! Periods in a question: months, years, quarters, halves, days, and expressions relative to the current date.

use jiff::ToSpan;
use jiff::civil::{Date, date};

use super::tokens::QuestionToken;

/// A period in a question.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Period {
    /// Range of its words: index of the first word, and index after the last.
    pub(super) start: usize,
    pub(super) end: usize,
    /// First day.
    pub(super) from: Date,
    /// Day after the last.
    pub(super) to: Date,
    /// Name for the answer.
    pub(super) name: String,
}

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

/// A period without its position in the question.
struct PeriodMatch {
    length: usize,
    from: Date,
    to: Date,
    name: String,
    /// True for a month without a year.
    lacks_year: bool,
}

/// Returns the periods of a question, in order.
pub(super) fn periods(words: &[QuestionToken], today: Date) -> Vec<Period> {
    let mut matched_periods: Vec<(Period, bool)> = Vec::new();
    let mut index = 0;
    while index < words.len() {
        match span(words, index, today) {
            Some(span) => {
                let end = index + span.length;
                let PeriodMatch { from, to, name, lacks_year, .. } = span;
                matched_periods.push((Period { start: index, end, from, to, name }, lacks_year));
                index = end;
            }
            None => index += 1,
        }
    }
    propagate_years(&mut matched_periods);
    join_ranges(words, matched_periods, today)
}

/// Copies years forward: in `June or July 2026`, a month without a year takes the year of the next period.
fn propagate_years(matched_periods: &mut [(Period, bool)]) {
    for index in (1..matched_periods.len()).rev() {
        let (year, lacks_year) = (matched_periods[index].0.from.year(), matched_periods[index].1);
        let (period, earlier_lacks_year) = &mut matched_periods[index - 1];
        if *earlier_lacks_year
            && !lacks_year
            && let Some(month) = month_of(year, period.from.month())
        {
            (period.from, period.to, period.name) = (month.from, month.to, month.name);
        }
    }
}

/// Joins ranges: `July to September 2026`, `since June 2026`, `before 2026`. A range that ends before it starts is
/// not a range: its words stay unexplained, which prevents a query.
fn join_ranges(words: &[QuestionToken], matched_periods: Vec<(Period, bool)>, today: Date) -> Vec<Period> {
    let mut all: Vec<Period> = Vec::new();
    let mut last_lacks_year = false;
    for (mut period, lacks_year) in matched_periods {
        let previous_lacks_year = std::mem::replace(&mut last_lacks_year, lacks_year);
        let is_between =
            |gap: &[QuestionToken]| matches!(gap, [word] if word.is_in(&["to", "until", "till", "through"]));
        let word_before = |back: usize| period.start.checked_sub(back).map(|index| &words[index]);
        if let Some(last) = all.last_mut() {
            let gap = &words[last.end..period.start];
            let is_pair = matches!(gap, [word] if word.is_in(&["and"]))
                && last.start.checked_sub(1).is_some_and(|index| words[index].is_in(&["between"]));
            if is_between(gap) || is_pair {
                last.start -= usize::from(is_pair);
                if previous_lacks_year {
                    move_to_previous_year(last, period.to);
                }
                if period.to <= last.from {
                    all.pop();
                    continue;
                }
                last.name = format!("{} to {}", last.name, period.name);
                (last.to, last.end) = (period.to, period.end);
                continue;
            }
        }
        if word_before(1).is_some_and(|word| word.is_in(&["since"])) {
            period.name = format!("since {}", period.name);
            (period.start, period.to) = (period.start - 1, today.saturating_add(1.day()));
        } else if word_before(1).is_some_and(|word| word.is_in(&["before", "until"])) {
            period.name = format!("before {}", period.name);
            (period.start, period.to, period.from) = (period.start - 1, period.from, date(1, 1, 1));
        } else if word_before(1).is_some_and(|word| word.is_in(&["after"])) {
            period.name = format!("after {}", period.name);
            (period.start, period.from, period.to) = (period.start - 1, period.to, date(9999, 1, 1));
        }
        all.push(period);
    }
    all
}

/// Moves a start month to the previous year: `September to July 2026` starts in September 2025.
fn move_to_previous_year(month: &mut Period, end: Date) {
    if end <= month.from
        && let Some(earlier) = month_of(month.from.year() - 1, month.from.month())
    {
        (month.from, month.to, month.name) = (earlier.from, earlier.to, earlier.name);
    }
}

/// Parses the period that starts at a word.
fn span(words: &[QuestionToken], index: usize, today: Date) -> Option<PeriodMatch> {
    relative(words, index, today)
        .or_else(|| part_of_year(words, index, today))
        .or_else(|| day(words, index, today))
        .or_else(|| month(words, index, today))
        .or_else(|| year_alone(words, index))
}

fn lower(words: &[QuestionToken], index: usize) -> &str {
    words.get(index).map_or("", |word| word.lower.as_str())
}

fn year(words: &[QuestionToken], index: usize) -> Option<i16> {
    let text = lower(words, index);
    let is_year = text.len() == 4 && (text.starts_with("19") || text.starts_with("20"));
    text.parse().ok().filter(|_| is_year)
}

fn exact_period(from: Date, to: Date, name: String, length: usize) -> Option<PeriodMatch> {
    Some(PeriodMatch { length, from, to, name, lacks_year: false })
}

fn relative(words: &[QuestionToken], index: usize, today: Date) -> Option<PeriodMatch> {
    let single_day = |from: Date| exact_period(from, from.checked_add(1.day()).ok()?, from.to_string(), 1);
    match lower(words, index) {
        "today" => return single_day(today),
        "yesterday" => return single_day(today.yesterday().ok()?),
        "tomorrow" => return single_day(today.tomorrow().ok()?),
        _ => {}
    }
    let steps = match lower(words, index) {
        "this" | "current" => 0,
        "last" | "previous" | "past" => -1,
        "next" | "coming" => 1,
        _ => return None,
    };
    if let Some(count) = words.get(index + 1).and_then(QuestionToken::number).filter(|_| steps == -1) {
        return latest(today, count, lower(words, index + 2));
    }
    let (from, to) = match lower(words, index + 1) {
        "month" => {
            let from = today.first_of_month().checked_add(steps.months()).ok()?;
            let month = month_of(from.year(), from.month())?;
            return exact_period(month.from, month.to, month.name, 2);
        }
        "year" => {
            let year = today.year() + i16::try_from(steps).ok()?;
            return exact_period(date(year, 1, 1), date(year + 1, 1, 1), year.to_string(), 2);
        }
        "week" => {
            let monday = today.checked_sub(i64::from(today.weekday().to_monday_zero_offset()).days()).ok()?;
            let from = monday.checked_add(steps.weeks()).ok()?;
            (from, from.checked_add(7.days()).ok()?)
        }
        "quarter" => {
            let first = date(today.year(), (today.month() - 1) / 3 * 3 + 1, 1);
            let from = first.checked_add((steps * 3).months()).ok()?;
            (from, from.checked_add(3.months()).ok()?)
        }
        _ => return None,
    };
    exact_period(from, to, format!("{from} to {}", to.yesterday().ok()?), 2)
}

/// Parses `last 30 days`, a range that ends with the current date.
fn latest(today: Date, count: f64, unit: &str) -> Option<PeriodMatch> {
    #[expect(clippy::cast_possible_truncation, reason = "the value was checked before")]
    let count = (count.fract() == 0.0 && (1.0..=1000.0).contains(&count)).then_some(count as i64)?;
    let back = match unit {
        "day" | "days" => count.days(),
        "week" | "weeks" => count.weeks(),
        "month" | "months" => count.months(),
        "year" | "years" => count.years(),
        _ => return None,
    };
    let to = today.tomorrow().ok()?;
    let from = to.checked_sub(back).ok()?;
    exact_period(from, to, format!("{from} to {today}"), 3)
}

/// Parses `first half of 2026`, `third quarter of this year`, `Q3 2026`.
fn part_of_year(words: &[QuestionToken], index: usize, today: Date) -> Option<PeriodMatch> {
    let ordinal = |text: &str| ["first", "second", "third", "fourth"].iter().position(|name| *name == text);
    let (part, months, mut next) = match (ordinal(lower(words, index)), lower(words, index + 1)) {
        (Some(part @ 0..2), "half") => (part, 6, index + 2),
        (Some(part), "quarter") => (part, 3, index + 2),
        _ => match lower(words, index) {
            "q1" => (0, 3, index + 1),
            "q2" => (1, 3, index + 1),
            "q3" => (2, 3, index + 1),
            "q4" => (3, 3, index + 1),
            _ => return None,
        },
    };
    while matches!(lower(words, next), "of" | "the" | "in") {
        next += 1;
    }
    let (year, end) = match (year(words, next), lower(words, next), lower(words, next + 1)) {
        (Some(year), ..) => (year, next + 1),
        (None, "this", "year") | (None, "year", _) => (today.year(), next + 2),
        (None, "last", "year") => (today.year() - 1, next + 2),
        _ => (today.year(), index + if months == 6 || lower(words, index).len() > 2 { 2 } else { 1 }),
    };
    let first = i8::try_from(part).ok()? * months + 1;
    let from = Date::new(year, first, 1).ok()?;
    let to = from.checked_add(i64::from(months).months()).ok()?;
    exact_period(from, to, format!("{from} to {}", to.yesterday().ok()?), end.min(words.len()) - index)
}

/// Parses `2026-10-03`, `3 October 2026`, `October 3, 2026`.
fn day(words: &[QuestionToken], index: usize, today: Date) -> Option<PeriodMatch> {
    let single_day = |from: Date, length: usize| exact_period(from, from.tomorrow().ok()?, from.to_string(), length);
    if let Ok(parsed_date) = lower(words, index)
        .parse::<Date>()
        .map_err(drop)
        .and_then(|parsed_date| if lower(words, index).len() == 10 { Ok(parsed_date) } else { Err(()) })
    {
        return single_day(parsed_date, 1);
    }
    let number = |index: usize| {
        let text = lower(words, index);
        let digits = ["st", "nd", "rd", "th"].iter().find_map(|end| text.strip_suffix(end)).unwrap_or(text);
        digits.parse::<i8>().ok().filter(|day| (1..=31).contains(day))
    };
    let (day, month) = match (number(index), month_at(words, index + 1), month_at(words, index), number(index + 1)) {
        (Some(day), Some(month), ..) | (_, _, Some(month), Some(day)) => (day, month),
        _ => return None,
    };
    match year(words, index + 2) {
        Some(year) => single_day(Date::new(year, month, day).ok()?, 3),
        None => {
            let date_this_year = Date::new(today.year(), month, day).ok()?;
            single_day(
                if date_this_year > today { Date::new(today.year() - 1, month, day).ok()? } else { date_this_year },
                2,
            )
        }
    }
}

fn month_at(words: &[QuestionToken], index: usize) -> Option<i8> {
    let word = words.get(index)?;
    let month = MONTHS.iter().position(|name| name.eq_ignore_ascii_case(&word.lower))?;
    // `may` is a verb unless its position or letter case suggests the month.
    let is_month = word.lower != "may" || (word.is_capital() && (index > 0 || year(words, index + 1).is_some()));
    i8::try_from(month + 1).ok().filter(|_| is_month)
}

/// Parses a month with a year, or without one as the latest month that has started.
fn month(words: &[QuestionToken], index: usize, today: Date) -> Option<PeriodMatch> {
    let month = month_at(words, index)?;
    if let Some(year) = year(words, index + 1) {
        return month_of(year, month).map(|span| PeriodMatch { length: 2, ..span });
    }
    let year = if month > today.month() { today.year() - 1 } else { today.year() };
    month_of(year, month).map(|span| PeriodMatch { lacks_year: true, ..span })
}

fn month_of(year: i16, month: i8) -> Option<PeriodMatch> {
    let from = Date::new(year, month, 1).ok()?;
    let name = format!("{} {year}", MONTHS[usize::try_from(month - 1).ok()?]);
    exact_period(from, from.checked_add(1.month()).ok()?, name, 1)
}

/// Parses a year that is not part of a quantity or comparison.
fn year_alone(words: &[QuestionToken], index: usize) -> Option<PeriodMatch> {
    let matched = year(words, index)?;
    let before = index.checked_sub(1).map_or("", |index| lower(words, index));
    let is_introduced = matches!(
        before,
        "in" | "of"
            | "for"
            | "since"
            | "during"
            | "until"
            | "before"
            | "after"
            | "year"
            | "to"
            | "and"
            | "or"
            | "from"
            | "than"
            | "vs"
    );
    is_introduced.then(|| exact_period(date(matched, 1, 1), date(matched + 1, 1, 1), matched.to_string(), 1)).flatten()
}

/// Returns the name of a month in the format `2026-10`.
pub(super) fn month_name(text: &str) -> Option<String> {
    let (year, month) = text.split_once('-')?;
    let name = MONTHS.get(month.parse::<usize>().ok()?.checked_sub(1)?)?;
    Some(format!("{name} {year}"))
}

#[cfg(test)]
mod tests {
    use super::super::tokens::tokenize;
    use super::*;

    /// R-PLN-56: periods are parsed from colloquial expressions, relative to the date of the question.
    #[test]
    fn periods_are_read_from_the_day_of_the_question() {
        let today = date(2026, 11, 2);
        let rows = [
            ("in October", "2026-10-01 2026-11-01"),
            ("in December", "2025-12-01 2026-01-01"),
            ("in October 2025", "2025-10-01 2025-11-01"),
            ("last month", "2026-10-01 2026-11-01"),
            ("this year", "2026-01-01 2027-01-01"),
            ("since June 2026", "2026-06-01 2026-11-03"),
            ("in the first half of 2026", "2026-01-01 2026-07-01"),
            ("third quarter of this year", "2026-07-01 2026-10-01"),
            ("in Q2 2026", "2026-04-01 2026-07-01"),
            ("for July to September 2026", "2026-07-01 2026-10-01"),
            ("between July and August 2026", "2026-07-01 2026-09-01"),
            ("between September and July 2026", "2025-09-01 2026-08-01"),
            ("from March to January 2026", "2025-03-01 2026-02-01"),
            ("from November to February", "2025-11-01 2026-03-01"),
            ("between 2026-10-10 and 2026-10-01", ""),
            ("from October 2026 to March 2026", ""),
            ("in June or in July 2026", "2026-06-01 2026-07-01 2026-07-01 2026-08-01"),
            ("June or July", "2026-06-01 2026-07-01 2026-07-01 2026-08-01"),
            ("on 3 October 2026", "2026-10-03 2026-10-04"),
            ("October 3, 2026", "2026-10-03 2026-10-04"),
            ("on 2026-10-03", "2026-10-03 2026-10-04"),
            ("last week", "2026-10-26 2026-11-02"),
            ("in the last 7 days", "2026-10-27 2026-11-03"),
            ("before 2026", "0001-01-01 2026-01-01"),
            ("you may go", ""),
            ("in May 2026", "2026-05-01 2026-06-01"),
            ("order 2026", ""),
        ];
        for (text, expected) in rows {
            let actual: Vec<String> =
                periods(&tokenize(text), today).iter().map(|period| format!("{} {}", period.from, period.to)).collect();
            assert_eq!(actual.join(" "), expected, "{text}");
        }
    }
}
