//! Conflicts among all confirmed events, in the next 12 months (R-FAM-94) or in a queried time range.
//!
//! A sweep over the events of each member and each resource costs time in proportion to its result, not to the
//! number of event pairs. The number of conflicts is limited, so that a calendar with all events at the same time
//! costs no more. The result may be visible to several members, so titles of private events are replaced by "busy".

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use superstep::Result;
use superstep::core::time::Time;

use super::busy_index::{BusyEntry, BusyIndex, is_transparent};
use super::constraints::{CheckedOccurrence, ConstraintSet};
use super::format;
use super::raw_conflict::{ConflictFormatter, ConflictKey, RawConflict};
use super::time_math::{MINUTES_A_DAY, pad, year_from};
use super::visibility::Viewer;
use crate::calendar::{CalendarSnapshot, Event, Participant, Priority, TimeRange};
use crate::models::{Conflict, ConflictType, EventStatus, Severity};
use crate::time_zone::NamedTimeZone;

/// Maximum number of conflicts in a result.
pub const MAX_CONFLICTS: usize = 1_000;

/// Detects conflicts among confirmed events in the 12 months from `now`, earliest first, at most
/// [`MAX_CONFLICTS`]. Their ids are stable across calls.
///
/// # Errors
/// Returns an error if a recurrence rule or a time zone in the snapshot is invalid.
pub fn scan_conflicts(snapshot: &CalendarSnapshot, now: Time) -> Result<Vec<Conflict>> {
    let zone = NamedTimeZone::from_iana_name(&snapshot.family.zone)?;
    find_conflicts(snapshot, year_from(&zone, now)?, ConflictFormatter::for_viewer(snapshot, Viewer::Family)?)
}

/// Detects conflicts among confirmed events in a time range, worded for a viewer.
pub(super) fn scan_conflicts_within(
    snapshot: &CalendarSnapshot,
    time: TimeRange,
    viewer: Viewer<'_>,
) -> Result<Vec<Conflict>> {
    find_conflicts(snapshot, time, ConflictFormatter { range: "", ..ConflictFormatter::for_viewer(snapshot, viewer)? })
}

fn find_conflicts(
    snapshot: &CalendarSnapshot,
    range: TimeRange,
    formatter: ConflictFormatter<'_>,
) -> Result<Vec<Conflict>> {
    let is_checked = |event: &Event| event.status == EventStatus::Confirmed && !is_transparent(event);
    // Constraints depend on the surrounding days and weeks.
    let busy = BusyIndex::new(snapshot, &pad(&range, 8 * MINUTES_A_DAY), is_checked)?;
    let scan = ConflictScan { snapshot, range, busy, formatter };
    let mut conflicts = scan.people();
    conflicts.extend(scan.resources());
    conflicts.extend(scan.rules()?);
    conflicts.sort_by(|a, b| (a.0, &a.1.id).cmp(&(b.0, &b.1.id)));
    conflicts.truncate(MAX_CONFLICTS);
    Ok(conflicts.into_iter().map(|(_, conflict)| conflict).collect())
}

struct ConflictScan<'a> {
    snapshot: &'a CalendarSnapshot,
    range: TimeRange,
    busy: BusyIndex,
    formatter: ConflictFormatter<'a>,
}

/// Events that overlap, once or repeatedly.
struct Overlap {
    /// Times of the overlap. Several members may share one overlap.
    times: BTreeSet<TimeRange>,
    severity: Severity,
    members: BTreeSet<String>,
    /// Events of the first overlap, in order of their start.
    events: Vec<Arc<Event>>,
}

/// Overlaps by the indices of two events. Indices follow the order of event ids.
type OverlapMap = BTreeMap<(usize, usize), Overlap>;

impl ConflictScan<'_> {
    fn people(&self) -> Vec<(TimeRange, Conflict)> {
        let mut overlaps = OverlapMap::new();
        for (member, entries) in self.busy.by_member() {
            self.sweep_member(member, entries, &mut overlaps);
        }
        let to_conflict = |(pair, overlap): (&(usize, usize), &Overlap)| {
            let members: Vec<&String> = overlap.members.iter().collect();
            let text = format!("{} both need {}", self.titles(overlap), format::names(self.snapshot, &members));
            self.conflict("time_conflict", ConflictType::TimeConflict, pair, (overlap, text))
        };
        overlaps.iter().map(to_conflict).collect()
    }

    /// Adds the overlaps of one member. Entries are sorted by time, so that the earliest conflicts are found first;
    /// the sweep stops at the maximum number of conflicts.
    fn sweep_member<'e>(&self, member: &str, entries: impl Iterator<Item = &'e BusyEntry>, overlaps: &mut OverlapMap) {
        let mut open: Vec<&BusyEntry> = Vec::new();
        let mut pairs = BTreeSet::new();
        for entry in entries.filter(|entry| entry.span.overlaps(&self.range)) {
            open.retain(|other| other.span.end > entry.span.start);
            let is_other = |other: &&&BusyEntry| {
                self.busy.indexed_event(other).series_group != self.busy.indexed_event(entry).series_group
            };
            for other in open.iter().filter(is_other) {
                let severity =
                    severity(&self.busy.indexed_event(other).event, &self.busy.indexed_event(entry).event, member);
                let overlap = self.record_overlap(&[other, entry], severity, overlaps);
                overlap.members.insert(member.to_owned());
                pairs.insert((other.event, entry.event));
                if pairs.len() >= MAX_CONFLICTS {
                    return;
                }
            }
            open.push(entry);
        }
    }

    fn resources(&self) -> Vec<(TimeRange, Conflict)> {
        let mut conflicts = Vec::new();
        for (resource, entries) in self.busy.by_resource() {
            let Some(resource_record) = self.snapshot.resources.get(resource) else { continue };
            let mut overlaps = OverlapMap::new();
            let mut open: Vec<&BusyEntry> = Vec::new();
            for entry in entries.filter(|entry| entry.span.overlaps(&self.range)) {
                open.retain(|other| other.span.end > entry.span.start);
                open.push(entry);
                if open.len() > resource_record.capacity as usize {
                    let events = open.iter().map(|entry| &self.busy.indexed_event(entry).event);
                    let is_critical = events.into_iter().any(|event| event.priority == Priority::Critical);
                    let severity = if is_critical { Severity::Critical } else { Severity::High };
                    self.record_overlap(&open, severity, &mut overlaps);
                }
                if overlaps.len() >= MAX_CONFLICTS {
                    break;
                }
            }
            conflicts.extend(overlaps.iter().map(|(pair, overlap)| {
                let text = format!(
                    "{} is not enough for {}",
                    format::resource_as_subject(&resource_record.name),
                    self.titles(overlap)
                );
                let id = format!("resource_conflict:{resource}");
                self.conflict(&id, ConflictType::ResourceConflict, pair, (overlap, text))
            }));
        }
        conflicts
    }

    /// Records an overlap. The first and the last of the overlapping events identify it.
    fn record_overlap<'m>(
        &self,
        overlapping: &[&BusyEntry],
        severity: Severity,
        all: &'m mut OverlapMap,
    ) -> &'m mut Overlap {
        let (first, last) = (overlapping[0], overlapping[overlapping.len() - 1]);
        let pair = (first.event.min(last.event), first.event.max(last.event));
        let overlap = all.entry(pair).or_insert_with(|| Overlap {
            times: BTreeSet::new(),
            severity,
            members: BTreeSet::new(),
            events: overlapping.iter().map(|entry| self.busy.indexed_event(entry).event.clone()).collect(),
        });
        overlap.times.insert(last.span);
        overlap.severity = overlap.severity.max(severity);
        overlap
    }

    fn titles(&self, overlap: &Overlap) -> String {
        format::join_list(&overlap.events.iter().map(|event| self.formatter.title(event)).collect::<Vec<String>>())
    }

    fn conflict(
        &self,
        id_prefix: &str,
        kind: ConflictType,
        (one, other): &(usize, usize),
        (overlap, text): (&Overlap, String),
    ) -> (TimeRange, Conflict) {
        let first = overlap.times.first().copied().unwrap_or(self.range);
        let latest = overlap.events.last();
        let id = |index: usize| &self.busy.events()[index].event.id;
        let conflict = Conflict {
            id: format!("{id_prefix}:{}:{}", id(*one), id(*other)),
            kind,
            severity: overlap.severity,
            conflicting_event_id: latest.map(|event| event.id.clone()),
            conflicting_event_title: latest.map(|event| self.formatter.viewer.title(self.snapshot, event)),
            participants_affected: overlap.members.iter().cloned().collect(),
            details: format!("{text} {}.", self.formatter.when(&first, overlap.times.len())),
        };
        (first, conflict)
    }

    fn rules(&self) -> Result<Vec<(TimeRange, Conflict)>> {
        let mut times: BTreeMap<usize, Vec<TimeRange>> = BTreeMap::new();
        for entry in self.busy.entries() {
            times.entry(entry.event).or_default().push(entry.span);
        }
        // Groups each series with its overrides, so that only these few are checked per event.
        let mut series_groups: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
        for index in times.keys() {
            series_groups.entry(self.busy.events()[*index].series_group).or_default().push(*index);
        }
        let mut conflicts = Vec::new();
        for (index, instances) in &times {
            let indexed = &self.busy.events()[*index];
            let constraints = ConstraintSet::new(self.snapshot, &indexed.event)?;
            let others = series_groups.get(&indexed.series_group).into_iter().flatten().filter(|other| *other != index);
            let related_instances: Vec<TimeRange> =
                others.filter_map(|other| times.get(other)).flatten().copied().collect();
            let mut by_rule = BTreeMap::new();
            for span in instances.iter().filter(|span| span.overlaps(&self.range)) {
                let (snapshot, busy, event) = (self.snapshot, &self.busy, indexed.event.as_ref());
                let occurrence = CheckedOccurrence {
                    snapshot,
                    busy,
                    event,
                    span: *span,
                    series_group: Some(indexed.series_group),
                    instances,
                    related_instances: &related_instances,
                };
                self.violations(&constraints, &occurrence, &mut by_rule);
            }
            for raw in by_rule.into_values() {
                let mut conflict = raw.conflict_with_owner(&indexed.event, &self.formatter);
                conflict.conflicting_event_id = Some(indexed.event.id.clone());
                conflict.conflicting_event_title = Some(self.formatter.viewer.title(self.snapshot, &indexed.event));
                conflicts.push((raw.first, conflict));
            }
        }
        Ok(conflicts)
    }

    fn violations(
        &self,
        constraints: &ConstraintSet,
        occurrence: &CheckedOccurrence<'_, '_>,
        all: &mut BTreeMap<ConflictKey, RawConflict>,
    ) {
        let mut by_rule: BTreeMap<&str, RawConflict> = BTreeMap::new();
        for violation in constraints.violations(occurrence) {
            let conflict = by_rule
                .entry(&violation.rule.id)
                .or_insert_with(|| RawConflict::from_constraint(violation.rule, occurrence.span));
            conflict.members.extend(violation.member.map(str::to_owned));
        }
        by_rule.into_values().for_each(|conflict| conflict.add_to(all));
    }
}

/// Returns the severity of a double booking of a member.
fn severity(one: &Event, other: &Event, member: &str) -> Severity {
    let needs = |event: &Event| {
        let is_needed = |participant: &Participant| participant.is_required && participant.member == member;
        event.participants.iter().any(is_needed)
    };
    match [one, other].iter().any(|event| event.priority == Priority::Critical) {
        true => Severity::Critical,
        false if needs(one) && needs(other) => Severity::High,
        false => Severity::Medium,
    }
}
