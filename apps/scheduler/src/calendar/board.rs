//! All of a family's calendar at once, to look at and to try things on.
//!
//! A copy costs nothing, so that agents try a change on one. Stores keep the newest board and read only what changed.

use std::collections::BTreeSet;
use std::sync::Arc;

use imbl::OrdMap;
use jiff::SignedDuration;
use jiff::civil::DateTime;
use superstep::Result;
use superstep::core::time::Time;

use super::event::Event;
use super::family::{Calendar, Family, Member, Resource, Visibility};
use super::index::Index;
use super::recurrence::Timetable;
use super::rule::Rule;
use super::span::Span;
use crate::models::{Conflict, EventStatus};

/// How far ahead the next one of a series is looked for, in microseconds.
const A_YEAR: i64 = 366 * 24 * 3_600 * 1_000_000;

/// A family's calendar as of one revision.
#[derive(Debug, Clone, PartialEq)]
pub struct Board {
    /// The family.
    pub family: Arc<Family>,
    /// Its members, by id.
    pub members: OrdMap<String, Arc<Member>>,
    /// Its calendars, by id.
    pub calendars: OrdMap<String, Arc<Calendar>>,
    /// Its things, by id.
    pub resources: OrdMap<String, Arc<Resource>>,
    /// Its rules, by id.
    pub rules: OrdMap<String, Arc<Rule>>,
    /// Its events in any state but rejected, by id. Change them by [`Board::apply`] only, which keeps what is remembered
    /// of them.
    pub events: OrdMap<String, Arc<Event>>,
    /// Conflicts among confirmed events, by id.
    pub conflicts: OrdMap<String, Arc<Conflict>>,
    /// How often it was changed.
    pub revision: u64,
    index: Index,
}

/// One thing that changes on a board; a store writes the same.
#[derive(Debug, Clone, PartialEq)]
pub enum Change {
    /// The family itself.
    Family(Family),
    /// A new or changed member.
    Member(Member),
    /// A member leaves.
    RemoveMember(String),
    /// A new or changed calendar.
    Calendar(Calendar),
    /// A new or changed thing.
    Resource(Resource),
    /// A thing is gone.
    RemoveResource(String),
    /// A new or changed rule.
    Rule(Rule),
    /// A rule is gone.
    RemoveRule(String),
    /// A new or changed event; one that is rejected leaves the board and stays in the store.
    Event(Box<Event>),
    /// An event is gone.
    RemoveEvent(String),
    /// All conflicts among confirmed events, anew.
    Conflicts(Vec<Conflict>),
}

/// One time at which an event is.
#[derive(Debug, Clone, PartialEq)]
pub struct Instance {
    /// The event.
    pub event: Arc<Event>,
    /// When.
    pub span: Span,
}

impl Board {
    /// A family with nothing in it.
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
            index: Index::default(),
        }
    }

    /// Changes the board; the revision is the store's matter.
    pub fn apply(&mut self, change: Change) {
        match change {
            Change::Family(family) => self.family = Arc::new(family),
            Change::Member(member) => drop(self.members.insert(member.id.clone(), Arc::new(member))),
            Change::RemoveMember(id) => drop(self.members.remove(&id)),
            Change::Calendar(calendar) => drop(self.calendars.insert(calendar.id.clone(), Arc::new(calendar))),
            Change::Resource(resource) => drop(self.resources.insert(resource.id.clone(), Arc::new(resource))),
            Change::RemoveResource(id) => drop(self.resources.remove(&id)),
            Change::Rule(rule) => drop(self.rules.insert(rule.id.clone(), Arc::new(rule))),
            Change::RemoveRule(id) => drop(self.rules.remove(&id)),
            Change::Event(event) if event.status == EventStatus::Rejected => self.remove_event(&event.id),
            Change::Event(event) => self.put_event(Arc::new(*event)),
            Change::RemoveEvent(id) => self.remove_event(&id),
            Change::Conflicts(conflicts) => {
                self.conflicts = conflicts.into_iter().map(|one| (one.id.clone(), Arc::new(one))).collect();
            }
        }
    }

    /// Everything on the board but the family, as changes that make it on an empty one, in an order in which that can be done.
    #[must_use]
    pub fn to_changes(&self) -> Vec<Change> {
        let members = self.members.values().map(|one| Change::Member((**one).clone()));
        let calendars = self.calendars.values().map(|one| Change::Calendar((**one).clone()));
        let resources = self.resources.values().map(|one| Change::Resource((**one).clone()));
        let rules = self.rules.values().map(|one| Change::Rule((**one).clone()));
        // A series is there before its exceptions.
        let (exceptions, others): (Vec<_>, Vec<_>) =
            self.events.values().partition(|event| event.exception_of.is_some());
        let events = others.into_iter().chain(exceptions).map(|one| Change::Event(Box::new((**one).clone())));
        members.chain(calendars).chain(resources).chain(rules).chain(events).collect()
    }

    fn put_event(&mut self, event: Arc<Event>) {
        self.remove_event(&event.id);
        self.index.put(&event);
        self.events.insert(event.id.clone(), event);
    }

    fn remove_event(&mut self, id: &str) {
        if let Some(event) = self.events.remove(id) {
            self.index.forget(&event);
        }
    }

    /// The instances of one event that meet a stretch of time, the earliest first, without those for which an
    /// exception stands.
    ///
    /// # Errors
    /// When the event's rule or zone cannot be read.
    pub fn instances_of(&self, event: &Arc<Event>, within: &Span) -> Result<Vec<Instance>> {
        if event.recurrence.is_none() {
            let is_in = Span::new(event.span.start, event.span.end).is_some_and(|span| span.meets(within));
            return Ok(is_in.then(|| Instance { event: event.clone(), span: event.span }).into_iter().collect());
        }
        let table = self.index.table(event)?;
        let from = earlier(within.start, table.reach());
        let replaced = self.replaced(event, &table, &Span { start: from, end: within.end })?;
        let mut instances = Vec::new();
        for span in table.spans(from, within.end)? {
            if span.meets(within) && !replaced.contains(&span.start) {
                instances.push(Instance { event: event.clone(), span });
            }
        }
        Ok(instances)
    }

    /// The first time of an event that is not over at a moment, if there is one in the year from there.
    ///
    /// # Errors
    /// When the event's rule or zone cannot be read.
    pub(crate) fn next_of(&self, event: &Arc<Event>, now: Time) -> Result<Option<Span>> {
        let later = Time::from_unix_micros(now.as_unix_micros().saturating_add(A_YEAR)).ok();
        let Some(coming) = later.and_then(|later| Span::new(now, later)) else { return Ok(None) };
        Ok(self.instances_of(event, &coming)?.first().map(|next| next.span))
    }

    /// The starts of a series for which an exception stands that is as far on its way as the series.
    ///
    /// One that is only proposed leaves the instance where it is: until it is confirmed, both times are taken.
    fn replaced(&self, series: &Event, table: &Timetable, within: &Span) -> Result<BTreeSet<Time>> {
        // The name of an instance may be a time that clocks skip, so a little away from it.
        let day = SignedDuration::from_hours(24);
        let from = table.wall(within.start).saturating_sub(day);
        let until = table.wall(within.end).saturating_add(day);
        let mut replaced = BTreeSet::new();
        for (start, id) in self.index.exceptions(&series.id, from, until) {
            if self.events.get(id).is_some_and(|exception| exception.status >= series.status) {
                replaced.insert(table.instant(start)?);
            }
        }
        Ok(replaced)
    }

    /// The events that stand for instances of a series, by the start that they stand for.
    pub fn exceptions_of(&self, series: &str) -> impl Iterator<Item = &Arc<Event>> {
        self.index.exceptions(series, DateTime::MIN, DateTime::MAX).filter_map(|(_, id)| self.events.get(id))
    }

    /// The calendar of a member that the family sees, else the family's, else one that is theirs alone: nobody writes into
    /// that of somebody else unless they name it.
    pub(crate) fn calendar_of(&self, member: &str) -> Option<&Calendar> {
        let all = || self.calendars.values().map(AsRef::as_ref);
        let own = || all().filter(|calendar| calendar.owner.as_deref() == Some(member));
        let seen = own().find(|calendar| calendar.visibility == Visibility::Family);
        seen.or_else(|| self.shared_calendar()).or_else(|| own().next())
    }

    /// The calendar of the whole family.
    pub(crate) fn shared_calendar(&self) -> Option<&Calendar> {
        self.calendars.values().map(AsRef::as_ref).find(|calendar| calendar.owner.is_none())
    }

    /// How an event repeats.
    pub(super) fn timetable(&self, event: &Arc<Event>) -> Result<Arc<Timetable>> {
        self.index.table(event)
    }

    /// The instances of all events that meet a stretch of time, the earliest first.
    ///
    /// # Errors
    /// When a rule or zone cannot be read.
    pub fn instances(&self, within: &Span) -> Result<Vec<Instance>> {
        let mut all = Vec::new();
        for event in self.events.values() {
            all.extend(self.instances_of(event, within)?);
        }
        all.sort_by(|a, b| (a.span, &a.event.id).cmp(&(b.span, &b.event.id)));
        Ok(all)
    }
}

fn earlier(time: Time, by: SignedDuration) -> Time {
    let micros = i64::try_from(by.as_micros()).unwrap_or(i64::MAX);
    Time::from_unix_micros(time.as_unix_micros().saturating_sub(micros)).unwrap_or(time)
}
