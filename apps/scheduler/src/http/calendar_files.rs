//! Import of calendar files, export as a download, and the calendar feed.

use std::collections::BTreeSet;
use std::sync::{Arc, OnceLock};

use axum::body::Bytes;
use axum::extract::State;
use axum::extract::rejection::BytesRejection;
use axum::http::{HeaderValue, header};
use axum::response::{IntoResponse, Response};
use axum::{Extension, Json};
use serde::Deserialize;
use serde_json::{Value, json};
use superstep::{Error, ErrorCode, Result};
use superstep_server::{Problem, RunService, ValidatedQuery};
use utoipa::IntoParams;

use super::errors::invalid_query;
use super::feed_key;
use super::import_guard::ImportGuard;
use super::requester::Requester;
use crate::app::SchedulerAppState;
use crate::calendar::{Calendar, CalendarSnapshot, MemberRole};
use crate::ics::{self, ExportAudience, ImportReport, MAX_BYTES};
use crate::models::Conflict;

/// Parameters of an import.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(super) struct ImportParams {
    /// Id of the member who imports the file.
    user_id: String,
    /// Calendar for new events; default: the family calendar, or the calendar of the member if there is none.
    calendar: Option<String>,
}

/// Imports a calendar file. Entries that cannot be read, that the member may not change, or that need a full resource
/// are skipped and reported. The response lists the scheduling conflicts that the import caused.
#[utoipa::path(
    post, path = "/api/scheduler/import", tag = "scheduler", params(ImportParams),
    request_body(content = String, content_type = "text/calendar", description = "Calendar file, at most 10 MB"),
    responses(
        (status = OK, description = "Result for each entry of the file"),
        (status = FORBIDDEN), (status = NOT_FOUND, description = "Calendar not found"),
        (status = PAYLOAD_TOO_LARGE), (status = UNPROCESSABLE_ENTITY, description = "The file is not a calendar file"),
    )
)]
pub(super) async fn import_calendar(
    Extension(app): Extension<SchedulerAppState>,
    ValidatedQuery(params): ValidatedQuery<ImportParams>,
    file: Result<Bytes, BytesRejection>,
) -> Result<Json<Value>, Problem> {
    let requester = Requester::new(&app, &params.user_id).await?;
    let calendar = calendar_for(&requester, params.calendar.as_deref())?;
    let file = file.map_err(|rejection| match rejection.status().as_u16() {
        413 => too_large(),
        _ => Problem::new(400, ErrorCode::InputInvalid, "the file could not be read").with_internal(rejection),
    })?;
    if file.len() > MAX_BYTES {
        return Err(too_large());
    }
    let outcome: Arc<OnceLock<ImportOutcome>> = Arc::default();
    let (outcome_cell, now, user) = (outcome.clone(), requester.now, params.user_id.clone());
    let decide = move |snapshot: &CalendarSnapshot| {
        let imported = ics::import(&file, snapshot, now, &calendar, &user)?;
        let rejected = ImportGuard { snapshot, user: &user, now }.rejected_uids(&imported)?;
        let imported = imported.without(&rejected);
        let conflicts = snapshot.conflicts.keys().cloned().collect();
        // `set` cannot fail: the closure runs at most once.
        let _ = outcome_cell.set(ImportOutcome { report: imported.report, conflicts });
        Ok(imported.changes)
    };
    let changed = app.calendars().change(app.family(), &params.user_id, "import", decide).await?;
    let outcome = outcome.get().ok_or_else(|| Error::internal("the change was not computed"))?;
    Ok(Json(outcome.import_response(&changed.snapshot)))
}

/// Result of an import.
struct ImportOutcome {
    report: ImportReport,
    /// Ids of the conflicts that existed before the import.
    conflicts: BTreeSet<String>,
}

impl ImportOutcome {
    /// Returns the response, with the conflicts that the import caused.
    fn import_response(&self, after: &CalendarSnapshot) -> Value {
        let is_new = |conflict: &&Arc<Conflict>| !self.conflicts.contains(&conflict.id);
        let conflicts: Vec<&Conflict> = after.conflicts.values().filter(is_new).map(AsRef::as_ref).collect();
        let mut response = report_json(&self.report);
        response["conflicts"] = json!(conflicts);
        response
    }
}

fn too_large() -> Problem {
    let detail = format!("the file is larger than {MAX_BYTES} bytes");
    Problem::new(413, ErrorCode::TooLarge, detail).with_hint("export a shorter period, or one calendar at a time")
}

/// Returns the calendar for new events: the requested one, or the default of the member.
fn calendar_for(requester: &Requester, requested: Option<&str>) -> Result<String, Problem> {
    let all = &requester.snapshot.calendars;
    let Some(id) = requested else {
        let snapshot = &requester.snapshot;
        let default_calendar = snapshot.shared_calendar().or_else(|| snapshot.default_calendar(&requester.member.id));
        let none = || {
            let detail = "neither a family calendar nor a calendar of your own exists";
            Problem::new(403, ErrorCode::PolicyRefused, detail).with_hint("a parent can select one with `calendar`")
        };
        return default_calendar.map(|calendar| calendar.id.clone()).ok_or_else(none);
    };
    let selected = all.get(id).ok_or_else(|| Problem::not_found(format!("calendar `{id}` not found")))?;
    let is_shared_or_own =
        |calendar: &Calendar| calendar.owner.as_ref().is_none_or(|owner| *owner == requester.member.id);
    if is_shared_or_own(selected) || requester.member.role == MemberRole::Parent {
        return Ok(id.to_owned());
    }
    Err(Problem::new(403, ErrorCode::PolicyRefused, format!("calendar `{id}` belongs to another member")))
}

fn report_json(report: &ImportReport) -> Value {
    let skipped = report.skipped.iter().map(|skipped| {
        // A problem that caused an event to be skipped has the line and the property.
        let problem = report.problems.iter().find(|problem| problem.to_string() == skipped.reason);
        json!({
            "line": problem.map_or(skipped.entry.line, |problem| problem.line),
            "property": problem.map(|problem| &problem.property),
            "reason": problem.map_or(&skipped.reason, |problem| &problem.message),
            "title": skipped.entry.title,
        })
    });
    json!({
        "created": report.created.len(),
        "updated": report.updated.len() + report.removed.len(),
        "unchanged": report.unchanged.len(),
        "skipped": skipped.collect::<Vec<_>>(),
        "problems": report.problems,
    })
}

/// Parameters of an export.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(super) struct ExportParams {
    /// Secret of the feed, as in `feed` of the settings.
    key: Option<String>,
    /// Id of a member, instead of the secret: exports the events visible to this member as a download.
    user_id: Option<String>,
}

/// Exports the calendar as a file: a feed for clients with the secret, or a download for a member.
#[utoipa::path(
    get, path = "/api/scheduler/calendar.ics", tag = "scheduler", params(ExportParams),
    responses(
        (status = OK, content_type = "text/calendar", body = String),
        (status = FORBIDDEN), (status = NOT_FOUND, description = "Invalid secret"),
    )
)]
pub(super) async fn export_calendar(
    State(runs): State<RunService>,
    Extension(app): Extension<SchedulerAppState>,
    ValidatedQuery(params): ValidatedQuery<ExportParams>,
) -> Result<Response, Problem> {
    match (params.key, params.user_id) {
        (Some(key), None) => {
            if !feed_key::is_valid_key(&runs, &app, &key).await? {
                return Err(Problem::not_found("feed not found"));
            }
            file_response(&*app.snapshot().await?, ExportAudience::Public)
        }
        (None, Some(user)) => {
            let requester = Requester::new(&app, &user).await?;
            let mut response = file_response(&requester.snapshot, ExportAudience::Member(user))?;
            let name = HeaderValue::from_static("attachment; filename=\"calendar.ics\"");
            response.headers_mut().insert(header::CONTENT_DISPOSITION, name);
            Ok(response)
        }
        _ => Err(invalid_query("key", "set either `key` or `user_id`")),
    }
}

fn file_response(snapshot: &CalendarSnapshot, audience: ExportAudience) -> Result<Response, Problem> {
    let text = ics::export(snapshot, &ics::ExportOptions { audience, calendar: None })?;
    Ok(([(header::CONTENT_TYPE, "text/calendar; charset=utf-8")], text).into_response())
}
