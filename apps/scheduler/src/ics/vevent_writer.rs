//! Formats an event as the properties of a VEVENT, not yet folded.

use superstep::Result;
use superstep::core::time::Time;

use super::attendee::{Attendee, attendee, attendee_line, resource, resources_line};
use super::content_line::escape;
use super::datetime::{IcsDateTime, format_property, format_utc};
use super::parsed_event::{after, priority};
use super::preserved::PreservedProperties;
use crate::calendar::{CalendarSnapshot, Event, Flexibility, Priority, Recurrence};
use crate::time_zone::NamedTimeZone;

/// Returns the properties of an event and its preserved alarms.
///
/// # Errors
/// Returns an error if the time zone is unknown or a time is out of range.
pub(super) fn properties(event: &Event, snapshot: &CalendarSnapshot) -> Result<Vec<String>> {
    let zone = NamedTimeZone::from_iana_name(&event.zone)?;
    let preserved = PreservedProperties::from_lines(&event.preserved_properties);
    let mut lines = vec![format!("UID:{}", escape(&event.uid)), format!("DTSTAMP:{}", format_utc(event.updated_at)?)];
    lines.extend(times(event, &zone, &preserved)?);
    lines.extend(recurrence_id_line(event, snapshot, &zone)?);
    lines.extend(event.recurrence.iter().flat_map(|recurrence| recurrence_lines(recurrence, &zone, event.is_all_day)));
    let texts = [("SUMMARY", &event.title), ("DESCRIPTION", &event.notes), ("LOCATION", &event.location)];
    for (name, text) in texts {
        let new = (!text.is_empty()).then(|| format!("{name}:{}", escape(text)));
        lines.extend(preserved.matching_line(name, |property| property.text() == *text).or(new));
    }
    lines.extend(people(event, snapshot, &preserved));
    lines.extend(resources(event, snapshot, &preserved));
    lines.extend(
        preserved
            .matching_line("PRIORITY", |property| priority(property) == Some(event.priority))
            .or(priority_line(event)),
    );
    // Every exported event is confirmed; the imported file may have called it tentative.
    lines.push(preserved.matching_line("STATUS", |_| true).unwrap_or_else(|| "STATUS:CONFIRMED".to_owned()));
    lines.push(format!("SEQUENCE:{}", event.sequence));
    lines.push(format!("CREATED:{}", format_utc(event.created_at)?));
    lines.push(format!("LAST-MODIFIED:{}", format_utc(event.updated_at)?));
    lines.extend(flexibility(event).map(|word| format!("X-SUPERSTEP-FLEXIBILITY:{word}")));
    lines.extend(preserved.verbatim_lines());
    Ok(lines)
}

fn times(event: &Event, zone: &NamedTimeZone, preserved: &PreservedProperties) -> Result<[String; 2]> {
    let start =
        IcsDateTime { zone: zone.clone(), local_time: zone.to_local(event.span.start), is_day: event.is_all_day };
    let duration =
        preserved.matching_line("DURATION", |property| after(&start, property).is_ok_and(|end| end == event.span.end));
    let end = match duration {
        Some(duration) => duration,
        None => time_line("DTEND", event.span.end, zone, event.is_all_day)?,
    };
    Ok([time_line("DTSTART", event.span.start, zone, event.is_all_day)?, end])
}

/// Formats a property with a time in a time zone. The second of two equal local times is written in UTC.
fn time_line(name: &str, time: Time, zone: &NamedTimeZone, is_day: bool) -> Result<String> {
    let local_time = zone.to_local(time);
    if is_day || zone.to_instant(local_time)? == time {
        return Ok(format_property(name, local_time, zone, is_day));
    }
    Ok(format!("{name}:{}", format_utc(time)?))
}

/// Formats RECURRENCE-ID in the time zone of the series.
fn recurrence_id_line(event: &Event, snapshot: &CalendarSnapshot, zone: &NamedTimeZone) -> Result<Option<String>> {
    let Some(replaced) = &event.recurrence_override else {
        // Instance of a series that is not in the snapshot.
        let preserved = event.preserved_properties.iter().find(|line| line.starts_with("RECURRENCE-ID"));
        return Ok(preserved.cloned());
    };
    let (zone, is_day) = match snapshot.events.get(&replaced.series) {
        Some(series) => (NamedTimeZone::from_iana_name(&series.zone)?, series.is_all_day),
        None => (zone.clone(), event.is_all_day),
    };
    Ok(Some(format_property("RECURRENCE-ID", replaced.start, &zone, is_day)))
}

fn recurrence_lines(recurrence: &Recurrence, zone: &NamedTimeZone, is_day: bool) -> Vec<String> {
    let rule = (!recurrence.rule.is_empty()).then(|| format!("RRULE:{}", recurrence.rule));
    let rdates = recurrence.rdates.iter().map(|local_time| format_property("RDATE", *local_time, zone, is_day));
    let exdates = recurrence.exdates.iter().map(|local_time| format_property("EXDATE", *local_time, zone, is_day));
    rule.into_iter().chain(rdates).chain(exdates).collect()
}

/// Formats the participants, with the preserved line if there is one, and the preserved external guests.
fn people(event: &Event, snapshot: &CalendarSnapshot, preserved: &PreservedProperties) -> Vec<String> {
    let attendees: Vec<_> =
        preserved.named("ATTENDEE").map(|property| (property, attendee(property, snapshot))).collect();
    let mut lines = Vec::new();
    for participant in &event.participants {
        let expected = Attendee::Member(participant.clone());
        let raw_line =
            attendees.iter().find(|(_, person)| *person == expected).map(|(property, _)| property.raw.clone());
        lines.push(raw_line.unwrap_or_else(|| attendee_line(participant, snapshot)));
    }
    for (property, person) in &attendees {
        let is_current = match person {
            Attendee::Member(_) => false,
            Attendee::Resource(id) => event.resources.contains(id),
            Attendee::External => true,
        };
        lines.extend(is_current.then(|| property.raw.clone()));
    }
    lines
}

/// Formats the resources: the preserved lines, without resources that are no longer used, plus the new ones.
fn resources(event: &Event, snapshot: &CalendarSnapshot, preserved: &PreservedProperties) -> Vec<String> {
    let resource_attendees = preserved.named("ATTENDEE").filter_map(|property| match attendee(property, snapshot) {
        Attendee::Resource(id) => Some(id),
        _ => None,
    });
    let mut listed: Vec<String> = resource_attendees.collect();
    let mut lines = Vec::new();
    for property in preserved.named("RESOURCES") {
        let names = property.texts();
        let is_used = |name: &&String| resource(name, snapshot).is_none_or(|id| event.resources.contains(&id));
        let used: Vec<&String> = names.iter().filter(is_used).collect();
        listed.extend(used.iter().filter_map(|name| resource(name, snapshot)));
        if used.len() == names.len() {
            lines.push(property.raw.clone());
        } else if !used.is_empty() {
            let used: Vec<String> = used.into_iter().map(|name| escape(name)).collect();
            lines.push(format!("RESOURCES:{}", used.join(",")));
        }
    }
    let new: Vec<&String> = event.resources.iter().filter(|id| !listed.contains(id)).collect();
    lines.extend(resources_line(&new, snapshot));
    lines
}

fn priority_line(event: &Event) -> Option<String> {
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
