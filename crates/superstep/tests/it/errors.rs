//! Errors: one type with code, help, place and `retryable`; failed runs are saved and can go on.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::time::Duration;

use serde_json::{Value, json};
use superstep::core::port::ThreadStatus;
use superstep::prelude::*;
use superstep::testing::{CrashAt, LastWrite};
use superstep::{Code, Compiled, Error, HistoryQuery, Outcome, Record, WhenBusy};

use crate::support::{Calls, dynamic, history, line, log, log_field, refused};

/// A graph whose one node is `work`, run on thread `t`.
async fn failing<M>(work: impl superstep::IntoNode<Record, (), M>) -> Error {
    let mut graph = dynamic(json!({ "n": { "type": "integer", "reducer": "add", "default": 0 } }));
    let node = graph.node("work", work);
    graph.edge(START, node).edge(node, END);
    refused(graph.compile().unwrap().run(json!({ "n": 1 })).thread("t").await)
}

/// Holds an error against its row in the table of codes; it must say what to do.
fn check(error: &Error, code: Code, text: &str, (http, exit): (u16, u8), retryable: bool) {
    assert_eq!((error.code(), error.http_status(), error.exit_code()), (code, http, exit), "{error}");
    assert!(error.to_string().contains(text), "{error}");
    assert_eq!(error.is_retryable(), retryable, "{error}");
    let has_help = error.advice().is_some() || error.problems().iter().any(|problem| problem.help.is_some());
    assert!(has_help, "no help: {error}");
    assert_eq!(error.code().page(), format!("errors/{code}.html"));
}

/// R-FWK-93: failures of a node name thread, superstep and node, with code and help.
#[tokio::test(start_paused = true)]
async fn failures_of_a_node_say_where_they_happened() {
    let slow = node(std::future::pending::<()>).timeout(Duration::from_millis(1));
    let rows = [
        (failing(|| json!({ "m": 1 })).await, Code::UnknownField, "SS-004", (500, 70), false),
        (failing(|| json!({ "n": { "__overwrite__": "x" } })).await, Code::TypeMismatch, "SS-005", (500, 70), false),
        (failing(|| json!({ "n": i64::MAX })).await, Code::ReducerFailed, "SS-006", (500, 70), false),
        (failing(|| Command::<Record>::goto("wrok")).await, Code::InvalidRoute, "SS-009", (500, 70), false),
        (
            failing(|| {
                if true {
                    panic!("boom")
                }
            })
            .await,
            Code::NodeFailed,
            "boom",
            (500, 70),
            false,
        ),
        (failing(slow).await, Code::Timeout, "SS-012", (504, 75), true),
    ];
    for (error, code, text, statuses, retryable) in rows {
        check(&error, code, text, statuses, retryable);
        let place = error.place();
        assert_eq!(
            (place.thread.as_ref().map(|id| id.as_str()), place.step, place.node.as_deref()),
            (Some("t"), Some(1), Some("work")),
            "{error}"
        );
    }
}

/// R-FWK-93: a node's own error keeps its cause, and says itself whether trying again may help.
#[tokio::test]
async fn a_nodes_own_error_keeps_its_cause() {
    let error = failing(|| Err::<(), _>(std::io::Error::other("no route to host"))).await;
    assert_eq!((error.code(), error.message()), (Code::NodeFailed, "no route to host"));
    assert_eq!(std::error::Error::source(&error).unwrap().to_string(), "no route to host");
    assert!(failing(|| Err::<(), _>(NodeError::new("busy").retryable())).await.is_retryable());
    assert!(!failing(|| Err::<(), _>(NodeError::new("broken").fatal())).await.is_retryable());
}

/// R-GRA-23, R-GRA-50: a value out of bounds is the mistake of whoever gave it: of the caller in an input or an update
/// from outside, with every place, and of the node in what that returns.
#[tokio::test]
async fn a_value_out_of_bounds_is_the_mistake_of_whoever_gave_it() {
    let bounded = json!({ "type": "integer", "min": 1, "max": 5 });
    let fields = json!({ "n": bounded, "m": bounded, "log": {} });
    let mut graph = dynamic(fields);
    let twice = |state: View<Record>| json!({ "n": 2 * state.get("n").as_i64().unwrap() });
    let node = graph.node("work", twice);
    graph.edge(START, node).edge(node, END);
    let graph = graph.compile().unwrap();
    let good = graph.run(json!({ "n": 2 })).thread("t").await.unwrap();
    let places = |error: &Error| {
        let mut places: Vec<String> = error.problems().iter().map(|problem| problem.pointer.clone()).collect();
        places.sort_unstable();
        places
    };
    let bad = || json!({ "n": 9, "m": 0, "log": [1] });
    for error in [
        refused(graph.run(bad()).thread("t").await),
        refused(graph.run(bad()).thread("new").await),
        refused(graph.threads().update("t", bad()).await),
        refused(graph.threads().update("t", bad()).as_node("work").await),
    ] {
        assert_eq!((error.code(), error.http_status(), error.exit_code()), (Code::InputInvalid, 422, 65), "{error}");
        assert_eq!(places(&error), ["/m", "/n"], "{error}");
        assert_eq!(error.place().node, None, "{error}");
    }
    assert_eq!(refused(graph.threads().state("new").await).code(), Code::NotFound);
    assert_eq!(graph.threads().state("t").await.unwrap().state.to_json(), good.state.to_json());
    let error = refused(graph.run(json!({ "n": 3 })).thread("t").await);
    assert_eq!((error.code(), error.place().node.as_deref()), (Code::ReducerFailed, Some("work")), "{error}");
}

/// R-FWK-93: what a caller gets wrong has a code of its own, with help, and the thread where there is one.
#[tokio::test]
async fn mistakes_of_a_caller_have_codes_of_their_own() {
    let graph = line(&Calls::default(), &["a"]).compile().unwrap();
    graph.run(json!({ "topic": "x" })).thread("t").await.unwrap();
    let nowhere = "00000000-0000-0000-0000-000000000001".parse().unwrap();
    let input = || json!({ "topic": "x" });
    let rows = [
        (refused(graph.run(json!({ "topci": 1 })).thread("t").await), Code::InputInvalid, "SS-002", (422, 65)),
        (refused(graph.run(json!({})).thread("t").await), Code::InputInvalid, "empty", (422, 65)),
        (refused(graph.run(input()).recursion_limit(0).await), Code::InputInvalid, "limit", (422, 65)),
        (refused(graph.go_on("new").await), Code::InputInvalid, "new", (422, 65)),
        (refused(graph.threads().state("new").await), Code::NotFound, "SS-015", (404, 66)),
        (refused(graph.go_on("t").at(nowhere).await), Code::NotFound, "SS-015", (404, 66)),
        (refused(graph.resume("t", 1).await), Code::InvalidResume, "SS-019", (422, 65)),
        (refused(graph.threads().update("t", input()).as_node("b").await), Code::InputInvalid, "`b`", (422, 65)),
    ];
    for (error, code, text, statuses) in rows {
        check(&error, code, text, statuses, false);
    }
    let mut bare =
        Graph::with_schema("bare", superstep::Schema::from_json("state", &json!({ "topic": null })).unwrap());
    let node = bare.node("a", || ());
    bare.edge(START, node).edge(node, END);
    let bare: Compiled<Record> = bare.compile().unwrap();
    for error in [
        refused(bare.go_on("t").await),
        refused(bare.resume("t", 1).await),
        refused(bare.threads().state("t").await),
        refused(bare.threads().update("t", input()).await),
    ] {
        check(&error, Code::NoCheckpointer, "SS-014", (409, 64), false);
    }
}

/// R-FWK-93: what stops a run from outside has a code of its own: cancellation, time, budgets, a call that blocks.
#[tokio::test(start_paused = true)]
async fn what_stops_a_run_from_outside_has_a_code() {
    let mut graph = dynamic(json!({ "log": log_field() }));
    let node = graph.node("spend", |cx: Cx| async move {
        cx.spend(7)?;
        std::future::pending::<()>().await;
        Ok::<_, NodeError>(())
    });
    graph.edge(START, node).edge(node, END);
    let graph = graph.compile().unwrap();
    let run = || graph.run(json!({ "log": "x" })).thread("t");
    let control = superstep::Control::new();
    control.cancel();
    check(&refused(run().control(control).await), Code::Cancelled, "SS-013", (499, 130), false);
    check(&refused(run().timeout(Duration::from_millis(1)).await), Code::Timeout, "SS-012", (504, 75), true);
    check(&refused(run().token_budget(5).await), Code::TooLarge, "7 tokens", (413, 75), false);
    check(&refused(run().wait()), Code::ConfigInvalid, "SS-027", (500, 78), false);
}

/// R-FWK-93, R-FWK-47: a thread of a newer state, and a record of another type, are told apart.
#[tokio::test]
async fn what_is_stored_and_does_not_fit_has_a_code() {
    let memory = Memory::new();
    let build = |version: u32| {
        let schema = superstep::Schema::builder("state")
            .field(superstep::core::schema::field("n"))
            .version(version)
            .build()
            .unwrap();
        let mut graph = Graph::<Record>::with_schema("test", schema);
        let node = graph.node("a", || ());
        graph.edge(START, node).edge(node, END).checkpointer(memory.clone());
        graph.compile().unwrap()
    };
    build(2).run(json!({ "n": 1 })).thread("t").await.unwrap();
    for error in
        [refused(build(1).threads().state("t").await), refused(build(1).run(json!({ "n": 2 })).thread("t").await)]
    {
        check(&error, Code::CheckpointTooNew, "SS-017", (409, 74), false);
    }
    assert_eq!(history(&build(2), "t").await.len(), 2);
    let twice = |cx: Cx| async move {
        cx.once("key", async { Ok::<_, NodeError>("text".to_owned()) }).await?;
        cx.once("key", async { Ok::<_, NodeError>(1_u32) }).await?;
        Ok::<_, NodeError>(())
    };
    check(&failing(twice).await, Code::CheckpointCorrupt, "`key`", (500, 74), false);
}

/// R-FWK-93: a graph that does not compile lists all its problems under one code.
#[test]
fn a_graph_that_does_not_compile_lists_all_problems() {
    let mut graph = dynamic(json!({ "topic": null }));
    let node = graph.node("a", || ());
    graph.edge(node, "b").edge(END, node);
    let error = refused(graph.compile());
    check(&error, Code::InvalidGraph, "SS-001", (500, 65), false);
    assert!(error.problems().len() >= 3, "{error}");
}

/// R-FWK-93: a thread that another run moves refuses a run that will not wait; trying again may help.
#[tokio::test]
async fn a_busy_thread_refuses_who_does_not_wait() {
    let (go, gate) = tokio::sync::watch::channel(false);
    let mut graph = dynamic(json!({ "log": log_field() }));
    let node = graph.node("wait", move || {
        let mut gate = gate.clone();
        async move { gate.wait_for(|open| *open).await.map(drop) }
    });
    graph.edge(START, node).edge(node, END);
    let graph = graph.compile().unwrap();
    let mut first = graph.run(json!({ "log": "1" })).thread("t").stream();
    first.next().await.unwrap();
    let second = graph.run(json!({ "log": "2" })).thread("t").when_busy(WhenBusy::Reject);
    check(&refused(second.await), Code::ThreadBusy, "SS-018", (409, 75), true);
    check(
        &refused(graph.threads().update("t", json!({ "log": "3" })).await),
        Code::ThreadBusy,
        "SS-018",
        (409, 75),
        true,
    );
    go.send_replace(true);
    assert!(first.finish().await.unwrap().is_finished());
}

/// a → b → c, where `b` fails until `fixed`.
fn fragile(calls: &Calls, fixed: &Arc<AtomicBool>) -> Compiled<Record> {
    let mut graph = dynamic(json!({ "log": log_field() }));
    let (a, c) = (graph.node("a", calls.step("a")), graph.node("c", calls.step("c")));
    let (noted, fixed) = (calls.clone(), fixed.clone());
    let b = graph.node("b", move || {
        noted.note("b");
        if fixed.load(Ordering::SeqCst) {
            Ok(json!({ "log": "b" }))
        } else {
            Err(NodeError::new("no disk").retryable())
        }
    });
    graph.sequence([START, a.into(), b.into(), c.into(), END]);
    graph.compile().unwrap()
}

/// R-FWK-94, R-REF-54, D13: a failed run is saved: status, error, partial state and what was due; going on retries from
/// there.
#[tokio::test]
async fn a_failed_run_is_saved_and_can_go_on() {
    let (calls, fixed) = (Calls::default(), Arc::new(AtomicBool::new(false)));
    let graph = fragile(&calls, &fixed);
    let error = refused(graph.run(json!({ "log": "in" })).thread("t").await);
    let partial = error.partial().unwrap();
    assert_eq!((partial.next.as_slice(), partial.recent.as_slice()), (&["b".to_owned()][..], &["a".to_owned()][..]));
    assert_eq!(log(error.partial_state::<Record>().unwrap()), ["in", "a"]);
    let threads = graph.threads();
    let seen = threads.state("t").await.unwrap();
    assert_eq!((threads.status("t").await.unwrap(), Some(seen.id())), (Some(ThreadStatus::Error), partial.checkpoint));
    assert_eq!((seen.next.as_slice(), log(&seen.state)), (&["b".to_owned()][..], vec!["in".to_owned(), "a".into()]));
    let stored = seen.tasks[0].error.as_ref().unwrap();
    assert_eq!((stored.code, stored.message.as_str(), stored.retryable), (Code::NodeFailed, "no disk", true));
    assert_eq!((stored.place.node.as_deref(), stored.place.step), (Some("b"), Some(2)));
    refused(graph.go_on("t").await);
    fixed.store(true, Ordering::SeqCst);
    let ended = graph.go_on("t").await.unwrap();
    assert_eq!(log(&ended.state), ["in", "a", "b", "c"]);
    assert_eq!(calls.take(), ["a", "b", "b", "b", "c"]);
    let seen = threads.state("t").await.unwrap();
    assert_eq!((threads.status("t").await.unwrap(), seen.tasks.len()), (Some(ThreadStatus::Idle), 0));
}

/// R-FWK-94, D13: when a superstep cannot be saved, the error speaks of the last one that was, and tells no state
/// that nobody will find again.
#[tokio::test]
async fn a_state_that_could_not_be_saved_is_not_told() {
    for (at, last) in [(1, LastWrite::Lost), (2, LastWrite::Lost), (2, LastWrite::Kept)] {
        let graph = fragile(&Calls::default(), &Arc::new(AtomicBool::new(true)));
        let disk = Memory::new();
        let store = CrashAt::new(disk.clone(), at, last);
        let error = refused(graph.run(json!({ "log": "in" })).thread("t").checkpointer(store).await);
        assert_eq!(error.code(), Code::StoreUnavailable);
        let known = graph.threads().checkpointer(disk).history("t", &HistoryQuery::default()).await.unwrap();
        let before = known.iter().find(|saved| saved.checkpoint.step == at as i64 - 1).unwrap();
        assert_eq!(error.partial().unwrap().checkpoint, Some(before.id()));
        assert!(error.partial_state::<Record>().is_none() && error.partial().unwrap().next.is_empty());
        assert_eq!(error.place().thread, Some("t".into()));
    }
}

/// R-FWK-94, R-GRA-45, D13: of several tasks the finished ones are kept; the error names all that failed.
#[tokio::test]
async fn finished_siblings_of_a_failure_are_kept() {
    let (calls, runs) = (Calls::default(), Arc::new(AtomicU32::new(0)));
    let mut graph = dynamic(json!({ "log": log_field() }));
    let good = graph.node("good", calls.step("good"));
    graph.edge(START, good).edge(good, END);
    for name in ["bad", "worse"] {
        let runs = runs.clone();
        let node = graph.node(name, move || {
            if runs.fetch_add(1, Ordering::SeqCst) < 2 {
                Err(NodeError::new(format!("{name} luck")))
            } else {
                Ok(json!({ "log": name }))
            }
        });
        graph.edge(START, node).edge(node, END);
    }
    let graph = graph.compile().unwrap();
    let error = refused(graph.run(json!({ "log": "in" })).thread("t").await);
    assert!(error.message() == "bad luck" && error.advice().unwrap().contains("`worse`"), "{error}");
    assert_eq!(log(error.partial_state::<Record>().unwrap()), ["in"]);
    let seen = graph.threads().state("t").await.unwrap();
    let shown: Vec<_> =
        seen.tasks.iter().map(|task| (task.node.as_str(), task.is_done, task.error.is_some())).collect();
    for row in [("good", true, false), ("bad", false, true), ("worse", false, true)] {
        assert!(shown.contains(&row), "{shown:?}");
    }
    assert_eq!(log(&graph.go_on("t").await.unwrap().state), ["in", "good", "bad", "worse"]);
    assert_eq!(calls.take(), ["good"]);
}

/// R-FWK-14, R-FWK-94, D13: a run that uses up its supersteps says what is due; its thread shows it and can go on.
#[tokio::test]
async fn a_run_at_its_limit_can_go_on() {
    let graph = line(&Calls::default(), &["a", "b", "c"]).compile().unwrap();
    let error = refused(graph.run(json!({ "topic": "x" })).thread("t").recursion_limit(2).await);
    check(&error, Code::RecursionLimit, "`c`", (500, 75), false);
    assert_eq!(error.partial().unwrap().next, ["c"]);
    assert_eq!(graph.threads().status("t").await.unwrap(), Some(ThreadStatus::Error));
    let ended = graph.go_on("t").await.unwrap();
    assert_eq!(log(&ended.state), ["a", "b", "c"]);
    assert_eq!(graph.threads().status("t").await.unwrap(), Some(ThreadStatus::Idle));
}

/// R-FWK-14: a run that was told to return what there is leaves a thread that nobody moves.
#[tokio::test]
async fn a_truncated_run_leaves_an_idle_thread() {
    let graph = line(&Calls::default(), &["a", "b"]).compile().unwrap();
    let run =
        graph.run(json!({ "topic": "x" })).thread("t").recursion_limit(1).on_limit(superstep::OnLimit::ReturnPartial);
    let ended: Outcome<Record> = run.await.unwrap();
    assert_eq!(
        (ended.status, ended.warnings.len(), ended.next),
        (superstep::Status::Truncated, 1, vec!["b".to_owned()])
    );
    assert_eq!(graph.threads().status("t").await.unwrap(), Some(ThreadStatus::Idle));
}

/// R-FWK-94: a fold that is refused fails the run after its tasks; nothing of the superstep is applied.
#[tokio::test]
async fn a_refused_fold_is_saved_as_a_failure() {
    let mut graph = dynamic(json!({ "n": { "reducer": "add", "default": 0 }, "log": log_field() }));
    for (name, value) in [("good", json!({ "n": 1, "log": "good" })), ("bad", json!({ "n": "x" }))] {
        let node = graph.node(name, move || value.clone());
        graph.edge(START, node).edge(node, END);
    }
    let graph = graph.compile().unwrap();
    let error = refused(graph.run(json!({ "n": 1 })).thread("t").await);
    assert_eq!((error.code(), error.place().node.as_deref()), (Code::ReducerFailed, Some("bad")), "{error}");
    let seen = graph.threads().state("t").await.unwrap();
    assert_eq!((seen.state.to_json(), history(&graph, "t").await.len()), (json!({ "n": 1, "log": [] }), 1));
    assert_eq!(graph.threads().status("t").await.unwrap(), Some(ThreadStatus::Error));
}

/// R-FWK-94, R-GRA-45: a failure of a route is a failure of its node: nothing is applied, and it can go on.
#[tokio::test]
async fn a_failing_route_fails_its_node() {
    let calls = Calls::default();
    let mut graph = dynamic(json!({ "log": log_field(), "to": null }));
    let [a, b] = ["a", "b"].map(|name| graph.node(name, calls.step(name)));
    graph.edge(START, a).edge(b, END);
    graph.route(a, |state: &Record| state.get("to").as_str().unwrap_or("nowhere").to_owned(), [b]);
    let graph = graph.compile().unwrap();
    let error = refused(graph.run(json!({ "log": "in" })).thread("t").await);
    check(&error, Code::InvalidRoute, "`nowhere`", (500, 70), false);
    assert_eq!(error.place().node.as_deref(), Some("a"));
    assert_eq!(log(&graph.threads().state("t").await.unwrap().state), ["in"]);
    graph.threads().update("t", json!({ "to": "b" })).await.unwrap();
    assert_eq!(log(&graph.go_on("t").await.unwrap().state), ["in", "a", "b"]);
}

/// R-FWK-93: the text of an error is what a person reads: code, node, fact and help.
#[tokio::test]
async fn an_error_reads_well() {
    let error = failing(|| json!({ "m": Value::Null })).await;
    insta::assert_snapshot!(error, @r"
    error[SS-004]: node `work`: its update does not fit the state
      - /m: no field `m` (the fields are `n`)
    ");
}
