//! How an event of a file repeats: RRULE, RDATE and EXDATE.

use jiff::civil::DateTime;
use superstep::{Code, Error, Result};

use super::draft::Source;
use super::lines::excerpt;
use super::property::Property;
use super::report::{Problem, Report};
use super::when::{Moment, moments};
use crate::calendar::{Event, MOST_INSTANCES, Recurrence, check_rule};
use crate::zone::Zone;

/// How an event repeats that starts then; nothing when it does not.
pub(super) fn read(
    properties: &[Property],
    start: &Moment,
    source: &Source<'_>,
    report: &mut Report,
) -> Result<Option<Recurrence>, Problem> {
    let mut recurrence = Recurrence { rule: String::new(), left_out: Vec::new(), added: Vec::new() };
    for property in properties {
        let mut walls = || walls(property, start, source, report);
        match property.name.as_str() {
            "RRULE" if recurrence.rule.is_empty() => recurrence.rule = rule(property)?,
            "RRULE" => return Err(property.problem("is there twice; a series has one")),
            "EXRULE" => return Err(property.problem("is no longer part of calendar files and cannot be computed")),
            "EXDATE" => recurrence.left_out.extend(walls()?),
            "RDATE" => recurrence.added.extend(walls()?),
            _ => {}
        }
    }
    for dates in [&mut recurrence.left_out, &mut recurrence.added] {
        dates.sort_unstable();
        dates.dedup();
    }
    let is_any = !recurrence.rule.is_empty() || !recurrence.left_out.is_empty() || !recurrence.added.is_empty();
    Ok(is_any.then_some(recurrence))
}

fn rule(property: &Property) -> Result<String, Problem> {
    let rule = property.value().trim_end_matches(';').to_ascii_uppercase();
    match rule.as_str() {
        "" => Err(property.problem("is empty")),
        // The library that computes rules cannot be asked about these.
        _ if !rule.is_ascii() => Err(property.problem(format!("`{}` has letters that no rule has", excerpt(&rule)))),
        _ => Ok(rule),
    }
}

fn walls(
    property: &Property,
    start: &Moment,
    source: &Source<'_>,
    report: &mut Report,
) -> Result<Vec<DateTime>, Problem> {
    // Google writes EXDATE without a value when the last one is gone.
    if property.value().is_empty() {
        return Ok(Vec::new());
    }
    let all = moments(property, &source.zones, &start.zone, report)?;
    let walls = all.iter().map(|moment| moment.on_wall(&start.zone, start.wall));
    walls.collect::<Result<_>>().map_err(|error| property.problem(error.message()))
}

/// Whether the calendar can compute a series; what cannot be computed must not get onto a board.
///
/// # Errors
/// With what is wrong in the rule.
pub(super) fn readable_rule(event: &Event) -> Result<()> {
    let Some(recurrence) = &event.recurrence else { return Ok(()) };
    if recurrence.added.len() > MOST_INSTANCES {
        let message = format!("RDATE has {}, and a series has at most {MOST_INSTANCES}", recurrence.added.len());
        return Err(Error::new(Code::InputInvalid, message));
    }
    if recurrence.rule.is_empty() {
        return Ok(());
    }
    if ["FREQ=SECONDLY", "FREQ=MINUTELY", "FREQ=HOURLY"].iter().any(|part| recurrence.rule.contains(part)) {
        return Err(Error::new(Code::InputInvalid, "repeats within a day, which no event of a family does"));
    }
    let zone = Zone::named(&event.zone)?;
    check_rule(&recurrence.rule, zone.wall(event.span.start), &zone).map(drop)
}
