//! Tests of checkpointers on top of key-value stores.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use superstep::core::id::RunId;
use superstep::core::port::SharedCheckpointer;
use superstep::core::testing::block_on;
use superstep::prelude::*;
use superstep::{CompiledGraph, ErrorCode};

mod corruption;
mod crash;
mod files;
mod growth;
mod memory_backend;
mod multi_process;
#[cfg(feature = "redis")]
mod redis;
#[cfg(feature = "sqlite")]
mod sqlite;
mod ttl;

/// Returns an empty folder for this test; data of an earlier run is removed.
fn folder() -> PathBuf {
    let name = std::thread::current().name().unwrap_or("main").replace("::", "-");
    let path = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(name);
    drop(std::fs::remove_dir_all(&path));
    std::fs::create_dir_all(&path).unwrap();
    path
}

fn run(number: u128) -> RunId {
    RunId::from_bits(number)
}

#[derive(GraphState, Clone, Serialize, Deserialize)]
struct Diary {
    #[reduce(append)]
    pages: Vec<String>,
    target: usize,
}

/// Builds a graph that adds a page of this length in each superstep until there are enough.
fn diary(store: impl Into<SharedCheckpointer>, length: usize) -> CompiledGraph<Diary> {
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
fn write(graph: &CompiledGraph<Diary>, thread: &str, pages: usize) -> usize {
    graph.invoke(Diary::input().target(pages)).thread(thread).wait_blocking().unwrap().state.pages.len()
}

/// Returns the number of pages of a thread after checking their content.
fn pages(graph: &CompiledGraph<Diary>, thread: &str) -> superstep::Result<usize> {
    let snapshot = block_on(graph.threads().get_state(thread))?;
    let pages = &snapshot.state.pages;
    assert!(pages.iter().enumerate().all(|(number, page)| page.parse() == Ok(number)), "{pages:?}");
    Ok(pages.len())
}

/// Retries for up to a minute.
fn until<T>(mut attempt: impl FnMut() -> Option<T>) -> T {
    let started = Instant::now();
    loop {
        match attempt() {
            Some(done) => return done,
            None => assert!(started.elapsed() < Duration::from_secs(60), "the condition was not met within a minute"),
        }
        std::thread::yield_now();
    }
}

/// Retries while a thread is busy.
fn once_free<T>(mut attempt: impl FnMut() -> superstep::Result<T>) -> T {
    until(|| match attempt() {
        Ok(done) => Some(done),
        Err(error) if error.code() == ErrorCode::ThreadBusy => None,
        Err(error) => panic!("{error}"),
    })
}
