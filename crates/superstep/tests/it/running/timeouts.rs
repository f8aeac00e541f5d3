//! Timeouts: per attempt of a node, without a sign of life, per send, per superstep, per run.

use std::time::Duration;

use serde_json::json;
use superstep::core::port::ThreadStatus;
use superstep::prelude::*;
use superstep::{Code, Error, IntoNode, NodeWith, Record, Result, Timeout};
use tokio::time::{Instant, sleep};

use crate::engine::{Count, TokioClock, field, graph, says};

/// The error of a one-node graph that takes too long, and after how many seconds it came.
async fn too_slow<M, F>(node: NodeWith<F>) -> (u64, Error)
where
    NodeWith<F>: IntoNode<Record, (), M>,
{
    let started = Instant::now();
    let ended = alone(node).await;
    (started.elapsed().as_secs(), ended.unwrap_err())
}

async fn alone<M>(node: impl IntoNode<Record, (), M>) -> Result<()> {
    let mut g = graph("g");
    let a = g.node("a", node);
    g.edge(START, a).edge(a, END);
    g.compile()?.run(json!({ "n": 0 })).clock(TokioClock::new()).await.map(drop)
}

async fn hour() {
    sleep(Duration::from_secs(3_600)).await;
}

const fn seconds(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

/// R-FWK-17, R-REF-107: a node that takes too long fails with `Timeout` at its limit, each attempt anew.
#[tokio::test(start_paused = true)]
async fn a_node_is_stopped_at_its_limit() {
    let (after, error) = too_slow(node(hour).timeout(seconds(3))).await;
    assert_eq!((after, error.code(), error.place().node.as_deref()), (3, Code::Timeout, Some("a")));
    assert!(error.to_string().contains("3s"), "{error}");
    let (after, _) = too_slow(
        node(hour)
            .timeout(seconds(3))
            .retry(Retry::exponential(2).without_jitter().backoff(1.0).initial_interval(seconds(1))),
    )
    .await;
    assert_eq!(after, 3 + 1 + 3);
}

/// R-FWK-17, R-REF-107: an idle limit starts again with each sign of life: a heartbeat, output, a recorded result.
#[tokio::test(start_paused = true)]
async fn an_idle_limit_starts_again_with_each_sign_of_life() {
    let beats = async |cx: Cx| {
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
    alone(node(beats).timeout(Timeout::idle(seconds(3)))).await.unwrap();
    let (after, error) = too_slow(node(beats).timeout(Timeout::idle(seconds(1)))).await;
    assert_eq!((after, error.code()), (1, Code::Timeout));
    let (after, _) = too_slow(node(beats).timeout(Timeout::run(seconds(7)).and_idle(seconds(3)))).await;
    assert_eq!(after, 7);
}

/// R-FWK-17, R-REF-107: what goes on in a graph inside is a sign of life of the node it runs in, two graphs deep as
/// well.
#[tokio::test(start_paused = true)]
async fn an_idle_limit_starts_again_with_what_happens_inside() {
    let mut g = graph("inner");
    let names: Vec<_> = (0..5).map(|number| g.node(&number.to_string(), || sleep(seconds(2)))).collect();
    g.entry(names[0]).sequence(names.clone()).finish(names[4]);
    let inner = g.compile().unwrap();
    let mut g = graph("middle");
    let child = g.node("child", inner.clone());
    g.edge(START, child).edge(child, END);
    alone(node(inner.clone()).timeout(Timeout::idle(seconds(3)))).await.unwrap();
    alone(node(g.compile().unwrap()).timeout(Timeout::idle(seconds(3)))).await.unwrap();
    let (after, error) = too_slow(node(inner).timeout(Timeout::idle(seconds(1)))).await;
    assert_eq!((after, error.code()), (1, Code::Timeout));
}

/// R-FWK-17: told so, only heartbeats count as signs of life.
#[tokio::test(start_paused = true)]
async fn an_idle_limit_may_count_heartbeats_only() {
    let talks = async |cx: Cx| {
        for _ in 0..5 {
            sleep(seconds(2)).await;
            cx.emit("talk").await?;
        }
        Ok::<_, NodeError>(())
    };
    let (after, error) = too_slow(node(talks).timeout(Timeout::idle(seconds(3)).heartbeat_only())).await;
    assert_eq!((after, error.code()), (3, Code::Timeout));
    let beats = async |cx: Cx| {
        for _ in 0..5 {
            sleep(seconds(2)).await;
            cx.heartbeat();
        }
    };
    alone(node(beats).timeout(Timeout::idle(seconds(3)).heartbeat_only())).await.unwrap();
}

/// R-FWK-17, R-REF-108: the limit of a send is in place of its node's, longer or shorter.
#[tokio::test(start_paused = true)]
async fn a_send_brings_its_own_limit() {
    for (limit, ends) in [(Some(8), true), (Some(1), false), (None, false)] {
        let mut g = graph("g");
        let fan = g.node("fan", || ());
        let work = g.node("work", node(|_: Sent<u8>| sleep(seconds(5))).timeout(seconds(3)));
        let send =
            move |_: &Record| limit.into_iter().fold(Send::new(work, 0u8), |send, limit| send.timeout(seconds(limit)));
        g.edge(START, fan).edge(work, END).route(fan, send, [work]);
        let ended = g.compile().unwrap().run(json!({ "n": 0 })).await;
        assert_eq!(ended.as_ref().err().map(Error::code), (!ends).then_some(Code::Timeout), "{limit:?}");
    }
}

/// R-FWK-17: a run that takes too long keeps its last checkpoint, says so, and can go on from there.
#[tokio::test(start_paused = true)]
async fn a_run_timeout_keeps_the_last_checkpoint() {
    let (mut g, tries) = (graph("g"), Count::default());
    let a = g.node("a", says("a"));
    let b = g.node("b", move || {
        let first = tries.up() == 1;
        async move {
            if first {
                hour().await;
            }
            json!({ "log": ["b"] })
        }
    });
    g.sequence([START, a.into(), b.into(), END]).checkpointer(Memory::new());
    let graph = g.compile().unwrap();
    let error = graph.run(json!({ "n": 0 })).thread("t").timeout(seconds(5)).await.unwrap_err();
    insta::assert_snapshot!(error, @"
    error[SS-012]: the run took longer than 5s
    help: the thread stays at its last saved superstep: continue it, or raise the limit
    ");
    let saved = graph.threads().state("t").await.unwrap();
    assert_eq!((saved.state.get("log").into_owned(), saved.next.clone()), (json!(["a"]), vec!["b".to_owned()]));
    assert_eq!(error.partial().unwrap().checkpoint, Some(saved.id()));
    assert_eq!(graph.threads().status("t").await.unwrap(), Some(ThreadStatus::Error));
    assert_eq!(field(&graph.go_on("t").await.unwrap(), "log"), json!(["a", "b"]));
}

/// R-REF-116: a superstep that hangs is ended by the limit of the run's supersteps.
#[tokio::test(start_paused = true)]
async fn a_superstep_that_hangs_is_ended() {
    let mut g = graph("g");
    let (a, b) = (g.node("a", says("a")), g.node("b", hour));
    g.edge(START, a).edge(START, b).edge(a, END).edge(b, END);
    let started = Instant::now();
    let error = g.compile().unwrap().run(json!({ "n": 0 })).step_timeout(seconds(4)).await.unwrap_err();
    assert_eq!((error.code(), started.elapsed().as_secs()), (Code::Timeout, 4));
}
