//! New times in an edit: the time for the selected instance, and the resulting times for the other instances.

use superstep::Result;
use superstep::core::time::Time;

use super::super::event::Event;
use super::super::snapshot::CalendarSnapshot;
use super::super::time_range::TimeRange;
use super::SeriesSelection;
use crate::time_zone::NamedTimeZone;

/// New time of an instance.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Reschedule {
    /// Time range of the instance that the user selected.
    pub(crate) current: TimeRange,
    /// New time range of the selected instance.
    pub(crate) requested: TimeRange,
    /// Time range that the series has for the instance, if the instance was moved and other instances are edited
    /// too.
    pub(crate) scheduled: Option<TimeRange>,
}

/// Returns the time range that the series has for the instance of an override. Returns `None` if only that instance
/// is selected, or if there is no series.
///
/// # Errors
/// Returns an error if the recurrence rule or the time zone of the series is invalid.
pub(crate) fn scheduled_range(
    snapshot: &CalendarSnapshot,
    event: &Event,
    selection: SeriesSelection,
) -> Result<Option<TimeRange>> {
    let replaced = event.recurrence_override.as_ref().filter(|_| !matches!(selection, SeriesSelection::This(_)));
    let Some((replaced, series)) =
        replaced.and_then(|replaced| Some((replaced, snapshot.events.get(&replaced.series)?)))
    else {
        return Ok(None);
    };
    let expander = snapshot.expander(series)?;
    expander.span_at(expander.instant(replaced.start)?)
}

/// Sets the time of an event in an edit. The selected instance gets the new time range; every other one is shifted
/// by the same local duration. An event that no longer starts and ends at midnight is no longer all-day.
///
/// # Errors
/// Returns an error if a time zone is unknown or a time is out of range.
pub(crate) fn reschedule(event: &mut Event, to: &Reschedule) -> Result<()> {
    let zone = NamedTimeZone::from_iana_name(&event.zone)?;
    let (current, requested) = match to.scheduled.filter(|_| event.recurrence_override.is_none()) {
        Some(scheduled) => (scheduled, to_series_range(&scheduled, to, &zone)?),
        None => (to.current, to.requested),
    };
    event.span = if event.span.start == current.start {
        TimeRange { start: zone.with_local_offset(requested.start)?, end: zone.with_local_offset(requested.end)? }
    } else {
        let moved = |old: Time, from: Time, to: Time| {
            zone.to_instant(zone.to_local(old).saturating_add(zone.to_local(to).duration_since(zone.to_local(from))))
        };
        TimeRange {
            start: moved(event.span.start, current.start, requested.start)?,
            end: moved(event.span.end, current.end, requested.end)?,
        }
    };
    let is_midnight = |time: Time| zone.to_local(time).time() == jiff::civil::Time::midnight();
    event.is_all_day &= is_midnight(event.span.start) && is_midnight(event.span.end);
    Ok(())
}

/// Translates the new time of a moved instance to the instance that the series has in its place. A date, a time of
/// day and a duration that the edit leaves unchanged are taken from the series.
fn to_series_range(scheduled: &TimeRange, to: &Reschedule, zone: &NamedTimeZone) -> Result<TimeRange> {
    let [series_start, from, requested] = [scheduled, &to.current, &to.requested].map(|span| zone.to_local(span.start));
    let [series_length, old_length, length] = [scheduled, &to.current, &to.requested]
        .map(|span| zone.to_local(span.end).duration_since(zone.to_local(span.start)));
    let day = if requested.date() == from.date() { series_start.date() } else { requested.date() };
    let time = if requested.time() == from.time() { series_start.time() } else { requested.time() };
    let start = day.to_datetime(time);
    let end = start.saturating_add(if length == old_length { series_length } else { length });
    Ok(TimeRange { start: zone.to_instant(start)?, end: zone.to_instant(end)? })
}
