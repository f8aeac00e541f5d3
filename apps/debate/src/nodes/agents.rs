//! Nodes of the three agents. Each sends all messages and a turn prompt, and returns one message; local weights receive
//! less (see `small_model_prompt`).

use std::sync::Arc;

use superstep::models::{ChatRequest, ModelErrorKind, ModelKind};
use superstep::{Command, Message, NodeError, RunContext, TaskContext, View};

use super::{now, small_model_prompt};
use crate::context::{DebateContext, FactCheckMode};
use crate::fact_check::result::{FactCheckResult, Verdict};
use crate::prompt::{DebateAgent, TurnPrompt};
use crate::state::{DebateState, DebateStateUpdate, DebateStatus};

/// Argues for the topic. A debate without a topic ends here.
pub(crate) async fn optimist_node(
    debate: View<DebateState>,
    context: RunContext<DebateContext>,
    cx: TaskContext,
) -> Result<DebateStateUpdate, NodeError> {
    let update = DebateState::update();
    let is_start = debate.start_time.is_none() && debate.turns().next().is_none();
    // If the input has no start time, the debate starts now.
    let update = if is_start { update.start_time(now(&cx)?) } else { update };
    if debate.topic.trim().is_empty() {
        let message = Message::assistant("Error: No topic provided");
        return Ok(update.messages(message).status(DebateStatus::Error).end_time(now(&cx)?));
    }
    let message = call_model(DebateAgent::Optimist, &debate, &context, &cx).await?;
    Ok(with_message(update, message))
}

/// Argues against the last message, and ends the round.
pub(crate) async fn skeptic_node(
    debate: View<DebateState>,
    context: RunContext<DebateContext>,
    cx: TaskContext,
) -> Result<Command<DebateState>, NodeError> {
    let message = call_model(DebateAgent::Skeptic, &debate, &context, &cx).await?;
    let round = debate.round + 1;
    let is_last = round >= debate.max_rounds;
    let needs_approval = context.needs_approval_after(round, &debate);
    let mut update = with_message(DebateState::update(), message).round(round);
    if needs_approval != debate.awaiting_approval {
        // Set here, so that it is saved before the interrupt; reset if no approval follows.
        update = update.awaiting_approval(needs_approval);
    }
    let command = Command::new().update(update);
    let checks = match context.fact_check {
        FactCheckMode::Off => false,
        FactCheckMode::EachRound => true,
        FactCheckMode::AtEnd => is_last && !needs_approval,
    };
    Ok(match (needs_approval, checks) {
        // The static edges apply.
        (false, false) => command,
        (true, false) => command.and_goto("approval"),
        (true, true) => command.and_goto("approval").and_goto("fact_check"),
        (false, true) if is_last => command.and_goto("fact_check"),
        (false, true) => command.and_goto("optimist").and_goto("fact_check"),
    })
}

/// Writes the summary, and ends the debate.
pub(crate) async fn moderator_node(
    debate: View<DebateState>,
    context: RunContext<DebateContext>,
    cx: TaskContext,
) -> Result<DebateStateUpdate, NodeError> {
    let mut message = call_model(DebateAgent::Moderator, &debate, &context, &cx).await?;
    if let Some(note) = user_ended_note(&debate)
        && !message.text().contains(&note)
    {
        // A model may omit it, and readers must know why there are fewer rounds than requested.
        message.content = format!("{}\n\nThe debate was {note}.", message.text()).into();
    }
    Ok(with_message(DebateState::update(), message).status(DebateStatus::Completed).end_time(now(&cx)?))
}

async fn call_model(
    role: DebateAgent,
    debate: &DebateState,
    context: &DebateContext,
    cx: &TaskContext,
) -> Result<Message, NodeError> {
    debate.check()?;
    let round = match role {
        DebateAgent::Moderator => debate.round,
        DebateAgent::Optimist | DebateAgent::Skeptic => debate.round + 1,
    };
    let notes = if role == DebateAgent::Moderator { notes(debate) } else { Vec::new() };
    let prompt = TurnPrompt { role, round, max_rounds: debate.max_rounds, topic: debate.topic.clone(), notes };
    let response = match context.model.info().kind {
        ModelKind::Weights => {
            let request = small_model_prompt::request(&prompt, debate, context, cx);
            small_model_prompt::trim_to_last_sentence(cx.model(&context.model).request(request).await?)
        }
        ModelKind::Rules | ModelKind::Remote => {
            let messages = debate.messages.iter_arcs().cloned().chain([Arc::new(prompt.message())]);
            cx.model(&context.model).request(ChatRequest::new(messages)).await?
        }
    };
    if response.message.text().trim().is_empty() {
        return Err(ModelErrorKind::InvalidResponse.error(&response.model, "the answer has no text").into());
    }
    Ok(response.message.with_name(role.name()).with_metadata("round", round))
}

fn with_message(update: DebateStateUpdate, message: Message) -> DebateStateUpdate {
    let tokens = message.usage.as_ref().map_or(0, |usage| usage.total_tokens);
    update.messages(message).token_usage(tokens)
}

/// Returns notes for the moderator: verdicts, remarks of the user, an early end.
fn notes(debate: &DebateState) -> Vec<String> {
    let results = debate.fact_check_results.iter().map(verdict_note);
    results
        .chain(debate.user_notes().map(|remark| format!("the user said: {remark}")))
        .chain(user_ended_note(debate))
        .collect()
}

fn verdict_note(result: &FactCheckResult) -> String {
    let FactCheckResult { claim, verdict, sources } = result;
    let verdict = match verdict {
        Verdict::True => "true",
        Verdict::False => "false",
        Verdict::Unverifiable => "unverifiable",
    };
    let sources = if sources.is_empty() { String::new() } else { format!(" ({})", sources.join(", ")) };
    format!("the claim \"{claim}\" is {verdict}{sources}")
}

fn user_ended_note(debate: &DebateState) -> Option<String> {
    (debate.user_approved == Some(false)).then(|| format!("ended by the user after round {}", debate.round))
}
