//! What a member answers: what was meant, which way out is taken, whether the calendar is written.

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;
use superstep::core::error::Problem as Found;
use superstep::core::types::FieldType;
use superstep::{Code, Error};
use superstep_server::{Desk, Problem, RunStatus, ShownQuestion, ThreadRecord};
use utoipa::ToSchema;

use super::GRAPH;
use crate::notes::{Fields, Said};

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
    /// To a clarification `{text}` or `{fields: {..}}` (`fields.add` lets the family get to know a name), to ways out `{resolution_id}`, `{decline: true}` or
    /// `{resolution: {..}}`, to a confirmation `{confirm}`.
    pub(super) answer: Value,
}

/// The question that an answer is for.
///
/// # Errors
/// 409 where nothing is asked, or something else.
pub(super) async fn question(desk: &Desk, record: &ThreadRecord, id: &str) -> Result<ShownQuestion, Problem> {
    let thread = &record.thread;
    let is_waiting = record.status == RunStatus::Waiting;
    let open = desk.served(GRAPH)?.state(thread).await?;
    let mut open = open.questions().filter(|_| is_waiting).peekable();
    let detail = match open.peek() {
        Some(_) => format!("conversation `{thread}` asks something else"),
        None => format!("conversation `{thread}` does not ask anything"),
    };
    let other = || Problem::conflict(detail).on_thread(thread).hint("`waiting.question_id` names what it asks");
    open.find(|question| question.id.to_string() == id).cloned().ok_or_else(other)
}

/// Lets an answer pass that fits its question.
///
/// # Errors
/// `InvalidResume` with every place where it does not.
pub(super) fn check(question: &ShownQuestion, answer: &Value) -> Result<(), Problem> {
    if question.value["kind"] == "clarification" && says_nothing(answer) {
        return Err(refused(vec![found("", "this answers nothing", Some("say it in `text`, or in `fields`"))]));
    }
    let Some(schema) = &question.schema else { return Ok(()) };
    let schema = FieldType::schema(schema.clone()).map_err(|fault| Error::internal(fault.to_string()))?;
    schema.check(answer).map_err(|faults| {
        let faults = faults.into_iter().map(|fault| found(&fault.pointer, &fault.message, fault.help.as_deref()));
        refused(faults.collect())
    })
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
