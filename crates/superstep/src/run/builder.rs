//! Builder of a run: awaited for its outcome, or streamed for its events.

use std::any::{Any, TypeId, type_name};
use std::collections::BTreeMap;
use std::future::IntoFuture;
use std::marker::PhantomData;
use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;
use superstep_core::checkpoint::Interrupt;
use superstep_core::command::TaskOutput;
use superstep_core::error::{Error, ErrorCode, Result};
use superstep_core::id::{CheckpointId, RunId, ThreadId};
use superstep_core::machine::{Breakpoints, Environment, OnLimit, Resume};
use superstep_core::port::{BoxFuture, Clock, SharedCheckpointer};
use superstep_core::state::{GraphState, UncheckedUpdate};

use crate::engine::context::TaskContext;
use crate::engine::durability::Durability;
use crate::engine::outcome::{ErasedOutcome, LazyOutputJson};
use crate::engine::start;
use crate::engine::subgraph::CallingTask;
use crate::events::event::EventPublisher;
use crate::graph::builder::breakpoints;
use crate::graph::compiled::CompiledGraph;
use crate::graph::extract::View;
use crate::graph::output::Command;
use crate::graph::program::Program;
use crate::run::control::RunControl;
use crate::run::multitask::{MultitaskStrategy, ThreadQueues};
use crate::store::SharedStore;
use crate::telemetry::{RunObserver, RunUsage, TelemetryConfig};

/// Start input of a run: values, a continuation or resume values.
pub(crate) enum StartInput {
    Values(UncheckedUpdate),
    Continue,
    Resume(Resume),
    Invalid(String),
}

/// All options of a run, without type parameters.
pub(crate) struct RunSpec {
    pub(crate) program: Arc<Program>,
    pub(crate) thread_queues: Arc<ThreadQueues>,
    pub(crate) input: StartInput,
    pub(crate) thread: Option<ThreadId>,
    pub(crate) from_checkpoint: Option<CheckpointId>,
    pub(crate) run: Option<RunId>,
    pub(crate) context: Option<Arc<dyn Any + Send + Sync>>,
    /// Type of the run context that the nodes require, and its name.
    pub(crate) context_type: (TypeId, &'static str),
    pub(crate) checkpointer: Option<SharedCheckpointer>,
    pub(crate) store: Option<SharedStore>,
    pub(crate) control: Option<RunControl>,
    pub(crate) multitask_strategy: MultitaskStrategy,
    pub(crate) durability: Option<Durability>,
    pub(crate) max_pending_commits: Option<usize>,
    pub(crate) tags: Vec<String>,
    pub(crate) metadata: BTreeMap<String, Value>,
    pub(crate) configurable: BTreeMap<String, Value>,
    pub(crate) recursion_limit: u32,
    pub(crate) on_limit: OnLimit,
    pub(crate) max_concurrency: usize,
    pub(crate) run_timeout: Option<Duration>,
    pub(crate) step_timeout: Option<Duration>,
    pub(crate) token_budget: Option<u64>,
    pub(crate) interrupt_before: Breakpoints,
    pub(crate) interrupt_after: Breakpoints,
    pub(crate) unknown_breakpoints: Vec<String>,
    pub(crate) clock: Option<Arc<dyn Clock>>,
    pub(crate) environment: Option<Arc<dyn Environment>>,
    pub(crate) publisher: Option<EventPublisher>,
    pub(crate) streams_subgraphs: bool,
    pub(crate) journals_events: bool,
    pub(crate) calling_task: Option<CallingTask>,
    pub(crate) command: Option<Box<TaskOutput>>,
    /// Telemetry configuration.
    pub(crate) telemetry: TelemetryConfig,
    /// Observer of the run, set when the run starts.
    pub(crate) observer: Option<Arc<RunObserver>>,
}

/// Builder of a run. Await the builder for the outcome, or call [`RunBuilder::stream`].
///
/// ```
/// use superstep::prelude::*;
/// # #[derive(GraphState, Clone, Serialize, Deserialize)] struct Count { #[reduce(add)] n: u64 }
/// # let mut graph = StateGraph::<Count>::new("count");
/// # let one = graph.add_node("one", || Count::update().n(1u64));
/// # graph.add_edge(START, one); graph.add_edge(one, END);
/// let count = graph.compile()?;
/// let done = count.invoke(Count::input().n(41u64)).wait_blocking()?;
/// assert_eq!(done.state.n, 42);
/// # Ok::<(), superstep::Error>(())
/// ```
#[must_use = "a run does not start until it is awaited or streamed"]
pub struct RunBuilder<S, C = ()> {
    pub(crate) call: Box<RunSpec>,
    types: PhantomData<fn() -> (S, C)>,
}

impl<S: GraphState, C: Send + Sync + 'static> RunBuilder<S, C> {
    pub(crate) fn new(graph: &CompiledGraph<S, C>, input: StartInput) -> Self {
        let settings = &graph.program.settings;
        // A graph without a context needs none from the caller.
        let has_no_context = TypeId::of::<C>() == TypeId::of::<()>();
        let context: Option<Arc<dyn Any + Send + Sync>> = has_no_context.then(|| Arc::new(()) as _);
        let call = Box::new(RunSpec {
            program: graph.program.clone(),
            thread_queues: graph.thread_queues.clone(),
            input,
            thread: None,
            from_checkpoint: None,
            run: None,
            context,
            context_type: (TypeId::of::<C>(), type_name::<C>()),
            checkpointer: settings.checkpointer.clone(),
            store: settings.store.clone(),
            control: None,
            multitask_strategy: MultitaskStrategy::Enqueue,
            durability: None,
            max_pending_commits: None,
            tags: Vec::new(),
            metadata: BTreeMap::new(),
            configurable: BTreeMap::new(),
            recursion_limit: settings.recursion_limit,
            on_limit: OnLimit::Fail,
            max_concurrency: usize::MAX,
            run_timeout: None,
            step_timeout: None,
            token_budget: None,
            interrupt_before: settings.interrupt_before.clone(),
            interrupt_after: settings.interrupt_after.clone(),
            unknown_breakpoints: Vec::new(),
            clock: None,
            environment: None,
            publisher: None,
            streams_subgraphs: false,
            journals_events: false,
            calling_task: None,
            command: None,
            telemetry: settings.telemetry.clone(),
            observer: None,
        });
        Self { call, types: PhantomData }
    }

    /// Sets the thread of the run. Without a thread nothing is persisted between runs.
    pub fn thread(mut self, thread: impl Into<ThreadId>) -> Self {
        self.call.thread = Some(thread.into());
        self
    }

    /// Starts from this checkpoint of the thread, on a new branch of the history (a fork).
    pub fn from_checkpoint(mut self, checkpoint: CheckpointId) -> Self {
        self.call.from_checkpoint = Some(checkpoint);
        self
    }

    /// Sets the id of the run. Default: a new id.
    pub fn run_id(mut self, run: RunId) -> Self {
        self.call.run = Some(run);
        self
    }

    /// Sets the run context: values that nodes need and that are never saved, such as clients, keys and settings.
    pub fn context(self, context: C) -> Self {
        self.shared_context(Arc::new(context))
    }

    /// Sets a run context that is shared with other runs. See [`RunBuilder::context`].
    pub fn shared_context(mut self, context: Arc<C>) -> Self {
        self.call.context = Some(context);
        self
    }

    /// Sets the checkpointer. Default: the checkpointer of the graph.
    pub fn checkpointer(mut self, checkpointer: impl Into<SharedCheckpointer>) -> Self {
        self.call.checkpointer = Some(checkpointer.into());
        self
    }

    /// Sets when commits are written. Default: the durability of the graph. Subgraphs use the durability of the run.
    pub fn durability(mut self, durability: Durability) -> Self {
        self.call.durability = Some(durability);
        self
    }

    /// Sets the maximum number of pending commits with [`Durability::Async`]. Default: 16. The run waits for the
    /// checkpointer while that many commits are pending.
    pub fn max_pending_commits(mut self, commits: usize) -> Self {
        self.call.max_pending_commits = Some(commits);
        self
    }

    /// Sets the long-term store that nodes can take as an argument. Default: the store of the graph.
    pub fn store(mut self, store: impl Into<SharedStore>) -> Self {
        self.call.store = Some(store.into());
        self
    }

    /// Applies a command before the resume value is used or the run continues.
    pub fn command(mut self, command: Command<S>) -> Self {
        match command.output() {
            Ok(output) => self.call.command = Some(Box::new(output)),
            Err(error) => self.call.input = StartInput::Invalid(error.to_string()),
        }
        self
    }

    /// Runs as part of the calling node: on its thread, with its store and context. Interrupts appear as interrupts
    /// of the root run. When the node is called again after a crash, the nested run continues from its last
    /// checkpoint.
    pub fn nested_in(mut self, cx: &TaskContext) -> Self {
        self.call.calling_task = Some(CallingTask::new(cx));
        self
    }

    /// Sets a control that cancels or drains the run.
    pub fn control(mut self, control: RunControl) -> Self {
        self.call.control = Some(control);
        self
    }

    /// Sets the strategy for a thread that already has a run.
    pub fn multitask_strategy(mut self, strategy: MultitaskStrategy) -> Self {
        self.call.multitask_strategy = strategy;
        self
    }

    /// Adds a label for streams and traces.
    pub fn tag(mut self, tag: impl Into<String>) -> Self {
        self.call.tags.push(tag.into());
        self
    }

    /// Adds metadata by which checkpoints can be found. Saved with the checkpoints, so the value must not be a
    /// secret. A key that starts with `__` is private: visible to nodes, but not saved.
    pub fn metadata(mut self, key: impl Into<String>, value: impl Into<Value>) -> Self {
        self.call.metadata.insert(key.into(), value.into());
        self
    }

    /// Adds a value that nodes read with [`crate::TaskContext::configurable`]. Never saved.
    pub fn configurable(mut self, key: impl Into<String>, value: impl Into<Value>) -> Self {
        self.call.configurable.insert(key.into(), value.into());
        self
    }

    /// Sets the maximum number of supersteps. Default: the limit of the graph.
    pub fn recursion_limit(mut self, supersteps: u32) -> Self {
        self.call.recursion_limit = supersteps;
        self
    }

    /// Sets the behavior at the recursion limit.
    pub fn on_limit(mut self, on_limit: OnLimit) -> Self {
        self.call.on_limit = on_limit;
        self
    }

    /// Sets the maximum number of tasks of this run that run concurrently.
    pub fn max_concurrency(mut self, tasks: usize) -> Self {
        self.call.max_concurrency = tasks.max(1);
        self
    }

    /// Sets the timeout of the whole run.
    pub fn timeout(mut self, time: Duration) -> Self {
        self.call.run_timeout = Some(time);
        self
    }

    /// Sets the timeout of each superstep.
    pub fn step_timeout(mut self, time: Duration) -> Self {
        self.call.step_timeout = Some(time);
        self
    }

    /// Sets the maximum number of tokens, counted with [`crate::TaskContext::record_tokens`].
    pub fn token_budget(mut self, tokens: u64) -> Self {
        self.call.token_budget = Some(tokens);
        self
    }

    /// Sets the nodes before which the run stops. `"*"` means all nodes. Default: the breakpoints of the graph.
    pub fn interrupt_before(mut self, nodes: impl IntoIterator<Item = impl Into<String>>) -> Self {
        self.call.interrupt_before = self.breakpoints(nodes);
        self
    }

    /// Sets the nodes after which the run stops. `"*"` means all nodes. Default: the breakpoints of the graph.
    pub fn interrupt_after(mut self, nodes: impl IntoIterator<Item = impl Into<String>>) -> Self {
        self.call.interrupt_after = self.breakpoints(nodes);
        self
    }

    fn breakpoints(&mut self, nodes: impl IntoIterator<Item = impl Into<String>>) -> Breakpoints {
        let names: Vec<String> = nodes.into_iter().map(Into::into).collect();
        let topology = &self.call.program.topology;
        let unknown = names.iter().filter(|name| *name != "*" && topology.find_node(name).is_none());
        self.call.unknown_breakpoints.extend(unknown.cloned());
        breakpoints(topology, &names)
    }

    /// Sets the clock of the run. Tests inject one.
    pub fn clock(mut self, clock: impl Clock) -> Self {
        self.call.clock = Some(Arc::new(clock));
        self
    }

    /// Sets the source of timestamps and ids of checkpoints. Tests inject one.
    pub fn environment(mut self, environment: Arc<dyn Environment>) -> Self {
        self.call.environment = Some(environment);
        self
    }

    /// Runs to completion on the current OS thread, for programs without an async runtime.
    ///
    /// # Errors
    /// Returns an error if the run fails, or if the method is called inside an async runtime.
    pub fn wait_blocking(self) -> Result<Outcome<S>> {
        if tokio::runtime::Handle::try_current().is_ok() {
            return Err(Error::new(ErrorCode::ConfigInvalid, "`wait_blocking` was called inside an async runtime")
                .with_help("await the run instead"));
        }
        let runtime =
            tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().map_err(|error| {
                Error::new(ErrorCode::ConfigInvalid, format!("failed to start the runtime: {error}"))
            })?;
        runtime.block_on(self.into_future())
    }

    /// Runs in a background task, which continues if the caller is dropped. The returned future resolves to the
    /// outcome.
    pub fn spawn(self) -> BoxFuture<'static, Result<Outcome<S>>> {
        crate::engine::executor::detach(self.into_future())
    }
}

impl<S: GraphState, C: Send + Sync + 'static> IntoFuture for RunBuilder<S, C> {
    type Output = Result<Outcome<S>>;
    type IntoFuture = BoxFuture<'static, Result<Outcome<S>>>;

    fn into_future(self) -> Self::IntoFuture {
        Box::pin(async move { start::start(self.call).await.and_then(Outcome::from_erased) })
    }
}

/// Reason why a run ended without an error.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum RunEnd {
    /// There are no next tasks.
    Finished,
    /// The run has open interrupts.
    Interrupted(Vec<Interrupt>),
    /// The run stopped at a breakpoint, at these nodes.
    Paused(Vec<String>),
    /// The run was drained at a superstep boundary.
    Drained,
    /// The run reached its recursion limit, and was configured to return the partial result.
    Truncated,
}

/// Outcome of a run.
#[derive(Debug, Clone)]
pub struct Outcome<S> {
    /// The output state. Fields outside the output schema have the value that they have on a new thread.
    pub state: View<S>,
    /// Reason why the run ended.
    pub end: RunEnd,
    /// The thread, or `None` if the run has no thread.
    pub thread_id: Option<ThreadId>,
    /// Id of the run.
    pub run_id: RunId,
    /// The latest checkpoint, or `None` without a checkpointer.
    pub checkpoint: Option<CheckpointId>,
    /// Names of the nodes with next tasks.
    pub next: Vec<String>,
    /// Number of supersteps that ran.
    pub supersteps: u64,
    /// Warnings: conditions that did not stop the run.
    pub warnings: Vec<String>,
    /// The output as JSON: only fields of the output schema.
    output: LazyOutputJson,
    usage: RunUsage,
}

impl<S: Send + Sync + 'static> Outcome<S> {
    fn from_erased(erased: ErasedOutcome) -> Result<Self> {
        let state =
            erased.state.downcast::<S>().map_err(|_| Error::internal("the run ended with a state of another type"))?;
        let ErasedOutcome { status, thread, run, checkpoint, next, supersteps, warnings, output, usage, .. } = erased;
        let state = View::new(state);
        Ok(Self {
            state,
            end: status,
            thread_id: thread,
            run_id: run,
            checkpoint,
            next,
            supersteps,
            warnings,
            output,
            usage,
        })
    }

    /// Returns the output as JSON, with the fields of the output schema only.
    ///
    /// # Errors
    /// Returns an error if a value does not serialize to JSON.
    pub fn to_json(&self) -> Result<Value> {
        self.output.to_json()
    }

    /// Returns the model usage of this run: calls, tokens, and cost for models with a price in [`RunBuilder::prices`].
    ///
    /// For a subgraph, this is the usage of the whole run so far. Usage of earlier runs on the thread is not
    /// included.
    #[must_use]
    pub fn usage(&self) -> &RunUsage {
        &self.usage
    }

    /// Returns the open interrupts.
    #[must_use]
    pub fn interrupts(&self) -> &[Interrupt] {
        match &self.end {
            RunEnd::Interrupted(interrupts) => interrupts,
            _ => &[],
        }
    }

    /// Returns true if there are no next tasks.
    #[must_use]
    pub fn is_finished(&self) -> bool {
        self.end == RunEnd::Finished
    }
}
