//! Nodes of a debate: functions of state and run context that return an update.
//!
//! One file for each kind of node. Nodes take the time from the run, never from the system clock.

mod agents;
mod approval;
mod fact_check;
mod small_model_prompt;

pub(crate) use agents::{moderator_node, optimist_node, skeptic_node};
pub use approval::ApprovalAnswer;
pub(crate) use approval::approval;
pub(crate) use fact_check::fact_check;

use superstep::core::time::Time;
use superstep::{NodeError, TaskContext};

/// Returns the current time of the run's clock.
fn now(cx: &TaskContext) -> Result<Time, NodeError> {
    Time::from_unix_micros(cx.now()).map_err(|error| NodeError::new(error.message).fatal())
}
