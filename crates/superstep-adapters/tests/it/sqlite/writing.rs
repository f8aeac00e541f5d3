//! Graphs that write to a file, for the tests of the store.

use std::path::Path;

use superstep::core::port::SharedCheckpointer;
use superstep::prelude::*;
use superstep::{Compiled, HistoryQuery};

#[derive(State, Clone, Serialize, Deserialize)]
pub(super) struct Diary {
    #[reduce(append)]
    pub(super) pages: Vec<String>,
    pub(super) wanted: usize,
    pub(super) title: String,
}

/// A graph that adds a page of this length in each superstep until there are enough.
pub(super) fn diary(store: impl Into<SharedCheckpointer>, length: usize) -> Compiled<Diary> {
    let mut graph = Graph::<Diary>::new("diary");
    let write = graph.node("write", move |diary: View<Diary>| {
        let page = format!("{:0>length$}", diary.pages.len());
        Diary::update().pages(page)
    });
    graph.edge(START, write).checkpointer(store).recursion_limit(100_000);
    let decide = move |diary: &Diary| if diary.pages.len() < diary.wanted { Go::to(write) } else { Go::end() };
    graph.route(write, decide, [write.into(), END]);
    graph.compile().unwrap()
}

/// Writes until a thread has this many pages.
pub(super) fn write(graph: &Compiled<Diary>, thread: &str, pages: usize) -> Diary {
    let input = Diary::input().wanted(pages).title("a diary");
    (*graph.run(input).thread(thread).wait().unwrap().state).clone()
}

/// What a thread holds.
pub(super) fn pages(graph: &Compiled<Diary>, thread: &str) -> superstep::Result<Vec<String>> {
    superstep::core::testing::block_on(graph.threads().state(thread)).map(|snapshot| snapshot.state.pages.clone())
}

/// How many checkpoints a thread has.
pub(super) fn checkpoints(graph: &Compiled<Diary>, thread: &str) -> usize {
    superstep::core::testing::block_on(graph.threads().history(thread, &HistoryQuery::default())).unwrap().len()
}

/// How much a database takes on the disk; it must be closed.
pub(super) fn size(path: &Path) -> u64 {
    std::fs::metadata(path).unwrap().len()
}
