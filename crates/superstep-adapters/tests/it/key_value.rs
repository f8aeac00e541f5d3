//! Checkpoints in stores that keep values under keys.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use superstep::core::id::RunId;
use superstep::core::port::SharedCheckpointer;
use superstep::core::testing::block_on;
use superstep::prelude::*;
use superstep::{Code, Compiled};

mod crash;
mod damage;
mod files;
mod growth;
mod life;
mod plain;
#[cfg(feature = "redis")]
mod redis;
mod sharing;
#[cfg(feature = "sqlite")]
mod sqlite;

/// An empty folder of this test; what an earlier run of it left there goes.
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

#[derive(State, Clone, Serialize, Deserialize)]
struct Diary {
    #[reduce(append)]
    pages: Vec<String>,
    wanted: usize,
}

/// A graph that adds a page of this length in each superstep until there are enough.
fn diary(store: impl Into<SharedCheckpointer>, length: usize) -> Compiled<Diary> {
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
fn write(graph: &Compiled<Diary>, thread: &str, pages: usize) -> usize {
    graph.run(Diary::input().wanted(pages)).thread(thread).wait().unwrap().state.pages.len()
}

/// How many pages a thread holds; each must be the one that was written.
fn pages(graph: &Compiled<Diary>, thread: &str) -> superstep::Result<usize> {
    let snapshot = block_on(graph.threads().state(thread))?;
    let pages = &snapshot.state.pages;
    assert!(pages.iter().enumerate().all(|(number, page)| page.parse() == Ok(number)), "{pages:?}");
    Ok(pages.len())
}

/// Tries again for a while.
fn until<T>(mut attempt: impl FnMut() -> Option<T>) -> T {
    let begun = Instant::now();
    loop {
        match attempt() {
            Some(done) => return done,
            None => assert!(begun.elapsed() < Duration::from_secs(60), "it did not come"),
        }
        std::thread::yield_now();
    }
}

/// Waits while a thread is busy.
fn once_free<T>(mut attempt: impl FnMut() -> superstep::Result<T>) -> T {
    until(|| match attempt() {
        Ok(done) => Some(done),
        Err(error) if error.code() == Code::ThreadBusy => None,
        Err(error) => panic!("{error}"),
    })
}
