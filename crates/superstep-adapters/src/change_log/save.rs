//! Converts a commit to a transaction that is ready to be written.
//!
//! Values are serialized here, on the thread of the caller. The checkpointer reads and writes the rows
//! ([`RowStorage`]). Rebuilding a transaction after a concurrent write and recognizing a repeated commit are
//! implemented here for all checkpointers.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use superstep_core::checkpoint::CheckpointNamespace;
use superstep_core::error::{Error, ErrorCode, Result};
use superstep_core::id::{CheckpointId, ThreadId};
use superstep_core::port::{CheckpointTuple, Commit, Lease, ThreadStatus};

use super::event_row::EventRow;
use super::history_cache::{CachedHistory, CachedThread, HistoryCache};
use super::history_writer::{CheckpointRows, ParentCheckpoint, check_thread_and_namespace, matches_change};
use super::rows::PendingRow;

/// Maximum number of attempts if the thread is pruned or written concurrently.
const MAX_ATTEMPTS: usize = 5;

/// Key of a history.
pub(crate) type HistoryKey = (ThreadId, CheckpointNamespace);

/// A checkpoint with the fields that it changed; `None` if the checkpoint it builds on was removed.
pub(crate) type CheckpointWithChanges = (CheckpointTuple, Option<Vec<Arc<str>>>);

/// Access of a checkpointer to its rows.
pub(crate) trait RowStorage: Sync {
    /// Returns the cache of histories.
    fn history_cache(&self) -> &HistoryCache;
    /// Reads a history as its writer needs it.
    fn load_history(&self, thread: i64, key: HistoryKey) -> impl Future<Output = Result<CachedHistory>> + Send;
    /// Reads the information about a checkpoint that its child builds on.
    fn load_parent(
        &self,
        key: HistoryKey,
        id: CheckpointId,
    ) -> impl Future<Output = Result<Option<ParentCheckpoint>>> + Send;
    /// Reads the number of a checkpoint in its history.
    fn number_of(&self, history_id: i64, id: CheckpointId) -> impl Future<Output = Result<Option<u64>>> + Send;
    /// Reads a checkpoint with the fields it changed.
    fn load_with_changes(
        &self,
        key: HistoryKey,
        id: CheckpointId,
    ) -> impl Future<Output = Result<Option<CheckpointWithChanges>>> + Send;
    /// Writes the whole transaction or nothing; returns the row ids of the histories.
    fn write(&self, job: RowTransaction) -> impl Future<Output = Result<Vec<i64>, WriteRejection>> + Send;
}

/// Reason why a transaction was not written.
#[derive(Debug)]
pub(crate) enum WriteRejection {
    /// An error.
    Error(Error),
    /// The thread was pruned or written since the transaction was built.
    Stale,
    /// This checkpoint is stored already.
    AlreadySaved(CheckpointId),
}

impl From<Error> for WriteRejection {
    fn from(error: Error) -> Self {
        Self::Error(error)
    }
}

impl From<WriteRejection> for Error {
    fn from(rejection: WriteRejection) -> Self {
        match rejection {
            WriteRejection::Error(error) => error,
            WriteRejection::Stale => {
                Self::new(ErrorCode::StoreUnavailable, "the thread was repeatedly changed while it was saved")
                    .with_help("nothing was saved; try again")
            }
            WriteRejection::AlreadySaved(id) => {
                Self::internal(format!("checkpoint {id} is already saved with different content"))
            }
        }
    }
}

/// A transaction that is ready to be written.
#[derive(Debug)]
pub(crate) struct RowTransaction {
    pub(crate) lease: Lease,
    /// Row id of the thread.
    pub(crate) thread: i64,
    pub(crate) histories: Vec<HistoryRows>,
    pub(crate) status: Option<ThreadStatus>,
    /// Events of the journal, ordered by number.
    pub(crate) events: Vec<EventRow>,
    /// True if a part of the commit is stored already, which means that the whole commit was stored once.
    pub(crate) is_repeat: bool,
}

/// Rows to be added to one history.
#[derive(Debug)]
pub(crate) struct HistoryRows {
    pub(crate) namespace: CheckpointNamespace,
    /// Row id; `None` if the history is new.
    pub(crate) row: Option<i64>,
    /// Number of the latest checkpoint when the transaction was built.
    pub(crate) newest: u64,
    /// Checkpoints that the added rows refer to; the transaction is only valid while they exist.
    pub(crate) bases: Vec<(u64, CheckpointId)>,
    pub(crate) new_checkpoints: Vec<CheckpointRows>,
    /// Pending entries, each with the id of its checkpoint.
    pub(crate) pending: Vec<(CheckpointId, PendingRow)>,
}

/// Saves a commit completely or not at all.
pub(crate) async fn save(tables: &impl RowStorage, commit: &Commit) -> Result<()> {
    let mut remaining: Vec<&Commit> = commit.subgraph_commits.iter().chain([commit]).collect();
    let (mut attempts, mut is_repeat) = (0, false);
    loop {
        attempts += 1;
        match try_save(tables, commit, &remaining, is_repeat).await {
            Err(WriteRejection::Stale) if attempts < MAX_ATTEMPTS => {}
            Err(WriteRejection::AlreadySaved(id)) => {
                // A part of the commit has been recognized, so this does not count as an attempt.
                (attempts, is_repeat) = (0, true);
                remaining = without_duplicates(tables, remaining, id).await?;
                if remaining.is_empty() {
                    return Ok(());
                }
            }
            saved => return Ok(saved?),
        }
    }
}

async fn try_save(
    tables: &impl RowStorage,
    commit: &Commit,
    parts: &[&Commit],
    is_repeat: bool,
) -> Result<(), WriteRejection> {
    let thread = tables.history_cache().find(&commit.lease)?;
    let forks = forks(parts);
    let mut builder = TransactionBuilder {
        tables,
        thread: &thread,
        lease: &commit.lease,
        histories: Vec::new(),
        forks,
        bases: Vec::new(),
    };
    for part in parts {
        builder.add(part).await?;
    }
    let (histories, entries): (Vec<_>, Vec<_>) = builder.histories.into_iter().unzip();
    let namespaces: Vec<CheckpointNamespace> = histories.iter().map(|history| history.namespace.clone()).collect();
    let (lease, events) = (commit.lease.clone(), EventRow::all(parts, tables.history_cache().encoding())?);
    let job = RowTransaction { lease, thread: thread.row, histories, status: commit.status, events, is_repeat };
    let rows = tables.write(job).await?;
    for ((namespace, entry), row) in namespaces.into_iter().zip(entries).zip(rows) {
        // An entry without a new checkpoint was not removed from the cache.
        if entry.has_pending_checkpoint {
            thread.put_history(namespace, CachedHistory { row: Some(row), ..entry });
        }
    }
    Ok(())
}

/// Returns the parts of a commit without the one whose checkpoint is stored already and must be equal.
async fn without_duplicates<'a>(
    tables: &impl RowStorage,
    mut parts: Vec<&'a Commit>,
    id: CheckpointId,
) -> Result<Vec<&'a Commit>> {
    let is_saved_part = |part: &&Commit| part.checkpoint.as_ref().is_some_and(|checkpoint| checkpoint.id == id);
    let Some(index) = parts.iter().position(is_saved_part) else {
        return Err(Error::internal(format!("checkpoint {id} is already saved, but is not in the commit")));
    };
    let part = parts.remove(index);
    let stored = tables.load_with_changes((part.lease.thread.clone(), part.namespace.clone()), id).await?;
    let is_same = stored.is_some_and(|(stored, changed_fields)| {
        let changes = || part.changes.iter().filter(|change| !change.change.is_unchanged());
        let last = |field: &str| stored.fields.iter().find(|(name, _)| **name == *field)?.1.last();
        Some(&stored.checkpoint) == part.checkpoint.as_ref()
            && changed_fields.as_ref().is_none_or(|changed_fields| changes().count() == changed_fields.len())
            && changes().all(|change| {
                changed_fields.as_ref().is_none_or(|changed_fields| changed_fields.contains(&change.field))
                    && last(&change.field).is_some_and(|last| matches_change(last, change, part.state.as_ref()))
            })
    });
    if is_same { Ok(parts) } else { Err(WriteRejection::AlreadySaved(id).into()) }
}

/// Returns the fields that a checkpoint changed, by comparing its value locations with those of its parent.
pub(crate) fn changed_fields(names: &[Arc<str>], child: &ParentCheckpoint, parent: &ParentCheckpoint) -> Vec<Arc<str>> {
    let end = |base: &ParentCheckpoint, field: usize| base.heads.get(field).copied().flatten().map(|head| head.end);
    let is_changed = |field: &usize| end(child, *field) != end(parent, *field);
    (0..names.len()).filter(is_changed).map(|field| names[field].clone()).collect()
}

/// A transaction while it is built.
struct TransactionBuilder<'a, T> {
    tables: &'a T,
    thread: &'a CachedThread,
    lease: &'a Lease,
    histories: Vec<(HistoryRows, CachedHistory)>,
    /// Checkpoints that are the parent of a later checkpoint than their direct successor.
    forks: BTreeSet<CheckpointId>,
    /// Those of them that are not stored yet, each with the index of its history.
    bases: Vec<(usize, ParentCheckpoint)>,
}

/// Returns the checkpoints that a part builds on without following them directly.
fn forks(parts: &[&Commit]) -> BTreeSet<CheckpointId> {
    let mut newest: BTreeMap<&CheckpointNamespace, CheckpointId> = BTreeMap::new();
    let mut forks = BTreeSet::new();
    for part in parts {
        let Some(checkpoint) = &part.checkpoint else { continue };
        let before = newest.insert(&part.namespace, checkpoint.id);
        forks.extend(checkpoint.parent.filter(|parent| before.is_some_and(|before| before != *parent)));
    }
    forks
}

impl<T: RowStorage> TransactionBuilder<'_, T> {
    async fn add(&mut self, part: &Commit) -> Result<(), WriteRejection> {
        check_thread_and_namespace(part)?;
        if part.checkpoint.is_none() && part.pending.is_empty() {
            return Ok(());
        }
        let index = self.history_index(part).await?;
        let ParentCheckpoint { id, number, .. } = self.histories[index].1.writer.base;
        if let Some(checkpoint) = &part.checkpoint {
            if let Some(missing) = self.set_parent(index, checkpoint.parent).await? {
                // A repeated commit may find that the parent of its checkpoint has been pruned since.
                return Err(match self.number(index, None, checkpoint.id).await {
                    Ok(_) => WriteRejection::AlreadySaved(checkpoint.id),
                    Err(_) => super::checkpoint_not_found(missing).into(),
                });
            }
            let (job, entry) = &mut self.histories[index];
            let base = &entry.writer.base;
            job.bases.extend(base.id.filter(|_| base.number <= job.newest).map(|id| (base.number, id)));
            job.new_checkpoints.push(entry.writer.plan_rows(
                checkpoint,
                part,
                self.tables.history_cache().encoding(),
            )?);
            entry.has_pending_checkpoint = true;
            if self.forks.contains(&checkpoint.id) {
                self.bases.push((index, entry.writer.base.clone()));
            }
        }
        for pending in &part.pending {
            let number = self.number(index, id.map(|id| (id, number)), pending.checkpoint).await?;
            let row = PendingRow::new(number, pending, self.tables.history_cache().encoding())?;
            self.histories[index].0.pending.push((pending.checkpoint, row));
        }
        Ok(())
    }

    /// Returns the index of a history in the transaction, adding it if necessary.
    async fn history_index(&mut self, part: &Commit) -> Result<usize> {
        let is_outline = part.checkpoint.is_none();
        let existing = self.histories.iter().position(|(job, _)| job.namespace == part.namespace);
        if let Some(index) = existing {
            if !is_outline && !self.histories[index].1.has_pending_checkpoint {
                // Up to now, only pending entries were written to this history.
                self.histories[index].1 = self.entry(&part.namespace, false).await?;
            }
            return Ok(index);
        }
        let entry = self.entry(&part.namespace, is_outline).await?;
        let (row, newest, namespace) = (entry.row, entry.writer.newest, part.namespace.clone());
        let (bases, new_checkpoints, pending) = (Vec::new(), Vec::new(), Vec::new());
        self.histories.push((HistoryRows { namespace, row, newest, bases, new_checkpoints, pending }, entry));
        Ok(self.histories.len() - 1)
    }

    /// Returns the cached state of a history or reads it.
    async fn entry(&self, namespace: &CheckpointNamespace, is_outline: bool) -> Result<CachedHistory> {
        match self.thread.entry(namespace, is_outline) {
            Some(entry) => Ok(entry),
            None => self.tables.load_history(self.thread.row, self.history_key(namespace)).await,
        }
    }

    fn history_key(&self, namespace: &CheckpointNamespace) -> HistoryKey {
        (self.lease.thread.clone(), namespace.clone())
    }

    /// Makes a checkpoint the base of the next one; returns its id if it does not exist.
    async fn set_parent(&mut self, index: usize, parent: Option<CheckpointId>) -> Result<Option<CheckpointId>> {
        let (job, entry) = &mut self.histories[index];
        if parent == entry.writer.base.id && (parent.is_some() || entry.writer.newest == 0) {
            return Ok(None);
        }
        let Some(parent) = parent else {
            entry.writer.base = ParentCheckpoint::default();
            return Ok(None);
        };
        if let Some((_, base)) = self.bases.iter().find(|(history, base)| *history == index && base.id == Some(parent))
        {
            entry.writer.base = base.clone();
            return Ok(None);
        }
        let key = (self.lease.thread.clone(), job.namespace.clone());
        let Some(base) = self.tables.load_parent(key, parent).await? else { return Ok(Some(parent)) };
        self.histories[index].1.writer.base = base;
        Ok(None)
    }

    /// Returns the number of the checkpoint of a pending entry.
    async fn number(&self, index: usize, before: Option<(CheckpointId, u64)>, id: CheckpointId) -> Result<u64> {
        let (job, entry) = &self.histories[index];
        // In most cases it is the latest checkpoint.
        if let Some(new_checkpoint) =
            job.new_checkpoints.iter().rev().find(|new_checkpoint| new_checkpoint.row.header.id == id)
        {
            return Ok(new_checkpoint.row.number);
        }
        if let Some((_, number)) = before.filter(|(before_id, _)| *before_id == id) {
            return Ok(number);
        }
        let missing = || super::checkpoint_not_found(id);
        let history_id = entry.row.ok_or_else(missing)?;
        self.tables.number_of(history_id, id).await?.ok_or_else(missing)
    }
}
