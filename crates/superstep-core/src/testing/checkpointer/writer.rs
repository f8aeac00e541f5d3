//! Writes a thread as the engine would, so that a check says only what it is about.
//!
//! Folds updates into a state and commits the changes. The two schemas have the same fields: one keeps plain JSON, the
//! other a Rust struct, whose parts are live values.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::{Map, Value, json};
use smallvec::SmallVec;

use crate::apply::{FieldSet, FoldRules, TaskUpdate, apply};
use crate::change::Change;
use crate::checkpoint::{Checkpoint, Entry, FORMAT_VERSION, FieldChange, Namespace, Pending, Source};
use crate::error::Result;
use crate::field::{Access, AnyState, Field, FieldOps, TypedField};
use crate::id::{CheckpointId, RunId, TaskId, ThreadId};
use crate::message::Messages;
use crate::port::{At, Commit, HistoryQuery, Lease, Loaded, SharedCheckpointer, StateRef, ThreadStatus};
use crate::reducer::{Add, AddMessages, Append, FieldValue, KeepLast, Merge, Reducer, Replace};
use crate::schema::Schema;
use crate::state::TypedState;

/// A checkpoint id.
pub(super) fn id(number: u128) -> CheckpointId {
    CheckpointId::from_bits(number)
}

/// A run id.
pub(super) fn run(number: u128) -> RunId {
    RunId::from_bits(number)
}

/// A schema of plain JSON.
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

/// The same fields in a Rust struct.
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
        Arc::new(TypedField::<Typed, T, R>::new(Access { get, get_mut, initial: T::default }, |_| false))
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

/// The values of a stored checkpoint.
pub(super) fn read(schema: &Schema, loaded: &Loaded) -> Value {
    let state = restore(schema, loaded);
    schema.to_json(&*state).expect("stored values can be written as JSON")
}

fn restore(schema: &Schema, loaded: &Loaded) -> Arc<AnyState> {
    let mut state = schema.initial_state();
    let target = Arc::get_mut(&mut state).expect("a new state has one owner");
    for (name, log) in &loaded.fields {
        let field = schema.field(schema.find(name).expect("a stored field is in the schema"));
        for (change, part) in log {
            let restored = field.ops.restore(target, change, part.clone());
            restored.unwrap_or_else(|fault| panic!("field `{name}` of {}: {fault}", loaded.checkpoint.id));
        }
    }
    state
}

/// One graph on one thread, being written.
#[derive(Clone)]
pub(super) struct Writer {
    pub(super) store: SharedCheckpointer,
    pub(super) lease: Lease,
    pub(super) schema: Arc<Schema>,
    pub(super) state: Arc<AnyState>,
    pub(super) namespace: Namespace,
    pub(super) head: Option<CheckpointId>,
    pub(super) step: i64,
    pub(super) next: u128,
    pub(super) source: Source,
    pub(super) run: RunId,
    pub(super) time: i64,
    pub(super) metadata: BTreeMap<String, Value>,
}

impl Writer {
    /// Begins a thread of plain JSON.
    pub(super) async fn open(store: &SharedCheckpointer, thread: &str) -> Self {
        Self::with(store, thread, plain()).await
    }

    /// Begins a thread with a schema.
    pub(super) async fn with(store: &SharedCheckpointer, thread: &str, schema: Arc<Schema>) -> Self {
        let lease = store.acquire(&thread.into(), run(1)).await.expect("a free thread can be taken");
        let state = schema.initial_state();
        Self::on(store, lease, schema, state)
    }

    /// Begins with a lease that was taken already.
    pub(super) fn on(store: &SharedCheckpointer, lease: Lease, schema: Arc<Schema>, state: Arc<AnyState>) -> Self {
        Self {
            store: store.clone(),
            lease,
            state,
            schema,
            namespace: Namespace::root(),
            head: None,
            step: 0,
            next: 1,
            source: Source::Loop,
            run: run(1),
            time: 1_700_000_000_000_000,
            metadata: BTreeMap::new(),
        }
    }

    /// A graph inside this one, on the same thread.
    pub(super) fn inside(&self, segment: &str) -> Self {
        let (namespace, state) = (self.namespace.child(segment), self.schema.initial_state());
        Self { namespace, state, head: None, step: 0, next: 1, ..self.clone() }
    }

    /// A writer that goes on from an older checkpoint, as the store gives it back.
    pub(super) async fn fork(&self, at: CheckpointId) -> Self {
        let loaded = self.loaded(At::Id(at)).await;
        let state = restore(&self.schema, &loaded);
        Self { state, head: Some(at), step: loaded.checkpoint.step + 1, next: self.next + 1_000, ..self.clone() }
    }

    pub(super) fn thread(&self) -> &ThreadId {
        &self.lease.thread
    }

    /// A commit that folds an update, not sent yet.
    pub(super) fn draft(&mut self, update: Value) -> Commit {
        let Value::Object(update) = update else { panic!("an update is an object") };
        let changes = if self.head.is_none() {
            self.fold(update);
            self.everything()
        } else {
            self.fold(update)
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
            inside: Vec::new(),
        }
    }

    fn fold(&mut self, update: Map<String, Value>) -> SmallVec<[FieldChange; 2]> {
        let schema = self.schema.clone();
        let update = schema.read_update(update, &mut Vec::new()).expect("the update fits the schema");
        let task = TaskUpdate { node: "node".into(), update };
        let applied = apply(&schema, &mut self.state, &mut FieldSet::default(), [task], FoldRules::default());
        let changes = applied.expect("the update folds").changes;
        changes.into_iter().map(|(field, change)| self.field_change(schema.field(field), change)).collect()
    }

    fn everything(&self) -> SmallVec<[FieldChange; 2]> {
        self.schema.fields().iter().map(|field| self.field_change(field, Change::Set)).collect()
    }

    fn field_change(&self, field: &Field, change: Change) -> FieldChange {
        FieldChange { field: field.name.clone(), part: field.ops.part(&*self.state, &change), change }
    }

    /// The record of the next checkpoint.
    pub(super) fn checkpoint(&self) -> Checkpoint {
        Checkpoint {
            format: FORMAT_VERSION,
            id: id(self.next),
            parent: self.head,
            thread: self.lease.thread.clone(),
            namespace: self.namespace.clone(),
            step: self.step,
            source: self.source,
            run: self.run,
            time: self.time,
            graph: "suite".into(),
            schema_version: 1,
            due: Vec::new(),
            joins: Vec::new(),
            deferred: Vec::new(),
            written: Vec::new(),
            outer_task: None,
            since_input: None,
            metadata: Arc::new(self.metadata.clone()),
        }
    }

    /// Sends a commit and goes on from its checkpoint.
    pub(super) async fn send(&mut self, commit: Commit) -> CheckpointId {
        self.store.commit(&commit).await.expect("a good commit is taken");
        self.head = commit.checkpoint.as_ref().map(|checkpoint| checkpoint.id);
        (self.next, self.step, self.time) = (self.next + 1, self.step + 1, self.time + 1);
        self.head.expect("the commit has a checkpoint")
    }

    /// Saves one step.
    pub(super) async fn step(&mut self, update: Value) -> CheckpointId {
        let commit = self.draft(update);
        self.send(commit).await
    }

    /// Saves steps that count up.
    pub(super) async fn steps(&mut self, number: usize) -> Vec<CheckpointId> {
        let mut ids = Vec::new();
        for _ in 0..number {
            ids.push(self.step(json!({ "count": 1 })).await);
        }
        ids
    }

    /// A commit without a checkpoint.
    pub(super) fn note(&self, pending: Vec<Pending>, status: Option<ThreadStatus>) -> Commit {
        let (lease, namespace) = (self.lease.clone(), self.namespace.clone());
        Commit { pending, status, ..Commit::empty(lease, namespace) }
    }

    /// Saves what is known of a task.
    pub(super) async fn know(&self, checkpoint: CheckpointId, task: u128, entry: Entry) {
        let pending = vec![known(checkpoint, task, entry)];
        self.store.commit(&self.note(pending, None)).await.expect("a good entry is taken");
    }

    /// Saves how the thread stands.
    pub(super) async fn stand(&self, status: ThreadStatus) {
        self.store.commit(&self.note(Vec::new(), Some(status))).await.expect("a status is taken");
    }

    /// The values as they should be now.
    pub(super) fn values(&self) -> Value {
        self.schema.to_json(&*self.state).expect("the state can be written as JSON")
    }

    /// A stored checkpoint that must be there.
    pub(super) async fn loaded(&self, at: At) -> Loaded {
        self.find(at).await.expect("loading works").expect("the checkpoint is there")
    }

    /// A stored checkpoint, where there is one.
    pub(super) async fn find(&self, at: At) -> Result<Option<Loaded>> {
        self.store.load(&self.lease.thread, &self.namespace, at).await
    }

    /// The values of a stored checkpoint.
    pub(super) async fn stored(&self, at: At) -> Value {
        read(&self.schema, &self.loaded(at).await)
    }

    /// A part of the history.
    pub(super) async fn history(&self, query: &HistoryQuery) -> Vec<Loaded> {
        self.store.history(&self.lease.thread, &self.namespace, query).await.expect("listing works")
    }

    /// The ids of a part of the history.
    pub(super) async fn listed(&self, query: &HistoryQuery) -> Vec<u128> {
        self.history(query).await.iter().map(|loaded| loaded.checkpoint.id.bits()).collect()
    }

    /// Gives the thread back.
    pub(super) fn close(self) {
        self.store.release(&self.lease);
    }
}

/// What is known of a task of a checkpoint.
pub(super) fn known(checkpoint: CheckpointId, task: u128, entry: Entry) -> Pending {
    Pending { checkpoint, task: TaskId::from_bits(task), node: format!("node-{task}").into(), entry }
}
