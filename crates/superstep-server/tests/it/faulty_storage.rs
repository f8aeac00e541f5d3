//! Test fixture: a graph of two parallel tasks, on storage that delays, loses and fails operations on request.

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
    stores: Storage,
    /// Each permit lets the second task of a run continue to its end.
    gate: Semaphore,
    /// Signalled when the second task has emitted all its events.
    emitted: Semaphore,
    /// True if the run context can be created; without it every run is rejected.
    has_key: AtomicBool,
    /// True if the checkpointer delays the end of the first task, and deletions.
    holds: AtomicBool,
    /// Signalled when an operation is delayed; `release` lets the operation continue.
    held: Semaphore,
    release: Semaphore,
    /// True if the checkpointer delays the next lease acquisition.
    holds_taking: AtomicBool,
    /// True if the checkpointer loses the last event of runs.
    loses_end: AtomicBool,
    /// Number of record operations that fail from now on.
    fails: AtomicUsize,
    /// Number of lease acquisitions that fail from now on.
    locks: AtomicUsize,
}

struct Instructions {
    bench: FaultController,
    event_count: u64,
    is_gated: bool,
    waits_for_hold: bool,
}

async fn first() -> WorkStateUpdate {
    WorkState::update().log("first")
}

async fn second(instructions: RunContext<Instructions>, cx: TaskContext) -> Result<WorkStateUpdate, NodeError> {
    let bench = &instructions.bench.0;
    if instructions.waits_for_hold {
        bench.held.acquire().await.unwrap().forget();
    }
    for number in 0..instructions.event_count {
        cx.emit(number).await?;
    }
    bench.emitted.add_permits(1);
    if instructions.is_gated {
        bench.gate.acquire().await.unwrap().forget();
    }
    Ok(WorkState::update().log("second"))
}

impl FaultController {
    pub(crate) fn new() -> Self {
        Self(Arc::new(Inner {
            stores: Storage::memory(),
            gate: Semaphore::new(0),
            emitted: Semaphore::new(0),
            has_key: AtomicBool::new(true),
            holds: AtomicBool::new(false),
            held: Semaphore::new(0),
            release: Semaphore::new(0),
            holds_taking: AtomicBool::new(false),
            loses_end: AtomicBool::new(false),
            fails: AtomicUsize::new(0),
            locks: AtomicUsize::new(0),
        }))
    }

    fn app(&self) -> App {
        let mut graph = StateGraph::<WorkState, Instructions>::new("work");
        let (first, second) = (graph.add_node("first", first), graph.add_node("second", second));
        graph.add_edge(START, first);
        graph.add_edge(START, second);
        graph.add_edge(first, END);
        graph.add_edge(second, END);
        let bench = self.clone();
        App::new("work", "Work").graph(serve_graph(graph.compile().unwrap(), move |order| {
            if !bench.0.has_key.load(Ordering::SeqCst) {
                return Err(Problem::new(503, ErrorCode::ModelAuth, "the model has no key"));
            }
            let is = |name: &str| order.context[name] == json!(true);
            let (event_count, bench) = (order.context["says"].as_u64().unwrap_or_default(), bench.clone());
            Ok(Instructions { bench, event_count, is_gated: is("gated"), waits_for_hold: is("waits_for_hold") })
        }))
    }

    pub(crate) fn config(&self) -> ServerConfig {
        let mut stores = self.0.stores.clone();
        stores.checkpointer = FaultyStorage { store: stores.checkpointer, bench: self.clone() }.into();
        stores.store = FaultyStorage { store: stores.store, bench: self.clone() }.into();
        ServerConfig::new(stores).port(0)
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

    pub(crate) fn set_key(&self, is_there: bool) {
        self.0.has_key.store(is_there, Ordering::SeqCst);
    }

    pub(crate) fn hold(&self) {
        self.0.holds.store(true, Ordering::SeqCst);
    }

    /// Delays the next lease acquisition, like [`FaultController::hold`] for commits.
    pub(crate) fn hold_taking(&self) {
        self.0.holds_taking.store(true, Ordering::SeqCst);
    }

    pub(crate) async fn held(&self) {
        self.0.held.acquire().await.unwrap().forget();
    }

    pub(crate) fn release(&self) {
        self.0.holds.store(false, Ordering::SeqCst);
        self.0.release.add_permits(1);
    }

    pub(crate) fn lose_end(&self, loses: bool) {
        self.0.loses_end.store(loses, Ordering::SeqCst);
    }

    pub(crate) fn fail(&self, times: usize) {
        self.0.fails.store(times, Ordering::SeqCst);
    }

    pub(crate) fn lock(&self, times: usize) {
        self.0.locks.store(times, Ordering::SeqCst);
    }

    /// Writes the record of a running run, as left behind by a process that died.
    pub(crate) async fn died(&self, order: &RunRequest) {
        let record = json!({"version": 1, "order": order, "status": "running", "started_at": ""});
        self.0.stores.store.put(["server", "runs"], order.run.to_string(), record).await.unwrap();
    }

    /// Resets all records to running, as if the end of the runs had never been persisted.
    pub(crate) async fn reset_ends(&self) {
        for mut record in self.runs().await {
            record["status"] = json!("running");
            let name = |name: &str| record["order"][name].as_str().unwrap().to_owned();
            let (run, thread) = (name("run"), name("thread"));
            let items = &self.0.stores.store;
            let mut thread_record =
                items.get(["server", "threads"], thread.clone()).await.unwrap().unwrap().value.clone();
            thread_record["status"] = json!("running");
            items.put(["server", "threads"], thread, thread_record).await.unwrap();
            items.put(["server", "runs"], run, record).await.unwrap();
        }
    }

    pub(crate) async fn runs(&self) -> Vec<Value> {
        let hits = self.0.stores.store.search(SearchOp::new(["server", "runs"]).limit(500)).await.unwrap();
        hits.into_iter().map(|hit| hit.item.value.clone()).collect()
    }

    /// Returns the length of the list of unfinished runs.
    pub(crate) async fn listed(&self) -> usize {
        self.0.stores.store.search(SearchOp::new(["server", "unfinished"])).await.unwrap().len()
    }

    /// Changes a run record, as another process would.
    pub(crate) async fn overwrite(&self, run: RunId, change: impl FnOnce(&mut Value)) {
        let items = &self.0.stores.store;
        let mut record = items.get(["server", "runs"], run.to_string()).await.unwrap().unwrap().value.clone();
        change(&mut record);
        items.put(["server", "runs"], run.to_string(), record).await.unwrap();
    }

    async fn hold_back(&self) {
        if self.0.holds.load(Ordering::SeqCst) {
            self.wait_for_release().await;
        }
    }

    async fn wait_for_release(&self) {
        self.0.held.add_permits(1);
        self.0.release.acquire().await.unwrap().forget();
    }
}

/// Creates a request for the test graph.
pub(crate) fn order(thread: &str, options: Value) -> RunRequest {
    RunRequest::new("work", thread, RunInput::Input(json!({"topic": "sea"}))).context(options)
}

/// Collects numbers and types of all events of a thread after a number, until the end.
pub(crate) async fn collect_events(runs: &RunService, thread: &str, after: Option<u64>) -> Vec<(u64, String)> {
    let mut feed = runs.subscribe(&ThreadId::from(thread), after).await.unwrap();
    let mut events = Vec::new();
    while let Some(event) = feed.next().await {
        events.push((event.number(), event.event_type().to_owned()));
    }
    events
}

/// A wrapper of storage that is controlled by a [`FaultController`].
struct FaultyStorage<S> {
    store: S,
    bench: FaultController,
}

fn lost() -> Error {
    Error::new(ErrorCode::StoreUnavailable, "the store is away, as the test asked")
}

/// Decrements the counter; false if it was 0.
fn took_one(left: &AtomicUsize) -> bool {
    left.fetch_update(Ordering::SeqCst, Ordering::SeqCst, |left| left.checked_sub(1)).is_ok()
}

impl Checkpointer for FaultyStorage<SharedCheckpointer> {
    delegate_checkpointer!(this => this.store; release, load, history, threads, status, namespaces);
    delegate_checkpointer!(this => this.store; copy_thread, prune, stats, events, last_event_number, delete_events);

    async fn acquire(&self, thread: &ThreadId, run: RunId) -> Result<Lease> {
        if self.bench.0.holds_taking.swap(false, Ordering::SeqCst) {
            self.bench.wait_for_release().await;
        }
        if took_one(&self.bench.0.locks) { Err(lost()) } else { self.store.acquire(thread, run).await }
    }

    async fn commit(&self, commit: &Commit) -> Result<()> {
        let events: Vec<Value> = commit.events.iter().map(|event| event.payload.to_json().unwrap()).collect();
        let is_end = |event: &&Value| event["event"] == "on_chain_end";
        if events.iter().filter(is_end).any(|event| event["name"] == "first") {
            self.bench.hold_back().await;
        }
        let has_last = events.iter().filter(is_end).any(|event| event["parent_ids"] == json!([]));
        if has_last && self.bench.0.loses_end.load(Ordering::SeqCst) {
            return Err(lost());
        }
        self.store.commit(commit).await
    }

    async fn delete_thread(&self, thread: &ThreadId) -> Result<()> {
        self.bench.hold_back().await;
        self.store.delete_thread(thread).await
    }
}

impl Store for FaultyStorage<SharedStore> {
    async fn batch(&self, operations: Vec<StoreOp>) -> Result<Vec<OpResult>> {
        if took_one(&self.bench.0.fails) { Err(lost()) } else { self.store.batch(operations).await }
    }

    async fn sweep_ttl(&self) -> Result<u64> {
        self.store.sweep_ttl().await
    }
}
