//! Several runs on one thread, and many threads at once.

use std::sync::Arc;

use serde_json::json;
use superstep::prelude::*;
use superstep::{Code, Compiled, Outcome, Record, Result, WhenBusy};
use tokio::sync::Notify;

use crate::engine::{field, graph, settle};

/// `a` notes the title; `gate` waits to be opened when the title says so.
fn gated() -> (Compiled<Record>, Arc<Notify>) {
    let (mut g, open) = (graph("g"), Arc::new(Notify::new()));
    let gate = open.clone();
    let a = g.node("a", |s: View<Record>| json!({ "log": [s.get("title")], "n": 1 }));
    let b = g.node("gate", move |s: View<Record>| {
        let gate = gate.clone();
        async move {
            if s.get("title").as_str() == Some("waits") {
                gate.notified().await;
            }
            json!({ "log": ["gate"] })
        }
    });
    g.sequence([START, a.into(), b.into(), END]).checkpointer(Memory::new());
    (g.compile().unwrap(), open)
}

fn titled(title: &str) -> serde_json::Value {
    json!({ "title": title })
}

/// Starts a run that waits at the gate, then another with this policy; gives the first's result and the second's.
async fn meet(when_busy: WhenBusy) -> (Compiled<Record>, Result<Outcome<Record>>, Result<Outcome<Record>>) {
    let (graph, open) = gated();
    graph.run(titled("before")).thread("t").await.unwrap();
    let first = graph.run(titled("waits")).thread("t").spawn();
    settle().await;
    let second = graph.run(titled("second")).thread("t").when_busy(when_busy).spawn();
    settle().await;
    open.notify_one();
    (graph, first.await, second.await)
}

/// R-FWK-20, R-REF-60: by default runs wait for their turn, in the order they came.
#[tokio::test]
async fn runs_queue_in_order() {
    let (graph, open) = gated();
    let first = graph.run(titled("waits")).thread("t").spawn();
    settle().await;
    let mut others = Vec::new();
    for number in 0..12 {
        others.push(graph.run(titled(&number.to_string())).thread("t").spawn());
        settle().await;
    }
    open.notify_one();
    first.await.unwrap();
    for other in others {
        other.await.unwrap();
    }
    let log = graph.threads().state("t").await.unwrap().state.get("log").into_owned();
    let names: Vec<&str> =
        log.as_array().unwrap().iter().filter_map(|name| name.as_str()).filter(|name| *name != "gate").collect();
    assert_eq!(names, ["waits", "0", "1", "2", "3", "4", "5", "6", "7", "8", "9", "10", "11"]);
}

/// R-FWK-20, R-REF-60: told to reject, a run on a busy thread is refused with the status 409 and changes nothing.
#[tokio::test]
async fn a_busy_thread_may_refuse() {
    let (graph, first, second) = meet(WhenBusy::Reject).await;
    let error = second.unwrap_err();
    assert_eq!((error.code(), error.http_status()), (Code::ThreadBusy, 409));
    assert_eq!(field(&first.unwrap(), "log"), json!(["before", "gate", "waits", "gate"]));
    assert_eq!(graph.threads().state("t").await.unwrap().state.get("n").into_owned(), json!(2));
}

/// R-FWK-20: told to interrupt, a run stops the one before it and keeps what that did.
#[tokio::test]
async fn an_interrupting_run_keeps_what_was_done() {
    let (_, first, second) = meet(WhenBusy::Interrupt).await;
    assert_eq!(first.unwrap_err().code(), Code::Cancelled);
    assert_eq!(field(&second.unwrap(), "log"), json!(["before", "gate", "waits", "second", "gate"]));
}

/// R-FWK-20: told to roll back, a run stops the one before it and starts where that one started.
#[tokio::test]
async fn a_rolling_back_run_undoes_what_was_done() {
    let (graph, first, second) = meet(WhenBusy::Rollback).await;
    assert_eq!(first.unwrap_err().code(), Code::Cancelled);
    let second = second.unwrap();
    assert_eq!((field(&second, "log"), field(&second, "n")), (json!(["before", "gate", "second", "gate"]), json!(2)));
    let after = graph.run(titled("after")).thread("t").await.unwrap();
    assert_eq!(field(&after, "log"), json!(["before", "gate", "second", "gate", "after", "gate"]));
}

/// R-FWK-20: rolling back the first run of a thread leaves nothing of it.
#[tokio::test]
async fn the_first_run_of_a_thread_can_be_rolled_back() {
    let (graph, open) = gated();
    let first = graph.run(titled("waits")).thread("t").spawn();
    settle().await;
    let second = graph.run(titled("second")).thread("t").when_busy(WhenBusy::Rollback).await.unwrap();
    open.notify_one();
    assert_eq!(first.await.unwrap_err().code(), Code::Cancelled);
    assert_eq!(field(&second, "log"), json!(["second", "gate"]));
    assert_eq!(graph.threads().state("t").await.unwrap().state.get("log").into_owned(), json!(["second", "gate"]));
}

/// R-FWK-21: 200 threads at once, two runs each, and each ends with its own data.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn two_hundred_threads_do_not_touch_each_other() {
    let mut g = graph("g");
    let ids = ["a", "b", "c"].map(|name| {
        g.node(name, async |s: View<Record>, cx: Cx| {
            for _ in 0..s.get("n").as_u64().unwrap_or(0) % 7 {
                tokio::task::yield_now().await;
            }
            json!({ "log": [format!("{} {} {}", cx.node(), s.get("title"), cx.thread().unwrap())] })
        })
    });
    g.edge(START, ids[0])
        .edge(START, ids[1])
        .join([ids[0], ids[1]], ids[2])
        .edge(ids[2], END)
        .checkpointer(Memory::new());
    let graph = g.compile().unwrap();
    for round in [1, 2] {
        let runs: Vec<_> = (0..200).map(|i| graph.run(json!({ "n": i, "title": i })).thread(i).spawn()).collect();
        for (i, run) in runs.into_iter().enumerate() {
            let done = run.await.unwrap();
            let own = ["a", "b", "c"].repeat(round).into_iter().map(|name| format!("{name} {i} {i}"));
            assert_eq!(field(&done, "log"), json!(own.collect::<Vec<_>>()));
            assert_eq!(field(&done, "n"), json!(i * round));
        }
    }
}
