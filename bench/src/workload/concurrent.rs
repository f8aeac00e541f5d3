//! W8: many concurrent threads, each with a short chain; the middle node waits until all threads have reached it.

use std::sync::Arc;

use serde_json::json;
use superstep::CompiledGraph;
use superstep::core::port::SharedCheckpointer;
use superstep::prelude::*;
use tokio::sync::Barrier;

use crate::checkpointer::{CheckpointerKind, OpenCheckpointer};
use crate::measure::{self, Report};
use crate::runtime::Runtime;

#[derive(GraphState, Clone, Serialize, Deserialize)]
struct Log {
    #[reduce(add)]
    counter: u64,
    #[reduce(append)]
    log: Vec<u64>,
}

fn chain(threads: usize, supersteps: usize) -> CompiledGraph<Log> {
    let barrier = Arc::new(Barrier::new(threads));
    let mut graph = StateGraph::<Log>::new("concurrent");
    let mut last = START;
    for number in 0..supersteps {
        let barrier = (number == supersteps / 2).then(|| barrier.clone());
        let node_fn = move |_log: View<Log>| {
            let barrier = barrier.clone();
            async move {
                if let Some(barrier) = barrier {
                    barrier.wait().await;
                }
                Log::update().counter(1_u64).log(number as u64)
            }
        };
        let node = graph.add_node(&format!("s{number}"), node_fn);
        graph.add_edge(last, node);
        last = node.into();
    }
    graph.add_edge(last, END).recursion_limit(u32::MAX);
    graph.compile().expect("a chain compiles")
}

async fn run_all(graph: &CompiledGraph<Log>, store: &SharedCheckpointer, threads: usize) -> Vec<View<Log>> {
    let start = |number: usize| {
        let input = Log::input().counter(0_u64).log(Vec::<u64>::new());
        graph.invoke(input).checkpointer(store.clone()).thread(format!("c{number}")).spawn()
    };
    let runs: Vec<_> = (0..threads).map(start).collect();
    let mut ends = Vec::with_capacity(threads);
    for run in runs {
        ends.push(run.await.expect("a chain runs to its end").state);
    }
    ends
}

pub(crate) fn run(id: &str, runtime: &Runtime, (threads, supersteps): (usize, usize), store: CheckpointerKind) {
    let graph = chain(threads, supersteps);
    let idle = measure::peak_rss_mb();
    let unit = |opened: &OpenCheckpointer| runtime.block_on(run_all(&graph, &opened.store, threads));
    let (times, (opened, ends)) = measure::time_each(|| store.open(runtime), unit);
    let is_in_order = |end: &View<Log>| end.log.iter().copied().eq(0..supersteps as u64);
    let result = json!({
        "threads": ends.len(), "sum": ends.iter().map(|end| end.counter).sum::<u64>(),
        "logs_ok": ends.iter().all(is_in_order),
    });
    let params = json!({ "threads": threads, "supersteps": supersteps, "store": store.name() });
    let (bytes, extra) = (Some(opened.bytes(runtime)), json!({ "idle_rss_mb": idle }));
    Report { bytes, extra, ..Report::new(params, result) }.print(id, runtime, &times);
}
