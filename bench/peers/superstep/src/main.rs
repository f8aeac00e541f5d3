//! superstep, in code as a user would write it.

use measure::{End, FAN_OUT, LIST, Peer, Steps, Workload};
use superstep::core::port::Checkpointer as _;
use superstep::prelude::*;
use superstep::{CompiledGraph, Outcome};

#[derive(GraphState, Clone, Serialize, Deserialize)]
struct CycleState {
    counter: i64,
    #[reduce(append)]
    list: Vec<i64>,
}

#[derive(GraphState, Clone, Serialize, Deserialize)]
struct Fan {
    #[reduce(add)]
    counter: i64,
    #[reduce(append)]
    list: Vec<i64>,
}

async fn step(state: View<CycleState>) -> CycleStateUpdate {
    let update = CycleState::update().counter(state.counter + 1);
    if state.counter < LIST { update.list(state.counter) } else { update }
}

fn cycle(workload: Workload) -> CompiledGraph<CycleState> {
    let mut graph = StateGraph::<CycleState>::new("laps");
    let [a, b, c] = ["a", "b", "c"].map(|name| graph.add_node(name, step));
    graph.add_edge(START, a).add_edge(a, b).add_edge(b, c).recursion_limit(u32::MAX);
    let limit = workload.limit();
    graph.add_conditional_edges(
        c,
        move |state: &CycleState| if state.counter < limit { Goto::node(a) } else { Goto::end() },
        [a.into(), END],
    );
    graph.compile().expect("the cycle compiles")
}

fn fan() -> CompiledGraph<Fan> {
    let mut graph = StateGraph::<Fan>::new("fan");
    let source = graph.add_node("source", async || Fan::update().counter(1));
    let join = graph.add_node("join", async || Fan::update().counter(1));
    let worker = |number: i64| move || async move { Fan::update().counter(number).list(number) };
    let workers: Vec<_> = (0..FAN_OUT).map(|number| graph.add_node(&format!("w{number:03}"), worker(number))).collect();
    graph.add_edge(START, source).add_edge(join, END);
    for worker in &workers {
        graph.add_edge(source, *worker);
    }
    graph.add_join(workers, join);
    graph.compile().expect("the fan-out compiles")
}

fn main() {
    let peer = Peer::new("superstep", "0.1.0");
    let graph = cycle(Workload::Loop);
    peer.measure(
        Workload::Loop,
        &Steps {
            ready: async || (),
            run: async |_: &()| graph.invoke(CycleState::input().counter(0)).await,
            inspect: async |_: &(), outcome: Outcome<CycleState>| {
                End::unsaved(outcome.state.counter, outcome.state.list.clone())
            },
        },
    );
    let graph = fan();
    peer.measure(
        Workload::FanOut,
        &Steps {
            ready: async || (),
            run: async |_: &()| {
                for _ in 1..Workload::FanOut.invokes() {
                    graph.invoke(Fan::input().counter(0)).await?;
                }
                graph.invoke(Fan::input().counter(0)).await
            },
            inspect: async |_: &(), outcome: Outcome<Fan>| {
                End::unsaved(outcome.state.counter, outcome.state.list.clone())
            },
        },
    );
    let graph = cycle(Workload::LoopCheckpointed);
    peer.measure(
        Workload::LoopCheckpointed,
        &Steps {
            ready: async || MemoryCheckpointer::new(),
            run: async |memory: &MemoryCheckpointer| {
                graph.invoke(CycleState::input().counter(0)).checkpointer(memory.clone()).thread("t").await
            },
            inspect: async |memory: &MemoryCheckpointer, outcome: Outcome<CycleState>| {
                let stats = memory.stats().await.expect("an in-memory checkpointer has statistics");
                End::saved(outcome.state.counter, outcome.state.list.clone(), stats.checkpoints as usize)
            },
        },
    );
}
