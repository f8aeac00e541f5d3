//! Plan of a request, and its result when applied to a calendar snapshot.
//!
//! A plan stores only what the user asked for (a new event, or the modification of an existing one) and the
//! resolutions that were chosen since, in order. The plan is applied to the current snapshot each time it is used,
//! the last time in the transaction that writes the calendar, so that concurrent changes are never overwritten.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use superstep::core::time::Time;
use superstep::{Error, ErrorCode, Result};

use crate::agents::conflicts::{self, ChangeConflicts};
use crate::agents::resolution;
use crate::calendar::series::{self, Reschedule, SeriesSelection};
use crate::calendar::{
    CalendarChange, CalendarSnapshot, Event, Flexibility, Participant, Priority, Recurrence, TimeRange,
};
use crate::models::{EventStatus, ProposedResolution};
use crate::parser::{EventEdit, ParsedRequest, SeriesScope};
use crate::time_zone::NamedTimeZone;

/// A request to create or modify an event, with the resolutions chosen so far.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct EventPlan {
    /// Requested action.
    #[serde(rename = "wish")]
    pub(crate) action: PlannedAction,
    /// Chosen resolutions of conflicts, in order: each is applied to the result of the previous ones.
    #[serde(rename = "ways")]
    pub(crate) resolutions: Vec<ProposedResolution>,
}

/// Action that a request asks for.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum PlannedAction {
    /// Creates an event that is not on the calendar yet.
    #[serde(rename = "new")]
    Create(Box<Event>),
    /// Modifies an existing event.
    #[serde(rename = "other")]
    Modify(Box<EventModification>),
}

/// A modification of an event. Fields without a value keep the current value of the event.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct EventModification {
    pub(crate) target: EventTarget,
    /// New time range of the referenced instance. If the target is several instances, all move by the same amount.
    pub(crate) time: Option<TimeRange>,
    pub(crate) edit: EventEdit,
    /// New recurrence rule.
    pub(crate) rule: Option<String>,
    pub(crate) priority: Option<Priority>,
    pub(crate) flexibility: Option<Flexibility>,
}

/// An event on the calendar, or a selection of the instances of a series.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct EventTarget {
    /// Id of the event.
    pub(crate) event: String,
    /// Selected instances, if the event is a series.
    #[serde(rename = "which")]
    pub(crate) selection: SeriesSelection,
    /// Time range of the referenced instance when the plan was made.
    #[serde(rename = "seen")]
    pub(crate) range: TimeRange,
}

/// Result of applying a [`EventPlan`] to a calendar snapshot.
pub(crate) struct PlanPreview {
    /// The event after the plan; rejected if the chosen resolution is to cancel it.
    pub(crate) event: Event,
    /// All changes that the plan writes.
    pub(crate) changes: Vec<CalendarChange>,
    /// Calendar snapshot after the changes.
    pub(crate) snapshot: CalendarSnapshot,
}

impl EventPlan {
    /// Creates a plan without resolutions.
    pub(crate) fn new(action: PlannedAction) -> Self {
        Self { action, resolutions: Vec::new() }
    }

    /// Returns the event that the plan modifies, if it modifies one.
    pub(crate) fn target(&self) -> Option<&EventTarget> {
        match &self.action {
            PlannedAction::Create(_) => None,
            PlannedAction::Modify(modification) => Some(&modification.target),
        }
    }

    /// Applies the plan of a member to a calendar snapshot.
    ///
    /// # Errors
    /// Returns an error if the plan no longer applies to the calendar.
    pub(crate) fn apply_to(&self, snapshot: &CalendarSnapshot, requester: &str, now: Time) -> Result<PlanPreview> {
        let (mut event, mut changes) = self.action.apply_to(snapshot, now)?;
        let mut planned = with_changes(snapshot, &changes);
        if let PlannedAction::Create(new) = &self.action {
            drop_later_proposals(&mut planned, new);
        }
        for chosen in &self.resolutions {
            let (after, more) = resolution::apply_resolution(&planned, &event, chosen, requester, now)?;
            planned = with_changes(&planned, &more);
            changes.retain(|change| !more.iter().any(|later| changed_event_id(later) == changed_event_id(change)));
            changes.extend(more);
            event = after;
        }
        if event.status != EventStatus::Rejected {
            return Ok(PlanPreview { event, changes, snapshot: planned });
        }
        // The event is abandoned, and with it all changes that other resolutions made for it. A modified event
        // stays as it was.
        let changes = match &self.action {
            PlannedAction::Create(_) => vec![CalendarChange::Event(Box::new(event.clone()))],
            PlannedAction::Modify(_) => Vec::new(),
        };
        Ok(PlanPreview { event, snapshot: with_changes(snapshot, &changes), changes })
    }
}

impl PlannedAction {
    /// Returns the event after the action, and all changes that the action needs.
    fn apply_to(&self, snapshot: &CalendarSnapshot, now: Time) -> Result<(Event, Vec<CalendarChange>)> {
        match self {
            Self::Create(event) => Ok(((**event).clone(), vec![CalendarChange::Event(event.clone())])),
            Self::Modify(modification) => modification.apply_to(snapshot, now),
        }
    }
}

impl EventModification {
    fn apply_to(&self, snapshot: &CalendarSnapshot, now: Time) -> Result<(Event, Vec<CalendarChange>)> {
        self.check(snapshot)?;
        let EventTarget { event, selection, .. } = &self.target;
        let scheduled =
            series::scheduled_range(snapshot, snapshot.events.get(event).ok_or_else(event_removed)?, *selection)?;
        let (mut applied, mut edited) = (Ok(()), None);
        let changes = series::edit(snapshot, event, *selection, now, |event| {
            if applied.is_ok() {
                applied = self.apply(event, scheduled);
            }
            // If both the series and a moved instance are edited, the series comes first and is the one reported.
            edited.get_or_insert_with(|| event.clone());
        });
        applied?;
        let changes = changes?;
        let edited = edited.ok_or_else(event_removed)?;
        // The recurrence rule may have moved the event to another day.
        let final_event = changes.iter().find_map(|change| match change {
            CalendarChange::Event(event) if event.id == edited.id => Some((**event).clone()),
            _ => None,
        });
        Ok((final_event.unwrap_or(edited), changes))
    }

    /// Checks that the referenced instance still exists, because the shift of a whole series is measured from that
    /// instance.
    fn check(&self, snapshot: &CalendarSnapshot) -> Result<()> {
        let EventTarget { event, selection, range } = &self.target;
        let event = snapshot.events.get(event).ok_or_else(event_removed)?;
        if *selection != SeriesSelection::All || self.time.is_none() || event.recurrence.is_none() {
            return Ok(());
        }
        let exists = snapshot.instances_of(event, range)?.iter().any(|instance| instance.span.start == range.start);
        if exists { Ok(()) } else { Err(event_removed()) }
    }

    /// Returns the requested time range. An event that is only moved keeps its current duration.
    fn keep_duration(&self, current: &TimeRange, requested: &TimeRange) -> TimeRange {
        let length = |span: &TimeRange| span.end.as_unix_micros() - span.start.as_unix_micros();
        let end = Time::from_unix_micros(requested.start.as_unix_micros() + length(current)).ok();
        let is_moved_only = length(requested) == length(&self.target.range);
        end.filter(|_| is_moved_only).and_then(|end| TimeRange::new(requested.start, end)).unwrap_or(*requested)
    }

    fn apply(&self, event: &mut Event, scheduled: Option<TimeRange>) -> Result<()> {
        if let Some(time) = &self.time {
            // A single event moves to the requested time, even if it was moved since the plan was made.
            let current = if event.recurrence.is_some() { self.target.range } else { event.span };
            let requested = self.keep_duration(&current, time);
            series::reschedule(event, &Reschedule { current, requested, scheduled })?;
        }
        let edit = &self.edit;
        event.participants.retain(|participant| !edit.remove_people.contains(&participant.member));
        for person in &edit.add_people {
            if !event.participants.iter().any(|participant| participant.member == *person) {
                event.participants.push(required(person));
            }
        }
        event.resources.retain(|resource| !edit.remove_resources.contains(resource));
        for resource in &edit.add_resources {
            if !event.resources.contains(resource) {
                event.resources.push(resource.clone());
            }
        }
        if let Some(title) = &edit.title {
            event.title.clone_from(title);
        }
        if let Some(rule) = &self.rule {
            let old = event.recurrence.take();
            let (exdates, rdates) = old.map(|old| (old.exdates, old.rdates)).unwrap_or_default();
            event.recurrence = Some(Recurrence { rule: rule.clone(), exdates, rdates });
        }
        event.priority = self.priority.unwrap_or(event.priority);
        event.flexibility = self.flexibility.unwrap_or(event.flexibility);
        Ok(())
    }
}

impl EventTarget {
    /// Returns the event of a parsed request and the selected instances. Default: the referenced instance alone.
    ///
    /// # Errors
    /// Returns an error if the event is not on the calendar, or a series has no future instance.
    pub(crate) fn from_parsed(parsed: &ParsedRequest, snapshot: &CalendarSnapshot) -> Result<Self> {
        let event = parsed.event_ids.first().and_then(|id| snapshot.events.get(id)).ok_or_else(event_removed)?;
        let range = parsed.instance.unwrap_or(event.span);
        let at = match &event.recurrence_override {
            // An override records the instance that it replaces, even if the override was moved.
            Some(replaced) => Some(replaced.start),
            None if event.recurrence.is_some() => {
                let zone = NamedTimeZone::from_iana_name(&event.zone)?;
                parsed.instance.map(|instance| zone.to_local(instance.start))
            }
            None => return Ok(Self { event: event.id.clone(), selection: SeriesSelection::All, range }),
        };
        let selection = match (parsed.scope, at) {
            (Some(SeriesScope::All), _) => SeriesSelection::All,
            (Some(SeriesScope::Following), Some(at)) => SeriesSelection::Following(at),
            (Some(SeriesScope::This) | None, Some(at)) => SeriesSelection::This(at),
            (_, None) => return Err(event_removed()),
        };
        Ok(Self { event: event.id.clone(), selection, range })
    }
}

impl PlanPreview {
    /// Detects the conflicts of everything that would be written, described for the requester; empty if there are
    /// no changes. `snapshot` is the calendar snapshot before the changes.
    pub(crate) fn conflicts(&self, snapshot: &CalendarSnapshot, requester: &str, now: Time) -> Result<ChangeConflicts> {
        if self.changes.is_empty() {
            return Ok(ChangeConflicts::default());
        }
        conflicts::detect_change_conflicts(snapshot, &self.snapshot, (&self.event, &self.changes), requester, now)
    }

    /// Returns true if the chosen resolution is to abandon the event.
    pub(crate) fn is_abandoned(&self) -> bool {
        self.event.status == EventStatus::Rejected
    }

    /// Returns the event as shown to users. A series is shown at its next instance, because its first one may be past
    /// or have been overridden.
    pub(crate) fn next_instance(&self, now: Time) -> Result<Event> {
        let event = Arc::new(self.event.clone());
        let is_series = event.recurrence.is_some();
        let next = if is_series { self.snapshot.next_instance(&event, now)? } else { None };
        Ok(Event { span: next.unwrap_or(event.span), ..self.event.clone() })
    }

    /// Returns all changes, with the event confirmed.
    pub(crate) fn confirmed(self) -> Vec<CalendarChange> {
        let confirm = |change| match change {
            CalendarChange::Event(mut event) if event.status < EventStatus::Confirmed => {
                event.status = EventStatus::Confirmed;
                CalendarChange::Event(event)
            }
            other => other,
        };
        self.changes.into_iter().map(confirm).collect()
    }
}

/// Creates a required participant.
pub(crate) fn required(member: &str) -> Participant {
    Participant { member: member.to_owned(), is_required: true }
}

/// Removes proposals that are later than `event`. Of two proposals for the same time the first one wins; otherwise
/// each would block the other. Modifications are not proposals: they are invisible until written, so that no
/// proposal waits for them.
fn drop_later_proposals(snapshot: &mut CalendarSnapshot, event: &Event) {
    let is_later = |other: &Event| (other.created_at, &other.id) > (event.created_at, &event.id);
    let later = snapshot.events.values().filter(|other| other.status < EventStatus::Confirmed && is_later(other));
    for id in later.map(|other| other.id.clone()).collect::<Vec<_>>() {
        snapshot.apply(CalendarChange::RemoveEvent(id));
    }
}

fn with_changes(snapshot: &CalendarSnapshot, changes: &[CalendarChange]) -> CalendarSnapshot {
    let mut snapshot = snapshot.clone();
    changes.iter().cloned().for_each(|change| snapshot.apply(change));
    snapshot
}

/// Returns the id of the event that a change concerns.
fn changed_event_id(change: &CalendarChange) -> Option<&str> {
    match change {
        CalendarChange::Event(event) => Some(&event.id),
        CalendarChange::RemoveEvent(id) => Some(id),
        _ => None,
    }
}

fn event_removed() -> Error {
    Error::new(ErrorCode::NotFound, "the event is no longer on the calendar")
}
