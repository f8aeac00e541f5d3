//! Asks what is meant, and takes the answer back to where it is read.

use std::sync::Arc;

use serde_json::{Value, json};
use superstep::core::time::Time;
use superstep::{Ask, Ctx, Cx, NodeError, Result, View};

use super::scheduling::looked_at;
use super::told::ended;
use crate::agents::{words, zone_of};
use crate::calendar::{Board, Event, Span};
use crate::home::{self, Home};
use crate::models::{Role, Said as Line};
use crate::notes::{self, NewKind, Said};
use crate::parser::{Missing, Understood};
use crate::state::{Scheduler, SchedulerUpdate, Step, WorkflowStatus};
use crate::workflow::stepped;

/// How often one request is asked about.
const MOST_QUESTIONS: usize = 3;

/// Asks what is meant.
pub(crate) async fn request_clarification(
    state: View<Scheduler>,
    home: Ctx<Home>,
    cx: Cx,
    ask: Ask,
) -> Result<SchedulerUpdate, NodeError> {
    let (now, mut answers) = (home::now(&cx)?, notes::answers(&state));
    if answers.len() >= MOST_QUESTIONS {
        let sorry = "Sorry, I still do not understand what you would like. Nothing was changed; please say it anew.";
        let update = Scheduler::update().workflow_status(WorkflowStatus::InProgress);
        return Ok(ended(update, WorkflowStatus::Failed, sorry, now));
    }
    let understood = notes::understood(&state)?;
    let shown = cx.once("question", async { question(&state, &understood, (&*home.board().await?, now)) }).await?;
    let text = shown["question"].as_str().unwrap_or_default().to_owned();
    let said = ask.with("clarification", &shown, &text, Some(schema(&understood)?)).await?;
    let said: Said = serde_json::from_value(said)?;
    let mut update = stepped(Scheduler::update(), state.current_step, Step::Clarification, now)
        .workflow_status(WorkflowStatus::InProgress)
        .messages(Line::new(Role::Assistant, &text, now).to_message());
    if !said.text.trim().is_empty() {
        update = update.messages(Line::new(Role::User, &said.text, now).to_message());
    }
    answers.push(said);
    Ok(update.notes((notes::ANSWERS.to_owned(), serde_json::to_value(answers)?)))
}

fn question(state: &Scheduler, understood: &Understood, (board, now): (&Board, Time)) -> Result<Value> {
    let zone = zone_of(board, &state.user_id)?;
    let problems = notes::problems(state);
    let no_time = state.current_step == Step::Scheduling;
    let question = if no_time {
        let looked_at = looked_at(&zone, understood.within.as_ref());
        format!("I found no free time {looked_at}. When would it suit you?")
    } else if !problems.is_empty() {
        problems.join(" ")
    } else if let Some(doubt) = understood.doubts.first() {
        doubt.question.clone()
    } else if let Some(missing) = understood.missing.first() {
        asks_for(*missing).to_owned()
    } else {
        "Did I understand you right?".to_owned()
    };
    let several = (understood.which.len() > 1).then_some(&understood.which);
    let choices = several.into_iter().flatten().filter_map(|id| board.events.get(id)).map(|event| {
        let when = words::stretch(&zone, &coming(board, event, now).unwrap_or(event.span));
        json!({ "id": event.id, "label": event.title, "detail": when })
    });
    let near = understood.unknown.iter().flat_map(|unknown| &unknown.near).map(|id| {
        let name = board.members.get(id).map(|member| member.name.clone());
        let name = name.or_else(|| board.resources.get(id).map(|resource| resource.name.clone()));
        json!({ "id": id, "label": name.unwrap_or_else(|| id.clone()), "detail": "" })
    });
    let add = understood.unknown.iter().map(|unknown| {
        let kind = if unknown.is_resource_like { NewKind::Resource } else { NewKind::Person };
        let id = format!("add:{}:{}", kind.name(), unknown.text);
        json!({ "id": id, "label": format!("Add {}", unknown.text), "detail": "" })
    });
    let either = understood
        .either
        .iter()
        .map(|span| json!({ "id": span.start, "label": words::stretch(&zone, span), "detail": "" }));
    Ok(json!({
        "kind": "clarification",
        "question": question,
        "understood": understood.data,
        "found": understood.found,
        "missing": understood.missing,
        "choices": choices.chain(either).chain(near).chain(add).collect::<Vec<_>>(),
    }))
}

/// When an event is next.
fn coming(board: &Board, event: &Arc<Event>, now: Time) -> Option<Span> {
    let end = Time::from_unix_micros(now.as_unix_micros().saturating_add(400 * 86_400_000_000)).ok()?;
    let instances = board.instances_of(event, &Span::new(now, end)?).ok()?;
    instances.first().map(|one| one.span)
}

/// Only names that are asked about can be added.
fn schema(understood: &Understood) -> Result<Value> {
    let schema = serde_json::to_value(schemars::schema_for!(Said));
    let mut schema = schema.map_err(|error| superstep::Error::internal(error.to_string()))?;
    let names: Vec<&str> = understood.unknown.iter().map(|unknown| unknown.text.as_str()).collect();
    if let Some(name) = schema.pointer_mut("/$defs/NewName/properties/name") {
        name["enum"] = json!(names);
    }
    Ok(schema)
}

fn asks_for(missing: Missing) -> &'static str {
    match missing {
        Missing::Intent => "What would you like me to do?",
        Missing::Title => "What is it?",
        Missing::Date => "On which day?",
        Missing::Time => "At what time?",
        Missing::Event => "Which event do you mean?",
        Missing::Change => "What shall be different?",
        Missing::Subject => "What would you like to know?",
    }
}
