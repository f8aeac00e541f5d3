//! Writes a board as a calendar file.

use std::collections::BTreeMap;
use std::sync::Arc;

use superstep::Result;
use superstep::core::id::derive;

use super::lines::{append, escape};
use super::{vtimezone, write};
use crate::calendar::{Board, Event, Flexibility, Priority, Visibility};
use crate::models::EventStatus;
use crate::zone::Zone;

/// The last year for which the rules of a place are listed one by one; a series may well go on until then.
const LAST_KNOWN: i16 = 2037;

/// What is written, and for whom.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Options {
    /// Who will read it.
    pub reader: Reader,
    /// Only this calendar; all of them unless told.
    pub calendar: Option<String>,
}

/// Who reads a file.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum Reader {
    /// Anybody: what is in private calendars is only "busy".
    #[default]
    Anybody,
    /// One member: what is private of others is only "busy".
    Member(String),
    /// Who keeps a copy of everything.
    Keeper,
}

/// Writes all confirmed events as a calendar file, the same for the same board.
///
/// # Errors
/// When the zone of an event is unknown, or a time beyond what can be written.
pub fn export(board: &Board, options: &Options) -> Result<String> {
    let is_wanted = |event: &&Arc<Event>| {
        let is_here = options.calendar.as_ref().is_none_or(|calendar| *calendar == event.calendar);
        is_here && event.status == EventStatus::Confirmed
    };
    let mut events: Vec<Event> =
        board.events.values().filter(is_wanted).map(|event| seen(event, board, &options.reader)).collect();
    // A series stands before the instances of it that are different.
    events.sort_by_cached_key(|event| (event.uid.clone(), event.exception_of.is_some(), event.span, event.id.clone()));
    let mut out = String::new();
    let head = ["BEGIN:VCALENDAR", "VERSION:2.0", "PRODID:-//superstep//family scheduler//EN", "CALSCALE:GREGORIAN"];
    head.iter().for_each(|line| append(&mut out, line));
    append(&mut out, &format!("X-WR-CALNAME:{}", escape(name(board, options))));
    append(&mut out, &format!("X-WR-TIMEZONE:{}", board.family.zone));
    for (zone, (first, last)) in years(&events, board)? {
        vtimezone::lines(zone, first, last)?.iter().for_each(|line| append(&mut out, line));
    }
    for event in &events {
        append(&mut out, "BEGIN:VEVENT");
        write::properties(event, board)?.iter().for_each(|line| append(&mut out, line));
        append(&mut out, "END:VEVENT");
    }
    append(&mut out, "END:VCALENDAR");
    Ok(out)
}

fn name<'a>(board: &'a Board, options: &Options) -> &'a str {
    let calendar = options.calendar.as_ref().and_then(|id| board.calendars.get(id));
    calendar.map_or(&board.family.name, |calendar| &calendar.name)
}

/// The years in which each zone is used that is written by its name.
fn years<'a>(events: &'a [Event], board: &'a Board) -> Result<BTreeMap<&'a str, (i16, i16)>> {
    let mut years: BTreeMap<&str, (i16, i16)> = BTreeMap::new();
    for event in events {
        let series = event.exception_of.as_ref().and_then(|of| board.events.get(&of.series));
        for one in std::iter::once(event).chain(series.map(Arc::as_ref)) {
            if one.is_all_day || one.zone == "UTC" {
                continue;
            }
            let zone = Zone::named(&one.zone)?;
            let (first, last) = (zone.wall(one.span.start).year(), zone.wall(one.span.end).year());
            let last = if one.recurrence.is_some() { last.max(LAST_KNOWN) } else { last };
            let (from, to) = years.entry(&one.zone).or_insert((first, last));
            (*from, *to) = ((*from).min(first), (*to).max(last));
        }
    }
    Ok(years)
}

/// The event as the reader may see it.
fn seen(event: &Arc<Event>, board: &Board, reader: &Reader) -> Event {
    let series = event.exception_of.as_ref().and_then(|of| board.events.get(&of.series));
    let mut seen = (**event).clone();
    if is_hidden(series.unwrap_or(event), board, reader) {
        // Under its own name a file with "busy" could be taken for a newer version of the event.
        seen.uid = format!("{:032x}@superstep", derive(&[b"busy", event.uid.as_bytes()]));
    }
    if is_hidden(event, board, reader) {
        seen.title = "Busy".to_owned();
        seen.location.clear();
        seen.notes.clear();
        seen.participants.clear();
        seen.resources.clear();
        (seen.priority, seen.flexibility) = (Priority::default(), Flexibility::default());
        seen.extra.retain(|line| line.starts_with("RECURRENCE-ID"));
        seen.extra.push("CLASS:PRIVATE".to_owned());
    }
    seen
}

fn is_hidden(event: &Event, board: &Board, reader: &Reader) -> bool {
    let calendar = board.calendars.get(&event.calendar);
    let is_private = calendar.is_some_and(|calendar| calendar.visibility == Visibility::Private);
    match reader {
        Reader::Keeper => false,
        Reader::Anybody => is_private,
        Reader::Member(reader) => {
            let is_owner = calendar.and_then(|calendar| calendar.owner.as_ref()) == Some(reader);
            let takes_part = event.participants.iter().any(|participant| participant.member == *reader);
            is_private && !is_owner && !takes_part
        }
    }
}
