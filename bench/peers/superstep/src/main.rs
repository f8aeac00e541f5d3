//! superstep, in code as a user would write it.

use measure::{End, FAN_OUT, LIST, Peer, Steps, Workload};
use superstep::core::port::Checkpointer as _;
use superstep::prelude::*;
use superstep::{Compiled, Outcome};

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

fn cycle(workload: Workload) -> Compiled<CycleState> {
    let mut graph = Graph::<CycleState>::new("laps");
    let [a, b, c] = ["a", "b", "c"].map(|name| graph.node(name, step));
    graph.edge(START, a).edge(a, b).edge(b, c).recursion_limit(u32::MAX);
    let limit = workload.limit();
    graph.route(c, move |state: &CycleState| if state.counter < limit { Go::to(a) } else { Go::end() }, [a.into(), END]);
    graph.compile().expect("the cycle compiles")
}

fn fan() -> Compiled<Fan> {
    let mut graph = Graph::<Fan>::new("fan");
    let source = graph.node("source", async || Fan::update().counter(1));
    let join = graph.node("join", async || Fan::update().counter(1));
    let worker = |number: i64| move || async move { Fan::update().counter(number).list(number) };
    let workers: Vec<_> = (0..FAN_OUT).map(|number| graph.node(&format!("w{number:03}"), worker(number))).collect();
    graph.edge(START, source).edge(join, END);
    for worker in &workers {
        graph.edge(source, *worker);
    }
    graph.join(workers, join);
    graph.compile().expect("the fan-out compiles")
}

fn main() {
    let peer = Peer::new("superstep", "0.1.0");
    let graph = cycle(Workload::Loop);
    peer.measure(
        Workload::Loop,
        &Steps {
            ready: async || (),
            run: async |_: &()| graph.run(CycleState::input().counter(0)).await,
            inspect: async |_: &(), done: Outcome<CycleState>| End::unsaved(done.state.counter, done.state.list.clone()),
        },
    );
    let graph = fan();
    peer.measure(
        Workload::FanOut,
        &Steps {
            ready: async || (),
            run: async |_: &()| {
                for _ in 1..Workload::FanOut.invokes() {
                    graph.run(Fan::input().counter(0)).await?;
                }
                graph.run(Fan::input().counter(0)).await
            },
            inspect: async |_: &(), done: Outcome<Fan>| End::unsaved(done.state.counter, done.state.list.clone()),
        },
    );
    let graph = cycle(Workload::LoopCheckpointed);
    peer.measure(
        Workload::LoopCheckpointed,
        &Steps {
            ready: async || Memory::new(),
            run: async |memory: &Memory| {
                graph.run(CycleState::input().counter(0)).checkpointer(memory.clone()).thread("t").await
            },
            inspect: async |memory: &Memory, done: Outcome<CycleState>| {
                let stats = memory.stats().await.expect("an in-memory checkpointer has statistics");
                End::saved(done.state.counter, done.state.list.clone(), stats.checkpoints as usize)
            },
        },
    );
}
