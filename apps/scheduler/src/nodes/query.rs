//! Answers a question about the calendar; nothing is written.

use serde_json::Value;
use superstep::{Ctx, Cx, NodeError, Result, View};

use super::told::{CERTAIN, Finding, ended, json, or_failed, sure};
use crate::agents::query::{Question, answer};
use crate::agents::{words, zone_of};
use crate::calendar::{Board, Span};
use crate::draft::Asked;
use crate::home::{self, Home};
use crate::models::{QueryData, QueryType};
use crate::notes;
use crate::state::{Agent, Scheduler, SchedulerUpdate, Step, WorkflowStatus};

/// The most that is listed in a sentence.
const MOST_SAID: usize = 5;

/// Answers a question.
pub(crate) async fn query(state: View<Scheduler>, home: Ctx<Home>, cx: Cx) -> Result<SchedulerUpdate, NodeError> {
    let worked = look(&state, &home, &cx).await;
    or_failed(worked, (&state, Agent::Query.name()), &home, &cx).await
}

async fn look(state: &Scheduler, home: &Home, cx: &Cx) -> Result<SchedulerUpdate> {
    let (now, board) = (home::now(cx)?, home.board().await?);
    let understood = notes::understood(state)?;
    let data = &understood.data;
    let mut question = Question::new(understood.query.unwrap_or(QueryType::EventLookup));
    question.span = data.start_time.zip(data.end_time).and_then(|(start, end)| Span::new(start, end));
    question.people.clone_from(&data.participants);
    question.resources.clone_from(&data.resources);
    question.text = data.title.clone().unwrap_or_default();
    if question.kind == QueryType::ConflictCheck && !understood.is_about_clashes {
        question.is_open = data.title.is_some() && (understood.within.is_some() || question.span.is_none());
        let mut wanted = understood.clone();
        if question.is_open {
            // It is as long as such a thing is, not as the stretch in which it is to lie.
            (wanted.data.start_time, wanted.data.end_time) = (None, None);
        }
        let id = notes::event_id(state).unwrap_or_default();
        let asked = Asked { board: &board, who: &state.user_id, understood: &wanted, id: &id, now };
        question.event = Some(asked.imagined()?);
    }
    let found = answer(&board, &state.user_id, &question, now)?;
    let said = match understood.is_about_clashes {
        true => clashes_said(&found),
        false => said(&found, &board, &state.user_id)?,
    };
    let finding = Finding {
        agent: Agent::Query,
        step: Step::Query,
        data: json(&found)?,
        explanation: said.clone(),
        confidence: sure(CERTAIN),
        reasoning: format!("{:?} asked", found.query_type),
    };
    Ok(ended(finding.told(state, now), WorkflowStatus::Completed, &said, now))
}

/// What is in each other's way, in a few sentences.
fn clashes_said(found: &QueryData) -> String {
    let conflicts = found.results.get("conflicts").and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
    let some: Vec<&str> = conflicts.iter().filter_map(|one| one["details"].as_str()).take(MOST_SAID).collect();
    match (some.is_empty(), conflicts.len() - some.len()) {
        (true, _) => "There are no conflicts.".to_owned(),
        (false, 0) => some.join(" "),
        (false, more) => format!("{} And {more} more.", some.join(" ")),
    }
}

/// The answer in a sentence or two.
fn said(found: &QueryData, board: &Board, who: &str) -> Result<String> {
    let zone = zone_of(board, who)?;
    let list = |key: &str| found.results.get(key).and_then(Value::as_array).cloned().unwrap_or_default();
    let span = |one: &Value, (start, end): (&str, &str)| -> Option<String> {
        let time = |key: &str| superstep::core::time::Time::parse(one[key].as_str()?).ok();
        Some(words::stretch(&zone, &Span::new(time(start)?, time(end)?)?))
    };
    let times = || list("slots").iter().filter_map(|one| span(one, ("start_time", "end_time"))).collect::<Vec<_>>();
    Ok(match found.query_type {
        QueryType::Availability => {
            let free: Vec<String> =
                list("free").iter().filter_map(|one| span(one, ("start", "end"))).take(MOST_SAID).collect();
            if free.is_empty() {
                "There is no time at which all are free.".to_owned()
            } else {
                format!("Free: {}.", free.join("; "))
            }
        }
        QueryType::EventLookup => {
            let events = list("events");
            let line = |one: &Value| {
                let when = span(one, ("start", "end")).or_else(|| span(one, ("start_time", "end_time")))?;
                Some(format!("{} on {when}", words::quoted(one["title"].as_str()?)))
            };
            let some: Vec<String> = events.iter().filter_map(line).take(MOST_SAID).collect();
            match (some.is_empty(), events.len() - some.len().min(events.len())) {
                (true, _) => "There is nothing on the calendar.".to_owned(),
                (false, 0) => format!("{}.", some.join("; ")),
                (false, more) => format!("{}; and {more} more.", some.join("; ")),
            }
        }
        QueryType::ResourceStatus => {
            let line = |one: &Value| {
                let free = one["available"].as_bool()?;
                Some(format!(
                    "{} is {}",
                    words::thing(one["resource_name"].as_str()?),
                    if free { "free" } else { "taken" }
                ))
            };
            format!("{}.", list("resources").iter().filter_map(line).collect::<Vec<_>>().join("; "))
        }
        QueryType::ConflictCheck => match found.results.get("fits") {
            Some(Value::Bool(true)) => match times().first() {
                Some(when) => format!("Yes, for example on {when}."),
                None => "Yes, that fits.".to_owned(),
            },
            _ => {
                let details: Vec<String> =
                    list("conflicts").iter().filter_map(|one| one["details"].as_str().map(str::to_owned)).collect();
                if details.is_empty() {
                    "No, there is no time for it.".to_owned()
                } else {
                    format!("No: {}", details.join(" "))
                }
            }
        },
    })
}
