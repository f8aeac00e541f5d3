//! Summarizer node, the last of a turn: summarises the conversation, trims old messages, saves facts and clears the
//! scratchpad.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use regex::Regex;
use serde_json::Value;
use superstep::core::message::{MessageUpdates, Role, count_tokens};
use superstep::{Message, NodeError, Overwrite, RemoveMessage, RunContext, TaskContext, View};

use super::planner::is_model_unavailable;
use super::{is_language_model, tokens};
use crate::context::{AssistantContext, TurnLimits};
use crate::current_turn::{CLARIFIES, CurrentTurn, today};
use crate::memory::{Fact, SummaryOutput, save_fact};
use crate::prompt::{HistoryMessage, ModelTask, TaskPrompt, history_message};
use crate::state::{AgentState, AgentStateUpdate, Phase};

/// Prefix of the first line of every summary, which is never dropped.
const FIRST_TOPIC_PREFIX: &str = "Began with: ";
/// Maximum length of a summary in characters.
const MAX_SUMMARY_CHARS: usize = 4_000;
/// Maximum length of a quoted message in a summary in characters.
const MAX_LINE_CHARS: usize = 200;

/// Summarises the conversation and resets the scratchpad.
pub(crate) async fn summarizer(
    state: View<AgentState>,
    context: RunContext<AssistantContext>,
    cx: TaskContext,
) -> Result<AgentStateUpdate, NodeError> {
    let mut update = AgentState::update()
        .phase(Phase::Generate)
        .scratchpad(Overwrite(BTreeMap::<String, Value>::new()))
        .messages(remove_old_messages(&state, &context.limits));
    if state.safety_check == Some(false) {
        // Models receive the summary in later turns, so it must not contain a refused message.
        return Ok(update);
    }
    let mut new_summary = summarize_by_rules(&state);
    if is_language_model(&context.model)
        && let Some((output, used_tokens)) = summarize_with_model(&state, &context, &cx).await?
    {
        update = update.tokens_used(used_tokens);
        new_summary = output.map_or(new_summary, |output| SummaryOutput {
            summary: with_first_topic(&state, &output.summary),
            ..output
        });
    }
    if has_consent(&state, &context) {
        remember_facts(&new_summary.facts, &state, &context, &cx).await?;
    }
    Ok(update.summary(new_summary.summary))
}

/// Removes all but the latest messages, cut before a user message so that tool calls stay with their results.
fn remove_old_messages(state: &AgentState, limits: &TurnLimits) -> MessageUpdates {
    let all: Vec<&Message> = state.messages.iter().collect();
    let token_count: u64 = all.iter().map(|message| count_tokens(message).tokens).sum();
    if all.len() <= limits.max_messages && token_count <= limits.max_context_tokens {
        return MessageUpdates::default();
    }
    let starts_turn = |message: &&Message| message.role == Role::User && !message.metadata.contains_key(CLARIFIES);
    let latest = all.len().saturating_sub(limits.min_recent_messages);
    let start = all[..(latest + 1).min(all.len())].iter().rposition(starts_turn).unwrap_or(0);
    all[..start].iter().filter_map(|message| message.id.clone()).map(RemoveMessage).collect()
}

/// Appends one line about this turn to the summary; a long summary keeps its start and its end.
fn summarize_by_rules(state: &AgentState) -> SummaryOutput {
    let turn = CurrentTurn::from_state(state);
    let question = turn.question();
    let answer = state.messages.last().map(Message::text).unwrap_or_default();
    let line = format!("- {} -> {}", excerpt(&question), excerpt(&answer));
    let summary = match state.summary.is_empty() {
        true => format!("{FIRST_TOPIC_PREFIX}{}\n{line}", excerpt(&question)),
        false => format!("{}\n{line}", state.summary),
    };
    SummaryOutput { summary: limit_length(&summary), facts: stated_facts(&question) }
}

async fn summarize_with_model(
    state: &AgentState,
    context: &AssistantContext,
    cx: &TaskContext,
) -> Result<Option<(Option<SummaryOutput>, u64)>, NodeError> {
    let turn = CurrentTurn::from_state(state);
    let mut prompt = TaskPrompt::new(ModelTask::Summarize, "Sum up.");
    let first = HistoryMessage { role: "user".to_owned(), text: turn.question().into_owned() };
    prompt.history = std::iter::once(first).chain(state.messages.last().map(history_message)).collect();
    prompt.summary.clone_from(&state.summary);
    prompt.today = today(state, context, cx)?;
    let answer = match cx.model(&context.model).request(prompt.request()).tag("hidden").await {
        Ok(answer) => answer,
        Err(error) if is_model_unavailable(&error) => return Ok(None),
        Err(error) => return Err(error.into()),
    };
    let used_tokens = tokens(&answer.message);
    let output = answer.parse::<SummaryOutput>().ok().filter(|output| !output.summary.trim().is_empty());
    Ok(Some((output, used_tokens)))
}

/// Puts the first topic of the conversation in front of a summary by a model.
fn with_first_topic(state: &AgentState, summary: &str) -> String {
    let first = match state.summary.lines().next() {
        Some(line) if line.starts_with(FIRST_TOPIC_PREFIX) => line.to_owned(),
        _ => format!("{FIRST_TOPIC_PREFIX}{}", excerpt(&CurrentTurn::from_state(state).question())),
    };
    let rest = summary.strip_prefix(first.as_str()).unwrap_or(summary);
    limit_length(&format!("{first}\n{}", rest.trim_start()))
}

fn excerpt(text: &str) -> String {
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    match line.chars().count() > MAX_LINE_CHARS {
        true => format!("{}...", line.chars().take(MAX_LINE_CHARS).collect::<String>()),
        false => line,
    }
}

/// Shortens a summary to its first three lines and the latest lines that fit.
fn limit_length(summary: &str) -> String {
    if summary.chars().count() <= MAX_SUMMARY_CHARS {
        return summary.to_owned();
    }
    let lines: Vec<&str> = summary.lines().collect();
    let (head, tail) = lines.split_at(lines.len().min(3));
    let mut remaining = MAX_SUMMARY_CHARS.saturating_sub(head.iter().map(|line| line.chars().count() + 1).sum());
    let fits = |line: &&&str| {
        let length = line.chars().count() + 1;
        let has_space = length <= remaining;
        remaining = remaining.saturating_sub(length);
        has_space
    };
    let mut latest: Vec<&str> = tail.iter().rev().take_while(fits).copied().collect();
    latest.reverse();
    head.iter()
        .copied()
        .chain(["- ..."])
        .chain(latest.into_iter().filter(|line| *line != "- ..."))
        .collect::<Vec<_>>()
        .join("\n")
}

fn has_consent(state: &AgentState, context: &AssistantContext) -> bool {
    let consent = state.user_context.get("preferences").and_then(|preferences| preferences["remember"].as_bool());
    consent.unwrap_or(context.remember_facts)
}

async fn remember_facts(
    facts: &[String],
    state: &AgentState,
    context: &AssistantContext,
    cx: &TaskContext,
) -> Result<(), NodeError> {
    let Ok(store) = cx.store() else { return Ok(()) };
    let turn = CurrentTurn::from_state(state);
    let source = turn.message().and_then(|message| message.id.as_ref()).map(ToString::to_string).unwrap_or_default();
    let date = today(state, context, cx)?;
    for text in facts.iter().map(|text| text.trim()).filter(|text| !text.is_empty()) {
        let fact = Fact { text: text.to_owned(), source: source.clone(), date: date.clone() };
        save_fact(store, &state.user_id, &fact).await?;
    }
    Ok(())
}

/// Extracts statements of users about themselves, sentence by sentence.
fn stated_facts(question: &str) -> Vec<String> {
    static FACT: LazyLock<Regex> = LazyLock::new(|| {
        let about = r"my name is|i (?:live|work) (?:in|at|for|with)|i am (?:responsible|based|from)|i (?:always )?prefer|i like";
        Regex::new(&format!(r"(?i)(?:\bremember that\s+)([^.!?\n]+)|\b((?:{about})\b[^.!?\n]+)")).expect("a pattern")
    });
    let fact_text = |captures: regex::Captures<'_>| {
        captures.get(1).or_else(|| captures.get(2)).map(|fact| fact.as_str().trim().to_owned())
    };
    FACT.captures_iter(question).filter_map(fact_text).collect()
}
