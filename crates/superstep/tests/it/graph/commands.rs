//! Commands: update and goto in one return value.

use serde_json::{Value, json};
use superstep::prelude::*;
use superstep::{Compat, DynamicState, ErrorCode};

use crate::fixtures::{field, graph, log_word, outcome};

/// Returns the log and the sum of a graph `a` → `edge`, with `other` as goto target, where `a` returns a command.
async fn commanded(compat: Compat, command: fn() -> Command<DynamicState>) -> (Value, Value) {
    let done = outcome(
        |g| {
            let (edge, other) = (g.add_node("edge", log_word("edge")), g.add_node("other", log_word("other")));
            let a = g.add_node("a", node(command).goto_targets([other.into(), END]));
            g.add_edge(START, a).add_edge(a, edge).add_edge(edge, END).add_edge(other, END).compat(compat);
        },
        json!({ "n": 0 }),
    );
    let done = done.await.unwrap();
    (field(&done, "log"), field(&done, "n"))
}

/// R-FWK-7: the update of a command is applied once: a counter with +1 is 1.
#[tokio::test]
async fn the_update_of_a_command_is_applied_once() {
    for compat in [Compat::Strict, Compat::LangGraph] {
        let (_, n) = commanded(compat, || Command::new().update(json!({ "n": 1 }))).await;
        assert_eq!(n, json!(1));
        let (_, n) = commanded(compat, || Command::goto("other").update(json!({ "n": 1 }))).await;
        assert_eq!(n, json!(1));
    }
}

/// R-FWK-7, R-REF-43, R-DEF-8, R-PRB-8: `goto` replaces the edges; with LangGraph semantics it is added to them.
#[tokio::test]
async fn goto_replaces_edges_or_adds_to_them() {
    let other = || Command::goto("other");
    assert_eq!(commanded(Compat::Strict, other).await.0, json!(["other"]));
    assert_eq!(commanded(Compat::LangGraph, other).await.0, json!(["edge", "other"]));
    let both = || Command::goto("other").and_goto("edge");
    assert_eq!(commanded(Compat::Strict, both).await.0, json!(["edge", "other"]));
    assert_eq!(commanded(Compat::Strict, Command::new).await.0, json!(["edge"]));
}

/// R-FWK-7: a command may send tasks.
#[tokio::test]
async fn a_command_may_send() {
    let done = outcome(
        |g| {
            let b = g.add_node("b", |sent: SendPayload<u32>| json!({ "log": [sent.0] }));
            let send = move || Command::new().send(SendTo::new(b, 1)).send(SendTo::new(b, 2)).update(json!({ "n": 1 }));
            let a = g.add_node("a", node(send).goto_targets([b]));
            g.add_edge(START, a).add_edge(b, END);
        },
        json!({ "n": 0 }),
    );
    let done = done.await.unwrap();
    assert_eq!((field(&done, "log"), field(&done, "n")), (json!([1, 2]), json!(1)));
}

/// R-FWK-7: a goto to the end ends only its own branch.
#[tokio::test]
async fn going_to_the_end_ends_only_that_branch() {
    let done = outcome(
        |g| {
            let quits = g.add_node(
                "quits",
                node(|| Command::<DynamicState>::end().update(json!({ "log": ["quits"] }))).goto_targets([END]),
            );
            let (stays, last) = (g.add_node("stays", log_word("stays")), g.add_node("last", log_word("last")));
            let never = g.add_node("never", log_word("never"));
            g.add_edge(START, quits)
                .add_edge(START, stays)
                .add_edge(stays, last)
                .add_edge(last, END)
                .add_edge(quits, never)
                .add_edge(never, END);
        },
        json!({ "n": 0 }),
    );
    assert_eq!(field(&done.await.unwrap(), "log"), json!(["quits", "stays", "last"]));
}

/// R-FWK-7: a command as the input of a run is applied once and continues at its target.
#[tokio::test]
async fn a_command_from_outside_moves_a_thread() {
    let mut g = graph("g");
    let (a, b) = (g.add_node("a", log_word("a")), g.add_node("b", log_word("b")));
    g.add_edge(START, a).add_edge(a, END).add_edge(b, END);
    g.add_conditional_edges(a, |_: &DynamicState| END, [b.into(), END]).checkpointer(MemoryCheckpointer::new());
    let graph = g.compile().unwrap();
    graph.invoke(json!({ "n": 1 })).thread("t").await.unwrap();
    let moved = graph.command("t", Command::goto("b").update(json!({ "n": 1 }))).await.unwrap();
    assert_eq!((field(&moved, "log"), field(&moved, "n")), (json!(["a", "b"]), json!(2)));
}

/// R-FWK-7, R-REF-119: a command for a parent graph is rejected in the root graph.
#[tokio::test]
async fn a_command_for_the_parent_of_the_root_graph_is_rejected() {
    let done = outcome(
        |g| {
            let a = g.add_node("a", || Command::<DynamicState>::goto("x").to_parent());
            g.add_edge(START, a).add_edge(a, END);
        },
        json!({ "n": 0 }),
    );
    assert_eq!(done.await.unwrap_err().code(), ErrorCode::InvalidRoute);
}

/// R-FWK-7: a `goto` to an unknown node is rejected with the list of nodes; nothing of the command is applied.
#[tokio::test]
async fn a_goto_to_an_unknown_node_applies_nothing() {
    let done = outcome(
        |g| {
            let a = g.add_node("a", || Command::<DynamicState>::goto("nowhere").update(json!({ "n": 1 })));
            g.add_edge(START, a).add_edge(a, END);
        },
        json!({ "n": 5 }),
    );
    let error = done.await.unwrap_err();
    assert_eq!(
        (error.code(), error.partial_state::<DynamicState>().unwrap().get("n").into_owned()),
        (ErrorCode::InvalidRoute, json!(5))
    );
    assert!(error.to_string().contains("`nowhere`") && error.to_string().contains("`a`"), "{error}");
}
