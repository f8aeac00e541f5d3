//! Events of the calendar as a member sees them: with details, or only as busy time. Proposals of others are busy
//! time.

use std::sync::Arc;

use axum::extract::Path;
use axum::{Extension, Json};
use serde::Deserialize;
use serde_json::{Value, json};
use superstep::core::time::Time;
use superstep_server::{Problem, ValidatedQuery};
use utoipa::IntoParams;

use super::errors::invalid_query;
use super::requester::Requester;
use super::requests::UserParams;
use crate::agents::BUSY;
use crate::app::SchedulerAppState;
use crate::calendar::{CalendarSnapshot, Event, TimeRange};
use crate::models::{Conflict, EventStatus};
use crate::time_zone::NamedTimeZone;

/// Maximum length of a requested time range in days.
const MAX_DAYS: i64 = 400;

/// Parameters of a time range.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(super) struct TimeRangeParams {
    /// Id of the member who requests the events.
    user_id: String,
    /// Start of the range, such as `2026-01-08T00:00:00-05:00`.
    from: String,
    /// End of the range, at most 400 days after the start.
    to: String,
}

impl TimeRangeParams {
    fn span(&self) -> Result<TimeRange, Problem> {
        let time =
            |name: &str, text: &str| Time::parse(text).map_err(|error| invalid_query(name, error.message.clone()));
        let (from, to) = (time("from", &self.from)?, time("to", &self.to)?);
        let span = TimeRange::new(from, to).ok_or_else(|| invalid_query("to", format!("{to} is not after {from}")))?;
        if to.as_unix_micros() - from.as_unix_micros() > MAX_DAYS * 24 * 3_600 * 1_000_000 {
            return Err(invalid_query("to", format!("the range can be at most {MAX_DAYS} days")));
        }
        Ok(span)
    }
}

/// Lists the events in a time range, earliest first, and their conflicts.
#[utoipa::path(
    get, path = "/api/scheduler/events", tag = "scheduler", params(TimeRangeParams),
    responses((status = OK), (status = FORBIDDEN), (status = UNPROCESSABLE_ENTITY))
)]
pub(super) async fn list_events(
    Extension(app): Extension<SchedulerAppState>,
    ValidatedQuery(params): ValidatedQuery<TimeRangeParams>,
) -> Result<Json<Value>, Problem> {
    let span = params.span()?;
    let requester = Requester::new(&app, &params.user_id).await?;
    let instances = requester.snapshot.instances(&span)?;
    let events: Vec<Value> =
        instances.iter().map(|instance| event_json(&requester, &instance.event, &instance.span)).collect();
    let is_listed = |id: &String| instances.iter().any(|instance| instance.event.id == *id);
    let concerns_listed_event = |conflict: &&Conflict| conflict.conflicting_event_id.as_ref().is_none_or(is_listed);
    let conflicts: Vec<&Conflict> =
        requester.snapshot.conflicts.values().map(AsRef::as_ref).filter(concerns_listed_event).collect();
    Ok(Json(json!({ "events": events, "conflicts": conflicts })))
}

/// Returns an event; for a series, its first instance.
#[utoipa::path(
    get, path = "/api/scheduler/events/{id}", tag = "scheduler", params(("id" = String, Path), UserParams),
    responses((status = OK), (status = FORBIDDEN), (status = NOT_FOUND))
)]
pub(super) async fn get_event(
    Extension(app): Extension<SchedulerAppState>,
    Path(id): Path<String>,
    ValidatedQuery(params): ValidatedQuery<UserParams>,
) -> Result<Json<Value>, Problem> {
    let requester = Requester::new(&app, &params.user_id).await?;
    let event = requester.snapshot.events.get(&id).ok_or_else(|| event_not_found(&id))?;
    Ok(Json(event_json(&requester, event, &event.span)))
}

/// Returns the 404 problem for an unknown event.
pub(super) fn event_not_found(id: &str) -> Problem {
    Problem::not_found(format!("event `{id}` not found")).with_hint("it may have been cancelled")
}

/// Returns an event at one of its times, as the requester may see it.
pub(super) fn event_json(requester: &Requester, event: &Event, span: &TimeRange) -> Value {
    let snapshot = &requester.snapshot;
    let mut response = json!({
        "event_id": event.id,
        "title": BUSY,
        "start": requester.in_local_time(span.start),
        "end": requester.in_local_time(span.end),
        "is_all_day": event.is_all_day,
        "is_busy": true,
        "is_tentative": event.status != EventStatus::Confirmed,
        "status": event.status,
        "participants": [],
        "resources": [],
        "calendar": null,
        "location": null,
        "notes": null,
        "recurrence_rule": null,
        "occurrence": null,
        "is_exception": false,
        "priority": null,
        "flexibility": null,
        "owner": null,
        "may_change": false,
    });
    // Proposals of other members take up time, but their details are private until confirmed.
    let is_proposal_of_other = event.status != EventStatus::Confirmed && event.owner != requester.member.id;
    if is_proposal_of_other || !requester.can_see_details(event) {
        return response;
    }
    let people = event.participants.iter().map(|participant| {
        json!({
            "id": participant.member, "name": display_name(snapshot, &participant.member),
            "is_required": participant.is_required,
        })
    });
    let resources = event.resources.iter().map(|id| json!({ "id": id, "name": display_name(snapshot, id) }));
    let details = json!({
        "title": event.title,
        "is_busy": false,
        "participants": people.collect::<Vec<_>>(),
        "resources": resources.collect::<Vec<_>>(),
        "calendar": event.calendar,
        "location": event.location,
        "notes": event.notes,
        "recurrence_rule": rule(snapshot, event),
        "occurrence": occurrence(event, span),
        "is_exception": event.recurrence_override.is_some(),
        "priority": event.priority,
        "flexibility": event.flexibility,
        "owner": event.owner,
        "may_change": requester.can_modify(event),
    });
    if let (Value::Object(fields), Value::Object(details)) = (&mut response, details) {
        fields.extend(details);
    }
    response
}

/// Returns the time range at which an event is shown. A series is shown at the mentioned instance, else at its next
/// instance, else at its first.
pub(super) fn display_range(requester: &Requester, event: &Arc<Event>, mentioned: &TimeRange) -> TimeRange {
    if event.recurrence.is_none() {
        return event.span;
    }
    let snapshot = &requester.snapshot;
    // A series that cannot be expanded is shown at its stored time.
    let instances = snapshot.instances_of(event, mentioned).unwrap_or_default();
    let same = instances.iter().find(|instance| instance.span.start == mentioned.start).map(|instance| instance.span);
    let next = || snapshot.next_instance(event, requester.now).ok().flatten();
    same.or_else(next).unwrap_or(event.span)
}

/// Returns the name of a member or resource; the id if there is none.
pub(super) fn display_name<'a>(snapshot: &'a CalendarSnapshot, id: &'a str) -> &'a str {
    let member = snapshot.members.get(id).map(|member| member.name.as_str());
    member.or_else(|| snapshot.resources.get(id).map(|resource| resource.name.as_str())).unwrap_or(id)
}

/// Returns the recurrence rule of an event, or of the series that it overrides.
fn rule<'a>(snapshot: &'a CalendarSnapshot, event: &'a Event) -> Option<&'a str> {
    let series = event.recurrence_override.as_ref().and_then(|replaced| snapshot.events.get(&replaced.series));
    let recurrence = event.recurrence.as_ref().or_else(|| series?.recurrence.as_ref());
    recurrence.map(|recurrence| recurrence.rule.as_str())
}

/// Returns the original local start that identifies an instance in its series.
fn occurrence(event: &Event, span: &TimeRange) -> Option<String> {
    if let Some(replaced) = &event.recurrence_override {
        return Some(replaced.start.to_string());
    }
    event.recurrence.as_ref()?;
    Some(NamedTimeZone::from_iana_name(&event.zone).ok()?.to_local(span.start).to_string())
}
