//! W1 and W12: a chain of nodes that do almost nothing, run and compiled.

use std::sync::atomic::{AtomicU64, Ordering};

use serde_json::json;
use superstep::CompiledGraph;
use superstep::prelude::*;

use crate::measure::{self, Report};
use crate::runtime::Runtime;

#[derive(GraphState, Clone, Serialize, Deserialize)]
struct Chat {
    #[reduce(messages)]
    messages: Messages,
}

static EXECUTED: AtomicU64 = AtomicU64::new(0);

async fn step(_chat: View<Chat>) {
    EXECUTED.fetch_add(1, Ordering::Relaxed);
}

fn chain(nodes: usize) -> CompiledGraph<Chat> {
    let mut graph = StateGraph::<Chat>::new("chain");
    let mut last = START;
    for number in 0..nodes {
        let node = graph.add_node(&format!("node_{number}"), step);
        graph.add_edge(last, node);
        last = node.into();
    }
    graph.add_edge(last, END).recursion_limit(u32::try_from(nodes).unwrap_or(u32::MAX).saturating_add(1));
    graph.compile().expect("a chain compiles")
}

fn invoke(runtime: &Runtime, chain: &CompiledGraph<Chat>) -> usize {
    EXECUTED.store(0, Ordering::Relaxed);
    runtime.finish(chain.invoke(Chat::input().messages(Vec::<Message>::new()))).state.messages.len()
}

pub(crate) fn run(id: &str, runtime: &Runtime, nodes: usize) {
    let chain = chain(nodes);
    let (times, messages) = measure::time_batches(|| invoke(runtime, &chain));
    let result = json!({ "executed": EXECUTED.load(Ordering::Relaxed), "messages": messages });
    Report::new(json!({ "nodes": nodes }), result).print(id, runtime, &times);
}

pub(crate) fn compile(id: &str, runtime: &Runtime, nodes: usize) {
    let (times, chain) = measure::time_batches(|| chain(nodes));
    let before = measure::cpu_now();
    invoke(runtime, &chain);
    let first = measure::cpu_now() - before;
    let result = json!({ "executed": EXECUTED.load(Ordering::Relaxed) });
    let extra = json!({ "first_invoke_cpu_s": first });
    Report { extra, ..Report::new(json!({ "nodes": nodes }), result) }.print(id, runtime, &times);
}
