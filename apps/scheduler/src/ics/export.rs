//! Exports a snapshot as an iCalendar file.

use std::collections::BTreeMap;
use std::sync::Arc;

use superstep::Result;
use superstep::core::id::hash_id;

use super::content_line::{escape, write_folded};
use super::{vevent_writer, vtimezone};
use crate::calendar::{CalendarSnapshot, Event, Flexibility, Priority, Visibility};
use crate::models::EventStatus;
use crate::time_zone::NamedTimeZone;

/// Last year for which time zone transitions are listed one by one, because a series may continue until then.
const LAST_LISTED_YEAR: i16 = 2037;

/// Contents and audience of an export.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ExportOptions {
    /// Audience of the file.
    pub audience: ExportAudience,
    /// Id of the exported calendar. Default: all calendars.
    pub calendar: Option<String>,
}

/// Audience of a file.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum ExportAudience {
    /// The public: events of private calendars appear as "busy".
    #[default]
    Public,
    /// One member: private events of other members appear as "busy".
    Member(String),
    /// A full backup: nothing is hidden.
    FullBackup,
}

/// Exports all confirmed events. The output is deterministic for a snapshot.
///
/// # Errors
/// Returns an error if the time zone of an event is unknown or a time is out of range.
pub fn export(snapshot: &CalendarSnapshot, options: &ExportOptions) -> Result<String> {
    let is_exported = |event: &&Arc<Event>| {
        let is_selected = options.calendar.as_ref().is_none_or(|calendar| *calendar == event.calendar);
        is_selected && event.status == EventStatus::Confirmed
    };
    let mut events: Vec<Event> = snapshot
        .events
        .values()
        .filter(is_exported)
        .map(|event| visible_event(event, snapshot, &options.audience))
        .collect();
    // A series precedes its overrides.
    events.sort_by_cached_key(|event| {
        (event.uid.clone(), event.recurrence_override.is_some(), event.span, event.id.clone())
    });
    let mut out = String::new();
    let header = ["BEGIN:VCALENDAR", "VERSION:2.0", "PRODID:-//superstep//family scheduler//EN", "CALSCALE:GREGORIAN"];
    header.iter().for_each(|line| write_folded(&mut out, line));
    write_folded(&mut out, &format!("X-WR-CALNAME:{}", escape(name(snapshot, options))));
    write_folded(&mut out, &format!("X-WR-TIMEZONE:{}", snapshot.family.zone));
    for (zone, (first, last)) in years(&events, snapshot)? {
        vtimezone::lines(zone, first, last)?.iter().for_each(|line| write_folded(&mut out, line));
    }
    for event in &events {
        write_folded(&mut out, "BEGIN:VEVENT");
        vevent_writer::properties(event, snapshot)?.iter().for_each(|line| write_folded(&mut out, line));
        write_folded(&mut out, "END:VEVENT");
    }
    write_folded(&mut out, "END:VCALENDAR");
    Ok(out)
}

fn name<'a>(snapshot: &'a CalendarSnapshot, options: &ExportOptions) -> &'a str {
    let calendar = options.calendar.as_ref().and_then(|id| snapshot.calendars.get(id));
    calendar.map_or(&snapshot.family.name, |calendar| &calendar.name)
}

/// Returns the years in which each named time zone is used.
fn years<'a>(events: &'a [Event], snapshot: &'a CalendarSnapshot) -> Result<BTreeMap<&'a str, (i16, i16)>> {
    let mut years: BTreeMap<&str, (i16, i16)> = BTreeMap::new();
    for event in events {
        let series = event.recurrence_override.as_ref().and_then(|replaced| snapshot.events.get(&replaced.series));
        for exported in std::iter::once(event).chain(series.map(Arc::as_ref)) {
            if exported.is_all_day || exported.zone == "UTC" {
                continue;
            }
            let zone = NamedTimeZone::from_iana_name(&exported.zone)?;
            let (first, last) = (zone.to_local(exported.span.start).year(), zone.to_local(exported.span.end).year());
            let last = if exported.recurrence.is_some() { last.max(LAST_LISTED_YEAR) } else { last };
            let (from, to) = years.entry(&exported.zone).or_insert((first, last));
            (*from, *to) = ((*from).min(first), (*to).max(last));
        }
    }
    Ok(years)
}

/// Returns the event as the audience may see it.
fn visible_event(event: &Arc<Event>, snapshot: &CalendarSnapshot, audience: &ExportAudience) -> Event {
    let series = event.recurrence_override.as_ref().and_then(|replaced| snapshot.events.get(&replaced.series));
    let mut visible = (**event).clone();
    if is_hidden(series.unwrap_or(event), snapshot, audience) {
        // With the original UID, an import could take the "busy" event for a newer version of the real one.
        visible.uid = format!("{:032x}@superstep", hash_id(&[b"busy", event.uid.as_bytes()]));
    }
    if is_hidden(event, snapshot, audience) {
        visible.title = "Busy".to_owned();
        visible.location.clear();
        visible.notes.clear();
        visible.participants.clear();
        visible.resources.clear();
        (visible.priority, visible.flexibility) = (Priority::default(), Flexibility::default());
        visible.preserved_properties.retain(|line| line.starts_with("RECURRENCE-ID"));
        visible.preserved_properties.push("CLASS:PRIVATE".to_owned());
    }
    visible
}

fn is_hidden(event: &Event, snapshot: &CalendarSnapshot, audience: &ExportAudience) -> bool {
    let calendar = snapshot.calendars.get(&event.calendar);
    let is_private = calendar.is_some_and(|calendar| calendar.visibility == Visibility::Private);
    match audience {
        ExportAudience::FullBackup => false,
        ExportAudience::Public => is_private,
        ExportAudience::Member(member) => {
            let is_owner = calendar.and_then(|calendar| calendar.owner.as_ref()) == Some(member);
            let takes_part = event.participants.iter().any(|participant| participant.member == *member);
            is_private && !is_owner && !takes_part
        }
    }
}
