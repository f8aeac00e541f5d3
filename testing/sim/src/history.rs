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
    fn of(checkpoint: &Checkpoint) -> Self {
        let next = checkpoint.next_tasks.iter().map(|task| task.node.clone()).collect();
        Self { step: checkpoint.step, source: checkpoint.source, next }
    }

    fn is(&self, checkpoint: &Checkpoint) -> bool {
        let scheduled = checkpoint.next_tasks.iter().map(|scheduled| &scheduled.node);
        self.step == checkpoint.step && self.source == checkpoint.source && self.next.iter().eq(scheduled)
    }
}

impl ThreadHistory {
    /// Reads the stored history; the checkpoints of subgraphs are taken from the recorded commits.
    pub(crate) fn read(disk: &SimulatedDisk, saved: &[Arc<Checkpoint>]) -> superstep::Result<Self> {
        let rows =
            disk.line()?.into_iter().map(|(checkpoint, work)| (CheckpointSummary::of(&checkpoint), work)).collect();
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
            .for_each(|(_, moments)| moments.push(CheckpointSummary::of(checkpoint)));
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
    right: Option<Arc<[ThreadHistory]>>,
    /// Indexes of the correct histories that still match.
    fits: Vec<usize>,
    rows: usize,
}

impl HistoryMatcher {
    pub(crate) fn new(right: Option<Arc<[ThreadHistory]>>) -> Self {
        let fits = (0..right.as_ref().map_or(0, |right| right.len())).collect();
        Self { right, fits, rows: 0 }
    }

    /// Returns true if the history is compared.
    pub(crate) fn is_strict(&self) -> bool {
        self.right.is_some()
    }

    /// Checks a commit.
    pub(crate) fn saved(&mut self, commit: &Commit) -> CheckResult {
        let (Some(right), Some(checkpoint), Some(state)) = (&self.right, &commit.checkpoint, &commit.state) else {
            return Ok(());
        };
        let Some(work) = state.state.downcast_ref::<SimState>() else { return Ok(()) };
        let number = self.rows;
        self.rows += 1;
        let is_right = |line: &usize| {
            right[*line].rows.get(number).is_some_and(|(moment, right)| moment.is(checkpoint) && **right == *work)
        };
        let before = self.fits.first().copied().unwrap_or(0);
        self.fits.retain(is_right);
        if !self.fits.is_empty() {
            return Ok(());
        }
        let (actual, right) =
            (CheckpointSummary::of(checkpoint), right.get(before).and_then(|line| line.rows.get(number)));
        Rule::SameLine.broken(format!("checkpoint {number} is {actual:?} {work:?}, and without faults {right:?}"))
    }

    /// Checks the complete history: its end must be correct and stored.
    pub(crate) fn ends(&self, saved: &[Arc<Checkpoint>], last: &SimState) -> CheckResult {
        let Some(right) = &self.right else { return Ok(()) };
        let is_whole = |line: &&usize| right[**line].rows.len() == self.rows;
        let Some(line) = self.fits.iter().find(is_whole).map(|line| &right[*line]) else {
            return Rule::SameLine.broken(format!("the history ends after {} checkpoints", self.rows));
        };
        let subgraphs = subgraph_histories(saved);
        if subgraphs != line.subgraphs {
            return Rule::SameLine
                .broken(format!("the subgraphs have {subgraphs:?}, and without faults {:?}", line.subgraphs));
        }
        match line.rows.last() {
            Some((_, right)) if **right != *last => {
                Rule::SameLine.broken(format!("{last:?} is on the disk, and without faults {right:?}"))
            }
            _ => Ok(()),
        }
    }

    /// Checks the whole stored history.
    pub(crate) fn compare(&self, line: &ThreadHistory) -> CheckResult {
        match &self.right {
            Some(right) if !right.contains(line) => Rule::SameLine.broken(format!("{line:?} is on the disk")),
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

    fn work(count: u64) -> SimState {
        let schema = SimState::schema().unwrap();
        let initial = schema.initial_state().downcast::<SimState>().unwrap();
        SimState { count, ..(*initial).clone() }
    }

    fn saves(number: u128, count: u64) -> Commit {
        let state = StateRef { schema: SimState::schema().unwrap(), state: Arc::new(work(count)) };
        let checkpoint = step(number, number.checked_sub(1).filter(|parent| *parent > 0));
        Commit { state: Some(state), ..commit(1, Some(checkpoint), Vec::new()) }
    }

    /// Builds correct histories with these counts.
    fn follow(lines: &[&[u64]]) -> HistoryMatcher {
        let row = |(index, count): (usize, &u64)| {
            let commit = saves(index as u128 + 1, *count);
            (CheckpointSummary::of(commit.checkpoint.as_ref().unwrap()), Arc::new(work(*count)))
        };
        let line = |counts: &&[u64]| ThreadHistory {
            rows: counts.iter().enumerate().map(row).collect(),
            subgraphs: Vec::new(),
        };
        HistoryMatcher::new(Some(lines.iter().map(line).collect()))
    }

    #[test]
    fn an_unexpected_history_is_detected() {
        let mut right = follow(&[&[1, 2], &[1, 3]]);
        right.saved(&saves(1, 1)).unwrap();
        right.saved(&saves(2, 3)).unwrap();
        right.ends(&[], &work(3)).unwrap();
        assert_eq!(right.ends(&[], &work(2)).unwrap_err().rule, Rule::SameLine);
        let mut mismatch = follow(&[&[1, 2]]);
        mismatch.saved(&saves(1, 1)).unwrap();
        assert_eq!(mismatch.ends(&[], &work(1)).unwrap_err().rule, Rule::SameLine);
        assert_eq!(mismatch.saved(&saves(2, 9)).unwrap_err().rule, Rule::SameLine);
    }

    #[test]
    fn an_additional_or_renumbered_step_is_detected() {
        let mut long = follow(&[&[1]]);
        long.saved(&saves(1, 1)).unwrap();
        assert_eq!(long.saved(&saves(2, 1)).unwrap_err().rule, Rule::SameLine);
        assert_eq!(follow(&[&[1]]).saved(&saves(2, 1)).unwrap_err().rule, Rule::SameLine);
        assert_eq!(follow(&[&[1]]).compare(&ThreadHistory::default()).unwrap_err().rule, Rule::SameLine);
        HistoryMatcher::default().saved(&saves(1, 1)).unwrap();
    }

    #[test]
    fn an_additional_checkpoint_of_a_subgraph_is_detected() {
        let mut right = follow(&[&[1]]);
        right.saved(&saves(1, 1)).unwrap();
        let checkpoint = Checkpoint { namespace: "inner:abc".into(), ..(*step(5, None)).clone() };
        let violation = right.ends(&[Arc::new(checkpoint)], &work(1)).unwrap_err();
        assert!(violation.text.contains("\"inner\""), "{}", violation.text);
    }
}
