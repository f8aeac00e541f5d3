//! How a run starts and ends: its turn on the thread, its lease, its machine, its result.
//!
//! The loop itself is in `run`. Whatever ends a run, also a dropped future, gives the lease back.

use std::any::Any;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;
use superstep_core::checkpoint::Namespace;
use superstep_core::command::Output;
use superstep_core::error::{Code, Error, Problem, Result};
use superstep_core::id::{CheckpointId, RunId, ThreadId};
use superstep_core::machine::{Config, Machine, Warm, World};
use superstep_core::port::{At, Clock, Commit, Lease, Loaded, SharedCheckpointer, ThreadStatus};
use superstep_core::suggest::did_you_mean;

use crate::call::{Call, Input};
use crate::clock::{Fresh, SystemClock};
use crate::conclude::{RawOutcome, conclude};
use crate::context::{Limits, Shared};
use crate::control::Control;
use crate::durability::Saving;
use crate::lanes::{Turn, WhenBusy};
use crate::output::NodeError;
use crate::program::Program;
use crate::redacting::redact_call;
use crate::run::{drive_limited, unless_cancelled, within};
use crate::subgraph::{Caller, Inside};
use crate::telemetry::{Spending, Watch, watched_run, watched_store};
use crate::threads::prune_after;

mod answered;
mod told;

use answered::{answered_ids, told_why};
use told::{graph_run, sink, tell_start, told_first, told_last};

/// Time and ids of a process, unless a run brings its own.
pub(crate) fn real_world() -> &'static (Arc<dyn Clock>, Arc<dyn World>) {
    static WORLD: std::sync::LazyLock<(Arc<dyn Clock>, Arc<dyn World>)> = std::sync::LazyLock::new(|| {
        let clock: Arc<dyn Clock> = Arc::new(SystemClock);
        (clock.clone(), Arc::new(Fresh::new(clock)))
    });
    &WORLD
}

/// A lease that is given back whatever happens.
pub(crate) struct Held {
    saver: SharedCheckpointer,
    pub(crate) lease: Lease,
}

impl Drop for Held {
    fn drop(&mut self) {
        self.saver.release(&self.lease);
    }
}

impl Held {
    /// Takes the right to move a thread; waits while another process has it, unless told not to.
    pub(crate) async fn take(
        saver: &SharedCheckpointer,
        thread: &ThreadId,
        run: RunId,
        wait: bool,
        clock: &dyn Clock,
    ) -> Result<Self> {
        let mut pause = Duration::from_millis(1);
        loop {
            match saver.acquire(thread, run).await {
                Ok(lease) => return Ok(Self { saver: saver.clone(), lease }),
                Err(error) if error.code() == Code::ThreadBusy && wait => {
                    clock.sleep(pause).await;
                    pause = (pause * 2).min(Duration::from_millis(50));
                }
                Err(error) => return Err(error),
            }
        }
    }
}

/// The place of a run on its thread, inside this process and among others.
pub(crate) struct Place {
    // Given back first: who comes next in this process finds the thread free.
    held: Held,
    turn: Turn,
}

/// Starts a run and sees it to its end.
pub(crate) async fn start(mut call: Box<Call>) -> Result<RawOutcome> {
    if let Some(caller) = call.inside.take() {
        return Box::pin(start_inside(call, &caller)).await;
    }
    redact_call(&mut call);
    match Watch::is_wanted(&call.observed) {
        false => start_outermost(call).await,
        true => Box::pin(watched_run(call)).await,
    }
}

/// Starts the outermost graph of a run; observed where the call says by whom.
pub(crate) async fn start_outermost(call: Box<Call>) -> Result<RawOutcome> {
    // Apart, so that a run carries no room for its start while it goes on.
    let mut run = Box::pin(begin_run(call)).await?;
    let Begun { machine, shared, store, .. } = &mut *run;
    let ended = drive_limited(machine, shared).await;
    if let Err(error) = &ended {
        Box::pin(note_stop(shared, machine, error)).await;
    }
    let mut flushed = shared.flush().await;
    if shared.sink.is_some() {
        flushed = Box::pin(told_last(shared, &ended, flushed)).await;
    }
    match (ended, flushed) {
        (Ok(mut outcome), Ok(())) => {
            keep_warm(shared, machine, store.as_ref());
            if shared.program.settings.retention.is_some() {
                outcome.warnings.extend(Box::pin(prune_after(shared, store.as_ref())).await);
            }
            conclude(shared, outcome)
        }
        (Err(error), Ok(())) => Err(error),
        // Whatever ended the run, what it thought saved is not.
        (Err(error), Err(_)) | (Ok(_), Err(error)) => Err(shared.not_saved(machine, error)),
    }
}

/// A run that has begun, with its place on the thread: given back when the run is dropped, however it ends.
struct Begun {
    machine: Machine,
    shared: Arc<Shared>,
    /// The store as the caller gave it.
    store: Option<SharedCheckpointer>,
    _place: Option<Arc<Place>>,
}

/// Keeps the state for the next run on the thread.
fn keep_warm(shared: &Shared, machine: &Machine, store: Option<&SharedCheckpointer>) {
    if let (Some(thread), Some(store), Some(warm)) = (&shared.thread, store, machine.warm()) {
        shared.program.warm.keep(thread, store, warm);
    }
}

async fn begin_run(mut call: Box<Call>) -> Result<Box<Begun>> {
    let context = check(&mut call)?;
    let (clock, world) = call_world(&call);
    let (run, thread) = names(&call, &*world)?;
    let control = call.control.clone().or_else(|| thread.as_ref().map(|_| Control::new()));
    let place = match (&thread, &control) {
        (Some(thread), Some(control)) => {
            enter(&call, thread, control, run, &*clock).await.map_err(|error| error.on_thread(Some(thread)))?
        }
        _ => None,
    };
    let warm = thread.as_ref().zip(call.checkpointer.as_ref());
    let warm = warm.and_then(|(thread, store)| call.program.warm.take(thread, store));
    let turn = place.as_ref().map(|place| &place.turn);
    let (loaded, forked) = load(&call, thread.as_ref(), turn, warm.as_ref()).await?;
    if let Some(place) = &place {
        place.turn.started_at(loaded.as_ref().map(|loaded| loaded.checkpoint.id));
    }
    let Saving { saver, backlog, stage, records } = saving(&call, place.as_ref());
    let sink = sink(&mut call, thread.as_ref()).await?;
    let shared = Arc::new(Shared {
        program: call.program.clone(),
        context,
        saver,
        lease: place.as_ref().map(|place| place.held.lease.clone()),
        backlog,
        stage,
        records,
        store: call.store.clone(),
        clock,
        world: world.clone(),
        control,
        graph: sink.as_ref().map(|_| graph_run(&call, run, thread.clone())),
        sink,
        thread,
        run,
        namespace: Namespace::root(),
        tags: std::mem::take(&mut call.tags).into(),
        metadata: Arc::new(std::mem::take(&mut call.metadata)),
        configurable: Arc::new(std::mem::take(&mut call.configurable)),
        limits: limits(&call),
        spent: Spending::new(call.observed.prices.take()),
        saving: Arc::default(),
        notes: Arc::default(),
        outer: None,
        watch: call.watch.take(),
    });
    let mut machine = Machine::with(call.program.topology.clone(), config(&call, &shared), loaded, warm)
        .map_err(|error| error.on_thread(shared.thread.as_ref()))?;
    let answers = answered_ids(&call.input).filter(|_| !forked);
    let told = told_first(&shared, &call.input);
    if let Err(error) = begin(&mut machine, call.input, call.command, forked) {
        let error = told_why(&shared, &machine, answers, error).await;
        return Err(error.on_thread(shared.thread.as_ref()));
    }
    if let Some(input) = told {
        Box::pin(tell_start(&shared, input, call.checkpointer.as_ref())).await?;
    }
    Ok(Box::new(Begun { machine, shared, store: call.checkpointer, _place: place }))
}

/// The id of the run and its thread, told to whoever observes it.
fn names(call: &Call, world: &dyn World) -> Result<(RunId, Option<ThreadId>)> {
    let run = call.run.unwrap_or_else(|| RunId::from_bits(world.fresh()));
    let thread = thread_of(call, world)?;
    if let Some(watch) = &call.watch {
        watch.begun(run, thread.as_ref());
    }
    Ok((run, thread))
}

/// What stands between the run and its store.
fn saving(call: &Call, place: Option<&Arc<Place>>) -> Saving {
    let (Some(store), Some(place)) = (&call.checkpointer, place) else { return Saving::default() };
    let settings = &call.program.settings;
    let durability = call.durability.unwrap_or(settings.durability);
    let store = watched_store(call.watch.as_ref(), store);
    Saving::new(durability, store, place, call.backlog.unwrap_or(settings.backlog))
}

/// Waits for the run's turn on its thread and takes the right to move it, within the time the run may take.
async fn enter(
    call: &Call,
    thread: &ThreadId,
    control: &Control,
    run: RunId,
    clock: &dyn Clock,
) -> Result<Option<Arc<Place>>> {
    let Some(saver) = &call.checkpointer else { return Ok(None) };
    let wait = call.when_busy != WhenBusy::Reject;
    let _waits = call.watch.as_ref().and_then(|watch| watch.waits());
    let place = pin!(async {
        let turn = call.lanes.enter(thread, control, call.when_busy).await?;
        let held = Held::take(saver, thread, run, wait, clock).await?;
        Ok(Some(Arc::new(Place { held, turn })))
    });
    let entered = pin!(unless_cancelled(control, place));
    match call.run_timeout {
        None => entered.await,
        Some(time) => within(clock, time, entered).await.unwrap_or_else(|| {
            let message = format!("thread `{thread}` was busy for {time:?}, all the time the run may take");
            Err(Error::new(Code::Timeout, message).help("raise the limit, or say what should happen with `when_busy`"))
        }),
    }
}

/// Starts a run as a part of the node that called it.
async fn start_inside(call: Box<Call>, caller: &Caller) -> Result<RawOutcome> {
    let is_set = [
        (call.thread.is_some() || call.at.is_some(), "a thread or checkpoint"),
        (call.run.is_some(), "a run id"),
        (call.control.is_some(), "a control"),
        (call.command.is_some(), "a command"),
        (call.run_timeout.is_some() || call.step_timeout.is_some(), "a timeout"),
        (call.token_budget.is_some(), "a budget"),
        (call.durability.is_some() || call.backlog.is_some(), "a durability"),
        (call.sink.is_some(), "a stream of its own"),
    ];
    if let Some((_, what)) = is_set.into_iter().find(|(is_set, _)| *is_set) {
        return Err(Error::new(Code::InputInvalid, format!("{what} has no effect on a graph inside a node"))
            .help("the run around it decides; leave it out, or run the graph without `inside`"));
    }
    let Input::Values(input) = call.input else {
        return Err(
            Error::new(Code::InputInvalid, "a graph inside a node starts with an input").help("it goes on by itself")
        );
    };
    // The context around is good enough, where it is of the type the graph needs.
    if call.context.is_none() && Any::type_id(&*caller.cx.0.shared.context) != call.needs_context.0 {
        return Err(missing_context(&call.program, call.needs_context.1));
    }
    let inside = Inside::run(&call.program, caller, input, call.context).await.map_err(NodeError::into_error)?;
    inside.conclude()
}

fn check(call: &mut Call) -> Result<Arc<dyn Any + Send + Sync>> {
    if let Input::Invalid(message) = &call.input {
        return Err(Error::new(Code::InputInvalid, message.clone()));
    }
    if call.recursion_limit < 1 {
        return Err(Error::new(Code::InputInvalid, "the recursion limit is 0").help("a run needs at least 1 superstep"));
    }
    if let Some(name) = call.unknown_breakpoints.first() {
        return Err(Error::new(Code::InputInvalid, format!("breakpoint at unknown node `{name}`")).help(
            did_you_mean(name, call.program.topology.names())
                .unwrap_or_else(|| "name a node of the graph, or `*`".to_owned()),
        ));
    }
    check_configurable(call)?;
    call.context.take().ok_or_else(|| missing_context(&call.program, call.needs_context.1))
}

fn missing_context(program: &Program, name: &str) -> Error {
    let message = format!("graph `{}` needs a context of type `{name}`", program.topology.name);
    Error::new(Code::MissingContext, message).help("give it with the run: `.context(..)`")
}

fn check_configurable(call: &Call) -> Result<()> {
    let Some(schema) = &call.program.settings.configurable else { return Ok(()) };
    let values = Value::Object(call.configurable.clone().into_iter().collect());
    schema.check(&values).map_err(|faults| {
        let problems = faults.into_iter().map(Problem::from).collect();
        Error::listing(Code::InputInvalid, "the configurable values of the run are not valid", problems)
    })
}

fn call_world(call: &Call) -> (Arc<dyn Clock>, Arc<dyn World>) {
    let (clock, world) = real_world();
    match (&call.clock, &call.world) {
        (None, None) => (clock.clone(), world.clone()),
        (Some(clock), None) => (clock.clone(), Arc::new(Fresh::new(clock.clone()))),
        (None, Some(world)) => (clock.clone(), world.clone()),
        (Some(clock), Some(world)) => (clock.clone(), world.clone()),
    }
}

/// The thread to run on: the one named, a fresh one when there is a store, none otherwise.
fn thread_of(call: &Call, world: &dyn World) -> Result<Option<ThreadId>> {
    let needs_store = !matches!(call.input, Input::Values(_)) || call.at.is_some();
    if call.checkpointer.is_none() {
        if needs_store {
            return Err(Error::new(Code::NoCheckpointer, "going on with a thread needs a store, and there is none")
                .help("give one: `graph.checkpointer(..)` or `run.checkpointer(..)`"));
        }
        return Ok(call.thread.clone());
    }
    let thread = call.thread.clone().unwrap_or_else(|| RunId::from_bits(world.fresh()).to_string().into());
    if !thread.is_valid() {
        return Err(Error::new(Code::InputInvalid, format!("`{thread}` is no name for a thread"))
            .help("use 1 to 128 letters, digits, `_`, `.`, `:` or `-`"));
    }
    Ok(Some(thread))
}

/// What the run starts from, and whether that is a new line of history.
async fn load(
    call: &Call,
    thread: Option<&ThreadId>,
    turn: Option<&Turn>,
    warm: Option<&Warm>,
) -> Result<(Option<Loaded>, bool)> {
    let (Some(thread), Some(saver)) = (thread, &call.checkpointer) else { return Ok((None, false)) };
    let root = Namespace::root();
    if call.at.is_some() && turn.is_some_and(|turn| turn.base.is_some()) {
        return Err(Error::new(
            Code::InputInvalid,
            "a roll-back starts where the run before had started, not at a checkpoint",
        )
        .help("leave out `at`, or use another rule for a busy thread"));
    }
    let at = match turn.and_then(|turn| turn.base) {
        Some(None) => return Ok((None, false)),
        Some(Some(base)) => Some(base),
        None => call.at,
    };
    let newest = saver.load(thread, &root, warm.map_or(At::Latest, |warm| At::Newer(warm.checkpoint()))).await?;
    let Some(at) = at else { return Ok((newest, false)) };
    if newest.as_ref().is_some_and(|newest| newest.checkpoint.id == at) {
        return Ok((newest, false));
    }
    let found = saver.load(thread, &root, At::Id(at)).await?;
    match found {
        Some(loaded) => Ok((Some(loaded), true)),
        None => Err(no_checkpoint(thread, at)),
    }
}

pub(crate) fn no_checkpoint(thread: &ThreadId, id: CheckpointId) -> Error {
    Error::new(Code::NotFound, format!("thread `{thread}` has no checkpoint {id}"))
        .help("it may have been pruned, or belong to another thread: look at the history")
        .on_thread(Some(thread))
}

fn limits(call: &Call) -> Limits {
    Limits {
        supersteps: call.recursion_limit,
        concurrency: call.max_concurrency,
        run_timeout: call.run_timeout,
        step_timeout: call.step_timeout,
        tokens: call.token_budget,
    }
}

fn config(call: &Call, shared: &Shared) -> Config {
    let settings = &call.program.settings;
    Config {
        run: shared.run,
        thread: shared.thread.clone(),
        namespace: Namespace::root(),
        lease: shared.lease.clone(),
        limit: call.recursion_limit,
        on_limit: call.on_limit,
        before: call.before.clone(),
        after: call.after.clone(),
        failures: settings.failures,
        strict_set_once: settings.strict_set_once,
        at_exit: shared.records.is_some(),
        observe: shared.sink.is_some(),
        metadata: shared.saved_metadata(),
        outer_task: None,
        world: shared.world.clone(),
    }
}

fn begin(machine: &mut Machine, input: Input, command: Option<Box<Output>>, forked: bool) -> Result<()> {
    match (input, command) {
        (Input::Values(draft), None) => machine.begin_with(draft),
        (Input::GoOn, command) => {
            if forked {
                machine.fork();
            }
            match command {
                Some(output) => machine.command(*output),
                None => machine.go_on(),
            }
        }
        (Input::Resume(resume), None) if forked => machine.fork_and_resume(resume),
        (Input::Resume(resume), None) => machine.resume(resume),
        (Input::Resume(resume), Some(output)) if !forked => {
            machine.command(*output)?;
            machine.resume(resume)
        }
        (Input::Invalid(message), _) => Err(Error::new(Code::InputInvalid, message)),
        (_, Some(_)) => Err(Error::new(Code::InputInvalid, "a command goes with an answer or with going on")
            .help("at the newest checkpoint of a thread that has begun")),
    }
}

/// Notes on the thread that a run was stopped from outside; a failing store is not asked twice.
///
/// A run that saves at its end saves here what it has done.
async fn note_stop(shared: &Shared, machine: &mut Machine, error: &Error) {
    let status = match error.code() {
        Code::Cancelled => ThreadStatus::Idle,
        Code::Timeout | Code::TooLarge => ThreadStatus::Error,
        _ => return,
    };
    let (Some(saver), Some(lease)) = (&shared.saver, &shared.lease) else { return };
    shared.hand_over_records(machine);
    let commit = machine.stop_unsaved(status).unwrap_or_else(|| {
        let empty = Commit::empty(lease.clone(), Namespace::root());
        Commit { status: Some(status), ..empty }
    });
    let _ = saver.commit(&commit).await;
}
