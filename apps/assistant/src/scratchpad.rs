//! Names of the scratchpad entries of a turn. The scratchpad is empty between turns.

use serde::de::DeserializeOwned;

use crate::state::AgentState;

/// Rule that a message broke: `{name, answer, needs_person}`.
pub(crate) const REJECTION: &str = "refusal";
/// Signatures of the plans of the turn.
pub(crate) const PLANS: &str = "plans";
/// Previous calls of the turn, as [`crate::prompt::PreviousCall`].
pub(crate) const PREVIOUS_CALLS: &str = "tried";
/// Execution order of the calls: [`crate::nodes::RoutedCalls`].
pub(crate) const ROUTED: &str = "routed";
/// Number of clarification questions in the turn.
pub(crate) const QUESTION_COUNT: &str = "asked";

/// Reads an entry; a missing or invalid entry gives the default value.
pub(crate) fn read<T: DeserializeOwned + Default>(state: &AgentState, name: &str) -> T {
    state.scratchpad.get(name).and_then(|entry| serde_json::from_value(entry.clone()).ok()).unwrap_or_default()
}
