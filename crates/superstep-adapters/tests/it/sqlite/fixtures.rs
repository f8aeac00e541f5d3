//! Graphs that write to a file, for the tests of the SQLite checkpointer.

use std::path::Path;

use superstep::core::port::SharedCheckpointer;
use superstep::prelude::*;
use superstep::{CompiledGraph, HistoryQuery};

#[derive(GraphState, Clone, Serialize, Deserialize)]
pub(super) struct Diary {
    #[reduce(append)]
    pub(super) pages: Vec<String>,
    pub(super) target: usize,
    pub(super) title: String,
}

/// Builds a graph that adds a page of this length in each superstep until there are enough.
pub(super) fn diary(store: impl Into<SharedCheckpointer>, length: usize) -> CompiledGraph<Diary> {
    let mut graph = StateGraph::<Diary>::new("diary");
    let write = graph.add_node("write", move |diary: View<Diary>| {
        let page = format!("{:0>length$}", diary.pages.len());
        Diary::update().pages(page)
    });
    graph.add_edge(START, write).checkpointer(store).recursion_limit(100_000);
    let decide = move |diary: &Diary| if diary.pages.len() < diary.target { Goto::node(write) } else { Goto::end() };
    graph.add_conditional_edges(write, decide, [write.into(), END]);
    graph.compile().unwrap()
}

/// Runs the graph until a thread has this many pages.
pub(super) fn write(graph: &CompiledGraph<Diary>, thread: &str, pages: usize) -> Diary {
    let input = Diary::input().target(pages).title("a diary");
    (*graph.invoke(input).thread(thread).wait_blocking().unwrap().state).clone()
}

/// Returns the pages of a thread.
pub(super) fn pages(graph: &CompiledGraph<Diary>, thread: &str) -> superstep::Result<Vec<String>> {
    superstep::core::testing::block_on(graph.threads().get_state(thread)).map(|snapshot| snapshot.state.pages.clone())
}

/// Returns the number of checkpoints of a thread.
pub(super) fn checkpoints(graph: &CompiledGraph<Diary>, thread: &str) -> usize {
    superstep::core::testing::block_on(graph.threads().get_state_history(thread, &HistoryQuery::default()))
        .unwrap()
        .len()
}

/// Returns the size of a closed database in bytes.
pub(super) fn size(path: &Path) -> u64 {
    std::fs::metadata(path).unwrap().len()
}
