//! Fact check node, parallel to the next agent or before the moderator.
//!
//! A superstep ends with its slowest task. In parallel to an agent, claims are therefore checked for a short time
//! only, and the rest is left for the next time; in parallel to an approval, and before the moderator, all claims
//! are checked.

use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use superstep::{Command, NodeError, RunContext, TaskContext, View};

use crate::context::{DebateContext, FactCheckMode};
use crate::fact_check::result::FactCheckResult;
use crate::fact_check::{check, claims};
use crate::state::DebateState;

/// Maximum number of checked claims per turn.
const CLAIMS_OF_A_TURN: usize = 3;
/// Time limit for checks in parallel to an agent: less than any turn of a language model takes.
const CHECK_TIMEOUT: Duration = Duration::from_millis(500);

/// Checks the claims that have no result yet.
pub(crate) async fn fact_check(
    debate: View<DebateState>,
    context: RunContext<DebateContext>,
    cx: TaskContext,
) -> Result<Command<DebateState>, NodeError> {
    let is_beside_person = context.fact_check == FactCheckMode::EachRound && debate.awaiting_approval;
    let is_before_moderator = debate.is_ready_for_summary() && !is_beside_person;
    let is_beside_speaker = !is_beside_person && !is_before_moderator;
    let time_is_up = async {
        match is_beside_speaker {
            true => cx.sleep(CHECK_TIMEOUT).await,
            false => std::future::pending().await,
        }
    };
    let mut time_is_up = pin!(time_is_up);
    let mut results = Vec::new();
    for claim in unchecked_claims(&debate) {
        tokio::select! {
            biased;
            () = &mut time_is_up => break,
            result = look_up(claim, &context) => results.push(result?),
        }
    }
    let update = DebateState::update().fact_check_results(results);
    let command = if is_before_moderator { Command::goto("moderator") } else { Command::end() };
    Ok(command.update(update))
}

/// Runs on a blocking thread: a search may read files, and the parallel agent must not wait for that.
async fn look_up(claim: String, context: &DebateContext) -> Result<FactCheckResult, NodeError> {
    let evidence = context.evidence.clone();
    Ok(tokio::task::spawn_blocking(move || check(&claim, evidence.as_ref().map(Arc::as_ref))).await?)
}

/// Returns the claims of all turns that have no result, each once.
fn unchecked_claims(debate: &DebateState) -> Vec<String> {
    let mut unchecked: Vec<String> = Vec::new();
    for turn in debate.turns() {
        for claim in claims(&turn.text()).into_iter().take(CLAIMS_OF_A_TURN) {
            let is_checked = debate.fact_check_results.iter().any(|result| result.claim == claim);
            if !is_checked && !unchecked.contains(&claim) {
                unchecked.push(claim);
            }
        }
    }
    unchecked
}
