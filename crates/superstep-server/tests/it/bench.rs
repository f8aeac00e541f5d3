//! A graph of two tasks side by side, on stores that hold back, lose and refuse what a test tells them to.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use serde_json::{Value, json};
use superstep::core::forward_checkpointer;
use superstep::core::id::{RunId, ThreadId};
use superstep::core::port::{Checkpointer, Commit, Lease, SharedCheckpointer, Store};
use superstep::prelude::*;
use superstep::store::{Answer, Operation, Search, SharedStore};
use superstep::{Code, Error, Result};
use superstep_server::{App, Config, Desk, Order, Problem, Server, Stores, What, serve, served};
use tokio::sync::Semaphore;

/// What two tasks wrote.
#[derive(State, Clone, Debug, Serialize, Deserialize)]
struct Work {
    #[state(required)]
    topic: String,
    #[reduce(append)]
    log: Vec<String>,
}

/// What a test tells the tasks and the stores.
#[derive(Clone)]
pub(crate) struct Bench(Arc<Inner>);

struct Inner {
    stores: Stores,
    /// The second task goes on to its end for each permit.
    gate: Semaphore,
    /// The second task has said everything.
    said: Semaphore,
    /// Without it no run can be made.
    has_key: AtomicBool,
    /// The store holds back the end of the first task, and deletions.
    holds: AtomicBool,
    /// Something is held back, and how it goes on.
    held: Semaphore,
    release: Semaphore,
    /// The store holds back whoever takes a thread next.
    holds_taking: AtomicBool,
    /// The store loses the last event of runs.
    loses_end: AtomicBool,
    /// So many requests to the records fail.
    fails: AtomicUsize,
    /// So many times a thread cannot be taken.
    locks: AtomicUsize,
}

struct Told {
    bench: Bench,
    says: u64,
    is_gated: bool,
    waits_for_hold: bool,
}

async fn first() -> WorkUpdate {
    Work::update().log("first")
}

async fn second(told: Ctx<Told>, cx: Cx) -> Result<WorkUpdate, NodeError> {
    let bench = &told.bench.0;
    if told.waits_for_hold {
        bench.held.acquire().await.unwrap().forget();
    }
    for number in 0..told.says {
        cx.emit(number).await?;
    }
    bench.said.add_permits(1);
    if told.is_gated {
        bench.gate.acquire().await.unwrap().forget();
    }
    Ok(Work::update().log("second"))
}

impl Bench {
    pub(crate) fn new() -> Self {
        Self(Arc::new(Inner {
            stores: Stores::memory(),
            gate: Semaphore::new(0),
            said: Semaphore::new(0),
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
        let mut graph = Graph::<Work, Told>::new("work");
        let (first, second) = (graph.node("first", first), graph.node("second", second));
        graph.edge(START, first);
        graph.edge(START, second);
        graph.edge(first, END);
        graph.edge(second, END);
        let bench = self.clone();
        App::new("work", "Work").graph(served(graph.compile().unwrap(), move |order| {
            if !bench.0.has_key.load(Ordering::SeqCst) {
                return Err(Problem::new(503, Code::ModelAuth, "the model has no key"));
            }
            let is = |name: &str| order.options[name] == json!(true);
            let (says, bench) = (order.options["says"].as_u64().unwrap_or_default(), bench.clone());
            Ok(Told { bench, says, is_gated: is("gated"), waits_for_hold: is("waits_for_hold") })
        }))
    }

    pub(crate) fn config(&self) -> Config {
        let mut stores = self.0.stores.clone();
        stores.checkpoints = Unruly { store: stores.checkpoints, bench: self.clone() }.into();
        stores.items = Unruly { store: stores.items, bench: self.clone() }.into();
        Config::new(stores).port(0)
    }

    pub(crate) async fn serve(&self, config: Config) -> Server {
        serve(vec![self.app()], config).await.unwrap()
    }

    pub(crate) fn go_on(&self) {
        self.0.gate.add_permits(1);
    }

    /// Until the second task has said everything.
    pub(crate) async fn said(&self) {
        self.0.said.acquire().await.unwrap().forget();
    }

    pub(crate) fn set_key(&self, is_there: bool) {
        self.0.has_key.store(is_there, Ordering::SeqCst);
    }

    pub(crate) fn hold(&self) {
        self.0.holds.store(true, Ordering::SeqCst);
    }

    /// As [`Bench::hold`], for the next run that takes its thread.
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

    /// Writes down that a run is under way, as a process does that dies then.
    pub(crate) async fn died(&self, order: &Order) {
        let record = json!({"version": 1, "order": order, "status": "running", "started_at": ""});
        self.0.stores.items.put(["server", "runs"], order.run.to_string(), record).await.unwrap();
    }

    /// Lets the records of runs and threads forget how runs ended.
    pub(crate) async fn forget_ends(&self) {
        for mut record in self.runs().await {
            record["status"] = json!("running");
            let name = |name: &str| record["order"][name].as_str().unwrap().to_owned();
            let (run, thread) = (name("run"), name("thread"));
            let items = &self.0.stores.items;
            let mut known = items.get(["server", "threads"], thread.clone()).await.unwrap().unwrap().value.clone();
            known["status"] = json!("running");
            items.put(["server", "threads"], thread, known).await.unwrap();
            items.put(["server", "runs"], run, record).await.unwrap();
        }
    }

    pub(crate) async fn runs(&self) -> Vec<Value> {
        let hits = self.0.stores.items.search(Search::new(["server", "runs"]).limit(500)).await.unwrap();
        hits.into_iter().map(|hit| hit.item.value.clone()).collect()
    }

    /// The runs on the list of those that have not ended.
    pub(crate) async fn listed(&self) -> usize {
        self.0.stores.items.search(Search::new(["server", "unfinished"])).await.unwrap().len()
    }

    /// Writes a record of a run, as another process does.
    pub(crate) async fn overwrite(&self, run: RunId, change: impl FnOnce(&mut Value)) {
        let items = &self.0.stores.items;
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

/// An order for the graph.
pub(crate) fn order(thread: &str, options: Value) -> Order {
    Order::new("work", thread, What::Start(json!({"topic": "sea"}))).options(options)
}

/// The kinds and numbers of what is told of a thread after a number, until the end.
pub(crate) async fn heard(desk: &Desk, thread: &str, after: Option<u64>) -> Vec<(u64, String)> {
    let mut feed = desk.watch(&ThreadId::from(thread), after).await.unwrap();
    let mut heard = Vec::new();
    while let Some(told) = feed.next().await {
        heard.push((told.number(), told.kind().to_owned()));
    }
    heard
}

/// A store that does what the bench says.
struct Unruly<S> {
    store: S,
    bench: Bench,
}

fn lost() -> Error {
    Error::new(Code::StoreUnavailable, "the store is away, as the test asked")
}

/// Whether one was left.
fn took_one(left: &AtomicUsize) -> bool {
    left.fetch_update(Ordering::SeqCst, Ordering::SeqCst, |left| left.checked_sub(1)).is_ok()
}

impl Checkpointer for Unruly<SharedCheckpointer> {
    forward_checkpointer!(this => this.store; release, load, history, threads, status, namespaces);
    forward_checkpointer!(this => this.store; copy_thread, prune, stats, events, last_event, forget_events);

    async fn acquire(&self, thread: &ThreadId, run: RunId) -> Result<Lease> {
        if self.bench.0.holds_taking.swap(false, Ordering::SeqCst) {
            self.bench.wait_for_release().await;
        }
        if took_one(&self.bench.0.locks) { Err(lost()) } else { self.store.acquire(thread, run).await }
    }

    async fn commit(&self, commit: &Commit) -> Result<()> {
        let events: Vec<Value> = commit.events.iter().map(|event| event.body.to_json().unwrap()).collect();
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

impl Store for Unruly<SharedStore> {
    async fn batch(&self, operations: Vec<Operation>) -> Result<Vec<Answer>> {
        if took_one(&self.bench.0.fails) { Err(lost()) } else { self.store.batch(operations).await }
    }

    async fn sweep(&self) -> Result<u64> {
        self.store.sweep().await
    }
}
