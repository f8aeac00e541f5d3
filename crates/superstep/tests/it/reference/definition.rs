//! Cases 1 to 15: valid graphs, and the fields that nodes and callers see.

use std::sync::Mutex;
use std::sync::mpsc::channel;
use std::time::Duration;

use serde_json::{Value, json};
use superstep::core::schema::field;
use superstep::prelude::*;
use superstep::{
    Compat, CompiledGraph, DynamicState, Endpoint, ErrorCode, IntoNode, RouteTargets, Schema, TimeoutPolicy,
};

use super::COMPAT_MODES;
use crate::fixtures::{TokioClock, field as value_of, graph, log_word, settle};
use crate::support::{dynamic, expect_error, log, log_field};

/// Returns the compile errors of a graph that already has `a` between start and end; equal in both modes.
fn compile_errors(draw: impl Fn(&mut StateGraph<DynamicState>)) -> Vec<String> {
    let [strict, compat] = COMPAT_MODES.map(|compat| {
        let mut g = graph("g");
        let a = g.add_node("a", log_word("a"));
        g.add_edge(START, a).add_edge(a, END).compat(compat);
        draw(&mut g);
        let error = expect_error(g.compile());
        assert_eq!(error.code(), ErrorCode::InvalidGraph);
        error.diagnostics().iter().map(|problem| problem.message.clone()).collect::<Vec<_>>()
    });
    assert_eq!(strict, compat);
    strict
}

/// R-REF-1: edges and conditional edges from the end, and to the start, are rejected.
#[test]
fn edges_from_end_or_to_start_are_rejected() {
    let out = ["edge `__end__` -> `a`: `END` cannot be a source"];
    assert_eq!(compile_errors(|g| _ = g.add_edge(END, "a")), out);
    let into = ["edge `a` -> `__start__`: `START` cannot be a target"];
    assert_eq!(compile_errors(|g| _ = g.add_edge("a", START)), into);
    let route = compile_errors(|g| {
        _ = g.add_conditional_edges(END, |_| "a", ["a"]).add_conditional_edges("a", |_| END, [START, END])
    });
    assert_eq!(route.len(), 2, "{route:?}");
}

/// R-REF-2: a graph without an edge from the start does not compile, whatever its other edges are.
#[test]
fn a_graph_needs_a_way_in() {
    for compat in COMPAT_MODES {
        let mut g = graph("g");
        let [a, b] = ["a", "b"].map(|name| g.add_node(name, log_word(name)));
        g.add_edge(a, b).add_edge(b, END).compat(compat);
        let error = expect_error(g.compile());
        assert!(error.to_string().contains("`START` has no outgoing edge"), "{error}");
        g.add_edge(START, a);
        assert!(g.compile().is_ok());
    }
}

/// An addition to a graph, and its error.
type InvalidGraphCase = (fn(&mut StateGraph<DynamicState>), &'static str);

/// R-REF-3: an edge, a conditional edge or a declared goto to an unknown node is rejected with both endpoints.
#[test]
fn an_edge_to_nowhere_is_reported_with_both_ends() {
    let rows: [InvalidGraphCase; 5] = [
        (|g| _ = g.add_edge("a", "nowhere"), "edge `a` -> `nowhere`: no node `nowhere`"),
        (|g| _ = g.add_edge("nowhere", "a"), "edge `nowhere` -> `a`: no node `nowhere`"),
        (
            |g| _ = g.add_conditional_edges("a", |_| END, ["nowhere", "__end__"]),
            "route `a` -> `nowhere`: no node `nowhere`",
        ),
        (
            |g| _ = g.add_conditional_edges_by_key("a", |_| "k", [("k", "nowhere")], None),
            "route `a` -> `nowhere`: no node `nowhere`",
        ),
        (
            |g| {
                let jump = g.add_node("jump", node(log_word("jump")).goto_targets(["nowhere"]));
                g.add_edge("a", jump).add_edge(jump, END);
            },
            "goto `jump` -> `nowhere`: no node `nowhere`",
        ),
    ];
    for (draw, message) in rows {
        assert_eq!(compile_errors(draw), [message]);
    }
}

/// R-REF-4: a name that is taken, reserved or not valid in a namespace is rejected.
#[test]
fn names_are_unique_free_and_fit_into_paths() {
    let rows = [
        ("a", "duplicate node `a`"),
        ("__start__", "node name `__start__` is reserved"),
        ("__end__", "node name `__end__` is reserved"),
        ("__mine", "node name `__mine` is reserved"),
        ("b|c", "node name `b|c` contains `|` or `:`"),
        ("b:c", "node name `b:c` contains `|` or `:`"),
        ("", "the name of a node is empty"),
    ];
    for (name, message) in rows {
        let errors = compile_errors(|g| {
            let other = g.add_node(name, log_word("other"));
            g.add_edge(START, other).add_edge(other, END);
        });
        assert_eq!(errors, [message], "{name}");
    }
}

/// R-REF-5: a join from or to an unknown node is rejected.
#[test]
fn a_join_names_nodes_that_are_there() {
    let from = compile_errors(|g| {
        let b = g.add_node("b", log_word("b"));
        g.add_join(["a", "nowhere"], b).add_edge(b, END);
    });
    assert_eq!(from, ["join `nowhere` -> `b`: no node `nowhere`"]);
    let to = compile_errors(|g| {
        let b = g.add_node("b", log_word("b"));
        g.add_edge(START, b).add_edge(b, END).add_join(["a", "b"], "nowhere");
    });
    assert_eq!(to, ["join `a, b` -> `nowhere`: no node `nowhere`"]);
}

/// R-REF-6: a field is declared once, with one reducer; naming it in an input or output schema does not change the
/// reducer.
#[tokio::test]
async fn a_field_has_one_reducer() {
    for second in [field("log").reducer("add"), field("log")] {
        let error = expect_error(Schema::builder("state").field(field("log").reducer("append")).field(second).build());
        assert_eq!(error.code(), ErrorCode::InvalidGraph);
        assert!(error.diagnostics()[0].message.contains("duplicate field `log`"), "{error}");
    }
    for compat in COMPAT_MODES {
        let mut g = graph("g");
        let a = g.add_node("a", log_word("a"));
        g.add_edge(START, a).add_edge(a, END).input_fields(["log"]).output_fields(["log"]).compat(compat);
        let done = g.compile().unwrap().invoke(json!({ "log": ["in"] })).await.unwrap();
        assert_eq!(done.to_json().unwrap(), json!({ "log": ["in", "a"] }));
    }
}

/// R-REF-7: values that the engine computes for a node are not fields of input or output, in a schema or in a value.
#[tokio::test]
async fn computed_values_are_no_fields() {
    let errors = compile_errors(|g| _ = g.input_fields(["n", "remaining_steps"]).output_fields(["is_last_step"]));
    assert_eq!(errors.len(), 2, "{errors:?}");
    assert!(errors[0].contains("input") && errors[0].contains("`remaining_steps`"), "{errors:?}");
    assert!(errors[1].contains("output") && errors[1].contains("`is_last_step`"), "{errors:?}");
    let run = |compat| {
        let mut g = graph("g");
        let a = g.add_node("a", |cx: TaskContext| json!({ "log": [cx.remaining_steps() == 1] }));
        g.add_edge(START, a).add_edge(a, END).compat(compat);
        g.compile().unwrap().invoke(json!({ "n": 0, "remaining_steps": 1 }))
    };
    assert_eq!(expect_error(run(Compat::Strict).await).code(), ErrorCode::InputInvalid);
    // In compatibility mode an unknown name is dropped, and does not affect the computed value.
    assert_eq!(value_of(&run(Compat::LangGraph).await.unwrap(), "log"), json!([false]));
}

/// R-REF-9: a breakpoint before or after an unknown node is rejected.
#[test]
fn breakpoints_at_unknown_nodes_are_rejected() {
    let message = ["breakpoint at unknown node `nowhere`"];
    assert_eq!(compile_errors(|g| _ = g.interrupt_before(["a", "nowhere"])), message);
    assert_eq!(compile_errors(|g| _ = g.interrupt_after(["nowhere", "*"])), message);
}

/// R-REF-10: a synchronous function cannot be stopped, so a timeout on it is rejected; an async one can have a
/// timeout.
#[test]
fn a_timeout_on_a_node_that_cannot_be_stopped_is_rejected() {
    fn compiles<M>(node: impl IntoNode<DynamicState, (), M>) -> superstep::Result<CompiledGraph<DynamicState>> {
        let mut g = graph("g");
        let slow = g.add_node("slow", node);
        g.add_edge(START, slow).add_edge(slow, END).compile()
    }
    let second = Duration::from_secs(1);
    for limit in [TimeoutPolicy::run_timeout(second), TimeoutPolicy::idle_timeout(second)] {
        let error = expect_error(compiles(node(log_word("x")).timeout(limit.clone())));
        assert_eq!((error.code(), error.diagnostics().len()), (ErrorCode::InvalidGraph, 1));
        for word in ["`slow`", "timeout", "`async`", "`blocking(..)`"] {
            assert!(error.to_string().contains(word), "{word} in {error}");
        }
        assert!(compiles(node(async || ()).timeout(limit.clone())).is_ok());
        assert!(compiles(node(|| async {}).timeout(limit)).is_ok());
    }
    assert!(compiles(log_word("x")).is_ok());
}

/// R-REF-10: a blocking node continues after its timeout: the run fails, and the late result is ignored.
#[tokio::test(start_paused = true)]
async fn blocking_work_is_left_behind_at_its_limit() {
    let ((open, gate), (sender, receiver)) = (channel::<()>(), channel::<()>());
    let gate = Mutex::new(gate);
    let mut g = graph("g");
    let work = move || {
        gate.lock().unwrap().recv().unwrap();
        sender.send(()).unwrap();
        json!({ "log": ["late"] })
    };
    let slow = g.add_node("slow", blocking(work).timeout(Duration::from_secs(3)));
    g.add_edge(START, slow).add_edge(slow, END).checkpointer(MemoryCheckpointer::new());
    let graph = g.compile().unwrap();
    // Paused time does not advance automatically while a blocking task runs: the clock is advanced explicitly.
    let run = graph.invoke(json!({ "n": 0 })).thread("t").clock(TokioClock::new()).spawn();
    settle().await;
    tokio::time::advance(Duration::from_secs(4)).await;
    assert_eq!(expect_error(run.await).code(), ErrorCode::Timeout);
    open.send(()).unwrap();
    receiver.recv().unwrap();
    assert_eq!(log(&graph.threads().get_state("t").await.unwrap().state), Vec::<String>::new());
}

/// R-DEF-9: a graph can be compiled repeatedly, with defaults and handler, also after an error.
#[tokio::test]
async fn a_graph_compiles_again_after_it_was_repaired() {
    use superstep::{Cache, CachePolicy};
    let mut g = graph("g");
    let a = g.add_node("a", node(log_word("a")).cache(CachePolicy::by_input()));
    g.add_edge(START, a).add_edge(a, END).interrupt_before(["b"]);
    g.default_error_handler(|| ()).default_timeout(Duration::from_secs(9)).default_retry(RetryPolicy::exponential(2));
    for _ in 0..2 {
        let error = expect_error(g.compile());
        assert_eq!(error.diagnostics().len(), 2, "{error}");
    }
    g.cache(Cache::new());
    let b = g.add_node("b", log_word("b"));
    g.add_edge(a, b).add_edge(b, END);
    for _ in 0..2 {
        assert_eq!(g.compile().unwrap().invoke(json!({ "n": 0 })).await.unwrap().next, ["b"]);
    }
}

/// R-REF-13, R-REF-14: a private field is hidden from nodes, a field outside the output schema from the caller; both
/// are visible to those that declare them.
#[tokio::test]
async fn hidden_fields_are_visible_only_where_declared() {
    for compat in COMPAT_MODES {
        let mut graph = dynamic(
            json!({ "topic": null, "note": null, "draft": { "private": true, "default": "none" }, "log": log_field() }),
        );
        let write = graph.add_node("write", node(|| json!({ "draft": "d1", "note": "n1" })).writes(["draft"]));
        let inspect = |state: View<DynamicState>| {
            let seen: Vec<String> = state.to_json().as_object().unwrap().keys().cloned().collect();
            json!({ "log": format!("{} sees {}", state.get("topic"), seen.join(" ")) })
        };
        let open = graph.add_node("open", node(inspect).reads(["draft"]));
        let closed = graph.add_node("closed", inspect);
        graph
            .add_sequence([START, write.into(), open.into(), closed.into(), END])
            .output_fields(["log"])
            .compat(compat);
        let graph = graph.compile().unwrap();
        let done = graph.invoke(json!({ "topic": "t" })).thread("t").await.unwrap();
        let expected = [r#""t" sees draft log note topic"#, r#""t" sees log note topic"#];
        assert_eq!(done.to_json().unwrap(), json!({ "log": expected }));
        assert_eq!((&*done.state.get("note"), &*done.state.get("draft")), (&Value::Null, &json!("none")));
        assert_eq!(*graph.threads().get_state("t").await.unwrap().state.get("note"), json!("n1"));
    }
}

/// R-REF-15: without declared targets a conditional edge may name any node; a result outside its map or its targets
/// is an error.
#[tokio::test]
async fn routes_select_declared_targets_or_any_node() {
    for compat in COMPAT_MODES {
        let drawn = |draw: fn(&mut StateGraph<DynamicState>)| {
            let mut g = graph("g");
            let [a, b, c] = ["a", "b", "c"].map(|name| g.add_node(name, log_word(name)));
            g.add_edge(START, a).add_edge(b, END).add_edge(c, END).add_edge(a, b).add_edge(b, c).compat(compat);
            draw(&mut g);
            g.compile().unwrap().invoke(json!({ "n": 0 }))
        };
        let log = async |draw| value_of(&drawn(draw).await.unwrap(), "log");
        assert_eq!(
            log(|g| _ = g.add_conditional_edges("a", |_| "c", RouteTargets::ANY)).await,
            json!(["a", "b", "c", "c"])
        );
        let map = |g: &mut StateGraph<DynamicState>| {
            _ = g.add_conditional_edges_by_key("a", |_| "key", [("key", Endpoint::from("c"))], None)
        };
        assert_eq!(log(map).await, json!(["a", "b", "c", "c"]));
        let invalid_draws: [fn(&mut StateGraph<DynamicState>); 3] = [
            |g| _ = g.add_conditional_edges("a", |_| "elsewhere", RouteTargets::ANY),
            |g| _ = g.add_conditional_edges("a", |_| "c", ["b"]),
            |g| _ = g.add_conditional_edges_by_key("a", |_| "other", [("key", Endpoint::from("c"))], None),
        ];
        for draw in invalid_draws {
            let error = expect_error(drawn(draw).await);
            assert_eq!(
                (error.code(), error.location().node.as_deref()),
                (ErrorCode::InvalidRoute, Some("a")),
                "{error}"
            );
        }
    }
}
