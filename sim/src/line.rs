//! The history that a schedule leaves, held against those that are right.
//!
//! Each checkpoint is compared when it is saved, with the state the engine saved it with; what is on the disk is
//! compared at the end.

use std::sync::Arc;

use superstep::core::checkpoint::{Checkpoint, Namespace, Source};
use superstep::core::port::Commit;

use crate::disk::Disk;
use crate::rules::{Rule, Verdict};
use crate::work::Work;

/// What a thread leaves on the disk.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Line {
    pub(crate) rows: Vec<Row>,
    /// The graphs inside, by the nodes they ran in.
    inside: Vec<(String, Vec<Moment>)>,
}

/// A checkpoint and its state.
pub(crate) type Row = (Moment, Arc<Work>);

/// A checkpoint without what differs from run to run.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Moment {
    step: i64,
    source: Source,
    pub(crate) next: Vec<Arc<str>>,
}

impl Moment {
    fn of(checkpoint: &Checkpoint) -> Self {
        let next = checkpoint.due.iter().map(|due| due.node.clone()).collect();
        Self { step: checkpoint.step, source: checkpoint.source, next }
    }

    fn is(&self, checkpoint: &Checkpoint) -> bool {
        let due = checkpoint.due.iter().map(|due| &due.node);
        self.step == checkpoint.step && self.source == checkpoint.source && self.next.iter().eq(due)
    }
}

impl Line {
    /// What is on the disk; of the graphs inside, what was saved.
    pub(crate) fn read(disk: &Disk, saved: &[Arc<Checkpoint>]) -> superstep::Result<Self> {
        let rows = disk.line()?.into_iter().map(|(checkpoint, work)| (Moment::of(&checkpoint), work)).collect();
        Ok(Self { rows, inside: inside(saved) })
    }
}

/// The checkpoints of graphs inside, one list for each visit.
fn inside(saved: &[Arc<Checkpoint>]) -> Vec<(String, Vec<Moment>)> {
    let mut inside: Vec<(String, Vec<Moment>)> = Vec::new();
    let mut last = Namespace::root();
    for checkpoint in saved.iter().filter(|checkpoint| !checkpoint.namespace.is_root()) {
        if inside.is_empty() || checkpoint.namespace != last {
            last = checkpoint.namespace.clone();
            inside.push((without_ids(&last), Vec::new()));
        }
        inside.iter_mut().last().into_iter().for_each(|(_, moments)| moments.push(Moment::of(checkpoint)));
    }
    inside
}

/// A path of nodes without the tasks they ran in.
fn without_ids(namespace: &Namespace) -> String {
    let nodes = namespace.as_str().split('|').map(|segment| segment.split(':').next().unwrap_or_default());
    nodes.collect::<Vec<_>>().join("|")
}

/// A history in the making, held against those that are right.
#[derive(Default)]
pub(crate) struct Follow {
    /// `None` when there is nothing to hold it against.
    right: Option<Arc<[Line]>>,
    /// Those of the right ones that it still may become.
    fits: Vec<usize>,
    rows: usize,
}

impl Follow {
    pub(crate) fn new(right: Option<Arc<[Line]>>) -> Self {
        let fits = (0..right.as_ref().map_or(0, |right| right.len())).collect();
        Self { right, fits, rows: 0 }
    }

    /// Whether there is something to hold the history against.
    pub(crate) fn is_strict(&self) -> bool {
        self.right.is_some()
    }

    /// A commit was taken.
    pub(crate) fn saved(&mut self, commit: &Commit) -> Verdict {
        let (Some(right), Some(checkpoint), Some(state)) = (&self.right, &commit.checkpoint, &commit.state) else {
            return Ok(());
        };
        let Some(work) = state.state.downcast_ref::<Work>() else { return Ok(()) };
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
        let (made, right) = (Moment::of(checkpoint), right.get(before).and_then(|line| line.rows.get(number)));
        Rule::SameLine.broken(format!("checkpoint {number} is {made:?} {work:?}, and without faults {right:?}"))
    }

    /// The history is complete: its end is right, and on the disk.
    pub(crate) fn ends(&self, saved: &[Arc<Checkpoint>], last: &Work) -> Verdict {
        let Some(right) = &self.right else { return Ok(()) };
        let is_whole = |line: &&usize| right[**line].rows.len() == self.rows;
        let Some(line) = self.fits.iter().find(is_whole).map(|line| &right[*line]) else {
            return Rule::SameLine.broken(format!("the history ends after {} checkpoints", self.rows));
        };
        let inside = inside(saved);
        if inside != line.inside {
            return Rule::SameLine.broken(format!("inside is {inside:?}, and without faults {:?}", line.inside));
        }
        match line.rows.last() {
            Some((_, right)) if **right != *last => {
                Rule::SameLine.broken(format!("{last:?} is on the disk, and without faults {right:?}"))
            }
            _ => Ok(()),
        }
    }

    /// All of the history that is on the disk is right.
    pub(crate) fn compare(&self, line: &Line) -> Verdict {
        match &self.right {
            Some(right) if !right.contains(line) => Rule::SameLine.broken(format!("{line:?} is on the disk")),
            _ => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use superstep::core::port::StateRef;
    use superstep::core::state::State;

    use super::*;
    use crate::record::tests::{commit, step};

    fn work(count: u64) -> Work {
        let schema = Work::schema().unwrap();
        let initial = schema.initial_state().downcast::<Work>().unwrap();
        Work { count, ..(*initial).clone() }
    }

    fn saves(number: u128, count: u64) -> Commit {
        let state = StateRef { schema: Work::schema().unwrap(), state: Arc::new(work(count)) };
        let checkpoint = step(number, number.checked_sub(1).filter(|parent| *parent > 0));
        Commit { state: Some(state), ..commit(1, Some(checkpoint), Vec::new()) }
    }

    /// Histories of so many checkpoints, with these counts.
    fn follow(lines: &[&[u64]]) -> Follow {
        let row = |(place, count): (usize, &u64)| {
            let commit = saves(place as u128 + 1, *count);
            (Moment::of(commit.checkpoint.as_ref().unwrap()), Arc::new(work(*count)))
        };
        let line = |counts: &&[u64]| Line { rows: counts.iter().enumerate().map(row).collect(), inside: Vec::new() };
        Follow::new(Some(lines.iter().map(line).collect()))
    }

    #[test]
    fn a_history_is_one_of_the_right_ones_or_is_found() {
        let mut right = follow(&[&[1, 2], &[1, 3]]);
        right.saved(&saves(1, 1)).unwrap();
        right.saved(&saves(2, 3)).unwrap();
        right.ends(&[], &work(3)).unwrap();
        assert_eq!(right.ends(&[], &work(2)).unwrap_err().rule, Rule::SameLine);
        let mut wrong = follow(&[&[1, 2]]);
        wrong.saved(&saves(1, 1)).unwrap();
        assert_eq!(wrong.ends(&[], &work(1)).unwrap_err().rule, Rule::SameLine);
        assert_eq!(wrong.saved(&saves(2, 9)).unwrap_err().rule, Rule::SameLine);
    }

    #[test]
    fn a_step_too_many_or_of_another_number_is_found() {
        let mut long = follow(&[&[1]]);
        long.saved(&saves(1, 1)).unwrap();
        assert_eq!(long.saved(&saves(2, 1)).unwrap_err().rule, Rule::SameLine);
        assert_eq!(follow(&[&[1]]).saved(&saves(2, 1)).unwrap_err().rule, Rule::SameLine);
        assert_eq!(follow(&[&[1]]).compare(&Line::default()).unwrap_err().rule, Rule::SameLine);
        Follow::default().saved(&saves(1, 1)).unwrap();
    }

    #[test]
    fn a_checkpoint_too_many_inside_is_found() {
        let mut right = follow(&[&[1]]);
        right.saved(&saves(1, 1)).unwrap();
        let inside = Checkpoint { namespace: "inner:abc".into(), ..(*step(5, None)).clone() };
        let found = right.ends(&[Arc::new(inside)], &work(1)).unwrap_err();
        assert!(found.text.contains("\"inner\""), "{}", found.text);
    }
}
