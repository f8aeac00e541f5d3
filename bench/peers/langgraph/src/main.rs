//! langgraph, the Rust crate of that name: LangGraph's channels over JSON.
//!
//! Its routers receive the output of their node, not the state; both contain the counter of the loop.

use std::collections::HashMap;
use std::sync::Arc;

use langgraph::channels::{BinaryOperatorAggregate, Channel, LastValue};
use langgraph::checkpoint::{BaseCheckpointSaver, InMemorySaver};
use langgraph::prelude::*;
use measure::{End, FAN_OUT, LIST, Peer, Steps, Workload};
use serde_json::json;

fn counter(value: &JsonValue) -> i64 {
    value["counter"].as_i64().unwrap_or(0)
}

fn append(current: &JsonValue, new: &JsonValue) -> JsonValue {
    let both = [current, new].into_iter().filter_map(JsonValue::as_array).flatten();
    both.cloned().collect()
}

fn add(current: &JsonValue, new: &JsonValue) -> JsonValue {
    json!(current.as_i64().unwrap_or(0) + new.as_i64().unwrap_or(0))
}

fn channels(counter: Box<dyn Channel>) -> HashMap<String, Box<dyn Channel>> {
    let list = Box::new(BinaryOperatorAggregate::new("list", append)) as Box<dyn Channel>;
    HashMap::from([("counter".to_owned(), counter), ("list".to_owned(), list)])
}

async fn step(state: JsonValue, _config: RunnableConfig) -> Result<JsonValue, RunnableError> {
    let counter = counter(&state);
    Ok(if counter < LIST {
        json!({ "counter": counter + 1, "list": [counter] })
    } else {
        json!({ "counter": counter + 1 })
    })
}

fn cycle(
    workload: Workload,
    checkpointer: Option<Arc<dyn BaseCheckpointSaver>>,
) -> Result<CompiledStateGraph, GraphError> {
    let mut graph = StateGraph::new(channels(Box::new(LastValue::new("counter"))));
    for name in ["a", "b", "c"] {
        graph.add_node(name, step)?;
    }
    graph.add_edge(START, "a")?.add_edge("a", "b")?.add_edge("b", "c")?;
    let limit = workload.limit();
    let route = move |output: &JsonValue| if counter(output) < limit { "a" } else { END }.to_owned();
    conditional_edges!(graph, "c", route, "a" => "a", END => END)?;
    let builder = graph.compile_builder().recursion_limit(20_000);
    match checkpointer {
        Some(checkpointer) => builder.checkpointer(checkpointer).build(),
        None => builder.build(),
    }
}

fn fan() -> Result<CompiledStateGraph, GraphError> {
    let mut graph = StateGraph::new(channels(Box::new(BinaryOperatorAggregate::new("counter", add))));
    let one = |_: JsonValue, _: RunnableConfig| async { Ok(json!({ "counter": 1 })) };
    graph.add_node("source", one)?.add_node("join", one)?.add_edge(START, "source")?.add_edge("join", END)?;
    let workers: Vec<String> = (0..FAN_OUT).map(|number| format!("w{number:03}")).collect();
    for (number, name) in workers.iter().enumerate() {
        let worker =
            move |_: JsonValue, _: RunnableConfig| async move { Ok(json!({ "counter": number, "list": [number] })) };
        graph.add_node(name.as_str(), worker)?.add_edge("source", name.as_str())?;
    }
    graph.add_join_edge(workers, "join")?.compile()
}

fn read(state: &JsonValue) -> (i64, Vec<i64>) {
    let list = state["list"].as_array().map_or(&[][..], Vec::as_slice);
    (counter(state), list.iter().filter_map(JsonValue::as_i64).collect())
}

fn thread() -> RunnableConfig {
    RunnableConfig::from([("configurable".to_owned(), json!({ "thread_id": "t" }))])
}

fn main() {
    let peer = Peer::new("langgraph (Rust)", "0.2.5");
    let inspect = async |_: &(), state: JsonValue| {
        let (counter, list) = read(&state);
        End::unsaved(counter, list)
    };
    let input = json!({ "counter": 0, "list": [] });
    let graph = cycle(Workload::Loop, None).expect("the cycle compiles");
    peer.measure(
        Workload::Loop,
        &Steps { ready: async || (), run: async |_: &()| graph.ainvoke(&input, &RunnableConfig::new()).await, inspect },
    );
    let graph = fan().expect("the fan-out compiles");
    peer.measure(
        Workload::FanOut,
        &Steps {
            ready: async || (),
            run: async |_: &()| {
                for _ in 1..Workload::FanOut.invokes() {
                    graph.ainvoke(&input, &RunnableConfig::new()).await?;
                }
                graph.ainvoke(&input, &RunnableConfig::new()).await
            },
            inspect,
        },
    );
    type Saved = (CompiledStateGraph, Arc<InMemorySaver>);
    peer.measure(
        Workload::LoopCheckpointed,
        &Steps {
            ready: async || {
                let memory = Arc::new(InMemorySaver::new());
                (cycle(Workload::LoopCheckpointed, Some(memory.clone())).expect("the cycle compiles"), memory)
            },
            run: async |(graph, _): &Saved| graph.ainvoke(&input, &thread()).await,
            inspect: async |(_, memory): &Saved, state: JsonValue| {
                let (counter, list) = read(&state);
                let checkpoints = memory.list(Some(&thread()), None, None, None).map_or(0, |all| all.len());
                End::saved(counter, list, checkpoints)
            },
        },
    );
}
