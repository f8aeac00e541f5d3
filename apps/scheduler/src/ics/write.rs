//! Formats an event as the properties of a VEVENT, not yet folded.

use superstep::Result;
use superstep::core::time::Time;

use super::draft::{after, priority};
use super::kept::PreservedProperties;
use super::lines::escape;
use super::people::{Attendee, attendee, attendee_line, resource, resources_line};
use super::when::{IcsDateTime, format_property, in_utc};
use crate::calendar::{CalendarSnapshot, Event, Flexibility, Priority, Recurrence};
use crate::zone::NamedTimeZone;

/// Returns the properties of an event and its preserved alarms.
///
/// # Errors
/// Returns an error if the time zone is unknown or a time is out of range.
pub(super) fn properties(event: &Event, board: &CalendarSnapshot) -> Result<Vec<String>> {
    let zone = NamedTimeZone::from_iana_name(&event.zone)?;
    let kept = PreservedProperties::from_lines(&event.preserved_properties);
    let mut lines = vec![format!("UID:{}", escape(&event.uid)), format!("DTSTAMP:{}", in_utc(event.updated_at)?)];
    lines.extend(times(event, &zone, &kept)?);
    lines.extend(instance(event, board, &zone)?);
    lines.extend(event.recurrence.iter().flat_map(|recurrence| repetition(recurrence, &zone, event.is_all_day)));
    let texts = [("SUMMARY", &event.title), ("DESCRIPTION", &event.notes), ("LOCATION", &event.location)];
    for (name, text) in texts {
        let new = (!text.is_empty()).then(|| format!("{name}:{}", escape(text)));
        lines.extend(kept.same(name, |kept| kept.text() == *text).or(new));
    }
    lines.extend(people(event, board, &kept));
    lines.extend(things(event, board, &kept));
    lines.extend(kept.same("PRIORITY", |kept| priority(kept) == Some(event.priority)).or(importance(event)));
    // Every exported event is confirmed; the imported file may have called it tentative.
    lines.push(kept.same("STATUS", |_| true).unwrap_or_else(|| "STATUS:CONFIRMED".to_owned()));
    lines.push(format!("SEQUENCE:{}", event.sequence));
    lines.push(format!("CREATED:{}", in_utc(event.created_at)?));
    lines.push(format!("LAST-MODIFIED:{}", in_utc(event.updated_at)?));
    lines.extend(flexibility(event).map(|word| format!("X-SUPERSTEP-FLEXIBILITY:{word}")));
    lines.extend(kept.verbatim_lines());
    Ok(lines)
}

fn times(event: &Event, zone: &NamedTimeZone, kept: &PreservedProperties) -> Result<[String; 2]> {
    let start = IcsDateTime { zone: zone.clone(), wall: zone.to_local(event.span.start), is_day: event.is_all_day };
    let duration = kept.same("DURATION", |kept| after(&start, kept).is_ok_and(|end| end == event.span.end));
    let end = match duration {
        Some(duration) => duration,
        None => at("DTEND", event.span.end, zone, event.is_all_day)?,
    };
    Ok([at("DTSTART", event.span.start, zone, event.is_all_day)?, end])
}

/// Formats a property with a time in a time zone. The second of two equal local times is written in UTC.
fn at(name: &str, time: Time, zone: &NamedTimeZone, is_day: bool) -> Result<String> {
    let wall = zone.to_local(time);
    if is_day || zone.to_instant(wall)? == time {
        return Ok(format_property(name, wall, zone, is_day));
    }
    Ok(format!("{name}:{}", in_utc(time)?))
}

/// Formats RECURRENCE-ID in the time zone of the series.
fn instance(event: &Event, board: &CalendarSnapshot, zone: &NamedTimeZone) -> Result<Option<String>> {
    let Some(of) = &event.recurrence_override else {
        // Instance of a series that is not in the snapshot.
        let kept = event.preserved_properties.iter().find(|line| line.starts_with("RECURRENCE-ID"));
        return Ok(kept.cloned());
    };
    let (zone, is_day) = match board.events.get(&of.series) {
        Some(series) => (NamedTimeZone::from_iana_name(&series.zone)?, series.is_all_day),
        None => (zone.clone(), event.is_all_day),
    };
    Ok(Some(format_property("RECURRENCE-ID", of.start, &zone, is_day)))
}

fn repetition(recurrence: &Recurrence, zone: &NamedTimeZone, is_day: bool) -> Vec<String> {
    let rule = (!recurrence.rule.is_empty()).then(|| format!("RRULE:{}", recurrence.rule));
    let added = recurrence.rdates.iter().map(|wall| format_property("RDATE", *wall, zone, is_day));
    let left_out = recurrence.exdates.iter().map(|wall| format_property("EXDATE", *wall, zone, is_day));
    rule.into_iter().chain(added).chain(left_out).collect()
}

/// Formats the participants, with the preserved line if there is one, and the preserved external guests.
fn people(event: &Event, board: &CalendarSnapshot, kept: &PreservedProperties) -> Vec<String> {
    let known: Vec<_> = kept.named("ATTENDEE").map(|property| (property, attendee(property, board))).collect();
    let mut lines = Vec::new();
    for participant in &event.participants {
        let wanted = Attendee::Member(participant.clone());
        let kept = known.iter().find(|(_, who)| *who == wanted).map(|(property, _)| property.raw.clone());
        lines.push(kept.unwrap_or_else(|| attendee_line(participant, board)));
    }
    for (property, who) in &known {
        let is_here = match who {
            Attendee::Member(_) => false,
            Attendee::Resource(id) => event.resources.contains(id),
            Attendee::External => true,
        };
        lines.extend(is_here.then(|| property.raw.clone()));
    }
    lines
}

/// Formats the resources: the preserved lines, without resources that are no longer used, plus the new ones.
fn things(event: &Event, board: &CalendarSnapshot, kept: &PreservedProperties) -> Vec<String> {
    let as_people = kept.named("ATTENDEE").filter_map(|property| match attendee(property, board) {
        Attendee::Resource(id) => Some(id),
        _ => None,
    });
    let mut said: Vec<String> = as_people.collect();
    let mut lines = Vec::new();
    for property in kept.named("RESOURCES") {
        let names = property.texts();
        let is_used = |name: &&String| resource(name, board).is_none_or(|id| event.resources.contains(&id));
        let used: Vec<&String> = names.iter().filter(is_used).collect();
        said.extend(used.iter().filter_map(|name| resource(name, board)));
        if used.len() == names.len() {
            lines.push(property.raw.clone());
        } else if !used.is_empty() {
            let used: Vec<String> = used.into_iter().map(|name| escape(name)).collect();
            lines.push(format!("RESOURCES:{}", used.join(",")));
        }
    }
    let new: Vec<&String> = event.resources.iter().filter(|id| !said.contains(id)).collect();
    lines.extend(resources_line(&new, board));
    lines
}

fn importance(event: &Event) -> Option<String> {
    let number = match event.priority {
        Priority::Critical => 1,
        Priority::High => 3,
        Priority::Medium => return None,
        Priority::Low => 7,
    };
    Some(format!("PRIORITY:{number}"))
}

fn flexibility(event: &Event) -> Option<&'static str> {
    match event.flexibility {
        Flexibility::Fixed => Some("FIXED"),
        Flexibility::Preferred => None,
        Flexibility::Flexible => Some("FLEXIBLE"),
    }
}
