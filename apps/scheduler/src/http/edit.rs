//! Changing and cancelling an event directly, without words: checked while nobody else can write.

use std::sync::{Arc, OnceLock};

use axum::extract::Path;
use axum::response::{IntoResponse, Response};
use axum::{Extension, Json};
use serde::Deserialize;
use serde_json::{Value, json};
use superstep::{Code, Error};
use superstep_server::{Asks, Body, Problem};
use utoipa::IntoParams;

use super::asker::Asker;
use super::instances::{missing, shown, told_at};
use super::patch::{Edited, Patch, Scope, wall, which};
use super::refusal::blocked;
use crate::agents::may_change_which;
use crate::app::Office;
use crate::calendar::{Board, Change, Event, series};
use crate::models::EventStatus;

/// Which event, or which of a series, is cancelled.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(super) struct Cancelling {
    /// Who cancels it.
    user_id: String,
    /// `this`, `following` or `all`.
    #[param(value_type = Option<String>)]
    which: Option<Scope>,
    /// The instance that is meant: its start on the wall.
    occurrence: Option<String>,
}

/// Changes an event, or some of a series.
#[utoipa::path(
    patch, path = "/api/scheduler/events/{id}", tag = "scheduler", params(("id" = String, Path)), request_body = Patch,
    responses(
        (status = OK, description = "The event as it is now, and what stands in its way all the same"),
        (status = FORBIDDEN), (status = NOT_FOUND),
        (status = CONFLICT, description = "Something stands in the way: `conflicts`"),
        (status = UNPROCESSABLE_ENTITY, description = "Every problem, with JSON pointers; of a rule, the part"),
    )
)]
pub(super) async fn change(
    Extension(office): Extension<Office>,
    Path(id): Path<String>,
    Body(patch): Body<Patch>,
) -> Result<Response, Problem> {
    let asker = Asker::new(&office, &patch.user_id).await?;
    let event = asker.board.events.get(&id).ok_or_else(|| missing(&id))?;
    check_confirmed(event)?;
    let outcome: Arc<OnceLock<Edited>> = Arc::default();
    let (told, user, is_forced) = (outcome.clone(), patch.user_id.clone(), patch.force);
    let (now, zone) = (asker.now, asker.zone.clone());
    let decide = move |board: &Board| {
        let edited = patch.on(board, &id, now, &zone)?;
        let changes = if edited.is_blocked(is_forced) { Vec::new() } else { edited.changes.clone() };
        // It is decided once.
        let _ = told.set(edited);
        Ok(changes)
    };
    office.calendars().change(office.family(), &user, "change", decide).await?;
    let edited = outcome.get().ok_or_else(|| Error::internal("nothing was decided"))?;
    if edited.is_blocked(is_forced) {
        return Ok(blocked(&edited.conflicts, edited.can_be_forced()));
    }
    // With what the change has made of it.
    let asker = Asker::new(&office, &user).await?;
    let event = match asker.board.events.get(&edited.event.id) {
        Some(event) => shown(&asker, event, &told_at(&asker, event, &edited.told)),
        None => shown(&asker, &edited.event, &edited.event.span),
    };
    let answer = json!({ "event": event, "conflicts": edited.conflicts });
    Ok(Json(answer).into_response())
}

/// Cancels an event, or some of a series.
#[utoipa::path(
    delete, path = "/api/scheduler/events/{id}", tag = "scheduler", params(("id" = String, Path), Cancelling),
    responses((status = OK), (status = FORBIDDEN), (status = NOT_FOUND), (status = UNPROCESSABLE_ENTITY))
)]
pub(super) async fn remove(
    Extension(office): Extension<Office>,
    Path(id): Path<String>,
    Asks(asked): Asks<Cancelling>,
) -> Result<Json<Value>, Problem> {
    let asker = Asker::new(&office, &asked.user_id).await?;
    if !asker.board.events.contains_key(&id) {
        return Err(missing(&id));
    }
    let (now, user) = (asker.now, asked.user_id.clone());
    let decide = move |board: &Board| {
        let gone = || Error::new(Code::NotFound, format!("there is no event `{id}`"));
        let event = board.events.get(&id).ok_or_else(gone)?;
        let occurrence = asked.occurrence.as_deref().map(wall).transpose()?;
        let which = which(event, asked.which, occurrence)?;
        if !may_change_which(board, &asked.user_id, event, which) {
            return Err(Error::new(Code::PolicyRefused, "this event is not yours to cancel"));
        }
        series::cancel(board, &id, which, now)
    };
    let changed = office.calendars().change(office.family(), &user, "cancel", decide).await?;
    let of_events = |change: &&Change| matches!(change, Change::Event(_) | Change::RemoveEvent(_));
    Ok(Json(json!({ "removed": changed.changes.iter().filter(of_events).count() })))
}

/// What is still asked about is changed where it is asked about.
fn check_confirmed(event: &Event) -> Result<(), Problem> {
    if event.status == EventStatus::Confirmed {
        return Ok(());
    }
    let problem = Problem::conflict(format!("event `{}` is not on the calendar yet", event.id));
    Err(problem.hint("answer the conversation that it comes from"))
}
