//! Imports an iCalendar file as changes of a snapshot.

use std::collections::BTreeMap;
use std::ops::Range;

use superstep::core::time::Time;
use superstep::{Error, ErrorCode, Result};

use super::component::{Component, split};
use super::content_line::unfold;
use super::merge::ImportMerge;
use super::parsed_event::{self, ImportContext, ParsedEvent};
use super::property::Property;
use super::report::{ImportReport, ReportEntry};
use super::timezone_lookup::TimezoneLookup;
use crate::calendar::{CalendarChange, CalendarSnapshot};
use crate::time_zone::NamedTimeZone;

/// Maximum file size in bytes.
pub const MAX_BYTES: usize = 10 * 1024 * 1024;

/// Maximum number of events in a file, because each event is compared with all others.
pub const MAX_EVENTS: usize = 5_000;

/// Changes of an import, and a report about each part of the file.
#[derive(Debug, Clone, PartialEq)]
pub struct ImportResult {
    /// Changes in the order in which they must be applied.
    pub changes: Vec<CalendarChange>,
    /// Report for the user who imports the file.
    pub report: ImportReport,
    /// Ranges of `changes` by UID, in file order.
    parts: Vec<(String, Range<usize>)>,
}

impl ImportResult {
    /// Returns the changes per UID in file order. The changes of a series include those of its overrides.
    pub fn parts(&self) -> impl DoubleEndedIterator<Item = (&str, &[CalendarChange])> {
        self.parts.iter().map(|(uid, range)| (uid.as_str(), &self.changes[range.clone()]))
    }

    /// Removes all changes of the rejected UIDs and adds the reasons to the report.
    #[must_use]
    pub fn without(mut self, rejected: &BTreeMap<String, String>) -> Self {
        let (old, mut changes) = (std::mem::take(&mut self.changes), Vec::new());
        for (uid, range) in &mut self.parts {
            let start = changes.len();
            if !rejected.contains_key(uid) {
                changes.extend_from_slice(&old[range.clone()]);
            }
            *range = start..changes.len();
        }
        self.changes = changes;
        self.report.move_to_skipped(rejected);
        self
    }
}

/// Imports a calendar file. New events go to `calendar` and belong to `owner`; events with a known UID stay in
/// their calendar. The caller checks whether `owner` may make these changes.
///
/// An invalid part is reported and left out; the others are imported. Times without a time zone, and times in an
/// unknown time zone, are read in the time zone of the family; an unknown time zone is also reported as a problem.
///
/// # Errors
/// Returns an error if the file is too large, has too many events or is not a calendar file, or if the calendar or
/// member does not exist.
pub fn import(
    file: impl AsRef<[u8]>,
    snapshot: &CalendarSnapshot,
    now: Time,
    calendar: &str,
    owner: &str,
) -> Result<ImportResult> {
    if !snapshot.calendars.contains_key(calendar) {
        return Err(Error::new(ErrorCode::NotFound, format!("calendar `{calendar}` not found")));
    }
    if !snapshot.members.contains_key(owner) {
        return Err(Error::new(ErrorCode::NotFound, format!("member `{owner}` not found")));
    }
    let mut report = ImportReport::default();
    let components = components(file.as_ref(), &mut report)?;
    let mut existing: BTreeMap<_, Vec<_>> = BTreeMap::new();
    for event in snapshot.events.values() {
        existing.entry(event.uid.as_str()).or_default().push(event);
    }
    let zones = TimezoneLookup::new(&components, snapshot, now);
    let family = NamedTimeZone::from_iana_name(&snapshot.family.zone)?;
    let context = ImportContext { snapshot, existing, zones, family, now, calendar, owner };
    let drafts = drafts(&components, &context, &mut report);
    let mut matching = ImportMerge { context, changes: Vec::new(), report };
    let mut parts = Vec::new();
    for (uid, drafts) in drafts {
        let entries: Vec<ReportEntry> = drafts.iter().map(ParsedEvent::entry).collect();
        let start = matching.changes.len();
        if let Err(error) = matching.merge_uid(&uid, drafts) {
            entries.into_iter().for_each(|entry| matching.report.skip(entry, error.message()));
        }
        parts.push((uid, start..matching.changes.len()));
    }
    let ImportMerge { changes, mut report, .. } = matching;
    report.sort();
    Ok(ImportResult { changes, report, parts })
}

fn components(file: &[u8], report: &mut ImportReport) -> Result<Vec<Component>> {
    if file.len() > MAX_BYTES {
        let message = format!("the file has {} bytes; the maximum is {MAX_BYTES}", file.len());
        return Err(Error::new(ErrorCode::InputInvalid, message)
            .with_help("export a shorter period, or one calendar at a time"));
    }
    let no_calendar = || {
        let error = Error::new(ErrorCode::InputInvalid, "the file is not a calendar file: BEGIN:VCALENDAR is missing");
        error.with_help("export it as iCalendar, with the file extension `.ics`")
    };
    let components = split(unfold(file, report), report).ok_or_else(no_calendar)?;
    let events = components.iter().filter(|component| component.name == "VEVENT").count();
    if events > MAX_EVENTS {
        let message = format!("the file has {events} events; the maximum is {MAX_EVENTS}");
        return Err(Error::new(ErrorCode::InputInvalid, message)
            .with_help("export a shorter period, or one calendar at a time"));
    }
    Ok(components)
}

/// Parses the events of a file, grouped by UID, in file order. Skipped components are reported.
fn drafts(
    components: &[Component],
    context: &ImportContext<'_>,
    report: &mut ImportReport,
) -> Vec<(String, Vec<ParsedEvent>)> {
    let mut drafts: BTreeMap<String, Vec<ParsedEvent>> = BTreeMap::new();
    for component in components {
        match component.name.as_str() {
            "VEVENT" => match parsed_event::parse(component, context, report) {
                Ok(draft) => drafts.entry(draft.event.uid.clone()).or_default().push(draft),
                Err(problem) => {
                    report.skip(entry(component), problem.to_string());
                    report.add_problem(problem);
                }
            },
            "VTIMEZONE" => component.problem.iter().for_each(|problem| report.add_problem(problem.clone())),
            name => report.skip(entry(component), format!("{name} is not an event")),
        }
    }
    let mut drafts: Vec<_> = drafts.into_iter().collect();
    drafts.sort_by_key(|(_, drafts)| drafts.iter().map(|draft| draft.line).min());
    drafts
}

fn entry(component: &Component) -> ReportEntry {
    let properties: Vec<Property> = component.lines.iter().filter_map(Property::parse).collect();
    let text = |name: &str| properties.iter().find(|property| property.name == name).map(Property::text);
    ReportEntry {
        line: component.line,
        uid: text("UID").unwrap_or_default(),
        title: text("SUMMARY").unwrap_or_default(),
    }
}
