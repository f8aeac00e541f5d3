//! Cases 31 to 46: who runs when, on what, and how far.

use serde_json::{Value, json};
use superstep::core::machine::Event;
use superstep::prelude::*;
use superstep::{Code, Compat, Compiled, EventKind, Record, Routes, Run, Status, ThreadStatus};

use super::PROFILES;
use crate::engine::{field, graph, outcome, says};
use crate::support::{Calls, dynamic, line, log, log_field, refused};

/// R-REF-31, R-REF-32: a route sees the sum with its own node's addition only; the next superstep sees all of them.
#[tokio::test]
async fn a_route_sees_its_own_node_and_no_sibling() {
    for compat in PROFILES {
        let mut g = graph("g");
        let [alone, both] = ["alone", "both"]
            .map(|name| g.node(name, move |s: View<Record>| json!({ "log": [format!("{name} at {}", s.get("n"))] })));
        for name in ["a", "b"] {
            let add = g.node(name, || json!({ "n": 1 }));
            let decide = move |s: &Record| if s.get("n").as_i64() == Some(1) { alone } else { both };
            g.edge(START, add).route(add, decide, [alone, both]);
        }
        g.edge(alone, END).edge(both, END).compat(compat);
        let done = g.compile().unwrap().run(json!({ "n": 0 })).await.unwrap();
        assert_eq!(field(&done, "log"), json!(["alone at 2"]));
    }
}

/// R-REF-33, R-REF-37: names and sends of one route are due together, in the order of registration with each node's
/// sends behind it, or by name and then all sends by number.
#[tokio::test]
async fn due_tasks_have_the_order_of_their_profile() {
    let rows = [
        (Compat::Strict, json!(["z", "w", "w3", "w1", "b", "b2"])),
        (Compat::LangGraph, json!(["b", "w", "z", "w3", "b2", "w1"])),
    ];
    for (compat, expected) in rows {
        let done = outcome(
            |g| {
                let fan = g.node("fan", || ());
                let tell = |sent: Option<Sent<u32>>, cx: Cx| {
                    let number = sent.map_or(String::new(), |sent| sent.0.to_string());
                    json!({ "log": [format!("{}{number}", cx.node())] })
                };
                let [z, w, b] = ["z", "w", "b"].map(|name| g.node(name, tell));
                let sends = move || [Send::new(w, 3u32), Send::new(b, 2u32), Send::new(w, 1u32)];
                g.route(fan, move |_: &Record| Go::sends(sends()).and(z).and(b).and(w), [z, w, b]);
                g.edge(START, fan).edge(z, END).edge(w, END).edge(b, END).compat(compat);
            },
            json!({ "n": 0 }),
        )
        .await
        .unwrap();
        assert_eq!((field(&done, "log"), done.supersteps), (expected, 2));
    }
}

/// R-REF-34, R-REF-35: thirteen sends keep their order; each task has its payload and not the state, and its result is
/// folded.
#[tokio::test]
async fn thirteen_sends_keep_order_and_payload() {
    for compat in PROFILES {
        let mut g = graph("g");
        let work = g.node("work", |sent: Sent<Value>| json!({ "log": [sent["number"]], "n": sent["number"] }));
        let sends = move |_: &Record| (0..13).map(|number| Send::new(work, json!({ "number": number }))).collect();
        g.entry_by::<Vec<Send>>(sends, [work]).edge(work, END).compat(compat);
        let done = g.compile().unwrap().run(json!({ "title": "not given" })).await.unwrap();
        assert_eq!((field(&done, "log"), field(&done, "n")), (json!((0..13).collect::<Vec<_>>()), json!(78)));
    }
}

/// R-REF-36: a send that leads nowhere or to the end fails its node, from a route and from a command; nothing of the
/// node is applied. The reference drops the first kind with a line in its log, our profile for it does not.
#[tokio::test]
async fn a_send_that_leads_nowhere_is_refused() {
    for compat in PROFILES {
        for to in ["nowhere", "__end__"] {
            let mut routed = graph("routed");
            let a = routed.node("a", says("a"));
            routed.edge(START, a).route(a, move |_: &Record| Send::new(to, 1), Routes::ANYWHERE).compat(compat);
            let mut commanded = graph("commanded");
            let command = move || Command::<Record>::new().update(json!({ "log": ["a"] })).send(Send::new(to, 1));
            let a = commanded.node("a", command);
            commanded.edge(START, a).edge(a, END).compat(compat);
            for mut g in [routed, commanded] {
                let error = refused(g.compile().unwrap().run(json!({ "n": 0 })).await);
                assert_eq!((error.code(), error.place().node.as_deref()), (Code::InvalidRoute, Some("a")), "{error}");
                assert_eq!(error.partial_state::<Record>().unwrap().get("log").into_owned(), json!([]));
            }
        }
    }
}

/// Everything the machine said, and how the run ended.
async fn watched(run: Run<Record>) -> (Vec<Event>, superstep::Result<superstep::Outcome<Record>>) {
    let (mut stream, mut events) = (run.stream(), Vec::new());
    while let Some(event) = stream.next().await {
        if let EventKind::Machine(event) = event.kind {
            events.push(event);
        }
    }
    (events, stream.finish().await)
}

/// R-REF-38: a loop comes back to its node as often as it says, each time as another task.
#[tokio::test]
async fn each_visit_of_a_loop_is_a_task_of_its_own() {
    for compat in PROFILES {
        let mut g = graph("g");
        let count = g.node("count", |cx: Cx| json!({ "n": 1, "log": [cx.idempotency_key()] }));
        let again = move |s: &Record| if s.get("n").as_i64() < Some(5) { Go::to(count) } else { Go::end() };
        g.edge(START, count).route(count, again, [count.into(), END]).checkpointer(Memory::new()).compat(compat);
        let (events, done) = watched(g.compile().unwrap().run(json!({ "n": 0 })).thread("t")).await;
        let started = events.iter().filter_map(|event| match event {
            Event::TaskStarted { task, .. } => Some(task.to_string()),
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

/// R-REF-39: a limit of N lets N supersteps end well, one fewer in the reference; past it the run fails, what was done
/// is saved, and the checkpoint told last is the newest.
#[tokio::test]
async fn a_limit_is_the_documented_number_of_supersteps() {
    for (compat, enough) in [(Compat::Strict, 3), (Compat::LangGraph, 4)] {
        let build = || line(&Calls::default(), &["a", "b", "c"]).compat(compat).compile().unwrap();
        let input = || json!({ "topic": "x" });
        assert!(build().run(input()).recursion_limit(enough).await.unwrap().is_finished());
        let graph = build();
        let (events, ended) = watched(graph.run(input()).thread("t").recursion_limit(enough - 1)).await;
        let error = refused(ended);
        assert_eq!((error.code(), error.code().to_string()), (Code::RecursionLimit, "SS-010".to_owned()));
        let told = events.iter().rev().find_map(|event| match event {
            Event::Checkpoint { id, .. } => Some(*id),
            _ => None,
        });
        let saved = graph.threads().state("t").await.unwrap();
        assert_eq!((Some(saved.id()), error.partial().unwrap().checkpoint), (told, told));
        // The reference tests its limit before it looks whether anything is left: there the third node has run.
        let done: &[&str] = if compat == Compat::Strict { &["a", "b"] } else { &["a", "b", "c"] };
        assert_eq!(
            (log(&saved.state), saved.next.len()),
            (done.iter().map(|n| n.to_string()).collect(), 3 - done.len())
        );
        assert_eq!(graph.threads().status("t").await.unwrap(), Some(ThreadStatus::Error));
        assert_eq!(refused(graph.run(input()).recursion_limit(0).await).code(), Code::InputInvalid);
    }
}

/// R-REF-40: what remains falls by one with each superstep and is 1 in the last one that may end well.
#[tokio::test]
async fn the_remaining_steps_count_down_to_one() {
    for (compat, limit) in [(Compat::Strict, 3), (Compat::LangGraph, 4)] {
        let mut g = graph("g");
        let tell = |cx: Cx| json!({ "log": [[cx.remaining_steps(), cx.is_last_step()]] });
        let [a, b, c] = ["a", "b", "c"].map(|name| g.node(name, tell));
        g.sequence([START, a.into(), b.into(), c.into(), END]).compat(compat).recursion_limit(limit);
        let done = g.compile().unwrap().run(json!({ "n": 0 })).await.unwrap();
        assert_eq!(field(&done, "log"), json!([[3, false], [2, false], [1, true]]));
    }
}

/// R-REF-41: an input goes on top of a finished thread; on one that waits, what was due is dropped.
#[tokio::test]
async fn an_input_goes_on_top_or_starts_anew() {
    for compat in PROFILES {
        let calls = Calls::default();
        let graph = line(&calls, &["a", "b"]).compat(compat).compile().unwrap();
        graph.run(json!({ "log": "1" })).thread("t").await.unwrap();
        graph.run(json!({ "log": "2" })).thread("t").interrupt_before(["b"]).await.unwrap();
        calls.take();
        let done = graph.run(json!({ "log": "3" })).thread("t").await.unwrap();
        assert_eq!(log(&done.state), ["1", "a", "b", "2", "a", "3", "a", "b"]);
        assert_eq!(calls.take(), ["a", "b"]);
    }
}

/// R-REF-42: an input without a value is refused (the reference runs on it), and nothing goes on where nothing began.
#[tokio::test]
async fn an_empty_input_and_going_on_with_nothing_are_refused() {
    for compat in PROFILES {
        let calls = Calls::default();
        let graph = line(&calls, &["a"]).compat(compat).compile().unwrap();
        let rows = [
            (graph.run(json!({})).thread("t"), "empty"),
            (graph.run(Value::Null).thread("t"), "empty"),
            (graph.go_on("t"), "the thread is new"),
            (graph.command("t", Command::goto("a")), "a thread that has begun"),
        ];
        for (run, words) in rows {
            let error = refused(run.await);
            assert!(error.code() == Code::InputInvalid && error.message().contains(words), "{error}");
        }
        assert_eq!((calls.take().len(), graph.threads().status("t").await.unwrap()), (0, None));
    }
}

/// R-REF-44: going to the end stops no other branch; the edge beside it is followed in the reference only.
#[tokio::test]
async fn going_to_the_end_stops_its_own_branch() {
    let rows = [
        (Compat::Strict, json!(["quits", "stays", "last"])),
        (Compat::LangGraph, json!(["quits", "stays", "beside", "last"])),
    ];
    for (compat, expected) in rows {
        let done = outcome(
            |g| {
                let quits = || Command::<Record>::end().update(json!({ "log": ["quits"] }));
                let quits = g.node("quits", node(quits).goto([END]));
                let [stays, beside, last] = ["stays", "beside", "last"].map(|name| g.node(name, says(name)));
                g.edge(START, quits).edge(START, stays).edge(quits, beside).edge(stays, last);
                g.edge(beside, END).edge(last, END).compat(compat);
            },
            json!({ "n": 0 }),
        );
        assert_eq!(field(&done.await.unwrap(), "log"), expected);
    }
}

/// R-REF-45: a command with an update is applied once; what is due stays due, and an ephemeral value is still there.
#[tokio::test]
async fn a_command_from_outside_disturbs_nothing() {
    for compat in PROFILES {
        let mut graph = dynamic(json!({
            "log": log_field(),
            "n": { "reducer": "add", "default": 0 },
            "flash": { "ephemeral": true, "default": "-" },
        }));
        let tell = |state: &Record| format!("{} {}", state.get("n"), state.get("flash"));
        let a = graph.node("a", move |state: View<Record>| json!({ "log": tell(&state), "flash": "lit" }));
        let b = graph.node("b", move |state: View<Record>| json!({ "log": tell(&state) }));
        let c = graph.node("c", move |state: View<Record>| json!({ "log": tell(&state) }));
        graph.sequence([START, a.into(), b.into(), c.into(), END]).interrupt_before(["b"]).compat(compat);
        let graph = graph.compile().unwrap();
        assert_eq!(graph.run(json!({ "n": 1 })).thread("t").await.unwrap().next, ["b"]);
        let done = graph.command("t", Command::new().update(json!({ "n": 10 }))).await.unwrap();
        assert_eq!(log(&done.state), [r#"1 "-""#, r#"11 "lit""#, r#"11 "-""#]);
        assert_eq!((done.status, &*done.state.get("n")), (Status::Finished, &json!(11)));
    }
}

/// A join of `left` and `right`, of which the route picks the left one only.
fn half_a_join(compat: Compat) -> Compiled<Record> {
    let mut g = graph("g");
    let [left, right, both] = ["left", "right", "both"].map(|name| g.node(name, says(name)));
    g.entry_by(move |_: &Record| left, [left, right]).join([left, right], both).edge(both, END).compat(compat);
    g.compile().unwrap()
}

/// R-REF-46: a join that lacks a source does not run; the run ends well and says what it still waits for.
#[tokio::test]
async fn a_join_with_a_source_that_never_ran_is_reported() {
    for compat in PROFILES {
        let done = half_a_join(compat).run(json!({ "n": 0 })).await.unwrap();
        assert_eq!((done.status.clone(), field(&done, "log")), (Status::Finished, json!(["left"])));
        assert_eq!(done.warnings, ["join into `both` did not fire: it still waits for `right`"]);
    }
}
