//! Times in an edit: where an instance is wanted that was looked at, and what that says of the others of its series.

use superstep::Result;
use superstep::core::time::Time;

use super::super::board::Board;
use super::super::event::Event;
use super::super::span::Span;
use super::Which;
use crate::zone::Zone;

/// Where something is wanted.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Retiming {
    /// When the one is that was looked at.
    pub(crate) seen: Span,
    /// When that one is to be.
    pub(crate) wanted: Span,
    /// When its series has it, where it was moved away from there and others are meant as well.
    pub(crate) ruled: Option<Span>,
}

/// When a series has the instance for which an event stands; nothing where no others are meant, or there are none.
///
/// # Errors
/// When the rule or the zone of the series cannot be read.
pub(crate) fn ruled(board: &Board, event: &Event, which: Which) -> Result<Option<Span>> {
    let of = event.exception_of.as_ref().filter(|_| !matches!(which, Which::This(_)));
    let Some((of, series)) = of.and_then(|of| Some((of, board.events.get(&of.series)?))) else { return Ok(None) };
    let table = board.timetable(series)?;
    table.span_at(table.instant(of.start)?)
}

/// Puts an event at another time, in an edit: just there where it is the one that was looked at, else as far from where it
/// was, on the wall. What is no longer from midnight to midnight is no matter of days.
///
/// # Errors
/// When a zone is unknown, or a time is beyond the years that can be written.
pub(crate) fn retime(event: &mut Event, to: &Retiming) -> Result<()> {
    let zone = Zone::named(&event.zone)?;
    let (seen, wanted) = match to.ruled.filter(|_| event.exception_of.is_none()) {
        Some(ruled) => (ruled, said_of(&ruled, to, &zone)?),
        None => (to.seen, to.wanted),
    };
    event.span = if event.span.start == seen.start {
        Span { start: zone.written(wanted.start)?, end: zone.written(wanted.end)? }
    } else {
        let moved = |old: Time, from: Time, to: Time| {
            zone.instant(zone.wall(old).saturating_add(zone.wall(to).duration_since(zone.wall(from))))
        };
        Span {
            start: moved(event.span.start, seen.start, wanted.start)?,
            end: moved(event.span.end, seen.end, wanted.end)?,
        }
    };
    let is_midnight = |time: Time| zone.wall(time).time() == jiff::civil::Time::midnight();
    event.is_all_day &= is_midnight(event.span.start) && is_midnight(event.span.end);
    Ok(())
}

/// What is wanted of an instance that was moved, said of the instance that the series has in its place. A day, a time of
/// the day and a length that stay as they were moved to say nothing of the others.
fn said_of(ruled: &Span, to: &Retiming, zone: &Zone) -> Result<Span> {
    let [own, from, wanted] = [ruled, &to.seen, &to.wanted].map(|span| zone.wall(span.start));
    let [own_length, old_length, length] =
        [ruled, &to.seen, &to.wanted].map(|span| zone.wall(span.end).duration_since(zone.wall(span.start)));
    let day = if wanted.date() == from.date() { own.date() } else { wanted.date() };
    let time = if wanted.time() == from.time() { own.time() } else { wanted.time() };
    let start = day.to_datetime(time);
    let end = start.saturating_add(if length == old_length { own_length } else { length });
    Ok(Span { start: zone.instant(start)?, end: zone.instant(end)? })
}
