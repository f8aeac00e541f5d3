//! Answers of members to interrupts: clarifications, choices of a resolution, confirmations.

use schemars::JsonSchema;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use superstep::core::error::Diagnostic;
use superstep::core::time::Time;
use superstep::core::types::FieldType;
use superstep::{Error, ErrorCode};
use superstep_server::{Problem, RunService, RunStatus, ThreadInterrupt, ThreadRecord};
use utoipa::ToSchema;

use super::GRAPH;
use super::requester::Requester;
use super::responses::decode_state;
use crate::models::{ProposedResolution, from_json};
use crate::nodes::ResolutionChoice;
use crate::state::FamilySchedulerState;
use crate::state::request_state::{self, ClarificationAnswer, ClarificationFields};

/// An answer to the pending question of a conversation.
#[derive(Debug, Deserialize, JsonSchema, ToSchema)]
#[serde(deny_unknown_fields)]
// Another application has a type of this name, and schema names are unique in the OpenAPI document.
#[schema(as = SchedulerAnswering)]
pub(super) struct ResumeRequest {
    /// Id of the member who answers.
    pub(super) user_id: String,
    /// Id of the question, as in `waiting.question_id`. An answer sent twice never applies to the next question.
    pub(super) question_id: String,
    /// Answer. For a clarification: `{text}` or `{fields: {..}}` (`fields.add` adds a name to the family). For
    /// resolutions: `{resolution_id}`, `{decline: true}` or `{resolution: {..}}`. For a confirmation: `{confirm}`.
    pub(super) answer: Value,
}

/// Returns the pending interrupt that an answer is for, and the state of the conversation.
///
/// # Errors
/// 409 if no interrupt is pending, or the pending one has another id.
pub(super) async fn pending_interrupt(
    runs: &RunService,
    record: &ThreadRecord,
    id: &str,
) -> Result<(ThreadInterrupt, FamilySchedulerState), Problem> {
    let thread = &record.thread;
    let is_waiting = record.status == RunStatus::AwaitingInput;
    let state = runs.graph(GRAPH)?.state(thread).await?;
    let mut open = state.interrupts().filter(|_| is_waiting).peekable();
    let detail = match open.peek() {
        Some(_) => format!("conversation `{thread}` has another open question"),
        None => format!("conversation `{thread}` has no open question"),
    };
    let other = || {
        Problem::conflict(detail).with_thread(thread).with_hint("`waiting.question_id` is the id of the open question")
    };
    let interrupt = open.find(|interrupt| interrupt.id.to_string() == id).cloned().ok_or_else(other)?;
    Ok((interrupt, decode_state(&state)?))
}

/// Validates an answer against its interrupt, and a chosen resolution against the calendar. A rejected answer
/// leaves the conversation waiting.
///
/// # Errors
/// `InvalidResume` with every invalid location; 403 for a resolution that changes events the member may not change.
pub(super) fn validate_answer(
    interrupt: &ThreadInterrupt,
    answer: &Value,
    conversation: &FamilySchedulerState,
    requester: &Requester,
) -> Result<(), Problem> {
    if interrupt.value["kind"] == "clarification" && is_empty_answer(answer) {
        return Err(invalid_answer(vec![diagnostic("", "the answer is empty", Some("set `text` or `fields`"))]));
    }
    if let Some(schema) = &interrupt.schema {
        let schema = FieldType::schema(schema.clone()).map_err(|error| Error::internal(error.to_string()))?;
        schema.check(answer).map_err(|errors| {
            let errors =
                errors.into_iter().map(|error| diagnostic(&error.pointer, &error.message, error.help.as_deref()));
            invalid_answer(errors.collect())
        })?;
    }
    match interrupt.value["kind"].as_str() {
        Some("clarification") => check_fields(answer, requester),
        Some("resolution") => validate_resolution_choice(interrupt, decode(answer)?, conversation, requester),
        _ => Ok(()),
    }
}

/// Validates the fields of a clarification: times, which the schema declares as strings, and the ids of members and
/// resources.
fn check_fields(answer: &Value, requester: &Requester) -> Result<(), Problem> {
    let fields = &answer["fields"];
    let time_error = |field: &&str| {
        let error = Time::parse_event(fields[*field].as_str()?, requester.zone.name()).err()?;
        Some(diagnostic(&format!("/fields/{field}"), &error.message, error.help.as_deref()))
    };
    let mut problems: Vec<Diagnostic> = ["start_time", "end_time"].iter().filter_map(time_error).collect();
    problems.extend(check_ids(fields, "participants", |id| requester.snapshot.members.contains_key(id)));
    problems.extend(check_ids(fields, "resources", |id| requester.snapshot.resources.contains_key(id)));
    if fields["title"].as_str().is_some_and(|title| title.trim().is_empty()) {
        problems.push(diagnostic("/fields/title", "the title is empty", None));
    }
    if !problems.is_empty() {
        return Err(invalid_answer(problems));
    }
    decode::<ClarificationAnswer>(answer).map(drop)
}

/// Reports ids of a list that are unknown or occur twice.
fn check_ids(fields: &Value, name: &str, is_known: impl Fn(&str) -> bool) -> Vec<Diagnostic> {
    let ids: Vec<&str> = fields[name].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
    let id_error = |(index, id): (usize, &&str)| {
        let message = match (is_known(id), ids[..index].contains(id)) {
            (false, _) => format!("unknown id `{id}`"),
            (true, true) => format!("`{id}` is listed twice"),
            (true, false) => return None,
        };
        Some(diagnostic(
            &format!("/fields/{name}/{index}"),
            &message,
            Some("see `GET /api/scheduler/settings?user_id=` for the ids"),
        ))
    };
    ids.iter().enumerate().filter_map(id_error).collect()
}

/// Deserializes the answer, which checks what a schema cannot express.
fn decode<T: DeserializeOwned>(answer: &Value) -> Result<T, Problem> {
    from_json(answer.clone()).map_err(|error| {
        let problems = error.diagnostics().iter();
        invalid_answer(
            problems.map(|problem| diagnostic(&problem.pointer, &problem.message, problem.help.as_deref())).collect(),
        )
    })
}

/// Applies a resolution to the current calendar. A proposed resolution that no longer works is accepted: the
/// conversation detects that and proposes others.
fn validate_resolution_choice(
    interrupt: &ThreadInterrupt,
    choice: ResolutionChoice,
    conversation: &FamilySchedulerState,
    requester: &Requester,
) -> Result<(), Problem> {
    let is_edited = matches!(choice, ResolutionChoice::Edited { .. });
    let pointer = if is_edited { "/resolution" } else { "/resolution_id" };
    let Some(resolution) = choice.selected(&decode::<Vec<ProposedResolution>>(&interrupt.value["resolutions"])?) else {
        return Ok(());
    };
    let (mut plan, user_id) = (request_state::plan(conversation)?, requester.member.id.as_str());
    plan.resolutions.push(resolution);
    let preview = match plan.apply_to(&requester.snapshot, user_id, requester.now) {
        Ok(preview) => preview,
        Err(error) => {
            return match error.code() {
                ErrorCode::InvalidResume | ErrorCode::InputInvalid => {
                    Err(invalid_answer(vec![diagnostic(pointer, error.message(), error.help())]))
                }
                ErrorCode::PolicyRefused => Err(error.into()),
                // For example, the event to modify is gone. The conversation ends and reports this.
                _ => Ok(()),
            };
        }
    };
    let others = preview.conflicts(&requester.snapshot, user_id, requester.now)?.of_other_events;
    let caused_conflicts: Vec<Diagnostic> =
        others.iter().map(|conflict| diagnostic(pointer, &conflict.details, None)).collect();
    if is_edited && !caused_conflicts.is_empty() { Err(invalid_answer(caused_conflicts)) } else { Ok(()) }
}

fn is_empty_answer(answer: &Value) -> bool {
    // An answer that cannot be deserialized is left to the schema check.
    let clarification: Option<ClarificationAnswer> = serde_json::from_value(answer.clone()).ok();
    clarification.is_some_and(|clarification| {
        clarification.text.trim().is_empty() && clarification.fields == ClarificationFields::default()
    })
}

fn invalid_answer(problems: Vec<Diagnostic>) -> Problem {
    Error::with_diagnostics(ErrorCode::InvalidResume, "the answer does not match the question", problems).into()
}

fn diagnostic(pointer: &str, message: &str, help: Option<&str>) -> Diagnostic {
    Diagnostic { pointer: format!("/answer{pointer}"), message: message.to_owned(), help: help.map(str::to_owned) }
}
