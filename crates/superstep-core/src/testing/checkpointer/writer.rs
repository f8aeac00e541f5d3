//! Writes a thread as the engine does, so that a check contains only its own subject.
//!
//! Applies updates to a state and commits the changes. The two schemas have the same fields: one stores plain JSON,
//! the other a Rust struct, whose deltas are native values.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::{Map, Value, json};
use smallvec::SmallVec;

use crate::apply::{ApplyOptions, FieldSet, TaskUpdate, apply};
use crate::change::Change;
use crate::checkpoint::{
    Checkpoint, CheckpointNamespace, CheckpointSource, FORMAT_VERSION, FieldChange, PendingEntry, TaskEntry,
};
use crate::error::Result;
use crate::field::{AnyState, Field, FieldAccess, FieldOps, TypedField};
use crate::id::{CheckpointId, RunId, TaskId, ThreadId};
use crate::message::Messages;
use crate::port::{
    CheckpointSelector, CheckpointTuple, Commit, HistoryQuery, Lease, SharedCheckpointer, StateRef, ThreadStatus,
};
use crate::reducer::{Add, AddMessages, Append, FieldValue, KeepLast, Merge, Reducer, Replace};
use crate::schema::Schema;
use crate::state::TypedState;

/// Returns a checkpoint id.
pub(super) fn id(number: u128) -> CheckpointId {
    CheckpointId::from_bits(number)
}

/// Returns a run id.
pub(super) fn run(number: u128) -> RunId {
    RunId::from_bits(number)
}

/// Returns a schema of plain JSON.
pub(super) fn plain() -> Arc<Schema> {
    let fields = json!({
        "count": { "type": "integer", "reducer": "add", "default": 0 },
        "title": { "type": "string", "default": "" },
        "log": { "type": "array", "reducer": "append", "default": [] },
        "recent": { "type": "array", "reducer": "keep_last:3", "default": [] },
        "notes": { "type": "object", "reducer": "merge", "default": {} },
        "data": { "type": "any" },
        "chat": { "type": "messages" },
    });
    Schema::from_json("plain", &fields).expect("the schema of the suite is valid")
}

#[derive(Clone, Default)]
struct Typed {
    count: i64,
    title: String,
    log: Vec<String>,
    recent: Vec<String>,
    notes: BTreeMap<String, Value>,
    data: Value,
    chat: Messages,
}

/// Returns the same fields in a Rust struct.
pub(super) fn typed() -> Arc<Schema> {
    let mut fields = plain().fields().to_vec();
    for field in &mut fields {
        field.ops = typed_ops(field);
    }
    let schema = Schema::new("typed", 1, fields, Arc::new(TypedState(Typed::default)));
    Arc::new(schema.expect("the schema of the suite is valid"))
}

fn typed_ops(field: &Field) -> Arc<dyn FieldOps> {
    fn ops<T: FieldValue + Default, R: Reducer<T>>(
        get: fn(&Typed) -> &T,
        get_mut: fn(&mut Typed) -> &mut T,
        _reducer: R,
    ) -> Arc<dyn FieldOps> {
        Arc::new(TypedField::<Typed, T, R>::new(FieldAccess { get, get_mut, initial: T::default }, |_| false))
    }
    match &*field.name {
        "count" => ops(|state| &state.count, |state| &mut state.count, Add),
        "title" => ops(|state| &state.title, |state| &mut state.title, Replace),
        "log" => ops(|state| &state.log, |state| &mut state.log, Append),
        "recent" => ops(|state| &state.recent, |state| &mut state.recent, KeepLast::<3>),
        "notes" => ops(|state| &state.notes, |state| &mut state.notes, Merge),
        "data" => ops(|state| &state.data, |state| &mut state.data, Replace),
        _ => ops(|state| &state.chat, |state| &mut state.chat, AddMessages),
    }
}

/// Returns the values of a stored checkpoint.
pub(super) fn stored_values(schema: &Schema, loaded: &CheckpointTuple) -> Value {
    let state = restore(schema, loaded);
    schema.to_json(&*state).expect("stored values can be written as JSON")
}

fn restore(schema: &Schema, loaded: &CheckpointTuple) -> Arc<AnyState> {
    let mut state = schema.initial_state();
    let target = Arc::get_mut(&mut state).expect("a new state has a single owner");
    for (name, log) in &loaded.fields {
        let field = schema.field(schema.find(name).expect("a stored field is in the schema"));
        for (change, delta) in log {
            let restored = field.ops.apply_delta(target, change, delta.clone());
            restored.unwrap_or_else(|error| panic!("field `{name}` of {}: {error}", loaded.checkpoint.id));
        }
    }
    state
}

/// The writer of one graph on one thread.
#[derive(Clone)]
pub(super) struct Writer {
    pub(super) checkpointer: SharedCheckpointer,
    pub(super) lease: Lease,
    pub(super) schema: Arc<Schema>,
    pub(super) state: Arc<AnyState>,
    pub(super) namespace: CheckpointNamespace,
    pub(super) latest: Option<CheckpointId>,
    pub(super) step: i64,
    pub(super) next_id: u128,
    pub(super) source: CheckpointSource,
    pub(super) run: RunId,
    pub(super) time: i64,
    pub(super) metadata: BTreeMap<String, Value>,
}

impl Writer {
    /// Starts a thread of plain JSON.
    pub(super) async fn open(checkpointer: &SharedCheckpointer, thread: &str) -> Self {
        Self::with_schema(checkpointer, thread, plain()).await
    }

    /// Starts a thread with a schema.
    pub(super) async fn with_schema(checkpointer: &SharedCheckpointer, thread: &str, schema: Arc<Schema>) -> Self {
        let lease =
            checkpointer.acquire(&thread.into(), run(1)).await.expect("the lease on a free thread can be acquired");
        let state = schema.initial_state();
        Self::with_lease(checkpointer, lease, schema, state)
    }

    /// Starts with a lease that was acquired already.
    pub(super) fn with_lease(
        checkpointer: &SharedCheckpointer,
        lease: Lease,
        schema: Arc<Schema>,
        state: Arc<AnyState>,
    ) -> Self {
        Self {
            checkpointer: checkpointer.clone(),
            lease,
            state,
            schema,
            namespace: CheckpointNamespace::root(),
            latest: None,
            step: 0,
            next_id: 1,
            source: CheckpointSource::Loop,
            run: run(1),
            time: 1_700_000_000_000_000,
            metadata: BTreeMap::new(),
        }
    }

    /// Returns a writer of a subgraph, on the same thread.
    pub(super) fn subgraph(&self, segment: &str) -> Self {
        let (namespace, state) = (self.namespace.child(segment), self.schema.initial_state());
        Self { namespace, state, latest: None, step: 0, next_id: 1, ..self.clone() }
    }

    /// Returns a writer that continues from an older checkpoint, as read from the checkpointer.
    pub(super) async fn fork(&self, at: CheckpointId) -> Self {
        let loaded = self.loaded(CheckpointSelector::Id(at)).await;
        let state = restore(&self.schema, &loaded);
        Self {
            state,
            latest: Some(at),
            step: loaded.checkpoint.step + 1,
            next_id: self.next_id + 1_000,
            ..self.clone()
        }
    }

    pub(super) fn thread(&self) -> &ThreadId {
        &self.lease.thread
    }

    /// Builds a commit that applies an update, not sent yet.
    pub(super) fn build_commit(&mut self, update: Value) -> Commit {
        let Value::Object(update) = update else { panic!("an update is an object") };
        let changes = if self.latest.is_none() {
            self.apply_update(update);
            self.all_fields()
        } else {
            self.apply_update(update)
        };
        Commit {
            lease: self.lease.clone(),
            namespace: self.namespace.clone(),
            checkpoint: Some(Arc::new(self.checkpoint())),
            changes,
            state: Some(StateRef { schema: self.schema.clone(), state: self.state.clone() }),
            pending: Vec::new(),
            status: None,
            events: Vec::new(),
            subgraph_commits: Vec::new(),
        }
    }

    fn apply_update(&mut self, update: Map<String, Value>) -> SmallVec<[FieldChange; 2]> {
        let schema = self.schema.clone();
        let update = schema.update_from_json(update, &mut Vec::new()).expect("the update fits the schema");
        let task = TaskUpdate { node: "node".into(), update };
        let applied = apply(&schema, &mut self.state, &mut FieldSet::default(), [task], ApplyOptions::default());
        let changes = applied.expect("the update can be applied").changes;
        changes.into_iter().map(|(field, change)| self.field_change(schema.field(field), change)).collect()
    }

    fn all_fields(&self) -> SmallVec<[FieldChange; 2]> {
        self.schema.fields().iter().map(|field| self.field_change(field, Change::Set)).collect()
    }

    fn field_change(&self, field: &Field, change: Change) -> FieldChange {
        FieldChange { field: field.name.clone(), delta: field.ops.delta(&*self.state, &change), change }
    }

    /// Builds the next checkpoint.
    pub(super) fn checkpoint(&self) -> Checkpoint {
        Checkpoint {
            format: FORMAT_VERSION,
            id: id(self.next_id),
            parent: self.latest,
            thread: self.lease.thread.clone(),
            namespace: self.namespace.clone(),
            step: self.step,
            source: self.source,
            run: self.run,
            time: self.time,
            graph: "suite".into(),
            schema_version: 1,
            next_tasks: Vec::new(),
            joins: Vec::new(),
            deferred: Vec::new(),
            written_fields: Vec::new(),
            parent_task: None,
            changes_since_input: None,
            metadata: Arc::new(self.metadata.clone()),
        }
    }

    /// Sends a commit and continues from its checkpoint.
    pub(super) async fn send(&mut self, commit: Commit) -> CheckpointId {
        self.checkpointer.commit(&commit).await.expect("a valid commit is accepted");
        self.latest = commit.checkpoint.as_ref().map(|checkpoint| checkpoint.id);
        (self.next_id, self.step, self.time) = (self.next_id + 1, self.step + 1, self.time + 1);
        self.latest.expect("the commit has a checkpoint")
    }

    /// Commits one step.
    pub(super) async fn step(&mut self, update: Value) -> CheckpointId {
        let commit = self.build_commit(update);
        self.send(commit).await
    }

    /// Commits steps that increment a counter.
    pub(super) async fn steps(&mut self, number: usize) -> Vec<CheckpointId> {
        let mut ids = Vec::new();
        for _ in 0..number {
            ids.push(self.step(json!({ "count": 1 })).await);
        }
        ids
    }

    /// Builds a commit without a checkpoint.
    pub(super) fn entries_commit(&self, pending: Vec<PendingEntry>, status: Option<ThreadStatus>) -> Commit {
        let (lease, namespace) = (self.lease.clone(), self.namespace.clone());
        Commit { pending, status, ..Commit::empty(lease, namespace) }
    }

    /// Commits a pending entry of a task.
    pub(super) async fn commit_entry(&self, checkpoint: CheckpointId, task: u128, entry: TaskEntry) {
        let pending = vec![pending_entry(checkpoint, task, entry)];
        self.checkpointer.commit(&self.entries_commit(pending, None)).await.expect("a valid entry is accepted");
    }

    /// Commits a status of the thread.
    pub(super) async fn set_status(&self, status: ThreadStatus) {
        self.checkpointer.commit(&self.entries_commit(Vec::new(), Some(status))).await.expect("a status is accepted");
    }

    /// Returns the expected values.
    pub(super) fn values(&self) -> Value {
        self.schema.to_json(&*self.state).expect("the state can be written as JSON")
    }

    /// Returns a stored checkpoint that must exist.
    pub(super) async fn loaded(&self, at: CheckpointSelector) -> CheckpointTuple {
        self.find(at).await.expect("loading works").expect("the checkpoint is there")
    }

    /// Returns a stored checkpoint, if it exists.
    pub(super) async fn find(&self, at: CheckpointSelector) -> Result<Option<CheckpointTuple>> {
        self.checkpointer.load(&self.lease.thread, &self.namespace, at).await
    }

    /// Returns the values of a stored checkpoint.
    pub(super) async fn stored(&self, at: CheckpointSelector) -> Value {
        stored_values(&self.schema, &self.loaded(at).await)
    }

    /// Returns a part of the history.
    pub(super) async fn history(&self, query: &HistoryQuery) -> Vec<CheckpointTuple> {
        self.checkpointer.history(&self.lease.thread, &self.namespace, query).await.expect("listing works")
    }

    /// Returns the ids of a part of the history.
    pub(super) async fn history_ids(&self, query: &HistoryQuery) -> Vec<u128> {
        self.history(query).await.iter().map(|loaded| loaded.checkpoint.id.bits()).collect()
    }

    /// Releases the lease on the thread.
    pub(super) fn close(self) {
        self.checkpointer.release(&self.lease);
    }
}

/// Builds a pending entry of a task.
pub(super) fn pending_entry(checkpoint: CheckpointId, task: u128, entry: TaskEntry) -> PendingEntry {
    PendingEntry { checkpoint, task: TaskId::from_bits(task), node: format!("node-{task}").into(), entry }
}
