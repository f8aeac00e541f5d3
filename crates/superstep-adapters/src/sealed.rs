//! Encryption at rest: a store around another one, which sees values only in sealed form.
//!
//! Decides what is sealed and when; how bytes are sealed is in `key`, what a value is bound to in `pass`, which parts
//! are values in `walk`. Keeps nothing itself, and never writes a value in the clear.

use std::sync::Arc;

use serde_json::Value;
use superstep_core::change::Change;
use superstep_core::checkpoint::{Checkpoint, FieldChange, Namespace, ThreadCopy};
use superstep_core::datum::Datum;
use superstep_core::error::{Code, Error, Result};
use superstep_core::forward_checkpointer;
use superstep_core::id::{RunId, ThreadId};
use superstep_core::port::{
    At, Checkpointer, Commit, EventsQuery, HistoryQuery, Loaded, StateRef, StoredEvent, events_in_order, put_thread,
    refusal, walk_thread,
};

mod key;
mod pass;

pub use key::Key;

use key::Ring;
use pass::{Pass, Way};

use crate::walk::Walk as _;

/// A store that seals every value before it reaches the store inside, and opens it when it comes back.
///
/// Sealed with XChaCha20-Poly1305, each with a nonce of its own:
///
/// - values of fields, and the keys of maps that changed,
/// - what tasks wrote and sent, also to graphs around theirs, and what `once` recorded,
/// - what questions show, their texts and schemas, and the answers,
/// - texts of errors,
/// - what events say.
///
/// Readable stay names (of threads, graphs, nodes, fields, questions and `once` keys), ids, steps, times, metadata,
/// codes of errors, numbers and runs of events, how many items of a list changed, and how long a value is. Do not put a secret into those.
///
/// A value is bound to its thread, its graph's path, its field and the change it is part of, or to its checkpoint, task and
/// entry: moved anywhere else it does not open. So a copy of a thread is sealed anew, with the newest key. Whoever can write
/// to the store can still put back an older value of the same field, and remove whole rows.
///
/// Values are plain data below: what the engine keeps alive in a store in memory comes back as it would from a disk.
///
/// ```
/// use superstep::prelude::*;
/// use superstep_adapters::sealed::{Key, Sealed};
///
/// #[derive(State, Clone, Serialize, Deserialize)]
/// struct Visit {
///     patient: String,
/// }
///
/// # fn key_from_your_vault() -> [u8; 32] { [7; 32] }
/// let store = Memory::new();
/// let mut graph = Graph::<Visit>::new("visit");
/// let greet = graph.node("greet", |visit: View<Visit>| Visit::update().patient(format!("Ms {}", visit.patient)));
/// graph.edge(START, greet).edge(greet, END);
/// graph.checkpointer(Sealed::new(store.clone(), Key::from_bytes(key_from_your_vault())));
/// let visit = graph.compile()?;
///
/// assert_eq!(visit.run(Visit::input().patient("Noor")).thread("v-1").wait()?.state.patient, "Ms Noor");
/// # Ok::<(), superstep::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Sealed<C> {
    store: C,
    ring: Arc<Ring>,
    reads_plain: bool,
}

impl<C: Checkpointer> Sealed<C> {
    /// Seals what goes into `store` with `key`.
    #[must_use]
    pub fn new(store: C, key: Key) -> Self {
        Self { store, ring: Arc::new(Ring::new(key)), reads_plain: false }
    }

    /// Also opens what was sealed with this key; nothing new is sealed with it.
    #[must_use]
    pub fn with_old_key(mut self, key: Key) -> Self {
        Arc::make_mut(&mut self.ring).old.push(key);
        self
    }

    /// Asks for keys that the store does not have when it comes upon what was sealed with them, by their
    /// [number](Key::number): for keys that are kept in a vault. What is found is kept.
    #[must_use]
    pub fn find_key(mut self, find: impl Fn(&str) -> Option<Key> + Send + Sync + 'static) -> Self {
        Arc::make_mut(&mut self.ring).find = Some(Arc::new(find));
        self
    }

    /// Whether values are read that were saved before the store had a key. Refused unless told.
    ///
    /// Meant for the change-over: while it is on, whoever can write to the store can put a value in place of a sealed
    /// one.
    #[must_use]
    pub fn reads_plain(mut self, reads_plain: bool) -> Self {
        self.reads_plain = reads_plain;
        self
    }

    /// A commit with all of its values sealed. What is `known` is the same checkpoint as it is stored, what is `kept` are
    /// events as they are.
    fn seal(&self, commit: &Commit, known: Option<&Known>, kept: &[Kept]) -> Result<Commit> {
        let mut pass = self.pass(Way::Seal, &commit.lease.thread, &commit.namespace);
        pass.checkpoint = commit.checkpoint.as_ref().map(|checkpoint| checkpoint.id);
        let checkpoint = commit.checkpoint.as_ref().map(|checkpoint| record(&pass, checkpoint, known)).transpose()?;
        let changes = commit.changes.iter().map(|change| field(&pass, change, known)).collect::<Result<_>>()?;
        let mut pending = commit.pending.clone();
        for pending in &mut pending {
            Pass { checkpoint: Some(pending.checkpoint), ..pass }.pending(pending)?;
        }
        Ok(Commit {
            lease: commit.lease.clone(),
            namespace: commit.namespace.clone(),
            checkpoint,
            changes,
            state: commit.state.as_ref().map(|state| self.copies(commit, state, known)),
            pending,
            status: commit.status,
            events: commit
                .events
                .iter()
                .map(|event| self.seal_event(pass.thread, event, kept))
                .collect::<Result<_>>()?,
            inside: Vec::new(),
        })
    }

    /// As `seal`, with what graphs inside have done; `known` has one place for each, the commit itself last.
    fn seal_all(&self, commit: &Commit, known: &[Option<Known>], kept: &[Kept]) -> Result<Commit> {
        let at = |index: usize| known.get(index).and_then(Option::as_ref);
        let inside = commit.inside.iter().enumerate().map(|(index, commit)| self.seal(commit, at(index), kept));
        let inside = inside.collect::<Result<_>>()?;
        Ok(Commit { inside, ..self.seal(commit, at(commit.inside.len()), kept)? })
    }

    /// An event belongs to its thread and has its number there, whichever graph said it.
    fn seal_event(&self, thread: &ThreadId, event: &StoredEvent, kept: &[Kept]) -> Result<StoredEvent> {
        let is_same = |(stored, opened): &&Kept| opened == event && stored.body != event.body;
        if let Some((stored, _)) = kept.iter().find(is_same) {
            return Ok(stored.clone());
        }
        let mut sealed = event.clone();
        self.pass(Way::Seal, thread, &Namespace::root()).event(&mut sealed)?;
        Ok(sealed)
    }

    fn open_event(&self, thread: &ThreadId, mut event: StoredEvent) -> Result<StoredEvent> {
        self.pass(Way::Open { plain: self.reads_plain }, thread, &Namespace::root()).event(&mut event)?;
        Ok(event)
    }

    /// Whole values for the store inside, sealed when it asks for one. Without one it keeps the change, so a value that
    /// cannot be sealed is no reason to hand it over as it is.
    fn copies(&self, commit: &Commit, state: &StateRef, known: Option<&Known>) -> StateRef {
        let (ring, namespace, thread) = (self.ring.clone(), commit.namespace.clone(), commit.lease.thread.clone());
        let (whole, known) = (state.clone(), known.cloned());
        StateRef::through(state.schema.clone(), move |field| {
            let mut part = whole.full(field)?;
            let stored = known.as_ref().and_then(|known| known.find(field, &Change::Set, &part));
            if let Some((_, stored)) = stored {
                return Some(stored);
            }
            let (thread, namespace) = (&thread, &namespace);
            let pass = Pass { ring: &ring, way: Way::Seal, thread, namespace, checkpoint: None };
            pass.field(field, &mut Change::Set, &mut part).ok().map(|()| part)
        })
    }

    fn open(&self, thread: &ThreadId, namespace: &Namespace, mut loaded: Loaded) -> Result<Loaded> {
        let mut pass = self.pass(Way::Open { plain: self.reads_plain }, thread, namespace);
        pass.checkpoint = Some(loaded.checkpoint.id);
        pass.record(&mut loaded.checkpoint)?;
        for (field, log) in &mut loaded.fields {
            for (change, part) in log {
                pass.field(field, change, part)?;
            }
        }
        loaded.pending.iter_mut().try_for_each(|pending| pass.pending(pending))?;
        Ok(loaded)
    }

    fn pass<'a>(&'a self, way: Way, thread: &'a ThreadId, namespace: &'a Namespace) -> Pass<'a> {
        Pass { ring: &self.ring, way, thread, namespace, checkpoint: None }
    }

    /// The checkpoint of a commit as it is stored, where it is.
    async fn known(&self, commit: &Commit) -> Option<Known> {
        let (thread, namespace, id) = (&commit.lease.thread, &commit.namespace, commit.checkpoint.as_ref()?.id);
        let stored = self.store.load(thread, namespace, At::Id(id)).await.ok()??;
        let opened = self.open(thread, namespace, stored.clone()).ok()?;
        Some(Known { stored: Arc::new(stored), opened: Arc::new(opened) })
    }

    /// The events of a commit as they are stored, where they are.
    async fn kept(&self, commit: &Commit) -> Vec<Kept> {
        let thread = &commit.lease.thread;
        let Ok(events) = events_in_order(commit.inside.iter().chain([commit])) else { return Vec::new() };
        let Some(first) = events.first() else { return Vec::new() };
        let query = EventsQuery { after: Some(first.number - 1), limit: Some(events.len()), run: None };
        let stored = self.store.events(thread, &query).await.unwrap_or_default();
        let opened = stored.into_iter().map(|stored| Some((stored.clone(), self.open_event(thread, stored).ok()?)));
        opened.flatten().collect()
    }

    /// Sends a refused commit once more, with what is stored of it in the form in which it is stored.
    ///
    /// A store knows a repeated commit by its content, and sealing twice gives two contents.
    async fn repeat(&self, commit: &Commit, refusal: Error) -> Result<()> {
        let mut known = Vec::with_capacity(commit.inside.len() + 1);
        for part in commit.inside.iter().chain([commit]) {
            known.push(self.known(part).await);
        }
        let kept = self.kept(commit).await;
        if known.iter().all(Option::is_none) && kept.is_empty() {
            return Err(refusal);
        }
        self.store.commit(&self.seal_all(commit, &known, &kept)?).await
    }
}

/// An event that is stored already: as it is, and opened.
type Kept = (StoredEvent, StoredEvent);

/// A checkpoint that is stored already: as it is, and opened. Where both are equal it is stored in the clear, and what is
/// in the clear never goes down again.
#[derive(Clone)]
struct Known {
    stored: Arc<Loaded>,
    opened: Arc<Loaded>,
}

impl Known {
    /// The stored form of this change, when it is the last of its field.
    fn find(&self, field: &str, change: &Change, part: &Datum) -> Option<(Change, Datum)> {
        let place = self.opened.fields.iter().position(|(name, _)| **name == *field)?;
        let (opened, stored) = (self.opened.fields[place].1.last()?, self.stored.fields[place].1.last()?);
        let is_same = opened.0 == *change && opened.1 == *part && stored.1 != *part;
        is_same.then(|| stored.clone())
    }
}

fn record(pass: &Pass<'_>, checkpoint: &Arc<Checkpoint>, known: Option<&Known>) -> Result<Arc<Checkpoint>> {
    let is_same =
        |known: &&Known| known.opened.checkpoint == *checkpoint && known.stored.checkpoint != known.opened.checkpoint;
    if let Some(known) = known.filter(is_same) {
        return Ok(known.stored.checkpoint.clone());
    }
    let mut checkpoint = checkpoint.clone();
    pass.record(&mut checkpoint)?;
    Ok(checkpoint)
}

fn field(pass: &Pass<'_>, change: &FieldChange, known: Option<&Known>) -> Result<FieldChange> {
    let mut sealed = change.clone();
    match known.and_then(|known| known.find(&change.field, &change.change, &change.part)) {
        Some((change, part)) => (sealed.change, sealed.part) = (change, part),
        None => pass.field(&change.field, &mut sealed.change, &mut sealed.part)?,
    }
    Ok(sealed)
}

/// Whether a store may have refused a commit because it has it already: not when it is busy or cannot be reached.
fn may_be_repeated(commit: &Commit, refusal: &Error) -> bool {
    let tells = |part: &Commit| part.checkpoint.is_some() || !part.events.is_empty();
    commit.inside.iter().chain([commit]).any(tells) && !refusal.is_retryable() && refusal.code() != Code::ThreadBusy
}

impl<C: Checkpointer> Checkpointer for Sealed<C> {
    forward_checkpointer!(this => this.store; acquire, release, threads, status, namespaces);
    forward_checkpointer!(this => this.store; delete_thread, prune, stats, last_event, forget_events);

    async fn commit(&self, commit: &Commit) -> Result<()> {
        let sealed = self.seal_all(commit, &[], &[])?;
        let saved = self.store.commit(&sealed).await;
        drop(sealed);
        match saved {
            Err(refusal) if may_be_repeated(commit, &refusal) => self.repeat(commit, refusal).await,
            saved => saved,
        }
    }

    /// A value is bound to its thread, so that of the copy is another one.
    async fn copy_thread(&self, from: &ThreadId, to: &ThreadId) -> Result<()> {
        if !to.is_valid() {
            return Err(refusal::invalid(to));
        }
        let status = self.store.status(from).await?.ok_or_else(|| refusal::nothing_to_copy(from))?;
        let (events, last) = (self.events(from, &EventsQuery::default()).await?, self.store.last_event(from).await?);
        let mut copy = ThreadCopy { thread: from.clone(), status, checkpoints: Vec::new(), events };
        walk_thread(self, from, |copied| {
            copy.checkpoints.push(copied);
            Ok(())
        })
        .await?;
        if self.store.last_event(from).await? != last {
            return Err(refusal::moved(from));
        }
        let mut bits = [0; 16];
        getrandom::fill(&mut bits).map_err(|error| Error::internal(format!("no randomness: {error}")))?;
        // The last number stays known in the copy, too, when its event was forgotten.
        let is_forgotten = copy.events.is_empty() && last > 0;
        if is_forgotten {
            copy.events.push(StoredEvent { number: last, run: RunId::from_bits(0), body: Datum::json(Value::Null) });
        }
        put_thread(self, copy.renamed(to.clone()), RunId::from_bits(u128::from_le_bytes(bits))).await?;
        if is_forgotten { self.store.forget_events(to, last).await } else { Ok(()) }
    }

    async fn events(&self, thread: &ThreadId, query: &EventsQuery) -> Result<Vec<StoredEvent>> {
        let events = self.store.events(thread, query).await?;
        events.into_iter().map(|event| self.open_event(thread, event)).collect()
    }

    async fn load(&self, thread: &ThreadId, namespace: &Namespace, at: At) -> Result<Option<Loaded>> {
        let loaded = self.store.load(thread, namespace, at).await?;
        loaded.map(|loaded| self.open(thread, namespace, loaded)).transpose()
    }

    async fn history(&self, thread: &ThreadId, namespace: &Namespace, query: &HistoryQuery) -> Result<Vec<Loaded>> {
        let listed = self.store.history(thread, namespace, query).await?;
        listed.into_iter().map(|loaded| self.open(thread, namespace, loaded)).collect()
    }
}
