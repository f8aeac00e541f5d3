//! tinyagents: typed state, one reducer for the whole state, closures as nodes.
//!
//! Branches run in parallel only with `with_parallel`, and a fan-out needs a command. A loop of this length needs
//! two limits raised.

use std::sync::Arc;

use measure::{End, FAN_OUT, LIST, Peer, Steps, Workload};
use tinyagents::{
    ClosureStateReducer, Command, CompiledGraph, END, GraphBuilder, GraphExecution, InMemoryCheckpointer, NodeContext,
    NodeResult, RecursionPolicy,
};

#[derive(Clone, Debug, Default)]
struct Count {
    counter: i64,
    list: Vec<i64>,
}

/// New counter value after a step of the loop, or the number that a step of the fan-out adds.
#[derive(Clone, Debug)]
struct Patch {
    counter: i64,
    item: Option<i64>,
}

fn step(count: &Count) -> Patch {
    let counter = count.counter;
    Patch { counter: counter + 1, item: (counter < LIST).then_some(counter) }
}

fn cycle(workload: Workload) -> CompiledGraph<Count, Patch> {
    let mut graph =
        GraphBuilder::<Count, Patch>::new().set_reducer(ClosureStateReducer::new(|mut count: Count, patch: Patch| {
            count.counter = patch.counter;
            count.list.extend(patch.item);
            Ok(count)
        }));
    for name in ["a", "b", "c"] {
        graph = graph
            .add_node(name, |count: Count, _context: NodeContext| async move { Ok(NodeResult::Update(step(&count))) });
    }
    let limit = workload.limit();
    let route = move |count: &Count| if count.counter < limit { "again" } else { "done" };
    let graph = graph.set_entry("a").add_edge("a", "b").add_edge("b", "c");
    let graph = graph.add_conditional_edges("c", route, [("again", "a"), ("done", END)]).with_recursion_limit(20_000);
    let policy = RecursionPolicy { max_total_steps: 20_000, ..RecursionPolicy::default() };
    graph.compile().expect("the cycle compiles").with_recursion_policy(policy)
}

fn fan() -> CompiledGraph<Count, Patch> {
    let workers: Vec<String> = (0..FAN_OUT).map(|number| format!("w{number:03}")).collect();
    let mut graph = GraphBuilder::<Count, Patch>::new().with_parallel(true).set_reducer(ClosureStateReducer::new(
        |mut count: Count, patch: Patch| {
            count.counter += patch.counter;
            count.list.extend(patch.item);
            Ok(count)
        },
    ));
    for (number, name) in (0..).zip(&workers) {
        let update = move |_: Count, _: NodeContext| async move {
            Ok(NodeResult::Update(Patch { counter: number, item: Some(number) }))
        };
        graph = graph.add_node(name.as_str(), update).add_edge(name.as_str(), "join");
    }
    let source = move |_: Count, _: NodeContext| {
        let command = Command::goto(workers.iter().map(String::as_str)).with_update(Patch { counter: 1, item: None });
        async move { Ok(NodeResult::Command(command)) }
    };
    let join = |_: Count, _: NodeContext| async { Ok(NodeResult::Update(Patch { counter: 1, item: None })) };
    let graph = graph.add_node("source", source).mark_command_routing("source").add_node("join", join);
    graph.set_entry("source").set_finish("join").compile().expect("the fan-out compiles")
}

fn main() {
    let peer = Peer::new("tinyagents", "2.1.1");
    let graph = cycle(Workload::Loop);
    peer.measure(
        Workload::Loop,
        &Steps {
            ready: async || (),
            run: async |_: &()| graph.run(Count::default()).await,
            inspect: async |_: &(), execution: GraphExecution<Count>| {
                End::unsaved(execution.state.counter, execution.state.list)
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
                    graph.run(Count::default()).await?;
                }
                graph.run(Count::default()).await
            },
            inspect: async |_: &(), execution: GraphExecution<Count>| {
                End::unsaved(execution.state.counter, execution.state.list)
            },
        },
    );
    type Saved = (CompiledGraph<Count, Patch>, Arc<InMemoryCheckpointer<Count>>);
    peer.measure(
        Workload::LoopCheckpointed,
        &Steps {
            ready: async || {
                let memory = Arc::new(InMemoryCheckpointer::<Count>::new());
                (cycle(Workload::LoopCheckpointed).with_checkpointer(memory.clone()), memory)
            },
            run: async |(graph, _): &Saved| graph.run_with_thread("t", Count::default()).await,
            inspect: async |(_, memory): &Saved, execution: GraphExecution<Count>| {
                End::saved(execution.state.counter, execution.state.list, memory.count("t"))
            },
        },
    );
}
