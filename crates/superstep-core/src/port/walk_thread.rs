//! Everything of a thread out of a store, checkpoint by checkpoint: the other half of `put_thread`.

use std::collections::BTreeSet;
use std::sync::Arc;

use serde_json::Value;

use super::refusal::moved;
use super::{At, Checkpointer, FieldLog, HistoryQuery, Loaded, SharedCheckpointer};
use crate::change::Change;
use crate::checkpoint::{Checkpoint, CopiedCheckpoint, FieldChange, Namespace};
use crate::datum::Datum;
use crate::error::{Code, Error, Result};
use crate::fault::Fault;
use crate::forward_checkpointer;
use crate::id::{CheckpointId, ThreadId};
use crate::json_reducer;

/// Checkpoints that are in memory at once.
const PAGE: usize = 32;

/// Gives all checkpoints of a thread, those of each of its graphs oldest first, with only what each changed.
///
/// # Errors
/// When the store or `each` fails, or the thread was changed meanwhile: what `each` got is not one thread then.
pub async fn walk_thread<C: Checkpointer>(
    store: &C,
    thread: &ThreadId,
    mut each: impl FnMut(CopiedCheckpoint) -> Result<()> + Send,
) -> Result<()> {
    let namespaces = namespaces(store, thread).await?;
    let mut ends = Vec::new();
    for namespace in &namespaces {
        let line = Line::of(store, thread, namespace).await?;
        ends.push(line.give(&mut each).await?);
    }
    if is_as_it_was(store, thread, &namespaces, &ends).await? { Ok(()) } else { Err(moved(thread)) }
}

impl SharedCheckpointer {
    /// See [`walk_thread`].
    ///
    /// # Errors
    /// As [`walk_thread`].
    pub async fn walk_thread(
        &self,
        thread: &ThreadId,
        each: impl FnMut(CopiedCheckpoint) -> Result<()> + Send,
    ) -> Result<()> {
        walk_thread(&self.as_store(), thread, each).await
    }

    /// The same as a store of its own type, for what is written for any store.
    pub(super) fn as_store(&self) -> impl Checkpointer + use<> {
        Behind(self.clone())
    }
}

/// A store behind a pointer as a store.
struct Behind(SharedCheckpointer);

impl Checkpointer for Behind {
    forward_checkpointer!(this => this.0; acquire, release, commit, load, history, threads, status, namespaces);
    forward_checkpointer!(this => this.0; delete_thread, copy_thread, prune, stats);
    forward_checkpointer!(this => this.0; events, last_event, forget_events);
}

/// Ascending, so that equal threads give equal files.
async fn namespaces(store: &impl Checkpointer, thread: &ThreadId) -> Result<Vec<Namespace>> {
    let mut namespaces = store.namespaces(thread).await?;
    namespaces.sort();
    Ok(namespaces)
}

/// Whether the thread still ends where its lines were seen to end. A run in between would leave pieces of two moments.
async fn is_as_it_was(
    store: &impl Checkpointer,
    thread: &ThreadId,
    seen: &[Namespace],
    ends: &[Option<Loaded>],
) -> Result<bool> {
    if namespaces(store, thread).await? != *seen {
        return Ok(false);
    }
    for (namespace, end) in seen.iter().zip(ends) {
        let Some(end) = end else { continue };
        let newest = store.load(thread, namespace, At::Newer(end.checkpoint.id)).await?;
        let is_same = |newest: Loaded| newest.checkpoint == end.checkpoint && newest.pending == end.pending;
        if !newest.is_some_and(is_same) {
            return Ok(false);
        }
    }
    Ok(true)
}

/// The checkpoints of one graph.
struct Line<'a, C> {
    store: &'a C,
    thread: &'a ThreadId,
    namespace: &'a Namespace,
    /// Newest first.
    ids: Vec<CheckpointId>,
    known: BTreeSet<CheckpointId>,
}

impl<'a, C: Checkpointer> Line<'a, C> {
    async fn of(store: &'a C, thread: &'a ThreadId, namespace: &'a Namespace) -> Result<Self> {
        let mut ids: Vec<CheckpointId> = Vec::new();
        loop {
            let query = HistoryQuery { before: ids.last().copied(), limit: Some(PAGE), ..HistoryQuery::default() };
            let page = store.history(thread, namespace, &query).await?;
            ids.extend(page.iter().map(|loaded| loaded.checkpoint.id));
            if page.len() < PAGE {
                let known = ids.iter().copied().collect();
                return Ok(Self { store, thread, namespace, ids, known });
            }
        }
    }

    /// Gives the checkpoints, oldest first, and the newest as it was read.
    async fn give(&self, each: &mut (impl FnMut(CopiedCheckpoint) -> Result<()> + Send)) -> Result<Option<Loaded>> {
        let (mut end, mut newest) = (self.ids.len(), None);
        while end > 0 {
            let start = end.saturating_sub(PAGE);
            for loaded in self.page(start, end).await? {
                let parent = self.parent(&loaded, newest).await?;
                each(copied(&loaded, parent.as_ref())?)?;
                newest = Some(loaded);
            }
            end = start;
        }
        Ok(newest)
    }

    /// Some of the checkpoints, oldest first.
    async fn page(&self, start: usize, end: usize) -> Result<Vec<Loaded>> {
        let before = start.checked_sub(1).map(|newer| self.ids[newer]);
        let query = HistoryQuery { before, limit: Some(end - start), ..HistoryQuery::default() };
        let mut page = self.store.history(self.thread, self.namespace, &query).await?;
        if !page.iter().map(|loaded| &loaded.checkpoint.id).eq(&self.ids[start..end]) {
            return Err(moved(self.thread));
        }
        page.reverse();
        Ok(page)
    }

    /// The parent of a checkpoint, unless it was pruned.
    async fn parent(&self, loaded: &Loaded, before: Option<Loaded>) -> Result<Option<Loaded>> {
        let Some(parent) = loaded.checkpoint.parent.filter(|parent| self.known.contains(parent)) else {
            return Ok(None);
        };
        match before.filter(|before| before.checkpoint.id == parent) {
            Some(before) => Ok(Some(before)),
            None => {
                let found = self.store.load(self.thread, self.namespace, At::Id(parent)).await?;
                found.map(Some).ok_or_else(|| moved(self.thread))
            }
        }
    }
}

/// A checkpoint with only what it changed. One whose parent was pruned begins anew: no store takes it otherwise.
fn copied(loaded: &Loaded, parent: Option<&Loaded>) -> Result<CopiedCheckpoint> {
    let mut changes = Vec::new();
    for (field, log) in &loaded.fields {
        let before = parent.and_then(|parent| parent.fields.iter().find(|(name, _)| name == field));
        let change = changed(log, before.map(|(_, log)| log)).map_err(|fault| {
            let message = format!("checkpoint {}: field `{field}` cannot be read: {fault}", loaded.checkpoint.id);
            Error::new(Code::CheckpointCorrupt, message).help("the store is damaged here; prune what comes before")
        })?;
        changes.extend(change.map(|(change, part)| FieldChange { field: field.clone(), change, part }));
    }
    // Stores number fields as they meet them; equal threads give equal files.
    changes.sort_by(|one, other| one.field.cmp(&other.field));
    let checkpoint = Checkpoint { parent: parent.map(|parent| parent.checkpoint.id), ..(*loaded.checkpoint).clone() };
    Ok(CopiedCheckpoint { checkpoint, changes, pending: loaded.pending.clone() })
}

/// The one change that leads from one log to the other; `None` when they are the same.
fn changed(log: &FieldLog, before: Option<&FieldLog>) -> std::result::Result<Option<(Change, Datum)>, Fault> {
    let is_on_top = |before: &&FieldLog| log.len() >= before.len() && log.iter().zip(*before).all(is_same);
    let rest = before.filter(is_on_top).map_or(&log[..], |before| &log[before.len()..]);
    match rest {
        [] => Ok(None),
        [one] if rest.len() < log.len() || one.0 == Change::Set => Ok(Some(one.clone())),
        _ => {
            let mut whole = Value::Null;
            for (change, part) in log {
                json_reducer::restore(&mut whole, change, &part.to_json()?)?;
            }
            Ok(Some((Change::Set, Datum::json(whole))))
        }
    }
}

fn is_same(((one, part), (other, counterpart)): (&(Change, Datum), &(Change, Datum))) -> bool {
    let is_shared = match (part, counterpart) {
        (Datum::Live(one), Datum::Live(other)) => std::ptr::addr_eq(Arc::as_ptr(one), Arc::as_ptr(other)),
        (Datum::Json(one), Datum::Json(other)) => Arc::ptr_eq(one, other),
        _ => false,
    };
    one == other && (is_shared || part == counterpart)
}
