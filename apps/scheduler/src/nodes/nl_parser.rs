//! Reads the words, together with what was answered since: by rules, and by a language model beside them where there is one.
//!
//! A model that says something that breaks the form is asked again as any agent that fails is; one that says nothing is done
//! without, and `reasoning` tells so.

use serde_json::json;
use superstep::core::time::Time;
use superstep::{Ctx, Cx, NodeError, Result, View};

use super::add::add;
use super::hear::hear;
use super::told::{Finding, json, or_failed, validated};
use crate::agents::seen_by;
use crate::calendar::Board;
use crate::home::{self, Home, member};
use crate::models::{EventType, ValidationStep};
use crate::notes::{self, Answered, Hearing, Said};
use crate::parser::{ByRules, Heard, Request, Understood, UnknownName, joined, parse_about, prompt};
use crate::route::{Next, after_reading};
use crate::state::{Agent, Scheduler, SchedulerUpdate, Step, WorkflowStatus};
use crate::workflow::{KEPT_MESSAGES, pruned};

/// Reads the words.
pub(crate) async fn nl_parser(state: View<Scheduler>, home: Ctx<Home>, cx: Cx) -> Result<SchedulerUpdate, NodeError> {
    let worked = read(&state, &home, &cx).await;
    let update = or_failed(worked, (&state, Agent::NlParser.name()), &home, &cx).await?;
    // The first step of a request forgets what was said long before it.
    Ok(if state.current_step == Step::Start { pruned(update, &state, KEPT_MESSAGES) } else { update })
}

async fn read(state: &Scheduler, home: &Home, cx: &Cx) -> Result<SchedulerUpdate> {
    let (now, mut answers) = (home::now(cx)?, notes::answers(state));
    // A yes was to what was understood then; words that were said since are asked about anew.
    let last_words = answers.iter().rposition(|answer| !answer.text.trim().is_empty()).unwrap_or(0);
    answers[..last_words].iter_mut().for_each(|answer| answer.fields.confirm = false);
    if let Some(last) = answers.last() {
        add(home, &state.user_id, &last.fields.add).await?;
    }
    let board = home.board().await?;
    member(&board, &state.user_id)?;
    // What who speaks does not see can neither be meant nor be told back to them.
    let board = seen_by(&board, &state.user_id);
    let (mut understood, hearing) = understand(state, home, cx, (&answers, &board, now)).await?;
    answers.iter().for_each(|answer| answer.fields.fill(&mut understood, &board, now));
    let problems = problems(&understood, &answers);
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
    let issues = if waits { asked_about(&understood, &problems) } else { Vec::new() };
    let mut update = finding.told(state, now).validation_results(validated(ValidationStep::NlParsing, now, issues));
    if let Some(hearing) = hearing {
        update = update.notes((notes::HEARD.to_owned(), json(&hearing)?));
    }
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

/// What the request and the answers mean, and what a model said of them.
async fn understand(
    state: &Scheduler,
    home: &Home,
    cx: &Cx,
    (answers, board, now): (&[Said], &Board, Time),
) -> Result<(Understood, Option<Hearing>)> {
    let request = Request { text: &state.user_input, speaker: &state.user_id, now, board };
    let (whole, last) = by_rules(&request, answers);
    let Some(model) = &home.model else { return Ok((whole, None)) };
    let (picked, answers) = (picked(answers), in_words(answers).collect::<Vec<&str>>());
    let words = std::iter::once(request.text).chain(answers.iter().copied()).map(str::to_owned).collect();
    let hearing = hear((state, cx), model, words, prompt(&request, &answers, &whole.which)?).await?;
    let understood = match &hearing.answered {
        Answered::Said(said) => {
            let (heard, info) = (Heard::read(said.clone())?, model.info());
            let rules = ByRules { whole: &whole, last: last.as_ref(), picked };
            joined(&request, &heard, rules, &format!("{}/{}", info.provider, info.name))?
        }
        Answered::Nothing(why) => {
            Understood { reasoning: format!("{}; without the language model: {why}", whole.reasoning), ..whole }
        }
    };
    Ok((understood, Some(hearing)))
}

/// The event that was picked from a list.
fn picked(answers: &[Said]) -> Option<&str> {
    answers.iter().rev().find_map(|answer| answer.fields.event_id.as_deref())
}

fn in_words(answers: &[Said]) -> impl Iterator<Item = &str> {
    answers.iter().map(|answer| answer.text.trim()).filter(|text| !text.is_empty())
}

/// What the request and the answers mean together by the rules, and the last answer alone: an answer that says everything
/// stands alone, another completes what was said before it.
fn by_rules(request: &Request<'_>, answers: &[Said]) -> (Understood, Option<Understood>) {
    // Whoever picked an event from a list meant it from the start.
    let picked = picked(answers);
    let read = |text: &str| parse_about(&Request { text, ..*request }, picked);
    let mut words = request.text.to_owned();
    let (mut understood, mut last) = (read(&words), None);
    for answer in in_words(answers) {
        let together = format!("{words}, {answer}");
        let (alone, whole) = (read(answer), read(&together));
        last = Some(alone.clone());
        (words, understood) = match alone.confidence > whole.confidence {
            true => (answer.to_owned(), alone),
            false => (together, whole),
        };
    }
    let meant =
        understood.unknown.iter().filter_map(|unknown| Some((&unknown.text, meant(unknown, answers, request)?)));
    let right = meant.fold(words.clone(), |words, (wrong, right)| with_word(&words, wrong, right));
    (if right == words { understood } else { read(&right) }, last)
}

/// The name that was chosen for one that nobody has: the words are read with it in its place.
fn meant<'a>(unknown: &UnknownName, answers: &[Said], request: &Request<'a>) -> Option<&'a str> {
    let is_thing = unknown.is_resource_like;
    let chosen = answers.iter().rev().map(|answer| &answer.fields);
    let chosen =
        chosen.filter_map(|fields| if is_thing { fields.resources.as_ref() } else { fields.participants.as_ref() });
    let id = chosen.flatten().find(|id| unknown.near.contains(id))?;
    match is_thing {
        true => request.board.resources.get(id).map(|one| one.name.as_str()),
        false => request.board.members.get(id).map(|one| one.name.as_str()),
    }
}

fn with_word(text: &str, wrong: &str, right: &str) -> String {
    let is_letter = |sign: Option<char>| sign.is_some_and(char::is_alphanumeric);
    let is_word = |at: usize| {
        let (before, after) = (&text[..at], &text[at + wrong.len()..]);
        !is_letter(before.chars().next_back()) && !is_letter(after.chars().next())
    };
    match text.match_indices(wrong).map(|(at, _)| at).find(|at| is_word(*at)) {
        Some(at) => format!("{}{right}{}", &text[..at], &text[at + wrong.len()..]),
        None => text.to_owned(),
    }
}

/// What must be settled before anything is done, in words.
fn problems(understood: &Understood, answers: &[Said]) -> Vec<String> {
    let mut problems = understood.problems.clone();
    let is_added = |name: &str| answers.iter().flat_map(|answer| &answer.fields.add).any(|new| new.name == name);
    for unknown in &understood.unknown {
        let what = if unknown.is_resource_like { "thing" } else { "person" };
        problems.push(match is_added(&unknown.text) {
            // Whoever wanted to add it may not.
            true => format!("Only a parent can add “{}” to the family; please ask one.", unknown.text),
            false => format!("I know no {what} called “{}”.", unknown.text),
        });
    }
    let names_event = matches!(understood.data.event_type, EventType::Modify | EventType::Cancel);
    match understood.which.len() {
        0 if names_event => problems.push("I did not find the event you mean.".to_owned()),
        0 | 1 => {}
        several if names_event => problems.push(format!("{several} events may be meant.")),
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
