//! Checkpoint history of one graph on one thread, in commit order.
//!
//! A checkpoint holds its changes and shares all other values with its parent. The latest checkpoint is the one that
//! was committed last, regardless of its id or time. Field names are mapped to indexes, which are assigned at first
//! use and never removed.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use smallvec::SmallVec;
use superstep_core::change::Change;
use superstep_core::checkpoint::{Checkpoint, FieldChange, PendingEntry};
use superstep_core::error::{Error, Result};
use superstep_core::id::{CheckpointId, ThreadId};
use superstep_core::port::errors::checkpoint_not_found;
use superstep_core::port::{
    CheckpointSelector, CheckpointTuple, Commit, HistoryQuery, PruneCandidate, PruneReport, Retention, StateRef,
};

use super::field_version::{ChangedVersions, FieldVersion, LatestVersions, VersionTable};
use super::pending_entries::PendingEntries;

/// Maximum number of names for which a linear search is used; it is faster than a map.
const LINEAR_SEARCH_LIMIT: usize = 8;

/// A checkpoint with its values and pending entries.
#[derive(Clone)]
struct SavedCheckpoint {
    checkpoint: Arc<Checkpoint>,
    table: Arc<VersionTable>,
    order: u64,
    pending_entries: Option<Box<PendingEntries>>,
}

impl SavedCheckpoint {
    fn pending(&self) -> &[PendingEntry] {
        self.pending_entries.as_ref().map_or(&[], |pending| pending.entries())
    }
}

/// Checkpoints of one graph on one thread, in commit order.
#[derive(Clone, Default)]
pub(super) struct History {
    names: Vec<Arc<str>>,
    /// Indexes by field name, used once there are more than a few names.
    numbers: BTreeMap<Arc<str>, u32>,
    saved: Vec<SavedCheckpoint>,
    /// Index of each checkpoint in `saved`, sorted by id. Ids usually ascend, so that a new one is appended.
    index_by_id: Vec<(CheckpointId, u32)>,
    /// Values of the latest checkpoint.
    latest_versions: LatestVersions,
    /// Number of checkpoints ever committed.
    order: u64,
}

/// A validated checkpoint that is ready to be added.
struct PreparedCheckpoint {
    changed_versions: ChangedVersions,
    parent: Option<Arc<VersionTable>>,
    /// Values of the parent, if the parent is not the latest checkpoint.
    parent_versions: Option<LatestVersions>,
}

impl History {
    pub(super) fn len(&self) -> usize {
        self.saved.len()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.saved.is_empty()
    }

    pub(super) fn has(&self, id: CheckpointId) -> bool {
        self.index_of(id).is_some()
    }

    /// Commits a checkpoint and pending entries. Returns false if the same commit was saved before.
    pub(super) fn commit(&mut self, commit: &Commit) -> Result<bool> {
        let prepared = match &commit.checkpoint {
            Some(checkpoint) => match self.index_of(checkpoint.id) {
                Some(index) => return self.check_repeat(index, checkpoint, commit).map(|()| false),
                None => Some((checkpoint, self.prepare(checkpoint, commit)?)),
            },
            None => None,
        };
        self.check_pending(commit)?;
        // No step below can fail.
        if let Some((checkpoint, prepared)) = prepared {
            self.add(checkpoint, prepared);
        }
        for pending in &commit.pending {
            if let Some(index) = self.index_of(pending.checkpoint) {
                self.saved[index].pending_entries.get_or_insert_default().put(pending);
            }
        }
        Ok(true)
    }

    fn index_of(&self, id: CheckpointId) -> Option<usize> {
        match self.index_by_id.last()? {
            (last, index) if *last == id => Some(*index as usize),
            (last, _) if *last < id => None,
            _ => {
                let index = self.index_by_id.binary_search_by_key(&id, |(id, _)| *id).ok()?;
                Some(self.index_by_id[index].1 as usize)
            }
        }
    }

    fn check_pending(&self, commit: &Commit) -> Result<()> {
        let new_id = commit.checkpoint.as_ref().map(|checkpoint| checkpoint.id);
        let is_unknown = |id: &CheckpointId| Some(*id) != new_id && self.index_of(*id).is_none();
        let mut named = commit.pending.iter().map(|pending| pending.checkpoint);
        named.find(is_unknown).map_or(Ok(()), |id| Err(checkpoint_not_found(id)))
    }

    fn prepare(&mut self, checkpoint: &Checkpoint, commit: &Commit) -> Result<PreparedCheckpoint> {
        let (mut parent, mut parent_versions) = (None, None);
        match checkpoint.parent {
            None => parent_versions = Some(LatestVersions::new()),
            Some(id) => {
                let parent_index = self.index_of(id).ok_or_else(|| checkpoint_not_found(id))?;
                let table = self.saved[parent_index].table.clone();
                if parent_index + 1 != self.saved.len() {
                    let shared = table.versions(self.names.len());
                    parent_versions = Some(shared.into_iter().map(|version| version.cloned()).collect());
                }
                parent = Some(table);
            }
        }
        let changes = commit.changes.iter().filter(|change| !change.change.is_unchanged());
        // An index is permanent, even if the commit fails: without a value it has no effect.
        let numbers: SmallVec<[u32; 4]> = changes.clone().map(|change| self.number(&change.field)).collect();
        let base = parent_versions.as_ref().unwrap_or(&self.latest_versions);
        let mut changed_versions = ChangedVersions::with_capacity(numbers.len());
        for (number, change) in numbers.into_iter().zip(changes) {
            let is_in_order = changed_versions.last().is_none_or(|(last, _)| *last < number);
            if !is_in_order && changed_versions.iter().any(|(other, _)| *other == number) {
                return Err(Error::internal(format!("field `{}` changes twice in one commit", change.field)));
            }
            let prev = base.get(number as usize).and_then(Option::as_ref);
            changed_versions.push((number, Arc::new(next_version(prev, change, commit.state.as_ref(), self.order)?)));
        }
        Ok(PreparedCheckpoint { changed_versions, parent, parent_versions })
    }

    fn number(&mut self, field: &Arc<str>) -> u32 {
        if let Some(number) = self.find(field) {
            return number;
        }
        let number = self.names.len() as u32;
        self.names.push(field.clone());
        if self.names.len() > LINEAR_SEARCH_LIMIT {
            let indexed = self.numbers.len();
            self.numbers.extend(self.names[indexed..].iter().cloned().zip(indexed as u32..));
        }
        number
    }

    fn find(&self, field: &Arc<str>) -> Option<u32> {
        if self.names.len() > LINEAR_SEARCH_LIMIT {
            return self.numbers.get(field).copied();
        }
        let index = self.names.iter().position(|name| Arc::ptr_eq(name, field) || name == field);
        index.map(|index| index as u32)
    }

    fn add(&mut self, checkpoint: &Arc<Checkpoint>, prepared: PreparedCheckpoint) {
        let PreparedCheckpoint { changed_versions, parent, parent_versions } = prepared;
        if let Some(parent_versions) = parent_versions {
            self.latest_versions = parent_versions;
        }
        self.latest_versions.resize(self.names.len(), None);
        for (number, version) in &changed_versions {
            self.latest_versions[*number as usize] = Some(version.clone());
        }
        let table = match parent {
            Some(parent) => VersionTable::after(&parent, changed_versions, &self.latest_versions),
            None => VersionTable::full(&self.latest_versions),
        };
        let entry = (checkpoint.id, self.saved.len() as u32);
        let at = match self.index_by_id.last() {
            Some((last, _)) if *last > entry.0 => self.index_by_id.partition_point(|(id, _)| *id < entry.0),
            _ => self.index_by_id.len(),
        };
        self.index_by_id.insert(at, entry);
        self.saved.push(SavedCheckpoint {
            checkpoint: checkpoint.clone(),
            table: table.into(),
            order: self.order,
            pending_entries: None,
        });
        self.order += 1;
    }

    /// Accepts a repeated commit without changes; rejects another commit with the same checkpoint id.
    fn check_repeat(&self, index: usize, checkpoint: &Arc<Checkpoint>, commit: &Commit) -> Result<()> {
        let saved = &self.saved[index];
        let is_same = Arc::ptr_eq(&saved.checkpoint, checkpoint)
            || (saved.checkpoint == *checkpoint && self.has_changes(saved, commit));
        if is_same {
            Ok(())
        } else {
            Err(Error::internal(format!("checkpoint {} was already saved with different content", checkpoint.id)))
        }
    }

    fn has_changes(&self, saved: &SavedCheckpoint, commit: &Commit) -> bool {
        let versions = saved.table.versions(self.names.len());
        let is_from_checkpoint = |version: &&Arc<FieldVersion>| version.made_by == saved.order;
        let mut changes = commit.changes.iter().filter(|change| !change.change.is_unchanged());
        let stored = versions.iter().flatten().copied().filter(is_from_checkpoint).count();
        stored == changes.clone().count()
            && changes.all(|change| {
                let number = self.find(&change.field);
                let version = number.and_then(|number| versions[number as usize]).filter(is_from_checkpoint);
                version.is_some_and(|version| matches_change(version, change, commit.state.as_ref()))
            })
    }

    pub(super) fn load(&self, at: CheckpointSelector) -> Option<CheckpointTuple> {
        let index = match at {
            CheckpointSelector::Latest | CheckpointSelector::NewerThan(_) => self.saved.len().checked_sub(1)?,
            CheckpointSelector::Id(id) => self.index_of(id)?,
        };
        let saved = &self.saved[index];
        if at == CheckpointSelector::NewerThan(saved.checkpoint.id) {
            let (checkpoint, pending) = (saved.checkpoint.clone(), saved.pending().to_vec());
            return Some(CheckpointTuple { checkpoint, fields: Vec::new(), pending });
        }
        Some(self.loaded(index))
    }

    fn loaded(&self, index: usize) -> CheckpointTuple {
        let saved = &self.saved[index];
        let field =
            |(number, version): (usize, Option<&Arc<FieldVersion>>)| Some((self.names[number].clone(), version?.log()));
        let mut fields = Vec::with_capacity(self.names.len());
        if index + 1 == self.saved.len() {
            fields.extend(self.latest_versions.iter().map(Option::as_ref).enumerate().filter_map(field));
        } else {
            fields.extend(saved.table.versions(self.names.len()).into_iter().enumerate().filter_map(field));
        }
        CheckpointTuple { checkpoint: saved.checkpoint.clone(), fields, pending: saved.pending().to_vec() }
    }

    /// Returns checkpoints, newest first.
    pub(super) fn query(&self, query: &HistoryQuery) -> Result<Vec<CheckpointTuple>> {
        let end = match query.before {
            Some(id) => self.index_of(id).ok_or_else(|| checkpoint_not_found(id))?,
            None => self.saved.len(),
        };
        let matching = (0..end).rev().filter(|index| query.matches(&self.saved[*index].checkpoint));
        Ok(matching.take(query.limit.unwrap_or(usize::MAX)).map(|index| self.loaded(index)).collect())
    }

    /// Copies the history to another thread.
    pub(super) fn copy_to_thread(&self, thread: &ThreadId) -> Self {
        let mut copy = self.clone();
        for saved in &mut copy.saved {
            saved.checkpoint = Arc::new(Checkpoint { thread: thread.clone(), ..(*saved.checkpoint).clone() });
        }
        copy
    }

    /// Removes checkpoints that the retention does not keep.
    pub(super) fn prune(&mut self, retention: &Retention, report: &mut PruneReport) {
        let candidates: Vec<_> =
            self.saved.iter().map(|saved| PruneCandidate::new(&saved.checkpoint, saved.pending())).collect();
        let mut is_retained = retention.decide(&candidates).into_iter();
        let (retained, removed): (Vec<_>, Vec<_>) = self.saved.iter().partition(|_| is_retained.next().unwrap_or(true));
        let mut seen = BTreeSet::new();
        self.visit(retained.iter().copied(), &mut seen, |_| {});
        self.visit(removed.iter().copied(), &mut seen, |version| report.bytes += version.bytes());
        report.checkpoints += removed.len();
        if !retention.dry_run && !removed.is_empty() {
            let retained = retained.into_iter().cloned().collect();
            self.retain(retained);
        }
    }

    fn retain(&mut self, retained: Vec<SavedCheckpoint>) {
        self.saved = retained;
        self.index_by_id =
            self.saved.iter().enumerate().map(|(index, saved)| (saved.checkpoint.id, index as u32)).collect();
        self.index_by_id.sort_unstable();
        let newest = self.saved.last().map(|saved| saved.table.versions(self.names.len()));
        self.latest_versions = newest.into_iter().flatten().map(|version| version.cloned()).collect();
    }

    /// Returns the total length of all values as JSON, in bytes. Shared values and messages are counted once.
    pub(super) fn bytes(&self) -> u64 {
        let (mut bytes, mut messages) = (0, BTreeSet::new());
        self.visit(self.saved.iter(), &mut BTreeSet::new(), |version| bytes += version.bytes_excluding(&mut messages));
        bytes
    }

    /// Visits every version that these checkpoints need and that was not visited before.
    fn visit<'a>(
        &self,
        saved: impl Iterator<Item = &'a SavedCheckpoint>,
        seen: &mut BTreeSet<*const FieldVersion>,
        mut see: impl FnMut(&FieldVersion),
    ) {
        for saved in saved {
            for head in saved.table.versions(self.names.len()).into_iter().flatten() {
                // All predecessors of a visited version were visited with it.
                head.chain().take_while(|version| seen.insert(std::ptr::from_ref(*version))).for_each(&mut see);
            }
        }
    }
}

/// Creates a version with one more change; or with a full value, if the changes outweigh it or there is no previous
/// version.
fn next_version(
    prev: Option<&Arc<FieldVersion>>,
    change: &FieldChange,
    state: Option<&StateRef>,
    order: u64,
) -> Result<FieldVersion> {
    let FieldChange { field, change, delta: part } = change;
    if *change == Change::Set {
        return Ok(FieldVersion::full(part.clone(), order));
    }
    let full_value = || state.and_then(|state| state.full_value(field));
    match prev {
        Some(prev) => {
            let value = if prev.is_next_full(change) { full_value() } else { None };
            Ok(value.map_or_else(
                || FieldVersion::after(prev, change.clone(), part.clone(), order),
                |value| FieldVersion::full_after(prev, value, order),
            ))
        }
        None => full_value()
            .map(|value| FieldVersion::full(value, order))
            .ok_or_else(|| Error::internal(format!("field `{field}` has no value to apply the change to"))),
    }
}

/// Returns true if a version is the result of a change; it may hold a full value instead of the change.
fn matches_change(version: &FieldVersion, change: &FieldChange, state: Option<&StateRef>) -> bool {
    if version.change == change.change {
        return version.part == change.delta;
    }
    let full_value = state.and_then(|state| state.full_value(&change.field));
    version.change == Change::Set && full_value.is_none_or(|value| value == version.part)
}
