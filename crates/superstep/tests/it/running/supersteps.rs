//! Supersteps: one immutable state, one fixed order, input through the reducers, deferred nodes last.

use serde_json::json;
use superstep::prelude::*;
use superstep::{DynamicState, ErrorCode, Overwrite, Schema, StateGraph};

use crate::fixtures::{field, graph, log_of, log_word, outcome};

/// R-GRA-38: input is reduced into the defaults and then into the saved state; `Overwrite` is not.
#[tokio::test]
async fn input_passes_through_the_reducers() {
    #[derive(GraphState, Clone, Serialize, Deserialize)]
    struct Sum {
        #[reduce(add)]
        #[state(default = 5)]
        n: u64,
        #[reduce(append)]
        list: Vec<u64>,
        plain: String,
    }
    let mut g = StateGraph::<Sum>::new("sum");
    let a = g.add_node("a", || ());
    g.add_edge(START, a).add_edge(a, END).checkpointer(MemoryCheckpointer::new());
    let graph = g.compile().unwrap();
    let rows = [
        (Sum::input().n(3u64).plain("x").list(vec![1]), (8, "x", vec![1])),
        (Sum::input().n(1u64).plain("y").list(vec![2]), (9, "y", vec![1, 2])),
        (Sum::input().n(Overwrite(3u64)), (3, "y", vec![1, 2])),
    ];
    for (input, expected) in rows {
        let done = graph.invoke(input).thread("t").await.unwrap();
        assert_eq!((done.state.n, &*done.state.plain, done.state.list.clone()), expected);
    }
}

/// R-GRA-40: an empty input is rejected; continuing requires a thread that has started.
#[tokio::test]
async fn an_empty_input_is_rejected_and_no_input_continues() {
    let mut g = graph("g");
    let (a, b) = (g.add_node("a", log_word("a")), g.add_node("b", log_word("b")));
    g.add_sequence([START, a.into(), b.into(), END]).checkpointer(MemoryCheckpointer::new()).interrupt_before(["b"]);
    let graph = g.compile().unwrap();
    let empty = graph.invoke(json!({})).thread("t").await.unwrap_err();
    assert_eq!((empty.code(), empty.message()), (ErrorCode::InputInvalid, "the input is empty"));
    let new = graph.continue_thread("t").await.unwrap_err();
    assert_eq!(new.code(), ErrorCode::InputInvalid);
    assert!(new.to_string().contains("new"), "{new}");
    graph.invoke(json!({ "n": 1 })).thread("t").await.unwrap();
    assert_eq!(field(&graph.continue_thread("t").await.unwrap(), "log"), json!(["a", "b"]));
    assert_eq!(field(&graph.continue_thread("t").await.unwrap(), "log"), json!(["a", "b"]));
}

/// R-GRA-41, R-REF-31: all tasks of a superstep see the same state, and none another's update.
#[tokio::test]
async fn tasks_of_one_superstep_see_the_same_state() {
    let mut g = graph("g");
    let record = |s: View<DynamicState>| json!({ "log": [s.get("n")], "n": 10 });
    let tasks = ["a", "b", "c"].map(|name| g.add_node(name, record));
    let last = g.add_node("last", record);
    for task in tasks {
        g.add_edge(START, task);
    }
    g.add_join(tasks, last).add_edge(last, END);
    let done = g.compile().unwrap().invoke(json!({ "n": 1 })).max_concurrency(1).await.unwrap();
    assert_eq!((field(&done, "log"), field(&done, "n")), (json!([1, 1, 1, 31]), json!(41)));
}

/// R-GRA-42, R-GRA-43, R-PRB-5: with a reducer parallel updates are reduced; without one they conflict, unless they
/// are equal.
#[tokio::test]
async fn parallel_updates_fold_or_conflict() {
    let write = |left: serde_json::Value, right: serde_json::Value| {
        outcome(
            move |g| {
                let (a, b) = (g.add_node("a", move || left.clone()), g.add_node("b", move || right.clone()));
                g.add_edge(START, a).add_edge(START, b).add_edge(a, END).add_edge(b, END);
            },
            json!({ "n": 0 }),
        )
    };
    assert_eq!(field(&write(json!({ "n": 1 }), json!({ "n": 2 })).await.unwrap(), "n"), json!(3));
    assert_eq!(field(&write(json!({ "title": "x" }), json!({ "title": "x" })).await.unwrap(), "title"), json!("x"));
    let error = write(json!({ "title": "x" }), json!({ "title": "y" })).await.unwrap_err();
    assert_eq!(error.code(), ErrorCode::ConcurrentUpdate);
    for word in ["`title`", "`a`", "`b`", "\"x\"", "\"y\""] {
        assert!(error.to_string().contains(word), "{word} in {error}");
    }
}

/// R-GRA-47: an unknown field is rejected with the node and the nearest name.
#[tokio::test]
async fn an_unknown_field_is_rejected() {
    let done = outcome(
        |g| {
            let a = g.add_node("a", || json!({ "titel": "x" }));
            g.add_edge(START, a).add_edge(a, END);
        },
        json!({ "n": 0 }),
    );
    let error = done.await.unwrap_err();
    assert_eq!((error.code(), error.location().node.as_deref()), (ErrorCode::UnknownField, Some("a")));
    assert!(error.to_string().contains("`titel`") && error.to_string().contains("`title`"), "{error}");
}

/// R-GRA-44, R-PRB-2: whatever the completion order, updates are applied in the order in which nodes were added, then
/// sends by index.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_thousand_runs_give_one_result() {
    let schema =
        Schema::from_json("s", &json!({ "text": { "type": "string", "reducer": "add", "default": "" }, "seed": {} }));
    let mut g = StateGraph::<DynamicState>::with_schema("g", schema.unwrap());
    let dawdle = async |s: View<DynamicState>, sent: Option<SendPayload<u64>>, cx: TaskContext| {
        let index = sent.map_or(0, |sent| sent.0);
        let mixed = (s.get("seed").as_u64().unwrap_or(0) + index * 31 + cx.node().len() as u64 * 17)
            .wrapping_mul(0x9e37_79b9_7f4a_7c15);
        for _ in 0..mixed >> 60 {
            tokio::task::yield_now().await;
        }
        json!({ "text": format!("{}{index} ", cx.node()) })
    };
    let names = ["zeta", "b", "alpha", "yy"].map(|name| g.add_node(name, dawdle));
    for node in names {
        g.add_edge(START, node).add_edge(node, END);
    }
    let sends = move |_: &DynamicState| {
        (1..=3).map(|index| SendTo::new(names[2], index)).chain([SendTo::new(names[0], 4)]).collect::<Vec<_>>()
    };
    g.set_conditional_entry_point(sends, [names[2], names[0]]);
    let results = g.compile().unwrap().batch((0..1_000).map(|seed| json!({ "seed": seed })), 32).await;
    assert_eq!(results.len(), 1_000);
    for done in results {
        assert_eq!(field(&done.unwrap(), "text"), json!("zeta0 zeta4 b0 alpha0 alpha1 alpha2 alpha3 yy0 "));
    }
}

/// R-FWK-2, R-REF-24: a deferred node runs once, after every other branch, whatever their lengths.
#[tokio::test]
async fn a_deferred_node_runs_once_after_all_others() {
    let log = log_of(|g| {
        let last = g.add_node("last", node(log_word("last")).defer());
        let (a, b) = (g.add_node("a", log_word("a")), g.add_node("b", log_word("b")));
        let (c, d) = (g.add_node("c", log_word("c")), g.add_node("d", log_word("d")));
        g.add_edge(START, a)
            .add_edge(a, last)
            .add_edge(START, b)
            .add_edge(b, c)
            .add_edge(c, d)
            .add_edge(d, last)
            .add_edge(last, END);
    });
    assert_eq!(log.await, json!(["a", "b", "c", "d", "last"]));
}

/// R-FWK-2: a deferred node stays deferred after an interruption of the branch for which it waits.
#[tokio::test]
async fn a_deferred_node_still_waits_after_continuing() {
    let mut g = graph("g");
    let last = g.add_node("last", node(log_word("last")).defer());
    let (a, b, c) = (g.add_node("a", log_word("a")), g.add_node("b", log_word("b")), g.add_node("c", log_word("c")));
    g.add_edge(START, a).add_edge(a, last).add_edge(START, b).add_edge(b, c).add_edge(c, last).add_edge(last, END);
    g.checkpointer(MemoryCheckpointer::new()).interrupt_before(["c"]);
    let graph = g.compile().unwrap();
    assert_eq!(graph.invoke(json!({ "n": 0 })).thread("t").await.unwrap().next, ["c"]);
    assert_eq!(field(&graph.continue_thread("t").await.unwrap(), "log"), json!(["a", "b", "c", "last"]));
}
