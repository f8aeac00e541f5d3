//! W7 and W11: one node in a loop, saved at each superstep; then the thread is read, and forked.

use std::cell::Cell;

use serde_json::json;
use superstep::core::id::CheckpointId;
use superstep::core::port::SharedCheckpointer;
use superstep::prelude::*;
use superstep::{CompiledGraph, HistoryQuery, RunBuilder, StateSnapshot};

use crate::checkpointer::CheckpointerKind;
use crate::measure::{self, Bounds, Report, Times};
use crate::runtime::Runtime;

#[derive(GraphState, Clone, Serialize, Deserialize)]
struct Count {
    #[reduce(add)]
    counter: i64,
    limit: i64,
}

const THREAD: &str = "t";
const PAGE_SIZE: usize = 100;

async fn step(_count: View<Count>) -> CountUpdate {
    Count::update().counter(1)
}

fn counter(store: &SharedCheckpointer) -> CompiledGraph<Count> {
    let mut graph = StateGraph::<Count>::new("counter");
    let step = graph.add_node("step", step);
    graph.add_edge(START, step).checkpointer(store.clone()).recursion_limit(u32::MAX);
    let decide = move |count: &Count| if count.counter >= count.limit { Goto::end() } else { Goto::node(step) };
    graph.add_conditional_edges(step, decide, [step.into(), END]);
    graph.compile().expect("one node in a loop compiles")
}

fn count_to(graph: &CompiledGraph<Count>, limit: i64) -> RunBuilder<Count> {
    graph.invoke(Count::input().counter(0).limit(limit)).thread(THREAD)
}

fn latest(runtime: &Runtime, graph: &CompiledGraph<Count>) -> i64 {
    runtime.block_on(graph.threads().get_state(THREAD)).expect("the thread was filled").state.counter
}

pub(crate) fn run(id: &str, runtime: &Runtime, supersteps: i64, store: CheckpointerKind) {
    let open = || {
        let opened = store.open(runtime);
        (counter(&opened.store), opened)
    };
    let (times, ((graph, opened), _)) =
        measure::time_each(open, |(graph, _)| runtime.finish(count_to(graph, supersteps)));
    drop(graph);
    let result = json!({ "counter": latest(runtime, &counter(&opened.reopen(runtime))) });
    let params = json!({ "supersteps": supersteps, "store": store.name() });
    Report { bytes: Some(opened.bytes(runtime)), ..Report::new(params, result) }.print(id, runtime, &times);
}

/// Returns the measurements that a W11 id names.
pub(crate) fn measurements(name: &str) -> Option<&'static [&'static str]> {
    match name {
        "resume" => Some(&["latest", "history", "fork"]),
        "latest" => Some(&["latest"]),
        "history" => Some(&["history"]),
        "fork" => Some(&["fork"]),
        _ => None,
    }
}

pub(crate) fn resume(runtime: &Runtime, checkpoints: i64, measurements: &[&str], store: CheckpointerKind) {
    let opened = store.open(runtime);
    runtime.finish(count_to(&counter(&opened.store), checkpoints - 1));
    let graph = counter(&opened.reopen(runtime));
    for measurement in measurements {
        let id = format!("w11_{measurement}_{checkpoints}_{}", store.name());
        let (times, report) = match *measurement {
            "latest" => resume_latest(runtime, &graph),
            "history" => resume_history(runtime, &graph, checkpoints),
            _ => resume_fork(runtime, &graph, checkpoints),
        };
        let params = json!({ "checkpoints": checkpoints, "store": store.name(), "page": PAGE_SIZE });
        Report { params, ..report }.print(&id, runtime, &times);
    }
}

fn resume_latest(runtime: &Runtime, graph: &CompiledGraph<Count>) -> (Times, Report) {
    let (times, counter) = measure::time_batches(|| latest(runtime, graph));
    (times, Report::new(json!({}), json!({ "counter": counter })))
}

async fn history(graph: &CompiledGraph<Count>) -> superstep::Result<Vec<(i64, CheckpointId)>> {
    let (threads, mut query) = (graph.threads(), HistoryQuery { limit: Some(PAGE_SIZE), ..HistoryQuery::default() });
    let mut snapshots = Vec::new();
    loop {
        let page = threads.get_state_history(THREAD, &query).await?;
        let Some(last) = page.last() else { return Ok(snapshots) };
        query.before = Some(last.id());
        snapshots.extend(page.iter().map(|snapshot: &StateSnapshot<Count>| (snapshot.state.counter, snapshot.id())));
    }
}

fn resume_history(runtime: &Runtime, graph: &CompiledGraph<Count>, checkpoints: i64) -> (Times, Report) {
    let (times, snapshots) = measure::time_batches(|| runtime.block_on(history(graph)).expect("the thread was filled"));
    let counters = snapshots.iter().map(|(counter, _)| *counter).filter(|counter| *counter != 0);
    let is_enough = i64::try_from(snapshots.len()).is_ok_and(|snapshots| snapshots >= checkpoints);
    let result = json!({ "enough": is_enough, "descending": counters.eq((1..checkpoints).rev()) });
    let extra = json!({ "snapshots": snapshots.len() });
    (times, Report { extra, ..Report::new(json!({}), result) })
}

fn resume_fork(runtime: &Runtime, graph: &CompiledGraph<Count>, checkpoints: i64) -> (Times, Report) {
    let middle = checkpoints / 2;
    let snapshots = runtime.block_on(history(graph)).expect("the thread was filled");
    let (_, checkpoint) =
        *snapshots.iter().find(|(counter, _)| *counter == middle).expect("a counter passes its middle");
    // Forks stay on their thread: each repetition uses a new copy, so that the thread does not grow.
    let copies = Cell::new(0_u32);
    let copy = || {
        let number = copies.replace(copies.get() + 1);
        let (old, new) = (format!("f{number}"), format!("f{}", number + 1));
        runtime.block_on(graph.threads().delete(old)).expect("the last copy is unused");
        runtime.block_on(graph.threads().copy(THREAD, new.as_str())).expect("a filled thread can be copied");
        new
    };
    let fork = async |thread: &str| {
        let update = Count::update().limit(middle + 3);
        let forked = graph.threads().update_state(thread, update).as_node("step").from_checkpoint(checkpoint).await?;
        graph.continue_thread(thread).from_checkpoint(forked).await
    };
    let unit = |thread: &String| runtime.block_on(fork(thread)).expect("a fork runs to its end").state.counter;
    let (times, counter) = measure::time_with_setup(Bounds { iterations: 500, ..Bounds::default() }, copy, unit);
    (times, Report::new(json!({}), json!({ "counter": counter })))
}
