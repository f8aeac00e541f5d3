//! Offloading of large values: a checkpointer that wraps another one, which sees references instead of long values.
//!
//! This module decides when a value is offloaded and fetched; the format of references is in `reference`, the removal
//! of unreferenced values in `garbage_collection`. A value is stored before its reference.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use superstep_core::change::Change;
use superstep_core::checkpoint::{CheckpointNamespace, FieldChange};
use superstep_core::delegate_checkpointer;
use superstep_core::error::{Error, Result};
use superstep_core::id::ThreadId;
use superstep_core::port::{
    CheckpointSelector, CheckpointTuple, Checkpointer, Commit, EventsQuery, HistoryQuery, KeyValue, PutOptions,
    StateRef, StoredEvent,
};

mod garbage_collection;
mod reference;

pub use garbage_collection::CollectReport;

use reference::{FetchPass, OffloadPass, ValueReference, is_short_and_plain};

use crate::compression::compress;
use crate::value_visitor::ValueVisitor as _;

/// Default size in bytes of JSON above which values are offloaded.
const DEFAULT_THRESHOLD_BYTES: usize = 256 * 1024;

/// A checkpointer that stores large values in a key-value store, addressed by their content: a value is stored once,
/// even if many checkpoints contain it.
///
/// The checkpoint contains a reference, which is the SHA-256 of the value. A value that does not match its reference
/// results in an error that names it, and never reaches a node. Unreferenced values stay until
/// [`OffloadedCheckpointer::collect_garbage`] removes them.
///
/// To encrypt large values as well, wrap this checkpointer in an `EncryptedCheckpointer`.
///
/// ```
/// use superstep::prelude::*;
/// use superstep_adapters::offloaded::OffloadedCheckpointer;
/// # use superstep_core::{error::Result, port::{KeyValue, PutOptions}};
/// # use std::{collections::BTreeMap, sync::{Arc, Mutex}};
/// # #[derive(Clone, Default)] struct Bucket(Arc<Mutex<BTreeMap<String, Vec<u8>>>>);
/// # impl KeyValue for Bucket {
/// #     async fn get(&self, key: &str) -> Result<Option<Vec<u8>>> { Ok(self.0.lock().unwrap().get(key).cloned()) }
/// #     async fn put(&self, key: &str, value: &[u8], _: PutOptions) -> Result<bool> {
/// #         Ok(self.0.lock().unwrap().insert(key.to_owned(), value.to_vec()).is_none())
/// #     }
/// #     async fn delete(&self, _: &[String]) -> Result<()> { Ok(()) }
/// #     async fn list(&self, _: &str, _: Option<&str>, _: usize) -> Result<Vec<String>> { Ok(Vec::new()) }
/// # }
///
/// #[derive(GraphState, Clone, Serialize, Deserialize)]
/// struct Paper {
///     text: String,
/// }
///
/// let (store, bucket) = (MemoryCheckpointer::new(), Bucket::default());
/// let mut graph = StateGraph::<Paper>::new("paper");
/// let read = graph.add_node("read", |paper: View<Paper>| Paper::update().text(paper.text.to_uppercase()));
/// graph.add_edge(START, read).add_edge(read, END);
/// graph.checkpointer(OffloadedCheckpointer::new(store, bucket).threshold_bytes(1_000));
/// let paper = graph.compile()?;
///
/// let done = paper.invoke(Paper::input().text("page ".repeat(1_000))).thread("p-1").wait_blocking()?;
/// assert!(done.state.text.starts_with("PAGE PAGE"));
/// # Ok::<(), superstep::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct OffloadedCheckpointer<C, K> {
    store: C,
    values: Arc<K>,
    threshold: usize,
    full_value_requests: Arc<FullValueRequests>,
}

/// Fields for which the wrapped checkpointer requested a full value that was too large to return immediately: it is
/// offloaded with the next commit and then available.
#[derive(Debug, Default)]
struct FullValueRequests {
    fields: Mutex<BTreeSet<FieldKey>>,
    times: AtomicU64,
}

type FieldKey = (ThreadId, CheckpointNamespace, Arc<str>);

impl FullValueRequests {
    fn add(&self, key: FieldKey) {
        self.times.fetch_add(1, Ordering::Relaxed);
        self.insert(key);
    }

    fn insert(&self, key: FieldKey) {
        self.fields.lock().unwrap_or_else(PoisonError::into_inner).insert(key);
    }

    /// Returns the number of requests.
    fn times(&self) -> u64 {
        self.times.load(Ordering::Relaxed)
    }

    fn take(&self, key: &FieldKey) -> bool {
        self.fields.lock().unwrap_or_else(PoisonError::into_inner).remove(key)
    }
}

impl<C: Checkpointer, K: KeyValue> OffloadedCheckpointer<C, K> {
    /// Stores checkpoints in `store` and large values in `values`.
    #[must_use]
    pub fn new(store: C, values: K) -> Self {
        Self {
            store,
            values: Arc::new(values),
            threshold: DEFAULT_THRESHOLD_BYTES,
            full_value_requests: Arc::default(),
        }
    }

    /// Sets the size in bytes of JSON above which values are offloaded. Default: 256 KiB.
    #[must_use]
    pub fn threshold_bytes(mut self, bytes: usize) -> Self {
        self.threshold = bytes;
        self
    }

    /// Converts a commit for the wrapped checkpointer.
    fn offload_commit(&self, commit: &Commit, offload_pass: &OffloadPass) -> Result<Commit> {
        let mut checkpoint = commit.checkpoint.clone();
        checkpoint.as_mut().map_or(Ok(()), |checkpoint| offload_pass.record(checkpoint))?;
        let mut changes = commit.changes.clone();
        for FieldChange { field, change, delta: part } in &mut changes {
            offload_pass.field(field, change, part)?;
        }
        let mut pending = commit.pending.clone();
        pending.iter_mut().try_for_each(|pending| offload_pass.pending(pending))?;
        let state =
            commit.state.as_ref().map(|state| self.state_with_references(commit, state, offload_pass)).transpose()?;
        let subgraph_commits = commit
            .subgraph_commits
            .iter()
            .map(|subgraph_commit| self.offload_commit(subgraph_commit, offload_pass))
            .collect::<Result<_>>()?;
        let mut events = commit.events.clone();
        events.iter_mut().try_for_each(|event| offload_pass.event(event))?;
        let (lease, namespace, status) = (commit.lease.clone(), commit.namespace.clone(), commit.status);
        Ok(Commit { lease, namespace, checkpoint, changes, state, pending, status, events, subgraph_commits })
    }

    /// Returns full values on request of the wrapped checkpointer. A large one must be offloaded before it is
    /// referenced, so it is only returned if it was requested before.
    fn state_with_references(&self, commit: &Commit, state: &StateRef, offload_pass: &OffloadPass) -> Result<StateRef> {
        let (thread, namespace) = (commit.lease.thread.clone(), commit.namespace.clone());
        let mut full_values = BTreeMap::new();
        for FieldChange { field, .. } in &commit.changes {
            let key = (thread.clone(), namespace.clone(), field.clone());
            if !self.full_value_requests.take(&key) {
                continue;
            }
            let Some(mut part) = state.full_value(field) else { continue };
            // A value found in the first pass is needed again in the second one.
            if offload_pass.is_first_pass() && !is_short_and_plain(&part, self.threshold) {
                self.full_value_requests.insert(key);
            }
            offload_pass.field(field, &mut Change::Set, &mut part)?;
            full_values.insert(field.clone(), part);
        }
        let (state, threshold, requests) = (state.clone(), self.threshold, self.full_value_requests.clone());
        Ok(StateRef::from_full_values(state.schema.clone(), move |field| {
            if let Some(part) = full_values.get(field) {
                return Some(part.clone());
            }
            let part = state.full_value(field)?;
            if is_short_and_plain(&part, threshold) {
                return Some(part);
            }
            requests.add((thread.clone(), namespace.clone(), field.into()));
            None
        }))
    }

    /// Offloads values before they are referenced; returns the copy to be referenced for each.
    async fn put(&self, values: BTreeMap<ValueReference, Vec<u8>>) -> Result<BTreeMap<ValueReference, ValueReference>> {
        let mut copies = BTreeMap::new();
        for (reference, value) in values {
            let stored = compress(&value, &[]).unwrap_or(value);
            let mut copy = reference.clone();
            // A value that is marked for removal, or was just removed, is stored as another copy. Checked before and
            // after the put, so that a mark set in between is noticed.
            while self.is_marked_for_deletion(&copy).await? || {
                self.values.put(&copy.key(), &stored, PutOptions { if_absent: true, ttl: None }).await?;
                self.is_marked_for_deletion(&copy).await?
            } {
                copy = copy.next_copy();
            }
            copies.insert(reference, copy);
        }
        Ok(copies)
    }

    async fn is_marked_for_deletion(&self, reference: &ValueReference) -> Result<bool> {
        Ok(self.values.get(&reference.deletion_mark_key()).await?.is_some())
    }

    async fn try_commit(&self, commit: &Commit) -> Result<()> {
        let first_pass = OffloadPass::find(self.threshold);
        let unchanged = self.offload_commit(commit, &first_pass)?;
        let Some(values) = first_pass.into_large_values() else { return self.store.commit(&unchanged).await };
        drop(unchanged);
        let copies = self.put(values).await?;
        self.store.commit(&self.offload_commit(commit, &OffloadPass::replace(self.threshold, copies))?).await
    }

    /// Replaces the references in checkpoints or events with their values; `pass` converts one element.
    async fn fetch<T>(&self, mut read: Vec<T>, pass: impl Fn(&FetchPass, &mut T) -> Result<()>) -> Result<Vec<T>> {
        let first_pass = FetchPass::find();
        read.iter_mut().try_for_each(|item| pass(&first_pass, item))?;
        let Some(requested) = first_pass.into_references() else { return Ok(read) };
        let keys: Vec<String> = requested.iter().map(ValueReference::key).collect();
        let fetched = self.values.get_many(&keys).await?;
        let fetched = requested.into_iter().zip(fetched).filter_map(|(reference, value)| Some((reference, value?)));
        let second_pass = FetchPass::replace(fetched.collect());
        read.iter_mut().try_for_each(|item| pass(&second_pass, item))?;
        Ok(read)
    }
}

/// Converts a checkpoint of the wrapped checkpointer.
fn restore_tuple(fetch_pass: &FetchPass, thread: &ThreadId, loaded: &mut CheckpointTuple) -> Result<()> {
    let id = loaded.checkpoint.id;
    let mut pass = || {
        fetch_pass.record(&mut loaded.checkpoint)?;
        for (field, log) in &mut loaded.fields {
            log.iter_mut().try_for_each(|(change, part)| fetch_pass.field(field, change, part))?;
        }
        loaded.pending.iter_mut().try_for_each(|pending| fetch_pass.pending(pending))
    };
    pass().map_err(|error: Error| {
        let message = format!("thread `{thread}`, checkpoint {id}: {}", error.message());
        Error::new(error.code(), message)
            .with_help("other values are not affected; open an earlier checkpoint, or restore the value from a backup")
            .with_thread(Some(thread))
    })
}

/// Converts an event of the wrapped checkpointer.
fn restore_event(fetch_pass: &FetchPass, thread: &ThreadId, event: &mut StoredEvent) -> Result<()> {
    fetch_pass.event(event).map_err(|error| {
        Error::new(error.code(), format!("thread `{thread}`, {}", error.message()))
            .with_help("other events are not affected; read the events after it, or restore the value from a backup")
            .with_thread(Some(thread))
    })
}

impl<C: Checkpointer, K: KeyValue> Checkpointer for OffloadedCheckpointer<C, K> {
    delegate_checkpointer!(this => this.store; acquire, release, threads, status, namespaces);
    delegate_checkpointer!(this => this.store; last_event_number, delete_events);
    delegate_checkpointer!(this => this.store; delete_thread, copy_thread, prune, stats);

    async fn commit(&self, commit: &Commit) -> Result<()> {
        let before = self.full_value_requests.times();
        let saved = self.try_commit(commit).await;
        // The wrapped checkpointer may reject a commit because a requested full value was missing; the second attempt
        // provides it.
        if saved.is_err() && self.full_value_requests.times() != before { self.try_commit(commit).await } else { saved }
    }

    async fn load(
        &self,
        thread: &ThreadId,
        namespace: &CheckpointNamespace,
        at: CheckpointSelector,
    ) -> Result<Option<CheckpointTuple>> {
        let loaded = self.store.load(thread, namespace, at).await?;
        let loaded = loaded.into_iter().collect();
        Ok(self.fetch(loaded, |fetch_pass, loaded| restore_tuple(fetch_pass, thread, loaded)).await?.pop())
    }

    async fn history(
        &self,
        thread: &ThreadId,
        namespace: &CheckpointNamespace,
        query: &HistoryQuery,
    ) -> Result<Vec<CheckpointTuple>> {
        let listed = self.store.history(thread, namespace, query).await?;
        self.fetch(listed, |fetch_pass, loaded| restore_tuple(fetch_pass, thread, loaded)).await
    }

    async fn events(&self, thread: &ThreadId, query: &EventsQuery) -> Result<Vec<StoredEvent>> {
        let events = self.store.events(thread, query).await?;
        self.fetch(events, |fetch_pass, event| restore_event(fetch_pass, thread, event)).await
    }
}
