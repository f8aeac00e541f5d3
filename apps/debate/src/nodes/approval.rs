//! Approval node: the user lets the debate continue, or ends it.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use superstep::{Command, Interrupts, Message, NodeError, RunContext, View};

use crate::context::{DebateContext, FactCheckMode};
use crate::state::DebateState;

/// Answer of the user to an approval.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ApprovalAnswer {
    /// Continue the debate; otherwise the moderator sums up.
    pub approved: bool,
    /// Note of the user to the agents.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
}

/// Raises the interrupt for an approval, and applies the answer.
pub(crate) async fn approval(
    debate: View<DebateState>,
    context: RunContext<DebateContext>,
    interrupts: Interrupts,
) -> Result<Command<DebateState>, NodeError> {
    let answer: ApprovalAnswer = interrupts.raise("approval", interrupt_payload(&debate)).await?;
    let mut update = DebateState::update().awaiting_approval(false).user_approved(answer.approved);
    // The note is saved whatever the decision was.
    if let Some(note) = answer.note.as_deref().map(str::trim).filter(|note| !note.is_empty()) {
        update = update.messages(Message::user(note).with_metadata("round", debate.round));
    }
    let is_summary_next = !answer.approved || debate.is_ready_for_summary();
    let command = Command::new().update(update);
    Ok(match is_summary_next && context.fact_check == FactCheckMode::AtEnd {
        true => command.and_goto("fact_check"),
        false => command,
    })
}

/// Returns `{round, last, question}`, where `last` contains the messages of both sides in the round.
fn interrupt_payload(debate: &DebateState) -> Value {
    let mut last: Vec<Value> =
        debate.turns().rev().take(2).map(|turn| json!({ "name": turn.name, "content": turn.text() })).collect();
    last.reverse();
    let (round, rounds) = (debate.round, debate.max_rounds);
    let question = if debate.is_ready_for_summary() {
        format!("All {rounds} rounds are over. Should the moderator sum up?")
    } else {
        format!("Round {round} of {rounds} is over. Should the debate continue?")
    };
    json!({ "round": round, "last": last, "question": question })
}
