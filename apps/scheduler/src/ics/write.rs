//! An event as the properties of a VEVENT, not yet folded.

use superstep::Result;
use superstep::core::time::Time;

use super::draft::{after, priority};
use super::kept::Kept;
use super::lines::escape;
use super::people::{Attendee, attendee, attendee_line, resource, resources_line};
use super::when::{Moment, in_utc, written};
use crate::calendar::{Board, Event, Flexibility, Priority, Recurrence};
use crate::zone::Zone;

/// The properties of an event, and the alarms that it kept.
///
/// # Errors
/// When its zone is unknown, or a time beyond what can be written.
pub(super) fn properties(event: &Event, board: &Board) -> Result<Vec<String>> {
    let zone = Zone::named(&event.zone)?;
    let kept = Kept::of(&event.extra);
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
    // All that is on a calendar is confirmed; a file may call it tentative.
    lines.push(kept.same("STATUS", |_| true).unwrap_or_else(|| "STATUS:CONFIRMED".to_owned()));
    lines.push(format!("SEQUENCE:{}", event.sequence));
    lines.push(format!("CREATED:{}", in_utc(event.created_at)?));
    lines.push(format!("LAST-MODIFIED:{}", in_utc(event.updated_at)?));
    lines.extend(flexibility(event).map(|word| format!("X-SUPERSTEP-FLEXIBILITY:{word}")));
    lines.extend(kept.others());
    Ok(lines)
}

fn times(event: &Event, zone: &Zone, kept: &Kept) -> Result<[String; 2]> {
    let start = Moment { zone: zone.clone(), wall: zone.wall(event.span.start), is_day: event.is_all_day };
    let duration = kept.same("DURATION", |kept| after(&start, kept).is_ok_and(|end| end == event.span.end));
    let end = match duration {
        Some(duration) => duration,
        None => at("DTEND", event.span.end, zone, event.is_all_day)?,
    };
    Ok([at("DTSTART", event.span.start, zone, event.is_all_day)?, end])
}

/// A property with a time in a place. The second of two times that look the same on the wall is written in UTC.
fn at(name: &str, time: Time, zone: &Zone, is_day: bool) -> Result<String> {
    let wall = zone.wall(time);
    if is_day || zone.instant(wall)? == time {
        return Ok(written(name, wall, zone, is_day));
    }
    Ok(format!("{name}:{}", in_utc(time)?))
}

/// RECURRENCE-ID, as the series writes its times.
fn instance(event: &Event, board: &Board, zone: &Zone) -> Result<Option<String>> {
    let Some(of) = &event.exception_of else {
        // The instance of a series that is not here.
        let kept = event.extra.iter().find(|line| line.starts_with("RECURRENCE-ID"));
        return Ok(kept.cloned());
    };
    let (zone, is_day) = match board.events.get(&of.series) {
        Some(series) => (Zone::named(&series.zone)?, series.is_all_day),
        None => (zone.clone(), event.is_all_day),
    };
    Ok(Some(written("RECURRENCE-ID", of.start, &zone, is_day)))
}

fn repetition(recurrence: &Recurrence, zone: &Zone, is_day: bool) -> Vec<String> {
    let rule = (!recurrence.rule.is_empty()).then(|| format!("RRULE:{}", recurrence.rule));
    let added = recurrence.added.iter().map(|wall| written("RDATE", *wall, zone, is_day));
    let left_out = recurrence.left_out.iter().map(|wall| written("EXDATE", *wall, zone, is_day));
    rule.into_iter().chain(added).chain(left_out).collect()
}

/// Who takes part, in the words of the file where it had some, and the guests that it had.
fn people(event: &Event, board: &Board, kept: &Kept) -> Vec<String> {
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
            Attendee::Stranger => true,
        };
        lines.extend(is_here.then(|| property.raw.clone()));
    }
    lines
}

/// What is used: as the file had it, without what is no longer used and with what came on top.
fn things(event: &Event, board: &Board, kept: &Kept) -> Vec<String> {
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
