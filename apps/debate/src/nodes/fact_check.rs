//! The place where claims are looked up, beside the next speaker or before the moderator.
//!
//! A superstep ends with its slowest task. Beside a speaker, claims are therefore looked up for a short time only, and
//! what is left is for the next time; beside a person, and before the moderator, all of them are.

use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use superstep::{Command, Ctx, Cx, NodeError, View};

use crate::fact::FactCheckResult;
use crate::facts::{check, claims};
use crate::hall::{FactCheck, Hall};
use crate::state::Debate;

/// How many claims of one turn are looked up.
const CLAIMS_OF_A_TURN: usize = 3;
/// How long claims are looked up beside a speaker: less than any turn of a language model takes.
const PATIENCE: Duration = Duration::from_millis(500);

/// Looks up what nobody has looked up yet.
pub(crate) async fn fact_check(debate: View<Debate>, hall: Ctx<Hall>, cx: Cx) -> Result<Command<Debate>, NodeError> {
    let is_beside_person = hall.fact_check == FactCheck::EachRound && debate.awaiting_approval;
    let is_before_moderator = debate.is_argued() && !is_beside_person;
    let is_beside_speaker = !is_beside_person && !is_before_moderator;
    let time_is_up = async {
        match is_beside_speaker {
            true => cx.sleep(PATIENCE).await,
            false => std::future::pending().await,
        }
    };
    let mut time_is_up = pin!(time_is_up);
    let mut results = Vec::new();
    for claim in unchecked(&debate) {
        tokio::select! {
            biased;
            () = &mut time_is_up => break,
            result = look_up(claim, &hall) => results.push(result?),
        }
    }
    let update = Debate::update().fact_check_results(results);
    let command = if is_before_moderator { Command::goto("moderator") } else { Command::end() };
    Ok(command.update(update))
}

/// Looking things up may take a disk's time, and the speaker beside must not wait for that.
async fn look_up(claim: String, hall: &Hall) -> Result<FactCheckResult, NodeError> {
    let evidence = hall.evidence.clone();
    Ok(tokio::task::spawn_blocking(move || check(&claim, evidence.as_ref().map(Arc::as_ref))).await?)
}

/// The claims of all turns for which there is no result, each once.
fn unchecked(debate: &Debate) -> Vec<String> {
    let mut found: Vec<String> = Vec::new();
    for turn in debate.turns() {
        for claim in claims(&turn.text()).into_iter().take(CLAIMS_OF_A_TURN) {
            let is_checked = debate.fact_check_results.iter().any(|result| result.claim == claim);
            if !is_checked && !found.contains(&claim) {
                found.push(claim);
            }
        }
    }
    found
}
