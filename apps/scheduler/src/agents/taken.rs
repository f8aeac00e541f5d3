//! What is on a board in a stretch of time, taken from it once and sorted for each person and thing.
//!
//! Computing instances is the costly part, so it happens here and nowhere else. Questions then cost the logarithm of the
//! number of instances and what they find.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use superstep::Result;
use superstep::core::time::Time;

use crate::calendar::{Board, Event, Span};

/// What is on a board in a stretch of time.
#[derive(Debug, Default)]
pub(super) struct Taken {
    events: Vec<Kept>,
    /// The earliest first.
    entries: Vec<Entry>,
    members: BTreeMap<String, usize>,
    resources: BTreeMap<String, usize>,
    lanes: Vec<Lane>,
}

/// An event of the stretch.
#[derive(Debug)]
pub(super) struct Kept {
    pub(super) event: Arc<Event>,
    /// The same for a series and its exceptions.
    pub(super) whole: usize,
}

/// One time at which an event is.
#[derive(Debug, Clone, Copy)]
pub(super) struct Entry {
    /// Its place among the events.
    pub(super) event: usize,
    pub(super) span: Span,
}

/// The entries of one person or thing, the earliest first.
#[derive(Debug, Default)]
struct Lane {
    places: Vec<usize>,
    /// The latest end so far; a long event may end after those that start later.
    latest: Vec<Time>,
}

impl Taken {
    /// Takes those events of a board that are wanted.
    pub(super) fn new(board: &Board, within: &Span, wanted: impl Fn(&Event) -> bool) -> Result<Self> {
        let mut taken = Self::default();
        let mut wholes: BTreeMap<&str, usize> = BTreeMap::new();
        for event in board.events.values().filter(|event| wanted(event)) {
            let next = wholes.len();
            let whole = *wholes.entry(whole_of(event)).or_insert(next);
            let place = taken.events.len();
            let instances = board.instances_of(event, within)?;
            taken.entries.extend(instances.iter().map(|instance| Entry { event: place, span: instance.span }));
            taken.events.push(Kept { event: event.clone(), whole });
        }
        taken.entries.sort_unstable_by_key(|entry| (entry.span, entry.event));
        taken.fill_lanes();
        Ok(taken)
    }

    fn fill_lanes(&mut self) {
        let mut lanes_of = Vec::with_capacity(self.events.len());
        for kept in &self.events {
            let mut lanes = BTreeSet::new();
            for participant in &kept.event.participants {
                lanes.insert(lane_of(&mut self.members, &mut self.lanes, &participant.member));
            }
            for resource in &kept.event.resources {
                lanes.insert(lane_of(&mut self.resources, &mut self.lanes, resource));
            }
            lanes_of.push(lanes);
        }
        for (place, entry) in self.entries.iter().enumerate() {
            for lane in &lanes_of[entry.event] {
                let lane = &mut self.lanes[*lane];
                let latest = lane.latest.last().map_or(entry.span.end, |latest| entry.span.end.max(*latest));
                lane.places.push(place);
                lane.latest.push(latest);
            }
        }
    }

    /// The event of an entry.
    pub(super) fn kept(&self, entry: &Entry) -> &Kept {
        &self.events[entry.event]
    }

    /// All entries, the earliest first.
    pub(super) fn entries(&self) -> &[Entry] {
        &self.entries
    }

    /// All events.
    pub(super) fn events(&self) -> &[Kept] {
        &self.events
    }

    /// What is common to an event and its exceptions, if it is here.
    pub(super) fn whole(&self, event: &str) -> Option<usize> {
        self.events.iter().find(|kept| kept.event.id == event).map(|kept| kept.whole)
    }

    /// Where somebody is at a time, the latest first.
    pub(super) fn of_member(&self, member: &str, span: Span) -> impl Iterator<Item = &Entry> {
        self.meeting(self.members.get(member), span)
    }

    /// What uses a thing at a time, the latest first.
    pub(super) fn of_resource(&self, resource: &str, span: Span) -> impl Iterator<Item = &Entry> {
        self.meeting(self.resources.get(resource), span)
    }

    fn meeting(&self, lane: Option<&usize>, span: Span) -> impl Iterator<Item = &Entry> {
        lane.map(|lane| &self.lanes[*lane]).into_iter().flat_map(move |lane| {
            let upto = lane.places.partition_point(|place| self.entries[*place].span.start < span.end);
            let met = (0..upto).rev().take_while(move |at| lane.latest[*at] > span.start);
            met.map(move |at| &self.entries[lane.places[at]]).filter(move |entry| entry.span.meets(&span))
        })
    }

    /// How many events of somebody start in a stretch of time, without one whole.
    pub(super) fn starting(&self, member: &str, within: &Span, without: Option<usize>) -> usize {
        let Some(lane) = self.members.get(member).map(|lane| &self.lanes[*lane]) else { return 0 };
        let start = |place: &usize| self.entries[*place].span.start;
        let from = lane.places.partition_point(|place| start(place) < within.start);
        let to = lane.places.partition_point(|place| start(place) < within.end);
        let others = lane.places[from..to].iter().map(|place| &self.entries[*place]);
        others.filter(|entry| Some(self.kept(entry).whole) != without).count()
    }

    /// The people who have entries, with their entries, the earliest first.
    pub(super) fn by_member(&self) -> impl Iterator<Item = (&str, impl Iterator<Item = &Entry>)> {
        self.members.iter().map(|(member, lane)| (member.as_str(), self.along(*lane)))
    }

    /// The things that are used, with their entries, the earliest first.
    pub(super) fn by_resource(&self) -> impl Iterator<Item = (&str, impl Iterator<Item = &Entry>)> {
        self.resources.iter().map(|(resource, lane)| (resource.as_str(), self.along(*lane)))
    }

    fn along(&self, lane: usize) -> impl Iterator<Item = &Entry> {
        self.lanes[lane].places.iter().map(|place| &self.entries[*place])
    }
}

fn lane_of(names: &mut BTreeMap<String, usize>, lanes: &mut Vec<Lane>, name: &str) -> usize {
    if let Some(lane) = names.get(name) {
        return *lane;
    }
    lanes.push(Lane::default());
    names.insert(name.to_owned(), lanes.len() - 1);
    lanes.len() - 1
}

/// The id that a series and its exceptions share: that of the series.
pub(super) fn whole_of(event: &Event) -> &str {
    event.exception_of.as_ref().map_or(&event.id, |of| &of.series)
}

/// Whether an event takes nobody's time: calendar files say so of birthdays and holidays.
pub(crate) fn is_transparent(event: &Event) -> bool {
    event.extra.iter().any(|line| line.trim().eq_ignore_ascii_case("TRANSP:TRANSPARENT"))
}
