//! Builds the plan of a parsed request: a new event, or a modification of an existing one.

use superstep::core::time::Time;
use superstep::{Error, ErrorCode, Result};

use crate::agents::slots::SlotRequest;
use crate::calendar::{CalendarSnapshot, Event, Recurrence, TimeRange};
use crate::models::{EventStatus, EventType};
use crate::parser::ParsedRequest;
use crate::planning::event_plan::{EventModification, EventPlan, EventTarget, PlannedAction, required};

/// Default duration of an event in minutes, if neither the request nor the preferences of the member give one.
const DEFAULT_MINUTES: u32 = 60;

/// A parsed request of a member, with the calendar snapshot and the time at which it is planned.
pub(crate) struct EventRequest<'a> {
    pub(crate) snapshot: &'a CalendarSnapshot,
    pub(crate) user_id: &'a str,
    pub(crate) parsed: &'a ParsedRequest,
    /// Id of the event, if the request creates one.
    pub(crate) id: &'a str,
    pub(crate) now: Time,
}

impl EventRequest<'_> {
    /// Returns the plan of the request. The time of the event may still change, when a slot is chosen or a conflict
    /// resolved.
    ///
    /// # Errors
    /// Returns an error if a modification names no event.
    pub(crate) fn plan(&self) -> Result<EventPlan> {
        match self.parsed.data.event_type {
            EventType::Modify => Ok(EventPlan::new(PlannedAction::Modify(Box::new(self.modification()?)))),
            _ => Ok(EventPlan::new(PlannedAction::Create(Box::new(self.new_event()?)))),
        }
    }

    /// Returns the criteria of the slot search. `event` is the event that the plan creates or modifies.
    pub(crate) fn slot_request(&self, plan: &EventPlan, event: Event) -> SlotRequest {
        let range = self.parsed.time_window;
        let Some(target) = plan.target() else {
            return SlotRequest { event, requested_range: self.requested_range(), minutes: self.minutes(), range };
        };
        // A modification without a time keeps the current time; one with only a time window keeps the current
        // duration.
        let current = Some(target.range).filter(|_| range.is_none());
        let minutes = u32::try_from(target.range.minutes()).unwrap_or(DEFAULT_MINUTES);
        SlotRequest {
            event,
            requested_range: self.requested_range().or(current),
            minutes: self.parsed.minutes.unwrap_or(minutes),
            range,
        }
    }

    /// Returns the duration of the event in minutes: from the request, the preferences of the member, or the
    /// default.
    pub(crate) fn minutes(&self) -> u32 {
        let preferred = self.snapshot.members.get(self.user_id).map(|member| member.preferences.default_minutes);
        self.parsed.minutes.or(preferred).unwrap_or(DEFAULT_MINUTES)
    }

    /// Returns the time range that the request states, if it states both start and end.
    pub(crate) fn requested_range(&self) -> Option<TimeRange> {
        let data = &self.parsed.data;
        data.start_time.zip(data.end_time).and_then(|(start, end)| TimeRange::new(start, end))
    }

    /// Builds the event of a request to create one.
    ///
    /// # Errors
    /// `PolicyRefused` if there is no calendar to which the member may write. Also returns an error if the event
    /// has no duration.
    pub(crate) fn new_event(&self) -> Result<Event> {
        let none =
            || Error::new(ErrorCode::PolicyRefused, "neither a family calendar nor a calendar of your own exists");
        let calendar = self.snapshot.default_calendar(self.user_id).ok_or_else(none)?.id.clone();
        Ok(Event { calendar, ..self.hypothetical_event()? })
    }

    /// Builds the same event without a calendar, for checks only; it is never written.
    ///
    /// # Errors
    /// Returns an error if the event has no duration.
    pub(crate) fn hypothetical_event(&self) -> Result<Event> {
        let data = &self.parsed.data;
        let zone = &self.snapshot.family.zone;
        let title = data.title.clone().unwrap_or_else(|| "Event".to_owned());
        let recurrence = data.recurrence_rule.clone();
        Ok(Event {
            id: self.id.to_owned(),
            uid: format!("{}@superstep", self.id),
            calendar: String::new(),
            title,
            span: self.requested_range().map_or_else(|| self.placeholder_range(), Ok)?,
            zone: zone.clone(),
            is_all_day: self.parsed.is_all_day,
            participants: data.participants.iter().map(|id| required(id)).collect(),
            resources: data.resources.clone(),
            recurrence: recurrence.map(|rule| Recurrence { rule, exdates: Vec::new(), rdates: Vec::new() }),
            recurrence_override: None,
            priority: data.priority.unwrap_or_default(),
            flexibility: data.flexibility.unwrap_or_default(),
            status: EventStatus::Proposed,
            owner: self.user_id.to_owned(),
            sequence: 0,
            location: String::new(),
            notes: String::new(),
            preserved_properties: Vec::new(),
            created_at: self.now,
            updated_at: self.now,
        })
    }

    /// Returns a placeholder time range, used until a slot is chosen.
    fn placeholder_range(&self) -> Result<TimeRange> {
        let end = self.now.as_unix_micros() + i64::from(self.minutes()) * 60_000_000;
        let end = Time::from_unix_micros(end).map_err(|error| Error::internal(error.to_string()))?;
        TimeRange::new(self.now, end).ok_or_else(|| Error::internal("the event has no duration"))
    }

    fn modification(&self) -> Result<EventModification> {
        let ParsedRequest { data, edit, .. } = self.parsed;
        Ok(EventModification {
            target: EventTarget::from_parsed(self.parsed, self.snapshot)?,
            time: self.requested_range(),
            edit: edit.clone(),
            rule: data.recurrence_rule.clone(),
            priority: data.priority,
            flexibility: data.flexibility,
        })
    }
}
