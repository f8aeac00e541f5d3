//! What happens at each place of a turn: a function of the state and the desk that returns what it changes.
//!
//! One file for each place. Nodes read the time from the run and never from the machine.

mod approval;
mod generator;
mod ingress;
mod planner;
mod summarizer;
mod tool_executor;
mod tool_router;
mod verifier;

pub use approval::{Decision, DecisionKind};
pub(crate) use generator::generator;
pub(crate) use ingress::ingress;
pub(crate) use planner::planner;
pub(crate) use summarizer::summarizer;
pub(crate) use tool_executor::tool_executor;
pub(crate) use tool_router::{Routed, tool_router};
pub(crate) use verifier::{LONGEST_ANSWER, verifier};

use superstep::Message;
use superstep::model::{ModelKind, SharedModel};

/// The tokens that an answer cost.
fn tokens(message: &Message) -> u64 {
    message.usage.as_ref().map_or(0, |usage| usage.total_tokens)
}

/// Whether a model is a language model and not a set of rules.
fn can_judge(model: &SharedModel) -> bool {
    model.info().kind != ModelKind::Rules
}
