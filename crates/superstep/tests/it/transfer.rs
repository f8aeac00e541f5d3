//! A thread as a file: exported from one checkpointer, imported into another, and continued.

use serde_json::json;
use superstep::core::port::{Checkpointer, HistoryQuery, SharedCheckpointer, ThreadStatus};
use superstep::prelude::*;
use superstep::sqlite::SqliteCheckpointer;
use superstep::transfer::{self, ImportName};
use superstep::{CompiledGraph, ErrorCode, Retention, RunEnd};

#[derive(GraphState, Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Case {
    title: String,
    #[reduce(append)]
    log: Vec<String>,
}

/// open → review → close, where `review` is a subgraph that interrupts, in parallel with `note`, which finishes.
fn cases(store: impl Into<SharedCheckpointer>) -> CompiledGraph<Case> {
    let mut graph = StateGraph::<Case>::new("review");
    let read = graph.add_node("read", || Case::update().log("read"));
    let judge = graph.add_node("judge", |case: View<Case>, interrupts: Interrupts| async move {
        let (approved, reason): (bool, String) =
            (interrupts.raise("approve?", &case.title).await?, interrupts.raise("why?", &case.log).await?);
        Ok::<_, NodeError>(Case::update().log(format!("{approved}: {reason}")))
    });
    graph.add_sequence([START, read.into(), judge.into(), END]);
    let review = graph.compile().unwrap();
    let mut graph = StateGraph::<Case>::new("case");
    let open = graph.add_node("open", || Case::update().log("open"));
    let note = graph.add_node("note", || Case::update().log("note"));
    let review = graph.add_node("review", review);
    let close = graph.add_node("close", || Case::update().log("close"));
    graph
        .add_edge(START, open)
        .add_edge(open, review)
        .add_edge(open, note)
        .add_join([review, note], close)
        .add_edge(close, END);
    graph.checkpointer(store.into()).compile().unwrap()
}

async fn exported(store: impl Into<SharedCheckpointer>, thread: &str) -> Vec<u8> {
    let mut file = Vec::new();
    let report = transfer::export(store, thread, &mut file).await.unwrap();
    assert_eq!(report.bytes, file.len() as u64);
    file
}

/// R-FWK-49: a thread that is interrupted in a nested subgraph continues in the other checkpointer.
#[tokio::test]
async fn an_interrupted_thread_is_resumed_in_another_store() {
    let (here, there) = (MemoryCheckpointer::new(), SqliteCheckpointer::open(":memory:").unwrap());
    let before = cases(here.clone());
    let paused = before.invoke(Case::input().title("mail")).thread("c").await.unwrap();
    assert!(matches!(paused.end, RunEnd::Interrupted(_)));
    before.resume("c", true).await.unwrap();
    let file = exported(here.clone(), "c").await;
    let report = transfer::import(there.clone(), &file[..], ImportName::As("c-2".into())).await.unwrap();
    assert_eq!((report.thread.as_str(), report.graphs), ("c-2", 2));
    let after = cases(there.clone());
    let (ours, theirs) =
        (before.threads().get_state("c").await.unwrap(), after.threads().get_state("c-2").await.unwrap());
    assert_eq!((ours.id(), &*ours.state, ours.interrupts()), (theirs.id(), &*theirs.state, theirs.interrupts()));
    assert_eq!(theirs.interrupts()[0].name, "why?");
    assert_eq!(after.threads().status("c-2").await.unwrap(), Some(ThreadStatus::Interrupted));
    let done = after.resume("c-2", "it is fine").await.unwrap();
    assert_eq!(done.state.log, ["open", "note", "read", "true: it is fine", "close"]);
    assert_eq!(exported(here, "c").await, file, "the source is as it was");
}

/// R-FWK-49: forks, their ids and parents, are transferred; the latest checkpoint stays the latest.
#[tokio::test]
async fn history_and_forks_are_equal_after_a_move() {
    let (here, there) = (MemoryCheckpointer::new(), MemoryCheckpointer::new());
    let (before, after) = (cases(here.clone()), cases(there.clone()));
    before.invoke(Case::input().title("a")).thread("c").metadata("who", json!("ann")).await.unwrap();
    let history = before.threads().get_state_history("c", &HistoryQuery::default()).await.unwrap();
    before.threads().update_state("c", Case::update().log("edit")).from_checkpoint(history[1].id()).await.unwrap();
    let file = exported(here, "c").await;
    transfer::import(there.clone(), &file[..], ImportName::Same).await.unwrap();
    let moved = after.threads().get_state_history("c", &HistoryQuery::default()).await.unwrap();
    let history = before.threads().get_state_history("c", &HistoryQuery::default()).await.unwrap();
    assert_eq!(history.len(), moved.len());
    for (ours, theirs) in history.iter().zip(&moved) {
        assert_eq!((&*ours.state, &ours.checkpoint, &ours.next), (&*theirs.state, &theirs.checkpoint, &theirs.next));
    }
    assert_eq!(exported(there, "c").await, file);
}

/// R-FWK-49: a thread does not replace an existing one, nor one with an active lease.
#[tokio::test]
async fn a_thread_that_exists_is_not_imported_over() {
    let (here, there) = (MemoryCheckpointer::new(), MemoryCheckpointer::new());
    cases(here.clone()).invoke(Case::input().title("a")).thread("c").await.unwrap();
    cases(there.clone()).invoke(Case::input().title("b")).thread("c").await.unwrap();
    let (file, before) = (exported(here, "c").await, exported(there.clone(), "c").await);
    let error = transfer::import(there.clone(), &file[..], ImportName::Same).await.unwrap_err();
    assert_eq!(error.code(), ErrorCode::InputInvalid);
    assert_eq!(error.message(), "thread `c` already exists");
    assert_eq!(exported(there.clone(), "c").await, before);
    let lease = there.acquire(&"free".into(), superstep::core::id::RunId::from_bits(7)).await.unwrap();
    let error = transfer::import(there.clone(), &file[..], ImportName::As("free".into())).await.unwrap_err();
    assert_eq!(error.code(), ErrorCode::ThreadBusy);
    there.release(&lease);
    let error = transfer::import(there.clone(), &file[..], ImportName::As("../x".into())).await.unwrap_err();
    assert_eq!(error.code(), ErrorCode::InputInvalid);
    transfer::import(there, &file[..], ImportName::As("free".into())).await.unwrap();
}

/// R-FWK-49: nothing is imported from a truncated or corrupt file, and the error names the line.
#[tokio::test]
async fn nothing_is_imported_from_a_corrupt_file() {
    let (here, there) = (MemoryCheckpointer::new(), MemoryCheckpointer::new());
    cases(here.clone()).invoke(Case::input().title("a")).thread("c").await.unwrap();
    let file = exported(here, "c").await;
    let error = transfer::import(there.clone(), &file[..file.len() / 2], ImportName::Same).await.unwrap_err();
    assert_eq!(error.code(), ErrorCode::CheckpointCorrupt);
    assert!(error.message().starts_with("line "), "{error}");
    let corrupt = String::from_utf8(file).unwrap().replacen("\"open\"", "\"0pen\"", 1);
    let error = transfer::import(there.clone(), corrupt.as_bytes(), ImportName::Same).await.unwrap_err();
    assert!(error.message().ends_with("the checksum does not match"), "{error}");
    assert_eq!(there.status(&"c".into()).await.unwrap(), None);
    assert!(there.threads(&Default::default()).await.unwrap().is_empty());
}

/// R-FWK-49: a pruned thread is transferred; its history starts at the oldest remaining checkpoint.
#[tokio::test]
async fn a_pruned_thread_starts_at_its_oldest_checkpoint() {
    let (here, there) = (SqliteCheckpointer::open(":memory:").unwrap(), MemoryCheckpointer::new());
    let (before, after) = (cases(here.clone()), cases(there.clone()));
    for round in 0..5 {
        before.invoke(Case::input().title(round.to_string())).thread("c").await.unwrap();
        for question in ["approve?", "why?"] {
            let answer = if question == "why?" { json!("so") } else { json!(true) };
            before.resume("c", answer).await.unwrap();
        }
    }
    before.threads().prune("c", &Retention { keep_last: 3, ..Retention::default() }).await.unwrap();
    let file = exported(here, "c").await;
    transfer::import(there.clone(), &file[..], ImportName::Same).await.unwrap();
    let oldest = after.threads().get_state_history("c", &HistoryQuery::default()).await.unwrap().pop().unwrap();
    assert_eq!(oldest.checkpoint.parent, None);
    assert_eq!(*oldest.state, *before.threads().get_state_at("c", oldest.id()).await.unwrap().state);
    assert_eq!(exported(there, "c").await, file);
}

/// R-FWK-49: the size of the file depends on the changes, not on the size of the state.
#[tokio::test]
async fn the_file_size_depends_on_the_changes() {
    let mut lengths = Vec::new();
    for rounds in [100, 400] {
        let (here, mut graph) = (MemoryCheckpointer::new(), StateGraph::<Case>::new("count"));
        let count =
            graph.add_node("count", || Case::update().log("a line of some length, so that whole lists would show"));
        graph.add_edge(START, count);
        graph.add_conditional_edges(
            count,
            move |case: &Case| if case.log.len() < rounds { Goto::node(count) } else { Goto::end() },
            [count.into(), END],
        );
        let graph = graph.checkpointer(here.clone()).compile().unwrap();
        graph.invoke(Case::input().title("a")).thread("c").recursion_limit(1_000).await.unwrap();
        let file = exported(here.clone(), "c").await;
        let there = SqliteCheckpointer::open(":memory:").unwrap();
        transfer::import(there.clone(), &file[..], ImportName::Same).await.unwrap();
        assert_eq!(exported(there, "c").await, file);
        lengths.push(file.len());
    }
    assert!(lengths[1] < 6 * lengths[0], "four times the steps: {lengths:?}");
}

/// R-FWK-49: a thread that does not exist cannot be exported.
#[tokio::test]
async fn an_unknown_thread_is_not_exported() {
    let mut file = Vec::new();
    let error = transfer::export(MemoryCheckpointer::new(), "nobody", &mut file).await.unwrap_err();
    assert_eq!((error.code(), file.len()), (ErrorCode::NotFound, 0));
}

/// R-FWK-49: a file of version 1 is imported and continued by every later version.
#[tokio::test]
async fn a_file_of_version_1_is_imported() {
    let file = include_bytes!("../../../../testing/fixtures/thread-1.jsonl");
    let store = MemoryCheckpointer::new();
    let report = transfer::import(store.clone(), &file[..], ImportName::Same).await.unwrap();
    assert_eq!((report.graphs, report.checkpoints, report.pending), (2, 4, 6));
    let done = cases(store).resume("c", "it is fine").await.unwrap();
    assert_eq!(done.state.log, ["open", "note", "read", "true: it is fine", "close"]);
}
