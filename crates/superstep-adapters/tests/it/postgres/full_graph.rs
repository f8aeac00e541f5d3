//! A graph with parallel tasks, a subgraph and a loop, and the data that a checkpointer stores for it.

use std::sync::Arc;

use superstep::core::port::{Checkpointer, HistoryQuery, SharedCheckpointer};
use superstep::prelude::*;
use superstep::{CompiledGraph, SubgraphPersistence};
use superstep_core::testing::block_on;

#[derive(GraphState, Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Walk {
    #[reduce(add)]
    pub(crate) steps: u64,
    #[reduce(append)]
    pub(crate) log: Vec<String>,
}

fn subgraph() -> CompiledGraph<Walk> {
    let mut graph = StateGraph::<Walk>::new("inside");
    let first = graph.add_node("first", || Walk::update().log("first".to_owned()));
    let second = graph.add_node("second", || Walk::update().log("second".to_owned()));
    graph.add_sequence([START, first.into(), second.into(), END]);
    graph.subgraph_persistence(SubgraphPersistence::Inherit);
    graph.compile().unwrap()
}

/// Builds the graph, which loops until there are `steps` steps; `on_step` is called in each iteration with the current
/// number.
pub(crate) fn walk(
    store: impl Into<SharedCheckpointer>,
    steps: u64,
    on_step: impl Fn(u64) + std::marker::Send + Sync + 'static,
) -> CompiledGraph<Walk> {
    let on_step = Arc::new(on_step);
    let mut graph = StateGraph::<Walk>::new("walk");
    let left = graph.add_node("left", move |walk: View<Walk>| {
        on_step(walk.steps);
        Walk::update().steps(1_u64).log(format!("left {}", walk.steps))
    });
    let right = graph.add_node("right", |walk: View<Walk>| Walk::update().log(format!("right {}", walk.steps)));
    let nested = graph.add_node("inside", subgraph());
    graph.add_edge(START, left).add_edge(START, right).add_join([left, right], nested);
    let turn = move |walk: &Walk| if walk.steps < steps { Goto::node(left).and_node(right) } else { Goto::end() };
    graph.add_conditional_edges(nested, turn, [left.into(), right.into(), END]);
    graph.checkpointer(store);
    graph.compile().unwrap()
}

/// Namespaces of a thread with their checkpoints, newest first: the step and the number of pending entries.
pub(crate) type StoredNamespaces = Vec<(String, Vec<(i64, usize)>)>;

/// Returns the stored data of a thread.
pub(crate) fn stored_namespaces(store: &impl Checkpointer, thread: &str) -> StoredNamespaces {
    block_on(async {
        let mut all = Vec::new();
        for namespace in store.namespaces(&thread.into()).await.unwrap() {
            let listed = store.history(&thread.into(), &namespace, &HistoryQuery::default()).await.unwrap();
            let listed = listed.iter().map(|loaded| (loaded.checkpoint.step, loaded.pending.len()));
            // The task id behind the node name differs between runs.
            let name = namespace.as_str().split(':').next().unwrap_or_default();
            all.push((name.to_owned(), listed.collect()));
        }
        all
    })
}
