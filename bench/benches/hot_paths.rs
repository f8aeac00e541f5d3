//! Instruction counts of five hot paths, under valgrind: the same on a busy machine as on an idle one.
//!
//! `cargo xtask count` runs these and compares them with `bench/instructions.json`. Times are the business of
//! `superstep-bench`.

// The macros of the library make these.
#![allow(missing_docs, unreachable_pub, reason = "the benchmark macros make public items without documentation")]

use std::hint::black_box;
use std::mem::ManuallyDrop;

use gungraun::prelude::*;
use superstep::prelude::*;
use superstep::{Compiled, HistoryQuery};
use tokio::runtime::Runtime;

#[derive(State, Clone, Serialize, Deserialize)]
struct Laps {
    #[reduce(add)]
    counter: i64,
    #[reduce(keep_last = 10)]
    recent: Vec<String>,
    limit: i64,
}

#[derive(State, Clone, Serialize, Deserialize)]
struct Results {
    #[reduce(append)]
    results: Vec<u64>,
}

/// A graph ready to run. The paths leave it where it is: taking a graph down is not what they count.
struct Ready<S: State> {
    runtime: Runtime,
    graph: Compiled<S>,
}

fn ready<S: State>(mut graph: Graph<S>) -> Ready<S> {
    let runtime = tokio::runtime::Builder::new_current_thread().build().expect("a runtime starts");
    Ready { runtime, graph: graph.compile().expect("the graph compiles") }
}

fn laps(ready: &Ready<Laps>, limit: i64) -> i64 {
    let run = ready.graph.run(Laps::input().counter(0).limit(limit)).into_future();
    ready.runtime.block_on(run).expect("the laps end").state.counter
}

/// A chain of nodes that do nothing.
fn chain(nodes: u32) -> Ready<Laps> {
    let mut graph = Graph::<Laps>::new("chain");
    let mut last = START;
    for number in 0..nodes {
        let node = graph.node(&format!("node_{number}"), async |_laps: View<Laps>| {});
        graph.edge(last, node);
        last = node.into();
    }
    graph.edge(last, END).recursion_limit(nodes + 1);
    ready(graph)
}

/// Three nodes in a circle that write two fields each, and a route.
fn circle(store: Option<Memory>) -> Ready<Laps> {
    let mut graph = Graph::<Laps>::new("circle");
    let [a, b, c] = ["a", "b", "c"]
        .map(|name| graph.node(name, move |_laps: View<Laps>| async move { Laps::update().counter(1).recent(name) }));
    graph.edge(START, a).edge(b, c).edge(c, a);
    let decide = move |laps: &Laps| if laps.counter >= laps.limit { Go::end() } else { Go::to(b) };
    graph.route(a, decide, [b.into(), END]).recursion_limit(u32::MAX);
    if let Some(store) = store {
        graph.checkpointer(store);
    }
    ready(graph)
}

/// One task for each of many items, folded into one list.
fn sends(items: u64) -> Ready<Results> {
    let mut graph = Graph::<Results>::new("sends");
    let square = graph.node("square", async |item: Sent<u64>| Results::update().results([*item * *item]));
    let each = move |_: &Results| (0..items).map(|item| Send::new(square, item)).collect::<Vec<_>>();
    graph.entry_by(each, [square]).edge(square, END);
    ready(graph)
}

fn saved(limit: i64) -> Ready<Laps> {
    let ready = circle(Some(Memory::new()));
    let run = ready.graph.run(Laps::input().counter(0).limit(limit)).thread("t").into_future();
    ready.runtime.block_on(run).expect("the laps end");
    ready
}

#[library_benchmark(setup = chain)]
#[bench::of_100_nodes(100)]
fn one_task_a_superstep(ready: Ready<Laps>) -> i64 {
    black_box(laps(&ManuallyDrop::new(ready), 0))
}

#[library_benchmark(setup = circle)]
#[bench::of_100_supersteps(None)]
fn two_reducers_and_a_route(ready: Ready<Laps>) -> i64 {
    black_box(laps(&ManuallyDrop::new(ready), 100))
}

#[library_benchmark(setup = sends)]
#[bench::of_100_tasks(100)]
fn many_tasks_a_superstep(ready: Ready<Results>) -> usize {
    let ready = ManuallyDrop::new(ready);
    let run = ready.graph.run(Results::input().results(Vec::<u64>::new())).into_future();
    black_box(ready.runtime.block_on(run).expect("all tasks end").state.results.len())
}

#[library_benchmark(setup = circle)]
#[bench::of_100_supersteps(Some(Memory::new()))]
fn a_checkpoint_each_superstep(ready: Ready<Laps>) -> i64 {
    black_box(laps(&ManuallyDrop::new(ready), 100))
}

#[library_benchmark(setup = saved)]
#[bench::of_100_checkpoints(99)]
fn a_history(ready: Ready<Laps>) -> usize {
    let ready = ManuallyDrop::new(ready);
    let threads = ready.graph.threads();
    black_box(ready.runtime.block_on(threads.history("t", &HistoryQuery::default())).expect("it is there").len())
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
