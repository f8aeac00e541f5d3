//! Events as they are after a change of their time: alone, as a whole series, or as one instance of a series.

use std::sync::Arc;

use jiff::civil::DateTime;
use superstep::core::time::Time;
use superstep::{Code, Error, Result};

use super::super::moments::{later, written};
use crate::calendar::{Board, Event, ExceptionOf, Recurrence, Span};
use crate::models::EventStatus;
use crate::zone::Zone;

/// The answer does not fit: says why.
pub(super) fn refused(why: impl Into<String>) -> Error {
    Error::new(Code::InvalidResume, why)
}

/// The id of the second part of an event that is split.
pub(super) fn part_id(board: &Board, event: &Event) -> String {
    let mut ids = (2_u32..).map(|part| format!("{}_{part}", event.id));
    ids.find(|id| !board.events.contains_key(id)).unwrap_or_default()
}

/// One instance of a series as an event of its own, which stands for it.
pub(super) fn instance(board: &Board, series: &Arc<Event>, start: Time) -> Result<Event> {
    let moment = Span { start, end: later(start, 1) };
    let instances = board.instances_of(series, &moment)?;
    let found = instances.iter().find(|instance| instance.span.start == start);
    let found = found.ok_or_else(|| refused(format!("`{}` has no instance that starts at {start}", series.title)))?;
    let zone = Zone::named(&series.zone)?;
    let wall = zone.wall(start);
    Ok(Event {
        id: format!("{}:{}", series.id, wall.strftime("%Y%m%dT%H%M%S")),
        span: written(&zone, &found.span)?,
        recurrence: None,
        exception_of: Some(ExceptionOf { series: series.id.clone(), start: wall }),
        ..series.as_ref().clone()
    })
}

/// An event at another time, and the exceptions of a series with it.
///
/// A series stays on its days, because its rule names them.
pub(super) fn moved(board: &Board, event: &Event, to: &Span) -> Result<(Event, Vec<Event>)> {
    let zone = Zone::named(&event.zone)?;
    let is_midnight = |time: Time| zone.wall(time).time() == jiff::civil::Time::midnight();
    let is_all_day = event.is_all_day && is_midnight(to.start) && is_midnight(to.end);
    let mut after = Event { span: written(&zone, to)?, is_all_day, ..event.clone() };
    count_change(&mut after);
    let Some(recurrence) = &event.recurrence else { return Ok((after, Vec::new())) };
    let (old, new) = (zone.wall(event.span.start), zone.wall(to.start));
    if old.date() != new.date() {
        return Err(refused(format!(
            "`{}` repeats, and its days are in its rule: it can move within a day",
            event.title
        )));
    }
    let by = old.until(new).map_err(|error| refused(error.to_string()))?;
    let shift = |wall: &DateTime| wall.saturating_add(by);
    after.recurrence = Some(Recurrence {
        rule: rule_moved(&recurrence.rule, by)?,
        left_out: recurrence.left_out.iter().map(shift).collect(),
        added: recurrence.added.iter().map(shift).collect(),
    });
    let mut exceptions = Vec::new();
    for other in board.events.values() {
        if let Some(of) = other.exception_of.as_ref().filter(|of| of.series == event.id && old != new) {
            let exception_of = Some(ExceptionOf { series: of.series.clone(), start: shift(&of.start) });
            exceptions.push(Event { exception_of, ..other.as_ref().clone() });
        }
    }
    Ok((after, exceptions))
}

/// A rule whose last moment moves with it, so that no instance is lost.
fn rule_moved(rule: &str, by: jiff::Span) -> Result<String> {
    let mut parts = Vec::new();
    for part in rule.split(';') {
        if ["BYHOUR=", "BYMINUTE=", "BYSECOND="].iter().any(|fixed| part.starts_with(fixed)) {
            return Err(refused(format!("the time of the day is in its rule, `{part}`")));
        }
        let until = part.strip_prefix("UNTIL=").filter(|until| until.contains('T'));
        let Some(until) = until else {
            parts.push(part.to_owned());
            continue;
        };
        let utc = if until.ends_with('Z') { "Z" } else { "" };
        let last = DateTime::strptime("%Y%m%dT%H%M%S", until.trim_end_matches('Z'));
        let last = last.map_err(|error| refused(format!("`{part}`: {error}")))?.saturating_add(by);
        parts.push(format!("UNTIL={}{utc}", last.strftime("%Y%m%dT%H%M%S")));
    }
    Ok(parts.join(";"))
}

/// Counts a change as calendar files do: only what others have seen has a history.
pub(super) fn count_change(event: &mut Event) {
    if event.status == EventStatus::Confirmed {
        event.sequence = event.sequence.saturating_add(1);
    }
}
