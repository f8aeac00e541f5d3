//! The state of all graphs of the simulation, made so that half a superstep shows.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use superstep::State;

/// What a thread has done. Every task adds one entry to `log`, `count` and `marks`, never to one of them alone.
#[derive(State, Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Work {
    /// The inputs that were taken.
    #[reduce(append)]
    pub(crate) inputs: Vec<u64>,
    /// The updates from outside.
    #[reduce(append)]
    pub(crate) notes: Vec<u64>,
    #[reduce(append)]
    pub(crate) log: Vec<u64>,
    #[reduce(add)]
    pub(crate) count: u64,
    #[reduce(merge)]
    pub(crate) marks: BTreeMap<String, u64>,
    /// What people said.
    #[reduce(append)]
    pub(crate) answers: Vec<u64>,
    /// Who wrote last; one task of a superstep at most.
    pub(crate) last: u64,
    /// How often the graph went round since the last input.
    pub(crate) round: u64,
    /// How often it is to go round.
    pub(crate) laps: u64,
    /// How many tasks it is to send.
    pub(crate) width: u64,
}

/// The state of the graph that runs inside another: it shares some of the fields.
#[derive(State, Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Part {
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
    /// Only inside.
    #[reduce(add)]
    pub(crate) steps: u64,
}

/// What a task is called in logs: its node, the number of inputs, the round, and its place in a fan-out.
pub(crate) fn label(node: u64, inputs: &[u64], round: u64, place: u64) -> u64 {
    node * 1_000_000 + inputs.len() as u64 * 10_000 + round * 100 + place
}

/// Whether a state is that of a whole superstep.
pub(crate) fn whole(work: &Work) -> Result<(), String> {
    let (log, count, marks) = (work.log.len(), work.count, work.marks.len());
    if log as u64 == count && log == marks {
        return Ok(());
    }
    Err(format!("{log} entries in `log`, {count} in `count`, {marks} in `marks`"))
}

#[cfg(test)]
mod tests {
    use superstep::core::state::State as _;

    use super::*;

    #[test]
    fn half_a_superstep_shows() {
        let initial = Work::schema().unwrap().initial_state().downcast::<Work>().unwrap();
        whole(&initial).unwrap();
        let one = Work { log: vec![1], count: 1, marks: BTreeMap::from([("1".to_owned(), 1)]), ..(*initial).clone() };
        whole(&one).unwrap();
        for half in [
            Work { count: 0, ..one.clone() },
            Work { log: vec![1, 2], ..one.clone() },
            Work { marks: BTreeMap::new(), ..one },
        ] {
            assert!(whole(&half).is_err(), "{half:?}");
        }
    }
}
