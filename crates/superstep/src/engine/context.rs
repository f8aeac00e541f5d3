//! Context of a running task: identity, limits, interrupts, recorded results, event stream.
//!
//! Passed to nodes as [`TaskContext`], and in parts by the extractors of [`crate::graph::extract`]. The context itself
//! is not persisted; results that must survive a crash go through `once` and `task`.

use std::any::Any;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicI64, AtomicU32, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;

use serde_json::Value;
use superstep_core::checkpoint::{CheckpointNamespace, Interrupt, PendingEntry, TaskEntry};
use superstep_core::error::{Error, ErrorCode, Result};
use superstep_core::field::AnyState;
use superstep_core::graph::NodeSpec;
use superstep_core::id::{CheckpointId, RunId, TaskId, ThreadId, hash_id};
use superstep_core::machine::{Environment, ResumeValues, Task};
use superstep_core::port::{Clock, Commit, Lease, SharedCheckpointer};
use superstep_core::redaction::{Redaction, RedactionCounts};
use superstep_core::value::AnyValue;
use tracing::Span;

use crate::engine::driver::CommitInFlight;
use crate::engine::durability::{SubgraphCommitBuffer, WriteBehindQueue};
use crate::events::event::{EventPublisher, GraphRun};
use crate::graph::output::NodeError;
use crate::graph::program::{Program, ProgramNode};
use crate::run::control::RunControl;
use crate::store::SharedStore;
use crate::telemetry::{RunObserver, UsageTracker};

mod interrupt;
mod ordinals;
mod recorded;
mod store;
mod subtask;

pub use interrupt::Interrupts;
pub(crate) use ordinals::{Ordinal, OrdinalCounters, OrdinalKind};

/// State that all tasks of a run share.
pub(crate) struct RunShared {
    pub(crate) program: Arc<Program>,
    pub(crate) context: Arc<dyn Any + Send + Sync>,
    pub(crate) checkpointer: Option<SharedCheckpointer>,
    pub(crate) lease: Option<Lease>,
    /// Queue of pending commits, with asynchronous durability.
    pub(crate) write_behind: Option<WriteBehindQueue>,
    /// Buffer of subgraph commits, if they are written at the end of the run.
    pub(crate) subgraph_buffer: Option<SubgraphCommitBuffer>,
    /// Results that tasks of this graph recorded, if they are written at the end of the run.
    pub(crate) recorded_results: Option<Mutex<Vec<PendingEntry>>>,
    pub(crate) store: Option<SharedStore>,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) environment: Arc<dyn Environment>,
    pub(crate) control: Option<RunControl>,
    pub(crate) publisher: Option<EventPublisher>,
    /// Identity of this graph in events, if a subscriber is attached.
    pub(crate) graph: Option<Arc<GraphRun>>,
    pub(crate) thread: Option<ThreadId>,
    pub(crate) run: RunId,
    pub(crate) namespace: CheckpointNamespace,
    pub(crate) tags: Arc<[String]>,
    pub(crate) metadata: Arc<BTreeMap<String, Value>>,
    pub(crate) configurable: Arc<BTreeMap<String, Value>>,
    pub(crate) limits: RunLimits,
    pub(crate) usage: Arc<UsageTracker>,
    /// Number of commits in flight.
    pub(crate) commits_in_flight: Arc<AtomicUsize>,
    /// Warnings of subgraphs.
    pub(crate) warnings: Arc<Mutex<Vec<String>>>,
    /// The task that runs this graph, if the graph is a subgraph.
    pub(crate) parent_task: Option<TaskContext>,
    /// Observer of this graph, if telemetry is enabled.
    pub(crate) observer: Option<Arc<RunObserver>>,
}

impl RunShared {
    /// Returns the metadata of the run without private keys (`__`), which are visible to nodes only.
    pub(crate) fn saved_metadata(&self) -> Arc<BTreeMap<String, Value>> {
        let is_private = |key: &str| key.starts_with("__");
        if !self.metadata.keys().any(|key| is_private(key)) {
            return self.metadata.clone();
        }
        let saved = self.metadata.iter().filter(|(key, _)| !is_private(key));
        Arc::new(saved.map(|(key, value)| (key.clone(), value.clone())).collect())
    }

    /// Adds the warnings of this graph to the outcome of the root run, without duplicates.
    pub(crate) fn add_warnings(&self, warnings: &[String]) {
        let mut notes = lock(&self.warnings);
        for warning in warnings {
            let note = format!("graph `{}`: {warning}", self.program.topology.name);
            if !notes.contains(&note) {
                notes.push(note);
            }
        }
    }
}

/// Limits of a run.
#[derive(Debug, Clone)]
pub(crate) struct RunLimits {
    pub(crate) supersteps: u32,
    pub(crate) concurrency: usize,
    pub(crate) run_timeout: Option<Duration>,
    pub(crate) step_timeout: Option<Duration>,
    pub(crate) tokens: Option<u64>,
}

/// The context of a task, as passed to its node.
#[derive(Clone)]
pub struct TaskContext(pub(crate) Arc<TaskContextInner>);

pub(crate) struct TaskContextInner {
    pub(crate) shared: Arc<RunShared>,
    pub(crate) task: Task,
    attempt: AtomicU32,
    first_attempt: i64,
    pub(crate) cell: TaskLocals,
    pub(crate) failure: Option<NodeFailure>,
}

/// Mutable data of a task: its interrupts, recorded results and calls.
#[derive(Default)]
pub(crate) struct TaskLocals {
    interrupts: Mutex<Vec<Interrupt>>,
    recorded: Mutex<BTreeMap<String, AnyValue>>,
    /// Time of the last heartbeat in microseconds since 1970, for idle timeouts; 0 if no idle timeout is set.
    pub(crate) last_heartbeat: AtomicI64,
    pub(crate) ordinals: OrdinalCounters,
    /// Prefix of recorded keys, which separates those of an error handler from those of its node.
    pub(crate) key_prefix: &'static str,
    /// The part of the task to which this data belongs; `None` for the task itself.
    scope: Option<subtask::Subtask>,
    /// Redaction of the events and recorded results of this part.
    pub(crate) redaction: Option<Redaction>,
    /// The tracing span of the task, if a subscriber is enabled.
    span: OnceLock<Box<Span>>,
}

impl TaskLocals {
    /// Starts a new attempt, which raises the same interrupts again, in the same order.
    pub(crate) fn restart(&self) {
        lock(&self.interrupts).clear();
        self.ordinals.restart();
    }

    /// Creates the data of the error handler of a failed node. The handler sees the recorded results of the node, but
    /// has its own interrupts and nested runs.
    pub(crate) fn for_handler(&self) -> Self {
        let recorded = Mutex::new(lock(&self.recorded).clone());
        Self {
            recorded,
            ordinals: OrdinalCounters::from(FIRST_HANDLER_ORDINAL),
            key_prefix: "handler/",
            ..Self::default()
        }
    }

    pub(crate) fn take_interrupts(&self) -> Vec<Interrupt> {
        std::mem::take(&mut *lock(&self.interrupts))
    }

    pub(crate) fn add_interrupts(&self, interrupts: Vec<Interrupt>) {
        lock(&self.interrupts).extend(interrupts);
    }

    pub(crate) fn has_interrupts(&self) -> bool {
        !lock(&self.interrupts).is_empty()
    }
}

/// First ordinal of the interrupts, calls and subgraphs of an error handler.
const FIRST_HANDLER_ORDINAL: u32 = superstep_core::machine::ERROR_HANDLER_ORDINAL_BASE;

/// Locks a mutex and ignores poisoning: the guarded data is consistent after every statement.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The failure for which an error handler runs.
#[derive(Debug, Clone)]
pub struct NodeFailure {
    /// Name of the failed node.
    pub node: Arc<str>,
    /// Error of the last attempt.
    pub error: Error,
}

impl TaskContext {
    /// Creates the context of a task. `first_attempt` is the start time of the first attempt, or 0 if no retry policy
    /// needs it.
    pub(crate) fn new(shared: &Arc<RunShared>, task: Task, first_attempt: i64) -> Self {
        let (shared, cell) = (shared.clone(), TaskLocals::default());
        Self(Arc::new(TaskContextInner {
            shared,
            task,
            attempt: AtomicU32::new(1),
            first_attempt,
            cell,
            failure: None,
        }))
    }

    /// Creates the context of the error handler of the same task.
    pub(crate) fn for_handler(&self, failure: NodeFailure) -> Self {
        let (shared, task, cell) = (self.0.shared.clone(), self.0.task.clone(), self.0.cell.for_handler());
        let (attempt, failure) = (AtomicU32::new(1), Some(failure));
        Self(Arc::new(TaskContextInner { shared, task, attempt, first_attempt: 0, cell, failure }))
    }

    /// Starts the next attempt.
    pub(crate) fn start_attempt(&self) {
        self.0.attempt.fetch_add(1, Ordering::Relaxed);
        self.0.cell.restart();
    }

    /// Returns the span of the task, if a tracing subscriber is enabled.
    pub(crate) fn span(&self) -> Option<&Span> {
        self.parent().unwrap_or(self).0.cell.span.get().map(|span| &**span)
    }

    pub(crate) fn set_span(&self, span: &Span) {
        self.0.cell.span.get_or_init(|| Box::new(span.clone()));
    }

    /// Returns the node in the compiled program, with its policies.
    pub(crate) fn entry(&self) -> &ProgramNode {
        &self.0.shared.program.nodes[self.0.task.node.index()]
    }

    /// Returns the thread of the run, or `None` if the run has no thread.
    #[must_use]
    pub fn thread_id(&self) -> Option<&ThreadId> {
        self.0.shared.thread.as_ref()
    }

    /// Returns the id of the run.
    #[must_use]
    pub fn run_id(&self) -> RunId {
        self.0.shared.run
    }

    /// Returns the checkpoint on which this superstep is based.
    #[must_use]
    pub fn checkpoint_id(&self) -> Option<CheckpointId> {
        self.0.task.checkpoint
    }

    /// Returns the namespace of the graph.
    #[must_use]
    pub fn namespace(&self) -> &CheckpointNamespace {
        &self.0.shared.namespace
    }

    /// Returns the name of the node.
    #[must_use]
    pub fn node(&self) -> &str {
        &self.0.shared.program.topology.node(self.0.task.node).name
    }

    /// Returns the number of the superstep.
    #[must_use]
    pub fn step(&self) -> i64 {
        self.0.task.step
    }

    /// Returns the number of supersteps that may still run, including this one.
    #[must_use]
    pub fn remaining_steps(&self) -> u32 {
        self.0.task.remaining
    }

    /// Returns true in the last superstep before the recursion limit.
    #[must_use]
    pub fn is_last_step(&self) -> bool {
        self.0.task.remaining <= 1
    }

    /// Returns the number of the attempt, starting at 1.
    #[must_use]
    pub fn attempt(&self) -> u32 {
        self.0.attempt.load(Ordering::Relaxed)
    }

    /// Returns the start time of the first attempt, in microseconds since 1970. Recorded for nodes with a retry
    /// policy; for other nodes, the current time.
    #[must_use]
    pub fn first_attempt_time(&self) -> i64 {
        if self.0.first_attempt == 0 { self.now() } else { self.0.first_attempt }
    }

    /// Returns a key for this task that is the same on every attempt, also after a crash.
    ///
    /// Send the key with requests to external systems, so that they detect repeated requests.
    #[must_use]
    pub fn idempotency_key(&self) -> TaskId {
        // A copied thread has the same task ids as its original. The thread id makes the keys differ.
        let thread = self.thread_id().map_or("", ThreadId::as_str);
        let key = hash_id(&[thread.as_bytes(), &self.task_id().bits().to_le_bytes()]);
        TaskId::from_bits(self.0.cell.scoped_id(key))
    }

    /// Returns the id of this task in its thread.
    pub(crate) fn task_id(&self) -> TaskId {
        self.0.task.key.id(&self.0.shared.namespace, self.task_name())
    }

    /// Returns the node name in the ids and namespaces of this task: the name that the node had when the task was
    /// scheduled.
    pub(crate) fn task_name(&self) -> &str {
        self.0.task.named().unwrap_or_else(|| self.node())
    }

    /// Returns the node in the topology.
    pub(crate) fn node_spec(&self) -> &NodeSpec {
        self.0.shared.program.topology.node(self.0.task.node)
    }

    /// Returns the current time of the run's clock, in microseconds since 1970.
    #[must_use]
    pub fn now(&self) -> i64 {
        self.0.shared.clock.now()
    }

    /// Returns a new id from the id source of the run.
    #[must_use]
    pub fn new_id(&self) -> String {
        RunId::from_bits(self.0.shared.environment.new_id()).to_string()
    }

    /// Sleeps by the clock of the run.
    pub async fn sleep(&self, time: Duration) {
        self.0.shared.clock.sleep(time).await;
    }

    /// Reports that the node is still active. Restarts the idle timeout.
    pub fn heartbeat(&self) {
        if let Some(parent) = self.parent() {
            return parent.heartbeat();
        }
        self.0.cell.last_heartbeat.store(self.now(), Ordering::Relaxed);
        if let Some(outer) = &self.0.shared.parent_task {
            outer.heartbeat();
        }
    }

    /// Counts tokens toward the token budget of the run.
    ///
    /// # Errors
    /// Returns an error if the budget is exceeded.
    pub fn record_tokens(&self, tokens: u64) -> Result<()> {
        let spent = self.0.shared.usage.add(tokens);
        token_budget_exceeded(spent, self.0.shared.limits.tokens)
    }

    /// Returns a `configurable` value of the run.
    #[must_use]
    pub fn configurable(&self, key: &str) -> Option<&Value> {
        self.0.shared.configurable.get(key)
    }

    /// Returns the tags of the run.
    #[must_use]
    pub fn tags(&self) -> &[String] {
        &self.0.shared.tags
    }

    /// Returns the metadata of the run.
    #[must_use]
    pub fn metadata(&self) -> &BTreeMap<String, Value> {
        &self.0.shared.metadata
    }

    /// Returns true if the run has been asked to stop at the next superstep boundary.
    #[must_use]
    pub fn is_draining(&self) -> bool {
        self.0.shared.control.as_ref().is_some_and(RunControl::is_draining)
    }

    /// Returns the interrupt API of the task.
    #[must_use]
    pub fn interrupts(&self) -> Interrupts {
        Interrupts(self.clone())
    }

    /// Sends a value to the subscribers of the run. Does nothing if there are none.
    pub async fn emit(&self, value: impl serde::Serialize) -> Result<(), NodeError> {
        self.emit_as(None, value).await
    }

    /// Sends a value with an event name to the subscribers of the run.
    pub(crate) async fn emit_as(&self, name: Option<&str>, value: impl serde::Serialize) -> Result<(), NodeError> {
        self.heartbeat_if_idle_timeout();
        if let Some(publisher) =
            self.0.shared.publisher.as_ref().filter(|publisher| publisher.is_wanted(|filter| filter.custom))
        {
            let mut value = serde_json::to_value(value)?;
            for redaction in self.0.cell.redaction.iter().chain(self.0.shared.event_redactions()) {
                redaction.redact_value(&mut value, &mut RedactionCounts::default());
            }
            publisher.custom(self, name.map(Into::into), value).await;
        }
        Ok(())
    }

    /// Counts activity of the task as a heartbeat, unless its idle timeout is restarted by explicit heartbeats only.
    pub(crate) fn heartbeat_if_idle_timeout(&self) {
        if let Some(parent) = self.parent() {
            return parent.heartbeat_if_idle_timeout();
        }
        let timeout = &self.entry().timeout;
        let counts = timeout.as_ref().is_some_and(|timeout| !timeout.refresh_on_heartbeat);
        if counts && self.0.cell.last_heartbeat.load(Ordering::Relaxed) != 0 {
            self.0.cell.last_heartbeat.store(self.now(), Ordering::Relaxed);
        }
        if let Some(outer) = &self.0.shared.parent_task {
            outer.heartbeat_if_idle_timeout();
        }
    }

    pub(crate) fn view(&self) -> &Arc<AnyState> {
        &self.0.task.view
    }

    pub(crate) fn resume_values(&self) -> Option<&Arc<ResumeValues>> {
        self.0.task.resume_values.as_ref()
    }

    /// Returns a result that an earlier execution of the task recorded.
    pub(crate) fn recorded(&self, key: &str) -> Option<&AnyValue> {
        self.0.task.recorded_results.as_ref()?.get(key)
    }

    /// Persists an entry of this task. If the run is written at its end, the entry is written with it.
    pub(crate) async fn record(&self, entry: TaskEntry) -> Result<()> {
        let shared = &self.0.shared;
        let (Some(checkpointer), Some(lease), Some(checkpoint)) =
            (&shared.checkpointer, &shared.lease, self.checkpoint_id())
        else {
            return Ok(());
        };
        let pending = PendingEntry { checkpoint, task: self.task_id(), node: self.node().into(), entry };
        if let Some(records) = &shared.recorded_results {
            lock(records).push(pending);
            return Ok(());
        }
        let empty = Commit::empty(lease.clone(), shared.namespace.clone());
        let commit = Commit { pending: vec![pending], ..empty };
        let _in_flight = CommitInFlight::begin(&shared.commits_in_flight);
        checkpointer.commit(&commit).await?;
        shared.flush().await
    }
}

/// Returns the error for an exceeded token budget.
pub(crate) fn token_budget_exceeded(spent: u64, budget: Option<u64>) -> Result<()> {
    match budget {
        Some(budget) if spent > budget => {
            Err(Error::new(ErrorCode::TooLarge, format!("the run used {spent} tokens of its budget of {budget}"))
                .with_help("raise the budget, or continue the thread in a new run"))
        }
        _ => Ok(()),
    }
}
