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
