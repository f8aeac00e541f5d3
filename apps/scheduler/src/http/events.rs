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
use crate::app::AppState;
use crate::calendar::{CalendarSnapshot, Event, TimeRange};
use crate::models::{Conflict, EventStatus};
use crate::zone::NamedTimeZone;

/// Maximum length of a requested time range in days.
const MOST_DAYS: i64 = 400;

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
            |name: &str, text: &str| Time::parse(text).map_err(|fault| invalid_query(name, fault.message.clone()));
        let (from, to) = (time("from", &self.from)?, time("to", &self.to)?);
        let span = TimeRange::new(from, to).ok_or_else(|| invalid_query("to", format!("{to} is not after {from}")))?;
        if to.as_unix_micros() - from.as_unix_micros() > MOST_DAYS * 24 * 3_600 * 1_000_000 {
            return Err(invalid_query("to", format!("at most {MOST_DAYS} days are told at once")));
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
    Extension(office): Extension<AppState>,
    ValidatedQuery(within): ValidatedQuery<TimeRangeParams>,
) -> Result<Json<Value>, Problem> {
    let span = within.span()?;
    let asker = Requester::new(&office, &within.user_id).await?;
    let instances = asker.board.instances(&span)?;
    let events: Vec<Value> = instances.iter().map(|one| event_json(&asker, &one.event, &one.span)).collect();
    let is_there = |id: &String| instances.iter().any(|one| one.event.id == *id);
    let is_about = |conflict: &&Conflict| conflict.conflicting_event_id.as_ref().is_none_or(is_there);
    let conflicts: Vec<&Conflict> = asker.board.conflicts.values().map(AsRef::as_ref).filter(is_about).collect();
    Ok(Json(json!({ "events": events, "conflicts": conflicts })))
}

/// Returns an event; for a series, its first instance.
#[utoipa::path(
    get, path = "/api/scheduler/events/{id}", tag = "scheduler", params(("id" = String, Path), UserParams),
    responses((status = OK), (status = FORBIDDEN), (status = NOT_FOUND))
)]
pub(super) async fn get_event(
    Extension(office): Extension<AppState>,
    Path(id): Path<String>,
    ValidatedQuery(whose): ValidatedQuery<UserParams>,
) -> Result<Json<Value>, Problem> {
    let asker = Requester::new(&office, &whose.user_id).await?;
    let event = asker.board.events.get(&id).ok_or_else(|| event_not_found(&id))?;
    Ok(Json(event_json(&asker, event, &event.span)))
}

/// Returns the 404 problem for an unknown event.
pub(super) fn event_not_found(id: &str) -> Problem {
    Problem::not_found(format!("there is no event `{id}`")).with_hint("it may have been cancelled")
}

/// Returns an event at one of its times, as the requester may see it.
pub(super) fn event_json(asker: &Requester, event: &Event, span: &TimeRange) -> Value {
    let board = &asker.board;
    let mut whole = json!({
        "event_id": event.id,
        "title": BUSY,
        "start": asker.in_local_time(span.start),
        "end": asker.in_local_time(span.end),
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
    let is_idea = event.status != EventStatus::Confirmed && event.owner != asker.member.id;
    if is_idea || !asker.can_see_details(event) {
        return whole;
    }
    let people = event
        .participants
        .iter()
        .map(|one| json!({ "id": one.member, "name": named(board, &one.member), "is_required": one.is_required }));
    let things = event.resources.iter().map(|id| json!({ "id": id, "name": named(board, id) }));
    let details = json!({
        "title": event.title,
        "is_busy": false,
        "participants": people.collect::<Vec<_>>(),
        "resources": things.collect::<Vec<_>>(),
        "calendar": event.calendar,
        "location": event.location,
        "notes": event.notes,
        "recurrence_rule": rule(board, event),
        "occurrence": occurrence(event, span),
        "is_exception": event.recurrence_override.is_some(),
        "priority": event.priority,
        "flexibility": event.flexibility,
        "owner": event.owner,
        "may_change": asker.can_modify(event),
    });
    if let (Value::Object(whole), Value::Object(details)) = (&mut whole, details) {
        whole.extend(details);
    }
    whole
}

/// Returns the time range at which an event is shown. A series is shown at the mentioned instance, else at its next
/// instance, else at its first.
pub(super) fn display_range(asker: &Requester, event: &Arc<Event>, spoken: &TimeRange) -> TimeRange {
    if event.recurrence.is_none() {
        return event.span;
    }
    let board = &asker.board;
    // A series that cannot be expanded is shown at its stored time.
    let then = board.instances_of(event, spoken).unwrap_or_default();
    let same = then.iter().find(|one| one.span.start == spoken.start).map(|one| one.span);
    let next = || board.next_instance(event, asker.now).ok().flatten();
    same.or_else(next).unwrap_or(event.span)
}

/// Returns the name of a member or resource; the id if there is none.
pub(super) fn named<'a>(board: &'a CalendarSnapshot, id: &'a str) -> &'a str {
    let member = board.members.get(id).map(|member| member.name.as_str());
    member.or_else(|| board.resources.get(id).map(|thing| thing.name.as_str())).unwrap_or(id)
}

/// Returns the recurrence rule of an event, or of the series of which it is an exception.
fn rule<'a>(board: &'a CalendarSnapshot, event: &'a Event) -> Option<&'a str> {
    let series = event.recurrence_override.as_ref().and_then(|of| board.events.get(&of.series));
    let recurrence = event.recurrence.as_ref().or_else(|| series?.recurrence.as_ref());
    recurrence.map(|recurrence| recurrence.rule.as_str())
}

/// Returns the original local start that identifies an instance in its series.
fn occurrence(event: &Event, span: &TimeRange) -> Option<String> {
    if let Some(of) = &event.recurrence_override {
        return Some(of.start.to_string());
    }
    event.recurrence.as_ref()?;
    Some(NamedTimeZone::from_iana_name(&event.zone).ok()?.to_local(span.start).to_string())
}
