//! Compares the events of a file with the snapshot: by UID, RECURRENCE-ID and SEQUENCE, then by the time of the
//! last change.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::sync::Arc;

use jiff::civil::DateTime;
use superstep::Result;
use superstep::core::id::hash_id;

use super::datetime::format_property;
use super::parsed_event::{ImportContext, ParsedEvent};
use super::report::ImportReport;
use crate::calendar::{CalendarChange, Event, Participant, Recurrence, RecurrenceOverride, series};
use crate::models::EventStatus;
use crate::time_zone::NamedTimeZone;

/// The merge of a file into a snapshot.
pub(super) struct ImportMerge<'a> {
    pub(super) context: ImportContext<'a>,
    pub(super) changes: Vec<CalendarChange>,
    pub(super) report: ImportReport,
}

/// Result of comparing a part of the file with the snapshot.
#[derive(Debug, PartialEq, Eq)]
enum MergeOutcome {
    Created,
    Updated,
    Unchanged,
    Older(String),
}

/// An instance of a series that the file describes separately.
struct ParsedOverride {
    /// RECURRENCE-ID in the local time of the series.
    start: DateTime,
    draft: ParsedEvent,
}

impl ImportMerge<'_> {
    /// Merges all parts of a file that share a UID.
    pub(super) fn merge_uid(&mut self, uid: &str, drafts: Vec<ParsedEvent>) -> Result<()> {
        let (instances, masters) = drafts.into_iter().partition::<Vec<_>, _>(|draft| draft.instance.is_some());
        let existing = self
            .events_with_uid(uid)
            .find(|event| event.recurrence_override.is_none() && !is_orphan_override(event))
            .cloned();
        match (self.newest(masters), existing) {
            (Some(draft), existing) if draft.is_cancelled => self.cancel(&draft, existing.as_deref(), &instances),
            (Some(draft), existing) => {
                let event = self.fill_missing_fields(draft.event.clone(), existing.as_deref(), &draft);
                self.merge_series(event, existing.as_deref(), Some(&draft), instances)?;
            }
            (None, Some(existing)) => self.merge_series((*existing).clone(), Some(&existing), None, instances)?,
            (None, None) => self.orphan_overrides(instances)?,
        }
        Ok(())
    }

    fn events_with_uid(&self, uid: &str) -> impl Iterator<Item = &Arc<Event>> {
        self.context.existing.get(uid).into_iter().flatten().copied()
    }

    /// Returns the newest version; older versions are reported as skipped.
    fn newest(&mut self, mut versions: Vec<ParsedEvent>) -> Option<ParsedEvent> {
        versions.sort_by_key(|draft| Reverse((draft.event.sequence, draft.changed_at, Reverse(draft.line))));
        let mut versions = versions.into_iter();
        let newest = versions.next()?;
        for older in versions {
            self.report.skip(older.entry(), format!("line {} has the same or a newer version", newest.line));
        }
        Some(newest)
    }

    /// Cancels an event or a whole series.
    fn cancel(&mut self, draft: &ParsedEvent, existing: Option<&Event>, instances: &[ParsedEvent]) {
        for instance in instances {
            self.report.skip(instance.entry(), "its series is cancelled");
        }
        let Some(existing) = existing else {
            return self.report.skip(draft.entry(), "it is cancelled and not on the calendar");
        };
        if let Some(reason) = outdated_reason(existing, draft) {
            return self.report.skip(draft.entry(), reason);
        }
        let is_override = |event: &&Arc<Event>| {
            event.recurrence_override.as_ref().is_some_and(|replaced| replaced.series == existing.id)
        };
        let overrides: Vec<String> =
            self.events_with_uid(&existing.uid).filter(is_override).map(|event| event.id.clone()).collect();
        self.changes.extend(overrides.into_iter().map(CalendarChange::RemoveEvent));
        let (sequence, updated_at) = (draft.event.sequence, draft.event.updated_at);
        let cancelled = Event { status: EventStatus::Rejected, sequence, updated_at, ..existing.clone() };
        self.changes.push(CalendarChange::Event(Box::new(cancelled)));
        self.report.removed.push(draft.entry());
    }

    /// Merges a single event or a series, and its overrides. `draft` is the VEVENT of the series, if the file has
    /// it.
    fn merge_series(
        &mut self,
        mut event: Event,
        existing: Option<&Event>,
        draft: Option<&ParsedEvent>,
        instances: Vec<ParsedEvent>,
    ) -> Result<()> {
        let overrides = self.group_overrides(&event, instances)?;
        let starts: Vec<DateTime> = overrides.iter().map(|event| event.start).collect();
        let (cancellations, changed): (Vec<_>, Vec<_>) =
            overrides.into_iter().partition(|event| event.draft.is_cancelled);
        let mut cancelled = Vec::new();
        for parsed in cancellations {
            if let Some(reason) = self.newer_on_calendar(existing, draft, &parsed) {
                self.report.skip(parsed.draft.entry(), reason);
                continue;
            }
            exclude_instance(&mut event, parsed.start);
            cancelled.push(parsed);
        }
        let outcome = outcome(existing, &event, draft);
        let is_older = matches!(outcome, MergeOutcome::Older(_));
        for parsed in &cancelled {
            self.merge_cancelled_override(&event, existing, parsed, is_older);
        }
        if let (Some(existing), Some(_), MergeOutcome::Updated) = (existing, draft, &outcome) {
            self.remove_stale_overrides(existing, &event, &starts)?;
        }
        match draft {
            Some(draft) => self.record(draft, event.clone(), outcome),
            None if outcome == MergeOutcome::Updated => {
                self.changes.push(CalendarChange::Event(Box::new(event.clone())))
            }
            None => {}
        }
        for parsed in changed {
            self.merge_override(&event, parsed, is_older)?;
        }
        Ok(())
    }

    /// Removes overrides of instances that the newer version of a series does not have and the file does not
    /// mention.
    fn remove_stale_overrides(&mut self, existing: &Event, newer: &Event, mentioned: &[DateTime]) -> Result<()> {
        let zone = NamedTimeZone::from_iana_name(&existing.zone)?;
        let mut removals = Vec::new();
        for override_event in self.events_with_uid(&existing.uid) {
            let replaced = override_event
                .recurrence_override
                .as_ref()
                .filter(|replaced| replaced.series == existing.id && !mentioned.contains(&replaced.start));
            let Some(replaced) = replaced else { continue };
            if !series::has(newer, zone.to_instant(replaced.start)?)? {
                removals.push(CalendarChange::RemoveEvent(override_event.id.clone()));
            }
        }
        self.changes.extend(removals);
        Ok(())
    }

    /// Returns the reason why the file must not cancel an instance: the calendar has a newer version.
    fn newer_on_calendar(
        &self,
        existing: Option<&Event>,
        draft: Option<&ParsedEvent>,
        parsed: &ParsedOverride,
    ) -> Option<String> {
        let existing = existing?;
        let is_excluded =
            existing.recurrence.as_ref().is_some_and(|recurrence| recurrence.exdates.contains(&parsed.start));
        // If the file also has the series, the version of the series decides.
        let master = Some(existing).filter(|_| draft.is_none() && !is_excluded);
        let current = self.override_at(existing, parsed.start).map(AsRef::as_ref).or(master)?;
        outdated_reason(current, &parsed.draft)
    }

    /// Groups instances by their start in the local time of the series and selects the newest version of each.
    fn group_overrides(&mut self, series: &Event, instances: Vec<ParsedEvent>) -> Result<Vec<ParsedOverride>> {
        let zone = NamedTimeZone::from_iana_name(&series.zone)?;
        let first = zone.to_local(series.span.start);
        let mut by_start: BTreeMap<DateTime, Vec<ParsedEvent>> = BTreeMap::new();
        for draft in instances {
            let start = draft.instance.as_ref().map_or(Ok(first), |datetime| datetime.local_time_in(&zone, first))?;
            by_start.entry(start).or_default().push(draft);
        }
        let newest = by_start
            .into_iter()
            .filter_map(|(start, drafts)| Some(ParsedOverride { start, draft: self.newest(drafts)? }));
        Ok(newest.collect())
    }

    /// Reports a cancelled instance and removes its override. The series already excludes the instance.
    fn merge_cancelled_override(
        &mut self,
        series: &Event,
        existing: Option<&Event>,
        parsed: &ParsedOverride,
        is_older: bool,
    ) {
        let exdates = existing.and_then(|existing| existing.recurrence.as_ref()).map(|recurrence| &recurrence.exdates);
        if is_older {
            return self.report.skip(parsed.draft.entry(), "its series on the calendar is newer");
        }
        if exdates.is_some_and(|exdates| exdates.contains(&parsed.start)) {
            self.report.unchanged.push(parsed.draft.entry());
        } else {
            self.report.removed.push(parsed.draft.entry());
        }
        let override_event = self.override_at(series, parsed.start).map(|event| event.id.clone());
        self.changes.extend(override_event.map(CalendarChange::RemoveEvent));
    }

    /// Merges an override.
    fn merge_override(&mut self, series: &Event, parsed: ParsedOverride, is_older: bool) -> Result<()> {
        let id = instance_id(&series.uid, &NamedTimeZone::from_iana_name(&series.zone)?, parsed.start)?;
        let existing =
            self.override_at(series, parsed.start).or_else(|| self.context.snapshot.events.get(&id)).cloned();
        if is_older && existing.is_none() {
            self.report.skip(parsed.draft.entry(), "its series on the calendar is newer");
            return Ok(());
        }
        let recurrence_override = Some(RecurrenceOverride { series: series.id.clone(), start: parsed.start });
        let event = Event { id, recurrence_override, ..parsed.draft.event.clone() };
        let event = self.fill_missing_fields(event, existing.as_deref(), &parsed.draft);
        let outcome = outcome(existing.as_deref(), &event, Some(&parsed.draft));
        self.record(&parsed.draft, event, outcome);
        Ok(())
    }

    /// Merges instances whose series is neither in the file nor in the snapshot, as single events.
    fn orphan_overrides(&mut self, instances: Vec<ParsedEvent>) -> Result<()> {
        let mut by_id: BTreeMap<String, Vec<ParsedEvent>> = BTreeMap::new();
        for draft in instances {
            let Some(datetime) = &draft.instance else { continue };
            by_id.entry(instance_id(&draft.event.uid, &datetime.zone, datetime.local_time)?).or_default().push(draft);
        }
        for (id, drafts) in by_id {
            let Some(draft) = self.newest(drafts) else { continue };
            if draft.is_cancelled {
                self.report.skip(draft.entry(), "it is cancelled and its series is not on the calendar");
                continue;
            }
            let existing = self.context.snapshot.events.get(&id).cloned();
            let mut event = self.fill_missing_fields(Event { id, ..draft.event.clone() }, existing.as_deref(), &draft);
            let recurrence_id =
                draft.instance.as_ref().map(|at| format_property("RECURRENCE-ID", at.local_time, &at.zone, at.is_day));
            event.preserved_properties.extend(recurrence_id);
            let outcome = outcome(existing.as_deref(), &event, Some(&draft));
            self.record(&draft, event, outcome);
        }
        Ok(())
    }

    fn override_at(&self, series: &Event, start: DateTime) -> Option<&Arc<Event>> {
        let is_at_start = |replaced: &RecurrenceOverride| replaced.series == series.id && replaced.start == start;
        self.events_with_uid(&series.uid).find(|event| event.recurrence_override.as_ref().is_some_and(is_at_start))
    }

    /// Fills in fields that the file does not have, from the known event or with the defaults of a new event.
    fn fill_missing_fields(&self, mut event: Event, existing: Option<&Event>, draft: &ParsedEvent) -> Event {
        let Some(existing) = existing else {
            let owner =
                self.context.snapshot.calendars.get(&event.calendar).and_then(|calendar| calendar.owner.clone());
            if !draft.explicit.people {
                // The owner of a personal calendar takes part in its events.
                event.participants =
                    owner.into_iter().map(|member| Participant { member, is_required: true }).collect();
            }
            return event;
        };
        event.id.clone_from(&existing.id);
        event.calendar.clone_from(&existing.calendar);
        event.owner.clone_from(&existing.owner);
        if !draft.explicit.creation {
            event.created_at = existing.created_at;
        }
        if !draft.explicit.people {
            event.participants.clone_from(&existing.participants);
        }
        if !draft.explicit.resources {
            event.resources.clone_from(&existing.resources);
        }
        if !draft.explicit.flexibility {
            event.flexibility = existing.flexibility;
        }
        event
    }

    fn record(&mut self, draft: &ParsedEvent, event: Event, outcome: MergeOutcome) {
        let entries = match outcome {
            MergeOutcome::Older(reason) => return self.report.skip(draft.entry(), reason),
            MergeOutcome::Unchanged => return self.report.unchanged.push(draft.entry()),
            MergeOutcome::Created => &mut self.report.created,
            MergeOutcome::Updated => &mut self.report.updated,
        };
        entries.push(draft.entry());
        self.changes.push(CalendarChange::Event(Box::new(event)));
    }
}

/// Returns true if an event is an instance of a series that is not in the snapshot.
fn is_orphan_override(event: &Event) -> bool {
    event.preserved_properties.iter().any(|line| line.starts_with("RECURRENCE-ID"))
}

/// Returns the id of an instance, the same whether the series is known or not.
fn instance_id(uid: &str, zone: &NamedTimeZone, start: DateTime) -> Result<String> {
    let start = zone.to_instant(start)?.as_unix_micros().to_le_bytes();
    Ok(format!("ev_{:032x}", hash_id(&[b"calendar file", uid.as_bytes(), &start])))
}

fn exclude_instance(event: &mut Event, start: DateTime) {
    let empty_recurrence = || Recurrence { rule: String::new(), exdates: Vec::new(), rdates: Vec::new() };
    let exdates = &mut event.recurrence.get_or_insert_with(empty_recurrence).exdates;
    if !exdates.contains(&start) {
        exdates.push(start);
        exdates.sort_unstable();
    }
}

fn outcome(existing: Option<&Event>, event: &Event, draft: Option<&ParsedEvent>) -> MergeOutcome {
    let Some(existing) = existing else { return MergeOutcome::Created };
    if normalized(existing) == normalized(event) {
        return MergeOutcome::Unchanged;
    }
    draft.and_then(|draft| outdated_reason(existing, draft)).map_or(MergeOutcome::Updated, MergeOutcome::Older)
}

/// Returns the reason why the file must not change a known event; `None` if the file may.
fn outdated_reason(existing: &Event, draft: &ParsedEvent) -> Option<String> {
    if draft.event.sequence < existing.sequence {
        return Some(format!("the calendar has SEQUENCE {}, the file {}", existing.sequence, draft.event.sequence));
    }
    // Times in calendar files have no fractions of seconds.
    let is_older = draft.changed_at.is_some_and(|at| {
        at.as_unix_micros().div_euclid(1_000_000) < existing.updated_at.as_unix_micros().div_euclid(1_000_000)
    });
    (is_older && draft.event.sequence == existing.sequence)
        .then(|| "the calendar has a newer version than the file".to_owned())
}

/// Normalises an event for comparison: without timestamps, with sorted lists.
fn normalized(event: &Event) -> Event {
    let mut event = event.clone();
    event.created_at = event.span.start;
    event.updated_at = event.span.start;
    event.participants.sort_unstable();
    event.resources.sort_unstable();
    event.preserved_properties.sort_unstable();
    if let Some(recurrence) = &mut event.recurrence {
        recurrence.exdates.sort_unstable();
        recurrence.rdates.sort_unstable();
    }
    event
}
