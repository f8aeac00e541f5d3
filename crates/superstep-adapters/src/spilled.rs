//! Large values beside the store: a store around another one, which sees a reference where a value is long.
//!
//! Decides when a value is put beside and when it is fetched; what a reference looks like is in `reference`, how values
//! that nobody refers to any more are found and removed in `collect`. A value is there before the reference to it is.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use superstep_core::change::Change;
use superstep_core::checkpoint::{FieldChange, Namespace};
use superstep_core::error::{Error, Result};
use superstep_core::forward_checkpointer;
use superstep_core::id::ThreadId;
use superstep_core::port::{
    At, Checkpointer, Commit, EventsQuery, HistoryQuery, KeyValue, Loaded, Put, StateRef, StoredEvent,
};

mod collect;
mod reference;

pub use collect::Collected;

use reference::{Down, Reference, Up, is_short_and_plain};

use crate::squeeze::squeeze;
use crate::walk::Walk as _;

/// Values above this many bytes of JSON are put beside the store, unless told otherwise.
const ABOVE: usize = 256 * 1024;

/// A store that keeps large values in another place, by what they are: one value is there once, however many
/// checkpoints have it.
///
/// The checkpoint keeps a reference, which is the SHA-256 of the value. A value that is not what its reference says is
/// refused by name; it is never given to a node. What nobody refers to any more stays until [`Spilled::collect`].
///
/// To have large values encrypted as well, seal above: `Sealed::new(Spilled::new(store, values), key)`.
///
/// ```
/// use superstep::prelude::*;
/// use superstep_adapters::spilled::Spilled;
/// # use superstep_core::{error::Result, port::{KeyValue, Put}};
/// # use std::{collections::BTreeMap, sync::{Arc, Mutex}};
/// # #[derive(Clone, Default)] struct Bucket(Arc<Mutex<BTreeMap<String, Vec<u8>>>>);
/// # impl KeyValue for Bucket {
/// #     async fn get(&self, key: &str) -> Result<Option<Vec<u8>>> { Ok(self.0.lock().unwrap().get(key).cloned()) }
/// #     async fn put(&self, key: &str, value: &[u8], _: Put) -> Result<bool> {
/// #         Ok(self.0.lock().unwrap().insert(key.to_owned(), value.to_vec()).is_none())
/// #     }
/// #     async fn delete(&self, _: &[String]) -> Result<()> { Ok(()) }
/// #     async fn list(&self, _: &str, _: Option<&str>, _: usize) -> Result<Vec<String>> { Ok(Vec::new()) }
/// # }
///
/// #[derive(State, Clone, Serialize, Deserialize)]
/// struct Paper {
///     text: String,
/// }
///
/// let (store, bucket) = (Memory::new(), Bucket::default());
/// let mut graph = Graph::<Paper>::new("paper");
/// let read = graph.node("read", |paper: View<Paper>| Paper::update().text(paper.text.to_uppercase()));
/// graph.edge(START, read).edge(read, END);
/// graph.checkpointer(Spilled::new(store, bucket).above(1_000));
/// let paper = graph.compile()?;
///
/// let done = paper.run(Paper::input().text("page ".repeat(1_000))).thread("p-1").wait()?;
/// assert!(done.state.text.starts_with("PAGE PAGE"));
/// # Ok::<(), superstep::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Spilled<C, K> {
    store: C,
    values: Arc<K>,
    above: usize,
    asked: Arc<Asked>,
}

/// Fields of which the store inside asked for a whole value that was too large to be made on the spot: it is put beside
/// the store with the next commit, and is there when the store asks again.
#[derive(Debug, Default)]
struct Asked {
    fields: Mutex<BTreeSet<FieldPlace>>,
    times: AtomicU64,
}

type FieldPlace = (ThreadId, Namespace, Arc<str>);

impl Asked {
    fn add(&self, place: FieldPlace) {
        self.times.fetch_add(1, Ordering::Relaxed);
        self.keep(place);
    }

    fn keep(&self, place: FieldPlace) {
        self.fields.lock().unwrap_or_else(PoisonError::into_inner).insert(place);
    }

    /// How often a store asked.
    fn times(&self) -> u64 {
        self.times.load(Ordering::Relaxed)
    }

    fn take(&self, place: &FieldPlace) -> bool {
        self.fields.lock().unwrap_or_else(PoisonError::into_inner).remove(place)
    }
}

impl<C: Checkpointer, K: KeyValue> Spilled<C, K> {
    /// Keeps checkpoints in `store` and large values in `values`.
    #[must_use]
    pub fn new(store: C, values: K) -> Self {
        Self { store, values: Arc::new(values), above: ABOVE, asked: Arc::default() }
    }

    /// Puts values beside the store that take more than this many bytes as JSON. 256 KiB when not told.
    #[must_use]
    pub fn above(mut self, bytes: usize) -> Self {
        self.above = bytes;
        self
    }

    /// A commit on its way down.
    fn pass(&self, commit: &Commit, down: &Down) -> Result<Commit> {
        let mut checkpoint = commit.checkpoint.clone();
        checkpoint.as_mut().map_or(Ok(()), |checkpoint| down.record(checkpoint))?;
        let mut changes = commit.changes.clone();
        for FieldChange { field, change, part } in &mut changes {
            down.field(field, change, part)?;
        }
        let mut pending = commit.pending.clone();
        pending.iter_mut().try_for_each(|pending| down.pending(pending))?;
        let state = commit.state.as_ref().map(|state| self.copies(commit, state, down)).transpose()?;
        let inside = commit.inside.iter().map(|inside| self.pass(inside, down)).collect::<Result<_>>()?;
        let mut events = commit.events.clone();
        events.iter_mut().try_for_each(|event| down.event(event))?;
        let (lease, namespace, status) = (commit.lease.clone(), commit.namespace.clone(), commit.status);
        Ok(Commit { lease, namespace, checkpoint, changes, state, pending, status, events, inside })
    }

    /// Whole values for the store inside. A large one must be beside the store before there is a reference to it, so it
    /// is given only when it was asked for before.
    fn copies(&self, commit: &Commit, state: &StateRef, down: &Down) -> Result<StateRef> {
        let (thread, namespace) = (commit.lease.thread.clone(), commit.namespace.clone());
        let mut whole = BTreeMap::new();
        for FieldChange { field, .. } in &commit.changes {
            let place = (thread.clone(), namespace.clone(), field.clone());
            if !self.asked.take(&place) {
                continue;
            }
            let Some(mut part) = state.full(field) else { continue };
            // What is only looked for in the first pass is wanted again in the second.
            if down.is_seeking() && !is_short_and_plain(&part, self.above) {
                self.asked.keep(place);
            }
            down.field(field, &mut Change::Set, &mut part)?;
            whole.insert(field.clone(), part);
        }
        let (state, above, asked) = (state.clone(), self.above, self.asked.clone());
        Ok(StateRef::through(state.schema.clone(), move |field| {
            if let Some(part) = whole.get(field) {
                return Some(part.clone());
            }
            let part = state.full(field)?;
            if is_short_and_plain(&part, above) {
                return Some(part);
            }
            asked.add((thread.clone(), namespace.clone(), field.into()));
            None
        }))
    }

    /// Puts values beside the store, before anything refers to them.
    async fn put(&self, values: BTreeMap<Reference, Vec<u8>>) -> Result<BTreeMap<Reference, Reference>> {
        let mut places = BTreeMap::new();
        for (reference, value) in values {
            let stored = squeeze(&value, &[]).unwrap_or(value);
            let mut place = reference.clone();
            // One that is about to be removed, or was just now, is put as another copy. Looked at on both sides: what is
            // said of it in between is heard.
            while self.is_doomed(&place).await? || {
                self.values.put(&place.key(), &stored, Put { only_new: true, lasts: None }).await?;
                self.is_doomed(&place).await?
            } {
                place = place.next_copy();
            }
            places.insert(reference, place);
        }
        Ok(places)
    }

    async fn is_doomed(&self, place: &Reference) -> Result<bool> {
        Ok(self.values.get(&place.doomed_key()).await?.is_some())
    }

    async fn try_commit(&self, commit: &Commit) -> Result<()> {
        let seek = Down::seek(self.above);
        let passed = self.pass(commit, &seek)?;
        let Some(values) = seek.into_found() else { return self.store.commit(&passed).await };
        drop(passed);
        let places = self.put(values).await?;
        self.store.commit(&self.pass(commit, &Down::leave(self.above, places))?).await
    }

    /// Checkpoints or events with their large values; `pass` takes one of them up.
    async fn fetch<T>(&self, mut read: Vec<T>, pass: impl Fn(&Up, &mut T) -> Result<()>) -> Result<Vec<T>> {
        let seek = Up::seek();
        read.iter_mut().try_for_each(|one| pass(&seek, one))?;
        let Some(wanted) = seek.into_wanted() else { return Ok(read) };
        let keys: Vec<String> = wanted.iter().map(Reference::key).collect();
        let found = self.values.get_many(&keys).await?;
        let found = wanted.into_iter().zip(found).filter_map(|(reference, value)| Some((reference, value?)));
        let fill = Up::fill(found.collect());
        read.iter_mut().try_for_each(|one| pass(&fill, one))?;
        Ok(read)
    }
}

/// A checkpoint on its way up.
fn pass_up(up: &Up, thread: &ThreadId, loaded: &mut Loaded) -> Result<()> {
    let id = loaded.checkpoint.id;
    let mut pass = || {
        up.record(&mut loaded.checkpoint)?;
        for (field, log) in &mut loaded.fields {
            log.iter_mut().try_for_each(|(change, part)| up.field(field, change, part))?;
        }
        loaded.pending.iter_mut().try_for_each(|pending| up.pending(pending))
    };
    pass().map_err(|error: Error| {
        let message = format!("thread `{thread}`, checkpoint {id}: {}", error.message());
        Error::new(error.code(), message)
            .help("the other values are not touched by this: open an earlier checkpoint, or restore the value from a copy")
            .on_thread(Some(thread))
    })
}

/// An event on its way up.
fn event_up(up: &Up, thread: &ThreadId, event: &mut StoredEvent) -> Result<()> {
    up.event(event).map_err(|error| {
        Error::new(error.code(), format!("thread `{thread}`, {}", error.message()))
            .help("the other events are not touched by this: ask for those after it, or restore the value from a copy")
            .on_thread(Some(thread))
    })
}

impl<C: Checkpointer, K: KeyValue> Checkpointer for Spilled<C, K> {
    forward_checkpointer!(this => this.store; acquire, release, threads, status, namespaces, last_event, forget_events);
    forward_checkpointer!(this => this.store; delete_thread, copy_thread, prune, stats);

    async fn commit(&self, commit: &Commit) -> Result<()> {
        let before = self.asked.times();
        let saved = self.try_commit(commit).await;
        // Without a whole value that it asked for a store may have to refuse; the second time it gets one.
        if saved.is_err() && self.asked.times() != before { self.try_commit(commit).await } else { saved }
    }

    async fn load(&self, thread: &ThreadId, namespace: &Namespace, at: At) -> Result<Option<Loaded>> {
        let loaded = self.store.load(thread, namespace, at).await?;
        let loaded = loaded.into_iter().collect();
        Ok(self.fetch(loaded, |up, loaded| pass_up(up, thread, loaded)).await?.pop())
    }

    async fn history(&self, thread: &ThreadId, namespace: &Namespace, query: &HistoryQuery) -> Result<Vec<Loaded>> {
        let listed = self.store.history(thread, namespace, query).await?;
        self.fetch(listed, |up, loaded| pass_up(up, thread, loaded)).await
    }

    async fn events(&self, thread: &ThreadId, query: &EventsQuery) -> Result<Vec<StoredEvent>> {
        let events = self.store.events(thread, query).await?;
        self.fetch(events, |up, event| event_up(up, thread, event)).await
    }
}
