//! W2: a cycle of three nodes, with two reducers and a conditional edge.

use serde_json::json;
use superstep::prelude::*;

use crate::measure::{self, Report};
use crate::runtime::Runtime;

#[derive(GraphState, Clone, Serialize, Deserialize)]
struct CycleState {
    #[reduce(add)]
    counter: i64,
    #[reduce(keep_last = 10)]
    recent: Vec<String>,
}

async fn a(_state: View<CycleState>) -> CycleStateUpdate {
    CycleState::update().counter(1).recent("a")
}

async fn b(_state: View<CycleState>) -> CycleStateUpdate {
    CycleState::update().counter(1).recent("b")
}

async fn c(_state: View<CycleState>) -> CycleStateUpdate {
    CycleState::update().counter(1).recent("c")
}

pub(crate) fn run(id: &str, runtime: &Runtime, executions: i64) {
    let mut graph = StateGraph::<CycleState>::new("laps");
    let (a, b, c) = (graph.add_node("a", a), graph.add_node("b", b), graph.add_node("c", c));
    graph.add_edge(START, a).add_edge(b, c).add_edge(c, a);
    let decide = move |state: &CycleState| if state.counter >= executions { Goto::end() } else { Goto::node(b) };
    graph.add_conditional_edges(a, decide, [b.into(), END]).recursion_limit(u32::MAX);
    let compiled = graph.compile().expect("the cycle compiles");
    let (times, state) =
        measure::time_batches(|| runtime.finish(compiled.invoke(CycleState::input().counter(0))).state);
    let result = json!({ "counter": state.counter, "recent": state.recent.concat() });
    Report::new(json!({ "executions": executions }), result).print(id, runtime, &times);
}
