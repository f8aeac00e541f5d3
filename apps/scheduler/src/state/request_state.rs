//! Request state that nodes exchange through the `notes` field of the state. A new request resets `notes`.

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use superstep::core::time::Time;
use superstep::{Error, Result};

use crate::agents::format;
use crate::calendar::{CalendarSnapshot, TimeRange, validate_rrule};
use crate::models::EventType;
use crate::parser::{self, MissingField, ParsedRequest, SeriesScope, SpanKind, UnknownName};
use crate::planning::event_plan::EventPlan;
use crate::state::FamilySchedulerState;
use crate::state_utils::{CONFIDENCE_THRESHOLD, MIN_CONFIDENCE};
use crate::time_zone::NamedTimeZone;

/// Key of the flag that the user confirmed a parse with low confidence.
pub(crate) const CONFIRMED: &str = "confirmed";
/// Key of the problems of the request that the user must resolve.
pub(crate) const PROBLEMS: &str = "problems";
/// Key of the parsed request.
pub(crate) const PARSED_REQUEST: &str = "understood";
/// Key of the reply of the language model, with the texts that were parsed.
pub(crate) const MODEL_REPLY: &str = "heard";
/// Key of the answers that the user gave to clarifications.
pub(crate) const ANSWERS: &str = "answers";
/// Key of the id of the event that the request creates.
pub(crate) const EVENT: &str = "event";
/// Key of the plan.
pub(crate) const PLAN: &str = "plan";
/// Key of the number of resolutions applied so far.
pub(crate) const ROUNDS: &str = "rounds";
/// Key of the flag that the user must confirm before the calendar is written.
pub(crate) const MUST_ASK: &str = "must_ask";

/// Key of the confirmation decision, saved if the calendar store was unavailable after the user answered.
pub(crate) const DECISION: &str = "given";

/// Key of the flag that the user declined.
pub(crate) const DECLINED: &str = "declined";

/// A confirmation decision that survives a failed write, with the idempotency key of that write.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct ConfirmationDecision {
    /// True if the calendar is to be written.
    pub(crate) confirm: bool,
    /// Idempotency key of the task that first tried to write.
    pub(crate) task: String,
}

/// Answer to a clarification.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct ClarificationAnswer {
    /// Answer as text.
    pub text: String,
    /// Answer as fields.
    pub fields: ClarificationFields,
}

/// Fields of an answer to a clarification.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct ClarificationFields {
    /// Title of the event.
    pub title: Option<String>,
    /// Start of the event; without an offset in the local time of the family.
    pub start_time: Option<String>,
    /// End of the event; without an offset in the local time of the family.
    pub end_time: Option<String>,
    /// Ids of the participants.
    pub participants: Option<Vec<String>>,
    /// Ids of the required resources.
    pub resources: Option<Vec<String>>,
    /// Id of the selected event.
    pub event_id: Option<String>,
    /// Unknown names to ignore.
    pub ignore: Vec<String>,
    /// Unknown names to add to the family; parents only.
    pub add: Vec<NewFamilyName>,
    /// Confirm that the request was parsed correctly.
    pub confirm: bool,
}

/// A new member or resource of the family.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct NewFamilyName {
    /// The name as it was written.
    pub name: String,
    /// Kind of the name.
    pub kind: NewNameKind,
}

/// Kind of a new name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum NewNameKind {
    /// A member.
    Person,
    /// A resource.
    Resource,
}

impl NewNameKind {
    /// Returns the serialized name.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Person => "person",
            Self::Resource => "resource",
        }
    }
}

/// A reply of a language model, cached with the texts that it parsed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct CachedModelReply {
    /// Text of the request, followed by the texts of the answers.
    #[serde(rename = "words")]
    pub(crate) texts: Vec<String>,
    #[serde(rename = "answered")]
    pub(crate) reply: ModelReply,
}

/// Result of a model call.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum ModelReply {
    /// The JSON object that the model returned.
    #[serde(rename = "said")]
    Parsed(Value),
    /// Reason why the model returned nothing usable.
    #[serde(rename = "nothing")]
    Failed(String),
}

impl ClarificationFields {
    /// Merges the answered fields into the parsed request. `event_id` is left to the parser, which receives it
    /// together with the requested changes and times.
    pub(crate) fn merge_into(&self, parsed: &mut ParsedRequest, snapshot: &CalendarSnapshot, now: Time) {
        if let Some(title) = &self.title {
            parsed.data.title = Some(title.clone());
            parsed.missing.retain(|field| *field != MissingField::Title);
        }
        self.fill_time(parsed, snapshot, now);
        let data = &mut parsed.data;
        if let Some(people) = &self.participants {
            data.participants.clone_from(people);
        }
        if let Some(resources) = &self.resources {
            data.resources.clone_from(resources);
        }
        // Answered participants or resources also resolve unknown names of that kind.
        let is_settled = |unknown: &UnknownName| match unknown.is_resource_like {
            true => self.resources.is_some(),
            false => self.participants.is_some(),
        };
        parsed.unknown_names.retain(|unknown| !self.ignore.contains(&unknown.text) && !is_settled(unknown));
        parsed.ambiguities.retain(|ambiguity| !self.resolves(ambiguity.about));
        // Confirmed ambiguities raise the confidence only if it already reaches the minimum.
        let is_clear = parsed.ambiguities.is_empty() || (self.confirm && parsed.confidence.value() >= MIN_CONFIDENCE);
        if self.confirm {
            parsed.ambiguities.clear();
        }
        let is_settled = is_clear && parsed.missing.is_empty() && parsed.problems.is_empty();
        let has_one_event = parsed.event_ids.len() == 1 || parsed.data.event_type == EventType::Create;
        if is_settled && has_one_event && *self != Self::default() {
            parsed.confidence = parsed.confidence.at_least(CONFIDENCE_THRESHOLD);
        }
    }

    /// Returns true if the answer resolves an ambiguity about this part.
    fn resolves(&self, about: SpanKind) -> bool {
        match about {
            SpanKind::Title => self.title.is_some(),
            SpanKind::Date | SpanKind::Time => self.start_time.is_some(),
            SpanKind::Length => self.end_time.is_some(),
            SpanKind::Change => self.start_time.is_some() || self.end_time.is_some(),
            SpanKind::Person => self.participants.is_some(),
            SpanKind::Resource => self.resources.is_some(),
            _ => false,
        }
    }

    /// Merges the answered times. Invalid times are reported like those of a sentence.
    fn fill_time(&self, parsed: &mut ParsedRequest, snapshot: &CalendarSnapshot, now: Time) {
        if self.start_time.is_none() && self.end_time.is_none() {
            return;
        }
        // A family with an unknown time zone cannot be stored.
        let Ok(zone) = NamedTimeZone::from_iana_name(&snapshot.family.zone) else { return };
        if parsed.data.event_type == EventType::Cancel {
            return self.choose_instance(parsed, snapshot, &zone, now);
        }
        parsed.missing.retain(|field| !matches!(field, MissingField::Date | MissingField::Time | MissingField::Change));
        parsed.problems.clear();
        let span = self.time(parsed, &zone, now).and_then(|span| first_occurrence(parsed, span, &zone));
        match span {
            Ok(span) => {
                let is_midnight = |time: Time| zone.to_local(time).time() == jiff::civil::Time::midnight();
                parsed.is_all_day &= is_midnight(span.start) && is_midnight(span.end);
                (parsed.data.start_time, parsed.data.end_time) = (Some(span.start), Some(span.end));
                parsed.time_window = None;
            }
            Err(problem) => parsed.problems.push(problem),
        }
    }

    /// Selects the instance to cancel. A cancellation has no new time, so `start_time` names an instance of the
    /// event.
    fn choose_instance(
        &self,
        parsed: &mut ParsedRequest,
        snapshot: &CalendarSnapshot,
        zone: &NamedTimeZone,
        now: Time,
    ) {
        let [id] = parsed.event_ids.as_slice() else { return };
        let (Some(event), Some(text)) = (snapshot.events.get(id), &self.start_time) else { return };
        parsed.problems.clear();
        let start = match Time::parse_event(text, zone.name()) {
            Ok(start) => start,
            Err(error) => return parsed.problems.push(invalid_time(&error.message)),
        };
        let range = Time::from_unix_micros(start.as_unix_micros().saturating_add(1)).ok();
        let range = range.and_then(|next| TimeRange::new(start, next));
        let instances = range.and_then(|range| snapshot.instances_of(event, &range).ok()).unwrap_or_default();
        let instance =
            instances.iter().map(|instance| instance.span).find(|span| span.start == start && span.end > now);
        let Some(instance) = instance else {
            let local_time = zone.to_local(start);
            let problem =
                format!("There is no {} on {}.", format::quoted(&event.title), format::format_datetime(local_time));
            return parsed.problems.push(problem);
        };
        // With the event and the instance known, a cancellation needs nothing else.
        parsed.missing.clear();
        parsed.instance = Some(instance);
        (parsed.data.start_time, parsed.data.end_time) = (Some(instance.start), Some(instance.end));
        if event.recurrence.is_some() && parsed.scope.is_none() {
            parsed.scope = Some(SeriesScope::This);
            parsed.ambiguities.retain(|ambiguity| ambiguity.about != SpanKind::Scope);
        }
    }

    /// Returns the answered time range. An answer with only a start keeps the duration.
    fn time(&self, parsed: &ParsedRequest, zone: &NamedTimeZone, now: Time) -> Result<TimeRange, String> {
        let read = |text: &String| Time::parse_event(text, zone.name()).map_err(|error| invalid_time(&error.message));
        let (start, end) = (self.start_time.as_ref().map(read), self.end_time.as_ref().map(read));
        let data = &parsed.data;
        let start = start.transpose()?.or(data.start_time).ok_or("The start time is missing.")?;
        let range = data.start_time.zip(data.end_time).and_then(|(start, end)| TimeRange::new(start, end));
        let minutes = range.or(parsed.instance).map(|span| span.minutes());
        let minutes = minutes.or(parsed.minutes.map(i64::from)).unwrap_or(60);
        let later = || Time::from_unix_micros(start.as_unix_micros().saturating_add(minutes * 60_000_000));
        let end = end.transpose()?.map_or_else(later, Ok).map_err(|error| invalid_time(&error.message))?;
        // A query may be about the past.
        let is_query = data.event_type == EventType::Query;
        let earliest = if is_query { jiff::civil::DateTime::MIN } else { zone.to_local(now) };
        let problem = parser::problem((zone.to_local(start), zone.to_local(end)), earliest);
        match (problem, TimeRange::new(start, end)) {
            (None, Some(span)) => Ok(span),
            (problem, _) => Err(problem.unwrap_or_else(|| "The end is before the start.".to_owned())),
        }
    }
}

fn invalid_time(reason: &str) -> String {
    format!("The time is not valid: {reason}.")
}

/// Returns the time range of the first occurrence of a new series, which can be on a later day than `span`.
fn first_occurrence(parsed: &ParsedRequest, span: TimeRange, zone: &NamedTimeZone) -> Result<TimeRange, String> {
    let data = &parsed.data;
    let Some(rule) = data.recurrence_rule.as_ref().filter(|_| data.event_type == EventType::Create) else {
        return Ok(span);
    };
    let to_message = |error: Error| format!("The recurrence is not valid: {}.", error.message());
    let start =
        validate_rrule(rule, zone.to_local(span.start), zone).and_then(|checked| zone.to_instant(checked.first));
    let start = start.map_err(to_message)?;
    let end = start.as_unix_micros().saturating_add(span.minutes() * 60_000_000);
    let end = Time::from_unix_micros(end).map_err(|error| invalid_time(&error.message))?;
    Ok(TimeRange { start, end: zone.with_local_offset(end).map_err(to_message)? })
}

pub(crate) fn is_confirmed(state: &FamilySchedulerState) -> bool {
    state.notes.get(CONFIRMED) == Some(&Value::Bool(true))
}

pub(crate) fn is_declined(state: &FamilySchedulerState) -> bool {
    state.notes.get(DECLINED) == Some(&Value::Bool(true))
}

pub(crate) fn must_ask(state: &FamilySchedulerState) -> bool {
    state.notes.get(MUST_ASK) == Some(&Value::Bool(true))
}

pub(crate) fn has_problem(state: &FamilySchedulerState) -> bool {
    state.notes.get(PROBLEMS).and_then(Value::as_array).is_some_and(|problems| !problems.is_empty())
}

pub(crate) fn problems(state: &FamilySchedulerState) -> Vec<String> {
    read(state, PROBLEMS).unwrap_or_default()
}

pub(crate) fn answers(state: &FamilySchedulerState) -> Vec<ClarificationAnswer> {
    read(state, ANSWERS).unwrap_or_default()
}

pub(crate) fn model_reply(state: &FamilySchedulerState) -> Option<CachedModelReply> {
    read(state, MODEL_REPLY)
}

pub(crate) fn event_id(state: &FamilySchedulerState) -> Option<String> {
    read(state, EVENT)
}

pub(crate) fn rounds(state: &FamilySchedulerState) -> u32 {
    read(state, ROUNDS).unwrap_or_default()
}

pub(crate) fn decision(state: &FamilySchedulerState) -> Option<ConfirmationDecision> {
    read(state, DECISION)
}

/// Returns the parsed request.
///
/// # Errors
/// Returns an error if the request was not parsed yet.
pub(crate) fn parsed_request(state: &FamilySchedulerState) -> Result<ParsedRequest> {
    read(state, PARSED_REQUEST).ok_or_else(|| Error::internal("the request is not parsed yet"))
}

/// Returns the plan.
///
/// # Errors
/// Returns an error if no plan was made yet.
pub(crate) fn plan(state: &FamilySchedulerState) -> Result<EventPlan> {
    read(state, PLAN).ok_or_else(|| Error::internal("the event is not planned yet"))
}

fn read<T: DeserializeOwned>(state: &FamilySchedulerState, key: &str) -> Option<T> {
    serde_json::from_value(state.notes.get(key)?.clone()).ok()
}
