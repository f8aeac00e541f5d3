//! What is known of the tasks of a checkpoint's next superstep, in the order it became known.

use std::collections::BTreeMap;

use smallvec::SmallVec;
use superstep_core::checkpoint::{Entry, Pending};
use superstep_core::id::TaskId;

/// The entries of one checkpoint. A second one with the same task and slot takes the place of the first.
#[derive(Clone, Default)]
pub(super) struct Known {
    entries: Vec<Pending>,
    places: BTreeMap<TaskId, SmallVec<[u32; 2]>>,
}

impl Known {
    pub(super) fn entries(&self) -> &[Pending] {
        &self.entries
    }

    pub(super) fn put(&mut self, pending: &Pending) {
        let places = self.places.entry(pending.task).or_default();
        let known = places.iter().find(|place| is_same_slot(&self.entries[**place as usize].entry, &pending.entry));
        match known {
            Some(place) => self.entries[*place as usize] = pending.clone(),
            None => {
                places.push(self.entries.len() as u32);
                self.entries.push(pending.clone());
            }
        }
    }
}

/// As comparing [`Entry::slot`], without making text.
fn is_same_slot(one: &Entry, other: &Entry) -> bool {
    use Entry::{Answer, Done, Failed, Once, Question, Skipped};
    match (one, other) {
        (Done(_) | Skipped | Failed(_), Done(_) | Skipped | Failed(_)) => true,
        (Question(one), Question(other)) => one.id == other.id,
        (Answer(one), Answer(other)) => one.id == other.id,
        (Once { key: one, .. }, Once { key: other, .. }) => one == other,
        (Done(_) | Skipped | Failed(_) | Question(_) | Answer(_) | Once { .. }, _) => false,
        (one, other) => one.slot() == other.slot(),
    }
}
