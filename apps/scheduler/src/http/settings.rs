//! What a page needs to know first: who the family is, what it has, what can be said.

use axum::extract::State;
use axum::{Extension, Json};
use serde_json::{Value, json};
use superstep_server::{Asks, Desk, Problem};

use super::asked::Looking;
use super::asker::Asker;
use super::feed;
use crate::app::Office;
use crate::calendar::{Calendar, Visibility};
use crate::parser::LABEL;

/// Who the family is and what it has; without a member, only who there is to choose from.
#[utoipa::path(
    get, path = "/api/scheduler/settings", tag = "scheduler", params(Looking),
    responses((status = OK), (status = FORBIDDEN))
)]
pub(super) async fn settings(
    State(desk): State<Desk>,
    Extension(office): Extension<Office>,
    Asks(looking): Asks<Looking>,
) -> Result<Json<Value>, Problem> {
    let Some(user) = looking.user_id else { return Ok(Json(open(&office).await?)) };
    let asker = Asker::new(&office, &user).await?;
    let board = &asker.board;
    let is_theirs = |calendar: &&Calendar| {
        calendar.visibility == Visibility::Family || calendar.owner.as_ref() == Some(&asker.member.id)
    };
    let calendars: Vec<&Calendar> = board.calendars.values().map(AsRef::as_ref).filter(is_theirs).collect();
    let key = feed::key(&desk, &office).await?;
    Ok(Json(json!({
        "family": board.family,
        "me": asker.member.id,
        "now": asker.written(asker.now),
        // Who reads a request that names no model.
        "parser": { "label": LABEL, "model": null },
        "models": office.models(),
        "members": board.members.values().collect::<Vec<_>>(),
        "resources": board.resources.values().collect::<Vec<_>>(),
        "rules": board.rules.values().collect::<Vec<_>>(),
        "calendars": calendars,
        "examples": office.examples(),
        "feed": feed::address(&key),
    })))
}

/// What somebody who has not said who they are may know.
async fn open(office: &Office) -> Result<Value, Problem> {
    let board = office.board().await?;
    let members = board.members.values();
    let members = members.map(|member| json!({ "id": member.id, "name": member.name, "role": member.role }));
    Ok(json!({
        "family": board.family, "members": members.collect::<Vec<_>>(), "examples": office.examples(),
    }))
}
