//! Calendar files: what a member brings along, and what is taken away, once or again and again.

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
use superstep::{Code, Error, Result};
use superstep_server::{Asks, Desk, Problem};
use utoipa::IntoParams;

use super::asker::Asker;
use super::brought::Bringer;
use super::feed;
use super::refusal::invalid_query;
use crate::app::Office;
use crate::calendar::{Board, Calendar, Role};
use crate::ics::{self, MOST_BYTES, Reader, Report};
use crate::models::Conflict;

/// Who brings a file, and where it goes.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(super) struct Bringing {
    /// The id of a member.
    user_id: String,
    /// The calendar that new events go into; unless told the family's, or their own where the family has none.
    calendar: Option<String>,
}

/// Reads a calendar file into the calendar. What cannot be read, is not theirs to change or wants a thing that is full is
/// reported, the rest is taken; what it has people do at once is told as conflicts.
#[utoipa::path(
    post, path = "/api/scheduler/import", tag = "scheduler", params(Bringing),
    request_body(content = String, content_type = "text/calendar", description = "The file; at most 10 MB"),
    responses(
        (status = OK, description = "What became of every part of the file"),
        (status = FORBIDDEN), (status = NOT_FOUND, description = "There is no such calendar"),
        (status = PAYLOAD_TOO_LARGE), (status = UNPROCESSABLE_ENTITY, description = "This is no calendar file"),
    )
)]
pub(super) async fn bring(
    Extension(office): Extension<Office>,
    Asks(bringing): Asks<Bringing>,
    file: Result<Bytes, BytesRejection>,
) -> Result<Json<Value>, Problem> {
    let asker = Asker::new(&office, &bringing.user_id).await?;
    let calendar = calendar_for(&asker, bringing.calendar.as_deref())?;
    let file = file.map_err(|rejection| match rejection.status().as_u16() {
        413 => too_large(),
        _ => Problem::new(400, Code::InputInvalid, "the file could not be read").internal(rejection),
    })?;
    if file.len() > MOST_BYTES {
        return Err(too_large());
    }
    let outcome: Arc<OnceLock<Outcome>> = Arc::default();
    let (told, now, user) = (outcome.clone(), asker.now, bringing.user_id.clone());
    let decide = move |board: &Board| {
        let imported = ics::import(&file, board, now, &calendar, &user)?;
        let refused = Bringer { board, user: &user, now }.refused(&imported)?;
        let imported = imported.without(&refused);
        let conflicts = board.conflicts.keys().cloned().collect();
        // It is decided once.
        let _ = told.set(Outcome { report: imported.report, conflicts });
        Ok(imported.changes)
    };
    let changed = office.calendars().change(office.family(), &bringing.user_id, "import", decide).await?;
    let outcome = outcome.get().ok_or_else(|| Error::internal("nothing was decided"))?;
    Ok(Json(outcome.told(&changed.board)))
}

/// What became of a file.
struct Outcome {
    report: Report,
    /// The conflicts that were known before it, by id.
    conflicts: BTreeSet<String>,
}

impl Outcome {
    /// What is told of it, with the conflicts that the calendar has by it.
    fn told(&self, after: &Board) -> Value {
        let is_new = |conflict: &&Arc<Conflict>| !self.conflicts.contains(&conflict.id);
        let conflicts: Vec<&Conflict> = after.conflicts.values().filter(is_new).map(AsRef::as_ref).collect();
        let mut told = reported(&self.report);
        told["conflicts"] = json!(conflicts);
        told
    }
}

fn too_large() -> Problem {
    let detail = format!("the file has more than the {MOST_BYTES} bytes that are read");
    Problem::new(413, Code::TooLarge, detail).hint("export a shorter time, or one calendar at a time")
}

/// The calendar that new events go into.
fn calendar_for(asker: &Asker, wanted: Option<&str>) -> Result<String, Problem> {
    let all = &asker.board.calendars;
    let Some(id) = wanted else {
        let board = &asker.board;
        let usual = board.shared_calendar().or_else(|| board.calendar_of(&asker.member.id));
        let none = || {
            let fact = "there is no calendar of the family's, and none of your own";
            Problem::new(403, Code::PolicyRefused, fact).hint("a parent may name one in `calendar`")
        };
        return usual.map(|calendar| calendar.id.clone()).ok_or_else(none);
    };
    let known = all.get(id).ok_or_else(|| Problem::not_found(format!("there is no calendar `{id}`")))?;
    let is_theirs = |calendar: &Calendar| calendar.owner.as_ref().is_none_or(|owner| *owner == asker.member.id);
    if is_theirs(known) || asker.member.role == Role::Parent {
        return Ok(id.to_owned());
    }
    Err(Problem::new(403, Code::PolicyRefused, format!("calendar `{id}` is somebody else's")))
}

fn reported(report: &Report) -> Value {
    let skipped = report.skipped.iter().map(|skipped| {
        // Where a problem is why something was left out, it knows the line and the property.
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

/// Who takes a file away.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(super) struct Taking {
    /// The secret of the feed, as `feed` of the settings has it.
    key: Option<String>,
    /// In place of the secret, a member: what they see, to be downloaded.
    user_id: Option<String>,
}

/// The calendar as a file: a feed for whoever has the secret, or a download for a member.
#[utoipa::path(
    get, path = "/api/scheduler/calendar.ics", tag = "scheduler", params(Taking),
    responses(
        (status = OK, content_type = "text/calendar", body = String),
        (status = FORBIDDEN), (status = NOT_FOUND, description = "That is not the secret"),
    )
)]
pub(super) async fn calendar(
    State(desk): State<Desk>,
    Extension(office): Extension<Office>,
    Asks(taking): Asks<Taking>,
) -> Result<Response, Problem> {
    match (taking.key, taking.user_id) {
        (Some(key), None) => {
            if !feed::opens(&desk, &office, &key).await? {
                return Err(Problem::not_found("there is no such feed"));
            }
            written(&*office.board().await?, Reader::Anybody)
        }
        (None, Some(user)) => {
            let asker = Asker::new(&office, &user).await?;
            let mut response = written(&asker.board, Reader::Member(user))?;
            let name = HeaderValue::from_static("attachment; filename=\"calendar.ics\"");
            response.headers_mut().insert(header::CONTENT_DISPOSITION, name);
            Ok(response)
        }
        _ => Err(invalid_query("key", "either `key` or `user_id` is needed")),
    }
}

fn written(board: &Board, reader: Reader) -> Result<Response, Problem> {
    let text = ics::export(board, &ics::Options { reader, calendar: None })?;
    Ok(([(header::CONTENT_TYPE, "text/calendar; charset=utf-8")], text).into_response())
}
