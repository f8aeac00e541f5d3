//! Tasks of one superstep run concurrently, within limits, and blocking tasks do not block others.

use std::sync::mpsc;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::json;
use superstep::prelude::*;
use superstep::{CompiledGraph, DynamicState};
use tokio::sync::Barrier;

use crate::fixtures::{CallCounter, field, graph, settle};

/// R-FWK-13, R-PRB-1: four nodes that wait for each other meet.
#[tokio::test(start_paused = true)]
async fn tasks_of_one_superstep_run_at_once() {
    let mut g = graph("g");
    let barrier = Arc::new(Barrier::new(4));
    for name in ["a", "b", "c", "d"] {
        let barrier = barrier.clone();
        let a = g.add_node(name, move || {
            let barrier = barrier.clone();
            async move {
                barrier.wait().await;
                json!({ "n": 1 })
            }
        });
        g.add_edge(START, a).add_edge(a, END);
    }
    let done = g.compile().unwrap().invoke(json!({ "n": 0 })).timeout(Duration::from_secs(5)).await.unwrap();
    assert_eq!(field(&done, "n"), json!(4));
}

/// Twenty tasks of one node; `peak` is the maximum number of concurrent ones.
fn crowd(limit: Option<usize>, peak: &Arc<Mutex<usize>>) -> CompiledGraph<DynamicState> {
    let mut g = graph("g");
    let (running, peak) = (CallCounter::default(), peak.clone());
    let work = move || {
        let (running, peak) = (running.clone(), peak.clone());
        async move {
            let now = running.up();
            let highest = now.max(*peak.lock().unwrap());
            *peak.lock().unwrap() = highest;
            settle().await;
            running.down();
            json!({ "n": 1 })
        }
    };
    let fan = g.add_node("fan", || ());
    let work = limit.into_iter().fold(node(work), superstep::NodeBuilder::max_concurrency);
    let work = g.add_node("work", work);
    g.add_edge(START, fan).add_edge(work, END);
    g.add_conditional_edges(
        fan,
        move |_: &DynamicState| (0..20).map(|i| SendTo::new(work, i)).collect::<Vec<_>>(),
        [work],
    );
    g.compile().unwrap()
}

/// R-FWK-13: `max_concurrency` limits the tasks of a run; the limit is reached and never exceeded.
#[tokio::test]
async fn max_concurrency_bounds_the_tasks_of_a_run() {
    for (limit, expected) in [(1, 1), (3, 3), (100, 20)] {
        let peak = Arc::default();
        let done = crowd(None, &peak).invoke(json!({ "n": 0 })).max_concurrency(limit).await.unwrap();
        assert_eq!((field(&done, "n"), *peak.lock().unwrap()), (json!(20), expected));
    }
}

/// R-FWK-13: the limit of a node applies to all runs of the graph together.
#[tokio::test]
async fn the_limit_of_a_node_applies_to_all_runs() {
    let peak = Arc::default();
    let graph = crowd(Some(2), &peak);
    let (one, two) =
        tokio::join!(graph.invoke(json!({ "n": 0 })).into_future(), graph.invoke(json!({ "n": 0 })).into_future());
    assert_eq!((field(&one.unwrap(), "n"), field(&two.unwrap(), "n")), (json!(20), json!(20)));
    assert_eq!(*peak.lock().unwrap(), 2);
}

/// R-FWK-13: on one async thread, a blocking task waits for a sibling that can still run.
#[tokio::test]
async fn blocking_work_does_not_block_the_async_thread() {
    let (sender, receiver) = mpsc::channel();
    let receiver = Mutex::new(receiver);
    let mut g = graph("g");
    let blocks = g.add_node(
        "blocks",
        blocking(move || {
            let received = receiver.lock().unwrap().recv_timeout(Duration::from_secs(20));
            json!({ "title": received.unwrap_or("nothing") })
        }),
    );
    let speaks = g.add_node("speaks", move || {
        let sender = sender.clone();
        async move {
            settle().await;
            sender.send("a word").map_err(|error| NodeError::new(error.to_string()))
        }
    });
    g.add_edge(START, blocks).add_edge(START, speaks).add_edge(blocks, END).add_edge(speaks, END);
    assert_eq!(field(&g.compile().unwrap().invoke(json!({ "n": 0 })).await.unwrap(), "title"), json!("a word"));
}
