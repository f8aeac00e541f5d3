//! Pending entries of the tasks of a checkpoint's next superstep, in insertion order.

use std::collections::BTreeMap;

use smallvec::SmallVec;
use superstep_core::checkpoint::{PendingEntry, TaskEntry};
use superstep_core::id::TaskId;

/// Pending entries of one checkpoint. A second entry with the same task and slot replaces the first.
#[derive(Clone, Default)]
pub(super) struct PendingEntries {
    entries: Vec<PendingEntry>,
    indexes_by_task: BTreeMap<TaskId, SmallVec<[u32; 2]>>,
}

impl PendingEntries {
    pub(super) fn entries(&self) -> &[PendingEntry] {
        &self.entries
    }

    pub(super) fn put(&mut self, pending: &PendingEntry) {
        let indexes = self.indexes_by_task.entry(pending.task).or_default();
        let existing = indexes.iter().find(|index| is_same_slot(&self.entries[**index as usize].entry, &pending.entry));
        match existing {
            Some(index) => self.entries[*index as usize] = pending.clone(),
            None => {
                indexes.push(self.entries.len() as u32);
                self.entries.push(pending.clone());
            }
        }
    }
}

/// Compares [`TaskEntry::slot`] without allocating strings.
fn is_same_slot(one: &TaskEntry, other: &TaskEntry) -> bool {
    use TaskEntry::{Done, Failed, Interrupt, Recorded, Resume, Skipped};
    match (one, other) {
        (Done(_) | Skipped | Failed(_), Done(_) | Skipped | Failed(_)) => true,
        (Interrupt(one), Interrupt(other)) => one.id == other.id,
        (Resume(one), Resume(other)) => one.id == other.id,
        (Recorded { key: one, .. }, Recorded { key: other, .. }) => one == other,
        (Done(_) | Skipped | Failed(_) | Interrupt(_) | Resume(_) | Recorded { .. }, _) => false,
        (one, other) => one.slot() == other.slot(),
    }
}
