//! Events after a change of their time: a single event, a whole series, or one instance of a series.

use std::sync::Arc;

use jiff::civil::DateTime;
use superstep::core::time::Time;
use superstep::{Error, ErrorCode, Result};

use super::super::time_math::{add_minutes, in_time_zone};
use crate::calendar::{CalendarSnapshot, Event, Recurrence, RecurrenceOverride, TimeRange};
use crate::models::EventStatus;
use crate::time_zone::NamedTimeZone;

/// Creates the error for a resume value that cannot be applied.
pub(super) fn invalid_resume(reason: impl Into<String>) -> Error {
    Error::new(ErrorCode::InvalidResume, reason)
}

/// Returns a free id for the second part of a split event.
pub(super) fn part_id(snapshot: &CalendarSnapshot, event: &Event) -> String {
    let mut ids = (2_u32..).map(|part| format!("{}_{part}", event.id));
    ids.find(|id| !snapshot.events.contains_key(id)).unwrap_or_default()
}

/// Creates the override for one instance of a series.
pub(super) fn instance_override(snapshot: &CalendarSnapshot, series: &Arc<Event>, start: Time) -> Result<Event> {
    let minute = TimeRange { start, end: add_minutes(start, 1) };
    let instances = snapshot.instances_of(series, &minute)?;
    let matched = instances.iter().find(|instance| instance.span.start == start);
    let matched =
        matched.ok_or_else(|| invalid_resume(format!("`{}` has no instance that starts at {start}", series.title)))?;
    let zone = NamedTimeZone::from_iana_name(&series.zone)?;
    let local_time = zone.to_local(start);
    Ok(Event {
        id: format!("{}:{}", series.id, local_time.strftime("%Y%m%dT%H%M%S")),
        span: in_time_zone(&zone, &matched.span)?,
        recurrence: None,
        recurrence_override: Some(RecurrenceOverride { series: series.id.clone(), start: local_time }),
        ..series.as_ref().clone()
    })
}

/// Moves an event, together with the overrides of a series.
///
/// A series cannot move to another day, because its recurrence rule names the days.
pub(super) fn reschedule(snapshot: &CalendarSnapshot, event: &Event, to: &TimeRange) -> Result<(Event, Vec<Event>)> {
    let zone = NamedTimeZone::from_iana_name(&event.zone)?;
    let is_midnight = |time: Time| zone.to_local(time).time() == jiff::civil::Time::midnight();
    let is_all_day = event.is_all_day && is_midnight(to.start) && is_midnight(to.end);
    let mut after = Event { span: in_time_zone(&zone, to)?, is_all_day, ..event.clone() };
    bump_sequence(&mut after);
    let Some(recurrence) = &event.recurrence else { return Ok((after, Vec::new())) };
    let (old, new) = (zone.to_local(event.span.start), zone.to_local(to.start));
    if old.date() != new.date() {
        return Err(invalid_resume(format!(
            "the rule of `{}` sets its days: it can only be moved within the day",
            event.title
        )));
    }
    let by = old.until(new).map_err(|error| invalid_resume(error.to_string()))?;
    let shift = |local_time: &DateTime| local_time.saturating_add(by);
    after.recurrence = Some(Recurrence {
        rule: shift_rule(&recurrence.rule, by)?,
        exdates: recurrence.exdates.iter().map(shift).collect(),
        rdates: recurrence.rdates.iter().map(shift).collect(),
    });
    let mut overrides = Vec::new();
    for other in snapshot.events.values() {
        if let Some(replaced) =
            other.recurrence_override.as_ref().filter(|replaced| replaced.series == event.id && old != new)
        {
            let recurrence_override =
                Some(RecurrenceOverride { series: replaced.series.clone(), start: shift(&replaced.start) });
            overrides.push(Event { recurrence_override, ..other.as_ref().clone() });
        }
    }
    Ok((after, overrides))
}

/// Shifts the UNTIL of a recurrence rule by the same duration, so that no instance is lost.
fn shift_rule(rule: &str, by: jiff::Span) -> Result<String> {
    let mut parts = Vec::new();
    for part in rule.split(';') {
        if ["BYHOUR=", "BYMINUTE=", "BYSECOND="].iter().any(|fixed| part.starts_with(fixed)) {
            return Err(invalid_resume(format!("the rule sets the time of day: `{part}`")));
        }
        let until = part.strip_prefix("UNTIL=").filter(|until| until.contains('T'));
        let Some(until) = until else {
            parts.push(part.to_owned());
            continue;
        };
        let utc = if until.ends_with('Z') { "Z" } else { "" };
        let last = DateTime::strptime("%Y%m%dT%H%M%S", until.trim_end_matches('Z'));
        let last = last.map_err(|error| invalid_resume(format!("`{part}`: {error}")))?.saturating_add(by);
        parts.push(format!("UNTIL={}{utc}", last.strftime("%Y%m%dT%H%M%S")));
    }
    Ok(parts.join(";"))
}

/// Increments SEQUENCE as in RFC 5545. Only confirmed events are visible to others, so only they count changes.
pub(super) fn bump_sequence(event: &mut Event) {
    if event.status == EventStatus::Confirmed {
        event.sequence = event.sequence.saturating_add(1);
    }
}
