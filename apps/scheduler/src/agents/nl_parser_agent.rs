//! Parses the request together with the answers to clarifications: by rules, and by a language model if one is
//! configured.
//!
//! A model reply that violates the schema is retried like any failed agent. If the model returns nothing usable,
//! the rules parse alone, and `reasoning` says so.

pub(crate) mod model_call;

use serde_json::json;
use superstep::core::time::Time;
use superstep::{NodeError, Result, RunContext, TaskContext, View};

use crate::agents::agent_update::{AgentFinding, json, or_record_error, validated};
use crate::agents::nl_parser_agent::model_call::call_model_once;
use crate::agents::visible_snapshot;
use crate::calendar::CalendarSnapshot;
use crate::context::{SchedulerContext, require_member};
use crate::models::{EventType, ValidationStep};
use crate::nodes::add_family_names::add_family_names;
use crate::orchestrator::route::{NextNode, route_after_parsing};
use crate::parser::{
    ModelParse, ParseInput, ParsedRequest, RuleParse, UnknownName, merge_parses, parse_for_event, prompt,
};
use crate::state::request_state::{self, CachedModelReply, ClarificationAnswer, ModelReply};
use crate::state::{AgentName, FamilySchedulerState, FamilySchedulerStateUpdate, WorkflowStatus, WorkflowStep};
use crate::state_utils::{RETAINED_MESSAGES, with_pruning};

/// Parses the request.
pub(crate) async fn nl_parser(
    state: View<FamilySchedulerState>,
    context: RunContext<SchedulerContext>,
    cx: TaskContext,
) -> Result<FamilySchedulerStateUpdate, NodeError> {
    let result = parse(&state, &context, &cx).await;
    let update = or_record_error(result, (&state, AgentName::NlParser.name()), &context, &cx).await?;
    // The first step of a request prunes the messages of earlier requests.
    Ok(if state.current_step == WorkflowStep::Start { with_pruning(update, &state, RETAINED_MESSAGES) } else { update })
}

async fn parse(
    state: &FamilySchedulerState,
    context: &SchedulerContext,
    cx: &TaskContext,
) -> Result<FamilySchedulerStateUpdate> {
    let (now, mut answers) = (context.now(cx)?, request_state::answers(state));
    // A confirmation applies to the parse that was shown. After a later text answer, the new parse must be
    // confirmed again.
    let last_text = answers.iter().rposition(|answer| !answer.text.trim().is_empty()).unwrap_or(0);
    answers[..last_text].iter_mut().for_each(|answer| answer.fields.confirm = false);
    if let Some(last) = answers.last() {
        add_family_names(context, &state.user_id, &last.fields.add).await?;
    }
    let snapshot = context.snapshot().await?;
    require_member(&snapshot, &state.user_id)?;
    // Parse against the events the user may see, so that private events are neither matched nor revealed.
    let snapshot = visible_snapshot(&snapshot, &state.user_id);
    let (mut parsed, model_reply) = parse_request(state, context, cx, (&answers, &snapshot, now)).await?;
    answers.iter().for_each(|answer| answer.fields.merge_into(&mut parsed, &snapshot, now));
    let problems = problems(&parsed, &answers);
    let is_confirmed = answers.iter().any(|answer| answer.fields.confirm);
    let next = route_after_parsing(&parsed.data, parsed.confidence.value(), is_confirmed, !problems.is_empty());
    let awaits_user = next == NextNode::RequestClarification;
    let status = if awaits_user { WorkflowStatus::AwaitingUser } else { WorkflowStatus::InProgress };
    let finding = AgentFinding {
        agent: AgentName::NlParser,
        step: WorkflowStep::NlParsing,
        data: json(&parsed.data)?,
        explanation: explain(&parsed),
        confidence: parsed.confidence,
        reasoning: parsed.reasoning.clone(),
    };
    let issues = if awaits_user { open_issues(&parsed, &problems) } else { Vec::new() };
    let mut update =
        finding.into_update(state, now).validation_results(validated(ValidationStep::NlParsing, now, issues));
    if let Some(model_reply) = model_reply {
        update = update.notes((request_state::MODEL_REPLY.to_owned(), json(&model_reply)?));
    }
    Ok(update
        .parsed_event_data(Some(parsed.data.clone()))
        .workflow_status(status)
        .notes((request_state::PROBLEMS.to_owned(), json!(problems)))
        .notes((request_state::CONFIRMED.to_owned(), json!(is_confirmed)))
        .notes((request_state::PARSED_REQUEST.to_owned(), json(&parsed)?))
        .notes((
            request_state::EVENT.to_owned(),
            json!(request_state::event_id(state).unwrap_or_else(|| format!("evt_{}", cx.new_id()))),
        )))
}

/// Parses the request and the answers, by rules and by the model, and returns the model reply for caching.
async fn parse_request(
    state: &FamilySchedulerState,
    context: &SchedulerContext,
    cx: &TaskContext,
    (answers, snapshot, now): (&[ClarificationAnswer], &CalendarSnapshot, Time),
) -> Result<(ParsedRequest, Option<CachedModelReply>)> {
    let request = ParseInput { text: &state.user_input, user_id: &state.user_id, now, snapshot };
    let (full, last) = parse_by_rules(&request, answers);
    let Some(model) = &context.model else { return Ok((full, None)) };
    let (selected_event, answers) = (selected_event(answers), text_answers(answers).collect::<Vec<&str>>());
    let texts = std::iter::once(request.text).chain(answers.iter().copied()).map(str::to_owned).collect();
    let model_reply = call_model_once((state, cx), model, texts, prompt(&request, &answers, &full.event_ids)?).await?;
    let parsed = match &model_reply.reply {
        ModelReply::Parsed(output) => {
            let (model_parse, info) = (ModelParse::from_json(output.clone())?, model.info());
            let rules = RuleParse { full: &full, last: last.as_ref(), selected_event };
            merge_parses(&request, &model_parse, rules, &format!("{}/{}", info.provider, info.name))?
        }
        ModelReply::Failed(reason) => {
            ParsedRequest { reasoning: format!("{}; language model not used: {reason}", full.reasoning), ..full }
        }
    };
    Ok((parsed, Some(model_reply)))
}

/// Returns the id of the event that the user selected from a list.
fn selected_event(answers: &[ClarificationAnswer]) -> Option<&str> {
    answers.iter().rev().find_map(|answer| answer.fields.event_id.as_deref())
}

fn text_answers(answers: &[ClarificationAnswer]) -> impl Iterator<Item = &str> {
    answers.iter().map(|answer| answer.text.trim()).filter(|text| !text.is_empty())
}

/// Parses the request and the answers by rules, and returns that result and the parse of the last answer alone. An
/// answer that is complete by itself replaces the text before it; any other answer is appended.
fn parse_by_rules(request: &ParseInput<'_>, answers: &[ClarificationAnswer]) -> (ParsedRequest, Option<ParsedRequest>) {
    // An event selected from a list applies to the whole request.
    let selected_event = selected_event(answers);
    let read = |text: &str| parse_for_event(&ParseInput { text, ..*request }, selected_event);
    let mut text_so_far = request.text.to_owned();
    let (mut parsed, mut last) = (read(&text_so_far), None);
    for answer in text_answers(answers) {
        let combined_text = format!("{text_so_far}, {answer}");
        let (alone, combined) = (read(answer), read(&combined_text));
        last = Some(alone.clone());
        (text_so_far, parsed) = match alone.confidence > combined.confidence {
            true => (answer.to_owned(), alone),
            false => (combined_text, combined),
        };
    }
    let corrections = parsed
        .unknown_names
        .iter()
        .filter_map(|unknown| Some((&unknown.text, chosen_name(unknown, answers, request)?)));
    let corrected = corrections.fold(text_so_far.clone(), |text_so_far, (original, corrected)| {
        replace_word(&text_so_far, original, corrected)
    });
    (if corrected == text_so_far { parsed } else { read(&corrected) }, last)
}

/// Returns the known name that the user chose for an unknown one. The text is parsed again with the known name.
fn chosen_name<'a>(
    unknown: &UnknownName,
    answers: &[ClarificationAnswer],
    request: &ParseInput<'a>,
) -> Option<&'a str> {
    let is_resource = unknown.is_resource_like;
    let chosen = answers.iter().rev().map(|answer| &answer.fields);
    let chosen =
        chosen.filter_map(|fields| if is_resource { fields.resources.as_ref() } else { fields.participants.as_ref() });
    let id = chosen.flatten().find(|id| unknown.near.contains(id))?;
    match is_resource {
        true => request.snapshot.resources.get(id).map(|resource| resource.name.as_str()),
        false => request.snapshot.members.get(id).map(|member| member.name.as_str()),
    }
}

fn replace_word(text: &str, original: &str, replacement: &str) -> String {
    let is_letter = |symbol: Option<char>| symbol.is_some_and(char::is_alphanumeric);
    let is_word = |at: usize| {
        let (before, after) = (&text[..at], &text[at + original.len()..]);
        !is_letter(before.chars().next_back()) && !is_letter(after.chars().next())
    };
    match text.match_indices(original).map(|(at, _)| at).find(|at| is_word(*at)) {
        Some(at) => format!("{}{replacement}{}", &text[..at], &text[at + original.len()..]),
        None => text.to_owned(),
    }
}

/// Returns everything that the user must resolve before the request can continue, as sentences.
fn problems(parsed: &ParsedRequest, answers: &[ClarificationAnswer]) -> Vec<String> {
    let mut problems = parsed.problems.clone();
    let is_added = |name: &str| answers.iter().flat_map(|answer| &answer.fields.add).any(|new| new.name == name);
    for unknown in &parsed.unknown_names {
        let (kind, question) = match unknown.is_resource_like {
            true => ("resource", "Which one do you mean?"),
            false => ("person", "Who do you mean?"),
        };
        problems.push(match is_added(&unknown.text) {
            // The name is still unknown because the user who wanted to add it is not a parent.
            true => format!("Only a parent can add “{}” to the family. Please ask one.", unknown.text),
            false => format!("I do not know a {kind} called “{}”. {question}", unknown.text),
        });
    }
    let names_event = matches!(parsed.data.event_type, EventType::Modify | EventType::Cancel);
    match parsed.event_ids.len() {
        0 if names_event => problems.push("I could not find the event. Which one do you mean?".to_owned()),
        0 | 1 => {}
        several if names_event => problems.push(format!("{several} events match. Which one do you mean?")),
        _ => {}
    }
    problems
}

fn open_issues(parsed: &ParsedRequest, problems: &[String]) -> Vec<String> {
    let questions = parsed.ambiguities.iter().map(|ambiguity| ambiguity.question.clone());
    let issues: Vec<String> = problems.iter().cloned().chain(questions).collect();
    match issues.is_empty() {
        true => vec![format!("Low confidence: {}", parsed.confidence)],
        false => issues,
    }
}

/// Returns a sentence that explains the parse to the user.
fn explain(parsed: &ParsedRequest) -> String {
    let title = parsed.data.title.as_deref().unwrap_or("something");
    match parsed.data.event_type {
        EventType::Create => format!("You want to plan {title}."),
        EventType::Modify => format!("You want to change {title}."),
        EventType::Cancel => format!("You want to cancel {title}."),
        EventType::Query => "You have a question about the calendar.".to_owned(),
    }
}
