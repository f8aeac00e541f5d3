//! The port that persists threads.
//!
//! A checkpointer is a log of changes: each commit contains only what changed, with access to the full value of a
//! field if the checkpointer wants a full copy. Every commit contains the fence of its lease; a checkpointer
//! rejects a commit if its lease is no longer the newest of its thread.

use std::collections::BTreeMap;
use std::sync::{Arc, Weak};

use serde_json::Value;
use smallvec::SmallVec;

use super::{BoxFuture, EventsQuery, Retention, StoredEvent};
use crate::change::Change;
use crate::checkpoint::{
    Checkpoint, CheckpointHeader, CheckpointNamespace, CheckpointSource, FieldChange, PendingEntry, RunInfo,
};
use crate::error::Result;
use crate::field::AnyState;
use crate::id::{CheckpointId, RunId, ThreadId};
use crate::schema::Schema;
use crate::value::AnyValue;

/// An exclusive write lease on a thread, valid until another run takes it over.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Lease {
    /// Id of the thread.
    pub thread: ThreadId,
    /// Fencing number: increases with each acquisition and is compared on every write.
    pub fence: u64,
}

/// A state together with its schema.
#[derive(Clone)]
pub struct StateRef {
    /// Schema of the state.
    pub schema: Arc<Schema>,
    /// Values of the state.
    pub state: Arc<AnyState>,
}

impl StateRef {
    /// Creates a state that returns full values only through `copy`, for a checkpointer that wraps another one
    /// which must not see the original values.
    pub fn from_full_values(
        schema: Arc<Schema>,
        copy: impl Fn(&str) -> Option<AnyValue> + Send + Sync + 'static,
    ) -> Self {
        Self { schema, state: Arc::new(FullValueSource(Box::new(copy))) }
    }

    /// Returns the full value of a field, for a full copy. A checkpointer that receives `None` stores the change
    /// instead.
    #[must_use]
    pub fn full_value(&self, field: &str) -> Option<AnyValue> {
        if let Some(FullValueSource(copy)) = self.state.downcast_ref() {
            return copy(field);
        }
        let id = self.schema.find(field)?;
        Some(self.schema.field(id).ops.delta(&*self.state, &Change::Set))
    }
}

/// A placeholder in the position of a state: only [`StateRef::full_value`] returns values.
struct FullValueSource(Box<FullValueFn>);

type FullValueFn = dyn Fn(&str) -> Option<AnyValue> + Send + Sync;

/// The status of a thread.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum ThreadStatus {
    /// No run is active.
    #[default]
    Idle,
    /// A run is active.
    Busy,
    /// An interrupt waits for a resume value.
    Interrupted,
    /// The last run failed.
    Error,
}

impl ThreadStatus {
    /// Returns the number that a checkpointer stores. A number is never reused.
    #[must_use]
    pub const fn number(self) -> u8 {
        match self {
            Self::Idle => 1,
            Self::Busy => 2,
            Self::Interrupted => 3,
            Self::Error => 4,
        }
    }

    /// Returns the status for a stored number.
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

/// One transaction: everything in it is saved, or nothing.
#[derive(Clone)]
pub struct Commit {
    /// Lease that permits the write.
    pub lease: Lease,
    /// Namespace of the graph.
    pub namespace: CheckpointNamespace,
    /// The new latest checkpoint, if there is one.
    pub checkpoint: Option<Arc<Checkpoint>>,
    /// Changes since its parent, in the order of fields.
    pub changes: SmallVec<[FieldChange; 2]>,
    /// State after the changes, for full copies. Must not be retained: the next superstep changes it in place. A
    /// commit from the write-behind queue has none, or one with only the fields that a checkpointer has requested
    /// before; the first change of a field is then always a `Set`.
    pub state: Option<StateRef>,
    /// Pending entries of tasks, each with the id of its checkpoint.
    pub pending: Vec<PendingEntry>,
    /// Status of the thread after this commit.
    pub status: Option<ThreadStatus>,
    /// Events of the run for the journal. The numbers in a commit, including its nested commits, are above all
    /// earlier numbers of the thread. A repeated commit adds no event twice; it is recognised by its checkpoint, or
    /// without a checkpoint by equal stored events.
    pub events: Vec<StoredEvent>,
    /// Commits of subgraphs, in order, to be applied before the rest of this commit in the same transaction. Each
    /// has the same lease; one may build on another, and none contains further nested commits.
    pub subgraph_commits: Vec<Commit>,
}

impl Commit {
    /// Creates a commit without content.
    #[must_use]
    pub fn empty(lease: Lease, namespace: CheckpointNamespace) -> Self {
        let (changes, pending, events, subgraph_commits) = (SmallVec::new(), Vec::new(), Vec::new(), Vec::new());
        Self {
            lease,
            namespace,
            checkpoint: None,
            changes,
            state: None,
            pending,
            status: None,
            events,
            subgraph_commits,
        }
    }
}

/// The selector of a checkpoint.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CheckpointSelector {
    /// The newest by order of commit.
    Latest,
    /// The newest, for a reader that has the values of this one: if it is the newest, a checkpointer may leave out
    /// its values.
    NewerThan(CheckpointId),
    /// The checkpoint with this id.
    Id(CheckpointId),
}

/// The changes that produce the value of a field, oldest first; the first is a `Set`.
pub type FieldLog = Vec<(Change, AnyValue)>;

/// A checkpoint as read from a checkpointer.
#[derive(Debug, Clone)]
pub struct CheckpointTuple {
    /// Checkpoint, without its values.
    pub checkpoint: Arc<Checkpoint>,
    /// Changes that produce the value of each field.
    pub fields: Vec<(Arc<str>, FieldLog)>,
    /// Pending entries of the tasks of its next superstep, in commit order.
    pub pending: Vec<PendingEntry>,
}

/// A filter for the history of a thread.
#[derive(Debug, Clone, Default)]
pub struct HistoryQuery {
    /// Only checkpoints committed before this one.
    pub before: Option<CheckpointId>,
    /// Maximum number of checkpoints.
    pub limit: Option<usize>,
    /// Only checkpoints with this cause.
    pub source: Option<CheckpointSource>,
    /// Only checkpoints of this step.
    pub step: Option<i64>,
    /// Only checkpoints of this run.
    pub run: Option<RunId>,
    /// Only checkpoints whose metadata has these values.
    pub metadata: BTreeMap<String, Value>,
}

impl HistoryQuery {
    /// Returns true if a checkpoint matches, without regard to `before` and `limit`.
    #[must_use]
    pub fn matches(&self, checkpoint: &Checkpoint) -> bool {
        self.matches_values((checkpoint.source, checkpoint.step), checkpoint.run, &checkpoint.metadata)
    }

    /// Same as [`HistoryQuery::matches`], before a checkpoint is assembled from its columns.
    #[must_use]
    pub fn matches_columns(&self, header: &CheckpointHeader, run_info: &RunInfo) -> bool {
        self.matches_values((header.source, header.step), run_info.run, &run_info.metadata)
    }

    fn matches_values(
        &self,
        (source, step): (CheckpointSource, i64),
        run: RunId,
        metadata: &BTreeMap<String, Value>,
    ) -> bool {
        self.source.is_none_or(|expected| expected == source)
            && self.step.is_none_or(|expected| expected == step)
            && self.run.is_none_or(|expected| expected == run)
            && self.metadata.iter().all(|(key, value)| metadata.get(key) == Some(value))
    }
}

/// A filter for the list of threads.
#[derive(Debug, Clone, Default)]
pub struct ThreadsQuery {
    /// Only threads whose id sorts after this one, which need not exist.
    pub after: Option<ThreadId>,
    /// Maximum number of threads.
    pub limit: Option<usize>,
}

/// The result of pruning; with a dry run, the result it would have.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct PruneReport {
    /// Number of removed checkpoints.
    pub checkpoints: usize,
    /// Number of removed bytes, as far as the checkpointer knows.
    pub bytes: u64,
}

/// The size of the data in a checkpointer.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct CheckpointerStats {
    /// Number of threads.
    pub threads: u64,
    /// Number of checkpoints.
    pub checkpoints: u64,
    /// Bytes of values, as far as the checkpointer knows.
    pub bytes: u64,
}

/// Persistence of threads. Implement it with `async fn`; the engine boxes each call once.
///
/// The contract of every implementation is the test suite `testing::checkpointer`, behind the feature `testing`. A
/// checkpointer that wraps another one implements the methods it changes and delegates the others with
/// [`delegate_checkpointer!`](crate::delegate_checkpointer).
pub trait Checkpointer: Send + Sync + 'static {
    /// Acquires the lease on a thread, unless another run has it.
    fn acquire(&self, thread: &ThreadId, run: RunId) -> impl Future<Output = Result<Lease>> + Send;

    /// Releases the lease. Called from `drop`, so it does not wait; a lost release is repaired by the lease
    /// timeout.
    fn release(&self, lease: &Lease);

    /// Makes one transaction durable, completely or not at all.
    fn commit(&self, commit: &Commit) -> impl Future<Output = Result<()>> + Send;

    /// Returns a checkpoint of a thread, or `None`.
    fn load(
        &self,
        thread: &ThreadId,
        namespace: &CheckpointNamespace,
        at: CheckpointSelector,
    ) -> impl Future<Output = Result<Option<CheckpointTuple>>> + Send;

    /// Returns checkpoints of a thread, newest first.
    fn history(
        &self,
        thread: &ThreadId,
        namespace: &CheckpointNamespace,
        query: &HistoryQuery,
    ) -> impl Future<Output = Result<Vec<CheckpointTuple>>> + Send;

    /// Returns the ids of the threads that exist, which are those with at least one commit; ascending, byte by
    /// byte.
    fn threads(&self, query: &ThreadsQuery) -> impl Future<Output = Result<Vec<ThreadId>>> + Send;

    /// Returns the status of a thread, or `None` if there is no such thread.
    fn status(&self, thread: &ThreadId) -> impl Future<Output = Result<Option<ThreadStatus>>> + Send;

    /// Returns the namespaces of all graphs that have checkpoints on a thread.
    fn namespaces(&self, thread: &ThreadId) -> impl Future<Output = Result<Vec<CheckpointNamespace>>> + Send;

    /// Deletes everything of a thread. Rejected while a run holds the lease.
    fn delete_thread(&self, thread: &ThreadId) -> impl Future<Output = Result<()>> + Send;

    /// Copies everything of a thread to one that does not exist yet.
    fn copy_thread(&self, from: &ThreadId, to: &ThreadId) -> impl Future<Output = Result<()>> + Send;

    /// Removes old checkpoints; the others stay complete.
    fn prune(&self, thread: &ThreadId, retention: &Retention) -> impl Future<Output = Result<PruneReport>> + Send;

    /// Returns the size of the stored data.
    fn stats(&self) -> impl Future<Output = Result<CheckpointerStats>> + Send;

    /// Returns journaled events of a thread, in the order of their numbers.
    fn events(&self, thread: &ThreadId, query: &EventsQuery) -> impl Future<Output = Result<Vec<StoredEvent>>> + Send;

    /// Returns the number of the last event ever journaled on a thread, even if it was deleted since; 0 if there
    /// was none.
    fn last_event_number(&self, thread: &ThreadId) -> impl Future<Output = Result<u64>> + Send;

    /// Deletes events up to and including a number. No other method deletes events, except the deletion of the
    /// thread.
    fn delete_events(&self, thread: &ThreadId, up_to: u64) -> impl Future<Output = Result<()>> + Send;
}

/// A shared, type-erased checkpointer, as used by the engine.
#[derive(Clone)]
pub struct SharedCheckpointer(Arc<dyn DynCheckpointer>);

impl SharedCheckpointer {
    /// Wraps a checkpointer.
    pub fn new(checkpointer: impl Checkpointer) -> Self {
        Self(Arc::new(checkpointer))
    }
}

/// A weak reference to a checkpointer, which does not keep it open.
#[derive(Clone)]
pub struct WeakCheckpointer(Weak<dyn DynCheckpointer>);

impl WeakCheckpointer {
    /// Returns true if the reference is to this checkpointer.
    #[must_use]
    pub fn is_same(&self, checkpointer: &SharedCheckpointer) -> bool {
        std::ptr::addr_eq(self.0.as_ptr(), Arc::as_ptr(&checkpointer.0))
    }

    /// Returns true if the checkpointer was dropped.
    #[must_use]
    pub fn is_dropped(&self) -> bool {
        self.0.strong_count() == 0
    }
}

impl From<&SharedCheckpointer> for WeakCheckpointer {
    fn from(checkpointer: &SharedCheckpointer) -> Self {
        Self(Arc::downgrade(&checkpointer.0))
    }
}

impl<C: Checkpointer> From<C> for SharedCheckpointer {
    fn from(checkpointer: C) -> Self {
        Self::new(checkpointer)
    }
}

macro_rules! erased_checkpointer {
    ($($(#[$doc:meta])* fn $name:ident(&self $(, $argument:ident: $kind:ty)*) -> $output:ty;)*) => {
        trait DynCheckpointer: Send + Sync {
            fn release(&self, lease: &Lease);
            $(fn $name<'a>(&'a self $(, $argument: $kind)*) -> BoxFuture<'a, Result<$output>>;)*
        }

        impl<C: Checkpointer> DynCheckpointer for C {
            fn release(&self, lease: &Lease) { Checkpointer::release(self, lease) }
            $(fn $name<'a>(&'a self $(, $argument: $kind)*) -> BoxFuture<'a, Result<$output>> {
                Box::pin(Checkpointer::$name(self $(, $argument)*))
            })*
        }

        impl SharedCheckpointer {
            /// Releases the lease on a thread.
            pub fn release(&self, lease: &Lease) { self.0.release(lease) }
            $($(#[$doc])* pub fn $name<'a>(&'a self $(, $argument: $kind)*) -> BoxFuture<'a, Result<$output>> {
                self.0.$name($($argument),*)
            })*
        }
    };
}

erased_checkpointer! {
    /// Calls [`Checkpointer::acquire`].
    fn acquire(&self, thread: &'a ThreadId, run: RunId) -> Lease;
    /// Calls [`Checkpointer::commit`].
    fn commit(&self, commit: &'a Commit) -> ();
    /// Calls [`Checkpointer::load`].
    fn load(&self, thread: &'a ThreadId, namespace: &'a CheckpointNamespace, at: CheckpointSelector) -> Option<CheckpointTuple>;
    /// Calls [`Checkpointer::history`].
    fn history(&self, thread: &'a ThreadId, namespace: &'a CheckpointNamespace, query: &'a HistoryQuery) -> Vec<CheckpointTuple>;
    /// Calls [`Checkpointer::threads`].
    fn threads(&self, query: &'a ThreadsQuery) -> Vec<ThreadId>;
    /// Calls [`Checkpointer::status`].
    fn status(&self, thread: &'a ThreadId) -> Option<ThreadStatus>;
    /// Calls [`Checkpointer::namespaces`].
    fn namespaces(&self, thread: &'a ThreadId) -> Vec<CheckpointNamespace>;
    /// Calls [`Checkpointer::delete_thread`].
    fn delete_thread(&self, thread: &'a ThreadId) -> ();
    /// Calls [`Checkpointer::copy_thread`].
    fn copy_thread(&self, from: &'a ThreadId, to: &'a ThreadId) -> ();
    /// Calls [`Checkpointer::prune`].
    fn prune(&self, thread: &'a ThreadId, retention: &'a Retention) -> PruneReport;
    /// Calls [`Checkpointer::stats`].
    fn stats(&self) -> CheckpointerStats;
    /// Calls [`Checkpointer::events`].
    fn events(&self, thread: &'a ThreadId, query: &'a EventsQuery) -> Vec<StoredEvent>;
    /// Calls [`Checkpointer::last_event_number`].
    fn last_event_number(&self, thread: &'a ThreadId) -> u64;
    /// Calls [`Checkpointer::delete_events`].
    fn delete_events(&self, thread: &'a ThreadId, up_to: u64) -> ();
}
