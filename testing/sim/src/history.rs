//! The history of a schedule, compared with the correct histories.
//!
//! Each checkpoint is compared when it is saved, with the state that the engine saved; the stored data is compared at
//! the end.

use std::sync::Arc;

use superstep::core::checkpoint::{Checkpoint, CheckpointNamespace, CheckpointSource};
use superstep::core::port::Commit;

use crate::checkpointer_backend::SimulatedDisk;
use crate::invariants::{CheckResult, Rule};
use crate::state::SimState;

/// The stored history of a thread.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct ThreadHistory {
    pub(crate) rows: Vec<HistoryRow>,
    /// The checkpoints of subgraphs, by node path.
    subgraphs: Vec<(String, Vec<CheckpointSummary>)>,
}

/// A checkpoint with its state.
pub(crate) type HistoryRow = (CheckpointSummary, Arc<SimState>);

/// A checkpoint without values that differ between runs.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct CheckpointSummary {
    step: i64,
    source: CheckpointSource,
    pub(crate) next: Vec<Arc<str>>,
}

impl CheckpointSummary {
    fn new(checkpoint: &Checkpoint) -> Self {
        let next = checkpoint.next_tasks.iter().map(|task| task.node.clone()).collect();
        Self { step: checkpoint.step, source: checkpoint.source, next }
    }

    fn matches(&self, checkpoint: &Checkpoint) -> bool {
        let scheduled = checkpoint.next_tasks.iter().map(|task| &task.node);
        self.step == checkpoint.step && self.source == checkpoint.source && self.next.iter().eq(scheduled)
    }
}

impl ThreadHistory {
    /// Reads the stored history; the checkpoints of subgraphs are taken from the recorded commits.
    pub(crate) fn read(disk: &SimulatedDisk, saved: &[Arc<Checkpoint>]) -> superstep::Result<Self> {
        let rows = disk
            .root_history()?
            .into_iter()
            .map(|(checkpoint, state)| (CheckpointSummary::new(&checkpoint), state))
            .collect();
        Ok(Self { rows, subgraphs: subgraph_histories(saved) })
    }
}

/// Returns the checkpoints of subgraphs, one list for each call.
fn subgraph_histories(saved: &[Arc<Checkpoint>]) -> Vec<(String, Vec<CheckpointSummary>)> {
    let mut histories: Vec<(String, Vec<CheckpointSummary>)> = Vec::new();
    let mut last = CheckpointNamespace::root();
    for checkpoint in saved.iter().filter(|checkpoint| !checkpoint.namespace.is_root()) {
        if histories.is_empty() || checkpoint.namespace != last {
            last = checkpoint.namespace.clone();
            histories.push((without_ids(&last), Vec::new()));
        }
        histories
            .iter_mut()
            .last()
            .into_iter()
            .for_each(|(_, summaries)| summaries.push(CheckpointSummary::new(checkpoint)));
    }
    histories
}

/// Returns a namespace without task ids.
fn without_ids(namespace: &CheckpointNamespace) -> String {
    let nodes = namespace.as_str().split('|').map(|segment| segment.split(':').next().unwrap_or_default());
    nodes.collect::<Vec<_>>().join("|")
}

/// A growing history, compared with the correct ones.
#[derive(Default)]
pub(crate) struct HistoryMatcher {
    /// The correct histories; `None` if there are none to compare with.
    expected: Option<Arc<[ThreadHistory]>>,
    /// Indexes of the correct histories that still match.
    matching: Vec<usize>,
    rows: usize,
}

impl HistoryMatcher {
    pub(crate) fn new(expected: Option<Arc<[ThreadHistory]>>) -> Self {
        let matching = (0..expected.as_ref().map_or(0, |expected| expected.len())).collect();
        Self { expected, matching, rows: 0 }
    }

    /// Returns true if the history is compared.
    pub(crate) fn is_strict(&self) -> bool {
        self.expected.is_some()
    }

    /// Checks a commit.
    pub(crate) fn check_commit(&mut self, commit: &Commit) -> CheckResult {
        let (Some(expected), Some(checkpoint), Some(state)) = (&self.expected, &commit.checkpoint, &commit.state)
        else {
            return Ok(());
        };
        let Some(saved) = state.state.downcast_ref::<SimState>() else { return Ok(()) };
        let number = self.rows;
        self.rows += 1;
        let is_expected = |index: &usize| {
            expected[*index]
                .rows
                .get(number)
                .is_some_and(|(summary, expected)| summary.matches(checkpoint) && **expected == *saved)
        };
        let candidate = self.matching.first().copied().unwrap_or(0);
        self.matching.retain(is_expected);
        if !self.matching.is_empty() {
            return Ok(());
        }
        let (actual, expected) =
            (CheckpointSummary::new(checkpoint), expected.get(candidate).and_then(|history| history.rows.get(number)));
        Rule::HistoryUnchanged
            .broken(format!("checkpoint {number} is {actual:?} {saved:?}, and without faults {expected:?}"))
    }

    /// Checks the complete history: its end must be correct and stored.
    pub(crate) fn check_end(&self, saved: &[Arc<Checkpoint>], last: &SimState) -> CheckResult {
        let Some(expected) = &self.expected else { return Ok(()) };
        let is_complete = |index: &&usize| expected[**index].rows.len() == self.rows;
        let Some(history) = self.matching.iter().find(is_complete).map(|index| &expected[*index]) else {
            return Rule::HistoryUnchanged.broken(format!("the history ends after {} checkpoints", self.rows));
        };
        let subgraphs = subgraph_histories(saved);
        if subgraphs != history.subgraphs {
            return Rule::HistoryUnchanged
                .broken(format!("the subgraphs have {subgraphs:?}, and without faults {:?}", history.subgraphs));
        }
        match history.rows.last() {
            Some((_, expected)) if **expected != *last => {
                Rule::HistoryUnchanged.broken(format!("{last:?} is on the disk, and without faults {expected:?}"))
            }
            _ => Ok(()),
        }
    }

    /// Checks the whole stored history.
    pub(crate) fn compare(&self, history: &ThreadHistory) -> CheckResult {
        match &self.expected {
            Some(expected) if !expected.contains(history) => {
                Rule::HistoryUnchanged.broken(format!("{history:?} is on the disk"))
            }
            _ => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use superstep::core::port::StateRef;
    use superstep::core::state::GraphState;

    use super::*;
    use crate::oracle::tests::{commit, step};

    fn state_with_count(count: u64) -> SimState {
        let schema = SimState::schema().unwrap();
        let initial = schema.initial_state().downcast::<SimState>().unwrap();
        SimState { count, ..(*initial).clone() }
    }

    fn commit_with_count(number: u128, count: u64) -> Commit {
        let state = StateRef { schema: SimState::schema().unwrap(), state: Arc::new(state_with_count(count)) };
        let checkpoint = step(number, number.checked_sub(1).filter(|parent| *parent > 0));
        Commit { state: Some(state), ..commit(1, Some(checkpoint), Vec::new()) }
    }

    /// Builds correct histories with these counts.
    fn matcher(histories: &[&[u64]]) -> HistoryMatcher {
        let row = |(index, count): (usize, &u64)| {
            let commit = commit_with_count(index as u128 + 1, *count);
            (CheckpointSummary::new(commit.checkpoint.as_ref().unwrap()), Arc::new(state_with_count(*count)))
        };
        let history = |counts: &&[u64]| ThreadHistory {
            rows: counts.iter().enumerate().map(row).collect(),
            subgraphs: Vec::new(),
        };
        HistoryMatcher::new(Some(histories.iter().map(history).collect()))
    }

    #[test]
    fn an_unexpected_history_is_detected() {
        let mut expected = matcher(&[&[1, 2], &[1, 3]]);
        expected.check_commit(&commit_with_count(1, 1)).unwrap();
        expected.check_commit(&commit_with_count(2, 3)).unwrap();
        expected.check_end(&[], &state_with_count(3)).unwrap();
        assert_eq!(expected.check_end(&[], &state_with_count(2)).unwrap_err().rule, Rule::HistoryUnchanged);
        let mut mismatch = matcher(&[&[1, 2]]);
        mismatch.check_commit(&commit_with_count(1, 1)).unwrap();
        assert_eq!(mismatch.check_end(&[], &state_with_count(1)).unwrap_err().rule, Rule::HistoryUnchanged);
        assert_eq!(mismatch.check_commit(&commit_with_count(2, 9)).unwrap_err().rule, Rule::HistoryUnchanged);
    }

    #[test]
    fn an_additional_or_renumbered_step_is_detected() {
        let mut long = matcher(&[&[1]]);
        long.check_commit(&commit_with_count(1, 1)).unwrap();
        assert_eq!(long.check_commit(&commit_with_count(2, 1)).unwrap_err().rule, Rule::HistoryUnchanged);
        assert_eq!(matcher(&[&[1]]).check_commit(&commit_with_count(2, 1)).unwrap_err().rule, Rule::HistoryUnchanged);
        assert_eq!(matcher(&[&[1]]).compare(&ThreadHistory::default()).unwrap_err().rule, Rule::HistoryUnchanged);
        HistoryMatcher::default().check_commit(&commit_with_count(1, 1)).unwrap();
    }

    #[test]
    fn an_additional_checkpoint_of_a_subgraph_is_detected() {
        let mut expected = matcher(&[&[1]]);
        expected.check_commit(&commit_with_count(1, 1)).unwrap();
        let checkpoint = Checkpoint { namespace: "inner:abc".into(), ..(*step(5, None)).clone() };
        let violation = expected.check_end(&[Arc::new(checkpoint)], &state_with_count(1)).unwrap_err();
        assert!(violation.text.contains("\"inner\""), "{}", violation.text);
    }
}
