//! Arithmetic with moments, in whole minutes. Results are written in UTC until somebody writes them in a zone.

use jiff::ToSpan as _;
use superstep::Result;
use superstep::core::time::Time;

use crate::calendar::Span;
use crate::zone::Zone;

pub(super) const MINUTES_A_DAY: i64 = 24 * 60;
const MICROS_A_MINUTE: i64 = 60_000_000;

/// So many minutes later; at the end of all years, the moment itself.
pub(super) fn later(time: Time, minutes: i64) -> Time {
    after(time, minutes.saturating_mul(MICROS_A_MINUTE))
}

/// So many microseconds later; at the end of all years, the moment itself.
pub(super) fn after(time: Time, micros: i64) -> Time {
    Time::from_unix_micros(time.as_unix_micros().saturating_add(micros)).unwrap_or(time)
}

/// How many microseconds the second moment is after the first.
pub(super) fn between(first: Time, second: Time) -> i64 {
    second.as_unix_micros() - first.as_unix_micros()
}

/// Longer by so many minutes at both ends.
pub(super) fn wider(span: &Span, minutes: i64) -> Span {
    Span { start: later(span.start, -minutes), end: later(span.end, minutes) }
}

/// What is in both.
pub(super) fn common(one: &Span, other: &Span) -> Option<Span> {
    Span::new(one.start.max(other.start), one.end.min(other.end))
}

/// The next moment that is a whole number of steps on the wall of any place: offsets are quarters of an hour.
pub(super) fn round_up(time: Time, step_minutes: i64) -> Time {
    let step = step_minutes * MICROS_A_MINUTE;
    let over = time.as_unix_micros().rem_euclid(step);
    if over == 0 { time } else { after(time, step - over) }
}

/// The twelve months after a moment.
pub(super) fn year_from(zone: &Zone, start: Time) -> Result<Span> {
    let end = zone.instant(zone.wall(start).saturating_add(1.year()))?;
    Ok(Span { start, end: end.max(start) })
}

/// The first moment of the day that a moment is in, and so many days later.
pub(super) fn midnight(zone: &Zone, time: Time, days: i64) -> Result<Time> {
    let day = zone.wall(time).date().saturating_add(days.days());
    zone.instant(day.at(0, 0, 0, 0))
}

/// The same stretch, written with the offsets of a place.
pub(super) fn written(zone: &Zone, span: &Span) -> Result<Span> {
    Ok(Span { start: zone.written(span.start)?, end: zone.written(span.end)? })
}
