//! The threads that are recorded for every version of the stores' formats, and what a store holds of them.
//!
//! Used by the example that records and by the tests that read, so that both mean the same graph. What is here belongs
//! to recordings that exist: nodes, fields and names may be added, and nothing may be changed.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use serde_json::{Value, json};
use superstep::core::checkpoint::Namespace;
use superstep::core::datum::Datum;
use superstep::core::id::RunId;
use superstep::core::machine::{World, read_state};
use superstep::core::port::{Commit, EventsQuery, HistoryQuery, Loaded, SharedCheckpointer, StoredEvent, ThreadsQuery};
use superstep::prelude::*;
use superstep::{Compiled, Result, Retention};

/// The state of a job in the workshop.
#[derive(State, Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Job {
    pub(crate) kind: String,
    pub(crate) wanted: u64,
    #[reduce(append)]
    pub(crate) log: Vec<String>,
    #[reduce(add)]
    pub(crate) cost: u64,
    #[reduce(merge)]
    pub(crate) stock: BTreeMap<String, u64>,
    #[reduce(messages)]
    pub(crate) chat: Messages,
    #[state(set_once)]
    pub(crate) customer: Option<String>,
    pub(crate) approved: Option<bool>,
}

/// The state of the graph inside.
#[derive(State, Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Fitting {
    #[reduce(append)]
    pub(crate) log: Vec<String>,
    pub(crate) size: u64,
}

/// Times and ids that count up, so that every store records the same.
pub(crate) struct Counted(AtomicU64);

impl Counted {
    /// A world at its beginning.
    pub(crate) fn new() -> Arc<Self> {
        Arc::new(Self(AtomicU64::new(1)))
    }
}

impl World for Counted {
    fn now(&self) -> i64 {
        let seconds = self.0.load(Ordering::SeqCst).cast_signed();
        1_800_000_000_000_000 + seconds * 1_000_000
    }

    fn fresh(&self) -> u128 {
        (0x0190_0000_0000_7000 << 64) + u128::from(self.0.fetch_add(1, Ordering::SeqCst))
    }
}

/// The graph inside.
pub(crate) fn fitting() -> Compiled<Fitting> {
    let mut graph = Graph::<Fitting>::new("fitting");
    let measure = graph.node("measure", || Fitting::update().size(42_u64).log("measured".to_owned()));
    let confirm = graph.node("confirm", |fitting: View<Fitting>, ask: Ask| async move {
        let fits: bool = ask.person("does it fit?", fitting.size).await?;
        Ok::<_, NodeError>(Fitting::update().log(format!("fits: {fits}")))
    });
    graph.sequence([START, measure.into(), confirm.into(), END]);
    graph.compile().expect("the graph inside is whole")
}

/// The graph whose threads are recorded.
pub(crate) fn workshop(store: impl Into<SharedCheckpointer>) -> Compiled<Job> {
    let mut graph = Graph::<Job>::new("workshop");
    let cut = graph.node("cut", |job: View<Job>| {
        let update = Job::update().log(format!("cut for {}", job.kind)).cost(3_u64);
        update.stock(("board".to_owned(), 10 - job.log.len() as u64 % 10)).customer("Ann".to_owned())
    });
    let approve = graph.node("approve", |job: View<Job>, ask: Ask| async move {
        let approved: bool = ask.person("approve?", job.cost).await?;
        Ok::<_, NodeError>(Job::update().approved(approved).log(format!("approved: {approved}")))
    });
    let fit = graph.node("fit", fitting());
    let saw = graph.node("saw", |job: View<Job>| Job::update().log(format!("{:0>120}", job.log.len())).cost(1_u64));
    let report = graph.node("report", |job: View<Job>| {
        Job::update().chat(Message::assistant(format!("{} things done for {}", job.log.len(), job.cost)))
    });
    graph.entry_by(
        move |job: &Job| match job.kind.as_str() {
            "ask" => Go::to(cut).and(approve),
            "fit" => Go::to(fit),
            "long" => Go::to(saw),
            _ => Go::to(cut),
        },
        [cut, approve, fit, saw],
    );
    graph.edge(cut, report).edge(approve, report).edge(fit, report).edge(report, END);
    let more = move |job: &Job| if (job.log.len() as u64) < job.wanted { Go::to(saw) } else { Go::to(report) };
    graph.route(saw, more, [saw, report]);
    graph.checkpointer(store).recursion_limit(1_000);
    graph.compile().expect("the graph is whole")
}

/// An input for a job of a kind.
pub(crate) fn order(kind: &str, wanted: u64) -> Value {
    json!({ "kind": kind, "wanted": wanted, "chat": [{ "role": "user", "content": format!("a {kind} job – für Ann") }] })
}

/// Makes the threads that are recorded.
///
/// # Errors
/// When a run fails.
#[allow(dead_code, reason = "tests read what this has made")]
pub(crate) async fn record(store: &SharedCheckpointer) -> Result<()> {
    let (graph, world) = (workshop(store.clone()), Counted::new());
    let threads = graph.threads();
    for (thread, kind, wanted) in [
        ("finished", "plain", 0),
        ("forked", "plain", 0),
        ("interrupted", "ask", 0),
        ("inside", "fit", 0),
        ("long", "long", 40),
        ("pruned", "long", 12),
    ] {
        graph.run(order(kind, wanted)).thread(thread).world(world.clone()).metadata("shift", "early").await?;
    }
    let before_report = HistoryQuery { step: Some(1), ..HistoryQuery::default() };
    let fork = threads.history("forked", &before_report).await?[0].id();
    threads.update("forked", json!({ "log": "on second thought" })).at(fork).world(world.clone()).await?;
    graph.go_on("forked").world(world.clone()).await?;
    let retention = Retention::last(3);
    threads.prune("pruned", &retention).await?;
    say(store, "finished", &["begun", "für Ann", &"it is said again and again ".repeat(100)]).await?;
    store.forget_events(&"finished".into(), 1).await
}

/// Says something on a thread, after all that was said there before.
///
/// # Errors
/// When the store fails.
pub(crate) async fn say(store: &SharedCheckpointer, thread: &str, words: &[&str]) -> Result<()> {
    let (thread, run) = (thread.into(), RunId::from_bits(77));
    let lease = store.acquire(&thread, run).await?;
    let last = store.last_event(&thread).await?;
    let event = |(word, number)| StoredEvent { number, run, body: Datum::json(json!({ "said": word })) };
    let events = words.iter().zip(last + 1..).map(event).collect();
    store.commit(&Commit { events, ..Commit::empty(lease.clone(), Namespace::root()) }).await?;
    store.release(&lease);
    Ok(())
}

/// Everything a store holds: of each thread its status, and of each graph all checkpoints with states and tasks.
///
/// # Errors
/// When something cannot be read.
pub(crate) async fn told(store: &SharedCheckpointer) -> Result<Value> {
    let mut all = serde_json::Map::new();
    for thread in store.threads(&ThreadsQuery::default()).await? {
        let mut graphs = serde_json::Map::new();
        for namespace in store.namespaces(&thread).await? {
            let history = store.history(&thread, &namespace, &HistoryQuery::default()).await?;
            let told = history.iter().map(|loaded| told_of(&namespace, loaded)).collect::<Result<Vec<Value>>>()?;
            graphs.insert(namespace.as_str().to_owned(), told.into());
        }
        let status = store.status(&thread).await?;
        let mut whole = json!({ "status": status, "graphs": graphs });
        let last = store.last_event(&thread).await?;
        if last > 0 {
            let events = store.events(&thread, &EventsQuery::default()).await?;
            let events = events.iter().map(told_event).collect::<Result<Vec<Value>>>()?;
            whole["events"] = json!({ "last": last, "kept": events });
        }
        all.insert(thread.to_string(), whole);
    }
    Ok(all.into())
}

fn told_event(event: &StoredEvent) -> Result<Value> {
    let body = event.body.to_json().map_err(|fault| superstep::Error::internal(fault.message))?;
    Ok(json!({ "number": event.number, "run": event.run, "body": body }))
}

fn told_of(namespace: &Namespace, loaded: &Loaded) -> Result<Value> {
    let schema = if namespace.is_root() { Job::schema() } else { Fitting::schema() };
    let schema = schema.expect("a derived state has a schema");
    let (state, _) = read_state(&schema, loaded)?;
    let mut checkpoint = json!(&*loaded.checkpoint);
    // A later version may say so in what it reads.
    checkpoint.as_object_mut().expect("a checkpoint is an object").remove("format");
    Ok(json!({ "checkpoint": checkpoint, "state": schema.to_json(&*state)?, "tasks": loaded.pending }))
}
