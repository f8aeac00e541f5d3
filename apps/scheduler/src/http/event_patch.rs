//! Changes of an event, and their result on a calendar.
//!
//! Times are those of the referenced instance. If a whole series moves, every instance moves by the same amount.

use jiff::civil::DateTime;
use schemars::JsonSchema;
use serde::{Deserialize, Deserializer};
use superstep::core::time::Time;
use superstep::{Error, ErrorCode, Result};
use utoipa::ToSchema;

use super::errors::field_error;
use crate::agents::conflicts::{self, ChangeConflicts};
use crate::agents::{can_modify_instances, format};
use crate::calendar::series::{self, Reschedule, SeriesSelection};
use crate::calendar::{
    CalendarChange, CalendarSnapshot, Event, Flexibility, Participant, Priority, Recurrence, TimeRange, validate_rrule,
};
use crate::models::{Conflict, ConflictType};
use crate::time_zone::NamedTimeZone;

/// Changes to an event. Missing fields stay unchanged.
#[derive(Debug, Clone, Deserialize, JsonSchema, ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct EventPatch {
    /// Id of the member who changes the event.
    pub(super) user_id: String,
    /// Instances of a series: `this`, `following` or `all`.
    #[schema(value_type = Option<String>)]
    pub(super) which: Option<SeriesScopeParam>,
    /// Local start of the selected instance, as in `occurrence` of an event.
    pub(super) occurrence: Option<String>,
    title: Option<String>,
    /// New start; without an offset in the local time of the requester.
    start: Option<String>,
    /// New end; default: the duration stays the same.
    end: Option<String>,
    participants: Option<Vec<ParticipantInput>>,
    resources: Option<Vec<String>>,
    /// Recurrence as a value of RRULE; null removes the recurrence.
    #[serde(default, deserialize_with = "deserialize_present")]
    #[schemars(with = "Option<String>")]
    #[schema(value_type = Option<String>)]
    recurrence_rule: Option<Option<String>>,
    #[schema(value_type = Option<String>)]
    priority: Option<Priority>,
    #[schema(value_type = Option<String>)]
    flexibility: Option<Flexibility>,
    location: Option<String>,
    notes: Option<String>,
    /// Apply the change despite conflicts (default: false). Resources over capacity still block it.
    #[serde(default)]
    pub(super) force: bool,
}

/// A participant of an event.
#[derive(Debug, Clone, Deserialize, JsonSchema, ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct ParticipantInput {
    /// Id of the member.
    id: String,
    /// True if the event cannot take place without the member (default: true).
    #[serde(default = "yes")]
    is_required: bool,
}

const fn yes() -> bool {
    true
}

/// Instances of a series that a change applies to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(super) enum SeriesScopeParam {
    This,
    Following,
    All,
}

/// Deserializes a field that is present, even if it is `null`.
fn deserialize_present<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Option<String>>, D::Error> {
    Option::<String>::deserialize(deserializer).map(Some)
}

/// Result of applying a change to a calendar.
#[derive(Debug, Clone)]
pub(super) struct PatchResult {
    /// The event after the change.
    pub(super) event: Event,
    pub(super) changes: Vec<CalendarChange>,
    /// Conflicts after the change.
    pub(super) conflicts: Vec<Conflict>,
    /// True if the change affects scheduling. A change of texts only is not blocked by existing conflicts.
    affects_scheduling: bool,
    /// Time range of the referenced instance after the change.
    pub(super) instance_range: TimeRange,
}

impl PatchResult {
    /// Returns true if conflicts prevent the change.
    pub(super) fn is_blocked(&self, is_forced: bool) -> bool {
        let blocking = || self.conflicts.iter().filter(|conflict| conflict.severity.is_blocking());
        self.affects_scheduling && blocking().next().is_some() && !(is_forced && self.can_be_forced())
    }

    /// Returns true if no resource is over capacity.
    pub(super) fn can_be_forced(&self) -> bool {
        let is_full =
            |conflict: &Conflict| conflict.severity.is_blocking() && conflict.kind == ConflictType::ResourceConflict;
        !self.conflicts.iter().any(is_full)
    }
}

/// Parses the local start of an instance.
///
/// # Errors
/// Returns an error if the text is not a local date-time.
pub(super) fn parse_local_datetime(text: &str) -> Result<DateTime> {
    let local_time: Result<DateTime, _> = text.parse();
    local_time.map_err(|_| {
        field_error("/occurrence", format!("`{text}` is not a local date-time such as `2026-01-06T17:00:00`"))
    })
}

/// Returns the selected instances of an event.
///
/// # Errors
/// Returns an error if the event is a series, the scope needs an instance, and `occurrence` is missing.
pub(super) fn series_selection(
    event: &Event,
    scope: Option<SeriesScopeParam>,
    occurrence: Option<DateTime>,
) -> Result<SeriesSelection> {
    if event.recurrence.is_none() && event.recurrence_override.is_none() {
        return Ok(SeriesSelection::All);
    }
    // An override records the instance that it replaces.
    let at = event.recurrence_override.as_ref().map(|replaced| replaced.start).or(occurrence);
    match (scope, at) {
        (Some(SeriesScopeParam::All), _) | (None, None) => Ok(SeriesSelection::All),
        (Some(SeriesScopeParam::This) | None, Some(at)) => Ok(SeriesSelection::This(at)),
        (Some(SeriesScopeParam::Following), Some(at)) => Ok(SeriesSelection::Following(at)),
        (Some(_), None) => Err(field_error("/occurrence", "this is missing: it selects the instance of the series")),
    }
}

impl EventPatch {
    /// Applies the change to a calendar.
    ///
    /// # Errors
    /// `NotFound`, `PolicyRefused`, or an invalid value with its location.
    pub(super) fn apply_to(
        &self,
        snapshot: &CalendarSnapshot,
        id: &str,
        now: Time,
        zone: &NamedTimeZone,
    ) -> Result<PatchResult> {
        let not_found = || Error::new(ErrorCode::NotFound, format!("event `{id}` not found"));
        let existing = snapshot.events.get(id).ok_or_else(not_found)?;
        let occurrence = self.occurrence.as_deref().map(parse_local_datetime).transpose()?;
        let selection = series_selection(existing, self.which, occurrence)?;
        if !can_modify_instances(snapshot, &self.user_id, existing, selection) {
            return Err(Error::new(ErrorCode::PolicyRefused, "you do not have permission to change this event"));
        }
        let current = current_range(existing, occurrence)?;
        let requested = self.requested_range(&current, zone)?;
        let scheduled = series::scheduled_range(snapshot, existing, selection)?;
        let time = requested.map(|requested| Reschedule { current, requested, scheduled });
        let (mut edited, mut applied) = (None, Ok(()));
        let changes = series::edit(snapshot, id, selection, now, |event| {
            let before = event.clone();
            if applied.is_ok() {
                applied = self.apply(event, snapshot, time.as_ref());
            }
            // If both the series and a moved instance are edited, the series comes first and is the one reported.
            edited.get_or_insert_with(|| (before, event.clone()));
        });
        // Invalid values of the body are reported before errors that follow from them.
        applied?;
        let changes = changes?;
        let Some((before, after)) = edited else { return Err(Error::internal("an edit changed no event")) };
        let mut copy = snapshot.clone();
        changes.iter().cloned().for_each(|change| copy.apply(change));
        let event = copy.events.get(&after.id).map_or(after, |event| (**event).clone());
        let ChangeConflicts { of_event: own, of_other_events: others } =
            conflicts::detect_change_conflicts(snapshot, &copy, (&event, &changes), &self.user_id, now)?;
        let affects_scheduling = scheduling_fields(&before) != scheduling_fields(&event) || !others.is_empty();
        let conflicts = own.into_iter().chain(others).collect();
        Ok(PatchResult { event, changes, conflicts, affects_scheduling, instance_range: requested.unwrap_or(current) })
    }

    fn apply(&self, event: &mut Event, snapshot: &CalendarSnapshot, time: Option<&Reschedule>) -> Result<()> {
        if let Some(title) = &self.title {
            let title = title.trim();
            if title.is_empty() {
                return Err(field_error("/title", "an event needs a title"));
            }
            title.clone_into(&mut event.title);
        }
        time.map_or(Ok(()), |time| series::reschedule(event, time))?;
        self.apply_participants_and_resources(event, snapshot)?;
        self.apply_recurrence(event)?;
        event.priority = self.priority.unwrap_or(event.priority);
        event.flexibility = self.flexibility.unwrap_or(event.flexibility);
        event.location = self.location.clone().unwrap_or_else(|| event.location.clone());
        event.notes = self.notes.clone().unwrap_or_else(|| event.notes.clone());
        Ok(())
    }

    /// Returns the requested time range of the referenced instance; `None` if the change has no times.
    fn requested_range(&self, current: &TimeRange, zone: &NamedTimeZone) -> Result<Option<TimeRange>> {
        if self.start.is_none() && self.end.is_none() {
            return Ok(None);
        }
        let parse = |pointer: &str, text: &str| {
            Time::parse_event(text, zone.name()).map_err(|error| field_error(pointer, error.message.clone()))
        };
        let start = self.start.as_deref().map(|text| parse("/start", text)).transpose()?;
        let end = self.end.as_deref().map(|text| parse("/end", text)).transpose()?;
        let same_length = |start: Time| later(start, current.end.as_unix_micros() - current.start.as_unix_micros());
        let end = end.or(start.map(same_length)).unwrap_or(current.end);
        let start = start.unwrap_or(current.start);
        let Some(requested) = TimeRange::new(start, end) else {
            return Err(field_error("/end", format!("the end, {end}, is not after the start, {start}")));
        };
        if requested.is_too_long() {
            return Err(field_error("/end", "an event can last at most one year"));
        }
        Ok(Some(requested))
    }

    /// Applies participants and resources.
    fn apply_participants_and_resources(&self, event: &mut Event, snapshot: &CalendarSnapshot) -> Result<()> {
        if let Some(people) = &self.participants {
            if let Some(index) = people.iter().position(|person| !snapshot.members.contains_key(&person.id)) {
                let message = format!("unknown family member `{}`", people[index].id);
                return Err(field_error(&format!("/participants/{index}/id"), message));
            }
            let to_participant = |participant: &ParticipantInput| Participant {
                member: participant.id.clone(),
                is_required: participant.is_required,
            };
            event.participants = people.iter().map(to_participant).collect();
        }
        if let Some(resources) = &self.resources {
            if let Some(index) = resources.iter().position(|id| !snapshot.resources.contains_key(id)) {
                let ids: Vec<&str> = snapshot.resources.keys().map(String::as_str).collect();
                let message =
                    format!("resource `{}` not found; the family has {}", resources[index], format::join_list(&ids));
                return Err(field_error(&format!("/resources/{index}"), message));
            }
            event.resources.clone_from(resources);
        }
        Ok(())
    }

    fn apply_recurrence(&self, event: &mut Event) -> Result<()> {
        let selects_other_instances = event.recurrence_override.is_some()
            && matches!(self.which, Some(SeriesScopeParam::Following | SeriesScopeParam::All));
        let Some(rule) = self.recurrence_rule.as_ref().filter(|_| !selects_other_instances) else { return Ok(()) };
        let Some(rule) = rule.as_deref().map(str::trim).filter(|rule| !rule.is_empty()) else {
            event.recurrence = None;
            return Ok(());
        };
        let zone = NamedTimeZone::from_iana_name(&event.zone)?;
        let checked = validate_rrule(rule, zone.to_local(event.span.start), &zone);
        let checked = checked.map_err(|error| field_error("/recurrence_rule", error.message()))?;
        let (exdates, rdates) = event.recurrence.take().map(|old| (old.exdates, old.rdates)).unwrap_or_default();
        event.recurrence = Some(Recurrence { rule: checked.rule, exdates, rdates });
        Ok(())
    }
}

/// Returns the fields that determine the conflicts of an event.
fn scheduling_fields(event: &Event) -> (TimeRange, bool, &[Participant], &[String], Option<&Recurrence>) {
    (event.span, event.is_all_day, event.participants.as_slice(), event.resources.as_slice(), event.recurrence.as_ref())
}

/// Returns the time range of the referenced instance.
fn current_range(event: &Event, occurrence: Option<DateTime>) -> Result<TimeRange> {
    let Some(at) = occurrence.filter(|_| event.recurrence.is_some()) else { return Ok(event.span) };
    let zone = NamedTimeZone::from_iana_name(&event.zone)?;
    let start = zone.to_instant(at)?;
    // The shift of the whole series is measured from this instance.
    if !series::has(event, start)? {
        return Err(field_error("/occurrence", format!("`{}` does not start at {at}", event.title)));
    }
    let length = zone.to_local(event.span.end).duration_since(zone.to_local(event.span.start));
    Ok(TimeRange { start, end: zone.to_instant(at.saturating_add(length))? })
}

fn later(time: Time, micros: i64) -> Time {
    Time::from_unix_micros(time.as_unix_micros().saturating_add(micros)).unwrap_or(time)
}
