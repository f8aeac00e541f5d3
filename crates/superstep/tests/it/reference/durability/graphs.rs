//! Graphs of the durability tests: loops, joins, sends, interrupts and subgraphs.

use serde_json::{Value, json};
use superstep::prelude::*;
use superstep::{CompiledGraph, DynamicState, Schema, SubgraphPersistence};

use crate::fixtures::{CallCounter, graph};
use crate::support::Calls;

/// A test graph: its name, and what it adds to an empty graph.
pub(super) type Drawing = (&'static str, fn(&mut StateGraph<DynamicState>, &Calls));

pub(super) fn noting(calls: &Calls, name: &'static str) -> impl Fn() -> Value + std::marker::Send + Sync + 'static {
    let calls = calls.clone();
    move || {
        calls.note(name);
        json!({ "log": [name], "n": 1 })
    }
}

/// A node that interrupts twice, after a recorded result.
pub(super) async fn asks_twice(calls: Calls, cx: TaskContext) -> Result<Value, NodeError> {
    let record = async {
        calls.note("paid");
        Ok::<u64, NodeError>(7)
    };
    let paid = cx.once("pay", record).await?;
    let first: String = cx.interrupts().raise("first", paid).await?;
    let second: String = cx.interrupts().raise("second", &first).await?;
    Ok(json!({ "log": [first, second], "n": paid }))
}

pub(super) fn draw_loop(g: &mut StateGraph<DynamicState>, calls: &Calls) {
    let turn = g.add_node("turn", noting(calls, "turn"));
    let route = move |state: &DynamicState| if *state.get("n") == json!(6) { Goto::end() } else { Goto::node(turn) };
    g.add_edge(START, turn).add_conditional_edges(turn, route, [turn.into(), END]);
}

pub(super) fn draw_joins(g: &mut StateGraph<DynamicState>, calls: &Calls) {
    let [a, b, c, d] = ["a", "b", "c", "d"].map(|name| g.add_node(name, noting(calls, name)));
    g.add_edge(START, a).add_edge(START, b).add_edge(b, c).add_join([a, c], d).add_edge(d, END);
}

pub(super) fn draw_sends(g: &mut StateGraph<DynamicState>, calls: &Calls) {
    let fan = g.add_node("fan", noting(calls, "fan"));
    let work = g.add_node("work", |n: SendPayload<u64>| json!({ "log": [*n], "n": *n }));
    let last = g.add_node("last", noting(calls, "last"));
    g.add_edge(START, fan).add_edge(work, last).add_edge(last, END);
    g.add_conditional_edges(
        fan,
        move |_: &DynamicState| (1..4).map(|n: u64| superstep::SendTo::new(work, n)).collect::<Vec<_>>(),
        [work],
    );
}

/// A subgraph with an interrupt between two of its nodes.
pub(super) fn interrupting_subgraph(calls: &Calls, persistence: SubgraphPersistence) -> CompiledGraph<DynamicState> {
    let mut inner = graph("inner");
    let first = inner.add_node("first", noting(calls, "first"));
    let node_calls = calls.clone();
    let interrupt = inner.add_node("ask", move |cx: TaskContext| asks_twice(node_calls.clone(), cx));
    let last = inner.add_node("last", noting(calls, "inner last"));
    inner.add_sequence([START, first.into(), interrupt.into(), last.into(), END]).subgraph_persistence(persistence);
    inner.compile().unwrap()
}

pub(super) fn draw_inside(g: &mut StateGraph<DynamicState>, calls: &Calls) {
    let before = g.add_node("before", noting(calls, "before"));
    let inner = g.add_node("inner", interrupting_subgraph(calls, SubgraphPersistence::Inherit));
    let sibling = g.add_node("beside", noting(calls, "beside"));
    let after = g.add_node("after", noting(calls, "after"));
    g.add_edge(START, before)
        .add_edge(before, inner)
        .add_edge(before, sibling)
        .add_join([inner, sibling], after)
        .add_edge(after, END);
}

/// Adds two calls of a subgraph with per-thread state, and an interrupt in between.
pub(super) fn draw_growing(g: &mut StateGraph<DynamicState>, calls: &Calls) {
    let fields = json!({ "seen": { "reducer": "add", "default": 0 }, "title": {} });
    let mut inner = StateGraph::<DynamicState>::with_schema("inner", Schema::from_json("inner", &fields).unwrap());
    let one = inner.add_node("one", || json!({ "seen": 1 }));
    let two =
        inner.add_node("two", |state: View<DynamicState>| json!({ "title": format!("seen {}", state.get("seen")) }));
    inner.add_sequence([START, one.into(), two.into(), END]).subgraph_persistence(SubgraphPersistence::PerThread);
    let inner = g.add_node("inner", inner.compile().unwrap());
    let node_calls = calls.clone();
    let note = g.add_node("note", move |state: View<DynamicState>, cx: TaskContext| {
        let node_calls = node_calls.clone();
        async move {
            node_calls.note("note");
            let word: String = cx.interrupts().raise("word", 0).await?;
            Ok::<_, NodeError>(json!({ "log": [state.get("title").into_owned(), word], "n": 1 }))
        }
    });
    let route = move |state: &DynamicState| if *state.get("n") == json!(3) { Goto::end() } else { Goto::node(inner) };
    g.add_edge(START, inner).add_edge(inner, note).add_conditional_edges(note, route, [inner.into(), END]);
}

/// Adds a failure in parallel with a sibling that finishes; then breakpoints before and after.
pub(super) fn draw_stops(g: &mut StateGraph<DynamicState>, calls: &Calls) {
    let (a, fine) = (g.add_node("a", noting(calls, "a")), g.add_node("fine", noting(calls, "fine")));
    let (node_calls, runs) = (calls.clone(), CallCounter::default());
    let fails = g.add_node("fails", move || {
        node_calls.note("fails");
        match runs.up() {
            1 => Err(NodeError::new("not yet")),
            _ => Ok(json!({ "log": ["fails"], "n": 1 })),
        }
    });
    let (b, c) = (g.add_node("b", noting(calls, "b")), g.add_node("c", noting(calls, "c")));
    g.add_edge(START, a)
        .add_edge(a, fine)
        .add_edge(a, fails)
        .add_join([fine, fails], b)
        .add_edge(b, c)
        .add_edge(c, END);
    g.interrupt_before(["b"]).interrupt_after(["c"]).branch_policy(superstep::BranchPolicy::SettleAll);
}

pub(super) const DRAWINGS: [Drawing; 6] = [
    ("loop", draw_loop),
    ("joins", draw_joins),
    ("sends", draw_sends),
    ("inside", draw_inside),
    ("growing", draw_growing),
    ("stops", draw_stops),
];
