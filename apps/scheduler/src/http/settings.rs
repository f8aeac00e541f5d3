//! Settings that a page needs first: the family, its members and resources, models and example requests.

use axum::extract::State;
use axum::{Extension, Json};
use serde_json::{Value, json};
use superstep_server::{Problem, RunService, ValidatedQuery};

use super::feed_key;
use super::requester::Requester;
use super::requests::OptionalUserParams;
use crate::app::AppState;
use crate::calendar::{Calendar, Visibility};
use crate::parser::LABEL;

/// Returns the family and its resources; without a member, only the members to choose from.
#[utoipa::path(
    get, path = "/api/scheduler/settings", tag = "scheduler", params(OptionalUserParams),
    responses((status = OK), (status = FORBIDDEN))
)]
pub(super) async fn settings(
    State(desk): State<RunService>,
    Extension(office): Extension<AppState>,
    ValidatedQuery(looking): ValidatedQuery<OptionalUserParams>,
) -> Result<Json<Value>, Problem> {
    let Some(user) = looking.user_id else { return Ok(Json(public_settings(&office).await?)) };
    let asker = Requester::new(&office, &user).await?;
    let board = &asker.board;
    let is_theirs = |calendar: &&Calendar| {
        calendar.visibility == Visibility::Family || calendar.owner.as_ref() == Some(&asker.member.id)
    };
    let calendars: Vec<&Calendar> = board.calendars.values().map(AsRef::as_ref).filter(is_theirs).collect();
    let key = feed_key::get_or_create_key(&desk, &office).await?;
    Ok(Json(json!({
        "family": board.family,
        "me": asker.member.id,
        "now": asker.in_local_time(asker.now),
        // Parser of a request that names no model.
        "parser": { "label": LABEL, "model": null },
        "models": office.models(),
        "members": board.members.values().collect::<Vec<_>>(),
        "resources": board.resources.values().collect::<Vec<_>>(),
        "rules": board.rules.values().collect::<Vec<_>>(),
        "calendars": calendars,
        "examples": office.examples(),
        "feed": feed_key::address(&key),
    })))
}

/// Returns the settings that are public, without a user id.
async fn public_settings(office: &AppState) -> Result<Value, Problem> {
    let board = office.snapshot().await?;
    let members = board.members.values();
    let members = members.map(|member| json!({ "id": member.id, "name": member.name, "role": member.role }));
    Ok(json!({
        "family": board.family, "members": members.collect::<Vec<_>>(), "examples": office.examples(),
    }))
}
