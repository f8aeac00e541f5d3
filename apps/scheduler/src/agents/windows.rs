//! When the days are of those who take part, and the times on the grid inside them.

use jiff::ToSpan as _;
use superstep::Result;

use super::moments::{MINUTES_A_DAY, common, later, round_up};
use crate::calendar::{Board, Event, Preferences, Span};
use crate::zone::Zone;

/// Times that are offered start at quarters of an hour.
pub(super) const GRID_MINUTES: i64 = 15;

/// Those without whom an event cannot be; if it can be without any of them, all who take part.
pub(super) fn needed(event: &Event) -> Vec<&str> {
    let required = || event.participants.iter().filter(|participant| participant.is_required);
    let everybody = required().next().is_none();
    let needed = event.participants.iter().filter(|participant| everybody || participant.is_required);
    needed.map(|participant| participant.member.as_str()).collect()
}

/// The stretches within a range that are in the day of everybody, the earliest first. Somebody who is elsewhere has their
/// day there.
pub(super) fn shared_days(board: &Board, members: &[&str], range: &Span) -> Result<Vec<Span>> {
    let known: Vec<_> = members.iter().filter_map(|id| board.members.get(*id)).collect();
    if known.is_empty() {
        return days(&Zone::named(&board.family.zone)?, &Preferences::default(), range);
    }
    let mut shared: Option<Vec<Span>> = None;
    for member in known {
        let zone = Zone::named(member.zone.as_deref().unwrap_or(&board.family.zone))?;
        let theirs = days(&zone, &member.preferences, range)?;
        shared = Some(shared.map_or_else(|| theirs.clone(), |shared| in_both(&shared, &theirs)));
    }
    Ok(shared.unwrap_or_default())
}

fn days(zone: &Zone, preferences: &Preferences, range: &Span) -> Result<Vec<Span>> {
    let mut days = Vec::new();
    // The day before may reach into the range when it ends after midnight.
    let mut date = zone.wall(range.start).date().saturating_sub(1.day());
    let last = zone.wall(range.end).date();
    while date <= last {
        let ends_next_day = preferences.day_end <= preferences.day_start;
        let end = if ends_next_day { date.saturating_add(1.day()) } else { date };
        let start = zone.instant(date.to_datetime(preferences.day_start))?;
        let day = Span::new(start, zone.instant(end.to_datetime(preferences.day_end))?);
        days.extend(day.and_then(|day| common(&day, range)));
        let next = date.saturating_add(1.day());
        if next == date {
            break;
        }
        date = next;
    }
    Ok(days)
}

/// What is in a stretch of both lists; both are sorted.
fn in_both(one: &[Span], other: &[Span]) -> Vec<Span> {
    let (mut at, mut of_other, mut both) = (0, 0, Vec::new());
    while let (Some(first), Some(second)) = (one.get(at), other.get(of_other)) {
        both.extend(common(first, second));
        if first.end <= second.end {
            at += 1;
        } else {
            of_other += 1;
        }
    }
    both
}

/// What is left of stretches without others; all are sorted.
pub(super) fn without(stretches: &[Span], taken: &[Span]) -> Vec<Span> {
    let mut left = Vec::new();
    for stretch in stretches {
        let mut from = stretch.start;
        for busy in taken.iter().filter(|busy| busy.meets(stretch)) {
            left.extend(Span::new(from, busy.start));
            from = from.max(busy.end);
        }
        left.extend(Span::new(from, stretch.end));
    }
    left
}

/// The times of a length on the grid inside stretches, the earliest first.
pub(super) fn cells(stretches: &[Span], minutes: i64) -> Vec<Span> {
    let mut cells = Vec::new();
    // Longer than any day: nothing would fit, and the arithmetic stays small.
    if minutes <= 0 || minutes > 366 * MINUTES_A_DAY {
        return cells;
    }
    for stretch in stretches {
        let at = |start| Span::new(start, later(start, minutes)).filter(|cell| cell.end <= stretch.end);
        let mut next = at(round_up(stretch.start, GRID_MINUTES));
        while let Some(cell) = next {
            cells.push(cell);
            next = at(later(cell.start, GRID_MINUTES));
        }
    }
    cells
}
