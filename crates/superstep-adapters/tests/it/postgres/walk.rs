//! A graph with everything that saves: siblings, a graph inside, a loop. And what a store holds of it.

use std::sync::Arc;

use superstep::core::port::{Checkpointer, HistoryQuery, SharedCheckpointer};
use superstep::prelude::*;
use superstep::{Compiled, Persistence};
use superstep_core::testing::block_on;

#[derive(State, Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Walk {
    #[reduce(add)]
    pub(crate) steps: u64,
    #[reduce(append)]
    pub(crate) log: Vec<String>,
}

fn inside() -> Compiled<Walk> {
    let mut graph = Graph::<Walk>::new("inside");
    let first = graph.node("first", || Walk::update().log("first".to_owned()));
    let second = graph.node("second", || Walk::update().log("second".to_owned()));
    graph.sequence([START, first.into(), second.into(), END]);
    graph.persistence(Persistence::Inherit);
    graph.compile().unwrap()
}

/// Goes round until there are so many steps; `see` is called in each round with the steps there are.
pub(crate) fn walk(
    store: impl Into<SharedCheckpointer>,
    steps: u64,
    see: impl Fn(u64) + std::marker::Send + Sync + 'static,
) -> Compiled<Walk> {
    let see = Arc::new(see);
    let mut graph = Graph::<Walk>::new("walk");
    let left = graph.node("left", move |walk: View<Walk>| {
        see(walk.steps);
        Walk::update().steps(1_u64).log(format!("left {}", walk.steps))
    });
    let right = graph.node("right", |walk: View<Walk>| Walk::update().log(format!("right {}", walk.steps)));
    let inside = graph.node("inside", inside());
    graph.edge(START, left).edge(START, right).join([left, right], inside);
    let turn = move |walk: &Walk| if walk.steps < steps { Go::to(left).and(right) } else { Go::end() };
    graph.route(inside, turn, [left.into(), right.into(), END]);
    graph.checkpointer(store);
    graph.compile().unwrap()
}

/// Of each graph of a thread its name and its checkpoints, newest first: the step, and how much is known of tasks.
pub(crate) type Held = Vec<(String, Vec<(i64, usize)>)>;

/// What a store holds of a thread.
pub(crate) fn held(store: &impl Checkpointer, thread: &str) -> Held {
    block_on(async {
        let mut all = Vec::new();
        for namespace in store.namespaces(&thread.into()).await.unwrap() {
            let listed = store.history(&thread.into(), &namespace, &HistoryQuery::default()).await.unwrap();
            let listed = listed.iter().map(|loaded| (loaded.checkpoint.step, loaded.pending.len()));
            // What follows the name of a graph differs from run to run.
            let name = namespace.as_str().split(':').next().unwrap_or_default();
            all.push((name.to_owned(), listed.collect()));
        }
        all
    })
}
