//! The nearest alternative time of an event: later that day, earlier that day, or on a following day.

use superstep::Result;
use superstep::core::time::Time;

use super::super::availability_check::AvailabilityCheck;
use super::super::slots::{self, SlotRequest};
use super::super::time_math::midnight;
use super::super::windows::{grid_slots, required_participants, shared_day_windows};
use crate::calendar::{CalendarSnapshot, Event, TimeRange};
use crate::time_zone::NamedTimeZone;

/// Number of following days that are searched.
const FOLLOWING_DAYS: i64 = 14;

/// Finds the nearest time that `is_good` accepts, on the day of the event or after. A series stays on its days.
pub(super) fn nearest(
    snapshot: &CalendarSnapshot,
    availability: &AvailabilityCheck<'_>,
    event: &Event,
    now: Time,
    is_good: impl Fn(&[TimeRange]) -> bool,
) -> Result<Option<TimeRange>> {
    let on_day = slots_on_day(snapshot, event, event.span.minutes(), now)?;
    let later = on_day.iter().filter(|slot| slot.start > event.span.start);
    let earlier = on_day.iter().rev().filter(|slot| slot.start < event.span.start);
    if let Some(slot) = later.chain(earlier).find(|slot| is_good(&availability.shifted_to(slot))) {
        return Ok(Some(*slot));
    }
    if event.recurrence.is_some() {
        return Ok(None);
    }
    find_on_following_days(snapshot, event, now)
}

/// Returns the grid times of the given duration on the start day of the event, from now on.
pub(super) fn slots_on_day(
    snapshot: &CalendarSnapshot,
    event: &Event,
    minutes: i64,
    now: Time,
) -> Result<Vec<TimeRange>> {
    let zone = NamedTimeZone::from_iana_name(&snapshot.family.zone)?;
    let (first, end) = (midnight(&zone, event.span.start, 0)?, midnight(&zone, event.span.start, 1)?);
    // A series that started in the past is moved as a whole, including its first day.
    let is_old_series = event.recurrence.is_some() && event.span.start < now;
    let start = if is_old_series { first } else { first.max(now) };
    let Some(day) = TimeRange::new(start, end) else { return Ok(Vec::new()) };
    Ok(grid_slots(&shared_day_windows(snapshot, &required_participants(event), &day)?, minutes))
}

fn find_on_following_days(snapshot: &CalendarSnapshot, event: &Event, now: Time) -> Result<Option<TimeRange>> {
    let zone = NamedTimeZone::from_iana_name(&snapshot.family.zone)?;
    let start = midnight(&zone, event.span.start, 1)?;
    let range = TimeRange::new(start, midnight(&zone, start, FOLLOWING_DAYS)?);
    let minutes = u32::try_from(event.span.minutes()).unwrap_or(u32::MAX);
    let best =
        slots::find_slots(snapshot, &SlotRequest { event: event.clone(), requested_range: None, minutes, range }, now)?;
    Ok(best.candidate_times.first().and_then(|slot| TimeRange::new(slot.start_time, slot.end_time)))
}
