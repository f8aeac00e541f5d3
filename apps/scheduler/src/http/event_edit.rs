//! Direct changes and cancellations of an event, without natural language; checked inside the transaction.

use std::sync::{Arc, OnceLock};

use axum::extract::Path;
use axum::response::{IntoResponse, Response};
use axum::{Extension, Json};
use serde::Deserialize;
use serde_json::{Value, json};
use superstep::{Error, ErrorCode};
use superstep_server::{Problem, ValidatedJson, ValidatedQuery};
use utoipa::IntoParams;

use super::errors::blocked;
use super::event_patch::{EventPatch, PatchResult, SeriesScopeParam, parse_local_datetime, series_selection};
use super::events::{display_range, event_json, event_not_found};
use super::requester::Requester;
use crate::agents::can_modify_instances;
use crate::app::SchedulerAppState;
use crate::calendar::{CalendarChange, CalendarSnapshot, Event, series};
use crate::models::EventStatus;

/// Parameters of a cancellation: the event, or the instances of a series.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(super) struct CancelEventParams {
    /// Id of the member who cancels the event.
    user_id: String,
    /// Instances of a series: `this`, `following` or `all`.
    #[param(value_type = Option<String>)]
    which: Option<SeriesScopeParam>,
    /// Local start of the selected instance.
    occurrence: Option<String>,
}

/// Updates an event, or instances of a series.
#[utoipa::path(
    patch, path = "/api/scheduler/events/{id}", tag = "scheduler", params(("id" = String, Path)), request_body = EventPatch,
    responses(
        (status = OK, description = "The updated event, and its remaining conflicts"),
        (status = FORBIDDEN), (status = NOT_FOUND),
        (status = CONFLICT, description = "The change has conflicts: `conflicts`"),
        (status = UNPROCESSABLE_ENTITY, description = "All validation errors, with JSON pointers; for a recurrence rule, the invalid part"),
    )
)]
pub(super) async fn update_event(
    Extension(app): Extension<SchedulerAppState>,
    Path(id): Path<String>,
    ValidatedJson(patch): ValidatedJson<EventPatch>,
) -> Result<Response, Problem> {
    let requester = Requester::new(&app, &patch.user_id).await?;
    let event = requester.snapshot.events.get(&id).ok_or_else(|| event_not_found(&id))?;
    check_confirmed(event)?;
    let outcome: Arc<OnceLock<PatchResult>> = Arc::default();
    let (outcome_cell, user, is_forced) = (outcome.clone(), patch.user_id.clone(), patch.force);
    let (now, zone) = (requester.now, requester.zone.clone());
    let decide = move |snapshot: &CalendarSnapshot| {
        let edited = patch.apply_to(snapshot, &id, now, &zone)?;
        let changes = if edited.is_blocked(is_forced) { Vec::new() } else { edited.changes.clone() };
        // `set` cannot fail: the closure runs at most once.
        let _ = outcome_cell.set(edited);
        Ok(changes)
    };
    app.calendars().change(app.family(), &user, "change", decide).await?;
    let edited = outcome.get().ok_or_else(|| Error::internal("the change was not computed"))?;
    if edited.is_blocked(is_forced) {
        return Ok(blocked(&edited.conflicts, edited.can_be_forced()));
    }
    // Reads the calendar again, after the change.
    let requester = Requester::new(&app, &user).await?;
    let event = match requester.snapshot.events.get(&edited.event.id) {
        Some(event) => event_json(&requester, event, &display_range(&requester, event, &edited.instance_range)),
        None => event_json(&requester, &edited.event, &edited.event.span),
    };
    let response = json!({ "event": event, "conflicts": edited.conflicts });
    Ok(Json(response).into_response())
}

/// Cancels an event, or instances of a series.
#[utoipa::path(
    delete, path = "/api/scheduler/events/{id}", tag = "scheduler", params(("id" = String, Path), CancelEventParams),
    responses((status = OK), (status = FORBIDDEN), (status = NOT_FOUND), (status = UNPROCESSABLE_ENTITY))
)]
pub(super) async fn cancel_event(
    Extension(app): Extension<SchedulerAppState>,
    Path(id): Path<String>,
    ValidatedQuery(params): ValidatedQuery<CancelEventParams>,
) -> Result<Json<Value>, Problem> {
    let requester = Requester::new(&app, &params.user_id).await?;
    if !requester.snapshot.events.contains_key(&id) {
        return Err(event_not_found(&id));
    }
    let (now, user) = (requester.now, params.user_id.clone());
    let decide = move |snapshot: &CalendarSnapshot| {
        let not_found = || Error::new(ErrorCode::NotFound, format!("event `{id}` not found"));
        let event = snapshot.events.get(&id).ok_or_else(not_found)?;
        let occurrence = params.occurrence.as_deref().map(parse_local_datetime).transpose()?;
        let selection = series_selection(event, params.which, occurrence)?;
        if !can_modify_instances(snapshot, &params.user_id, event, selection) {
            return Err(Error::new(ErrorCode::PolicyRefused, "you do not have permission to cancel this event"));
        }
        series::cancel(snapshot, &id, selection, now)
    };
    let changed = app.calendars().change(app.family(), &user, "cancel", decide).await?;
    let is_event_change =
        |change: &&CalendarChange| matches!(change, CalendarChange::Event(_) | CalendarChange::RemoveEvent(_));
    Ok(Json(json!({ "removed": changed.changes.iter().filter(is_event_change).count() })))
}

/// Rejects changes of a proposed event, which is changed by answering its conversation.
fn check_confirmed(event: &Event) -> Result<(), Problem> {
    if event.status == EventStatus::Confirmed {
        return Ok(());
    }
    let problem = Problem::conflict(format!("event `{}` is not on the calendar yet", event.id));
    Err(problem.with_hint("answer the conversation that proposed it"))
}
