//! W2: three nodes in a circle, two reducers and a route.

use serde_json::json;
use superstep::prelude::*;

use crate::measure::{self, Report};
use crate::runtime::Runtime;

#[derive(State, Clone, Serialize, Deserialize)]
struct Laps {
    #[reduce(add)]
    counter: i64,
    #[reduce(keep_last = 10)]
    recent: Vec<String>,
}

async fn a(_laps: View<Laps>) -> LapsUpdate {
    Laps::update().counter(1).recent("a")
}

async fn b(_laps: View<Laps>) -> LapsUpdate {
    Laps::update().counter(1).recent("b")
}

async fn c(_laps: View<Laps>) -> LapsUpdate {
    Laps::update().counter(1).recent("c")
}

pub(crate) fn run(id: &str, runtime: &Runtime, executions: i64) {
    let mut graph = Graph::<Laps>::new("laps");
    let (a, b, c) = (graph.node("a", a), graph.node("b", b), graph.node("c", c));
    graph.edge(START, a).edge(b, c).edge(c, a);
    let decide = move |laps: &Laps| if laps.counter >= executions { Go::end() } else { Go::to(b) };
    graph.route(a, decide, [b.into(), END]).recursion_limit(u32::MAX);
    let laps = graph.compile().expect("a circle with a way out compiles");
    let (times, done) = measure::batch(|| runtime.finish(laps.run(Laps::input().counter(0))).state);
    let result = json!({ "counter": done.counter, "recent": done.recent.concat() });
    Report::new(json!({ "executions": executions }), result).print(id, runtime, &times);
}
