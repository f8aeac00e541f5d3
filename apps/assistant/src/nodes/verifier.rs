//! The place where it is decided whether the outputs answer the question: rules first, then the model where there is one.
//!
//! What lies in the question is asked back, and does not count as an attempt. Everything else is planned again, a few
//! times, and then the answer says what is missing.

use serde::{Deserialize, Serialize};
use serde_json::json;
use superstep::{Ask as Person, Ctx, Cx, Message, NodeError, View};

use super::{can_judge, tokens};
use crate::desk::Desk;
use crate::prompt::{Output, Task, Tried};
use crate::scratch;
use crate::state::{Assistant, AssistantUpdate, Phase};
use crate::turn::{CLARIFIES, RULE, Turn, ask, last_outputs, tried, useful_outputs};
use crate::verdict::{Judgement, Reason, Verdict, VerdictStatus};

mod rules;

use rules::{Finding, Unclear};

/// How often the user is asked what was meant, in one turn.
const MOST_QUESTIONS: u32 = 3;
/// The longest answer to such a question, in characters.
pub(crate) const LONGEST_ANSWER: usize = 4_000;

/// Looks at the outputs, and says what follows.
pub(crate) async fn verifier(
    state: View<Assistant>,
    desk: Ctx<Desk>,
    person: Person,
    cx: Cx,
) -> Result<AssistantUpdate, NodeError> {
    let (turn, outputs) = (Turn::of(&state), last_outputs(&state));
    let mut finding = rules::judge(&turn.question(), &turn.clarified(), &outputs);
    let mut spent = 0;
    if let Finding::Good { missing } = &finding
        && can_judge(&desk.model)
    {
        // Recorded, so that a question to the user that comes of it does not ask the model again.
        let judged: Judged = cx.once("judged", judged(&state, &desk, &cx)).await?;
        spent = judged.tokens;
        finding = judged.judgement.map_or_else(|| finding.clone(), |said| heard(said, missing));
    }
    let asked: u32 = scratch::read(&state, scratch::ASKED);
    let update = match finding {
        Finding::Unclear(unclear) if asked < MOST_QUESTIONS => {
            let update = clarify(&unclear, &state, &desk, (&person, &cx)).await?;
            let counted = (scratch::ASKED.to_owned(), json!(asked + 1));
            update.scratchpad(counted).scratchpad(noted(&state, &outputs, Reason::Error))
        }
        Finding::Unclear(unclear) => again(Reason::Error, vec![unclear.question], &state, &desk, &cx).await?,
        Finding::Bad { reason, missing } => again(reason, missing, &state, &desk, &cx).await?,
        Finding::Good { missing } => {
            cx.emit(json!({ "status": "verified", "missing": missing })).await?;
            decided(VerdictStatus::Verified, None, missing)
        }
    };
    Ok(update.phase(Phase::Verify).tokens_used(spent))
}

/// What the model said of the outputs, and what that cost.
#[derive(Clone, Serialize, Deserialize)]
struct Judged {
    judgement: Option<Judgement>,
    tokens: u64,
}

/// Asks the model. One that cannot be reached, or says something else, leaves it to the rules.
async fn judged(state: &Assistant, desk: &Desk, cx: &Cx) -> Result<Judged, NodeError> {
    let mut ask = ask(Task::Verify, state, desk, cx).await?;
    ask.outputs = useful_outputs(state);
    match cx.model(&desk.model).request(ask.request()).tag("hidden").await {
        Ok(answer) => Ok(Judged { judgement: answer.parse().ok(), tokens: tokens(&answer.message) }),
        Err(error) if super::planner::is_away(&error) => Ok(Judged { judgement: None, tokens: 0 }),
        Err(error) => Err(error.into()),
    }
}

fn heard(said: Judgement, missing: &[String]) -> Finding {
    let missing: Vec<String> = missing.iter().cloned().chain(said.missing).collect();
    match said.reason {
        Some(Reason::Ambiguous) if !said.answers && !said.choices.is_empty() => {
            let about = missing.first().cloned().unwrap_or_default();
            let question = "What do you mean?".to_owned();
            Finding::Unclear(Unclear { kind: "ambiguous", about, question, choices: said.choices })
        }
        reason if !said.answers => Finding::Bad { reason: reason.unwrap_or(Reason::Irrelevant), missing },
        _ => Finding::Good { missing },
    }
}

/// Goes back to the planner, or gives up.
async fn again(
    reason: Reason,
    missing: Vec<String>,
    state: &Assistant,
    desk: &Desk,
    cx: &Cx,
) -> Result<AssistantUpdate, NodeError> {
    let (name, attempt) = (reason.name(), state.retry_count + 1);
    let (key, all) = noted(state, &last_outputs(state), reason);
    if state.retry_count >= desk.limits.max_replans {
        cx.emit(json!({ "status": "giving_up", "reason": name, "missing": missing, "tried": all })).await?;
        return Ok(decided(VerdictStatus::GivingUp, Some(reason), missing).scratchpad((key, all)));
    }
    cx.emit(json!({ "status": "planning_retry", "reason": name, "attempt": attempt, "tried": all })).await?;
    let update = decided(VerdictStatus::PlanningRetry, Some(reason), missing);
    Ok(update.retry_count(attempt).scratchpad((key, all)))
}

fn decided(status: VerdictStatus, reason: Option<Reason>, missing: Vec<String>) -> AssistantUpdate {
    Assistant::update().verdict(Verdict { status, reason, missing })
}

/// What was tried so far, as a note.
fn noted(state: &Assistant, outputs: &[Output], reason: Reason) -> (String, serde_json::Value) {
    let mut all = tried(state);
    all.extend(outputs.iter().map(|output| {
        let outcome = match output.is_good() {
            false => format!("error: {}", output.content),
            true if rules::is_empty(output) => "empty".to_owned(),
            true if reason == Reason::Irrelevant => "irrelevant".to_owned(),
            true => "ok".to_owned(),
        };
        Tried { tool: output.tool.clone(), args: output.args.clone(), outcome }
    }));
    (scratch::TRIED.to_owned(), json!(all))
}

/// Asks the user what was meant. What they say is a message of theirs, and the policy holds for it.
async fn clarify(
    unclear: &Unclear,
    state: &Assistant,
    desk: &Desk,
    (person, cx): (&Person, &Cx),
) -> Result<AssistantUpdate, NodeError> {
    let Unclear { kind, about, question, choices } = unclear;
    let told = json!({ "status": "clarification_needed", "reason": kind, "question": question, "choices": choices });
    // The node runs again with the answer; the event was told already.
    cx.once("told", async { cx.emit(told).await }).await?;
    let shown = json!({
        "kind": "clarification", "reason": kind, "about": about, "question": question, "choices": choices,
    });
    let schema = json!({ "type": "string", "minLength": 1, "maxLength": LONGEST_ANSWER, "pattern": "\\S" });
    let answer = person.with("clarification", shown, question, Some(schema)).await?;
    let answer = answer.as_str().unwrap_or_default().trim().to_owned();
    let message = Message::user(answer.as_str()).with_metadata(CLARIFIES, about.as_str());
    if let Some(rule) = desk.policy.rule_against(&answer) {
        let refusal = json!({ "name": rule.name, "answer": rule.answer, "needs_person": rule.needs_person });
        let message = message.with_metadata(RULE, rule.name.as_str());
        let update = decided(VerdictStatus::GivingUp, None, Vec::new()).safety_check(false).messages(message);
        return Ok(update.scratchpad((scratch::REFUSAL.to_owned(), refusal)));
    }
    let missing = state.verdict.iter().flat_map(|verdict| verdict.missing.clone()).collect();
    Ok(decided(VerdictStatus::ClarificationNeeded, None, missing).messages(message))
}
