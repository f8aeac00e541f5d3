//! Several runs on one thread, and many concurrent threads.

use std::sync::Arc;

use serde_json::json;
use superstep::prelude::*;
use superstep::{CompiledGraph, DynamicState, ErrorCode, MultitaskStrategy, Outcome, Result};
use tokio::sync::Notify;

use crate::fixtures::{field, graph, settle};

/// `a` logs the title; `gate` waits to be opened if the title requests it.
fn gated() -> (CompiledGraph<DynamicState>, Arc<Notify>) {
    let (mut g, open) = (graph("g"), Arc::new(Notify::new()));
    let gate = open.clone();
    let a = g.add_node("a", |s: View<DynamicState>| json!({ "log": [s.get("title")], "n": 1 }));
    let b = g.add_node("gate", move |s: View<DynamicState>| {
        let gate = gate.clone();
        async move {
            if s.get("title").as_str() == Some("waits") {
                gate.notified().await;
            }
            json!({ "log": ["gate"] })
        }
    });
    g.add_sequence([START, a.into(), b.into(), END]).checkpointer(MemoryCheckpointer::new());
    (g.compile().unwrap(), open)
}

fn titled(title: &str) -> serde_json::Value {
    json!({ "title": title })
}

/// Starts a run that waits at the gate, then another with this strategy; returns the results of both.
async fn meet(
    when_busy: MultitaskStrategy,
) -> (CompiledGraph<DynamicState>, Result<Outcome<DynamicState>>, Result<Outcome<DynamicState>>) {
    let (graph, open) = gated();
    graph.invoke(titled("before")).thread("t").await.unwrap();
    let first = graph.invoke(titled("waits")).thread("t").spawn();
    settle().await;
    let second = graph.invoke(titled("second")).thread("t").multitask_strategy(when_busy).spawn();
    settle().await;
    open.notify_one();
    (graph, first.await, second.await)
}

/// R-FWK-20, R-REF-60: by default runs are queued, in the order of arrival.
#[tokio::test]
async fn runs_queue_in_order() {
    let (graph, open) = gated();
    let first = graph.invoke(titled("waits")).thread("t").spawn();
    settle().await;
    let mut others = Vec::new();
    for number in 0..12 {
        others.push(graph.invoke(titled(&number.to_string())).thread("t").spawn());
        settle().await;
    }
    open.notify_one();
    first.await.unwrap();
    for other in others {
        other.await.unwrap();
    }
    let log = graph.threads().get_state("t").await.unwrap().state.get("log").into_owned();
    let names: Vec<&str> =
        log.as_array().unwrap().iter().filter_map(|name| name.as_str()).filter(|name| *name != "gate").collect();
    assert_eq!(names, ["waits", "0", "1", "2", "3", "4", "5", "6", "7", "8", "9", "10", "11"]);
}

/// R-FWK-20, R-REF-60: with `Reject`, a run on a busy thread is rejected with status 409 and changes nothing.
#[tokio::test]
async fn a_busy_thread_may_reject_a_run() {
    let (graph, first, second) = meet(MultitaskStrategy::Reject).await;
    let error = second.unwrap_err();
    assert_eq!((error.code(), error.http_status()), (ErrorCode::ThreadBusy, 409));
    assert_eq!(field(&first.unwrap(), "log"), json!(["before", "gate", "waits", "gate"]));
    assert_eq!(graph.threads().get_state("t").await.unwrap().state.get("n").into_owned(), json!(2));
}

/// R-FWK-20: with `Interrupt`, a run stops the previous one and keeps its supersteps.
#[tokio::test]
async fn an_interrupting_run_keeps_saved_supersteps() {
    let (_, first, second) = meet(MultitaskStrategy::Interrupt).await;
    assert_eq!(first.unwrap_err().code(), ErrorCode::Cancelled);
    assert_eq!(field(&second.unwrap(), "log"), json!(["before", "gate", "waits", "second", "gate"]));
}

/// R-FWK-20: with `Rollback`, a run stops the previous one and starts where that one started.
#[tokio::test]
async fn a_rollback_run_starts_from_the_earlier_state() {
    let (graph, first, second) = meet(MultitaskStrategy::Rollback).await;
    assert_eq!(first.unwrap_err().code(), ErrorCode::Cancelled);
    let second = second.unwrap();
    assert_eq!((field(&second, "log"), field(&second, "n")), (json!(["before", "gate", "second", "gate"]), json!(2)));
    let after = graph.invoke(titled("after")).thread("t").await.unwrap();
    assert_eq!(field(&after, "log"), json!(["before", "gate", "second", "gate", "after", "gate"]));
}

/// R-FWK-20: a rollback of the first run of a thread leaves nothing of it.
#[tokio::test]
async fn the_first_run_of_a_thread_can_be_rolled_back() {
    let (graph, open) = gated();
    let first = graph.invoke(titled("waits")).thread("t").spawn();
    settle().await;
    let second =
        graph.invoke(titled("second")).thread("t").multitask_strategy(MultitaskStrategy::Rollback).await.unwrap();
    open.notify_one();
    assert_eq!(first.await.unwrap_err().code(), ErrorCode::Cancelled);
    assert_eq!(field(&second, "log"), json!(["second", "gate"]));
    assert_eq!(graph.threads().get_state("t").await.unwrap().state.get("log").into_owned(), json!(["second", "gate"]));
}

/// R-FWK-21: 200 concurrent threads, two runs each, and each ends with its own data.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn two_hundred_threads_do_not_touch_each_other() {
    let mut g = graph("g");
    let ids = ["a", "b", "c"].map(|name| {
        g.add_node(name, async |s: View<DynamicState>, cx: TaskContext| {
            for _ in 0..s.get("n").as_u64().unwrap_or(0) % 7 {
                tokio::task::yield_now().await;
            }
            json!({ "log": [format!("{} {} {}", cx.node(), s.get("title"), cx.thread_id().unwrap())] })
        })
    });
    g.add_edge(START, ids[0])
        .add_edge(START, ids[1])
        .add_join([ids[0], ids[1]], ids[2])
        .add_edge(ids[2], END)
        .checkpointer(MemoryCheckpointer::new());
    let graph = g.compile().unwrap();
    for round in [1, 2] {
        let runs: Vec<_> = (0..200).map(|i| graph.invoke(json!({ "n": i, "title": i })).thread(i).spawn()).collect();
        for (i, run) in runs.into_iter().enumerate() {
            let done = run.await.unwrap();
            let own = ["a", "b", "c"].repeat(round).into_iter().map(|name| format!("{name} {i} {i}"));
            assert_eq!(field(&done, "log"), json!(own.collect::<Vec<_>>()));
            assert_eq!(field(&done, "n"), json!(i * round));
        }
    }
}
