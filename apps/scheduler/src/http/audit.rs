//! Audit log of the calendar, and undo of the last change.

use axum::response::{IntoResponse, Response};
use axum::{Extension, Json};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};
use superstep_server::{Problem, ValidatedJson, ValidatedQuery};
use utoipa::{IntoParams, ToSchema};

use super::errors::conflict_response;
use super::events::display_name;
use super::family_objects::reference_conflict;
use super::requester::Requester;
use crate::agents::format;
use crate::app::SchedulerAppState;
use crate::calendar::{Calendar, CalendarChange, Event, Visibility};
use crate::models::EventStatus;
use crate::store::UndoOutcome;
use crate::store::audit::{AuditEntry, RecordChange, RecordKind};

/// Request to undo the last change.
#[derive(Debug, Deserialize, JsonSchema, ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct UndoRequest {
    /// Id of the member who requests the undo.
    user_id: String,
}

/// Undoes the last change of a member, within ten minutes.
#[utoipa::path(
    post, path = "/api/scheduler/undo", tag = "scheduler", request_body = UndoRequest,
    responses(
        (status = OK), (status = FORBIDDEN),
        (
            status = CONFLICT,
            description = "Nothing to undo, changed since by another member, or blocked by `conflicts`",
        ),
    )
)]
pub(super) async fn undo_last_change(
    Extension(app): Extension<SchedulerAppState>,
    ValidatedJson(request): ValidatedJson<UndoRequest>,
) -> Result<Response, Problem> {
    let requester = Requester::new(&app, &request.user_id).await?;
    let undone = app.calendars().undo(app.family(), &request.user_id, requester.now).await;
    match undone.map_err(reference_conflict)? {
        UndoOutcome::Done(done) => {
            let ids: Vec<&str> = done.changes.iter().filter_map(event_id).collect();
            Ok(Json(json!({ "undone": sentence(&done.changes, &requester), "events": ids })).into_response())
        }
        UndoOutcome::NothingToUndo => {
            let problem = Problem::conflict("nothing to undo");
            Err(problem.with_hint("you can undo your own changes for ten minutes"))
        }
        UndoOutcome::ModifiedSince(ids) => {
            let names: Vec<&str> = ids.iter().map(|id| title(&requester, id)).collect();
            let names = format::join_list(&names);
            let detail = format!("another member has changed {names} since");
            Err(Problem::conflict(detail).with_hint(format!("edit {names} to reverse the change")))
        }
        UndoOutcome::Blocked(conflicts) => Ok(conflict_response(
            &conflicts,
            "the time or a resource is no longer free; create or move the event instead",
        )),
    }
}

/// Parameters of the audit log.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(super) struct AuditParams {
    /// Id of the member who requests the log.
    user_id: String,
    /// Maximum number of entries, up to 200; default 50.
    limit: Option<u32>,
}

/// Lists the latest changes, newest first.
#[utoipa::path(
    get, path = "/api/scheduler/audit", tag = "scheduler", params(AuditParams),
    responses((status = OK), (status = FORBIDDEN))
)]
pub(super) async fn list_audit(
    Extension(app): Extension<SchedulerAppState>,
    ValidatedQuery(params): ValidatedQuery<AuditParams>,
) -> Result<Json<Value>, Problem> {
    let requester = Requester::new(&app, &params.user_id).await?;
    let limit = params.limit.unwrap_or(50).clamp(1, 200);
    let entries = app.calendars().audit(app.family(), limit).await?;
    let entries: Vec<Value> = entries.iter().map(|entry| entry_json(entry, &requester)).collect();
    Ok(Json(json!({ "entries": entries })))
}

fn entry_json(entry: &AuditEntry, requester: &Requester) -> Value {
    let mut names: Vec<String> = Vec::new();
    for name in entry.images.iter().filter_map(|image| record_name(image, requester)) {
        if !names.contains(&name) {
            names.push(name);
        }
    }
    let suffix = if names.is_empty() { String::new() } else { format!(" {}", format::join_list(&names)) };
    let text =
        format!("{}: {}{suffix}", display_name(&requester.snapshot, &entry.actor), entry.action.replace('_', " "));
    json!({ "at": requester.in_local_time(entry.at), "who": entry.actor, "action": entry.action, "text": text })
}

/// Returns the name of a changed record as the requester may see it; `None` for conflicts, which have no author.
fn record_name(image: &RecordChange, requester: &Requester) -> Option<String> {
    let value = image.after.as_ref().or(image.before.as_ref())?;
    match image.kind {
        RecordKind::Conflicts => None,
        RecordKind::Event => {
            let event: Option<Event> = serde_json::from_value(value.clone()).ok();
            Some(match event {
                Some(event) if !requester.can_see_details(&event) => "a private event".to_owned(),
                // Proposals of other members are private until confirmed.
                Some(event) if !image.is_on_calendar() && event.owner != requester.member.id => {
                    "a tentative event".to_owned()
                }
                Some(event) => format::quoted(&event.title),
                None => "a private event".to_owned(),
            })
        }
        RecordKind::Calendar if !is_visible_calendar(value, requester) => Some("a private calendar".to_owned()),
        RecordKind::Family | RecordKind::Member | RecordKind::Calendar | RecordKind::Resource | RecordKind::Rule => {
            Some(value["name"].as_str().unwrap_or(&image.id).to_owned())
        }
    }
}

/// Returns true if the requester may see the name of a calendar. The name of a private calendar is visible to its owner
/// only. A calendar that cannot be deserialized counts as private.
fn is_visible_calendar(value: &Value, requester: &Requester) -> bool {
    let calendar: Option<Calendar> = serde_json::from_value(value.clone()).ok();
    calendar.is_some_and(|calendar| {
        calendar.visibility == Visibility::Family || calendar.owner.as_ref() == Some(&requester.member.id)
    })
}

fn event_id(change: &CalendarChange) -> Option<&str> {
    match change {
        CalendarChange::Event(event) => Some(&event.id),
        CalendarChange::RemoveEvent(id) => Some(id),
        _ => None,
    }
}

/// Describes an undo in a sentence; `requester` has the calendar before the undo.
fn sentence(changes: &[CalendarChange], requester: &Requester) -> String {
    let text = changes.iter().find_map(|change| match change {
        CalendarChange::Event(event) if event.status == EventStatus::Rejected => {
            Some(format!("{} was removed from the calendar.", format::quoted(&event.title)))
        }
        CalendarChange::Event(event) => Some(format!("{} was restored.", format::quoted(&event.title))),
        CalendarChange::RemoveEvent(id) => {
            Some(format!("{} was removed from the calendar.", format::quoted(title(requester, id))))
        }
        _ => None,
    });
    text.unwrap_or_else(|| "The previous state was restored.".to_owned())
}

/// Returns the title of an event as the requester may see it, or the name of the member or resource with the id.
fn title<'a>(requester: &'a Requester, id: &'a str) -> &'a str {
    match requester.snapshot.events.get(id) {
        Some(event) if requester.can_see_details(event) => &event.title,
        Some(_) => "a private event",
        None => display_name(&requester.snapshot, id),
    }
}
