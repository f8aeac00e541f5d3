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
use crate::app::AppState;
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
        (status = OK, description = "The event as it is now, and what stands in its way all the same"),
        (status = FORBIDDEN), (status = NOT_FOUND),
        (status = CONFLICT, description = "Something stands in the way: `conflicts`"),
        (status = UNPROCESSABLE_ENTITY, description = "Every problem, with JSON pointers; of a rule, the part"),
    )
)]
pub(super) async fn update_event(
    Extension(office): Extension<AppState>,
    Path(id): Path<String>,
    ValidatedJson(patch): ValidatedJson<EventPatch>,
) -> Result<Response, Problem> {
    let asker = Requester::new(&office, &patch.user_id).await?;
    let event = asker.board.events.get(&id).ok_or_else(|| event_not_found(&id))?;
    check_confirmed(event)?;
    let outcome: Arc<OnceLock<PatchResult>> = Arc::default();
    let (told, user, is_forced) = (outcome.clone(), patch.user_id.clone(), patch.force);
    let (now, zone) = (asker.now, asker.zone.clone());
    let decide = move |board: &CalendarSnapshot| {
        let edited = patch.apply_to(board, &id, now, &zone)?;
        let changes = if edited.is_blocked(is_forced) { Vec::new() } else { edited.changes.clone() };
        // `set` cannot fail: the closure runs at most once.
        let _ = told.set(edited);
        Ok(changes)
    };
    office.calendars().change(office.family(), &user, "change", decide).await?;
    let edited = outcome.get().ok_or_else(|| Error::internal("nothing was decided"))?;
    if edited.is_blocked(is_forced) {
        return Ok(blocked(&edited.conflicts, edited.can_be_forced()));
    }
    // Reads the calendar again, after the change.
    let asker = Requester::new(&office, &user).await?;
    let event = match asker.board.events.get(&edited.event.id) {
        Some(event) => event_json(&asker, event, &display_range(&asker, event, &edited.told)),
        None => event_json(&asker, &edited.event, &edited.event.span),
    };
    let answer = json!({ "event": event, "conflicts": edited.conflicts });
    Ok(Json(answer).into_response())
}

/// Cancels an event, or instances of a series.
#[utoipa::path(
    delete, path = "/api/scheduler/events/{id}", tag = "scheduler", params(("id" = String, Path), CancelEventParams),
    responses((status = OK), (status = FORBIDDEN), (status = NOT_FOUND), (status = UNPROCESSABLE_ENTITY))
)]
pub(super) async fn cancel_event(
    Extension(office): Extension<AppState>,
    Path(id): Path<String>,
    ValidatedQuery(asked): ValidatedQuery<CancelEventParams>,
) -> Result<Json<Value>, Problem> {
    let asker = Requester::new(&office, &asked.user_id).await?;
    if !asker.board.events.contains_key(&id) {
        return Err(event_not_found(&id));
    }
    let (now, user) = (asker.now, asked.user_id.clone());
    let decide = move |board: &CalendarSnapshot| {
        let gone = || Error::new(ErrorCode::NotFound, format!("there is no event `{id}`"));
        let event = board.events.get(&id).ok_or_else(gone)?;
        let occurrence = asked.occurrence.as_deref().map(parse_local_datetime).transpose()?;
        let which = series_selection(event, asked.which, occurrence)?;
        if !can_modify_instances(board, &asked.user_id, event, which) {
            return Err(Error::new(ErrorCode::PolicyRefused, "this event is not yours to cancel"));
        }
        series::cancel(board, &id, which, now)
    };
    let changed = office.calendars().change(office.family(), &user, "cancel", decide).await?;
    let of_events =
        |change: &&CalendarChange| matches!(change, CalendarChange::Event(_) | CalendarChange::RemoveEvent(_));
    Ok(Json(json!({ "removed": changed.changes.iter().filter(of_events).count() })))
}

/// Rejects changes of a proposed event, which is changed by answering its conversation.
fn check_confirmed(event: &Event) -> Result<(), Problem> {
    if event.status == EventStatus::Confirmed {
        return Ok(());
    }
    let problem = Problem::conflict(format!("event `{}` is not on the calendar yet", event.id));
    Err(problem.with_hint("answer the conversation that it comes from"))
}
