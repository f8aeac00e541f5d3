//! Case 63: threads of earlier format versions continue, those of later versions are rejected.

use std::sync::Arc;

use serde::Deserialize;
use serde_json::{Value, json};
use superstep::core::checkpoint::{Checkpoint, CheckpointNamespace, FORMAT_VERSION, FieldChange, PendingEntry};
use superstep::core::id::RunId;
use superstep::core::port::{Checkpointer, Commit};
use superstep::prelude::*;
use superstep::{CompiledGraph, DynamicState, ErrorCode, ThreadStatus};

use crate::fixtures::{graph, log_word};
use crate::support::{expect_error, log};

/// A thread of format 1, recorded once and never changed: its second checkpoint has a finished task and an interrupt.
const FORMAT_1: &str = r#"[
  { "checkpoint": {
      "format": 1, "id": "00000000-0000-0000-0000-000000000002", "parent": null, "thread": "t", "namespace": "",
      "step": 0, "source": "input", "run": "00000000-0000-0000-0000-000000000001", "time": 42, "graph": "survey",
      "schema_version": 1, "due": [{ "node": "greet", "why": { "kind": "edge" } }] },
    "changes": [
      { "field": "log", "change": { "kind": "set" }, "part": [] },
      { "field": "n", "change": { "kind": "set" }, "part": 2 },
      { "field": "secret", "change": { "kind": "set" }, "part": "none" },
      { "field": "text", "change": { "kind": "set" }, "part": "" },
      { "field": "title", "change": { "kind": "set" }, "part": "survey" }],
    "pending": [] },
  { "checkpoint": {
      "format": 1, "id": "00000000-0000-0000-0000-000000000003", "parent": "00000000-0000-0000-0000-000000000002",
      "thread": "t", "namespace": "", "step": 1, "source": "loop", "run": "00000000-0000-0000-0000-000000000001",
      "time": 42, "graph": "survey", "schema_version": 1, "metadata": { "user": "ann" },
      "due": [
        { "node": "note", "why": { "from": "greet", "kind": "edge" } },
        { "node": "ask", "why": { "from": "greet", "kind": "edge" } }] },
    "changes": [{ "field": "log", "change": { "kind": "appended", "from": 0 }, "part": ["greet"] }],
    "pending": [
      { "checkpoint": "00000000-0000-0000-0000-000000000003", "task": "1b47069e-6c2d-e442-ec86-cb20b6c290cd",
        "node": "note", "entry": { "kind": "done", "follow_edges": true, "writes": [
          { "field": "log", "value": ["note"] }, { "field": "n", "value": 1 }] } },
      { "checkpoint": "00000000-0000-0000-0000-000000000003", "task": "e6c1d204-4241-a861-73dc-1410c8c004d8",
        "node": "ask", "entry": { "kind": "question", "id": "a61be5b8-75d2-b962-8810-3152143cd2ad", "node": "ask",
          "namespace": "", "name": "name", "value": "who are you?", "schema": { "type": "string" } } }] }
]"#;

/// A recorded commit.
#[derive(Deserialize)]
struct Recorded {
    checkpoint: Checkpoint,
    changes: Vec<FieldChange>,
    pending: Vec<PendingEntry>,
}

/// Creates a checkpointer with the recorded commits.
async fn holding(recorded: Value) -> MemoryCheckpointer {
    let memory = MemoryCheckpointer::new();
    let lease = memory.acquire(&"t".into(), RunId::from_bits(1)).await.unwrap();
    for Recorded { checkpoint, changes, pending } in serde_json::from_value::<Vec<Recorded>>(recorded).unwrap() {
        let commit = Commit {
            checkpoint: Some(Arc::new(checkpoint)),
            changes: changes.into(),
            pending,
            status: Some(ThreadStatus::Interrupted),
            ..Commit::empty(lease.clone(), CheckpointNamespace::root())
        };
        memory.commit(&commit).await.unwrap();
    }
    memory.release(&lease);
    memory
}

/// The graph that was recorded.
fn survey(memory: MemoryCheckpointer, noted: &'static str) -> CompiledGraph<DynamicState> {
    let mut g = graph("survey");
    let greet = g.add_node("greet", log_word("greet"));
    let note = g.add_node("note", move || json!({ "n": 1, "log": [noted] }));
    let interrupt = g.add_node("ask", async |interrupt: Interrupts| {
        let name: String = interrupt.raise("name", "who are you?").await?;
        Ok::<_, NodeError>(json!({ "log": [name] }))
    });
    let thank = g.add_node("thank", |s: View<DynamicState>| json!({ "text": format!("thanks from {}", s.get("n")) }));
    g.add_edge(START, greet)
        .add_edge(greet, note)
        .add_edge(greet, interrupt)
        .add_join([note, interrupt], thank)
        .add_edge(thank, END);
    g.checkpointer(memory);
    g.compile().unwrap()
}

/// R-REF-63: a thread of format 1 loads with its history, its finished task and its interrupt, and continues.
#[tokio::test]
async fn a_thread_of_format_1_continues() {
    let memory = holding(serde_json::from_str(FORMAT_1).unwrap()).await;
    let graph = survey(memory, "noted again");
    let saved = graph.threads().get_state("t").await.unwrap();
    assert_eq!((log(&saved.state), &*saved.state.get("title")), (vec!["greet".to_owned()], &json!("survey")));
    assert_eq!(
        (saved.next.as_slice(), saved.interrupts()[0].name.as_str()),
        (&["note".into(), "ask".into()][..], "name")
    );
    assert_eq!(saved.checkpoint.metadata["user"], "ann");
    let first = graph.threads().get_state_history("t", &Default::default()).await.unwrap().pop().unwrap();
    assert_eq!((first.checkpoint.step, log(&first.state).len()), (0, 0));
    let done = graph.resume("t", "Ann").await.unwrap();
    assert_eq!(log(&done.state), ["greet", "note", "Ann"]);
    assert_eq!((&*done.state.get("n"), &*done.state.get("text")), (&json!(3), &json!("thanks from 3")));
}

/// R-REF-63: a checkpoint of a later format is rejected with both version numbers, for every operation on its thread,
/// and nothing is overwritten.
#[tokio::test]
async fn a_thread_of_a_later_format_is_rejected() {
    let mut recorded: Value = serde_json::from_str(FORMAT_1).unwrap();
    recorded[1]["checkpoint"]["format"] = json!(FORMAT_VERSION + 1);
    let memory = holding(recorded).await;
    let graph = survey(memory.clone(), "note");
    let errors = [
        expect_error(graph.threads().get_state("t").await),
        expect_error(graph.threads().get_state_history("t", &Default::default()).await),
        expect_error(graph.continue_thread("t").await),
        expect_error(graph.resume("t", "Ann").await),
        expect_error(graph.invoke(json!({ "n": 1 })).thread("t").await),
        expect_error(graph.threads().update_state("t", json!({ "n": 1 })).await),
    ];
    for error in errors {
        assert_eq!((error.code(), error.http_status()), (ErrorCode::CheckpointTooNew, 409), "{error}");
        let words = [format!("format {}", FORMAT_VERSION + 1), format!("supports format {FORMAT_VERSION}")];
        assert!(words.iter().all(|word| error.message().contains(word)) && error.help().is_some(), "{error}");
    }
    assert_eq!(memory.stats().await.unwrap().checkpoints, 2);
}
