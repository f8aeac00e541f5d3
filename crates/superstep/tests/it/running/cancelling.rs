//! Cancelling a run from outside, and letting it stop at a step boundary.

use std::time::Duration;

use serde_json::json;
use superstep::core::port::ThreadStatus;
use superstep::prelude::*;
use superstep::{Code, Compiled, Control, Record, Status};
use tokio::time::{Instant, sleep};

use crate::engine::{Count, field, graph, says, settle};

struct Bench {
    graph: Compiled<Record>,
    quick: Count,
    slow: Count,
}

/// `first`, then `quick` beside `slow`, which takes an hour the first time, then the end.
fn bench() -> Bench {
    let (mut g, quick, slow) = (graph("g"), Count::default(), Count::default());
    let (quick_runs, slow_runs) = (quick.clone(), slow.clone());
    let first = g.node("first", says("first"));
    let q = g.node("quick", move || {
        quick_runs.up();
        json!({ "log": ["quick"] })
    });
    let s = g.node("slow", move || {
        let run = slow_runs.up();
        async move {
            if run == 1 {
                sleep(Duration::from_secs(3_600)).await;
            }
            json!({ "log": ["slow"] })
        }
    });
    g.edge(START, first).edge(first, q).edge(first, s).edge(q, END).edge(s, END).checkpointer(Memory::new());
    Bench { graph: g.compile().unwrap(), quick, slow }
}

/// R-FWK-18, R-REF-113: a cancelled run ends within 100 ms with SS-013; the thread stays at its last whole superstep,
/// finished siblings are kept and do not run again.
#[tokio::test(start_paused = true)]
async fn a_cancelled_run_stops_at_once_and_keeps_what_is_done() {
    let Bench { graph, quick, slow } = bench();
    let control = Control::new();
    let run = graph.run(json!({ "n": 0 })).thread("t").control(control.clone()).spawn();
    settle().await;
    assert_eq!((quick.get(), slow.get()), (1, 1));
    let asked = Instant::now();
    control.cancel();
    let error = run.await.unwrap_err();
    assert!(asked.elapsed() < Duration::from_millis(100), "{:?}", asked.elapsed());
    assert_eq!(
        (error.code(), error.code().to_string(), error.exit_code()),
        (Code::Cancelled, "SS-013".to_owned(), 130)
    );
    assert_eq!(error.partial_state::<Record>().unwrap().get("log").into_owned(), json!(["first"]));
    let saved = graph.threads().state("t").await.unwrap();
    assert_eq!(
        (saved.state.get("log").into_owned(), saved.next.clone()),
        (json!(["first"]), vec!["quick".to_owned(), "slow".to_owned()])
    );
    assert_eq!(graph.threads().status("t").await.unwrap(), Some(ThreadStatus::Idle));
    assert_eq!(field(&graph.go_on("t").await.unwrap(), "log"), json!(["first", "quick", "slow"]));
    assert_eq!((quick.get(), slow.get()), (1, 2));
}

/// R-FWK-18: tasks that have ended when a run is cancelled are kept, also when the run had not heard of them yet.
#[tokio::test]
async fn what_has_ended_is_kept_although_nobody_had_heard_of_it() {
    let (mut g, control, runs) = (graph("g"), Control::new(), Count::default());
    for name in ["one", "two"] {
        let runs = runs.clone();
        let node = g.node(name, move || {
            runs.up();
            json!({ "log": [name] })
        });
        g.edge(START, node).edge(node, END);
    }
    let hand = control.clone();
    // Polled after the other two and before the run: it cancels while their results wait to be looked at.
    let last = g.node("three", move || {
        let is_first = !hand.is_cancelled();
        hand.cancel();
        async move {
            if is_first {
                std::future::pending::<()>().await;
            }
            json!({ "log": ["three"] })
        }
    });
    g.edge(START, last).edge(last, END).checkpointer(Memory::new());
    let graph = g.compile().unwrap();
    let error = graph.run(json!({ "n": 0 })).thread("t").control(control).await.unwrap_err();
    assert_eq!((error.code(), runs.get()), (Code::Cancelled, 2));
    let saved = graph.threads().state("t").await.unwrap();
    let kept: Vec<(&str, bool)> = saved.tasks.iter().map(|task| (task.node.as_str(), task.is_done)).collect();
    assert_eq!(kept, [("one", true), ("two", true)]);
    assert_eq!(graph.threads().status("t").await.unwrap(), Some(ThreadStatus::Idle));
    assert_eq!(field(&graph.go_on("t").await.unwrap(), "log"), json!(["one", "two", "three"]));
    assert_eq!(runs.get(), 2);
}

/// R-FWK-18: a run cancelled before it starts, or while it waits for its turn, never runs.
#[tokio::test(start_paused = true)]
async fn a_run_cancelled_before_its_turn_never_runs() {
    let Bench { graph, slow, .. } = bench();
    let control = Control::new();
    control.cancel();
    let early = graph.run(json!({ "n": 0 })).thread("t").control(control).await;
    assert_eq!((early.unwrap_err().code(), slow.get()), (Code::Cancelled, 0));
    let (_first, control) = (graph.run(json!({ "n": 0 })).thread("t").spawn(), Control::new());
    settle().await;
    let queued = graph.run(json!({ "n": 0 })).thread("t").control(control.clone()).spawn();
    settle().await;
    let asked = Instant::now();
    control.cancel();
    assert_eq!(queued.await.unwrap_err().code(), Code::Cancelled);
    assert!(asked.elapsed() < Duration::from_millis(100), "{:?}", asked.elapsed());
    assert_eq!(slow.get(), 1);
}

/// R-FWK-18, R-REF-113: cancelling reaches a graph inside, and nothing goes on in the background.
#[tokio::test(start_paused = true)]
async fn cancelling_reaches_graphs_inside() {
    struct Dropped(Count);
    impl Drop for Dropped {
        fn drop(&mut self) {
            self.0.up();
        }
    }
    let (mut inner, gone) = (graph("inner"), Count::default());
    let held = gone.clone();
    let deep = inner.node("deep", move || {
        let held = Dropped(held.clone());
        async move {
            sleep(Duration::from_secs(3_600)).await;
            drop(held);
        }
    });
    inner.edge(START, deep).edge(deep, END);
    let mut g = graph("outer");
    let child = g.node("child", inner.compile().unwrap());
    g.edge(START, child).edge(child, END).checkpointer(Memory::new());
    let (graph, control) = (g.compile().unwrap(), Control::new());
    let run = graph.run(json!({ "n": 0 })).thread("t").control(control.clone()).spawn();
    settle().await;
    control.cancel();
    assert_eq!(run.await.unwrap_err().code(), Code::Cancelled);
    settle().await;
    assert_eq!(gone.get(), 1);
}

/// R-REF-115: a run that is drained stops at the next step boundary, saved and ready to go on.
#[tokio::test]
async fn a_drained_run_stops_between_two_supersteps() {
    let (mut g, control) = (graph("g"), Control::new());
    let hand = control.clone();
    let a = g.node("a", move |cx: Cx| {
        hand.drain();
        json!({ "log": ["a", cx.is_draining()] })
    });
    let b = g.node("b", says("b"));
    g.sequence([START, a.into(), b.into(), END]).checkpointer(Memory::new());
    let graph = g.compile().unwrap();
    let stopped = graph.run(json!({ "n": 0 })).thread("t").control(control).await.unwrap();
    assert_eq!((stopped.status.clone(), stopped.next.clone()), (Status::Drained, vec!["b".to_owned()]));
    assert_eq!(field(&graph.go_on("t").await.unwrap(), "log"), json!(["a", true, "b"]));
}
