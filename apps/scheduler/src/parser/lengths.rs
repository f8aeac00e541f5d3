//! How long something takes or by how much it moves.

use jiff::civil::DateTime;

use super::reader::{Reader, Value};
use super::sense::{LengthSense, Unit};

/// A length: months and days of the wall, and minutes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Length {
    pub(super) months: i32,
    pub(super) days: i32,
    pub(super) minutes: i64,
}

impl Length {
    /// As the length of an event.
    pub(super) fn as_minutes(self) -> Option<i64> {
        (self.months == 0 && self.days == 0 && self.minutes > 0).then_some(self.minutes)
    }

    /// The same with days as well, each of 24 hours.
    pub(super) fn in_all(self) -> Option<i64> {
        let minutes = i64::from(self.days) * 24 * 60 + self.minutes;
        (self.months == 0 && minutes > 0).then_some(minutes)
    }

    /// A time that is later by this, or earlier.
    pub(super) fn from(self, time: DateTime, is_later: bool) -> DateTime {
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

/// The length that begins at a token.
pub(super) fn length(reader: &Reader<'_>, at: usize) -> Option<(Length, usize)> {
    let fits = reader.language.lengths.iter().filter_map(|(pattern, sense)| {
        let (values, end) = reader.fits(pattern, at)?;
        Some((meant(*sense, &values)?, end))
    });
    // The first of equally long ones stands, so the last maximum will not do.
    fits.reduce(|best, next| if next.1 > best.1 { next } else { best })
}

fn meant(sense: LengthSense, values: &[Value]) -> Option<Length> {
    match (sense, values) {
        (LengthSense::Minutes(minutes), _) => Some(Length { minutes, ..Length::default() }),
        (LengthSense::Plain, [Value::Amount(amount), Value::Unit(unit)]) => of(*amount, *unit),
        (LengthSense::AndHalf, [Value::Amount(amount), Value::Unit(unit)]) => of(amount + 0.5, *unit),
        (LengthSense::Both, [Value::Amount(first), Value::Unit(one), Value::Amount(second), Value::Unit(other)]) => {
            Some(of(*first, *one)?.plus(of(*second, *other)?))
        }
        _ => None,
    }
}

fn of(amount: f64, unit: Unit) -> Option<Length> {
    // Nobody plans further ahead than this, and larger numbers would not fit.
    if !(0.0..=10_000.0).contains(&amount) {
        return None;
    }
    // At most ten thousand of the largest unit.
    let rounded = |amount: f64| amount.round() as i32;
    Some(match unit {
        Unit::Minute => Length { minutes: rounded(amount).into(), ..Length::default() },
        Unit::Hour => Length { minutes: rounded(amount * 60.0).into(), ..Length::default() },
        Unit::Day => Length { days: rounded(amount), ..Length::default() },
        Unit::Week => Length { days: rounded(amount * 7.0), ..Length::default() },
        Unit::Month => Length { months: rounded(amount), ..Length::default() },
        Unit::Year => Length { months: rounded(amount * 12.0), ..Length::default() },
    })
}
