//! Errors: one type with code, help, location and `retryable`; failed runs are saved and can continue.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::time::Duration;

use serde_json::{Value, json};
use superstep::core::port::ThreadStatus;
use superstep::prelude::*;
use superstep::testing::{CrashedWrite, CrashingCheckpointer};
use superstep::{CompiledGraph, DynamicState, Error, ErrorCode, HistoryQuery, MultitaskStrategy, Outcome};

use crate::support::{Calls, dynamic, expect_error, history, line, log, log_field};

/// A graph whose one node is `work`, run on thread `t`.
async fn failing<M>(work: impl superstep::IntoNode<DynamicState, (), M>) -> Error {
    let mut graph = dynamic(json!({ "n": { "type": "integer", "reducer": "add", "default": 0 } }));
    let node = graph.add_node("work", work);
    graph.add_edge(START, node).add_edge(node, END);
    expect_error(graph.compile().unwrap().invoke(json!({ "n": 1 })).thread("t").await)
}

/// Compares an error with its row in the table of codes; it must contain help.
fn check(error: &Error, code: ErrorCode, text: &str, (http, exit): (u16, u8), retryable: bool) {
    assert_eq!((error.code(), error.http_status(), error.exit_code()), (code, http, exit), "{error}");
    assert!(error.to_string().contains(text), "{error}");
    assert_eq!(error.is_retryable(), retryable, "{error}");
    let has_help = error.help().is_some() || error.diagnostics().iter().any(|problem| problem.help.is_some());
    assert!(has_help, "no help: {error}");
    assert_eq!(error.code().page(), format!("errors/{code}.html"));
}

/// R-FWK-93: errors of a node name thread, superstep and node, with code and help.
#[tokio::test(start_paused = true)]
async fn failures_of_a_node_name_their_location() {
    let slow = node(std::future::pending::<()>).timeout(Duration::from_millis(1));
    let rows = [
        (failing(|| json!({ "m": 1 })).await, ErrorCode::UnknownField, "SS-004", (500, 70), false),
        (
            failing(|| json!({ "n": { "__overwrite__": "x" } })).await,
            ErrorCode::TypeMismatch,
            "SS-005",
            (500, 70),
            false,
        ),
        (failing(|| json!({ "n": i64::MAX })).await, ErrorCode::ReducerFailed, "SS-006", (500, 70), false),
        (failing(|| Command::<DynamicState>::goto("wrok")).await, ErrorCode::InvalidRoute, "SS-009", (500, 70), false),
        (
            failing(|| {
                if true {
                    panic!("boom")
                }
            })
            .await,
            ErrorCode::NodeFailed,
            "boom",
            (500, 70),
            false,
        ),
        (failing(slow).await, ErrorCode::Timeout, "SS-012", (504, 75), true),
    ];
    for (error, code, text, statuses, retryable) in rows {
        check(&error, code, text, statuses, retryable);
        let location = error.location();
        assert_eq!(
            (location.thread.as_ref().map(|id| id.as_str()), location.step, location.node.as_deref()),
            (Some("t"), Some(1), Some("work")),
            "{error}"
        );
    }
}

/// R-FWK-93: a node's own error keeps its cause, and states itself whether a retry may succeed.
#[tokio::test]
async fn a_nodes_own_error_keeps_its_cause() {
    let error = failing(|| Err::<(), _>(std::io::Error::other("no route to host"))).await;
    assert_eq!((error.code(), error.message()), (ErrorCode::NodeFailed, "no route to host"));
    assert_eq!(std::error::Error::source(&error).unwrap().to_string(), "no route to host");
    assert!(failing(|| Err::<(), _>(NodeError::new("busy").retryable())).await.is_retryable());
    assert!(!failing(|| Err::<(), _>(NodeError::new("broken").fatal())).await.is_retryable());
}

/// R-GRA-23, R-GRA-50: a value out of bounds is attributed to its author: to the caller in an input or an external
/// update, with every location, and to the node in its return value.
#[tokio::test]
async fn a_value_out_of_bounds_is_attributed_to_its_source() {
    let bounded = json!({ "type": "integer", "min": 1, "max": 5 });
    let fields = json!({ "n": bounded, "m": bounded, "log": {} });
    let mut graph = dynamic(fields);
    let twice = |state: View<DynamicState>| json!({ "n": 2 * state.get("n").as_i64().unwrap() });
    let node = graph.add_node("work", twice);
    graph.add_edge(START, node).add_edge(node, END);
    let graph = graph.compile().unwrap();
    let good = graph.invoke(json!({ "n": 2 })).thread("t").await.unwrap();
    let pointers = |error: &Error| {
        let mut pointers: Vec<String> = error.diagnostics().iter().map(|problem| problem.pointer.clone()).collect();
        pointers.sort_unstable();
        pointers
    };
    let bad = || json!({ "n": 9, "m": 0, "log": [1] });
    for error in [
        expect_error(graph.invoke(bad()).thread("t").await),
        expect_error(graph.invoke(bad()).thread("new").await),
        expect_error(graph.threads().update_state("t", bad()).await),
        expect_error(graph.threads().update_state("t", bad()).as_node("work").await),
    ] {
        assert_eq!(
            (error.code(), error.http_status(), error.exit_code()),
            (ErrorCode::InputInvalid, 422, 65),
            "{error}"
        );
        assert_eq!(pointers(&error), ["/m", "/n"], "{error}");
        assert_eq!(error.location().node, None, "{error}");
    }
    assert_eq!(expect_error(graph.threads().get_state("new").await).code(), ErrorCode::NotFound);
    assert_eq!(graph.threads().get_state("t").await.unwrap().state.to_json(), good.state.to_json());
    let error = expect_error(graph.invoke(json!({ "n": 3 })).thread("t").await);
    assert_eq!((error.code(), error.location().node.as_deref()), (ErrorCode::ReducerFailed, Some("work")), "{error}");
}

/// R-FWK-93: every error of a caller has its own code, with help, and the thread if there is one.
#[tokio::test]
async fn mistakes_of_a_caller_have_codes_of_their_own() {
    let graph = line(&Calls::default(), &["a"]).compile().unwrap();
    graph.invoke(json!({ "topic": "x" })).thread("t").await.unwrap();
    let nowhere = "00000000-0000-0000-0000-000000000001".parse().unwrap();
    let input = || json!({ "topic": "x" });
    let rows = [
        (
            expect_error(graph.invoke(json!({ "topci": 1 })).thread("t").await),
            ErrorCode::InputInvalid,
            "SS-002",
            (422, 65),
        ),
        (expect_error(graph.invoke(json!({})).thread("t").await), ErrorCode::InputInvalid, "empty", (422, 65)),
        (expect_error(graph.invoke(input()).recursion_limit(0).await), ErrorCode::InputInvalid, "limit", (422, 65)),
        (expect_error(graph.continue_thread("new").await), ErrorCode::InputInvalid, "new", (422, 65)),
        (expect_error(graph.threads().get_state("new").await), ErrorCode::NotFound, "SS-015", (404, 66)),
        (
            expect_error(graph.continue_thread("t").from_checkpoint(nowhere).await),
            ErrorCode::NotFound,
            "SS-015",
            (404, 66),
        ),
        (expect_error(graph.resume("t", 1).await), ErrorCode::InvalidResume, "SS-019", (422, 65)),
        (
            expect_error(graph.threads().update_state("t", input()).as_node("b").await),
            ErrorCode::InputInvalid,
            "`b`",
            (422, 65),
        ),
    ];
    for (error, code, text, statuses) in rows {
        check(&error, code, text, statuses, false);
    }
    let mut bare =
        StateGraph::with_schema("bare", superstep::Schema::from_json("state", &json!({ "topic": null })).unwrap());
    let node = bare.add_node("a", || ());
    bare.add_edge(START, node).add_edge(node, END);
    let bare: CompiledGraph<DynamicState> = bare.compile().unwrap();
    for error in [
        expect_error(bare.continue_thread("t").await),
        expect_error(bare.resume("t", 1).await),
        expect_error(bare.threads().get_state("t").await),
        expect_error(bare.threads().update_state("t", input()).await),
    ] {
        check(&error, ErrorCode::NoCheckpointer, "SS-014", (409, 64), false);
    }
}

/// R-FWK-93: everything that stops a run from outside has its own code: cancellation, timeout, budget, a blocking
/// call.
#[tokio::test(start_paused = true)]
async fn external_stops_have_codes() {
    let mut graph = dynamic(json!({ "log": log_field() }));
    let node = graph.add_node("spend", |cx: TaskContext| async move {
        cx.record_tokens(7)?;
        std::future::pending::<()>().await;
        Ok::<_, NodeError>(())
    });
    graph.add_edge(START, node).add_edge(node, END);
    let graph = graph.compile().unwrap();
    let run = || graph.invoke(json!({ "log": "x" })).thread("t");
    let control = superstep::RunControl::new();
    control.cancel();
    check(&expect_error(run().control(control).await), ErrorCode::Cancelled, "SS-013", (499, 130), false);
    check(&expect_error(run().timeout(Duration::from_millis(1)).await), ErrorCode::Timeout, "SS-012", (504, 75), true);
    check(&expect_error(run().token_budget(5).await), ErrorCode::TooLarge, "7 tokens", (413, 75), false);
    check(&expect_error(run().wait_blocking()), ErrorCode::ConfigInvalid, "SS-027", (500, 78), false);
}

/// R-FWK-93, R-FWK-47: a thread with a newer state version, and a recorded result of another type, have different
/// errors.
#[tokio::test]
async fn unreadable_stored_data_has_a_code() {
    let memory = MemoryCheckpointer::new();
    let build = |version: u32| {
        let schema = superstep::Schema::builder("state")
            .field(superstep::core::schema::field("n"))
            .version(version)
            .build()
            .unwrap();
        let mut graph = StateGraph::<DynamicState>::with_schema("test", schema);
        let node = graph.add_node("a", || ());
        graph.add_edge(START, node).add_edge(node, END).checkpointer(memory.clone());
        graph.compile().unwrap()
    };
    build(2).invoke(json!({ "n": 1 })).thread("t").await.unwrap();
    for error in [
        expect_error(build(1).threads().get_state("t").await),
        expect_error(build(1).invoke(json!({ "n": 2 })).thread("t").await),
    ] {
        check(&error, ErrorCode::CheckpointTooNew, "SS-017", (409, 74), false);
    }
    assert_eq!(history(&build(2), "t").await.len(), 2);
    let twice = |cx: TaskContext| async move {
        cx.once("key", async { Ok::<_, NodeError>("text".to_owned()) }).await?;
        cx.once("key", async { Ok::<_, NodeError>(1_u32) }).await?;
        Ok::<_, NodeError>(())
    };
    check(&failing(twice).await, ErrorCode::CheckpointCorrupt, "`key`", (500, 74), false);
}

/// R-FWK-93: a graph that does not compile lists all its problems under one code.
#[test]
fn a_graph_that_does_not_compile_lists_all_problems() {
    let mut graph = dynamic(json!({ "topic": null }));
    let node = graph.add_node("a", || ());
    graph.add_edge(node, "b").add_edge(END, node);
    let error = expect_error(graph.compile());
    check(&error, ErrorCode::InvalidGraph, "SS-001", (500, 65), false);
    assert!(error.diagnostics().len() >= 3, "{error}");
}

/// R-FWK-93: a thread leased by another run rejects a run that does not wait; a retry may succeed.
#[tokio::test]
async fn a_busy_thread_rejects_a_run_that_does_not_wait() {
    let (go, gate) = tokio::sync::watch::channel(false);
    let mut graph = dynamic(json!({ "log": log_field() }));
    let node = graph.add_node("wait", move || {
        let mut gate = gate.clone();
        async move { gate.wait_for(|open| *open).await.map(drop) }
    });
    graph.add_edge(START, node).add_edge(node, END);
    let graph = graph.compile().unwrap();
    let mut first = graph.invoke(json!({ "log": "1" })).thread("t").stream();
    first.next().await.unwrap();
    let second = graph.invoke(json!({ "log": "2" })).thread("t").multitask_strategy(MultitaskStrategy::Reject);
    check(&expect_error(second.await), ErrorCode::ThreadBusy, "SS-018", (409, 75), true);
    check(
        &expect_error(graph.threads().update_state("t", json!({ "log": "3" })).await),
        ErrorCode::ThreadBusy,
        "SS-018",
        (409, 75),
        true,
    );
    go.send_replace(true);
    assert!(first.finish().await.unwrap().is_finished());
}

/// a → b → c, where `b` fails until `fixed`.
fn fragile(calls: &Calls, fixed: &Arc<AtomicBool>) -> CompiledGraph<DynamicState> {
    let mut graph = dynamic(json!({ "log": log_field() }));
    let (a, c) = (graph.add_node("a", calls.step("a")), graph.add_node("c", calls.step("c")));
    let (node_calls, fixed) = (calls.clone(), fixed.clone());
    let b = graph.add_node("b", move || {
        node_calls.note("b");
        if fixed.load(Ordering::SeqCst) {
            Ok(json!({ "log": "b" }))
        } else {
            Err(NodeError::new("no disk").retryable())
        }
    });
    graph.add_sequence([START, a.into(), b.into(), c.into(), END]);
    graph.compile().unwrap()
}

/// R-FWK-94, R-REF-54, D13: a failed run is saved with status, error, partial state and next tasks; continuing
/// retries from there.
#[tokio::test]
async fn a_failed_run_is_saved_and_can_continue() {
    let (calls, fixed) = (Calls::default(), Arc::new(AtomicBool::new(false)));
    let graph = fragile(&calls, &fixed);
    let error = expect_error(graph.invoke(json!({ "log": "in" })).thread("t").await);
    let partial = error.partial().unwrap();
    assert_eq!((partial.next.as_slice(), partial.recent.as_slice()), (&["b".to_owned()][..], &["a".to_owned()][..]));
    assert_eq!(log(error.partial_state::<DynamicState>().unwrap()), ["in", "a"]);
    let threads = graph.threads();
    let seen = threads.get_state("t").await.unwrap();
    assert_eq!((threads.status("t").await.unwrap(), Some(seen.id())), (Some(ThreadStatus::Error), partial.checkpoint));
    assert_eq!((seen.next.as_slice(), log(&seen.state)), (&["b".to_owned()][..], vec!["in".to_owned(), "a".into()]));
    let stored = seen.tasks[0].error.as_ref().unwrap();
    assert_eq!((stored.code, stored.message.as_str(), stored.retryable), (ErrorCode::NodeFailed, "no disk", true));
    assert_eq!((stored.location.node.as_deref(), stored.location.step), (Some("b"), Some(2)));
    expect_error(graph.continue_thread("t").await);
    fixed.store(true, Ordering::SeqCst);
    let ended = graph.continue_thread("t").await.unwrap();
    assert_eq!(log(&ended.state), ["in", "a", "b", "c"]);
    assert_eq!(calls.take(), ["a", "b", "b", "b", "c"]);
    let seen = threads.get_state("t").await.unwrap();
    assert_eq!((threads.status("t").await.unwrap(), seen.tasks.len()), (Some(ThreadStatus::Idle), 0));
}

/// R-FWK-94, D13: if a superstep cannot be saved, the error refers to the last saved one, and reports no state that
/// is not stored.
#[tokio::test]
async fn a_state_that_could_not_be_saved_is_not_reported() {
    for (at, last) in [(1, CrashedWrite::Lost), (2, CrashedWrite::Lost), (2, CrashedWrite::Persisted)] {
        let graph = fragile(&Calls::default(), &Arc::new(AtomicBool::new(true)));
        let disk = MemoryCheckpointer::new();
        let store = CrashingCheckpointer::new(disk.clone(), at, last);
        let error = expect_error(graph.invoke(json!({ "log": "in" })).thread("t").checkpointer(store).await);
        assert_eq!(error.code(), ErrorCode::StoreUnavailable);
        let snapshots =
            graph.threads().checkpointer(disk).get_state_history("t", &HistoryQuery::default()).await.unwrap();
        let before = snapshots.iter().find(|saved| saved.checkpoint.step == at as i64 - 1).unwrap();
        assert_eq!(error.partial().unwrap().checkpoint, Some(before.id()));
        assert!(error.partial_state::<DynamicState>().is_none() && error.partial().unwrap().next.is_empty());
        assert_eq!(error.location().thread, Some("t".into()));
    }
}

/// R-FWK-94, R-GRA-45, D13: of several tasks the finished ones are kept; the error names all that failed.
#[tokio::test]
async fn finished_siblings_of_a_failure_are_saved() {
    let (calls, runs) = (Calls::default(), Arc::new(AtomicU32::new(0)));
    let mut graph = dynamic(json!({ "log": log_field() }));
    let good = graph.add_node("good", calls.step("good"));
    graph.add_edge(START, good).add_edge(good, END);
    for name in ["bad", "worse"] {
        let runs = runs.clone();
        let node = graph.add_node(name, move || {
            if runs.fetch_add(1, Ordering::SeqCst) < 2 {
                Err(NodeError::new(format!("{name} luck")))
            } else {
                Ok(json!({ "log": name }))
            }
        });
        graph.add_edge(START, node).add_edge(node, END);
    }
    let graph = graph.compile().unwrap();
    let error = expect_error(graph.invoke(json!({ "log": "in" })).thread("t").await);
    assert!(error.message() == "bad luck" && error.help().unwrap().contains("`worse`"), "{error}");
    assert_eq!(log(error.partial_state::<DynamicState>().unwrap()), ["in"]);
    let seen = graph.threads().get_state("t").await.unwrap();
    let tasks: Vec<_> =
        seen.tasks.iter().map(|task| (task.node.as_str(), task.is_finished, task.error.is_some())).collect();
    for row in [("good", true, false), ("bad", false, true), ("worse", false, true)] {
        assert!(tasks.contains(&row), "{tasks:?}");
    }
    assert_eq!(log(&graph.continue_thread("t").await.unwrap().state), ["in", "good", "bad", "worse"]);
    assert_eq!(calls.take(), ["good"]);
}

/// R-FWK-14, R-FWK-94, D13: a run that reaches its recursion limit names its next tasks; its thread shows them and
/// can continue.
#[tokio::test]
async fn a_run_at_its_limit_can_continue() {
    let graph = line(&Calls::default(), &["a", "b", "c"]).compile().unwrap();
    let error = expect_error(graph.invoke(json!({ "topic": "x" })).thread("t").recursion_limit(2).await);
    check(&error, ErrorCode::RecursionLimit, "`c`", (500, 75), false);
    assert_eq!(error.partial().unwrap().next, ["c"]);
    assert_eq!(graph.threads().status("t").await.unwrap(), Some(ThreadStatus::Error));
    let ended = graph.continue_thread("t").await.unwrap();
    assert_eq!(log(&ended.state), ["a", "b", "c"]);
    assert_eq!(graph.threads().status("t").await.unwrap(), Some(ThreadStatus::Idle));
}

/// R-FWK-14: a run that returns a partial result at its limit leaves an idle thread.
#[tokio::test]
async fn a_truncated_run_leaves_an_idle_thread() {
    let graph = line(&Calls::default(), &["a", "b"]).compile().unwrap();
    let run = graph
        .invoke(json!({ "topic": "x" }))
        .thread("t")
        .recursion_limit(1)
        .on_limit(superstep::OnLimit::ReturnPartial);
    let ended: Outcome<DynamicState> = run.await.unwrap();
    assert_eq!((ended.end, ended.warnings.len(), ended.next), (superstep::RunEnd::Truncated, 1, vec!["b".to_owned()]));
    assert_eq!(graph.threads().status("t").await.unwrap(), Some(ThreadStatus::Idle));
}

/// R-FWK-94: a rejected update fails the run after its tasks; nothing of the superstep is applied.
#[tokio::test]
async fn a_rejected_update_is_saved_as_a_failure() {
    let mut graph = dynamic(json!({ "n": { "reducer": "add", "default": 0 }, "log": log_field() }));
    for (name, value) in [("good", json!({ "n": 1, "log": "good" })), ("bad", json!({ "n": "x" }))] {
        let node = graph.add_node(name, move || value.clone());
        graph.add_edge(START, node).add_edge(node, END);
    }
    let graph = graph.compile().unwrap();
    let error = expect_error(graph.invoke(json!({ "n": 1 })).thread("t").await);
    assert_eq!((error.code(), error.location().node.as_deref()), (ErrorCode::ReducerFailed, Some("bad")), "{error}");
    let seen = graph.threads().get_state("t").await.unwrap();
    assert_eq!((seen.state.to_json(), history(&graph, "t").await.len()), (json!({ "n": 1, "log": [] }), 1));
    assert_eq!(graph.threads().status("t").await.unwrap(), Some(ThreadStatus::Error));
}

/// R-FWK-94, R-GRA-45: an error of a conditional edge is an error of its node: nothing is applied, and the run can
/// continue.
#[tokio::test]
async fn a_failing_route_fails_its_node() {
    let calls = Calls::default();
    let mut graph = dynamic(json!({ "log": log_field(), "to": null }));
    let [a, b] = ["a", "b"].map(|name| graph.add_node(name, calls.step(name)));
    graph.add_edge(START, a).add_edge(b, END);
    graph.add_conditional_edges(
        a,
        |state: &DynamicState| state.get("to").as_str().unwrap_or("nowhere").to_owned(),
        [b],
    );
    let graph = graph.compile().unwrap();
    let error = expect_error(graph.invoke(json!({ "log": "in" })).thread("t").await);
    check(&error, ErrorCode::InvalidRoute, "`nowhere`", (500, 70), false);
    assert_eq!(error.location().node.as_deref(), Some("a"));
    assert_eq!(log(&graph.threads().get_state("t").await.unwrap().state), ["in"]);
    graph.threads().update_state("t", json!({ "to": "b" })).await.unwrap();
    assert_eq!(log(&graph.continue_thread("t").await.unwrap().state), ["in", "a", "b"]);
}

/// R-FWK-93: the text of an error is readable: code, node, fact and help.
#[tokio::test]
async fn an_error_reads_well() {
    let error = failing(|| json!({ "m": Value::Null })).await;
    insta::assert_snapshot!(error, @r"
    error[SS-004]: node `work`: the update of the node does not match the state
      - /m: no field `m` (the fields are `n`)
    ");
}
