//! Breakpoints: where a run stops for somebody to look, and how it passes them.

use serde_json::json;
use superstep::core::port::ThreadStatus;
use superstep::prelude::*;
use superstep::{Code, Record, Status};

use crate::support::{Calls, dynamic, line, log, log_field, refused};

fn paused(nodes: &[&str]) -> Status {
    Status::Paused(nodes.iter().map(ToString::to_string).collect())
}

/// R-FWK-24, R-REF-85: a breakpoint before a node, set at compile time; going on passes it once.
#[tokio::test]
async fn a_run_stops_before_a_node_and_goes_on_past_it() {
    let calls = Calls::default();
    let graph = line(&calls, &["a", "b", "c"]).interrupt_before(["b"]).compile().unwrap();
    let stopped = graph.run(json!({ "topic": "x" })).thread("t").await.unwrap();
    assert_eq!((&stopped.status, &stopped.next), (&paused(&["b"]), &vec!["b".to_owned()]));
    assert_eq!(log(&stopped.state), ["a"]);
    assert_eq!(graph.threads().status("t").await.unwrap(), Some(ThreadStatus::Interrupted));
    let ended = graph.go_on("t").await.unwrap();
    assert!(ended.is_finished());
    assert_eq!(graph.threads().status("t").await.unwrap(), Some(ThreadStatus::Idle));
    assert_eq!(calls.take(), ["a", "b", "c"]);
}

/// R-FWK-24, R-REF-85: a breakpoint after a node, also after the last one.
#[tokio::test]
async fn a_run_stops_after_a_node_and_goes_on_past_it() {
    let calls = Calls::default();
    let graph = line(&calls, &["a", "b"]).interrupt_after(["a", "b"]).compile().unwrap();
    let first = graph.run(json!({ "topic": "x" })).thread("t").await.unwrap();
    assert_eq!((first.status, calls.take()), (paused(&["a"]), vec!["a".to_owned()]));
    let second = graph.go_on("t").await.unwrap();
    assert_eq!((second.status, second.next.len(), calls.take()), (paused(&["b"]), 0, vec!["b".to_owned()]));
    let third = graph.go_on("t").await.unwrap();
    assert_eq!((third.status, calls.take().len()), (Status::Finished, 0));
    assert_eq!(graph.threads().status("t").await.unwrap(), Some(ThreadStatus::Idle));
}

/// R-FWK-24, R-REF-85: `*` means every node, before and after.
#[tokio::test]
async fn a_star_stops_at_every_node() {
    let calls = Calls::default();
    for stops_after in [false, true] {
        let mut graph = line(&calls, &["a", "b", "c"]);
        if stops_after {
            graph.interrupt_after(["*"])
        } else {
            graph.interrupt_before(["*"])
        };
        let graph = graph.compile().unwrap();
        let mut outcome = graph.run(json!({ "topic": "x" })).thread("t").await.unwrap();
        for name in ["a", "b", "c"] {
            assert_eq!(outcome.status, paused(&[name]));
            outcome = graph.go_on("t").await.unwrap();
        }
        assert!(outcome.is_finished());
        assert_eq!(calls.take(), ["a", "b", "c"]);
    }
}

/// R-FWK-24: breakpoints of one run stand in place of the graph's own.
#[tokio::test]
async fn a_run_may_bring_its_own_breakpoints() {
    let graph = line(&Calls::default(), &["a", "b", "c"]).interrupt_before(["b"]).compile().unwrap();
    let input = || json!({ "topic": "x" });
    let before = graph.run(input()).thread("t1").interrupt_before(["c"]).await.unwrap();
    assert_eq!(before.status, paused(&["c"]));
    let after =
        graph.run(input()).thread("t2").interrupt_before(Vec::<String>::new()).interrupt_after(["a"]).await.unwrap();
    assert_eq!(after.status, paused(&["a"]));
    let none = graph.run(input()).thread("t3").interrupt_before(Vec::<String>::new()).await.unwrap();
    assert!(none.is_finished());
    assert_eq!(graph.run(input()).thread("t4").await.unwrap().status, paused(&["b"]));
}

/// R-FWK-24, R-REF-85: going on passes a breakpoint once; a loop comes to it again.
#[tokio::test]
async fn a_loop_comes_to_its_breakpoint_again() {
    let mut graph = dynamic(json!({ "n": { "reducer": "add", "default": 0 } }));
    let count = graph.node("count", || json!({ "n": 1 }));
    graph.edge(START, count).interrupt_before(["count"]);
    graph.route(
        count,
        move |state: &Record| if *state.get("n") == 3 { Go::end() } else { Go::to(count) },
        [count.into(), END],
    );
    let graph = graph.compile().unwrap();
    let mut outcome = graph.run(json!({ "n": 0 })).thread("t").await.unwrap();
    for n in 0..3 {
        assert_eq!((&outcome.status, &*outcome.state.get("n")), (&paused(&["count"]), &json!(n)));
        outcome = graph.go_on("t").await.unwrap();
    }
    assert_eq!((outcome.status, &*outcome.state.get("n")), (Status::Finished, &json!(3)));
}

/// R-FWK-24: of several due nodes those with a breakpoint are named, and none of them has run.
#[tokio::test]
async fn a_breakpoint_holds_the_whole_superstep() {
    let calls = Calls::default();
    let mut graph = dynamic(json!({ "log": log_field() }));
    let (a, b) = (graph.node("a", calls.step("a")), graph.node("b", calls.step("b")));
    graph.edge(START, a).edge(START, b).edge(a, END).edge(b, END);
    let graph = graph.interrupt_before(["b"]).compile().unwrap();
    let stopped = graph.run(json!({ "log": "in" })).thread("t").await.unwrap();
    assert_eq!((stopped.status, stopped.next), (paused(&["b"]), vec!["a".to_owned(), "b".to_owned()]));
    assert!(calls.take().is_empty());
    assert_eq!(log(&graph.go_on("t").await.unwrap().state), ["in", "a", "b"]);
}

/// R-FWK-24, R-FWK-93, R-REF-9: a breakpoint at a node that does not exist is refused, at compile time and per run.
#[tokio::test]
async fn a_breakpoint_at_an_unknown_node_is_refused() {
    let calls = Calls::default();
    let error = refused(line(&calls, &["write", "send"]).interrupt_after(["sned"]).compile());
    assert_eq!(error.code(), Code::InvalidGraph);
    assert!(error.to_string().contains("sned"), "{error}");
    let graph = line(&calls, &["write", "send"]).compile().unwrap();
    for run in [
        graph.run(json!({ "topic": "x" })).interrupt_before(["sned"]),
        graph.run(json!({ "topic": "x" })).interrupt_after(["sned"]),
    ] {
        let error = refused(run.thread("t").await);
        assert_eq!(error.code(), Code::InputInvalid);
        assert!(error.message().contains("`sned`") && error.advice().unwrap().contains("`send`"), "{error}");
    }
    assert!(calls.take().is_empty());
}

/// R-FWK-24, R-FWK-30, R-REF-86: what is edited at a breakpoint is what the next node sees.
#[tokio::test]
async fn an_edit_at_a_breakpoint_is_seen_by_the_next_node() {
    let mut graph = dynamic(json!({ "draft": null, "sent": null }));
    let write = graph.node("write", || json!({ "draft": "helo" }));
    let send = graph.node("send", |mail: View<Record>| json!({ "sent": mail.get("draft").into_owned() }));
    graph.sequence([START, write.into(), send.into(), END]).interrupt_before(["send"]);
    let graph = graph.compile().unwrap();
    graph.run(json!({ "draft": "" })).thread("t").await.unwrap();
    graph.threads().update("t", json!({ "draft": "hello" })).await.unwrap();
    assert_eq!(graph.threads().status("t").await.unwrap(), Some(ThreadStatus::Interrupted));
    assert_eq!(*graph.go_on("t").await.unwrap().state.get("sent"), json!("hello"));
}
