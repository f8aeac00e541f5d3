//! What is on the calendar, for whoever looks: whole, or only that somebody is busy. What others propose is only that.

use std::sync::Arc;

use axum::extract::Path;
use axum::{Extension, Json};
use serde::Deserialize;
use serde_json::{Value, json};
use superstep::core::time::Time;
use superstep_server::{Asks, Problem};
use utoipa::IntoParams;

use super::asked::Whose;
use super::asker::Asker;
use super::refusal::invalid_query;
use crate::agents::BUSY;
use crate::app::Office;
use crate::calendar::{Board, Event, Span};
use crate::models::{Conflict, EventStatus};
use crate::zone::Zone;

/// The longest stretch of time that is told at once, in days.
const MOST_DAYS: i64 = 400;

/// Which stretch of time.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(super) struct Within {
    /// Who looks.
    user_id: String,
    /// From when, as `2026-01-08T00:00:00-05:00`.
    from: String,
    /// Until when; at most 400 days later.
    to: String,
}

impl Within {
    fn span(&self) -> Result<Span, Problem> {
        let time =
            |name: &str, text: &str| Time::parse(text).map_err(|fault| invalid_query(name, fault.message.clone()));
        let (from, to) = (time("from", &self.from)?, time("to", &self.to)?);
        let span = Span::new(from, to).ok_or_else(|| invalid_query("to", format!("{to} is not after {from}")))?;
        if to.as_unix_micros() - from.as_unix_micros() > MOST_DAYS * 24 * 3_600 * 1_000_000 {
            return Err(invalid_query("to", format!("at most {MOST_DAYS} days are told at once")));
        }
        Ok(span)
    }
}

/// What is on the calendar in a stretch of time, the earliest first, and what is wrong with it.
#[utoipa::path(
    get, path = "/api/scheduler/events", tag = "scheduler", params(Within),
    responses((status = OK), (status = FORBIDDEN), (status = UNPROCESSABLE_ENTITY))
)]
pub(super) async fn list(
    Extension(office): Extension<Office>,
    Asks(within): Asks<Within>,
) -> Result<Json<Value>, Problem> {
    let span = within.span()?;
    let asker = Asker::new(&office, &within.user_id).await?;
    let instances = asker.board.instances(&span)?;
    let events: Vec<Value> = instances.iter().map(|one| shown(&asker, &one.event, &one.span)).collect();
    let is_there = |id: &String| instances.iter().any(|one| one.event.id == *id);
    let is_about = |conflict: &&Conflict| conflict.conflicting_event_id.as_ref().is_none_or(is_there);
    let conflicts: Vec<&Conflict> = asker.board.conflicts.values().map(AsRef::as_ref).filter(is_about).collect();
    Ok(Json(json!({ "events": events, "conflicts": conflicts })))
}

/// An event; of a series, the first one.
#[utoipa::path(
    get, path = "/api/scheduler/events/{id}", tag = "scheduler", params(("id" = String, Path), Whose),
    responses((status = OK), (status = FORBIDDEN), (status = NOT_FOUND))
)]
pub(super) async fn one(
    Extension(office): Extension<Office>,
    Path(id): Path<String>,
    Asks(whose): Asks<Whose>,
) -> Result<Json<Value>, Problem> {
    let asker = Asker::new(&office, &whose.user_id).await?;
    let event = asker.board.events.get(&id).ok_or_else(|| missing(&id))?;
    Ok(Json(shown(&asker, event, &event.span)))
}

/// There is no such event.
pub(super) fn missing(id: &str) -> Problem {
    Problem::not_found(format!("there is no event `{id}`")).hint("it may have been cancelled")
}

/// An event at one of its times, as somebody sees it.
pub(super) fn shown(asker: &Asker, event: &Event, span: &Span) -> Value {
    let board = &asker.board;
    let mut whole = json!({
        "event_id": event.id,
        "title": BUSY,
        "start": asker.written(span.start),
        "end": asker.written(span.end),
        "is_all_day": event.is_all_day,
        "is_busy": true,
        "is_tentative": event.status != EventStatus::Confirmed,
        "status": event.status,
        "participants": [],
        "resources": [],
        "calendar": null,
        "location": null,
        "notes": null,
        "recurrence_rule": null,
        "occurrence": null,
        "is_exception": false,
        "priority": null,
        "flexibility": null,
        "owner": null,
        "may_change": false,
    });
    // What somebody else only thinks of takes the time, and is nobody's business yet.
    let is_idea = event.status != EventStatus::Confirmed && event.owner != asker.member.id;
    if is_idea || !asker.sees(event) {
        return whole;
    }
    let people = event
        .participants
        .iter()
        .map(|one| json!({ "id": one.member, "name": named(board, &one.member), "is_required": one.is_required }));
    let things = event.resources.iter().map(|id| json!({ "id": id, "name": named(board, id) }));
    let details = json!({
        "title": event.title,
        "is_busy": false,
        "participants": people.collect::<Vec<_>>(),
        "resources": things.collect::<Vec<_>>(),
        "calendar": event.calendar,
        "location": event.location,
        "notes": event.notes,
        "recurrence_rule": rule(board, event),
        "occurrence": occurrence(event, span),
        "is_exception": event.exception_of.is_some(),
        "priority": event.priority,
        "flexibility": event.flexibility,
        "owner": event.owner,
        "may_change": asker.may_change(event),
    });
    if let (Value::Object(whole), Value::Object(details)) = (&mut whole, details) {
        whole.extend(details);
    }
    whole
}

/// When an event is told to be: of a series the one that was spoken of, else the next one, else the first.
pub(super) fn told_at(asker: &Asker, event: &Arc<Event>, spoken: &Span) -> Span {
    if event.recurrence.is_none() {
        return event.span;
    }
    let board = &asker.board;
    // A series that cannot be read is told of as it is written.
    let then = board.instances_of(event, spoken).unwrap_or_default();
    let same = then.iter().find(|one| one.span.start == spoken.start).map(|one| one.span);
    let next = || board.next_of(event, asker.now).ok().flatten();
    same.or_else(next).unwrap_or(event.span)
}

/// What a member or a thing is called.
pub(super) fn named<'a>(board: &'a Board, id: &'a str) -> &'a str {
    let member = board.members.get(id).map(|member| member.name.as_str());
    member.or_else(|| board.resources.get(id).map(|thing| thing.name.as_str())).unwrap_or(id)
}

/// How the series repeats that an event is, or is one of.
fn rule<'a>(board: &'a Board, event: &'a Event) -> Option<&'a str> {
    let series = event.exception_of.as_ref().and_then(|of| board.events.get(&of.series));
    let recurrence = event.recurrence.as_ref().or_else(|| series?.recurrence.as_ref());
    recurrence.map(|recurrence| recurrence.rule.as_str())
}

/// Which of a series it is: when it was to start, on the wall of the series.
fn occurrence(event: &Event, span: &Span) -> Option<String> {
    if let Some(of) = &event.exception_of {
        return Some(of.start.to_string());
    }
    event.recurrence.as_ref()?;
    Some(Zone::named(&event.zone).ok()?.wall(span.start).to_string())
}
