//! The place where a person lets a debate go on, or ends it.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use superstep::{Ask, Command, Ctx, Message, NodeError, View};

use crate::hall::{FactCheck, Hall};
use crate::state::Debate;

/// What the person answers.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Answer {
    /// Whether the debate goes on.
    pub approved: bool,
    /// Something to say to the voices.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
}

/// Asks, and does what the person says.
pub(crate) async fn approval(debate: View<Debate>, hall: Ctx<Hall>, ask: Ask) -> Result<Command<Debate>, NodeError> {
    let answer: Answer = ask.person("approval", question(&debate)).await?;
    let mut update = Debate::update().awaiting_approval(false).user_approved(answer.approved);
    // What a person said is kept whatever they decided.
    if let Some(note) = answer.note.as_deref().map(str::trim).filter(|note| !note.is_empty()) {
        update = update.messages(Message::user(note).with_metadata("round", debate.round));
    }
    let is_argued = !answer.approved || debate.is_argued();
    let command = Command::new().update(update);
    Ok(match is_argued && hall.fact_check == FactCheck::AtEnd {
        true => command.and_goto("fact_check"),
        false => command,
    })
}

/// `{round, last, question}`, where `last` is what both sides said in the round.
fn question(debate: &Debate) -> Value {
    let mut last: Vec<Value> =
        debate.turns().rev().take(2).map(|turn| json!({ "name": turn.name, "content": turn.text() })).collect();
    last.reverse();
    let (round, rounds) = (debate.round, debate.max_rounds);
    let question = if debate.is_argued() {
        format!("All {rounds} rounds are over. Shall the moderator sum up?")
    } else {
        format!("Round {round} of {rounds} is over. Shall the debate go on?")
    };
    json!({ "round": round, "last": last, "question": question })
}
