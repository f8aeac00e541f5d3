//! Parses the recurrence of an event: RRULE, RDATE and EXDATE.

use jiff::civil::{DateTime, Time};
use superstep::{Error, ErrorCode, Result};

use super::content_line::excerpt;
use super::datetime::{IcsDateTime, parse_datetimes};
use super::parsed_event::ImportContext;
use super::property::Property;
use super::report::{ImportProblem, ImportReport};
use crate::calendar::{Event, MAX_INSTANCES, Recurrence, validate_rrule};
use crate::time_zone::NamedTimeZone;

/// Parses the recurrence of an event; `None` if the event does not repeat.
pub(super) fn parse(
    properties: &[Property],
    start: &IcsDateTime,
    context: &ImportContext<'_>,
    report: &mut ImportReport,
) -> Result<Option<Recurrence>, ImportProblem> {
    let mut recurrence = Recurrence { rule: String::new(), exdates: Vec::new(), rdates: Vec::new() };
    for property in properties {
        let mut read_times = || local_times(property, start, context, report);
        match property.name.as_str() {
            "RRULE" if recurrence.rule.is_empty() => recurrence.rule = rule(property)?,
            "RRULE" => return Err(property.problem("occurs twice; a series can have only one")),
            "EXRULE" => return Err(property.problem("is obsolete and not supported")),
            "EXDATE" => recurrence.exdates.extend(read_times()?),
            "RDATE" => recurrence.rdates.extend(read_times()?),
            _ => {}
        }
    }
    for dates in [&mut recurrence.exdates, &mut recurrence.rdates] {
        dates.sort_unstable();
        dates.dedup();
    }
    let is_any = !recurrence.rule.is_empty() || !recurrence.exdates.is_empty() || !recurrence.rdates.is_empty();
    Ok(is_any.then_some(recurrence))
}

fn rule(property: &Property) -> Result<String, ImportProblem> {
    let rule = property.value().trim_end_matches(';').to_ascii_uppercase();
    match rule.as_str() {
        "" => Err(property.problem("is empty")),
        // Rejected before parsing: RFC 5545 rules are ASCII only.
        _ if !rule.is_ascii() => {
            Err(property.problem(format!("`{}` contains characters that are invalid in a rule", excerpt(&rule))))
        }
        _ => Ok(rule),
    }
}

fn local_times(
    property: &Property,
    start: &IcsDateTime,
    context: &ImportContext<'_>,
    report: &mut ImportReport,
) -> Result<Vec<DateTime>, ImportProblem> {
    // Google writes EXDATE without a value when the last excluded date was removed.
    if property.value().is_empty() {
        return Ok(Vec::new());
    }
    let all = parse_datetimes(property, &context.zones, &start.zone, report)?;
    let times = all.iter().map(|datetime| {
        let local_time = datetime.local_time_in(&start.zone, start.local_time)?;
        // Instances of an all-day series start at midnight; an export writes their dates only.
        Ok(if start.is_day { local_time.date().to_datetime(Time::midnight()) } else { local_time })
    });
    times.collect::<Result<_>>().map_err(|error: Error| property.problem(error.message()))
}

/// Checks that a series can be expanded, because an invalid rule must not get into a snapshot.
///
/// # Errors
/// Returns an error that names the invalid part of the rule.
pub(super) fn check_recurrence(event: &Event) -> Result<()> {
    let Some(recurrence) = &event.recurrence else { return Ok(()) };
    if recurrence.rdates.len() > MAX_INSTANCES {
        let message = format!("RDATE has {} dates; the maximum is {MAX_INSTANCES}", recurrence.rdates.len());
        return Err(Error::new(ErrorCode::InputInvalid, message));
    }
    if recurrence.rule.is_empty() {
        return Ok(());
    }
    if ["FREQ=SECONDLY", "FREQ=MINUTELY", "FREQ=HOURLY"].iter().any(|part| recurrence.rule.contains(part)) {
        return Err(Error::new(ErrorCode::InputInvalid, "repeats within a day, which is not supported"));
    }
    let zone = NamedTimeZone::from_iana_name(&event.zone)?;
    validate_rrule(&recurrence.rule, zone.to_local(event.span.start), &zone).map(drop)
}
