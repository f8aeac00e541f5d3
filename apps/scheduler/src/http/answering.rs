//! What a member answers: what was meant, which way out is taken, whether the calendar is written.

use schemars::JsonSchema;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use superstep::core::error::Problem as Found;
use superstep::core::time::Time;
use superstep::core::types::FieldType;
use superstep::{Code, Error};
use superstep_server::{Desk, Problem, RunStatus, ShownQuestion, ThreadRecord};
use utoipa::ToSchema;

use super::GRAPH;
use super::asker::Asker;
use super::told::conversation;
use crate::models::{ProposedResolution, read};
use crate::nodes::Choice;
use crate::notes::{self, Fields, Said};
use crate::state::Scheduler;

/// An answer to what a conversation asks.
#[derive(Debug, Deserialize, JsonSchema, ToSchema)]
#[serde(deny_unknown_fields)]
// Another application has one of this name, and the description of the API knows each name once.
#[schema(as = SchedulerAnswering)]
pub(super) struct Answering {
    /// Who answers.
    pub(super) user_id: String,
    /// The question it is for, as `waiting.question_id` names it: an answer that is sent twice never hits the next one.
    pub(super) question_id: String,
    /// To a clarification `{text}` or `{fields: {..}}` (`fields.add` lets the family get to know a name), to ways out
    /// `{resolution_id}`, `{decline: true}` or `{resolution: {..}}`, to a confirmation `{confirm}`.
    pub(super) answer: Value,
}

/// The question that an answer is for, and the conversation in which it was put.
///
/// # Errors
/// 409 where nothing is asked, or something else.
pub(super) async fn question(
    desk: &Desk,
    record: &ThreadRecord,
    id: &str,
) -> Result<(ShownQuestion, Scheduler), Problem> {
    let thread = &record.thread;
    let is_waiting = record.status == RunStatus::Waiting;
    let state = desk.served(GRAPH)?.state(thread).await?;
    let mut open = state.questions().filter(|_| is_waiting).peekable();
    let detail = match open.peek() {
        Some(_) => format!("conversation `{thread}` asks something else"),
        None => format!("conversation `{thread}` does not ask anything"),
    };
    let other = || Problem::conflict(detail).on_thread(thread).hint("`waiting.question_id` names what it asks");
    let asked = open.find(|question| question.id.to_string() == id).cloned().ok_or_else(other)?;
    Ok((asked, conversation(&state)?))
}

/// Lets an answer pass that fits its question, and a way out that can be taken: nothing that is refused here has ended the
/// conversation.
///
/// # Errors
/// `InvalidResume` with every place where it does not, 403 for a way that touches what they may not change.
pub(super) fn check(question: &ShownQuestion, answer: &Value, talk: &Scheduler, asker: &Asker) -> Result<(), Problem> {
    if question.value["kind"] == "clarification" && says_nothing(answer) {
        return Err(refused(vec![found("", "this answers nothing", Some("say it in `text`, or in `fields`"))]));
    }
    if let Some(schema) = &question.schema {
        let schema = FieldType::schema(schema.clone()).map_err(|fault| Error::internal(fault.to_string()))?;
        schema.check(answer).map_err(|faults| {
            let faults = faults.into_iter().map(|fault| found(&fault.pointer, &fault.message, fault.help.as_deref()));
            refused(faults.collect())
        })?;
    }
    match question.value["kind"].as_str() {
        Some("clarification") => check_fields(answer, asker),
        Some("resolution") => check_way(question, readable(answer)?, talk, asker),
        _ => Ok(()),
    }
}

/// Lets pass what can be read, times too, which are texts to a schema, and who and what the family knows.
fn check_fields(answer: &Value, asker: &Asker) -> Result<(), Problem> {
    let fields = &answer["fields"];
    let wrong = |field: &&str| {
        let fault = Time::parse_event(fields[*field].as_str()?, asker.zone.name()).err()?;
        Some(found(&format!("/fields/{field}"), &fault.message, fault.help.as_deref()))
    };
    let mut problems: Vec<Found> = ["start_time", "end_time"].iter().filter_map(wrong).collect();
    problems.extend(check_ids(fields, "participants", |id| asker.board.members.contains_key(id)));
    problems.extend(check_ids(fields, "resources", |id| asker.board.resources.contains_key(id)));
    if fields["title"].as_str().is_some_and(|title| title.trim().is_empty()) {
        problems.push(found("/fields/title", "a title has words", None));
    }
    if !problems.is_empty() {
        return Err(refused(problems));
    }
    readable::<Said>(answer).map(drop)
}

/// Which ids of a list nobody has, or stand in it twice.
fn check_ids(fields: &Value, name: &str, is_known: impl Fn(&str) -> bool) -> Vec<Found> {
    let ids: Vec<&str> = fields[name].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
    let wrong = |(place, id): (usize, &&str)| {
        let fact = match (is_known(id), ids[..place].contains(id)) {
            (false, _) => format!("the family knows no `{id}`"),
            (true, true) => format!("`{id}` stands here twice"),
            (true, false) => return None,
        };
        Some(found(
            &format!("/fields/{name}/{place}"),
            &fact,
            Some("`GET /api/scheduler/settings?user_id=` lists them"),
        ))
    };
    ids.iter().enumerate().filter_map(wrong).collect()
}

/// What a schema cannot say.
fn readable<T: DeserializeOwned>(answer: &Value) -> Result<T, Problem> {
    read(answer.clone()).map_err(|error| {
        let problems = error.problems().iter();
        refused(problems.map(|one| found(&one.pointer, &one.message, one.help.as_deref())).collect())
    })
}

/// Tries a way out on the calendar of the moment. One that was proposed and has become bad meanwhile is for the
/// conversation to notice, which looks for others then.
fn check_way(question: &ShownQuestion, choice: Choice, talk: &Scheduler, asker: &Asker) -> Result<(), Problem> {
    let is_changed = matches!(choice, Choice::Changed { .. });
    let place = if is_changed { "/resolution" } else { "/resolution_id" };
    let Some(way) = choice.taken(&readable::<Vec<ProposedResolution>>(&question.value["resolutions"])?) else {
        return Ok(());
    };
    let (mut plan, who) = (notes::plan(talk)?, asker.member.id.as_str());
    plan.ways.push(way);
    let drawn = match plan.on(&asker.board, who, asker.now) {
        Ok(drawn) => drawn,
        Err(error) => {
            return match error.code() {
                Code::InvalidResume | Code::InputInvalid => {
                    Err(refused(vec![found(place, error.message(), error.advice())]))
                }
                Code::PolicyRefused => Err(error.into()),
                // Such as that what was to be changed is gone: that ends the conversation, and it says so.
                _ => Ok(()),
            };
        }
    };
    let others = drawn.standing(&asker.board, who, asker.now)?.others;
    let harms: Vec<Found> = others.iter().map(|conflict| found(place, &conflict.details, None)).collect();
    if is_changed && !harms.is_empty() { Err(refused(harms)) } else { Ok(()) }
}

fn says_nothing(answer: &Value) -> bool {
    // What cannot be read is for the schema to say.
    let said: Option<Said> = serde_json::from_value(answer.clone()).ok();
    said.is_some_and(|said| said.text.trim().is_empty() && said.fields == Fields::default())
}

fn refused(problems: Vec<Found>) -> Problem {
    Error::listing(Code::InvalidResume, "that is no answer to what is asked", problems).into()
}

fn found(pointer: &str, message: &str, help: Option<&str>) -> Found {
    Found { pointer: format!("/answer{pointer}"), message: message.to_owned(), help: help.map(str::to_owned) }
}
