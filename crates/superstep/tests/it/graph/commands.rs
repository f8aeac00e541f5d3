//! Commands: update and routing in one return.

use serde_json::{Value, json};
use superstep::prelude::*;
use superstep::{Code, Compat, Record};

use crate::engine::{field, graph, outcome, says};

/// The log and the sum of a graph `a` → `edge`, with `other` to go to, where `a` returns a command.
async fn commanded(compat: Compat, command: fn() -> Command<Record>) -> (Value, Value) {
    let done = outcome(
        |g| {
            let (edge, other) = (g.node("edge", says("edge")), g.node("other", says("other")));
            let a = g.node("a", node(command).goto([other.into(), END]));
            g.edge(START, a).edge(a, edge).edge(edge, END).edge(other, END).compat(compat);
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

/// R-FWK-7, R-REF-43, R-DEF-8, R-PRB-8: `goto` takes the place of the edges; in the reference's habits it adds to them.
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
            let b = g.node("b", |sent: Sent<u32>| json!({ "log": [sent.0] }));
            let send = move || Command::new().send(Send::new(b, 1)).send(Send::new(b, 2)).update(json!({ "n": 1 }));
            let a = g.node("a", node(send).goto([b]));
            g.edge(START, a).edge(b, END);
        },
        json!({ "n": 0 }),
    );
    let done = done.await.unwrap();
    assert_eq!((field(&done, "log"), field(&done, "n")), (json!([1, 2]), json!(1)));
}

/// R-FWK-7: going to the end ends only the branch that does so.
#[tokio::test]
async fn going_to_the_end_ends_only_that_branch() {
    let done = outcome(
        |g| {
            let quits =
                g.node("quits", node(|| Command::<Record>::end().update(json!({ "log": ["quits"] }))).goto([END]));
            let (stays, last) = (g.node("stays", says("stays")), g.node("last", says("last")));
            let never = g.node("never", says("never"));
            g.edge(START, quits)
                .edge(START, stays)
                .edge(stays, last)
                .edge(last, END)
                .edge(quits, never)
                .edge(never, END);
        },
        json!({ "n": 0 }),
    );
    assert_eq!(field(&done.await.unwrap(), "log"), json!(["quits", "stays", "last"]));
}

/// R-FWK-7: a command as the start of a run is applied once and leads where it says.
#[tokio::test]
async fn a_command_from_outside_moves_a_thread() {
    let mut g = graph("g");
    let (a, b) = (g.node("a", says("a")), g.node("b", says("b")));
    g.edge(START, a).edge(a, END).edge(b, END);
    g.route(a, |_: &Record| END, [b.into(), END]).checkpointer(Memory::new());
    let graph = g.compile().unwrap();
    graph.run(json!({ "n": 1 })).thread("t").await.unwrap();
    let moved = graph.command("t", Command::goto("b").update(json!({ "n": 1 }))).await.unwrap();
    assert_eq!((field(&moved, "log"), field(&moved, "n")), (json!(["a", "b"]), json!(2)));
}

/// R-FWK-7, R-REF-119: a command for a graph around, in the outermost graph, is refused.
#[tokio::test]
async fn a_command_outward_of_the_outermost_graph_is_refused() {
    let done = outcome(
        |g| {
            let a = g.node("a", || Command::<Record>::goto("x").in_parent());
            g.edge(START, a).edge(a, END);
        },
        json!({ "n": 0 }),
    );
    assert_eq!(done.await.unwrap_err().code(), Code::InvalidRoute);
}

/// R-FWK-7: a `goto` that leads nowhere is refused with the nodes there are; nothing of the command is applied.
#[tokio::test]
async fn a_goto_that_leads_nowhere_applies_nothing() {
    let done = outcome(
        |g| {
            let a = g.node("a", || Command::<Record>::goto("nowhere").update(json!({ "n": 1 })));
            g.edge(START, a).edge(a, END);
        },
        json!({ "n": 5 }),
    );
    let error = done.await.unwrap_err();
    assert_eq!(
        (error.code(), error.partial_state::<Record>().unwrap().get("n").into_owned()),
        (Code::InvalidRoute, json!(5))
    );
    assert!(error.to_string().contains("`nowhere`") && error.to_string().contains("`a`"), "{error}");
}
