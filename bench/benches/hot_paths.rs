//! Benchmarks of five hot paths whose instructions valgrind counts; the load of the machine does not affect the counts.
//!
//! `cargo xtask count` runs these benchmarks and compares the counts with `bench/instructions.json`.
//! `superstep-bench` measures times.

// The macros of the benchmark library generate public items without documentation.
#![allow(missing_docs, unreachable_pub, reason = "the benchmark macros make public items without documentation")]

use std::hint::black_box;
use std::mem::ManuallyDrop;

use gungraun::prelude::*;
use superstep::prelude::*;
use superstep::{CompiledGraph, HistoryQuery};
use tokio::runtime::Runtime;

#[derive(GraphState, Clone, Serialize, Deserialize)]
struct CycleState {
    #[reduce(add)]
    counter: i64,
    #[reduce(keep_last = 10)]
    recent: Vec<String>,
    limit: i64,
}

#[derive(GraphState, Clone, Serialize, Deserialize)]
struct Results {
    #[reduce(append)]
    results: Vec<u64>,
}

/// A compiled graph with its runtime. The benchmarks do not drop the graph, because its destruction is not
/// measured.
struct Ready<S: GraphState> {
    runtime: Runtime,
    graph: CompiledGraph<S>,
}

fn ready<S: GraphState>(mut graph: StateGraph<S>) -> Ready<S> {
    let runtime = tokio::runtime::Builder::new_current_thread().build().expect("a runtime starts");
    Ready { runtime, graph: graph.compile().expect("the graph compiles") }
}

fn run_cycle(ready: &Ready<CycleState>, limit: i64) -> i64 {
    let run = ready.graph.invoke(CycleState::input().counter(0).limit(limit)).into_future();
    ready.runtime.block_on(run).expect("the cycle ends").state.counter
}

/// Creates a chain of nodes that do nothing.
fn chain(nodes: u32) -> Ready<CycleState> {
    let mut graph = StateGraph::<CycleState>::new("chain");
    let mut last = START;
    for number in 0..nodes {
        let node = graph.add_node(&format!("node_{number}"), async |_state: View<CycleState>| {});
        graph.add_edge(last, node);
        last = node.into();
    }
    graph.add_edge(last, END).recursion_limit(nodes + 1);
    ready(graph)
}

/// Creates a cycle of three nodes that write two fields each, with a conditional edge.
fn circle(store: Option<MemoryCheckpointer>) -> Ready<CycleState> {
    let mut graph = StateGraph::<CycleState>::new("circle");
    let [a, b, c] = ["a", "b", "c"].map(|name| {
        graph
            .add_node(name, move |_state: View<CycleState>| async move { CycleState::update().counter(1).recent(name) })
    });
    graph.add_edge(START, a).add_edge(b, c).add_edge(c, a);
    let decide = move |state: &CycleState| if state.counter >= state.limit { Goto::end() } else { Goto::node(b) };
    graph.add_conditional_edges(a, decide, [b.into(), END]).recursion_limit(u32::MAX);
    if let Some(store) = store {
        graph.checkpointer(store);
    }
    ready(graph)
}

/// Creates a graph that sends one task for each of many items and reduces the results into one list.
fn sends(items: u64) -> Ready<Results> {
    let mut graph = StateGraph::<Results>::new("sends");
    let square = graph.add_node("square", async |item: SendPayload<u64>| Results::update().results([*item * *item]));
    let to_sends = move |_: &Results| (0..items).map(|item| SendTo::new(square, item)).collect::<Vec<_>>();
    graph.set_conditional_entry_point(to_sends, [square]).add_edge(square, END);
    ready(graph)
}

fn saved(limit: i64) -> Ready<CycleState> {
    let ready = circle(Some(MemoryCheckpointer::new()));
    let run = ready.graph.invoke(CycleState::input().counter(0).limit(limit)).thread("t").into_future();
    ready.runtime.block_on(run).expect("the cycle ends");
    ready
}

#[library_benchmark(setup = chain)]
#[bench::of_100_nodes(100)]
fn one_task_a_superstep(ready: Ready<CycleState>) -> i64 {
    black_box(run_cycle(&ManuallyDrop::new(ready), 0))
}

#[library_benchmark(setup = circle)]
#[bench::of_100_supersteps(None)]
fn two_reducers_and_a_route(ready: Ready<CycleState>) -> i64 {
    black_box(run_cycle(&ManuallyDrop::new(ready), 100))
}

#[library_benchmark(setup = sends)]
#[bench::of_100_tasks(100)]
fn many_tasks_a_superstep(ready: Ready<Results>) -> usize {
    let ready = ManuallyDrop::new(ready);
    let run = ready.graph.invoke(Results::input().results(Vec::<u64>::new())).into_future();
    black_box(ready.runtime.block_on(run).expect("all tasks end").state.results.len())
}

#[library_benchmark(setup = circle)]
#[bench::of_100_supersteps(Some(MemoryCheckpointer::new()))]
fn a_checkpoint_each_superstep(ready: Ready<CycleState>) -> i64 {
    black_box(run_cycle(&ManuallyDrop::new(ready), 100))
}

#[library_benchmark(setup = saved)]
#[bench::of_100_checkpoints(99)]
fn a_history(ready: Ready<CycleState>) -> usize {
    let ready = ManuallyDrop::new(ready);
    let threads = ready.graph.threads();
    black_box(
        ready
            .runtime
            .block_on(threads.get_state_history("t", &HistoryQuery::default()))
            .expect("the thread has a history")
            .len(),
    )
}

library_benchmark_group!(
    name = hot_paths,
    benchmarks = [
        one_task_a_superstep,
        two_reducers_and_a_route,
        many_tasks_a_superstep,
        a_checkpoint_each_superstep,
        a_history
    ]
);

main!(library_benchmark_groups = hot_paths);
