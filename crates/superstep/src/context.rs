//! What a node sees of its run while it runs: identity, limits, questions, records, the stream.
//!
//! Handed to nodes as [`Cx`], and in parts as the extractors of [`crate::extract`]. Holds nothing that is
//! saved by itself; what must survive goes through `once` and `task`.

use std::any::Any;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicI64, AtomicU32, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;

use serde_json::Value;
use superstep_core::checkpoint::{Entry, Namespace, Pending, Question};
use superstep_core::datum::Datum;
use superstep_core::error::{Code, Error, Result};
use superstep_core::field::AnyState;
use superstep_core::graph::NodeSpec;
use superstep_core::id::{CheckpointId, RunId, TaskId, ThreadId, derive};
use superstep_core::machine::{Answers, Task, World};
use superstep_core::port::{Clock, Commit, Lease, SharedCheckpointer};
use superstep_core::redact::{Counts, Redaction};
use tracing::Span;

use crate::control::Control;
use crate::durability::{Backlog, Stage};
use crate::output::NodeError;
use crate::program::{NodeEntry, Program};
use crate::run::UnderWay;
use crate::store::SharedStore;
use crate::stream::{GraphRun, Sink};
use crate::telemetry::{Spending, Watch};

mod ask;
mod numbers;
mod once;
mod scope;
mod store;

pub use ask::Ask;
pub(crate) use numbers::{Kind, Numbers, Place};

/// What all tasks of a run share.
pub(crate) struct Shared {
    pub(crate) program: Arc<Program>,
    pub(crate) context: Arc<dyn Any + Send + Sync>,
    pub(crate) saver: Option<SharedCheckpointer>,
    pub(crate) lease: Option<Lease>,
    /// What waits to be saved, where saving is done in the background.
    pub(crate) backlog: Option<Backlog>,
    /// Where graphs inside wait to be saved, where that is done at the end of the run.
    pub(crate) stage: Option<Stage>,
    /// What tasks of this graph recorded, where it is saved at the end of the run.
    pub(crate) records: Option<Mutex<Vec<Pending>>>,
    pub(crate) store: Option<SharedStore>,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) world: Arc<dyn World>,
    pub(crate) control: Option<Control>,
    pub(crate) sink: Option<Sink>,
    /// This graph as events name it, where somebody watches.
    pub(crate) graph: Option<Arc<GraphRun>>,
    pub(crate) thread: Option<ThreadId>,
    pub(crate) run: RunId,
    pub(crate) namespace: Namespace,
    pub(crate) tags: Arc<[String]>,
    pub(crate) metadata: Arc<BTreeMap<String, Value>>,
    pub(crate) configurable: Arc<BTreeMap<String, Value>>,
    pub(crate) limits: Limits,
    pub(crate) spent: Arc<Spending>,
    /// How many commits are under way.
    pub(crate) saving: Arc<AtomicUsize>,
    /// What graphs inside let pass but should be known.
    pub(crate) notes: Arc<Mutex<Vec<String>>>,
    /// The task this graph runs inside, where there is one.
    pub(crate) outer: Option<Cx>,
    /// Who observes this graph, where somebody does.
    pub(crate) watch: Option<Arc<Watch>>,
}

impl Shared {
    /// What the caller said about the run, without what is for its nodes only.
    pub(crate) fn saved_metadata(&self) -> Arc<BTreeMap<String, Value>> {
        let is_private = |key: &str| key.starts_with("__");
        if !self.metadata.keys().any(|key| is_private(key)) {
            return self.metadata.clone();
        }
        let saved = self.metadata.iter().filter(|(key, _)| !is_private(key));
        Arc::new(saved.map(|(key, value)| (key.clone(), value.clone())).collect())
    }

    /// Keeps the warnings of this graph for the result of the outermost one, each once.
    pub(crate) fn note(&self, warnings: &[String]) {
        let mut notes = lock(&self.notes);
        for warning in warnings {
            let note = format!("graph `{}`: {warning}", self.program.topology.name);
            if !notes.contains(&note) {
                notes.push(note);
            }
        }
    }
}

/// What a run may use.
#[derive(Debug, Clone)]
pub(crate) struct Limits {
    pub(crate) supersteps: u32,
    pub(crate) concurrency: usize,
    pub(crate) run_timeout: Option<Duration>,
    pub(crate) step_timeout: Option<Duration>,
    pub(crate) tokens: Option<u64>,
}

/// What a node sees of its run.
#[derive(Clone)]
pub struct Cx(pub(crate) Arc<TaskCx>);

pub(crate) struct TaskCx {
    pub(crate) shared: Arc<Shared>,
    pub(crate) task: Task,
    attempt: AtomicU32,
    first_attempt: i64,
    pub(crate) cell: TaskCell,
    pub(crate) failure: Option<Failure>,
}

/// What a task asks, records and calls.
#[derive(Default)]
pub(crate) struct TaskCell {
    asked: Mutex<Vec<Question>>,
    made: Mutex<BTreeMap<String, Datum>>,
    /// Microseconds since 1970 of the last sign of life, for idle timeouts; 0 when nobody looks.
    pub(crate) alive: AtomicI64,
    pub(crate) numbers: Numbers,
    /// What the recorded steps of an error handler are told from those of its node by.
    pub(crate) root: &'static str,
    /// The part of the task that this is the cell of; nothing for the task itself.
    scope: Option<scope::Scope>,
    /// What is taken out of the events and records of this part.
    pub(crate) redaction: Option<Redaction>,
    /// The span of the task, where somebody listens.
    span: OnceLock<Box<Span>>,
}

impl TaskCell {
    /// Begins a new attempt: the same questions are asked again, in the same order.
    pub(crate) fn restart(&self) {
        lock(&self.asked).clear();
        self.numbers.restart();
    }

    /// The cell of the handler of a failed node: it knows what the node recorded, but its questions and the graphs it
    /// calls are its own.
    pub(crate) fn for_handler(&self) -> Self {
        let made = Mutex::new(lock(&self.made).clone());
        Self { made, numbers: Numbers::from(HANDLER), root: "handler/", ..Self::default() }
    }

    pub(crate) fn take_asked(&self) -> Vec<Question> {
        std::mem::take(&mut *lock(&self.asked))
    }

    pub(crate) fn add_asked(&self, questions: Vec<Question>) {
        lock(&self.asked).extend(questions);
    }

    pub(crate) fn has_asked(&self) -> bool {
        !lock(&self.asked).is_empty()
    }
}

/// Where the questions, calls and inner graphs of an error handler are counted from.
const HANDLER: u32 = superstep_core::machine::HANDLER_ORDINALS;

/// A lock that a panic elsewhere does not poison: what is behind it is whole between any two statements.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The failure an error handler is called for.
#[derive(Debug, Clone)]
pub struct Failure {
    /// The node that failed.
    pub node: Arc<str>,
    /// Why, after the last attempt.
    pub error: Error,
}

impl Cx {
    /// A task that is about to run; `first_attempt` is when, where somebody may ask.
    pub(crate) fn new(shared: &Arc<Shared>, task: Task, first_attempt: i64) -> Self {
        let (shared, cell) = (shared.clone(), TaskCell::default());
        Self(Arc::new(TaskCx { shared, task, attempt: AtomicU32::new(1), first_attempt, cell, failure: None }))
    }

    /// The same task as its error handler sees it.
    pub(crate) fn for_handler(&self, failure: Failure) -> Self {
        let (shared, task, cell) = (self.0.shared.clone(), self.0.task.clone(), self.0.cell.for_handler());
        let (attempt, failure) = (AtomicU32::new(1), Some(failure));
        Self(Arc::new(TaskCx { shared, task, attempt, first_attempt: 0, cell, failure }))
    }

    /// Begins the next attempt.
    pub(crate) fn try_again(&self) {
        self.0.attempt.fetch_add(1, Ordering::Relaxed);
        self.0.cell.restart();
    }

    /// The span of the task, where somebody listens.
    pub(crate) fn span(&self) -> Option<&Span> {
        self.whole().unwrap_or(self).0.cell.span.get().map(|span| &**span)
    }

    pub(crate) fn set_span(&self, span: &Span) {
        self.0.cell.span.get_or_init(|| Box::new(span.clone()));
    }

    /// What the program says about the node.
    pub(crate) fn entry(&self) -> &NodeEntry {
        &self.0.shared.program.nodes[self.0.task.node.index()]
    }

    /// The thread, where there is one.
    #[must_use]
    pub fn thread(&self) -> Option<&ThreadId> {
        self.0.shared.thread.as_ref()
    }

    /// The run.
    #[must_use]
    pub fn run(&self) -> RunId {
        self.0.shared.run
    }

    /// The checkpoint this superstep works on.
    #[must_use]
    pub fn checkpoint(&self) -> Option<CheckpointId> {
        self.0.task.checkpoint
    }

    /// The path of the graph.
    #[must_use]
    pub fn namespace(&self) -> &Namespace {
        &self.0.shared.namespace
    }

    /// The node.
    #[must_use]
    pub fn node(&self) -> &str {
        &self.0.shared.program.topology.node(self.0.task.node).name
    }

    /// The superstep.
    #[must_use]
    pub fn step(&self) -> i64 {
        self.0.task.step
    }

    /// How many supersteps may still run, this one included.
    #[must_use]
    pub fn remaining_steps(&self) -> u32 {
        self.0.task.remaining
    }

    /// True in the last superstep that may run.
    #[must_use]
    pub fn is_last_step(&self) -> bool {
        self.0.task.remaining <= 1
    }

    /// Which attempt this is, from 1.
    #[must_use]
    pub fn attempt(&self) -> u32 {
        self.0.attempt.load(Ordering::Relaxed)
    }

    /// When the first attempt began, in microseconds since 1970. Noted for nodes with a retry policy; now for others.
    #[must_use]
    pub fn first_attempt_time(&self) -> i64 {
        if self.0.first_attempt == 0 { self.now() } else { self.0.first_attempt }
    }

    /// Names this task to the outside: the same on every attempt, also after a crash.
    ///
    /// Give it to whatever the node changes outside, so that a repeat is recognised there.
    #[must_use]
    pub fn idempotency_key(&self) -> TaskId {
        // A copied thread has the ids of the one it was copied from, and must not be taken for it outside.
        let thread = self.thread().map_or("", ThreadId::as_str);
        let key = derive(&[thread.as_bytes(), &self.task_id().bits().to_le_bytes()]);
        TaskId::from_bits(self.0.cell.scoped_id(key))
    }

    /// Names this task in its thread.
    pub(crate) fn task_id(&self) -> TaskId {
        self.0.task.key.id(&self.0.shared.namespace, self.task_name())
    }

    /// The name of the node as the ids and paths of this task have it: the one it had when the task became due.
    pub(crate) fn task_name(&self) -> &str {
        self.0.task.named().unwrap_or_else(|| self.node())
    }

    /// The node as it is drawn.
    pub(crate) fn node_spec(&self) -> &NodeSpec {
        self.0.shared.program.topology.node(self.0.task.node)
    }

    /// Now, in microseconds since 1970, from the run's clock.
    #[must_use]
    pub fn now(&self) -> i64 {
        self.0.shared.clock.now()
    }

    /// A fresh id, from the run's source of ids.
    #[must_use]
    pub fn fresh_id(&self) -> String {
        RunId::from_bits(self.0.shared.world.fresh()).to_string()
    }

    /// Waits, by the run's clock.
    pub async fn sleep(&self, time: Duration) {
        self.0.shared.clock.sleep(time).await;
    }

    /// Says that the node is still at work, for idle timeouts.
    pub fn heartbeat(&self) {
        if let Some(whole) = self.whole() {
            return whole.heartbeat();
        }
        self.0.cell.alive.store(self.now(), Ordering::Relaxed);
        if let Some(outer) = &self.0.shared.outer {
            outer.heartbeat();
        }
    }

    /// Counts tokens against the run's budget.
    ///
    /// # Errors
    /// When the budget is used up.
    pub fn spend(&self, tokens: u64) -> Result<()> {
        let spent = self.0.shared.spent.add(tokens);
        over_budget(spent, self.0.shared.limits.tokens)
    }

    /// The value of a key of the run's configuration.
    #[must_use]
    pub fn configurable(&self, key: &str) -> Option<&Value> {
        self.0.shared.configurable.get(key)
    }

    /// The run's tags.
    #[must_use]
    pub fn tags(&self) -> &[String] {
        &self.0.shared.tags
    }

    /// What the caller said about the run.
    #[must_use]
    pub fn metadata(&self) -> &BTreeMap<String, Value> {
        &self.0.shared.metadata
    }

    /// True when somebody asked the run to stop at the next step boundary.
    #[must_use]
    pub fn is_draining(&self) -> bool {
        self.0.shared.control.as_ref().is_some_and(Control::is_draining)
    }

    /// Asks a person.
    #[must_use]
    pub fn ask(&self) -> Ask {
        Ask(self.clone())
    }

    /// Sends a value to whoever watches the run. Does nothing when nobody does.
    pub async fn emit(&self, value: impl serde::Serialize) -> Result<(), NodeError> {
        self.emit_as(None, value).await
    }

    /// Sends a value to whoever watches the run, under a name.
    pub(crate) async fn emit_as(&self, name: Option<&str>, value: impl serde::Serialize) -> Result<(), NodeError> {
        self.heartbeat_if_watched();
        if let Some(sink) = self.0.shared.sink.as_ref().filter(|sink| sink.wants(|interest| interest.custom)) {
            let mut value = serde_json::to_value(value)?;
            for redaction in self.0.cell.redaction.iter().chain(self.0.shared.told_without()) {
                redaction.value(&mut value, &mut Counts::default());
            }
            sink.custom(self, name.map(Into::into), value).await;
        }
        Ok(())
    }

    pub(crate) fn heartbeat_if_watched(&self) {
        if let Some(whole) = self.whole() {
            return whole.heartbeat_if_watched();
        }
        let timeout = &self.entry().timeout;
        let counts = timeout.as_ref().is_some_and(|timeout| !timeout.heartbeat_only);
        if counts && self.0.cell.alive.load(Ordering::Relaxed) != 0 {
            self.0.cell.alive.store(self.now(), Ordering::Relaxed);
        }
        if let Some(outer) = &self.0.shared.outer {
            outer.heartbeat_if_watched();
        }
    }

    pub(crate) fn view(&self) -> &Arc<AnyState> {
        &self.0.task.view
    }

    pub(crate) fn answers(&self) -> Option<&Arc<Answers>> {
        self.0.task.answers.as_ref()
    }

    /// A result that an earlier execution of the task recorded.
    pub(crate) fn recorded(&self, key: &str) -> Option<&Datum> {
        self.0.task.records.as_ref()?.get(key)
    }

    /// Makes one thing known of this task durable; where the run saves at its end, together with it.
    pub(crate) async fn record(&self, entry: Entry) -> Result<()> {
        let shared = &self.0.shared;
        let (Some(saver), Some(lease), Some(checkpoint)) = (&shared.saver, &shared.lease, self.checkpoint()) else {
            return Ok(());
        };
        let pending = Pending { checkpoint, task: self.task_id(), node: self.node().into(), entry };
        if let Some(records) = &shared.records {
            lock(records).push(pending);
            return Ok(());
        }
        let empty = Commit::empty(lease.clone(), shared.namespace.clone());
        let commit = Commit { pending: vec![pending], ..empty };
        let _under_way = UnderWay::begin(&shared.saving);
        saver.commit(&commit).await?;
        shared.flush().await
    }
}

/// The error that a budget of tokens is used up.
pub(crate) fn over_budget(spent: u64, budget: Option<u64>) -> Result<()> {
    match budget {
        Some(budget) if spent > budget => {
            Err(Error::new(Code::TooLarge, format!("the run used {spent} tokens, and may use {budget}"))
                .help("raise the budget, or continue the thread in a new run"))
        }
        _ => Ok(()),
    }
}
