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
const MAX_CLAIMS_PER_TURN: usize = 3;
/// Time limit for checks in parallel to an agent: less than any turn of a language model takes.
const CHECK_TIMEOUT: Duration = Duration::from_millis(500);

/// Checks the claims that have no result yet.
pub(crate) async fn fact_check(
    debate: View<DebateState>,
    context: RunContext<DebateContext>,
    cx: TaskContext,
) -> Result<Command<DebateState>, NodeError> {
    let is_parallel_to_approval = context.fact_check == FactCheckMode::EachRound && debate.awaiting_approval;
    let is_before_moderator = debate.is_ready_for_summary() && !is_parallel_to_approval;
    let is_parallel_to_agent = !is_parallel_to_approval && !is_before_moderator;
    let timeout = async {
        match is_parallel_to_agent {
            true => cx.sleep(CHECK_TIMEOUT).await,
            false => std::future::pending().await,
        }
    };
    let mut timeout = pin!(timeout);
    let mut results = Vec::new();
    for claim in unchecked_claims(&debate) {
        tokio::select! {
            biased;
            () = &mut timeout => break,
            result = check_claim(claim, &context) => results.push(result?),
        }
    }
    let update = DebateState::update().fact_check_results(results);
    let command = if is_before_moderator { Command::goto("moderator") } else { Command::end() };
    Ok(command.update(update))
}

/// Checks a claim on a blocking thread: a search may read files, and the parallel agent must not wait for that.
async fn check_claim(claim: String, context: &DebateContext) -> Result<FactCheckResult, NodeError> {
    let evidence = context.evidence.clone();
    Ok(tokio::task::spawn_blocking(move || check(&claim, evidence.as_ref().map(Arc::as_ref))).await?)
}

/// Returns the claims of all turns that have no result, each once.
fn unchecked_claims(debate: &DebateState) -> Vec<String> {
    let mut unchecked: Vec<String> = Vec::new();
    for turn in debate.turns() {
        for claim in claims(&turn.text()).into_iter().take(MAX_CLAIMS_PER_TURN) {
            let is_checked = debate.fact_check_results.iter().any(|result| result.claim == claim);
            if !is_checked && !unchecked.contains(&claim) {
                unchecked.push(claim);
            }
        }
    }
    unchecked
}
