//! Timeouts: per attempt of a node, idle, per send, per superstep, per run.

use std::time::Duration;

use serde_json::json;
use superstep::core::port::ThreadStatus;
use superstep::prelude::*;
use superstep::{DynamicState, Error, ErrorCode, IntoNode, NodeBuilder, Result, TimeoutPolicy};
use tokio::time::{Instant, sleep};

use crate::fixtures::{CallCounter, TokioClock, field, graph, log_word};

/// Returns the error of a one-node graph that times out, and after how many seconds.
async fn too_slow<M, F>(node: NodeBuilder<F>) -> (u64, Error)
where
    NodeBuilder<F>: IntoNode<DynamicState, (), M>,
{
    let started = Instant::now();
    let ended = single_node(node).await;
    (started.elapsed().as_secs(), ended.unwrap_err())
}

async fn single_node<M>(node: impl IntoNode<DynamicState, (), M>) -> Result<()> {
    let mut g = graph("g");
    let a = g.add_node("a", node);
    g.add_edge(START, a).add_edge(a, END);
    g.compile()?.invoke(json!({ "n": 0 })).clock(TokioClock::new()).await.map(drop)
}

async fn hour() {
    sleep(Duration::from_secs(3_600)).await;
}

const fn seconds(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

/// R-FWK-17, R-REF-107: a node that takes too long fails with `Timeout`, with a new timeout for each attempt.
#[tokio::test(start_paused = true)]
async fn a_node_is_stopped_at_its_limit() {
    let (after, error) = too_slow(node(hour).timeout(seconds(3))).await;
    assert_eq!((after, error.code(), error.location().node.as_deref()), (3, ErrorCode::Timeout, Some("a")));
    assert!(error.to_string().contains("3s"), "{error}");
    let (after, _) = too_slow(
        node(hour)
            .timeout(seconds(3))
            .retry(RetryPolicy::exponential(2).without_jitter().backoff_factor(1.0).initial_interval(seconds(1))),
    )
    .await;
    assert_eq!(after, 3 + 1 + 3);
}

/// R-FWK-17, R-REF-107: an idle timeout restarts with each activity: a heartbeat, output, a recorded result.
#[tokio::test(start_paused = true)]
async fn an_idle_timeout_restarts_with_each_heartbeat() {
    let heartbeats = async |cx: TaskContext| {
        for sign in 0..6 {
            sleep(seconds(2)).await;
            match sign % 3 {
                0 => cx.heartbeat(),
                1 => cx.emit("still here").await?,
                _ => cx.once(&format!("{sign}"), async { Ok::<_, NodeError>(1) }).await.map(drop)?,
            }
        }
        Ok::<_, NodeError>(())
    };
    single_node(node(heartbeats).timeout(TimeoutPolicy::idle_timeout(seconds(3)))).await.unwrap();
    let (after, error) = too_slow(node(heartbeats).timeout(TimeoutPolicy::idle_timeout(seconds(1)))).await;
    assert_eq!((after, error.code()), (1, ErrorCode::Timeout));
    let (after, _) =
        too_slow(node(heartbeats).timeout(TimeoutPolicy::run_timeout(seconds(7)).and_idle_timeout(seconds(3)))).await;
    assert_eq!(after, 7);
}

/// R-FWK-17, R-REF-107: activity in a subgraph counts for the node in which it runs, also when nested twice.
#[tokio::test(start_paused = true)]
async fn activity_in_a_subgraph_resets_the_idle_timeout() {
    let mut g = graph("inner");
    let names: Vec<_> = (0..5).map(|number| g.add_node(&number.to_string(), || sleep(seconds(2)))).collect();
    g.set_entry_point(names[0]).add_sequence(names.clone()).set_finish_point(names[4]);
    let inner = g.compile().unwrap();
    let mut g = graph("middle");
    let child = g.add_node("child", inner.clone());
    g.add_edge(START, child).add_edge(child, END);
    single_node(node(inner.clone()).timeout(TimeoutPolicy::idle_timeout(seconds(3)))).await.unwrap();
    single_node(node(g.compile().unwrap()).timeout(TimeoutPolicy::idle_timeout(seconds(3)))).await.unwrap();
    let (after, error) = too_slow(node(inner).timeout(TimeoutPolicy::idle_timeout(seconds(1)))).await;
    assert_eq!((after, error.code()), (1, ErrorCode::Timeout));
}

/// R-FWK-17: optionally, only heartbeats restart the idle timeout.
#[tokio::test(start_paused = true)]
async fn an_idle_limit_may_count_heartbeats_only() {
    let talks = async |cx: TaskContext| {
        for _ in 0..5 {
            sleep(seconds(2)).await;
            cx.emit("talk").await?;
        }
        Ok::<_, NodeError>(())
    };
    let (after, error) =
        too_slow(node(talks).timeout(TimeoutPolicy::idle_timeout(seconds(3)).refresh_on_heartbeat())).await;
    assert_eq!((after, error.code()), (3, ErrorCode::Timeout));
    let heartbeats = async |cx: TaskContext| {
        for _ in 0..5 {
            sleep(seconds(2)).await;
            cx.heartbeat();
        }
    };
    single_node(node(heartbeats).timeout(TimeoutPolicy::idle_timeout(seconds(3)).refresh_on_heartbeat()))
        .await
        .unwrap();
}

/// R-FWK-17, R-REF-108: the timeout of a send replaces that of its node, longer or shorter.
#[tokio::test(start_paused = true)]
async fn a_send_may_have_its_own_timeout() {
    for (limit, ends) in [(Some(8), true), (Some(1), false), (None, false)] {
        let mut g = graph("g");
        let fan = g.add_node("fan", || ());
        let work = g.add_node("work", node(|_: SendPayload<u8>| sleep(seconds(5))).timeout(seconds(3)));
        let send = move |_: &DynamicState| {
            limit.into_iter().fold(SendTo::new(work, 0u8), |send, limit| send.timeout(seconds(limit)))
        };
        g.add_edge(START, fan).add_edge(work, END).add_conditional_edges(fan, send, [work]);
        let ended = g.compile().unwrap().invoke(json!({ "n": 0 })).await;
        assert_eq!(ended.as_ref().err().map(Error::code), (!ends).then_some(ErrorCode::Timeout), "{limit:?}");
    }
}

/// R-FWK-17: a run that times out keeps its last checkpoint, reports it, and can continue from there.
#[tokio::test(start_paused = true)]
async fn a_run_timeout_keeps_the_last_checkpoint() {
    let (mut g, attempts) = (graph("g"), CallCounter::default());
    let a = g.add_node("a", log_word("a"));
    let b = g.add_node("b", move || {
        let first = attempts.up() == 1;
        async move {
            if first {
                hour().await;
            }
            json!({ "log": ["b"] })
        }
    });
    g.add_sequence([START, a.into(), b.into(), END]).checkpointer(MemoryCheckpointer::new());
    let graph = g.compile().unwrap();
    let error = graph.invoke(json!({ "n": 0 })).thread("t").timeout(seconds(5)).await.unwrap_err();
    insta::assert_snapshot!(error, @"
    error[SS-012]: the run exceeded its timeout of 5s
    help: continue the thread from its last saved superstep, or raise the timeout
    ");
    let saved = graph.threads().get_state("t").await.unwrap();
    assert_eq!((saved.state.get("log").into_owned(), saved.next.clone()), (json!(["a"]), vec!["b".to_owned()]));
    assert_eq!(error.partial().unwrap().checkpoint, Some(saved.id()));
    assert_eq!(graph.threads().status("t").await.unwrap(), Some(ThreadStatus::Error));
    assert_eq!(field(&graph.continue_thread("t").await.unwrap(), "log"), json!(["a", "b"]));
}

/// R-REF-116: a superstep that hangs is ended by the superstep timeout of the run.
#[tokio::test(start_paused = true)]
async fn a_superstep_that_hangs_is_ended() {
    let mut g = graph("g");
    let (a, b) = (g.add_node("a", log_word("a")), g.add_node("b", hour));
    g.add_edge(START, a).add_edge(START, b).add_edge(a, END).add_edge(b, END);
    let started = Instant::now();
    let error = g.compile().unwrap().invoke(json!({ "n": 0 })).step_timeout(seconds(4)).await.unwrap_err();
    assert_eq!((error.code(), started.elapsed().as_secs()), (ErrorCode::Timeout, 4));
}
