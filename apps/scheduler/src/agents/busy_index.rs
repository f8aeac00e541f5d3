//! Index of all event instances in a time range, sorted per member and per resource. Built once, queried many
//! times.
//!
//! Expanding recurrences is the expensive part and happens only while building. A query costs the logarithm of the
//! number of instances plus the size of its result.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use superstep::Result;
use superstep::core::time::Time;

use crate::calendar::{CalendarSnapshot, Event, TimeRange};

/// Index of event instances in a time range.
#[derive(Debug, Default)]
pub(super) struct BusyIndex {
    events: Vec<IndexedEvent>,
    /// Sorted by start.
    entries: Vec<BusyEntry>,
    members: BTreeMap<String, usize>,
    resources: BTreeMap<String, usize>,
    timelines: Vec<Timeline>,
}

/// An event with instances in the time range.
#[derive(Debug)]
pub(super) struct IndexedEvent {
    pub(super) event: Arc<Event>,
    /// Series group: the same number for a series and its overrides.
    pub(super) series_group: usize,
}

/// One instance of an event.
#[derive(Debug, Clone, Copy)]
pub(super) struct BusyEntry {
    /// Index into `events`.
    pub(super) event: usize,
    pub(super) span: TimeRange,
}

/// The entries of one member or resource, sorted by start.
#[derive(Debug, Default)]
struct Timeline {
    indices: Vec<usize>,
    /// Latest end among the entries up to this one, because a long event may end after events that start later.
    latest: Vec<Time>,
}

impl BusyIndex {
    /// Builds the index of the events that `accepts` accepts.
    pub(super) fn new(
        snapshot: &CalendarSnapshot,
        range: &TimeRange,
        accepts: impl Fn(&Event) -> bool,
    ) -> Result<Self> {
        let mut busy = Self::default();
        let mut series_groups: BTreeMap<&str, usize> = BTreeMap::new();
        for event in snapshot.events.values().filter(|event| accepts(event)) {
            let next = series_groups.len();
            let series_group = *series_groups.entry(series_id(event)).or_insert(next);
            let index = busy.events.len();
            let instances = snapshot.instances_of(event, range)?;
            busy.entries.extend(instances.iter().map(|instance| BusyEntry { event: index, span: instance.span }));
            busy.events.push(IndexedEvent { event: event.clone(), series_group });
        }
        busy.entries.sort_unstable_by_key(|entry| (entry.span, entry.event));
        busy.fill_timelines();
        Ok(busy)
    }

    fn fill_timelines(&mut self) {
        let mut timelines_by_event = Vec::with_capacity(self.events.len());
        for indexed in &self.events {
            let mut indices = BTreeSet::new();
            for participant in &indexed.event.participants {
                indices.insert(timeline_index(&mut self.members, &mut self.timelines, &participant.member));
            }
            for resource in &indexed.event.resources {
                indices.insert(timeline_index(&mut self.resources, &mut self.timelines, resource));
            }
            timelines_by_event.push(indices);
        }
        for (index, entry) in self.entries.iter().enumerate() {
            for timeline in &timelines_by_event[entry.event] {
                let timeline = &mut self.timelines[*timeline];
                let latest = timeline.latest.last().map_or(entry.span.end, |latest| entry.span.end.max(*latest));
                timeline.indices.push(index);
                timeline.latest.push(latest);
            }
        }
    }

    /// Returns the event of an entry.
    pub(super) fn indexed_event(&self, entry: &BusyEntry) -> &IndexedEvent {
        &self.events[entry.event]
    }

    /// Returns all entries, sorted by start.
    pub(super) fn entries(&self) -> &[BusyEntry] {
        &self.entries
    }

    /// Returns all events.
    pub(super) fn events(&self) -> &[IndexedEvent] {
        &self.events
    }

    /// Returns the series group of an event, if the event is in the index.
    pub(super) fn series_group(&self, event: &str) -> Option<usize> {
        self.events.iter().find(|indexed| indexed.event.id == event).map(|indexed| indexed.series_group)
    }

    /// Returns the entries of a member that overlap a time range, latest first.
    pub(super) fn for_member(&self, member: &str, span: TimeRange) -> impl Iterator<Item = &BusyEntry> {
        self.overlapping(self.members.get(member), span)
    }

    /// Returns the entries of a resource that overlap a time range, latest first.
    pub(super) fn for_resource(&self, resource: &str, span: TimeRange) -> impl Iterator<Item = &BusyEntry> {
        self.overlapping(self.resources.get(resource), span)
    }

    fn overlapping(&self, timeline: Option<&usize>, span: TimeRange) -> impl Iterator<Item = &BusyEntry> {
        timeline.map(|timeline| &self.timelines[*timeline]).into_iter().flat_map(move |timeline| {
            let end = timeline.indices.partition_point(|index| self.entries[*index].span.start < span.end);
            let candidates = (0..end).rev().take_while(move |position| timeline.latest[*position] > span.start);
            candidates
                .map(move |position| &self.entries[timeline.indices[position]])
                .filter(move |entry| entry.span.overlaps(&span))
        })
    }

    /// Counts the events of a member that start in a time range, except those of one series group.
    pub(super) fn count_starting(&self, member: &str, range: &TimeRange, excluded_group: Option<usize>) -> usize {
        let Some(timeline) = self.members.get(member).map(|timeline| &self.timelines[*timeline]) else { return 0 };
        let start = |index: &usize| self.entries[*index].span.start;
        let from = timeline.indices.partition_point(|index| start(index) < range.start);
        let to = timeline.indices.partition_point(|index| start(index) < range.end);
        let others = timeline.indices[from..to].iter().map(|index| &self.entries[*index]);
        others.filter(|entry| Some(self.indexed_event(entry).series_group) != excluded_group).count()
    }

    /// Returns all members with entries, and their entries, earliest first.
    pub(super) fn by_member(&self) -> impl Iterator<Item = (&str, impl Iterator<Item = &BusyEntry>)> {
        self.members.iter().map(|(member, timeline)| (member.as_str(), self.entries_of(*timeline)))
    }

    /// Returns all resources with entries, and their entries, earliest first.
    pub(super) fn by_resource(&self) -> impl Iterator<Item = (&str, impl Iterator<Item = &BusyEntry>)> {
        self.resources.iter().map(|(resource, timeline)| (resource.as_str(), self.entries_of(*timeline)))
    }

    fn entries_of(&self, timeline: usize) -> impl Iterator<Item = &BusyEntry> {
        self.timelines[timeline].indices.iter().map(|index| &self.entries[*index])
    }
}

fn timeline_index(names: &mut BTreeMap<String, usize>, timelines: &mut Vec<Timeline>, name: &str) -> usize {
    if let Some(timeline) = names.get(name) {
        return *timeline;
    }
    timelines.push(Timeline::default());
    names.insert(name.to_owned(), timelines.len() - 1);
    timelines.len() - 1
}

/// Returns the id that a series and its overrides share: the id of the series.
pub(super) fn series_id(event: &Event) -> &str {
    event.recurrence_override.as_ref().map_or(&event.id, |replaced| &replaced.series)
}

/// Returns true if an event does not make its participants busy (TRANSP:TRANSPARENT), such as birthdays and holidays in
/// calendar files.
pub(crate) fn is_transparent(event: &Event) -> bool {
    event.preserved_properties.iter().any(|line| line.trim().eq_ignore_ascii_case("TRANSP:TRANSPARENT"))
}
