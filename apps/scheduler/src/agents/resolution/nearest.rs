//! The nearest time at which something could be instead: later that day, earlier that day, on a following day.

use superstep::Result;
use superstep::core::time::Time;

use super::super::look::Look;
use super::super::moments::midnight;
use super::super::slots::{self, Wanted};
use super::super::windows::{cells, needed, shared_days};
use crate::calendar::{Board, Event, Span};
use crate::zone::Zone;

/// How many following days are looked at.
const FOLLOWING_DAYS: i64 = 14;

/// The nearest time for an event that is good, on its day or after. A series stays on its days.
pub(super) fn nearest(
    board: &Board,
    look: &Look<'_>,
    event: &Event,
    now: Time,
    is_good: impl Fn(&[Span]) -> bool,
) -> Result<Option<Span>> {
    let on_day = on_its_day(board, event, event.span.minutes(), now)?;
    let later = on_day.iter().filter(|cell| cell.start > event.span.start);
    let earlier = on_day.iter().rev().filter(|cell| cell.start < event.span.start);
    if let Some(cell) = later.chain(earlier).find(|cell| is_good(&look.moved(cell))) {
        return Ok(Some(*cell));
    }
    if event.recurrence.is_some() {
        return Ok(None);
    }
    following(board, event, now)
}

/// The times of a length on the grid of the day on which an event starts, from now on.
pub(super) fn on_its_day(board: &Board, event: &Event, minutes: i64, now: Time) -> Result<Vec<Span>> {
    let zone = Zone::named(&board.family.zone)?;
    let (first, end) = (midnight(&zone, event.span.start, 0)?, midnight(&zone, event.span.start, 1)?);
    // A series that goes on since long is moved as a whole, its first day too.
    let is_old_series = event.recurrence.is_some() && event.span.start < now;
    let start = if is_old_series { first } else { first.max(now) };
    let Some(day) = Span::new(start, end) else { return Ok(Vec::new()) };
    Ok(cells(&shared_days(board, &needed(event), &day)?, minutes))
}

fn following(board: &Board, event: &Event, now: Time) -> Result<Option<Span>> {
    let zone = Zone::named(&board.family.zone)?;
    let start = midnight(&zone, event.span.start, 1)?;
    let range = Span::new(start, midnight(&zone, start, FOLLOWING_DAYS)?);
    let minutes = u32::try_from(event.span.minutes()).unwrap_or(u32::MAX);
    let best = slots::find(board, &Wanted { event: event.clone(), given: None, minutes, range }, now)?;
    Ok(best.candidate_times.first().and_then(|slot| Span::new(slot.start_time, slot.end_time)))
}
