//! Parses durations and shifts.

use jiff::civil::DateTime;

use super::phrase_meaning::{DurationMeaning, TimeUnit};
use super::phrase_reader::{PhraseReader, SlotValue};

/// A duration: months and days of local time, and minutes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct SpokenDuration {
    pub(super) months: i32,
    pub(super) days: i32,
    pub(super) minutes: i64,
}

impl SpokenDuration {
    /// Returns the minutes of an event duration; `None` with days or months.
    pub(super) fn as_minutes(self) -> Option<i64> {
        (self.months == 0 && self.days == 0 && self.minutes > 0).then_some(self.minutes)
    }

    /// Returns the minutes including days of 24 hours; `None` with months.
    pub(super) fn total_minutes(self) -> Option<i64> {
        let minutes = i64::from(self.days) * 24 * 60 + self.minutes;
        (self.months == 0 && minutes > 0).then_some(minutes)
    }

    /// Adds the duration to a local time, or subtracts it.
    pub(super) fn add_to(self, time: DateTime, is_later: bool) -> DateTime {
        let sign = if is_later { 1 } else { -1 };
        let span = jiff::Span::new().try_months(sign * i64::from(self.months));
        let span = span.and_then(|span| span.try_days(sign * i64::from(self.days)));
        let span = span.and_then(|span| span.try_minutes(sign * self.minutes));
        span.map_or(time, |span| time.saturating_add(span))
    }

    fn plus(self, other: Self) -> Self {
        Self { months: self.months + other.months, days: self.days + other.days, minutes: self.minutes + other.minutes }
    }
}

/// Parses a duration at a token.
pub(super) fn length(reader: &PhraseReader<'_>, index: usize) -> Option<(SpokenDuration, usize)> {
    let fits = reader.language.lengths.iter().filter_map(|(pattern, meaning)| {
        let (values, end) = reader.match_pattern(pattern, index)?;
        Some((resolve_meaning(*meaning, &values)?, end))
    });
    // `max_by_key` would return the last of equally long matches, but the first one wins.
    fits.reduce(|best, next| if next.1 > best.1 { next } else { best })
}

fn resolve_meaning(meaning: DurationMeaning, values: &[SlotValue]) -> Option<SpokenDuration> {
    match (meaning, values) {
        (DurationMeaning::Minutes(minutes), _) => Some(SpokenDuration { minutes, ..SpokenDuration::default() }),
        (DurationMeaning::Plain, [SlotValue::Amount(amount), SlotValue::Unit(unit)]) => to_duration(*amount, *unit),
        (DurationMeaning::AndHalf, [SlotValue::Amount(amount), SlotValue::Unit(unit)]) => {
            to_duration(amount + 0.5, *unit)
        }
        (
            DurationMeaning::Both,
            [SlotValue::Amount(first), SlotValue::Unit(one), SlotValue::Amount(second), SlotValue::Unit(other)],
        ) => Some(to_duration(*first, *one)?.plus(to_duration(*second, *other)?)),
        _ => None,
    }
}

fn to_duration(amount: f64, unit: TimeUnit) -> Option<SpokenDuration> {
    // An upper limit for plausible durations, which also prevents overflow.
    if !(0.0..=10_000.0).contains(&amount) {
        return None;
    }
    // The cast is safe: at most ten thousand of the largest unit.
    let rounded = |amount: f64| amount.round() as i32;
    Some(match unit {
        TimeUnit::Minute => SpokenDuration { minutes: rounded(amount).into(), ..SpokenDuration::default() },
        TimeUnit::Hour => SpokenDuration { minutes: rounded(amount * 60.0).into(), ..SpokenDuration::default() },
        TimeUnit::Day => SpokenDuration { days: rounded(amount), ..SpokenDuration::default() },
        TimeUnit::Week => SpokenDuration { days: rounded(amount * 7.0), ..SpokenDuration::default() },
        TimeUnit::Month => SpokenDuration { months: rounded(amount), ..SpokenDuration::default() },
        TimeUnit::Year => SpokenDuration { months: rounded(amount * 12.0), ..SpokenDuration::default() },
    })
}
