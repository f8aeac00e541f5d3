//! Nodes of the graph: functions of state and run context that return an update.
//!
//! One file per node. Nodes read the time from the run and never from the system clock.

mod approval;
mod generator;
mod ingress;
mod planner;
mod summarizer;
mod tool_executor;
mod tool_router;
mod verifier;

pub use approval::{Decision, DecisionKind};
pub(crate) use generator::{RULES_PREFIX, generator};
pub(crate) use ingress::ingress;
pub(crate) use planner::planner;
pub(crate) use summarizer::summarizer;
pub(crate) use tool_executor::tool_executor;
pub(crate) use tool_router::{RoutedCalls, tool_router};
pub(crate) use verifier::{MAX_ANSWER_CHARS, verifier};

use superstep::Message;
use superstep::models::{ModelKind, SharedModel};

/// Returns the number of tokens that a model response used.
fn tokens(message: &Message) -> u64 {
    message.usage.as_ref().map_or(0, |usage| usage.total_tokens)
}

/// Returns true if the model is a language model and not a rule model.
fn is_language_model(model: &SharedModel) -> bool {
    model.info().kind != ModelKind::Rules
}
