//! Test fixture: a graph of two parallel tasks, on storage that can delay, lose and fail operations.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use serde_json::{Value, json};
use superstep::core::delegate_checkpointer;
use superstep::core::id::{RunId, ThreadId};
use superstep::core::port::{Checkpointer, Commit, Lease, SharedCheckpointer, Store};
use superstep::prelude::*;
use superstep::store::{OpResult, SearchOp, SharedStore, StoreOp};
use superstep::{Error, ErrorCode, Result};
use superstep_server::{
    App, Problem, RunInput, RunRequest, RunService, Server, ServerConfig, Storage, serve, serve_graph,
};
use tokio::sync::Semaphore;

/// State with the results of both tasks.
#[derive(GraphState, Clone, Debug, Serialize, Deserialize)]
struct WorkState {
    #[state(required)]
    topic: String,
    #[reduce(append)]
    log: Vec<String>,
}

/// Switches by which a test controls the tasks and the storage.
#[derive(Clone)]
pub(crate) struct FaultController(Arc<Inner>);

struct Inner {
    storage: Storage,
    /// Each permit lets the second task of a run continue to its end.
    gate: Semaphore,
    /// Signalled when the second task has emitted all its events.
    emitted: Semaphore,
    /// True if the run context can be created; without it every run is rejected.
    has_key: AtomicBool,
    /// True if the checkpointer delays the end of the first task, and deletions.
    delays_operations: AtomicBool,
    /// Signalled when an operation is delayed; `release` lets the operation continue.
    delayed: Semaphore,
    release: Semaphore,
    /// True if the checkpointer delays the next lease acquisition.
    delays_next_acquire: AtomicBool,
    /// True if the checkpointer loses the last event of runs.
    loses_end: AtomicBool,
    /// Number of record operations that fail from now on.
    failing_batches: AtomicUsize,
    /// Number of lease acquisitions that fail from now on.
    failing_acquires: AtomicUsize,
}

struct Instructions {
    faults: FaultController,
    event_count: u64,
    is_gated: bool,
    waits_for_delay: bool,
}

async fn first() -> WorkStateUpdate {
    WorkState::update().log("first")
}

async fn second(instructions: RunContext<Instructions>, cx: TaskContext) -> Result<WorkStateUpdate, NodeError> {
    let faults = &instructions.faults.0;
    if instructions.waits_for_delay {
        faults.delayed.acquire().await.unwrap().forget();
    }
    for number in 0..instructions.event_count {
        cx.emit(number).await?;
    }
    faults.emitted.add_permits(1);
    if instructions.is_gated {
        faults.gate.acquire().await.unwrap().forget();
    }
    Ok(WorkState::update().log("second"))
}

impl FaultController {
    pub(crate) fn new() -> Self {
        Self(Arc::new(Inner {
            storage: Storage::memory(),
            gate: Semaphore::new(0),
            emitted: Semaphore::new(0),
            has_key: AtomicBool::new(true),
            delays_operations: AtomicBool::new(false),
            delayed: Semaphore::new(0),
            release: Semaphore::new(0),
            delays_next_acquire: AtomicBool::new(false),
            loses_end: AtomicBool::new(false),
            failing_batches: AtomicUsize::new(0),
            failing_acquires: AtomicUsize::new(0),
        }))
    }

    fn app(&self) -> App {
        let mut graph = StateGraph::<WorkState, Instructions>::new("work");
        let (first, second) = (graph.add_node("first", first), graph.add_node("second", second));
        graph.add_edge(START, first);
        graph.add_edge(START, second);
        graph.add_edge(first, END);
        graph.add_edge(second, END);
        let faults = self.clone();
        App::new("work", "Work").graph(serve_graph(graph.compile().unwrap(), move |request| {
            if !faults.0.has_key.load(Ordering::SeqCst) {
                return Err(Problem::new(503, ErrorCode::ModelAuth, "the model has no key"));
            }
            let flag = |name: &str| request.context[name] == json!(true);
            let (event_count, faults) = (request.context["event_count"].as_u64().unwrap_or_default(), faults.clone());
            Ok(Instructions { faults, event_count, is_gated: flag("gated"), waits_for_delay: flag("waits_for_delay") })
        }))
    }

    pub(crate) fn config(&self) -> ServerConfig {
        let mut storage = self.0.storage.clone();
        storage.checkpointer = FaultyStorage { inner: storage.checkpointer, faults: self.clone() }.into();
        storage.store = FaultyStorage { inner: storage.store, faults: self.clone() }.into();
        ServerConfig::new(storage).port(0)
    }

    pub(crate) async fn serve(&self, config: ServerConfig) -> Server {
        serve(vec![self.app()], config).await.unwrap()
    }

    pub(crate) fn continue_run(&self) {
        self.0.gate.add_permits(1);
    }

    /// Waits until the second task has emitted all its events.
    pub(crate) async fn wait_until_emitted(&self) {
        self.0.emitted.acquire().await.unwrap().forget();
    }

    pub(crate) fn set_key(&self, has_key: bool) {
        self.0.has_key.store(has_key, Ordering::SeqCst);
    }

    /// Delays the end of the first task, and deletions, until [`FaultController::release`] is called.
    pub(crate) fn delay_operations(&self) {
        self.0.delays_operations.store(true, Ordering::SeqCst);
    }

    /// Delays the next lease acquisition until [`FaultController::release`] is called.
    pub(crate) fn delay_next_acquire(&self) {
        self.0.delays_next_acquire.store(true, Ordering::SeqCst);
    }

    /// Waits until an operation is delayed.
    pub(crate) async fn wait_until_delayed(&self) {
        self.0.delayed.acquire().await.unwrap().forget();
    }

    pub(crate) fn release(&self) {
        self.0.delays_operations.store(false, Ordering::SeqCst);
        self.0.release.add_permits(1);
    }

    pub(crate) fn lose_end(&self, loses_end: bool) {
        self.0.loses_end.store(loses_end, Ordering::SeqCst);
    }

    pub(crate) fn fail_batches(&self, times: usize) {
        self.0.failing_batches.store(times, Ordering::SeqCst);
    }

    pub(crate) fn fail_acquires(&self, times: usize) {
        self.0.failing_acquires.store(times, Ordering::SeqCst);
    }

    /// Writes the record of a running run, as left behind by a process that died.
    pub(crate) async fn insert_orphaned_run(&self, request: &RunRequest) {
        let record = json!({"version": 1, "order": request, "status": "running", "started_at": ""});
        self.0.storage.store.put(["server", "runs"], request.run.to_string(), record).await.unwrap();
    }

    /// Resets all records to running, as if the end of the runs had never been persisted.
    pub(crate) async fn reset_ends(&self) {
        for mut record in self.runs().await {
            record["status"] = json!("running");
            let id = |name: &str| record["order"][name].as_str().unwrap().to_owned();
            let (run, thread) = (id("run"), id("thread"));
            let store = &self.0.storage.store;
            let mut thread_record =
                store.get(["server", "threads"], thread.clone()).await.unwrap().unwrap().value.clone();
            thread_record["status"] = json!("running");
            store.put(["server", "threads"], thread, thread_record).await.unwrap();
            store.put(["server", "runs"], run, record).await.unwrap();
        }
    }

    pub(crate) async fn runs(&self) -> Vec<Value> {
        let hits = self.0.storage.store.search(SearchOp::new(["server", "runs"]).limit(500)).await.unwrap();
        hits.into_iter().map(|hit| hit.item.value.clone()).collect()
    }

    /// Returns the length of the list of unfinished runs.
    pub(crate) async fn unfinished_count(&self) -> usize {
        self.0.storage.store.search(SearchOp::new(["server", "unfinished"])).await.unwrap().len()
    }

    /// Changes a run record, as another process would.
    pub(crate) async fn update_record(&self, run: RunId, change: impl FnOnce(&mut Value)) {
        let store = &self.0.storage.store;
        let mut record = store.get(["server", "runs"], run.to_string()).await.unwrap().unwrap().value.clone();
        change(&mut record);
        store.put(["server", "runs"], run.to_string(), record).await.unwrap();
    }

    async fn delay_if_enabled(&self) {
        if self.0.delays_operations.load(Ordering::SeqCst) {
            self.wait_for_release().await;
        }
    }

    async fn wait_for_release(&self) {
        self.0.delayed.add_permits(1);
        self.0.release.acquire().await.unwrap().forget();
    }
}

/// Creates a request for the test graph.
pub(crate) fn work_request(thread: &str, context: Value) -> RunRequest {
    RunRequest::new("work", thread, RunInput::Input(json!({"topic": "sea"}))).context(context)
}

/// Collects numbers and types of all events of a thread after a number, until the end.
pub(crate) async fn collect_events(runs: &RunService, thread: &str, after: Option<u64>) -> Vec<(u64, String)> {
    let mut subscription = runs.subscribe(&ThreadId::from(thread), after).await.unwrap();
    let mut events = Vec::new();
    while let Some(event) = subscription.next().await {
        events.push((event.number(), event.event_type().to_owned()));
    }
    events
}

/// A storage wrapper that is controlled by a [`FaultController`].
struct FaultyStorage<S> {
    inner: S,
    faults: FaultController,
}

fn injected_error() -> Error {
    Error::new(ErrorCode::StoreUnavailable, "injected storage failure")
}

/// Decrements the counter; false if it was 0.
fn decrement(counter: &AtomicUsize) -> bool {
    counter.fetch_update(Ordering::SeqCst, Ordering::SeqCst, |count| count.checked_sub(1)).is_ok()
}

impl Checkpointer for FaultyStorage<SharedCheckpointer> {
    delegate_checkpointer!(this => this.inner; release, load, history, threads, status, namespaces);
    delegate_checkpointer!(this => this.inner; copy_thread, prune, stats, events, last_event_number, delete_events);

    async fn acquire(&self, thread: &ThreadId, run: RunId) -> Result<Lease> {
        if self.faults.0.delays_next_acquire.swap(false, Ordering::SeqCst) {
            self.faults.wait_for_release().await;
        }
        if decrement(&self.faults.0.failing_acquires) {
            Err(injected_error())
        } else {
            self.inner.acquire(thread, run).await
        }
    }

    async fn commit(&self, commit: &Commit) -> Result<()> {
        let events: Vec<Value> = commit.events.iter().map(|event| event.payload.to_json().unwrap()).collect();
        let is_end = |event: &&Value| event["event"] == "on_chain_end";
        if events.iter().filter(is_end).any(|event| event["name"] == "first") {
            self.faults.delay_if_enabled().await;
        }
        let has_run_end = events.iter().filter(is_end).any(|event| event["parent_ids"] == json!([]));
        if has_run_end && self.faults.0.loses_end.load(Ordering::SeqCst) {
            return Err(injected_error());
        }
        self.inner.commit(commit).await
    }

    async fn delete_thread(&self, thread: &ThreadId) -> Result<()> {
        self.faults.delay_if_enabled().await;
        self.inner.delete_thread(thread).await
    }
}

impl Store for FaultyStorage<SharedStore> {
    async fn batch(&self, operations: Vec<StoreOp>) -> Result<Vec<OpResult>> {
        if decrement(&self.faults.0.failing_batches) {
            Err(injected_error())
        } else {
            self.inner.batch(operations).await
        }
    }

    async fn sweep_ttl(&self) -> Result<u64> {
        self.inner.sweep_ttl().await
    }
}
