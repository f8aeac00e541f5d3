//! Breakpoints: where a run stops, and how it continues past them.

use serde_json::json;
use superstep::core::port::ThreadStatus;
use superstep::prelude::*;
use superstep::{DynamicState, ErrorCode, RunEnd};

use crate::support::{Calls, dynamic, expect_error, line, log, log_field};

fn paused(nodes: &[&str]) -> RunEnd {
    RunEnd::Paused(nodes.iter().map(ToString::to_string).collect())
}

/// R-FWK-24, R-REF-85: a breakpoint before a node, set at compile time; continuing passes it once.
#[tokio::test]
async fn a_run_stops_before_a_node_and_continues_past_it() {
    let calls = Calls::default();
    let graph = line(&calls, &["a", "b", "c"]).interrupt_before(["b"]).compile().unwrap();
    let stopped = graph.invoke(json!({ "topic": "x" })).thread("t").await.unwrap();
    assert_eq!((&stopped.end, &stopped.next), (&paused(&["b"]), &vec!["b".to_owned()]));
    assert_eq!(log(&stopped.state), ["a"]);
    assert_eq!(graph.threads().status("t").await.unwrap(), Some(ThreadStatus::Interrupted));
    let ended = graph.continue_thread("t").await.unwrap();
    assert!(ended.is_finished());
    assert_eq!(graph.threads().status("t").await.unwrap(), Some(ThreadStatus::Idle));
    assert_eq!(calls.take(), ["a", "b", "c"]);
}

/// R-FWK-24, R-REF-85: a breakpoint after a node, also after the last one.
#[tokio::test]
async fn a_run_stops_after_a_node_and_continues_past_it() {
    let calls = Calls::default();
    let graph = line(&calls, &["a", "b"]).interrupt_after(["a", "b"]).compile().unwrap();
    let first = graph.invoke(json!({ "topic": "x" })).thread("t").await.unwrap();
    assert_eq!((first.end, calls.take()), (paused(&["a"]), vec!["a".to_owned()]));
    let second = graph.continue_thread("t").await.unwrap();
    assert_eq!((second.end, second.next.len(), calls.take()), (paused(&["b"]), 0, vec!["b".to_owned()]));
    let third = graph.continue_thread("t").await.unwrap();
    assert_eq!((third.end, calls.take().len()), (RunEnd::Finished, 0));
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
        let mut outcome = graph.invoke(json!({ "topic": "x" })).thread("t").await.unwrap();
        for name in ["a", "b", "c"] {
            assert_eq!(outcome.end, paused(&[name]));
            outcome = graph.continue_thread("t").await.unwrap();
        }
        assert!(outcome.is_finished());
        assert_eq!(calls.take(), ["a", "b", "c"]);
    }
}

/// R-FWK-24: breakpoints of a run replace those of the graph.
#[tokio::test]
async fn a_run_may_bring_its_own_breakpoints() {
    let graph = line(&Calls::default(), &["a", "b", "c"]).interrupt_before(["b"]).compile().unwrap();
    let input = || json!({ "topic": "x" });
    let before = graph.invoke(input()).thread("t1").interrupt_before(["c"]).await.unwrap();
    assert_eq!(before.end, paused(&["c"]));
    let after =
        graph.invoke(input()).thread("t2").interrupt_before(Vec::<String>::new()).interrupt_after(["a"]).await.unwrap();
    assert_eq!(after.end, paused(&["a"]));
    let none = graph.invoke(input()).thread("t3").interrupt_before(Vec::<String>::new()).await.unwrap();
    assert!(none.is_finished());
    assert_eq!(graph.invoke(input()).thread("t4").await.unwrap().end, paused(&["b"]));
}

/// R-FWK-24, R-REF-85: continuing passes a breakpoint once; a loop reaches it again.
#[tokio::test]
async fn a_loop_stops_at_its_breakpoint_again() {
    let mut graph = dynamic(json!({ "n": { "reducer": "add", "default": 0 } }));
    let count = graph.add_node("count", || json!({ "n": 1 }));
    graph.add_edge(START, count).interrupt_before(["count"]);
    graph.add_conditional_edges(
        count,
        move |state: &DynamicState| if *state.get("n") == 3 { Goto::end() } else { Goto::node(count) },
        [count.into(), END],
    );
    let graph = graph.compile().unwrap();
    let mut outcome = graph.invoke(json!({ "n": 0 })).thread("t").await.unwrap();
    for n in 0..3 {
        assert_eq!((&outcome.end, &*outcome.state.get("n")), (&paused(&["count"]), &json!(n)));
        outcome = graph.continue_thread("t").await.unwrap();
    }
    assert_eq!((outcome.end, &*outcome.state.get("n")), (RunEnd::Finished, &json!(3)));
}

/// R-FWK-24: of several next nodes those with a breakpoint are named, and none of them has run.
#[tokio::test]
async fn a_breakpoint_stops_all_nodes_of_the_superstep() {
    let calls = Calls::default();
    let mut graph = dynamic(json!({ "log": log_field() }));
    let (a, b) = (graph.add_node("a", calls.step("a")), graph.add_node("b", calls.step("b")));
    graph.add_edge(START, a).add_edge(START, b).add_edge(a, END).add_edge(b, END);
    let graph = graph.interrupt_before(["b"]).compile().unwrap();
    let stopped = graph.invoke(json!({ "log": "in" })).thread("t").await.unwrap();
    assert_eq!((stopped.end, stopped.next), (paused(&["b"]), vec!["a".to_owned(), "b".to_owned()]));
    assert!(calls.take().is_empty());
    assert_eq!(log(&graph.continue_thread("t").await.unwrap().state), ["in", "a", "b"]);
}

/// R-FWK-24, R-FWK-93, R-REF-9: a breakpoint at a node that does not exist is rejected, at compile time and per run.
#[tokio::test]
async fn a_breakpoint_at_an_unknown_node_is_rejected() {
    let calls = Calls::default();
    let error = expect_error(line(&calls, &["write", "send"]).interrupt_after(["sned"]).compile());
    assert_eq!(error.code(), ErrorCode::InvalidGraph);
    assert!(error.to_string().contains("sned"), "{error}");
    let graph = line(&calls, &["write", "send"]).compile().unwrap();
    for run in [
        graph.invoke(json!({ "topic": "x" })).interrupt_before(["sned"]),
        graph.invoke(json!({ "topic": "x" })).interrupt_after(["sned"]),
    ] {
        let error = expect_error(run.thread("t").await);
        assert_eq!(error.code(), ErrorCode::InputInvalid);
        assert!(error.message().contains("`sned`") && error.help().unwrap().contains("`send`"), "{error}");
    }
    assert!(calls.take().is_empty());
}

/// R-FWK-24, R-FWK-30, R-REF-86: the next node sees an update that was made at a breakpoint.
#[tokio::test]
async fn an_edit_at_a_breakpoint_is_seen_by_the_next_node() {
    let mut graph = dynamic(json!({ "draft": null, "sent": null }));
    let write = graph.add_node("write", || json!({ "draft": "helo" }));
    let send = graph.add_node("send", |mail: View<DynamicState>| json!({ "sent": mail.get("draft").into_owned() }));
    graph.add_sequence([START, write.into(), send.into(), END]).interrupt_before(["send"]);
    let graph = graph.compile().unwrap();
    graph.invoke(json!({ "draft": "" })).thread("t").await.unwrap();
    graph.threads().update_state("t", json!({ "draft": "hello" })).await.unwrap();
    assert_eq!(graph.threads().status("t").await.unwrap(), Some(ThreadStatus::Interrupted));
    assert_eq!(*graph.continue_thread("t").await.unwrap().state.get("sent"), json!("hello"));
}
