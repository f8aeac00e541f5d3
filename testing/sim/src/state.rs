//! The state of all graphs of the simulation, designed so that an incomplete superstep is detectable.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use superstep::GraphState;

/// State of a thread. Every task adds one entry to each of `log`, `count` and `marks`.
#[derive(GraphState, Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct SimState {
    /// Applied inputs.
    #[reduce(append)]
    pub(crate) inputs: Vec<u64>,
    /// Applied external updates.
    #[reduce(append)]
    pub(crate) notes: Vec<u64>,
    #[reduce(append)]
    pub(crate) log: Vec<u64>,
    #[reduce(add)]
    pub(crate) count: u64,
    #[reduce(merge)]
    pub(crate) marks: BTreeMap<String, u64>,
    /// Applied resume values.
    #[reduce(append)]
    pub(crate) answers: Vec<u64>,
    /// Number of the last writing node; at most one task of a superstep writes it.
    pub(crate) last: u64,
    /// Loops since the last input.
    pub(crate) round: u64,
    /// Number of loops to run.
    pub(crate) rounds: u64,
    /// Number of tasks to send.
    pub(crate) width: u64,
}

/// State of the subgraph, which shares some of the fields.
#[derive(GraphState, Clone, Debug, Serialize, Deserialize)]
pub(crate) struct SubgraphState {
    #[reduce(append)]
    pub(crate) inputs: Vec<u64>,
    #[reduce(append)]
    pub(crate) log: Vec<u64>,
    #[reduce(add)]
    pub(crate) count: u64,
    #[reduce(merge)]
    pub(crate) marks: BTreeMap<String, u64>,
    #[reduce(append)]
    pub(crate) answers: Vec<u64>,
    pub(crate) round: u64,
    /// Field of the subgraph only.
    #[reduce(add)]
    pub(crate) steps: u64,
}

/// Returns the label of a task: its node, the number of inputs, the round, and its index in a fan-out.
pub(crate) fn label(node: u64, inputs: &[u64], round: u64, index: u64) -> u64 {
    node * 1_000_000 + inputs.len() as u64 * 10_000 + round * 100 + index
}

/// Checks that a state belongs to a complete superstep.
pub(crate) fn check_consistent(state: &SimState) -> Result<(), String> {
    let (log, count, marks) = (state.log.len(), state.count, state.marks.len());
    if log as u64 == count && log == marks {
        return Ok(());
    }
    Err(format!("{log} entries in `log`, {count} in `count`, {marks} in `marks`"))
}

#[cfg(test)]
mod tests {
    use superstep::core::state::GraphState as _;

    use super::*;

    #[test]
    fn partial_supersteps_are_detected() {
        let initial = SimState::schema().unwrap().initial_state().downcast::<SimState>().unwrap();
        check_consistent(&initial).unwrap();
        let one =
            SimState { log: vec![1], count: 1, marks: BTreeMap::from([("1".to_owned(), 1)]), ..(*initial).clone() };
        check_consistent(&one).unwrap();
        for half in [
            SimState { count: 0, ..one.clone() },
            SimState { log: vec![1, 2], ..one.clone() },
            SimState { marks: BTreeMap::new(), ..one },
        ] {
            assert!(check_consistent(&half).is_err(), "{half:?}");
        }
    }
}
