//! juncture: typed state by derive, supersteps on spawned tasks.
//!
//! `invoke` does not use the checkpointer of the compiled graph, so the checkpointed loop calls
//! `execute_with_emitter`, which does, and which needs a checkpoint id on a new thread too.

use std::fmt;
use std::pin::Pin;
use std::sync::Arc;

use juncture_checkpoint::{CheckpointSaver, MemorySaver};
use juncture_core::node::NodeFnUpdate;
use juncture_core::stream::EventEmitter;
use juncture_core::{
    CompiledGraph, END, JunctureError, PathMap, RouteResult, Router, RunnableConfig, StateGraph, StreamMode,
};
use juncture_derive::State;
use measure::{End, FAN_OUT, LIST, Peer, Steps, Workload};
use serde::{Deserialize, Serialize};

#[derive(State, Clone, Debug, Default, Serialize, Deserialize)]
struct CycleState {
    counter: i64,
    #[reducer(append)]
    list: Vec<i64>,
}

#[derive(State, Clone, Debug, Default, Serialize, Deserialize)]
struct Fan {
    #[reducer(custom = add)]
    counter: i64,
    #[reducer(append)]
    list: Vec<i64>,
}

fn add(current: &mut i64, addend: i64) {
    *current += addend;
}

struct CounterBelow(i64);

impl Router<CycleState> for CounterBelow {
    fn route(
        &self,
        state: &CycleState,
    ) -> Pin<Box<dyn Future<Output = Result<RouteResult, JunctureError>> + Send + '_>> {
        let target = if state.counter < self.0 { "again" } else { "done" };
        Box::pin(async move { Ok(RouteResult::One(target.to_owned())) })
    }
}

fn step(state: &CycleState) -> impl Future<Output = Result<CycleStateUpdate, JunctureError>> + Send + use<> {
    let counter = state.counter;
    async move { Ok(CycleStateUpdate { counter: Some(counter + 1), list: (counter < LIST).then(|| vec![counter]) }) }
}

fn cycle(workload: Workload, checkpointer: Option<Arc<dyn CheckpointSaver>>) -> CompiledGraph<CycleState> {
    let mut graph = StateGraph::<CycleState>::new();
    for name in ["a", "b", "c"] {
        graph.add_node_simple(name, NodeFnUpdate(step)).expect("names differ");
    }
    graph.set_entry_point("a");
    graph.add_edge("a", "b");
    graph.add_edge("b", "c");
    let paths = PathMap::from(&[("again", "a"), ("done", END)][..]);
    graph.add_conditional_edges("c", Arc::new(CounterBelow(workload.limit())), paths);
    graph.compile_with_checkpointer(checkpointer).expect("the cycle compiles")
}

fn fan() -> CompiledGraph<Fan> {
    let mut graph = StateGraph::<Fan>::new();
    let one = |_: &Fan| async { Ok(FanUpdate { counter: Some(1), list: None }) };
    graph.add_node_simple("source", NodeFnUpdate(one)).expect("names differ");
    graph.add_node_simple("join", NodeFnUpdate(one)).expect("names differ");
    for number in 0..FAN_OUT {
        let worker = move |_: &Fan| async move { Ok(FanUpdate { counter: Some(number), list: Some(vec![number]) }) };
        let name = format!("w{number:03}");
        graph.add_node_simple(name.as_str(), NodeFnUpdate(worker)).expect("names differ");
        graph.add_edge("source", name.as_str());
        graph.add_edge(name, "join");
    }
    graph.set_entry_point("source");
    graph.set_finish_point("join");
    graph.compile().expect("the fan-out compiles")
}

fn config() -> RunnableConfig {
    RunnableConfig { recursion_limit: 20_000, ..RunnableConfig::new() }
}

/// A graph with its checkpointer.
struct Saved {
    graph: CompiledGraph<CycleState>,
    checkpointer: Arc<MemorySaver>,
    config: RunnableConfig,
}

async fn run_saved(saved: &Saved) -> Result<CycleState, impl fmt::Display + use<>> {
    let (events, mut event_stream) = tokio::sync::mpsc::channel(256);
    let emitter = EventEmitter::new(events, StreamMode::Custom);
    let drain = tokio::spawn(async move { while event_stream.recv().await.is_some() {} });
    let done = saved.graph.execute_with_emitter(CycleState::default(), &saved.config, emitter).await;
    drain.await.expect("the drain task does not panic");
    done
}

fn main() {
    let peer = Peer::new("juncture", "0.4.0");
    let graph = cycle(Workload::Loop, None);
    peer.measure(
        Workload::Loop,
        &Steps {
            ready: async || (),
            run: async |_: &()| graph.invoke_async(CycleState::default(), &config()).await.map(|done| done.value),
            inspect: async |_: &(), state: CycleState| End::unsaved(state.counter, state.list),
        },
    );
    let graph = fan();
    peer.measure(
        Workload::FanOut,
        &Steps {
            ready: async || (),
            run: async |_: &()| {
                for _ in 1..Workload::FanOut.invokes() {
                    graph.invoke_async(Fan::default(), &config()).await?;
                }
                graph.invoke_async(Fan::default(), &config()).await.map(|done| done.value)
            },
            inspect: async |_: &(), fan: Fan| End::unsaved(fan.counter, fan.list),
        },
    );
    peer.measure(
        Workload::LoopCheckpointed,
        &Steps {
            ready: async || {
                let checkpointer = Arc::new(MemorySaver::new());
                let graph = cycle(Workload::LoopCheckpointed, Some(checkpointer.clone()));
                Saved { graph, checkpointer, config: config().with_thread_id("t").with_checkpoint_id("first") }
            },
            run: async |saved: &Saved| run_saved(saved).await,
            inspect: async |saved: &Saved, state: CycleState| {
                let thread = RunnableConfig::new().with_thread_id("t");
                let checkpoints = saved.checkpointer.list(&thread, None).await.map_or(0, |all| all.len());
                End::saved(state.counter, state.list, checkpoints)
            },
        },
    );
}
