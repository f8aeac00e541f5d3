//! Data written by earlier versions: it opens, has the expected content, and can be continued.
//!
//! Reads every folder of `testing/fixtures/stores`, so that a new version needs a new folder and no new test.

use std::path::{Path, PathBuf};

use serde_json::Value;
use superstep::core::port::SharedCheckpointer;
use superstep::{CompiledGraph, Outcome};

mod migrated;
#[cfg(feature = "postgres")]
mod postgres;
#[cfg(feature = "sqlite")]
mod sqlite;
mod threads;

use migrated::check_reshaped;
use threads::{Job, append_events, order, stored_content, workshop};

/// Returns the name and the folder of every recorded version.
fn versions() -> Vec<(String, PathBuf)> {
    let stores = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testing/fixtures/stores");
    let folders = std::fs::read_dir(stores).unwrap().map(|entry| entry.unwrap());
    let mut all: Vec<_> = folders.map(|entry| (entry.file_name().into_string().unwrap(), entry.path())).collect();
    all.sort();
    assert!(all.iter().any(|(name, _)| name == "v1"), "the fixtures of `v1` are missing: {all:?}");
    all
}

/// Returns the content of a version's data when it was recorded.
fn expected(folder: &Path) -> Value {
    serde_json::from_slice(&std::fs::read(folder.join("expected.json")).unwrap()).unwrap()
}

/// Checks the recorded content: the state of every checkpoint, and pending entries.
async fn check_held(version: &str, folder: &Path, store: &SharedCheckpointer) {
    let (content, expected) = (stored_content(store).await.unwrap(), expected(folder));
    for (thread, expected) in expected.as_object().unwrap() {
        assert_eq!(content[thread], *expected, "{version}: thread {thread}");
    }
    assert_eq!(content, expected, "{version}");
}

fn finished(outcome: &Outcome<Job>) -> &Job {
    assert!(outcome.is_finished(), "{:?}", outcome.end);
    &outcome.state
}

/// Continues every thread: an interrupt is resumed, a subgraph ends, and a finished thread accepts another input.
async fn check_continues(store: &SharedCheckpointer) {
    let graph = workshop(store.clone());
    let answered = graph.resume("interrupted", true).await.unwrap();
    assert_eq!(finished(&answered).log, ["cut for ask", "approved: true"], "a finished task ran again");
    assert_eq!((answered.state.cost, answered.state.approved), (3, Some(true)));
    let fitted = graph.resume("inside", false).await.unwrap();
    assert_eq!(finished(&fitted).log, ["measured", "fits: false"]);
    for thread in ["finished", "forked", "long", "pruned", "interrupted"] {
        let before = log(&graph, thread).await;
        let out = graph.invoke(order("again", 0)).thread(thread).await.unwrap();
        let (existing, new) = finished(&out).log.split_at(before.len());
        assert_eq!((existing, new), (&before[..], &["cut for again".to_owned()][..]), "{thread}");
        assert_eq!(log(&graph, thread).await, out.state.log, "{thread}");
        assert_eq!(out.state.chat.iter().next_back().unwrap().text(), report(&out.state));
    }
}

/// Appends an event to each thread and checks its number.
async fn check_appends_events(store: &SharedCheckpointer) {
    for thread in ["finished", "forked", "pruned"] {
        let before = stored_content(store).await.unwrap()[thread]["events"].clone();
        append_events(store, thread, &["again"]).await.unwrap();
        let after = stored_content(store).await.unwrap()[thread]["events"].clone();
        let (before, after) =
            (before["kept"].as_array().map_or(0, Vec::len), after["kept"].as_array().unwrap().clone());
        assert_eq!((after.len(), &after[before]["body"]["said"]), (before + 1, &Value::from("again")), "{thread}");
    }
}

async fn log(graph: &CompiledGraph<Job>, thread: &str) -> Vec<String> {
    graph.threads().get_state(thread).await.unwrap().state.log.clone()
}

fn report(job: &Job) -> String {
    format!("{} things done for {}", job.log.len(), job.cost)
}
