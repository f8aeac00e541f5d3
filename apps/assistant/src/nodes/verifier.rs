//! Verifier node: decides if the outputs answer the question, first with rules, then with the language model if
//! there is one.
//!
//! An ambiguous question is clarified with the user, which does not count as an attempt. All other gaps lead to a
//! new plan, up to a limit; after that the answer names what is missing.

use serde::{Deserialize, Serialize};
use serde_json::json;
use superstep::{Interrupts, Message, NodeError, RunContext, TaskContext, View};

use super::{is_language_model, tokens};
use crate::context::AssistantContext;
use crate::current_turn::{CLARIFIES, CurrentTurn, RULE, last_outputs, previous_calls, task_prompt, useful_outputs};
use crate::prompt::{ModelTask, PreviousCall, ToolResult};
use crate::scratchpad;
use crate::state::{AgentState, AgentStateUpdate, Phase};
use crate::verdict::{Judgement, Verdict, VerdictReason, VerdictStatus};

mod rules;

use rules::{AmbiguousQuestion, RuleVerdict};

/// Maximum number of clarification questions per turn.
const MAX_QUESTIONS: u32 = 3;
/// Maximum length in characters of an answer to a clarification question.
pub(crate) const MAX_ANSWER_CHARS: usize = 4_000;

/// Verifies the outputs and chooses the next node.
pub(crate) async fn verifier(
    state: View<AgentState>,
    context: RunContext<AssistantContext>,
    interrupts: Interrupts,
    cx: TaskContext,
) -> Result<AgentStateUpdate, NodeError> {
    let (turn, outputs) = (CurrentTurn::from_state(&state), last_outputs(&state));
    let mut rule_verdict = rules::judge(&turn.question(), &turn.clarified(), &outputs);
    let mut used_tokens = 0;
    if let RuleVerdict::Good { missing } = &rule_verdict
        && is_language_model(&context.model)
    {
        // Recorded, so that resuming after a clarification does not repeat the model call.
        let judged: ModelJudgement = cx.once("judged", judge_with_model(&state, &context, &cx)).await?;
        used_tokens = judged.tokens;
        rule_verdict = judged
            .judgement
            .map_or_else(|| rule_verdict.clone(), |judgement| verdict_from_judgement(judgement, missing));
    }
    let question_count: u32 = scratchpad::read(&state, scratchpad::QUESTION_COUNT);
    let update = match rule_verdict {
        RuleVerdict::Unclear(unclear) if question_count < MAX_QUESTIONS => {
            let update = clarify(&unclear, &state, &context, (&interrupts, &cx)).await?;
            let entry = (scratchpad::QUESTION_COUNT.to_owned(), json!(question_count + 1));
            update.scratchpad(entry).scratchpad(previous_calls_entry(&state, &outputs, VerdictReason::Error))
        }
        RuleVerdict::Unclear(unclear) => {
            replan_or_give_up(VerdictReason::Error, vec![unclear.question], &state, &context, &cx).await?
        }
        RuleVerdict::Bad { reason, missing } => replan_or_give_up(reason, missing, &state, &context, &cx).await?,
        RuleVerdict::Good { missing } => {
            cx.emit(json!({ "status": "verified", "missing": missing })).await?;
            verdict_update(VerdictStatus::Verified, None, missing)
        }
    };
    Ok(update.phase(Phase::Verify).tokens_used(used_tokens))
}

/// Judgement of the model and its cost in tokens.
#[derive(Clone, Serialize, Deserialize)]
struct ModelJudgement {
    judgement: Option<Judgement>,
    tokens: u64,
}

/// Requests a judgement from the model. If the model is unavailable or returns something else, the rule verdict
/// stays.
async fn judge_with_model(
    state: &AgentState,
    context: &AssistantContext,
    cx: &TaskContext,
) -> Result<ModelJudgement, NodeError> {
    let mut prompt = task_prompt(ModelTask::Verify, state, context, cx).await?;
    prompt.outputs = useful_outputs(state);
    match cx.model(&context.model).request(prompt.request()).tag("hidden").await {
        Ok(answer) => Ok(ModelJudgement { judgement: answer.parse().ok(), tokens: tokens(&answer.message) }),
        Err(error) if super::planner::is_model_unavailable(&error) => Ok(ModelJudgement { judgement: None, tokens: 0 }),
        Err(error) => Err(error.into()),
    }
}

fn verdict_from_judgement(judgement: Judgement, missing: &[String]) -> RuleVerdict {
    let missing: Vec<String> = missing.iter().cloned().chain(judgement.missing).collect();
    match judgement.reason {
        Some(VerdictReason::Ambiguous) if !judgement.answers && !judgement.choices.is_empty() => {
            let about = missing.first().cloned().unwrap_or_default();
            let question = "What do you mean?".to_owned();
            RuleVerdict::Unclear(AmbiguousQuestion { kind: "ambiguous", about, question, choices: judgement.choices })
        }
        reason if !judgement.answers => {
            RuleVerdict::Bad { reason: reason.unwrap_or(VerdictReason::Irrelevant), missing }
        }
        _ => RuleVerdict::Good { missing },
    }
}

/// Returns to the planner, or gives up.
async fn replan_or_give_up(
    reason: VerdictReason,
    missing: Vec<String>,
    state: &AgentState,
    context: &AssistantContext,
    cx: &TaskContext,
) -> Result<AgentStateUpdate, NodeError> {
    let (name, attempt) = (reason.name(), state.retry_count + 1);
    let (key, all) = previous_calls_entry(state, &last_outputs(state), reason);
    if state.retry_count >= context.limits.max_replans {
        cx.emit(json!({ "status": "giving_up", "reason": name, "missing": missing, "tried": all })).await?;
        return Ok(verdict_update(VerdictStatus::GivingUp, Some(reason), missing).scratchpad((key, all)));
    }
    cx.emit(json!({ "status": "planning_retry", "reason": name, "attempt": attempt, "tried": all })).await?;
    let update = verdict_update(VerdictStatus::PlanningRetry, Some(reason), missing);
    Ok(update.retry_count(attempt).scratchpad((key, all)))
}

fn verdict_update(status: VerdictStatus, reason: Option<VerdictReason>, missing: Vec<String>) -> AgentStateUpdate {
    AgentState::update().verdict(Verdict { status, reason, missing })
}

/// Returns the record of all attempts so far, as an entry of the scratchpad.
fn previous_calls_entry(
    state: &AgentState,
    outputs: &[ToolResult],
    reason: VerdictReason,
) -> (String, serde_json::Value) {
    let mut all = previous_calls(state);
    all.extend(outputs.iter().map(|output| {
        let outcome = match output.is_success() {
            false => format!("error: {}", output.content),
            true if rules::is_empty(output) => "empty".to_owned(),
            true if reason == VerdictReason::Irrelevant => "irrelevant".to_owned(),
            true => "ok".to_owned(),
        };
        PreviousCall { tool: output.tool.clone(), args: output.args.clone(), outcome }
    }));
    (scratchpad::PREVIOUS_CALLS.to_owned(), json!(all))
}

/// Asks the user a clarification question. The answer becomes a user message, and the policy applies to it.
async fn clarify(
    unclear: &AmbiguousQuestion,
    state: &AgentState,
    context: &AssistantContext,
    (interrupts, cx): (&Interrupts, &TaskContext),
) -> Result<AgentStateUpdate, NodeError> {
    let AmbiguousQuestion { kind, about, question, choices } = unclear;
    let event = json!({ "status": "clarification_needed", "reason": kind, "question": question, "choices": choices });
    // The node runs again after the interrupt, and this event must not be emitted twice.
    cx.once("told", async { cx.emit(event).await }).await?;
    let payload = json!({
        "kind": "clarification", "reason": kind, "about": about, "question": question, "choices": choices,
    });
    let schema = json!({ "type": "string", "minLength": 1, "maxLength": MAX_ANSWER_CHARS, "pattern": "\\S" });
    let answer = interrupts.raise_with_schema("clarification", payload, question, Some(schema)).await?;
    let answer = answer.as_str().unwrap_or_default().trim().to_owned();
    let message = Message::user(answer.as_str()).with_metadata(CLARIFIES, about.as_str());
    if let Some(rule) = context.policy.matching_rule(&answer) {
        let rejection = json!({ "name": rule.name, "answer": rule.answer, "needs_person": rule.needs_person });
        let message = message.with_metadata(RULE, rule.name.as_str());
        let update = verdict_update(VerdictStatus::GivingUp, None, Vec::new()).safety_check(false).messages(message);
        return Ok(update.scratchpad((scratchpad::REJECTION.to_owned(), rejection)));
    }
    let missing = state.verdict.iter().flat_map(|verdict| verdict.missing.clone()).collect();
    Ok(verdict_update(VerdictStatus::ClarificationNeeded, None, missing).messages(message))
}
