//! adk-graph: JSON state with channels; a node with several incoming edges waits for all of them by default.
//!
//! Its own counter channel adds in `f64`, which is exact for numbers as small as these.

use std::sync::Arc;

use adk_graph::checkpoint::{Checkpointer, MemoryCheckpointer};
use adk_graph::edge::{END, START};
use adk_graph::graph::{CompiledGraph, StateGraph};
use adk_graph::node::{ExecutionConfig, NodeContext, NodeOutput};
use adk_graph::state::{State, StateSchema};
use measure::{End, FAN_OUT, LIST, Peer, Steps, Workload};
use serde_json::{Value, json};

fn counter(value: Option<&Value>) -> i64 {
    value.and_then(Value::as_f64).unwrap_or(0.0) as i64
}

async fn step(context: NodeContext) -> adk_graph::error::Result<NodeOutput> {
    let counter = counter(context.get("counter"));
    let output = NodeOutput::new().with_update("counter", json!(counter + 1));
    Ok(if counter < LIST { output.with_update("list", json!([counter])) } else { output })
}

fn cycle(workload: Workload) -> CompiledGraph {
    let mut graph = StateGraph::new(StateSchema::builder().channel("counter").list_channel("list").build());
    for name in ["a", "b", "c"] {
        graph = graph.add_node_fn(name, step);
    }
    let limit = workload.limit();
    let route = move |state: &State| if counter(state.get("counter")) < limit { "a" } else { END }.to_owned();
    let graph = graph.add_edge(START, "a").add_edge("a", "b").add_edge("b", "c");
    let graph = graph.add_conditional_edges("c", route, [("a", "a"), (END, END)]);
    graph.compile().expect("the cycle compiles").with_recursion_limit(20_000)
}

fn fan() -> CompiledGraph {
    let mut graph = StateGraph::new(StateSchema::builder().counter_channel("counter").list_channel("list").build());
    let one = |_: NodeContext| async { Ok(NodeOutput::new().with_update("counter", json!(1))) };
    graph = graph.add_node_fn("source", one).add_node_fn("join", one).add_edge(START, "source").add_edge("join", END);
    for number in 0..FAN_OUT {
        let name = format!("w{number:03}");
        let worker = move |_: NodeContext| async move {
            Ok(NodeOutput::new().with_update("counter", json!(number)).with_update("list", json!([number])))
        };
        graph = graph.add_node_fn(&name, worker).add_edge("source", &name).add_edge(&name, "join");
    }
    graph.compile().expect("the fan-out compiles")
}

fn config() -> ExecutionConfig {
    ExecutionConfig::new("t").with_recursion_limit(20_000)
}

fn read(state: &State) -> (i64, Vec<i64>) {
    let list = state.get("list").and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
    (counter(state.get("counter")), list.iter().filter_map(Value::as_i64).collect())
}

fn main() {
    let peer = Peer::new("adk-graph", "2.3.0");
    let inspect = async |_: &(), state: State| {
        let (counter, list) = read(&state);
        End::unsaved(counter, list)
    };
    let graph = cycle(Workload::Loop);
    peer.measure(
        Workload::Loop,
        &Steps { ready: async || (), run: async |_: &()| graph.invoke(State::new(), config()).await, inspect },
    );
    let graph = fan();
    peer.measure(
        Workload::FanOut,
        &Steps {
            ready: async || (),
            run: async |_: &()| {
                for _ in 1..Workload::FanOut.invokes() {
                    graph.invoke(State::new(), config()).await?;
                }
                graph.invoke(State::new(), config()).await
            },
            inspect,
        },
    );
    type Saved = (CompiledGraph, Arc<MemoryCheckpointer>);
    peer.measure(
        Workload::LoopCheckpointed,
        &Steps {
            ready: async || {
                let memory = Arc::new(MemoryCheckpointer::new());
                (cycle(Workload::LoopCheckpointed).with_checkpointer_arc(memory.clone()), memory)
            },
            run: async |(graph, _): &Saved| graph.invoke(State::new(), config()).await,
            inspect: async |(_, memory): &Saved, state: State| {
                let (counter, list) = read(&state);
                End::saved(counter, list, memory.list("t").await.map_or(0, |all| all.len()))
            },
        },
    );
}
