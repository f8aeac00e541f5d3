//! A snapshot of the whole calendar of a family, for reading and for trying changes.
//!
//! Clones share their data (persistent maps), so agents try changes on clones. Stores cache the latest snapshot and
//! read only what changed.

use std::collections::BTreeSet;
use std::sync::Arc;

use imbl::OrdMap;
use jiff::SignedDuration;
use jiff::civil::DateTime;
use superstep::Result;
use superstep::core::time::Time;

use super::constraint::Constraint;
use super::event::Event;
use super::family::{Calendar, Family, Member, Resource, Visibility};
use super::index::SnapshotIndex;
use super::recurrence::RecurrenceExpander;
use super::time_range::TimeRange;
use crate::models::{Conflict, EventStatus};

/// Range of the search for the next instance of a series, in microseconds.
const YEAR_MICROS: i64 = 366 * 24 * 3_600 * 1_000_000;

/// Number of days within which a request finds the next instance of an event.
pub(crate) const NEXT_INSTANCE_HORIZON_DAYS: i64 = 400;

/// The calendar of a family at one revision.
#[derive(Debug, Clone, PartialEq)]
pub struct CalendarSnapshot {
    /// The family.
    pub family: Arc<Family>,
    /// Members by id.
    pub members: OrdMap<String, Arc<Member>>,
    /// Calendars by id.
    pub calendars: OrdMap<String, Arc<Calendar>>,
    /// Resources by id.
    pub resources: OrdMap<String, Arc<Resource>>,
    /// Constraints by id.
    pub rules: OrdMap<String, Arc<Constraint>>,
    /// Events by id, in any status except rejected. Change them only with [`CalendarSnapshot::apply`], which updates
    /// the index.
    pub events: OrdMap<String, Arc<Event>>,
    /// Conflicts among confirmed events, by id.
    pub conflicts: OrdMap<String, Arc<Conflict>>,
    /// Revision number of the snapshot, set by the store.
    pub revision: u64,
    index: SnapshotIndex,
}

/// One change of a snapshot. Stores persist the same changes.
#[derive(Debug, Clone, PartialEq)]
pub enum CalendarChange {
    /// Replaces the family.
    Family(Family),
    /// Inserts or replaces a member.
    Member(Member),
    /// Removes a member.
    RemoveMember(String),
    /// Inserts or replaces a calendar.
    Calendar(Calendar),
    /// Inserts or replaces a resource.
    Resource(Resource),
    /// Removes a resource.
    RemoveResource(String),
    /// Inserts or replaces a constraint.
    Rule(Constraint),
    /// Removes a constraint.
    RemoveRule(String),
    /// Inserts or replaces an event. A rejected event is removed from the snapshot but stays in the store.
    Event(Box<Event>),
    /// Removes an event.
    RemoveEvent(String),
    /// Replaces all conflicts among confirmed events.
    Conflicts(Vec<Conflict>),
}

/// One instance of an event.
#[derive(Debug, Clone, PartialEq)]
pub struct EventInstance {
    /// The event.
    pub event: Arc<Event>,
    /// Time range of the instance.
    pub span: TimeRange,
}

impl CalendarSnapshot {
    /// Creates a family without members, calendars and events.
    #[must_use]
    pub fn new(family: Family) -> Self {
        Self {
            family: Arc::new(family),
            members: OrdMap::new(),
            calendars: OrdMap::new(),
            resources: OrdMap::new(),
            rules: OrdMap::new(),
            events: OrdMap::new(),
            conflicts: OrdMap::new(),
            revision: 0,
            index: SnapshotIndex::default(),
        }
    }

    /// Applies a change. `revision` stays the same: only the store changes it.
    pub fn apply(&mut self, change: CalendarChange) {
        match change {
            CalendarChange::Family(family) => self.family = Arc::new(family),
            CalendarChange::Member(member) => drop(self.members.insert(member.id.clone(), Arc::new(member))),
            CalendarChange::RemoveMember(id) => drop(self.members.remove(&id)),
            CalendarChange::Calendar(calendar) => drop(self.calendars.insert(calendar.id.clone(), Arc::new(calendar))),
            CalendarChange::Resource(resource) => drop(self.resources.insert(resource.id.clone(), Arc::new(resource))),
            CalendarChange::RemoveResource(id) => drop(self.resources.remove(&id)),
            CalendarChange::Rule(rule) => drop(self.rules.insert(rule.id.clone(), Arc::new(rule))),
            CalendarChange::RemoveRule(id) => drop(self.rules.remove(&id)),
            CalendarChange::Event(event) if event.status == EventStatus::Rejected => self.remove_event(&event.id),
            CalendarChange::Event(event) => self.upsert_event(Arc::new(*event)),
            CalendarChange::RemoveEvent(id) => self.remove_event(&id),
            CalendarChange::Conflicts(conflicts) => {
                self.conflicts =
                    conflicts.into_iter().map(|conflict| (conflict.id.clone(), Arc::new(conflict))).collect();
            }
        }
    }

    /// Returns everything except the family as changes, in an order in which they can be applied to an empty
    /// snapshot.
    #[must_use]
    pub fn to_changes(&self) -> Vec<CalendarChange> {
        let members = self.members.values().map(|member| CalendarChange::Member((**member).clone()));
        let calendars = self.calendars.values().map(|calendar| CalendarChange::Calendar((**calendar).clone()));
        let resources = self.resources.values().map(|resource| CalendarChange::Resource((**resource).clone()));
        let rules = self.rules.values().map(|rule| CalendarChange::Rule((**rule).clone()));
        // Series before their overrides.
        let (overrides, others): (Vec<_>, Vec<_>) =
            self.events.values().partition(|event| event.recurrence_override.is_some());
        let events =
            others.into_iter().chain(overrides).map(|event| CalendarChange::Event(Box::new((**event).clone())));
        members.chain(calendars).chain(resources).chain(rules).chain(events).collect()
    }

    fn upsert_event(&mut self, event: Arc<Event>) {
        self.remove_event(&event.id);
        self.index.insert(&event);
        self.events.insert(event.id.clone(), event);
    }

    fn remove_event(&mut self, id: &str) {
        if let Some(event) = self.events.remove(id) {
            self.index.remove(&event);
        }
    }

    /// Returns the instances of one event that overlap a time range, earliest first. Instances that are replaced by
    /// an override are left out.
    ///
    /// # Errors
    /// Returns an error if the recurrence rule or the time zone of the event is invalid.
    pub fn instances_of(&self, event: &Arc<Event>, range: &TimeRange) -> Result<Vec<EventInstance>> {
        if event.recurrence.is_none() {
            let is_in = TimeRange::new(event.span.start, event.span.end).is_some_and(|span| span.overlaps(range));
            return Ok(is_in.then(|| EventInstance { event: event.clone(), span: event.span }).into_iter().collect());
        }
        let expander = self.index.expander(event)?;
        let from = earlier(range.start, expander.max_instance_duration());
        let replaced = self.overridden_starts(event, &expander, &TimeRange { start: from, end: range.end })?;
        let mut instances = Vec::new();
        for span in expander.spans(from, range.end)? {
            if span.overlaps(range) && !replaced.contains(&span.start) {
                instances.push(EventInstance { event: event.clone(), span });
            }
        }
        Ok(instances)
    }

    /// Returns the first instance of an event that is not over at `now` and starts within 366 days.
    ///
    /// # Errors
    /// Returns an error if the recurrence rule or the time zone of the event is invalid.
    pub(crate) fn next_instance(&self, event: &Arc<Event>, now: Time) -> Result<Option<TimeRange>> {
        let later = Time::from_unix_micros(now.as_unix_micros().saturating_add(YEAR_MICROS)).ok();
        let Some(next_year) = later.and_then(|later| TimeRange::new(now, later)) else { return Ok(None) };
        Ok(self.instances_of(event, &next_year)?.first().map(|next| next.span))
    }

    /// Returns the starts of the instances that are replaced by an override. The status of the override must be at
    /// least that of the series.
    ///
    /// A proposed override leaves the instance in place: both times are busy until the override is confirmed.
    fn overridden_starts(
        &self,
        series: &Event,
        expander: &RecurrenceExpander,
        range: &TimeRange,
    ) -> Result<BTreeSet<Time>> {
        // RECURRENCE-ID may be a local time that a clock change skips, so the search range is a day wider at both
        // ends.
        let day = SignedDuration::from_hours(24);
        let from = expander.local_start(range.start).saturating_sub(day);
        let until = expander.local_start(range.end).saturating_add(day);
        let mut replaced = BTreeSet::new();
        for (start, id) in self.index.overrides(&series.id, from, until) {
            if self.events.get(id).is_some_and(|override_event| override_event.status >= series.status) {
                replaced.insert(expander.instant(start)?);
            }
        }
        Ok(replaced)
    }

    /// Returns the overrides of a series, sorted by the start of the instance they replace.
    pub fn overrides_of(&self, series: &str) -> impl Iterator<Item = &Arc<Event>> {
        self.index.overrides(series, DateTime::MIN, DateTime::MAX).filter_map(|(_, id)| self.events.get(id))
    }

    /// Returns the calendar for new events of a member: a calendar of the member with family visibility, else the
    /// family calendar, else a private calendar of the member. The calendar of another member must be named
    /// explicitly.
    pub(crate) fn default_calendar(&self, member: &str) -> Option<&Calendar> {
        let all = || self.calendars.values().map(AsRef::as_ref);
        let own = || all().filter(|calendar| calendar.owner.as_deref() == Some(member));
        let shared = own().find(|calendar| calendar.visibility == Visibility::Family);
        shared.or_else(|| self.shared_calendar()).or_else(|| own().next())
    }

    /// Returns the calendar of the whole family.
    pub(crate) fn shared_calendar(&self) -> Option<&Calendar> {
        self.calendars.values().map(AsRef::as_ref).find(|calendar| calendar.owner.is_none())
    }

    /// Returns the expander for the recurrence of an event.
    pub(super) fn expander(&self, event: &Arc<Event>) -> Result<Arc<RecurrenceExpander>> {
        self.index.expander(event)
    }

    /// Returns the instances of all events that overlap a time range, earliest first.
    ///
    /// # Errors
    /// Returns an error if a recurrence rule or a time zone is invalid.
    pub fn instances(&self, range: &TimeRange) -> Result<Vec<EventInstance>> {
        let mut all = Vec::new();
        for event in self.events.values() {
            all.extend(self.instances_of(event, range)?);
        }
        all.sort_by(|a, b| (a.span, &a.event.id).cmp(&(b.span, &b.event.id)));
        Ok(all)
    }
}

fn earlier(time: Time, by: SignedDuration) -> Time {
    let micros = i64::try_from(by.as_micros()).unwrap_or(i64::MAX);
    Time::from_unix_micros(time.as_unix_micros().saturating_sub(micros)).unwrap_or(time)
}
