//! Parses recurrences: `every other Thursday`, `monthly on the 15th`, `10 times`, `until June`.

use jiff::civil::{Date, DateTime, Weekday, time};
use superstep::Result;

use super::dates::{DateRange, plus};
use super::durations::SpokenDuration;
use super::phrase_meaning::{PhraseMeaning, RecurrenceMeaning, TimeUnit};
use super::phrase_reader::{PhraseMatch, SlotValue};
use crate::time_zone::NamedTimeZone;

/// A recurrence as described in the sentence.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct RecurrencePhrase {
    unit: TimeUnit,
    interval: u32,
    weekdays: Vec<Weekday>,
    /// Ordinal of the weekday in its month; -1 is the last.
    ordinal: Option<i8>,
    month_day: Option<i8>,
    month: Option<i8>,
    count: Option<u32>,
    until: Option<RecurrencePhraseEnd>,
}

#[derive(Debug, Clone, PartialEq)]
enum RecurrencePhraseEnd {
    Day(Date),
    /// Duration from the first instance.
    Long(SpokenDuration),
    /// Before this month begins.
    Month(i8),
    /// Before this month ends.
    MonthEnd(i8),
}

impl RecurrencePhrase {
    /// Combines all recurrence phrases of a sentence.
    pub(super) fn from_matches(findings: &[PhraseMatch]) -> Option<Self> {
        let mut rules = findings.iter().filter_map(|finding| match finding.meaning {
            PhraseMeaning::Repeat(meaning) => recurrence_phrase(meaning, &finding.values),
            PhraseMeaning::RepeatPart(..) if finding.values.is_empty() => {
                recurrence_phrase(RecurrenceMeaning::Every(1, TimeUnit::Day), &[])
            }
            PhraseMeaning::RepeatPart(..) => recurrence_phrase(RecurrenceMeaning::Days(1), &finding.values),
            _ => None,
        });
        let mut repeat = rules.next()?;
        for other in rules {
            repeat.merge(other);
        }
        for finding in findings {
            repeat.apply_end(finding);
        }
        Some(repeat)
    }

    /// Merges two phrases: `weekly` and `Mondays` describe one recurrence.
    fn merge(&mut self, other: Self) {
        self.interval = self.interval.max(other.interval);
        self.weekdays.extend(other.weekdays);
        self.ordinal = self.ordinal.or(other.ordinal);
        self.month_day = self.month_day.or(other.month_day);
    }

    fn apply_end(&mut self, finding: &PhraseMatch) {
        match (finding.meaning, finding.values.as_slice()) {
            (PhraseMeaning::Times, [SlotValue::Number(count)]) if *count > 0 => self.count = Some(*count),
            (PhraseMeaning::UntilDate, [SlotValue::Days(days)]) => {
                self.until = Some(RecurrencePhraseEnd::Day(plus(days.end, -1)))
            }
            (PhraseMeaning::UntilMonth, [SlotValue::Month(month)]) => {
                self.until = Some(RecurrencePhraseEnd::Month(*month))
            }
            (PhraseMeaning::UntilMonthEnd, [SlotValue::Month(month)]) => {
                self.until = Some(RecurrencePhraseEnd::MonthEnd(*month))
            }
            (PhraseMeaning::Length, [SlotValue::Length(length)]) if length.days > 0 || length.months > 0 => {
                let count = self.times_in(*length);
                self.until =
                    self.until.take().or_else(|| count.is_none().then_some(RecurrencePhraseEnd::Long(*length)));
                self.count = self.count.or(count);
            }
            _ => {}
        }
    }

    /// Returns the number of instances in a duration of days: `for 6 weeks`. Durations with months become an end
    /// date instead, because months differ in length.
    fn times_in(&self, length: SpokenDuration) -> Option<u32> {
        let days = u32::try_from(length.days).ok().filter(|days| *days > 0 && length.months == 0)?;
        match self.unit {
            TimeUnit::Day => Some((days / self.interval).max(1)),
            TimeUnit::Week => {
                let per_week = u32::try_from(self.weekdays.len().max(1)).ok()?;
                Some((days / 7 / self.interval).max(1) * per_week)
            }
            _ => None,
        }
    }

    /// Sets the weekday of a weekly recurrence to the given day, if the phrase has no weekday.
    pub(super) fn fill_weekday(&mut self, days: Option<&DateRange>) {
        if let Some(days) = days.filter(|days| days.is_single())
            && self.unit == TimeUnit::Week
            && self.weekdays.is_empty()
        {
            self.weekdays.push(days.first.weekday());
        }
        self.weekdays.sort_by_key(|day| day.to_monday_one_offset());
        self.weekdays.dedup();
    }

    /// Returns the first matching date on or after a date.
    pub(super) fn first(&self, from: Date) -> Option<Date> {
        // The search covers eight years, the longest time between two leap days.
        (0..366 * 8).map(|days| plus(from, days)).find(|date| self.is_on(*date))
    }

    fn is_on(&self, date: Date) -> bool {
        let is_month = self.month.is_none_or(|month| date.month() == month);
        let is_day = self.month_day.is_none_or(|day| date.day() == day);
        let is_weekday = self.weekdays.is_empty() || self.weekdays.contains(&date.weekday());
        let is_ordinal = self
            .ordinal
            .is_none_or(|ordinal| date.nth_weekday_of_month(ordinal, date.weekday()).is_ok_and(|nth| nth == date));
        is_month && is_day && is_weekday && is_ordinal
    }

    /// Formats the RRULE value of a series with the given start.
    ///
    /// # Errors
    /// Returns an error if the end is out of range.
    pub(super) fn to_rrule(&self, start: Date, zone: &NamedTimeZone) -> Result<String> {
        let unit = match self.unit {
            TimeUnit::Week => "WEEKLY",
            TimeUnit::Month => "MONTHLY",
            TimeUnit::Year => "YEARLY",
            TimeUnit::Minute | TimeUnit::Hour | TimeUnit::Day => "DAILY",
        };
        let mut parts = vec![format!("FREQ={unit}")];
        if self.interval > 1 {
            parts.push(format!("INTERVAL={}", self.interval));
        }
        parts.extend(self.month.map(|month| format!("BYMONTH={month}")));
        if !self.weekdays.is_empty() {
            let ordinal = self.ordinal.map(|ordinal| ordinal.to_string()).unwrap_or_default();
            let days: Vec<String> =
                self.weekdays.iter().map(|day| format!("{ordinal}{}", weekday_code(*day))).collect();
            parts.push(format!("BYDAY={}", days.join(",")));
        }
        parts.extend(self.month_day.map(|day| format!("BYMONTHDAY={day}")));
        parts.extend(self.count.map(|count| format!("COUNT={count}")));
        if let Some(last) = self.until.as_ref().filter(|_| self.count.is_none()).and_then(|until| until.last(start)) {
            let end = NamedTimeZone::from_iana_name("UTC")?.to_local(zone.to_instant(last)?);
            parts.push(format!("UNTIL={}", end.strftime("%Y%m%dT%H%M%SZ")));
        }
        Ok(parts.join(";"))
    }
}

impl RecurrencePhraseEnd {
    /// Returns the last local time of the recurrence.
    fn last(&self, start: Date) -> Option<DateTime> {
        let next = |month: i8| Date::new(start.year() + i16::from(month <= start.month()), month, 1).ok();
        let day = match self {
            Self::Day(day) => *day,
            Self::Long(length) => plus(length.add_to(start.into(), true).date(), -1),
            Self::Month(month) => plus(next(*month)?, -1),
            Self::MonthEnd(month) => plus(next(month % 12 + 1)?, -1),
        };
        Some(day.to_datetime(time(23, 59, 59, 0)))
    }
}

fn recurrence_phrase(meaning: RecurrenceMeaning, values: &[SlotValue]) -> Option<RecurrencePhrase> {
    use Weekday::{Friday, Monday, Saturday, Sunday, Thursday, Tuesday, Wednesday};
    let every = |interval: u32, unit: TimeUnit| RecurrencePhrase {
        unit,
        interval,
        weekdays: Vec::new(),
        ordinal: None,
        month_day: None,
        month: None,
        count: None,
        until: None,
    };
    let on = |interval: u32, weekdays: &[Weekday]| RecurrencePhrase {
        weekdays: weekdays.to_vec(),
        ..every(interval, TimeUnit::Week)
    };
    let every_few = |number: u32, unit: TimeUnit| {
        ((1..=366).contains(&number) && !matches!(unit, TimeUnit::Minute | TimeUnit::Hour)).then(|| every(number, unit))
    };
    let to_i8 = |number: u32| i8::try_from(number).ok();
    match (meaning, values) {
        (RecurrenceMeaning::Days(weeks), [SlotValue::Weekdays(days)]) => Some(on(weeks, days)),
        (RecurrenceMeaning::WeeksOn, [SlotValue::Number(weeks), SlotValue::Weekdays(days)])
            if (1..=52).contains(weeks) =>
        {
            Some(on(*weeks, days))
        }
        (RecurrenceMeaning::Every(number, unit), _) => Some(every(number, unit)),
        (RecurrenceMeaning::EveryFew, [SlotValue::Number(number), SlotValue::Unit(unit)]) => every_few(*number, *unit),
        (RecurrenceMeaning::Other, [SlotValue::Unit(unit)]) => every_few(2, *unit),
        (RecurrenceMeaning::Workdays, _) => Some(on(1, &[Monday, Tuesday, Wednesday, Thursday, Friday])),
        (RecurrenceMeaning::Weekends, _) => Some(on(1, &[Saturday, Sunday])),
        (RecurrenceMeaning::MonthDay, [SlotValue::Nth(day)]) => {
            Some(RecurrencePhrase { month_day: Some(to_i8(*day)?), ..every(1, TimeUnit::Month) })
        }
        (RecurrenceMeaning::NthWeekday, [SlotValue::Nth(nth), SlotValue::Weekdays(days)]) => {
            Some(RecurrencePhrase { ordinal: Some(to_i8(*nth)?), weekdays: days.clone(), ..every(1, TimeUnit::Month) })
        }
        (RecurrenceMeaning::Ordinal(ordinal), [SlotValue::Weekdays(days)]) => {
            Some(RecurrencePhrase { ordinal: Some(ordinal), weekdays: days.clone(), ..every(1, TimeUnit::Month) })
        }
        (RecurrenceMeaning::Except, [SlotValue::Weekdays(days)]) => {
            let all = [Monday, Tuesday, Wednesday, Thursday, Friday, Saturday, Sunday];
            let others: Vec<Weekday> = all.into_iter().filter(|day| !days.contains(day)).collect();
            Some(on(1, &others)).filter(|_| !others.is_empty())
        }
        (RecurrenceMeaning::YearDay, [SlotValue::Month(month), SlotValue::Nth(day)]) => {
            Some(RecurrencePhrase { month: Some(*month), month_day: Some(to_i8(*day)?), ..every(1, TimeUnit::Year) })
        }
        _ => None,
    }
}

fn weekday_code(day: Weekday) -> &'static str {
    match day {
        Weekday::Monday => "MO",
        Weekday::Tuesday => "TU",
        Weekday::Wednesday => "WE",
        Weekday::Thursday => "TH",
        Weekday::Friday => "FR",
        Weekday::Saturday => "SA",
        Weekday::Sunday => "SU",
    }
}
