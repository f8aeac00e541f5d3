//! Encryption at rest: a checkpointer that wraps another one, which sees only encrypted values.
//!
//! This module decides which values are encrypted and when; the encryption of bytes is in `key`, the conversion of one
//! value and its associated data in `value_cipher`, the list of values of a checkpoint in `crate::value_visitor`.
//! Stores nothing itself, and never passes a value on in plaintext.

use std::sync::Arc;

use serde_json::Value;
use superstep_core::change::Change;
use superstep_core::checkpoint::{Checkpoint, CheckpointNamespace, FieldChange, ThreadExport};
use superstep_core::delegate_checkpointer;
use superstep_core::error::{Error, ErrorCode, Result};
use superstep_core::id::{RunId, ThreadId};
use superstep_core::port::{
    CheckpointSelector, CheckpointTuple, Checkpointer, Commit, EventsQuery, HistoryQuery, StateRef, StoredEvent,
    errors, export_thread, import_thread, sort_events,
};
use superstep_core::value::AnyValue;

mod key;
mod value_cipher;

pub use key::EncryptionKey;

use key::KeyRing;
use value_cipher::{CipherDirection, ValueCipher};

use crate::value_visitor::ValueVisitor as _;

/// A checkpointer that encrypts every value before it reaches the wrapped checkpointer, and decrypts it when it is
/// read.
///
/// Encrypted with XChaCha20-Poly1305, each value with its own nonce:
///
/// - values of fields, and changed keys of maps,
/// - writes and sends of tasks, including those to parent graphs, and results recorded by `once`,
/// - payloads, texts and schemas of interrupts, and resume values,
/// - texts of errors,
/// - bodies of events.
///
/// Not encrypted are names (of threads, graphs, nodes, fields, interrupts and `once` keys), ids, steps, times,
/// metadata, error codes, numbers and runs of events, the number of changed list items, and the length of a value. Do
/// not put secrets into those.
///
/// A value is bound to its thread, its namespace, its field and the change it is part of, or to its checkpoint, task
/// and entry: it cannot be decrypted anywhere else. So a copy of a thread is encrypted again, with the newest key. An
/// attacker with write access to the store can still restore an older value of the same field, and remove whole rows.
///
/// The wrapped checkpointer receives plain data: typed values that the engine keeps in an in-memory checkpointer are
/// returned as if they were read from disk.
///
/// ```
/// use superstep::prelude::*;
/// use superstep_adapters::encrypted::{EncryptionKey, EncryptedCheckpointer};
///
/// #[derive(GraphState, Clone, Serialize, Deserialize)]
/// struct Visit {
///     patient: String,
/// }
///
/// # fn key_from_your_vault() -> [u8; 32] { [7; 32] }
/// let store = MemoryCheckpointer::new();
/// let mut graph = StateGraph::<Visit>::new("visit");
/// let greet = graph.add_node("greet", |visit: View<Visit>| Visit::update().patient(format!("Ms {}", visit.patient)));
/// graph.add_edge(START, greet).add_edge(greet, END);
/// graph.checkpointer(EncryptedCheckpointer::new(store.clone(), EncryptionKey::from_bytes(key_from_your_vault())));
/// let visit = graph.compile()?;
///
/// assert_eq!(visit.invoke(Visit::input().patient("Noor")).thread("v-1").wait_blocking()?.state.patient, "Ms Noor");
/// # Ok::<(), superstep::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct EncryptedCheckpointer<C> {
    store: C,
    ring: Arc<KeyRing>,
    allow_plaintext: bool,
}

impl<C: Checkpointer> EncryptedCheckpointer<C> {
    /// Wraps `store` and encrypts new values with `key`.
    #[must_use]
    pub fn new(store: C, key: EncryptionKey) -> Self {
        Self { store, ring: Arc::new(KeyRing::new(key)), allow_plaintext: false }
    }

    /// Adds a key for decryption only.
    #[must_use]
    pub fn with_decryption_key(mut self, key: EncryptionKey) -> Self {
        Arc::make_mut(&mut self.ring).decryption_keys.push(key);
        self
    }

    /// Sets a function that looks up decryption keys by their [id](EncryptionKey::key_id), for keys in a vault.
    /// Returned keys are cached.
    #[must_use]
    pub fn key_lookup(mut self, find: impl Fn(&str) -> Option<EncryptionKey> + Send + Sync + 'static) -> Self {
        Arc::make_mut(&mut self.ring).find = Some(Arc::new(find));
        self
    }

    /// Accepts values that were saved before encryption was enabled. Default: rejected.
    ///
    /// Intended for the migration only: while it is enabled, an attacker with write access to the store can replace
    /// an encrypted value with a plaintext one.
    #[must_use]
    pub fn allow_plaintext(mut self, is_allowed: bool) -> Self {
        self.allow_plaintext = is_allowed;
        self
    }

    /// Encrypts all values of a commit. `stored_pair` is its checkpoint, and `stored_events` are its events, if they
    /// are already stored.
    fn encrypt_commit(
        &self,
        commit: &Commit,
        stored_pair: Option<&StoredCheckpointPair>,
        stored_events: &[StoredEventPair],
    ) -> Result<Commit> {
        let mut cipher = self.cipher(CipherDirection::Encrypt, &commit.lease.thread, &commit.namespace);
        cipher.checkpoint = commit.checkpoint.as_ref().map(|checkpoint| checkpoint.id);
        let checkpoint =
            commit.checkpoint.as_ref().map(|checkpoint| record(&cipher, checkpoint, stored_pair)).transpose()?;
        let changes = commit.changes.iter().map(|change| field(&cipher, change, stored_pair)).collect::<Result<_>>()?;
        let mut pending = commit.pending.clone();
        for pending in &mut pending {
            ValueCipher { checkpoint: Some(pending.checkpoint), ..cipher }.pending(pending)?;
        }
        Ok(Commit {
            lease: commit.lease.clone(),
            namespace: commit.namespace.clone(),
            checkpoint,
            changes,
            state: commit.state.as_ref().map(|state| self.encrypted_state(commit, state, stored_pair)),
            pending,
            status: commit.status,
            events: commit
                .events
                .iter()
                .map(|event| self.encrypt_event(cipher.thread, event, stored_events))
                .collect::<Result<_>>()?,
            subgraph_commits: Vec::new(),
        })
    }

    /// Encrypts a commit like `encrypt_commit`, including its subgraph commits. `stored_pairs` has one element for each
    /// subgraph commit, followed by the one of the commit itself.
    fn encrypt_with_subgraphs(
        &self,
        commit: &Commit,
        stored_pairs: &[Option<StoredCheckpointPair>],
        stored_events: &[StoredEventPair],
    ) -> Result<Commit> {
        let at = |index: usize| stored_pairs.get(index).and_then(Option::as_ref);
        let subgraph_commits = commit
            .subgraph_commits
            .iter()
            .enumerate()
            .map(|(index, commit)| self.encrypt_commit(commit, at(index), stored_events));
        let subgraph_commits = subgraph_commits.collect::<Result<_>>()?;
        Ok(Commit {
            subgraph_commits,
            ..self.encrypt_commit(commit, at(commit.subgraph_commits.len()), stored_events)?
        })
    }

    /// Encrypts an event, which is bound to its thread and its number, independent of the namespace that published it.
    fn encrypt_event(
        &self,
        thread: &ThreadId,
        event: &StoredEvent,
        stored_events: &[StoredEventPair],
    ) -> Result<StoredEvent> {
        let is_same = |(stored, decrypted): &&StoredEventPair| decrypted == event && stored.payload != event.payload;
        if let Some((stored, _)) = stored_events.iter().find(is_same) {
            return Ok(stored.clone());
        }
        let mut encrypted = event.clone();
        self.cipher(CipherDirection::Encrypt, thread, &CheckpointNamespace::root()).event(&mut encrypted)?;
        Ok(encrypted)
    }

    fn decrypt_event(&self, thread: &ThreadId, mut event: StoredEvent) -> Result<StoredEvent> {
        self.cipher(CipherDirection::Decrypt { plain: self.allow_plaintext }, thread, &CheckpointNamespace::root())
            .event(&mut event)?;
        Ok(event)
    }

    /// Returns encrypted full values on request of the wrapped checkpointer. A value that cannot be encrypted is not
    /// returned; the wrapped checkpointer then uses the change.
    fn encrypted_state(
        &self,
        commit: &Commit,
        state: &StateRef,
        stored_pair: Option<&StoredCheckpointPair>,
    ) -> StateRef {
        let (ring, namespace, thread) = (self.ring.clone(), commit.namespace.clone(), commit.lease.thread.clone());
        let (full_state, stored_pair) = (state.clone(), stored_pair.cloned());
        StateRef::from_full_values(state.schema.clone(), move |field| {
            let mut part = full_state.full_value(field)?;
            let stored = stored_pair.as_ref().and_then(|pair| pair.find(field, &Change::Set, &part));
            if let Some((_, stored)) = stored {
                return Some(stored);
            }
            let (thread, namespace) = (&thread, &namespace);
            let cipher =
                ValueCipher { ring: &ring, direction: CipherDirection::Encrypt, thread, namespace, checkpoint: None };
            cipher.field(field, &mut Change::Set, &mut part).ok().map(|()| part)
        })
    }

    fn decrypt_tuple(
        &self,
        thread: &ThreadId,
        namespace: &CheckpointNamespace,
        mut tuple: CheckpointTuple,
    ) -> Result<CheckpointTuple> {
        let mut cipher = self.cipher(CipherDirection::Decrypt { plain: self.allow_plaintext }, thread, namespace);
        cipher.checkpoint = Some(tuple.checkpoint.id);
        cipher.record(&mut tuple.checkpoint)?;
        for (field, log) in &mut tuple.fields {
            for (change, part) in log {
                cipher.field(field, change, part)?;
            }
        }
        tuple.pending.iter_mut().try_for_each(|pending| cipher.pending(pending))?;
        Ok(tuple)
    }

    fn cipher<'a>(
        &'a self,
        direction: CipherDirection,
        thread: &'a ThreadId,
        namespace: &'a CheckpointNamespace,
    ) -> ValueCipher<'a> {
        ValueCipher { ring: &self.ring, direction, thread, namespace, checkpoint: None }
    }

    /// Returns the checkpoint of a commit as stored, if it is stored already.
    async fn stored_checkpoint(&self, commit: &Commit) -> Option<StoredCheckpointPair> {
        let (thread, namespace, id) = (&commit.lease.thread, &commit.namespace, commit.checkpoint.as_ref()?.id);
        let stored = self.store.load(thread, namespace, CheckpointSelector::Id(id)).await.ok()??;
        let decrypted = self.decrypt_tuple(thread, namespace, stored.clone()).ok()?;
        Some(StoredCheckpointPair { stored: Arc::new(stored), decrypted: Arc::new(decrypted) })
    }

    /// Returns the events of a commit as stored, if they are stored already.
    async fn stored_events(&self, commit: &Commit) -> Vec<StoredEventPair> {
        let thread = &commit.lease.thread;
        let Ok(events) = sort_events(commit.subgraph_commits.iter().chain([commit])) else { return Vec::new() };
        let Some(first) = events.first() else { return Vec::new() };
        let query = EventsQuery { after: Some(first.number - 1), limit: Some(events.len()), run: None };
        let stored = self.store.events(thread, &query).await.unwrap_or_default();
        let decrypted =
            stored.into_iter().map(|stored| Some((stored.clone(), self.decrypt_event(thread, stored).ok()?)));
        decrypted.flatten().collect()
    }

    /// Repeats a rejected commit with the stored ciphertexts of the parts that are stored already.
    ///
    /// A checkpointer recognizes a repeated commit by its content, and encrypting twice results in two contents.
    async fn resend_with_stored_form(&self, commit: &Commit, error: Error) -> Result<()> {
        let mut stored_pairs = Vec::with_capacity(commit.subgraph_commits.len() + 1);
        for part in commit.subgraph_commits.iter().chain([commit]) {
            stored_pairs.push(self.stored_checkpoint(part).await);
        }
        let stored_events = self.stored_events(commit).await;
        if stored_pairs.iter().all(Option::is_none) && stored_events.is_empty() {
            return Err(error);
        }
        self.store.commit(&self.encrypt_with_subgraphs(commit, &stored_pairs, &stored_events)?).await
    }
}

/// A stored event: encrypted and decrypted.
type StoredEventPair = (StoredEvent, StoredEvent);

/// A stored checkpoint: encrypted and decrypted. If both are equal, it is stored in plaintext, which is never written
/// again.
#[derive(Clone)]
struct StoredCheckpointPair {
    stored: Arc<CheckpointTuple>,
    decrypted: Arc<CheckpointTuple>,
}

impl StoredCheckpointPair {
    /// Returns the stored form of this change if it is the last one of its field.
    fn find(&self, field: &str, change: &Change, part: &AnyValue) -> Option<(Change, AnyValue)> {
        let index = self.decrypted.fields.iter().position(|(name, _)| **name == *field)?;
        let (decrypted, stored) = (self.decrypted.fields[index].1.last()?, self.stored.fields[index].1.last()?);
        let is_same = decrypted.0 == *change && decrypted.1 == *part && stored.1 != *part;
        is_same.then(|| stored.clone())
    }
}

fn record(
    cipher: &ValueCipher<'_>,
    checkpoint: &Arc<Checkpoint>,
    stored_pair: Option<&StoredCheckpointPair>,
) -> Result<Arc<Checkpoint>> {
    let is_same = |pair: &&StoredCheckpointPair| {
        pair.decrypted.checkpoint == *checkpoint && pair.stored.checkpoint != pair.decrypted.checkpoint
    };
    if let Some(pair) = stored_pair.filter(is_same) {
        return Ok(pair.stored.checkpoint.clone());
    }
    let mut checkpoint = checkpoint.clone();
    cipher.record(&mut checkpoint)?;
    Ok(checkpoint)
}

fn field(
    cipher: &ValueCipher<'_>,
    change: &FieldChange,
    stored_pair: Option<&StoredCheckpointPair>,
) -> Result<FieldChange> {
    let mut encrypted = change.clone();
    match stored_pair.and_then(|pair| pair.find(&change.field, &change.change, &change.delta)) {
        Some((change, part)) => (encrypted.change, encrypted.delta) = (change, part),
        None => cipher.field(&change.field, &mut encrypted.change, &mut encrypted.delta)?,
    }
    Ok(encrypted)
}

/// Returns true if a commit may have been rejected because it is stored already, not because the thread is busy or
/// the store unreachable.
fn may_be_repeated(commit: &Commit, error: &Error) -> bool {
    let has_checkpoint_or_events = |part: &Commit| part.checkpoint.is_some() || !part.events.is_empty();
    commit.subgraph_commits.iter().chain([commit]).any(has_checkpoint_or_events)
        && !error.is_retryable()
        && error.code() != ErrorCode::ThreadBusy
}

impl<C: Checkpointer> Checkpointer for EncryptedCheckpointer<C> {
    delegate_checkpointer!(this => this.store; acquire, release, threads, status, namespaces);
    delegate_checkpointer!(this => this.store; delete_thread, prune, stats, last_event_number, delete_events);

    async fn commit(&self, commit: &Commit) -> Result<()> {
        let encrypted = self.encrypt_with_subgraphs(commit, &[], &[])?;
        let saved = self.store.commit(&encrypted).await;
        drop(encrypted);
        match saved {
            Err(error) if may_be_repeated(commit, &error) => self.resend_with_stored_form(commit, error).await,
            saved => saved,
        }
    }

    /// Copies a thread by decrypting and encrypting it, because values are bound to their thread.
    async fn copy_thread(&self, from: &ThreadId, to: &ThreadId) -> Result<()> {
        if !to.is_valid() {
            return Err(errors::invalid_thread_id(to));
        }
        let status = self.store.status(from).await?.ok_or_else(|| errors::source_thread_not_found(from))?;
        let (events, last) =
            (self.events(from, &EventsQuery::default()).await?, self.store.last_event_number(from).await?);
        let mut copy = ThreadExport { thread: from.clone(), status, checkpoints: Vec::new(), events };
        export_thread(self, from, |copied| {
            copy.checkpoints.push(copied);
            Ok(())
        })
        .await?;
        if self.store.last_event_number(from).await? != last {
            return Err(errors::thread_changed_while_reading(from));
        }
        let mut bits = [0; 16];
        getrandom::fill(&mut bits)
            .map_err(|error| Error::internal(format!("the system returned no random bytes: {error}")))?;
        // The copy must know the last event number even if that event was deleted.
        let needs_placeholder = copy.events.is_empty() && last > 0;
        if needs_placeholder {
            copy.events.push(StoredEvent {
                number: last,
                run: RunId::from_bits(0),
                payload: AnyValue::json(Value::Null),
            });
        }
        import_thread(self, copy.with_thread_id(to.clone()), RunId::from_bits(u128::from_le_bytes(bits))).await?;
        if needs_placeholder { self.store.delete_events(to, last).await } else { Ok(()) }
    }

    async fn events(&self, thread: &ThreadId, query: &EventsQuery) -> Result<Vec<StoredEvent>> {
        let events = self.store.events(thread, query).await?;
        events.into_iter().map(|event| self.decrypt_event(thread, event)).collect()
    }

    async fn load(
        &self,
        thread: &ThreadId,
        namespace: &CheckpointNamespace,
        at: CheckpointSelector,
    ) -> Result<Option<CheckpointTuple>> {
        let tuple = self.store.load(thread, namespace, at).await?;
        tuple.map(|tuple| self.decrypt_tuple(thread, namespace, tuple)).transpose()
    }

    async fn history(
        &self,
        thread: &ThreadId,
        namespace: &CheckpointNamespace,
        query: &HistoryQuery,
    ) -> Result<Vec<CheckpointTuple>> {
        let listed = self.store.history(thread, namespace, query).await?;
        listed.into_iter().map(|tuple| self.decrypt_tuple(thread, namespace, tuple)).collect()
    }
}
