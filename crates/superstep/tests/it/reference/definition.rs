//! Cases 1 to 15: what a drawing may say, and what its nodes and callers see.

use std::sync::Mutex;
use std::sync::mpsc::channel;
use std::time::Duration;

use serde_json::{Value, json};
use superstep::core::schema::field;
use superstep::prelude::*;
use superstep::{Code, Compat, Compiled, Endpoint, IntoNode, Record, Routes, Schema, Timeout};

use super::PROFILES;
use crate::engine::{TokioClock, field as value_of, graph, says, settle};
use crate::support::{dynamic, log, log_field, refused};

/// What compile refuses in a drawing that has `a` between start and end already; both profiles say the same.
fn refusals(draw: impl Fn(&mut Graph<Record>)) -> Vec<String> {
    let [strict, compat] = PROFILES.map(|compat| {
        let mut g = graph("g");
        let a = g.node("a", says("a"));
        g.edge(START, a).edge(a, END).compat(compat);
        draw(&mut g);
        let error = refused(g.compile());
        assert_eq!(error.code(), Code::InvalidGraph);
        error.problems().iter().map(|problem| problem.message.clone()).collect::<Vec<_>>()
    });
    assert_eq!(strict, compat);
    strict
}

/// R-REF-1: edges and routes out of the end, and into the start, are refused.
#[test]
fn nothing_leads_out_of_the_end_or_into_the_start() {
    let out = ["edge `__end__` -> `a`: nothing leads out of the end"];
    assert_eq!(refusals(|g| _ = g.edge(END, "a")), out);
    let into = ["edge `a` -> `__start__`: nothing leads to the start"];
    assert_eq!(refusals(|g| _ = g.edge("a", START)), into);
    let route = refusals(|g| _ = g.route(END, |_| "a", ["a"]).route("a", |_| END, [START, END]));
    assert_eq!(route.len(), 2, "{route:?}");
}

/// R-REF-2: a graph that nothing enters does not compile, whatever its nodes lead to.
#[test]
fn a_graph_needs_a_way_in() {
    for compat in PROFILES {
        let mut g = graph("g");
        let [a, b] = ["a", "b"].map(|name| g.node(name, says(name)));
        g.edge(a, b).edge(b, END).compat(compat);
        let error = refused(g.compile());
        assert!(error.to_string().contains("nothing leads out of the start"), "{error}");
        g.edge(START, a);
        assert!(g.compile().is_ok());
    }
}

/// What a drawing gets besides, and what is said of it.
type Refusal = (fn(&mut Graph<Record>), &'static str);

/// R-REF-3: an edge, a route or a declared command to a node that is not there is refused with both its ends.
#[test]
fn a_way_to_nowhere_is_told_with_both_ends() {
    let rows: [Refusal; 5] = [
        (|g| _ = g.edge("a", "nowhere"), "edge `a` -> `nowhere`: no node `nowhere`"),
        (|g| _ = g.edge("nowhere", "a"), "edge `nowhere` -> `a`: no node `nowhere`"),
        (|g| _ = g.route("a", |_| END, ["nowhere", "__end__"]), "route `a` -> `nowhere`: no node `nowhere`"),
        (|g| _ = g.route_by("a", |_| "k", [("k", "nowhere")], None), "route `a` -> `nowhere`: no node `nowhere`"),
        (
            |g| {
                let jump = g.node("jump", node(says("jump")).goto(["nowhere"]));
                g.edge("a", jump).edge(jump, END);
            },
            "goto `jump` -> `nowhere`: no node `nowhere`",
        ),
    ];
    for (draw, message) in rows {
        assert_eq!(refusals(draw), [message]);
    }
}

/// R-REF-4: a name that is taken, reserved or would not fit into a path is refused.
#[test]
fn names_are_unique_free_and_fit_into_paths() {
    let rows = [
        ("a", "node `a` is added twice"),
        ("__start__", "node name `__start__` is reserved"),
        ("__end__", "node name `__end__` is reserved"),
        ("__mine", "node name `__mine` is reserved"),
        ("b|c", "node name `b|c` contains `|` or `:`"),
        ("b:c", "node name `b:c` contains `|` or `:`"),
        ("", "a node needs a name"),
    ];
    for (name, message) in rows {
        let found = refusals(|g| {
            let other = g.node(name, says("other"));
            g.edge(START, other).edge(other, END);
        });
        assert_eq!(found, [message], "{name}");
    }
}

/// R-REF-5: a join from or to a node that is not there is refused.
#[test]
fn a_join_names_nodes_that_are_there() {
    let from = refusals(|g| {
        let b = g.node("b", says("b"));
        g.join(["a", "nowhere"], b).edge(b, END);
    });
    assert_eq!(from, ["join `nowhere` -> `b`: no node `nowhere`"]);
    let to = refusals(|g| {
        let b = g.node("b", says("b"));
        g.edge(START, b).edge(b, END).join(["a", "b"], "nowhere");
    });
    assert_eq!(to, ["join `a, b` -> `nowhere`: no node `nowhere`"]);
}

/// R-REF-6: a field is declared once, with one reducer; naming it in an input or output schema leaves the reducer on.
#[tokio::test]
async fn a_field_has_one_reducer() {
    for second in [field("log").reducer("add"), field("log")] {
        let error = refused(Schema::builder("state").field(field("log").reducer("append")).field(second).build());
        assert_eq!(error.code(), Code::InvalidGraph);
        assert!(error.problems()[0].message.contains("field `log` is declared twice"), "{error}");
    }
    for compat in PROFILES {
        let mut g = graph("g");
        let a = g.node("a", says("a"));
        g.edge(START, a).edge(a, END).input(["log"]).output(["log"]).compat(compat);
        let done = g.compile().unwrap().run(json!({ "log": ["in"] })).await.unwrap();
        assert_eq!(done.to_json().unwrap(), json!({ "log": ["in", "a"] }));
    }
}

/// R-REF-7: what the engine computes for a node is no field of input or output, in a schema or in a value.
#[tokio::test]
async fn computed_values_are_no_fields() {
    let found = refusals(|g| _ = g.input(["n", "remaining_steps"]).output(["is_last_step"]));
    assert_eq!(found.len(), 2, "{found:?}");
    assert!(found[0].contains("input") && found[0].contains("`remaining_steps`"), "{found:?}");
    assert!(found[1].contains("output") && found[1].contains("`is_last_step`"), "{found:?}");
    let given = |compat| {
        let mut g = graph("g");
        let a = g.node("a", |cx: Cx| json!({ "log": [cx.remaining_steps() == 1] }));
        g.edge(START, a).edge(a, END).compat(compat);
        g.compile().unwrap().run(json!({ "n": 0, "remaining_steps": 1 }))
    };
    assert_eq!(refused(given(Compat::Strict).await).code(), Code::InputInvalid);
    // An unknown name is left out there, and changes nothing of what is computed.
    assert_eq!(value_of(&given(Compat::LangGraph).await.unwrap(), "log"), json!([false]));
}

/// R-REF-9: a breakpoint before or after a node that is not there is refused.
#[test]
fn breakpoints_stand_at_nodes_that_are_there() {
    let message = ["breakpoint at unknown node `nowhere`"];
    assert_eq!(refusals(|g| _ = g.interrupt_before(["a", "nowhere"])), message);
    assert_eq!(refusals(|g| _ = g.interrupt_after(["nowhere", "*"])), message);
}

/// R-REF-10: a plain function runs in one go, so a limit on it is refused; an async one can have a limit.
#[test]
fn a_limit_on_what_cannot_be_stopped_is_refused() {
    fn compiles<M>(node: impl IntoNode<Record, (), M>) -> superstep::Result<Compiled<Record>> {
        let mut g = graph("g");
        let slow = g.node("slow", node);
        g.edge(START, slow).edge(slow, END).compile()
    }
    let second = Duration::from_secs(1);
    for limit in [Timeout::run(second), Timeout::idle(second)] {
        let error = refused(compiles(node(says("x")).timeout(limit.clone())));
        assert_eq!((error.code(), error.problems().len()), (Code::InvalidGraph, 1));
        for word in ["`slow`", "timeout", "`async`", "`blocking(..)`"] {
            assert!(error.to_string().contains(word), "{word} in {error}");
        }
        assert!(compiles(node(async || ()).timeout(limit.clone())).is_ok());
        assert!(compiles(node(|| async {}).timeout(limit)).is_ok());
    }
    assert!(compiles(says("x")).is_ok());
}

/// R-REF-10: blocking work is left behind at its limit: the run fails there, and what comes late counts for nothing.
#[tokio::test(start_paused = true)]
async fn blocking_work_is_left_behind_at_its_limit() {
    let ((open, gate), (tell, told)) = (channel::<()>(), channel::<()>());
    let gate = Mutex::new(gate);
    let mut g = graph("g");
    let work = move || {
        gate.lock().unwrap().recv().unwrap();
        tell.send(()).unwrap();
        json!({ "log": ["late"] })
    };
    let slow = g.node("slow", blocking(work).timeout(Duration::from_secs(3)));
    g.edge(START, slow).edge(slow, END).checkpointer(Memory::new());
    let graph = g.compile().unwrap();
    // Paused time does not jump while blocking work is under way: the clock is moved by hand.
    let run = graph.run(json!({ "n": 0 })).thread("t").clock(TokioClock::new()).spawn();
    settle().await;
    tokio::time::advance(Duration::from_secs(4)).await;
    assert_eq!(refused(run.await).code(), Code::Timeout);
    open.send(()).unwrap();
    told.recv().unwrap();
    assert_eq!(log(&graph.threads().state("t").await.unwrap().state), Vec::<String>::new());
}

/// R-DEF-9: a graph may be compiled as often as one likes, defaults and handler included, also after it was refused.
#[tokio::test]
async fn a_drawing_compiles_again_after_it_was_mended() {
    use superstep::{Cache, CachePolicy};
    let mut g = graph("g");
    let a = g.node("a", node(says("a")).cache(CachePolicy::by_input()));
    g.edge(START, a).edge(a, END).interrupt_before(["b"]);
    g.default_on_error(|| ()).default_timeout(Duration::from_secs(9)).default_retry(Retry::exponential(2));
    for _ in 0..2 {
        let error = refused(g.compile());
        assert_eq!(error.problems().len(), 2, "{error}");
    }
    g.cache(Cache::new());
    let b = g.node("b", says("b"));
    g.edge(a, b).edge(b, END);
    for _ in 0..2 {
        assert_eq!(g.compile().unwrap().run(json!({ "n": 0 })).await.unwrap().next, ["b"]);
    }
}

/// R-REF-13, R-REF-14: a field that is closed to a node is not seen by it, one outside the output not by the caller;
/// both are there for those who declare them.
#[tokio::test]
async fn nodes_and_callers_see_what_is_theirs() {
    for compat in PROFILES {
        let mut graph = dynamic(
            json!({ "topic": null, "note": null, "draft": { "private": true, "default": "none" }, "log": log_field() }),
        );
        let write = graph.node("write", node(|| json!({ "draft": "d1", "note": "n1" })).writes(["draft"]));
        let look = |state: View<Record>| {
            let seen: Vec<String> = state.to_json().as_object().unwrap().keys().cloned().collect();
            json!({ "log": format!("{} sees {}", state.get("topic"), seen.join(" ")) })
        };
        let open = graph.node("open", node(look).reads(["draft"]));
        let closed = graph.node("closed", look);
        graph.sequence([START, write.into(), open.into(), closed.into(), END]).output(["log"]).compat(compat);
        let graph = graph.compile().unwrap();
        let done = graph.run(json!({ "topic": "t" })).thread("t").await.unwrap();
        let expected = [r#""t" sees draft log note topic"#, r#""t" sees log note topic"#];
        assert_eq!(done.to_json().unwrap(), json!({ "log": expected }));
        assert_eq!((&*done.state.get("note"), &*done.state.get("draft")), (&Value::Null, &json!("none")));
        assert_eq!(*graph.threads().state("t").await.unwrap().state.get("note"), json!("n1"));
    }
}

/// R-REF-15: without declared targets a route may name any node; a result outside its map or its targets is an error.
#[tokio::test]
async fn a_route_leads_anywhere_or_where_it_declares() {
    for compat in PROFILES {
        let drawn = |draw: fn(&mut Graph<Record>)| {
            let mut g = graph("g");
            let [a, b, c] = ["a", "b", "c"].map(|name| g.node(name, says(name)));
            g.edge(START, a).edge(b, END).edge(c, END).edge(a, b).edge(b, c).compat(compat);
            draw(&mut g);
            g.compile().unwrap().run(json!({ "n": 0 }))
        };
        let log = async |draw| value_of(&drawn(draw).await.unwrap(), "log");
        assert_eq!(log(|g| _ = g.route("a", |_| "c", Routes::ANYWHERE)).await, json!(["a", "b", "c", "c"]));
        let map = |g: &mut Graph<Record>| _ = g.route_by("a", |_| "key", [("key", Endpoint::from("c"))], None);
        assert_eq!(log(map).await, json!(["a", "b", "c", "c"]));
        let refusals: [fn(&mut Graph<Record>); 3] = [
            |g| _ = g.route("a", |_| "elsewhere", Routes::ANYWHERE),
            |g| _ = g.route("a", |_| "c", ["b"]),
            |g| _ = g.route_by("a", |_| "other", [("key", Endpoint::from("c"))], None),
        ];
        for draw in refusals {
            let error = refused(drawn(draw).await);
            assert_eq!((error.code(), error.place().node.as_deref()), (Code::InvalidRoute, Some("a")), "{error}");
        }
    }
}
