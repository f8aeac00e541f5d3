//! What a turn notes for itself, under fixed names in the scratchpad. Empty between turns.

use serde::de::DeserializeOwned;

use crate::state::Assistant;

/// The rule that a message broke: `{name, answer, needs_person}`.
pub(crate) const REFUSAL: &str = "refusal";
/// What the plans of the turn were, each in one line.
pub(crate) const PLANS: &str = "plans";
/// What was tried, as [`crate::prompt::Tried`].
pub(crate) const TRIED: &str = "tried";
/// How the calls are run: [`crate::nodes::Routed`].
pub(crate) const ROUTED: &str = "routed";
/// How often the user was asked what was meant.
pub(crate) const ASKED: &str = "asked";

/// A note, or nothing where there is none.
pub(crate) fn read<T: DeserializeOwned + Default>(state: &Assistant, name: &str) -> T {
    state.scratchpad.get(name).and_then(|note| serde_json::from_value(note.clone()).ok()).unwrap_or_default()
}
