//! Who changed what, and taking the last change back.

use axum::response::{IntoResponse, Response};
use axum::{Extension, Json};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};
use superstep_server::{Asks, Body, Problem};
use utoipa::{IntoParams, ToSchema};

use super::asker::Asker;
use super::instances::named;
use super::refusal::in_the_way;
use super::things::refused;
use crate::agents::words;
use crate::app::Office;
use crate::audit::{Entry, Image, Kind};
use crate::calendar::{Calendar, Change, Event, Visibility};
use crate::models::EventStatus;
use crate::store::Undone;

/// Who takes something back.
#[derive(Debug, Deserialize, JsonSchema, ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Undoing {
    /// The id of a member.
    user_id: String,
}

/// Takes back what a member changed last, within ten minutes.
#[utoipa::path(
    post, path = "/api/scheduler/undo", tag = "scheduler", request_body = Undoing,
    responses(
        (status = OK), (status = FORBIDDEN),
        (
            status = CONFLICT,
            description = "There is nothing to take back, somebody changed the same since, or there is no room any more: `conflicts`",
        ),
    )
)]
pub(super) async fn undo(
    Extension(office): Extension<Office>,
    Body(undoing): Body<Undoing>,
) -> Result<Response, Problem> {
    let asker = Asker::new(&office, &undoing.user_id).await?;
    let undone = office.calendars().undo(office.family(), &undoing.user_id, asker.now).await;
    match undone.map_err(refused)? {
        Undone::Done(done) => {
            let ids: Vec<&str> = done.changes.iter().filter_map(event_id).collect();
            Ok(Json(json!({ "undone": sentence(&done.changes, &asker), "events": ids })).into_response())
        }
        Undone::Nothing => {
            let problem = Problem::conflict("there is nothing to take back");
            Err(problem.hint("only what you changed yourself in the last ten minutes can be"))
        }
        Undone::Touched(ids) => {
            let names: Vec<&str> = ids.iter().map(|id| title(&asker, id)).collect();
            let fact = format!("somebody has changed {} since", words::list(&names));
            Err(Problem::conflict(fact).hint("change it by hand"))
        }
        Undone::Blocked(conflicts) => Ok(in_the_way(&conflicts, "somebody else has this by now: choose another time")),
    }
}

/// What is looked back on.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(super) struct Looking {
    /// Who looks.
    user_id: String,
    /// At most this many; 50 unless said, 200 at most.
    limit: Option<u32>,
}

/// What was changed last, the newest first.
#[utoipa::path(
    get, path = "/api/scheduler/audit", tag = "scheduler", params(Looking),
    responses((status = OK), (status = FORBIDDEN))
)]
pub(super) async fn audit(
    Extension(office): Extension<Office>,
    Asks(looking): Asks<Looking>,
) -> Result<Json<Value>, Problem> {
    let asker = Asker::new(&office, &looking.user_id).await?;
    let limit = looking.limit.unwrap_or(50).clamp(1, 200);
    let entries = office.calendars().audit(office.family(), limit).await?;
    let entries: Vec<Value> = entries.iter().map(|entry| line(entry, &asker)).collect();
    Ok(Json(json!({ "entries": entries })))
}

fn line(entry: &Entry, asker: &Asker) -> Value {
    let mut things: Vec<String> = Vec::new();
    for thing in entry.images.iter().filter_map(|image| thing(image, asker)) {
        if !things.contains(&thing) {
            things.push(thing);
        }
    }
    let what = if things.is_empty() { String::new() } else { format!(" {}", words::list(&things)) };
    let text = format!("{}: {}{what}", named(&asker.board, &entry.who), entry.action.replace('_', " "));
    json!({ "at": asker.written(entry.at), "who": entry.who, "action": entry.action, "text": text })
}

/// What a thing is called for who looks; conflicts are found by nobody in particular.
fn thing(image: &Image, asker: &Asker) -> Option<String> {
    let value = image.after.as_ref().or(image.before.as_ref())?;
    match image.kind {
        Kind::Conflicts => None,
        Kind::Event => {
            let event: Option<Event> = serde_json::from_value(value.clone()).ok();
            Some(match event {
                Some(event) if !asker.sees(&event) => "something private".to_owned(),
                // What somebody else only thinks of is nobody's business yet.
                Some(event) if !image.is_on_calendar() && event.owner != asker.member.id => {
                    "something tentative".to_owned()
                }
                Some(event) => words::quoted(&event.title),
                None => "something private".to_owned(),
            })
        }
        Kind::Calendar if !is_seen_calendar(value, asker) => Some("something private".to_owned()),
        Kind::Family | Kind::Member | Kind::Calendar | Kind::Resource | Kind::Rule => {
            Some(value["name"].as_str().unwrap_or(&image.id).to_owned())
        }
    }
}

/// Whether the name of a calendar is for who looks: that of a private one is its owner's. One that cannot be read may be
/// private.
fn is_seen_calendar(value: &Value, asker: &Asker) -> bool {
    let calendar: Option<Calendar> = serde_json::from_value(value.clone()).ok();
    calendar.is_some_and(|calendar| {
        calendar.visibility == Visibility::Family || calendar.owner.as_ref() == Some(&asker.member.id)
    })
}

fn event_id(change: &Change) -> Option<&str> {
    match change {
        Change::Event(event) => Some(&event.id),
        Change::RemoveEvent(id) => Some(id),
        _ => None,
    }
}

/// In a sentence; `asker` has the calendar as it was before.
fn sentence(changes: &[Change], asker: &Asker) -> String {
    let said = changes.iter().find_map(|change| match change {
        Change::Event(event) if event.status == EventStatus::Rejected => {
            Some(format!("{} is off the calendar again.", words::quoted(&event.title)))
        }
        Change::Event(event) => Some(format!("{} is as it was.", words::quoted(&event.title))),
        Change::RemoveEvent(id) => Some(format!("{} is off the calendar again.", words::quoted(title(asker, id)))),
        _ => None,
    });
    said.unwrap_or_else(|| "That is as it was.".to_owned())
}

/// What an event is called for who looks, or what has the id.
fn title<'a>(asker: &'a Asker, id: &'a str) -> &'a str {
    match asker.board.events.get(id) {
        Some(event) if asker.sees(event) => &event.title,
        Some(_) => "something private",
        None => named(&asker.board, id),
    }
}
