//! One run in the making: awaited for its result, or streamed for its events.

use std::any::{Any, TypeId, type_name};
use std::collections::BTreeMap;
use std::future::IntoFuture;
use std::marker::PhantomData;
use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;
use superstep_core::checkpoint::Question;
use superstep_core::command::Output;
use superstep_core::error::{Code, Error, Result};
use superstep_core::id::{CheckpointId, RunId, ThreadId};
use superstep_core::machine::{Breakpoints, OnLimit, Resume, World};
use superstep_core::port::{BoxFuture, Clock, SharedCheckpointer};
use superstep_core::state::{Draft, State};

use crate::compiled::Compiled;
use crate::conclude::{OutputJson, RawOutcome};
use crate::context::Cx;
use crate::control::Control;
use crate::durability::Durability;
use crate::extract::View;
use crate::graph::breakpoints;
use crate::lanes::{Lanes, WhenBusy};
use crate::launch;
use crate::output::Command;
use crate::program::Program;
use crate::store::SharedStore;
use crate::stream::Sink;
use crate::subgraph::Caller;
use crate::telemetry::{Given, RunUsage, Watch};

mod watch;

/// What a run is started with.
pub(crate) enum Input {
    Values(Draft),
    GoOn,
    Resume(Resume),
    Invalid(String),
}

/// Everything a run is told, without its types.
pub(crate) struct Call {
    pub(crate) program: Arc<Program>,
    pub(crate) lanes: Arc<Lanes>,
    pub(crate) input: Input,
    pub(crate) thread: Option<ThreadId>,
    pub(crate) at: Option<CheckpointId>,
    pub(crate) run: Option<RunId>,
    pub(crate) context: Option<Arc<dyn Any + Send + Sync>>,
    /// The type of context its nodes take, and its name.
    pub(crate) needs_context: (TypeId, &'static str),
    pub(crate) checkpointer: Option<SharedCheckpointer>,
    pub(crate) store: Option<SharedStore>,
    pub(crate) control: Option<Control>,
    pub(crate) when_busy: WhenBusy,
    pub(crate) durability: Option<Durability>,
    pub(crate) backlog: Option<usize>,
    pub(crate) tags: Vec<String>,
    pub(crate) metadata: BTreeMap<String, Value>,
    pub(crate) configurable: BTreeMap<String, Value>,
    pub(crate) recursion_limit: u32,
    pub(crate) on_limit: OnLimit,
    pub(crate) max_concurrency: usize,
    pub(crate) run_timeout: Option<Duration>,
    pub(crate) step_timeout: Option<Duration>,
    pub(crate) token_budget: Option<u64>,
    pub(crate) before: Breakpoints,
    pub(crate) after: Breakpoints,
    pub(crate) unknown_breakpoints: Vec<String>,
    pub(crate) clock: Option<Arc<dyn Clock>>,
    pub(crate) world: Option<Arc<dyn World>>,
    pub(crate) sink: Option<Sink>,
    pub(crate) shows_inside: bool,
    pub(crate) keeps_events: bool,
    pub(crate) inside: Option<Caller>,
    pub(crate) command: Option<Box<Output>>,
    /// What is said about observing it.
    pub(crate) observed: Given,
    /// Who observes it, once it has begun.
    pub(crate) watch: Option<Arc<Watch>>,
}

/// A run in the making. Await it for the result, or call [`Run::stream`].
///
/// ```
/// use superstep::prelude::*;
/// # #[derive(State, Clone, Serialize, Deserialize)] struct Count { #[reduce(add)] n: u64 }
/// # let mut graph = Graph::<Count>::new("count");
/// # let one = graph.node("one", || Count::update().n(1u64));
/// # graph.edge(START, one); graph.edge(one, END);
/// let count = graph.compile()?;
/// let done = count.run(Count::input().n(41u64)).wait()?;
/// assert_eq!(done.state.n, 42);
/// # Ok::<(), superstep::Error>(())
/// ```
#[must_use = "a run does nothing until it is awaited or streamed"]
pub struct Run<S, C = ()> {
    pub(crate) call: Box<Call>,
    types: PhantomData<fn() -> (S, C)>,
}

impl<S: State, C: Send + Sync + 'static> Run<S, C> {
    pub(crate) fn new(graph: &Compiled<S, C>, input: Input) -> Self {
        let settings = &graph.program.settings;
        // A graph without a context needs none to be given.
        let needs_none = TypeId::of::<C>() == TypeId::of::<()>();
        let context: Option<Arc<dyn Any + Send + Sync>> = needs_none.then(|| Arc::new(()) as _);
        let call = Box::new(Call {
            program: graph.program.clone(),
            lanes: graph.lanes.clone(),
            input,
            thread: None,
            at: None,
            run: None,
            context,
            needs_context: (TypeId::of::<C>(), type_name::<C>()),
            checkpointer: settings.checkpointer.clone(),
            store: settings.store.clone(),
            control: None,
            when_busy: WhenBusy::Queue,
            durability: None,
            backlog: None,
            tags: Vec::new(),
            metadata: BTreeMap::new(),
            configurable: BTreeMap::new(),
            recursion_limit: settings.recursion_limit,
            on_limit: OnLimit::Fail,
            max_concurrency: usize::MAX,
            run_timeout: None,
            step_timeout: None,
            token_budget: None,
            before: settings.before.clone(),
            after: settings.after.clone(),
            unknown_breakpoints: Vec::new(),
            clock: None,
            world: None,
            sink: None,
            shows_inside: false,
            keeps_events: false,
            inside: None,
            command: None,
            observed: settings.observed.clone(),
            watch: None,
        });
        Self { call, types: PhantomData }
    }

    /// The thread it runs on. Without one nothing is kept between runs.
    pub fn thread(mut self, thread: impl Into<ThreadId>) -> Self {
        self.call.thread = Some(thread.into());
        self
    }

    /// Starts from this checkpoint of the thread, on a new line of history.
    pub fn at(mut self, checkpoint: CheckpointId) -> Self {
        self.call.at = Some(checkpoint);
        self
    }

    /// The id of the run; a fresh one unless told.
    pub fn run_id(mut self, run: RunId) -> Self {
        self.call.run = Some(run);
        self
    }

    /// What nodes need but nobody saves: clients, keys, settings.
    pub fn context(self, context: C) -> Self {
        self.shared_context(Arc::new(context))
    }

    /// As [`Run::context`], shared with other runs.
    pub fn shared_context(mut self, context: Arc<C>) -> Self {
        self.call.context = Some(context);
        self
    }

    /// Where the thread is kept, in place of the graph's own.
    pub fn checkpointer(mut self, checkpointer: impl Into<SharedCheckpointer>) -> Self {
        self.call.checkpointer = Some(checkpointer.into());
        self
    }

    /// When what it does is saved, in place of the graph's own rule. Graphs inside follow the run.
    pub fn durability(mut self, durability: Durability) -> Self {
        self.call.durability = Some(durability);
        self
    }

    /// How many commits may wait to be saved with [`Durability::Async`]; 16 unless told. A slow store then holds the
    /// run back.
    pub fn backlog(mut self, commits: usize) -> Self {
        self.call.backlog = Some(commits);
        self
    }

    /// The store nodes can take as an argument, in place of the graph's own.
    pub fn store(mut self, store: impl Into<SharedStore>) -> Self {
        self.call.store = Some(store.into());
        self
    }

    /// Also applies a command, before the answer counts or the run goes on.
    pub fn with(mut self, command: Command<S>) -> Self {
        match command.output() {
            Ok(output) => self.call.command = Some(Box::new(output)),
            Err(error) => self.call.input = Input::Invalid(error.to_string()),
        }
        self
    }

    /// Runs as a part of the node that calls it: on its thread, with its store and context, and with
    /// questions that reach whoever answers the outer run. Called again after a crash, it goes on where it was.
    pub fn inside(mut self, cx: &Cx) -> Self {
        self.call.inside = Some(Caller::new(cx));
        self
    }

    /// A hand to cancel or drain it with.
    pub fn control(mut self, control: Control) -> Self {
        self.call.control = Some(control);
        self
    }

    /// What happens when the thread already runs.
    pub fn when_busy(mut self, when_busy: WhenBusy) -> Self {
        self.call.when_busy = when_busy;
        self
    }

    /// A label for streams and traces.
    pub fn tag(mut self, tag: impl Into<String>) -> Self {
        self.call.tags.push(tag.into());
        self
    }

    /// Something to find its checkpoints by. Saved with them: no secrets here. A key that starts with `__` is private:
    /// nodes see it, and it is not saved.
    pub fn metadata(mut self, key: impl Into<String>, value: impl Into<Value>) -> Self {
        self.call.metadata.insert(key.into(), value.into());
        self
    }

    /// A value nodes can read with [`crate::Cx::configurable`]. Never saved.
    pub fn configurable(mut self, key: impl Into<String>, value: impl Into<Value>) -> Self {
        self.call.configurable.insert(key.into(), value.into());
        self
    }

    /// How many supersteps it may have, in place of the graph's limit.
    pub fn recursion_limit(mut self, supersteps: u32) -> Self {
        self.call.recursion_limit = supersteps;
        self
    }

    /// What happens when they are used up.
    pub fn on_limit(mut self, on_limit: OnLimit) -> Self {
        self.call.on_limit = on_limit;
        self
    }

    /// At most this many of its tasks run at once.
    pub fn max_concurrency(mut self, tasks: usize) -> Self {
        self.call.max_concurrency = tasks.max(1);
        self
    }

    /// At most this long for the whole run.
    pub fn timeout(mut self, time: Duration) -> Self {
        self.call.run_timeout = Some(time);
        self
    }

    /// At most this long for a task to end in a superstep.
    pub fn step_timeout(mut self, time: Duration) -> Self {
        self.call.step_timeout = Some(time);
        self
    }

    /// At most this many tokens, counted with [`crate::Cx::spend`].
    pub fn token_budget(mut self, tokens: u64) -> Self {
        self.call.token_budget = Some(tokens);
        self
    }

    /// Stops before these nodes, in place of the graph's own; `"*"` means all.
    pub fn interrupt_before(mut self, nodes: impl IntoIterator<Item = impl Into<String>>) -> Self {
        self.call.before = self.named(nodes);
        self
    }

    /// Stops after these nodes, in place of the graph's own; `"*"` means all.
    pub fn interrupt_after(mut self, nodes: impl IntoIterator<Item = impl Into<String>>) -> Self {
        self.call.after = self.named(nodes);
        self
    }

    fn named(&mut self, nodes: impl IntoIterator<Item = impl Into<String>>) -> Breakpoints {
        let names: Vec<String> = nodes.into_iter().map(Into::into).collect();
        let topology = &self.call.program.topology;
        let unknown = names.iter().filter(|name| *name != "*" && topology.find(name).is_none());
        self.call.unknown_breakpoints.extend(unknown.cloned());
        breakpoints(topology, &names)
    }

    /// Where time comes from, for tests.
    pub fn clock(mut self, clock: impl Clock) -> Self {
        self.call.clock = Some(Arc::new(clock));
        self
    }

    /// Where times and ids of checkpoints come from, for tests.
    pub fn world(mut self, world: Arc<dyn World>) -> Self {
        self.call.world = Some(world);
        self
    }

    /// Runs it to its end on this thread, for programs without an async runtime.
    ///
    /// # Errors
    /// What the run failed with. Inside an async runtime it refuses to block.
    pub fn wait(self) -> Result<Outcome<S>> {
        if tokio::runtime::Handle::try_current().is_ok() {
            return Err(Error::new(Code::ConfigInvalid, "`wait` was called inside an async runtime")
                .help("await the run instead"));
        }
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(2)
            .enable_all()
            .build()
            .map_err(|error| Error::new(Code::ConfigInvalid, format!("the runtime does not start: {error}")))?;
        runtime.block_on(self.into_future())
    }

    /// Runs it in the background, whatever happens to the caller. Await what it gives for the result.
    pub fn spawn(self) -> BoxFuture<'static, Result<Outcome<S>>> {
        crate::executor::detach(self.into_future())
    }
}

impl<S: State, C: Send + Sync + 'static> IntoFuture for Run<S, C> {
    type Output = Result<Outcome<S>>;
    type IntoFuture = BoxFuture<'static, Result<Outcome<S>>>;

    fn into_future(self) -> Self::IntoFuture {
        Box::pin(async move { launch::start(self.call).await.and_then(Outcome::typed) })
    }
}

/// How a run ended.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum Status {
    /// Nothing is due.
    Finished,
    /// It waits for answers.
    Interrupted(Vec<Question>),
    /// It stopped at a breakpoint, at these nodes.
    Paused(Vec<String>),
    /// It stopped at a step boundary because it was asked to.
    Drained,
    /// It used up its supersteps and was told to return what there is.
    Truncated,
}

/// What a run gives.
#[derive(Debug, Clone)]
pub struct Outcome<S> {
    /// The output: the state, with fields outside the output schema as on a new thread.
    pub state: View<S>,
    /// How it ended.
    pub status: Status,
    /// The thread, where there is one.
    pub thread: Option<ThreadId>,
    /// The run.
    pub run: RunId,
    /// The newest checkpoint, where there is a store.
    pub checkpoint: Option<CheckpointId>,
    /// The nodes that are due.
    pub next: Vec<String>,
    /// How many supersteps ran.
    pub supersteps: u64,
    /// What was let pass but should be known.
    pub warnings: Vec<String>,
    /// The output as JSON: only fields of the output schema.
    output: OutputJson,
    usage: RunUsage,
}

impl<S: Send + Sync + 'static> Outcome<S> {
    fn typed(raw: RawOutcome) -> Result<Self> {
        let state =
            raw.state.downcast::<S>().map_err(|_| Error::internal("a run ended with a state of another type"))?;
        let RawOutcome { status, thread, run, checkpoint, next, supersteps, warnings, output, usage, .. } = raw;
        let state = View::new(state);
        Ok(Self { state, status, thread, run, checkpoint, next, supersteps, warnings, output, usage })
    }

    /// The output as JSON: only fields of the output schema.
    ///
    /// # Errors
    /// When a value cannot be written as JSON.
    pub fn to_json(&self) -> Result<Value> {
        self.output.to_json()
    }

    /// What models took in this run: calls, tokens, and cost where [`Run::prices`] knows it.
    ///
    /// Of a graph inside a node, what the whole run took so far. What an earlier run on the thread took is not in it.
    #[must_use]
    pub fn usage(&self) -> &RunUsage {
        &self.usage
    }

    /// The questions it waits for.
    #[must_use]
    pub fn questions(&self) -> &[Question] {
        match &self.status {
            Status::Interrupted(questions) => questions,
            _ => &[],
        }
    }

    /// True when nothing is due any more.
    #[must_use]
    pub fn is_finished(&self) -> bool {
        self.status == Status::Finished
    }
}
