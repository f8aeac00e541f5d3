//! Where checkpoints are kept.
//!
//! The store is a log of changes: each commit carries only what changed, with a way to ask for a whole
//! field when the store wants a full copy. Every commit carries the fence of its lease; a store refuses
//! one whose lease is no longer the newest of its thread.

use std::collections::BTreeMap;
use std::sync::{Arc, Weak};

use serde_json::Value;
use smallvec::SmallVec;

use super::{BoxFuture, EventsQuery, Retention, StoredEvent};
use crate::change::Change;
use crate::checkpoint::{Checkpoint, FieldChange, Mark, Namespace, Origin, Pending, Source};
use crate::datum::Datum;
use crate::error::Result;
use crate::field::AnyState;
use crate::id::{CheckpointId, RunId, ThreadId};
use crate::schema::Schema;

/// The right to move a thread, until somebody takes it over.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Lease {
    /// The thread.
    pub thread: ThreadId,
    /// Rises with each acquisition; compared with every write.
    pub fence: u64,
}

/// A state together with its schema.
#[derive(Clone)]
pub struct StateRef {
    /// The schema.
    pub schema: Arc<Schema>,
    /// The values.
    pub state: Arc<AnyState>,
}

impl StateRef {
    /// A state that gives whole values through `copy` and in no other way: for a store around another one that must
    /// not see the values as they are.
    pub fn through(schema: Arc<Schema>, copy: impl Fn(&str) -> Option<Datum> + Send + Sync + 'static) -> Self {
        Self { schema, state: Arc::new(Copies(Box::new(copy))) }
    }

    /// The whole value of a field, for a full copy. A store that gets `None` keeps the change instead.
    #[must_use]
    pub fn full(&self, field: &str) -> Option<Datum> {
        if let Some(Copies(copy)) = self.state.downcast_ref() {
            return copy(field);
        }
        let id = self.schema.find(field)?;
        Some(self.schema.field(id).ops.part(&*self.state, &Change::Set))
    }
}

/// Stands where a state would: whoever looks past [`StateRef::full`] finds no values.
struct Copies(Box<CopyField>);

type CopyField = dyn Fn(&str) -> Option<Datum> + Send + Sync;

/// How a thread stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum ThreadStatus {
    /// Nothing is going on.
    #[default]
    Idle,
    /// A run moves it.
    Busy,
    /// It waits for a person.
    Interrupted,
    /// The last run failed.
    Error,
}

impl ThreadStatus {
    /// The number a store keeps. A number is never reused.
    #[must_use]
    pub const fn number(self) -> u8 {
        match self {
            Self::Idle => 1,
            Self::Busy => 2,
            Self::Interrupted => 3,
            Self::Error => 4,
        }
    }

    /// What a store's number stands for.
    #[must_use]
    pub const fn from_number(number: u8) -> Option<Self> {
        Some(match number {
            1 => Self::Idle,
            2 => Self::Busy,
            3 => Self::Interrupted,
            4 => Self::Error,
            _ => return None,
        })
    }
}

/// One transaction: all of it, or nothing.
#[derive(Clone)]
pub struct Commit {
    /// The right to write.
    pub lease: Lease,
    /// The path of the graph.
    pub namespace: Namespace,
    /// The new newest checkpoint, where there is one.
    pub checkpoint: Option<Arc<Checkpoint>>,
    /// What changed since its parent, in the order of fields.
    pub changes: SmallVec<[FieldChange; 2]>,
    /// The state after the changes, for full copies. Not to be kept: the next superstep changes it in place. A commit
    /// that had to wait has none, or one that gives only the fields a store has asked for before; the first change of a
    /// field is then always a `Set`.
    pub state: Option<StateRef>,
    /// What is known of tasks, each of the checkpoint it names.
    pub pending: Vec<Pending>,
    /// How the thread stands after this.
    pub status: Option<ThreadStatus>,
    /// What the run said that is kept. The numbers of a commit, those of its parts inside included, are above all that
    /// the thread ever had. A commit that is sent again brings none twice; it is known by its checkpoint, and without one
    /// by events that are kept as they are.
    pub events: Vec<StoredEvent>,
    /// What graphs inside have done, in the order it is to be taken, before what stands above; one transaction with it.
    /// Each is of the same lease; one may build on another, and none has more inside it.
    pub inside: Vec<Commit>,
}

impl Commit {
    /// A transaction that does nothing yet.
    #[must_use]
    pub fn empty(lease: Lease, namespace: Namespace) -> Self {
        let (changes, pending, events, inside) = (SmallVec::new(), Vec::new(), Vec::new(), Vec::new());
        Self { lease, namespace, checkpoint: None, changes, state: None, pending, status: None, events, inside }
    }
}

/// Which checkpoint.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum At {
    /// The newest by order of commit.
    Latest,
    /// The newest, by somebody who has the values of this one: when it is the newest, a store may leave out its values.
    Newer(CheckpointId),
    /// This one.
    Id(CheckpointId),
}

/// The changes that make the value of a field, oldest first; the first is a `Set`.
pub type FieldLog = Vec<(Change, Datum)>;

/// A checkpoint as a store gives it back.
#[derive(Debug, Clone)]
pub struct Loaded {
    /// The checkpoint.
    pub checkpoint: Arc<Checkpoint>,
    /// For each field what makes its value.
    pub fields: Vec<(Arc<str>, FieldLog)>,
    /// What is known of the tasks of its next superstep, in the order it became known.
    pub pending: Vec<Pending>,
}

/// Which part of a history.
#[derive(Debug, Clone, Default)]
pub struct HistoryQuery {
    /// Only checkpoints made before this one.
    pub before: Option<CheckpointId>,
    /// At most this many.
    pub limit: Option<usize>,
    /// Only checkpoints made by this.
    pub source: Option<Source>,
    /// Only checkpoints of this step.
    pub step: Option<i64>,
    /// Only checkpoints of this run.
    pub run: Option<RunId>,
    /// Only checkpoints whose metadata has these values.
    pub metadata: BTreeMap<String, Value>,
}

impl HistoryQuery {
    /// Whether a checkpoint is one that is asked for, place and number aside.
    #[must_use]
    pub fn matches(&self, checkpoint: &Checkpoint) -> bool {
        self.asks_for((checkpoint.source, checkpoint.step), checkpoint.run, &checkpoint.metadata)
    }

    /// As [`HistoryQuery::matches`], before a checkpoint is put together from its pieces.
    #[must_use]
    pub fn matches_pieces(&self, mark: &Mark, origin: &Origin) -> bool {
        self.asks_for((mark.source, mark.step), origin.run, &origin.metadata)
    }

    fn asks_for(&self, (source, step): (Source, i64), run: RunId, metadata: &BTreeMap<String, Value>) -> bool {
        self.source.is_none_or(|wanted| wanted == source)
            && self.step.is_none_or(|wanted| wanted == step)
            && self.run.is_none_or(|wanted| wanted == run)
            && self.metadata.iter().all(|(key, value)| metadata.get(key) == Some(value))
    }
}

/// Which threads.
#[derive(Debug, Clone, Default)]
pub struct ThreadsQuery {
    /// Only threads whose id comes after this one, which need not exist.
    pub after: Option<ThreadId>,
    /// At most this many.
    pub limit: Option<usize>,
}

/// What pruning did, or would do.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct PruneReport {
    /// Checkpoints that went.
    pub checkpoints: usize,
    /// Bytes that went, as far as the store knows.
    pub bytes: u64,
}

/// What a store holds.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Stats {
    /// Threads.
    pub threads: u64,
    /// Checkpoints.
    pub checkpoints: u64,
    /// Bytes of values, as far as the store knows.
    pub bytes: u64,
}

/// A place where checkpoints are kept. Write it with `async fn`; the engine boxes it once.
///
/// The promises every implementation keeps are the tests of `testing::checkpointer`, behind the feature `testing`.
/// A store around another one writes what it does differently and leaves the rest to
/// [`forward_checkpointer!`](crate::forward_checkpointer).
pub trait Checkpointer: Send + Sync + 'static {
    /// Takes the right to move a thread, unless another run has it.
    fn acquire(&self, thread: &ThreadId, run: RunId) -> impl Future<Output = Result<Lease>> + Send;

    /// Gives the right back. Called from `drop`, so it does not wait; a lost one lapses by itself.
    fn release(&self, lease: &Lease);

    /// Makes one transaction durable, whole or not at all.
    fn commit(&self, commit: &Commit) -> impl Future<Output = Result<()>> + Send;

    /// A checkpoint of a thread, or `None`.
    fn load(
        &self,
        thread: &ThreadId,
        namespace: &Namespace,
        at: At,
    ) -> impl Future<Output = Result<Option<Loaded>>> + Send;

    /// Checkpoints of a thread, newest first.
    fn history(
        &self,
        thread: &ThreadId,
        namespace: &Namespace,
        query: &HistoryQuery,
    ) -> impl Future<Output = Result<Vec<Loaded>>> + Send;

    /// The ids of the threads that exist, which is those something was saved on; ascending, byte by byte.
    fn threads(&self, query: &ThreadsQuery) -> impl Future<Output = Result<Vec<ThreadId>>> + Send;

    /// How a thread stands, or `None` when there is no such thread.
    fn status(&self, thread: &ThreadId) -> impl Future<Output = Result<Option<ThreadStatus>>> + Send;

    /// The paths of all graphs that have checkpoints on a thread.
    fn namespaces(&self, thread: &ThreadId) -> impl Future<Output = Result<Vec<Namespace>>> + Send;

    /// Removes everything of a thread. Refused while a run moves it.
    fn delete_thread(&self, thread: &ThreadId) -> impl Future<Output = Result<()>> + Send;

    /// Copies everything of a thread to one that does not exist yet.
    fn copy_thread(&self, from: &ThreadId, to: &ThreadId) -> impl Future<Output = Result<()>> + Send;

    /// Removes old checkpoints; those that stay remain whole.
    fn prune(&self, thread: &ThreadId, retention: &Retention) -> impl Future<Output = Result<PruneReport>> + Send;

    /// What the store holds.
    fn stats(&self) -> impl Future<Output = Result<Stats>> + Send;

    /// Events of a thread that were kept, in the order of their numbers.
    fn events(&self, thread: &ThreadId, query: &EventsQuery) -> impl Future<Output = Result<Vec<StoredEvent>>> + Send;

    /// The number of the last event that was ever kept on a thread, also when it is forgotten since; 0 when there was
    /// none.
    fn last_event(&self, thread: &ThreadId) -> impl Future<Output = Result<u64>> + Send;

    /// Removes events up to and including a number. Nothing else does, short of deleting the thread.
    fn forget_events(&self, thread: &ThreadId, up_to: u64) -> impl Future<Output = Result<()>> + Send;
}

/// A checkpointer behind one pointer: what the engine holds.
#[derive(Clone)]
pub struct SharedCheckpointer(Arc<dyn Erased>);

impl SharedCheckpointer {
    /// Puts a checkpointer behind a pointer.
    pub fn new(checkpointer: impl Checkpointer) -> Self {
        Self(Arc::new(checkpointer))
    }
}

/// A checkpointer that is known and not kept: whoever has this does not keep it open.
#[derive(Clone)]
pub struct KnownCheckpointer(Weak<dyn Erased>);

impl KnownCheckpointer {
    /// True when it is that one.
    #[must_use]
    pub fn is(&self, checkpointer: &SharedCheckpointer) -> bool {
        std::ptr::addr_eq(self.0.as_ptr(), Arc::as_ptr(&checkpointer.0))
    }

    /// True when nobody has it any more.
    #[must_use]
    pub fn is_gone(&self) -> bool {
        self.0.strong_count() == 0
    }
}

impl From<&SharedCheckpointer> for KnownCheckpointer {
    fn from(checkpointer: &SharedCheckpointer) -> Self {
        Self(Arc::downgrade(&checkpointer.0))
    }
}

impl<C: Checkpointer> From<C> for SharedCheckpointer {
    fn from(checkpointer: C) -> Self {
        Self::new(checkpointer)
    }
}

macro_rules! boxed {
    ($($(#[$doc:meta])* fn $name:ident(&self $(, $argument:ident: $kind:ty)*) -> $output:ty;)*) => {
        trait Erased: Send + Sync {
            fn release(&self, lease: &Lease);
            $(fn $name<'a>(&'a self $(, $argument: $kind)*) -> BoxFuture<'a, Result<$output>>;)*
        }

        impl<C: Checkpointer> Erased for C {
            fn release(&self, lease: &Lease) { Checkpointer::release(self, lease) }
            $(fn $name<'a>(&'a self $(, $argument: $kind)*) -> BoxFuture<'a, Result<$output>> {
                Box::pin(Checkpointer::$name(self $(, $argument)*))
            })*
        }

        impl SharedCheckpointer {
            /// Gives the right to move a thread back.
            pub fn release(&self, lease: &Lease) { self.0.release(lease) }
            $($(#[$doc])* pub fn $name<'a>(&'a self $(, $argument: $kind)*) -> BoxFuture<'a, Result<$output>> {
                self.0.$name($($argument),*)
            })*
        }
    };
}

boxed! {
    /// See [`Checkpointer::acquire`].
    fn acquire(&self, thread: &'a ThreadId, run: RunId) -> Lease;
    /// See [`Checkpointer::commit`].
    fn commit(&self, commit: &'a Commit) -> ();
    /// See [`Checkpointer::load`].
    fn load(&self, thread: &'a ThreadId, namespace: &'a Namespace, at: At) -> Option<Loaded>;
    /// See [`Checkpointer::history`].
    fn history(&self, thread: &'a ThreadId, namespace: &'a Namespace, query: &'a HistoryQuery) -> Vec<Loaded>;
    /// See [`Checkpointer::threads`].
    fn threads(&self, query: &'a ThreadsQuery) -> Vec<ThreadId>;
    /// See [`Checkpointer::status`].
    fn status(&self, thread: &'a ThreadId) -> Option<ThreadStatus>;
    /// See [`Checkpointer::namespaces`].
    fn namespaces(&self, thread: &'a ThreadId) -> Vec<Namespace>;
    /// See [`Checkpointer::delete_thread`].
    fn delete_thread(&self, thread: &'a ThreadId) -> ();
    /// See [`Checkpointer::copy_thread`].
    fn copy_thread(&self, from: &'a ThreadId, to: &'a ThreadId) -> ();
    /// See [`Checkpointer::prune`].
    fn prune(&self, thread: &'a ThreadId, retention: &'a Retention) -> PruneReport;
    /// See [`Checkpointer::stats`].
    fn stats(&self) -> Stats;
    /// See [`Checkpointer::events`].
    fn events(&self, thread: &'a ThreadId, query: &'a EventsQuery) -> Vec<StoredEvent>;
    /// See [`Checkpointer::last_event`].
    fn last_event(&self, thread: &'a ThreadId) -> u64;
    /// See [`Checkpointer::forget_events`].
    fn forget_events(&self, thread: &'a ThreadId, up_to: u64) -> ();
}
