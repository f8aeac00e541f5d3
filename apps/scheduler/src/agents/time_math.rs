//! Instant arithmetic in whole minutes. Results are in UTC until `in_time_zone` converts them to a time zone.

use jiff::ToSpan as _;
use superstep::Result;
use superstep::core::time::Time;

use crate::calendar::TimeRange;
use crate::time_zone::NamedTimeZone;

pub(super) const MINUTES_A_DAY: i64 = 24 * 60;
const MICROS_A_MINUTE: i64 = 60_000_000;

/// Adds minutes to an instant. Returns the instant unchanged on overflow.
pub(super) fn add_minutes(time: Time, minutes: i64) -> Time {
    after(time, minutes.saturating_mul(MICROS_A_MINUTE))
}

/// Adds microseconds to an instant. Returns the instant unchanged on overflow.
pub(super) fn after(time: Time, micros: i64) -> Time {
    Time::from_unix_micros(time.as_unix_micros().saturating_add(micros)).unwrap_or(time)
}

/// Returns the microseconds from `first` to `second`.
pub(super) fn between(first: Time, second: Time) -> i64 {
    second.as_unix_micros() - first.as_unix_micros()
}

/// Extends a time range by some minutes at both ends.
pub(super) fn pad(span: &TimeRange, minutes: i64) -> TimeRange {
    TimeRange { start: add_minutes(span.start, -minutes), end: add_minutes(span.end, minutes) }
}

/// Returns the intersection of two time ranges.
pub(super) fn intersection(one: &TimeRange, other: &TimeRange) -> Option<TimeRange> {
    TimeRange::new(one.start.max(other.start), one.end.min(other.end))
}

/// Rounds an instant up to a multiple of the step. Steps that divide a quarter of an hour also fit local time, because
/// UTC offsets are multiples of 15 minutes.
pub(super) fn round_up(time: Time, step_minutes: i64) -> Time {
    let step = step_minutes * MICROS_A_MINUTE;
    let over = time.as_unix_micros().rem_euclid(step);
    if over == 0 { time } else { after(time, step - over) }
}

/// Returns the twelve months from an instant.
pub(super) fn year_from(zone: &NamedTimeZone, start: Time) -> Result<TimeRange> {
    let end = zone.to_instant(zone.to_local(start).saturating_add(1.year()))?;
    Ok(TimeRange { start, end: end.max(start) })
}

/// Returns the first instant of the local day of `time`, plus `days` days.
pub(super) fn midnight(zone: &NamedTimeZone, time: Time, days: i64) -> Result<Time> {
    let day = zone.to_local(time).date().saturating_add(days.days());
    zone.to_instant(day.at(0, 0, 0, 0))
}

/// Converts a time range to the UTC offsets of a time zone.
pub(super) fn in_time_zone(zone: &NamedTimeZone, span: &TimeRange) -> Result<TimeRange> {
    Ok(TimeRange { start: zone.with_local_offset(span.start)?, end: zone.with_local_offset(span.end)? })
}
