//! Values as chains of changes, shared by all checkpoints that contain them.
//!
//! A chain starts with a full value and has about as many changes as that value has items. So reading a chain costs
//! about as much as reading the value, and all full values together take about as much space as the changes.

use std::collections::BTreeSet;
use std::io;
use std::sync::Arc;

use serde::Serialize;
use smallvec::SmallVec;
use superstep_core::change::Change;
use superstep_core::message::{Message, Messages};
use superstep_core::value::AnyValue;

/// Minimum number of changes between two full values.
const MIN_SNAPSHOT_INTERVAL: usize = 16;
/// Maximum number of changes between two full values whose number of items is unknown; reached by doubling.
const MAX_SNAPSHOT_INTERVAL: usize = 1_024;

/// Change of one field by one checkpoint, based on the previous version.
pub(super) struct FieldVersion {
    pub(super) change: Change,
    pub(super) part: AnyValue,
    /// Order number of the checkpoint that created this version.
    pub(super) made_by: u64,
    /// Number of changes since the full value, including this one.
    depth: usize,
    /// Number of changes that may follow a full value before the next one.
    changes_before_snapshot: usize,
    /// Previous version; `None` for a full value.
    prev: Option<Arc<FieldVersion>>,
}

impl FieldVersion {
    /// Creates a version with a full value.
    pub(super) fn full(part: AnyValue, made_by: u64) -> Self {
        let changes_before_snapshot = items(&part).unwrap_or(0).max(MIN_SNAPSHOT_INTERVAL);
        Self { change: Change::Set, part, made_by, depth: 0, changes_before_snapshot, prev: None }
    }

    /// Creates a version with a full value instead of one more change after `prev`.
    pub(super) fn full_after(prev: &Self, part: AnyValue, made_by: u64) -> Self {
        let max_changes = items(&part).unwrap_or_else(|| {
            (prev.changes_before_snapshot * 2).min(MAX_SNAPSHOT_INTERVAL.max(prev.changes_before_snapshot))
        });
        Self {
            change: Change::Set,
            part,
            made_by,
            depth: 0,
            changes_before_snapshot: max_changes.max(MIN_SNAPSHOT_INTERVAL),
            prev: None,
        }
    }

    /// Creates a version with one more change.
    pub(super) fn after(prev: &Arc<Self>, change: Change, part: AnyValue, made_by: u64) -> Self {
        let changes_before_snapshot = prev.max_changes_before(&change);
        Self { change, part, made_by, depth: prev.depth + 1, changes_before_snapshot, prev: Some(prev.clone()) }
    }

    /// Returns true if the next version should be a full value.
    pub(super) fn is_next_full(&self, next: &Change) -> bool {
        self.depth >= self.max_changes_before(next)
    }

    /// Returns the number of changes that may precede `change`, which may contain the length of the list.
    fn max_changes_before(&self, change: &Change) -> usize {
        match change {
            Change::Appended { from } if self.depth == 0 => self.changes_before_snapshot.max(*from),
            Change::Spliced { edits } => self
                .changes_before_snapshot
                .max(edits.iter().map(|edit| edit.at.saturating_add(edit.inserted)).max().unwrap_or(0)),
            _ => self.changes_before_snapshot,
        }
    }

    /// Iterates over the chain from this version back to the full value.
    pub(super) fn chain(&self) -> impl Iterator<Item = &Self> {
        std::iter::successors(Some(self), |version| version.prev.as_deref())
    }

    /// Returns the changes that produce the value, oldest first.
    pub(super) fn log(&self) -> Vec<(Change, AnyValue)> {
        let mut log = Vec::with_capacity(self.depth + 1);
        log.extend(self.chain().map(|version| (version.change.clone(), version.part.clone())));
        log.reverse();
        log
    }

    /// Returns the length of the stored value or change as JSON, in bytes.
    pub(super) fn bytes(&self) -> u64 {
        length(&self.part)
    }

    /// Returns the length without messages that were counted before: a list holds pointers to them.
    pub(super) fn bytes_excluding(&self, seen: &mut BTreeSet<*const Message>) -> u64 {
        let mut count = |message: &Arc<Message>| match seen.insert(Arc::as_ptr(message)) {
            true => json_length(&**message) + 1,
            false => 0,
        };
        match (self.part.get::<Messages>(), self.part.get::<Vec<Arc<Message>>>()) {
            (Some(messages), _) => messages.iter_arcs().map(&mut count).sum(),
            (None, Some(messages)) => messages.iter().map(&mut count).sum(),
            (None, None) => length(&self.part),
        }
    }
}

/// Returns the length of a value as JSON, in bytes.
pub(super) fn length(value: &AnyValue) -> u64 {
    let mut length = ByteCounter(0);
    value.write_json(&mut length).map_or(0, |()| length.0)
}

fn json_length(value: &impl Serialize) -> u64 {
    let mut length = ByteCounter(0);
    serde_json::to_writer(&mut length, value).map_or(0, |()| length.0)
}

/// A chain may be as long as a list; dropping it recursively could overflow the stack.
impl Drop for FieldVersion {
    fn drop(&mut self) {
        let mut next = self.prev.take();
        while let Some(version) = next {
            next = Arc::into_inner(version).and_then(|mut version| version.prev.take());
        }
    }
}

/// Returns the number of items of a full value, if it is known without serializing the value.
fn items(value: &AnyValue) -> Option<usize> {
    match value {
        AnyValue::Json(value) => match &**value {
            serde_json::Value::Array(items) => Some(items.len()),
            serde_json::Value::Object(map) => Some(map.len()),
            _ => Some(1),
        },
        AnyValue::Native(_) => value.get::<Messages>().map(Messages::len),
    }
}

struct ByteCounter(u64);

impl io::Write for ByteCounter {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0 += bytes.len() as u64;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Latest version of each field, by the index of the field in its history.
pub(super) type LatestVersions = Vec<Option<Arc<FieldVersion>>>;

/// Fields that changed, with their versions.
pub(super) type ChangedVersions = SmallVec<[(u32, Arc<FieldVersion>); 2]>;

/// Maximum number of fields for which every checkpoint lists all versions.
const MAX_FULL_TABLE_FIELDS: usize = 4;
/// Maximum length of a chain of tables, which limits the recursion of its drop.
const MAX_TABLE_CHAIN: usize = 256;

/// Versions that a checkpoint created, with a link to those that it did not change.
pub(super) struct VersionTable {
    slots: ChangedVersions,
    /// Table of the parent; `None` if `slots` contains all fields.
    prev: Option<Arc<VersionTable>>,
    depth: usize,
}

impl VersionTable {
    /// Creates a table of all fields.
    pub(super) fn full(latest: &LatestVersions) -> Self {
        let versions = latest.iter().enumerate().filter_map(|(field, version)| Some((field as u32, version.clone()?)));
        Self { slots: versions.collect(), prev: None, depth: 0 }
    }

    /// Creates the table after `changed` changed on top of `prev`: a full table once per as many checkpoints as there
    /// are fields, so that the cost per checkpoint is constant.
    pub(super) fn after(prev: &Arc<Self>, changed: ChangedVersions, latest: &LatestVersions) -> Self {
        if latest.len() <= MAX_FULL_TABLE_FIELDS || prev.depth + 1 >= latest.len().min(MAX_TABLE_CHAIN) {
            return Self::full(latest);
        }
        Self { slots: changed, prev: Some(prev.clone()), depth: prev.depth + 1 }
    }

    /// Returns the version of each of `fields` fields.
    pub(super) fn versions(&self, fields: usize) -> Vec<Option<&Arc<FieldVersion>>> {
        let mut versions = vec![None; fields];
        for table in std::iter::successors(Some(self), |table| table.prev.as_deref()) {
            for (field, version) in &table.slots {
                versions[*field as usize].get_or_insert(version);
            }
        }
        versions
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// Applies `count` changes as a history does, and returns the length of the longest chain.
    fn longest_chain(
        first: AnyValue,
        count: usize,
        change: impl Fn(usize) -> Change,
        full_value: impl Fn(usize) -> AnyValue,
    ) -> usize {
        let mut head = Arc::new(FieldVersion::full(first, 0));
        let mut longest = 0;
        for index in 0..count {
            let change = change(index);
            let next = match head.is_next_full(&change) {
                true => FieldVersion::full_after(&head, full_value(index), 0),
                false => FieldVersion::after(&head, change, AnyValue::json(json!([])), 0),
            };
            head = Arc::new(next);
            longest = longest.max(head.chain().count());
        }
        longest
    }

    #[test]
    fn chains_are_about_as_long_as_the_value_has_items() {
        let merged = |_| Change::Merged { set: vec!["a".to_owned()], removed: Vec::new() };
        let appended = |index| Change::Appended { from: 100 + index };
        let list = |length: usize| AnyValue::json(vec![0; length].into());
        let native = |length: usize| AnyValue::native(vec![0_u8; length]);
        assert_eq!(longest_chain(list(0), 1_000, merged, |_| list(0)), 17);
        assert_eq!(longest_chain(list(100), 90, appended, |_| unreachable!()), 91);
        assert_eq!(longest_chain(list(100), 250, appended, |index| list(101 + index)), 150);
        assert_eq!(longest_chain(native(100), 250, appended, |index| native(101 + index)), 150);
        assert_eq!(longest_chain(native(5), 100_000, merged, |_| native(5)), MAX_SNAPSHOT_INTERVAL + 1);
    }

    #[test]
    fn a_very_long_chain_is_dropped_without_using_up_the_stack() {
        let mut head = Arc::new(FieldVersion::full(AnyValue::json(json!([])), 0));
        for index in 0..1_000_000 {
            head = Arc::new(FieldVersion::after(&head, Change::Appended { from: index }, AnyValue::json(json!([])), 0));
        }
        assert_eq!(head.depth, 1_000_000);
        drop(head);
    }
}
