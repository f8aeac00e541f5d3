//! Asks the user to clarify the request, and routes the answer back to the parser.

use std::sync::Arc;

use serde_json::{Value, json};
use superstep::core::time::Time;
use superstep::{Interrupts, NodeError, Result, RunContext, TaskContext, View};

use crate::agents::agent_update::with_final_answer;
use crate::agents::scheduling_agent::search_window_text;
use crate::agents::{format, time_zone_of};
use crate::calendar::{CalendarSnapshot, Event, NEXT_INSTANCE_HORIZON_DAYS, TimeRange};
use crate::context::SchedulerContext;
use crate::models::{Message, MessageRole};
use crate::parser::{MissingField, ParsedRequest};
use crate::state::request_state::{self, ClarificationAnswer, NewNameKind};
use crate::state::{FamilySchedulerState, FamilySchedulerStateUpdate, WorkflowStatus, WorkflowStep};
use crate::state_utils::with_transition;

/// Maximum number of clarifications per request.
const MAX_QUESTIONS: usize = 3;

/// Interrupts the run with a clarification question, and stores the answer.
pub(crate) async fn request_clarification(
    state: View<FamilySchedulerState>,
    context: RunContext<SchedulerContext>,
    cx: TaskContext,
    interrupts: Interrupts,
) -> Result<FamilySchedulerStateUpdate, NodeError> {
    let (now, mut answers) = (context.now(&cx)?, request_state::answers(&state));
    if answers.len() >= MAX_QUESTIONS {
        let apology = "Sorry, I could not understand the request. Nothing was changed. Please rephrase it.";
        let update = FamilySchedulerState::update().workflow_status(WorkflowStatus::InProgress);
        return Ok(with_final_answer(update, WorkflowStatus::Failed, apology, now));
    }
    let parsed = request_state::parsed_request(&state)?;
    let payload = cx
        .once("question", async { clarification_payload(&state, &parsed, (&*context.snapshot().await?, now)) })
        .await?;
    let text = payload["question"].as_str().unwrap_or_default().to_owned();
    let answer = interrupts.raise_with_schema("clarification", &payload, &text, Some(schema(&parsed)?)).await?;
    let answer: ClarificationAnswer = serde_json::from_value(answer)?;
    let mut update =
        with_transition(FamilySchedulerState::update(), state.current_step, WorkflowStep::Clarification, now)
            .workflow_status(WorkflowStatus::InProgress)
            .messages(Message::new(MessageRole::Assistant, &text, now).to_chat_message());
    if !answer.text.trim().is_empty() {
        update = update.messages(Message::new(MessageRole::User, &answer.text, now).to_chat_message());
    }
    answers.push(answer);
    Ok(update.notes((request_state::ANSWERS.to_owned(), serde_json::to_value(answers)?)))
}

fn clarification_payload(
    state: &FamilySchedulerState,
    parsed: &ParsedRequest,
    (snapshot, now): (&CalendarSnapshot, Time),
) -> Result<Value> {
    let zone = time_zone_of(snapshot, &state.user_id)?;
    let problems = request_state::problems(state);
    let no_time = state.current_step == WorkflowStep::Scheduling;
    let question = if no_time {
        let window = search_window_text(&zone, parsed.time_window.as_ref());
        format!("I found no free time {window}. When would it suit you?")
    } else if !problems.is_empty() {
        problems_question(&problems, parsed)
    } else if let Some(ambiguity) = parsed.ambiguities.first() {
        ambiguity.question.clone()
    } else if let Some(missing) = parsed.missing.first() {
        missing_field_question(*missing).to_owned()
    } else {
        "Is this correct?".to_owned()
    };
    let several = (parsed.event_ids.len() > 1).then_some(&parsed.event_ids);
    let choices = several.into_iter().flatten().filter_map(|id| snapshot.events.get(id)).map(|event| {
        let when = format::format_range(&zone, &next_instance(snapshot, event, now).unwrap_or(event.span));
        json!({ "id": event.id, "label": event.title, "detail": when })
    });
    let near = parsed.unknown_names.iter().flat_map(|unknown| &unknown.near).map(|id| {
        let name = snapshot.members.get(id).map(|member| member.name.clone());
        let name = name.or_else(|| snapshot.resources.get(id).map(|resource| resource.name.clone()));
        json!({ "id": id, "label": name.unwrap_or_else(|| id.clone()), "detail": "" })
    });
    let add = parsed.unknown_names.iter().map(|unknown| {
        let kind = if unknown.is_resource_like { NewNameKind::Resource } else { NewNameKind::Person };
        let id = format!("add:{}:{}", kind.name(), unknown.text);
        json!({ "id": id, "label": format!("Add {}", unknown.text), "detail": "" })
    });
    let time_options = parsed
        .time_options
        .iter()
        .map(|span| json!({ "id": span.start, "label": format::format_range(&zone, span), "detail": "" }));
    Ok(json!({
        "kind": "clarification",
        "question": question,
        "understood": parsed.data,
        "found": parsed.spans,
        "missing": parsed.missing,
        "choices": choices.chain(time_options).chain(near).chain(add).collect::<Vec<_>>(),
    }))
}

/// Returns the next instance of an event within [`NEXT_INSTANCE_HORIZON_DAYS`].
fn next_instance(snapshot: &CalendarSnapshot, event: &Arc<Event>, now: Time) -> Option<TimeRange> {
    let end = Time::from_unix_micros(now.as_unix_micros().saturating_add(NEXT_INSTANCE_HORIZON_DAYS * 86_400_000_000))
        .ok()?;
    let instances = snapshot.instances_of(event, &TimeRange::new(now, end)?).ok()?;
    instances.first().map(|instance| instance.span)
}

/// Restricts new names in the answer to the names that the question mentions.
fn schema(parsed: &ParsedRequest) -> Result<Value> {
    let schema = serde_json::to_value(schemars::schema_for!(ClarificationAnswer));
    let mut schema = schema.map_err(|error| superstep::Error::internal(error.to_string()))?;
    let names: Vec<&str> = parsed.unknown_names.iter().map(|unknown| unknown.text.as_str()).collect();
    if let Some(name) = schema.pointer_mut("/$defs/NewFamilyName/properties/name") {
        name["enum"] = json!(names);
    }
    Ok(schema)
}

/// Joins the problems, and asks for another time if the last problem is not a question.
fn problems_question(problems: &[String], parsed: &ParsedRequest) -> String {
    let text = problems.join(" ");
    match parsed.problems.is_empty() || text.ends_with('?') {
        true => text,
        false => format!("{text} Please give another time."),
    }
}

fn missing_field_question(missing: MissingField) -> &'static str {
    match missing {
        MissingField::Intent => "What would you like me to do?",
        MissingField::Title => "What is the event called?",
        MissingField::Date => "On which day?",
        MissingField::Time => "At what time?",
        MissingField::Event => "Which event do you mean?",
        MissingField::Change => "What should change?",
        MissingField::Subject => "What would you like to know?",
    }
}
