//! W10: a process that builds a graph of one node, runs it once and exits. The driver measures the time.

use serde_json::json;
use superstep::prelude::*;

use crate::measure;
use crate::runtime::Runtime;

#[derive(GraphState, Clone, Serialize, Deserialize)]
struct Single {
    x: i64,
}

async fn next(single: View<Single>) -> SingleUpdate {
    Single::update().x(single.x + 1)
}

pub(crate) fn run(id: &str, runtime: &Runtime) {
    let mut graph = StateGraph::<Single>::new("cold");
    let next = graph.add_node("next", next);
    graph.add_edge(START, next).add_edge(next, END);
    let graph = graph.compile().expect("one node compiles");
    let outcome = runtime.finish(graph.invoke(Single::input().x(1)));
    let line = json!({
        "peer": "ours", "variant": runtime.variant, "workload": id, "params": {}, "cold": true,
        "peak_rss_mb": measure::peak_rss_mb(), "bytes": null, "result": { "x": outcome.state.x }, "extra": {},
    });
    println!("{line}");
}
