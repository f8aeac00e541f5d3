//! A thread as a file: out of one store, into another, and on.

use serde_json::json;
use superstep::core::port::{Checkpointer, HistoryQuery, SharedCheckpointer, ThreadStatus};
use superstep::prelude::*;
use superstep::sqlite::Sqlite;
use superstep::transfer::{self, Name};
use superstep::{Code, Compiled, Retention, Status};

#[derive(State, Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Case {
    title: String,
    #[reduce(append)]
    log: Vec<String>,
}

/// open → review → close, where `review` is a graph that asks, beside `note`, which finishes.
fn cases(store: impl Into<SharedCheckpointer>) -> Compiled<Case> {
    let mut graph = Graph::<Case>::new("review");
    let read = graph.node("read", || Case::update().log("read"));
    let judge = graph.node("judge", |case: View<Case>, ask: Ask| async move {
        let (says, why): (bool, String) =
            (ask.person("approve?", &case.title).await?, ask.person("why?", &case.log).await?);
        Ok::<_, NodeError>(Case::update().log(format!("{says}: {why}")))
    });
    graph.sequence([START, read.into(), judge.into(), END]);
    let review = graph.compile().unwrap();
    let mut graph = Graph::<Case>::new("case");
    let open = graph.node("open", || Case::update().log("open"));
    let note = graph.node("note", || Case::update().log("note"));
    let review = graph.node("review", review);
    let close = graph.node("close", || Case::update().log("close"));
    graph.edge(START, open).edge(open, review).edge(open, note).join([review, note], close).edge(close, END);
    graph.checkpointer(store.into()).compile().unwrap()
}

async fn exported(store: impl Into<SharedCheckpointer>, thread: &str) -> Vec<u8> {
    let mut file = Vec::new();
    let report = transfer::export(store, thread, &mut file).await.unwrap();
    assert_eq!(report.bytes, file.len() as u64);
    file
}

/// R-FWK-49: a thread that waits for a person, in a graph inside another, goes on in the other store.
#[tokio::test]
async fn an_interrupted_thread_is_resumed_in_another_store() {
    let (here, there) = (Memory::new(), Sqlite::open(":memory:").unwrap());
    let before = cases(here.clone());
    let asked = before.run(Case::input().title("mail")).thread("c").await.unwrap();
    assert!(matches!(asked.status, Status::Interrupted(_)));
    before.resume("c", true).await.unwrap();
    let file = exported(here.clone(), "c").await;
    let report = transfer::import(there.clone(), &file[..], Name::As("c-2".into())).await.unwrap();
    assert_eq!((report.thread.as_str(), report.graphs), ("c-2", 2));
    let after = cases(there.clone());
    let (ours, theirs) = (before.threads().state("c").await.unwrap(), after.threads().state("c-2").await.unwrap());
    assert_eq!((ours.id(), &*ours.state, ours.questions()), (theirs.id(), &*theirs.state, theirs.questions()));
    assert_eq!(theirs.questions()[0].name, "why?");
    assert_eq!(after.threads().status("c-2").await.unwrap(), Some(ThreadStatus::Interrupted));
    let done = after.resume("c-2", "it is fine").await.unwrap();
    assert_eq!(done.state.log, ["open", "note", "read", "true: it is fine", "close"]);
    assert_eq!(exported(here, "c").await, file, "the source is as it was");
}

/// R-FWK-49: forks, their ids and parents, come along; the newest stays the newest.
#[tokio::test]
async fn history_and_forks_are_equal_after_a_move() {
    let (here, there) = (Memory::new(), Memory::new());
    let (before, after) = (cases(here.clone()), cases(there.clone()));
    before.run(Case::input().title("a")).thread("c").metadata("who", json!("ann")).await.unwrap();
    let history = before.threads().history("c", &HistoryQuery::default()).await.unwrap();
    before.threads().update("c", Case::update().log("edit")).at(history[1].id()).await.unwrap();
    let file = exported(here, "c").await;
    transfer::import(there.clone(), &file[..], Name::Same).await.unwrap();
    let moved = after.threads().history("c", &HistoryQuery::default()).await.unwrap();
    let history = before.threads().history("c", &HistoryQuery::default()).await.unwrap();
    assert_eq!(history.len(), moved.len());
    for (ours, theirs) in history.iter().zip(&moved) {
        assert_eq!((&*ours.state, &ours.checkpoint, &ours.next), (&*theirs.state, &theirs.checkpoint, &theirs.next));
    }
    assert_eq!(exported(there, "c").await, file);
}

/// R-FWK-49: a thread is not imported over another, nor onto one that a run moves.
#[tokio::test]
async fn a_thread_that_exists_is_not_imported_over() {
    let (here, there) = (Memory::new(), Memory::new());
    cases(here.clone()).run(Case::input().title("a")).thread("c").await.unwrap();
    cases(there.clone()).run(Case::input().title("b")).thread("c").await.unwrap();
    let (file, before) = (exported(here, "c").await, exported(there.clone(), "c").await);
    let error = transfer::import(there.clone(), &file[..], Name::Same).await.unwrap_err();
    assert_eq!(error.code(), Code::InputInvalid);
    assert_eq!(error.message(), "thread `c` exists already");
    assert_eq!(exported(there.clone(), "c").await, before);
    let lease = there.acquire(&"free".into(), superstep::core::id::RunId::from_bits(7)).await.unwrap();
    let error = transfer::import(there.clone(), &file[..], Name::As("free".into())).await.unwrap_err();
    assert_eq!(error.code(), Code::ThreadBusy);
    there.release(&lease);
    let error = transfer::import(there.clone(), &file[..], Name::As("../x".into())).await.unwrap_err();
    assert_eq!(error.code(), Code::InputInvalid);
    transfer::import(there, &file[..], Name::As("free".into())).await.unwrap();
}

/// R-FWK-49: of a file that is cut off or damaged nothing is imported, and the line is named.
#[tokio::test]
async fn nothing_is_imported_of_a_file_that_is_not_whole() {
    let (here, there) = (Memory::new(), Memory::new());
    cases(here.clone()).run(Case::input().title("a")).thread("c").await.unwrap();
    let file = exported(here, "c").await;
    let error = transfer::import(there.clone(), &file[..file.len() / 2], Name::Same).await.unwrap_err();
    assert_eq!(error.code(), Code::CheckpointCorrupt);
    assert!(error.message().starts_with("line "), "{error}");
    let damaged = String::from_utf8(file).unwrap().replacen("\"open\"", "\"0pen\"", 1);
    let error = transfer::import(there.clone(), damaged.as_bytes(), Name::Same).await.unwrap_err();
    assert!(error.message().ends_with("the checksum of the lines before it is another"), "{error}");
    assert_eq!(there.status(&"c".into()).await.unwrap(), None);
    assert!(there.threads(&Default::default()).await.unwrap().is_empty());
}

/// R-FWK-49: what stays of a pruned thread is moved; it begins at the oldest checkpoint there is.
#[tokio::test]
async fn a_pruned_thread_begins_at_what_is_left() {
    let (here, there) = (Sqlite::open(":memory:").unwrap(), Memory::new());
    let (before, after) = (cases(here.clone()), cases(there.clone()));
    for round in 0..5 {
        before.run(Case::input().title(round.to_string())).thread("c").await.unwrap();
        for question in ["approve?", "why?"] {
            let answer = if question == "why?" { json!("so") } else { json!(true) };
            before.resume("c", answer).await.unwrap();
        }
    }
    before.threads().prune("c", &Retention { keep_last: 3, ..Retention::default() }).await.unwrap();
    let file = exported(here, "c").await;
    transfer::import(there.clone(), &file[..], Name::Same).await.unwrap();
    let oldest = after.threads().history("c", &HistoryQuery::default()).await.unwrap().pop().unwrap();
    assert_eq!(oldest.checkpoint.parent, None);
    assert_eq!(*oldest.state, *before.threads().state_at("c", oldest.id()).await.unwrap().state);
    assert_eq!(exported(there, "c").await, file);
}

/// R-FWK-49: the file grows with what changes, not with what is there.
#[tokio::test]
async fn a_file_is_as_long_as_what_changed() {
    let mut lengths = Vec::new();
    for rounds in [100, 400] {
        let (here, mut graph) = (Memory::new(), Graph::<Case>::new("count"));
        let count = graph.node("count", || Case::update().log("a line of some length, so that whole lists would show"));
        graph.edge(START, count);
        graph.route(
            count,
            move |case: &Case| if case.log.len() < rounds { Go::to(count) } else { Go::end() },
            [count.into(), END],
        );
        let graph = graph.checkpointer(here.clone()).compile().unwrap();
        graph.run(Case::input().title("a")).thread("c").recursion_limit(1_000).await.unwrap();
        let file = exported(here.clone(), "c").await;
        let there = Sqlite::open(":memory:").unwrap();
        transfer::import(there.clone(), &file[..], Name::Same).await.unwrap();
        assert_eq!(exported(there, "c").await, file);
        lengths.push(file.len());
    }
    assert!(lengths[1] < 6 * lengths[0], "four times the steps: {lengths:?}");
}

/// R-FWK-49: there is nothing to export of a thread that does not exist.
#[tokio::test]
async fn an_unknown_thread_is_not_exported() {
    let mut file = Vec::new();
    let error = transfer::export(Memory::new(), "nobody", &mut file).await.unwrap_err();
    assert_eq!((error.code(), file.len()), (Code::NotFound, 0));
}

/// R-FWK-49: a file of version 1 is imported and gone on with, whatever comes later.
#[tokio::test]
async fn a_file_of_version_1_is_imported() {
    let file = include_bytes!("../../../../fixtures/thread-1.jsonl");
    let store = Memory::new();
    let report = transfer::import(store.clone(), &file[..], Name::Same).await.unwrap();
    assert_eq!((report.graphs, report.checkpoints, report.pending), (2, 4, 6));
    let done = cases(store).resume("c", "it is fine").await.unwrap();
    assert_eq!(done.state.log, ["open", "note", "read", "true: it is fine", "close"]);
}
