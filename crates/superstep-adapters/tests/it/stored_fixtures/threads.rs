//! The threads that are recorded for every version of the storage formats, and a description of their stored content.
//!
//! Used by the example that records and by the tests that read, so that both use the same graph. Existing recordings
//! depend on this file: nodes, fields and names may be added, and nothing may be changed.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use serde_json::{Value, json};
use superstep::core::checkpoint::CheckpointNamespace;
use superstep::core::id::RunId;
use superstep::core::machine::{Environment, restore_state};
use superstep::core::port::{
    CheckpointTuple, Commit, EventsQuery, HistoryQuery, SharedCheckpointer, StoredEvent, ThreadsQuery,
};
use superstep::core::value::AnyValue;
use superstep::prelude::*;
use superstep::{CompiledGraph, Result, Retention};

/// State of a job.
#[derive(GraphState, Clone, Debug, PartialEq, Serialize, Deserialize)]
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

/// State of the subgraph.
#[derive(GraphState, Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Fitting {
    #[reduce(append)]
    pub(crate) log: Vec<String>,
    pub(crate) size: u64,
}

/// Environment with increasing times and ids, so that every recording is the same.
pub(crate) struct Counted(AtomicU64);

impl Counted {
    /// Creates an environment in its initial state.
    pub(crate) fn new() -> Arc<Self> {
        Arc::new(Self(AtomicU64::new(1)))
    }
}

impl Environment for Counted {
    fn now(&self) -> i64 {
        let seconds = self.0.load(Ordering::SeqCst).cast_signed();
        1_800_000_000_000_000 + seconds * 1_000_000
    }

    fn new_id(&self) -> u128 {
        (0x0190_0000_0000_7000 << 64) + u128::from(self.0.fetch_add(1, Ordering::SeqCst))
    }
}

/// Builds the subgraph.
pub(crate) fn fitting() -> CompiledGraph<Fitting> {
    let mut graph = StateGraph::<Fitting>::new("fitting");
    let measure = graph.add_node("measure", || Fitting::update().size(42_u64).log("measured".to_owned()));
    let confirm = graph.add_node("confirm", |fitting: View<Fitting>, interrupts: Interrupts| async move {
        let fits: bool = interrupts.raise("does it fit?", fitting.size).await?;
        Ok::<_, NodeError>(Fitting::update().log(format!("fits: {fits}")))
    });
    graph.add_sequence([START, measure.into(), confirm.into(), END]);
    graph.compile().expect("the subgraph compiles")
}

/// Builds the graph whose threads are recorded.
pub(crate) fn workshop(store: impl Into<SharedCheckpointer>) -> CompiledGraph<Job> {
    let mut graph = StateGraph::<Job>::new("workshop");
    let cut = graph.add_node("cut", |job: View<Job>| {
        let update = Job::update().log(format!("cut for {}", job.kind)).cost(3_u64);
        update.stock(("board".to_owned(), 10 - job.log.len() as u64 % 10)).customer("Ann".to_owned())
    });
    let approve = graph.add_node("approve", |job: View<Job>, interrupts: Interrupts| async move {
        let approved: bool = interrupts.raise("approve?", job.cost).await?;
        Ok::<_, NodeError>(Job::update().approved(approved).log(format!("approved: {approved}")))
    });
    let fit = graph.add_node("fit", fitting());
    let saw = graph.add_node("saw", |job: View<Job>| Job::update().log(format!("{:0>120}", job.log.len())).cost(1_u64));
    let report = graph.add_node("report", |job: View<Job>| {
        Job::update().chat(Message::assistant(format!("{} things done for {}", job.log.len(), job.cost)))
    });
    graph.set_conditional_entry_point(
        move |job: &Job| match job.kind.as_str() {
            "ask" => Goto::node(cut).and_node(approve),
            "fit" => Goto::node(fit),
            "long" => Goto::node(saw),
            _ => Goto::node(cut),
        },
        [cut, approve, fit, saw],
    );
    graph.add_edge(cut, report).add_edge(approve, report).add_edge(fit, report).add_edge(report, END);
    let more = move |job: &Job| if (job.log.len() as u64) < job.wanted { Goto::node(saw) } else { Goto::node(report) };
    graph.add_conditional_edges(saw, more, [saw, report]);
    graph.checkpointer(store).recursion_limit(1_000);
    graph.compile().expect("the graph compiles")
}

/// Returns the input for a kind of job.
pub(crate) fn order(kind: &str, target: u64) -> Value {
    json!({ "kind": kind, "wanted": target, "chat": [{ "role": "user", "content": format!("a {kind} job – für Ann") }] })
}

/// Creates the recorded threads.
///
/// # Errors
/// Returns an error if a run fails.
#[allow(dead_code, reason = "tests read what this has made")]
pub(crate) async fn record(store: &SharedCheckpointer) -> Result<()> {
    let (graph, world) = (workshop(store.clone()), Counted::new());
    let threads = graph.threads();
    for (thread, kind, target) in [
        ("finished", "plain", 0),
        ("forked", "plain", 0),
        ("interrupted", "ask", 0),
        ("inside", "fit", 0),
        ("long", "long", 40),
        ("pruned", "long", 12),
    ] {
        graph.invoke(order(kind, target)).thread(thread).environment(world.clone()).metadata("shift", "early").await?;
    }
    let before_report = HistoryQuery { step: Some(1), ..HistoryQuery::default() };
    let fork = threads.get_state_history("forked", &before_report).await?[0].id();
    threads
        .update_state("forked", json!({ "log": "on second thought" }))
        .from_checkpoint(fork)
        .environment(world.clone())
        .await?;
    graph.continue_thread("forked").environment(world.clone()).await?;
    let retention = Retention::keep_last(3);
    threads.prune("pruned", &retention).await?;
    append_events(store, "finished", &["begun", "für Ann", &"it is said again and again ".repeat(100)]).await?;
    store.delete_events(&"finished".into(), 1).await
}

/// Appends events to a thread.
///
/// # Errors
/// Returns an error if the checkpointer fails.
pub(crate) async fn append_events(store: &SharedCheckpointer, thread: &str, words: &[&str]) -> Result<()> {
    let (thread, run) = (thread.into(), RunId::from_bits(77));
    let lease = store.acquire(&thread, run).await?;
    let last = store.last_event_number(&thread).await?;
    let event = |(word, number)| StoredEvent { number, run, payload: AnyValue::json(json!({ "said": word })) };
    let events = words.iter().zip(last + 1..).map(event).collect();
    store.commit(&Commit { events, ..Commit::empty(lease.clone(), CheckpointNamespace::root()) }).await?;
    store.release(&lease);
    Ok(())
}

/// Describes the content of a checkpointer: the status of each thread, and all checkpoints of each namespace with
/// state and pending entries.
///
/// # Errors
/// Returns an error if something cannot be read.
pub(crate) async fn stored_content(store: &SharedCheckpointer) -> Result<Value> {
    let mut all = serde_json::Map::new();
    for thread in store.threads(&ThreadsQuery::default()).await? {
        let mut graphs = serde_json::Map::new();
        for namespace in store.namespaces(&thread).await? {
            let history = store.history(&thread, &namespace, &HistoryQuery::default()).await?;
            let checkpoints =
                history.iter().map(|loaded| checkpoint_content(&namespace, loaded)).collect::<Result<Vec<Value>>>()?;
            graphs.insert(namespace.as_str().to_owned(), checkpoints.into());
        }
        let status = store.status(&thread).await?;
        let mut thread_content = json!({ "status": status, "graphs": graphs });
        let last = store.last_event_number(&thread).await?;
        if last > 0 {
            let events = store.events(&thread, &EventsQuery::default()).await?;
            let events = events.iter().map(event_content).collect::<Result<Vec<Value>>>()?;
            thread_content["events"] = json!({ "last": last, "kept": events });
        }
        all.insert(thread.to_string(), thread_content);
    }
    Ok(all.into())
}

fn event_content(event: &StoredEvent) -> Result<Value> {
    let body = event.payload.to_json().map_err(|fault| superstep::Error::internal(fault.message))?;
    Ok(json!({ "number": event.number, "run": event.run, "body": body }))
}

fn checkpoint_content(namespace: &CheckpointNamespace, loaded: &CheckpointTuple) -> Result<Value> {
    let schema = if namespace.is_root() { Job::schema() } else { Fitting::schema() };
    let schema = schema.expect("a derived state has a schema");
    let (state, _) = restore_state(&schema, loaded)?;
    let mut checkpoint = json!(&*loaded.checkpoint);
    // A later version may return another format version.
    checkpoint.as_object_mut().expect("a checkpoint is an object").remove("format");
    Ok(json!({ "checkpoint": checkpoint, "state": schema.to_json(&*state)?, "tasks": loaded.pending }))
}
