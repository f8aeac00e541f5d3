//! Members, resources and constraints of the family: listed for every member, changed by parents.
//!
//! One set of routes serves all three; the path names the kind. A body is the object with an additional `user_id`.
//! An invalid object is rejected with every invalid location. The object is built inside the transaction: of two
//! concurrent creations with the same id one succeeds, and concurrent changes of different fields are both applied.

use std::sync::{Arc, OnceLock};

use axum::extract::Path;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use axum::{Extension, Json};
use serde_json::{Map, Value, json};
use superstep::{Error, ErrorCode, Result};
use superstep_server::{Problem, ValidatedJson, ValidatedQuery};

use super::errors::{field_error, invalid};
use super::requester::Requester;
use super::requests::UserParams;
use crate::app::SchedulerAppState;
use crate::calendar::{
    self, CalendarChange, CalendarSnapshot, Constraint, ConstraintKind, ConstraintStrength, MemberRole,
};
use crate::models;

/// Maximum gap between two events that a constraint can require, in minutes: a week, the range in which constraints
/// are checked.
const MAX_GAP_MINUTES: u32 = 7 * 24 * 60;

/// Kind of object that a path names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum FamilyObjectKind {
    Members,
    Resources,
    Rules,
}

impl FamilyObjectKind {
    fn from_name(name: &str) -> Result<Self, Problem> {
        match name {
            "members" => Ok(Self::Members),
            "resources" => Ok(Self::Resources),
            "rules" => Ok(Self::Rules),
            _ => Err(Problem::not_found(format!("`/api/scheduler/{name}` not found"))
                .with_hint("use `members`, `resources` or `rules`")),
        }
    }

    const fn singular(self) -> &'static str {
        match self {
            Self::Members => "member",
            Self::Resources => "resource",
            Self::Rules => "rule",
        }
    }

    fn all(self, snapshot: &CalendarSnapshot) -> Value {
        match self {
            Self::Members => json!(snapshot.members.values().collect::<Vec<_>>()),
            Self::Resources => json!(snapshot.resources.values().collect::<Vec<_>>()),
            Self::Rules => json!(snapshot.rules.values().collect::<Vec<_>>()),
        }
    }

    fn find(self, snapshot: &CalendarSnapshot, id: &str) -> Option<Value> {
        match self {
            Self::Members => snapshot.members.get(id).map(|member| json!(member)),
            Self::Resources => snapshot.resources.get(id).map(|resource| json!(resource)),
            Self::Rules => snapshot.rules.get(id).map(|rule| json!(rule)),
        }
    }

    /// Returns the change that writes an object.
    fn put(self, object: Value) -> Result<CalendarChange> {
        Ok(match self {
            Self::Members => CalendarChange::Member(models::from_json(object)?),
            Self::Resources => CalendarChange::Resource(models::from_json(object)?),
            Self::Rules => CalendarChange::Rule(models::from_json(object)?),
        })
    }

    fn removal(self, id: String) -> CalendarChange {
        match self {
            Self::Members => CalendarChange::RemoveMember(id),
            Self::Resources => CalendarChange::RemoveResource(id),
            Self::Rules => CalendarChange::RemoveRule(id),
        }
    }
}

/// Lists the members, resources or constraints of the family, by id.
#[utoipa::path(
    get, path = "/api/scheduler/{kind}", tag = "scheduler",
    params(("kind" = String, Path, description = "`members`, `resources` or `rules`"), UserParams),
    responses((status = OK), (status = FORBIDDEN), (status = NOT_FOUND))
)]
pub(super) async fn list(
    Extension(app): Extension<SchedulerAppState>,
    Path(kind): Path<String>,
    ValidatedQuery(params): ValidatedQuery<UserParams>,
) -> Result<Json<Value>, Problem> {
    let object_kind = FamilyObjectKind::from_name(&kind)?;
    let requester = Requester::new(&app, &params.user_id).await?;
    Ok(Json(json!({ kind: object_kind.all(&requester.snapshot) })))
}

/// Creates a member, resource or constraint. If the id is missing, it is derived from the name.
#[utoipa::path(
    post, path = "/api/scheduler/{kind}", tag = "scheduler",
    params(("kind" = String, Path, description = "`members`, `resources` or `rules`")),
    request_body(content = Value, description = "The object, and `user_id` of a parent"),
    responses(
        (status = CREATED), (status = FORBIDDEN, description = "Only parents can change the family"), (status = NOT_FOUND),
        (status = CONFLICT, description = "The id is already in use"),
        (status = UNPROCESSABLE_ENTITY, description = "All validation errors, with JSON pointers"),
    )
)]
pub(super) async fn create(
    Extension(app): Extension<SchedulerAppState>,
    Path(kind): Path<String>,
    ValidatedJson(body): ValidatedJson<Map<String, Value>>,
) -> Result<Response, Problem> {
    let (kind, (user, object)) = (FamilyObjectKind::from_name(&kind)?, require_parent_request(&app, body).await?);
    match object.get("id") {
        None | Some(Value::Null) => {}
        Some(Value::String(id)) if is_id(id) => {}
        Some(_) => return Err(invalid("/id", "this is not a valid id", "use up to 64 letters, digits, `_` and `-`")),
    }
    let build = move |snapshot: &CalendarSnapshot| {
        let name = object.get("name").and_then(Value::as_str);
        let requested_id = object.get("id").and_then(Value::as_str).map(str::to_owned);
        let id = requested_id.unwrap_or_else(|| free_id(kind, snapshot, name));
        if kind.find(snapshot, &id).is_some() {
            // `ThreadBusy` maps to 409.
            let error = Error::new(ErrorCode::ThreadBusy, format!("{} `{id}` already exists", kind.singular()));
            return Err(error.with_retryable(false).with_help("change it, or use another id"));
        }
        let mut object = object;
        object.insert("id".to_owned(), json!(id));
        Ok((id, Value::Object(object)))
    };
    let written = put(&app, &user, kind, build).await?;
    Ok((StatusCode::CREATED, Json(written)).into_response())
}

/// Changes a member, resource or constraint. Missing fields stay unchanged.
#[utoipa::path(
    patch, path = "/api/scheduler/{kind}/{id}", tag = "scheduler",
    params(("kind" = String, Path, description = "`members`, `resources` or `rules`"), ("id" = String, Path)),
    request_body(content = Value, description = "Fields of the object, and `user_id` of a parent"),
    responses(
        (status = OK), (status = FORBIDDEN, description = "Only parents can change the family"), (status = NOT_FOUND),
        (status = UNPROCESSABLE_ENTITY, description = "All validation errors, with JSON pointers"),
    )
)]
pub(super) async fn change(
    Extension(app): Extension<SchedulerAppState>,
    Path((kind, id)): Path<(String, String)>,
    ValidatedJson(body): ValidatedJson<Map<String, Value>>,
) -> Result<Json<Value>, Problem> {
    let (kind, (user, object)) = (FamilyObjectKind::from_name(&kind)?, require_parent_request(&app, body).await?);
    if object.get("id").is_some_and(|value| *value != id.as_str()) {
        return Err(invalid("/id", "the id cannot be changed", "omit it"));
    }
    let merge = move |snapshot: &CalendarSnapshot| {
        let mut existing = kind.find(snapshot, &id).ok_or_else(|| not_found(kind, &id))?;
        if let Value::Object(fields) = &mut existing {
            fields.extend(object);
        }
        Ok((id, existing))
    };
    Ok(Json(put(&app, &user, kind, merge).await?))
}

/// Removes a member, resource or constraint that is not referenced any more.
#[utoipa::path(
    delete, path = "/api/scheduler/{kind}/{id}", tag = "scheduler",
    params(("kind" = String, Path, description = "`members`, `resources` or `rules`"), ("id" = String, Path), UserParams),
    responses(
        (status = NO_CONTENT), (status = FORBIDDEN, description = "Only parents can change the family"), (status = NOT_FOUND),
        (status = CONFLICT, description = "The object is still referenced"),
    )
)]
pub(super) async fn remove(
    Extension(app): Extension<SchedulerAppState>,
    Path((kind, id)): Path<(String, String)>,
    ValidatedQuery(params): ValidatedQuery<UserParams>,
) -> Result<StatusCode, Problem> {
    let kind = FamilyObjectKind::from_name(&kind)?;
    let requester = Requester::new(&app, &params.user_id).await?;
    requester.require_parent()?;
    let action = format!("remove_{}", kind.singular());
    let decide = move |snapshot: &CalendarSnapshot| match kind.find(snapshot, &id) {
        Some(_) => authorized_changes(snapshot, &params.user_id, kind.removal(id)),
        None => Err(not_found(kind, &id)),
    };
    let changed = app.calendars().change(app.family(), &requester.member.id, &action, decide).await;
    changed.map(|_| StatusCode::NO_CONTENT).map_err(reference_conflict)
}

/// Converts the error of a removal or an undo. An object that is still referenced is a conflict, not an invalid
/// request.
pub(super) fn reference_conflict(error: Error) -> Problem {
    if error.code() != ErrorCode::TypeMismatch {
        return error.into();
    }
    let problem = Problem::conflict(error.message());
    error.help().into_iter().fold(problem, |problem, advice| problem.with_hint(advice))
}

/// Splits a request body into the user id and the object; rejects users who are not parents.
async fn require_parent_request(
    app: &SchedulerAppState,
    mut body: Map<String, Value>,
) -> Result<(String, Map<String, Value>), Problem> {
    let user = match body.remove("user_id") {
        Some(Value::String(user)) => user,
        _ => return Err(invalid("/user_id", "this is missing", "send the id of a member")),
    };
    Requester::new(app, &user).await?.require_parent()?;
    Ok((user, body))
}

/// Writes an object that `make` builds inside the transaction, and returns the object as written.
async fn put(
    app: &SchedulerAppState,
    user: &str,
    kind: FamilyObjectKind,
    make: impl FnOnce(&CalendarSnapshot) -> Result<(String, Value)> + Send + 'static,
) -> Result<Value, Problem> {
    let created_id: Arc<OnceLock<String>> = Arc::default();
    let (id_cell, author) = (created_id.clone(), user.to_owned());
    let decide = move |snapshot: &CalendarSnapshot| {
        let (id, object) = make(snapshot)?;
        let change = kind.put(object)?;
        check(&change)?;
        // `set` cannot fail: the closure runs at most once.
        let _ = id_cell.set(id);
        authorized_changes(snapshot, &author, change)
    };
    let action = format!("change_{}", kind.singular());
    let changed = app.calendars().change(app.family(), user, &action, decide).await?;
    let written = created_id.get().and_then(|id| kind.find(&changed.snapshot, id));
    Ok(written.ok_or_else(|| Error::internal("the change was not computed"))?)
}

fn not_found(kind: FamilyObjectKind, id: &str) -> Error {
    Error::new(ErrorCode::NotFound, format!("{} `{id}` not found", kind.singular()))
}

/// Checks what the types cannot express.
fn check(change: &CalendarChange) -> Result<()> {
    let (name, problem) = match change {
        CalendarChange::Member(member) => {
            let problem = member.preferences.problem();
            (&member.name, problem.map(|(pointer, reason)| field_error(pointer, reason)))
        }
        CalendarChange::Resource(resource) => (&resource.name, None),
        CalendarChange::Rule(rule) => (&rule.name, check_rule(rule)),
        _ => return Ok(()),
    };
    if name.trim().is_empty() {
        return Err(field_error("/name", "this is empty"));
    }
    problem.map_or(Ok(()), Err)
}

fn check_rule(rule: &Constraint) -> Option<Error> {
    let days = match &rule.kind {
        ConstraintKind::BlockedWindow { days, .. } | ConstraintKind::PreferredWindow { days, .. } => days.as_slice(),
        _ => &[],
    };
    if matches!(rule.strength, ConstraintStrength::Soft(weight) if !(1..=10).contains(&weight)) {
        return Some(field_error("/strength/soft", "a weight must be from 1 to 10"));
    }
    if days.iter().any(|day| !(1..=7).contains(day)) {
        return Some(field_error("/kind/days", "days must be from 1 to 7"));
    }
    match rule.kind {
        ConstraintKind::MinGapMinutes { minutes } if minutes > MAX_GAP_MINUTES => Some(field_error(
            "/kind/minutes",
            format!("the gap between two events can be at most {MAX_GAP_MINUTES} minutes, one week"),
        )),
        _ => None,
    }
}

/// Returns the change, unless the user is no longer a parent or the change would leave the family without a parent.
fn authorized_changes(snapshot: &CalendarSnapshot, user: &str, change: CalendarChange) -> Result<Vec<CalendarChange>> {
    let is_parent = |snapshot: &CalendarSnapshot, id: &str| {
        snapshot.members.get(id).is_some_and(|member| member.role == MemberRole::Parent)
    };
    if !is_parent(snapshot, user) {
        return Err(Error::new(
            ErrorCode::PolicyRefused,
            format!("`{user}` does not have permission to change the family"),
        )
        .with_help("only parents can do this"));
    }
    let mut after = snapshot.clone();
    after.apply(change.clone());
    if after.members.keys().any(|id| is_parent(&after, id)) {
        return Ok(vec![change]);
    }
    Err(Error::new(ErrorCode::TypeMismatch, "a family needs at least one parent")
        .with_help("make another member a parent first"))
}

fn is_id(text: &str) -> bool {
    let is_allowed = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-';
    (1..=64).contains(&text.len()) && text.bytes().all(is_allowed)
}

/// Derives an unused id from a name.
fn free_id(kind: FamilyObjectKind, snapshot: &CalendarSnapshot, name: Option<&str>) -> String {
    calendar::free_id(name.unwrap_or_default(), kind.singular(), |id| kind.find(snapshot, id).is_some())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample;

    /// R-FAM-95: ids are derived from names, and each id is used once.
    #[test]
    fn ids_are_derived_from_names() {
        let snapshot = sample::empty_family();
        for (name, id) in [
            (Some("Grandma Rose"), "grandma-rose"),
            (Some("Mom"), "mom-2"),
            (Some("Åsa"), "sa"),
            (Some("祖母"), "member"),
            (None, "member"),
        ] {
            assert_eq!(free_id(FamilyObjectKind::Members, &snapshot, name), id, "{name:?}");
        }
    }

    /// R-FAM-100: a weight is from 1 to 10, and days are weekdays from 1 to 7.
    #[test]
    fn values_beyond_the_types_are_validated() {
        let rule = |strength: Value, days: Value| {
            let kind = json!({ "kind": "blocked_window", "days": days, "from": "09:00:00", "to": "10:00:00" });
            check(
                &FamilyObjectKind::Rules
                    .put(json!({ "id": "r", "name": "R", "kind": kind, "strength": strength }))
                    .unwrap(),
            )
        };
        assert!(rule(json!("hard"), json!([1, 7])).is_ok() && rule(json!({ "soft": 10 }), json!([])).is_ok());
        for (strength, days, pointer) in
            [(json!({ "soft": 11 }), json!([]), "/strength/soft"), (json!("hard"), json!([0]), "/kind/days")]
        {
            assert_eq!(rule(strength, days).unwrap_err().diagnostics()[0].pointer, pointer);
        }
    }
}
