//! Reads a calendar file into changes of a board.

use std::collections::BTreeMap;
use std::ops::Range;

use superstep::core::time::Time;
use superstep::{Code, Error, Result};

use super::component::{Component, split};
use super::draft::{self, Draft, Source};
use super::lines::unfold;
use super::matching::Matching;
use super::property::Property;
use super::report::{Entry, Report};
use super::zones::Zones;
use crate::calendar::{Board, Change};
use crate::zone::Zone;

/// The largest file that is read, in bytes.
pub const MOST_BYTES: usize = 10 * 1024 * 1024;

/// The most events that are read of one file; each is compared with all others.
pub const MOST_EVENTS: usize = 5_000;

/// What a file changes, and what became of each of its parts.
#[derive(Debug, Clone, PartialEq)]
pub struct Imported {
    /// In the order in which they must be made.
    pub changes: Vec<Change>,
    /// For the person who brought the file.
    pub report: Report,
    /// Which of the changes belong together, by UID, as they are in the file.
    parts: Vec<(String, Range<usize>)>,
}

impl Imported {
    /// The changes of each UID, an event or a series with its instances, in the order of the file.
    pub fn parts(&self) -> impl DoubleEndedIterator<Item = (&str, &[Change])> {
        self.parts.iter().map(|(uid, range)| (uid.as_str(), &self.changes[range.clone()]))
    }

    /// Leaves out all changes of some UIDs, each with why, and reports it.
    #[must_use]
    pub fn without(mut self, refused: &BTreeMap<String, String>) -> Self {
        let (old, mut changes) = (std::mem::take(&mut self.changes), Vec::new());
        for (uid, range) in &mut self.parts {
            let start = changes.len();
            if !refused.contains_key(uid) {
                changes.extend_from_slice(&old[range.clone()]);
            }
            *range = start..changes.len();
        }
        self.changes = changes;
        self.report.refuse(refused);
        self
    }
}

/// Reads a calendar file. What is new goes into a calendar and belongs to `owner`; what is known by its UID stays where
/// it is. Whether the owner may make these changes is for the caller to say.
///
/// A part that cannot be read is reported and left out, the others are read. Times without a zone, and times in a zone
/// that nobody knows, are read in the zone of the family; the latter is a problem of the report.
///
/// # Errors
/// When the file is too large, has too many events or is no calendar file at all, or the board has no such calendar or member.
pub fn import(file: impl AsRef<[u8]>, board: &Board, now: Time, calendar: &str, owner: &str) -> Result<Imported> {
    if !board.calendars.contains_key(calendar) {
        return Err(Error::new(Code::NotFound, format!("there is no calendar `{calendar}`")));
    }
    if !board.members.contains_key(owner) {
        return Err(Error::new(Code::NotFound, format!("there is no member `{owner}`")));
    }
    let mut report = Report::default();
    let components = components(file.as_ref(), &mut report)?;
    let mut known: BTreeMap<_, Vec<_>> = BTreeMap::new();
    for event in board.events.values() {
        known.entry(event.uid.as_str()).or_default().push(event);
    }
    let zones = Zones::new(&components, board, now);
    let family = Zone::named(&board.family.zone)?;
    let source = Source { board, known, zones, family, now, calendar, owner };
    let drafts = drafts(&components, &source, &mut report);
    let mut matching = Matching { source, changes: Vec::new(), report };
    let mut parts = Vec::new();
    for (uid, drafts) in drafts {
        let entries: Vec<Entry> = drafts.iter().map(Draft::entry).collect();
        let start = matching.changes.len();
        if let Err(error) = matching.take(&uid, drafts) {
            entries.into_iter().for_each(|entry| matching.report.skip(entry, error.message()));
        }
        parts.push((uid, start..matching.changes.len()));
    }
    let Matching { changes, mut report, .. } = matching;
    report.sort();
    Ok(Imported { changes, report, parts })
}

fn components(file: &[u8], report: &mut Report) -> Result<Vec<Component>> {
    if file.len() > MOST_BYTES {
        let message = format!("the file has {} bytes, and {MOST_BYTES} are the most that are read", file.len());
        return Err(Error::new(Code::InputInvalid, message).help("export a shorter time, or one calendar at a time"));
    }
    let no_calendar = || {
        let error = Error::new(Code::InputInvalid, "the file has no BEGIN:VCALENDAR: it is no calendar file");
        error.help("export it again as iCalendar, with the ending `.ics`")
    };
    let components = split(unfold(file, report), report).ok_or_else(no_calendar)?;
    let events = components.iter().filter(|component| component.name == "VEVENT").count();
    if events > MOST_EVENTS {
        let message = format!("the file has {events} events, and {MOST_EVENTS} are the most that are read at once");
        return Err(Error::new(Code::InputInvalid, message).help("export a shorter time, or one calendar at a time"));
    }
    Ok(components)
}

/// The events of a file, by UID, in the order of the file; what is left out is reported.
fn drafts(components: &[Component], source: &Source<'_>, report: &mut Report) -> Vec<(String, Vec<Draft>)> {
    let mut drafts: BTreeMap<String, Vec<Draft>> = BTreeMap::new();
    for component in components {
        match component.name.as_str() {
            "VEVENT" => match draft::read(component, source, report) {
                Ok(draft) => drafts.entry(draft.event.uid.clone()).or_default().push(draft),
                Err(problem) => {
                    report.skip(entry(component), problem.to_string());
                    report.note(problem);
                }
            },
            "VTIMEZONE" => component.flaw.iter().for_each(|flaw| report.note(flaw.clone())),
            name => report.skip(entry(component), format!("{name} is no event")),
        }
    }
    let mut drafts: Vec<_> = drafts.into_iter().collect();
    drafts.sort_by_key(|(_, drafts)| drafts.iter().map(|draft| draft.line).min());
    drafts
}

fn entry(component: &Component) -> Entry {
    let properties: Vec<Property> = component.own.iter().filter_map(Property::read).collect();
    let text = |name: &str| properties.iter().find(|property| property.name == name).map(Property::text);
    Entry { line: component.line, uid: text("UID").unwrap_or_default(), title: text("SUMMARY").unwrap_or_default() }
}
