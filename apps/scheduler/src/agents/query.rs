//! Answers to calendar queries (R-FAM-109), in the JSON forms of R-FAM-63. Read-only.
//!
//! Times are in the time zone of the requester. Private events of other members have the title "busy" and cannot be
//! found by their title.

use serde_json::{Map, Value, json};
use superstep::core::time::Time;
use superstep::{Error, ErrorCode, Result};

use super::busy_index::{BusyIndex, is_transparent};
use super::capacity;
use super::conflicts::detect_conflicts_for_viewer;
use super::scan;
use super::slots::{self, SlotRequest};
use super::time_math::{add_minutes, in_time_zone, intersection, year_from};
use super::visibility::{BUSY, Viewer, time_zone_of};
use super::windows::{GRID_MINUTES, shared_day_windows, subtract};
use crate::calendar::{CalendarSnapshot, Event, EventInstance, TimeRange};
use crate::models::{Conflict, EventStatus, QueryData, QueryType, TimeSlot};
use crate::time_zone::NamedTimeZone;

/// A calendar query.
#[derive(Debug, Clone, PartialEq)]
pub struct CalendarQuery {
    /// Kind of the query.
    pub kind: QueryType,
    /// Queried time range. Default: one week from now for free times, one year for events and conflicts, one hour
    /// for resources.
    pub span: Option<TimeRange>,
    /// Ids of the queried members. Empty: all members.
    pub people: Vec<String>,
    /// Ids of the queried resources. Empty: all resources.
    pub resources: Vec<String>,
    /// Words that the title must contain. Empty: any title.
    pub text: String,
    /// Event to be checked for conflicts. Default: the query is about existing conflicts.
    pub event: Option<Event>,
    /// True if the event may be at any time of `span`, instead of only at its own time. Without `span`: within the
    /// next 14 days.
    pub is_open: bool,
}

impl CalendarQuery {
    /// Creates a query about all members and resources, without a time range.
    #[must_use]
    pub fn new(kind: QueryType) -> Self {
        let (people, resources, text) = (Vec::new(), Vec::new(), String::new());
        Self { kind, span: None, people, resources, text, event: None, is_open: false }
    }
}

/// Maximum number of events in an answer.
const MAX_EVENTS: usize = 100;

/// Answers a query of a member.
///
/// # Errors
/// Returns an error if the requester, a member or a resource is unknown, or if a recurrence rule or time zone in
/// the snapshot is invalid.
pub fn answer_query(
    snapshot: &CalendarSnapshot,
    requester: &str,
    query: &CalendarQuery,
    now: Time,
) -> Result<QueryData> {
    let type_mismatch = |text: String| Error::new(ErrorCode::TypeMismatch, text);
    let member =
        snapshot.members.get(requester).ok_or_else(|| type_mismatch(format!("member `{requester}` not found")))?;
    if let Some(unknown) = query.people.iter().find(|id| !snapshot.members.contains_key(*id)) {
        return Err(type_mismatch(format!("member `{unknown}` not found")));
    }
    let zone = time_zone_of(snapshot, &member.id)?;
    let query_context = QueryContext { snapshot, viewer: Viewer::Member(requester), zone, query, now };
    let results = match (query.kind, &query.event) {
        (QueryType::Availability, _) => query_context.availability()?,
        (QueryType::EventLookup, _) => query_context.events()?,
        (QueryType::ResourceStatus, _) => query_context.resources()?,
        (QueryType::ConflictCheck, Some(event)) => query_context.fits(event)?,
        (QueryType::ConflictCheck, None) => query_context.existing_conflicts()?,
    };
    Ok(QueryData { query_type: query.kind, results })
}

struct QueryContext<'a> {
    snapshot: &'a CalendarSnapshot,
    viewer: Viewer<'a>,
    zone: NamedTimeZone,
    query: &'a CalendarQuery,
    now: Time,
}

impl QueryContext<'_> {
    /// Returns the common free times of the queried members, within their day hours.
    fn availability(&self) -> Result<Map<String, Value>> {
        let span = self.span(7 * 24 * 60)?;
        // Past time is cut off, unless the query is only about the past.
        let upcoming = TimeRange::new(span.start.max(self.now), span.end).unwrap_or(span);
        let members: Vec<&str> = if self.query.people.is_empty() {
            self.snapshot.members.keys().map(String::as_str).collect()
        } else {
            self.query.people.iter().map(String::as_str).collect()
        };
        let involves_members = |event: &Event| {
            let mut people = event.participants.iter().map(|participant| participant.member.as_str());
            !is_transparent(event) && people.any(|member| members.contains(&member))
        };
        let index = BusyIndex::new(self.snapshot, &upcoming, involves_members)?;
        let busy: Vec<TimeRange> = index.entries().iter().map(|entry| entry.span).collect();
        let mut free = Vec::new();
        for range in subtract(&shared_day_windows(self.snapshot, &members, &upcoming)?, &busy) {
            if range.minutes() >= GRID_MINUTES {
                let TimeRange { start, end } = in_time_zone(&self.zone, &range)?;
                free.push(json!({ "start": start, "end": end, "members": members }));
            }
        }
        Ok(map("free", Value::Array(free)))
    }

    /// Returns the matching events, earliest first.
    fn events(&self) -> Result<Map<String, Value>> {
        let range = self.span_or_year()?;
        let mut instances: Vec<EventInstance> = Vec::new();
        for event in self.snapshot.events.values().filter(|event| self.matches_query(event)) {
            instances.extend(self.snapshot.instances_of(event, &range)?.into_iter().take(MAX_EVENTS));
        }
        instances.sort_by(|a, b| (a.span, &a.event.id).cmp(&(b.span, &b.event.id)));
        let mut events = Vec::new();
        for instance in instances.iter().take(MAX_EVENTS) {
            events.push(self.event_json(instance)?);
        }
        Ok(map("events", Value::Array(events)))
    }

    fn matches_query(&self, event: &Event) -> bool {
        let query = self.query;
        let has_people = query.people.is_empty()
            || event.participants.iter().any(|participant| query.people.contains(&participant.member));
        let sees = self.viewer.sees(self.snapshot, event);
        let has_resources = query.resources.is_empty()
            || (sees && event.resources.iter().any(|resource| query.resources.contains(resource)));
        let title = event.title.to_lowercase();
        let mut words = query.text.split_whitespace().map(str::to_lowercase).peekable();
        let has_title = words.peek().is_none() || (sees && words.all(|word| title.contains(&word)));
        event.status == EventStatus::Confirmed && has_people && has_resources && has_title
    }

    fn event_json(&self, instance: &EventInstance) -> Result<Value> {
        let (event, span) = (&instance.event, in_time_zone(&self.zone, &instance.span)?);
        let participants: Vec<&String> = event.participants.iter().map(|participant| &participant.member).collect();
        if !self.viewer.sees(self.snapshot, event) {
            return Ok(json!({
                "event_id": event.id, "title": BUSY, "start": span.start, "end": span.end,
                "participants": participants, "is_private": true,
            }));
        }
        Ok(json!({
            "event_id": event.id, "title": event.title, "start": span.start, "end": span.end,
            "participants": participants, "resources": event.resources, "location": event.location,
            "is_all_day": event.is_all_day, "is_private": false,
        }))
    }

    fn resources(&self) -> Result<Map<String, Value>> {
        let span = self.span(60)?;
        let all: Vec<String> = self.snapshot.resources.keys().cloned().collect();
        let requested = if self.query.resources.is_empty() { &all } else { &self.query.resources };
        let availability = capacity::resource_availability(self.snapshot, requested, &span, None)?;
        Ok(map("resources", json!(availability.resource_availability)))
    }

    /// Checks if an event fits. If not, the result contains alternative times.
    fn fits(&self, event: &Event) -> Result<Map<String, Value>> {
        if self.query.is_open {
            let minutes = u32::try_from(event.span.minutes()).unwrap_or(u32::MAX);
            let slot_request =
                SlotRequest { event: event.clone(), requested_range: None, minutes, range: self.query.span };
            let slots = self.slots(&slot_request)?;
            return Ok(fit_results(!slots.is_empty(), &[], &slots));
        }
        let conflicts = detect_conflicts_for_viewer(self.snapshot, event, self.now, self.viewer)?;
        let fits = !conflicts.iter().any(|conflict| conflict.severity.is_blocking());
        let mut slots: Vec<TimeSlot> = Vec::new();
        if !fits {
            let slot_request =
                SlotRequest { event: event.clone(), requested_range: Some(event.span), minutes: 0, range: None };
            slots = self.slots(&slot_request)?.split_off(1);
        }
        Ok(fit_results(fits, &conflicts, &slots))
    }

    /// Returns existing conflicts of the queried members.
    fn existing_conflicts(&self) -> Result<Map<String, Value>> {
        let mut conflicts = scan::scan_conflicts_within(self.snapshot, self.span_or_year()?, self.viewer)?;
        let people = &self.query.people;
        conflicts.retain(|conflict| {
            people.is_empty() || conflict.participants_affected.iter().any(|member| people.contains(member))
        });
        let fits = !conflicts.iter().any(|conflict| conflict.severity.is_blocking());
        Ok(fit_results(fits, &conflicts, &[]))
    }

    /// Returns candidate times in the time zone of the requester.
    fn slots(&self, slot_request: &SlotRequest) -> Result<Vec<TimeSlot>> {
        let mut slots = slots::find_slots(self.snapshot, slot_request, self.now)?.candidate_times;
        for slot in &mut slots {
            slot.start_time = self.zone.with_local_offset(slot.start_time)?;
            slot.end_time = self.zone.with_local_offset(slot.end_time)?;
        }
        Ok(slots)
    }

    /// Returns the queried time range. Default: one year from now.
    fn span_or_year(&self) -> Result<TimeRange> {
        if self.query.span.is_some() { self.span(0) } else { year_from(&self.zone, self.now) }
    }

    /// Returns the queried time range. Default: `minutes` from now. At most one year.
    fn span(&self, minutes: i64) -> Result<TimeRange> {
        let requested = self.query.span.unwrap_or(TimeRange { start: self.now, end: add_minutes(self.now, minutes) });
        let year = year_from(&self.zone, requested.start)?;
        Ok(intersection(&requested, &year).unwrap_or(requested))
    }
}

fn fit_results(fits: bool, conflicts: &[Conflict], slots: &[TimeSlot]) -> Map<String, Value> {
    let mut results = map("fits", Value::Bool(fits));
    results.insert("conflicts".to_owned(), json!(conflicts));
    results.insert("slots".to_owned(), json!(slots));
    results
}

fn map(name: &str, value: Value) -> Map<String, Value> {
    Map::from_iter([(name.to_owned(), value)])
}
