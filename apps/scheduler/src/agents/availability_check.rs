//! Availability check of one event against all other events, at its own times or at candidate times.
//!
//! Built once per event, then queried many times: is a time free, which participants are missing, which conflicts
//! exist.

use std::collections::{BTreeMap, BTreeSet};

use superstep::Result;

use super::busy_index::{BusyEntry, BusyIndex, is_transparent, series_id};
use super::capacity::peak_usage;
use super::constraints::{CheckedOccurrence, ConstraintSet, Violation};
use super::raw_conflict::{ConflictKey, RawConflict};
use super::time_math::{after, between, pad};
use crate::calendar::{CalendarChange, CalendarSnapshot, Event, Participant, Priority, TimeRange};
use crate::models::{EventStatus, Severity};

/// Availability check of one event against all other events.
#[derive(Debug)]
pub(super) struct AvailabilityCheck<'a> {
    snapshot: &'a CalendarSnapshot,
    event: &'a Event,
    busy: BusyIndex,
    constraints: ConstraintSet,
    series_group: Option<usize>,
    spans: Vec<TimeRange>,
    related_instances: Vec<TimeRange>,
}

impl<'a> AvailabilityCheck<'a> {
    /// Indexes the instances that overlap a time range, extended by the reach of the constraints. The event need
    /// not be in the snapshot.
    pub(super) fn new(snapshot: &'a CalendarSnapshot, event: &'a Event, horizon: &TimeRange) -> Result<Self> {
        let mut draft = event.clone();
        if draft.status == EventStatus::Rejected {
            // A rejected event is removed from the snapshot, but is checked here as if it were present.
            draft.status = EventStatus::Proposed;
        }
        let mut copy = snapshot.clone();
        copy.apply(CalendarChange::Event(Box::new(draft)));
        let constraints = ConstraintSet::new(snapshot, event)?;
        let series = series_id(event);
        let related =
            |other: &Event| series_id(other) == series || (!is_transparent(other) && have_common(event, other));
        let busy = BusyIndex::new(&copy, &pad(horizon, constraints.lookaround_minutes()), related)?;
        let series_group = busy.series_group(&event.id);
        let (mut spans, mut related_instances) = (Vec::new(), Vec::new());
        for entry in busy.entries().iter().filter(|entry| Some(busy.indexed_event(entry).series_group) == series_group)
        {
            if busy.indexed_event(entry).event.id != event.id {
                related_instances.push(entry.span);
            } else if entry.span.overlaps(horizon) {
                spans.push(entry.span);
            }
        }
        Ok(Self { snapshot, event, busy, constraints, series_group, spans, related_instances })
    }

    /// Returns the instances of the event within the checked time range.
    pub(super) fn spans(&self) -> &[TimeRange] {
        &self.spans
    }

    /// Returns the instances of the event if its first instance were at `to`.
    ///
    /// All instances are shifted by the same duration. On a day with a clock change between the old and the new
    /// time, the local time is off by an hour. Clock changes are at night, and a chosen time is checked again on a
    /// copy of the snapshot.
    pub(super) fn shifted_to(&self, to: &TimeRange) -> Vec<TimeRange> {
        if self.event.recurrence.is_none() {
            return vec![*to];
        }
        shifted(&self.spans, between(self.event.span.start, to.start), between(to.start, to.end))
    }

    /// Returns true if no required participant is busy, no resource is full and no hard constraint is violated.
    pub(super) fn is_free(&self, spans: &[TimeRange]) -> bool {
        let is_free_at = |span: &TimeRange| {
            let mut required = self.event.participants.iter().filter(|participant| participant.is_required);
            !required.any(|participant| self.is_busy(participant, span))
                && self.event.resources.iter().all(|resource| self.users_at_capacity(resource, span).is_none())
        };
        spans.iter().all(|span| is_free_at(span) && !self.constraints.forbids(&self.checked_occurrence(span, spans)))
    }

    /// Returns the participants who are busy at one of the given times.
    pub(super) fn unavailable_participants(&self, spans: &[TimeRange]) -> Vec<&'a Participant> {
        let is_missing = |participant: &&Participant| spans.iter().any(|span| self.is_busy(participant, span));
        self.event.participants.iter().filter(is_missing).collect()
    }

    /// Returns true if a participant would have a gap shorter than `minutes`, but longer than zero, before or after.
    pub(super) fn leaves_gap(&self, span: &TimeRange, minutes: i64) -> bool {
        let padded = pad(span, minutes);
        let is_gap = |other: &TimeRange| !other.overlaps(span) && other.end != span.start && other.start != span.end;
        self.event.participants.iter().any(|participant| {
            let mut others = self.others(self.busy.for_member(&participant.member, padded));
            others.any(|entry| is_gap(&entry.span))
        })
    }

    /// Returns the constraints that the event would violate at the given times, once per constraint and member.
    pub(super) fn violations(&self, spans: &[TimeRange]) -> Vec<Violation<'_>> {
        let mut by_constraint = BTreeMap::new();
        for span in spans {
            for violation in self.violations_at(span, spans) {
                by_constraint.entry((violation.rule.id.as_str(), violation.member)).or_insert(violation);
            }
        }
        by_constraint.into_values().collect()
    }

    /// Detects all conflicts at the given times. A conflict that occurs at several of them is returned once, with a
    /// count.
    pub(super) fn conflicts(&self, spans: &[TimeRange]) -> Vec<RawConflict> {
        let mut all = BTreeMap::new();
        if !is_transparent(self.event) {
            for span in spans {
                self.find_time_conflicts(span, &mut all);
                self.find_resource_conflicts(span, &mut all);
            }
        }
        for span in spans {
            self.find_constraint_violations(span, spans, &mut all);
        }
        let mut conflicts: Vec<RawConflict> = all.into_values().collect();
        conflicts.sort_by(|a, b| (b.severity, a.first, &a.key).cmp(&(a.severity, b.first, &b.key)));
        conflicts
    }

    fn find_time_conflicts(&self, span: &TimeRange, all: &mut BTreeMap<ConflictKey, RawConflict>) {
        let mut overlaps: BTreeMap<usize, (BTreeSet<TimeRange>, Severity, BTreeSet<String>)> = BTreeMap::new();
        for participant in &self.event.participants {
            let severity = if participant.is_required { Severity::High } else { Severity::Medium };
            for entry in self.others(self.busy.for_member(&participant.member, *span)) {
                let overlap = overlaps.entry(entry.event).or_insert((BTreeSet::new(), severity, BTreeSet::new()));
                overlap.0.insert(entry.span);
                overlap.1 = overlap.1.max(severity);
                overlap.2.insert(participant.member.clone());
            }
        }
        for (index, (times, severity, members)) in overlaps {
            let other = self.busy.events()[index].event.clone();
            let severity = if other.priority == Priority::Critical { Severity::Critical } else { severity };
            let conflict = RawConflict {
                severity,
                at: times.first().copied().unwrap_or(*span),
                overlapping_instances: times.into_iter().map(|time| (other.id.clone(), time)).collect(),
                members,
                others: vec![other.clone()],
                ..RawConflict::new(ConflictKey::Time(other.id.clone()), *span)
            };
            conflict.add_to(all);
        }
    }

    fn find_resource_conflicts(&self, span: &TimeRange, all: &mut BTreeMap<ConflictKey, RawConflict>) {
        let resources: BTreeSet<&String> = self.event.resources.iter().collect();
        for resource in resources {
            let Some(users) = self.users_at_capacity(resource, span) else { continue };
            let events: Vec<_> = users.iter().map(|entry| self.busy.indexed_event(entry).event.clone()).collect();
            let is_critical = events.iter().any(|event| event.priority == Priority::Critical);
            let severity = if is_critical { Severity::Critical } else { Severity::High };
            let at = users.first().map_or(*span, |entry| entry.span);
            let overlapping_instances =
                users.iter().map(|entry| (self.busy.indexed_event(entry).event.id.clone(), entry.span)).collect();
            let key = ConflictKey::Resource(resource.clone());
            let conflict =
                RawConflict { severity, at, others: events, overlapping_instances, ..RawConflict::new(key, *span) };
            conflict.add_to(all);
        }
    }

    fn find_constraint_violations(
        &self,
        span: &TimeRange,
        spans: &[TimeRange],
        all: &mut BTreeMap<ConflictKey, RawConflict>,
    ) {
        let mut by_rule: BTreeMap<&str, RawConflict> = BTreeMap::new();
        for violation in self.violations_at(span, spans) {
            let conflict = by_rule
                .entry(&violation.rule.id)
                .or_insert_with(|| RawConflict::from_constraint(violation.rule, *span));
            conflict.members.extend(violation.member.map(str::to_owned));
        }
        for conflict in by_rule.into_values() {
            conflict.add_to(all);
        }
    }

    fn violations_at(&self, span: &TimeRange, instances: &[TimeRange]) -> Vec<Violation<'_>> {
        self.constraints.violations(&self.checked_occurrence(span, instances))
    }

    fn checked_occurrence<'s>(&'s self, span: &TimeRange, instances: &'s [TimeRange]) -> CheckedOccurrence<'a, 's> {
        let (snapshot, busy, related_instances) = (self.snapshot, &self.busy, &self.related_instances);
        CheckedOccurrence {
            snapshot,
            busy,
            event: self.event,
            span: *span,
            series_group: self.series_group,
            instances,
            related_instances,
        }
    }

    fn is_busy(&self, participant: &Participant, span: &TimeRange) -> bool {
        self.others(self.busy.for_member(&participant.member, *span)).next().is_some()
    }

    /// Returns the users of a resource at its busiest instant, if the resource is full. A resource that is no
    /// longer in the snapshot is never full.
    fn users_at_capacity(&self, resource: &str, span: &TimeRange) -> Option<Vec<&BusyEntry>> {
        let capacity = self.snapshot.resources.get(resource)?.capacity as usize;
        let mut users: Vec<&BusyEntry> = self.others(self.busy.for_resource(resource, *span)).collect();
        users.reverse();
        let spans: Vec<TimeRange> = users.iter().map(|entry| entry.span).collect();
        let indices = peak_usage(&spans, span);
        (indices.len() >= capacity).then(|| indices.into_iter().map(|index| users[index]).collect())
    }

    fn others<'b>(&'b self, entries: impl Iterator<Item = &'b BusyEntry>) -> impl Iterator<Item = &'b BusyEntry> {
        entries.filter(|entry| Some(self.busy.indexed_event(entry).series_group) != self.series_group)
    }
}

fn have_common(event: &Event, other: &Event) -> bool {
    let takes_part = |participant: &Participant| event.participants.iter().any(|own| own.member == participant.member);
    other.participants.iter().any(takes_part) || other.resources.iter().any(|used| event.resources.contains(used))
}

/// Shifts time ranges by `by` microseconds and sets their duration to `length` microseconds.
pub(super) fn shifted(spans: &[TimeRange], by: i64, length: i64) -> Vec<TimeRange> {
    let shift = |span: &TimeRange| {
        let start = after(span.start, by);
        TimeRange { start, end: after(start, length) }
    };
    spans.iter().map(shift).collect()
}
