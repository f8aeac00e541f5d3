//! Cancelling a run from outside, and draining it at a superstep boundary.

use std::time::Duration;

use serde_json::json;
use superstep::core::port::ThreadStatus;
use superstep::prelude::*;
use superstep::{CompiledGraph, DynamicState, ErrorCode, RunControl, RunEnd};
use tokio::time::{Instant, sleep};

use crate::fixtures::{CallCounter, field, graph, log_word, settle};

struct QuickAndSlow {
    graph: CompiledGraph<DynamicState>,
    quick: CallCounter,
    slow: CallCounter,
}

/// `first`, then `quick` in parallel with `slow`, which takes an hour the first time, then the end.
fn quick_and_slow() -> QuickAndSlow {
    let (mut g, quick, slow) = (graph("g"), CallCounter::default(), CallCounter::default());
    let (quick_runs, slow_runs) = (quick.clone(), slow.clone());
    let first = g.add_node("first", log_word("first"));
    let q = g.add_node("quick", move || {
        quick_runs.up();
        json!({ "log": ["quick"] })
    });
    let s = g.add_node("slow", move || {
        let run = slow_runs.up();
        async move {
            if run == 1 {
                sleep(Duration::from_secs(3_600)).await;
            }
            json!({ "log": ["slow"] })
        }
    });
    g.add_edge(START, first)
        .add_edge(first, q)
        .add_edge(first, s)
        .add_edge(q, END)
        .add_edge(s, END)
        .checkpointer(MemoryCheckpointer::new());
    QuickAndSlow { graph: g.compile().unwrap(), quick, slow }
}

/// R-FWK-18, R-REF-113: a cancelled run ends at the next await point without waiting for the node, with SS-013; the
/// thread stays at its last complete superstep, finished siblings are kept and do not run again.
#[tokio::test(start_paused = true)]
async fn a_cancelled_run_stops_at_once_and_keeps_finished_work() {
    let QuickAndSlow { graph, quick, slow } = quick_and_slow();
    let control = RunControl::new();
    let run = graph.invoke(json!({ "n": 0 })).thread("t").control(control.clone()).spawn();
    settle().await;
    assert_eq!((quick.get(), slow.get()), (1, 1));
    let cancelled_at = Instant::now();
    control.cancel();
    let error = run.await.unwrap_err();
    assert!(cancelled_at.elapsed() < Duration::from_millis(100), "{:?}", cancelled_at.elapsed());
    assert_eq!(
        (error.code(), error.code().to_string(), error.exit_code()),
        (ErrorCode::Cancelled, "SS-013".to_owned(), 130)
    );
    assert_eq!(error.partial_state::<DynamicState>().unwrap().get("log").into_owned(), json!(["first"]));
    let saved = graph.threads().get_state("t").await.unwrap();
    assert_eq!(
        (saved.state.get("log").into_owned(), saved.next.clone()),
        (json!(["first"]), vec!["quick".to_owned(), "slow".to_owned()])
    );
    assert_eq!(graph.threads().status("t").await.unwrap(), Some(ThreadStatus::Idle));
    assert_eq!(field(&graph.continue_thread("t").await.unwrap(), "log"), json!(["first", "quick", "slow"]));
    assert_eq!((quick.get(), slow.get()), (1, 2));
}

/// R-FWK-18: results of tasks that have ended when a run is cancelled are kept, also if the run had not received them
/// yet.
#[tokio::test]
async fn finished_tasks_are_saved_although_their_results_were_not_received() {
    let (mut g, control, runs) = (graph("g"), RunControl::new(), CallCounter::default());
    for name in ["one", "two"] {
        let runs = runs.clone();
        let node = g.add_node(name, move || {
            runs.up();
            json!({ "log": [name] })
        });
        g.add_edge(START, node).add_edge(node, END);
    }
    let handle = control.clone();
    // Polled after the other two and before the run: it cancels while their results are pending.
    let last = g.add_node("three", move || {
        let is_first = !handle.is_cancelled();
        handle.cancel();
        async move {
            if is_first {
                std::future::pending::<()>().await;
            }
            json!({ "log": ["three"] })
        }
    });
    g.add_edge(START, last).add_edge(last, END).checkpointer(MemoryCheckpointer::new());
    let graph = g.compile().unwrap();
    let error = graph.invoke(json!({ "n": 0 })).thread("t").control(control).await.unwrap_err();
    assert_eq!((error.code(), runs.get()), (ErrorCode::Cancelled, 2));
    let saved = graph.threads().get_state("t").await.unwrap();
    let tasks: Vec<(&str, bool)> = saved.tasks.iter().map(|task| (task.node.as_str(), task.is_finished)).collect();
    assert_eq!(tasks, [("one", true), ("two", true)]);
    assert_eq!(graph.threads().status("t").await.unwrap(), Some(ThreadStatus::Idle));
    assert_eq!(field(&graph.continue_thread("t").await.unwrap(), "log"), json!(["one", "two", "three"]));
    assert_eq!(runs.get(), 2);
}

/// R-FWK-18: a run that is cancelled before it starts, or while it is queued, never runs.
#[tokio::test(start_paused = true)]
async fn a_run_cancelled_before_its_turn_never_runs() {
    let QuickAndSlow { graph, slow, .. } = quick_and_slow();
    let control = RunControl::new();
    control.cancel();
    let early = graph.invoke(json!({ "n": 0 })).thread("t").control(control).await;
    assert_eq!((early.unwrap_err().code(), slow.get()), (ErrorCode::Cancelled, 0));
    let (_first, control) = (graph.invoke(json!({ "n": 0 })).thread("t").spawn(), RunControl::new());
    settle().await;
    let queued = graph.invoke(json!({ "n": 0 })).thread("t").control(control.clone()).spawn();
    settle().await;
    let cancelled_at = Instant::now();
    control.cancel();
    assert_eq!(queued.await.unwrap_err().code(), ErrorCode::Cancelled);
    assert!(cancelled_at.elapsed() < Duration::from_millis(100), "{:?}", cancelled_at.elapsed());
    assert_eq!(slow.get(), 1);
}

/// R-FWK-18, R-REF-113: cancellation reaches a subgraph, and nothing continues in the background.
#[tokio::test(start_paused = true)]
async fn cancelling_reaches_subgraphs() {
    struct Dropped(CallCounter);
    impl Drop for Dropped {
        fn drop(&mut self) {
            self.0.up();
        }
    }
    let (mut inner, dropped) = (graph("inner"), CallCounter::default());
    let held = dropped.clone();
    let deep = inner.add_node("deep", move || {
        let held = Dropped(held.clone());
        async move {
            sleep(Duration::from_secs(3_600)).await;
            drop(held);
        }
    });
    inner.add_edge(START, deep).add_edge(deep, END);
    let mut g = graph("outer");
    let child = g.add_node("child", inner.compile().unwrap());
    g.add_edge(START, child).add_edge(child, END).checkpointer(MemoryCheckpointer::new());
    let (graph, control) = (g.compile().unwrap(), RunControl::new());
    let run = graph.invoke(json!({ "n": 0 })).thread("t").control(control.clone()).spawn();
    settle().await;
    control.cancel();
    assert_eq!(run.await.unwrap_err().code(), ErrorCode::Cancelled);
    settle().await;
    assert_eq!(dropped.get(), 1);
}

/// R-REF-115: a drained run stops at the next superstep boundary, saved and ready to continue.
#[tokio::test]
async fn a_drained_run_stops_between_two_supersteps() {
    let (mut g, control) = (graph("g"), RunControl::new());
    let handle = control.clone();
    let a = g.add_node("a", move |cx: TaskContext| {
        handle.drain();
        json!({ "log": ["a", cx.is_draining()] })
    });
    let b = g.add_node("b", log_word("b"));
    g.add_sequence([START, a.into(), b.into(), END]).checkpointer(MemoryCheckpointer::new());
    let graph = g.compile().unwrap();
    let stopped = graph.invoke(json!({ "n": 0 })).thread("t").control(control).await.unwrap();
    assert_eq!((stopped.end.clone(), stopped.next.clone()), (RunEnd::Drained, vec!["b".to_owned()]));
    assert_eq!(field(&graph.continue_thread("t").await.unwrap(), "log"), json!(["a", true, "b"]));
}
