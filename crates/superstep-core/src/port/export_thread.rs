//! Export of a complete thread from a checkpointer, checkpoint by checkpoint: the counterpart of `import_thread`.

use std::collections::BTreeSet;
use std::sync::Arc;

use serde_json::Value;

use super::errors::thread_changed_while_reading;
use super::{CheckpointSelector, CheckpointTuple, Checkpointer, FieldLog, HistoryQuery, SharedCheckpointer};
use crate::change::Change;
use crate::checkpoint::{Checkpoint, CheckpointNamespace, ExportedCheckpoint, FieldChange};
use crate::delegate_checkpointer;
use crate::error::{Error, ErrorCode, Result};
use crate::id::{CheckpointId, ThreadId};
use crate::json_reducer;
use crate::validation_error::ValidationError;
use crate::value::AnyValue;

/// Maximum number of checkpoints in memory at once.
const PAGE_SIZE: usize = 32;

/// Passes all checkpoints of a thread to `each`, those of each of its graphs oldest first, with only their own
/// changes.
///
/// # Errors
/// Returns an error if the checkpointer or `each` fails, or if the thread changed meanwhile: the checkpoints passed
/// to `each` are then not consistent.
pub async fn export_thread<C: Checkpointer>(
    checkpointer: &C,
    thread: &ThreadId,
    mut each: impl FnMut(ExportedCheckpoint) -> Result<()> + Send,
) -> Result<()> {
    let namespaces = namespaces(checkpointer, thread).await?;
    let mut ends = Vec::new();
    for namespace in &namespaces {
        let reader = HistoryReader::open(checkpointer, thread, namespace).await?;
        ends.push(reader.for_each(&mut each).await?);
    }
    if is_unchanged(checkpointer, thread, &namespaces, &ends).await? {
        Ok(())
    } else {
        Err(thread_changed_while_reading(thread))
    }
}

impl SharedCheckpointer {
    /// Calls [`export_thread`].
    ///
    /// # Errors
    /// Same as [`export_thread`].
    pub async fn export_thread(
        &self,
        thread: &ThreadId,
        each: impl FnMut(ExportedCheckpoint) -> Result<()> + Send,
    ) -> Result<()> {
        export_thread(&self.as_checkpointer(), thread, each).await
    }

    /// Returns a value that implements [`Checkpointer`], for functions that are generic over it.
    pub(super) fn as_checkpointer(&self) -> impl Checkpointer + use<> {
        SharedAsCheckpointer(self.clone())
    }
}

/// A shared checkpointer that implements the port itself.
struct SharedAsCheckpointer(SharedCheckpointer);

impl Checkpointer for SharedAsCheckpointer {
    delegate_checkpointer!(this => this.0; acquire, release, commit, load, history, threads, status, namespaces);
    delegate_checkpointer!(this => this.0; delete_thread, copy_thread, prune, stats);
    delegate_checkpointer!(this => this.0; events, last_event_number, delete_events);
}

/// Returns the namespaces in ascending order, so that equal threads give equal files.
async fn namespaces(checkpointer: &impl Checkpointer, thread: &ThreadId) -> Result<Vec<CheckpointNamespace>> {
    let mut namespaces = checkpointer.namespaces(thread).await?;
    namespaces.sort();
    Ok(namespaces)
}

/// Returns true if the thread still ends at the checkpoints that were read. A run in between would make the export
/// inconsistent.
async fn is_unchanged(
    checkpointer: &impl Checkpointer,
    thread: &ThreadId,
    before: &[CheckpointNamespace],
    ends: &[Option<CheckpointTuple>],
) -> Result<bool> {
    if namespaces(checkpointer, thread).await? != *before {
        return Ok(false);
    }
    for (namespace, end) in before.iter().zip(ends) {
        let Some(end) = end else { continue };
        let newest = checkpointer.load(thread, namespace, CheckpointSelector::NewerThan(end.checkpoint.id)).await?;
        let is_same = |newest: CheckpointTuple| newest.checkpoint == end.checkpoint && newest.pending == end.pending;
        if !newest.is_some_and(is_same) {
            return Ok(false);
        }
    }
    Ok(true)
}

/// The checkpoints of one graph.
struct HistoryReader<'a, C> {
    checkpointer: &'a C,
    thread: &'a ThreadId,
    namespace: &'a CheckpointNamespace,
    /// Ids, newest first.
    ids: Vec<CheckpointId>,
    id_set: BTreeSet<CheckpointId>,
}

impl<'a, C: Checkpointer> HistoryReader<'a, C> {
    async fn open(checkpointer: &'a C, thread: &'a ThreadId, namespace: &'a CheckpointNamespace) -> Result<Self> {
        let mut ids: Vec<CheckpointId> = Vec::new();
        loop {
            let query = HistoryQuery { before: ids.last().copied(), limit: Some(PAGE_SIZE), ..HistoryQuery::default() };
            let page = checkpointer.history(thread, namespace, &query).await?;
            ids.extend(page.iter().map(|loaded| loaded.checkpoint.id));
            if page.len() < PAGE_SIZE {
                let id_set = ids.iter().copied().collect();
                return Ok(Self { checkpointer, thread, namespace, ids, id_set });
            }
        }
    }

    /// Passes the checkpoints to `each`, oldest first, and returns the newest as it was read.
    async fn for_each(
        &self,
        each: &mut (impl FnMut(ExportedCheckpoint) -> Result<()> + Send),
    ) -> Result<Option<CheckpointTuple>> {
        let (mut end, mut newest) = (self.ids.len(), None);
        while end > 0 {
            let start = end.saturating_sub(PAGE_SIZE);
            for loaded in self.page(start, end).await? {
                let parent = self.parent(&loaded, newest).await?;
                each(to_exported(&loaded, parent.as_ref())?)?;
                newest = Some(loaded);
            }
            end = start;
        }
        Ok(newest)
    }

    /// Reads a page of the checkpoints, oldest first.
    async fn page(&self, start: usize, end: usize) -> Result<Vec<CheckpointTuple>> {
        let before = start.checked_sub(1).map(|newer| self.ids[newer]);
        let query = HistoryQuery { before, limit: Some(end - start), ..HistoryQuery::default() };
        let mut page = self.checkpointer.history(self.thread, self.namespace, &query).await?;
        if !page.iter().map(|loaded| &loaded.checkpoint.id).eq(&self.ids[start..end]) {
            return Err(thread_changed_while_reading(self.thread));
        }
        page.reverse();
        Ok(page)
    }

    /// Returns the parent of a checkpoint, unless the parent was pruned.
    async fn parent(
        &self,
        loaded: &CheckpointTuple,
        before: Option<CheckpointTuple>,
    ) -> Result<Option<CheckpointTuple>> {
        let Some(parent) = loaded.checkpoint.parent.filter(|parent| self.id_set.contains(parent)) else {
            return Ok(None);
        };
        match before.filter(|before| before.checkpoint.id == parent) {
            Some(before) => Ok(Some(before)),
            None => {
                let parent_tuple =
                    self.checkpointer.load(self.thread, self.namespace, CheckpointSelector::Id(parent)).await?;
                parent_tuple.map(Some).ok_or_else(|| thread_changed_while_reading(self.thread))
            }
        }
    }
}

/// Returns a checkpoint with only its own changes. If its parent was pruned, the checkpoint contains all values,
/// because a checkpointer rejects a missing parent.
fn to_exported(loaded: &CheckpointTuple, parent: Option<&CheckpointTuple>) -> Result<ExportedCheckpoint> {
    let mut changes = Vec::new();
    for (field, log) in &loaded.fields {
        let before = parent.and_then(|parent| parent.fields.iter().find(|(name, _)| name == field));
        let change = changed(log, before.map(|(_, log)| log)).map_err(|error| {
            let message = format!("checkpoint {}: field `{field}` is unreadable: {error}", loaded.checkpoint.id);
            Error::new(ErrorCode::CheckpointCorrupt, message)
                .with_help("the stored data is corrupt; prune the checkpoints before this one")
        })?;
        changes.extend(change.map(|(change, delta)| FieldChange { field: field.clone(), change, delta }));
    }
    // Checkpointers number fields in order of first use; sorted by name, equal threads give equal files.
    changes.sort_by(|one, other| one.field.cmp(&other.field));
    let checkpoint = Checkpoint { parent: parent.map(|parent| parent.checkpoint.id), ..(*loaded.checkpoint).clone() };
    Ok(ExportedCheckpoint { checkpoint, changes, pending: loaded.pending.clone() })
}

/// Returns the one change that leads from one log to the other; `None` if the logs are equal.
fn changed(
    log: &FieldLog,
    before: Option<&FieldLog>,
) -> std::result::Result<Option<(Change, AnyValue)>, ValidationError> {
    let is_on_top = |before: &&FieldLog| log.len() >= before.len() && log.iter().zip(*before).all(is_same);
    let rest = before.filter(is_on_top).map_or(&log[..], |before| &log[before.len()..]);
    match rest {
        [] => Ok(None),
        [one] if rest.len() < log.len() || one.0 == Change::Set => Ok(Some(one.clone())),
        _ => {
            let mut full = Value::Null;
            for (change, delta) in log {
                json_reducer::apply_delta(&mut full, change, &delta.to_json()?)?;
            }
            Ok(Some((Change::Set, AnyValue::json(full))))
        }
    }
}

fn is_same(((one, delta), (other, other_delta)): (&(Change, AnyValue), &(Change, AnyValue))) -> bool {
    let is_shared = match (delta, other_delta) {
        (AnyValue::Native(one), AnyValue::Native(other)) => std::ptr::addr_eq(Arc::as_ptr(one), Arc::as_ptr(other)),
        (AnyValue::Json(one), AnyValue::Json(other)) => Arc::ptr_eq(one, other),
        _ => false,
    };
    one == other && (is_shared || delta == other_delta)
}
