//! Runs the tasks of one superstep: attempts, retries, timeouts, limits, panics.
//!
//! The one room where tasks are spawned. They live in a set that aborts them when it is dropped; no handle
//! leaves this file. Decides nothing about the run: results go to the machine.

use std::collections::{BTreeMap, VecDeque};
use std::future::poll_fn;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::task::Poll;
use std::time::Duration;

use smallvec::SmallVec;
use superstep_core::checkpoint::{Entry, StoredError};
use superstep_core::command::Output;
use superstep_core::datum::Datum;
use superstep_core::error::{Code, Error, Result as RunResult, panic_text};
use superstep_core::fault::Fault;
use superstep_core::graph::Compat;
use superstep_core::machine::{Task, TaskEnd};
use superstep_core::port::BoxFuture;
use tokio::task::{AbortHandle, Id, JoinError, JoinSet};
use tracing::Instrument;

use crate::cache::CallKey;
use crate::context::{Cx, Failure, Shared};
use crate::handler::Action;
use crate::output::{NodeError, Stopped};
use crate::program::NodeEntry;
use crate::redacting::{in_words, put_in_words, redact_given, redacted_questions};
use crate::retry::matching;
use crate::telemetry::{retried, watched_task};

/// The record of a failure whose handler is to run.
const FAILURE: &str = "__failure__";

/// The running tasks of one superstep.
pub(crate) struct Tasks {
    /// Made when two tasks first run at once: most runs never need it.
    set: Option<JoinSet<TaskEnd>>,
    indices: BTreeMap<Id, (usize, AbortHandle)>,
    waiting: VecDeque<Task>,
    /// Tasks that were stopped before they started.
    stopped: VecDeque<usize>,
    limit: usize,
    /// The superstep took too long.
    pub(crate) out_of_time: bool,
}

impl Tasks {
    pub(crate) fn new(limit: usize) -> Self {
        let (waiting, stopped) = (VecDeque::new(), VecDeque::new());
        Self { set: None, indices: BTreeMap::new(), waiting, stopped, limit: limit.max(1), out_of_time: false }
    }

    pub(crate) fn is_idle(&self) -> bool {
        self.indices.is_empty() && self.waiting.is_empty()
    }

    pub(crate) fn start(&mut self, shared: &Arc<Shared>, tasks: SmallVec<[Task; 1]>) {
        self.waiting.extend(tasks);
        self.fill(shared);
    }

    fn fill(&mut self, shared: &Arc<Shared>) {
        while self.indices.len() < self.limit {
            let Some(task) = self.waiting.pop_front() else { return };
            let index = task.index;
            let handle = self.set.get_or_insert_default().spawn(run_task(task_cx(shared, task)));
            self.indices.insert(handle.id(), (index, handle));
        }
    }

    pub(crate) fn cancel(&mut self, indices: &[usize]) {
        self.waiting.retain(|task| !indices.contains(&task.index));
        // Forgotten at once: what a called-off task still reports must not reach a task of a later superstep.
        self.indices.retain(|_, (index, handle)| {
            let is_called_off = indices.contains(index);
            if is_called_off {
                handle.abort();
            }
            !is_called_off
        });
    }

    /// Stops tasks that still run; each is reported, as stopped or as it had ended.
    pub(crate) fn abort(&mut self, indices: &[usize]) {
        let never_started = self.waiting.iter().map(|task| task.index).filter(|index| indices.contains(index));
        self.stopped.extend(never_started);
        self.waiting.retain(|task| !indices.contains(&task.index));
        let running = self.indices.values().filter(|(index, _)| indices.contains(index));
        running.for_each(|(_, handle)| handle.abort());
    }

    /// The next task that ends; `None` when none runs.
    pub(crate) async fn next(&mut self, shared: &Arc<Shared>) -> Option<(usize, TaskEnd)> {
        if let Some(index) = self.stopped.pop_front() {
            return Some((index, TaskEnd::Cancelled));
        }
        loop {
            let joined = self.set.as_mut()?.join_next_with_id().await?;
            let reported = self.report(joined);
            self.fill(shared);
            if reported.is_some() {
                return reported;
            }
        }
    }

    /// A task that has ended and was not reported yet, without waiting for one.
    pub(crate) fn ended(&mut self) -> Option<(usize, TaskEnd)> {
        loop {
            let joined = self.set.as_mut()?.try_join_next_with_id()?;
            let reported = self.report(joined);
            if reported.is_some() {
                return reported;
            }
        }
    }

    /// Stops all that runs, and returns when every task has let go of what it held.
    pub(crate) async fn let_go(&mut self) {
        self.waiting.clear();
        self.indices.clear();
        if let Some(set) = &mut self.set {
            set.shutdown().await;
        }
    }

    /// How a task ended; `None` when it was called off.
    fn report(&mut self, joined: Result<(Id, TaskEnd), JoinError>) -> Option<(usize, TaskEnd)> {
        let (id, end) = joined.unwrap_or_else(|error| match (error.id(), error.try_into_panic()) {
            (id, Ok(panic)) => (id, TaskEnd::Failed(panicked(&*panic))),
            (id, Err(_)) => (id, TaskEnd::Cancelled),
        });
        self.indices.remove(&id).map(|(index, _)| (index, end))
    }
}

/// Runs a closure that blocks on a thread made for that.
pub(crate) async fn run_blocking<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> Result<T, NodeError> {
    #[expect(clippy::disallowed_methods, reason = "the executor owns spawning")]
    let handle = tokio::task::spawn_blocking(work);
    match handle.await {
        Ok(value) => Ok(value),
        Err(error) if error.is_panic() => Err(panicked(&*error.into_panic()).into()),
        Err(_) => Err(Error::new(Code::Cancelled, "the blocking work was cancelled").into()),
    }
}

fn panicked(panic: &(dyn std::any::Any + Send)) -> Error {
    if let Some(fault) = panic.downcast_ref::<Fault>() {
        let error = Error::new(fault.code.unwrap_or(Code::NodeFailed), fault.message.clone());
        return fault.help.clone().into_iter().fold(error, Error::help);
    }
    Error::new(Code::NodeFailed, format!("it panicked: {}", panic_text(panic)))
        .help("return an error instead of panicking; the other tasks were not harmed")
}

/// The task as its node will see it.
pub(crate) fn task_cx(shared: &Arc<Shared>, task: Task) -> Cx {
    let entry = &shared.program.nodes[task.node.index()];
    let first_attempt = if entry.retry.is_empty() { 0 } else { shared.clock.now() };
    Cx::new(shared, task, first_attempt)
}

/// Runs one task to its end: cache, attempts, handler.
pub(crate) async fn run_task(cx: Cx) -> TaskEnd {
    let entry = cx.entry();
    if is_bare(&cx, entry) && cx.0.shared.watch.is_none() {
        let mut end = ended(guarded(&entry.action, &cx).await);
        if matches!(end, TaskEnd::Failed(_)) {
            put_in_words(&cx, &mut end);
        }
        return end;
    }
    // Apart, so that a run whose nodes ask for none of this does not carry the room for it.
    match &cx.0.shared.watch {
        None => Box::pin(run_unwatched(&cx)).await,
        Some(watch) => Box::pin(watched_task(&cx, watch)).await,
    }
}

/// Runs one task to its end, for whoever tells of it.
pub(crate) async fn run_unwatched(cx: &Cx) -> TaskEnd {
    let entry = cx.entry();
    let mut end = match is_bare(cx, entry) {
        true => ended(guarded(&entry.action, cx).await),
        false => run_with_policies(cx, entry).await,
    };
    put_in_words(cx, &mut end);
    end
}

/// Whether nothing but the node decides how this task ends.
fn is_bare(cx: &Cx, entry: &NodeEntry) -> bool {
    entry.is_plain() && cx.0.task.timeout().is_none()
}

async fn run_with_policies(cx: &Cx, entry: &NodeEntry) -> TaskEnd {
    let _permit = match &entry.concurrency {
        Some(limit) => limit.clone().acquire_owned().await.ok(),
        None => None,
    };
    let (shared, task) = (&cx.0.shared, &cx.0.task);
    let cache_key = match cache_key(shared, entry, task) {
        Ok(key) => key,
        Err(error) => return TaskEnd::Failed(error),
    };
    let cache = &shared.program.settings.cache;
    if let (Some(key), Some(cache)) = (&cache_key, cache)
        && let Some(output) = cache.get(key, shared.clock.now())
    {
        return TaskEnd::Cached(output);
    }
    let (end, by) = attempts(cx, entry).await;
    // What a handler gave stands for a failure, and failures are not kept.
    if let (TaskEnd::Done(output), By::Node, Some(key), Some(cache)) = (&end, by, cache_key, cache) {
        let ttl = entry.cache.as_ref().and_then(|policy| policy.ttl);
        cache.put(key, output.clone(), ttl, shared.clock.now());
    }
    end
}

fn cache_key(shared: &Shared, entry: &NodeEntry, task: &Task) -> RunResult<Option<CallKey>> {
    let (Some(policy), Some(_)) = (&entry.cache, &shared.program.settings.cache) else { return Ok(None) };
    let topology = &shared.program.topology;
    let key = || (policy.key)(&topology.schema, &*task.view, task.payload());
    let key = catch_unwind(AssertUnwindSafe(key)).map_err(|panic| panicked(&*panic))?;
    Ok(key.map(|key| (topology.name.clone(), topology.node(task.node).name.clone(), key)))
}

/// Whose word the end of a task is.
enum By {
    Node,
    Handler,
}

async fn attempts(cx: &Cx, entry: &NodeEntry) -> (TaskEnd, By) {
    if let (Some(handler), Some(failure)) = (&entry.on_error, cx.recorded(FAILURE)) {
        let error =
            failure.clone().take::<StoredError>().map_or_else(|fault| Error::internal(fault.to_string()), restored);
        return (handle(cx, handler, error).await, By::Handler);
    }
    let shared = &cx.0.shared;
    loop {
        let error = match attempt_once(entry, &entry.action, cx).await {
            Attempt::Ended(end) => return (end, By::Node),
            Attempt::Failed(error) => error,
        };
        let attempt = cx.attempt();
        let retry = match catch_unwind(AssertUnwindSafe(|| matching(&entry.retry, &error))) {
            Ok(retry) => retry.filter(|retry| attempt < retry.max_attempts),
            Err(panic) => return (TaskEnd::Failed(panicked(&*panic)), By::Node),
        };
        let Some(retry) = retry else { return (give_up(cx, entry, error).await, By::Handler) };
        let wait = error.retry_after.unwrap_or_else(|| retry.wait(attempt, share(shared.world.fresh())));
        if let Some(sink) = &shared.sink {
            sink.retry(cx, attempt, wait, &error).await;
        }
        retried(cx, attempt, wait, &error);
        shared.clock.sleep(wait).await;
        cx.try_again();
    }
}

/// A share in 0..1 out of a fresh id. Ids of one process differ in few bits: they are mixed first.
fn share(id: u128) -> f64 {
    let mixed = (id as u64 ^ (id >> 64) as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    (mixed >> 48) as f64 / 65_536.0
}

enum Attempt {
    Ended(TaskEnd),
    Failed(NodeError),
}

/// How a task ended that is tried once.
fn ended(attempt: Attempt) -> TaskEnd {
    match attempt {
        Attempt::Ended(end) => end,
        Attempt::Failed(error) => TaskEnd::Failed(error.into_error()),
    }
}

/// One attempt, with its timeouts.
async fn attempt_once(entry: &NodeEntry, action: &Arc<dyn Action>, cx: &Cx) -> Attempt {
    let timeout = cx.0.task.timeout().or_else(|| entry.timeout.as_ref().and_then(|timeout| timeout.run));
    let idle = entry.timeout.as_ref().and_then(|timeout| timeout.idle);
    if timeout.is_none() && idle.is_none() {
        return guarded(action, cx).await;
    }
    cx.heartbeat();
    let clock = cx.0.shared.clock.clone();
    let mut work = pin!(guarded(action, cx));
    let mut limit = timeout.map(|time| clock.sleep(time));
    let mut quiet = idle.map(|time| clock.sleep(time));
    poll_fn(|context| {
        if let Poll::Ready(end) = work.as_mut().poll(context) {
            return Poll::Ready(end);
        }
        if let (Some(sleep), Some(time)) = (&mut limit, timeout)
            && sleep.as_mut().poll(context).is_ready()
        {
            return Poll::Ready(Attempt::Failed(too_slow(format!("it took longer than {time:?}"))));
        }
        while let (Some(sleep), Some(time)) = (&mut quiet, idle) {
            if sleep.as_mut().poll(context).is_pending() {
                break;
            }
            let silent = clock.now() - cx.0.cell.alive.load(Ordering::Relaxed);
            let left = i64::try_from(time.as_micros()).unwrap_or(i64::MAX) - silent;
            if left <= 0 {
                return Poll::Ready(Attempt::Failed(too_slow(format!("it gave no sign of life for {time:?}"))));
            }
            quiet = Some(clock.sleep(Duration::from_micros(left.unsigned_abs())));
        }
        Poll::Pending
    })
    .await
}

fn too_slow(message: String) -> NodeError {
    Error::new(Code::Timeout, message).help("raise the timeout, or report progress with a heartbeat").into()
}

/// Polls a node so that a panic fails its task only, and lets it go once it has asked a person.
async fn guarded(action: &Arc<dyn Action>, cx: &Cx) -> Attempt {
    let mut future = match catch_unwind(AssertUnwindSafe(|| action.call(cx))) {
        Ok(future) => future,
        Err(panic) => return Attempt::Failed(panicked(&*panic).into()),
    };
    poll_fn(|context| {
        let polled = catch_unwind(AssertUnwindSafe(|| future.as_mut().poll(context)));
        match polled {
            Ok(Poll::Ready(Ok(mut output))) => {
                if let Some(redaction) = cx.0.shared.redaction() {
                    redact_given(cx, redaction, &mut output);
                }
                Poll::Ready(Attempt::Ended(TaskEnd::Done(output)))
            }
            Ok(Poll::Ready(Err(error))) => Poll::Ready(match error.stopped {
                Some(Stopped::Paused(nodes)) => Attempt::Ended(TaskEnd::Paused(nodes)),
                Some(Stopped::Drained) => Attempt::Ended(TaskEnd::Cancelled),
                None => Attempt::Failed(error),
            }),
            Ok(Poll::Pending) if cx.0.cell.has_asked() => {
                Poll::Ready(Attempt::Ended(TaskEnd::Asked(redacted_questions(cx))))
            }
            Ok(Poll::Pending) => Poll::Pending,
            Err(panic) => Poll::Ready(Attempt::Failed(panicked(&*panic).into())),
        }
    })
    .await
}

/// The node has failed for good: its handler takes over, where it has one.
async fn give_up(cx: &Cx, entry: &NodeEntry, error: NodeError) -> TaskEnd {
    let error = error.into_error();
    let Some(handler) = &entry.on_error else { return TaskEnd::Failed(error) };
    let error = in_words(cx, error.at_node(cx.node()));
    // Kept before the handler starts: after a crash the handler runs again, not the node.
    let value = Datum::live(StoredError::from(&error));
    if let Err(error) = cx.record(Entry::Once { key: FAILURE.to_owned(), value }).await {
        return TaskEnd::Failed(error);
    }
    handle(cx, handler, error).await
}

async fn handle(cx: &Cx, handler: &Arc<dyn Action>, error: Error) -> TaskEnd {
    let cx = cx.for_handler(Failure { node: cx.node().into(), error });
    match guarded(handler, &cx).await {
        Attempt::Ended(TaskEnd::Done(output)) => TaskEnd::Done(handled(&cx.0.shared, output)),
        attempt => ended(attempt),
    }
}

/// In the reference a handled failure does not follow the node's edges: the handler must say where to go.
fn handled(shared: &Shared, mut output: Output) -> Output {
    if shared.program.topology.compat == Compat::LangGraph {
        output.skip_edges = true;
    }
    output
}

fn restored(stored: StoredError) -> Error {
    let error = Error::new(stored.code, stored.message).retryable(stored.retryable);
    let error = stored.help.into_iter().fold(error, Error::help);
    stored.place.node.into_iter().fold(error, |error, node| error.at_node(node))
}

/// Drives several futures at once, at most `at_once` of them; results are in the order given.
pub(crate) async fn in_parallel<T: Send + 'static>(
    work: impl Iterator<Item = BoxFuture<'static, RunResult<T>>>,
    at_once: usize,
) -> Vec<RunResult<T>> {
    let mut waiting: VecDeque<_> = work.enumerate().collect();
    let mut set = JoinSet::new();
    let mut results: BTreeMap<usize, RunResult<T>> = BTreeMap::new();
    loop {
        while set.len() < at_once.max(1) {
            let Some((index, mut future)) = waiting.pop_front() else { break };
            set.spawn(async move {
                let guarded = poll_fn(|context| {
                    let polled = catch_unwind(AssertUnwindSafe(|| future.as_mut().poll(context)));
                    polled.unwrap_or_else(|panic| Poll::Ready(Err(panicked(&*panic))))
                });
                (index, guarded.await)
            });
        }
        match set.join_next().await {
            Some(Ok((index, result))) => drop(results.insert(index, result)),
            Some(Err(_)) => {}
            None => return results.into_values().collect(),
        }
    }
}

/// Runs work in the background that nobody waits for here: it ends by itself.
pub(crate) fn in_background(work: impl Future<Output = ()> + Send + 'static) -> RunResult<()> {
    if tokio::runtime::Handle::try_current().is_err() {
        return Err(Error::new(
            Code::ConfigInvalid,
            "saving in the background needs an async runtime, and there is none",
        )
        .help("use `wait`, or `Durability::Sync`"));
    }
    #[expect(clippy::disallowed_methods, reason = "the executor owns spawning")]
    drop(tokio::task::spawn(work));
    Ok(())
}

/// Runs a future in the background; what it gives can be awaited or dropped.
pub(crate) fn detach<T: Send + 'static>(work: BoxFuture<'static, RunResult<T>>) -> BoxFuture<'static, RunResult<T>> {
    if tokio::runtime::Handle::try_current().is_err() {
        let error =
            Error::new(Code::ConfigInvalid, "`spawn` was called outside an async runtime").help("use `wait` there");
        return Box::pin(std::future::ready(Err(error)));
    }
    #[expect(clippy::disallowed_methods, reason = "the executor owns spawning")]
    let handle = tokio::task::spawn(work.in_current_span());
    Box::pin(async move {
        handle.await.unwrap_or_else(|error| match error.try_into_panic() {
            Ok(panic) => Err(panicked(&*panic)),
            Err(_) => Err(Error::new(Code::Cancelled, "the runtime was shut down while the run went on")),
        })
    })
}
