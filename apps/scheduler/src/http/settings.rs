//! Settings that a page needs first: the family, its members and resources, models and example requests.

use axum::extract::State;
use axum::{Extension, Json};
use serde_json::{Value, json};
use superstep_server::{Problem, RunService, ValidatedQuery};

use super::feed_key;
use super::requester::Requester;
use super::requests::OptionalUserParams;
use crate::app::SchedulerAppState;
use crate::calendar::{Calendar, Visibility};
use crate::parser::LABEL;

/// Returns the family and its resources; without a member, only the members to choose from.
#[utoipa::path(
    get, path = "/api/scheduler/settings", tag = "scheduler", params(OptionalUserParams),
    responses((status = OK), (status = FORBIDDEN))
)]
pub(super) async fn settings(
    State(runs): State<RunService>,
    Extension(app): Extension<SchedulerAppState>,
    ValidatedQuery(params): ValidatedQuery<OptionalUserParams>,
) -> Result<Json<Value>, Problem> {
    let Some(user) = params.user_id else { return Ok(Json(public_settings(&app).await?)) };
    let requester = Requester::new(&app, &user).await?;
    let snapshot = &requester.snapshot;
    let is_visible = |calendar: &&Calendar| {
        calendar.visibility == Visibility::Family || calendar.owner.as_ref() == Some(&requester.member.id)
    };
    let calendars: Vec<&Calendar> = snapshot.calendars.values().map(AsRef::as_ref).filter(is_visible).collect();
    let key = feed_key::get_or_create_key(&runs, &app).await?;
    Ok(Json(json!({
        "family": snapshot.family,
        "me": requester.member.id,
        "now": requester.in_local_time(requester.now),
        // Parser of a request that names no model.
        "parser": { "label": LABEL, "model": null },
        "models": app.models(),
        "members": snapshot.members.values().collect::<Vec<_>>(),
        "resources": snapshot.resources.values().collect::<Vec<_>>(),
        "rules": snapshot.rules.values().collect::<Vec<_>>(),
        "calendars": calendars,
        "examples": app.examples(),
        "feed": feed_key::address(&key),
    })))
}

/// Returns the settings that are public, without a user id.
async fn public_settings(app: &SchedulerAppState) -> Result<Value, Problem> {
    let snapshot = app.snapshot().await?;
    let members = snapshot.members.values();
    let members = members.map(|member| json!({ "id": member.id, "name": member.name, "role": member.role }));
    Ok(json!({
        "family": snapshot.family, "members": members.collect::<Vec<_>>(), "examples": app.examples(),
    }))
}
