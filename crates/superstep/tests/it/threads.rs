//! Persisted threads: order and parents of checkpoints, new inputs, copies, deletion.

use std::sync::Arc;

use serde_json::json;
use superstep::agents::{MessagesState, messages_graph};
use superstep::core::checkpoint::CheckpointNamespace;
use superstep::core::checkpoint::CheckpointSource;
use superstep::core::delegate_checkpointer;
use superstep::core::id::ThreadId;
use superstep::core::port::{
    CheckpointSelector, CheckpointTuple, Checkpointer, HistoryQuery, Retention, ThreadStatus, ThreadsQuery,
};
use superstep::prelude::*;
use superstep::{DynamicState, ErrorCode};

use crate::support::{Calls, dynamic, expect_error, history, line, log, log_field, rows};

/// R-FWK-34, R-REF-48, R-REF-49: step 0 is the input, step n follows the n-th superstep; ids ascend, parents form a
/// chain, the newest is first.
#[tokio::test]
async fn a_history_is_a_chain_with_the_newest_first() {
    let graph = line(&Calls::default(), &["a", "b"]).compile().unwrap();
    let outcome = graph.invoke(json!({ "topic": "x" })).thread("t").await.unwrap();
    let rows = rows(&graph, "t").await;
    let summary: Vec<_> = rows.iter().map(|(.., step, source, next)| (*step, *source, next.join(" "))).collect();
    assert_eq!(
        summary,
        [
            (0, CheckpointSource::Input, "a".to_owned()),
            (1, CheckpointSource::Loop, "b".to_owned()),
            (2, CheckpointSource::Loop, String::new())
        ]
    );
    assert_eq!(rows[0].1, None);
    for pair in rows.windows(2) {
        assert!(pair[1].1 == Some(pair[0].0) && pair[0].0.to_string() < pair[1].0.to_string());
    }
    let newest = history(&graph, "t").await.remove(0);
    assert_eq!((Some(newest.id()), newest.checkpoint.run), (outcome.checkpoint, outcome.run_id));
    assert!(newest.checkpoint.time > 0 && &*newest.checkpoint.graph == "test");
}

/// R-FWK-33, R-REF-66: a history can be filtered by position, number, source, step and run.
#[tokio::test]
async fn a_history_can_be_cut() {
    let graph = line(&Calls::default(), &["a", "b"]).compile().unwrap();
    let first = graph.invoke(json!({ "topic": "x" })).thread("t").await.unwrap();
    graph.invoke(json!({ "topic": "y" })).thread("t").await.unwrap();
    let count = async |query: HistoryQuery| graph.threads().get_state_history("t", &query).await.unwrap().len();
    assert_eq!(count(HistoryQuery::default()).await, 6);
    assert_eq!(count(HistoryQuery { limit: Some(4), ..HistoryQuery::default() }).await, 4);
    assert_eq!(count(HistoryQuery { before: first.checkpoint, ..HistoryQuery::default() }).await, 2);
    assert_eq!(count(HistoryQuery { source: Some(CheckpointSource::Input), ..HistoryQuery::default() }).await, 2);
    assert_eq!(count(HistoryQuery { step: Some(2), ..HistoryQuery::default() }).await, 1);
    assert_eq!(count(HistoryQuery { run: Some(first.run_id), ..HistoryQuery::default() }).await, 3);
}

/// R-FWK-31, R-REF-61, R-DEF-1: a stored checkpoint never changes when later supersteps change the same values.
#[tokio::test]
async fn a_stored_checkpoint_never_changes_later() {
    let mut graph = dynamic(json!({ "log": log_field(), "map": { "reducer": "deep_merge", "default": {} } }));
    let node = graph.add_node("grow", |state: View<DynamicState>| {
        let n = log(&state).len();
        json!({ "log": format!("{n}"), "map": { "deep": { format!("k{n}"): [n] } } })
    });
    graph.add_edge(START, node);
    graph.add_conditional_edges(
        node,
        move |state: &DynamicState| if log(state).len() < 6 { Goto::node(node) } else { Goto::end() },
        [node.into(), END],
    );
    let graph = graph.interrupt_after(["grow"]).compile().unwrap();
    let mut outcome = graph.invoke(json!({ "map": {} })).thread("t").await.unwrap();
    let mut checkpoints = Vec::new();
    while !outcome.is_finished() {
        checkpoints.push((outcome.checkpoint.unwrap(), outcome.state.to_json()));
        outcome = graph.continue_thread("t").await.unwrap();
    }
    assert_eq!(checkpoints.len(), 6);
    for (id, expected) in checkpoints {
        assert_eq!(graph.threads().get_state_at("t", id).await.unwrap().state.to_json(), expected);
    }
}

/// R-FWK-53, R-REF-62: a number and its text name the same thread; invalid names are rejected.
#[tokio::test]
async fn numbers_and_text_name_one_thread() {
    let graph = line(&Calls::default(), &["a"]).compile().unwrap();
    graph.invoke(json!({ "topic": "x" })).thread(7).await.unwrap();
    graph.invoke(json!({ "topic": "x" })).thread("7").await.unwrap();
    graph.invoke(json!({ "topic": "x" })).thread(7_u64).await.unwrap();
    assert_eq!(log(&graph.threads().get_state(7_usize).await.unwrap().state), ["a", "a", "a"]);
    for name in ["", "../etc", "a b", &"x".repeat(129)] {
        let error = expect_error(graph.invoke(json!({ "topic": "x" })).thread(name).await);
        assert!(error.code() == ErrorCode::InputInvalid && error.help().is_some(), "{error}");
    }
}

/// R-GRA-38, R-GRA-40, R-REF-41, R-PRB-11: an input continues a finished thread and drops the next tasks of an
/// unfinished one.
#[tokio::test]
async fn an_input_continues_a_thread_and_drops_next_tasks() {
    let calls = Calls::default();
    let graph = line(&calls, &["a", "b"]).compile().unwrap();
    graph.invoke(json!({ "log": "1" })).thread("t").await.unwrap();
    assert_eq!(
        log(&graph.invoke(json!({ "log": "2" })).thread("t").await.unwrap().state),
        ["1", "a", "b", "2", "a", "b"]
    );
    graph.invoke(json!({ "log": "1" })).thread("u").interrupt_before(["b"]).await.unwrap();
    calls.take();
    let ended = graph.invoke(json!({ "log": "2" })).thread("u").await.unwrap();
    assert_eq!(
        (log(&ended.state), calls.take()),
        (["1", "a", "2", "a", "b"].map(str::to_owned).to_vec(), vec!["a".to_owned(), "b".into()])
    );
}

/// R-GRA-40, R-REF-42: an empty input is rejected, and a new thread cannot be continued.
#[tokio::test]
async fn an_empty_input_is_rejected() {
    let calls = Calls::default();
    let graph = line(&calls, &["a"]).compile().unwrap();
    for input in [json!({}), json!(null)] {
        let error = expect_error(graph.invoke(input).thread("t").await);
        assert!(error.code() == ErrorCode::InputInvalid && error.message().contains("empty"), "{error}");
    }
    let error = expect_error(graph.continue_thread("t").await);
    assert!(error.code() == ErrorCode::InputInvalid && error.message().contains("new"), "{error}");
    assert!(calls.take().is_empty());
    assert_eq!(graph.threads().status("t").await.unwrap(), None);
}

/// R-FWK-33, R-REF-67: deleting a thread removes all of its data, including subgraphs, and nothing of others.
#[tokio::test]
async fn deleting_a_thread_does_not_affect_others() {
    let inner = line(&Calls::default(), &["x", "y"]).compile().unwrap();
    let mut graph = dynamic(json!({ "log": log_field(), "topic": null }));
    let node = graph.add_node("inner", inner);
    graph.add_edge(START, node).add_edge(node, END);
    let graph = graph.compile().unwrap();
    for thread in ["t", "u"] {
        graph.invoke(json!({ "topic": "x" })).thread(thread).await.unwrap();
        assert_eq!(graph.threads().namespaces(thread).await.unwrap().len(), 2);
    }
    graph.threads().delete("t").await.unwrap();
    assert_eq!(graph.threads().status("t").await.unwrap(), None);
    assert!(graph.threads().namespaces("t").await.unwrap().is_empty());
    assert_eq!(expect_error(graph.threads().get_state("t").await).code(), ErrorCode::NotFound);
    assert_eq!(log(&graph.threads().get_state("u").await.unwrap().state), ["x", "y"]);
}

fn interrupting_graph() -> superstep::CompiledGraph<DynamicState> {
    let mut graph = dynamic(json!({ "log": log_field() }));
    let before = graph.add_node("before", Calls::default().step("before"));
    let interrupt = graph.add_node("ask", |interrupt: Interrupts| async move {
        Ok::<_, NodeError>(json!({ "log": interrupt.raise::<String>("name", 1).await? }))
    });
    let after = graph.add_node("after", Calls::default().step("after"));
    graph.add_sequence([START, before.into(), interrupt.into(), after.into(), END]);
    graph.compile().unwrap()
}

/// R-FWK-33, R-REF-96: a copy has the state and the open interrupt of its source, and is independent.
#[tokio::test]
async fn a_copied_thread_is_independent() {
    let graph = interrupting_graph();
    graph.invoke(json!({ "log": "in" })).thread("t").await.unwrap();
    graph.threads().copy("t", "copy").await.unwrap();
    let (old, new) = (graph.threads().get_state("t").await.unwrap(), graph.threads().get_state("copy").await.unwrap());
    assert_eq!(
        (old.state.to_json(), old.next.clone(), old.interrupts().len()),
        (new.state.to_json(), new.next.clone(), new.interrupts().len())
    );
    assert_eq!(graph.threads().status("copy").await.unwrap(), Some(ThreadStatus::Interrupted));
    assert_eq!(log(&graph.resume("copy", "Ann").await.unwrap().state), ["in", "before", "Ann", "after"]);
    assert_eq!(graph.threads().get_state("t").await.unwrap().interrupts().len(), 1);
    assert_eq!(log(&graph.resume("t", "Bob").await.unwrap().state), ["in", "before", "Bob", "after"]);
    assert_eq!(expect_error(graph.threads().copy("nowhere", "x").await).code(), ErrorCode::NotFound);
    assert_eq!(expect_error(graph.threads().copy("t", "copy").await).code(), ErrorCode::InputInvalid);
}

/// R-FWK-43, R-REF-68: a pruned thread keeps its latest checkpoint complete: its open interrupt is resumed as on an
/// unpruned copy.
#[tokio::test]
async fn a_pruned_thread_continues_like_its_twin() {
    let graph = interrupting_graph();
    graph.invoke(json!({ "log": "in" })).thread("t").await.unwrap();
    graph.threads().copy("t", "twin").await.unwrap();
    let retention = |dry_run| Retention { dry_run, ..Retention::keep_last(1) };
    let planned = graph.threads().prune("t", &retention(true)).await.unwrap();
    assert_eq!((planned.checkpoints, history(&graph, "t").await.len()), (1, 2));
    assert_eq!(graph.threads().prune("t", &retention(false)).await.unwrap().checkpoints, 1);
    assert_eq!(history(&graph, "t").await.len(), 1);
    let (pruned, twin) = (graph.resume("t", "Ann").await.unwrap(), graph.resume("twin", "Ann").await.unwrap());
    assert_eq!((pruned.state.to_json(), pruned.end), (twin.state.to_json(), twin.end));
    assert_eq!(graph.threads().prune("nowhere", &retention(false)).await.unwrap().checkpoints, 0);
}

/// R-FWK-33: the threads of a checkpointer are listed page by page, without deleted ones.
#[tokio::test]
async fn threads_are_listed_page_by_page() {
    let graph = interrupting_graph();
    for thread in ["c", "a", "b"] {
        graph.invoke(json!({ "log": "in" })).thread(thread).await.unwrap();
    }
    let list = async |after: Option<&str>, limit| {
        let query = ThreadsQuery { after: after.map(Into::into), limit };
        graph.threads().list(&query).await.unwrap().iter().map(ToString::to_string).collect::<Vec<_>>()
    };
    assert_eq!(list(None, Some(2)).await, ["a", "b"]);
    assert_eq!(list(Some("b"), Some(2)).await, ["c"]);
    graph.threads().delete("b").await.unwrap();
    assert_eq!(list(None, None).await, ["a", "c"]);
}

/// R-FWK-43: checkpoints of a run are removed, and the next run continues from the remaining state.
#[tokio::test]
async fn checkpoints_of_an_excluded_run_are_removed() {
    let mut graph = line(&Calls::default(), &["a", "b"]);
    let graph = graph.checkpointer(MemoryCheckpointer::new()).compile().unwrap();
    for input in ["one", "two"] {
        graph.invoke(json!({ "log": input })).thread("t").await.unwrap();
    }
    let unwanted = graph.threads().get_state("t").await.unwrap().checkpoint.run;
    let retention = Retention { excluded_runs: vec![unwanted], ..Retention::keep_all() };
    assert_eq!(graph.threads().prune("t", &retention).await.unwrap().checkpoints, 3);
    assert_eq!(log(&graph.threads().get_state("t").await.unwrap().state), ["one", "a", "b"]);
    let outcome = graph.invoke(json!({ "log": "three" })).thread("t").await.unwrap();
    assert_eq!(log(&outcome.state), ["one", "a", "b", "three", "a", "b"]);
}

/// R-FWK-34: next tasks are stored with their trigger.
#[tokio::test]
async fn next_tasks_are_stored_with_their_trigger() {
    let mut graph = dynamic(json!({ "log": log_field() }));
    let [a, b, c] = ["a", "b", "c"].map(|name| graph.add_node(name, Calls::default().step(name)));
    let d = graph.add_node("d", |_: SendPayload<u32>| json!({ "log": "d" }));
    graph.add_edge(START, a).add_edge(START, b).add_join([a, b], c).add_edge(d, END);
    graph.add_conditional_edges(c, |_: &DynamicState| vec![superstep::SendTo::new("d", 1_u32)], [d]);
    let graph = graph.compile().unwrap();
    graph.invoke(json!({ "log": "in" })).thread("t").await.unwrap();
    let mut reasons = Vec::new();
    for seen in history(&graph, "t").await.iter().rev() {
        let next = seen
            .checkpoint
            .next_tasks
            .iter()
            .map(|task| format!("{} {}", task.node, serde_json::to_value(task.trigger.kind).unwrap()));
        reasons.push(next.collect::<Vec<_>>().join(", "));
    }
    assert_eq!(reasons, [r#"a "edge", b "edge""#, r#"c "join""#, r#"d "send""#, ""]);
}

/// R-FWK-31: a run uses the cached state of the last run only if it is still the latest: external updates, runs of
/// another graph on the same thread, and forks take precedence.
#[tokio::test]
async fn a_run_reloads_a_thread_that_changed() {
    let memory = MemoryCheckpointer::new();
    let build = || {
        let mut graph =
            dynamic(json!({ "log": log_field(), "count": { "type": "integer", "reducer": "add", "default": 0 } }));
        let node = graph.add_node(
            "note",
            |state: View<DynamicState>| json!({ "log": format!("{}", log(&state).len()), "count": 1 }),
        );
        graph.add_edge(START, node).add_edge(node, END).checkpointer(memory.clone());
        graph.compile().unwrap()
    };
    let (one, two) = (build(), build());
    let run = async |graph: &superstep::CompiledGraph<DynamicState>, text: &str| {
        log(&graph.invoke(json!({ "log": text })).thread("t").await.unwrap().state)
    };
    assert_eq!(run(&one, "a").await, ["a", "1"]);
    assert_eq!(run(&one, "b").await, ["a", "1", "b", "3"]);
    let first = history(&one, "t").await.pop().unwrap().id();
    assert_eq!(run(&two, "c").await.len(), 6);
    assert_eq!(run(&one, "d").await.last().map(String::as_str), Some("7"));
    one.threads().update_state("t", json!({ "log": "outside" })).await.unwrap();
    assert_eq!(run(&one, "e").await[8..], ["outside", "e", "10"]);
    let forked = one.invoke(json!({ "log": "fork" })).thread("t").from_checkpoint(first).await.unwrap();
    assert_eq!(log(&forked.state), ["a", "fork", "2"]);
    assert_eq!(run(&one, "f").await, ["a", "fork", "2", "f", "4"]);
    assert_eq!(history(&two, "t").await[0].state.to_json()["count"], json!(2));
}

/// A checkpointer that counts the fields that are read.
#[derive(Clone, Default)]
struct Read(MemoryCheckpointer, std::sync::Arc<std::sync::atomic::AtomicUsize>);

impl Checkpointer for Read {
    delegate_checkpointer!(this => this.0; acquire, release, commit, history, threads, status, namespaces);
    delegate_checkpointer!(this => this.0; delete_thread, copy_thread, prune, stats);
    delegate_checkpointer!(this => this.0; events, last_event_number, delete_events);

    async fn load(
        &self,
        thread: &ThreadId,
        namespace: &CheckpointNamespace,
        at: CheckpointSelector,
    ) -> superstep::Result<Option<CheckpointTuple>> {
        let loaded = self.0.load(thread, namespace, at).await?;
        let fields = loaded.as_ref().map_or(0, |loaded| loaded.fields.len());
        self.1.fetch_add(fields, std::sync::atomic::Ordering::Relaxed);
        Ok(loaded)
    }
}

/// R-FWK-31: the next run on a thread does not read the state that the last one cached.
#[tokio::test]
async fn cached_state_is_not_reloaded() {
    let store = Read::default();
    let build = || {
        let mut graph = dynamic(json!({ "log": log_field() }));
        let node = graph.add_node("note", || json!({ "log": "noted" }));
        graph.add_edge(START, node).add_edge(node, END).checkpointer(store.clone());
        graph.compile().unwrap()
    };
    let read = || store.1.load(std::sync::atomic::Ordering::Relaxed);
    let graph = build();
    for turn in 1..=5 {
        let done = graph.invoke(json!({ "log": "said" })).thread("t").await.unwrap();
        assert_eq!((log(&done.state).len(), read()), (2 * turn, 0));
    }
    let done = build().invoke(json!({ "log": "said" })).thread("t").await.unwrap();
    assert_eq!((log(&done.state).len(), read()), (12, 1), "another graph has to read it");
}

/// The cached state of a thread is dropped with its checkpointer.
#[tokio::test]
async fn nothing_is_cached_of_a_dropped_store() {
    let mut graph = messages_graph("greet");
    let greet = graph.add_node("greet", |_state: View<MessagesState>| Message::assistant("Hello!"));
    graph.add_edge(START, greet).add_edge(greet, END);
    let graph = graph.compile().unwrap();
    let run = async |store: MemoryCheckpointer| {
        let done = graph.invoke("Hi").checkpointer(store).thread("t").await.unwrap();
        done.state.messages.iter_arcs().next().map(Arc::downgrade).unwrap()
    };
    let message = run(MemoryCheckpointer::new()).await;
    run(MemoryCheckpointer::new()).await;
    assert!(message.upgrade().is_none());
}
