//! Execution of the tasks of one superstep: attempts, retries, timeouts, limits, panics.
//!
//! The only module that spawns tasks. They live in a set that aborts them on drop; no task handle leaves this file.
//! The executor decides nothing about the run: results go to the machine.

use std::collections::{BTreeMap, VecDeque};
use std::future::poll_fn;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::task::Poll;
use std::time::Duration;

use smallvec::SmallVec;
use superstep_core::checkpoint::{StoredError, TaskEntry};
use superstep_core::command::TaskOutput;
use superstep_core::error::{Error, ErrorCode, Result as RunResult, panic_message};
use superstep_core::graph::Compat;
use superstep_core::machine::{Task, TaskEnd};
use superstep_core::port::BoxFuture;
use superstep_core::validation_error::ValidationError;
use superstep_core::value::AnyValue;
use tokio::task::{AbortHandle, Id, JoinError, JoinSet};
use tracing::Instrument;

use crate::engine::context::{NodeFailure, RunShared, TaskContext};
use crate::engine::redaction::{redact_error, redact_node_output, redact_task_error, redacted_interrupts};
use crate::graph::cache::CacheKey;
use crate::graph::handler::DynNode;
use crate::graph::output::{NodeError, SubgraphStop};
use crate::graph::program::ProgramNode;
use crate::graph::retry::first_matching;
use crate::telemetry::{record_retry, traced_task};

/// Key of the recorded failure of a node whose error handler runs next.
const FAILURE_KEY: &str = "__failure__";

/// The running tasks of one superstep.
pub(crate) struct TaskSet {
    /// Created when two tasks first run concurrently; most runs never need it.
    set: Option<JoinSet<TaskEnd>>,
    indices: BTreeMap<Id, (usize, AbortHandle)>,
    waiting: VecDeque<Task>,
    /// Tasks that were cancelled before they started.
    cancelled_before_start: VecDeque<usize>,
    limit: usize,
    /// True if the superstep exceeded its timeout.
    pub(crate) superstep_timed_out: bool,
}

impl TaskSet {
    pub(crate) fn new(limit: usize) -> Self {
        let (waiting, cancelled_before_start) = (VecDeque::new(), VecDeque::new());
        Self {
            set: None,
            indices: BTreeMap::new(),
            waiting,
            cancelled_before_start,
            limit: limit.max(1),
            superstep_timed_out: false,
        }
    }

    pub(crate) fn is_idle(&self) -> bool {
        self.indices.is_empty() && self.waiting.is_empty()
    }

    pub(crate) fn start(&mut self, shared: &Arc<RunShared>, tasks: SmallVec<[Task; 1]>) {
        self.waiting.extend(tasks);
        self.fill(shared);
    }

    fn fill(&mut self, shared: &Arc<RunShared>) {
        while self.indices.len() < self.limit {
            let Some(task) = self.waiting.pop_front() else { return };
            let index = task.index;
            let handle = self.set.get_or_insert_default().spawn(run_task(task_cx(shared, task)));
            self.indices.insert(handle.id(), (index, handle));
        }
    }

    pub(crate) fn cancel(&mut self, indices: &[usize]) {
        self.waiting.retain(|task| !indices.contains(&task.index));
        // Removed at once: the result of an aborted task must not reach a task of a later superstep.
        self.indices.retain(|_, (index, handle)| {
            let is_cancelled = indices.contains(index);
            if is_cancelled {
                handle.abort();
            }
            !is_cancelled
        });
    }

    /// Aborts running tasks. Each is reported, as cancelled or with the result that it already had.
    pub(crate) fn abort(&mut self, indices: &[usize]) {
        let never_started = self.waiting.iter().map(|task| task.index).filter(|index| indices.contains(index));
        self.cancelled_before_start.extend(never_started);
        self.waiting.retain(|task| !indices.contains(&task.index));
        let running = self.indices.values().filter(|(index, _)| indices.contains(index));
        running.for_each(|(_, handle)| handle.abort());
    }

    /// Returns the next task that ends, or `None` if no task runs.
    pub(crate) async fn next(&mut self, shared: &Arc<RunShared>) -> Option<(usize, TaskEnd)> {
        if let Some(index) = self.cancelled_before_start.pop_front() {
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

    /// Returns a task that has ended and was not reported yet, without waiting.
    pub(crate) fn try_next(&mut self) -> Option<(usize, TaskEnd)> {
        loop {
            let joined = self.set.as_mut()?.try_join_next_with_id()?;
            let reported = self.report(joined);
            if reported.is_some() {
                return reported;
            }
        }
    }

    /// Aborts all tasks, and returns after every task has released its resources.
    pub(crate) async fn abort_all(&mut self) {
        self.waiting.clear();
        self.indices.clear();
        if let Some(set) = &mut self.set {
            set.shutdown().await;
        }
    }

    /// Returns the end of a task, or `None` if the task was aborted and removed.
    fn report(&mut self, joined: Result<(Id, TaskEnd), JoinError>) -> Option<(usize, TaskEnd)> {
        let (id, end) = joined.unwrap_or_else(|error| match (error.id(), error.try_into_panic()) {
            (id, Ok(panic)) => (id, TaskEnd::Failed(panicked(&*panic))),
            (id, Err(_)) => (id, TaskEnd::Cancelled),
        });
        self.indices.remove(&id).map(|(index, _)| (index, end))
    }
}

/// Runs a blocking closure on a thread of the blocking pool.
pub(crate) async fn run_blocking<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> Result<T, NodeError> {
    #[expect(clippy::disallowed_methods, reason = "the executor owns spawned tasks")]
    let handle = tokio::task::spawn_blocking(work);
    match handle.await {
        Ok(value) => Ok(value),
        Err(error) if error.is_panic() => Err(panicked(&*error.into_panic()).into()),
        Err(_) => Err(Error::new(ErrorCode::Cancelled, "the blocking work was cancelled").into()),
    }
}

fn panicked(panic: &(dyn std::any::Any + Send)) -> Error {
    if let Some(invalid) = panic.downcast_ref::<ValidationError>() {
        let error = Error::new(invalid.code.unwrap_or(ErrorCode::NodeFailed), invalid.message.clone());
        return invalid.help.clone().into_iter().fold(error, Error::with_help);
    }
    Error::new(ErrorCode::NodeFailed, format!("the node panicked: {}", panic_message(panic)))
        .with_help("return an error instead of panicking; other tasks were not affected")
}

/// Creates the context of a task.
pub(crate) fn task_cx(shared: &Arc<RunShared>, task: Task) -> TaskContext {
    let entry = &shared.program.nodes[task.node.index()];
    let first_attempt = if entry.retry.is_empty() { 0 } else { shared.clock.now() };
    TaskContext::new(shared, task, first_attempt)
}

/// Runs one task to its end: cache, attempts, error handler.
pub(crate) async fn run_task(cx: TaskContext) -> TaskEnd {
    let entry = cx.entry();
    if has_no_policies(&cx, entry) && cx.0.shared.observer.is_none() {
        let mut end = ended(poll_catching_panics(&entry.action, &cx).await);
        if matches!(end, TaskEnd::Failed(_)) {
            redact_task_error(&cx, &mut end);
        }
        return end;
    }
    // In a separate boxed future, so that runs whose nodes use no policies do not reserve memory for it.
    match &cx.0.shared.observer {
        None => Box::pin(run_task_untraced(&cx)).await,
        Some(observer) => Box::pin(traced_task(&cx, observer)).await,
    }
}

/// Runs one task to its end, without telemetry.
pub(crate) async fn run_task_untraced(cx: &TaskContext) -> TaskEnd {
    let entry = cx.entry();
    let mut end = match has_no_policies(cx, entry) {
        true => ended(poll_catching_panics(&entry.action, cx).await),
        false => run_with_policies(cx, entry).await,
    };
    redact_task_error(cx, &mut end);
    end
}

/// Returns true if no policy applies to the task.
fn has_no_policies(cx: &TaskContext, entry: &ProgramNode) -> bool {
    entry.has_no_policies() && cx.0.task.timeout().is_none()
}

async fn run_with_policies(cx: &TaskContext, entry: &ProgramNode) -> TaskEnd {
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
    let (end, ended_by) = run_attempts(cx, entry).await;
    // The output of an error handler stands for a failure, and failures are not cached.
    if let (TaskEnd::Finished(output), EndedBy::Node, Some(key), Some(cache)) = (&end, ended_by, cache_key, cache) {
        let ttl = entry.cache.as_ref().and_then(|policy| policy.ttl);
        cache.put(key, output.clone(), ttl, shared.clock.now());
    }
    end
}

fn cache_key(shared: &RunShared, entry: &ProgramNode, task: &Task) -> RunResult<Option<CacheKey>> {
    let (Some(policy), Some(_)) = (&entry.cache, &shared.program.settings.cache) else { return Ok(None) };
    let topology = &shared.program.topology;
    let key = || (policy.key)(&topology.schema, &*task.view, task.payload());
    let key = catch_unwind(AssertUnwindSafe(key)).map_err(|panic| panicked(&*panic))?;
    Ok(key.map(|key| (topology.name.clone(), topology.node(task.node).name.clone(), key)))
}

/// Origin of the end of a task.
enum EndedBy {
    Node,
    Handler,
}

async fn run_attempts(cx: &TaskContext, entry: &ProgramNode) -> (TaskEnd, EndedBy) {
    if let (Some(handler), Some(failure)) = (&entry.on_error, cx.recorded(FAILURE_KEY)) {
        let error = failure
            .clone()
            .into_value::<StoredError>()
            .map_or_else(|error| Error::internal(error.to_string()), restore_error);
        return (handle(cx, handler, error).await, EndedBy::Handler);
    }
    let shared = &cx.0.shared;
    loop {
        let error = match attempt_once(entry, &entry.action, cx).await {
            AttemptEnd::Ended(end) => return (end, EndedBy::Node),
            AttemptEnd::Failed(error) => error,
        };
        let attempt = cx.attempt();
        let retry = match catch_unwind(AssertUnwindSafe(|| first_matching(&entry.retry, &error))) {
            Ok(retry) => retry.filter(|retry| attempt < retry.max_attempts),
            Err(panic) => return (TaskEnd::Failed(panicked(&*panic)), EndedBy::Node),
        };
        let Some(retry) = retry else { return (handle_failure(cx, entry, error).await, EndedBy::Handler) };
        let delay =
            error.retry_after.unwrap_or_else(|| retry.delay(attempt, jitter_fraction(shared.environment.new_id())));
        if let Some(publisher) = &shared.publisher {
            publisher.retry(cx, attempt, delay, &error).await;
        }
        record_retry(cx, attempt, delay, &error);
        shared.clock.sleep(delay).await;
        cx.start_attempt();
    }
}

/// Returns a number in 0..1 from a new id. Ids of one process differ in few bits, so they are mixed first.
fn jitter_fraction(id: u128) -> f64 {
    let mixed = (id as u64 ^ (id >> 64) as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    (mixed >> 48) as f64 / 65_536.0
}

enum AttemptEnd {
    Ended(TaskEnd),
    Failed(NodeError),
}

/// Returns the end of a task that has a single attempt.
fn ended(attempt: AttemptEnd) -> TaskEnd {
    match attempt {
        AttemptEnd::Ended(end) => end,
        AttemptEnd::Failed(error) => TaskEnd::Failed(error.into_error()),
    }
}

/// Runs one attempt, with its timeouts.
async fn attempt_once(entry: &ProgramNode, action: &Arc<dyn DynNode>, cx: &TaskContext) -> AttemptEnd {
    let timeout = cx.0.task.timeout().or_else(|| entry.timeout.as_ref().and_then(|timeout| timeout.run_timeout));
    let idle = entry.timeout.as_ref().and_then(|timeout| timeout.idle_timeout);
    if timeout.is_none() && idle.is_none() {
        return poll_catching_panics(action, cx).await;
    }
    cx.heartbeat();
    let clock = cx.0.shared.clock.clone();
    let mut work = pin!(poll_catching_panics(action, cx));
    let mut limit = timeout.map(|time| clock.sleep(time));
    let mut idle_sleep = idle.map(|time| clock.sleep(time));
    poll_fn(|context| {
        if let Poll::Ready(end) = work.as_mut().poll(context) {
            return Poll::Ready(end);
        }
        if let (Some(sleep), Some(time)) = (&mut limit, timeout)
            && sleep.as_mut().poll(context).is_ready()
        {
            return Poll::Ready(AttemptEnd::Failed(timeout_error(format!(
                "the attempt exceeded its timeout of \
                 {time:?}"
            ))));
        }
        while let (Some(sleep), Some(time)) = (&mut idle_sleep, idle) {
            if sleep.as_mut().poll(context).is_pending() {
                break;
            }
            let elapsed = clock.now() - cx.0.cell.last_heartbeat.load(Ordering::Relaxed);
            let remaining = i64::try_from(time.as_micros()).unwrap_or(i64::MAX) - elapsed;
            if remaining <= 0 {
                return Poll::Ready(AttemptEnd::Failed(timeout_error(format!("no heartbeat for {time:?}"))));
            }
            idle_sleep = Some(clock.sleep(Duration::from_micros(remaining.unsigned_abs())));
        }
        Poll::Pending
    })
    .await
}

fn timeout_error(message: String) -> NodeError {
    Error::new(ErrorCode::Timeout, message).with_help("raise the timeout, or report progress with a heartbeat").into()
}

/// Polls a node so that a panic fails only its task, and drops the node future once an interrupt is raised.
async fn poll_catching_panics(action: &Arc<dyn DynNode>, cx: &TaskContext) -> AttemptEnd {
    let mut future = match catch_unwind(AssertUnwindSafe(|| action.call(cx))) {
        Ok(future) => future,
        Err(panic) => return AttemptEnd::Failed(panicked(&*panic).into()),
    };
    poll_fn(|context| {
        let polled = catch_unwind(AssertUnwindSafe(|| future.as_mut().poll(context)));
        match polled {
            Ok(Poll::Ready(Ok(mut output))) => {
                if let Some(redaction) = cx.0.shared.redaction() {
                    redact_node_output(cx, redaction, &mut output);
                }
                Poll::Ready(AttemptEnd::Ended(TaskEnd::Finished(output)))
            }
            Ok(Poll::Ready(Err(error))) => Poll::Ready(match error.stopped {
                Some(SubgraphStop::Paused(nodes)) => AttemptEnd::Ended(TaskEnd::Paused(nodes)),
                Some(SubgraphStop::Drained) => AttemptEnd::Ended(TaskEnd::Cancelled),
                None => AttemptEnd::Failed(error),
            }),
            Ok(Poll::Pending) if cx.0.cell.has_interrupts() => {
                Poll::Ready(AttemptEnd::Ended(TaskEnd::Interrupted(redacted_interrupts(cx))))
            }
            Ok(Poll::Pending) => Poll::Pending,
            Err(panic) => Poll::Ready(AttemptEnd::Failed(panicked(&*panic).into())),
        }
    })
    .await
}

/// Ends a node after its last failed attempt: its error handler runs, if there is one.
async fn handle_failure(cx: &TaskContext, entry: &ProgramNode, error: NodeError) -> TaskEnd {
    let error = error.into_error();
    let Some(handler) = &entry.on_error else { return TaskEnd::Failed(error) };
    let error = redact_error(cx, error.with_node(cx.node()));
    // Recorded before the handler starts: after a crash the handler runs again, not the node.
    let value = AnyValue::native(StoredError::from(&error));
    if let Err(error) = cx.record(TaskEntry::Recorded { key: FAILURE_KEY.to_owned(), value }).await {
        return TaskEnd::Failed(error);
    }
    handle(cx, handler, error).await
}

async fn handle(cx: &TaskContext, handler: &Arc<dyn DynNode>, error: Error) -> TaskEnd {
    let cx = cx.for_handler(NodeFailure { node: cx.node().into(), error });
    match poll_catching_panics(handler, &cx).await {
        AttemptEnd::Ended(TaskEnd::Finished(output)) => TaskEnd::Finished(handled_output(&cx.0.shared, output)),
        attempt => ended(attempt),
    }
}

/// In LangGraph a handled failure does not follow the edges of the node: the handler must return a goto.
fn handled_output(shared: &RunShared, mut output: TaskOutput) -> TaskOutput {
    if shared.program.topology.compat == Compat::LangGraph {
        output.skip_edges = true;
    }
    output
}

fn restore_error(stored: StoredError) -> Error {
    let error = Error::new(stored.code, stored.message).with_retryable(stored.retryable);
    let error = stored.help.into_iter().fold(error, Error::with_help);
    stored.location.node.into_iter().fold(error, |error, node| error.with_node(node))
}

/// Runs several futures with at most `max_concurrency` at a time. Results are in the order of the input.
pub(crate) async fn join_limited<T: Send + 'static>(
    work: impl Iterator<Item = BoxFuture<'static, RunResult<T>>>,
    max_concurrency: usize,
) -> Vec<RunResult<T>> {
    let mut waiting: VecDeque<_> = work.enumerate().collect();
    let mut set = JoinSet::new();
    let mut results: BTreeMap<usize, RunResult<T>> = BTreeMap::new();
    loop {
        while set.len() < max_concurrency.max(1) {
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

/// Spawns a detached task.
pub(crate) fn spawn_background(work: impl Future<Output = ()> + Send + 'static) -> RunResult<()> {
    if tokio::runtime::Handle::try_current().is_err() {
        return Err(Error::new(ErrorCode::ConfigInvalid, "asynchronous durability requires an async runtime")
            .with_help("use `wait_blocking`, or `Durability::Sync`"));
    }
    #[expect(clippy::disallowed_methods, reason = "the executor owns spawned tasks")]
    drop(tokio::task::spawn(work));
    Ok(())
}

/// Spawns a future. The returned future resolves to its result, and may be dropped.
pub(crate) fn detach<T: Send + 'static>(work: BoxFuture<'static, RunResult<T>>) -> BoxFuture<'static, RunResult<T>> {
    if tokio::runtime::Handle::try_current().is_err() {
        let error = Error::new(ErrorCode::ConfigInvalid, "`spawn` was called outside an async runtime")
            .with_help("use `wait_blocking` instead");
        return Box::pin(std::future::ready(Err(error)));
    }
    #[expect(clippy::disallowed_methods, reason = "the executor owns spawned tasks")]
    let handle = tokio::task::spawn(work.in_current_span());
    Box::pin(async move {
        handle.await.unwrap_or_else(|error| match error.try_into_panic() {
            Ok(panic) => Err(panicked(&*panic)),
            Err(_) => Err(Error::new(ErrorCode::Cancelled, "the runtime was shut down during the run")),
        })
    })
}
