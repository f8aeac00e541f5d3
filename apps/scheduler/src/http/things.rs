//! Members, things and rules of the family: listed for everybody, changed by parents.
//!
//! The three are alike, so that one set of routes serves them: the path says which. Bodies are the object itself together
//! with `user_id`; an object that does not fit is refused with every place. What an object becomes is decided while nobody
//! else can change the calendar: of two who make the same one does, and fields that two change at once are both changed.

use std::sync::{Arc, OnceLock};

use axum::extract::Path;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use axum::{Extension, Json};
use serde_json::{Map, Value, json};
use superstep::{Code, Error, Result};
use superstep_server::{Asks, Body, Problem};

use super::asked::Whose;
use super::asker::Asker;
use super::refusal::{invalid, wrong};
use crate::app::Office;
use crate::calendar::{self, Board, Change, Role, Rule, RuleKind, Strength};
use crate::models;

/// The longest gap that a rule may want between two events, in minutes: a week, which is how far around an event is looked.
const LONGEST_GAP: u32 = 7 * 24 * 60;

/// What kind of thing a path names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Members,
    Resources,
    Rules,
}

impl Kind {
    fn read(name: &str) -> Result<Self, Problem> {
        match name {
            "members" => Ok(Self::Members),
            "resources" => Ok(Self::Resources),
            "rules" => Ok(Self::Rules),
            _ => Err(Problem::not_found(format!("there is nothing at `/api/scheduler/{name}`"))
                .hint("`members`, `resources` and `rules` can be listed and changed")),
        }
    }

    const fn one(self) -> &'static str {
        match self {
            Self::Members => "member",
            Self::Resources => "resource",
            Self::Rules => "rule",
        }
    }

    fn all(self, board: &Board) -> Value {
        match self {
            Self::Members => json!(board.members.values().collect::<Vec<_>>()),
            Self::Resources => json!(board.resources.values().collect::<Vec<_>>()),
            Self::Rules => json!(board.rules.values().collect::<Vec<_>>()),
        }
    }

    fn find(self, board: &Board, id: &str) -> Option<Value> {
        match self {
            Self::Members => board.members.get(id).map(|one| json!(one)),
            Self::Resources => board.resources.get(id).map(|one| json!(one)),
            Self::Rules => board.rules.get(id).map(|one| json!(one)),
        }
    }

    /// The change that puts an object on the board.
    fn put(self, object: Value) -> Result<Change> {
        Ok(match self {
            Self::Members => Change::Member(models::read(object)?),
            Self::Resources => Change::Resource(models::read(object)?),
            Self::Rules => Change::Rule(models::read(object)?),
        })
    }

    fn gone(self, id: String) -> Change {
        match self {
            Self::Members => Change::RemoveMember(id),
            Self::Resources => Change::RemoveResource(id),
            Self::Rules => Change::RemoveRule(id),
        }
    }
}

/// Every member, resource or rule of the family, by id.
#[utoipa::path(
    get, path = "/api/scheduler/{kind}", tag = "scheduler",
    params(("kind" = String, Path, description = "`members`, `resources` or `rules`"), Whose),
    responses((status = OK), (status = FORBIDDEN), (status = NOT_FOUND))
)]
pub(super) async fn list(
    Extension(office): Extension<Office>,
    Path(kind): Path<String>,
    Asks(whose): Asks<Whose>,
) -> Result<Json<Value>, Problem> {
    let read = Kind::read(&kind)?;
    let asker = Asker::new(&office, &whose.user_id).await?;
    Ok(Json(json!({ kind: read.all(&asker.board) })))
}

/// A new member, resource or rule; its id comes of its name unless it is given.
#[utoipa::path(
    post, path = "/api/scheduler/{kind}", tag = "scheduler",
    params(("kind" = String, Path, description = "`members`, `resources` or `rules`")),
    request_body(content = Value, description = "The object, and `user_id` of a parent"),
    responses(
        (status = CREATED), (status = FORBIDDEN, description = "Only parents change the family"), (status = NOT_FOUND),
        (status = CONFLICT, description = "There is one of this id"),
        (status = UNPROCESSABLE_ENTITY, description = "Every problem, with JSON pointers"),
    )
)]
pub(super) async fn create(
    Extension(office): Extension<Office>,
    Path(kind): Path<String>,
    Body(body): Body<Map<String, Value>>,
) -> Result<Response, Problem> {
    let (kind, (user, object)) = (Kind::read(&kind)?, asked(&office, body).await?);
    match object.get("id") {
        None | Some(Value::Null) => {}
        Some(Value::String(id)) if is_id(id) => {}
        Some(_) => return Err(invalid("/id", "this cannot be an id", "use up to 64 letters, digits, `_` and `-`")),
    }
    let made = move |board: &Board| {
        let name = object.get("name").and_then(Value::as_str);
        let given = object.get("id").and_then(Value::as_str).map(str::to_owned);
        let id = given.unwrap_or_else(|| free_id(kind, board, name));
        if kind.find(board, &id).is_some() {
            // How a refusal is told that depends on how things stand: 409.
            let there = Error::new(Code::ThreadBusy, format!("there is a {} `{id}`", kind.one()));
            return Err(there.retryable(false).help("change that one"));
        }
        let mut object = object;
        object.insert("id".to_owned(), json!(id));
        Ok((id, Value::Object(object)))
    };
    let written = put(&office, &user, kind, made).await?;
    Ok((StatusCode::CREATED, Json(written)).into_response())
}

/// Changes a member, resource or rule; fields that are not named stay.
#[utoipa::path(
    patch, path = "/api/scheduler/{kind}/{id}", tag = "scheduler",
    params(("kind" = String, Path, description = "`members`, `resources` or `rules`"), ("id" = String, Path)),
    request_body(content = Value, description = "Fields of the object, and `user_id` of a parent"),
    responses(
        (status = OK), (status = FORBIDDEN, description = "Only parents change the family"), (status = NOT_FOUND),
        (status = UNPROCESSABLE_ENTITY, description = "Every problem, with JSON pointers"),
    )
)]
pub(super) async fn change(
    Extension(office): Extension<Office>,
    Path((kind, id)): Path<(String, String)>,
    Body(body): Body<Map<String, Value>>,
) -> Result<Json<Value>, Problem> {
    let (kind, (user, object)) = (Kind::read(&kind)?, asked(&office, body).await?);
    if object.get("id").is_some_and(|given| *given != id.as_str()) {
        return Err(invalid("/id", "an id stays as it is", "leave it out"));
    }
    let merged = move |board: &Board| {
        let mut known = kind.find(board, &id).ok_or_else(|| missing(kind, &id))?;
        if let Value::Object(known) = &mut known {
            known.extend(object);
        }
        Ok((id, known))
    };
    Ok(Json(put(&office, &user, kind, merged).await?))
}

/// Removes a member, resource or rule that nothing names any more.
#[utoipa::path(
    delete, path = "/api/scheduler/{kind}/{id}", tag = "scheduler",
    params(("kind" = String, Path, description = "`members`, `resources` or `rules`"), ("id" = String, Path), Whose),
    responses(
        (status = NO_CONTENT), (status = FORBIDDEN, description = "Only parents change the family"), (status = NOT_FOUND),
        (status = CONFLICT, description = "Something still names it"),
    )
)]
pub(super) async fn remove(
    Extension(office): Extension<Office>,
    Path((kind, id)): Path<(String, String)>,
    Asks(whose): Asks<Whose>,
) -> Result<StatusCode, Problem> {
    let kind = Kind::read(&kind)?;
    let asker = Asker::new(&office, &whose.user_id).await?;
    asker.must_be_parent()?;
    let action = format!("remove_{}", kind.one());
    let decide = move |board: &Board| match kind.find(board, &id) {
        Some(_) => changed(board, &whose.user_id, kind.gone(id)),
        None => Err(missing(kind, &id)),
    };
    let changed = office.calendars().change(office.family(), &asker.member.id, &action, decide).await;
    changed.map(|_| StatusCode::NO_CONTENT).map_err(refused)
}

/// Why something cannot go: that something names it is how things stand, and nothing wrong with the request.
pub(super) fn refused(error: Error) -> Problem {
    if error.code() != Code::TypeMismatch {
        return error.into();
    }
    let problem = Problem::conflict(error.message());
    error.advice().into_iter().fold(problem, |problem, advice| problem.hint(advice))
}

/// Who asks, and what they send: parents only.
async fn asked(office: &Office, mut body: Map<String, Value>) -> Result<(String, Map<String, Value>), Problem> {
    let user = match body.remove("user_id") {
        Some(Value::String(user)) => user,
        _ => return Err(invalid("/user_id", "this is missing", "the id of a member")),
    };
    Asker::new(office, &user).await?.must_be_parent()?;
    Ok((user, body))
}

/// Writes an object that is made of the calendar while nobody else can change it, and gives it as it was written.
async fn put(
    office: &Office,
    user: &str,
    kind: Kind,
    make: impl FnOnce(&Board) -> Result<(String, Value)> + Send + 'static,
) -> Result<Value, Problem> {
    let made: Arc<OnceLock<String>> = Arc::default();
    let (told, who) = (made.clone(), user.to_owned());
    let decide = move |board: &Board| {
        let (id, object) = make(board)?;
        let change = kind.put(object)?;
        check(&change)?;
        // It is decided once.
        let _ = told.set(id);
        changed(board, &who, change)
    };
    let action = format!("change_{}", kind.one());
    let changed = office.calendars().change(office.family(), user, &action, decide).await?;
    let written = made.get().and_then(|id| kind.find(&changed.board, id));
    Ok(written.ok_or_else(|| Error::internal("nothing was decided"))?)
}

fn missing(kind: Kind, id: &str) -> Error {
    Error::new(Code::NotFound, format!("there is no {} `{id}`", kind.one()))
}

/// What the types cannot say.
fn check(change: &Change) -> Result<()> {
    let (name, problem) = match change {
        Change::Member(member) => {
            let problem = member.preferences.problem();
            (&member.name, problem.map(|(pointer, fact)| wrong(pointer, fact)))
        }
        Change::Resource(thing) => (&thing.name, None),
        Change::Rule(rule) => (&rule.name, check_rule(rule)),
        _ => return Ok(()),
    };
    if name.trim().is_empty() {
        return Err(wrong("/name", "this is empty"));
    }
    problem.map_or(Ok(()), Err)
}

fn check_rule(rule: &Rule) -> Option<Error> {
    let days = match &rule.kind {
        RuleKind::BlockedWindow { days, .. } | RuleKind::PreferredWindow { days, .. } => days.as_slice(),
        _ => &[],
    };
    if matches!(rule.strength, Strength::Soft(weight) if !(1..=10).contains(&weight)) {
        return Some(wrong("/strength/soft", "a weight goes from 1 to 10"));
    }
    if days.iter().any(|day| !(1..=7).contains(day)) {
        return Some(wrong("/kind/days", "days go from 1 to 7"));
    }
    match rule.kind {
        RuleKind::MinGapMinutes { minutes } if minutes > LONGEST_GAP => {
            Some(wrong("/kind/minutes", format!("between two events are at most {LONGEST_GAP} minutes, a week")))
        }
        _ => None,
    }
}

/// The change, unless who asks is no parent any more, or nobody would be left who may change the family.
fn changed(board: &Board, user: &str, change: Change) -> Result<Vec<Change>> {
    let is_parent = |board: &Board, id: &str| board.members.get(id).is_some_and(|one| one.role == Role::Parent);
    if !is_parent(board, user) {
        return Err(Error::new(Code::PolicyRefused, format!("`{user}` may not change the family")).help("a parent may"));
    }
    let mut after = board.clone();
    after.apply(change.clone());
    if after.members.keys().any(|id| is_parent(&after, id)) {
        return Ok(vec![change]);
    }
    Err(Error::new(Code::TypeMismatch, "the last parent stays one").help("make somebody else a parent first"))
}

fn is_id(text: &str) -> bool {
    let is_sign = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-';
    (1..=64).contains(&text.len()) && text.bytes().all(is_sign)
}

/// An id that nothing of the kind has, out of a name.
fn free_id(kind: Kind, board: &Board, name: Option<&str>) -> String {
    calendar::free_id(name.unwrap_or_default(), kind.one(), |id| kind.find(board, id).is_some())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample;

    /// R-FAM-95: ids come of names, and are taken once.
    #[test]
    fn ids_come_of_names() {
        let board = sample::plain();
        for (name, id) in [
            (Some("Grandma Rose"), "grandma-rose"),
            (Some("Mom"), "mom-2"),
            (Some("Åsa"), "sa"),
            (Some("祖母"), "member"),
            (None, "member"),
        ] {
            assert_eq!(free_id(Kind::Members, &board, name), id, "{name:?}");
        }
    }

    /// R-FAM-100: a weight goes from 1 to 10, and days are those of a week.
    #[test]
    fn what_the_types_cannot_say_is_checked() {
        let rule = |strength: Value, days: Value| {
            let kind = json!({ "kind": "blocked_window", "days": days, "from": "09:00:00", "to": "10:00:00" });
            check(&Kind::Rules.put(json!({ "id": "r", "name": "R", "kind": kind, "strength": strength })).unwrap())
        };
        assert!(rule(json!("hard"), json!([1, 7])).is_ok() && rule(json!({ "soft": 10 }), json!([])).is_ok());
        for (strength, days, place) in
            [(json!({ "soft": 11 }), json!([]), "/strength/soft"), (json!("hard"), json!([0]), "/kind/days")]
        {
            assert_eq!(rule(strength, days).unwrap_err().problems()[0].pointer, place);
        }
    }
}
