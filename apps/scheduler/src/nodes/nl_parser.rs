//! Reads the words, together with what was answered since.

use serde_json::json;
use superstep::core::time::Time;
use superstep::{Ctx, Cx, NodeError, Result, View};

use super::told::{Finding, json, or_failed, validated};
use crate::calendar::Board;
use crate::home::{self, Home, member};
use crate::models::{EventType, ValidationStep};
use crate::notes::{self, Said};
use crate::parser::{Request, Understood, parse};
use crate::route::{Next, after_reading};
use crate::state::{Agent, Scheduler, SchedulerUpdate, Step, WorkflowStatus};

/// Reads the words.
pub(crate) async fn nl_parser(state: View<Scheduler>, home: Ctx<Home>, cx: Cx) -> Result<SchedulerUpdate, NodeError> {
    let worked = read(&state, &home, &cx).await;
    or_failed(worked, (&state, Agent::NlParser.name()), &home, &cx).await
}

async fn read(state: &Scheduler, home: &Home, cx: &Cx) -> Result<SchedulerUpdate> {
    let (now, board) = (home::now(cx)?, home.board().await?);
    member(&board, &state.user_id)?;
    let answers = notes::answers(state);
    let understood = understand(state, &answers, &board, now);
    let problems = problems(&understood, &board);
    let is_confirmed = answers.iter().any(|answer| answer.fields.confirm);
    let next = after_reading(&understood.data, understood.confidence.value(), is_confirmed, !problems.is_empty());
    let waits = next == Next::RequestClarification;
    let status = if waits { WorkflowStatus::AwaitingUser } else { WorkflowStatus::InProgress };
    let finding = Finding {
        agent: Agent::NlParser,
        step: Step::NlParsing,
        data: json(&understood.data)?,
        explanation: explained(&understood),
        confidence: understood.confidence,
        reasoning: understood.reasoning.clone(),
    };
    let update = finding.told(state, now);
    let update = match waits {
        true => {
            update.validation_results(validated(ValidationStep::NlParsing, now, asked_about(&understood, &problems)))
        }
        false => update.validation_results(validated(ValidationStep::NlParsing, now, Vec::new())),
    };
    Ok(update
        .parsed_event_data(Some(understood.data.clone()))
        .workflow_status(status)
        .notes((notes::PROBLEMS.to_owned(), json!(problems)))
        .notes((notes::CONFIRMED.to_owned(), json!(is_confirmed)))
        .notes((notes::UNDERSTOOD.to_owned(), json(&understood)?))
        .notes((
            notes::EVENT.to_owned(),
            json!(notes::event_id(state).unwrap_or_else(|| format!("evt_{}", cx.fresh_id()))),
        )))
}

/// What the request and the answers mean together: an answer that says everything stands alone, another completes what
/// was said before it.
fn understand(state: &Scheduler, answers: &[Said], board: &Board, now: Time) -> Understood {
    let read = |text: &str| parse(&Request { text, speaker: &state.user_id, now, board });
    let mut words = state.user_input.clone();
    let mut understood = read(&words);
    for answer in answers.iter().filter(|answer| !answer.text.trim().is_empty()) {
        let together = format!("{words}, {}", answer.text.trim());
        let (alone, whole) = (read(&answer.text), read(&together));
        (words, understood) = match alone.confidence > whole.confidence {
            true => (answer.text.clone(), alone),
            false => (together, whole),
        };
    }
    answers.iter().for_each(|answer| answer.fields.fill(&mut understood, board));
    understood
}

/// What must be settled before anything is done, in words.
fn problems(understood: &Understood, board: &Board) -> Vec<String> {
    let mut problems = understood.problems.clone();
    for unknown in &understood.unknown {
        let what = if unknown.is_resource_like { "thing" } else { "person" };
        problems.push(format!("I know no {what} called “{}”.", unknown.text));
    }
    let names_event = matches!(understood.data.event_type, EventType::Modify | EventType::Cancel);
    match understood.which.len() {
        0 if names_event => problems.push("I did not find the event you mean.".to_owned()),
        0 | 1 => {}
        several if names_event => {
            let titles = understood.which.iter().filter_map(|id| board.events.get(id)).count();
            problems.push(format!("{} events may be meant.", several.max(titles)));
        }
        _ => {}
    }
    problems
}

fn asked_about(understood: &Understood, problems: &[String]) -> Vec<String> {
    let doubts = understood.doubts.iter().map(|doubt| doubt.question.clone());
    let issues: Vec<String> = problems.iter().cloned().chain(doubts).collect();
    match issues.is_empty() {
        true => vec![format!("Not sure enough: {}", understood.confidence)],
        false => issues,
    }
}

/// One sentence for the family.
fn explained(understood: &Understood) -> String {
    let title = understood.data.title.as_deref().unwrap_or("something");
    match understood.data.event_type {
        EventType::Create => format!("You want to plan {title}."),
        EventType::Modify => format!("You want to change {title}."),
        EventType::Cancel => format!("You want to cancel {title}."),
        EventType::Query => "You want to know something about the calendar.".to_owned(),
    }
}
