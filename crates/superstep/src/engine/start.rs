//! Start and end of a run: thread queue, lease, machine, outcome.
//!
//! The run loop itself is in `driver`. Every end of a run releases the lease, also when the future is dropped.

use std::any::Any;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;
use superstep_core::checkpoint::CheckpointNamespace;
use superstep_core::command::TaskOutput;
use superstep_core::error::{Diagnostic, Error, ErrorCode, Result};
use superstep_core::id::{CheckpointId, RunId, ThreadId};
use superstep_core::machine::{CachedState, Environment, Machine, MachineConfig};
use superstep_core::port::{
    CheckpointSelector, CheckpointTuple, Clock, Commit, Lease, SharedCheckpointer, ThreadStatus,
};
use superstep_core::suggest::did_you_mean;

use crate::engine::context::{RunLimits, RunShared};
use crate::engine::driver::{cancellable, drive_with_limits, with_timeout};
use crate::engine::durability::CommitPipeline;
use crate::engine::environment::{SystemClock, SystemEnvironment};
use crate::engine::outcome::{ErasedOutcome, into_outcome};
use crate::engine::redaction::redact_call;
use crate::engine::subgraph::{CallingTask, SubgraphRun};
use crate::graph::output::NodeError;
use crate::graph::program::Program;
use crate::run::builder::{RunSpec, StartInput};
use crate::run::control::RunControl;
use crate::run::multitask::{MultitaskStrategy, QueueGuard};
use crate::telemetry::{RunObserver, UsageTracker, traced_checkpointer, traced_run};
use crate::threads::prune_after_run;

mod lifecycle_events;
mod resume_error;

use lifecycle_events::{graph_run, open_publisher, publish_end, publish_start, start_input_json};
use resume_error::{explain_resume_error, resumed_interrupt_ids};

/// Returns the clock and the id source of the process, used unless a run sets its own.
pub(crate) fn system_environment() -> &'static (Arc<dyn Clock>, Arc<dyn Environment>) {
    static SYSTEM: std::sync::LazyLock<(Arc<dyn Clock>, Arc<dyn Environment>)> = std::sync::LazyLock::new(|| {
        let clock: Arc<dyn Clock> = Arc::new(SystemClock);
        (clock.clone(), Arc::new(SystemEnvironment::new(clock)))
    });
    &SYSTEM
}

/// A lease that is released on drop.
pub(crate) struct LeaseGuard {
    checkpointer: SharedCheckpointer,
    pub(crate) lease: Lease,
}

impl Drop for LeaseGuard {
    fn drop(&mut self) {
        self.checkpointer.release(&self.lease);
    }
}

impl LeaseGuard {
    /// Acquires the lease of a thread. Waits while another process holds the lease, unless `wait` is false.
    pub(crate) async fn acquire(
        checkpointer: &SharedCheckpointer,
        thread: &ThreadId,
        run: RunId,
        wait: bool,
        clock: &dyn Clock,
    ) -> Result<Self> {
        let mut delay = Duration::from_millis(1);
        loop {
            match checkpointer.acquire(thread, run).await {
                Ok(lease) => return Ok(Self { checkpointer: checkpointer.clone(), lease }),
                Err(error) if error.code() == ErrorCode::ThreadBusy && wait => {
                    clock.sleep(delay).await;
                    delay = (delay * 2).min(Duration::from_millis(50));
                }
                Err(error) => return Err(error),
            }
        }
    }
}

/// Exclusive access of a run to its thread, in this process and among others.
pub(crate) struct ThreadGuard {
    // Dropped first, so that the next run of this process finds the thread free.
    lease_guard: LeaseGuard,
    turn: QueueGuard,
}

/// Starts a run and drives it to its end.
pub(crate) async fn start(mut call: Box<RunSpec>) -> Result<ErasedOutcome> {
    if let Some(caller) = call.calling_task.take() {
        return Box::pin(start_nested(call, &caller)).await;
    }
    redact_call(&mut call);
    match RunObserver::is_enabled(&call.telemetry) {
        false => start_root(call).await,
        true => Box::pin(traced_run(call)).await,
    }
}

/// Starts the root graph of a run, with telemetry if it is configured.
pub(crate) async fn start_root(call: Box<RunSpec>) -> Result<ErasedOutcome> {
    // In a separate boxed future, so that a run does not hold the memory of its start.
    let mut run = Box::pin(prepare_run(call)).await?;
    let StartedRun { machine, shared, store, .. } = &mut *run;
    let ended = drive_with_limits(machine, shared).await;
    if let Err(error) = &ended {
        Box::pin(record_stop(shared, machine, error)).await;
    }
    let mut flushed = shared.flush().await;
    if shared.publisher.is_some() {
        flushed = Box::pin(publish_end(shared, &ended, flushed)).await;
    }
    match (ended, flushed) {
        (Ok(mut outcome), Ok(())) => {
            cache_state(shared, machine, store.as_ref());
            if shared.program.settings.retention.is_some() {
                outcome.warnings.extend(Box::pin(prune_after_run(shared, store.as_ref())).await);
            }
            into_outcome(shared, outcome)
        }
        (Err(error), Ok(())) => Err(error),
        // After any failure, commits that the machine considers persisted may be missing.
        (Err(error), Err(_)) | (Ok(_), Err(error)) => Err(shared.commit_error(machine, error)),
    }
}

/// A started run with its exclusive access to the thread, released when the run is dropped.
struct StartedRun {
    machine: Machine,
    shared: Arc<RunShared>,
    /// The checkpointer as passed by the caller.
    store: Option<SharedCheckpointer>,
    _thread_guard: Option<Arc<ThreadGuard>>,
}

/// Caches the state for the next run on the thread.
fn cache_state(shared: &RunShared, machine: &Machine, store: Option<&SharedCheckpointer>) {
    if let (Some(thread), Some(store), Some(cached_state)) = (&shared.thread, store, machine.cached_state()) {
        shared.program.state_cache.insert(thread, store, cached_state);
    }
}

/// Takes the cached state of the thread, if the last run on it left one.
fn take_cached_state(call: &RunSpec, thread: Option<&ThreadId>) -> Option<CachedState> {
    call.program.state_cache.take(thread?, call.checkpointer.as_ref()?)
}

async fn prepare_run(mut call: Box<RunSpec>) -> Result<Box<StartedRun>> {
    let context = check(&mut call)?;
    let (clock, environment) = environment_of(&call);
    let (run, thread) = run_and_thread_ids(&call, &*environment)?;
    let control = call.control.clone().or_else(|| thread.as_ref().map(|_| RunControl::new()));
    let thread_guard = match (&thread, &control) {
        (Some(thread), Some(control)) => acquire_thread(&call, thread, control, run, &*clock)
            .await
            .map_err(|error| error.with_thread(Some(thread)))?,
        _ => None,
    };
    let cached_state = take_cached_state(&call, thread.as_ref());
    let turn = thread_guard.as_ref().map(|guard| &guard.turn);
    let (loaded, forked) = load(&call, thread.as_ref(), turn, cached_state.as_ref()).await?;
    if let Some(guard) = &thread_guard {
        guard.turn.set_base(loaded.as_ref().map(|loaded| loaded.checkpoint.id));
    }
    let pipeline = commit_pipeline(&call, thread_guard.as_ref());
    let publisher = open_publisher(&mut call, thread.as_ref()).await?;
    let shared = Arc::new(RunShared {
        program: call.program.clone(),
        context,
        checkpointer: pipeline.checkpointer,
        lease: thread_guard.as_ref().map(|guard| guard.lease_guard.lease.clone()),
        write_behind: pipeline.write_behind,
        subgraph_buffer: pipeline.subgraph_buffer,
        recorded_results: pipeline.recorded_results,
        store: call.store.clone(),
        clock,
        environment: environment.clone(),
        control,
        graph: publisher.as_ref().map(|_| graph_run(&call, run, thread.clone())),
        publisher,
        thread,
        run,
        namespace: CheckpointNamespace::root(),
        tags: std::mem::take(&mut call.tags).into(),
        metadata: Arc::new(std::mem::take(&mut call.metadata)),
        configurable: Arc::new(std::mem::take(&mut call.configurable)),
        limits: limits(&call),
        usage: UsageTracker::new(call.telemetry.prices.take()),
        commits_in_flight: Arc::default(),
        warnings: Arc::default(),
        parent_task: None,
        observer: call.observer.take(),
    });
    let mut machine =
        Machine::with_cached_state(call.program.topology.clone(), config(&call, &shared), loaded, cached_state)
            .map_err(|error| error.with_thread(shared.thread.as_ref()))?;
    let resumed_ids = resumed_interrupt_ids(&call.input).filter(|_| !forked);
    let start_input = start_input_json(&shared, &call.input);
    if let Err(error) = begin(&mut machine, call.input, call.command, forked) {
        let error = explain_resume_error(&shared, &machine, resumed_ids, error).await;
        return Err(error.with_thread(shared.thread.as_ref()));
    }
    if let Some(input) = start_input {
        Box::pin(publish_start(&shared, input, call.checkpointer.as_ref())).await?;
    }
    Ok(Box::new(StartedRun { machine, shared, store: call.checkpointer, _thread_guard: thread_guard }))
}

/// Returns the ids of the run and its thread, and reports them to the observer.
fn run_and_thread_ids(call: &RunSpec, environment: &dyn Environment) -> Result<(RunId, Option<ThreadId>)> {
    let run = call.run.unwrap_or_else(|| RunId::from_bits(environment.new_id()));
    let thread = thread_of(call, environment)?;
    if let Some(observer) = &call.observer {
        observer.run_started(run, thread.as_ref());
    }
    Ok((run, thread))
}

/// Builds the layer between the run and its checkpointer.
fn commit_pipeline(call: &RunSpec, thread_guard: Option<&Arc<ThreadGuard>>) -> CommitPipeline {
    let (Some(store), Some(thread_guard)) = (&call.checkpointer, thread_guard) else {
        return CommitPipeline::default();
    };
    let settings = &call.program.settings;
    let durability = call.durability.unwrap_or(settings.durability);
    let store = traced_checkpointer(call.observer.as_ref(), store);
    CommitPipeline::new(
        durability,
        store,
        thread_guard,
        call.max_pending_commits.unwrap_or(settings.max_pending_commits),
    )
}

/// Waits for exclusive access to the thread and acquires its lease, within the timeout of the run.
async fn acquire_thread(
    call: &RunSpec,
    thread: &ThreadId,
    control: &RunControl,
    run: RunId,
    clock: &dyn Clock,
) -> Result<Option<Arc<ThreadGuard>>> {
    let Some(checkpointer) = &call.checkpointer else { return Ok(None) };
    let wait = call.multitask_strategy != MultitaskStrategy::Reject;
    let _queued = call.observer.as_ref().and_then(|observer| observer.run_queued());
    let acquiring = pin!(async {
        let turn = call.thread_queues.acquire(thread, control, call.multitask_strategy).await?;
        let lease_guard = LeaseGuard::acquire(checkpointer, thread, run, wait, clock).await?;
        Ok(Some(Arc::new(ThreadGuard { lease_guard, turn })))
    });
    let entered = pin!(cancellable(control, acquiring));
    match call.run_timeout {
        None => entered.await,
        Some(time) => with_timeout(clock, time, entered).await.unwrap_or_else(|| {
            let message = format!("thread `{thread}` was busy for the whole run timeout of {time:?}");
            Err(Error::new(ErrorCode::Timeout, message).with_help("raise the timeout, or set `multitask_strategy`"))
        }),
    }
}

/// Starts a nested run as part of the calling node.
async fn start_nested(call: Box<RunSpec>, caller: &CallingTask) -> Result<ErasedOutcome> {
    let parent_options = [
        (call.thread.is_some() || call.from_checkpoint.is_some(), "a thread or checkpoint"),
        (call.run.is_some(), "a run id"),
        (call.control.is_some(), "a control"),
        (call.command.is_some(), "a command"),
        (call.run_timeout.is_some() || call.step_timeout.is_some(), "a timeout"),
        (call.token_budget.is_some(), "a budget"),
        (call.durability.is_some() || call.max_pending_commits.is_some(), "a durability"),
        (call.publisher.is_some(), "a separate stream"),
    ];
    if let Some((_, option)) = parent_options.into_iter().find(|(is_set, _)| *is_set) {
        return Err(Error::new(ErrorCode::InputInvalid, format!("{option} cannot be set on a nested graph run"))
            .with_help("the parent run sets it; remove the option, or run the graph without `nested_in`"));
    }
    let StartInput::Values(input) = call.input else {
        return Err(Error::new(ErrorCode::InputInvalid, "a nested graph run requires an input")
            .with_help("the parent run continues it"));
    };
    // The context of the calling run is used if its type is the one that the graph needs.
    if call.context.is_none() && Any::type_id(&*caller.cx.0.shared.context) != call.context_type.0 {
        return Err(missing_context(&call.program, call.context_type.1));
    }
    let subgraph_run =
        SubgraphRun::run(&call.program, caller, input, call.context).await.map_err(NodeError::into_error)?;
    subgraph_run.into_outcome()
}

fn check(call: &mut RunSpec) -> Result<Arc<dyn Any + Send + Sync>> {
    if let StartInput::Invalid(message) = &call.input {
        return Err(Error::new(ErrorCode::InputInvalid, message.clone()));
    }
    if call.recursion_limit < 1 {
        return Err(
            Error::new(ErrorCode::InputInvalid, "the recursion limit is 0").with_help("use a limit of at least 1")
        );
    }
    if let Some(name) = call.unknown_breakpoints.first() {
        return Err(Error::new(ErrorCode::InputInvalid, format!("breakpoint at unknown node `{name}`")).with_help(
            did_you_mean(name, call.program.topology.names())
                .unwrap_or_else(|| "use the name of a node, or `*`".to_owned()),
        ));
    }
    check_configurable(call)?;
    call.context.take().ok_or_else(|| missing_context(&call.program, call.context_type.1))
}

fn missing_context(program: &Program, name: &str) -> Error {
    let message = format!("graph `{}` requires a context of type `{name}`", program.topology.name);
    Error::new(ErrorCode::MissingContext, message).with_help("set it on the run: `.context(..)`")
}

fn check_configurable(call: &RunSpec) -> Result<()> {
    let Some(schema) = &call.program.settings.configurable else { return Ok(()) };
    let values = Value::Object(call.configurable.clone().into_iter().collect());
    schema.check(&values).map_err(|errors| {
        let diagnostics = errors.into_iter().map(Diagnostic::from).collect();
        Error::with_diagnostics(ErrorCode::InputInvalid, "the configurable values of the run are invalid", diagnostics)
    })
}

fn environment_of(call: &RunSpec) -> (Arc<dyn Clock>, Arc<dyn Environment>) {
    let (clock, environment) = system_environment();
    match (&call.clock, &call.environment) {
        (None, None) => (clock.clone(), environment.clone()),
        (Some(clock), None) => (clock.clone(), Arc::new(SystemEnvironment::new(clock.clone()))),
        (None, Some(environment)) => (clock.clone(), environment.clone()),
        (Some(clock), Some(environment)) => (clock.clone(), environment.clone()),
    }
}

/// Returns the thread of the run: the named one, a new one if there is a checkpointer, otherwise none.
fn thread_of(call: &RunSpec, environment: &dyn Environment) -> Result<Option<ThreadId>> {
    let needs_store = !matches!(call.input, StartInput::Values(_)) || call.from_checkpoint.is_some();
    if call.checkpointer.is_none() {
        if needs_store {
            return Err(Error::new(ErrorCode::NoCheckpointer, "continuing a thread requires a checkpointer")
                .with_help("configure one with `graph.checkpointer(..)` or `run.checkpointer(..)`"));
        }
        return Ok(call.thread.clone());
    }
    let thread = call.thread.clone().unwrap_or_else(|| RunId::from_bits(environment.new_id()).to_string().into());
    if !thread.is_valid() {
        return Err(Error::new(ErrorCode::InputInvalid, format!("`{thread}` is not a valid thread id"))
            .with_help("use 1 to 128 letters, digits, `_`, `.`, `:` or `-`"));
    }
    Ok(Some(thread))
}

/// Loads the checkpoint at which the run starts. The flag is true if the run starts a new branch of the history.
async fn load(
    call: &RunSpec,
    thread: Option<&ThreadId>,
    turn: Option<&QueueGuard>,
    cached_state: Option<&CachedState>,
) -> Result<(Option<CheckpointTuple>, bool)> {
    let (Some(thread), Some(checkpointer)) = (thread, &call.checkpointer) else { return Ok((None, false)) };
    let root = CheckpointNamespace::root();
    if call.from_checkpoint.is_some() && turn.is_some_and(|turn| turn.base.is_some()) {
        return Err(Error::new(ErrorCode::InputInvalid, "`rollback` cannot be combined with `from_checkpoint`")
            .with_help("remove `from_checkpoint`, or use another multitask strategy"));
    }
    let at = match turn.and_then(|turn| turn.base) {
        Some(None) => return Ok((None, false)),
        Some(Some(base)) => Some(base),
        None => call.from_checkpoint,
    };
    let newest = checkpointer
        .load(
            thread,
            &root,
            cached_state.map_or(CheckpointSelector::Latest, |cached_state| {
                CheckpointSelector::NewerThan(cached_state.checkpoint())
            }),
        )
        .await?;
    let Some(at) = at else { return Ok((newest, false)) };
    if newest.as_ref().is_some_and(|newest| newest.checkpoint.id == at) {
        return Ok((newest, false));
    }
    let selected = checkpointer.load(thread, &root, CheckpointSelector::Id(at)).await?;
    match selected {
        Some(loaded) => Ok((Some(loaded), true)),
        None => Err(checkpoint_not_found(thread, at)),
    }
}

pub(crate) fn checkpoint_not_found(thread: &ThreadId, id: CheckpointId) -> Error {
    Error::new(ErrorCode::NotFound, format!("checkpoint {id} not found in thread `{thread}`"))
        .with_help("it may have been pruned, or belong to another thread; check the history")
        .with_thread(Some(thread))
}

fn limits(call: &RunSpec) -> RunLimits {
    RunLimits {
        supersteps: call.recursion_limit,
        concurrency: call.max_concurrency,
        run_timeout: call.run_timeout,
        step_timeout: call.step_timeout,
        tokens: call.token_budget,
    }
}

fn config(call: &RunSpec, shared: &RunShared) -> MachineConfig {
    let settings = &call.program.settings;
    MachineConfig {
        run: shared.run,
        thread: shared.thread.clone(),
        namespace: CheckpointNamespace::root(),
        lease: shared.lease.clone(),
        recursion_limit: call.recursion_limit,
        on_limit: call.on_limit,
        interrupt_before: call.interrupt_before.clone(),
        interrupt_after: call.interrupt_after.clone(),
        branch_policy: settings.branch_policy,
        strict_set_once: settings.strict_set_once,
        saves_at_exit: shared.recorded_results.is_some(),
        emits_events: shared.publisher.is_some(),
        metadata: shared.saved_metadata(),
        parent_task: None,
        environment: shared.environment.clone(),
    }
}

fn begin(machine: &mut Machine, input: StartInput, command: Option<Box<TaskOutput>>, forked: bool) -> Result<()> {
    match (input, command) {
        (StartInput::Values(update), None) => machine.start_with_input(update),
        (StartInput::Continue, command) => {
            if forked {
                machine.fork();
            }
            match command {
                Some(output) => machine.command(*output),
                None => machine.continue_from_checkpoint(),
            }
        }
        (StartInput::Resume(resume), None) if forked => machine.fork_with_resume(resume),
        (StartInput::Resume(resume), None) => machine.resume(resume),
        (StartInput::Resume(resume), Some(output)) if !forked => {
            machine.command(*output)?;
            machine.resume(resume)
        }
        (StartInput::Invalid(message), _) => Err(Error::new(ErrorCode::InputInvalid, message)),
        (_, Some(_)) => Err(Error::new(
            ErrorCode::InputInvalid,
            "a command requires a resume value or \
             `continue_thread`",
        )
        .with_help("use it at the latest checkpoint of a started thread")),
    }
}

/// Persists that a run was stopped from outside. A failed commit is not retried.
///
/// A run that commits at its end commits its work here.
async fn record_stop(shared: &RunShared, machine: &mut Machine, error: &Error) {
    let status = match error.code() {
        ErrorCode::Cancelled => ThreadStatus::Idle,
        ErrorCode::Timeout | ErrorCode::TooLarge => ThreadStatus::Error,
        _ => return,
    };
    let (Some(checkpointer), Some(lease)) = (&shared.checkpointer, &shared.lease) else { return };
    shared.pass_recorded_results(machine);
    let commit = machine.commit_on_stop(status).unwrap_or_else(|| {
        let empty = Commit::empty(lease.clone(), CheckpointNamespace::root());
        Commit { status: Some(status), ..empty }
    });
    let _ = checkpointer.commit(&commit).await;
}
