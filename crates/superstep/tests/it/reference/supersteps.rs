//! Cases 31 to 46: scheduling, input and limits of supersteps.

use serde_json::{Value, json};
use superstep::core::machine::MachineEvent;
use superstep::prelude::*;
use superstep::{
    Compat, CompiledGraph, DynamicState, ErrorCode, EventKind, RouteTargets, RunBuilder, RunEnd, ThreadStatus,
};

use super::COMPAT_MODES;
use crate::fixtures::{field, graph, log_word, outcome};
use crate::support::{Calls, dynamic, expect_error, line, log, log_field};

/// R-REF-31, R-REF-32: a conditional edge sees the sum with the addition of its own node only; the next superstep
/// sees all of them.
#[tokio::test]
async fn a_route_sees_its_own_node_and_no_sibling() {
    for compat in COMPAT_MODES {
        let mut g = graph("g");
        let [alone, both] = ["alone", "both"].map(|name| {
            g.add_node(name, move |s: View<DynamicState>| json!({ "log": [format!("{name} at {}", s.get("n"))] }))
        });
        for name in ["a", "b"] {
            let add = g.add_node(name, || json!({ "n": 1 }));
            let decide = move |s: &DynamicState| if s.get("n").as_i64() == Some(1) { alone } else { both };
            g.add_edge(START, add).add_conditional_edges(add, decide, [alone, both]);
        }
        g.add_edge(alone, END).add_edge(both, END).compat(compat);
        let done = g.compile().unwrap().invoke(json!({ "n": 0 })).await.unwrap();
        assert_eq!(field(&done, "log"), json!(["alone at 2"]));
    }
}

/// R-REF-33, R-REF-37: names and sends of one conditional edge are scheduled together, in the order of registration
/// with each node's sends after it, or by name and then all sends by number.
#[tokio::test]
async fn due_tasks_have_the_order_of_their_profile() {
    let rows = [
        (Compat::Strict, json!(["z", "w", "w3", "w1", "b", "b2"])),
        (Compat::LangGraph, json!(["b", "w", "z", "w3", "b2", "w1"])),
    ];
    for (compat, expected) in rows {
        let done = outcome(
            |g| {
                let fan = g.add_node("fan", || ());
                let log_node = |sent: Option<SendPayload<u32>>, cx: TaskContext| {
                    let number = sent.map_or(String::new(), |sent| sent.0.to_string());
                    json!({ "log": [format!("{}{number}", cx.node())] })
                };
                let [z, w, b] = ["z", "w", "b"].map(|name| g.add_node(name, log_node));
                let sends = move || [SendTo::new(w, 3u32), SendTo::new(b, 2u32), SendTo::new(w, 1u32)];
                g.add_conditional_edges(
                    fan,
                    move |_: &DynamicState| Goto::sends(sends()).and_node(z).and_node(b).and_node(w),
                    [z, w, b],
                );
                g.add_edge(START, fan).add_edge(z, END).add_edge(w, END).add_edge(b, END).compat(compat);
            },
            json!({ "n": 0 }),
        )
        .await
        .unwrap();
        assert_eq!((field(&done, "log"), done.supersteps), (expected, 2));
    }
}

/// R-REF-34, R-REF-35: thirteen sends keep their order; each task has its payload and not the state, and its result
/// is reduced.
#[tokio::test]
async fn thirteen_sends_keep_order_and_payload() {
    for compat in COMPAT_MODES {
        let mut g = graph("g");
        let work =
            g.add_node("work", |sent: SendPayload<Value>| json!({ "log": [sent["number"]], "n": sent["number"] }));
        let sends =
            move |_: &DynamicState| (0..13).map(|number| SendTo::new(work, json!({ "number": number }))).collect();
        g.set_conditional_entry_point::<Vec<SendTo>>(sends, [work]).add_edge(work, END).compat(compat);
        let done = g.compile().unwrap().invoke(json!({ "title": "not given" })).await.unwrap();
        assert_eq!((field(&done, "log"), field(&done, "n")), (json!((0..13).collect::<Vec<_>>()), json!(78)));
    }
}

/// R-REF-36: a send to an unknown node or to the end fails its node, from a conditional edge and from a command;
/// nothing of the node is applied. LangGraph drops the former with a log line; compatibility mode does not.
#[tokio::test]
async fn a_send_to_nowhere_is_rejected() {
    for compat in COMPAT_MODES {
        for to in ["nowhere", "__end__"] {
            let mut routed = graph("routed");
            let a = routed.add_node("a", log_word("a"));
            routed
                .add_edge(START, a)
                .add_conditional_edges(a, move |_: &DynamicState| SendTo::new(to, 1), RouteTargets::ANY)
                .compat(compat);
            let mut commanded = graph("commanded");
            let command =
                move || Command::<DynamicState>::new().update(json!({ "log": ["a"] })).send(SendTo::new(to, 1));
            let a = commanded.add_node("a", command);
            commanded.add_edge(START, a).add_edge(a, END).compat(compat);
            for mut g in [routed, commanded] {
                let error = expect_error(g.compile().unwrap().invoke(json!({ "n": 0 })).await);
                assert_eq!(
                    (error.code(), error.location().node.as_deref()),
                    (ErrorCode::InvalidRoute, Some("a")),
                    "{error}"
                );
                assert_eq!(error.partial_state::<DynamicState>().unwrap().get("log").into_owned(), json!([]));
            }
        }
    }
}

/// Returns all events of the machine, and the outcome of the run.
async fn watched(
    run: RunBuilder<DynamicState>,
) -> (Vec<MachineEvent>, superstep::Result<superstep::Outcome<DynamicState>>) {
    let (mut stream, mut events) = (run.stream(), Vec::new());
    while let Some(event) = stream.next().await {
        if let EventKind::Machine(event) = event.kind {
            events.push(event);
        }
    }
    (events, stream.finish().await)
}

/// R-REF-38: a loop returns to its node as often as configured, each time as a separate task.
#[tokio::test]
async fn each_visit_of_a_loop_is_a_task_of_its_own() {
    for compat in COMPAT_MODES {
        let mut g = graph("g");
        let count = g.add_node("count", |cx: TaskContext| json!({ "n": 1, "log": [cx.idempotency_key()] }));
        let route = move |s: &DynamicState| if s.get("n").as_i64() < Some(5) { Goto::node(count) } else { Goto::end() };
        g.add_edge(START, count)
            .add_conditional_edges(count, route, [count.into(), END])
            .checkpointer(MemoryCheckpointer::new())
            .compat(compat);
        let (events, done) = watched(g.compile().unwrap().invoke(json!({ "n": 0 })).thread("t")).await;
        let started = events.iter().filter_map(|event| match event {
            MachineEvent::TaskStarted { task, .. } => Some(task.to_string()),
            _ => None,
        });
        let keys: Vec<String> = serde_json::from_value(field(&done.unwrap(), "log")).unwrap();
        for mut ids in [keys, started.collect()] {
            ids.sort();
            ids.dedup();
            assert_eq!(ids.len(), 5);
        }
    }
}

/// R-REF-39: a limit of N permits N supersteps, one fewer in LangGraph; beyond it the run fails, its work is saved,
/// and the last published checkpoint is the latest.
#[tokio::test]
async fn a_limit_is_the_documented_number_of_supersteps() {
    for (compat, enough) in [(Compat::Strict, 3), (Compat::LangGraph, 4)] {
        let build = || line(&Calls::default(), &["a", "b", "c"]).compat(compat).compile().unwrap();
        let input = || json!({ "topic": "x" });
        assert!(build().invoke(input()).recursion_limit(enough).await.unwrap().is_finished());
        let graph = build();
        let (events, ended) = watched(graph.invoke(input()).thread("t").recursion_limit(enough - 1)).await;
        let error = expect_error(ended);
        assert_eq!((error.code(), error.code().to_string()), (ErrorCode::RecursionLimit, "SS-010".to_owned()));
        let published = events.iter().rev().find_map(|event| match event {
            MachineEvent::Checkpoint { id, .. } => Some(*id),
            _ => None,
        });
        let saved = graph.threads().get_state("t").await.unwrap();
        assert_eq!((Some(saved.id()), error.partial().unwrap().checkpoint), (published, published));
        // LangGraph tests its limit before it checks for remaining tasks: there the third node has run.
        let done: &[&str] = if compat == Compat::Strict { &["a", "b"] } else { &["a", "b", "c"] };
        assert_eq!(
            (log(&saved.state), saved.next.len()),
            (done.iter().map(|n| n.to_string()).collect(), 3 - done.len())
        );
        assert_eq!(graph.threads().status("t").await.unwrap(), Some(ThreadStatus::Error));
        assert_eq!(expect_error(graph.invoke(input()).recursion_limit(0).await).code(), ErrorCode::InputInvalid);
    }
}

/// R-REF-40: the number of remaining steps decreases by one with each superstep and is 1 in the last permitted one.
#[tokio::test]
async fn the_remaining_steps_count_down_to_one() {
    for (compat, limit) in [(Compat::Strict, 3), (Compat::LangGraph, 4)] {
        let mut g = graph("g");
        let record = |cx: TaskContext| json!({ "log": [[cx.remaining_steps(), cx.is_last_step()]] });
        let [a, b, c] = ["a", "b", "c"].map(|name| g.add_node(name, record));
        g.add_sequence([START, a.into(), b.into(), c.into(), END]).compat(compat).recursion_limit(limit);
        let done = g.compile().unwrap().invoke(json!({ "n": 0 })).await.unwrap();
        assert_eq!(field(&done, "log"), json!([[3, false], [2, false], [1, true]]));
    }
}

/// R-REF-41: an input is applied to a finished thread; on an interrupted one, the next tasks are dropped.
#[tokio::test]
async fn an_input_is_applied_and_drops_next_tasks_of_an_interrupted_thread() {
    for compat in COMPAT_MODES {
        let calls = Calls::default();
        let graph = line(&calls, &["a", "b"]).compat(compat).compile().unwrap();
        graph.invoke(json!({ "log": "1" })).thread("t").await.unwrap();
        graph.invoke(json!({ "log": "2" })).thread("t").interrupt_before(["b"]).await.unwrap();
        calls.take();
        let done = graph.invoke(json!({ "log": "3" })).thread("t").await.unwrap();
        assert_eq!(log(&done.state), ["1", "a", "b", "2", "a", "3", "a", "b"]);
        assert_eq!(calls.take(), ["a", "b"]);
    }
}

/// R-REF-42: an input without a value is rejected (LangGraph accepts it), and a thread that never started cannot be
/// continued.
#[tokio::test]
async fn an_empty_input_and_continuing_nothing_are_rejected() {
    for compat in COMPAT_MODES {
        let calls = Calls::default();
        let graph = line(&calls, &["a"]).compat(compat).compile().unwrap();
        let rows = [
            (graph.invoke(json!({})).thread("t"), "empty"),
            (graph.invoke(Value::Null).thread("t"), "empty"),
            (graph.continue_thread("t"), "the thread is new"),
            (graph.command("t", Command::goto("a")), "requires a started thread"),
        ];
        for (run, words) in rows {
            let error = expect_error(run.await);
            assert!(error.code() == ErrorCode::InputInvalid && error.message().contains(words), "{error}");
        }
        assert_eq!((calls.take().len(), graph.threads().status("t").await.unwrap()), (0, None));
    }
}

/// R-REF-44: a goto to the end stops no other branch; only in LangGraph the edge of the node is followed as well.
#[tokio::test]
async fn going_to_the_end_stops_its_own_branch() {
    let rows = [
        (Compat::Strict, json!(["quits", "stays", "last"])),
        (Compat::LangGraph, json!(["quits", "stays", "beside", "last"])),
    ];
    for (compat, expected) in rows {
        let done = outcome(
            |g| {
                let quits = || Command::<DynamicState>::end().update(json!({ "log": ["quits"] }));
                let quits = g.add_node("quits", node(quits).goto_targets([END]));
                let [stays, sibling, last] = ["stays", "beside", "last"].map(|name| g.add_node(name, log_word(name)));
                g.add_edge(START, quits).add_edge(START, stays).add_edge(quits, sibling).add_edge(stays, last);
                g.add_edge(sibling, END).add_edge(last, END).compat(compat);
            },
            json!({ "n": 0 }),
        );
        assert_eq!(field(&done.await.unwrap(), "log"), expected);
    }
}

/// R-REF-45: a command with an update is applied once; the next tasks stay, and an ephemeral value is still there.
#[tokio::test]
async fn a_command_from_outside_disturbs_nothing() {
    for compat in COMPAT_MODES {
        let mut graph = dynamic(json!({
            "log": log_field(),
            "n": { "reducer": "add", "default": 0 },
            "flash": { "ephemeral": true, "default": "-" },
        }));
        let describe = |state: &DynamicState| format!("{} {}", state.get("n"), state.get("flash"));
        let a =
            graph.add_node("a", move |state: View<DynamicState>| json!({ "log": describe(&state), "flash": "lit" }));
        let b = graph.add_node("b", move |state: View<DynamicState>| json!({ "log": describe(&state) }));
        let c = graph.add_node("c", move |state: View<DynamicState>| json!({ "log": describe(&state) }));
        graph.add_sequence([START, a.into(), b.into(), c.into(), END]).interrupt_before(["b"]).compat(compat);
        let graph = graph.compile().unwrap();
        assert_eq!(graph.invoke(json!({ "n": 1 })).thread("t").await.unwrap().next, ["b"]);
        let done = graph.command("t", Command::new().update(json!({ "n": 10 }))).await.unwrap();
        assert_eq!(log(&done.state), [r#"1 "-""#, r#"11 "lit""#, r#"11 "-""#]);
        assert_eq!((done.end, &*done.state.get("n")), (RunEnd::Finished, &json!(11)));
    }
}

/// A join of `left` and `right`, of which the conditional edge selects only the left one.
fn half_a_join(compat: Compat) -> CompiledGraph<DynamicState> {
    let mut g = graph("g");
    let [left, right, both] = ["left", "right", "both"].map(|name| g.add_node(name, log_word(name)));
    g.set_conditional_entry_point(move |_: &DynamicState| left, [left, right])
        .add_join([left, right], both)
        .add_edge(both, END)
        .compat(compat);
    g.compile().unwrap()
}

/// R-REF-46: a join that lacks a source does not run; the run finishes and reports the missing source.
#[tokio::test]
async fn a_join_with_a_source_that_never_ran_is_reported() {
    for compat in COMPAT_MODES {
        let done = half_a_join(compat).invoke(json!({ "n": 0 })).await.unwrap();
        assert_eq!((done.end.clone(), field(&done, "log")), (RunEnd::Finished, json!(["left"])));
        assert_eq!(done.warnings, ["join into `both` did not fire: waiting for `right`"]);
    }
}
