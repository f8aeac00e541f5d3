//! Day hours of the participants, and the grid of candidate times within them.

use jiff::ToSpan as _;
use superstep::Result;

use super::time_math::{MINUTES_A_DAY, add_minutes, intersection, round_up};
use crate::calendar::{CalendarSnapshot, Event, Preferences, TimeRange};
use crate::time_zone::NamedTimeZone;

/// Distance between the starts of candidate times, in minutes.
pub(super) const GRID_MINUTES: i64 = 15;

/// Returns the required participants; all participants if none is required.
pub(super) fn required_participants(event: &Event) -> Vec<&str> {
    let required = || event.participants.iter().filter(|participant| participant.is_required);
    let none_is_required = required().next().is_none();
    let needed = event.participants.iter().filter(|participant| none_is_required || participant.is_required);
    needed.map(|participant| participant.member.as_str()).collect()
}

/// Returns the ranges within the day hours of all members, earliest first. Day hours are in the time zone of each
/// member.
pub(super) fn shared_day_windows(
    snapshot: &CalendarSnapshot,
    members: &[&str],
    range: &TimeRange,
) -> Result<Vec<TimeRange>> {
    let people: Vec<_> = members.iter().filter_map(|id| snapshot.members.get(*id)).collect();
    if people.is_empty() {
        return days(&NamedTimeZone::from_iana_name(&snapshot.family.zone)?, &Preferences::default(), range);
    }
    let mut shared: Option<Vec<TimeRange>> = None;
    for member in people {
        let zone = NamedTimeZone::from_iana_name(member.zone.as_deref().unwrap_or(&snapshot.family.zone))?;
        let member_windows = days(&zone, &member.preferences, range)?;
        shared = Some(shared.map_or_else(|| member_windows.clone(), |shared| intersections(&shared, &member_windows)));
    }
    Ok(shared.unwrap_or_default())
}

fn days(zone: &NamedTimeZone, preferences: &Preferences, range: &TimeRange) -> Result<Vec<TimeRange>> {
    let mut days = Vec::new();
    // The day before may extend into the range if its day hours end after midnight.
    let mut date = zone.to_local(range.start).date().saturating_sub(1.day());
    let last = zone.to_local(range.end).date();
    while date <= last {
        let ends_next_day = preferences.day_end <= preferences.day_start;
        let end = if ends_next_day { date.saturating_add(1.day()) } else { date };
        let start = zone.to_instant(date.to_datetime(preferences.day_start))?;
        let day = TimeRange::new(start, zone.to_instant(end.to_datetime(preferences.day_end))?);
        days.extend(day.and_then(|day| intersection(&day, range)));
        let next = date.saturating_add(1.day());
        if next == date {
            break;
        }
        date = next;
    }
    Ok(days)
}

/// Returns the intersections of two sorted lists.
fn intersections(one: &[TimeRange], other: &[TimeRange]) -> Vec<TimeRange> {
    let (mut index, mut other_index, mut both) = (0, 0, Vec::new());
    while let (Some(first), Some(second)) = (one.get(index), other.get(other_index)) {
        both.extend(intersection(first, second));
        if first.end <= second.end {
            index += 1;
        } else {
            other_index += 1;
        }
    }
    both
}

/// Subtracts the sorted busy ranges from the sorted ranges.
pub(super) fn subtract(windows: &[TimeRange], busy: &[TimeRange]) -> Vec<TimeRange> {
    let mut free = Vec::new();
    for window in windows {
        let mut from = window.start;
        for range in busy.iter().filter(|range| range.overlaps(window)) {
            free.extend(TimeRange::new(from, range.start));
            from = from.max(range.end);
        }
        free.extend(TimeRange::new(from, window.end));
    }
    free
}

/// Returns the grid times of the given duration inside the ranges, earliest first.
pub(super) fn grid_slots(windows: &[TimeRange], minutes: i64) -> Vec<TimeRange> {
    let mut slots = Vec::new();
    // A longer duration fits into no range; the limit keeps the arithmetic small.
    if minutes <= 0 || minutes > 366 * MINUTES_A_DAY {
        return slots;
    }
    for window in windows {
        let slot_at = |start| TimeRange::new(start, add_minutes(start, minutes)).filter(|slot| slot.end <= window.end);
        let mut next = slot_at(round_up(window.start, GRID_MINUTES));
        while let Some(slot) = next {
            slots.push(slot);
            next = slot_at(add_minutes(slot.start, GRID_MINUTES));
        }
    }
    slots
}
