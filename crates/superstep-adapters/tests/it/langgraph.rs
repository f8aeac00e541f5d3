//! Import of threads written by LangGraph: they match what Python reports and can be continued.
//!
//! Reads `testing/fixtures/langgraph`, or the files that `cargo xtask langgraph` has just created with Python.

use std::collections::BTreeMap;
use std::path::PathBuf;

use serde_json::{Value, json};
use superstep::core::checkpoint::{CheckpointNamespace, CheckpointSource, TaskEntry};
use superstep::core::json_reducer;
use superstep::core::port::{CheckpointTuple, HistoryQuery, SharedCheckpointer, ThreadStatus};
use superstep::core::time::Time;
use superstep::transfer::{self, ImportName};
use superstep::{ErrorCode, MemoryCheckpointer};
use superstep_adapters::langgraph::LangGraphImporter;
use superstep_adapters::sqlite::SqliteCheckpointer;

mod malicious_input;
mod resume;

/// Compared threads.
const THREADS: [&str; 12] =
    ["answered", "asked", "deep", "done", "failed", "fan", "goto", "half", "inner", "jobs", "kept", "paused"];

fn folder() -> PathBuf {
    let fixtures = || PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../testing/fixtures/langgraph");
    std::env::var_os("SUPERSTEP_LANGGRAPH").map_or_else(fixtures, PathBuf::from)
}

fn sqlite() -> LangGraphImporter {
    LangGraphImporter::sqlite(folder().join("threads.sqlite")).unwrap()
}

async fn postgres() -> LangGraphImporter {
    let live_url = std::env::var("SUPERSTEP_LANGGRAPH_POSTGRES");
    let url = live_url.unwrap_or_else(|_| crate::postgres::database(&folder().join("threads.sql")));
    LangGraphImporter::postgres(&url).await.unwrap()
}

/// Returns both LangGraph checkpointers with the expected values printed by Python.
async fn both() -> [(LangGraphImporter, Value); 2] {
    let read_json =
        |name: &str| serde_json::from_str::<Value>(&std::fs::read_to_string(folder().join(name)).unwrap()).unwrap();
    [(sqlite(), read_json("expected.json")), (postgres().await, read_json("expected-postgres.json"))]
}

/// Returns the values of a stored checkpoint.
fn values(loaded: &CheckpointTuple) -> BTreeMap<String, Value> {
    let fields = loaded.fields.iter().map(|(field, log)| {
        let mut value = Value::Null;
        for (change, part) in log {
            json_reducer::apply_delta(&mut value, change, &part.to_json().unwrap()).unwrap();
        }
        (field.to_string(), value)
    });
    fields.collect()
}

/// Compares a value with what Python printed; messages are compared by their relevant fields.
fn agrees(expected: &Value, actual: &Value) -> bool {
    match (expected, actual) {
        (Value::Object(one), actual) if one.contains_key("__message__") => {
            let message = &one["__message__"];
            let role = match message["type"].as_str().unwrap() {
                "human" => "user",
                "ai" => "assistant",
                other => other,
            };
            let keys = ["content", "id", "name", "tool_calls", "tool_call_id"];
            actual["role"] == json!(role) && keys.iter().all(|key| message.get(key) == actual.get(key))
        }
        (Value::Object(expected), Value::Object(actual)) => {
            expected.len() == actual.len()
                && expected.iter().all(|(key, value)| actual.get(key).is_some_and(|other| agrees(value, other)))
        }
        (Value::Array(expected), Value::Array(actual)) => {
            expected.len() == actual.len() && expected.iter().zip(actual).all(|(one, other)| agrees(one, other))
        }
        (expected, actual) => expected == actual,
    }
}

/// Returns true if a value is the default of its type: Python prints a channel that was never written that way.
fn is_default(value: &Value) -> bool {
    [json!(0), json!([]), json!({}), json!("")].contains(value)
}

fn assert_values(expected: &Value, loaded: &CheckpointTuple) {
    let actual = values(loaded);
    for (field, value) in expected.as_object().unwrap() {
        match actual.get(field) {
            Some(stored) => assert!(agrees(value, stored), "`{field}`:\n{value:#}\n{stored:#}"),
            None => assert!(is_default(value), "`{field}` is missing: {value:#}"),
        }
    }
    let unexpected = actual.keys().find(|field| expected.get(field).is_none());
    assert_eq!(unexpected, None, "{expected:#}");
}

fn assert_same(expected: &Value, loaded: &CheckpointTuple) {
    let checkpoint = &loaded.checkpoint;
    assert_eq!(expected["id"], json!(checkpoint.id));
    assert_eq!(expected["parent"], json!(checkpoint.parent));
    assert_eq!(expected["step"], json!(checkpoint.step));
    assert_eq!(expected["source"], json!(checkpoint.source));
    let time = Time::parse(expected["time"].as_str().unwrap()).unwrap().as_unix_micros();
    assert_eq!(time, checkpoint.time);
    assert_eq!(expected["user"], checkpoint.metadata.get("user").cloned().unwrap_or_default());
    // An input is applied in its own checkpoint here and in the next checkpoint in LangGraph.
    if checkpoint.source != CheckpointSource::Input {
        let mut scheduled: Vec<&str> = checkpoint.next_tasks.iter().map(|scheduled| &*scheduled.node).collect();
        let mut next: Vec<&str> = expected["next"].as_array().unwrap().iter().filter_map(Value::as_str).collect();
        scheduled.sort_unstable();
        next.sort_unstable();
        assert_eq!(scheduled, next);
        assert_values(&expected["values"], loaded);
        assert_eq!(printed_interrupts(expected), pending_interrupts(loaded), "{expected:#}");
    }
}

/// Returns the interrupts that Python printed.
fn printed_interrupts(expected: &Value) -> Vec<(String, Value)> {
    let tasks = expected["tasks"].as_array().unwrap().iter();
    let interrupts = tasks.flat_map(|task| {
        let name = task["name"].as_str().unwrap().to_owned();
        task["interrupts"].as_array().unwrap().iter().map(move |value| (name.clone(), value.clone()))
    });
    interrupts.collect()
}

fn pending_interrupts(loaded: &CheckpointTuple) -> Vec<(String, Value)> {
    let interrupts = loaded.pending.iter().filter_map(|pending| match &pending.entry {
        TaskEntry::Interrupt(interrupt) => Some((pending.node.to_string(), interrupt.value.clone())),
        _ => None,
    });
    interrupts.collect()
}

async fn history(store: &SharedCheckpointer, thread: &str, namespace: &CheckpointNamespace) -> Vec<CheckpointTuple> {
    store.history(&thread.into(), namespace, &HistoryQuery::default()).await.unwrap()
}

/// R-NFR-16b: every checkpoint of every thread matches what Python prints: ids, parents, steps, sources, times,
/// metadata, next nodes, interrupts and all values.
#[tokio::test]
async fn imported_threads_match_python() {
    for (python, printed) in both().await {
        let threads = python.threads().await.unwrap();
        assert!(THREADS.iter().all(|thread| threads.iter().any(|other| other == thread)), "{threads:?}");
        for store in
            [MemoryCheckpointer::new().into(), SharedCheckpointer::from(SqliteCheckpointer::open(":memory:").unwrap())]
        {
            for thread in THREADS {
                let report = python.import(thread, store.clone()).await.unwrap();
                assert_eq!((&report.skipped_channels, &report.warnings), (&vec![], &vec![]), "{thread}");
                let (expected, actual) = (
                    printed[thread]["history"].as_array().unwrap(),
                    history(&store, thread, &CheckpointNamespace::root()).await,
                );
                assert_eq!(expected.len(), actual.len(), "{thread}");
                expected.iter().zip(&actual).for_each(|(expected, stored)| assert_same(expected, stored));
            }
        }
    }
}

/// R-NFR-16b: an input checkpoint contains the applied input and its next tasks, as superstep itself saves it.
#[tokio::test]
async fn an_input_checkpoint_contains_the_applied_input() {
    for (python, _) in both().await {
        let store: SharedCheckpointer = MemoryCheckpointer::new().into();
        python.import("done", store.clone()).await.unwrap();
        let history = history(&store, "done", &CheckpointNamespace::root()).await;
        let inputs = history.iter().filter(|loaded| loaded.checkpoint.source == CheckpointSource::Input);
        for input in inputs.clone() {
            let next = history.iter().find(|next| next.checkpoint.parent == Some(input.checkpoint.id)).unwrap();
            assert_eq!(values(input), values(next));
            assert_eq!(input.checkpoint.next_tasks, next.checkpoint.next_tasks);
            assert!(!input.checkpoint.next_tasks.is_empty());
        }
        assert_eq!(inputs.count(), 2);
    }
}

/// R-NFR-16b: subgraphs are imported with the namespaces where they will be looked up.
#[tokio::test]
async fn subgraphs_are_imported() {
    for (python, printed) in both().await {
        for (thread, graphs) in [("inner", 2), ("deep", 3), ("fan", 3), ("kept", 2)] {
            let store: SharedCheckpointer = MemoryCheckpointer::new().into();
            let report = python.import(thread, store.clone()).await.unwrap();
            assert_eq!(report.graphs, graphs, "{thread}");
            let mut newest = BTreeMap::new();
            for namespace in store.namespaces(&thread.into()).await.unwrap() {
                let loaded = history(&store, thread, &namespace).await.remove(0);
                newest.insert(json!(loaded.checkpoint.id).to_string(), loaded);
            }
            let subgraphs = printed[thread]["inside"].as_array().unwrap();
            assert_eq!(subgraphs.len(), graphs - 1, "{thread}");
            for expected in subgraphs {
                let actual = &newest[&expected["id"].to_string()];
                assert_same(expected, actual);
                assert!(actual.checkpoint.parent_task.is_some());
            }
            let parent = &history(&store, thread, &CheckpointNamespace::root()).await[0];
            for pending in &parent.pending {
                let TaskEntry::Interrupt(interrupt) = &pending.entry else { panic!("{pending:?}") };
                let path = if thread == "kept" { "child".to_owned() } else { format!("child:{}", pending.task) };
                assert!(interrupt.namespace.as_str().starts_with(&path), "{interrupt:?}");
                let subgraph = &history(&store, thread, &interrupt.namespace).await[0];
                assert_eq!(subgraph.pending[0].entry, pending.entry);
            }
        }
    }
}

/// R-NFR-16b: a thread of an `@entrypoint` function cannot be continued, and a warning reports that.
#[tokio::test]
async fn a_thread_of_a_function_is_history_only() {
    for (python, _) in both().await {
        let report = python.import("function", MemoryCheckpointer::new()).await.unwrap();
        assert_eq!((report.next_nodes.len(), report.interrupts), (0, 0));
        assert!(report.warnings[0].ends_with("an `@entrypoint` instead of a graph; it is imported as history only"));
    }
}

/// R-NFR-16b: a growing list is stored once, independent of the number of checkpoints.
#[tokio::test]
async fn a_list_that_grows_is_stored_once() {
    let (copy, _) = sqlite().read_thread("done", "done").await.unwrap();
    let parts: usize = copy
        .checkpoints
        .iter()
        .flat_map(|copied| &copied.changes)
        .filter(|change| &*change.field == "messages")
        .map(|change| change.delta.to_json().unwrap().as_array().unwrap().len())
        .sum();
    let checkpoints = copy.checkpoints.len();
    assert!(parts <= 20 && checkpoints == 9, "{parts} messages in {checkpoints} checkpoints");
}

/// R-NFR-16b, R-FWK-49: an imported thread can be exported and imported like any other.
#[tokio::test]
async fn an_imported_thread_can_be_exported() {
    for (python, _) in both().await {
        for thread in THREADS {
            let (source, target): (SharedCheckpointer, SharedCheckpointer) =
                (SqliteCheckpointer::open(":memory:").unwrap().into(), MemoryCheckpointer::new().into());
            python.import(thread, source.clone()).await.unwrap();
            let (mut file, mut copy) = (Vec::new(), Vec::new());
            transfer::export(source, thread, &mut file).await.unwrap();
            transfer::import(target.clone(), &file[..], ImportName::Same).await.unwrap();
            transfer::export(target, thread, &mut copy).await.unwrap();
            assert_eq!(String::from_utf8(copy).unwrap(), String::from_utf8(file).unwrap(), "{thread}");
        }
    }
}

/// R-NFR-16b: a thread is imported once, under a valid id, and the source file is only read.
#[tokio::test]
async fn a_thread_is_imported_once_from_a_read_only_file() {
    let (store, path) = (MemoryCheckpointer::new(), folder().join("threads.sqlite"));
    let before = std::fs::read(&path).unwrap();
    let python = sqlite();
    python.import_as("asked", store.clone(), "mail-1").await.unwrap();
    let error = python.import_as("asked", store.clone(), "mail-1").await.unwrap_err();
    assert_eq!(error.message(), "thread `mail-1` already exists");
    let error = python.import_as("asked", store.clone(), "a b").await.unwrap_err();
    assert_eq!((error.code(), error.message()), (ErrorCode::InputInvalid, "`a b` is not a valid thread id"));
    let error = python.import("nobody", store.clone()).await.unwrap_err();
    assert_eq!(error.code(), ErrorCode::NotFound);
    let store: SharedCheckpointer = store.into();
    assert_eq!(store.threads(&Default::default()).await.unwrap().len(), 1);
    assert_eq!(store.status(&"mail-1".into()).await.unwrap(), Some(ThreadStatus::Interrupted));
    assert_eq!(std::fs::read(path).unwrap(), before);
}
